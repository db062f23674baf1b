"""`tf.math`: elementwise functions, reductions and orders under one name."""

from __future__ import annotations

from stgrad.eager.nn import in_top_k, l2_normalize, log_softmax, softmax, softplus, softsign, zero_fraction  # noqa: F401
from stgrad.eager.ops_math import *  # noqa: F403
from stgrad.eager.ops_math import abs, complex, pow, round  # noqa: A004, F401
from stgrad.eager.ops_reduce import *  # noqa: F403
from stgrad.eager.ops_reduce import sort  # noqa: F401
