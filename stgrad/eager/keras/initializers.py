"""Initial values of weights. An initializer is called with a shape and a dtype."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stgrad.eager import dtypes, random
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.ops_array import eye, fill, ones, zeros


class Initializer:
    """Base: `initializer(shape, dtype)` gives a tensor."""

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Any:
        raise NotImplementedError


class Zeros(Initializer):
    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Any:
        return zeros(shape, dtype)


class Ones(Initializer):
    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Any:
        return ones(shape, dtype)


class Constant(Initializer):
    def __init__(self, value: Any = 0.0) -> None:
        self.value = value

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Any:
        from stgrad.eager.ops_math import cast

        return fill(shape, cast(self.value, dtype))


class Identity(Initializer):
    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Any:
        return eye(*shape, dtype=dtype) * self.gain


class RandomNormal(Initializer):
    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: int | None = None) -> None:
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Any:
        return random.normal(shape, self.mean, self.stddev, dtype, self.seed)


class TruncatedNormal(RandomNormal):
    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Any:
        return random.truncated_normal(shape, self.mean, self.stddev, dtype, self.seed)


class RandomUniform(Initializer):
    def __init__(self, minval: float = -0.05, maxval: float = 0.05, seed: int | None = None) -> None:
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Any:
        return random.uniform(shape, self.minval, self.maxval, dtype, self.seed)


class VarianceScaling(Initializer):
    """Variance scale / n, where n is fan_in, fan_out or their mean (Glorot & Bengio 2010; He et al. 2015)."""

    def __init__(self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal", seed: int | None = None) -> None:
        self.scale, self.mode, self.distribution, self.seed = scale, mode, distribution, seed

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Any:
        fan_in, fan_out = fans(tuple(shape))
        n = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        variance = self.scale / max(1.0, n)
        if self.distribution == "uniform":
            limit = math.sqrt(3 * variance)
            return random.uniform(shape, -limit, limit, dtype, self.seed)
        if self.distribution == "truncated_normal":  # the variance of a normal cut at two deviations
            return random.truncated_normal(shape, 0.0, math.sqrt(variance) / 0.87962566103423978, dtype, self.seed)
        return random.normal(shape, 0.0, math.sqrt(variance), dtype, self.seed)


def fans(shape: tuple[int, ...]) -> tuple[float, float]:
    """How many inputs and outputs a weight of this shape connects."""
    if len(shape) < 2:
        n = float(shape[0]) if shape else 1.0
        return n, n
    field = float(np.prod(shape[:-2]))
    return shape[-2] * field, shape[-1] * field


class GlorotUniform(VarianceScaling):
    def __init__(self, seed: int | None = None) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed)


class GlorotNormal(VarianceScaling):
    def __init__(self, seed: int | None = None) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed)


class HeUniform(VarianceScaling):
    def __init__(self, seed: int | None = None) -> None:
        super().__init__(2.0, "fan_in", "uniform", seed)


class HeNormal(VarianceScaling):
    def __init__(self, seed: int | None = None) -> None:
        super().__init__(2.0, "fan_in", "truncated_normal", seed)


class LecunUniform(VarianceScaling):
    def __init__(self, seed: int | None = None) -> None:
        super().__init__(1.0, "fan_in", "uniform", seed)


class LecunNormal(VarianceScaling):
    def __init__(self, seed: int | None = None) -> None:
        super().__init__(1.0, "fan_in", "truncated_normal", seed)


class Orthogonal(Initializer):
    """A matrix with orthogonal rows or columns."""

    def __init__(self, gain: float = 1.0, seed: int | None = None) -> None:
        self.gain, self.seed = gain, seed

    def __call__(self, shape: Any, dtype: Any = dtypes.float32, **_: Any) -> Any:
        rows, columns = int(np.prod(shape[:-1])), int(shape[-1])
        values = random.normal([max(rows, columns), min(rows, columns)], seed=self.seed)._a
        q, r = np.linalg.qr(values)
        q = q * np.where(np.diag(r) < 0, -1, 1)
        matrix = q if rows >= columns else q.T
        return convert_to_tensor((self.gain * matrix).reshape(tuple(shape)).astype(dtypes.as_dtype(dtype).dtype))


OrthogonalInitializer = Orthogonal
_BY_NAME: dict[str, Any] = {
    "orthogonal": Orthogonal,
    "zeros": Zeros, "ones": Ones, "constant": Constant, "identity": Identity, "random_normal": RandomNormal,
    "random_uniform": RandomUniform, "truncated_normal": TruncatedNormal, "glorot_uniform": GlorotUniform,
    "glorot_normal": GlorotNormal, "he_uniform": HeUniform, "he_normal": HeNormal, "lecun_uniform": LecunUniform,
    "lecun_normal": LecunNormal, "uniform": RandomUniform, "normal": RandomNormal,
}  # fmt: skip


def get(identifier: Any) -> Any:
    """An initializer from its name, its class, or a callable."""
    if identifier is None:
        return None
    if isinstance(identifier, str):
        found = _BY_NAME.get(identifier) or globals().get(identifier)
        if found is None:
            raise ValueError(f"Could not interpret initializer identifier: {identifier}")
        return found()
    return identifier() if isinstance(identifier, type) else identifier
