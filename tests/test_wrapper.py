"""The generated call path: what it accepts, what it hands on, what it costs."""

import inspect
import sys
import threading
from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import stgrad
from stgrad.calls.calling import Run
from stgrad.calls.wrapper import Array, Attributes, Items, Keys, Scalar, Static, describe, leaves, make_wrapper, wrapper_text
from stgrad.errors import NotDifferentiableError
from stgrad.ir import Type
from stgrad.values import Sym

PACKAGE = Path(stgrad.__file__).parent
Pair = namedtuple("Pair", "a b")


@dataclass
class Point:
    x: float
    y: np.ndarray


def wrapper(*nodes, params="x y z", of=None):
    """A wrapper of a function of as many parameters as nodes; it returns what it called and with what."""
    signature = inspect.signature(of or eval("lambda " + ", ".join(params.split()[: len(nodes)]) + ": None"))
    return make_wrapper("call", signature, [(nodes, lambda *a: ("fast", a))], lambda *a, **k: ("slow", a, k))


def test_scalars():
    call = wrapper(Scalar(float), Scalar(int))
    assert call(1.0, 2) == ("fast", (1.0, 2))
    assert call(y=2, x=1.0) == ("fast", (1.0, 2))
    for bad in ((1, 2), (1.0, 2.0), (1.0, True), (np.float64(1.0), 2), ("a", 2)):
        assert call(*bad) == ("slow", bad, {})
    with pytest.raises(TypeError, match=r"call\(\) missing 1 required positional argument: 'y'"):
        call(1.0)


class Sub(np.ndarray):
    pass


@pytest.mark.parametrize(
    ("node", "good", "bad"),
    [
        (Array("float64", 1), np.ones(1), np.ones((1, 1))),
        (Array("float64", 1), np.ones(3), np.ones(3, np.float32)),
        (Array("float64", 1), np.ones(3), np.ones(3).astype(">f8")),
        (Array("float64", 1), np.ones(3), [1.0, 1.0, 1.0]),
        (Array("float64", 1), np.ones(3), np.ones(3).view(Sub)),
        (Array("float64", 0, ()), np.array(1.0), 1.0),
        (Array("float32", 1, (None,)), np.ones(0, np.float32), np.ones(1, np.float32)),
        (Array("int64", 2, (None, None)), np.ones((2, 3), np.int64), np.ones((2, 1), np.int64)),
        (Array("bool", 2, (1, None)), np.ones((1, 3), bool), np.ones((2, 3), bool)),
        (Array("bool", 2, (1, None)), np.ones((1, 3), bool), np.ones((1, 1), bool)),
        (Array("int64", 2, (3, None)), np.ones((3, 2), np.int64), np.ones((4, 2), np.int64)),
        (Array("int64", 2, (3, None)), np.ones((3, 0), np.int64), np.ones((3, 1), np.int64)),
        (Array("float64", 2, None, contiguous=True), np.ones((2, 3)), np.ones((2, 3)).T),
        (Array("complex128", 1, None, writeable=True), np.ones(3, complex), np.broadcast_to(1j, 3)),
    ],
)
def test_arrays(node, good, bad):
    call = wrapper(node)
    assert call(good)[0] == "fast" and call(good)[1][0] is good
    assert call(bad)[0] == "slow" and call(bad)[1][0] is bad


@pytest.mark.parametrize(("value", "other"), [(None, 0), ("l2", "l1"), (3, 3.0), (True, 1), (np.sin, np.cos), (len, 3), (..., None)])
def test_static_values_are_checked_and_not_passed(value, other):
    call = wrapper(Scalar(float), Static(value))
    assert call(1.0, value) == ("fast", (1.0,))
    assert call(1.0, other)[0] == "slow"


@pytest.mark.parametrize(
    ("value", "flat", "others"),
    [
        ((1.0, (2, True)), (1.0, 2, True), [(1.0, (2, 1)), (1.0,), [1.0, (2, True)], (1.0, (2, True), 3)]),
        ([1.0, [], ()], (1.0,), [[1.0, [], (1,)], [1.0, []]]),
        ({"w": 1.0, 3: (2.0, None), "s": "l2"}, (1.0, 2.0), [{"w": 1.0}, {"w": 1.0, 4: (2.0, None), "s": "l2"}, {}]),
        (Pair(1.0, {"z": 2.0}), (1.0, 2.0), [(1.0, {"z": 2.0}), Pair(1.0, {})]),
        ({"p": Pair([1, 2], 3.0)}, (1, 2, 3.0), [{"p": Pair([1], 3.0)}]),
    ],
)
def test_containers_are_taken_apart(value, flat, others):
    node = describe(value)
    call = wrapper(Scalar(float), node, Scalar(int))
    assert call(0.5, value, 7) == ("fast", (0.5, *flat, 7))
    assert tuple(leaves(node, value)) == flat
    for other in others:
        assert call(0.5, other, 7) == ("slow", (0.5, other, 7), {})


def test_dataclass_and_describe():
    point = Point(1.0, np.ones((2, 1)))
    node = describe(point)
    assert node == Attributes(Point, (("x", Scalar(float)), ("y", Array("float64", 2, (None, 1)))))
    assert wrapper(node)(point)[0] == "fast"
    assert wrapper(node)(Point(1.0, np.ones((2, 2))))[0] == "slow"
    assert describe((None, {"a": 1})) == Items(tuple, (Static(None), Keys((("a", Scalar(int)),))))
    assert hash(node) == hash(describe(Point(2.0, np.ones((3, 1)))))


