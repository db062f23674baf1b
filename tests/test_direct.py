"""The native way into compiled programs: what it takes, what it hands on, what it builds, and that it keeps count of references."""

import collections
import gc
import inspect
import pickle
import subprocess
import sys
import threading
import tracemalloc

import numba
import numpy as np
import pytest

import stgrad
from stgrad.calls import direct
from stgrad.calls.wrapper import describe
from stgrad.ir import Type
from stgrad.runtime import call_python
from stgrad.values import Sym


def entry_of(function, *arguments, result=None):
    """The built-in function around a compiled one; what does not match comes back as (marker, arguments, keywords)."""
    compiled = numba.njit(nogil=True)(function)
    entry = direct.entry(compiled, [describe(a) for a in arguments], arguments, result)
    return entry and entry.function(lambda *args, **kwargs: ("otherwise", args, kwargs))


def test_the_layouts_are_those_of_this_python():
    assert direct.available()


def test_numbers_of_every_kind():
    call = entry_of(lambda a, b, c, d: (a + 1.0, b + 1, not c, d * 1j), 1.5, 2, True, 1 + 2j)
    assert call(1.5, 2, True, 1 + 2j) == (2.5, 3, False, -2 + 1j)
    assert call(-0.0, -(2**47), False, 0j) == (1.0, -(2**47) + 1, True, 0j)
    assert call(-0.0, -(2**63), False, 0j)[0] == call(0.0, 2**47 + 1, True, 0j)[0] == "otherwise"
    assert [type(v) for v in call(1.5, 2, True, 1j)] == [float, int, bool, complex]


@pytest.mark.parametrize(
    "other", [(1, 2), (1.0, 2.0), (1.0, True), (np.float64(1.0), 2), (1.0, 2**63), (1.0,), (1.0, 2, 3), (), ("a", None), (1.0, -(2**70))]
)
def test_what_does_not_match_is_handed_on(other):
    call = entry_of(lambda x, n: x * n, 1.0, 2)
    assert call(1.0, 2) == 2.0
    assert call(*other) == ("otherwise", other, {})
    assert call(1.0, n=2) == ("otherwise", (1.0,), {"n": 2})


def test_structures():
    number = Type("float64", weak=True)
    result = (Sym("v", number), ((Sym("a", number),), Sym("b", Type("float64"))))
    call = entry_of(lambda x: (x, 2.0 * x, 3.0 * x), 1.0, result=result)
    value = call(1.0)
    assert value == (1.0, ((2.0,), 3.0)) and type(value[0]) is float and type(value[1][1]) is np.float64
    assert repr(value[1][1] * np.float64(2.0)) == "np.float64(6.0)"
    assert entry_of(lambda x: x + 1.0, 1.0)(1.0) == 2.0
    single = entry_of(lambda x: x + 1.0, 1.0, result=(Sym("v", number),))
    assert single(1.0) == (2.0,)
    assert direct.nests(result) and not direct.nests((Sym("v", number), None)) and not direct.nests([Sym("v", number)])
    assert not direct.nests(Sym("v", Type("float32")))


class Sub(np.ndarray):
    pass


def read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "other",
    [
        np.ones((2, 3), np.float32),
        np.ones((2, 3)).astype(">f8"),
        np.ones((3, 2)).T,
        np.ones((4, 6))[::2, ::2],
        np.ones((1, 3)),
        np.ones((2, 1)),
        np.ones(3),
        np.ones((2, 3)).view(Sub),
        read_only(np.ones((2, 3))),
        np.ones((2, 3)).tolist(),
        np.frombuffer(b"\0" * 49, np.uint8)[1:].view(np.float64).reshape(2, 3),
    ],
    ids=["dtype", "order of bytes", "order", "stride", "one row", "one column", "rank", "subclass", "read-only", "list", "alignment"],
)
def test_arrays_that_do_not_match_are_handed_on(other):
    call = entry_of(lambda a: a * 2.0, np.ones((2, 3)))
    np.testing.assert_array_equal(call(np.ones((2, 3))), np.full((2, 3), 2.0))
    assert call(np.empty((0, 3))).shape == (0, 3)
    marker, (handed,), _ = call(other)
    assert marker == "otherwise" and handed is other


