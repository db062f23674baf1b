"""Classes that a function makes: made while it is read, by the code that Python has compiled for their bodies.

Their methods are read as those of other classes are. What the body of a class computes has to be known then and to stay: constants, other classes and
functions of the module, but no value of the running program, and nothing that can change. What its methods see of the function around may be
anything: they find it there when they are called, as nested functions do (`Around`). A class whose methods do so belongs to one reading.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Set
from types import CellType, CodeType, FunctionType
from typing import Any
from weakref import ReferenceType, WeakKeyDictionary, ref

import gast

from stgrad import errors
from stgrad.frontend.frame import Frame
from stgrad.frontend.heap import MUTABLE
from stgrad.frontend.values import Closure, Value, is_static, static_of
from stgrad.lookups import called, root_of
from stgrad.syntax.assigned import binders
from stgrad.syntax.classes import LocalClass

_made: WeakKeyDictionary[CodeType, dict[tuple[int, ...], tuple[type, tuple[Any, ...]]]] = WeakKeyDictionary()
_CALLED = ("dataclasses", "enum", "functools", "typing", "typing_extensions", "collections", "abc")  # what bodies, bases and decorators may call
_HINT = "define the class at module level"


def local_class(frame: Frame, written: LocalClass) -> type:
    """The class, the same one each time that the same code sees the same values."""
    function, node = frame.source.function, written.node
    code = next((c for c in _codes(function.__code__) if c.co_name == node.name and c.co_firstlineno == written.first_line), None)
    if code is None:
        raise errors.UnsupportedSyntaxError(f"the class `{node.name}` is not in the code of its function", frame.loc(node), hint=_HINT)
    evaluated = (*node.bases, *(k.value for k in node.keywords), *node.decorator_list, *_evaluated(frame, node))
    at_once = {n.id for e in evaluated for n in gast.walk(e) if isinstance(n, gast.Name)}
    seen = {name: _seen(frame, name, written, name in at_once) for name in code.co_freevars if name != node.name}
    own = {n for n, _ in binders(node.body)} | seen.keys()
    for decorator in node.decorator_list:
        _may_be_called(frame, decorator.func if isinstance(decorator, gast.Call) else decorator, own)
    values = (function.__globals__, *(v for e in evaluated for v in _settled(frame, e, own)), *seen.values())
    known = {} if any(isinstance(v, Around) for v in seen.values()) else _made.setdefault(code, {})
    key = tuple(map(id, values))
    if key not in known:
        cells = {name: CellType(value) for name, value in seen.items()} | {node.name: CellType()}
        body = FunctionType(code, function.__globals__, node.name, None, tuple(cells[name] for name in code.co_freevars))
        options = {k.arg: _value(frame, k.value) for k in node.keywords}
        made = called(getattr(builtins, "__build_class__"), body, node.name, *(_value(frame, base) for base in node.bases), **options)  # noqa: B009
        for decorator in reversed(node.decorator_list):
            made = called(_value(frame, decorator), made)
        cells[node.name].cell_contents = made
        known[key] = made, values
    return known[key][0]


class Around:
    """What stands in a cell of a method for a name of the function around."""

    def __init__(self, frame: Frame, name: str) -> None:
        self.frame: ReferenceType[Frame] = ref(frame)
        self.name = name

    def _stgrad_value_(self) -> Value:
        """What the name stands for now."""
        frame = self.frame()
        if frame is None:
            raise errors.UnsupportedSyntaxError(f"a class that outlives its function reads `{self.name}` of it", None, hint=_HINT)
        return frame.lookup(self.name)


def reads_around(cls: type) -> bool:
    """Whether methods of a class, or of one that it is made from, see values of the running program."""
    functions = (f for c in cls.__mro__ for v in vars(c).values() for f in _functions(v))
    return any(isinstance(cell.cell_contents, Around) for f in functions for cell in f.__closure__ or () if _is_filled(cell))


def _functions(found: Any) -> Iterator[FunctionType]:
    parts = (found.fget, found.fset, found.fdel) if isinstance(found, property) else (getattr(found, "__func__", getattr(found, "func", found)),)
    yield from (p for p in parts if isinstance(p, FunctionType))


def _is_filled(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _codes(code: CodeType) -> Iterator[CodeType]:
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield const
            yield from _codes(const)


def _evaluated(frame: Frame, node: Any) -> Iterator[Any]:
    """The expressions that the body of a class evaluates once."""
    for stmt in node.body:
        match stmt:
            case gast.FunctionDef():
                for decorator in stmt.decorator_list:
                    _may_be_called(frame, decorator.func if isinstance(decorator, gast.Call) else decorator, {n for n, _ in binders(node.body)})
                yield from (*stmt.decorator_list, *stmt.args.defaults, *(d for d in stmt.args.kw_defaults if d is not None))
            case gast.Assign() | gast.AnnAssign():
                if stmt.value is not None:
                    yield stmt.value
            case gast.Pass() | gast.Expr(gast.Constant()):
                pass
            case _:
                raise errors.UnsupportedSyntaxError("a class in a function whose body does more than bind names is not supported", frame.loc(stmt), hint=_HINT)


def _settled(frame: Frame, node: Any, own: Set[str]) -> Iterator[Any]:
    """What an expression rests on, but for names of the class itself: all of it is known, and stays."""
    match node:
        case gast.Constant() | gast.Lambda():
            return
        case gast.Name() | gast.Attribute():
            if _first_name(node) not in own:
                yield _value(frame, node)
        case gast.Call():
            _may_be_called(frame, node.func, own)
            for part in (node.func, *node.args, *(k.value for k in node.keywords)):
                yield from _settled(frame, part, own)
        case gast.UnaryOp() | gast.BinOp() | gast.Tuple() | gast.List() | gast.Dict():
            for part in gast.iter_child_nodes(node):
                if isinstance(part, gast.expr):
                    yield from _settled(frame, part, own)
        case _:
            raise errors.UnsupportedSyntaxError("the body of a class in a function may not compute this", frame.loc(node), hint=_HINT)


def _may_be_called(frame: Frame, node: Any, own: Set[str]) -> None:
    """Refuse to run functions of the user, which may see what changes, while a program is read."""
    if isinstance(node, gast.Attribute) and _first_name(node) in own:  # `@x.setter`
        return
    function = _value(frame, node)
    if root_of(function) not in _CALLED and not (isinstance(function, type) and function.__module__ == "builtins"):
        raise errors.UnsupportedSyntaxError("a class in a function that calls this while it is made is not supported", frame.loc(node), hint=_HINT)


def _first_name(node: Any) -> str | None:
    while isinstance(node, gast.Attribute):
        node = node.value
    return node.id if isinstance(node, gast.Name) else None


def _value(frame: Frame, node: Any) -> Any:
    """The value of an expression, which is known and stays."""
    if isinstance(node, gast.Call):
        options = {k.arg: _value(frame, k.value) for k in node.keywords}
        return called(_value(frame, node.func), *(_value(frame, a) for a in node.args), **options)
    value = static_of(frame.evaluate(node))
    if not is_static(value) or isinstance(value, (Closure, *MUTABLE)):
        raise errors.UnsupportedSyntaxError("a class in a function that rests on what may change is not supported", frame.loc(node), hint=_HINT)
    return value


def _seen(frame: Frame, name: str, written: LocalClass, at_once: bool) -> Any:
    """What a name of the function around stands for, `at_once` where the body of the class itself asks."""
    node = written.node
    around: Frame | None = frame
    while around is not None and name not in around.counts:
        around = around.parent
    bound_again = around is not None and around.counts[name] + (name in written.parameters) > 1
    if not at_once and (around is not None and name not in around.env or bound_again):
        return Around(frame, name)
    value: Value = static_of(frame.lookup(name, node))
    stays = is_static(value) and not isinstance(value, (Closure, *MUTABLE))
    if stays and not bound_again:
        return value
    if not at_once:
        return Around(frame, name)
    why = "the name is bound more than once" if stays else "a class is made while the function is read, and its body uses what is known then"
    what = f"the body of the class `{node.name}` reads `{name}` of the function around it"
    raise errors.UnsupportedSyntaxError(what, frame.loc(node), reason=why, hint="set it in `__init__`, or read it in a method")
