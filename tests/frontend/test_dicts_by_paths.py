"""Dicts that get other keys on one path than on the other: tables, whose texts or numbers the running program decides."""

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import errors

POINTS = [np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.2, 2.0, 0.3])]


def filled(p):
    d = {}
    if p[0] > 0.7:
        d["a"] = p[1]
    else:
        d["b"] = p[2]
    d["c"] = np.sum(p)
    return sum(v * v for v in d.values()) + len(d)


def optional_term(p):
    losses = {"fit": np.sum(p * p)}
    if p[0] > 0.7:
        losses["penalty"] = p[1] ** 2
    return sum(losses.values()) + losses.get("penalty", 3.0) * p[0] + ("penalty" in losses)


def in_a_loop(p):
    d = {}
    for i in range(len(p)):
        key = "a" if p[i] > 0.7 else "b"
        if key not in d:
            d[key] = 0.0
        d[key] += p[i]
    return sum(v * v for v in d.values()) + len(d)


def removed(p):
    d = {"x": p[0]}
    if p[1] > 0.0:
        d["y"] = p[1]
        d["x"] = d["x"] * 2.0
    else:
        del d["x"]
    return sum(d.values()) + d.get("x", 1.0) * d.get("y", 2.0)


def of_arrays(p):
    d = {"x": p}
    if p[1] > 0.0:
        d["y"] = p * 2.0
    return sum(np.sum(v * v) * (i + 1) for i, v in enumerate(d.values()))


def ordered(p):
    d = {}
    if p[1] > 0.0:
        d["y"] = p[0] ** 2
    else:
        d["z"] = p[1]
    d["q"] = p[2]
    d["y"] = 4.0 * p[0]
    return sum(v * (i + 1) for i, v in enumerate(d.values()))


def united(p):
    d = {"a": p[0]}
    if p[1] > 0.0:
        d.update(y=p[0] ** 2)
    d |= {"w": p[2]}
    return sum({**d, "z": 2.0 * p[0]}.values()) + len(d)


def caught(p):
    d = {}
    if p[1] > 0.0:
        d["y"] = p[0]
    try:
        return d["y"] * 2.0
    except KeyError:
        return np.sum(p)


class Metrics:
    def __init__(self):
        self.held = {}

    def put(self, key, value):
        self.held[key] = value


def in_an_object(p):
    m = Metrics()
    m.put("a", p[0])
    for i in range(len(p)):
        if p[i] > 1.0:
            m.put("c", p[i] * i)
    return sum(v * v for v in m.held.values()) + ("c" in m.held)


PROGRAMS = [filled, optional_term, in_a_loop, removed, of_arrays, ordered, united, caught, in_an_object]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("jit", [False, True])
def test_right(program, jit):
    for point in POINTS:
        check_gradient(program, (point,), jit=jit, order=1 if jit or point is not POINTS[0] else 2)
        assert np.isclose(stgrad.jit(program)(point), program(point))


def test_a_key_that_is_not_there():
    def f(p):
        d = {}
        if p[1] > 0.0:
            d["y"] = p[0]
        return d["y"] * 2.0

    for jit in (True, False):
        assert np.array_equal(stgrad.grad(f, jit=jit)(POINTS[0]), [2.0, 0.0, 0.0])
        with pytest.raises(KeyError):
            stgrad.grad(f, jit=jit)(POINTS[1])


def named(**values):
    return sum(values.values())


def test_names_of_arguments():
    def f(p):
        d = {"a": p[0]}
        if p[1] > 0.0:
            d["y"] = p[0] ** 2
        return named(**d)

    with pytest.raises(errors.NeedStaticError, match="names of arguments"):
        stgrad.grad(f, jit=True)(POINTS[0])

    def g(p):
        more = {"a": p[1]}
        return named(a=p[0], **more)

    with pytest.raises(TypeError, match="multiple values for keyword argument 'a'"):
        stgrad.grad(g, jit=True)(POINTS[0])


def test_values_of_several_kinds():
    def f(p):
        d = {"x": p, "n": 2.0}
        if p[1] > 0.0:
            d["y"] = p * 2.0
        return sum(np.sum(v) for v in d.values())

    with pytest.raises(errors.TypeInferenceError, match="other entries on one path"):
        stgrad.grad(f, jit=True)(POINTS[0])
