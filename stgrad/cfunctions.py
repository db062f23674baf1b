"""Value and gradient as a C function: no Python at run time, results in the caller's buffers.

    double loss_grad(double *x, intptr_t x_0, double k, double *x_bar)

An array is a pointer to its first element, in C order, followed by its extents; a fixed extent is left out. The gradients follow the
arguments, each a pointer to a buffer of the argument's shape. Where the function raises, the value is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numba import types

from stgrad import errors, loader
from stgrad.callable_type import example
from stgrad.names import Names

_C_NAMES = {types.float64: "double", types.float32: "float", types.int64: "int64_t", types.int32: "int32_t", types.boolean: "bool", types.intp: "intptr_t"}


@dataclass(frozen=True)
class Parameter:
    """A parameter of the user's function; `extents` has an int for each extent that is fixed, else the name that carries it."""

    name: str
    type: Any
    extents: tuple[int | str, ...]

    @property
    def scalar(self) -> Any:
        return self.type.dtype if isinstance(self.type, types.Array) else self.type


def parse_signature(signature: Any, names: Sequence[str], wrt: Sequence[str]) -> tuple[Any, list[Any]]:
    """The type of the value, and those of the function's own parameters.

    Raises UnsupportedCallerError where the signature does not fit them: one type for each parameter, and then, if they are written
    out, one array for each gradient.
    """
    try:
        args, value = numba.core.sigutils.normalize_signature(signature)
    except (NameError, SyntaxError, TypeError, AttributeError) as problem:
        raise errors.UnsupportedCallerError(
            f"{signature!r} is no signature in Numba's notation", reason=str(problem), hint='write it as "float64(float64[:], float64)"'
        ) from problem
    if value not in (types.float64, types.float32):
        raise errors.UnsupportedCallerError(f"a C function returns a float, not {value}", hint='write the signature as "float64(float64[:], float64[:])"')
    if len(args) not in (len(names), len(names) + len(wrt)):
        raise errors.UnsupportedCallerError(
            f"the signature has {len(args)} arguments, the function {len(names)}", hint="give one type for each, then one array for each gradient"
        )
    own = list(args[: len(names)])
    for name, buffer in zip(wrt, args[len(names) :], strict=False):
        type_ = own[names.index(name)]
        if not isinstance(buffer, types.Array) or buffer.dtype != (type_.dtype if isinstance(type_, types.Array) else type_):
            raise errors.UnsupportedCallerError(f"the buffer for the gradient of `{name}` is a {buffer}", hint="it has the dtype of the argument")
    return value, own


def make_cfunc(
    dispatcher_for: Callable[..., Any], name: str, value: Any, given: Mapping[str, Any], wrt: Sequence[str], sizes: Mapping[str, Any], user_data: bool
) -> Any:
    """The compiled C function.

    Args:
        dispatcher_for: from example arguments to a dispatcher that returns the value and a tuple of gradients, or without `wrt` the value.
        name: what it is called.
        value: the Numba type of the value.
        given: the Numba type of each parameter.
        wrt: the parameters that have a gradient.
        sizes: extents that are fixed, by parameter: an int or a tuple.
        user_data: whether it takes a last argument `void *`, which it ignores.
    """
    for wish in sizes:
        if not isinstance(given.get(wish), types.Array):
            raise errors.UnsupportedCallerError(f"`sizes` names `{wish}`, which is no array among the parameters", hint=f"they are {', '.join(given)}")
    parameters = [parameter_of(n, t, sizes.get(n)) for n, t in given.items()]
    compiled = dispatcher_for(tuple(example(p.type) for p in parameters))
    text = c_text(name, parameters, wrt, user_data)
    namespace = {"compiled": compiled, "np": np, "carray": numba.carray}
    exec(compile(text, f"<stgrad C function {name}>", "exec"), namespace)  # noqa: S102
    options = {key: loader.OPTIONS[key] for key in ("error_model", "boundscheck")}
    function = numba.cfunc(value(*buffers_of(parameters, wrt), *[types.voidptr] * user_data), **options)(namespace[name])
    function.prototype = prototype(name, value, parameters, wrt, user_data)
    return function


