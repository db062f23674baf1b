"""`jvp`, `vjp`, `linearize` and `hvp` where they are called in functions that are read: what takes values of the running program.

Each does what the function of that name does when it is called from Python. Their options are those of the program around them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stgrad import errors
from stgrad.api import parameter_names
from stgrad.as_python import as_python
from stgrad.jacobians import Pullback, beside, beside_point
from stgrad.pushforwards import product_along, product_of
from stgrad.tangent_calls import Tangent
from stgrad.values import Growing, Sym, Value, leaves


def _is_float(leaf: Value) -> bool:
    return isinstance(leaf, Sym) and leaf.type.is_float or isinstance(leaf, (float, complex, np.inexact))


def _floats(primals: tuple[Value, ...]) -> tuple[int, ...]:
    return tuple(i for i, p in enumerate(primals) if any(map(_is_float, leaves(p))))


def _spread(found: Any, chosen: tuple[int, ...], count: int) -> tuple[Value, ...]:
    rest = iter(found)
    return tuple(next(rest) if i in chosen else None for i in range(count))


def _directed(frame: Any, name: str, primals: Value, tangents: Value) -> tuple[int, ...]:
    for what, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise errors.TypeInferenceError(f"{name}: the {what} are a tuple with an entry for each argument", frame.builder.loc)
    if len(primals) != len(tangents):
        raise errors.TypeInferenceError(f"{name}: there are {len(primals)} primals and {len(tangents)} tangents", frame.builder.loc)
    return _floats(tuple(primals))


class Pushed:
    """What `jvp(f)` gives: a function of primals and tangents."""

    def __init__(self, f: Any, has_aux: bool) -> None:
        self.f, self.has_aux = f, has_aux

    def __call__(self, *args: Any) -> Any:
        raise TypeError("it is called in programs that are read")

    def _stgrad_call_(self, frame: Any, args: tuple[Value, ...], _: dict[str, Any]) -> Value:
        primals, tangents = args
        return jvp(frame, self.f, primals, tangents, self.has_aux)


def jvp(frame: Any, f: Any, primals: Value = None, tangents: Value = None, has_aux: bool = False, **_: Any) -> Value:
    if primals is None and tangents is None:
        return Pushed(f, has_aux)
    f, chosen = as_python(f), _directed(frame, "jvp", primals, tangents)
    push = Tangent(f, parameter_names(f, chosen), False, has_aux)
    value, tangent = push._stgrad_call_(frame, (tuple(primals), {}, [tangents[i] for i in chosen]), {})
    return (value[0], tangent, value[1]) if has_aux else (value, tangent)


def hvp(frame: Any, f: Any, primals: Value = None, tangents: Value = None, has_aux: bool = False, argnums: Any = None, **_: Any) -> Value:
    f = as_python(f)
    if tangents is None:
        chosen = (primals if argnums is None else argnums) or 0
        args = parameter_names(f, chosen), isinstance(chosen, (int, str))
        return beside(f, product_along, 1, *args) if has_aux else product_along(f, *args)
    chosen = _directed(frame, "hvp", primals, tangents)
    names = parameter_names(f, chosen)
    linear = beside_point(f, product_of, names, chosen) if has_aux else product_of(f, names, chosen)
    found = frame.call(linear, (tuple(primals), tuple(tangents[i] for i in chosen)), {})
    return (_spread(found[0], chosen, len(primals)), found[1]) if has_aux else _spread(found, chosen, len(primals))


class _Linear:
    """What `linearize` and `vjp` give: a linear function at a point, which is of that moment."""

    def __init__(self, frame: Any, f: Any, primals: tuple[Value, ...], has_aux: bool) -> None:
        from stgrad.frontend.copies import own

        self.f, self.has_aux, self.chosen = f, has_aux, _floats(primals)
        self.primals = own(frame, primals)
        self.names = parameter_names(f, self.chosen)
        self.value = frame.call(f, own(frame, primals), {})

    def __call__(self, *args: Any) -> Any:
        raise TypeError("it is called in programs that are read")

    def result(self) -> tuple[Value, ...]:
        return (self.value[0], self, self.value[1]) if self.has_aux else (self.value, self)


class Forward(_Linear):
    def _stgrad_call_(self, frame: Any, tangents: tuple[Value, ...], _: dict[str, Any]) -> Value:
        _directed(frame, "linearize", self.primals, tangents)
        push = Tangent(self.f, self.names, False, self.has_aux)
        return push._stgrad_call_(frame, (self.primals, {}, [tangents[i] for i in self.chosen]), {})[1]


class Backward(_Linear):
    def _stgrad_call_(self, frame: Any, args: tuple[Value, ...], _: dict[str, Any]) -> Value:
        (cotangents,) = args
        value = self.value[0] if self.has_aux else self.value
        if any(isinstance(v, Growing) for v in leaves(value)):
            raise errors.TypeInferenceError(
                "the pullback of a list whose length the function decides as it runs is not for here", frame.builder.loc, hint="return np.array(...) of it"
            )
        pairs = list(zip(leaves(value), leaves(cotangents), strict=False))
        if len(pairs) != len(list(leaves(value))) or len(pairs) != len(list(leaves(cotangents))):
            raise errors.ShapeError("a cotangent has not the structure of the value that it belongs to", frame.builder.loc)
        for v, c in pairs:
            if isinstance(v, Sym) and v.type.is_float and v.type.rank != (c.type.rank if isinstance(c, Sym) else 0):
                raise errors.ShapeError(f"a cotangent is {c.type if isinstance(c, Sym) else repr(c)}, its value is {v.type}", frame.builder.loc)
        given = [c for v, c in pairs if _is_float(v)]
        pull = Pullback(self.f, self.names, self.has_aux)
        return _spread(pull._stgrad_call_(frame, (self.primals, {}, given), {}), self.chosen, len(self.primals))


def linearize(frame: Any, f: Any, *primals: Value, has_aux: bool = False, **_: Any) -> Value:
    return Forward(frame, as_python(f), primals, has_aux).result()


def vjp(frame: Any, f: Any, *primals: Value, has_aux: bool = False, **_: Any) -> Value:
    return Backward(frame, as_python(f), primals, has_aux).result()


def made_outside() -> errors.UnsupportedCallerError:
    """A pullback in another program: what it keeps belongs to the call of `vjp` that made it."""
    return errors.UnsupportedCallerError(
        "a pullback at arrays is called in a program that it was not made in",
        reason="what it keeps is memory of a call of stgrad.vjp outside, and the arrays may have changed since",
        hint="call stgrad.vjp(f, x) in the function too; for a stack of cotangents, stgrad.vmap(pullback)(stack); for all rows, stgrad.jacrev(f)(x)",
    )


__all__ = ["hvp", "jvp", "linearize", "made_outside", "vjp"]
