"""The passes as a list: what each is called, that it can be left out, and what `precise` changes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import stgrad
from stgrad.request import Options
from stgrad.transforms.pipeline import OPTIONAL, passes
from stgrad.transforms.registry import PASSES, facts_table, table

RNG = np.random.default_rng(4)


def smooth(u, k):
    for _ in range(4):
        u[1:-1, 1:-1] = u[1:-1, 1:-1] + k * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])
    return np.sum(u * u)


def likelihood(x, mean, scale):
    z = (x - mean) / scale
    return np.sum(np.log(scale) + 0.5 * z * z) + np.max(np.tanh(z))


def pendulum(state, length, n):
    q = state
    for _ in range(n):
        k = np.array([q[1], -9.81 / length * math.sin(q[0])])
        q = q + 0.01 * k
    return q[0] * q[1]


def paths(noise, volatility):
    total = 0.0
    for i in range(noise.shape[0]):
        s = 1.0
        for j in range(noise.shape[1]):
            s = s * math.exp(volatility * noise[i, j])
        if s > 1.0:
            total += s - 1.0
    return total


def copies(x):
    y = x.copy()
    z = y[::-1].copy()
    z[1:] *= y[:-1]
    return np.dot(z, np.exp(y))


PROGRAMS = [
    (smooth, (RNG.normal(size=(6, 5)), 0.1)),
    (likelihood, (RNG.normal(size=7), 0.3, 1.2)),
    (pendulum, (np.array([0.4, 0.1]), 1.5, 5)),
    (paths, (RNG.normal(size=(4, 3)), 0.3)),
    (copies, (RNG.normal(size=5),)),
]


@pytest.mark.parametrize("left_out", [*((name,) for name in sorted(OPTIONAL)), tuple(sorted(OPTIONAL))], ids="+".join)
@pytest.mark.parametrize(("function", "args"), PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_every_optional_pass_can_be_left_out(function, args, left_out):
    floats = tuple(i for i, a in enumerate(args) if not isinstance(a, int))
    whole = stgrad.value_and_grad(function, floats, jit=False)(*args)
    without = stgrad.value_and_grad(function, floats, jit=False, without=left_out)(*args)
    for a, b in zip(stgrad_leaves(whole), stgrad_leaves(without), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


def stgrad_leaves(result):
    value, gradients = result
    return [value, *gradients]


def test_compiled_without_any_optional_pass():
    function, args = PROGRAMS[3]
    whole = stgrad.value_and_grad(function, (0, 1))(*args)
    without = stgrad.value_and_grad(function, (0, 1), without=OPTIONAL)(*args)
    for a, b in zip(stgrad_leaves(whole), stgrad_leaves(without), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_a_pass_left_out_changes_the_text():
    whole = stgrad.grad(likelihood, (0, 1, 2)).lowered(*PROGRAMS[1][1])
    fused = stgrad.grad(likelihood, (0, 1, 2), without=("fuse",)).lowered(*PROGRAMS[1][1])
    assert fused.count("for ") > whole.count("for ")


@pytest.mark.parametrize("name", ["no_such_pass", "storage", "foreign"])
def test_only_optional_passes_can_be_left_out(name):
    with pytest.raises(ValueError, match=f"without={name}: what can be left out is accumulate"):
        stgrad.grad(copies, without=(name,))(np.ones(3))


def test_every_pass_is_a_stage():
    names = list(passes(Options()))
    assert names == list(PASSES)
    stages = stgrad.grad(copies).stages(np.ones(4))
    assert list(stages) == ["desugar", "anf", "activity", "reverse", "optimised", *names, "specialised"]
    assert [name for name in passes(Options(precise=True, parallel=True)) if name not in names] == ["libm", "parallel"]


def transcendental(x):
    total = 0.0
    for i in range(len(x)):
        total += math.exp(x[i]) * math.log(x[i]) + math.sin(x[i]) * math.cos(x[i]) + math.tanh(x[i]) + math.erf(x[i])
    return total + np.sum(np.expm1(x) * np.log1p(x) * np.tan(x) * x**1.7)


def test_precise_calls_the_c_library():
    x = RNG.uniform(0.1, 1.4, size=50)
    fast, precise = stgrad.grad(transcendental), stgrad.grad(transcendental, precise=True)
    assert "runtime.exp(" in fast.lowered(x)
    assert not any(f"runtime.{name}(" in precise.lowered(x) for name in ("exp", "log", "sin", "cos", "tanh", "expm1", "log1p", "tan", "pow", "erf"))
    np.testing.assert_allclose(fast(x), precise(x), rtol=1e-13)
    np.testing.assert_allclose(precise(x), stgrad.grad(transcendental, jit=False)(x), rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_precise_sigmoid(dtype):
    from scipy.special import expit

    x = np.array([-800.0, -40.0, -1.0, 0.0, 2.5, 60.0, 900.0], dtype=dtype)
    found = stgrad.jit(lambda x: expit(x) * 1, precise=True)(x)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expit(x), rtol=4 * np.finfo(dtype).eps)


def test_one_pass_to_leave_out_stands_by_itself():
    def total(x):
        return np.sum(x * x)

    one, several = (stgrad.grad(total, without=name).lowered(np.ones(3)) for name in ("fuse", ("fuse",)))
    assert one == several


def test_the_docs_list_the_passes():
    text = (Path(__file__).parents[2] / "docs" / "how-it-works.md").read_text()
    assert table() in text
    assert facts_table() in text
