"""`stgrad build --c`: shared objects that C calls, without Python in the process."""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import stgrad
from stgrad.cli import app
from stgrad.errors import UnsupportedCallerError
from stgrad.standalone.shared import build_shared, refuse_foreign, support

pytestmark = pytest.mark.skipif(sys.platform != "linux" or shutil.which("cc") is None, reason="needs a C compiler and ELF")


def decay(x, rate, n):
    y = x
    for _ in range(n):
        if y < 0.0:
            raise ValueError(f"negative in {n} steps")
        y = y - rate * y**2
    return y


def waves(u, w, n):
    v = u.copy()
    for _ in range(n):
        v[1:-1] += 0.1 * (v[2:] - 2.0 * v[1:-1] + v[:-2])
    return np.sum(np.exp(-v * v) * w)


def grown(x, n):
    kept = []
    while x < 1e3 and len(kept) < n:
        kept.append(x)
        x = x * 1.5 + math.sin(x)
    total = 0.0
    for v in kept:
        total += v * v
    return total


PROGRAM = r"""
#include <stdio.h>
#include "decay.h"

int main(void) {
    double x_bar, rate_bar, value = decay_grad(1.5, 0.25, 4, &x_bar, &rate_bar);
    printf("%.17g %.17g %.17g %d\n", value, x_bar, rate_bar, decay_grad(-1.0, 0.25, 4, &x_bar, &rate_bar) != decay_grad(-1.0, 0.25, 4, &x_bar, &rate_bar));
    return 0;
}
"""


def built(f, args, wrt, folder: Path):
    g = stgrad.value_and_grad(f, wrt)
    target, _ = build_shared(f, args, wrt, folder / f"{f.__name__}.so")
    return g, getattr(ctypes.CDLL(str(target)), g.__name__)


def test_a_c_program_calls_it_without_python(tmp_path: Path) -> None:
    g = stgrad.value_and_grad(decay, ("x", "rate"))
    target, header = build_shared(decay, (1.0, 0.5, 3), ("x", "rate"), tmp_path / "decay.so")
    assert "double decay_grad(double x, double rate, intptr_t n, double *x_bar, double *rate_bar);" in header.read_text()
    (tmp_path / "main.c").write_text(PROGRAM)
    subprocess.run(["cc", "-Wall", "-Werror", "main.c", str(target), f"-Wl,-rpath,{tmp_path}", "-o", "main"], cwd=tmp_path, check=True)
    value, x_bar, rate_bar, raised = map(float, subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout.split())
    assert (value, (x_bar, rate_bar)) == g(1.5, 0.25, 4)
    assert raised == 1.0, "a value that is not itself: NaN"
    needed = subprocess.run(["ldd", str(tmp_path / "main")], capture_output=True, text=True, check=True).stdout
    assert "python" not in needed


def test_arrays_are_pointers_and_extents(tmp_path: Path) -> None:
    u, w = np.linspace(-1.0, 1.0, 9), np.linspace(0.0, 1.0, 9)
    g, call = built(waves, (u, w, 2), ("u", "w"), tmp_path)
    double = ctypes.POINTER(ctypes.c_double)
    call.restype = ctypes.c_double
    call.argtypes = [double, ctypes.c_ssize_t, double, ctypes.c_ssize_t, ctypes.c_ssize_t, double, double]
    for n in (0, 1, 5):
        bars = np.empty(9), np.empty(9)
        value = call(u.ctypes.data_as(double), 9, w.ctypes.data_as(double), 9, n, *(b.ctypes.data_as(double) for b in bars))
        wanted, gradients = g(u, w, n)
        assert value == pytest.approx(wanted, rel=1e-14)
        np.testing.assert_allclose(bars, gradients, rtol=1e-13)
    assert math.isnan(call(u.ctypes.data_as(double), 9, w.ctypes.data_as(double), 8, 1, *(b.ctypes.data_as(double) for b in bars))), "shapes do not fit"


def test_growable_memory_is_given_back(tmp_path: Path) -> None:
    g, call = built(grown, (1.0, 5), "x", tmp_path)
    call.restype, call.argtypes = ctypes.c_double, [ctypes.c_double, ctypes.c_ssize_t, ctypes.POINTER(ctypes.c_double)]
    x_bar = ctypes.c_double()
    for x, n in ((1.0, 50), (0.5, 3), (2e3, 5)):
        assert (call(x, n, x_bar), x_bar.value) == g(x, n)
    resident = Path("/proc/self/statm")
    before = int(resident.read_text().split()[1])
    for _ in range(100_000):
        call(1.0, 50, x_bar)
    assert int(resident.read_text().split()[1]) - before < 500, "pages"


