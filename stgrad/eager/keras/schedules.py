"""`keras.optimizers.schedules`: learning rates that depend on the step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stgrad.eager import ops_math
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.tensor import Tensor


class LearningRateSchedule:
    """Base: `__call__(step)` is the rate."""

    def __call__(self, step: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not say what the rate of a step is: write `__call__(self, step)`")


def _number(step: Any) -> float:
    return float(convert_to_tensor(step)._a)


class ExponentialDecay(LearningRateSchedule):
    """initial_learning_rate * decay_rate ** (step / decay_steps)."""

    def __init__(
        self, initial_learning_rate: float, decay_steps: int, decay_rate: float, staircase: bool = False, name: str | None = None
    ) -> None:
        self.initial, self.steps, self.rate, self.staircase = initial_learning_rate, decay_steps, decay_rate, staircase

    def __call__(self, step: Any) -> Any:
        power = ops_math.cast(step, np.float32) / float(self.steps)
        return self.initial * self.rate ** (ops_math.floor(power) if self.staircase else power)


class InverseTimeDecay(LearningRateSchedule):
    """initial_learning_rate / (1 + decay_rate * step / decay_steps)."""

    def __init__(
        self, initial_learning_rate: float, decay_steps: int, decay_rate: float, staircase: bool = False, name: str | None = None
    ) -> None:
        self.initial, self.steps, self.rate, self.staircase = initial_learning_rate, decay_steps, decay_rate, staircase

    def __call__(self, step: Any) -> Tensor:
        share = _number(step) / self.steps
        return Tensor(np.float32(self.initial / (1.0 + self.rate * (math.floor(share) if self.staircase else share))))


class PolynomialDecay(LearningRateSchedule):
    """From one rate to another along a power of the step; then the last, or, with `cycle`, over longer and longer spans."""

    def __init__(
        self, initial_learning_rate: float, decay_steps: int, end_learning_rate: float = 0.0001, power: float = 1.0, cycle: bool = False,
        name: str | None = None,
    ) -> None:  # fmt: skip
        self.initial, self.steps, self.end, self.power, self.cycle = initial_learning_rate, decay_steps, end_learning_rate, power, cycle

    def __call__(self, step: Any) -> Tensor:
        at = _number(step)
        span = self.steps * (max(math.ceil(at / self.steps), 1) if self.cycle else 1)
        rest = 1.0 - min(at, span) / span
        return Tensor(np.float32((self.initial - self.end) * rest**self.power + self.end))


class PiecewiseConstantDecay(LearningRateSchedule):
    """`values[i]` up to the step `boundaries[i]`, the last value behind them."""

    def __init__(self, boundaries: Any, values: Any, name: str | None = None) -> None:
        if len(boundaries) != len(values) - 1:
            raise ValueError("The length of boundaries should be 1 less than the length of values.")
        self.boundaries, self.values = list(boundaries), list(values)

    def __call__(self, step: Any) -> Tensor:
        at = _number(step)
        chosen = next((v for b, v in zip(self.boundaries, self.values) if at <= b), self.values[-1])
        return Tensor(np.float32(chosen))


class CosineDecay(LearningRateSchedule):
    """Half a cosine from the rate to `alpha` of it, after a linear rise where `warmup_target` is given."""

    def __init__(
        self, initial_learning_rate: float, decay_steps: int, alpha: float = 0.0, name: str | None = None, warmup_target: float | None = None,
        warmup_steps: int = 0,
    ) -> None:  # fmt: skip
        self.initial, self.steps, self.alpha = initial_learning_rate, decay_steps, alpha
        self.target, self.warmup = warmup_target, warmup_steps

    def __call__(self, step: Any) -> Tensor:
        at, top = _number(step), self.initial
        if self.target is not None:
            if at < self.warmup:
                return Tensor(np.float32(self.initial + (self.target - self.initial) * at / self.warmup))
            at, top = at - self.warmup, self.target
        cosine = 0.5 * (1.0 + math.cos(math.pi * min(at, self.steps) / self.steps))
        return Tensor(np.float32(top * ((1.0 - self.alpha) * cosine + self.alpha)))
