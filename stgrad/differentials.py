"""Derivatives in other forms than gradients: `vjp`, `linearize`, `jacobian`, `hessian` and their neighbours; names and meaning are JAX's."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

from stgrad import inside, jacobians, pushforwards, tangent_calls
from stgrad.api import Argnums, named, parameter_names
from stgrad.as_python import as_python
from stgrad.budgets import Budget
from stgrad.called import Called
from stgrad.directional import jvp, options_of, pushforward
from stgrad.errors import MemoryBudgetError
from stgrad.mapping import Axes, one_by_one
from stgrad.points import copies, directed, everywhere, floats, kept, spread
from stgrad.request import Around, Derivative, Options
from stgrad.transformed import Transformed

if TYPE_CHECKING:
    from stgrad.typed import Derived, P


def vjp(
    f: Callable[..., Any], *primals: Any, has_aux: bool = False, jit: bool | str = "auto", parallel: bool = False, precise: bool = False,
    without: Collection[str] = (), checked: bool | None = None, memory: int | str | Budget | None = None,
) -> Any:  # fmt: skip
    """The value of a function and its pullback: `(value, pullback)`, as in JAX.

    Args:
        f: a function of numbers and arrays; any result.
        primals: its arguments.
        has_aux: whether f returns `(value, auxiliary data)`; the data then is a third result. The other options are those of `grad`.

    Returns:
        `f(*primals)` and a function that takes cotangents with the structure of the value and returns a tuple of
        cotangents, one for each primal (None for what has no derivative). `vmap` of it takes a stack of cotangents.

    >>> import numpy as np
    >>> import stgrad
    >>> value, pullback = vjp(np.multiply, np.array([1.0, 2.0]), 3.0, jit=False)
    >>> stgrad.vmap(pullback)(np.eye(2))[0]
    array([[3., 0.],
           [0., 3.]])
    """
    chosen, given = floats(primals), (jit, parallel, precise, named(without) if without else None, checked, memory)
    value, held, later = kept(f, ("vjp", chosen, has_aux, given), _make_vjp, chosen, has_aux, given)(*primals)
    if has_aux:
        return value[0], Pullback(f, primals, chosen, (held, later, value[0]), has_aux, given), value[1]
    return value, Pullback(f, primals, chosen, (held, later, value), has_aux, given)


class Pullback(Called):
    """What `vjp` gives: the cotangents of the arguments, for one of the value. What the reverse sweep reads was kept for it."""

    __slots__ = ("all_chosen", "chosen", "count", "f", "given", "has_aux", "held", "later", "numbers", "value")

    def __init__(self, f: Any, primals: tuple[Any, ...], chosen: tuple[int, ...], swept: tuple[Any, Any, Any], has_aux: bool, given: Any) -> None:
        self.f, self.chosen, self.has_aux, self.given = f, chosen, has_aux, given
        self.held, self.later, self.value = swept
        self.count = len(primals)
        self.all_chosen = self.count == len(chosen)
        self.numbers = None
        for x in primals:
            if type(x) not in _IMMUTABLE:
                return
        self.numbers = primals

    def __call__(self, cotangents: Any) -> tuple[Any, ...]:
        found: tuple[Any, ...] = self.later(self.held, cotangents, self.value)
        return found if self.all_chosen else spread(found, self.chosen, self.count)

    def over_batch(self, axes: Axes, out_axes: Any) -> Callable[..., Any]:
        """What `vmap` makes of it: a sweep back for each of the stacked cotangents, and none forward."""
        return one_by_one(self, axes, out_axes)

    def in_programs(self) -> Callable[..., Any]:
        f, primals, has_aux = self.f, self.numbers, self.has_aux
        if primals is None:
            raise inside.made_outside()

        def pulled(cotangents: Any) -> Any:
            return vjp(f, *primals, has_aux=has_aux)[1](cotangents)

        return pulled

    def options(self) -> Options:
        return options_of(self.given)


_IMMUTABLE = frozenset({float, int, bool})


def _make_vjp(f: Any, chosen: tuple[int, ...], has_aux: bool, given: Any) -> Transformed:
    return Transformed(Derivative(f, "vjp", parameter_names(f, chosen), False, has_aux), replace(options_of(given), apart=True))


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
    primals = copies(primals)
    chosen, given = floats(primals), (jit, parallel, precise, named(without) if without else None, checked, False)
    primal, run = kept(f, ("linear", chosen, has_aux, given), _primal_and_linear, chosen, has_aux, given)
    value = primal(*copies(primals))

    f_jvp = Linear(f, primals, chosen, run, has_aux, given)
    return (value[0], f_jvp, value[1]) if has_aux else (value, f_jvp)


class Linear(Called):
    """What `linearize` gives: the tangent of the value, for one of each argument."""

    __slots__ = ("chosen", "f", "given", "has_aux", "primals", "run")

    def __init__(self, f: Any, primals: tuple[Any, ...], chosen: tuple[int, ...], run: Any, has_aux: bool, given: Any) -> None:
        self.f, self.primals, self.chosen, self.run, self.has_aux, self.given = f, primals, chosen, run, has_aux, given

    def __call__(self, *tangents: Any) -> Any:
        primals = self.primals
        if everywhere(primals, tangents) is not None:
            return self.run(primals, tangents)
        directed("linearize", primals, tangents)
        return self.run(primals, tuple([tangents[i] for i in self.chosen]))

    def in_programs(self) -> Callable[..., Any]:
        f, primals, has_aux = self.f, self.primals, self.has_aux

        def tangent(*tangents: Any) -> Any:
            return jvp(f, primals, tangents, has_aux)[1]

        return tangent

    def options(self) -> Options:
        return options_of(self.given)


def _primal_and_linear(f: Any, chosen: tuple[int, ...], has_aux: bool, given: Any) -> tuple[Transformed, Transformed]:
    options = options_of(given)
    return Transformed(Derivative(f, "primal"), options), pushforward(f, chosen, has_aux, options, pushforwards.linear_of)


def pullback_program(f: Any, argnums: Argnums, **options: Any) -> Transformed:
    """What `vjp` calls, as text is printed of it: the value with what the pullback keeps, and the pullback; options are those of `vjp`."""
    given = (options.get(name, default) for name, default in _VJP.items())
    derivative = Derivative(as_python(f), "vjp", parameter_names(f, argnums), single=False)
    return Transformed(derivative, replace(options_of(tuple(given)), apart=True))  # type: ignore[arg-type]


_VJP: dict[str, Any] = {"jit": "auto", "parallel": False, "precise": False, "without": None, "checked": None, "memory": None}


def tangent_program(f: Any, argnums: Argnums, *, precise: bool = False, without: Collection[str] = ()) -> Transformed:
    """The tangent program by itself, as text is printed of it: its arguments are those of f, and the tangents behind them."""
    derivative = Derivative(as_python(f), "jvp", parameter_names(f, argnums), single=False)
    return Transformed(derivative, Options(precise=precise, without=named(without)))


@overload
def jacobian(
    f: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False, *, mode: str = "auto", jit: bool | str = "auto", parallel: bool = False,
    precise: bool = False, without: Collection[str] = (), checked: bool | None = None, memory: int | str | Budget | None = None,
) -> Derived[P, Any]: ...
@overload
def jacobian(
    f: None = None, argnums: Argnums = 0, has_aux: bool = False, *, mode: str = "auto", jit: bool | str = "auto", parallel: bool = False,
    precise: bool = False, without: Collection[str] = (), checked: bool | None = None, memory: int | str | Budget | None = None,
) -> Callable[[Callable[P, Any]], Derived[P, Any]]: ...
def jacobian(
    f: Callable[..., Any] | None = None, argnums: Argnums = 0, has_aux: bool = False, *, mode: str = "auto", jit: bool | str = "auto", parallel: bool = False,
    precise: bool = False, without: Collection[str] = (), checked: bool | None = None, memory: int | str | Budget | None = None,
) -> Any:  # fmt: skip
    """The derivative of every number of a result in every number of an argument.

    Args:
        f: a function of numbers and arrays with any result.
        argnums: as for `grad`.
        has_aux: whether f returns `(value, auxiliary data)`; the result then is the Jacobian of the value, and the data.
        mode: 'forward', which runs the program for each few numbers of the arguments; 'reverse', once for each number of the result; or 'auto', whichever
            is less work. The other options are those of `grad`. `memory` is a budget for each reverse sweep; columns keep nothing.

    Returns:
        A function with the arguments of f. For a result of shape `m` and an argument of shape `n` it gives an array of shape `m + n`; for
        structures, the structure of the argument in each place of the structure of the result. It is a program like any other: it has
        `source`, and can be differentiated again.
    """
    if mode not in _MODES:
        raise ValueError(f"mode={mode!r} is none of auto, forward, reverse")
    return _derived(_MODES[mode], f, argnums, options_of((jit, parallel, precise, named(without), checked, memory)), "jacobian", has_aux)


@overload
def jacfwd(f: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False, **options: Any) -> Derived[P, Any]: ...
@overload
def jacfwd(f: None = None, argnums: Argnums = 0, has_aux: bool = False, **options: Any) -> Callable[[Callable[P, Any]], Derived[P, Any]]: ...
def jacfwd(f: Callable[..., Any] | None = None, argnums: Argnums = 0, has_aux: bool = False, **options: Any) -> Any:
    """`jacobian` by columns: for functions with few arguments and many results."""
    return jacobian(f, argnums, has_aux, mode="forward", **options)


@overload
def jacrev(f: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False, **options: Any) -> Derived[P, Any]: ...
@overload
def jacrev(f: None = None, argnums: Argnums = 0, has_aux: bool = False, **options: Any) -> Callable[[Callable[P, Any]], Derived[P, Any]]: ...
def jacrev(f: Callable[..., Any] | None = None, argnums: Argnums = 0, has_aux: bool = False, **options: Any) -> Any:
    """`jacobian` by rows: for functions with many arguments and few results."""
    return jacobian(f, argnums, has_aux, mode="reverse", **options)


@overload
def hessian(f: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False, *, mode: str = "auto", **options: Any) -> Derived[P, Any]: ...
@overload
def hessian(
    f: None = None, argnums: Argnums = 0, has_aux: bool = False, *, mode: str = "auto", **options: Any
) -> Callable[[Callable[P, Any]], Derived[P, Any]]: ...
def hessian(f: Callable[..., Any] | None = None, argnums: Argnums = 0, has_aux: bool = False, *, mode: str = "auto", **options: Any) -> Any:
    """The second derivatives of a function that returns one real number: the Jacobian of its gradient; arguments as for `jacobian`.

    With 'auto' it is forward over reverse, and reverse over reverse for complex arguments. Within a budget of memory four columns at a time go through
    the gradient program, not all of them together.
    """
    if f is None:
        return lambda function: hessian(function, argnums, has_aux, mode=mode, **options)
    chosen = _options(**options)
    if chosen.memory is not None and mode == "reverse":
        raise MemoryBudgetError(
            "`hessian` with mode='reverse' takes no memory budget", reason="a sweep back over another one keeps all that it reads", hint="leave out `mode`"
        )
    make = _MODES["square" if mode == "auto" else mode] if chosen.memory is None else _by_few_columns
    return _derived(functools.partial(_of_gradient, make), f, argnums, chosen, "hessian", has_aux)


def _of_gradient(make: Callable[..., Any], f: Any, names: tuple[str, ...], single: bool) -> Callable[..., Any]:
    made: Callable[..., Any] = make(Transformed(Derivative(f, "grad", names, single)), names, single)
    return made


def _options(
    jit: bool | str = "auto", parallel: bool = False, precise: bool = False, without: Collection[str] = (), checked: bool | None = None,
    memory: int | str | Budget | bool | None = None,
) -> Options:  # fmt: skip
    return options_of((jit, parallel, precise, named(without), checked, memory))


@overload
def elementwise_grad(
    f: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False, *, jit: bool | str = "auto", parallel: bool = False, precise: bool = False,
    without: Collection[str] = (), checked: bool | None = None,
) -> Derived[P, Any]: ...
@overload
def elementwise_grad(
    f: None = None, argnums: Argnums = 0, has_aux: bool = False, *, jit: bool | str = "auto", parallel: bool = False, precise: bool = False,
    without: Collection[str] = (), checked: bool | None = None,
) -> Callable[[Callable[P, Any]], Derived[P, Any]]: ...
def elementwise_grad(
    f: Callable[..., Any] | None = None, argnums: Argnums = 0, has_aux: bool = False, *, jit: bool | str = "auto", parallel: bool = False,
    precise: bool = False, without: Collection[str] = (), checked: bool | None = None,
) -> Any:  # fmt: skip
    """The derivative of each element of a result in the same element of an argument, of a function that works element by element.

    Where elements depend on others it is the derivative of the sum of all results. Arguments are those of `grad`.
    """
    return _derived(_elementwise, f, argnums, options_of((jit, parallel, precise, named(without), checked, False)), "elementwise_grad", has_aux)


def _elementwise(f: Any, names: tuple[str, ...], single: bool) -> Callable[..., Any]:
    return jacobians.elementwise_of(f, jacobians.Row(f, names), single)


def _by_rows(f: Any, names: tuple[str, ...], single: bool) -> Callable[..., Any]:
    return pushforwards.rows_of_all(f, tangent_calls.Rows(f, names), jacobians.Row(f, names), single)


def _by_columns(f: Any, names: tuple[str, ...], single: bool) -> Callable[..., Any]:
    c = tangent_calls
    return pushforwards.jacobian_of(c.Every(f, names), c.Pushforward(f, names), c.Point(f, names), c.Shaped(f, names, single))


def _by_few_columns(f: Any, names: tuple[str, ...], single: bool) -> Callable[..., Any]:
    c = tangent_calls
    return pushforwards.jacobian_of(c.Nothing(f, names), c.Pushforward(f, names), c.Point(f, names), c.Shaped(f, names, single))


def _by_fewer(f: Any, names: tuple[str, ...], single: bool, choice: type[tangent_calls.Cheaper] = tangent_calls.Cheaper) -> Callable[..., Any]:
    c, pullback = tangent_calls, jacobians.Row(f, names)
    return pushforwards.cheaper_of(
        f, c.Tried(f, names), c.Pushforward(f, names), c.Point(f, names), c.Shaped(f, names, single), choice(f, names), c.Rows(f, names), pullback, single
    )


def _square(f: Any, names: tuple[str, ...], single: bool) -> Callable[..., Any]:
    return _by_fewer(f, names, single, tangent_calls.Square)


_MODES = {"auto": _by_fewer, "forward": _by_columns, "reverse": _by_rows, "square": _square}


def _derived(make: Callable[..., Any], f: Any, argnums: Argnums, options: Options, what: str, has_aux: bool = False) -> Any:
    if f is None:
        return lambda function: _derived(make, function, argnums, options, what, has_aux)
    if not callable(f):
        raise TypeError(f"{what} takes a function, not {type(f).__name__}; options go by keyword: @stgrad.{what}(argnums=...)")
    f = as_python(f)
    names = parameter_names(f, argnums)
    said, suffix = _SAID[what]
    args = (names, isinstance(argnums, (int, str)))
    around = Around(jacobians.beside, said, suffix, f, names, (make, 0, *args)) if has_aux else Around(make, said, suffix, f, names, args)
    return Transformed(around.request(), options)


_SAID = {"jacobian": ("Jacobian", "jacobian"), "hessian": ("Hessian", "hessian"), "elementwise_grad": ("derivative of each element", "grad")}


_called: Any
for _called in (vjp, linearize):
    _called._stgrad_inside_ = getattr(inside, _called.__name__)  # what calls of it mean in programs that are read

__all__ = ["elementwise_grad", "hessian", "jacfwd", "jacobian", "jacrev", "linearize", "vjp"]