def test_reshapes_without_a_copy_where_numpy_does(tmp_path: Path) -> None:
    (tmp_path / "support.c").write_text(support())
    subprocess.run(["cc", "-shared", "-fPIC", "-DHIDDEN=", "support.c", "-o", "support.so"], cwd=tmp_path, check=True)
    reshape = ctypes.CDLL(str(tmp_path / "support.so")).numba_attempt_nocopy_reshape
    rng, seen = np.random.default_rng(0), set()
    shapes = [(12,), (3, 4), (4, 3), (2, 6), (2, 3, 2), (1, 12), (12, 1), (2, 1, 6), (3, 2, 1, 2)]
    for _ in range(400):
        shape, wish = (shapes[rng.integers(len(shapes))] for _ in range(2))
        base = np.zeros([n * 2 for n in shape])
        a = base[tuple(slice(0, n * s, s) for n, s in zip(shape, rng.integers(1, 3, len(shape))))].transpose(rng.permutation(len(shape)))
        new = a.reshape(wish)
        strides = (ctypes.c_ssize_t * len(wish))()
        longs = [(ctypes.c_ssize_t * len(v))(*v) for v in (a.shape, a.strides, wish)]
        done = reshape(ctypes.c_ssize_t(a.ndim), longs[0], longs[1], ctypes.c_ssize_t(len(wish)), longs[2], strides, ctypes.c_ssize_t(8), 0)
        assert done == np.shares_memory(a, new), (a.shape, a.strides, wish)
        assert not done or all(s == t for n, s, t in zip(wish, strides, new.strides) if n > 1)
        seen.add(done)
    assert seen == {0, 1}


def test_what_needs_python_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedCallerError, match="`solving.inverse` of stgrad's runtime"):
        build_shared(lambda a: np.sum(np.linalg.inv(a)), (np.eye(2),), 0, tmp_path / "a.so")
    with pytest.raises(UnsupportedCallerError, match="cannot pass `s`"):
        build_shared(lambda x, s: x, (1.0, "text"), 0, tmp_path / "a.so")
    with pytest.raises(UnsupportedCallerError, match="has no defaults"):
        build_shared(lambda x, k=2.0: x * k, (1.0,), 0, tmp_path / "a.so")
    with pytest.raises(UnsupportedCallerError, match="returns a float, not"):
        build_shared(lambda x: (x, x), (1.0,), (), tmp_path / "a.so")
    from scipy import special

    with pytest.raises(UnsupportedCallerError, match="cannot leave Python"):
        build_shared(lambda x: special.digamma(x), (1.0,), 0, tmp_path / "a.so")
    assert list(tmp_path.glob("*.so")) == []


def test_addresses_of_this_process_are_refused() -> None:
    import llvmlite.binding as llvm

    text = "define double @f(double %x) {{\n  %y = call double {}(double %x)\n  ret double %y\n}}\ndeclare double @sin(double)\n"
    refuse_foreign(llvm.parse_assembly(text.format("@sin")))
    with pytest.raises(UnsupportedCallerError, match="at an address of this process"):
        refuse_foreign(llvm.parse_assembly(text.format("inttoptr (i64 140234567890123 to ptr)")))


def test_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text("def area(a, b):\n    return a * b\n")
    done = CliRunner().invoke(app, ["build", "model.py:area", "--c", "--wrt", "b", "--args", "1.0, 2.0"])
    assert done.output == "wrote area.so, area.h\n", done.exception
    assert "double area_grad(double a, double b, double *b_bar);" in Path("area.h").read_text()
    done = CliRunner().invoke(app, ["build", "model.py:area", "--c", "--mode", "primal", "--args", "1.0, 2.0", "-o", "value.so"])
    assert "double area(double a, double b);" in Path("value.h").read_text()
    done = CliRunner().invoke(app, ["build", "model.py:area", "--c", "--mode", "grad,primal", "--args", "1.0, 2.0"])
    assert "--c: one function" in str(done.exception) + done.output
