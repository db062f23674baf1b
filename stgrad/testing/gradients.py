"""Whether a gradient is right: the generated program against the function itself, in random directions.

The reference is a directional complex step where the function takes complex numbers and agrees with central differences, and
central differences at several step sizes elsewhere. The second order is the gradient program, differenced, against the gradient of
the gradient program. After Squire and Trapp, Using complex variables to estimate derivatives of real functions (1998).
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stgrad import errors, values
from stgrad import source as sources
from stgrad.api import grad, parameter_names
from stgrad.directional import jvp
from stgrad.errors import KinkWarning
from stgrad.program import signature_of
from stgrad.recursion import text_of
from stgrad.testing.directions import inner, is_float, leaves, map_leaves, moved, noise
from stgrad.values import Sym, rebuild

STEPS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
TINY = 1e-30  # the complex step: no subtraction, so no cancellation
Function = Callable[..., Any]


class GradientError(AssertionError):
    """A gradient is wrong; the text says what is off, in which argument and element, and by how much."""


@dataclass(frozen=True)
class Tolerances:
    """Largest errors, relative to the larger of 1, the derivative and the norm of the gradient."""

    complex_step: float = 1e-9
    differences: float = 2e-6
    single: float = 2e-3  # where an argument is float32
    second: float = 2e-5


# --------------------------------------------------------------------------- the check


def check_gradient(
    f: Function,
    args: Sequence[Any],
    order: int = 1,
    modes: Sequence[str] = ("reverse", "forward"),
    argnums: int | str | Sequence[int | str] | None = None,
    *,
    jit: bool | None = None,
    stages: bool = False,
    seed: int = 0,
    tolerances: Tolerances | None = None,
) -> None:
    """Raise `GradientError` unless stgrad differentiates `f` correctly at `args`, compiled and in plain Python.

    Args:
        f: a function of numbers, arrays and structures of them that returns one real number; one under `numba.njit` is held against its Python code.
        args: its arguments, away from kinks; where a gradient is wrong beside a kink or a jump, the message says so, and a `KinkWarning` where it is right.
        order: 1, or 2 for the gradient of the gradient program too.
        modes: which derivatives to check: 'reverse', and 'forward', which is held against it by the dot product.
        argnums: the arguments to differentiate in, by position or name, or several of them; all that hold floats by default.
        jit: True checks the program that Numba compiles alone, False the same text in plain Python alone.
        stages: also run the text of every stage that is a complete program, and see that the function has one text whatever was compiled before.
        seed: of the random directions. tolerances: see `Tolerances`.

    >>> def f(x, n):
    ...     y = 1.0
    ...     for i in range(n):
    ...         y = y * x
    ...     return y
    >>> check_gradient(f, (2.0, 3))
    """
    _asked_for(args, modes)
    both = ("reverse", "forward") if "forward" in modes else ("reverse",)
    check_orders(f, args, modes, both if order >= 2 else (), argnums, jit=jit, stages=stages, seed=seed, tolerances=tolerances)


def check_orders(
    f: Function,
    args: Sequence[Any],
    first: Sequence[str],
    second: Sequence[str],
    argnums: int | str | Sequence[int | str] | None = None,
    *,
    jit: bool | None = None,
    stages: bool = False,
    seed: int = 0,
    tolerances: Tolerances | None = None,
) -> None:
    """As `check_gradient`, with the modes of each order: those of the second say what goes over the reverse mode."""
    _asked_for(args, first)
    for compiled in (False, True) if jit is None else (jit,):
        check = _Check(f, tuple(args), argnums, compiled, np.random.default_rng(seed), tolerances or Tolerances())
        check.first_order()
        if "forward" in first:
            check.forward()
        if stages:
            check.same_text()
            check.stages()
        if second:
            check.second_order(second)


def _asked_for(args: Any, modes: Sequence[str]) -> None:
    """Raise for arguments of `check_gradient` that mean nothing."""
    if unknown := set(modes) - {"reverse", "forward"}:
        raise ValueError(f"modes: {', '.join(sorted(unknown))} unknown; there are 'reverse' and 'forward'")
    if not isinstance(args, (tuple, list)):
        raise TypeError(f"check_gradient: `args` is a tuple with an entry for each argument, not of type {type(args).__name__}")


def _same_again(a: Any, b: Any) -> bool:
    """Whether two runs agree: where the arrays lie decides whether a compiled sum goes by lanes, and with it the last digits."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind not in "fc":
        return bool(np.array_equal(a, b))
    scale = float(np.max(np.abs(a), initial=0.0, where=np.isfinite(a)))
    return bool(np.allclose(a, b, rtol=0.0, atol=64 * np.finfo(a.dtype).eps * scale, equal_nan=True))


