"""The nan-functions of what is never NaN: integers and truth values, of which NumPy makes what the plain function makes."""

import numpy as np
import pytest

import stgrad

NAMES = ["nansum", "nanmean", "nanprod", "nanvar", "nanstd", "nanmedian", "nanmax", "nanmin", "nancumsum", "nancumprod"]
IN = {
    "int": "np.array([[1, 2, 7], [4, 3, 9]])",
    "bool": "np.array([[True, False, True], [True, True, False]])",
    "int32": "np.arange(6, dtype=np.int32).reshape(2, 3)",
}
BETWEEN = ["np.nanquantile(np.arange(4), 0.3)", "np.nanpercentile(np.arange(4), 30)", "np.nanmedian([1, 2, 3, 4])", "np.nanprod([1, 2, 3]) // 4"]


def loaded(text, tmp_path):
    path = tmp_path / "whole.py"
    path.write_text(f"import numpy as np\n\n\ndef f(x):\n    return x[0] * {text}\n")
    names = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names["f"]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("axis", ["None", "0", "1"])
@pytest.mark.parametrize("kind", IN)
@pytest.mark.parametrize("name", NAMES)
def test_of_whole_numbers(name, kind, axis, jit, tmp_path):
    f = loaded(f"np.{name}({IN[kind]}, axis={axis})", tmp_path)
    x = np.array([0.5])
    value, gradient = stgrad.vjp(f, x, jit=jit)
    want = f(x)
    np.testing.assert_allclose(value, want)
    assert np.asarray(value).dtype == np.asarray(want).dtype
    np.testing.assert_allclose(gradient(np.ones_like(want))[0], [np.sum(want) / 0.5])


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("text", BETWEEN)
def test_between_whole_numbers(text, jit, tmp_path):
    f = loaded(text, tmp_path)
    x = np.array([0.5])
    value, gradient = stgrad.value_and_grad(f, jit=jit)(x)
    assert value == pytest.approx(f(x))
    assert gradient[0] == pytest.approx(f(x) / 0.5)
