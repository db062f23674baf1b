"""State machines: names that a loop carries and that are one of a few known values: members of enumerations, functions, methods, objects."""

from dataclasses import dataclass
from enum import Enum, IntEnum

import numpy as np
import pytest

import stgrad
from stgrad import testing


class Phase(Enum):
    FILL = 1
    HOLD = 2
    DRAIN = 3


class Gear(IntEnum):
    LOW = 1
    MID = 2
    HIGH = 3


@dataclass(frozen=True)
class Gait:
    name: str
    stiffness: float

    def push(self, v, x):
        return v + self.stiffness * x


STANCE, SWING, FLIGHT = Gait("stance", 1.0), Gait("swing", -0.4), Gait("flight", -0.1)
RATES = {Phase.FILL: 1.0, Phase.HOLD: -0.3, Phase.DRAIN: -0.5}


def follow(phase, v):
    if phase is Phase.FILL and v > 2.0:
        return Phase.HOLD
    if phase is Phase.HOLD and v < 1.0:
        return Phase.DRAIN
    return Phase.FILL if phase == Phase.DRAIN and v < 0.2 else phase


def matched(x, n):
    phase, v = Phase.FILL, 0.0
    for _ in range(n):
        match phase:
            case Phase.FILL:
                v = v + x * x
                if v > 2.0:
                    phase = Phase.HOLD
            case Phase.HOLD:
                v = v - 0.3 * x
                if v < 1.0:
                    phase = Phase.DRAIN
            case Phase.DRAIN:
                v = v * 0.5 + np.sin(x)
                if v > 0.8:
                    phase = Phase.FILL
    return v


def in_a_while(x, n):
    phase, v, k = Phase.FILL, 0.0, 0
    while True:
        v = v + RATES[phase] * x * x
        phase = follow(phase, v)
        k += phase.value
        if k > n and phase in (Phase.HOLD, Phase.DRAIN):
            break
    return v * k


def by_number(x, n):
    phase, v = Phase.FILL, 0.0
    for _ in range(n):
        v = v * 0.9 + phase.value * x
        if v > 2.0:
            phase = Phase(1 + phase.value % 3)
    return v


def integers(x, n):
    gear, v, weights = Gear.LOW, 0.0, np.array([0.0, 1.0, 0.5, 0.2])
    for _ in range(n):
        v = v * 0.9 + x * weights[gear] + 0.01 * gear
        if v > 2.0 and gear < Gear.HIGH:
            gear = Gear(gear + 1)
        elif gear is Gear.HIGH and v < 1.5:
            gear = Gear.LOW
    return v


def objects(x, n):
    gait, v = STANCE, 0.0
    for _ in range(n):
        v = gait.push(v, x)
        if gait is STANCE and v > 2.0:
            gait = SWING
        elif gait is SWING and v < 1.0:
            gait = FLIGHT
        elif gait is FLIGHT and v < 0.5:
            gait = STANCE
    return v * v


def closures(x, n):
    def fill(v):
        return v + x * x

    def make(rate):
        return lambda v: v - rate * x

    hold, drain = make(0.3), make(0.5)
    step, v = fill, 0.0
    for _ in range(n):
        v = step(v)
        if step is fill and v > 2.0:
            step = hold
        elif step is hold and v < 1.0:
            step = drain
        elif step is drain and v < 0.5:
            step = fill
    return v * v


class Tank:
    def __init__(self):
        self.v, self.ticks, self.step = 0.0, 0, self.fill

    def fill(self, x):
        self.v += x * x
        self.ticks += 1
        if self.v > 2.0:
            self.step = self.hold

    def hold(self, x):
        self.v -= 0.3 * x
        if self.v < 1.0:
            self.step = self.drain

    def drain(self, x):
        self.v *= 0.5 * x
        if self.v < 0.1:
            self.step = self.fill


def methods(x, n):
    tank = Tank()
    for _ in range(n):
        tank.step(x)
    return tank.v * tank.ticks


@dataclass
class Cell:
    v: float
    phase: Phase = Phase.FILL


def in_objects_of_a_list(x, n):
    cells = [Cell(0.1 * k) for k in range(3)]
    for _ in range(n):
        for cell in cells:
            cell.v += RATES[cell.phase] * x
            cell.phase = follow(cell.phase, cell.v)
    return sum(cell.v * cell.v for cell in cells if cell.phase is not Phase.HOLD)


@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.parametrize("function", [matched, in_a_while, by_number, integers, objects, closures, methods, in_objects_of_a_list])
def test_are_carried_as_a_number(function, jit):
    testing.check_gradient(function, (0.71, 100), order=2, jit=jit)


def test_the_number_keeps_its_meaning_from_join_to_join():
    """Joins that ordered the members anew gave each path a renumbering."""
    text = stgrad.grad(matched).source(0.71, 100)
    assert "if phase_choice" not in text
    assert [text.count(f"phase_choice = {k}") for k in range(3)] == [2, 1, 1]  # one for the start


def pointer(x, n):
    first, second = Tank(), Gait("", 1.0)
    now, v = first, x
    for _ in range(n):
        v = v * 1.1 if now is first else v * x
        if v > 2.0:
            now = second
    return v


def small(x, n):
    k, v = 1, x
    for _ in range(n):
        v = v * 1.1 if k is n else v * x
        k = 3 - k
    return v


@pytest.mark.parametrize("x", [0.7, 1.9, 2.5])
@pytest.mark.parametrize("function", [pointer, small])
def test_identity_of_what_a_loop_goes_on_with(function, x):
    """`now` is `first` in some trips; it is known with the number of trips compiled in, where each has a name of its own."""
    testing.check_gradient(function, (x, 10), 1, jit=True)
