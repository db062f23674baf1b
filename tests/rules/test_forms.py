"""Every operation in the forms in which people call it: lists for arrays, lists that grow, arguments by name, views with strides."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import stgrad
import stgrad.rules as rules
from stgrad.errors import StgradError
from stgrad.rules.core import _NAMES
from stgrad.testing.rules import HERMITIAN

rules.load_scipy()
OPERATIONS = {name: op for op, name in reversed(list(_NAMES.items())) if name.startswith(("np.", "scipy.")) and name in rules.TABLE}
# The gradient with respect to a matrix of which NumPy reads one triangle; and np.split, which takes a list for an array of one axis.
LEFT_OUT = HERMITIAN | {"scipy.linalg.eigvalsh", "np.split", "np.array_split", "np.linalg.eigvals", "np.roots"}
SAMPLED = sorted(
    n for n in OPERATIONS if rules.TABLE[n].samples and n not in LEFT_OUT and rules.TABLE[n].kind != "nondiff" and not n.startswith("scipy.stats")
)
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def weighed(y: Any) -> Any:
    """One number for a result."""
    if isinstance(y, (tuple, list)):
        return sum(weighed(v) for v in y)
    y = np.asarray(y)
    if y.dtype.kind == "c":
        return np.sum(np.real(y) * 0.7) + np.sum(np.imag(y) * 0.4)
    return np.sum(y * np.reshape(np.cos(np.arange(y.size) + 1.0), y.shape)) if y.dtype.kind == "f" else 0.0


def forms(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], k: int) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """The same call in other words, as functions of its k-th argument."""

    def put(v: Any) -> tuple[Any, ...]:
        return (*args[:k], v, *args[k + 1 :])

    def grown(x: Any) -> Any:
        rows = []
        for row in x:
            rows.append(row)
        return op(*put(rows), **kwargs)

    yield "list", lambda x: op(*put(x.tolist()), **kwargs)
    yield "grown", grown
    yield "strided", lambda x: op(*put(np.repeat(x, 2, axis=0)[::2]), **kwargs)
    try:
        names = [p.name for p in inspect.signature(op).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD][: len(args)]
    except (TypeError, ValueError):
        return
    if len(names) == len(args):
        yield "by name", lambda x: op(**dict(zip(names, put(x), strict=True)), **kwargs)


def first_array(args: tuple[Any, ...]) -> int | None:
    return next((i for i, a in enumerate(args) if isinstance(a, np.ndarray) and a.dtype == np.float64 and a.ndim and a.size), None)


def difference(f: Callable[[Any], Any], x: Any, u: Any) -> float:
    return float((f(x + 1e-6 * u) - f(x - 1e-6 * u)) / 2e-6)


@pytest.mark.parametrize("name", SAMPLED)
def test_form(name: str) -> None:
    checked, whole = 0, OPERATIONS[name]
    for args, kwargs in (next(iter(generator(np.random.default_rng(3)))) for generator in rules.TABLE[name].samples[:1]):
        k = first_array(args)
        if k is None:
            continue
        x = args[k]
        u = np.reshape(np.sin(1.3 * np.arange(x.size) + 0.4), x.shape)
        try:
            _, expected = stgrad.value_and_grad(lambda x: weighed(whole(*args[:k], x, *args[k + 1 :], **kwargs)), jit=False)(x)  # noqa: B023
        except StgradError:
            continue  # this argument has no derivative
        for form, call in forms(whole, args, kwargs, k):
            f = lambda x: weighed(call(x))  # noqa: B023, E731
            try:
                slope = difference(f, x, u)
            except (TypeError, ValueError, AttributeError, IndexError):
                continue  # not so in NumPy
            if np.isfinite(slope):
                found = stgrad.grad(f, jit=False)(x)
                assert np.sum(found * u) == pytest.approx(np.sum(expected * u), rel=1e-7, abs=1e-9), form
                assert np.sum(found * u) == pytest.approx(slope, rel=1e-4, abs=1e-4), form
                checked += 1
    if not checked:
        pytest.skip("takes no array of floats that may be a list")
