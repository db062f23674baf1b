"""What programs ask of values: their classes, attributes and texts. The answers are known while the program is read."""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.frontend import boxes
from stgrad.frontend.arrays import get, is_fixed
from stgrad.frontend.builtins import handles
from stgrad.frontend.control import branch
from stgrad.frontend.exceptions import refuse_unknown, says_more
from stgrad.frontend.frame import Frame
from stgrad.frontend.heap import State
from stgrad.frontend.identities import one_object
from stgrad.frontend.kinds import agreed, is_own
from stgrad.frontend.numpy_calls import emit
from stgrad.frontend.partly import lacks, nothing
from stgrad.frontend.text import NUMBERS, UNKNOWN, RunTimeText
from stgrad.frontend.truth_values import asked
from stgrad.frontend.values import Closure, Method, Record, Sym, Value, is_static, static_of
from stgrad.lookups import ABSENT, LIBRARIES, called, gives, look, ours, root_of


@handles(isinstance)
def _isinstance(frame: Frame, value: Value, classes: Value) -> Value:
    if not isinstance(value, Sym):
        if is_own(frame, value):
            return agreed(frame, value, lambda cls: _is_one_of(frame, value, cls, classes))
        look("class", value)
        return called(isinstance, static_of(value), classes)
    return asked(frame, value, lambda example: isinstance(example, classes), _example(frame, value))


def _is_one_of(frame: Frame, value: Value, cls: type, classes: Value) -> Value:
    """Whether an instance that the program has made is one of some classes; a metaclass in Python may look at it."""
    if isinstance(classes, tuple):
        return any(_is_one_of(frame, value, cls, c) for c in classes)
    test = look("raw", type(classes), "__instancecheck__") if root_of(type(classes)) not in LIBRARIES else None
    if not isinstance(test, FunctionType) or root_of(test) in (*LIBRARIES, "abc"):
        return called(issubclass, cls, classes)
    if cls is classes:  # which Python does not ask
        return True
    answer = frame.call(test, (classes, value), {})
    if isinstance(answer, Sym):
        raise errors.UnsupportedSyntaxError(f"what `{type(classes).__name__}` takes for an instance is known as the program runs", frame.builder.loc)
    return bool(answer)


def _example(frame: Frame, value: Sym) -> Any:
    """A number or an array of the class that a value of the running program has."""
    if value.type.array or boxes.is_box(frame, value):
        return np.zeros((1,) * value.type.rank, value.type.dtype)
    number = np.dtype(value.type.dtype).type(0)
    return number.item() if value.type.weak else number


def _never_of_integers(function: Callable[[float], bool]) -> None:
    @handles(function)
    def asked_of(frame: Frame, x: Value) -> Value:
        whole = isinstance(x, Sym) and not x.type.array and x.type.dtype in ("int64", "bool")
        return False if whole else emit(frame, function, x)


for _function in (math.isnan, math.isinf):
    _never_of_integers(_function)


@handles(callable)
def _callable(frame: Frame, value: Value) -> Value:
    if isinstance(value, Record):
        return look("raw", value.cls, "__call__") is not ABSENT
    return isinstance(value, (Closure, Method)) or callable(value)


@handles(getattr)
def _getattr(frame: Frame, owner: Value, name: Value, *default: Value) -> Value:
    found = _hasattr(frame, owner, name) if default else True
    if isinstance(found, Sym):
        return branch(frame, found, lambda: owner.fields[name], lambda: default[0], "_t")
    return get(frame, owner, name, None) if found else default[0]


@handles(hasattr)
def _hasattr(frame: Frame, owner: Value, name: Value) -> Value:
    if isinstance(owner, Record):
        if isinstance(flag := lacks(owner, name), Sym):
            return frame.builder.call("not", (flag,), flag.type)
        found = not flag or not nothing(look("raw", owner.cls, name)) or gives(getattr(owner.cls, "stands_for", object), name)
        return found or look("raw", owner.cls, "__getattr__") is not ABSENT and _gives(frame, owner, name)
    if isinstance(owner, Sym):
        return asked(frame, owner, lambda example: hasattr(example, name), _example(frame, owner))
    if is_own(frame, owner):
        return agreed(frame, owner, lambda cls: gives(cls, name))
    if isinstance(owner, BaseException):
        refuse_unknown(frame, owner, name)
    return hasattr(owner, name) if is_fixed(owner) else look("attribute", owner, name) is not ABSENT


