"""Functions that are compiled once a machine: the same results and errors as in the program itself, from a second process too."""

from __future__ import annotations

import subprocess
import sys
import threading

import numba
import numpy as np
import pytest

import stgrad
from stgrad import runtime
from stgrad.runtime import shared
from stgrad.runtime.factors import cholesky_bar
from stgrad.runtime.triangular import substitute

PROGRAM = """
import numpy as np, stgrad
from numba.core import event

class Heard(event.Listener):
    names = []
    def on_start(self, event): self.names.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event): pass

event.register("numba:compile", Heard())

def f(a, b):
    return np.sum(np.linalg.solve(a @ a.T + np.eye(len(b)), b) ** 2)

a = np.arange(64.0).reshape(8, 8) / 40.0
value, (a_bar, b_bar) = stgrad.value_and_grad(f, (0, 1), jit=True)(a, np.ones(8))
print(value, np.sum(a_bar), np.sum(b_bar))
print(sorted({n for n in Heard.names if n in ("_matrices", "_solve_vector", "f_grad")}))
"""


def test_a_second_process_compiles_nothing(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("STGRAD_CACHE_DIR", str(tmp_path))
    (tmp_path / "program.py").write_text(PROGRAM)
    first, second = (
        subprocess.run([sys.executable, str(tmp_path / "program.py")], capture_output=True, text=True, check=True).stdout.splitlines() for _ in range(2)
    )
    assert first[0] == second[0]
    assert "_solve_vector" in first[1]
    assert second[1] == "[]"
    (tmp_path / "program.py").write_text(PROGRAM.replace("** 2", "** 4"))
    (third,) = subprocess.run([sys.executable, str(tmp_path / "program.py")], capture_output=True, text=True, check=True).stdout.splitlines()[1:]
    assert third == "['f_grad']"  # another program, which finds the functions of the runtime


@numba.njit
def solved(a, b):
    return runtime.solve(a, b)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("n", [2, 5, 9])
def test_systems_of_all_layouts(dtype, n: int) -> None:
    rng = np.random.default_rng(n)
    a, b = (rng.standard_normal((n, n)) + n * np.eye(n)).astype(dtype), rng.standard_normal((n, 3)).astype(dtype)
    for left in (a, np.asfortranarray(a), np.repeat(a, 2, axis=1)[:, ::2]):
        for right in (b, b[:, 0].copy(), np.asfortranarray(b)):
            found = solved(left, right)
            assert found.dtype == dtype
            np.testing.assert_allclose(found, np.linalg.solve(left, right), rtol=2e-4 if dtype == np.float32 else 1e-11)


def test_errors_arrive_as_they_are() -> None:
    @numba.njit
    def caught(a, b):
        try:
            runtime.solve(a, b)
        except Exception:  # noqa: BLE001
            return 1
        return 0

    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        solved(np.ones((3, 3)), np.ones(3))
    assert caught(np.ones((3, 3)), np.ones(3)) == 1
    product = numba.njit(lambda a, b: runtime.matmul(a, b))
    with pytest.raises(ValueError, match="extents"):
        product(np.ones((30, 30)), np.ones((29, 30)))


def test_an_empty_slot_is_filled_while_a_program_runs() -> None:
    """As in a process that loads a program from disk; from threads without Python's lock, too."""
    compiled = numba.njit(nogil=True)(lambda low, bar: cholesky_bar(low, bar))
    low = np.linalg.cholesky(np.eye(40) * 3 + 0.5)
    expected = compiled(low, low)
    (entry,) = (s for s in shared._slots.values() if s.symbol.endswith("by_blocks_float64"))
    entry.slot.value = None
    results: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: results.append(compiled(low, low))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert entry.slot.value is not None
    for result in results:
        np.testing.assert_array_equal(result, expected)


def test_results_leak_nothing() -> None:
    from numba.core.runtime import _nrt_python, rtsys

    a = np.eye(9) * 2.0
    _nrt_python.memsys_enable_stats()
    solved(a, np.ones(9))
    before = rtsys.get_allocation_stats()
    for _ in range(100):
        solved(a, np.ones(9))
    after = rtsys.get_allocation_stats()
    assert after.alloc - before.alloc == after.free - before.free


def test_results_have_the_types_that_programs_expect() -> None:
    shared.fill_all()
    for entry in shared._slots.values():
        assert entry.native.signature.return_type == entry.result, entry.symbol


def test_plain_python_runs_the_function_itself() -> None:
    x = np.array([[4.0], [6.0]])
    substitute(np.array([[2.0, 0.0], [1.0, 4.0]]), x, False, True, False)
    np.testing.assert_array_equal(x, [[2.0], [1.0]])


def matrix_chain(a, b):
    for _ in range(3):
        a = np.tanh(a @ b)
    return np.sum(a * a)


def test_threads_find_their_functions(tmp_path) -> None:
    """With `parallel=True` all are there before threads start: these cannot wait for Python."""
    a, b = np.linspace(0.0, 1.0, 1600).reshape(40, 40), np.eye(40) * 0.5
    plain, threaded = (stgrad.grad(matrix_chain, jit=True, parallel=p)(a, b) for p in (False, True))
    np.testing.assert_allclose(threaded, plain, rtol=1e-12)
    assert all(s.slot.value for s in shared._slots.values())
