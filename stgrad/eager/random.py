"""`tf.random`: draws from NumPy generators. A global seed makes every later draw reproducible; a `Generator` has a state of its own."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from stgrad.eager import dtypes
from stgrad.eager.calling import run, static
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.shapes import TensorShape
from stgrad.eager.tensor import Tensor


class _Source(threading.local):
    """This thread's generators: one for draws without a seed, one for each operation seed."""

    def __init__(self) -> None:
        self.reset(None)

    def reset(self, seed: int | None) -> None:
        self.seed = seed
        self.shared = np.random.default_rng(seed)
        self.seeded: dict[int, np.random.Generator] = {}

    def generator(self, seed: int | None) -> np.random.Generator:
        if seed is None:
            return self.shared
        if seed not in self.seeded:
            self.seeded[seed] = np.random.default_rng([abs(int(seed)), 0 if self.seed is None else abs(self.seed)])
        return self.seeded[seed]


_source = _Source()


def set_seed(seed: int) -> None:
    """Start the random draws of this thread from a seed."""
    _source.reset(int(seed))


def _shape(shape: Any) -> tuple[int, ...]:
    found = static(tuple(shape) if isinstance(shape, TensorShape) else shape)
    return found if isinstance(found, tuple) else (found,)


def _floating(dtype: Any) -> Any:
    wanted = dtypes.as_dtype(dtype)
    if not wanted.is_floating:
        raise TypeError(f"Argument `dtype` got invalid value {wanted!r}: random floats have a floating dtype")
    return wanted.dtype


def _number(value: Any, dtype: Any) -> Any:
    return convert_to_tensor(value, dtype_hint=dtype)


def _normal(rng: np.random.Generator, shape: Any, mean: Any, stddev: Any, dtype: Any) -> Any:
    noise = Tensor(rng.standard_normal(_shape(shape)).astype(_floating(dtype)))
    return noise * _number(stddev, dtype) + _number(mean, dtype)


def _uniform(rng: np.random.Generator, shape: Any, minval: Any, maxval: Any, dtype: Any) -> Any:
    wanted = dtypes.as_dtype(dtype)
    if wanted.is_integer:
        if maxval is None:
            raise ValueError("Must specify maxval for integer dtype")
        low, high = (convert_to_tensor(v)._a for v in (minval, maxval))
        return Tensor(rng.integers(low, high, size=_shape(shape)).astype(wanted.dtype))
    noise = Tensor(rng.random(_shape(shape), dtype=np.float64 if wanted.size > 4 else np.float32).astype(wanted.dtype))
    low, high = _number(minval, dtype), _number(1 if maxval is None else maxval, dtype)
    return noise * (high - low) + low


def _truncated(rng: np.random.Generator, shape: Any, mean: Any, stddev: Any, dtype: Any) -> Any:
    noise = rng.standard_normal(_shape(shape))
    while (wild := np.abs(noise) > 2).any():
        noise = np.where(wild, rng.standard_normal(noise.shape), noise)
    return Tensor(np.asarray(noise, _floating(dtype))) * _number(stddev, dtype) + _number(mean, dtype)


def normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = dtypes.float32, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Normal draws; differentiable in mean and stddev."""
    return _normal(_source.generator(seed), shape, mean, stddev, dtype)


def uniform(
    shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = dtypes.float32, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Uniform draws in [minval, maxval); integers for integer dtypes."""
    return _uniform(_source.generator(seed), shape, minval, maxval, dtype)


def truncated_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = dtypes.float32, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Normal draws within two standard deviations."""
    return _truncated(_source.generator(seed), shape, mean, stddev, dtype)


def gamma(
    shape: Any, alpha: Any, beta: Any = None, dtype: Any = dtypes.float32, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Gamma draws; constants for the tape."""
    a = np.asarray(convert_to_tensor(alpha)._a)
    rate = 1.0 if beta is None else np.asarray(convert_to_tensor(beta)._a)
    draws = _source.generator(seed).gamma(a, size=(*_shape(shape), *np.broadcast_shapes(a.shape, np.shape(rate))))
    return Tensor((draws / rate).astype(_floating(dtype)))


def poisson(shape: Any, lam: Any, dtype: Any = dtypes.float32, seed: int | None = None, name: str | None = None) -> Tensor:
    """Poisson draws."""
    rate = np.asarray(convert_to_tensor(lam)._a)
    return Tensor(_source.generator(seed).poisson(rate, size=(*_shape(shape), *rate.shape)).astype(dtypes.as_dtype(dtype).dtype))


def categorical(logits: Any, num_samples: int, dtype: Any = dtypes.int64, seed: int | None = None, name: str | None = None) -> Tensor:
    """Draws of class numbers from rows of logits, by the Gumbel trick."""
    x = convert_to_tensor(logits)._a
    noise = _source.generator(seed).gumbel(size=(x.shape[0], static(num_samples), x.shape[1]))
    return Tensor(np.argmax(x[:, None, :] + noise, axis=-1).astype(dtypes.as_dtype(dtype).dtype))


def shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """The rows in random order."""
    t = convert_to_tensor(value)
    return run(np.take, t, _source.generator(seed).permutation(t._a.shape[0]), axis=0)


def stateless_normal(
    shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = dtypes.float32, name: str | None = None
) -> Tensor:
    """Normal draws that depend on the seed pair alone."""
    return _normal(_from(seed), shape, mean, stddev, dtype)


def stateless_uniform(
    shape: Any, seed: Any, minval: Any = 0, maxval: Any = None, dtype: Any = dtypes.float32, name: str | None = None
) -> Tensor:
    """Uniform draws that depend on the seed pair alone."""
    return _uniform(_from(seed), shape, minval, maxval, dtype)


def _from(seed: Any) -> np.random.Generator:
    return np.random.default_rng([abs(int(s)) for s in np.ravel(convert_to_tensor(seed)._a)])


class Generator:
    """A source of random draws with its own state."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    @classmethod
    def from_seed(cls, seed: int, alg: Any = None) -> Generator:
        return cls(np.random.default_rng(int(seed)))

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        return cls(np.random.default_rng())

    def normal(self, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = dtypes.float32, name: str | None = None) -> Tensor:
        return _normal(self._rng, shape, mean, stddev, dtype)

    def uniform(self, shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = dtypes.float32, name: str | None = None) -> Tensor:
        return _uniform(self._rng, shape, minval, maxval, dtype)

    def truncated_normal(
        self, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = dtypes.float32, name: str | None = None
    ) -> Tensor:
        return _truncated(self._rng, shape, mean, stddev, dtype)

    def reset_from_seed(self, seed: int) -> None:
        self._rng = np.random.default_rng(int(seed))

    def split(self, count: int = 1) -> list[Generator]:
        return [Generator(rng) for rng in self._rng.spawn(count)]


_global: list[Generator] = []


def get_global_generator() -> Generator:
    if not _global:
        _global.append(Generator.from_non_deterministic_state())
    return _global[0]


def set_global_generator(generator: Generator) -> None:
    _global[:] = [generator]
