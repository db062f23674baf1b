"""Classes that a differentiated function defines itself."""

import dataclasses
import enum
import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import errors

X = np.array([0.7, 1.3, 2.1, 0.4])
SCALE = 3.0
TABLE = {"a": 2.0}


def itself(x):
    class Dual:
        def __init__(self, value, slope):
            self.value, self.slope = value, slope

        def __mul__(self, other):
            return Dual(self.value * other.value, self.value * other.slope + self.slope * other.value)

        def __add__(self, other):
            return Dual(self.value + other.value, self.slope + other.slope)

    a, b = Dual(x[0], 1.0), Dual(x[1], 0.5)
    return (a * b + a * a).slope * SCALE


def derived(x):
    class Shape:
        count = 2

        def __init__(self, side):
            self.side = side

        def area(self):
            return self.side**2 * self.count

    class Cube(Shape):
        def area(self):
            return 6.0 * super().area() + self.corner(self.side)

        @staticmethod
        def corner(side):
            return math.sin(side)

        @property
        def volume(self):
            return self.side**3

    shapes = [Shape(x[0]), Cube(x[1]), Cube(x[2])]
    return sum(s.area() for s in shapes) + shapes[1].volume * isinstance(shapes[1], Shape)


def of_data(x):
    @dataclass(frozen=True)
    class State:
        s: float
        i: float
        log: list = field(default_factory=list)

        def step(self, beta):
            new = beta * self.s * self.i
            return dataclasses.replace(self, s=self.s - new, i=self.i + new - 0.1 * self.i)

    state = State(x[0], x[3])
    for _ in range(6):
        state = state.step(x[1])
    return state.i


def in_loops(x):
    total = 0.0
    for v in x:

        class Once:
            def __init__(self, v):
                self.v = v

            def squared(self):
                return self.v**2

        total += Once(v).squared()
    return total


def of_constants(x):
    power, weight = 2, 1.5

    def helper(v):
        class Inner(NamedTuple):
            v: float
            w: float

        return Inner(v, weight).v * Inner(v, 1.0).w

    class Law:
        exponent = power

        def at(self, v):
            return v**power + weight * v**self.exponent

    return Law().at(x[0]) * helper(x[1])


def of_members(x):
    class Side(enum.Enum):
        LEFT = 1
        RIGHT = 2

    class TooLarge(ValueError):
        pass

    sides = [Side.LEFT, Side.RIGHT, Side.LEFT, Side.RIGHT]
    total = 0.0
    try:
        for side, v in zip(sides, x, strict=True):
            total += v if side is Side.LEFT else v**2
            if total > 100.0:
                raise TooLarge
    except TooLarge:
        total = 0.0
    return total


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [itself, derived, of_data, in_loops, of_constants, of_members], ids=lambda f: f.__name__)
def test_right(f, jit):
    check_gradient(f, (X,), order=1 if jit else 2, jit=jit)


def reads(x):
    class Scaled:
        def __init__(self, v):
            self.v = v * x[1]

        def at(self, v):
            return v * x[0] * self.v

        @property
        def whole(self):
            return self.v * x[2]

        @staticmethod
        def of(v):
            return v * x[3]

        @classmethod
        def one(cls):
            return cls(x[2])

    class Twice(Scaled):
        def at(self, v):
            return 2.0 * super().at(v) + x[1]

    return Scaled(x[2]).at(x[1]) + Twice.one().at(x[2]) * Twice.of(3.0) + Scaled(1.5).whole


def late(x):
    power = 2

    class Law:
        def at(self, v):
            return v**power

    power = 3
    law = Law()
    first = law.at(x[0])
    power = 1
    return first + law.at(x[1])


def each(x):
    laws = []
    for k in range(3):

        class Law:
            def at(self, v):
                return v**k

        laws.append(Law())
    return laws[0].at(x[0]) + laws[2].at(x[1])


