"""Calls with every form of argument: value and dtype as NumPy gives them, the first and second derivative against differences.

Each line is a function of arrays, then the arrays: `R` normal, `P` positive, `Z` complex, `F` in Fortran order, `S` in single precision.
"""

from __future__ import annotations

import linecache
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad.errors import UnsupportedSyntaxError
from stgrad.values import leaves

CALLS = """
np.sign(x) | Z(3)
np.nan_to_num(x, copy=False) | R(3)
np.add(x, y, dtype=np.float64) | S(3), S(3)
np.add.reduceat(x, [0, 2, 4]) | R(6)
np.maximum.reduceat(x, np.array([0, 3, 1]), axis=1) | R(2, 6)
np.multiply.reduceat(x, [0, 2, 4]) | R(6)
np.choose(np.array([0, 5, -1]), x, mode="wrap") | R(3, 3)
np.choose(np.array([0, 5, -1]), x, mode="clip") | R(3, 3)
np.apply_along_axis(np.cumsum, 1, x) | R(2, 3, 2)
np.apply_over_axes(np.sum, x, [0, 2]) | R(2, 3, 2)
np.fromfunction(lambda i, j: i * x + j, (3, 2)) | R(1)
np.vectorize(lambda a, b: a * b if a > b else a)(x, y) | R(4), R(4)
np.real_if_close(x) | R(3)
sum(x) | R(3, 2)
np.sum(x, axis=0, where=[True, False]) | R(3, 2)
np.sum(x, initial=y[0]) | R(3, 2), R(2)
np.average(x, weights=y, returned=True)[1] | R(4), P(4)
np.average(x, axis=(0, 1), weights=y) | R(2, 3, 2), P(2, 3)
np.percentile(x, 33, method="hazen") | R(7)
np.quantile(x, 0.31, axis=1, method="median_unbiased", keepdims=True) | R(2, 7)
np.nanmedian(x, axis=0) | R(5, 2)
np.nanquantile(x, 0.37, axis=0, keepdims=True) | R(5, 2)
np.ediff1d(x, to_begin=0.0, to_end=[1.0, 2.0]) | R(4)
np.einsum(x, [0, 1], y, [1, 2], [0, 2]) | R(2, 3), R(3, 2)
np.einsum(x, [Ellipsis, 0], y, [Ellipsis, 0], [Ellipsis]) | R(2, 3), R(2, 3)
np.einsum("i,i", x, y, dtype=np.float64) | S(3), S(3)
np.concatenate(x) | R(3, 2, 2)
np.concatenate(x, axis=1) | R(3, 2, 2)
np.concatenate(x, axis=None) | R(3, 2)
np.stack(x, axis=1) | R(3, 2)
np.vstack(x) | R(3, 2)
np.hstack(x) | R(3, 2)
np.column_stack(x) | R(3, 2)
np.delete(x, [0, 2], axis=0) | R(4, 2)
np.delete(x, slice(0, 2), axis=0) | R(4, 2)
np.delete(x, np.array([True, False, True, False]), axis=0) | R(4, 2)
np.insert(x, [1, 2], y) | R(4), R(2)
np.insert(x, np.array([2, 2, 0]), y) | R(4), R(3)
np.array(x, ndmin=3) | R(3)
np.asarray(x, dtype=np.float32) | S(3)
np.linspace(x, y, 5, axis=-1) | R(3), R(3)
np.linspace(x[0], y[0], 5, retstep=True)[1] | R(1), R(1)
np.polyint(x) | R(4)
np.polyadd(x, y) | R(4), R(2)
np.polysub(x, y) | R(2), R(4)
np.poly(x) | R(3)
np.polyfit(x, y, 1, w=np.arange(1.0, 6.0)) | R(5), R(5)
np.interp(x, np.arange(4.0), y) | S(3), S(4)
np.interp(x, np.array([0.5, 3.0, 1.2]), y, period=3.7) | R(5), R(3)
np.histogram(np.arange(6), bins=3, weights=x, density=True)[0] | P(6)
np.histogram(x, 3, weights=y)[0] | R(6), P(6)
np.histogram(x, 3, weights=y, density=True)[0] | R(6), P(6)
np.histogram(x, 4, density=True)[0] | R(6)
np.histogram(x, 4)[1] | R(6)
np.histogram(x, np.array([-3.0, -0.5, 0.6, 4.0]), weights=y)[0] | R(6), P(6)
np.histogram(y, np.cumsum(x), density=True)[0] | P(4), P(6)
np.histogram(x, 2, (-5, 5), weights=y)[0] | R(6), P(6)
np.ndarray((2, 3), dtype=x.dtype).shape[1] * x | R(3)
np.mgrid[0:4, 1:3] * x | R(2)
np.mgrid[0:len(x), 1:7:2] * x[:, np.newaxis] | R(3)
np.mgrid[0 : len(x)] * x | R(3)
np.mgrid[0:1:3j, 0 : len(x)] * x | R(3)
np.ogrid[0 : len(x), 0:2][0] * x | R(3)
np.ogrid[0 : len(x)] * x | R(3)
np.cov(x) | S(2, 6)
np.cov(x, aweights=y, fweights=[1, 2, 1, 1, 3, 1]) | R(2, 6), P(6)
np.corrcoef(x) | S(2, 6)
np.lib.stride_tricks.sliding_window_view(x, 3) | R(6)
np.lib.stride_tricks.sliding_window_view(x, (2, 2)) * 2.0 | R(3, 4)
x[()] | np.array(1.5)
math.prod(x) | R(4)
math.fsum(x) | R(4)
np.linalg.norm(x, 2) | Z(3, 2)
np.linalg.svd(x, full_matrices=False)[1] | Z(3, 2)
(lambda u, s, vh: np.abs(u * s) ** 2)(*np.linalg.svd(x, full_matrices=False)) | Z(3, 3)
(lambda u, s, vh: u @ vh)(*np.linalg.svd(x, full_matrices=False)) | Z(3, 3)
np.linalg.lstsq(x, y)[0] | R(5, 3), R(5, 2)
scipy.special.logsumexp(x) | Z(4)
scipy.special.comb(x + 4.0, 2) | P(3)
scipy.stats.norm.pdf(x) | S(3)
scipy.stats.t.cdf(x, 3.0) | S(3)
np.ravel(x, order="F") | F(2, 3)
x.reshape(-1) | F(2, 3)
np.abs(x) | Z(3)
x.real * x.imag | Z(3)
x ** 2.5 | Z(3)
"""