@pytest.mark.parametrize("dtype", [float, np.int32, bool, complex])
def test_dtypes_that_are_equal_are_the_same(dtype):
    """What is unpickled, and what code from Numba's cache returns, has a dtype that is an object of its own."""
    array = np.ones(3, dtype)
    other = pickle.loads(pickle.dumps(array))
    assert other.dtype is not array.dtype
    call = entry_of(lambda a: a.size, array)
    assert call(array) == call(other) == 3
    assert call(np.ones(3, np.int16))[0] == "otherwise"


@pytest.mark.parametrize("function", [lambda x: np.sum(x * x), lambda x, y=2.0: y * np.sum(x)])
def test_functions_know_what_was_unpickled(function, monkeypatch):
    gradient, x = stgrad.grad(function), np.arange(3.0)
    for _ in range(3):
        found = gradient(x)
    monkeypatch.setattr(type(gradient), "_program_for", None)
    np.testing.assert_array_equal(gradient(pickle.loads(pickle.dumps(x))), found)


def test_tuples_are_read():
    compiled = numba.njit(nogil=True)(lambda a, b, c: a * b + c[0])
    given = ((1.0, (2.0, np.ones(2))),)
    call = direct.entry(compiled, list(map(describe, given)), [1.0, 2.0, np.ones(2)], None).function(lambda *args: ("otherwise", args))
    assert call((3.0, (4.0, np.full(2, 5.0)))) == 17.0
    for other in [(3.0, [4.0, np.ones(2)]), (3.0, (4.0,)), (3.0, (4.0, np.ones(2), 1.0)), (3.0, (4, np.ones(2))), [3.0, (4.0, np.ones(2))], (), 1.0]:
        assert call(other) == ("otherwise", (other,))
    Pair = collections.namedtuple("Pair", "a b")
    assert call(Pair(3.0, (4.0, np.ones(2))))[0] == "otherwise"


def test_any_number_of_arguments_and_tuples_of_them_go_the_native_way():
    def loss(x, y):
        return np.sum(x * x) * y

    args, v = (np.arange(3.0), 2.0), (np.ones(3), 1.0)
    product, push = stgrad.hvp(loss, (0, 1)), stgrad.jvp(loss)
    for _ in range(4):
        found = product(*args, v), push(args, v)
    assert inspect.isbuiltin(type(product).__call__) and product(*args, v)[1] == found[0][1] == 6.0
    assert push(args, v)[1] == found[1][1] == 2.0 * 2.0 * 3.0 + 5.0


def test_what_native_code_does_not_read():
    assert entry_of(lambda x: x, np.float64(1.0)) is None
    assert entry_of(lambda x: x, np.ones((3, 2)).T) is None
    assert direct.entry(lambda x: x, [describe(1.0)], [1.0], None) is None


def test_errors_of_the_program():
    def root(x):
        if x < 0.0:
            raise ValueError("negative")
        return x**0.5

    call = entry_of(root, 4.0)
    assert call(4.0) == 2.0
    for _ in range(3):
        with pytest.raises(ValueError, match="negative"):
            call(-1.0)


def test_what_python_raised_inside_of_a_program_that_hands_on():
    """The function that gets the arguments starts without the exception that ended the program."""

    def quotient(x, n):
        return x / call_python("lambda n: math.factorial(n)", "float64", n)

    compiled = numba.njit(nogil=True)(quotient)
    fast = direct.entry(compiled, [describe(1.0), describe(3)], (1.0, 3), None, hand_on=True)
    function = fast.function(lambda *args: ("otherwise", args))
    for _ in range(3):
        assert function(12.0, 3) == 2.0
        assert function(1.0, 1100) == ("otherwise", (1.0, 1100))  # n! is no float: OverflowError


