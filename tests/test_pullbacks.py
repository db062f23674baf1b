"""`vjp`: one sweep forward gives the value, and each call of the pullback is one sweep back; it is of the moment when it was made."""

import dataclasses
import math
import subprocess
import sys

import numpy as np
import pytest

import stgrad
from stgrad.differentials import pullback_program
from stgrad.errors import RunsPlainlyWarning, ShapeError

MODES = pytest.mark.parametrize("jit", [False, True], ids=["plain", "numba"])


def steps(x, a, n):
    for i in range(n):
        x = math.sin(x) + a * i
    return x


def until(x):
    while x < 100.0:
        x = x * x + 0.5
    return x


def chain(x, w):
    return np.tanh(w @ np.tanh(w @ x))


def overwrites(u, n):
    for _ in range(n):
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - u[:-2]) ** 2
    return u


def recurrent(w, h, x):
    """States of an extent that only running tells."""
    h = h[h > 0.0]
    for row in x:
        h = np.tanh(w * np.sum(h) + row)
    return h


def matrices(a):
    """A `while` loop that keeps matrices."""
    while np.sum(a * a) < 50.0:
        a = a @ a + a
    return a


def squashed(x, n):
    """What the loop keeps is as long as the argument and as the cotangent, whose name comes first in the alphabet."""
    a, total = np.sin(x), 0.0
    for _ in range(n):
        a[:] = np.tanh(a) * x
        total += a[0]
    return a * total


def squashed_part(x, n):
    """Only the cotangent of the value tells its extent."""
    a = np.sin(x[x > 0.0])
    for _ in range(n):
        a[:] = np.tanh(a) * 1.5
    return a


def rotated(q, w):
    """States of which the first has an extent of its own, and a reverse sweep that tests extents: the forward sweep knows nothing of these."""
    for row in w:
        _, x, y = np.concatenate([[0.0], row])
        a, b = q
        q = q + 0.1 * np.array([a * x, b * y])
        q /= np.linalg.norm(q)
    return q


def several(p, scale):
    x = p["x"] * scale
    return {"sum": np.sum(x * x), "rest": (x, [p["y"] * 2.0])}


CASES = [
    (steps, (0.3, 0.1, 5)),
    (until, (1.2,)),
    (chain, (np.array([0.1, 0.2]), np.array([[0.5, -0.2], [0.3, 0.4]]))),
    (overwrites, (np.array([0.5, 0.1, 0.9, -0.4]), 3)),
    (recurrent, (np.array([0.4, -0.3]), np.array([0.5, -1.0, 0.2]), np.array([[0.1, 0.2], [0.3, -0.1], [0.2, 0.2]]))),
    (matrices, (np.array([[0.5, 0.2], [0.1, 0.7]]),)),
    (squashed, (np.array([0.3, 0.9, -0.4]), 3)),
    (squashed_part, (np.array([0.3, -0.9, 0.4]), 3)),
    (rotated, (np.array([0.6, 0.8]), np.array([[0.3, -0.9], [0.5, 0.2]]))),
]


def halves_of(function, args):
    """The texts of the forward and of the reverse sweep."""
    text = pullback_program(function, tuple(i for i, a in enumerate(args) if not isinstance(a, int))).lowered(*args)
    text = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    forward, reverse = text.split("_reverse(")
    return forward, reverse


def copied(args):
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)


