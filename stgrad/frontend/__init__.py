"""From a Python function and the types of its arguments to a typed IR program.

`read` runs a desugared function on values of which only the types are known (an abstract interpreter) and writes down
what the running program has to do. Calls of functions that have source are read in place. Tuples, lists, closures, options and everything
else that is known at compile time is gone from the result: it works on scalars and arrays alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from types import MethodType
from typing import Any

from stgrad import errors
from stgrad import source as sources
from stgrad.frontend import (  # noqa: F401  (they register their handlers)
    attempts,
    averages,
    calls,
    complex_functions,
    copies,
    custom,
    custom_rules,
    deques,
    distributions,
    expressions,
    functional,
    instance_dicts,
    loop_statements,
    managers,
    module_names,
    numpy_calls,
    operations,
    ordered,
    passed,
    poly1d,
    questions,
    scattered,
    sequences,
    sets,
    squeezed,
    statements,
    strided,
    tables,
    unit_rules,
)
from stgrad.frontend.bindings import binding_counts, counters_read_later
from stgrad.frontend.broadcasting import asked_at_start
from stgrad.frontend.builder import Builder, last_symbol
from stgrad.frontend.captured import Borrows, Captures, reading
from stgrad.frontend.certainties import of_one_kind
from stgrad.frontend.draws import first_draw
from stgrad.frontend.flags import begin
from stgrad.frontend.frame import Frame
from stgrad.frontend.heap import contents, refuse_circles
from stgrad.frontend.identities import Apart
from stgrad.frontend.inlining import bind_arguments, desugared, inline_rule
from stgrad.frontend.lengths import too_short
from stgrad.frontend.optionals import unwrapped
from stgrad.frontend.returned import grown, settled
from stgrad.frontend.sealed import refuse_sealed
from stgrad.frontend.unassigned import first_values
from stgrad.frontend.values import (
    Chosen,
    Closure,
    Growing,
    Known,
    Listed,
    Maybe,
    Nested,
    Optional,
    Record,
    Sym,
    Value,
    a_kind,
    is_number,
    leaves,
    map_leaves,
    operand_of,
    rebuild,
)
from stgrad.ir import Assign, Block, Const, Dim, Effect, Function, If, Operand, Pack, Stmt, Type, Var, assigns, operand_vars, rename, walk
from stgrad.ir import read as read_names
from stgrad.lookups import Lookup, look
from stgrad.request import Spelling, spelled

__all__ = ["SEED", "Builder", "Frame", "Reading", "inline", "read", "read_closure", "splice"]


@dataclass(frozen=True)
class Reading:
    """A program and what surrounds it.

    `result` has the structure of the function's result, with `Sym` and static leaves; `arguments` that of its arguments, as they are before the first
    statement.
    `captures` are the values from outside: arrays among them are the last parameters of the program. `around` are those that a closure
    finds in the program around it, by the parameter that stands for each.
    """

    function: Function
    result: Value
    arguments: Mapping[str, Value]
    captures: tuple[Lookup, ...]
    around: Mapping[str, Value] = field(default_factory=dict)
    tested: frozenset[str] = frozenset()  # names of programs read in place, which test their own positions
    library: frozenset[str] = frozenset()  # names of functions of ours
    replaced: tuple[Stmt, ...] = ()
    looks: Mapping[str, str] = field(default_factory=dict)  # numbers that are views of arrays (see `stgrad.transforms.cells`)
    puts: tuple[tuple[Stmt, str], ...] = ()  # what `stgrad.analysis.held` asks for
    moves: tuple[Stmt, ...] = ()
    apart: tuple[Apart, ...] = ()  # arrays that must share no memory; of a prepared program, parameters
    items: Mapping[str, str] = field(default_factory=dict)  # what `stgrad.transforms.own_kinds` asks for
    listed: frozenset[str] = frozenset()
    distinct: bool = False  # whether lists, dicts and objects among the arguments must be different ones

    @property
    def seeds(self) -> tuple[str, ...]:
        """The arguments that a derivative has beside those of its function: tangents or cotangents."""
        return tuple(name for name in self.arguments if name.startswith(SEED))


SEED = "."  # no parameter of a function begins so


def read(function: Any, arguments: Mapping[str, Any]) -> Reading:
    """The program of a Python function.

    Args:
        function: a Python function, lambda, bound method's function, or what `stgrad.source.load` takes.
        arguments: for each parameter a structure (tuple, list, dict) whose leaves are `ir.Type`s for values of the running
            program, and anything else for values that are compiled in.

    Raises:
        StgradError: syntax, functions or types that are not supported, with their place in the source.
    """
    lent = dict[int, tuple[str, Any]]()
    while True:
        captured = Captures(lent)
        try:
            with reading(captured):
                return _read(function, arguments, captured)
        except Borrows as found:
            lent[id(found.container)] = found.name, found.container


def _read(function: Any, arguments: Mapping[str, Any], captured: Captures) -> Reading:
    inner = sources.unwrap(function)
    source = sources.load(inner.function)
    for name in ("__defaults__", "__kwdefaults__"):  # they came with the arguments
        look("attribute", source.function, name)
    tree = desugared(source)
    if hasattr(tree, "generator"):
        raise errors.UnsupportedSyntaxError(
            "a generator (`yield`) as the differentiated function is not supported",
            source.loc(source.tree),
            reason="its execution is suspended between values",
            hint="consume it in a function: return list(...) or sum(...) of it",
        )
    builder = Builder(symbols=last_symbol(t for spec in arguments.values() for t in leaves(spec) if isinstance(t, Type)))
    builder.compiled = int(sources.is_dispatcher(function))
    builder.around = getattr(getattr(inner.function, "_stgrad_around_", None), "function", None)
    frame = Frame(builder, source, counts=binding_counts(tree), captured=captured, counters_read_later=counters_read_later(tree))
    begin(frame, tree)
    captured.lend(builder)
    called = spelled(inner.function, arguments)
    values = {name: _argument(builder, called[name], spec) for name, spec in arguments.items()}
    _bind(frame, tree, {**_bound_before(frame, tree, function), **values})
    given = _as_given(values)
    passed.note(builder, values.values())
    params = tuple(Var(leaf.name) for v in values.values() for leaf in leaves(v) if isinstance(leaf, Sym))
    with frame.active():
        frame.execute(tree.body)
    captured.returned()
    result = _result(frame, unwrapped(frame, frame.result, f"`{source.name}` returned None, where a number or an array is needed"))
    captures = _used(frame.captured, read_names(tuple(builder.out)) | set(operand_vars(result_operand(result))))
    program = _program(builder, source.name if source.name.isidentifier() else "function", params, result, captures)
    return Reading(program, result, given, captures, tested=frozenset(builder.tested), library=frozenset(builder.library), **_held(builder))


def read_closure(closure: Closure, arguments: Mapping[str, Any]) -> Reading:
    """The program of a function of the code being read; what it sees of the program around it becomes parameters."""
    outer = closure.frame
    specs = [t for spec in arguments.values() for t in leaves(spec) if isinstance(t, Type)]
    builder = Builder(symbols=max(outer.builder.symbols, last_symbol(specs)))
    copied = Copies(builder)
    inner = Closure(closure.tree, copied.frame(outer), copied.value(closure.defaults), copied.value(closure.kw_defaults))
    values = {name: _argument(builder, name, spec) for name, spec in arguments.items()}
    given = _as_given(values)
    passed.note(builder, values.values())
    params = tuple(Var(leaf.name) for v in values.values() for leaf in leaves(v) if isinstance(leaf, Sym))
    frame = Frame(builder, outer.source, {}, inner.frame, {}, outer.depth + 1, captured=inner.frame.captured)
    builder.loc = outer.builder.loc
    positional, keywords = _as_called(closure.tree, values)
    frame.env = dict(values)  # what it is given, and what it sees around it, must not change: it works on copied
    with frame.active(), frame.speculate(closed=True):
        result = _result(frame, unwrapped(frame, frame.call(inner, positional, keywords)))
    used = read_names(tuple(builder.out)) | set(operand_vars(result_operand(result)))
    around = {name: value for name, value in copied.around.items() if name in used}
    captures = _used(frame.captured, used)
    program = _program(builder, "function", (*params, *(Var(n) for n in around)), result, captures)
    return Reading(program, result, given, captures, around, frozenset(builder.tested), frozenset(builder.library), **_held(builder))


def _held(builder: Builder) -> dict[str, Any]:
    looks = {n: base for n, base in builder.boxed.items() if base and n in builder.types and builder.types[n].rank == 0} if builder.boxed else {}
    lists = {name: tuple(getattr(builder, name)) for name in ("puts", "moves", "replaced", "apart")}
    return {**lists, "looks": looks, "distinct": builder.distinct, "items": dict(builder.items), "listed": frozenset(builder.listed)}


def _program(builder: Builder, name: str, params: tuple[Var, ...], result: Value, captures: tuple[Lookup, ...]) -> Function:
    """What has been read, as a program: captured arrays are its last parameters."""
    params += tuple(dict.fromkeys(Var(c.variable) for c in captures if c.variable is not None))
    operand = result_operand(result)
    found = (*first_draw(builder), *refuse_sealed(builder, params, tuple(builder.out)))
    body = (*_long_enough(builder, params), *asked_at_start(builder), *first_values(params, found, operand, builder))
    constants = {c.variable: c.value for c in captures if c.variable is not None}
    return Function(name, params, body, operand, _lasting(builder.types, params, body), constants=constants)


def _lasting(types: Mapping[str, Type], params: Iterable[Var], body: Block) -> dict[str, Type]:
    """Types that hold at every place of a program: a variable that is assigned twice has no one symbolic value."""
    counts = Counter([p.name for p in params] + [n for s in walk(body) for n in assigns(s)])
    return {name: t if t.value is None or counts[name] < 2 else replace(t, value=None) for name, t in types.items()}


def _as_given(values: Mapping[str, Value]) -> dict[str, Value]:
    """The arguments as the caller passes them: reading changes the lists, dicts and objects that the program gives other items."""
    return {name: map_leaves(lambda leaf, _: leaf, value, name) for name, value in values.items()}


def _used(captures: Iterable[Lookup], names: Set[str]) -> tuple[Lookup, ...]:
    """Captures of which only arrays that the program reads are parameters of it: containers may hold many more."""
    return tuple(c if c.variable is None or c.variable in names else c.carried_by(None) for c in captures)


def _long_enough(builder: Builder, params: Iterable[Var]) -> Iterator[Stmt]:
    """Tests that arguments have the extents that their slices ask for."""
    known = set[str]()
    for param in params:
        for axis, dim in enumerate(builder.types[param.name].dims):
            if dim.symbol is None or dim.offset or dim.symbol in known or dim.symbol not in builder.extents.least:
                continue
            known.add(dim.symbol)
            least = builder.extents.least[dim.symbol]
            extent = builder.variable("_t", Type("int64", weak=True, value=dim))
            short = builder.variable("_t", Type("bool", weak=True))
            yield Assign((Var(extent.name),), "shape", (param, Const(axis)))
            yield Assign((Var(short.name),), "np.less", (Var(extent.name), Const(least)))
            loc = builder.cut.get(Dim(dim.symbol, -least))
            yield If(short.operand, (too_short(param.name, axis, least, loc),))


def _as_called(tree: Any, values: Mapping[str, Value]) -> tuple[tuple[Value, ...], dict[str, Value]]:
    """The arguments of a call that binds these values."""
    spec = tree.args
    names = [a.id for a in (*spec.posonlyargs, *spec.args)]
    star = values.get(spec.vararg.id, ()) if spec.vararg is not None else ()
    double = values.get(spec.kwarg.id, {}) if spec.kwarg is not None else {}
    return (*(values[n] for n in names), *star), {**{a.id: values[a.id] for a in spec.kwonlyargs}, **double}


class Copies:
    """Copies of activations for another program: their values become parameters of it."""

    def __init__(self, builder: Builder) -> None:
        self.builder, self.around = builder, dict[str, Value]()
        self._frames: dict[int, Frame] = {}
        self._values: dict[int, tuple[Value, Value]] = {}
        self._captures = Captures()

    def frame(self, frame: Frame | None) -> Frame | None:
        if frame is None:
            return None
        if id(frame) not in self._frames:
            new = replace(frame.detached(), builder=self.builder, env={}, parent=None, result=None, captured=self._captures, owned={})
            self._frames[id(frame)] = new
            new.parent = self.frame(frame.parent)
            new.env = {name: self.value(v) for name, v in frame.env.items()}
        return self._frames[id(frame)]

    def value(self, value: Value) -> Value:
        if id(value) not in self._values:
            self._values[id(value)] = (value, self._copy(value))
        return self._values[id(value)][1]

    def _copy(self, value: Value) -> Value:
        if isinstance(value, Known):
            return value.const
        if isinstance(value, Sym):
            if not isinstance(value.operand, Var):
                return value
            stands_for = self.builder.variable(value.name, value.type)
            self.around[stands_for.name] = value
            return stands_for
        if isinstance(value, Maybe):
            return Maybe(self.value(value.value), value.error)
        if isinstance(value, Optional):
            return Optional(self.value(value.value), self.value(value.none))
        if isinstance(value, Chosen):
            return Chosen(self.value(value.index), tuple(map(self.value, value.options)), value.error)
        if isinstance(value, Closure):
            return Closure(value.tree, self.frame(value.frame), self.value(value.defaults), self.value(value.kw_defaults))
        if isinstance(value, MethodType):
            return MethodType(value.__func__, self.value(value.__self__)) if isinstance(value.__self__, Record) else value
        if isinstance(value, Growing):
            return Growing(self.value(value.structure), self.value(value.count), cls=value.cls)
        if isinstance(value, Nested):
            return Nested(self.value(value.buffer))
        if isinstance(value, (tuple, list)):
            return rebuild(value, [self.value(v) for v in value])
        if isinstance(value, (dict, Record)):
            new = {k: self.value(v) for k, v in contents(value).items()}
            return Record(value.cls, new) if isinstance(value, Record) else new
        return value


def _bound_before(frame: Frame, tree: Any, function: Any) -> dict[str, Value]:
    """Arguments that a `functools.partial` or a bound method already holds: arrays become parameters, the rest is compiled in."""
    inner = sources.unwrap(function, frame.look)
    names = [a.id for a in (*tree.args.posonlyargs, *tree.args.args)]
    return {**dict(zip(names, inner.args, strict=False)), **inner.kwargs}


def _argument(builder: Builder, name: Spelling, spec: Any) -> Value:
    if isinstance(name, list):
        return tuple(_argument(builder, one, item) for one, item in zip(name, spec, strict=True))
    if isinstance(name, dict):
        return {key: _argument(builder, one, spec[key]) for key, one in name.items()}

    def leaf(value: Value, path: str) -> Value:
        if not isinstance(value, Type):
            return value
        builder.extents.wide.update(d.symbol for d in value.dims if d.symbol is not None and "." in d.symbol)  # those of a caller's arrays
        argument = builder.variable(f"{name}{path}", value)
        if not value.array and not value.weak:
            builder.either.add(argument.operand)
        for axis, dim in [*enumerate(value.dims), *([] if value.value is None else [(None, value.value)])]:
            if dim.symbol is not None and not dim.offset:
                builder.given.setdefault(dim.symbol, (argument.name, axis))
        return argument

    return map_leaves(leaf, spec)


def _bind(frame: Frame, tree: Any, values: Mapping[str, Value]) -> None:
    spec = tree.args
    names = [a.id for a in (*spec.posonlyargs, *spec.args)]
    args = [values[n] for n in names if n in values]
    star = values.get(spec.vararg.id, ()) if spec.vararg is not None else ()
    kwargs = {a.id: values[a.id] for a in spec.kwonlyargs if a.id in values}
    double = values.get(spec.kwarg.id, {}) if spec.kwarg is not None else {}
    bind_arguments(frame, tree, ((), (None,) * len(spec.kwonlyargs), set()), (*args, *star), {**kwargs, **double})


def _result(frame: Frame, value: Value) -> Value:
    """The result with every number of the running program in a variable of its own."""
    place = frame.source.loc(frame.source.tree.body[-1])

    def leaf(v: Value, path: str) -> Value:
        if isinstance(v, Sym) or is_number(v) or v is None or isinstance(v, str):
            return v
        frame.no_bare_method((v,), place)
        if isinstance(v, Chosen):
            return leaf(of_one_kind(frame, v), path)
        raise errors.TypeInferenceError(f"the function returns {a_kind(v)}", place, hint="return numbers, arrays, or tuples, lists and dicts of them")

    refuse_circles(frame, [value])
    tables.refuse_result(frame, value)
    return map_leaves(leaf, settled(frame, value))


def result_operand(value: Value) -> Operand:
    """The result as an operand: one leaf, or a Pack of all leaves in order."""
    if not isinstance(value, (tuple, list, dict, Record)):
        return operand_of(value)
    return Pack(tuple(operand_of(v) for v in leaves(value)))


def splice(builder: Builder, rule: Any, args: tuple[Value, ...], kwargs: dict[str, Value] | None = None) -> Value:
    """Write the body of a rule into the program that `builder` builds; the value of its result."""
    source = sources.load(rule)
    builder.agreeing = True
    frame = Frame(builder, source, unroll=True, depth=1)
    return inline_rule(frame, rule, args, kwargs or {})


__all__ += ["Const", "Operand", "result_operand"]


def _own_symbols(builder: Builder, fn: Function, reading: Reading, arguments: Mapping[str, Value]) -> dict[str, Type]:
    """The types of a program with symbols that the program being read does not use; those of the actual arguments stay.

    Tangents and cotangents are parameters too, but the program was read before them: a symbol of theirs may be one of its own by chance.
    """
    given = [v.type for name, a in arguments.items() if name not in reading.seeds for v in leaves(a) if isinstance(v, Sym)]
    given += [v.type for v in reading.around.values()]
    kept = {d.symbol for t in given for d in (*t.dims, t.value) if d is not None}
    new: dict[str, str] = {}

    def dim(d: Dim) -> Dim:
        if d.symbol is None or d.symbol in kept:
            return d
        if d.symbol not in new:
            new[d.symbol] = str(builder.fresh_dim().symbol)
        return Dim(new[d.symbol], d.offset)

    return {n: replace(t, dims=tuple(map(dim, t.dims)), value=None if t.value is None else dim(t.value)) for n, t in fn.types.items()}


def inline(frame: Frame, reading: Reading, arguments: Mapping[str, Value]) -> Value:
    """Write a finished program into the one being read, in place of its call; the value of its result."""
    builder, fn = frame.builder, reading.function
    passed.inlined(frame, reading, arguments.values())
    types = _own_symbols(builder, fn, reading, arguments)
    names = {name: builder.variable(name, t).name for name, t in types.items()}
    builder.tested |= set(names.values())
    for name, value in arguments.items():
        for param, actual in zip(leaves(reading.arguments[name]), leaves(value), strict=True):
            if isinstance(param, Sym):
                target = Sym(Var(names[param.name]), types[param.name])
                builder.copy_to(target, actual)
    for name, outer in reading.around.items():
        builder.copy_to(Sym(Var(names[name]), outer.type), outer)
    for capture in reading.captures:
        stands_for = frame.captured.take(builder, capture)
        if capture.variable is not None:
            builder.copy_to(Sym(Var(names[capture.variable]), types[capture.variable]), stands_for)
    builder.apart += [Apart(names[p.left], names[p.right], builder.loc) for p in reading.apart if {p.left, p.right} <= names.keys()]
    for stmt in rename(fn.body, names):
        builder.emit(stmt)

    def leaf(value: Value, _: str) -> Value:
        if isinstance(value, Sym) and isinstance(value.operand, Var):
            return Sym(Var(names[value.name]), types[value.name])
        return value.operand.value if isinstance(value, Sym) and isinstance(value.operand, Const) else value

    return grown(frame, map_leaves(leaf, reading.result))
