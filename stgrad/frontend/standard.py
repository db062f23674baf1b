"""What programs say of themselves, and what they look up: `logging`, and functions of the standard library that look at their arguments alone."""

from __future__ import annotations

import collections
import inspect
import logging
import operator
import re
import time
import types
import warnings
from typing import Any

import gast

from stgrad import errors
from stgrad.frontend.builtins import handles
from stgrad.frontend.certainties import RAISED
from stgrad.frontend.departures import Leaves
from stgrad.frontend.frame import Frame
from stgrad.frontend.heap import State
from stgrad.frontend.text import UNKNOWN, RunTimeText
from stgrad.frontend.values import Value, is_static, static_of
from stgrad.lookups import called
from stgrad.registered import register_gradient

_LEVELS = ("debug", "info", "warning", "warn", "error", "exception", "critical", "fatal", "log")
_SAID = {warnings.warn} | {getattr(owner, name) for owner in (logging, logging.Logger, logging.LoggerAdapter) for name in _LEVELS if hasattr(owner, name)}
# Of `inspect` only what looks at its argument, and not at the stack.
_SAID_OF_FUNCTIONS = ("signature", "getfullargspec", "isfunction", "ismethod", "isclass", "isbuiltin", "ismodule", "isgeneratorfunction", "getmodule", "getdoc")
_TRANSFORMS = ("stgrad.api", "stgrad.batches", "stgrad.differentials")  # `stgrad.grad(f)` in a function is made at compile time
_LOOKING = ("numpy", "math", "operator", "builtins", "itertools", "re", "textwrap", "difflib", "posixpath", "fnmatch", "keyword", "string")
_OF_THE_INSTALLATION = ("importlib.metadata", "platform", "sysconfig")  # the same in every call


@handles(*_SAID)
def _say(frame: Frame, *_: Value, **__: Value) -> None:
    """Warnings and records of the function itself: its derivative has none."""


def _binds(bind: Any) -> None:
    @handles(bind)
    def bound(frame: Frame, signature: Any, *args: Value, **kwargs: Value) -> Value:
        """Which parameter each argument is for: values of the running program are bound as they are."""
        try:
            found = bind(signature, *args, **kwargs)
        except TypeError as problem:
            raise errors.TypeInferenceError(str(problem), frame.builder.loc) from problem
        return frame.call(inspect.BoundArguments, (signature, dict(found.arguments)), {})


_binds(inspect.Signature.bind)
_binds(inspect.Signature.bind_partial)


def only_says(function: Any) -> bool:
    """Whether a function warns or keeps a record: what it says is never looked at."""
    return getattr(function, "__func__", function) in _SAID if isinstance(function, (types.FunctionType, types.MethodType)) else function is warnings.warn


_BARS = {"tqdm": ("tqdm",), "rich": ("track",), "alive_progress": ("alive_it",)}  # what shows how far a loop is, by packages


def shows_progress(function: Any) -> bool:
    """Whether a call shows how far a loop over its first argument is, and gives the same items."""
    package = (getattr(function, "__module__", None) or "").partition(".")[0]
    if package not in _BARS:
        return False
    return any(cls.__name__ in _BARS[package] for cls in function.__mro__) if isinstance(function, type) else function.__name__ in _BARS[package]


def say(frame: Frame, node: Any) -> None:
    """A call of such a function: what its arguments do is done, and what cannot be read of them is left out."""
    for arg in (*node.args, *(keyword.value for keyword in node.keywords)):
        said(frame, arg, frame.builder.out)


def said(frame: Frame, node: Any, kept: list[Any] | None = None) -> Value:
    """A part of a message; what cannot be told, or not even be read, is not known: it has no derivative. `kept` gets what it does."""
    state = State(frame)
    try:
        with frame.builder.block() as block:
            found = static_of(frame.evaluate(node.value if isinstance(node, gast.Starred) else node))
    except (errors.StgradError, Leaves, *RAISED):
        state.restore()
        return RunTimeText(UNKNOWN)
    if kept is None:
        state.restore()
    else:
        kept.extend(block)
    return found if is_static(found) and not isinstance(node, gast.Starred) else RunTimeText(UNKNOWN)


def _of_a_clock(y, y_bar):  # type: ignore[no-untyped-def]
    """A clock has no arguments, and no cotangents."""
    return ()


for _clock in (time.time, time.perf_counter, time.monotonic, time.process_time):  # asked as the program runs, by a call of Python
    register_gradient(_clock, _of_a_clock, abstract=1.0)


@handles(logging.Logger.isEnabledFor, logging.LoggerAdapter.isEnabledFor)
def _is_enabled(frame: Frame, logger: Value, level: Value) -> Value:
    """Asked while the program is read, and again by each call of its gradient: the branch may do more than say something."""
    return called(operator.methodcaller("isEnabledFor", level), logger)


@handles(dict.fromkeys, collections.OrderedDict.fromkeys)
def _from_keys(frame: Frame, keys: Value, value: Value = None) -> Value:
    return frame.call(from_keys, (keys, value), {})


def from_keys(keys, value):  # type: ignore[no-untyped-def]
    """What `dict.fromkeys` is short for."""
    found = {}
    for key in keys:
        found[key] = value
    return found


def computes(function: Any) -> bool:
    """Functions of NumPy and the standard library that only look at static values."""
    module = function.__globals__.get("__name__", "") if isinstance(function, types.FunctionType) else getattr(function, "__module__", "") or ""
    if module == "inspect":
        return function.__name__ in _SAID_OF_FUNCTIONS
    if function is logging.getLogger or isinstance(getattr(function, "__self__", None), (re.Pattern, re.Match)):
        return True
    return module in _TRANSFORMS or module in _OF_THE_INSTALLATION or module.split(".")[0] in _LOOKING and not isinstance(function, type)


__all__ = ["computes", "only_says", "said", "say"]
