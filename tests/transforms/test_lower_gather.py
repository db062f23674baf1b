"""Adjoints of stencils: scattered sums become gathers from workspaces, one for each value that is scattered."""

import random
import runpy

import numpy as np
import pytest
from thorough import check_gradient

import stgrad

RNG = np.random.default_rng(0)


def diffusion(u, k, steps):
    u = u.copy()
    for t in range(steps):
        u[1:-1] = u[1:-1] + 0.1 * (k[1:] * (u[2:] - u[1:-1]) - k[:-1] * (u[1:-1] - u[:-2]))
    return np.sum(u * u)


def upwind(u, c, steps):
    u = u.copy()
    for t in range(steps):
        flux = 0.5 * u * u
        u[1:] = u[1:] - c * (flux[1:] - flux[:-1])
    return np.sum(u * u)


def conserved(u, nu, steps):
    u = u.copy()
    for t in range(steps):
        middle = 0.5 * (u[1:] + u[:-1])
        flux = 0.5 * middle * middle - nu * (u[1:] - u[:-1])
        u[1:-1] -= 0.1 * (flux[1:] - flux[:-1])
    return np.sum(np.sin(u))


def fourth_order(u, c):
    v = np.zeros_like(u)
    v[2:-2] = c * (-u[:-4] + 16.0 * u[1:-3] - 30.0 * u[2:-2] + 16.0 * u[3:-1] - u[4:]) / 12.0
    return np.sum(v * v) + np.sum(v[2:-2] * u[:-4])


def anisotropic(a, p, q):
    b = np.zeros_like(a)
    for t in range(2):
        b[1:-1, 1:-1] = a[1:-1, 1:-1] + p * (a[2:, 1:-1] - 2.0 * a[1:-1, 1:-1] + a[:-2, 1:-1]) + q * (a[1:-1, 2:] - a[1:-1, :-2])
        a = b + 0.1 * a
    return np.sum(a * a * a)


def limited(h, c):
    lap = 4.0 * h[1:-1, 1:-1] - (h[2:, 1:-1] + h[:-2, 1:-1] + h[1:-1, 2:] + h[1:-1, :-2])
    flow = lap[:, 1:] - lap[:, :-1]
    flow = np.where(flow * (h[1:-1, 2:-1] - h[1:-1, 1:-2]) > 0.0, 0.0, flow)
    out = h[1:-1, 2:-2] - c * (flow[:, 1:] - flow[:, :-1])
    return np.sum(out * out)


def waves(u, v, c):
    for t in range(3):
        v = v.copy()
        v[1:-1] += c * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        u = u + 0.1 * v
    return np.sum(u * u) + np.sum(v[1:] * v[:-1])


def cube(a, c):
    b = a.copy()
    b[1:-1, 1:-1, 1:-1] = c * a[2:, 1:-1, 1:-1] + a[1:-1, 1:-1, :-2] - c * a[1:-1, 1:-1, 2:] * a[1:-1, :-2, 1:-1]
    return np.sum(b * b)


def smaller(x, c):
    d = c * (x[1:] - x[:-1])
    e = d[1:] - d[:-1]
    return np.sum(e * e) + np.sum(d) + d[0]


PROGRAMS = [
    (diffusion, (RNG.random(9), RNG.random(8), 3)),
    (upwind, (RNG.random(9), 0.3, 3)),
    (conserved, (RNG.random(8), 0.2, 2)),
    (fourth_order, (RNG.random(9), 0.7)),
    (anisotropic, (RNG.random((5, 6)), 0.2, 0.3)),
    (limited, (RNG.random((6, 7)), 0.3)),
    (waves, (RNG.random(7), RNG.random(7), 0.4)),
    (cube, (RNG.random((4, 5, 4)), 0.6)),
    (smaller, (RNG.random(6), 1.3)),
]


