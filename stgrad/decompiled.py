"""The text of a function that nobody kept: `text_of(code)` reads it from the instructions.

What `exec` and `eval` have made (wrappers that a package writes for each of its functions, say) has no text. Most of it is short: calls, arithmetic,
attributes, items, assignments to names, conditional returns and conditional expressions, no loops. These are read here, by running the instructions
on expressions in place of values.

Contract: the text compiles to the same instructions on the same constants and names, or there is none. So an instruction that is read
wrongly, or that a later Python gives another meaning, loses a function and never changes one.
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

_UNARY: dict[str, ast.unaryop] = {"UNARY_NEGATIVE": ast.USub(), "UNARY_POSITIVE": ast.UAdd(), "UNARY_NOT": ast.Not(), "UNARY_INVERT": ast.Invert()}
_NOTHING = frozenset({"RESUME", "NOP", "CACHE", "COPY_FREE_VARS", "MAKE_CELL", "PRECALL", "TO_BOOL", "NOT_TAKEN"})
_LOADS = frozenset({"LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_DEREF", "LOAD_CLASSDEREF"})
_PAIRS = {"LOAD_FAST_LOAD_FAST": "LL", "LOAD_FAST_BORROW_LOAD_FAST_BORROW": "LL", "STORE_FAST_LOAD_FAST": "SL", "STORE_FAST_STORE_FAST": "SS"}
_TESTS = {"FALSE": "a", "TRUE": "not a", "NOT_NONE": "a is None", "NONE": "a is not None"}  # what holds where a jump on it is not taken


class _Unread(Exception):
    """Instructions that are not read."""


_NULL = ast.Constant("")  # what a call puts beside a function that has no `self`


@dataclass
class _Machine:
    """Instructions run on expressions: what they leave on the stack, and the statements that they are."""

    code: types.CodeType
    at: int = 0
    stack: list[ast.expr] = field(default_factory=list)
    body: list[ast.stmt] = field(default_factory=list)
    keywords: tuple[str, ...] = ()

    @functools.cached_property
    def steps(self) -> list[dis.Instruction]:
        return list(dis.get_instructions(self.code))

    def until(self, end: int) -> None:
        """Run up to an instruction, or to a return."""
        while self.at < end:
            step = self.steps[self.at]
            self.at += 1
            if step.opname in _NOTHING:
                continue
            self.step(step, end)
            if self.body and isinstance(self.body[-1], ast.Return):
                return

    def step(self, step: dis.Instruction, end: int) -> None:
        name = step.opname
        if name.startswith(("POP_JUMP_FORWARD_IF_", "POP_JUMP_IF_")):
            self.branch(step, end)
        elif name in _PAIRS:
            for letter, value in zip(_PAIRS[name], _pair(step), strict=True):
                self.load(value) if letter == "L" else self.store(value)
        elif name in _LOADS:
            self.load(step.argval)
        elif name in _ACTIONS:
            _ACTIONS[name](self, step)
        else:
            raise _Unread

    def load(self, name: str) -> None:
        self.stack.append(ast.Name(name, ast.Load()))

    def store(self, name: str) -> None:
        self.body.append(ast.Assign([ast.Name(name, ast.Store())], self.stack.pop(), lineno=0))

    def taken(self, count: int) -> list[ast.expr]:
        """Items off the stack, in their order."""
        if count > len(self.stack):
            raise _Unread
        found = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return found

    def branch(self, step: dis.Instruction, end: int) -> None:
        """`if c: ... return` and `a if c else b`; anything else joins in a way that is not read."""
        (tested,) = self.taken(1)
        test = _Put(tested).visit(ast.parse(_TESTS[step.opname.rpartition("IF_")[2]], mode="eval").body)
        target = self.index(step.argval)
        if not self.at < target <= end:
            raise _Unread
        last = self.steps[target - 1]
        if last.opname == "JUMP_FORWARD":
            join = self.index(last.argval)
            self.stack.append(ast.IfExp(test, self.value(self.at, target - 1), self.value(target, join)))
            self.at = join
        else:
            inner = _Machine(self.code, self.at)
            inner.until(target)
            if not inner.body or inner.at != target or not _ends(inner.body):
                raise _Unread
            self.body.append(ast.If(test, inner.body, []))
            self.at = target

    def value(self, start: int, end: int) -> ast.expr:
        """The one expression that instructions leave."""
        inner = _Machine(self.code, start)
        inner.until(end)
        if inner.body or len(inner.stack) != 1 or inner.at != end:
            raise _Unread
        return inner.stack[0]

    def index(self, offset: int) -> int:
        return next(i for i, step in enumerate(self.steps) if step.offset == offset)


class _Put(ast.NodeTransformer):
    """An expression with another one in place of its name."""

    def __init__(self, value: ast.expr):
        self.value = value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.value


def _ends(body: list[ast.stmt]) -> bool:
    """Whether statements return on each path that is read: what an `if` skips goes on at the same place as the statement behind it."""
    last = body[-1]
    return isinstance(last, ast.Return) or isinstance(last, ast.If) and _ends(last.body)


def _pair(step: dis.Instruction) -> Sequence[str]:
    if not isinstance(step.argval, tuple):
        raise _Unread
    return step.argval


def _constant(machine: _Machine, step: dis.Instruction) -> None:
    if isinstance(step.argval, types.CodeType):
        raise _Unread
    machine.stack.append(ast.Constant(step.argval))


def _null(machine: _Machine, step: dis.Instruction) -> None:
    machine.stack.append(_NULL)


def _global(machine: _Machine, step: dis.Instruction) -> None:
    null = "NULL" in step.argrepr
    machine.stack += [_NULL] * null
    machine.load(step.argval)


def _attribute(machine: _Machine, step: dis.Instruction) -> None:
    (owner,) = machine.taken(1)
    machine.stack.append(ast.Attribute(owner, step.argval, ast.Load()))
    if step.opname == "LOAD_METHOD" or "NULL" in step.argrepr:
        machine.stack.append(_NULL)


def _named(machine: _Machine, step: dis.Instruction) -> None:
    machine.keywords = machine.code.co_consts[step.arg or 0]


def _call(machine: _Machine, step: dis.Instruction) -> None:
    if step.opname == "CALL_KW":
        (names,) = machine.taken(1)
        machine.keywords = names.value if isinstance(names, ast.Constant) else ()  # type: ignore[assignment]
    args = machine.taken(step.arg or 0)
    first, second = machine.taken(2)
    named = [ast.keyword(k, v) for k, v in zip(machine.keywords, args[len(args) - len(machine.keywords) :], strict=True)]
    function = second if first is _NULL else first
    if (first is _NULL) == (second is _NULL):
        raise _Unread
    machine.keywords = ()
    machine.stack.append(ast.Call(function, args[: len(args) - len(named)], named))


def _call_spread(machine: _Machine, step: dis.Instruction) -> None:
    """`f(x, *args, k=1, **kwargs)`: the arguments are a tuple and a dict."""
    spread = machine.taken(1) if (step.arg or 0) & 1 else []
    (args,) = machine.taken(1)
    function = machine.taken(2)
    called = [f for f in function if f is not _NULL]
    if len(called) != 1 or not all(isinstance(k, ast.Dict) for k in spread):
        raise _Unread
    given: list[ast.expr] = args.elts if isinstance(args, ast.Tuple) else [ast.Starred(args, ast.Load())]
    named = [ast.keyword(str(ast.literal_eval(k)) if k else None, v) for d in spread if isinstance(d, ast.Dict) for k, v in zip(d.keys, d.values, strict=True)]
    machine.stack.append(ast.Call(called[0], given, named))


def _mapping(machine: _Machine, step: dis.Instruction) -> None:
    items = machine.taken(2 * (step.arg or 0))
    machine.stack.append(ast.Dict([*items[::2]], items[1::2]))


def _extended(machine: _Machine, step: dis.Instruction) -> None:
    """`*args` or `**kwargs` in a display that grows."""
    owner, more = machine.taken(2)
    if step.arg != 1 or not isinstance(owner, ast.List if step.opname == "LIST_EXTEND" else ast.Dict):
        raise _Unread
    if isinstance(owner, ast.Dict):
        owner = ast.Dict([*owner.keys, None], [*owner.values, more])
    elif isinstance(owner, ast.List):
        owner = ast.List([*owner.elts, ast.Starred(more, ast.Load())], ast.Load())
    machine.stack.append(owner)


def _intrinsic(machine: _Machine, step: dis.Instruction) -> None:
    (operand,) = machine.taken(1)
    if step.argrepr == "INTRINSIC_UNARY_POSITIVE":
        machine.stack.append(ast.UnaryOp(ast.UAdd(), operand))
    elif step.opname == "LIST_TO_TUPLE" or step.argrepr == "INTRINSIC_LIST_TO_TUPLE":
        if not isinstance(operand, ast.List):
            raise _Unread
        machine.stack.append(ast.Tuple(operand.elts, ast.Load()))
    else:
        raise _Unread


def _binary(machine: _Machine, step: dis.Instruction) -> None:
    left, right = machine.taken(2)
    if step.argrepr == "[]":
        machine.stack.append(ast.Subscript(left, right, ast.Load()))
    elif step.argrepr.endswith("="):
        raise _Unread  # an assignment in place
    else:
        parsed = ast.parse(f"a {step.argrepr} b", mode="eval").body
        if not isinstance(parsed, ast.BinOp):
            raise _Unread
        machine.stack.append(ast.BinOp(left, parsed.op, right))


def _compare(machine: _Machine, step: dis.Instruction) -> None:
    left, right = machine.taken(2)
    symbol = {"IS_OP": ("is", "is not"), "CONTAINS_OP": ("in", "not in")}.get(step.opname, (step.argrepr.removeprefix("bool(").removesuffix(")"),))
    parsed = ast.parse(f"a {symbol[(step.arg or 0) if len(symbol) > 1 else 0]} b", mode="eval").body
    if not isinstance(parsed, ast.Compare):
        raise _Unread
    machine.stack.append(ast.Compare(left, parsed.ops, [right]))


def _unary(machine: _Machine, step: dis.Instruction) -> None:
    (operand,) = machine.taken(1)
    machine.stack.append(ast.UnaryOp(_UNARY[step.opname], operand))


def _item(machine: _Machine, step: dis.Instruction) -> None:
    owner, *bounds = machine.taken(2 if step.opname == "BINARY_SUBSCR" else 3)
    machine.stack.append(ast.Subscript(owner, bounds[0] if len(bounds) == 1 else ast.Slice(*map(_bound, bounds)), ast.Load()))


def _bound(value: ast.expr) -> ast.expr | None:
    return None if isinstance(value, ast.Constant) and value.value is None else value


def _slice(machine: _Machine, step: dis.Instruction) -> None:
    machine.stack.append(ast.Slice(*map(_bound, machine.taken(step.arg or 0))))


def _display(machine: _Machine, step: dis.Instruction) -> None:
    items = machine.taken(step.arg or 0)
    machine.stack.append((ast.Tuple if step.opname == "BUILD_TUPLE" else ast.List)(items, ast.Load()))


def _assign(machine: _Machine, step: dis.Instruction) -> None:
    machine.store(step.argval)


def _drop(machine: _Machine, step: dis.Instruction) -> None:
    machine.body.append(ast.Expr(*machine.taken(1)))


def _return(machine: _Machine, step: dis.Instruction) -> None:
    value = ast.Constant(step.argval) if step.opname == "RETURN_CONST" else machine.taken(1)[0]
    if machine.stack:
        raise _Unread
    machine.body.append(ast.Return(value))


_ACTIONS: dict[str, Callable[[_Machine, dis.Instruction], None]] = {
    "LOAD_CONST": _constant, "LOAD_SMALL_INT": _constant, "PUSH_NULL": _null, "LOAD_GLOBAL": _global, "LOAD_ATTR": _attribute, "LOAD_METHOD": _attribute,
    "KW_NAMES": _named, "CALL": _call, "CALL_KW": _call, "CALL_FUNCTION_EX": _call_spread, "BINARY_OP": _binary,
    "BUILD_MAP": _mapping, "DICT_MERGE": _extended, "LIST_EXTEND": _extended, "LIST_TO_TUPLE": _intrinsic, "CALL_INTRINSIC_1": _intrinsic,
    "COMPARE_OP": _compare, "IS_OP": _compare, "CONTAINS_OP": _compare, "BINARY_SUBSCR": _item, "BINARY_SLICE": _item, "BUILD_SLICE": _slice,
    "BUILD_TUPLE": _display, "BUILD_LIST": _display, "STORE_FAST": _assign, "POP_TOP": _drop, "RETURN_VALUE": _return, "RETURN_CONST": _return,
    **dict.fromkeys(_UNARY, _unary),
}  # fmt: skip


@functools.lru_cache(maxsize=1024)
def text_of(code: types.CodeType) -> str | None:
    """The text of a function that compiles to this code; None where its instructions are not read.

    >>> space = {}
    >>> exec("def f(x, *rest): return g(x)(*rest)", space)
    >>> print(text_of(space["f"].__code__))
    def f(x, *rest):
        return g(x)(*rest)
    """
    machine = _Machine(code)
    try:
        machine.until(len(machine.steps))
        if not machine.body or not isinstance(machine.body[-1], ast.Return):
            return None
        text = ast.unparse(ast.fix_missing_locations(_function(code, machine.body)))
    except (_Unread, ValueError, IndexError, StopIteration):
        return None
    return text if any(instructions(found) == instructions(code) for found in _compiled(code, text)) else None


def _function(code: types.CodeType, body: list[ast.stmt]) -> ast.stmt:
    """The definition, or the lambda as an expression."""
    if code.co_name == "<lambda>":
        return ast.Expr(ast.Lambda(_parameters(code), _returned(body)))
    documented = [ast.Expr(ast.Constant(code.co_consts[0]))] if code.co_consts and isinstance(code.co_consts[0], str) else []
    function = ast.FunctionDef(code.co_name, _parameters(code), [*documented, *body], [], None, None)
    if "type_params" in ast.FunctionDef._fields:  # since Python 3.12
        function.type_params = []  # type: ignore[attr-defined,unused-ignore]
    return function


def _returned(body: list[ast.stmt]) -> ast.expr:
    """The value of statements that do nothing but return."""
    first, *rest = body
    if isinstance(first, ast.Return) and first.value is not None:
        return first.value
    if isinstance(first, ast.If):
        return ast.IfExp(first.test, _returned(first.body), _returned(rest))
    raise _Unread


def _compiled(code: types.CodeType, text: str) -> Iterator[types.CodeType]:
    """What the text compiles to where its free names are those of the code, and its modules imported beside it or not: calls of their functions differ."""
    around = f"def around({', '.join(code.co_freevars)}):\n" + "\n".join(f"    {line}" for line in text.splitlines())
    modules = ", ".join(_modules(code))
    for beside in ("", f"import {modules}\n") if modules else ("",):
        module = compile(beside + around, code.co_filename, "exec", dont_inherit=True)
        (outer,) = (c for c in module.co_consts if isinstance(c, types.CodeType))
        yield from (c for c in outer.co_consts if isinstance(c, types.CodeType))


def _modules(code: types.CodeType) -> list[str]:
    """The global names of which an attribute is read by itself, not as a method."""
    steps = list(dis.get_instructions(code))
    pairs = zip(steps, steps[1:], strict=False)
    plain = (a.argval for a, b in pairs if a.opname == "LOAD_GLOBAL" and b.opname == "LOAD_ATTR" and "NULL" not in b.argrepr)
    return list(dict.fromkeys(plain))


def instructions(code: types.CodeType) -> tuple[object, ...]:
    """What a code object does, wherever it stands."""
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, tuple(map(repr, code.co_consts)), code.co_argcount, code.co_flags & 0xF


def _parameters(code: types.CodeType) -> ast.arguments:
    names = [ast.arg(name) for name in code.co_varnames]
    first, only = code.co_argcount, code.co_kwonlyargcount
    rest = first + only
    star = names[rest] if code.co_flags & inspect.CO_VARARGS else None
    double = names[rest + (star is not None)] if code.co_flags & inspect.CO_VARKEYWORDS else None
    positional = code.co_posonlyargcount
    return ast.arguments(names[:positional], names[positional:first], star, names[first:rest], [None] * only, double, [])
