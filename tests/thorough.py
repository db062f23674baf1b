"""`check_gradient` as our own tests use it: to the second order, and in plain Python unless they ask for compiled code."""

from __future__ import annotations

import functools

from stgrad import testing

check_gradient = functools.partial(testing.check_gradient, order=2, jit=False)