@MODES
@pytest.mark.parametrize(("function", "args"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_each_call_of_a_pullback_is_by_itself(function, args, jit):
    rng = np.random.default_rng(0)
    given = copied(args)
    value, pullback = stgrad.vjp(function, *given, jit=jit)
    cotangents = [rng.normal(size=np.shape(value)) if np.shape(value) else rng.normal() for _ in range(3)]
    wanted = []
    for y_bar in cotangents:
        _, once = stgrad.vjp(function, *copied(args), jit=False)
        wanted.append(once(y_bar))
    for array in (*given, value):  # what others do to their arrays is none of its business
        if isinstance(array, np.ndarray):
            array[...] = 77.0
    for k in (0, 1, 2, 0):
        found = pullback(cotangents[k])
        for x_bar, right in zip(found, wanted[k], strict=True):
            assert x_bar is right or np.allclose(x_bar, right, rtol=1e-13)
            if isinstance(x_bar, np.ndarray):
                x_bar[...] = 5.0


@pytest.mark.parametrize(("function", "args"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_against_differences(function, args):
    value, pullback = stgrad.vjp(function, *copied(args))
    y_bar = np.ones_like(value) if isinstance(value, np.ndarray) else 1.0
    found = pullback(y_bar)
    for i, x in enumerate(args):
        if isinstance(x, int):
            assert found[i] is None
            continue
        for at in np.ndindex(np.shape(x)):
            moved = [float(np.sum(function(*_moved(args, i, at, h)))) for h in (1e-6, -1e-6)]
            assert math.isclose((moved[0] - moved[1]) / 2e-6, np.asarray(found[i])[at], rel_tol=1e-6, abs_tol=1e-7)


def _moved(args, i, at, h):
    moved = list(copied(args))
    if isinstance(moved[i], np.ndarray):
        moved[i][at] += h
    else:
        moved[i] += h
    return moved


def test_the_pullback_does_not_run_the_function_again():
    forward, reverse = halves_of(steps, CASES[0][1])
    assert "math.sin(" in forward and "math.sin(" not in reverse and "cos(" in reverse
    forward, reverse = halves_of(until, CASES[1][1])
    assert "while" in forward and "while" not in reverse and "for" in reverse
    for case in (2, 4):
        forward, reverse = halves_of(*CASES[case])
        assert "tanh(" in forward and "tanh(" not in reverse
    forward, reverse = halves_of(*CASES[5])
    assert "while" in forward and "while" not in reverse


def test_what_reads_no_cotangent_is_done_once():
    def solved(a, b):
        return np.linalg.inv(a) @ b

    forward, reverse = halves_of(solved, (np.eye(3), np.ones(3)))
    assert "inv(" in forward and "inv(" not in reverse

    def wave(x):
        return np.sin(x * x)

    forward, reverse = halves_of(wave, (np.ones(3),))
    assert "cos(" in forward and "cos(" not in reverse


def test_arrays_that_give_their_extents_alone_are_not_kept():
    def total(x):
        return np.sum(x) * 2.0

    forward, reverse = halves_of(total, (np.ones(3),))
    assert "def total" in forward and reverse.split(")")[0].split(", ")[:-1] == ["kept"]
    _, pullback = stgrad.vjp(total, np.ones(4))
    assert np.array_equal(pullback(3.0)[0], np.full(4, 6.0))


@MODES
def test_structures_and_auxiliary_data(jit):
    p = {"x": np.array([1.0, 2.0]), "y": 3.0}
    value, pullback = stgrad.vjp(several, p, 2.0, jit=jit)
    assert value["sum"] == 20.0 and value["rest"][1] == [6.0]
    for factor in (1.0, 2.0, 1.0):
        p_bar, scale_bar = pullback({"sum": factor, "rest": (np.zeros(2), [factor])})
        assert np.allclose(p_bar["x"], factor * np.array([8.0, 16.0])) and p_bar["y"] == 2.0 * factor and scale_bar == 20.0 * factor

    def with_data(x):
        y = x * x
        return np.sum(y), y

    x = np.array([1.0, 2.0])
    value, pullback, data = stgrad.vjp(with_data, x, has_aux=True, jit=jit)
    data[:] = 0.0
    assert value == 5.0 and np.array_equal(pullback(2.0)[0], 4.0 * x) and np.array_equal(pullback(1.0)[0], 2.0 * x)


@dataclasses.dataclass
class Point:
    x: float
    y: np.ndarray


def test_objects():
    def norm(point):
        return point.x * np.sum(point.y**2)

    value, pullback = stgrad.vjp(norm, Point(2.0, np.array([1.0, 2.0])))
    for factor in (1.0, 3.0):
        (found,) = pullback(factor)
        assert value == 10.0 and found.x == 5.0 * factor and np.allclose(found.y, factor * np.array([4.0, 8.0]))


@MODES
def test_single_precision_stays(jit):
    def scaled(x, c):
        return x * c, np.sum(x) * c

    x, c = np.array([1.0, 2.0], np.float32), np.float32(3.0)
    (y, s), pullback = stgrad.vjp(scaled, x, c, jit=jit)
    for _ in range(3):
        x_bar, c_bar = pullback((np.ones(2, np.float32), np.float32(1.0)))
        assert (y.dtype, type(s), x_bar.dtype, type(c_bar)) == (np.float32, np.float32, np.float32, np.float32)
        assert np.array_equal(x_bar, [6.0, 6.0]) and c_bar == 6.0


def test_results_that_are_arguments():
    def same(x, y):
        return x, y * 1.0

    x, y = np.ones(2), np.ones(2)
    (u, _), pullback = stgrad.vjp(same, x, y)
    bars = (np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    x_bar, y_bar = pullback(bars)
    assert not any(np.shares_memory(a, b) for a in (u, x_bar, y_bar) for b in (x, y, *bars))


def test_captured_values_are_those_of_the_moment():
    weights = np.array([1.0, 2.0])

    def weighed(x):
        return np.sum(weights * x * x)

    value, pullback = stgrad.vjp(weighed, np.ones(2))
    weights[:] = 100.0
    assert value == 3.0 and np.array_equal(pullback(1.0)[0], [2.0, 4.0])
    value, again = stgrad.vjp(weighed, np.ones(2))
    assert value == 200.0 and np.array_equal(again(1.0)[0], [200.0, 200.0]) and np.array_equal(pullback(1.0)[0], [2.0, 4.0])


def test_prints_once(capfd):
    def spoken(x):
        print("here")
        return x * x

    _, pullback = stgrad.vjp(spoken, 3.0, jit=False)
    assert capfd.readouterr().out == "here\n"
    assert pullback(1.0) == (6.0,) and pullback(2.0) == (12.0,)
    assert capfd.readouterr().out == ""


def test_cotangents_that_do_not_fit():
    _, pullback = stgrad.vjp(chain, *CASES[2][1])
    with pytest.raises(ValueError, match="shape"):
        pullback(np.ones(3))
    with pytest.raises(TypeError, match="leaves"):
        pullback((1.0, 2.0))
    assert pullback(np.ones(2))[0].shape == (2,)


def test_other_layouts_and_kinds_of_cotangents():
    _, pullback = stgrad.vjp(chain, *CASES[2][1])
    right = pullback(np.array([1.0, 2.0]))
    for bar in (np.array([1.0, 9.0, 2.0])[::2], np.array([1, 2]), [1.0, 2.0], np.array([1.0, 2.0], np.float32)):
        for found, wanted in zip(pullback(np.asarray(bar)), right, strict=True):
            assert np.allclose(found, wanted)


def test_second_order_through_a_pullback():
    def slope(x):
        _, pullback = stgrad.vjp(lambda z: np.sin(z) * z, x)
        return np.sum(pullback(np.ones(3))[0] ** 2) + np.sum(pullback(2.0 * np.ones(3))[0])

    x = np.array([0.3, 0.7, 1.1])
    d = np.cos(x) * x + np.sin(x)
    d2 = 2.0 * np.cos(x) - x * np.sin(x)
    assert np.allclose(stgrad.grad(slope)(x), 2.0 * d * d2 + 2.0 * d2)


def test_a_budget_of_memory_does_all_over_again():
    """Nothing but arguments is kept then: the second program has both sweeps."""
    program = pullback_program(steps, (0, 1), memory="1kB")
    forward, reverse = program.lowered(0.3, 0.1, 400).split("_reverse(")
    assert "sin(" in forward and "sin(" in reverse and "empty(" not in forward
    value, pullback = stgrad.vjp(steps, 0.3, 0.1, 400, memory="1kB")
    _, whole = stgrad.vjp(steps, 0.3, 0.1, 400)
    assert value == steps(0.3, 0.1, 400)
    for y_bar in (1.0, 2.0):
        assert np.allclose(pullback(y_bar)[:2], whole(y_bar)[:2], rtol=1e-12)


def test_extents_that_broadcast_as_it_runs():
    def summed(x, y):
        return np.sum((x + y) ** 2)

    run = [stgrad.vjp(summed, np.ones(3), y)[1](1.0)[1].shape for y in (np.ones(3), np.ones(1), np.ones(3))]
    assert run == [(3,), (1,), (3,)]


def test_refused_functions_run_plainly(monkeypatch):
    monkeypatch.setenv("STGRAD_PLAIN", "1")

    def ragged(x, counts):
        return [np.linspace(x[i], x[i + 1], counts[i]) for i in range(len(counts))]

    monkeypatch.setenv("STGRAD_SHORT", "0")  # how many there are is known else
    x = np.array([1.0, 2.0, 4.0])
    with pytest.warns(RunsPlainlyWarning):
        value, pullback = stgrad.vjp(ragged, x, np.array([2, 3]))
    x[:] = 0.0
    assert [v.tolist() for v in value] == [[1.0, 2.0], [2.0, 3.0, 4.0]]
    for factor in (1.0, 2.0):
        assert np.allclose(pullback([np.ones(2) * factor, np.ones(3) * factor])[0], factor * np.array([1.0, 2.5, 1.5]))


PROGRAM = """
import numpy as np
import stgrad
def f(x, n):
    for _ in range(n):
        x = np.sin(x) * x
    return x
value, pullback = stgrad.vjp(f, np.array([0.5, 1.5]), 3)
print(value.tolist(), [pullback(k * np.ones(2))[0].tolist() for k in (1.0, 2.0, 1.0)])
import sys
print("stgrad.frontend" in sys.modules)
"""


def test_programs_on_disk(tmp_path):
    file = tmp_path / "script.py"
    file.write_text(PROGRAM)
    environment = {"STGRAD_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin"}
    first, second = (subprocess.run([sys.executable, str(file)], env=environment, capture_output=True, text=True, check=True).stdout for _ in range(2))
    assert first.splitlines()[0] == second.splitlines()[0]
    assert second.splitlines()[1] == "False"


def test_source_shows_both_sweeps():
    text = pullback_program(steps, (0, 1)).source(0.3, 0.1, 5)
    assert "def steps_forward(x, a, n):" in text and "def steps_reverse(" in text
    assert '"""Pullback of steps with respect to x, a."""' in text and text.count("for ") == 2


def test_lists_of_run_time_length():
    def kept(x):
        found = []
        for v in x:
            if v > 0.0:
                found.append(v * v)
        return found

    value, pullback = stgrad.vjp(kept, np.array([1.0, -1.0, 2.0]))
    assert value == [1.0, 4.0]
    assert np.array_equal(pullback([1.0, 1.0])[0], [2.0, 0.0, 4.0]) and np.array_equal(pullback([0.0, 1.0])[0], [0.0, 0.0, 4.0])
    with pytest.raises((ShapeError, ValueError, TypeError)):
        pullback([1.0, 1.0, 1.0])


def running_product(x, start):
    if len(x) < 1:
        return x.copy()
    if np.any(np.isnan(x)):
        x = x.copy()
        x[np.isnan(x)] = 0.0
    out = np.empty_like(x)
    np.add(x, 1.0, out=out)
    out.cumprod(axis=0, out=out)
    return out - 1.0 if start == 0 else out * start


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("start", [0, 2])
def test_tests_of_the_reverse_sweep_stay_there(start, jit, monkeypatch):
    """A position of the reverse sweep, which a scan reads from behind, is no business of the program that has no cotangent yet."""
    monkeypatch.setenv("STGRAD_PLAIN", "0")
    x, bar = np.array([0.1, np.nan, 0.3, 0.2]), np.array([1.0, -2.0, 0.5, 3.0])
    value, pullback = stgrad.vjp(lambda v: running_product(v, start), x, jit=jit)
    np.testing.assert_allclose(value, running_product(x, start))
    clean = np.nan_to_num(x)
    steps = 1e-6 * np.eye(4)
    expected = [np.sum((running_product(clean + s, start) - running_product(clean - s, start)) * bar) / 2e-6 for s in steps]
    expected[1] = 0.0
    np.testing.assert_allclose(pullback(bar)[0], expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("jit", [False, True])
def test_extents_of_what_a_loop_carried_are_those_of_each_trip(jit):
    """The pullback took all trips to have as many rows as the last one."""

    def rows(b):
        x = b[0:1, None]
        for j in range(1, len(b)):
            x = np.concatenate((x, b[j : j + 1, None] * x[0]), axis=0)
        return x[:, 0]

    b, y_bar = np.array([0.3, 0.2, 0.5, 0.7, 0.1]), np.arange(1.0, 6.0)
    _, pullback = stgrad.vjp(rows, b, jit=jit)
    np.testing.assert_allclose(pullback(y_bar)[0], [6.2, 0.6, 0.9, 1.2, 1.5])


def test_none_is_a_cotangent_of_zeros():
    x, y = np.array([1.0, 2.0]), np.array([0.5, 0.25])
    _, pullback = stgrad.vjp(lambda x, y: (x * y, x @ y, 2.0 * x), x, y, jit=False)
    for got, want in zip(pullback((None, None, np.ones(2))), ([2.0, 2.0], [0.0, 0.0]), strict=True):
        np.testing.assert_array_equal(got, want)
    for got, want in zip(pullback((np.ones(2), None, None)), (y, x), strict=True):
        np.testing.assert_array_equal(got, want)
