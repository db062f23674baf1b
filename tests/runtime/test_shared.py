"""Functions that are compiled once a machine: the same results and errors as in the program itself, from a second process too."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading

import numba
import numpy as np
import pytest

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
    lefts, rights = (a, np.asfortranarray(a), np.repeat(a, 2, axis=1)[:, ::2]), (b, b[:, 0].copy(), np.asfortranarray(b))
    pairs = itertools.product(lefts, rights) if dtype == np.float64 else zip(lefts, rights, strict=True)  # each pair is compiled anew
    for left, right in pairs:
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
    for entry in shared._slots.values():
        entry.fill()
        assert entry.native.signature.return_type == entry.result, entry.symbol


def test_plain_python_runs_the_function_itself() -> None:
    x = np.array([[4.0], [6.0]])
    substitute(np.array([[2.0, 0.0], [1.0, 4.0]]), x, False, True, False)
    np.testing.assert_array_equal(x, [[2.0], [1.0]])


def matrix_chain(a, b):
    for _ in range(3):
        a = np.tanh(a @ b)
    return np.sum(a * a)


THREADED = """
import numpy as np, stgrad
from stgrad.runtime import shared

def f(a, b):
    total = np.zeros(len(a))
    for i in range(len(a)):
        total[i] = np.sum(np.tanh(a[i] @ b)) + np.sin(a[i, 0, 0])
    return np.sum(total * total)

a, b = np.linspace(0.0, 1.0, 48 * 400).reshape(48, 20, 20), np.eye(20)
gradient = stgrad.value_and_grad(f, (0, 1), jit=True, parallel=True)
gradient.dispatcher(a, b)
print(sorted(s.symbol for s in shared._slots.values() if s.slot.value))
print(*(round(float(np.sum(x)), 9) for x in gradient(a, b)[1]))
"""


def test_threads_find_their_functions(tmp_path, monkeypatch) -> None:
    """A program of threads that is loaded finds what it calls before these start: they cannot wait for Python."""
    monkeypatch.setenv("STGRAD_CACHE_DIR", str(tmp_path))
    (tmp_path / "program.py").write_text(THREADED)
    first, second = (
        subprocess.run([sys.executable, str(tmp_path / "program.py")], capture_output=True, text=True, check=True).stdout.splitlines() for _ in range(2)
    )
    assert first[1] == second[1]
    assert "stgrad_shared_products__matrices_float64" in second[0]


def test_two_threads_that_compile_and_run_wait_for_one_lock() -> None:
    """One compiles a program that needs a function, the other runs one that must fill its slot."""
    compiled = numba.njit(nogil=True)(lambda a, b: runtime.solve(a, b))
    a, b = np.eye(3) * 2.0, np.ones(3)
    compiled(a, b)
    (entry,) = (s for s in shared._slots.values() if s.symbol.endswith("solve_vector_float64"))
    done: list[float] = []
    for _ in range(3):
        entry.slot.value = None
        others = [numba.njit(nogil=True)(lambda a, b, k=k: runtime.solve(a, b) * k) for k in range(2)]
        threads = [threading.Thread(target=lambda f=f: done.append(f(a, b)[0]), daemon=True) for f in (compiled, *others)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
    assert len(done) == 9
