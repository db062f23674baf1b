"""`tf.math`: elementwise functions, reductions and orders under one name."""

from __future__ import annotations

from stgrad.eager import ops_math, ops_reduce
from stgrad.eager.nn import in_top_k, l2_normalize, log_softmax, softmax, zero_fraction  # noqa: F401
from stgrad.eager.ops_math import *  # noqa: F403
from stgrad.eager.ops_reduce import *  # noqa: F403

__all__ = [*ops_math.__all__, *ops_reduce.__all__]
