"""The programs of one derivative: one for each signature, made at its first call, called through a generated wrapper.

The compiler is imported where it is needed: a process that finds its programs on disk runs without it. What programs were made from is on record;
where it changes, they are forgotten.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from stgrad import errors, lookups, progress
from stgrad.calls import calling, own_exceptions, program_cache, wrapper
from stgrad.calls.arguments import (
    Extents,
    Known,
    equal,
    fixed_nodes,
    fixed_spec,
    flattened,
    hashable,
    likenesses,
    passed,
    short_nodes,
    short_programs,
    short_spec,
)
from stgrad.calls.compilations import Compilation, Lazy
from stgrad.calls.distinct import refuse_shared
from stgrad.calls.foreign_arrays import as_taken, refuse_foreign
from stgrad.calls.guards import guards
from stgrad.calls.later import Later
from stgrad.calls.program_cache import Ready
from stgrad.lookups import Lookup
from stgrad.prepared import Program, hidden_of, ready_program
from stgrad.request import DEFAULT, Derivative, Options, described, function_name, innermost, signature_of, spelled
from stgrad.values import Sym, Value

if TYPE_CHECKING:
    from stgrad.calls.direct import Entry
    from stgrad.frontend.concessions import Concessions
    from stgrad.program import Compiled

MOST_REFUSED = 12  # calls of different signatures that are refused before all others are
MAX_CASES = 8  # signatures that the wrapper checks inline; beyond, the slow path looks them up


class Programs:
    """What `Transformed` is built on; it says what happens in a call that no program is known for (`_slow`)."""

    _finder: Callable[..., Any] | None = None  # gives the program for some arguments, and their leaves

    def __init__(self, derivative: Derivative, options: Options = DEFAULT) -> None:
        self.derivative = derivative
        self.options = options
        functools.update_wrapper(self, derivative.function, updated=())
        self.__name__ = function_name(derivative) if derivative.mode == "primal" else f"{function_name(derivative)}_grad"
        own = getattr(derivative.function if derivative.around is None else innermost(derivative.around.function), "__doc__", None)
        self.__doc__ = "\n\n".join(filter(None, (described(derivative), inspect.cleandoc(own) if isinstance(own, str) else "")))
        self._lock = threading.RLock()
        self._reset()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Replaced, for each object, by its generated wrapper."""
        return self._slow(*args, **kwargs)

    def _slow(self, *args: Any, **kwargs: Any) -> Any:
        """A call of a new signature, or after something outside changed."""
        raise NotImplementedError

    def _forgiving(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """`run`, where a program that takes extents to be equal may find that they are not."""
        raise NotImplementedError

    def _reset(self) -> None:
        self._cases: list[wrapper.Case] = []
        self._known: dict[tuple[Any, ...], Program] = {}
        self._refused: dict[tuple[Any, ...], errors.StgradError] = {}  # for what plain Python is allowed
        self._dispatchers: dict[tuple[Any, ...], Any] = {}
        self._latest: dict[str, Any] | None = None  # arguments like those that the last program was made for
        self._laters: dict[tuple[str, bool], Later] = {}
        self._record: dict[tuple[Any, ...], Lookup] = {}
        self._signature = signature_of(self.derivative.function)
        self._short: dict[tuple[Any, ...], tuple[Any, ...]] = {}  # programs for short extents, by the key of the one for any
        self._known_of = Known.TYPES  # the most that some program knows of its arguments
        self._table: Any = None  # native guards of the wrapper
        self._entry: Entry | None = None  # of the last program, where native code takes the user's arguments as they come
        self._rewrap()

    def _found(self, args: tuple[Any, ...]) -> tuple[Program, list[Any]]:
        """The program for these arguments and their leaves: by a generated wrapper, from the second time on."""
        if self._finder is None and self._known:
            cases = [(p.nodes, functools.partial(_with_leaves, p)) for p in self._known.values() if not p.ready.distinct]
            self._table, tests = self._guards(any_case=True)
            self._finder = wrapper.make_wrapper(self.__name__, self._signature, cases[:MAX_CASES], self._search, tests)
        found: tuple[Program, list[Any]] = (self._finder or self._search)(*args)
        return found

    def _search(self, *args: Any, **kwargs: Any) -> tuple[Program, list[Any]]:
        refuse_foreign(self._signature, args, kwargs, self.derivative.wrt)
        args, kwargs = wrapper.given(tuple(self._signature.parameters), args, kwargs)
        self._renew()
        arguments = self._bind(args, kwargs)
        program = self._program_for(arguments)
        return program, flattened(program.nodes, tuple(arguments.values()))

    def _rewrap(self) -> None:
        self._finder = None
        self._table, tests = self._guards()
        run = wrapper.make_wrapper(self.__name__, self._signature, self._cases[:MAX_CASES], self._slow, tests)
        if any(program.ready.hands_on for program in self._known.values()):
            run = self._forgiving(run)
        alone = self._entry is not None and len(self._cases) == 1 and (self._table is not None or not tests[0])
        if self._entry is not None:  # a wrapper of several cases makes the test itself
            self._entry.guard_by(self._table if alone else None)
        type(self).__call__ = self._entry.function(run) if alone else staticmethod(run)  # type: ignore

    def _guards(self, any_case: bool = False) -> tuple[Any, wrapper.Guards]:
        """What tells at each call whether the programs are still valid: a native table, else expressions."""
        if not self._record or not (self._cases or any_case):
            return None, ([], {})
        table = self._native_guards()
        return table, guards(self._record.values()) if table is None else (["holds0()"], {"holds0": table.holds, "at0": table})

    def _native_guards(self) -> Any:
        """The table of what is on the record; None on a Python whose objects are not laid out as tables expect."""
        from stgrad.calls import sentry

        return sentry.Table(self._record.values()) if sentry.available() else None

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return as_taken(dict(bound.arguments))

    def _program_for(self, arguments: dict[str, Any], *, short: bool = True) -> Program:
        """The compiled program for these arguments, made now or known; `short`: it may be for their short extents alone."""
        key = self._key if short else self._any_key
        known = self._known.get(key(arguments))
        if known is None:
            with self._lock:
                if self.options.plain and (refused := self._refused_before(arguments)) is not None:
                    raise refused.with_traceback(None)
                known = self._known.get(key(arguments)) or self._made(arguments, self._extents(arguments) if short else Extents.ANY)
        if known.ready.distinct:
            refuse_shared(arguments if self.derivative.around is None else self.derivative.around.own(arguments))
        return known

    def _made(self, arguments: dict[str, Any], extents: Extents) -> Program:
        ready, nodes = self._ready(arguments, extents)
        self._watch(ready.captures)
        hidden = hidden_of(ready)
        lazy = self._lazy(ready) if ready.plain else None
        run = self._run(ready, nodes, hidden) if lazy is None else self._called_by(lazy, ready, nodes, hidden, False)
        program = Program(nodes, replace(ready, captures=(), plain=""), hidden, run, lazy=lazy)
        general, known_by = self._any_key(arguments), self._short_key(arguments)
        if _arrays(nodes) != _arrays(short_nodes(self._nodes(arguments), arguments)):
            known_by = general
        self._known[known_by] = program
        self._short.setdefault(general, known_by)
        self._latest = likenesses(arguments)
        self._finder = None
        return program

    def _wrap(self, program: Program, flat: list[Any]) -> None:
        """Let the generated function know a program, called through native code where that can read arguments like these."""
        with self._lock:
            if not program.wrapped and not program.ready.distinct and program in self._known.values():
                program.run = self._native(program, flat) or program.run
                self._cases.append((program.nodes, program.run))
                program.wrapped = True
                self._rewrap()

    def _ready(self, arguments: dict[str, Any], extents: Extents = Extents.ANY) -> tuple[Ready, list[Any]]:
        """The program for these arguments, from disk or from the compiler."""
        nodes = self._nodes(arguments)
        on_disk = program_cache.enabled()
        for known, of in product(Known, [short_nodes(nodes, arguments)] * (extents is Extents.SHORT) + [nodes]) if on_disk else ():
            key = fixed_nodes(of, arguments, known)
            ready = program_cache.find(self, key, self.options.key)
            if ready is not None:
                self._known_of = max(self._known_of, known)
                return ready, key
        with lookups.recorded() as record:
            try:
                program, nodes = self._build(arguments, extents, keep=False)
            except errors.StgradError as refused:
                if self.options.plain:  # known until something that was looked at is another thing
                    self._refused[self._whole_key(arguments)] = refused
                    self._watch(lookups.carried(record, ()))
                raise
        self._tell_of_calls(program)
        ready = ready_program(program, record)
        if on_disk:
            program_cache.keep(self, nodes, ready, self.options.key)
        return ready, nodes

    def _tell_of_calls(self, program: Compiled) -> None:
        """Say which loops leave native code; tests for NaN call Python once there is one."""
        if self.options.jit and not self.options.check_nan:
            from stgrad.analysis.leaving import warn_of_calls

            warn_of_calls(program.function, function_name(self.derivative))

    def _key(self, arguments: dict[str, Any]) -> tuple[Any, ...]:
        """What the program for these arguments is known by, or is to be."""
        general, short = self._any_key(arguments), self._short_key(arguments)
        others = general in self._known or self._short.get(general, short) != short  # the first program is for any extents, or for other ones
        return general if others and short not in self._known else short

    def _any_key(self, arguments: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(map(hashable, fixed_nodes(self._nodes(arguments), arguments, self._known_of)))

    def _short_key(self, arguments: dict[str, Any]) -> tuple[Any, ...]:
        if not short_programs(self.options.jit, self.options.check_nan):
            return self._any_key(arguments)
        return tuple(map(hashable, fixed_nodes(short_nodes(self._nodes(arguments), arguments), arguments, self._known_of)))

    def _whole_key(self, arguments: dict[str, Any]) -> tuple[Any, ...]:
        """With all that may be compiled in: what is refused for some integers and extents need not be for others."""
        return tuple(map(hashable, fixed_nodes(self._nodes(arguments), arguments, Known.EXTENTS)))

    def _refused_before(self, arguments: dict[str, Any]) -> errors.StgradError | None:
        """Why there is no program for these arguments, where that is known; after some refusals none is looked for."""
        if len(self._refused) >= MOST_REFUSED:
            return next(reversed(self._refused.values()))
        return self._refused.get(self._whole_key(arguments))

    def _nodes(self, arguments: dict[str, Any]) -> list[Any]:
        """What the arguments are; a flag that is what its default says is compiled in."""
        return [wrapper.Static(v) if self._is_flag(name, v) else wrapper.describe(v) for name, v in arguments.items()]

    def _is_flag(self, name: str, value: Any) -> bool:
        parameter = self._signature.parameters.get(name)
        return isinstance(value, bool) and parameter is not None and parameter.default is value

    def _extents(self, arguments: dict[str, Any]) -> Extents:
        """What a program that is called now may know of extents."""
        if not short_programs(self.options.jit, self.options.check_nan):
            return Extents.ANY
        return Extents.SHORT if self._key(arguments) != self._any_key(arguments) else Extents.CAPTURED

    def _build(self, arguments: dict[str, Any], extents: Extents = Extents.ANY, *, keep: bool) -> tuple[Compiled, list[Any]]:
        """Compile for these arguments; integers become constants where the program needs to know them."""
        from stgrad.frontend.varying import read_carrying
        from stgrad.short_extents import worth_it

        known_of = self._known_of

        def read(short: bool) -> tuple[Compiled, list[Any], Known]:
            self._known_of = known_of  # not what another reading had to know
            compiled, nodes = read_carrying(lambda: self._generated(arguments, keep, short), lambda made: made[0].reading.captures)
            return compiled, nodes, self._known_of

        with progress.working(self.__name__, "generating its program"):
            compiled, nodes, self._known_of = read(False) if extents is Extents.ANY else worth_it(read, extents is Extents.SHORT, lambda made: made[0].text)
        return compiled, nodes

    def _generated(self, arguments: dict[str, Any], keep: bool, short: bool) -> tuple[Compiled, list[Any]]:
        from stgrad.assumed import compile_program
        from stgrad.frontend.concessions import conceding
        from stgrad.program import spec_of

        nodes = self._nodes(arguments)
        called = spelled(self.derivative.function, arguments)
        specs = {name: value if self._is_flag(name, value) else spec_of(value, called[name]) for name, value in arguments.items()}
        if short:
            nodes = short_nodes(nodes, arguments)
            specs = {name: short_spec(spec, arguments[name]) for name, spec in specs.items()}
        compiled = functools.partial(compile_program, self, keep=keep)
        with conceding() as conceded:
            try:
                return compiled(specs), nodes
            except errors.StgradError as problem:
                if problem.passes:
                    raise
                return self._knowing_more(arguments, specs, nodes, compiled, problem, conceded)

    def _knowing_more(
        self,
        arguments: dict[str, Any],
        specs: dict[str, Any],
        nodes: list[Any],
        compiled: Callable[..., Compiled],
        problem: errors.StgradError,
        conceded: Concessions,
    ) -> tuple[Compiled, list[Any]]:
        """The program with integers compiled in; else one that selects entries as it runs; else with the extents of short arrays, too.

        Where none of these can be, one that ends where it comes to what cannot be compiled, if that stands on a side of a branch.
        """
        problems, tried = [problem], [specs]
        try:
            for known, leaving in _FURTHER:
                fixed = {n: fixed_spec(s, arguments[n], known) for n, s in specs.items()} if known else specs
                if known and not leaving and any(all(equal(fixed[n], other[n]) for n in fixed) for other in tried) or leaving and not conceded.missed:
                    continue
                conceded.begin(exits=leaving, known=known is Known.EXTENTS or bool(known) and not _asks(problem))
                try:
                    program = compiled(fixed) if known or leaving else self._selecting(lambda: compiled(specs), *problems)
                except errors.StgradError as left:  # what is left where all that can be known is
                    problems += [] if leaving and isinstance(left, errors.UndefinedNameError) else [left]  # what a side exit leaves out binds no names
                    tried.append(fixed)
                    continue
                self._known_of = max(self._known_of, known)
                return program, fixed_nodes(nodes, arguments, known)
            raise errors.furthest(problems)
        finally:
            problems.clear()  # they hold what the readings held, and this frame

    def _selecting(self, compiled: Callable[[], Compiled], *problems: errors.StgradError) -> Compiled:
        """The program with entries of lists and dicts that it finds as it runs; where that does not help, the problem is raised that reading met last."""
        from stgrad.frontend.joins import SELECTS

        if not any(isinstance(p, errors.NeedStaticError) for p in problems) or SELECTS.get():
            raise errors.furthest(problems)
        token = SELECTS.set(True)
        try:
            return compiled()
        except errors.StgradError as found:
            raise errors.furthest([*problems, found]) from None
        finally:
            SELECTS.reset(token)

    def _run(self, ready: Ready, nodes: list[Any], hidden: list[Any], jit: bool = True) -> calling.Run:
        """What to call with the flat arguments that `nodes` describe."""
        jit = jit and self.options.jit
        return self._called_by(self._load(ready, jit), ready, nodes, hidden, jit)

    def _called_by(self, compiled: Callable[..., Any], ready: Ready, nodes: list[Any], hidden: list[Any], jit: bool) -> calling.Run:
        compiled = own_exceptions.translated(calling.guarded(calling.writing(compiled, ready.params), ready.params), ready.raised)
        if jit and draws_of_numpy(ready):
            from stgrad.runtime.draws import synchronised

            compiled = synchronised(compiled)
        boxed = [i for i, node in enumerate(passed(nodes)) if isinstance(node, wrapper.Array) and node.ndim == 0]
        return calling.Run(compiled, boxed, hidden, self._result(ready, jit), jit)

    def _result(self, ready: Ready, jit: bool) -> Value:
        """The structure of what a call returns: behind what a program keeps for another one stands that one."""
        if ready.then is None:
            return ready.result
        if (ready.then.text, jit) not in self._laters:
            made = Later(ready.then, ready.result[0], self._load, jit=jit, falls_back=self.options.falls_back)
            self._laters[ready.then.text, jit] = made
        value, held = ready.result
        return (value, tuple(map(_native, held)) if jit else held, self._laters[ready.then.text, jit])

    def _lazy(self, ready: Ready) -> Lazy:
        """A program that runs as it was before it was lowered, while another process compiles it."""
        from stgrad import loader

        def start(arguments: tuple[Any, ...]) -> Compilation:
            return Compilation(ready.text, ready.name, arguments, parallel=self.options.parallel, checked=self.options.outside)

        return Lazy(loader.load(ready.plain, ready.name, jit=False), start)

    def settle(self, program: Program, *, now: bool = False) -> bool:
        """Let a program run natively once another process has compiled it, or has failed to; or `now`. Whether it does."""
        with self._lock:
            if program.lazy is not None and (now or program.lazy.done):
                program.run, program.lazy = self._run(program.ready, program.nodes, program.hidden), None
            return program.lazy is None

    def _native(self, program: Program, flat: list[Any]) -> calling.Run | None:
        """The same through native code; None where that does not read arguments like these."""
        from stgrad.calls import direct

        ready, given, hidden = program.ready, passed(program.nodes), program.hidden
        result = self._result(ready, True)
        compiled = self._load(ready)
        if calling.guarded(compiled, ready.params) is not compiled or draws_of_numpy(ready):
            return None
        whole = direct.nests(result)
        described = [*given, *map(wrapper.describe, hidden)]
        make = functools.partial(direct.entry, compiled, arguments=[*flat, *hidden], result=result if whole else None, hand_on=ready.hands_on)
        entry = make(described)
        if entry is None:
            return None
        called = direct.positional(program.nodes, [p.kind for p in self._signature.parameters.values()]) if whole and not hidden and not ready.raised else None
        if called is not None:
            if self._entry is not None:  # its functions are called from a wrapper now, which makes the test
                self._entry.guard_by(None)
            self._entry = entry if called == described else make(called)
        checked = calling.writing(compiled, ready.params)
        otherwise = calling.Run(checked, [], [], result, True) if whole else checked
        return calling.Run(own_exceptions.translated(entry.function(otherwise), ready.raised), [], hidden, result, True, whole=whole)

    def _load(self, ready: Ready, jit: bool = True) -> Callable[..., Any]:
        from stgrad import loader

        return loader.load(ready.text, ready.name, jit=jit and self.options.jit, parallel=self.options.parallel, checked=self.options.outside)

    def _watch(self, captures: tuple[Lookup, ...]) -> None:
        self._record.update({lookup.key: lookup for lookup in captures if lookup.kind != "table"})  # which stays what it is
        self._table = None

    def _renew(self) -> None:
        """Forget the programs where something that they were made from is another thing now; let the guards know of equal values."""
        if not (self._known or self._refused or self._record):
            self._signature = signature_of(self.derivative.function)  # whose defaults may have changed since
        if not self._record or self._table is not None and self._table.holds():
            return
        with self._lock:
            if not all(lookup.holds() for lookup in self._record.values()):
                self._reset()
                return
            if self._table is not None:
                self._record = {key: lookup.renewed() for key, lookup in self._record.items()}
                self._rewrap()
            if self._table is None:  # no wrapper needs it yet
                self._table = self._native_guards()

    def forget(self) -> None:
        """Let nothing that happens outside change the programs that are there; nothing of the outside is kept alive."""
        self._record.clear()
        self._rewrap()


def _arrays(nodes: list[Any]) -> list[Any]:
    return [node for node in passed(nodes) if isinstance(node, wrapper.Array)]


def draws_of_numpy(ready: Ready) -> bool:
    """Whether a program draws from NumPy's global generator."""
    return "runtime.random_" in ready.text


# What else a program is read with, and whether sides of branches may end it (see `Programs._knowing_more`).
_FURTHER = ((Known.INTEGERS, False), (Known.TYPES, False), (Known.EXTENTS, False), (Known.TYPES, True), (Known.EXTENTS, True))


def _asks(problem: errors.StgradError) -> bool:
    """Whether it is a refusal of what is not known yet."""
    return isinstance(problem, (errors.NeedStaticError, errors.TypeInferenceError))


def _native(leaf: Sym) -> Sym:
    """What a program keeps, as compiled code returns it: it goes to compiled code again, to which a NumPy number is no other than Python's."""
    plain = not leaf.type.array and leaf.type.dtype in ("float64", "int64", "bool", "complex128")
    return Sym(leaf.operand, replace(leaf.type, weak=True)) if plain else leaf


def _with_leaves(program: Program, *flat: Any) -> tuple[Program, list[Any]]:
    return program, list(flat)
