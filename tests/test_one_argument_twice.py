"""Arguments that are one object at two places, or arrays that cannot be written to: nothing is lost in silence, in compiled code or in plain Python."""

import copy
import dataclasses

import numpy as np
import pytest

import stgrad
from stgrad.errors import AliasingError, StgradError, UnsupportedSyntaxError
from stgrad.plain import recorded
from stgrad.testing import check_gradient

MODES = pytest.mark.parametrize("jit", [False, True])


@dataclasses.dataclass
class Body:
    u: float
    v: float


def grown(p, q):
    q.append(p[0])
    return p[-1] * len(p) + 0.0 * q[0]


def stored(p, q):
    q[0] = p[1] * 2.0
    return p[0] * q[1]


def set_key(p, q):
    q["a"] = p["b"] * 2.0
    return p["a"] * q["b"]


def set_attribute(p, q):
    q.u = p.v * 2.0
    return p.u * q.v


def asked(p, q):
    return p[0] * q[1] * (2.0 if p is q else 3.0)


CASES = [(grown, [1.0, 2.0]), (stored, [1.0, 2.0]), (set_key, {"a": 1.0, "b": 3.0}), (set_attribute, Body(1.5, 0.3)), (asked, [1.0, 2.0])]
CALLS = {
    "grad": lambda f, p, q, jit: stgrad.grad(f, (0, 1), jit=jit)(p, q),
    "vjp": lambda f, p, q, jit: stgrad.vjp(f, p, q, jit=jit)[1](1.0),
    "jvp": lambda f, p, q, jit: stgrad.jvp(f, (p, q), (p, q), jit=jit)[1],
    "hvp": lambda f, p, q, jit: stgrad.hvp(f, (p, q), (p, q), jit=jit),
}


@MODES
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(("function", "thing"), CASES)
def test_a_container_that_is_two_arguments(function, thing, name, jit):
    call = CALLS[name]
    for _ in range(3):  # known to the wrapper, too
        call(function, copy.deepcopy(thing), copy.deepcopy(thing), jit)
    with pytest.raises(AliasingError, match="are one"):
        call(function, thing, thing, jit)


def test_what_is_only_read_may_be_one_object():
    def read(p, q):
        return p[0] * q[1]

    shared = [2.0, 3.0]
    assert stgrad.grad(read, (0, 1), jit=False)(shared, shared) == ([3.0, 0.0], [0.0, 2.0])


def test_inside_of_one_argument():
    def outer(rows):
        rows[0][1] = rows[1][0] * 3.0
        return sum(sum(row) for row in rows)

    row = [1.0, 2.0]
    assert stgrad.grad(outer, jit=False)([[1.0, 2.0], [1.0, 2.0]]) == [[1.0, 0.0], [4.0, 1.0]]
    with pytest.raises(AliasingError, match=r"`rows\[0\]` and `rows\[1\]` are one list"):
        stgrad.grad(outer, jit=False)([row, row])


def test_a_derivative_that_is_called_inside():
    def around(x):
        p = [x, x * 2.0]
        return sum(stgrad.grad(stored, (0, 1))(p, p)[0])

    with pytest.raises(AliasingError, match="is two arguments of a derivative"):
        stgrad.grad(around, jit=False)(1.5)


@MODES
def test_identity_of_lists(jit):
    def f(x):
        a = [x]
        b = a
        held = [a, [x]]
        total = 0.0
        for i in range(3):
            c = [x * i]
            d = c
            total += x * (2 if c is d else 3) + (1 if c is a else 0)
            if x > 0:
                a.append(x)
            total += 2 * x if a is b else 3 * x
        return x * (2 if a is b else 3) * (11 if a is not held[1] else 13) * (2 if held[0] is a else 4) * (2 if held[1] is a else 4) + total

    check_gradient(f, (1.5,), order=2, jit=jit)
    assert stgrad.value_and_grad(f, jit=jit)(1.5)[0] == f(1.5)


OPTIONS = {"a": 2.0}


@pytest.mark.parametrize("jit", [False, True, "auto"])
def test_identity_with_what_is_outside(jit):
    def f(x, options=OPTIONS):
        return x * (2.0 if options is OPTIONS else 3.0)

    with pytest.raises(UnsupportedSyntaxError, match="something from outside"):
        stgrad.grad(f, jit=jit)(1.0, OPTIONS)


# --------------------------------------------------------------------------- arrays


def writes(x):
    x[0] = x[1] * 2.0
    return np.sum(x**2)


def sealed():
    x = np.arange(3.0)
    x.flags.writeable = False
    return x


