"""Small names that tape code meets beside the tape: printing, scopes that do nothing here, static questions, initializers."""

from __future__ import annotations

import builtins
import contextlib
import enum
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from stgrad.eager import dtypes
from stgrad.eager.calling import pair, static
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.errors import InvalidArgumentError
from stgrad.eager.indexing import identity
from stgrad.eager.keras.initializers import Constant, Ones, RandomNormal, RandomUniform, Zeros
from stgrad.eager.record import recorders
from stgrad.eager.shapes import TensorShape, TensorSpec
from stgrad.eager.tensor import Tensor

constant_initializer, zeros_initializer, ones_initializer = Constant, Zeros, Ones
random_normal_initializer, random_uniform_initializer = RandomNormal, RandomUniform


class VariableSynchronization(enum.Enum):
    """How copies of a variable are kept alike; there is one copy here."""

    AUTO, NONE, ON_WRITE, ON_READ = range(4)


class VariableAggregation(enum.Enum):
    """How gradients of copies of a variable are combined; there is one copy here."""

    NONE, SUM, MEAN, ONLY_FIRST_REPLICA = range(4)


def print_(*inputs: Any, output_stream: Any = None, end: str = "\n", sep: str = " ", summarize: int = 3, name: str | None = None) -> None:
    """Print values, tensors as their arrays."""
    stream = sys.stderr if output_stream is None else output_stream
    builtins.print(*[x._a if hasattr(x, "_a") else x for x in inputs], sep=sep, end=end, file=stream)


@contextlib.contextmanager
def device(device_name: Any = None) -> Iterator[None]:
    """There is one device: the block runs on it."""
    yield


@contextlib.contextmanager
def control_dependencies(control_inputs: Any) -> Iterator[None]:
    """Operations run in the order they are written."""
    yield


@contextlib.contextmanager
def init_scope() -> Iterator[None]:
    """Nothing in the block is recorded."""
    with recorders(()):
        yield


def group(*inputs: Any, name: str | None = None) -> None:
    """All of the inputs have run."""


no_op = group


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Tensor:
    """The tensor, if its shape fits."""
    t = convert_to_tensor(x)
    if not TensorShape(shape).is_compatible_with(t.shape):
        raise InvalidArgumentError(f"Shape of tensor {list(t.shape)} is not compatible with expected shape {shape}", "EnsureShape")
    return identity(t)


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The value as a NumPy array."""
    return tensor.numpy() if hasattr(tensor, "numpy") else tensor


def type_spec_from_value(value: Any) -> TensorSpec:
    return TensorSpec.from_tensor(convert_to_tensor(value))


def as_string(input: Any, name: str | None = None) -> Tensor:
    """Each element as text."""
    value = np.asarray(convert_to_tensor(input)._a)
    texts = np.empty(value.shape, object)
    for index in np.ndindex(*value.shape):
        item = value[index]
        texts[index] = (f"{item:f}" if value.dtype.kind == "f" else str(item).lower() if value.dtype.kind == "b" else str(item)).encode()
    return Tensor(texts)


def timestamp(name: str | None = None) -> Tensor:
    """Seconds since 1970."""
    return Tensor(np.float64(time.time()))


def histogram_fixed_width(values: Any, value_range: Any, nbins: Any = 100, dtype: Any = dtypes.int32, name: str | None = None) -> Tensor:
    """How many values fall in each of equal bins; what lies outside counts in the outermost."""
    v, ends = pair(values, value_range, "HistogramFixedWidth")
    count = static(nbins)
    low, high = ends._a
    place = np.clip(((np.ravel(v._a) - low) / (high - low) * count).astype(int), 0, count - 1)
    return Tensor(np.bincount(place, minlength=count).astype(dtypes.as_dtype(dtype).dtype))
