"""Whether a derivative rule is right: one harness for every rule, on plain NumPy.

The rule is called as the eager tape would call it: `pull` gives the cotangents of the positional arguments, `push` the tangent
of the result. Both are held against central differences of the operation itself, against each other by the
dot-product identity <x_bar, x_dot> = <y_bar, y_dot>, and differenced once more for the second order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad.rules.broadcasting import unbroadcast
from stgrad.rules.core import Rule, lookup, op_name

# Operations that read one triangle of a matrix: at a Hermitian one, differences go along Hermitian directions.
HERMITIAN = frozenset(
    ("np.linalg.cholesky", "np.linalg.eigh", "np.linalg.eigvalsh", "scipy.linalg.cholesky", "scipy.linalg.cho_factor", "scipy.linalg.eigh")
)
STEPS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)


class RuleError(AssertionError):
    """A derivative rule is wrong; the text says for which call, in which argument and by how much."""


# ------------------------------------------------------------------ trees of arrays: tuples and lists are nodes, None is empty


def leaves(tree: Any) -> list[Any]:
    if isinstance(tree, (tuple, list)):
        return [leaf for item in tree for leaf in leaves(item)]
    return [tree]


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """Map over the leaves of the first tree; what stands at the same place in the others is handed over."""
    if isinstance(tree, (tuple, list)):
        return tuple(tree_map(f, item, *(None if r is None else r[i] for r in rest)) for i, item in enumerate(tree))
    return f(tree, *rest)


def is_float(x: Any) -> bool:
    return not isinstance(x, (str, type(None), bool, np.dtype, type)) and np.issubdtype(np.asarray(x).dtype, np.inexact)


def has_float(tree: Any) -> bool:
    return any(is_float(leaf) for leaf in leaves(tree))


def _mirrored(x: Any) -> Any:
    return 0.5 * (x + np.conj(np.swapaxes(x, -1, -2)))


def dot(a: Any, b: Any) -> float:
    """The real inner product of two trees, over the leaves that are floats."""
    total = 0.0
    for u, v in zip(leaves(a), leaves(b), strict=True):
        if is_float(u) and is_float(v):
            total += float(np.real(np.sum(np.conj(u) * v)))
    return total


def noise(rng: np.random.Generator, like: Any) -> Any:
    """A random direction for each float leaf, zero elsewhere."""

    def one(x: Any) -> Any:
        if not is_float(x):
            return x
        x = np.asarray(x)
        v = rng.normal(size=x.shape)
        if np.iscomplexobj(x):
            v = v + 1j * rng.normal(size=x.shape)
        return v.astype(x.dtype)

    return tree_map(one, like)


def moved(tree: Any, direction: Any, step: float) -> Any:
    return tree_map(lambda x, v: _like(x, x + step * v) if is_float(x) else x, tree, direction)


def _like(x: Any, value: Any) -> Any:
    return value if isinstance(x, np.ndarray) else type(x)(value)


# ------------------------------------------------------------------ calling a rule


def cast(bar: Any, x: Any) -> Any:
    """The cotangent in the dtype of its argument."""
    x = np.asarray(x)
    return np.asarray(np.real(bar) if not np.iscomplexobj(x) else bar).astype(x.dtype)


def pull(rule: Rule, y: Any, y_bar: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Cotangents of the positional arguments, None where the rule gives none."""
    if rule.kind == "partials":
        assert rule.partials is not None
        derivatives = rule.partials(y, *args, **kwargs)
        derivatives = derivatives if isinstance(derivatives, tuple) else (derivatives,)
        bars = tuple(
            None if d is None or not is_float(x) else cast(unbroadcast(y_bar * np.conj(d) * np.ones(np.shape(y), bool), x), x)
            for d, x in zip(derivatives, args, strict=False)
        )
    else:
        if rule.adjoint is None:
            raise RuleError(f"{rule.name}: there is no reverse rule")
        bars = rule.adjoint(y, y_bar, *args, **kwargs)
        if rule.kind == "linear" or not isinstance(bars, tuple):
            bars = (bars,)
    bars = tuple(np.zeros_like(x) if isinstance(b, float) and b == 0.0 else b for b, x in zip(bars, args, strict=False))
    return bars + (None,) * (len(args) - len(bars))


