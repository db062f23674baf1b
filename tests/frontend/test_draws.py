"""Random numbers in differentiated functions: constants where the program seeds the generator, refused elsewhere."""

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import errors


def monte_carlo(s, n):
    rng = np.random.default_rng(7)
    z = rng.standard_normal(n)
    u = rng.uniform(0.5, 1.0, size=(n, 2))
    return np.mean(np.exp(s * z)) + np.sum(u) * s


def old_generator(s):
    rng = np.random.RandomState(1)
    return np.sum(rng.normal(size=3) * s) + rng.random() * s


@pytest.mark.parametrize(("function", "args"), [(monte_carlo, (0.3, 5)), (old_generator, (2.0,))])
def test_a_seeded_generator_gives_constants(function, args):
    assert stgrad.value_and_grad(function, jit=False)(*args)[0] == pytest.approx(function(*args), rel=1e-14)
    check_gradient(function, args, order=2)


def test_an_old_generator_without_a_seed_is_refused():
    with pytest.raises(errors.UnsupportedSyntaxError, match="random numbers are drawn"):
        stgrad.grad(lambda s: s * np.random.RandomState().normal(), jit=False)(1.0)
