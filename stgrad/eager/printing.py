"""How tensors, variables and indexed slices print: TensorFlow's text, from NumPy values."""

from __future__ import annotations

from typing import Any

import numpy as np

from stgrad.eager import dtypes
from stgrad.eager.shapes import TensorShape


def value_text(value: Any, is_repr: bool) -> str:
    """The value itself; several lines begin on a line of their own."""
    if is_repr:
        if value.ndim == 0:
            item = value[()] if isinstance(value, np.ndarray) else value
            text = repr(item if isinstance(item, bytes) else item.item())
        else:
            text = repr(np.asarray(value))
    else:
        text = str(value if isinstance(value, bytes) else value[()] if value.ndim == 0 and isinstance(value, np.ndarray) else value)
    return "\n" + text if "\n" in text else text


def tensor_str(value: Any) -> str:
    return f"tf.Tensor({value_text(value, False)}, shape={TensorShape(value.shape)}, dtype={dtypes.of(value).name})"


def tensor_repr(value: Any) -> str:
    text = value_text(value, True)
    return f"<tf.Tensor: shape={TensorShape(value.shape)}, dtype={dtypes.of(value).name}, numpy={text}>"


def variable_repr(name: str, shape: Any, value: Any) -> str:
    text = value_text(value, True)
    return f"<tf.Variable '{name}' shape={shape} dtype={dtypes.of(value).name}, numpy={text}>"
