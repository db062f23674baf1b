"""What a function takes along when it is pickled: a way to find it by its name, and the text of what is pickled by value.

The standard pickle finds functions by name, and under the name of a decorated one stands the decorator's result. cloudpickle (joblib, Dask, Ray) copies
the code of functions that no other process can import, those of scripts and notebooks, and leaves out the file that they are from; what is
differentiated in the other process needs its text.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

from stgrad import source

Texts = tuple[tuple[str, tuple[str, ...]], ...]  # files, and their lines


def let_find(function: Any) -> None:
    """Let the standard pickle find a function under the name of what it is wrapped by: `step.__wrapped__`."""
    if not isinstance(function, FunctionType):
        return
    found: Any = sys.modules.get(function.__module__ or "")
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    path = function.__qualname__
    while found is not None and found is not function:
        found, path = getattr(found, "__wrapped__", None), path + ".__wrapped__"
    if found is function:
        function.__qualname__ = path


def texts_of(thing: Any) -> Texts:
    """The text of each file that has something of a function that goes by value: its own, and of what it calls."""
    files = {f.__code__.co_filename: f.__globals__ for f in _reached(thing) if _goes_by_value(f)}
    texts = ((file, tuple(source.lines_of(file, around))) for file, around in files.items())
    return tuple((file, lines) for file, lines in texts if lines)


def take(texts: Texts) -> None:
    """Know the text of what was unpickled."""
    for file, lines in texts:
        source.SHIPPED.setdefault((file, lines), f"<{file}>" if linecache.getlines(file) != list(lines) else file)


def _goes_by_value(function: FunctionType) -> bool:
    module = sys.modules.get(function.__module__ or "")
    return function.__module__ == "__main__" or module is None or "<" in function.__qualname__


def _reached(thing: Any) -> Iterator[FunctionType]:
    """The functions that a function may call: by global names, closures, defaults and the classes of objects that hold it."""
    seen: set[int] = set()
    todo = [thing]
    while todo:
        thing = todo.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, FunctionType):
            yield thing
            todo.extend(_held(thing))
        elif isinstance(thing, MethodType):
            todo.extend((thing.__func__, type(thing.__self__)))
        elif isinstance(thing, type):
            todo.extend(vars(thing).values() if thing.__module__ == "__main__" else ())
        else:
            todo.extend(v for name in ("__wrapped__", "py_func", "func", "__func__", "fget") if (v := getattr(thing, name, None)) is not None)


def _held(function: FunctionType) -> Iterator[Any]:
    for name in _names(function.__code__):
        if name in function.__globals__:
            yield function.__globals__[name]
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not bound yet
            continue
    yield from function.__defaults__ or ()


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _names(const)
