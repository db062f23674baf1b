"""Distributions, by standard numbers of a generator: so draws have derivatives in their parameters.

Each formula is NumPy's (`legacy-distributions.c` and `distributions.c` in `numpy/random/src`), so that the numbers are the same. Where the sources of the
global generator and of a `np.random.Generator` differ, that is said in the functions themselves: exponential numbers, and how a shuffle draws.
"""

from __future__ import annotations

import numpy as np

from stgrad.frontend.draws import (
    exponential_of,
    integer_of,
    interval_of,
    normal_of,
    number_of_integers,
    number_of_normal,
    number_of_uniform,
    uniform_of,
)
from stgrad.frontend.library import means, refuse
from stgrad.runtime.generators import Draws

# --------------------------------------------------------------------------- of any generator: `number()` draws one


@means()
def numbers(number, size, *parameters):  # type: ignore[no-untyped-def]
    """As many as asked for, else one for each parameter where these are arrays, else one; in C order."""
    shapes = [np.shape(p) for p in parameters if p is not None and np.ndim(p) > 0]
    refuse(size is None and len(shapes) > 1, "random numbers with several arrays of parameters are drawn with `size` alone", "write size=x.shape")
    if size is None and len(shapes) == 0:
        return number()
    found = np.empty(shapes[0] if size is None else size)
    flat = found.reshape(-1)
    for i in range(len(flat)):
        flat[i] = number()
    return found


@means()
def not_negative(scale, message):  # type: ignore[no-untyped-def]
    if np.any(scale < 0) if np.ndim(scale) > 0 else scale < 0:
        raise ValueError(message)


@means()
def between(number, low, high, size):  # type: ignore[no-untyped-def]
    return low + (high - low) * numbers(number, size, low, high)


@means()
def shifted(number, loc, scale, size):  # type: ignore[no-untyped-def]
    if scale is not None:
        not_negative(scale, "scale < 0")
    z = numbers(number, size, loc, scale)
    z = z if scale is None else scale * z
    return z if loc is None else loc + z


@means()
def exponential_of_normal(number, mean, sigma, size):  # type: ignore[no-untyped-def]
    not_negative(sigma, "sigma < 0")
    return np.exp(mean + sigma * numbers(number, size, mean, sigma))


@means()
def whole(number, low, high, size, dtype, endpoint=False):  # type: ignore[no-untyped-def]
    """Integers; `number(first, stop)` draws one."""
    refuse(np.ndim(low) > 0 or high is not None and np.ndim(high) > 0, "random integers between arrays of bounds are not supported", "draw them in a loop")
    refuse(dtype not in (int, np.int64), "random integers of another dtype than int64 are not supported", "write .astype(...) behind it")
    first, stop = (0, low) if high is None else (low, high)
    stop = stop + 1 if endpoint else stop
    if size is None:
        return number(first, stop)
    found = np.empty(size, dtype=np.int64)
    flat = found.reshape(-1)
    for i in range(len(flat)):
        flat[i] = number(first, stop)
    return found


@means()
def shuffled(interval, x):  # type: ignore[no-untyped-def]
    """Rows in another order, in place; `interval(most)` draws a position."""
    for i in range(len(x) - 1, 0, -1):
        j = interval(i)
        held = np.copy(x[i])
        x[i] = x[j]
        x[j] = held


@means()
def in_another_order(interval, x):  # type: ignore[no-untyped-def]
    found = np.arange(x) if np.ndim(x) == 0 else np.array(x)
    shuffled(interval, found)
    return found


@means()
def chosen(uniform_numbers, integers, a, size, p):  # type: ignore[no-untyped-def]
    """Items of an array, or positions, with replacement."""
    if p is not None:
        sums = np.cumsum(p)
        at = np.searchsorted(sums / sums[-1], uniform_numbers(size), side="right")
    else:
        at = integers(0, a if np.ndim(a) == 0 else len(a), size)
    return at if np.ndim(a) == 0 else a[at]


# --------------------------------------------------------------------------- NumPy's global generator, and Numba's


@means(np.random.random, np.random.random_sample, np.random.ranf, np.random.sample)
def random(size=None):  # type: ignore[no-untyped-def]
    return numbers(number_of_uniform, size)


@means(np.random.rand)
def rand(*shape):  # type: ignore[no-untyped-def]
    return numbers(number_of_uniform, shape if len(shape) > 0 else None)


@means(np.random.standard_normal)
def standard_normal(size=None):  # type: ignore[no-untyped-def]
    return numbers(number_of_normal, size)


@means(np.random.randn)
def randn(*shape):  # type: ignore[no-untyped-def]
    return numbers(number_of_normal, shape if len(shape) > 0 else None)


