"""Calls of Python functions from compiled code: values, forms of results, exceptions, references, the disk cache."""

import sys
import threading

import numpy as np
import pytest

from stgrad import runtime
from stgrad.loader import load
from stgrad.runtime.call import prepared
from tests.test_cache import cache_dir, python  # noqa: F401  (a fixture)


def program(call, params="a"):
    """A function with the call as its body, compiled and plain."""
    text = f"from stgrad import runtime\n\n\ndef f({params}):\n    return {call}\n"
    return load(text, "f"), load(text, "f", jit=False)


A = np.arange(6.0).reshape(3, 2)
CALLS = [
    ("lambda a: np.einsum('ij,ij->i', a, a)", "float64[:]"),
    ("lambda a: np.sum(np.stack([a, a]), axis=(0, 2), keepdims=True)", "float64[:, :, :]"),
    ("lambda a: a.T", "float64[:, :]"),
    ("lambda a: a", "float64[:, :]"),
    ("lambda a: np.broadcast_to(a[0], (3, 2))", "float64[:, :]"),
    ("lambda a: a.sum()", "float64"),
    ("lambda a: a.sum()", "float32"),
    ("lambda a: a.shape[0]", "int64"),
    ("lambda a: (a > 2).any()", "bool"),
    ("lambda a: np.fft.rfft(a[:, 0])", "complex128[:]"),
    ("lambda a: a.astype(np.float32)", "float32[:, :]"),
    ("lambda a: a > 2", "bool[:, :]"),
    ("lambda a: np.array(a.sum())", "float64[()]"),
    ("lambda a: np.linalg.svd(a, full_matrices=False)", "(float64[:, :], float64[:], float64[:, :])"),
    ("lambda a: (1, a.sum(), a)", "(int64, float64, float64[:, :])"),
    ("lambda a: scipy.special.erf(a)", "float64[:, :]"),
    ("lambda a: len('ä€')", "int64"),
    ("lambda a: None", "None"),
]


@pytest.mark.parametrize(("text", "result"), CALLS)
def test_compiled_equals_plain(text, result):
    fast, plain = program(f"runtime.call_python({text!r}, {result!r}, a)")
    x, y = fast(A), plain(A)
    for u, v in zip(x, y, strict=True) if isinstance(y, tuple) else [(x, y)]:
        np.testing.assert_array_equal(u, v)
        if isinstance(v, np.ndarray):
            assert u.dtype == v.dtype and u.flags.c_contiguous and u.flags.writeable and not np.shares_memory(u, A)


def test_arguments_of_every_kind():
    call = "runtime.call_python('lambda a, s, i, b, c, t, z: a[0, 0] + s + i + b + c.real + t.sum() + z', 'float64', a, s, i, b, c, t, z)"
    fast, plain = program(call, "a, s, i, b, c, t, z")
    args = (A, 1.5, 2, True, 3.0 + 1.0j, A.T, np.float32(0.5))
    assert fast(*args) == plain(*args) == 0 + 1.5 + 2 + 1 + 3 + 15 + 0.5


def test_effect_on_an_argument():
    fast, plain = program("runtime.call_python('lambda a, i: np.add.at(a, i, 1.0)', 'None', a, i)", "a, i")
    for f in (fast, plain):
        a = np.zeros(3)
        assert f(a, np.array([0, 2, 2])) is None
        assert a.tolist() == [1.0, 0.0, 2.0]


@pytest.mark.parametrize("which", [0, 1])
def test_exceptions_pass_through(which):
    f = program("runtime.call_python('lambda a: np.linalg.inv(a)', 'float64[:, :]', a)")[which]
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        f(np.zeros((2, 2)))
    assert f(np.eye(2)).tolist() == np.eye(2).tolist()
    f = program("runtime.call_python('lambda a: a', 'float64[:]', a)")[which]
    with pytest.raises(TypeError, match=r"rank 1, got one of shape \(3, 2\)"):
        f(A)
    f = program("runtime.call_python('lambda a: nonsense(a)', 'float64[:]', a)")[which]
    with pytest.raises(NameError, match="nonsense"):
        f(A)


def test_bad_text_is_an_error_at_the_call():
    fast, _ = program("runtime.call_python('lambda a: (', 'float64', a)")
    with pytest.raises(SyntaxError):
        fast(A)


def test_no_references_are_lost():
    fast, _ = program("runtime.call_python('lambda a: (a, a + 1.0)', '(float64[:, :], float64[:, :])', a)")
    a = np.ones((50, 50))
    results = [fast(a) for _ in range(10)]
    before = sys.getrefcount(a)
    results += [fast(a) for _ in range(100)]
    assert sys.getrefcount(a) == before
    first = results[0][0]
    del results
    assert first.sum() == 2500.0


def test_from_threads_without_the_gil():
    fast, plain = program("runtime.call_python('lambda a: np.flip(a)', 'float64[:, :]', a).sum()")
    wrong = []

    def work():
        wrong.extend(1 for _ in range(500) if fast(A) != plain(A))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_compiled_calls_are_cached_on_disk(cache_dir):  # noqa: F811
    text = (
        "from stgrad import runtime\n\n\ndef f(a):\n"
        "    return runtime.call_python('lambda a: np.flip(a)', 'float64[:]', runtime.call_python('lambda a: a + 1.0', 'float64[:]', a))\n"
    )
    run = f"import numpy as np\nfrom stgrad.loader import load\nf = load({text!r}, 'f')\n"
    run += "print(f(np.arange(3.0))[0], *f.stats.cache_hits.values())"
    assert python(run) == "3.0"
    assert python(run) == "3.0 1"


def test_texts_are_prepared_once():
    assert prepared("lambda a: a", "float64") is prepared("lambda a: a", "float64")
    assert runtime.call_python("lambda a: a", "float64", 2) == 2.0
