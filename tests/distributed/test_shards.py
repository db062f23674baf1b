"""What can stand for an argument in shards, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from shard_programs import loss, rows, targets

import stgrad
from stgrad import distributed
from stgrad.distributed.reductions import Tree
from stgrad.errors import ShardError, UnsupportedSyntaxError

pytestmark = pytest.mark.filterwarnings("default")

W = np.array([0.3, -1.2, 0.7])
X, Y = [rows(i) for i in range(11)], [targets(i) for i in range(11)]


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
def both(request):
    engine = None
    if request.param != "threads":
        engine = request.getfixturevalue("cluster" if request.param == "dask" else "processes")
    return distributed.value_and_grad(loss, shards=("x", "y"), engine=engine)


def check(both, x, y):
    wanted = distributed.value_and_grad(loss, shards=("x", "y"))(W, X, Y)
    for _ in range(2):
        value, gradient = both(W, x, y)
        assert value == wanted[0]
        np.testing.assert_array_equal(gradient, wanted[1])


@pytest.mark.parametrize("keep", [True, False])
def test_made_by_functions(both, keep):
    check(both, distributed.from_function(rows, 11, keep=keep), distributed.from_function(targets, 11, keep=keep))


def test_constant(both):
    check(both, distributed.constant(X), distributed.constant(Y))


def test_functions_that_return_iterators(both):
    check(both, lambda: iter(X), lambda: (y for y in Y))


def test_a_mixture(both):
    check(both, distributed.from_function(rows, 11), Y)


def test_zarr(both, tmp_path):
    zarr = pytest.importorskip("zarr")
    for name, parts in (("x", X), ("y", Y)):
        data = np.concatenate(parts)
        zarr.create_array(tmp_path / name, shape=data.shape, chunks=(20, *data.shape[1:]), dtype="float64")[:] = data
    check(both, distributed.from_zarr(tmp_path / "x"), distributed.from_zarr(tmp_path / "y", rows=20))


def test_parquet(both, tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    x, y = np.concatenate(X), np.concatenate(Y)
    table = pyarrow.table({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "y": y})
    parquet.write_table(table, tmp_path / "data.parquet", row_group_size=20)
    check(both, distributed.from_parquet(tmp_path / "data.parquet", ["a", "b", "c"]), distributed.from_parquet([tmp_path / "data.parquet"], "y"))


def test_dask_arrays(both):
    arrays = pytest.importorskip("dask.array")
    check(both, arrays.from_array(np.concatenate(X), chunks=(20, 2)), arrays.from_array(np.concatenate(Y), chunks=20))


def test_dask_frames(both):
    frames, pandas = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    x, y = np.concatenate(X), np.concatenate(Y)
    frame = frames.from_pandas(pandas.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "y": y}), chunksize=20, sort=False)
    check(both, frame[["a", "b", "c"]], frame["y"])


def test_numbers_of_shards_must_agree(both):
    with pytest.raises(ShardError, match="`y` has 10 shards, x more"):
        both(W, X, Y[:10])
    with pytest.raises(ShardError, match="`x` has no shards"):
        both(W, [], [])


def test_what_has_no_shards(both):
    with pytest.raises(ShardError, match="`x` comes in shards, and was given as ndarray"):
        both(W, np.ones((4, 3)), Y)


def test_an_iterator_that_is_used_up(both):
    used = iter(X)
    both(W, used, iter(Y))
    with pytest.raises(ShardError, match="has no shards"):
        both(W, used, iter([]))


def test_requests_without_sense():
    with pytest.raises(ShardError, match="no argument comes in shards"):
        distributed.value_and_grad(loss)
    with pytest.raises(ShardError, match="`x` comes in shards, and is to be differentiated"):
        distributed.value_and_grad(loss, argnums="x", shards=("x", "y"))
    with pytest.raises(ShardError, match="reduce='median' is no reduction"):
        distributed.value_and_grad(loss, shards=("x", "y"), reduce="median")
    with pytest.raises(ShardError, match="the Hessian is no sum"):
        distributed.hvp(loss, shards=("x", "y"), reduce="max")
    with pytest.raises(ShardError, match="is no engine"):
        distributed.value_and_grad(loss, shards=("x", "y"), engine="mpi")


def soft(w, x):
    return np.sum(np.sin(w * x))


WHOLE = {
    "sum": lambda w, xs: sum(soft(w, x) for x in xs),
    "mean": lambda w, xs: sum(soft(w, x) for x in xs) / len(xs),
    "prod": lambda w, xs: np.prod([soft(w, x) for x in xs]),
    "max": lambda w, xs: max(soft(w, x) for x in xs),
    "min": lambda w, xs: min(soft(w, x) for x in xs),
    "logsumexp": lambda w, xs: np.log(sum(np.exp(soft(w, x)) for x in xs)),
}


@pytest.mark.parametrize("reduce", WHOLE)
def test_reductions_against_differences(reduce):
    xs = [np.random.default_rng(i).normal(size=3) for i in range(5)]
    value, gradient = distributed.value_and_grad(soft, shards="x", reduce=reduce)(W, xs)
    slope = distributed.jvp(soft, shards="x", reduce=reduce)(np.array([1.0, 2.0, -1.0]), W, xs)[1]
    whole = WHOLE[reduce]
    assert value == pytest.approx(whole(W, xs))
    for k in range(3):
        h = 1e-6 * np.eye(3)[k]
        assert gradient[k] == pytest.approx((whole(W + h, xs) - whole(W - h, xs)) / 2e-6, rel=1e-6, abs=1e-8)
    assert slope == pytest.approx(gradient @ [1.0, 2.0, -1.0])


def test_logsumexp_of_numbers_beyond_exp():
    value, gradient = distributed.value_and_grad(lambda w, x: w * x, shards="x", reduce="logsumexp")(1.0, [1000.0, 999.0, -5.0])
    assert value == pytest.approx(1000.0 + np.log1p(np.exp(-1.0)))
    assert gradient == pytest.approx((1000.0 + 999.0 * np.exp(-1.0)) / (1.0 + np.exp(-1.0)))


@pytest.mark.parametrize("count", range(1, 20))
def test_aligned_blocks_are_subtrees(count):
    def tree(parts):
        made = Tree(lambda a, b: (a, b))
        for part in parts:
            made.add(part)
        return made.result()

    for size in (1, 2, 4, 8):
        assert tree([tree(range(count)[i : i + size]) for i in range(0, count, size)]) == tree(range(count))


def test_nothing_of_the_schedulers_is_imported():
    import subprocess
    import sys

    code = "import sys, stgrad.distributed; print([m for m in ('dask', 'distributed', 'ray', 'zarr', 'pyarrow') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    assert "distributed" not in vars(stgrad) or stgrad.distributed is distributed


def _noisy_global(w, x):
    return w * np.sum(x) * np.random.normal()


def _noisy_passed(w, x, rng):
    return w * np.sum(x) * rng.normal()


def _noisy_seeded(w, x, seed):
    rng = np.random.default_rng(seed)
    return sum(w * v * rng.normal() for v in x)


def test_draws_from_generators_of_this_process_are_refused():
    """A worker has no such generator: its address means nothing there."""
    x = [np.ones(3), np.ones(3)]
    with pytest.raises(UnsupportedSyntaxError, match="while shards are evaluated"):
        distributed.value_and_grad(_noisy_global, shards=("x",))(1.0, x)
    with pytest.raises(UnsupportedSyntaxError, match="random numbers are drawn"):
        distributed.value_and_grad(_noisy_passed, shards=("x",))(1.0, x, np.random.default_rng(1))
    with pytest.raises(UnsupportedSyntaxError, match="random numbers are drawn"):
        distributed.value_and_grad(_noisy_passed, shards=("x", "rng"))(1.0, x, [np.random.default_rng(1), np.random.default_rng(2)])


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_a_seed_for_each_shard(engine):
    x = [np.arange(4.0), np.ones(3), np.ones(2)]
    with distributed.value_and_grad(_noisy_seeded, shards=("x", "seed"), engine=engine) as both:
        value, w_bar = both(1.5, x, [3, 4, 5])
    np.testing.assert_allclose(value, sum(_noisy_seeded(1.5, v, seed) for v, seed in zip(x, (3, 4, 5), strict=True)), rtol=1e-14)
    np.testing.assert_allclose(w_bar, value / 1.5, rtol=1e-14)