@means(np.random.uniform)
def uniform(low=0.0, high=1.0, size=None):  # type: ignore[no-untyped-def]
    return between(number_of_uniform, low, high, size)


@means(np.random.normal)
def normal(loc=None, scale=None, size=None):  # type: ignore[no-untyped-def]
    return shifted(number_of_normal, loc, scale, size)


@means(np.random.lognormal)
def lognormal(mean=0.0, sigma=1.0, size=None):  # type: ignore[no-untyped-def]
    return exponential_of_normal(number_of_normal, mean, sigma, size)


@means(np.random.standard_exponential)
def standard_exponential(size=None):  # type: ignore[no-untyped-def]
    return -np.log1p(-numbers(number_of_uniform, size))


@means(np.random.exponential)
def exponential(scale=1.0, size=None):  # type: ignore[no-untyped-def]
    not_negative(scale, "scale < 0")
    return scale * -np.log1p(-numbers(number_of_uniform, size, scale))


@means(np.random.rayleigh)
def rayleigh(scale=1.0, size=None):  # type: ignore[no-untyped-def]
    not_negative(scale, "scale < 0")
    return scale * np.sqrt(-2.0 * np.log1p(-numbers(number_of_uniform, size, scale)))


@means(np.random.randint)
def randint(low, high=None, size=None, dtype=int):  # type: ignore[no-untyped-def]
    return whole(number_of_integers, low, high, size, dtype)


@means(np.random.shuffle)
def shuffle(x):  # type: ignore[no-untyped-def]
    shuffled(lambda most: number_of_integers(0, most + 1), x)


@means(np.random.permutation)
def permutation(x):  # type: ignore[no-untyped-def]
    return in_another_order(lambda most: number_of_integers(0, most + 1), x)


@means(np.random.choice)
def choice(a, size=None, replace=True, p=None):  # type: ignore[no-untyped-def]
    refuse(p is not None and not replace, "choices without replacement by weights are not supported", "draw the positions outside")
    if replace:
        return chosen(random, randint, a, size, p)
    order = permutation(a if np.ndim(a) == 0 else len(a))
    shape = () if size is None else size if isinstance(size, (tuple, list)) else (size,)
    at = order[0] if size is None else order[: int(np.prod(shape))].reshape(shape)
    return at if np.ndim(a) == 0 else a[at]


# --------------------------------------------------------------------------- methods of a `np.random.Generator`


@means()
def generator_random(self, size=None):  # type: ignore[no-untyped-def]
    return numbers(lambda: uniform_of(self.address), size)


@means()
def generator_standard_normal(self, size=None):  # type: ignore[no-untyped-def]
    return numbers(lambda: normal_of(self.address), size)


@means()
def generator_standard_exponential(self, size=None):  # type: ignore[no-untyped-def]
    return numbers(lambda: exponential_of(self.address), size)


@means()
def generator_uniform(self, low=0.0, high=1.0, size=None):  # type: ignore[no-untyped-def]
    return between(lambda: uniform_of(self.address), low, high, size)


@means()
def generator_normal(self, loc=None, scale=None, size=None):  # type: ignore[no-untyped-def]
    return shifted(lambda: normal_of(self.address), loc, scale, size)


@means()
def generator_lognormal(self, mean=0.0, sigma=1.0, size=None):  # type: ignore[no-untyped-def]
    return exponential_of_normal(lambda: normal_of(self.address), mean, sigma, size)


@means()
def generator_exponential(self, scale=1.0, size=None):  # type: ignore[no-untyped-def]
    return shifted(lambda: exponential_of(self.address), None, scale, size)


@means()
def generator_integers(self, low, high=None, size=None, dtype=np.int64, endpoint=False):  # type: ignore[no-untyped-def]
    return whole(lambda first, stop: integer_of(self.address, first, stop), low, high, size, dtype, endpoint)


@means()
def generator_shuffle(self, x):  # type: ignore[no-untyped-def]
    shuffled(lambda most: interval_of(self.address, most), x)


@means()
def generator_permutation(self, x):  # type: ignore[no-untyped-def]
    return in_another_order(lambda most: interval_of(self.address, most), x)


@means()
def generator_choice(self, a, size=None, replace=True, p=None):  # type: ignore[no-untyped-def]
    refuse(not replace, "choices without replacement from a generator are not supported", "write rng.permutation(a)[:n], or draw them outside")
    return chosen(lambda size: generator_random(self, size), lambda low, high, size: generator_integers(self, low, high, size), a, size, p)


for _method in (
    generator_random, generator_standard_normal, generator_standard_exponential, generator_uniform, generator_normal, generator_lognormal,
    generator_exponential, generator_integers, generator_shuffle, generator_permutation, generator_choice,
):  # fmt: skip
    setattr(Draws, _method.__name__.removeprefix("generator_"), _method)