def refuse_absent(frame: Frame, owner: Sym, name: str, node: Any, *, known: bool) -> None:
    """Refuse an attribute that no array has, or that a number of Python's does not have; `known`: there is one of this name.

    Raises:
        UndefinedNameError: from the AttributeError that Python raises.
    """
    own = frame.unroll or ours(frame.source.function)
    example = None if own or owner.type.array or not owner.type.weak else _example(frame, owner)
    of_python = example is not None and not isinstance(example, (np.ndarray, np.generic))
    if hasattr(example, name) if of_python else known or hasattr(np.ndarray, name) or hasattr(float, name):
        return
    what = f"a {type(example).__name__} of Python" if of_python else f"an array of {owner.type.dtype}" if owner.type.array else f"a {owner.type}"
    close = difflib.get_close_matches(name, [n for n in dir(example if of_python else np.ndarray) if n[0] != "_"], 1)
    hint = f"make it one of NumPy's: np.float64(...).{name}" if of_python and known else f"did you mean `{close[0]}`?" if close else ""
    place = frame.loc(node) if node is not None else frame.builder.loc if of_python else None
    raise errors.UndefinedNameError(f"{what} has no attribute `{name}`", place, hint=hint) from AttributeError(
        f"'{type(example).__name__}' object has no attribute '{name}'" if of_python else name
    )


@handles(inspect.getattr_static)
def _getattr_static(frame: Frame, obj: Value, attr: Value, *default: Value) -> Value:
    """What stands in the class or the instance, without what Python computes for it."""
    if isinstance(obj, Record):
        found = obj.fields[attr] if attr in obj.fields else look("raw", obj.cls, attr)
    elif isinstance(obj, Sym):
        found = inspect.getattr_static(_example(frame, obj), attr, ABSENT)
    else:
        found = called(inspect.getattr_static, static_of(obj), attr, ABSENT)
    if found is ABSENT and not default:
        raise errors.UndefinedNameError(f"no attribute `{attr}` here", frame.builder.loc) from AttributeError(attr)
    return default[0] if found is ABSENT else found


@handles(np.may_share_memory, np.shares_memory)
def _shares_memory(frame: Frame, a: Value, b: Value, max_work: Value = None) -> Value:
    """Of two names of one array it is known; views and copies are told apart by the running program alone."""
    if isinstance(a, Sym) and isinstance(b, Sym) and one_object(frame, a, b):
        return True
    what = "whether two arrays share memory is not known to the compiler"
    raise errors.UnsupportedSyntaxError(what, frame.builder.loc, hint="make a copy where one is needed")


def _gives(frame: Frame, owner: Record, name: str) -> bool:
    """Whether a `__getattr__` gives an attribute; nothing of what it does is kept."""
    state = State(frame)
    try:
        get(frame, owner, name, None)
        return True
    except (errors.UndefinedNameError, AttributeError):
        return False
    finally:
        state.restore()


@handles(inspect.currentframe)
def _currentframe(frame: Frame) -> None:
    """A compiled program has no frames: what Python gives where it has none."""


@handles(repr)
def _repr(frame: Frame, value: Value) -> Value:
    known = static_of(value)
    return RunTimeText(UNKNOWN) if _is_unknown(known) else called(repr, known)


@handles(str, format)
def _str(frame: Frame, value: Value = "", *spec: Value) -> Value:
    known = static_of(value)
    if isinstance(known, Sym) and not spec:
        return RunTimeText(NUMBERS)
    if _is_unknown(known):
        return RunTimeText(UNKNOWN)
    return called(format, known, *spec) if spec else called(str, known)


def _is_unknown(value: Value) -> bool:
    """Whether only the running program can tell the text of a value."""
    return isinstance(value, RunTimeText) or not is_static(value) or isinstance(value, BaseException) and says_more(value)