IMPORTS = "import math\nimport numpy as np\nimport scipy.special\nimport scipy.stats"


class Case:
    """A line of the table: `function`, `args`, and its `scalar` value, weighed by position."""

    def __init__(self, line: str) -> None:
        call, given = (part.strip() for part in line.split(" | "))
        rng = np.random.default_rng(zlib.crc32(line.encode()))
        scope = {
            "np": np,
            "R": lambda *s: rng.normal(size=s),
            "P": lambda *s: rng.uniform(0.5, 2.0, size=s),
            "Z": lambda *s: rng.normal(size=s) + 1j * rng.normal(size=s),
            "F": lambda *s: np.asfortranarray(rng.normal(size=s)),
            "S": lambda *s: rng.normal(size=s).astype(np.float32),
        }
        self.args: tuple[Any, ...] = eval(f"({given},)", scope)
        names = ", ".join("xyz"[: len(self.args)])
        self.function = written(f"{IMPORTS}\ndef function({names}):\n    return {call}\n", "function")
        value = self.function(*self.arguments())
        weigh = "np.sum(np.real(r) * w) + np.sum(np.imag(r) * v)" if np.iscomplexobj(value) else "np.sum(r * w)"
        self.scalar = written(
            f"import numpy as np\ndef scalar({names}):\n    r = function({names})\n    return {weigh}\n",
            "scalar",
            function=self.function,
            w=rng.uniform(0.5, 1.5, np.shape(value)),
            v=rng.uniform(0.5, 1.5, np.shape(value)),
        )

    def arguments(self) -> tuple[Any, ...]:
        return tuple(a.copy() for a in self.args)


def written(text: str, name: str, **scope: Any) -> Callable[..., Any]:
    """A function of a text that `inspect` finds."""
    file = f"<{name} {zlib.crc32(text.encode()):08x}>.py"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), scope)
    return scope[name]  # type: ignore[no-any-return]


@pytest.mark.parametrize("line", CALLS.strip().splitlines(), ids=lambda line: line.split(" | ")[0])
def test_call(line: str) -> None:
    case = Case(line)
    wanted, (found, _) = case.function(*case.arguments()), stgrad.vjp(case.function, *case.arguments(), jit=False)
    for a, b in zip(leaves(wanted), leaves(found), strict=True):
        assert np.shape(a) == np.shape(b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(b, a, rtol=1e-5 if np.asarray(a).dtype == np.float32 else 1e-10)
    check_gradient(case.scalar, case.args)


@pytest.mark.parametrize("order", ["A", "K"])
@pytest.mark.parametrize("call", ["np.ravel(x, order={})", "x.reshape((-1,), order={})", "x.ravel({})"])
def test_orders_that_follow_the_strides_are_refused(call: str, order: str) -> None:
    f = written(f"import numpy as np\ndef f(x):\n    return np.sum({call.format(repr(order))})\n", "f")
    if call.startswith("x.reshape") and order == "K":
        return  # NumPy has no such order
    with pytest.raises(UnsupportedSyntaxError, match="depends on how the array lies in memory"):
        stgrad.grad(f, jit=False)(np.ones((2, 3)))


def test_refusals_of_rules_stand_where_the_call_does() -> None:
    with pytest.raises(UnsupportedSyntaxError, match="the mode mean") as caught:
        stgrad.grad(lambda x: np.sum(np.pad(x, 2, mode="mean")), jit=False)(np.ones(3))
    assert caught.value.loc is not None
    assert caught.value.loc.file == __file__


@pytest.mark.parametrize("same", ["np.asarray(z)", "np.asanyarray(z)", "z.astype(np.float64, copy=False)", "np.real(z)", "np.nan_to_num(z, copy=False)"])
def test_writes_reach_what_is_no_copy(same: str) -> None:
    f = written(f"import numpy as np\ndef f(x):\n    z = x * 1.0\n    y = {same}\n    y[0] = 3.0 * x[1]\n    return np.sum(z * x)\n", "f")
    check_gradient(f, (np.array([1.0, 2.0, 5.0]),))


def test_what_may_be_a_copy_is_not_written_to() -> None:
    f = written("import numpy as np\ndef f(x):\n    z = x * 1.0\n    y = np.ascontiguousarray(z)\n    y[0] = 3.0\n    return np.sum(z * x)\n", "f")
    with pytest.raises(stgrad.errors.AliasingError, match="view or a copy"):
        stgrad.grad(f, jit=False)(np.ones(3))
