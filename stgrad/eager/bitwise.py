"""`tf.bitwise`."""

from __future__ import annotations

import numpy as np

from stgrad.eager.calling import binary, unary

bitwise_and, bitwise_or = binary(np.bitwise_and, "bitwise_and", "iu"), binary(np.bitwise_or, "bitwise_or", "iu")
bitwise_xor, invert = binary(np.bitwise_xor, "bitwise_xor", "iu"), unary(np.invert, "invert", "iu")
left_shift, right_shift = binary(np.left_shift, "left_shift", "iu"), binary(np.right_shift, "right_shift", "iu")
