"""Programs that the compiler refuses and that run recorded in plain Python: derivatives against differences."""

from __future__ import annotations

import collections
import contextlib
import functools
import heapq
import inspect
import linecache
import math
import operator
import warnings

import numpy as np
import pytest

import stgrad
from stgrad.errors import RunsPlainlyWarning
from stgrad.plain import recorded, run


@pytest.fixture(autouse=True)
def plain_runs(monkeypatch):
    monkeypatch.setenv("STGRAD_PLAIN", "1")


def weighed(value):
    if isinstance(value, (tuple, list)):
        return sum(map(weighed, value))
    if isinstance(value, dict):
        return sum(map(weighed, value.values()))
    if isinstance(value, (str, int, type(None))):
        return 0.0
    return float(np.sum(weights(value) * value))


def weights(value):
    return np.cos(1.0 + np.arange(np.size(value))).reshape(np.shape(value))


def cotangents(value):
    if isinstance(value, (tuple, list)):
        return type(value)([cotangents(v) for v in value])
    if isinstance(value, dict):
        return {k: cotangents(v) for k, v in value.items()}
    return None if isinstance(value, (str, int, type(None))) else weights(value)


def differences(f, args, i):
    found = np.zeros(np.shape(args[i]))
    for at in np.ndindex(*np.shape(args[i])):

        def moved(step, at=at):
            x = np.array(args[i], float)
            x[at] += step
            return weighed(run(f, (*args[:i], x if np.ndim(args[i]) else float(x), *args[i + 1 :]), {}))

        found[at] = (moved(1e-6) - moved(-1e-6)) / 2e-6
    return found


