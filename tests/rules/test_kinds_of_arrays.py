"""Every function of NumPy's that takes an array, on arrays of all kinds: what NumPy gives of it, or what it raises.

Integers, truth values, narrow and complex numbers, arrays of which an extent is 0, lists and numbers; axes, of which an array may not have as many.
A program may be refused; it never gives another value, and raises only where NumPy raises. What still differs is listed, form by form.
"""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import stgrad
import stgrad.rules as rules
from stgrad.errors import StgradError
from stgrad.rules.core import _NAMES

OPERATIONS = {name for op, name in _NAMES.items() if name.startswith("np.") and name in rules.TABLE}
# Memory that nobody wrote, and functions of two or more arrays, which other tests call.
LEFT_OUT = {
    "np.array", "np.ascontiguousarray", "np.asfortranarray", "np.einsum", "np.choose", "np.select", "np.copyto",
    "np.place", "np.putmask", "np.asarray", "np.asanyarray",
}  # fmt: skip
NAMES = sorted(n for n in OPERATIONS - LEFT_OUT if not n.startswith(("np.empty", "np.random")))
ARRAYS = [
    "np.arange(1, 5)", "np.array([3, 1, 2], dtype=np.int32)", "y > 0.4", "np.outer(x, y) > 0.2", "np.arange(6).reshape(2, 3)", "x.astype(np.float32)",
    "x + 1j * y", "x[:0]", "np.zeros((0, 3)) * x[0]", "np.array([[np.nan, 1.0, x[0]], [2.0, 3.0, np.nan]])", "[x[0], 2.0]", "(x, [1.0, 2.0, 3.0])",
]  # fmt: skip
FORMS = [f"{array}{more}" for array in ARRAYS for more in ("", ", axis=0", ", axis=3")] + ["x[0]", "2.0", "[True, False]", "[1, 2, 3]"]
NUMBERS = {"x[0]", "2.0"}
# What is not NumPy's: kinds of results, what NumPy refuses though its value is plain.
KNOWN = {
    "np.bincount": {"[x[0], 2.0]"},
    "np.block": {"(x, [1.0, 2.0, 3.0])", *NUMBERS},
    "np.broadcast_shapes": {"[True, False]"},
    "np.clip": {"x[0]"},
    "np.cumulative_prod": {"2.0"},
    "np.cumulative_sum": {"2.0"},
    "np.ediff1d": {"y > 0.4", "np.outer(x, y) > 0.2", "[True, False]"},
    "np.expand_dims": NUMBERS,
    "np.linalg.multi_dot": {"[True, False]"},
    "np.linalg.tensorinv": NUMBERS,
    "np.poly": {"np.arange(1, 5)", "np.array([3, 1, 2], dtype=np.int32)", "x[:0]"},
    "np.polyint": NUMBERS,
    "np.rollaxis": {"[x[0], 2.0], axis=0"},
    "np.roots": NUMBERS,
    "np.unstack": {"[x[0], 2.0]", "[x[0], 2.0], axis=0", "[True, False]", "[1, 2, 3]"},
}
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("quiet")]
X, Y = np.array([0.3, 0.6, 0.9]), np.array([0.5, 0.2, 0.7])


@pytest.fixture
def quiet():
    with np.errstate(all="ignore"):
        yield


def function(text: str) -> Any:
    name = f"<{text}>"
    source = f"def f(x, y):\n    r = {text}\n    return r[0] if isinstance(r, (tuple, list)) else r\n"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names = {"np": np}
    exec(compile(source, name, "exec"), names)
    return names["f"]


def fault(f: Any) -> str:
    """In what a call through the compiler differs from Python's; nothing where it does not, or is refused."""
    try:
        want = f(X.copy(), Y.copy())
    except Exception as problem:  # noqa: BLE001  (whatever NumPy raises)
        want = problem
    try:
        got = stgrad.vjp(f, X.copy(), Y.copy(), jit=False)[0]
    except StgradError:
        return ""
    except Exception as problem:  # noqa: BLE001
        return "" if isinstance(want, Exception) else f"raises {type(problem).__name__}: {problem}"
    if isinstance(want, Exception):
        return f"gives {got!r}, NumPy raises {type(want).__name__}: {want}"
    a, b = np.asarray(got), np.asarray(want)
    same = a.shape == b.shape and a.dtype.kind == b.dtype.kind and np.allclose(a, b, equal_nan=True)
    return "" if same else f"gives {got!r}, NumPy {want!r}"


@pytest.mark.parametrize("name", NAMES)
def test_values(name):
    faults = {form: fault(function(f"{name}({form})")) for form in FORMS}
    found = {form: text for form, text in faults.items() if text}
    assert found.keys() == KNOWN.get(name, set()), found
