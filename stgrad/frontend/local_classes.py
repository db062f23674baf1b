"""Classes that a function makes: made while it is read, by the code that Python has compiled for their bodies.

Their methods are read as those of other classes are. What a class sees of the function around has to be known then: another class, a
function or a constant, but no value of the running program, which would make another class of it at each call.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from types import CellType, CodeType, FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import gast

from stgrad import errors
from stgrad.frontend.frame import Frame
from stgrad.frontend.heap import MUTABLE
from stgrad.frontend.values import Closure, Value, is_static, static_of
from stgrad.lookups import called, root_of
from stgrad.syntax.classes import LocalClass

_made: WeakKeyDictionary[CodeType, dict[tuple[int, ...], tuple[type, tuple[Any, ...]]]] = WeakKeyDictionary()
_DECORATORS = ("dataclasses", "enum", "functools", "typing", "typing_extensions")


def local_class(frame: Frame, written: LocalClass) -> type:
    """The class, the same one each time that the same code sees the same values."""
    function, node = frame.source.function, written.node
    code = next((c for c in _codes(function.__code__) if c.co_name == node.name and c.co_firstlineno == written.first_line), None)
    if code is None:
        raise errors.UnsupportedSyntaxError(f"the class `{node.name}` is not in the code of its function", frame.loc(node), hint="define it at module level")
    bases = tuple(_known(frame, base) for base in node.bases)
    options = {k.arg: _known(frame, k.value) for k in node.keywords}
    decorators = [_decorator(frame, d) for d in node.decorator_list]
    seen = {name: _seen(frame, name, written) for name in code.co_freevars if name != node.name}
    values = (function.__globals__, *bases, *options.values(), *decorators, *seen.values())
    known = _made.setdefault(code, {})
    key = tuple(map(id, values))
    if key not in known:
        cells = {name: CellType(value) for name, value in seen.items()} | {node.name: CellType()}
        body = FunctionType(code, function.__globals__, node.name, None, tuple(cells[name] for name in code.co_freevars))
        made = called(getattr(builtins, "__build_class__"), body, node.name, *bases, **options)  # noqa: B009
        for decorator in reversed(decorators):
            made = called(decorator, made)
        cells[node.name].cell_contents = made
        known[key] = made, values
    return known[key][0]


def _codes(code: CodeType) -> Iterator[CodeType]:
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield const
            yield from _codes(const)


def _known(frame: Frame, node: Any) -> Any:
    """The value of an expression, which has to be known."""
    if isinstance(node, gast.Call):
        options = {k.arg: _known(frame, k.value) for k in node.keywords}
        return called(_known(frame, node.func), *(_known(frame, a) for a in node.args), **options)
    value = static_of(frame.evaluate(node))
    if not is_static(value):
        raise errors.UnsupportedSyntaxError("a class in a function that a value of the running program decides is not supported", frame.loc(node))
    return value


def _decorator(frame: Frame, node: Any) -> Any:
    function = _known(frame, node.func if isinstance(node, gast.Call) else node)
    if root_of(function) not in _DECORATORS and getattr(function, "__module__", "") not in _DECORATORS:
        raise errors.UnsupportedSyntaxError("the decorator of a class in a function is not supported", frame.loc(node), hint="define the class at module level")
    return _known(frame, node)


def _seen(frame: Frame, name: str, written: LocalClass) -> Any:
    """What a name of the function around stands for."""
    node = written.node
    value: Value = static_of(frame.lookup(name, node))
    around: Frame | None = frame
    while around is not None and name not in around.counts:
        around = around.parent
    if isinstance(value, (Closure, *MUTABLE)) or not is_static(value):
        why = "a class is made while the function is read, and sees what does not change"
    elif around is not None and around.counts[name] + (name in written.parameters) > 1:
        why = "the name is bound more than once, and methods see the last of its values"
    else:
        return value
    raise errors.UnsupportedSyntaxError(
        f"the class `{node.name}` reads `{name}` of the function around it",
        frame.loc(node),
        reason=why,
        hint="pass it to the instances, or define the class at module level",
    )
