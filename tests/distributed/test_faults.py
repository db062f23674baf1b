"""Killed, slow and failing workers: the same numbers, or an error that names the shards. Nothing hangs."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from shard_programs import DiesOnce, loss, rows, slow_rows, targets, unreadable

from stgrad import distributed
from stgrad.errors import ShardError

pytestmark = pytest.mark.filterwarnings("default")

W = np.array([0.3, -1.2, 0.7])
X, Y = [rows(i) for i in range(11)], [targets(i) for i in range(11)]


def wanted():
    return distributed.value_and_grad(loss, shards=("x", "y"))(W, X, Y)


def check(found):
    assert found[0] == wanted()[0]
    np.testing.assert_array_equal(found[1], wanted()[1])


@pytest.fixture
def client():
    dask = pytest.importorskip("distributed")
    with dask.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as running, dask.Client(running) as client:
        yield client


@pytest.fixture
def processes():
    engine = distributed.Processes(2)
    yield engine
    engine.close()


def test_a_killed_process_is_replaced(processes, tmp_path):
    both = distributed.value_and_grad(loss, shards=("x", "y"), engine=processes)
    check(both(W, distributed.from_function(DiesOnce(str(tmp_path)), 11), Y))
    for _ in range(2):
        for process in processes._pool._processes.values():
            process.kill()
        check(both(W, X, Y))


def test_a_shard_that_kills_every_process_is_named(processes, tmp_path):
    both = distributed.value_and_grad(loss, shards=("x", "y"), engine=processes, retries=2)
    with pytest.raises(ShardError, match=r"shards? \d.* of x, y in `loss` .*shard_programs.py:\d+\) got lost again and again"):
        both(W, distributed.from_function(DiesOnce(str(tmp_path), always=True), 11, keep=False), Y)


@pytest.mark.parametrize("engine", ["threads", "processes", "dask"])
def test_what_cannot_be_read_is_named(engine, request):
    engine = {"threads": lambda: None, "processes": lambda: request.getfixturevalue("processes"), "dask": lambda: request.getfixturevalue("client")}[engine]()
    with pytest.raises((FileNotFoundError, ValueError)) as caught:
        distributed.value_and_grad(loss, shards=("x", "y"), engine=engine)(W, distributed.from_function(unreadable, 11), Y)
    assert any("This was shard" in note and "of x, y" in note for note in caught.value.__notes__)


def test_a_process_that_hangs_is_given_up(processes):
    both = distributed.value_and_grad(loss, shards=("x", "y"), engine=processes, timeout=3.0, blocks=100)
    with pytest.raises(ShardError, match=r"nothing came back for 3 s of shard 0, .*of x, y in `loss`"):
        both(W, distributed.from_function(slow_rows, 11, keep=False), Y)
    for process in processes._pool._processes.values():
        process.kill()


def test_a_worker_of_dask_that_hangs_is_given_up(client):
    both = distributed.value_and_grad(loss, shards=("x", "y"), engine=client, timeout=3.0, blocks=100)
    with pytest.raises(ShardError, match="nothing came back for 3 s of"):
        both(W, distributed.from_function(slow_rows, 11), Y)


def test_random_kills_of_dask_workers(client):
    """Workers are killed at random times; every evaluation gives the same bits."""
    both = distributed.value_and_grad(loss, shards=("x", "y"), engine=client, retries=20)
    made = distributed.value_and_grad(loss, shards=("x", "y"), engine=client, retries=20)
    x, y = distributed.from_function(rows, 11), distributed.from_function(targets, 11)
    check(both(W, X, Y))
    stop, chance = threading.Event(), random.Random(0)
    killed = []

    def killer():
        while not stop.wait(chance.uniform(0.2, 2.0)):
            if len(client.scheduler_info(n_workers=-1)["workers"]) < 2:  # one is still starting
                continue
            pid = chance.choice([w.process.pid for w in client.cluster.workers.values() if w.process is not None and w.process.pid])
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    thread = threading.Thread(target=killer)
    thread.start()
    try:
        until = time.monotonic() + 12.0
        while time.monotonic() < until:
            check(both(W, X, Y))
            check(made(W, x, y))
    finally:
        stop.set()
        thread.join()
    assert killed


def test_a_scheduler_that_ends_is_an_error():
    dask = pytest.importorskip("distributed")
    cluster = dask.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0")
    client = dask.Client(cluster, timeout=2)
    both = distributed.value_and_grad(loss, shards=("x", "y"), engine=client, timeout=30.0)
    check(both(W, X, Y))
    cluster.close()
    with pytest.raises(ShardError, match="scheduler"):
        both(W, X, Y)
    client.close()


@pytest.fixture
def tcp():
    """A scheduler and two workers as commands start them, over the loopback; their processes, and a client."""
    dask = pytest.importorskip("distributed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    command = [sys.executable, "-m", "dask"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    started = [subprocess.Popen([*command, "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"], **quiet)]
    for _ in range(2):
        started.append(subprocess.Popen([*command, "worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"], **quiet))
    try:
        with dask.Client(address, timeout=30) as client:
            client.wait_for_workers(2, timeout=60)
            yield started, client
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_workers_over_tcp(tcp):
    (scheduler, worker, _), client = tcp
    both = distributed.value_and_grad(loss, shards=("x", "y"), engine=client, timeout=60.0)
    check(both(W, X, Y))
    worker.kill()  # and none in its place
    check(both(W, X, Y))
    scheduler.kill()
    with pytest.raises(ShardError, match=r"connection to the scheduler|cannot be sent|got lost"):
        both(W, X, Y)