@pytest.mark.parametrize(("f", "args"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_gradients_are_right(f, args):
    check_gradient(f, args, jit=False)


@pytest.mark.parametrize("number", [2, 4])
def test_compiled_gradients_are_right(number):
    check_gradient(*PROGRAMS[number])


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize(
    ("f", "rest"), [(upwind, (0.3, 2)), (smaller, (1.3,)), (conserved, (0.2, 2))], ids=["upwind", "smaller", "conserved"]
)
def test_small_and_empty_insides(f, rest, n):
    if f is smaller and n < 2:
        pytest.skip("reads an element that is not there")
    check_gradient(f, (RNG.random(n), *rest), jit=False)


def test_second_order():
    x = RNG.random(7)
    hvp = stgrad.grad(lambda x, v: np.sum(stgrad.grad(conserved)(x, 0.2, 2) * v), jit=False)
    v, h = RNG.standard_normal(7), 1e-6
    first = stgrad.grad(conserved, jit=False)
    want = (first(x + h * v, 0.2, 2) - first(x - h * v, 0.2, 2)) / (2 * h)
    np.testing.assert_allclose(hvp(x, v), want, rtol=1e-5, atol=1e-7)


def test_multiples_of_one_value_share_a_workspace():
    source = stgrad.grad(anisotropic).lowered(RNG.random((5, 6)), 0.2, 0.3)
    assert source.count("np.zeros") == 1
    source = stgrad.grad(upwind).lowered(RNG.random(9), 0.3, 3)
    assert source.count("np.zeros") == 1 and "flux_bar[" not in source


def test_cheap_values_at_neighbours_are_computed_again():
    assert "flux" not in stgrad.jit(upwind).lowered(RNG.random(9), 0.3, 3)


def beside_each_other(seed):
    """The text of a random program of products of shifted slices of arrays whose extents only the run tells, and their cubes."""
    rng = random.Random(seed)
    lines, names = [], ["w"]
    lines.append(rng.choice(["w = y[y > 0.0]", "w = y[:n]", "w = y[n:]", "w = np.zeros(n) + y[:n]", "w = np.sin(y[y > 0.0])", "w = y[n:].copy()"]))
    if rng.random() < 0.5:
        lines.append(rng.choice(["v = w * w", "v = w.copy()", "v = w[1:]", "v = np.outer(w, w)", "v = np.outer(y, w)", "v = np.outer(w, y)"]))
        names.append("v")
    terms = []
    for _ in range(rng.randint(1, 3)):
        name = rng.choice(names)
        (a, b), (c, d) = ((rng.randint(0, 2), rng.randint(0, 2)) for _ in range(2))
        width, other = max(a, b), max(c, d)
        ends = [f"{k}:{name}.shape[{axis}] - {w - k}" for axis, w, ks in ((0, width, (a, b)), (1, other, (c, d))) for k in ks]
        if "outer" in lines[-1] and name == "v":
            terms.append(f"np.sum({name}[{ends[0]}, {ends[2]}] * {name}[{ends[1]}, {ends[3]}])")
        else:
            signs = [f"{k}:{k - width or None}".replace("None", "") for k in (a, b)]
            terms.append(f"np.sum({name}[{signs[0]}] * {name}[{signs[1]}])")
    terms.insert(rng.randint(0, len(terms)), f"np.sum({rng.choice(names)} ** 3)")
    return "\n".join(["def f(y, n):", *(f"    {line}" for line in lines), f"    return {' + '.join(terms)}", ""])


@pytest.mark.parametrize("seed", range(12))
def test_empty_ranges_cover_nothing(seed, tmp_path):
    """Sums at neighbours of arrays with 0, 1 and 2 items; plain Python runs the loops that Numba compiles, and NumPy tests their positions."""
    path = tmp_path / "program.py"
    path.write_text(f"import numpy as np\n\n\n{beside_each_other(seed)}")
    f = runpy.run_path(str(path))["f"]
    for n in range(4):
        y = np.concatenate([np.linspace(0.4, 0.9, n), np.linspace(-0.8, -0.3, 3 - n)])
        check_gradient(f, (y, n), order=1)
