"""Functions of scipy.special in compiled code: SciPy's own values, for every name, and native code that another process finds again."""

import warnings

import numba
import numpy as np
import pytest
import scipy.special
from thorough import check_gradient

import stgrad
from stgrad.runtime import special
from tests.test_cache import cache_dir, python  # noqa: F401  (a fixture)

POINTS = [(0.31, 0.83, 0.57, 0.44), (1.0, 2.0, 1.0, 3.0), (2.6, 1.7, 0.9, 1.2), (-0.4, 0.3, 0.6, 0.2)]


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_every_function_gives_what_scipy_gives(count):
    names = sorted(name for name, n in special.ARITY.items() if n == count and name != "polygamma")
    given = ", ".join(f"p[{k}]" for k in range(count))
    text = "def run(p, out):\n" + "".join(f"    out[{i}] = scipy.special.{name}({given})\n" for i, name in enumerate(names))
    scope = {"scipy": scipy}
    exec(text, scope)
    run = numba.njit(scope["run"])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of parameters that SciPy takes as integers
        for point in POINTS:
            out = np.empty(len(names))
            run(point, out)
            wanted = [getattr(scipy.special, name)(*point[:count]) for name in names]
            assert len(names) >= 5
            np.testing.assert_allclose(out, wanted, rtol=1e-12, err_msg=str(names))


@pytest.mark.parametrize("x", [1.0, 1.5, 2.0, 3.0, 7.2, 30.0, 0.5])
@pytest.mark.parametrize("q", [0.1, 0.5, 1.0, 2.5, 9.0, 50.0, 1e9, -0.5, -2.0])
def test_zeta(x, q):
    np.testing.assert_allclose(special._zeta(x, q), scipy.special.zeta(x, q), rtol=1e-13)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_polygamma(n):
    call = numba.njit(lambda n, x: scipy.special.polygamma(n, x))
    for x in (0.2, 1.0, 7.5, 60.0):
        np.testing.assert_allclose(call(n, x), scipy.special.polygamma(n, x), rtol=1e-12)


def test_single_precision():
    short = numba.njit(lambda x: scipy.special.psi(x))(np.float32(1.5))
    assert short == scipy.special.psi(np.float32(1.5)) and isinstance(short, float)
    assert numba.njit(lambda x: scipy.special.gammaln(x))(7) == scipy.special.gammaln(7)


def likelihood(x, a):
    total = 0.0
    for v in x:
        total += scipy.special.gammaln(v + a) - scipy.special.gammaincc(2.0, v) * scipy.special.psi(a * v) + scipy.special.ndtri(v) * scipy.special.expit(a - v)
        total += scipy.special.j0(v) * scipy.special.betaln(a, v) + scipy.special.erfinv(v) * scipy.special.xlogy(v, a)
    return total


@pytest.mark.parametrize("jit", [False, True])
def test_gradients_in_a_loop(jit):
    check_gradient(likelihood, (np.array([0.2, 0.55, 0.9]), 1.3), jit=jit)


def test_no_call_leaves_native_code():
    text = stgrad.grad(likelihood, (0, 1)).lowered(np.array([0.2, 0.55]), 1.3)
    assert "call_python" not in text and "from stgrad.runtime import special" in text


def test_native_code_is_found_by_another_process(cache_dir):  # noqa: F811
    program = "import sys\nsys.path.insert(0, 'tests')\nfrom tests.runtime.test_special import likelihood\n"
    program += "import numpy as np, stgrad\ng = stgrad.grad(likelihood)\n"
    program += "print(g(np.array([0.2, 0.55]), 1.3).sum())\n"
    first, second = python(program, STGRAD_PROGRAM_CACHE="1"), python(program, STGRAD_PROGRAM_CACHE="1")
    assert first == second and np.isfinite(float(first))
