"""What `Transformed` does where the compiler refuses a program and plain Python is allowed: `jit=False` and `jit="auto"`.

The derivative then comes from `stgrad.plain.running`, with a warning that says what was refused and where. What is no function of the user's (a
derivative that is differentiated again), and what has no derivative at all, stays refused. `STGRAD_PLAIN=0` in the environment turns this off.
"""

from __future__ import annotations

import inspect
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad import errors, source
from stgrad.plain.running import Recorded, recorded, run
from stgrad.request import Derivative, Options, function_name, signature_of
from stgrad.runtime.generators import Draws, generator_of, is_address
from stgrad.values import Record, closed, leaves, opened, rebuild

_SAID: dict[Any, Any] = {}  # warnings that were shown, as Python's `__warningregistry__`


def can_run(derivative: Derivative, options: Options, refused: errors.StgradError) -> bool:
    """Whether a refused program is to run in plain Python."""
    return options.falls_back and refused.plainly and not isinstance(refused, errors.NotDifferentiableError) and _of_the_user(derivative)


def ran(derivative: Derivative, arguments: dict[str, Any]) -> bool:
    """Whether the function ran by itself, which leaves outside what it keeps there for later calls."""
    if not _of_the_user(derivative):
        return False
    try:
        run(derivative.function, *_bound(derivative, arguments))
    except Exception:  # noqa: BLE001  (the program's own: it is raised where the call runs it)
        return False
    return True


def _of_the_user(derivative: Derivative) -> bool:
    function = derivative.function
    if derivative.mode == "jvp" or not callable(function) or hasattr(function, "derivative"):
        return False
    inner = source.unwrap(function).function
    return isinstance(inner, types.FunctionType) and not (inner.__module__ or "").startswith("stgrad.")


def called(derivative: Derivative, arguments: dict[str, Any], refused: errors.StgradError) -> Any:
    """What a call gives: the value, a gradient, or both."""
    if derivative.mode == "primal":
        return _value(derivative, arguments, refused)
    if derivative.mode == "vjp":  # the value, nothing that a program would keep, and the pullback
        found = record(derivative, arguments, refused)
        return found.value, (), lambda _, cotangents, __: found.pullback((cotangents, None) if derivative.has_aux else cotangents)
    found = record(derivative, arguments, refused)
    value, aux = found.value if derivative.has_aux else (found.value, None)
    if not isinstance(value, (float, np.floating)) and not (isinstance(value, np.ndarray) and value.shape == () and value.dtype.kind == "f"):
        raise errors.NotDifferentiableError(
            f"the gradient of a function that returns a {type(value).__name__} is not defined", reason="`grad` needs one real number as result"
        )
    gradients = found.pullback((1.0, None) if derivative.has_aux else 1.0)
    gradient = gradients[0] if derivative.single else gradients
    if derivative.mode == "value_and_grad":
        return ((value, aux) if derivative.has_aux else value), gradient
    return (gradient, aux) if derivative.has_aux else gradient


def _value(derivative: Derivative, arguments: dict[str, Any], refused: errors.StgradError) -> Any:
    try:
        return run(derivative.function, *_bound(derivative, arguments))
    except Exception as error:
        if type(error).__module__.startswith("numba."):  # of types that Numba compiles even in plain Python
            raise refused from None
        raise


def pullback(derivative: Derivative, arguments: dict[str, Any], refused: errors.StgradError) -> Callable[[Any, Any], Any]:
    """The pullback of a 'vjp' derivative at some arguments."""
    found = record(derivative, arguments, refused)
    return lambda cotangents, _: found.pullback((cotangents, None) if derivative.has_aux else cotangents)


def record(derivative: Derivative, arguments: dict[str, Any], refused: errors.StgradError) -> Recorded:
    """The recorded run; the refusal of the compiler, with a note, where that cannot be followed either."""
    positional, keywords = _bound(derivative, arguments)
    paths = tuple([_path(name, derivative, keywords) for name in derivative.wrt])
    try:
        found = recorded(derivative.function, positional, keywords, paths)
    except errors.NotDifferentiableError:
        raise
    except errors.StgradError as problem:
        refused.add_note(f"Nor can it be recorded in plain Python: {problem}")
        raise refused from None
    warning = errors.RunsPlainlyWarning(f"`{function_name(derivative)}` runs in plain Python, where its derivative is recorded: {refused.message}")
    if refused.loc is None:
        warnings.warn(warning, stacklevel=errors.users_level())
    else:  # said of the line that was refused, once
        warnings.warn_explicit(warning, None, refused.loc.file, refused.loc.line, registry=_SAID)  # type: ignore[call-overload]
    return found


def _bound(derivative: Derivative, arguments: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The call as it was written: without the defaults, which wrappers may not take."""
    signature = signature_of(derivative.function)
    given = {n: _with_generators(v) for n, v in arguments.items() if v is not signature.parameters[n].default}
    bound = inspect.BoundArguments(signature, given)  # type: ignore[arg-type]
    return bound.args, bound.kwargs


def _with_generators(value: Any) -> Any:
    """An argument with generators of random numbers in place of what programs draw from."""
    inside = opened(value)
    if not any(isinstance(leaf, np.ndarray) and is_address(leaf) for leaf in leaves(inside)):
        return value

    def restored(part: Any) -> Any:
        if isinstance(part, (tuple, list)):
            return rebuild(part, [restored(v) for v in part])
        if isinstance(part, dict):
            return {k: restored(v) for k, v in part.items()}
        if isinstance(part, Record):
            return generator_of(part.fields["address"]) if part.cls is Draws else Record(part.cls, {k: restored(v) for k, v in part.fields.items()})
        return part

    return closed(restored(inside))


def _path(name: str, derivative: Derivative, keywords: dict[str, Any]) -> tuple[Any, ...]:
    """Where an argument is in `(positional, keywords)`; `args[1]` is one of `*args`."""
    base, _, index = name.partition("[")
    if base in keywords:
        return (1, base)
    at = list(signature_of(derivative.function).parameters).index(base)
    return (0, at + int(index[:-1])) if index else (0, at)
