"""Derivatives in a direction: `jvp` and `hvp`, at a point or as functions of one.

What is called at each step of a solver costs little here: the program of the last call is found by the function and the number of its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import Any, TypeAlias

from stgrad import inside, pushforwards, tangent_calls
from stgrad.api import Argnums, named, parameter_names
from stgrad.as_python import as_python
from stgrad.budgets import Budget
from stgrad.called import Called
from stgrad.jacobians import beside, beside_point
from stgrad.points import directed, everywhere, kept, spread
from stgrad.request import Around, Options, options
from stgrad.transformed import Transformed

# What the compiler is told: jit, parallel, precise, without, checked, memory (False: no budget, whatever the environment says).
Given: TypeAlias = tuple[bool | str, bool, bool, frozenset[str] | None, bool | None, int | str | None]


def jvp(
    f: Callable[..., Any], primals: Sequence[Any] | None = None, tangents: Sequence[Any] | None = None, has_aux: bool = False, *, jit: bool | str = "auto",
    parallel: bool = False, precise: bool = False, without: Collection[str] = (), checked: bool | None = None,
) -> Any:  # fmt: skip
    """The value of a function and its derivative in a direction: `(value, tangent)`, as in JAX.

    Args:
        f: a function of numbers and arrays with any result.
        primals: its arguments.
        tangents: for each argument a direction of the same structure; None, for an argument or a part of it, is zero.
        has_aux: whether f returns `(value, auxiliary data)`; the data then is a third result. The other options are those of `grad`.

    Returns:
        Value and tangent; without primals and tangents, a function of them.

    The program runs forward once and stores nothing: it costs up to three times the function, and its memory again.

    >>> import math
    >>> jvp(math.sin, (0.0,), (2.0,), jit=False)  # doctest: +SKIP
    (0.0, 2.0)
    """
    if primals is None or tangents is None:
        if primals is not None or tangents is not None:
            raise TypeError("jvp takes primals and tangents, or neither of them")
        given = (jit, parallel, precise, named(without) if without else None, checked, False)
        return Pushed(f, has_aux, given)
    return _pushed(f, primals, tangents, has_aux, (jit, parallel, precise, named(without) if without else None, checked, False))


def hvp(
    f: Callable[..., Any], primals: Any = None, tangents: Sequence[Any] | None = None, has_aux: bool = False, *, argnums: Argnums | None = None,
    jit: bool | str = "auto", parallel: bool = False, precise: bool = False, without: Collection[str] = (), checked: bool | None = None,
    memory: int | str | Budget | None = None,
) -> Any:  # fmt: skip
    """The Hessian of a function that returns one real number, times a vector, without the Hessian: the gradient program, pushed forward.

    Args:
        f: the function. primals: its arguments.
        tangents: for each argument the part of the vector that belongs to it; None, for an argument or a part of it, is zero.
        has_aux: whether f returns `(value, auxiliary data)`; then the result is `(product, auxiliary data)`.
        argnums: as for `grad`, without primals and tangents; `hvp(f, 1)` is `hvp(f, argnums=1)`. Options are those of `grad`.

    Returns:
        The product: a tuple with an entry for each argument that has floats, None for the others. Without primals and tangents, a function of
        the arguments and, behind them, the vector: it has the structure of `grad(f, argnums)(*args)`, and so has the product.

    >>> hvp(lambda x, y: x**2 * y)(3.0, 2.0, 1.0)
    4.0
    """
    given = (jit, parallel, precise, named(without) if without else None, checked, memory)
    if tangents is None or argnums is not None:
        chosen = primals if argnums is None else argnums
        if tangents is not None or argnums is not None and primals is not None or not _is_argnums(chosen):
            raise TypeError("hvp takes primals and tangents, or, for a function of both, argnums alone")
        return _product(f, 0 if chosen is None else chosen, has_aux, options_of(given))
    chosen = everywhere(primals, tangents)
    if chosen is not None:
        return kept(f, ("hvp", chosen, has_aux, given), _make_hvp, chosen, has_aux, given)(primals, tangents)
    chosen = directed("hvp", primals, tangents)
    found = kept(f, ("hvp", chosen, has_aux, given), _make_hvp, chosen, has_aux, given)(tuple(primals), tuple([tangents[i] for i in chosen]))
    return (spread(found[0], chosen, len(primals)), found[1]) if has_aux else spread(found, chosen, len(primals))


def _pushed(f: Any, primals: Any, tangents: Any, has_aux: bool, given: Given) -> Any:
    chosen = everywhere(primals, tangents)
    if chosen is None:
        chosen, primals = directed("jvp", primals, tangents), tuple(primals)
        tangents = tuple([tangents[i] for i in chosen])
    found = kept(f, ("jvp", chosen, has_aux, given), _make_jvp, chosen, has_aux, given)(primals, tangents)
    return (found[0][0], found[1], found[0][1]) if has_aux else found


class Pushed(Called):
    """What `jvp(f)` gives: value and tangent, for primals and tangents."""

    __slots__ = ("f", "given", "has_aux")

    def __init__(self, f: Any, has_aux: bool, given: Given) -> None:
        self.f, self.has_aux, self.given = f, has_aux, given

    def __call__(self, primals: Any, tangents: Any) -> Any:
        return _pushed(self.f, primals, tangents, self.has_aux, self.given)

    def in_programs(self) -> Callable[..., Any]:
        f, has_aux = self.f, self.has_aux

        def pushed(primals: Any, tangents: Any) -> Any:
            return jvp(f, primals, tangents, has_aux)

        return pushed

    def options(self) -> Options:
        return options_of(self.given)


def _is_argnums(chosen: Any) -> bool:
    items = chosen if isinstance(chosen, (tuple, list)) else [] if chosen is None else [chosen]
    return all(isinstance(i, (int, str)) and not isinstance(i, bool) for i in items)


@cache
def options_of(given: Given) -> Options:
    """Options as they are written in keys of programs."""
    jit, parallel, precise, without, checked, memory = given
    return options(jit, parallel, precise, without or frozenset(), checked, memory=memory)


def _make_jvp(f: Any, chosen: tuple[int, ...], has_aux: bool, given: Given) -> Transformed:
    return pushforward(f, chosen, has_aux, options_of(given), pushforwards.pushforward_of)


def pushforward(f: Any, chosen: tuple[int, ...], has_aux: bool, options: Options, make: Callable[..., Any]) -> Transformed:
    names = parameter_names(f, chosen)
    what = "tangent" if make is pushforwards.linear_of else "value and tangent"
    return Transformed(Around(_pushforward, what, "jvp", f, names, (names, has_aux, make)).request(), options)


def _pushforward(f: Any, names: tuple[str, ...], has_aux: bool, make: Callable[..., Any]) -> Callable[..., Any]:
    tangent = tangent_calls.Tangent if make is pushforwards.linear_of else tangent_calls.Once
    made: Callable[..., Any] = make(tangent(f, names, False, has_aux))
    return made


def _make_hvp(f: Any, chosen: tuple[int, ...], has_aux: bool, given: Given) -> Transformed:
    names = parameter_names(f, chosen)
    make, args = (beside_point, (pushforwards.product_of, names, chosen)) if has_aux else (pushforwards.product_of, (names, chosen))
    return Transformed(Around(make, _PRODUCT, "hvp", f, names, args).request(), options_of(given))


_PRODUCT = "Hessian times a vector"


def _product(f: Any, argnums: Argnums, has_aux: bool, options: Options) -> Transformed:
    f = as_python(f)
    names, single = parameter_names(f, argnums), isinstance(argnums, (int, str))
    make, args = (beside, (pushforwards.product_along, 1, names, single)) if has_aux else (pushforwards.product_along, (names, single))
    return Transformed(Around(make, _PRODUCT, "hvp", f, names, args, ("vector",)).request(), options)


_called: Any
for _called in (jvp, hvp):
    _called._stgrad_inside_ = getattr(inside, _called.__name__)  # what calls of it mean in programs that are read

__all__ = ["hvp", "jvp", "options_of", "pushforward"]
