"""Whether a function comes through the compiler unharmed: every stage, plain Python and Numba, first and second order.

The result may be any structure. It is weighed by random cotangents, and the derivative in random directions is held against differences of the
function itself; what the reverse sweep says is held against the pushforward. So the first stage that is wrong has a name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from stgrad import api, differentials, directional, values
from stgrad.jacobians import Pullback, product
from stgrad.points import floats
from stgrad.request import Derivative, Options, signature_of
from stgrad.stage_texts import texts_of
from stgrad.testing.directions import inner, is_float, leaves, map_leaves, moved, noise
from stgrad.testing.gradients import GradientError, Tolerances
from stgrad.transformed import Transformed
from stgrad.values import Sym

STEPS = (1e-3, 1e-4, 1e-5, 1e-6)
Function = Callable[..., Any]


class ProgramError(GradientError):
    """A program is wrong; the text names the first stage that is, in which argument, and by how much."""


def check_program(
    f: Function, args: Sequence[Any], order: int = 2, *, argnums: Sequence[int] | None = None, jit: bool = True, seed: int = 0,
    tolerances: Tolerances | None = None,
) -> list[str]:  # fmt: skip
    """Raise `ProgramError` unless every stage of the compiler keeps the meaning of `f` at `args`.

    Args:
        f: a function of numbers, arrays and structures of them, with any result.
        args: its arguments, away from kinks.
        order: 1, or 2 for the derivative of the derivative too.
        argnums: positions of the arguments to differentiate in; all that hold floats by default.
        jit: run the compiled program, too.
        seed: of the random directions.
        tolerances: see `Tolerances`.

    Returns:
        What was run, in order.

    >>> check_program(lambda x: x * x, (3.0,), jit=False)[-3:]
    ['plain Python', 'forward', 'second order in plain Python']
    """
    check = _Check(f, tuple(args), argnums, np.random.default_rng(seed), tolerances or Tolerances())
    check.stages()
    check.compiled(False)
    if jit:
        check.compiled(True)
    check.forward()
    for compiled in (False, True)[: (1 + jit) * (order >= 2)]:
        check.second_order(compiled)
    return check.passed


class _Check:
    """One function at one point; directions have an entry for each argument."""

    def __init__(self, f: Function, args: tuple[Any, ...], argnums: Sequence[int] | None, rng: Any, tolerances: Tolerances) -> None:
        self.f, self.args, self.rng = f, args, rng
        floats = tuple(i for i, a in enumerate(args) if any(map(is_float, leaves(a))))
        self.argnums = floats if argnums is None else tuple(argnums)
        self.names = api.parameter_names(f, self.argnums)
        self.single = any(np.asarray(leaf).dtype in (np.float32, np.complex64) for leaf in leaves(list(args)) if is_float(leaf))
        self.bound = tolerances.single if self.single else tolerances.differences
        self.second = 50 * tolerances.single if self.single else tolerances.second
        self.value = f(*self.fresh())
        self.y_bar = map_leaves(lambda leaf, _: noise(rng, leaf), self.value)
        self.passed: list[str] = []

    def fresh(self) -> tuple[Any, ...]:
        return moved(self.args, map_leaves(lambda *_: None, self.args), 0.0)  # type: ignore[no-any-return]

    def fail(self, what: str, message: str) -> None:
        before = f"; what ran before is right: {', '.join(self.passed)}" if self.passed else ""
        raise ProgramError(f"{getattr(self.f, '__name__', 'f')}: {what} is the first that is wrong: {message}{before}")

    # ------------------------------------------------------------------ the two references

    def direction(self, i: int) -> tuple[Any, ...]:
        return tuple(map_leaves(lambda leaf, _, j=j: noise(self.rng, leaf) if j == i else None, a) for j, a in enumerate(self.args))

    def differences(self, g: Callable[[tuple[Any, ...]], float], v: tuple[Any, ...]) -> list[float]:
        """Central differences, and the extrapolation of each pair of them."""
        plain = [(g(moved(self.args, v, h)) - g(moved(self.args, v, -h))) / (2 * h) for h in STEPS]
        return plain + [(100.0 * b - a) / 99.0 for a, b in zip(plain, plain[1:], strict=False)]

    def weighed(self, args: tuple[Any, ...]) -> float:
        return inner(self.y_bar, self.f(*args))

    def compare(self, what: str, gradients: Sequence[Any]) -> None:
        """The cotangents of the arguments against differences of the function."""
        for name, i, g in zip(self.names, self.argnums, gradients, strict=True):
            v = self.direction(i)
            got = inner(g, v[i])
            best = min(self.differences(self.weighed, v), key=lambda d, got=got: abs(d - got) if np.isfinite(d) else np.inf)
            if not abs(best - got) <= self.bound * max(1.0, abs(best), _size(g)):
                self.fail(what, f"the derivative in `{name}`, in a random direction, is {got:.9g}, should be {best:.9g}")

    def same_value(self, what: str, found: Sequence[Any]) -> None:
        wanted = [leaf for leaf in leaves(self.value) if leaf is not None and not isinstance(leaf, str)]
        tolerance = 1e-4 if self.single else 1e-9
        for a, b in zip(wanted, found, strict=True):
            if np.shape(a) != np.shape(b) or not np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True):
                self.fail(what, f"the value is {b!r:.200}, should be {a!r:.200}")

    # ------------------------------------------------------------------ what is held against them

    def stages(self) -> None:
        transformed = Transformed(Derivative(self.f, "vjp", self.names, single=False), Options(jit=False))
        program = transformed._program(self.fresh(), {}, keep=True)
        texts = texts_of(transformed.derivative, program.trace, transformed.options)
        for name in (n for n in texts if n not in ("desugar", "activity")):
            results = list(self.run(texts[name], program, seeded=name != "anf"))
            if name == "anf":
                self.same_value("stage 'anf', the function itself,", results)
            else:
                self.compare(f"stage {name!r}", self.gathered(program, results))
            self.passed.append(name)

    def run(self, text: str, program: Any, *, seeded: bool) -> Iterator[Any]:
        """Execute the text of a stage on the arguments, flat."""
        namespace: dict[str, Any] = {}
        exec(compile(text, "<stage>", "exec"), namespace)  # noqa: S102
        function = next(v for k, v in namespace.items() if getattr(v, "__code__", None) is not None and v.__code__.co_filename == "<stage>")
        reading = program.reading
        known = [leaf for name, a in reading.arguments.items() if name not in reading.seeds for leaf in values.leaves(a)]
        bound = signature_of(self.f).bind(*self.fresh())
        bound.apply_defaults()
        given = leaves(list(bound.arguments.values()))
        flat = [v for v, k in zip(given, known, strict=True) if isinstance(k, Sym)]
        hidden = [c.value for c in reading.captures if c.variable is not None]
        seeds = [_cast(g, v) for g, v in zip(leaves(self.y_bar), leaves(self.value), strict=True) if g is not None] if seeded else []
        result = function(*flat, *hidden, *seeds)
        yield from result if isinstance(result, tuple) else (result,)

    def gathered(self, program: Any, results: list[Any]) -> list[Any]:
        """The gradients among the flat results of a 'vjp' program; what stands before them is the value."""
        shapes = program.reading.result[1]
        count = sum(isinstance(leaf, Sym) for leaf in values.leaves(shapes))
        rest = iter(results[len(results) - count :])
        return [values.map_leaves(lambda leaf, _: next(rest) if isinstance(leaf, Sym) else None, part) for part in shapes]

    def compiled(self, jit: bool) -> None:
        what = "Numba" if jit else "plain Python"
        value, pullback = differentials.vjp(self.f, *self.fresh(), jit=jit)
        self.same_value(what, [leaf for leaf in leaves(value) if leaf is not None and not isinstance(leaf, str)])
        for leaf in leaves(pullback(self.y_bar)):  # whatever is written to belongs to others: a second call gives the same
            if isinstance(leaf, np.ndarray) and leaf.flags.writeable:
                leaf[...] = 1
        found = pullback(map_leaves(lambda leaf, _: leaf, self.y_bar))
        self.compare(what, [found[i] for i in self.argnums])
        self.found = found
        self.passed.append(what)

    def forward(self) -> None:
        """The identity <x_bar, x_dot> = <y_bar, y_dot>."""
        v = tuple(map_leaves(lambda leaf, _: noise(self.rng, leaf), self.args[i]) if i in self.argnums else None for i in range(len(self.args)))
        if floats(self.args) == self.argnums:
            y_dot = directional.jvp(self.f, self.fresh(), v, jit=False)[1]
            left = sum(inner(self.found[i], v[i]) for i in self.argnums)
            right = inner(self.y_bar, y_dot)
            scale = max(1.0, abs(right), sum(_size(self.found[i]) for i in self.argnums))
            if not abs(left - right) <= (1e-3 if self.single else 1e-9) * scale:
                self.fail("the pushforward", f"<y_bar, y_dot> is {right:.12g}, <x_bar, x_dot> {left:.12g}")
            self.passed.append("forward")

    def second_order(self, jit: bool) -> None:
        """The gradient of the pullback in a direction, against differences of the pullback."""
        what = f"second order {'under Numba' if jit else 'in plain Python'}"
        pullback = Pullback(self.f, self.names)
        chosen = self.argnums

        def second(args: Any, cotangents: Any, directions: Any) -> Any:
            return api.grad(lambda point: product(pullback(point, {}, cotangents), directions))(args)

        v = tuple(map_leaves(lambda leaf, _: noise(self.rng, leaf), self.args[i]) for i in chosen)
        seeds = [_cast(g, y) for g, y in zip(leaves(self.y_bar), leaves(self.value), strict=True) if g is not None]
        found = Transformed(Derivative(second, "primal"), Options(jit))(self.fresh(), seeds, [u for u in leaves(list(v)) if u is not None])
        run = Transformed(Derivative(self.f, "vjp", tuple(self.names), False), Options(jit=False))

        def along(args: tuple[Any, ...]) -> float:
            return inner(run.with_seeds(args, self.y_bar, self.f(*moved(args, map_leaves(lambda *_: None, args), 0.0))), v)

        for name, i in zip(self.names, chosen, strict=True):
            u = self.direction(i)
            got = inner(found[i], u[i])
            best = min(self.differences(along, u), key=lambda d, got=got: abs(d - got) if np.isfinite(d) else np.inf)
            if not abs(best - got) <= self.second * max(1.0, abs(best), _size(found[i])):
                self.fail(what, f"the derivative in `{name}` is {got:.9g}, should be {best:.9g}")
        self.passed.append(what)


def _size(tree: Any) -> float:
    return sum(float(np.sum(np.abs(leaf))) for leaf in leaves(tree) if leaf is not None)


def _cast(cotangent: Any, value: Any) -> Any:
    """A cotangent with the dtype of its value."""
    array = np.asarray(cotangent, dtype=np.result_type(value))
    return array if array.ndim else array[()].item() if isinstance(value, (float, complex)) and not isinstance(value, np.generic) else array[()]


__all__ = ["ProgramError", "check_program"]