def test_references_are_kept_and_given_back():
    call = entry_of(lambda a, x: (a * x, a, x), np.ones(1000), 2.0)
    a = np.ones(1000)
    before = sys.getrefcount(a)
    for _ in range(10):
        twice, same, number = call(a, 2.0)
    assert np.shares_memory(same, a) and number == 2.0
    del twice, number
    kept = same
    del same
    assert kept.base is a or kept is a
    del kept
    gc.collect()
    assert sys.getrefcount(a) == before
    tracemalloc.start()
    call(a, 2.0)
    first = tracemalloc.get_traced_memory()[0]
    for _ in range(1000):
        call(a, 2.0)
        call(a, 2)
    assert tracemalloc.get_traced_memory()[0] - first < 10_000
    tracemalloc.stop()


def test_a_parameter_that_comes_back_outlives_its_caller():
    call = entry_of(lambda a: a[1:], np.arange(5.0))
    views = [call(np.arange(5.0) + i) for i in range(100)]
    gc.collect()
    assert all(np.array_equal(v, np.arange(1.0, 5.0) + i) for i, v in enumerate(views))


def test_threads():
    gradient = stgrad.value_and_grad(lambda x, n: np.sum(x * x * x) * n)
    wrong = []

    def work(k):
        for i in range(500):
            value, slope = gradient(np.full(3, float(i)), k)
            wrong.extend([i] if value != 3.0 * i**3 * k or slope[0] != 3.0 * i * i * k else [])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_new_types_keywords_and_captured_values_after_the_native_way():
    def f(x, y=2.0):
        return x * x * y

    gradient = stgrad.grad(f)
    assert gradient(3.0, 2.0) == 12.0 and inspect.isfunction(type(gradient).__call__)  # once: the time to write native code is not spent
    assert gradient(3.0, 2.0) == 12.0 and isinstance(type(gradient).__call__, type(len))
    assert gradient(3.0) == gradient(x=3.0) == gradient(3.0, y=2.0) == 12.0
    for _ in range(2):
        assert gradient(np.float32(3.0), 2.0) == np.float32(12.0)  # a second case: the generated function decides
    assert inspect.isfunction(type(gradient).__call__) and gradient(3.0, 2.0) == 12.0
    assert list(inspect.signature(gradient).parameters) == ["x", "y"]


def test_a_process_that_finds_its_program_on_disk(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np, stgrad\n"
        "def f(x, k):\n    if k < 0:\n        raise ValueError('no')\n    return np.sum(x * x) * k\n"
        "g = stgrad.value_and_grad(f)\n"
        "for _ in range(3):\n    print(g(np.arange(3.0), 2.0))\n"
        "print(type(type(g).__call__).__name__)\n"
        "try:\n    g(np.arange(3.0), -1.0)\nexcept ValueError as error:\n    print(error)\n"
    )
    runs = [subprocess.run([sys.executable, program], capture_output=True, text=True, cwd=tmp_path) for _ in range(2)]
    expected = "(np.float64(10.0), array([0., 4., 8.]))\n" * 3 + "builtin_function_or_method\nno\n"
    assert [r.stdout for r in runs] == [expected] * 2, runs[0].stderr + runs[1].stderr


def test_guards_of_a_program_that_gets_company():
    """Native code that other signatures join leaves the guards to the wrapper, and those of before may go."""
    for size in range(6):  # memory that is free again is found at another place each time
        _guards_of_a_program_that_gets_company(size)


def _guards_of_a_program_that_gets_company(size):
    scale = 2.0

    def f(x):
        return scale * np.sum(x * x)

    gradient = stgrad.grad(f)
    for x in (1.5, np.ones(2), 1.5, np.float32(1.0)):
        for _ in range(3):
            gradient(x)
    gc.collect()
    filler = [bytes(8 * n + size) for n in range(1, 400)]
    assert [gradient(1.5) for _ in range(100)] == [6.0] * 100
    scale = 3.0
    assert gradient(1.5) == 9.0 and gradient(np.ones(2)).tolist() == [6.0, 6.0] and len(filler) == 399