WAYS = {
    "grad": lambda x, jit: stgrad.grad(writes, jit=jit)(x),
    "jit": lambda x, jit: stgrad.jit(writes)(x),
    "vjp": lambda x, jit: stgrad.vjp(writes, x, jit=jit)[1](1.0),
    "jvp": lambda x, jit: stgrad.jvp(writes, (x,), (np.ones(x.shape),), jit=jit),
    "hvp": lambda x, jit: stgrad.hvp(writes, (x,), (np.ones(x.shape),), jit=jit),
    "jacfwd": lambda x, jit: stgrad.jacfwd(writes, jit=jit)(x),
}


@MODES
@pytest.mark.parametrize("way", WAYS)
def test_arrays_that_cannot_be_written_to(way, jit):
    call = WAYS[way]
    for _ in range(3):  # the last one through native code
        call(np.arange(3.0), jit)
    with pytest.raises(AliasingError, match="is read-only"):
        call(sealed(), jit)
    with pytest.raises(AliasingError, match="is read-only"):
        call(np.broadcast_to(np.ones(1), 3), jit)
    call(np.arange(6.0)[::2], jit)


def test_elements_that_are_one_place():
    windows = np.lib.stride_tricks.sliding_window_view(np.arange(5.0), 3, writeable=True)

    def f(w):
        w[0, 1] = 5.0 * w[0, 0]
        return np.sum(w**2)

    for call in (lambda: stgrad.grad(f, jit=False)(windows), lambda: stgrad.jvp(f, (windows,), (np.ones((3, 3)),), jit=False)):
        with pytest.raises(AliasingError, match="one place in memory"):
            call()
    assert stgrad.grad(lambda w: np.sum(w**2), jit=False)(windows).shape == (3, 3)


# --------------------------------------------------------------------------- plain Python


def layout(x):
    return x.ravel("K") @ np.arange(6.0) ** 2


def contiguous(x):
    y = np.ascontiguousarray(x)
    y += x[0]
    return np.sum(x**2) + np.sum(y)


def flags(x):
    return np.sum(x) if x.flags.c_contiguous else np.sum(x**2)


def flattened(x):
    y = x.reshape(-1)
    y[0] = 5.0 * x[0, 1]
    return np.sum(x**2) + np.sum(y)


LAYOUTS = [
    (layout, np.asfortranarray(np.arange(6.0).reshape(2, 3))),
    (layout, np.arange(6.0).reshape(2, 3)[::-1]),
    (contiguous, np.arange(6.0)[::2]),
    (contiguous, np.arange(3.0)),
    (flags, np.arange(6.0)[::-2]),
    (flattened, np.arange(8.0).reshape(2, 4)[:, ::2]),
    (flattened, np.arange(6.0).reshape(2, 3)),
    (lambda x: x[0] * x.strides[0], np.arange(6.0)[::2]),
]


@pytest.mark.parametrize(("function", "x"), LAYOUTS)
def test_copies_of_arguments_lie_as_they_do(function, x):
    def at(h, v):
        moved = x.copy() if x.flags.c_contiguous else np.lib.stride_tricks.as_strided(np.zeros(64)[32:], x.shape, x.strides)
        moved[...] = x + h * v
        return function(moved)

    v = np.random.default_rng(1).normal(size=x.shape)
    found = recorded(function, (x,), {}, ((0, 0),))
    assert found.value == at(0.0, v)
    assert np.isclose(np.sum(found.pullback(1.0)[0] * v), (at(1e-6, v) - at(-1e-6, v)) / 2e-6)


def test_copies_of_arguments_share_what_they_share():
    def f(x, y):
        return np.sum(x * y) if np.shares_memory(x, y) else np.sum(x)

    z = np.arange(6.0)
    assert recorded(f, (z[:3], z[3:]), {}, ((0, 0),)).value == 3.0
    with pytest.raises(StgradError, match="gave another result"):
        recorded(f, (z[:3], z[2:5]), {}, ((0, 0),))
    with pytest.raises(StgradError, match="changes what stands at two places"):
        recorded(stored, ([z, z],) * 2, {}, ((0, 0),))


def test_objects_that_refuse_to_be_set_again():
    """`np.poly1d` stores its coefficients where its property does not let them be replaced."""
    c = np.array([0.5, 0.2, 0.9])
    found = recorded(lambda c: np.poly1d(c)(0.3), (c,), {}, ((0, 0),))
    np.testing.assert_allclose(found.pullback(1.0)[0], [0.09, 0.3, 1.0])
