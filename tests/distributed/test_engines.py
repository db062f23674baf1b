"""The same numbers, bit for bit, from every engine, whatever the number of workers; the right ones."""

from __future__ import annotations

import concurrent.futures
import os
import sys

import numpy as np
import pytest
import scipy.optimize
from shard_programs import Weights, loss, path_value, picky, rows, structured, targets

import stgrad
from stgrad import distributed, errors

pytestmark = pytest.mark.filterwarnings("default")  # the schedulers' own


@pytest.fixture(scope="module")
def cluster():
    dask = pytest.importorskip("distributed")
    with dask.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as running, dask.Client(running) as client:
        yield client


@pytest.fixture(scope="module")
def processes():
    engine = distributed.Processes(2)
    yield engine
    engine.close()


@pytest.fixture(params=["threads", "processes", "dask"])
def engine(request):
    if request.param == "dask":
        return request.getfixturevalue("cluster")
    return request.getfixturevalue("processes") if request.param == "processes" else distributed.Threads(2)


W = np.array([0.3, -1.2, 0.7])
X, Y = [rows(i) for i in range(11)], [targets(i) for i in range(11)]


def by_tree(parts):
    """The sum by the tree of the module, written down again."""
    if len(parts) == 1:
        return parts[0]
    half = 1 << (len(parts) - 1).bit_length() - 1
    return by_tree(parts[:half]) + by_tree(parts[half:])


def expected(w=W, x=X, y=Y):
    one = stgrad.value_and_grad(loss)
    parts = [one(w, a, b) for a, b in zip(x, y, strict=True)]
    return by_tree([v for v, _ in parts]), by_tree([g for _, g in parts])


def same(found, wanted):
    assert found[0] == wanted[0]
    np.testing.assert_array_equal(found[1], wanted[1])


def test_the_sum_is_that_of_the_tree_bit_for_bit(engine):
    same(distributed.value_and_grad(loss, shards=("x", "y"), engine=engine)(W, X, Y), expected())


def test_blocks_of_any_size_give_the_same_bits(engine):
    for blocks in (1, 3, 100):
        same(distributed.value_and_grad(loss, shards=("x", "y"), engine=engine, blocks=blocks)(W, X, Y), expected())


def test_plain_python_gives_the_same():
    found = distributed.value_and_grad(loss, shards=("x", "y"), jit=False)(W, X, Y)
    np.testing.assert_allclose(found[1], expected()[1], rtol=1e-13)


def test_the_gradient_is_that_of_central_differences(engine):
    gradient = distributed.grad(loss, shards=("x", "y"), engine=engine)(W, X, Y)
    for k in range(3):
        h = 1e-6 * np.eye(3)[k]
        slope = sum(loss(W + h, a, b) - loss(W - h, a, b) for a, b in zip(X, Y, strict=True)) / 2e-6
        assert gradient[k] == pytest.approx(slope, rel=1e-7)


def test_changed_arrays_are_seen(engine):
    both = distributed.value_and_grad(loss, shards=("x", "y"), engine=engine)
    x = [a.copy() for a in X]
    same(both(W, x, Y), expected())
    x[4][3, 1] += 1.0
    same(both(W, x, Y), expected(x=x))
    same(both(2.0 * W, x[:5], Y[:5]), expected(2.0 * W, x[:5], Y[:5]))


def test_minimize_takes_it(engine):
    both = distributed.value_and_grad(loss, shards=("x", "y"), engine=engine, reduce="mean")
    found = scipy.optimize.minimize(both, np.zeros(3), args=(X, Y), jac=True, method="L-BFGS-B", options={"ftol": 1e-14, "gtol": 1e-10})
    wanted = np.linalg.lstsq(np.concatenate(X), np.concatenate(Y), rcond=None)[0]
    np.testing.assert_allclose(found.x, wanted, rtol=1e-6)


def test_second_derivatives(engine):
    x = np.concatenate(X)
    product = distributed.hvp(loss, shards=("x", "y"), engine=engine)
    np.testing.assert_allclose(product(np.array([1.0, 2.0, -1.0]), W, X, Y), 2.0 * x.T @ (x @ [1.0, 2.0, -1.0]), rtol=1e-12)


def test_directions(engine):
    value, slope = distributed.jvp(loss, shards=("x", "y"), engine=engine)(np.array([1.0, 2.0, -1.0]), W, X, Y)
    wanted = expected()
    assert value == pytest.approx(wanted[0], rel=1e-13)
    assert slope == pytest.approx(wanted[1] @ [1.0, 2.0, -1.0], rel=1e-12)


def test_structures_of_arguments(engine):
    p = {"layer": Weights(W, 0.5), "c": 3.0}
    value, gradient = distributed.value_and_grad(structured, shards="x", engine=engine)(p, X)
    one = stgrad.grad(structured)
    assert isinstance(gradient["layer"], Weights)
    assert gradient["c"] == 11.0
    assert value == pytest.approx(sum(structured(p, x) for x in X))
    np.testing.assert_array_equal(gradient["layer"].w, by_tree([one(p, x)["layer"].w for x in X]))