def test_signatures():
    def f(a, /, b=2.0, *rest, c, d=None, **more):
        pass

    nodes = (Scalar(float), Scalar(float), Items(tuple, (Scalar(int),)), Scalar(float), Static(None), Keys((("k", Scalar(float)),)))
    call = wrapper(*nodes, of=f)
    assert call(1.0, 3.0, 4, c=5.0, k=6.0) == ("fast", (1.0, 3.0, 4, 5.0, 6.0))
    assert call(1.0, c=5.0) == ("slow", (1.0, 2.0), {"c": 5.0, "d": None})
    assert inspect.signature(call).parameters.keys() == inspect.signature(f).parameters.keys()


def test_several_cases_in_order():
    cases = [((Scalar(float),), lambda x: "float"), ((Scalar(int),), lambda x: "int"), ((Items(tuple, ()),), lambda: "empty")]
    call = make_wrapper("call", inspect.signature(lambda x: None), cases, lambda x: "slow")
    assert [call(v) for v in (1.0, 1, (), "s")] == ["float", "int", "empty", "slow"]


def test_names_never_clash():
    call = wrapper(Scalar(float), Items(tuple, (Scalar(float),)), Scalar(float), params="type float len")
    assert call(1.0, (2.0,), 3.0) == ("fast", (1.0, 2.0, 3.0)) and call(1.0, (2.0,), 3)[0] == "slow"
    call = wrapper(Scalar(float), Scalar(float), params="slow compiled")
    assert call(1.0, 2.0)[0] == "fast" and call(1.0, 2)[0] == "slow"


def test_text_is_what_the_docs_show():
    nodes = (Scalar(float), Items(tuple, (Array("float64", 2, (None, None)), Scalar(float))), Static(3))
    text, _ = wrapper_text("loss", inspect.signature(lambda x, p, n=3: None), [(nodes, len)], print)
    assert text == (
        "def loss(x, p, n=n_default):\n"
        "    if type(x) is float and type(p) is tuple and len(p) == 2 and type(n) is int and n == 3:\n"
        "        p_0, p_1, = p\n"
        "        if type(p_0) is ndarray and (p_0.dtype is float64 or p_0.dtype == float64) and p_0.ndim == 2 and 1 not in p_0.shape and type(p_1) is float:\n"
        "            return compiled(x, p_0, p_1)\n"
        "    return slow(x, p, n)\n"
    )


def test_threads():
    call = wrapper(Scalar(float), describe((1.0, {"a": 2})))
    wrong = []

    def work(k):
        wrong.extend(1 for i in range(2000) if call(float(i), (float(k), {"a": i})) != ("fast", (float(i), float(k), i)))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def frames(f, *args):
    """The Python functions of ours that a call runs; Numba shows a profiler frames of its own."""
    found = []

    def seen(frame, event, arg):
        place = frame.f_code.co_filename
        if event == "call" and (place.startswith("<stgrad") or Path(place).is_relative_to(PACKAGE)):
            found.append(f"{Path(place).name}: {frame.f_code.co_name}")

    sys.setprofile(seen)
    try:
        f(*args)
    finally:
        sys.setprofile(None)
    return found


def test_how_many_python_frames_a_call_is():
    gradient = stgrad.value_and_grad(lambda x, y, n: x * y**n, (0, 1))
    a, b = np.ones((3, 5)), np.ones(5)
    product = stgrad.grad(lambda a, b: np.sum(a @ b), (0, 1))
    structured = stgrad.grad(lambda p: p["w"] * p["b"][0])
    with_keyword = stgrad.grad(lambda x, *, k: x * k)
    for _ in range(2):  # a program that is called once more joins the generated function
        gradient(1.0, 2.0, 3), product(a, b), structured({"w": 2.0, "b": (3.0, None)}), with_keyword(2.0, k=3.0)
    assert frames(gradient, 1.0, 2.0, 3) == frames(product, a, b) == []  # native code reads the arguments
    assert len(frames(structured, {"w": 2.0, "b": (3.0, None)})) == 1
    assert len(frames(lambda: with_keyword(2.0, k=3.0))) == 1
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        with_keyword(2.0, 3.0)


def test_a_call_that_writes_its_own_lines():
    # A user's parameter may have any name that the lines would like.
    number = Type("float64", weak=True)
    result = {"value": Sym("v", number), "parts": (Sym("r0", number), None), "r0": Pair(Sym("w", Type("float32")), len)}
    call = Run(lambda *flat: (*flat, sum(flat)), [], [], result, True)
    assert call(1.0, 2.0) == {"value": 1.0, "parts": (2.0, None), "r0": Pair(np.float32(3.0), len)}
    result = {"value": Sym("v", number), "parts": (Sym("r0", number), None)}
    call = Run(lambda *flat: (sum(flat), flat[0]), [], [np.float64(1.0)], result, True)
    nodes = (describe(1.0), describe(2.0))
    wrapped = make_wrapper("f", inspect.signature(lambda r0, compiled: None), [(nodes, call)], None)
    assert wrapped(2.0, 3.0) == call(2.0, 3.0) == {"value": 6.0, "parts": (2.0, None)}
    text, _ = wrapper_text("f", inspect.signature(lambda r0, compiled: None), [(nodes, call)], None)
    assert "def f(r0, compiled):" in text and text.count("return") == 2


def test_numbers_of_a_subclass_are_no_floats():
    class Metres(float):
        pass

    gradient = stgrad.grad(lambda x: x * x)
    assert gradient(3.0) == 6.0 and gradient(np.float64(3.0)) == 6.0
    with pytest.raises(NotDifferentiableError):
        gradient(Metres(3.0))
    with pytest.raises(NotDifferentiableError):
        gradient(3)
