"""What stands between brackets: integers, slices and arrays of integers or bools; nothing else reaches a compiler."""

import numpy as np
import pytest
from thorough import check_gradient

import stgrad

X = np.array([0.7, -1.2, 0.4, 1.9])


def by_a_literal(x):
    return x[1.0] * x.sum()


def by_a_number_of_numpy(x):
    return x[np.float64(1)]


def by_a_default(x, k=0.5):
    return x[k]


def up_to_a_float(x):
    return x[:2.0].sum()


def by_a_string(x):
    return x["a"]


def by_a_dict(x):
    return x[{}].sum()


def by_a_function(x):
    return x[abs]


def by_floats(x):
    return x[np.array([0.0, 1.0])].sum()


REFUSED = [
    by_a_literal, by_a_number_of_numpy, by_a_default, up_to_a_float, by_a_string, by_a_dict, by_a_function, by_floats,
]  # fmt: skip


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_other_indices_are_refused_where_they_stand(f, jit):
    with pytest.raises(stgrad.errors.TypeInferenceError, match="an index must be an integer") as refused:
        stgrad.grad(f, jit=jit)(X.copy())
    assert refused.value.loc.file == __file__


def by_small_integers(x, k):
    return x[k] * x[np.int8(2)] + x[(0, 1),].sum() ** 2 + x[np.array(1)] * x[True + 1]


@pytest.mark.parametrize("jit", [False, True])
def test_integers_of_every_kind(jit):
    check_gradient(by_small_integers, (X, np.int16(3)), jit=jit)


def test_what_never_runs_is_not_looked_at():
    def f(x):
        box = [x.sum(), x]
        while False:
            box[1][1.0] = box[0]
        return np.sum(box[1])

    assert stgrad.grad(f, jit=False)(np.ones(3)).tolist() == [1.0, 1.0, 1.0]
