"""Exceptions of the user's own classes: generated code raises the class of Python's next to them, and whoever calls it is given what was written.

    raise NoConvergence("after", n)   ->   raise RuntimeError("NoConvergence: ('after', 50)")   ->   NoConvergence("after", 50)

What an exception says is the same text in both, so the text tells which exception of the program it was. Only the caller makes the object: Numba
takes no class that it would have to pickle, and a program on disk names classes instead of holding them.
"""

from __future__ import annotations

import ast
import builtins
import functools
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, cast
from weakref import ref


@dataclass(frozen=True)
class Raised:
    """An exception that a program raises in the place of another one: a class of Python's and a text for the class and arguments of that.

    `args` is their text; None where they are not known before the program runs, and `says` stands for them. `own` is the class in the process that
    has read the program: of several local ones of one name that which it raises.
    """

    kind: str
    shown: str
    module: str
    name: str
    says: str
    args: str | None
    own: ref[type] | None = field(default=None, compare=False)

    def described(self) -> list[str | None]:
        """All that another process needs."""
        return [self.kind, self.shown, self.module, self.name, self.says, self.args]

    def exception(self) -> Exception | None:
        """The exception that the user's code raises; None where its class is not to be found any more."""
        cls = self.own() if self.own is not None else _imported(self.module, self.name)
        if not (isinstance(cls, type) and issubclass(cls, getattr(builtins, self.kind))):
            return None
        made = cast("type[Exception]", cls)
        if self.args is not None:
            try:
                return made(*ast.literal_eval(self.args))
            except Exception:  # noqa: BLE001  (its `__init__` is code of the user's)
                pass
        exception = made.__new__(made)
        exception.args = (self.says,)
        return exception


_NOTED: dict[tuple[str, str], Raised] = {}  # by class and text of what is raised in the place of the exception


def note(kind: str, shown: str, exception: Exception, says: str, known: bool) -> None:
    """Note what a program raises in the place of an exception; `known`: its arguments are those that it has when the program runs."""
    cls = type(exception)
    args = _literal(exception.args) if known else None
    if cls is getattr(builtins, kind) and (args is None or exception.args == (shown,) or not exception.args and not shown):
        _NOTED.pop((kind, shown), None)
        return
    _NOTED[kind, shown] = Raised(kind, shown, cls.__module__, cls.__qualname__, says, args, ref(cls))


def noted(text: str) -> tuple[Raised, ...]:
    """What was noted of the exceptions in the text of a program that was read just now."""
    return tuple(r for r in _NOTED.values() if (repr(r.shown) if r.shown else f"{r.kind}()") in text)


def translated(compiled: Callable[..., Any], raised: Iterable[Raised]) -> Callable[..., Any]:
    """Compiled code that raises the user's own exceptions."""
    rows = {(r.kind, r.shown): r for r in raised}
    if not rows:
        return compiled

    @functools.wraps(compiled, updated=())
    def run(*flat: Any) -> Any:
        try:
            return compiled(*flat)
        except Exception as problem:
            row = rows.get((type(problem).__name__, str(problem.args[0]) if problem.args else ""))
            own = None if row is None else row.exception()
            if own is None:
                raise
            raise own from None

    return run


def _literal(args: tuple[Any, ...]) -> str | None:
    text = repr(args)
    try:
        return text if ast.literal_eval(text) == args else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _imported(module: str, name: str) -> Any:
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


__all__ = ["Raised", "note", "noted", "translated"]