def table(x):
    kept = {"a": 1.0}

    class Law:
        def at(self, v):
            kept["b"] = v
            return v * kept["a"]

    kept["a"] = x[1]
    return Law().at(x[0]) * kept["b"]


def with_a_helper(x):
    def helper(v):
        return v * x[0]

    class Law:
        def __call__(self, v):
            return helper(v) if v > 0.5 else twice(v)

    def twice(v):
        return 2.0 * v

    law, total = Law(), 0.0
    for v in x:
        total += law(v)
    return total


def changed_in_a_loop(x):
    scale = 1.0

    class Law:
        def at(self, v):
            return v * scale

    law, total = Law(), 0.0
    for v in x:
        scale = scale * v
        total += law.at(v)
    return total


def on_one_path(x):
    if x[0] > 0.5:
        scale = x[1]
    else:
        scale = 3.0

    class Law:
        def at(self, v):
            return v * scale

    law = Law()
    scale = scale * x[3]
    return law.at(x[0]) + law.at(x[2]) * scale


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [reads, late, each, table, with_a_helper, changed_in_a_loop, on_one_path], ids=lambda f: f.__name__)
def test_methods_see_the_function_around(f, jit):
    check_gradient(f, (X,), order=1 if jit else 2, jit=jit)


def test_what_would_outlive_the_function_is_refused():
    def f(x):
        class Held:
            def __init__(self):
                self.v = x[0]

            def at(self, v):
                return v * x[1]

        return Held()

    with pytest.raises(errors.UnsupportedSyntaxError, match="a result that is a `Held`"):
        stgrad.vjp(f, X)


def test_values_of_the_program_are_refused():
    def by_value(x):
        class Held:
            value = x[0]

        return Held.value * x[1]

    def bound_again(x):
        power = 2

        class Law:
            twice = power

        power = 3
        return Law.twice * x[0] * power

    with pytest.raises(errors.UnsupportedSyntaxError, match="reads `power` of the function around it"):
        stgrad.grad(bound_again, jit=False)(X)
    with pytest.raises(errors.UnsupportedSyntaxError, match="rests on what may change|reads `x` of the function around it"):
        stgrad.grad(by_value, jit=False)(X)


def test_decorators_of_others_are_refused():
    def register(cls):
        return cls

    def f(x):
        @register
        class Held:
            pass

        return x[0] + (Held is not None)

    with pytest.raises(errors.UnsupportedSyntaxError, match="calls this while it is made"):
        stgrad.grad(f, jit=False)(X)


def test_a_value_around_that_changes_makes_another_class():
    def made(power):
        def f(x):
            class Law:
                def at(self, v):
                    return v**power

            return Law().at(x[0])

        return f

    for power in (2, 3, 2):
        np.testing.assert_allclose(stgrad.grad(made(power))(X)[0], power * X[0] ** (power - 1))


def test_a_global_in_the_body_is_looked_at_again(monkeypatch):
    def f(x):
        class Law:
            scale = SCALE

            def at(self, v, factor=SCALE):
                return v * factor

        return Law.scale * x[0] + Law().at(x[1])

    gradient = stgrad.grad(f, jit=False)
    for scale in (3.0, 5.0, 3.0):
        monkeypatch.setitem(globals(), "SCALE", scale)
        assert gradient(X).tolist() == [scale, scale, 0.0, 0.0]


def test_a_body_that_rests_on_what_may_change_is_refused():
    def of_a_table(x):
        class Law:
            scale = TABLE["a"]

        return Law.scale * x[0]

    def of_a_call(x):
        class Law:
            scale = float(TABLE.get("a"))

        return Law.scale * x[0]

    def with_a_loop(x):
        class Law:
            for scale in (1.0, 2.0):
                pass

        return Law.scale * x[0]

    for f in (of_a_table, of_a_call, with_a_loop):
        with pytest.raises(errors.UnsupportedSyntaxError, match="class in a function"):
            stgrad.grad(f, jit=False)(X)
