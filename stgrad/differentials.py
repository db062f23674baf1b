"""Derivatives in other forms than gradients: `vjp`, `jvp`, `linearize`, `jacobian`, `hessian` and their neighbours; names and meaning are JAX's."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache
from types import MethodType
from typing import Any
from weakref import ref

import numpy as np

from stgrad import inside, jacobians, pushforwards
from stgrad.api import Argnums, grad, named, parameter_names
from stgrad.as_python import as_python
from stgrad.request import Derivative, Options, options
from stgrad.transformed import Transformed
from stgrad.values import closed, leaves, map_leaves, opened


def vjp(
    f: Callable[..., Any], *primals: Any, has_aux: bool = False, jit: bool | str = "auto", parallel: bool = False, precise: bool = False,
    without: Collection[str] = (), checked: bool | None = None,
) -> Any:  # fmt: skip
    """The value of a function and its pullback: `(value, pullback)`, as in JAX.

    Args:
        f: a function of numbers and arrays; any result.
        primals: its arguments.
        has_aux: whether f returns `(value, auxiliary data)`; the data then is a third result. The other options are those of `grad`.

    Returns:
        `f(*primals)` and a function that takes cotangents with the structure of the value and returns a tuple of
        cotangents, one for each primal (None for what has no derivative).
    """
    f = as_python(f)
    primals = _copies(primals)  # the pullback is of this moment
    chosen, options = _floats(primals), _options(jit, parallel, precise, named(without), checked)
    primal = kept(f, ("primal", options), lambda: Transformed(Derivative(f, "primal"), options))
    run = kept(f, ("vjp", chosen, has_aux, options), lambda: Transformed(Derivative(f, "vjp", parameter_names(f, chosen), False, has_aux), options))
    value = primal(*_copies(primals))
    aux: tuple[Any, ...] = ()
    if has_aux:
        value, aux = value[0], (value[1],)

    pull = run.pullback(primals, frozen=True)

    def pullback(cotangents: Any) -> tuple[Any, ...]:
        return _spread(pull(cotangents, value), chosen, len(primals))

    return (value, pullback, *aux)


def jvp(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False, *, jit: bool | str = "auto", parallel: bool = False,
    precise: bool = False, without: Collection[str] = (), checked: bool | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """The value of a function and its derivative in a direction: `(value, tangent)`, as in JAX.

    Args:
        f: a function of numbers and arrays with any result.
        primals: its arguments.
        tangents: for each argument a direction of the same structure; None, or an int, for what has no derivative.
        has_aux: whether f returns `(value, auxiliary data)`; the data then is a third result. The other options are those of `grad`.

    The program runs forward once and stores nothing: it costs up to three times the function, and its memory again.

    >>> import math
    >>> jvp(math.sin, (0.0,), (2.0,), jit=False)  # doctest: +SKIP
    (0.0, 2.0)
    """
    f = as_python(f)
    chosen, options = _directed("jvp", primals, tangents), _options(jit, parallel, precise, named(without), checked)
    run = kept(f, ("jvp", chosen, has_aux, options), lambda: _pushforward(f, chosen, has_aux, options, pushforwards.pushforward_of))
    value, tangent = run(tuple(primals), tuple([tangents[i] for i in chosen]))
    return (value[0], tangent, value[1]) if has_aux else (value, tangent)


def linearize(
    f: Callable[..., Any], *primals: Any, has_aux: bool = False, jit: bool | str = "auto", parallel: bool = False, precise: bool = False,
    without: Collection[str] = (), checked: bool | None = None,
) -> Any:  # fmt: skip
    """The value of a function and its derivative as a function of the direction: `(value, f_jvp)`, as in JAX.

    Args:
        f: a function of numbers and arrays with any result. primals: its arguments.
        has_aux: whether f returns `(value, auxiliary data)`; the data then is a third result. The other options are those of `grad`.

    Returns:
        `f(*primals)` and a function that takes a tangent for each primal and returns the tangent of the value. It is of this moment: the arguments
        may change later.
    """
    f = as_python(f)
    primals = _copies(primals)
    chosen, options = _floats(primals), _options(jit, parallel, precise, named(without), checked)
    run = kept(f, ("linear", chosen, has_aux, options), lambda: _pushforward(f, chosen, has_aux, options, pushforwards.linear_of))
    primal = kept(f, ("primal", options), lambda: Transformed(Derivative(f, "primal"), options))
    value = primal(*_copies(primals))

    def f_jvp(*tangents: Any) -> Any:
        _directed("linearize", primals, tangents)
        return run(primals, tuple([tangents[i] for i in chosen]))

    return (value[0], f_jvp, value[1]) if has_aux else (value, f_jvp)


def tangent_program(f: Any, argnums: Argnums, *, precise: bool = False, without: Collection[str] = ()) -> Transformed:
    """The tangent program by itself, as text is printed of it: its arguments are those of f, and the tangents behind them."""
    derivative = Derivative(as_python(f), "jvp", parameter_names(f, argnums), single=False)
    return Transformed(derivative, Options(precise=precise, without=named(without)))


def _pushforward(f: Any, chosen: tuple[int, ...], has_aux: bool, options: Options, make: Callable[..., Any]) -> Transformed:
    tangent = pushforwards.Tangent(f, parameter_names(f, chosen), False, has_aux)
    return Transformed(Derivative(make(tangent), "primal"), options)


def jacobian(
    f: Callable[..., Any] | None = None, argnums: Argnums = 0, *, mode: str = "auto", jit: bool | str = "auto", parallel: bool = False, precise: bool = False,
    without: Collection[str] = (), checked: bool | None = None,
) -> Any:  # fmt: skip
    """The derivative of every number of a result in every number of an argument.

    Args:
        f: a function of numbers and arrays with any result.
        argnums: as for `grad`.
        mode: 'forward', which runs the program for each few numbers of the arguments; 'reverse', once for each number of the result; or 'auto', whichever
            is less work. The other options are those of `grad`.

    Returns:
        A function with the arguments of f. For a result of shape `m` and an argument of shape `n` it gives an array of shape `m + n`; for
        structures, the structure of the argument in each place of the structure of the result. It is a program like any other: it has
        `source`, and can be differentiated again.
    """
    if mode not in _MODES:
        raise ValueError(f"mode={mode!r} is none of auto, forward, reverse")
    return _derived(_MODES[mode], f, argnums, _options(jit, parallel, precise, named(without), checked), "jacobian")


def jacfwd(f: Callable[..., Any] | None = None, argnums: Argnums = 0, **options: Any) -> Any:
    """`jacobian` by columns: for functions with few arguments and many results."""
    return jacobian(f, argnums, mode="forward", **options)


def jacrev(f: Callable[..., Any] | None = None, argnums: Argnums = 0, **options: Any) -> Any:
    """`jacobian` by rows: for functions with many arguments and few results."""
    return jacobian(f, argnums, mode="reverse", **options)


def hessian(f: Callable[..., Any] | None = None, argnums: Argnums = 0, *, mode: str = "auto", **options: Any) -> Any:
    """The second derivatives of a function that returns one real number: the Jacobian of its gradient; arguments as for `jacobian`.

    With 'auto' it is forward over reverse, and reverse over reverse for complex arguments.
    """
    if f is None:
        return lambda function: hessian(function, argnums, mode=mode, **options)
    return jacobian(grad(f, argnums), argnums, mode="square" if mode == "auto" else mode, **options)


def elementwise_grad(
    f: Callable[..., Any] | None = None, argnums: Argnums = 0, *, jit: bool | str = "auto", parallel: bool = False, precise: bool = False,
    without: Collection[str] = (), checked: bool | None = None,
) -> Any:  # fmt: skip
    """The derivative of each element of a result in the same element of an argument, of a function that works element by element.

    Where elements depend on others it is the derivative of the sum of all results.
    """

    def make(f: Any, names: tuple[str, ...], single: bool) -> Callable[..., Any]:
        return jacobians.elementwise_of(f, jacobians.Pullback(f, names), single)

    return _derived(make, f, argnums, _options(jit, parallel, precise, named(without), checked), "elementwise_grad")


def hvp(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], *, jit: bool | str = "auto", parallel: bool = False, precise: bool = False,
    without: Collection[str] = (), checked: bool | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """The Hessian of a function that returns one real number, times a vector, without the Hessian: the gradient program, pushed forward.

    Args:
        f: the function. primals: its arguments.
        tangents: for each argument the part of the vector that belongs to it. Options are those of `grad`.

    Returns:
        The product: a tuple with an entry for each argument that has floats, None for the others.
    """
    f, chosen = as_python(f), _directed("hvp", primals, tangents)
    options = _options(jit, parallel, precise, named(without), checked)
    run = kept(f, ("hvp", chosen, options), lambda: Transformed(Derivative(pushforwards.product_of(f, parameter_names(f, chosen), chosen), "primal"), options))
    found = run(tuple(primals), tuple([tangents[i] for i in chosen]))
    return _spread(found, chosen, len(primals))


def _by_rows(f: Any, names: tuple[str, ...], single: bool) -> Callable[..., Any]:
    return pushforwards.rows_of_all(f, pushforwards.Rows(f, names), jacobians.Pullback(f, names), single)


def _by_columns(f: Any, names: tuple[str, ...], single: bool) -> Callable[..., Any]:
    p = pushforwards
    return p.jacobian_of(p.Every(f, names), p.Pushforward(f, names), p.Point(f, names), p.Shaped(f, names, single))


def _by_fewer(f: Any, names: tuple[str, ...], single: bool, choice: type[pushforwards.Cheaper] = pushforwards.Cheaper) -> Callable[..., Any]:
    p, pullback = pushforwards, jacobians.Pullback(f, names)
    return p.cheaper_of(
        f, p.Tried(f, names), p.Pushforward(f, names), p.Point(f, names), p.Shaped(f, names, single), choice(f, names), p.Rows(f, names), pullback, single
    )


def _square(f: Any, names: tuple[str, ...], single: bool) -> Callable[..., Any]:
    return _by_fewer(f, names, single, pushforwards.Square)


_MODES = {"auto": _by_fewer, "forward": _by_columns, "reverse": _by_rows, "square": _square}


def _derived(make: Callable[..., Any], f: Any, argnums: Argnums, options: Options, what: str) -> Any:
    if f is None:
        return lambda function: _derived(make, function, argnums, options, what)
    if not callable(f):
        raise TypeError(f"{what} takes a function, not {type(f).__name__}; options go by keyword: @stgrad.{what}(argnums=...)")
    f = as_python(f)
    program = make(f, parameter_names(f, argnums), isinstance(argnums, (int, str)))
    return Transformed(Derivative(program, "primal"), options)


def _floats(primals: Sequence[Any]) -> tuple[int, ...]:
    """The positions of the arguments that have a derivative."""
    return tuple([i for i, value in enumerate(primals) if _has_floats(value)])


def _directed(name: str, primals: Any, tangents: Any) -> tuple[int, ...]:
    """The positions of the arguments that have a derivative.

    Raises TypeError or ValueError unless each has a tangent of its structure and shapes: nothing is broadcast here.
    """
    for what, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise TypeError(f"{name}: the {what} are a tuple with an entry for each argument, not of type {type(given).__name__}")
    if len(primals) != len(tangents):
        raise TypeError(f"{name}: there are {len(primals)} primals and {len(tangents)} tangents")
    chosen = _floats(primals)
    for position in chosen:
        x, v = primals[position], tangents[position]
        if type(x) is type(v) and (type(x) is float or type(x) is np.ndarray and x.shape == v.shape):
            continue  # most are: this is called at each step of a solver
        _fits(name, position, x, v)
    return chosen


def _fits(name: str, position: int, x: Any, v: Any) -> None:
    point, direction = list(leaves(opened(x))), list(leaves(opened(v)))
    if len(point) != len(direction):
        raise TypeError(f"{name}: tangent {position} has {len(direction)} leaves, its primal has {len(point)}")
    for one, other in zip(point, direction, strict=True):
        if _has_floats(one) and np.shape(one) != np.shape(other):
            raise ValueError(f"{name}: tangent {position} has shape {np.shape(other)}, its primal has {np.shape(one)}")


_options = cache(options)


def kept(f: Any, key: Any, make: Callable[[], Transformed]) -> Transformed:
    """A program that belongs to a function, made once; it lives in the function's own dictionary, so it goes with it."""
    own: dict[str, Any] = {} if isinstance(f, MethodType) else getattr(f, "__dict__", {})
    known: tuple[Any, dict[Any, Transformed]] | None = own.get("_stgrad_programs")
    if known is None or known[0]() is not f:  # `functools.wraps` copies the dictionary of what it wraps
        if isinstance(f, MethodType) or not hasattr(f, "__dict__"):
            return make()
        known = own["_stgrad_programs"] = (ref(f), {})
    program = known[1].get(key)
    if program is None:
        program = known[1][key] = make()
    return program


