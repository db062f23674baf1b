"""Messages that workers of Dask pass on to each other: the tree of them, what is added on the way, and the loss of one that passes on."""

from __future__ import annotations

import os
import random
import signal
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shard_programs import bounded, loss, rows, targets

from stgrad import distributed
from stgrad.distributed.reductions import Span, Tree, joined

dask = pytest.importorskip("distributed")

from stgrad.distributed import dask_direct, on_dask  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")

W = np.array([0.3, -1.2, 0.7])
X, Y = [rows(i) for i in range(23)], [targets(i) for i in range(23)]


def wanted():
    return distributed.value_and_grad(loss, shards=("x", "y"))(W, X, Y)


def check(found):
    assert found[0] == wanted()[0]
    np.testing.assert_array_equal(found[1], wanted()[1])


@given(st.integers(1, 300), st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0, 100.0]))
def test_every_worker_stands_once_in_the_tree(count, gap):
    names = [str(k) for k in range(count)]
    top = dask_direct.tree([(name, [(k, name)]) for k, name in enumerate(names)], gap)
    assert list(top.addresses()) == names
    assert list(dask_direct.numbers(top.packed())) == list(range(count))

    def told(relay):
        """When all are told, where each tells another after `gap` and may tell others 1 after it was told itself."""
        return max((k * gap + 1.0 + told(child) for k, child in enumerate(relay.below)), default=0.0)

    assert told(top) <= best(count, gap) + 1e-9


def best(count, gap):
    """The least time in which so many can be told: what is told at one time are all that could tell by then."""
    known, time, ready = 1, 0.0, [0.0]
    while known < count:
        time = min(ready)
        ready.remove(time)
        ready += [time + gap, time + 1.0]
        known += 1
    return time + 1.0 if count > 1 else 0.0


@given(st.integers(1, 64), st.randoms(use_true_random=False))
def test_spans_that_meet_in_any_order_are_added_as_the_tree_adds(count, draw):
    parts = [[Span(k, 1, str(k))] for k in range(count)]
    while len(parts) > 1:
        draw.shuffle(parts)
        parts.append(joined(parts.pop() + parts.pop(), "({} {})".format))
    tree, plain = Tree("({} {})".format), Tree("({} {})".format)
    for span in parts[0]:
        tree.add(span.state, span.count)
    for k in range(count):
        plain.add(str(k))
    assert tree.result() == plain.result()
    assert len(parts[0]) == count.bit_count()


@pytest.fixture(scope="module")
def seven():
    with dask.LocalCluster(n_workers=7, threads_per_worker=1, processes=False, dashboard_address=None) as cluster, dask.Client(cluster) as client:
        yield client


@pytest.mark.parametrize("gap", [0.0, dask_direct.GAP, 1.0, 100.0])
@pytest.mark.parametrize("blocks", [1, 3])
def test_the_bits_do_not_hang_on_the_tree_of_messages(seven, gap, blocks):
    engine = on_dask.Dask(seven, gap=gap)
    both = distributed.value_and_grad(loss, shards=("x", "y"), engine=engine, blocks=blocks)
    for _ in range(3):
        check(both(W, X, Y))


def test_evaluations_go_through_the_tree(seven, monkeypatch):
    """Not through tasks, once blocks are placed; and one answer comes back, with what was added on the way."""
    engine = on_dask.Dask(seven, gap=0.5)
    both = distributed.value_and_grad(loss, shards=("x", "y"), engine=engine, blocks=1)
    both(W, X, Y), both(W, X, Y)
    answers = []
    plain = dask_direct.Answer.results
    monkeypatch.setattr(dask_direct.Answer, "results", lambda self: answers.append(len(self.spans)) or plain(self))
    monkeypatch.setattr(engine, "submit", None)
    check(both(W, X, Y))
    assert answers == [(23 + 3) // 4 // 4 + 1]  # six blocks of four shards: four and two of them


def test_what_is_raised_below_comes_up_with_its_shard(seven, monkeypatch):
    engine = on_dask.Dask(seven, gap=100.0)
    both = distributed.value_and_grad(bounded, shards="x", engine=engine, blocks=1)
    x = [np.full(3, 1.1 * k) for k in range(7)]
    both(0.1 * np.ones(3), x), both(0.1 * np.ones(3), x)
    monkeypatch.setattr(engine, "submit", None)
    with pytest.raises(OverflowError, match="too large") as caught:
        both(np.ones(3), x)
    assert any("shard 5 of x" in note for note in caught.value.__notes__)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_worker_that_passes_on_is_killed():
    """What is below it is asked for again; the bits stay."""
    with dask.LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None) as cluster, dask.Client(cluster) as client:
        engine = on_dask.Dask(client, gap=100.0)
        both = distributed.value_and_grad(loss, shards=("x", "y"), engine=engine, retries=20)
        check(both(W, X, Y)), check(both(W, X, Y))
        for seed in range(3):
            pids = client.run(os.getpid)
            os.kill(random.Random(seed).choice(sorted(pids.values())), signal.SIGKILL)
            check(both(W, X, Y))
