"""Exceptions that a program makes, raises and catches: what they say and carry, as far as that is known while the program is read.

An exception is an object of its class with the arguments it was made with; what only the running program knows among them is a text that may be shown
and no more. The `__init__` of a class that is written in Python does not run, so what such an exception carries is not known. Nor is what the
interpreter adds on the way to a handler.
"""

from __future__ import annotations

from types import FunctionType

from stgrad import errors
from stgrad.calls import own_exceptions
from stgrad.frontend.builder import Builder
from stgrad.frontend.frame import Frame
from stgrad.frontend.text import UNKNOWN, RunTimeText, has_unknown
from stgrad.frontend.values import Value
from stgrad.ir import Const, Effect
from stgrad.lookups import ABSENT, LIBRARIES, lineage, look, read, root_of

_ADDED = frozenset({"__cause__", "__context__", "__suppress_context__", "__traceback__", "__notes__"})  # by the interpreter
_WHOLE = "_stgrad_whole"  # in what exceptions of programs hold: whether they carry what they do in Python
_SAYS = "_stgrad_says"  # what is shown of one that the compiler describes


def made(cls: type[Exception], args: tuple[Value, ...]) -> Exception:
    """`cls(*args)` as a program makes it."""
    lineage(cls)  # which decides whose handlers catch it
    whole = not has_unknown(args) and not _made_in_python(cls)
    exception = cls(*args) if whole else cls.__new__(cls, *args)
    exception.args = args
    vars(exception)[_WHOLE] = whole
    return exception


def described(exception: Exception) -> Exception:
    """An exception of Python's that the compiler describes: what it says may be shown, and is not known, since Python's words may be others."""
    if _WHOLE not in vars(exception):  # else the program has made it
        vars(exception).update({_WHOLE: False, _SAYS: text_of(exception)})
        exception.args = (RunTimeText(UNKNOWN),) * len(exception.args)
    return exception


def _made_in_python(cls: type) -> bool:
    ask = read if root_of(cls) in LIBRARIES else look
    return any(isinstance(ask("raw", cls, name), (FunctionType, staticmethod)) for name in ("__init__", "__new__", "__setattr__", "__getattribute__"))


def text_of(exception: BaseException) -> str:
    """The text of an exception that the running program raises, which has one argument at most."""
    args = exception.args
    if _SAYS in vars(exception):
        return str(vars(exception)[_SAYS])
    return str(args if len(args) > 1 else args[0] if args else "")


def says_more(exception: BaseException) -> bool:
    """Whether the text of an exception is made of what its class keeps, or the program knows."""
    return not vars(exception).get(_WHOLE, True) or not hasattr(type(exception).__str__, "__objclass__") or has_unknown(exception.args)


def refuse_unknown(frame: Frame, exception: BaseException, name: str) -> None:
    """Refuse an attribute of an exception of which reading knows nothing: what the class has for all is known."""
    what = f"`{name}` of an exception is not supported" if name in _ADDED else f"what a `{type(exception).__name__}` carries is not known here"
    if name == "args" and _SAYS in vars(exception) and exception.args:
        return
    if name in _ADDED or not vars(exception).get(_WHOLE, True) and not _of_the_class(exception, name):
        raise errors.UnsupportedSyntaxError(what, frame.builder.loc, hint="bind what the handler needs to a name before the exception is raised")


def _of_the_class(exception: BaseException, name: str) -> bool:
    found = look("raw", type(exception), name)
    return found is not ABSENT and (callable(found) or isinstance(found, property) or not hasattr(type(found), "__get__"))


def emit_raised(frame: Frame, exception: Exception) -> None:
    """The `raise` of the running program, of the class of Python's that is next to that of the exception."""
    cls, text = type(exception), text_of(exception)
    kind = next(c for c in lineage(cls) if c.__module__ == "builtins")
    shown = text if kind is cls else f"{cls.__name__}: {text}"
    in_the_place_of(frame.builder, kind.__name__, shown, exception)
    frame.builder.emit(Effect("raise", (Const(kind.__name__), Const(shown)), (), frame.builder.loc, frame.builder.note))


def in_the_place_of(builder: Builder, kind: str, shown: str, exception: Exception) -> None:
    """Note which exception a program raises as one of Python's of a class and a text: its handlers catch that, and its callers are given it."""
    builder.raised[kind, shown] = exception
    known = _SAYS not in vars(exception) and not has_unknown(exception.args)
    own_exceptions.note(kind, shown, exception, text_of(exception), known=known)


__all__ = ["described", "emit_raised", "in_the_place_of", "made", "refuse_unknown", "says_more", "text_of"]
