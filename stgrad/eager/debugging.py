"""`tf.debugging`: assertions, and the check of every result for infinities and NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from stgrad.eager import numerics
from stgrad.eager.calling import pair
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.errors import InvalidArgumentError
from stgrad.eager.numerics import check_numerics, disable_check_numerics, enable_check_numerics
from stgrad.eager.tensor import Tensor

__all__ = [
    "Assert", "assert_all_finite", "assert_equal", "assert_greater", "assert_greater_equal", "assert_less", "assert_less_equal",
    "assert_near", "assert_non_negative", "assert_none_equal", "assert_positive", "assert_rank", "assert_shapes", "assert_type",
    "check_numerics", "disable_check_numerics", "enable_check_numerics", "is_numeric_tensor", "numerics",
]  # fmt: skip


def _assertion(compare: Any, sign: str, name: str) -> Any:
    def check(x: Any, y: Any, message: str | None = None, summarize: int | None = None, name: str | None = None) -> None:
        a, b = pair(x, y, "Assert")
        if not np.all(compare(a._a, b._a)):
            raise InvalidArgumentError(f"{message or ''} Condition x {sign} y did not hold. x = {a._a!r}, y = {b._a!r}".strip())

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"InvalidArgumentError unless x {sign} y everywhere."
    return check


assert_equal, assert_none_equal = _assertion(np.equal, "==", "assert_equal"), _assertion(np.not_equal, "!=", "assert_none_equal")
assert_less, assert_less_equal = _assertion(np.less, "<", "assert_less"), _assertion(np.less_equal, "<=", "assert_less_equal")
assert_greater, assert_greater_equal = (
    _assertion(np.greater, ">", "assert_greater"),
    _assertion(np.greater_equal, ">=", "assert_greater_equal"),
)


def assert_near(
    x: Any, y: Any, rtol: Any = None, atol: Any = None, message: str | None = None, summarize: Any = None, name: Any = None
) -> None:
    """InvalidArgumentError unless x and y are close everywhere."""
    a, b = pair(x, y, "Assert")
    tolerance = 10 * np.finfo(a._a.dtype).eps
    if not np.allclose(a._a, b._a, tolerance if rtol is None else rtol, tolerance if atol is None else atol):
        raise InvalidArgumentError(f"{message or ''} x and y not equal to tolerance. x = {a._a!r}, y = {b._a!r}".strip())


def assert_positive(x: Any, message: str | None = None, summarize: Any = None, name: str | None = None) -> None:
    assert_greater(x, 0, message)


def assert_non_negative(x: Any, message: str | None = None, summarize: Any = None, name: str | None = None) -> None:
    assert_greater_equal(x, 0, message)


def assert_rank(x: Any, rank: int, message: str | None = None, name: str | None = None) -> None:
    t = convert_to_tensor(x)
    if t._a.ndim != rank:
        raise ValueError(f"{message or ''} Tensor must have rank {rank}. Received rank {t._a.ndim}, shape {t.shape}".strip())


def assert_type(tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None) -> None:
    if convert_to_tensor(tensor).dtype != tf_type:
        raise TypeError(f"{message or ''} tensor must be of type {tf_type!r}".strip())


def assert_shapes(shapes: Any, *_: Any, **__: Any) -> None:
    """ValueError unless the shapes fit; a name stands for one extent throughout."""
    sizes: dict[Any, int] = {}
    for x, spec in shapes.items() if isinstance(shapes, dict) else shapes:
        shape = convert_to_tensor(x)._a.shape
        wanted = tuple(spec) if isinstance(spec, (tuple, list, str)) else (spec,)
        fits = len(shape) == len(wanted) and all(
            w is None or sizes.setdefault(w, w if isinstance(w, int) else n) == n for n, w in zip(shape, wanted)
        )
        if not fits:
            raise ValueError(f"Tensor of shape {shape} does not fit the shape {wanted} (known extents: {sizes})")


def assert_all_finite(x: Any, message: str, name: str | None = None) -> Tensor:
    return check_numerics(x, message)


def is_numeric_tensor(tensor: Any) -> bool:
    return hasattr(tensor, "_a") and tensor._a.dtype.kind in "iufc"


def Assert(condition: Any, data: Any, summarize: Any = None, name: str | None = None) -> None:  # noqa: N802
    """InvalidArgumentError unless the condition holds everywhere."""
    if not np.all(convert_to_tensor(condition)._a):
        raise InvalidArgumentError(f"Expected '{condition}' to be true. Summarized data: {data}", "Assert")
