"""`rows == []`: of a list whose length the running program decides it is a question of its length."""

import numpy as np
import pytest

from stgrad import testing


def filled(x):
    rows = []
    for v in x:
        if v > 0.0:
            rows.append(v * v)
    if rows == []:
        return np.sum(x)
    return sum(rows) if [] != rows else 7.0


def taken(x):
    rows = [0.0]
    for v in x:
        rows.append(v * rows[-1] + v)
    total = 0.0
    while rows != []:
        total += rows.pop() * len(rows)
    return total + (1.0 if rows == () else 2.0) * x[0]


@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.parametrize("x", [[1.0, -2.0, 3.0], [-1.0, -2.0]])
@pytest.mark.parametrize("function", [filled, taken])
def test_is_a_question_of_length(function, x, jit):
    testing.check_gradient(function, (np.array(x),), order=2, jit=jit)