def push(rule: Rule, y: Any, args: tuple[Any, ...], dots: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The tangent of the result."""
    if rule.kind == "partials":
        assert rule.partials is not None
        derivatives = rule.partials(y, *args, **kwargs)
        derivatives = derivatives if isinstance(derivatives, tuple) else (derivatives,)
        terms = [d * v for d, v, x in zip(derivatives, dots, args, strict=False) if d is not None and is_float(x)]
        return np.broadcast_to(sum(terms), np.shape(y))
    if rule.tangent is not None:
        last = max((i for i, x in enumerate(args) if has_float(x)), default=-1) + 1
        wanted = [v for x, v in zip(args, dots, strict=True) if has_float(x)]
        return _call_tangent(rule, y, args, wanted, last, kwargs)
    if rule.kind == "linear":
        return rule.op(dots[0], *args[1:], **kwargs)
    raise RuleError(f"{rule.name}: an adjoint rule needs a tangent rule at its side")


def _call_tangent(rule: Rule, y: Any, args: tuple[Any, ...], wanted: list[Any], last: int, kwargs: dict[str, Any]) -> Any:
    """Bind tangents by name (`x_dot`) where the rule names them, else after the arguments."""
    code = rule.tangent.__code__  # type: ignore[union-attr]
    names = code.co_varnames[1 : code.co_argcount]
    plain = [n for n in names if not n.endswith("_dot")]
    if code.co_flags & 4:  # *args: the operands, then their tangents
        return rule.tangent(y, *args, *wanted, **kwargs)  # type: ignore[misc]
    bound = dict(zip(plain, args, strict=False))
    dots = dict(zip(plain, _aligned(args, wanted), strict=False))
    for name in names:
        if name.endswith("_dot"):
            bound[name] = dots.get(name[:-4], 0.0)
    return rule.tangent(y, **bound, **kwargs)  # type: ignore[misc]


def _aligned(args: tuple[Any, ...], wanted: list[Any]) -> list[Any]:
    queue = list(wanted)
    return [queue.pop(0) if has_float(x) else None for x in args]


# ------------------------------------------------------------------ the checks


class _Check:
    """One call of one operation, and what is asked of its rule."""

    def __init__(self, rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any], seed: int, tolerance: float, name: str) -> None:
        self.rule, self.args, self.kwargs, self.tolerance = rule, args, kwargs, tolerance
        self.rng = np.random.default_rng(seed)
        self.name = name
        self.where: Callable[[Any], Any] = lambda x: x

    def run(self) -> None:
        before = tree_map(np.copy, self.args)
        self.y = self.f(self.args)
        for leaf in leaves(self.y):
            self.ask(not is_float(leaf) or bool(np.all(np.isfinite(leaf))), "the value is not finite")
        self.y_bar = tree_map(lambda v: v if is_float(v) else np.zeros(np.shape(v)), noise(self.rng, self.y))
        self.bars = pull(self.rule, self.y, self.y_bar, self.args, self.kwargs)
        self.shapes(self.bars, self.args)
        if self.ask_any():
            self.reverse()
            self.forward()
            self.second_order()
        self.float32()
        for i, (now, then) in enumerate(zip(self.args, before, strict=True)):
            same = all(np.array_equal(a, b) for a, b in zip(leaves(now), leaves(then), strict=True) if is_float(a))
            self.ask(same, f"argument {i} was changed by the operation or its rule")

    def ask(self, condition: bool, message: str) -> None:
        if not condition:
            raise RuleError(f"{self.name}: {message}")

    def ask_any(self) -> bool:
        self.active = [i for i, x in enumerate(self.args) if has_float(x) and self.bars[i] is not None]
        return bool(self.active)

    def f(self, args: tuple[Any, ...]) -> Any:
        return self.rule.op(*self.proper(args), **self.kwargs)

    def proper(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        if self.rule.name not in HERMITIAN:
            return args
        return tuple(_mirrored(x) if is_float(given) and np.allclose(given, _mirrored(given)) else x for x, given in zip(args, self.args, strict=True))

    def vjp(self, args: tuple[Any, ...], y_bar: Any) -> tuple[Any, ...]:
        return pull(self.rule, self.f(args), y_bar, self.proper(args), self.kwargs)

    def direction(self, only: int | None = None) -> tuple[Any, ...]:
        full = noise(self.rng, self.args)
        keep = self.active if only is None else [only]
        return tuple(v if i in keep else tree_map(np.zeros_like, v) if has_float(v) else v for i, v in enumerate(full))

    def shapes(self, bars: tuple[Any, ...], args: tuple[Any, ...]) -> None:
        for i, (bar, x) in enumerate(zip(bars, args, strict=False)):
            if bar is None or not has_float(x):
                continue
            pairs = [(bar, x)] if not isinstance(x, (tuple, list)) else list(zip(bar, x, strict=True))
            for b, v in pairs:
                if b is None or not is_float(v):
                    continue
                self.ask(np.shape(b) == np.shape(v), f"argument {i} has shape {np.shape(v)}, its cotangent {np.shape(b)}")
                kind = np.result_type(np.asarray(b).dtype, np.asarray(v).dtype)
                loose = np.iscomplexobj(b) or np.iscomplexobj(v) or np.ndim(v) == 0
                same = kind == np.asarray(v).dtype
                self.ask(same or loose, f"argument {i} is {np.asarray(v).dtype}, its cotangent {np.asarray(b).dtype}")

    def difference(self, g: Callable[[tuple[Any, ...]], float], v: tuple[Any, ...]) -> list[float]:
        out = []
        for h in STEPS:
            plus, minus = g(tuple(moved(self.args, v, h))), g(tuple(moved(self.args, v, -h)))
            out.append((plus - minus) / (2 * h))
        return out

    def close(self, got: float, candidates: list[float], what: str, slack: float = 1.0) -> None:
        self.ask(math.isfinite(got), f"{what}: the rule gives {got}")
        best = min(candidates, key=lambda c: abs(c - got))
        scale = max(1.0, abs(best), self.scale)
        error = abs(best - got) / scale
        self.ask(error <= slack * self.tolerance, f"{what}: the rule gives {got:.12g}, differences {best:.12g} (off by {error:.1e})")

    @property
    def scale(self) -> float:
        return 1.0

    def reverse(self) -> None:
        for i in self.active:
            for _ in range(2):
                v = self.direction(i)
                wanted = self.difference(lambda a: dot(self.y_bar, self.f(a)), v)
                self.close(dot((self.bars[i],), (v[i],)), wanted, f"reverse rule, argument {i}")

    def forward(self) -> None:
        v = self.direction()
        y_dot = push(self.rule, self.y, self.args, v, self.kwargs)
        for value, change in zip(leaves(self.y), leaves(y_dot), strict=True):
            if is_float(value):
                self.ask(np.shape(value) == np.shape(change), f"the result has shape {np.shape(value)}, its tangent {np.shape(change)}")
        self.close(dot(self.y_bar, y_dot), self.difference(lambda a: dot(self.y_bar, self.f(a)), v), "forward rule")
        left = sum(dot((self.bars[i],), (v[i],)) for i in self.active)
        right = dot(self.y_bar, y_dot)
        self.close(left, [right], "dot-product identity <x_bar, x_dot> = <y_bar, y_dot>", slack=1e-3)

    def second_order(self) -> None:
        """The reverse rule is linear in y_bar, and its differences in x give a symmetric second derivative."""
        other = noise(self.rng, self.y)
        other = tree_map(lambda w: w if is_float(w) else np.zeros(np.shape(w)), other)
        v, u = self.direction(), self.direction()
        mixed = tree_map(lambda a, b: 0.5 * a - 2.0 * b, self.y_bar, other)
        both = 0.5 * self.paired(self.bars, v) - 2.0 * self.paired(pull(self.rule, self.y, other, self.args, self.kwargs), v)
        single = self.paired(pull(self.rule, self.y, mixed, self.args, self.kwargs), v)
        self.close(single, [both], "the reverse rule is not linear in y_bar", slack=1e-3)
        if self.rule.kind == "linear":
            return
        one = self.difference(lambda a: self.paired(self.vjp(a, self.y_bar), v), u)
        two = self.difference(lambda a: self.paired(self.vjp(a, self.y_bar), u), v)
        best = min(range(len(one)), key=lambda k: abs(one[k] - two[k]))
        self.close(one[best], [two[best]], "second order: differences of the reverse rule are not symmetric", slack=10.0)

    def paired(self, bars: tuple[Any, ...], v: tuple[Any, ...]) -> float:
        return sum(dot((bars[i],), (v[i],)) for i in self.active)

    def float32(self) -> None:
        """float32 arguments get float32 cotangents, about equal to those in float64."""
        narrow = {np.dtype("float64"): "float32", np.dtype("complex128"): "complex64"}

        def shrink(x: Any) -> Any:
            return x.astype(narrow.get(x.dtype, x.dtype)) if isinstance(x, np.ndarray) else x

        if any(is_float(x) and not isinstance(x, np.ndarray) for x in leaves(self.args)):
            return
        args = tree_map(shrink, self.args)
        try:
            y = self.f(args)
        except TypeError:  # math.* takes Python floats alone
            return
        if any(is_float(v) and np.asarray(v).dtype not in ("float32", "complex64") for v in leaves(y)):
            return
        y_bar = tree_map(lambda b, v: np.asarray(b).astype(np.asarray(v).dtype) if is_float(v) else b, self.y_bar, y)
        self.shapes(pull(self.rule, y, y_bar, args, self.kwargs), args)


def check_rule(op: Callable[..., Any], *args: Any, seed: int = 0, tolerance: float = 2e-7, **kwargs: Any) -> None:
    """Raise `RuleError` unless the derivative rule of `op` is right at these arguments.

    Args:
        op: the operation, for instance np.tanh; float arguments and float arrays among `args` are differentiated.
        args: of the call to check.
        kwargs: its arguments by name.
        seed: of the random directions.
        tolerance: largest relative error against central differences.

    >>> check_rule(np.tanh, np.array([0.1, -2.0]))
    """
    rule = lookup(op)
    name = f"{op_name(op)}({', '.join([*map(_show, args), *(f'{k}={v!r}' for k, v in kwargs.items())])})"
    if rule is None:
        raise RuleError(f"{name}: there is no rule")
    if rule.kind == "nondiff":
        return
    if rule.kind == "composite":
        _check_composite(rule, args, kwargs, name)
        return
    with np.errstate(all="ignore"):  # partials that nobody asked for are computed too
        _Check(rule, args, kwargs, seed, tolerance, name).run()


def _check_composite(rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> None:
    """A composition gives the value, shape and dtype of the operation; its derivative is that of its parts."""
    assert rule.composite is not None
    for got, want in zip(leaves(rule.composite(*args, **kwargs)), leaves(rule.op(*args, **kwargs)), strict=True):
        if got is None and want is None:
            continue
        if np.shape(got) != np.shape(want) or not np.allclose(got, want, rtol=1e-12, atol=1e-13, equal_nan=True):
            raise RuleError(f"{name}: the composition gives {got}, the operation {want}")
        if np.asarray(got).dtype != np.asarray(want).dtype:
            raise RuleError(f"{name}: the composition gives {np.asarray(got).dtype}, the operation {np.asarray(want).dtype}")


def _show(x: Any) -> str:
    if isinstance(x, (tuple, list)):
        return f"({', '.join(map(_show, x))})"
    return f"{x.dtype}{list(x.shape)}" if isinstance(x, np.ndarray) else repr(x)
