"""`with`: what a context manager does on entry and exit is read around the body.

    with manager as name:        ->     name = manager.__enter__()
        body                            try: body
                                        finally: manager.__exit__(None, None, None)

Where `__exit__` may swallow exceptions, it is asked in a handler, and for nothing behind a body that raises none. `contextlib.suppress` is a `try`
(`stgrad.syntax.simplify`). A manager that
`contextlib.contextmanager` makes of a generator is that generator, with the body in place of its `yield`.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import types
from typing import Any

import gast

from stgrad import errors
from stgrad import source as sources
from stgrad.frontend.bindings import bound_names
from stgrad.frontend.builtins import handles
from stgrad.frontend.frame import Frame, executes
from stgrad.frontend.generators import Consumer, drive
from stgrad.frontend.values import Generator, Record, Value
from stgrad.syntax.assigned import own
from stgrad.syntax.build import at, constant, load

# What is guarded is not shared with other threads: the program changes nothing outside of it.
_LOCKS = (type(threading.Lock()), type(threading.RLock()))
_FROM_GENERATOR = type(contextlib.contextmanager(lambda: iter(()))())


@handles(contextlib.contextmanager)
def _context_manager(frame: Frame, function: Value) -> Value:
    return functools.partial(_made_of, function)


def _made_of(function: Any, *args: Any, **kwargs: Any) -> Any:
    """What the result of `contextlib.contextmanager(function)` returns."""
    return contextlib.contextmanager(function)(*args, **kwargs)


@handles(_made_of)
def _manager(frame: Frame, function: Value, *args: Value, **kwargs: Value) -> Value:
    return Record(_FROM_GENERATOR, {"gen": frame.call(function, args, kwargs)})


@executes(gast.With)
def with_statement(frame: Frame, node: Any) -> None:
    item = node.items[0]  # the core has one
    manager = frame.keep(frame.evaluate(item.context_expr))
    generator = manager.fields["gen"] if isinstance(manager, Record) and manager.cls is _FROM_GENERATOR else None
    if isinstance(generator, Generator):
        _generator(frame, node, generator)
        return
    if isinstance(manager, _LOCKS):
        frame.execute(node.body)
        return
    name = frame.hidden_name("manager")
    frame.env[name] = manager
    enter, leave = (_method(frame, name, method, item.context_expr) for method in ("__enter__", "__exit__"))
    swallows = _may_swallow(frame, leave, item.context_expr)
    entered = frame.call(enter, (), {})
    if item.optional_vars is not None:
        frame.assign(item.optional_vars, entered)

    def leaving(*args: Any) -> Any:
        return gast.Call(gast.Attribute(load(name), "__exit__", gast.Load()), list(args), [])

    left = gast.Expr(leaving(*(constant(None) for _ in range(3))))
    if swallows:
        raised = frame.hidden_name("raised")
        ask = leaving(gast.Call(constant(type), [load(raised)], []), load(raised), constant(None))
        again = gast.If(gast.UnaryOp(gast.Not(), ask), [gast.Raise(None, None)], [])
        handler = gast.ExceptHandler(type=constant(BaseException), name=gast.Name(raised, gast.Store(), None, None), body=[again])
        frame.execute([at(node, gast.Try(node.body, [handler], [left], []))])
    else:
        frame.execute([at(node, gast.Try(node.body, [], [], [left]))])
    frame.env.pop(name, None)


def _method(frame: Frame, name: str, method: str, node: Any) -> Value:
    try:
        return frame.evaluate(at(node, gast.Attribute(load(name), method, gast.Load())))
    except (errors.UndefinedNameError, AttributeError):
        frame.unsupported(node, "`with` of what is no context manager", reason=f"it has no `{method}`")


def _may_swallow(frame: Frame, leave: Value, node: Any) -> bool:
    """Whether the result of an `__exit__` may say that an exception is to be swallowed; one that is not Python is refused."""
    function = leave.__func__ if isinstance(leave, types.MethodType) else leave
    if not isinstance(function, types.FunctionType):
        frame.unsupported(
            node, "this context manager is not supported", reason="what it does on entry and exit is not Python code", hint="use it outside of the function"
        )
    tree = sources.load(function).tree
    returned = [n.value for n in own(tree.body) if isinstance(n, gast.Return) and n.value is not None]
    return not all(isinstance(value, gast.Constant) and not value.value for value in returned)


def _generator(frame: Frame, node: Any, generator: Generator) -> None:
    if _yields(generator.tree.body) != 1:
        frame.unsupported(
            node.items[0].context_expr,
            f"`{generator.tree.name}` does not yield once",
            reason="it is a context manager",
            hint="write one `yield`, outside of loops, or one in each branch",
        )

    def trip(value: Value) -> None:
        if node.items[0].optional_vars is not None:
            frame.assign(node.items[0].optional_vars, value)
        frame.execute(node.body)

    drive(frame, generator, Consumer(trip, bound_names([node]), closes=True), node)


def _yields(body: list[Any]) -> int | None:
    """How often each path through a block yields; None where that is not one number."""
    count = 0
    for stmt in body:
        found: int | None = sum(isinstance(n, gast.Yield) for n in own([stmt]))
        if found and isinstance(stmt, gast.If):
            yes, no = _yields(stmt.body), _yields(stmt.orelse)
            found = yes if yes == no else None
        elif found and isinstance(stmt, (gast.Try, gast.With)):
            found = _yields(stmt.body)
        elif found and isinstance(stmt, (gast.For, gast.While)):
            found = None
        if found is None:
            return None
        count += found
    return count