def writes_through_views(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = math.sin(x[i]) * x[0]
    v = y[1:]
    v *= 2.0
    y[0] += v[0]
    return y.sum() + y @ x


def matrix_views(a):
    b = a.T
    b[0] = a[1]
    c = a.reshape(-1)
    c[2] = a.sum()
    np.add.at(c, [0, 0, 3], b[1, 1])
    a[[0, 0]] = b[1]
    np.fill_diagonal(a, c[4])
    c[3:7].sort()
    return np.linalg.inv(a + 9.0 * np.eye(3)), np.sort(c), np.where(a > 0.6, a, 2.0), np.concatenate([c, b[0]])


def squares(x):
    for item in x:
        yield item * item


def generators(x):
    return [a for a in squares(x) if a > 0.2], {"sum": sum(squares(x))}


def run_time_keys(x):
    table = {}
    for i in range(len(x)):
        key = int(10 * x[i]) % 2
        table[key] = table.get(key, 0.0) + x[i] ** 2
    return table


def recursion(x):
    return 1.0 - recursion(-x) if x < 0 else math.exp(x) + math.erf(x)


def numbers_as_arrays(x):
    x = np.atleast_1d(np.asarray(x))
    out = np.empty_like(x)
    mask = x > 0.6
    out[mask] = x[mask] ** 2
    out[~mask] = np.sin(x[~mask])
    return out.item() if out.size == 1 else out


def heaps(x):
    heap = []
    for item in x:
        heapq.heappush(heap, (item, 2.0 * item))
    return [heapq.heappop(heap)[1] for _ in range(3)], heapq.nlargest(2, list(x))


def table_of_objects(x):
    table = np.array([[None] * 2] * 2, dtype=object)
    for i in range(4):
        table[i // 2, i % 2] = x[i] * x[0]
    return table[0, 1] + table[1, 0] ** 2


class Counter:
    def __init__(self, start):
        self.__total = start

    def __call__(self, x):
        self.__total = self.__total + x * x
        return self.__total


def objects_and_closures(x):
    class Local(Counter):
        def __init__(self, start):
            super().__init__(start)
            self.start = start

    counter = Local(x[0])
    total = 0.0

    def add(value, scale=2.0):
        nonlocal total
        total += scale * value

    for item in x:
        add(counter(item))
    return total, functools.reduce(operator.mul, x), counter.start


def contexts(x):
    with np.errstate(all="ignore"), warnings.catch_warnings(), contextlib.suppress(KeyError):
        try:
            y = x / 0.0 if x > 5 else math.log(x)
        except ZeroDivisionError:
            y = 3.0 * x
        {}["missing"]
    return y


def outputs(x):
    out = np.zeros(4)
    np.multiply(x, 3.0, out=out)
    np.add(out, x, out, where=x > 0.4)
    np.true_divide(out, x + 1.0, out=out, where=x < 0.8)
    np.copyto(out[1:3], x[:2] ** 2)
    return out


def strides(x):
    windows = np.lib.stride_tricks.as_strided(x, (3, 2), (x.strides[0], x.strides[0]))
    return windows.std(axis=1), np.nanmean(windows, axis=0), x.flags.c_contiguous


def sequences(x):
    queue = collections.deque(maxlen=3)
    for item in x:
        queue.append(item)
    assert len(np.r_[x[0], x]) == 5
    return np.r_[x[0] ** 2, x, 1.0], sorted(queue, key=lambda v: -v), max(queue), list(map(lambda v: v**2, queue)), [0.0] * int(x[0] * 10) + [x[1]]


def turns(x):
    turn = np.array([[x[0], x[1]], [-x[1], x[0]]])
    values, vectors = np.linalg.eig(turn * x[2])
    z = np.roots([1.0, x[0], x[1], x[3]])
    return np.abs(values[0]) + np.abs(vectors[0, 0]), z[np.isreal(z)].real.max(), np.sum(z**3).real, np.linalg.eigvals(np.diag(x))


V = np.array([0.3, 0.7, 0.55, 0.9])
M = (np.arange(9.0).reshape(3, 3) * 7 % 5) / 5 + 0.11
PROGRAMS = [
    (writes_through_views, V), (matrix_views, M), (generators, V), (run_time_keys, V), (recursion, 0.4), (recursion, -0.4), (numbers_as_arrays, 0.7),
    (numbers_as_arrays, V), (heaps, V), (table_of_objects, V), (objects_and_closures, V), (contexts, 0.7), (outputs, V), (strides, V), (sequences, V),
    (turns, V),
]  # fmt: skip


@pytest.mark.parametrize(("f", "x"), PROGRAMS)
def test_derivatives(f, x):
    found = recorded(f, (x,), {}, ((0, 0),))
    (gradient,) = found.pullback(cotangents(found.value))
    np.testing.assert_allclose(gradient, differences(f, (x,), 0), rtol=1e-6, atol=1e-7)
    assert type(gradient) is type(x)


@pytest.mark.parametrize("options", [{"jit": False}, {"jit": "auto"}, {}])
def test_the_last_resort_of_a_call(options):
    with pytest.warns(RunsPlainlyWarning, match="run_time_keys.*plain Python") as said:
        value, pullback = stgrad.vjp(run_time_keys, V, **options)
        (gradient,) = pullback({k: 1.0 for k in value})
    assert said[0].filename == __file__ and linecache.getline(__file__, said[0].lineno).strip() in inspect.getsource(run_time_keys)
    np.testing.assert_allclose(gradient, 2 * V)
    with pytest.raises(stgrad.errors.StgradError):
        stgrad.vjp(run_time_keys, V, jit=True)


@pytest.mark.parametrize("options", [{"jit": False}, {}])
def test_a_result_that_its_values_make_complex(options):
    """The compiler takes eigenvalues of real matrices for real numbers; where they are not, the derivative is recorded."""

    def f(a, b):
        values = np.linalg.eigvals(np.array([[a, 1.0], [b, a]]))
        return np.sum(np.abs(values) ** 2) + values.real.max()

    gradient = stgrad.grad(f, (0, 1), **options)
    np.testing.assert_allclose(gradient(2.0, 4.0), (9.0, 2.0 + 0.25))
    with pytest.warns(RunsPlainlyWarning, match="complex for these real arguments"):
        np.testing.assert_allclose(gradient(2.0, -4.0), (9.0, -2.0))
    np.testing.assert_allclose(gradient(2.0, 4.0), (9.0, 2.0 + 0.25))
    with pytest.raises(stgrad.errors.TypeInferenceError, match="complex for these real arguments"):
        stgrad.grad(f, jit=True)(2.0, -4.0)


def test_gradients_of_several_arguments():
    def f(d, *xs, scale=2.0):
        table = {}
        for i, x in enumerate(xs):
            table[f"{x:.1f}"] = x * d["w"]
        return sum(table.values()) * scale

    with pytest.warns(RunsPlainlyWarning):
        value, (d, x) = stgrad.value_and_grad(f, (0, 2), jit=False)({"w": 3.0}, 1.5, 2.5)
    assert (value, d, x) == (24.0, {"w": 8.0}, 6.0)
    with pytest.warns(RunsPlainlyWarning):
        assert stgrad.grad(f, "scale", jit=False)({"w": 3.0}, 1.5, 2.5, scale=1.0) == 12.0


def test_a_result_without_a_gradient_stays_refused():
    with pytest.warns(RunsPlainlyWarning), pytest.raises(stgrad.errors.NotDifferentiableError):
        stgrad.grad(lambda x: [term(v) for v in x], jit=False)(V)


def test_arguments_are_as_they_were():
    x = V.copy()
    recorded(outputs, (x,), {}, ((0, 0),))
    np.testing.assert_array_equal(x, V)


def test_several_directions_of_one_record():
    found = recorded(generators, (V,), {}, ((0, 0),))
    one = found.pullback(([1.0, 0.0, 0.0], {"sum": 0.0}))[0]
    other = found.pullback(([0.0, 0.0, 0.0], {"sum": 1.0}))[0]
    np.testing.assert_allclose(one, [0, 1.4, 0, 0])
    np.testing.assert_allclose(other, 2 * V)


def term(v):
    return {str(v): v * v}[str(v)]


def of_terms(x):
    return sum(term(v) for v in x)


def test_a_refusal_is_of_the_moment(monkeypatch):
    """What is known of a refused program goes with what it was read from."""
    gradient = stgrad.grad(of_terms)
    with pytest.warns(RunsPlainlyWarning):
        np.testing.assert_allclose(gradient(V), 2 * V)
    monkeypatch.setitem(globals(), "term", lambda v: v * v * v)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(gradient(V), 3 * V * V)


def carried_by_an_exception(x):
    class Stop(Exception):
        def __init__(self, value, code=3):
            super().__init__(value)
            self.value, self.code = value, code

    y = x[0]
    try:
        for k in range(5):
            y = y * 1.2 + x[1]
            if y > 2.0:
                raise Stop(y, k)
    except Stop as stop:
        return stop.value * y + stop.code
    return y


def test_classes_of_exceptions_in_the_function():
    x = np.array([1.1, 0.3])
    with pytest.warns(RunsPlainlyWarning):
        gradient = stgrad.grad(carried_by_an_exception)(x)
    steps = 1e-6 * np.eye(2)
    np.testing.assert_allclose(gradient, [(carried_by_an_exception(x + h) - carried_by_an_exception(x - h)) / 2e-6 for h in steps], rtol=1e-6)
