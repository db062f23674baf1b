"""Every rule at complex numbers, where its operation takes them: right, or refused.

The calls are the samples of the rules, with imaginary parts: in all arguments, and in one alone. What has no complex derivative (a function that looks at
the real part, a distribution whose imaginary parts SciPy drops) says so.
"""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import stgrad
import stgrad.rules as rules
from stgrad.rules.core import _NAMES, TABLE, NotCovered
from stgrad.testing.rules import check_rule, is_float, leaves, tree_map

rules.load_scipy()
OPERATIONS = {name: op for op, name in _NAMES.items() if name in TABLE and callable(op) and TABLE[name].kind != "nondiff"}
# Their phases are the library's choice, so that random cotangents have no derivative (NaN): tested below, with cotangents that do not see them.
TURNED = {"np.linalg.eigh", "np.linalg.svd", "scipy.linalg.eigh", "scipy.linalg.svd"}
# Of real numbers alone; `cholesky_bar` has real matrices only, and what is no number becomes no complex one (steps, ranges, periods).
REAL = {"cholesky_bar", "np.gradient", "np.interp", "np.quantile", "np.percentile", "np.nanquantile", "np.nanpercentile", "np.nanmedian", "scipy.special.zeta"}
pytestmark = pytest.mark.filterwarnings("ignore")


def complex_of(rng: np.random.Generator, x: Any) -> Any:
    wide = isinstance(x, (float, np.ndarray)) and is_float(x) and np.asarray(x).dtype == np.float64
    if not wide:
        return x
    return x + 0.3j * rng.normal(size=np.shape(x)) if np.ndim(x) else complex(x, 0.3)


def calls(name: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    rng, found = np.random.default_rng(3), []
    for args, kwargs in (call for gen in TABLE[name].samples for call in gen(np.random.default_rng(0))):
        for only in (None, 0, 1):
            turned = tuple(tree_map(lambda x: complex_of(rng, x), a) if only in (None, i) else a for i, a in enumerate(args))
            if any(np.iscomplexobj(x) for a in turned for x in leaves(a)):
                found.append((turned, kwargs))
    return found


@pytest.mark.parametrize("name", sorted(OPERATIONS.keys() - TURNED - REAL))
def test_rules(name):
    with np.errstate(all="ignore"):
        for args, kwargs in calls(name):
            try:
                OPERATIONS[name](*args, **kwargs)
            except Exception:  # noqa: BLE001, S112  (it takes no complex numbers, and says so as it likes)
                continue
            try:
                check_rule(OPERATIONS[name], *args, **kwargs)
            except NotCovered:
                continue


def hermitian(rng: np.random.Generator, n: int) -> Any:
    a = rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n))
    return a + a.conj().T


PHASES = {
    "w, v = np.linalg.eigh(a)": "np.abs(v) ** 2 * w",
    "w, v = np.linalg.eigh(a, 'U')": "((v * np.exp(w)) @ v.conj().T).real",
    "w, v = scipy.linalg.eigh(a)": "((v * np.exp(w)) @ v.conj().T).imag * np.arange(3.0)",
    "u, s, vh = np.linalg.svd(a * np.arange(1.0, 4.0))": "((u * np.sin(s)) @ vh).real",
    "u, s, vh = np.linalg.svd(a[:, :2] * np.arange(1.0, 3.0), full_matrices=False)": "(u[0, 0] * vh[0, 0]).imag * s",
}


@pytest.mark.parametrize("factors", PHASES)
def test_what_no_phase_changes(factors, program):
    """A Hermitian matrix moves along a Hermitian one: the derivative of what the phases of the vectors do not change."""
    rng = np.random.default_rng(5)
    a, direction = hermitian(rng, 3), hermitian(rng, 3)
    f = program(factors, PHASES[factors])
    slope = (f(1e-6, a, direction) - f(-1e-6, a, direction)) / 2e-6
    assert stgrad.grad(f, jit=False)(0.0, a, direction) == pytest.approx(slope, rel=1e-7)


@pytest.mark.parametrize("factors", PHASES)
def test_what_a_phase_changes(factors, program):
    f = program(factors, "u[1].real * s[1]" if factors.startswith("u") else "v[1].real * w[1]")
    rng = np.random.default_rng(5)
    assert np.isnan(stgrad.grad(f, jit=False)(0.0, hermitian(rng, 3), hermitian(rng, 3)))


@pytest.mark.parametrize("real", [True, False])
@pytest.mark.parametrize("what", ["w.real", "w.imag", "v.real", "v.imag"])
def test_eigenvectors(what, real, program, monkeypatch):
    """LAPACK turns each so that its largest number is real: of a real matrix with complex eigenvalues too, by the routine for real matrices."""
    monkeypatch.setenv("STGRAD_PLAIN", "1")
    rng = np.random.default_rng(2)
    a, direction = np.array([[1.0, 2.0, 0.3], [-2.0, 1.5, 0.1], [0.2, 0.4, 3.0]]), rng.normal(size=(3, 3))
    a, direction = (a, direction) if real else (a + 0.3j * rng.normal(size=(3, 3)), direction + 0j)
    f = program("w, v = np.linalg.eig(a)", f"{what} * np.arange(1.0, 4.0)")
    slope = (f(1e-6, a, direction) - f(-1e-6, a, direction)) / 2e-6
    assert abs(slope) > 0.01
    assert stgrad.grad(f, jit=False)(0.0, a, direction) == pytest.approx(slope, rel=1e-7)


@pytest.fixture
def program():
    def made(factors: str, result: str) -> Any:
        source = f"def f(t, a, direction):\n    a = a + t * direction\n    {factors}\n    return np.sum({result})\n"
        linecache.cache[source] = (len(source), None, source.splitlines(keepends=True), source)
        names = {"np": np, "scipy": scipy}
        exec(compile(source, source, "exec"), names)
        return names["f"]

    return made


@pytest.mark.parametrize("jit", [False, True])
def test_powers_with_complex_exponents(jit):
    def f(x, y):
        return np.sum(np.power(x, 1j * y + 0.3).real) + ((x[0] - 2.0) ** (y[0] * 1j)).imag

    x, y, h = np.array([0.3, 0.6]), np.array([0.5, 0.2]), 1e-6
    found = stgrad.grad(f, argnums=(0, 1), jit=jit)(x, y)
    assert found[0] == pytest.approx([(f(x + h * e, y) - f(x - h * e, y)) / (2 * h) for e in np.eye(2)], rel=1e-6)
    assert found[1] == pytest.approx([(f(x, y + h * e) - f(x, y - h * e)) / (2 * h) for e in np.eye(2)], rel=1e-6)