class _Check:
    """One function at one point. Directions are tuples with an entry for each argument."""

    def __init__(
        self, f: Function, args: tuple[Any, ...], argnums: int | str | Sequence[int | str] | None, jit: bool, rng: Any, tolerances: Tolerances
    ) -> None:
        self.args, self.jit, self.rng, self.tolerances = args, jit, rng, tolerances
        self.f = f.py_func if sources.is_dispatcher(f) else f  # compiled code takes no complex step, and is what is under test
        floats = tuple(i for i, a in enumerate(args) if any(map(is_float, leaves(a))))
        names = list(signature_of(f).parameters)
        if argnums is not None:
            parameter_names(f, argnums)  # there are such
        chosen = (argnums,) if isinstance(argnums, (int, str)) else floats if argnums is None else argnums
        self.argnums = tuple(names.index(a) if isinstance(a, str) else a for a in chosen)
        self.names = [names[min(i, len(names) - 1)] for i in range(len(args))]
        self.gradient = grad(f, self.argnums, jit=jit)
        self.single = any(np.asarray(leaf).dtype in (np.float32, np.complex64) for leaf in leaves(list(args)) if is_float(leaf))

    def fail(self, message: str) -> None:
        source = "Numba" if self.jit else "plain Python"
        raise GradientError(f"{getattr(self.f, '__name__', 'f')} ({source}): {message}")

    def fresh(self) -> tuple[Any, ...]:
        return copy.deepcopy(self.args)

    def run(self, f: Function) -> Any:
        """`f(*args)`, with the arguments as they were afterwards."""
        args = self.fresh()
        result = f(*args)
        for name, before, after in zip(self.names, self.args, args, strict=True):
            for a, b in zip(leaves(before), leaves(after), strict=True):
                if isinstance(a, np.ndarray) and not np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"):
                    self.fail(f"the caller's array `{name}` was changed from {a!r} to {b!r}")
        return result

    # ------------------------------------------------------------- first order

    def first_order(self) -> None:
        self.value = self.f(*self.fresh())
        self.found = self.run(self.gradient)
        if not isinstance(self.found, tuple) or len(self.found) != len(self.argnums):
            self.fail(f"the gradient is {self.found!r:.200}, not a tuple of {len(self.argnums)}")
        for i, g in zip(self.argnums, self.found, strict=True):
            self.same_structure(self.names[i], self.args[i], g)
        self.compare(self.found, "gradient")
        self.tell_of_kinks()
        again = self.run(self.gradient)
        if any(not _same_again(a, b) for a, b in zip(leaves(self.found), leaves(again), strict=True) if a is not None):
            self.fail("a second call gives another gradient")

    def same_structure(self, name: str, value: Any, g: Any) -> None:
        wanted, given = list(leaves(value)), list(leaves(g))
        if len(wanted) != len(given):
            self.fail(f"the gradient with respect to `{name}` has {len(given)} leaves, the argument {len(wanted)}")
        for x, bar in zip(wanted, given, strict=True):
            if not is_float(x):
                if bar is not None:
                    self.fail(f"`{name}`: an entry without derivative got the gradient {bar!r}")
                continue
            if np.shape(x) != np.shape(bar):
                self.fail(f"`{name}` has shape {np.shape(x)}, its gradient {np.shape(bar)}")
            if np.asarray(x).dtype != np.asarray(bar).dtype:
                self.fail(f"`{name}` is {np.asarray(x).dtype}, its gradient {np.asarray(bar).dtype}")
            if isinstance(x, np.ndarray) and x.ndim and not isinstance(bar, np.ndarray):
                self.fail(f"`{name}` is an array, its gradient a {type(bar).__name__}")

    def compare(self, gradient: tuple[Any, ...], what: str) -> None:
        """A gradient against the function, one argument at a time."""
        norm = sum(float(np.sum(np.abs(leaf))) for leaf in leaves(list(gradient)) if leaf is not None)
        for k, i in enumerate(self.argnums):
            for _ in range(2):
                v = self.direction(i)
                problem = self.off(inner(gradient[k], v[i]), v, norm)
                if problem:
                    self.fail(f"{what}, argument `{self.names[i]}`: {problem}{self.worst_element(gradient[k], i, norm)}{self.kink(self.f, v)}")

    def direction(self, only: int) -> tuple[Any, ...]:
        return tuple(map_leaves(lambda leaf, _, i=i: noise(self.rng, leaf) if i == only else None, a) for i, a in enumerate(self.args))

    def off(self, got: float, v: tuple[Any, ...], norm: float) -> str:
        """What is wrong with a directional derivative; empty where it is right."""
        differences = self.differences(self.f, v)
        best = min(differences, key=lambda d: abs(d - got) if math.isfinite(d) else math.inf)
        exact = self.complex_step(v)
        bound = self.tolerances.single if self.single else self.tolerances.differences
        scale = max(1.0, abs(best), norm)
        if exact is not None and not self.single and min(abs(d - exact) for d in differences) <= 1e-5 * scale:
            best, bound = exact, self.tolerances.complex_step
        if abs(best - got) <= bound * scale:
            return ""
        return f"the derivative in a random direction is {got:.12g}, should be {best:.12g} (off by {abs(best - got) / scale:.1e})"

    def differences(self, f: Function, v: tuple[Any, ...]) -> list[float]:
        out = []
        for h in STEPS:
            plus, minus = f(*moved(self.args, v, h)), f(*moved(self.args, v, -h))
            out.append(float(np.real(plus - minus)) / (2 * h))
        return out

    def kink(self, f: Function, v: tuple[Any, ...]) -> str:
        """A hint where the function has a kink or a jump at the arguments."""
        return "; there is a kink or a jump at these arguments: check at others, away from it" if self.bent(f, v, f(*self.fresh())) else ""

    def bent(self, f: Function, v: tuple[Any, ...], value: Any) -> bool:
        """Whether differences do not settle as their steps shrink, around arguments where the function has this value."""
        middle, bends, jumps = float(np.real(value)), [], []
        for h in (1e-4, 1e-5):
            plus, minus = (float(np.real(f(*moved(self.args, v, s)))) for s in (h, -h))
            bends.append(abs(plus - 2 * middle + minus) / h)
            jumps.append(abs(plus - minus))
        return not self.single and any(fine > max(0.5 * coarse, 1e-6 * max(1.0, abs(middle))) for coarse, fine in (bends, jumps))

    def tell_of_kinks(self) -> None:
        """Warn of kinks that the gradient passed by: differences to both sides tell their mean, which is one of several derivatives."""
        for i in self.argnums:
            if self.bent(self.f, self.direction(i), self.value):
                said = f"{getattr(self.f, '__name__', 'f')}: a kink or a jump is at these arguments, seen as argument `{self.names[i]}` moves"
                message = f"{said}; differences tell the mean of its two sides, and that is what the gradient was compared with: check at others, away from it"
                warnings.warn(message, KinkWarning, stacklevel=errors.users_level())

    def complex_step(self, v: tuple[Any, ...]) -> float | None:
        """None where the function does not take complex numbers, whatever it raises then: Numba's functions have errors of their own for it."""
        if any(np.iscomplexobj(leaf) for leaf in leaves(list(self.args))):
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", np.exceptions.ComplexWarning)
                result = self.f(*moved(self.args, v, TINY * 1j))
        except Exception:  # noqa: BLE001
            return None
        exact = float(np.imag(result)) / TINY
        return exact if math.isfinite(exact) else None

    def worst_element(self, g: Any, i: int, norm: float) -> str:
        """The element that is off most, found one by one; empty where every element alone is right."""
        worst: tuple[float, str] = (0.0, "")
        for number, leaf in enumerate(leaves(self.args[i])):
            if not is_float(leaf) or np.size(leaf) > 400:
                continue
            for index in np.ndindex(np.shape(leaf)):
                unit = np.zeros(np.shape(leaf))
                unit[index] = 1.0
                v = tuple(self._one_leaf(a, number, unit) if j == i else map_leaves(lambda *_: None, a) for j, a in enumerate(self.args))
                got = float(np.real(np.asarray(list(leaves(g))[number])[index]))
                want = min(self.differences(self.f, v), key=lambda d, got=got: abs(d - got))
                if not abs(want - got) <= worst[0]:
                    place = "".join(f"[{k}]" for k in index) or "itself"
                    entry = f" of entry {number}" if len(list(leaves(self.args[i]))) > 1 else ""
                    worst = (abs(want - got), f"; worst element: {place}{entry} is {got:.9g}, should be {want:.9g}")
        return worst[1]

    @staticmethod
    def _one_leaf(value: Any, number: int, unit: Any) -> Any:
        counter = iter(range(10**6))
        return map_leaves(lambda *_: unit if next(counter) == number else None, value)

    # ------------------------------------------------------------- forward mode

    def forward(self) -> None:
        """The tangent in a direction against the gradient: <x_bar, x_dot> = y_dot."""
        v = self.every_direction(self.argnums)
        value, found = self.run(lambda *a: jvp(self.f, a, v, jit=self.jit))
        self.agree(float(np.real(found)), self.found, [v[i] for i in self.argnums], "the tangent")
        tolerance = 1e-4 if self.single else 1e-9
        if not np.allclose(value, self.value, rtol=tolerance, atol=tolerance, equal_nan=True):
            self.fail(f"forward mode gives the value {value!r}, should be {self.value!r}")

    def every_direction(self, argnums: Sequence[int]) -> tuple[Any, ...]:
        """A direction for all arguments; zero for those that are not among these."""

        def leaf(x: Any, i: int) -> Any:
            return noise(self.rng, x) if i in argnums or not is_float(x) else np.zeros(np.shape(x))

        return tuple(map_leaves(lambda x, _, i=i: leaf(x, i), a) for i, a in enumerate(self.args))

    def agree(self, got: float, bars: Sequence[Any], v: Sequence[Any], what: str) -> None:
        """A number in forward mode is the inner product of cotangents and a direction."""
        want = sum(inner(g, d) for g, d in zip(bars, v, strict=True))
        scale = max(1.0, abs(want), *(float(np.sum(np.abs(leaf))) for g in bars for leaf in leaves(g) if leaf is not None))
        if not abs(got - want) <= (2e-3 if self.single else 1e-8) * scale:
            self.fail(f"forward mode: {what} in a random direction is {got:.12g}, reverse mode says {want:.12g}")

    # ------------------------------------------------------------- texts

    def same_text(self) -> None:
        """The same function gives the same text, whatever was compiled before."""
        ran = grad(self.f, self.argnums, jit=False) if self.jit else self.gradient
        one, two = (gradient.running(*self.fresh()) for gradient in (ran, grad(self.f, self.argnums, jit=False)))
        if one != two:
            self.fail("two gradients of the same function have different text")

    def stages(self) -> None:
        """Every stage that is a complete program gives the same gradient."""
        transformed = grad(self.f, self.argnums, jit=False)
        program = transformed._program(self.fresh(), {}, keep=True)
        for name in ("reverse", "optimised", "specialised"):
            text = text_of(program.trace.stages[name], transformed.options)
            found = _run_text(text, name, transformed.__name__, program.reading, self.fresh())
            expected = [leaf for leaf in leaves(list(self.found)) if leaf is not None]
            for a, b in zip(expected, found, strict=True):
                tolerance = 1e-4 if self.single else 1e-9
                if not np.allclose(a, b, rtol=tolerance, atol=tolerance * max(1.0, float(np.max(np.abs(a), initial=0.0))), equal_nan=True):
                    self.fail(f"stage '{name}' gives {b!r}, the compiled program {a!r}")

    # ------------------------------------------------------------- second order

    def second_order(self, modes: Sequence[str]) -> None:
        """Hessian times vector by reverse over reverse and forward over reverse, against differences of the gradient, and against each other."""
        v = tuple(map_leaves(lambda leaf, _: noise(self.rng, leaf), self.args[i]) for i in self.argnums)
        products = self.hessian_product(v) if "reverse" in modes else None
        if products is None:
            norm = sum(float(np.sum(np.abs(leaf))) for leaf in leaves(list(self.found)) if leaf is not None)
            for i in self.argnums:
                u = self.every_direction((i,))
                self.derivative_of_gradient(self.pushed(u, v), u, v, norm, f"argument `{self.names[i]}`, forward mode")
            return
        if "forward" in modes:
            whole = self.every_direction(self.argnums)
            self.agree(self.pushed(whole, v), products, [whole[i] for i in self.argnums], "the product of the Hessian")
        norm = sum(float(np.sum(np.abs(leaf))) for leaf in leaves(list(products)) if leaf is not None)
        for k, i in enumerate(self.argnums):
            self.same_structure(f"{self.names[i]} (second order)", self.args[i], products[k])
            u = self.direction(i)
            self.derivative_of_gradient(inner(products[k], u[i]), u, v, norm, f"argument `{self.names[i]}`")

    def pushed(self, u: tuple[Any, ...], v: tuple[Any, ...]) -> float:
        """The same derivative, by forward over reverse."""
        return inner(self.run(lambda *a: jvp(self.gradient, a, u, jit=self.jit)[1]), v)

    def derivative_of_gradient(self, got: float, u: tuple[Any, ...], v: tuple[Any, ...], norm: float, what: str) -> None:
        """A number is the derivative, in a direction u, of the inner product of the gradient and v; up to rounding of numbers as large as `norm`."""
        wanted = self.differences(lambda *a: inner(self.gradient(*a), v), u)
        best = min(wanted, key=lambda d: abs(d - got) if math.isfinite(d) else math.inf)
        scale = max(1.0, abs(best), norm)
        bound = 50 * self.tolerances.single if self.single else self.tolerances.second
        if not abs(best - got) <= bound * scale:
            off = abs(best - got) / scale
            kink = self.kink(lambda *a: inner(self.gradient(*a), v), u)
            self.fail(f"second order, {what}: the derivative is {got:.12g}, should be {best:.12g} (off by {off:.1e}){kink}")

    def hessian_product(self, v: tuple[Any, ...]) -> tuple[Any, ...]:
        gradient = grad(self.f, self.argnums, jit=self.jit)
        flat = [u for u in leaves(list(v)) if u is not None]

        def projected(args: Any, directions: Any) -> Any:
            total = 0.0
            for g, v in zip(_flat(gradient(*args)), directions, strict=True):
                total = total + np.sum(np.real(np.conj(g) * v))
            return total

        products = self.run(lambda *a: grad(projected, 0, jit=self.jit)(a, flat))
        return tuple(products[i] for i in self.argnums)


