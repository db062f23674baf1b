"""What stands for derivatives in programs that are read: tangents of a function, its points and shapes, the choice of the cheaper mode.

`Pushforward` takes several directions at once, so that the function itself runs once for all of them. The programs are in `stgrad.pushforwards`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.ir import Custom, walk
from stgrad.jacobians import checked_rows, is_complex
from stgrad.mode_choices import say
from stgrad.points import along as paired_along
from stgrad.request import Derivative, signature_of
from stgrad.stubs import Stub
from stgrad.transformed import Transformed
from stgrad.values import Sym, is_number, leaves, map_leaves

WIDTH = 4  # directions in an array that run beside one another


class _Read(Stub):
    """What is called in programs that are read, for a function and the names of some of its arguments."""

    def __init__(self, f: Callable[..., Any], names: tuple[str, ...], single: bool = False, has_aux: bool = False) -> None:
        self.f, self.names, self.single, self.has_aux = f, names, single, has_aux

    def arguments(self, args: Any, kwargs: Any) -> list[Any]:
        """The chosen arguments of a call; `args[1]` is one of `*args`."""
        bound = signature_of(self.f).bind(*args, **kwargs)
        bound.apply_defaults()
        found = []
        for name in self.names:
            base, _, index = name.partition("[")
            found.append(bound.arguments[base][int(index[:-1])] if index else bound.arguments[base])
        return found


def _is_float(leaf: Any) -> bool:
    return isinstance(leaf, Sym) and leaf.type.is_float or isinstance(leaf, (float, complex, np.inexact))


class Pushforward(_Read):
    """`pushforward(args, kwargs, directions)` in a program that is read: the value, and a tangent of it for each direction.

    A direction has an entry for each float leaf of the chosen arguments, None where it is zero.
    """

    def _stgrad_call_(self, frame: Any, args: tuple[Any, ...], _: dict[str, Any]) -> Any:
        positional, keywords, directions = args
        point = [leaf for a in self.arguments(positional, keywords) for leaf in leaves(a) if _is_float(leaf)]
        given = [[(i, v) for i, v in enumerate(direction) if v is not None] for direction in directions]
        pattern = tuple(tuple(i for i, _ in direction) for direction in given)
        seeds = [_like(frame, v, point[i]) for direction in given for i, v in direction]
        return self.pushed(frame, positional, keywords, pattern, seeds)

    mode = "jvp"

    def pushed(self, frame: Any, positional: Any, keywords: Any, pattern: Any, seeds: list[Any]) -> Any:
        from stgrad.nested import call_inline

        target = Transformed(Derivative(self.f, self.mode, self.names, False, self.has_aux, pattern))
        return call_inline(target, frame, tuple(positional), keywords, seeds, self.is_once(positional, keywords))

    def is_once(self, positional: Any, keywords: Any) -> bool:
        """Whether the program around it calls it once."""
        return False


class Every(_Read):
    """`every(args, kwargs)`: the value, and its derivatives in every number of the chosen arguments at once, side by side in one program.

    For each float leaf of the arguments a structure of the value, with an axis of the numbers of that leaf behind those of the value; `rows`: for
    each leaf of the value the arguments, with an axis of its numbers. None where the program has no such form; where forward mode refuses it,
    and there is another one, the text 'refused'.
    """

    mode = "columns"
    final = True  # whether there is no other mode

    def _stgrad_call_(self, frame: Any, args: tuple[Any, ...], _: dict[str, Any]) -> Any:
        from stgrad import program_units  # noqa: F401  (it knows these modes)
        from stgrad.nested import call_inline
        from stgrad.transforms.directions import Unbatched

        positional, keywords = args
        try:
            return call_inline(Transformed(Derivative(self.f, self.mode, self.names, False)), frame, tuple(positional), keywords)
        except Unbatched:
            say(f"{self.mode} in turn", "the program has no form in which all of them go through it at once")
            return None
        except errors.AliasingError:
            if self.final:
                raise
            return "refused"


class Nothing(Every):
    """`nothing(args, kwargs)`: None, where all directions at once would take too much memory."""

    def _stgrad_call_(self, frame: Any, args: tuple[Any, ...], _: dict[str, Any]) -> None:
        return None


class Tried(Every):
    final = False


class Rows(Every):
    mode = "rows"

    def _stgrad_call_(self, frame: Any, args: tuple[Any, ...], _: dict[str, Any]) -> Any:
        found = super()._stgrad_call_(frame, args, _)
        return found if found is None or isinstance(found, str) else (found[0], checked_rows(self.f, *found))


class Tangent(Pushforward):
    """`tangent(args, kwargs, direction)`: the value and its tangent in one direction, which has the structure of the chosen arguments."""

    def _stgrad_call_(self, frame: Any, args: tuple[Any, ...], _: dict[str, Any]) -> Any:
        positional, keywords, direction = args
        pairs = [pair for a, d in zip(self.arguments(positional, keywords), direction, strict=True) for pair in _paired(a, d, frame)]
        point = [(x, v) for x, v in pairs if _is_float(x)]
        pattern = tuple(i for i, (_, v) in enumerate(point) if v is not None)
        seeds = [_like(frame, point[i][1], point[i][0]) for i in pattern]
        value, tangents = self.pushed(frame, positional, keywords, (pattern,), seeds)
        return value, tangents[0]


class Once(Tangent):
    """The same in a program that calls it once."""

    def is_once(self, positional: Any, keywords: Any) -> bool:
        return True


class Series(Pushforward):
    """`series(args, kwargs, orders)`: the value, and its coefficients of each order; an order has an entry for each float leaf, none of them None."""

    mode = "series"


class Gradient(Pushforward):
    """The same of a function that returns one real number, which is refused otherwise."""

    def pushed(self, frame: Any, positional: Any, keywords: Any, pattern: Any, seeds: list[Any]) -> Any:
        from stgrad.program import must_be_scalar

        value, tangents = super().pushed(frame, positional, keywords, pattern, seeds)
        must_be_scalar(value[0] if self.has_aux else value, self.f)
        return value, tangents

    def is_once(self, positional: Any, keywords: Any) -> bool:
        return not any(isinstance(leaf, Sym) and leaf.type.array for a in self.arguments(positional, keywords) for leaf in leaves(a) if _is_float(leaf))


class Point(_Read):
    """`point(args, kwargs)`: the floats of the chosen arguments, a list."""

    def _stgrad_call_(self, frame: Any, args: tuple[Any, ...], _: dict[str, Any]) -> Any:
        from stgrad.program import float_leaves

        found: list[Any] = []
        for name, a in zip(self.names, self.arguments(*args), strict=True):
            found += [leaf for leaf in leaves(a) if _is_float(leaf)] or float_leaves(name, a)
        if any(map(is_complex, found)):
            raise errors.NotDifferentiableError(
                "forward mode gives derivatives in real numbers, column by column, and an argument is complex",
                frame.builder.loc,
                hint="use mode='reverse', or stgrad.jvp in the direction you want",
            )
        return found


class Shaped(_Read):
    """`shaped(args, kwargs, items)`: the structure of the chosen arguments with other items for their floats, None for the rest."""

    def _stgrad_call_(self, frame: Any, args: tuple[Any, ...], _: dict[str, Any]) -> Any:
        positional, keywords, items = args
        rest = iter(items)

        def item(leaf: Any, _: str) -> Any:
            return _of_kind(frame, next(rest), leaf) if _is_float(leaf) else None

        found = tuple(map_leaves(item, a) for a in self.arguments(positional, keywords))
        return found[0] if self.single else found


class Places(_Read):
    """`places(args, kwargs)`: where the chosen arguments stand among the positional ones."""

    def _stgrad_call_(self, frame: Any, args: tuple[Any, ...], _: dict[str, Any]) -> Any:
        known = list(signature_of(self.f).parameters)
        found = [known.index(base) + int(index[:-1] or 0) for base, _, index in (name.partition("[") for name in self.names)]
        if any(i >= len(args[0]) for i in found):
            raise errors.TypeInferenceError("hvp: an argument that is differentiated in stands by keyword", frame.builder.loc, hint="pass it by position")
        return found


class Along(Once):
    """`along(args, kwargs, direction)`: the tangent alone; None where forward mode refuses the program."""

    def _stgrad_call_(self, frame: Any, args: tuple[Any, ...], _: dict[str, Any]) -> Any:
        try:
            return super()._stgrad_call_(frame, args, _)[1]
        except errors.AliasingError:
            return None


class Cheaper(_Read):
    """`cheaper(args, kwargs, y)`: what is known of the cheaper mode before the program runs: 'forward', 'reverse', or '' for nothing."""

    refused = frozenset({"vjp", "once"})  # rules that forward mode does not take, or may not take

    def _stgrad_call_(self, frame: Any, args: tuple[Any, ...], _: dict[str, Any]) -> Any:
        if self.refused & {s.rule for s in walk(tuple(frame.builder.out)) if isinstance(s, Custom)}:
            say("by rows, in reverse mode", "a function with a reverse rule of its own is called")
            return "reverse"
        inputs = [leaf for a in self.arguments(args[0], args[1]) for leaf in leaves(a) if isinstance(leaf, Sym) and leaf.type.is_float]
        outputs = [leaf for leaf in leaves(args[2]) if isinstance(leaf, Sym) and leaf.type.is_float]
        if any(map(is_complex, inputs)):
            say("by rows, in reverse mode", "there are complex numbers among the arguments")
            return "reverse"
        if any(map(is_complex, outputs)):
            say("by columns, in forward mode", "the arguments are real, and the result is complex")
            return "forward"
        return self.of_reals(inputs, outputs)

    def of_reals(self, inputs: list[Sym], outputs: list[Sym]) -> str:
        if not any(leaf.type.array for leaf in outputs):
            say("by rows, in reverse mode", "the result has no arrays")
            return "reverse"
        if any(leaf.type.array for leaf in inputs):
            say("by columns or by rows", f"by columns where the arguments have no more than {WIDTH} times the numbers of the result, decided at each call")
            return ""
        say("by columns, in forward mode", "the arguments are numbers, and the result has arrays")
        return "forward"


class Square(Cheaper):
    """The same of a gradient, whose Jacobian has as many rows as columns: to push it forward needs no second sweep back."""

    refused = frozenset({"vjp", "once", "linear"})

    def of_reals(self, inputs: list[Sym], outputs: list[Sym]) -> str:
        say("the gradient, pushed forward in each column", "a Hessian has as many rows as columns, and this needs no sweep back over another one")
        return "forward"


def _paired(a: Any, d: Any, frame: Any) -> list[tuple[Any, Any]]:
    """The leaves of an argument with those of its direction; None, for any part of it, is zero."""
    try:
        return paired_along(a, d)
    except TypeError as problem:
        raise errors.ShapeError(str(problem), frame.builder.loc) from None


class Aligned(Stub):
    """`aligned(gradients, tangents)` in a program that is read: the pairs of numbers and arrays in which there is a tangent."""

    def _stgrad_call_(self, frame: Any, args: tuple[Any, ...], _: dict[str, Any]) -> Any:
        return [pair for pair in _paired(args[0], args[1], frame) if pair[1] is not None and _is_float(pair[0])]


aligned = Aligned()


def slope(gradients: Any, tangents: Any) -> Any:
    """The derivative in a direction, of which parts may be None; this function is read."""
    total = 0.0
    for g, v in aligned(gradients, tangents):
        total = total + np.sum(np.real(np.conj(g) * v))
    return total


def _of_kind(frame: Any, v: Any, x: Any) -> Any:
    """A derivative in the precision of what it is taken in; in a Python number it is one, too."""
    if not (isinstance(x, Sym) and isinstance(v, Sym)) or x.type.dtype not in _REALS or v.type.dtype not in _REALS:
        return v
    if x.type.weak and not x.type.rank and not v.type.rank:
        return v if v.type.weak else frame.call(float, (v,), {})
    if v.type.dtype == x.type.dtype:
        return v
    cast = ("np.astype", (v, np.dtype(x.type.dtype))) if v.type.array else ("cast", (v, x.type.dtype))
    return frame.builder.call(*cast, replace(v.type, dtype=x.type.dtype, weak=False, value=None))


_REALS = frozenset({"float32", "float64"})


def _like(frame: Any, v: Any, x: Any) -> Any:
    """A tangent in the dtype of its primal; refused where it has not its rank."""
    t = x.type if isinstance(x, Sym) else None
    if t is None or is_number(v) and not t.rank:
        return v
    if not isinstance(v, Sym) or v.type.rank != t.rank:
        raise errors.ShapeError(f"a tangent is {v.type if isinstance(v, Sym) else repr(v)}, its primal is {t}", frame.builder.loc)
    if v.type.dtype.startswith("complex") and not t.dtype.startswith("complex"):
        raise errors.NotDifferentiableError("a tangent is complex, its primal is real", frame.builder.loc)
    if v.type.dtype == t.dtype:
        return v
    cast = ("np.astype", (v, np.dtype(t.dtype))) if t.array else ("cast", (v, t.dtype))
    return frame.builder.call(*cast, replace(v.type, dtype=t.dtype, weak=t.weak, value=None))