def test_integers_in_shards(engine):
    both = distributed.value_and_grad(path_value, ("spot", "sigma"), shards="seed", engine=engine)
    value, (delta, vega) = both(100.0, 0.2, [11, 12, 13, 14, 15], 7)
    one = [stgrad.value_and_grad(path_value, ("spot", "sigma"))(100.0, 0.2, s, 7) for s in (11, 12, 13, 14, 15)]
    assert value == by_tree([v for v, _ in one])
    assert (delta, vega) == (by_tree([d for _, (d, _) in one]), by_tree([v for _, (_, v) in one]))


def test_shards_of_several_kinds(engine):
    """Extents of 1, which broadcast, and another dtype have programs of their own."""
    x, y = [X[0], X[1][:1], X[2].astype(np.float32), X[3]], [Y[0], Y[1], Y[2], Y[3]]
    gradient = distributed.grad(loss, shards=("x", "y"), engine=engine)(W, x, y)
    np.testing.assert_allclose(gradient, sum(stgrad.grad(loss)(W, a, b) for a, b in zip(x, y, strict=True)), rtol=1e-6)


SCALE = np.array([1.0, 1.0, 1.0])


def scaled(w, x):
    return np.sum(w * SCALE * x)


def test_arrays_from_outside_are_those_of_each_evaluation(engine):
    gradient = distributed.grad(scaled, shards="x", engine=engine)
    try:
        np.testing.assert_array_equal(gradient(W, [np.ones(3), np.ones(3)]), [2.0, 2.0, 2.0])
        SCALE[1] = 5.0
        np.testing.assert_array_equal(gradient(W, [np.ones(3), np.ones(3)]), [2.0, 10.0, 2.0])
    finally:
        SCALE[1] = 1.0


def test_what_a_function_writes_to_stays_in_its_shard(engine):
    def overwrites(w, x):
        x *= 2.0
        return np.sum(w * x)

    x = [np.ones(3), np.full(3, 2.0)]
    gradient = distributed.grad(overwrites, shards="x", engine=engine)
    for _ in range(2):
        np.testing.assert_array_equal(gradient(W, x), [6.0, 6.0, 6.0])
    np.testing.assert_array_equal(x, [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]])


def test_large_gradients_are_added_where_they_are(engine):
    w = np.random.default_rng(5).normal(size=200_000)
    x = [np.random.default_rng(i).normal(size=200_000) for i in range(6)]

    def f(w, x):
        return np.sum(w * x)

    np.testing.assert_array_equal(distributed.grad(f, shards="x", engine=engine)(w, x), by_tree(x))


def test_a_map_keeps_the_order(engine):
    found = distributed.map(stgrad.grad(loss), shards=("x", "y"), engine=engine)(W, X, Y)
    for g, x, y in zip(found, X, Y, strict=True):
        np.testing.assert_array_equal(g, stgrad.grad(loss)(W, x, y))


def test_ensembles(engine):
    def decay(k, y0):
        y = y0
        for _ in range(50):
            y = y - 0.01 * k * y
        return y

    k, y0 = np.linspace(0.1, 2.0, 37), 3.0
    found = distributed.vmap(stgrad.value_and_grad(decay), (0, None), chunk=8, engine=engine)(k, y0)
    wanted = stgrad.vmap(stgrad.value_and_grad(decay), (0, None))(k, y0)
    np.testing.assert_array_equal(found[0], wanted[0])
    np.testing.assert_array_equal(found[1], wanted[1])


def test_errors_of_a_shard_name_it_and_its_function(engine):
    x = [np.full(3, float(i)) for i in range(8)]
    with pytest.raises(ZeroDivisionError) as caught:
        distributed.grad(picky, shards="x", engine=engine, blocks=100)(W, x)
    notes = "\n".join(caught.value.__notes__)
    assert "shard 6 of x in `picky`" in notes or "shard 7 of x in `picky`" in notes
    assert "shard_programs.py:" in notes


def test_refusals_come_from_here_with_the_line(engine):
    def refused(w, x):
        with open("data") as file:
            return w * len(file.read()) * x

    with pytest.raises(errors.UnsupportedSyntaxError, match="with open"):
        distributed.grad(refused, shards="x", engine=engine)(1.0, [1.0, 2.0])


def test_executors_are_engines():
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        same(distributed.value_and_grad(loss, shards=("x", "y"), engine=pool)(W, X, Y), expected())


def test_ray(monkeypatch):
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")  # it would leave a token in the user's folder
    ray = pytest.importorskip("ray")
    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}  # where workers find the modules of the tests
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": paths})
    try:
        same(distributed.value_and_grad(loss, shards=("x", "y"), engine="ray")(W, X, Y), expected())
        same(distributed.value_and_grad(loss, shards=("x", "y"), engine="ray")(W, distributed.from_function(rows, 11), Y), expected())
        x = [np.full(3, float(i)) for i in range(8)]
        with pytest.raises(ZeroDivisionError):
            distributed.grad(picky, shards="x", engine="ray")(W, x)
    finally:
        ray.shutdown()
