"""`try`: its body as it stands, where what it catches cannot come up while the program runs.

What depends on structure alone is decided here: a missing key, an import, a `raise` that is certain. Handlers that raise themselves
change nothing. Any other handler is refused where an operation of the body may raise what it catches: which statements ran before
could not be known in the reverse sweep.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gast
import numpy as np

from stgrad import errors
from stgrad.frontend import objects
from stgrad.frontend.certainties import raised_by_python
from stgrad.frontend.frame import Frame, Leaves, executes
from stgrad.frontend.values import Value
from stgrad.ir import Assign, Effect, Stmt, Store, Type, Var, walk


@executes(gast.Try)
def try_statement(frame: Frame, node: Any) -> None:
    handlers = [(h, _classes(frame, h)) for h in node.handlers]
    start = len(frame.builder.out)

    def check() -> None:
        _check(frame, node, [c for h, classes in handlers if not _raises(h.body) for c in classes], frame.builder.out[start:])

    try:
        raised = _run(frame, node.body, tuple(c for _, classes in handlers for c in classes))
    except Leaves:
        check()
        raise
    check()
    if raised is None:
        frame.execute(node.orelse)
    else:
        handler = next(h for h, classes in handlers if isinstance(raised, classes))
        if handler.name is not None:
            frame.env[handler.name.id] = raised
        frame.execute(handler.body)
    frame.execute(node.finalbody)


def _classes(frame: Frame, handler: Any) -> tuple[Any, ...]:
    found = Exception if handler.type is None else frame.evaluate(handler.type)
    classes = found if isinstance(found, tuple) else (found,)
    if not all(isinstance(c, type) and issubclass(c, BaseException) for c in classes):
        frame.unsupported(handler, "`except` of what is no class of exceptions")
    return classes


def _run(frame: Frame, body: list[Any], caught: tuple[Any, ...]) -> BaseException | None:
    """Read the body; the exception that it is certain to raise, if one of `caught`."""
    try:
        frame.execute(body)
    except Leaves as leaves:
        if leaves.kind is None or not issubclass(leaves.kind, caught):
            raise
        frame.builder.out.pop()  # the `raise` itself
        return objects.exception(leaves.kind, leaves.message)
    except errors.StgradError as error:
        cause = raised_by_python(error)
        if cause is None or not isinstance(cause, caught):
            raise
        return cause
    except caught as raised:
        return raised
    return None


def _raises(body: list[Any]) -> bool:
    return bool(body) and isinstance(body[-1], gast.Raise)


def _check(frame: Frame, node: Any, caught: list[Any], body: list[Stmt]) -> None:
    for stmt in walk(tuple(body)):
        for kind, what in _may_raise(stmt, frame.builder.types):
            if any(issubclass(kind, c) or issubclass(c, kind) for c in caught):
                raise errors.UnsupportedSyntaxError(
                    f"{what} may raise the {kind.__name__} that this `try` catches",
                    stmt.loc or frame.loc(node),
                    reason="which statements ran before it could not be known in the reverse sweep",
                    hint="test for the condition with `if`, before it fails",
                )


def _may_raise(stmt: Stmt, types: dict[str, Type]) -> Iterator[tuple[type[BaseException], str]]:
    """The exceptions that a statement of the program may raise in Python, and what raises them."""
    match stmt:
        case Effect(op="raise"):
            yield getattr(__import__("builtins"), stmt.args[0].value), "`raise`"
        case Effect(op="check_equal"):
            yield ValueError, "unpacking"
        case Store() if not _plain_index(stmt.index):
            yield IndexError, "a subscript"
        case Assign():
            yield from _operation(stmt, types)


def _operation(stmt: Assign, types: dict[str, Type]) -> Iterator[tuple[type[BaseException], str]]:
    op, what = stmt.op, f"`{stmt.op}`"
    scalars = not any(isinstance(a, Var) and (types[a.name].array or not types[a.name].weak) for a in stmt.args)
    if op in ("np.divide", "np.floor_divide", "np.remainder", "np.power") and scalars:
        yield ZeroDivisionError, "a division" if op != "np.power" else "a power"
    if op == "np.power" and scalars:
        yield OverflowError, "a power"
    elif op.startswith("math.") or op in ("int", "round"):
        yield ValueError, what
        yield OverflowError, what
    elif op.startswith("np.linalg."):
        yield np.linalg.LinAlgError, what
    elif op == "getitem" and not _plain_index(stmt.args[1]):
        yield IndexError, "a subscript"
    if not scalars and not _same_shapes(stmt, types):
        yield ValueError, what


def _same_shapes(stmt: Assign, types: dict[str, Type]) -> bool:
    dims = {types[a.name].dims for a in stmt.args if isinstance(a, Var) and types[a.name].array}
    return len(dims) <= 1 or stmt.op in ("getitem", "shape")


def _plain_index(index: Value) -> bool:
    from stgrad.ir import Const, Pack, Slice

    parts = index.items if isinstance(index, Pack) else (index,)
    return all(isinstance(p, Slice) or isinstance(p, Const) and (p.value is None or p.value is Ellipsis) for p in parts)
