"""Narrow integers, truth values and short floats among doubles: what NumPy makes a double of is one, in sums of such numbers too."""

from __future__ import annotations

import linecache

import numpy as np
import pytest

import stgrad

FORMS = {
    "array": "a = np.array([c, 1.5])\n    return (a[0] + a[0]) * x",
    "items": "a = np.zeros(2); a[0] = c; a[1] = c\n    return (a[0] + a[1]) * x",
    "slice": "a = np.zeros(2); a[:] = c\n    return (a[0] + a[1]) * x",
    "full": "a = np.full(2, c, dtype=float)\n    return (a[0] + a[1]) * x",
    "list": "a = np.array([c, c], dtype=float)\n    return (a[0] + a[1]) * x",
    "joined": "a = np.concatenate([[c], [1.5]])\n    return (a[0] + a[0]) * x",
    "ones": "return np.sum(c * np.ones(2) * x)",
    "stretched": "a = np.broadcast_to(c, (3,)) * 1.0\n    return (a[0] + a[1]) * x",
    "stacked": "a = np.stack([c * np.ones(2), np.ones(2)])\n    return (a[0, 0] + a[0, 1]) * x",
    "where": "a = np.where(x > 0, c, 0.0)\n    return (a + a) * x",
    "numbers": "a = float(c); b = np.float64(c); d = c + 0.0; e = c * 1.0\n    return (a + a + b + b + d + d + e + e) * x",
    "python's choice": "a = c if x > 0 else 0\n    return (a + a) * x",
    "list of rows": "a = np.ones(3); a[1:] = [c, c]\n    return np.sum(a) * x",
    "power": "return x ** c if c < 5 else x * c",
    "counted": "return np.sum(np.arange(3) * c) * x + np.sum(c + 100 * np.arange(3)) * x",
    "differences": "return np.sum(np.gradient(np.array([c, c - c, c]))) * x if c.dtype.kind != 'b' else x * c",
    "captured": "return np.sum(c) * x",
}
NUMBERS = [np.uint8(200), np.int8(100), np.bool_(True), np.float32(0.1), np.int16(30000)]


def function(form: str, names: dict) -> object:
    source = f"def f(x{'' if names else ', c'}):\n    {FORMS[form]}\n"
    file = f"<{form} {names}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope = {"np": np, **names}
    exec(compile(source, file, "exec"), scope)
    return scope["f"]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("number", NUMBERS, ids=repr)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore")
def test_values(form, number, jit):
    for f, args in ((function(form, {"c": number}), ()), (function(form, {}), (number,))):
        if form == "python's choice" and (jit and number.dtype.kind in "iu" or number.dtype.kind == "b"):
            continue  # Numba adds them as words, and of a truth value and an integer the type is that of the integer
        want = f(0.7, *args)
        assert stgrad.value_and_grad(f, jit=jit)(0.7, *args)[0] == pytest.approx(want, rel=1e-12 if form != "python's choice" else 1e-7)


def test_arrays_of_another_byte_order(tmp_path, monkeypatch):
    """They were constants of a program that was kept for arrays of all contents."""
    monkeypatch.setenv("STGRAD_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("STGRAD_PROGRAM_CACHE", "1")
    with pytest.raises(stgrad.errors.NotDifferentiableError, match="byte order"):
        stgrad.grad(function("captured", {"c": np.array([1.5, 2.0], ">f8")}))(1.0)
    assert stgrad.grad(function("captured", {"c": np.array([5.0, 6.0])}))(1.0) == 11.0





@pytest.mark.parametrize("value", [{"a": 1.5}, np.array([(1.0, 2)], dtype=[("a", float), ("b", int)])], ids=["dict", "records"])
def test_what_is_no_array_of_numbers(value):
    with pytest.raises(TypeError, match="is no array of numbers"):
        stgrad.grad(function("captured", {"c": value}), jit=True)(1.0)


@pytest.mark.parametrize("jit", [False, True])
def test_texts_of_numpy_are_texts(jit):
    """As arguments: they are known when the program is read, and no numbers."""

    def f(x, mode):
        return x * 2.0 if mode == "double" else x * x

    slope = stgrad.grad(f, jit=jit)
    assert [slope(0.7, mode) for mode in (np.str_("double"), np.str_("square"), "double")] == [2.0, 1.4, 2.0]
