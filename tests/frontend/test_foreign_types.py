"""Arrays of dates and texts are refused where they are made, whatever is done with them."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad


@pytest.mark.parametrize("dtype", ["datetime64[D]", "timedelta64[s]"])
def test_dates_are_refused(dtype):
    def f(x, when):
        return x * np.array(when, dtype=dtype).astype("int")[0]

    with pytest.raises(stgrad.errors.StgradError, match="not supported|does not take"):
        stgrad.grad(f)(2.0, np.array([3, 4]))