def _spread(found: tuple[Any, ...], chosen: tuple[int, ...], count: int) -> tuple[Any, ...]:
    """What was found for the chosen arguments, None for the others."""
    if len(chosen) == count:
        return found
    rest = iter(found)
    return tuple([next(rest) if i in chosen else None for i in range(count)])


_PLAIN = frozenset({float, int, bool, complex, type(None), str})


def _copies(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments whose arrays belong to nobody else."""
    return tuple([v if type(v) in _PLAIN else v.copy() if type(v) is np.ndarray else closed(map_leaves(_copied, opened(v))) for v in values])


def _copied(leaf: Any, _: str) -> Any:
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf


def _has_floats(value: Any) -> bool:
    kind = type(value)
    if kind is float or kind is int:
        return kind is float
    if kind is np.ndarray:
        return value.dtype.kind in "fc"
    return any(isinstance(v, (float, complex)) or getattr(getattr(v, "dtype", None), "kind", "") in ("f", "c") for v in leaves(opened(value)))


_called: Any
for _called in (jvp, vjp, linearize, hvp):
    _called._stgrad_inside_ = getattr(inside, _called.__name__)  # what calls of it mean in programs that are read

__all__ = ["elementwise_grad", "hessian", "hvp", "jacfwd", "jacobian", "jacrev", "jvp", "linearize", "vjp"]
