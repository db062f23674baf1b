"""`keras.backend` and `keras.utils`, as far as training code with tapes uses them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from stgrad.eager import random


def epsilon() -> float:
    """What keeps logarithms away from 0."""
    return 1e-7


def to_categorical(x: Any, num_classes: int | None = None) -> Any:
    """Class numbers as one-hot rows, a NumPy array."""
    ids = np.asarray(x, int)
    ids = ids[..., 0] if ids.ndim > 1 and ids.shape[-1] == 1 else ids
    return np.eye(int(ids.max()) + 1 if num_classes is None else num_classes)[ids]


backend = SimpleNamespace(epsilon=epsilon)
utils = SimpleNamespace(to_categorical=to_categorical, set_random_seed=random.set_seed)