def parameter_of(name: str, type_: Any, size: Any = None) -> Parameter:
    """A parameter as C passes it; raises UnsupportedCallerError where it cannot."""
    if not isinstance(type_, types.Array):
        if type_ not in _C_NAMES:
            raise errors.UnsupportedCallerError(f"C cannot pass `{name}`, a {type_}", hint="pass numbers and arrays")
        return Parameter(name, type_, ())
    fixed = (size,) if isinstance(size, int) else tuple(size or ())
    if fixed and len(fixed) != type_.ndim:
        raise errors.UnsupportedCallerError(f"`{name}` has {type_.ndim} axes, and {len(fixed)} sizes are given")
    ordered = types.Array(type_.dtype, type_.ndim, "C")
    return Parameter(name, ordered, fixed or tuple(f"{name}_{i}" for i in range(type_.ndim)))


def c_text(name: str, parameters: Sequence[Parameter], wrt: Sequence[str], user_data: bool = False, *, guarded: bool = True) -> str:
    """The function that Numba compiles: arrays around the pointers, one call, copies into the buffers; guarded, it returns NaN where that raises."""
    names = Names([p.name for p in parameters] + ["compiled", "np", "carray", name])
    known = {p.name: p for p in parameters}
    lines = []
    for p in parameters:
        if p.extents:
            lines.append(f"    {p.name}_ = carray({p.name}, ({''.join(f'{e}, ' for e in p.extents)}))")
    value, bars = names.fresh("value"), [names.fresh(f"{w}_bar") for w in wrt]
    passed = ", ".join(f"{p.name}_" if p.extents else p.name for p in parameters)
    taken = f"{value}, ({''.join(f'{b}, ' for b in bars)})" if wrt else value
    body = [f"{taken} = compiled({passed})"]
    for w, bar in zip(wrt, bars, strict=True):
        shape = "".join(f"{e}, " for e in known[w].extents) or "1,"
        body.append(f"carray({w}_out, ({shape}))[...] = {bar}")
    params = ", ".join([*_flat(parameters), *(f"{w}_out" for w in wrt), *(["user_data"] if user_data else [])])
    if not guarded:
        return "\n".join([f"def {name}({params}):", *lines, *(f"    {line}" for line in body), f"    return {value}", ""])
    lines += ["    try:", *(f"        {line}" for line in body), f"        return {value}", "    except Exception:", "        return np.nan"]
    return "\n".join([f"def {name}({params}):", *lines, ""])


def _flat(parameters: Sequence[Parameter]) -> list[str]:
    return [n for p in parameters for n in (p.name, *(e for e in p.extents if isinstance(e, str)))]


def buffers_of(parameters: Sequence[Parameter], wrt: Sequence[str]) -> list[Any]:
    """The types of all that is passed: numbers, pointers and extents, and a pointer for each gradient."""
    args: list[Any] = []
    for p in parameters:
        args.append(types.CPointer(p.scalar) if p.extents else p.type)
        args += [types.intp for e in p.extents if isinstance(e, str)]
    scalars = {p.name: p.scalar for p in parameters}
    args += [types.CPointer(scalars[w]) for w in wrt]
    return args


def prototype(name: str, value: Any, parameters: Sequence[Parameter], wrt: Sequence[str], user_data: bool) -> str:
    """The declaration in C."""
    parts = []
    for p in parameters:
        parts.append(f"{_C_NAMES[p.scalar]} {'*' if p.extents else ''}{p.name}")
        parts += [f"intptr_t {e}" for e in p.extents if isinstance(e, str)]
    scalars = {p.name: p.scalar for p in parameters}
    parts += [f"{_C_NAMES[scalars[w]]} *{w}_bar" for w in wrt] + (["void *user_data"] if user_data else [])
    return f"{_C_NAMES[value]} {name}({', '.join(parts)});"