def _flat(tree: Any) -> list[Any]:
    """The leaves of a structure that are not None."""
    if tree is None:
        return []
    if hasattr(tree, "__dataclass_fields__"):
        return _flat([getattr(tree, name) for name in tree.__dataclass_fields__])
    if hasattr(tree, "__dict__"):
        return _flat(list(vars(tree).values()))
    if isinstance(tree, dict):
        return _flat(list(tree.values()))
    if isinstance(tree, (tuple, list)):
        found: list[Any] = []
        for item in tree:
            found = found + _flat(item)
        return found
    return [tree]


def _run_text(text: str, stage: str, name: str, reading: Any, args: Sequence[Any]) -> list[Any]:
    """Execute the text of one stage of a gradient; its flat results."""
    namespace: dict[str, Any] = {}
    exec(compile(text, f"<{stage}>", "exec"), namespace)  # noqa: S102
    function = namespace[name]
    flat = [v for v, known in zip(leaves(list(args)), values.leaves(list(reading.arguments.values())), strict=True) if isinstance(known, Sym)]
    hidden = {c.variable: c.value for c in reading.captures if c.variable is not None}
    result = function(*flat, *hidden.values())
    return list(result) if isinstance(result, tuple) else [result]


__all__ = ["GradientError", "Tolerances", "check_gradient", "rebuild"]
