"""Attributes with two underscores have the name of their class in front, as Python gives it to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from stgrad import testing

X = np.array([0.3, -0.7, 1.2])


class Spring:
    __factor = 0.5

    def __init__(self, stiffness: Any) -> None:
        self.__stiffness = stiffness

    def __square(self, u: Any) -> Any:
        return self.__factor * self.__stiffness * u**2

    def energy(self, u: Any) -> Any:
        return np.sum(self.__square(u))


class _Damped(Spring):
    def __init__(self, stiffness: Any, friction: Any) -> None:
        super().__init__(stiffness)
        self.__stiffness = friction  # another attribute than that of Spring

    def loss(self, u: Any) -> Any:
        return self.energy(u) + np.sum(self.__stiffness * u**3)


@dataclass
class Hidden:
    __scale: Any

    def times(self, u: Any) -> Any:
        def inner(v: Any) -> Any:
            return self.__scale * v

        return inner(u)


SPRING, DAMPED, HIDDEN = Spring(2.0), _Damped(3.0, 0.5), Hidden(1.5)


def from_outside(u: Any) -> Any:
    return SPRING.energy(u) + DAMPED.loss(u) + np.sum(HIDDEN.times(u) ** 2)


def made_inside(u: Any) -> Any:
    damped, hidden = _Damped(u[0] ** 2, u[1]), Hidden(u[2])
    return damped.loss(u) + Spring(np.sin(u[1])).energy(u) + np.sum(hidden.times(u) ** 2)


@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.parametrize("program", [from_outside, made_inside])
def test_right(program: Any, jit: bool) -> None:
    testing.check_gradient(program, (X,), order=2, jit=jit)
