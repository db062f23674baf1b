"""Distributions of NumPy's global generator, by standard numbers: so draws have derivatives in their parameters.

Each formula is that of NumPy's legacy generator (`numpy/random/src/legacy/legacy-distributions.c`), which Numba follows, so that the numbers are the same.
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


@means()
def several(number, size):  # type: ignore[no-untyped-def]
    """Numbers in C order, in an array of a shape."""
    shape = size if isinstance(size, (tuple, list)) else (size,)
    found = np.empty(shape)
    flat = found.reshape(-1)
    for i in range(len(flat)):
        flat[i] = number()
    return found


@means()
def numbers(number, size, *parameters):  # type: ignore[no-untyped-def]
    """As many as asked for, else one for each parameter where these are arrays, else one."""
    if size is not None:
        return several(number, size)
    shapes = [np.shape(p) for p in parameters if p is not None and np.ndim(p) > 0]
    refuse(len(shapes) > 1, "random numbers with several arrays of parameters are drawn with `size` alone", "write size=x.shape")
    return several(number, shapes[0]) if len(shapes) > 0 else number()


@means()
def not_negative(scale, message):  # type: ignore[no-untyped-def]
    if np.any(scale < 0) if np.ndim(scale) > 0 else scale < 0:
        raise ValueError(message)


@means(np.random.random, np.random.random_sample, np.random.ranf, np.random.sample)
def uniform_standard(size=None):  # type: ignore[no-untyped-def]
    return number_of_uniform() if size is None else several(number_of_uniform, size)


@means(np.random.rand)
def uniform_of_shape(*shape):  # type: ignore[no-untyped-def]
    return several(number_of_uniform, shape) if len(shape) > 0 else number_of_uniform()


@means(np.random.standard_normal)
def normal_standard(size=None):  # type: ignore[no-untyped-def]
    return number_of_normal() if size is None else several(number_of_normal, size)


@means(np.random.randn)
def normal_of_shape(*shape):  # type: ignore[no-untyped-def]
    return several(number_of_normal, shape) if len(shape) > 0 else number_of_normal()


@means(np.random.uniform)
def uniform(low=0.0, high=1.0, size=None):  # type: ignore[no-untyped-def]
    return low + (high - low) * numbers(number_of_uniform, size, low, high)


@means(np.random.normal)
def normal(loc=None, scale=None, size=None):  # type: ignore[no-untyped-def]
    z = numbers(number_of_normal, size, loc, scale)
    if scale is not None:
        not_negative(scale, "scale < 0")
        z = scale * z
    return z if loc is None else loc + z


@means(np.random.lognormal)
def lognormal(mean=0.0, sigma=1.0, size=None):  # type: ignore[no-untyped-def]
    not_negative(sigma, "sigma < 0")
    return np.exp(mean + sigma * numbers(number_of_normal, size, mean, sigma))


@means(np.random.standard_exponential)
def exponential_standard(size=None):  # type: ignore[no-untyped-def]
    return -np.log1p(-uniform_standard(size))


@means(np.random.exponential)
def exponential(scale=1.0, size=None):  # type: ignore[no-untyped-def]
    not_negative(scale, "scale < 0")
    return scale * -np.log1p(-numbers(number_of_uniform, size, scale))


@means(np.random.rayleigh)
def rayleigh(scale=1.0, size=None):  # type: ignore[no-untyped-def]
    not_negative(scale, "scale < 0")
    return scale * np.sqrt(-2.0 * np.log1p(-numbers(number_of_uniform, size, scale)))


# --------------------------------------------------------------------------- integers, choices, permutations


@means(np.random.randint)
def integers(low, high=None, size=None, dtype=int):  # type: ignore[no-untyped-def]
    refuse(np.ndim(low) > 0 or high is not None and np.ndim(high) > 0, "random integers between arrays of bounds are not supported", "draw them in a loop")
    refuse(dtype not in (int, np.int64), "random integers of another dtype than int64 are not supported", "write .astype(...) behind it")
    first, stop = (0, low) if high is None else (low, high)
    if size is None:
        return number_of_integers(first, stop)
    found = np.empty(size, dtype=np.int64)
    flat = found.reshape(-1)
    for i in range(len(flat)):
        flat[i] = number_of_integers(first, stop)
    return found


@means(np.random.shuffle)
def shuffle(x):  # type: ignore[no-untyped-def]
    for i in range(len(x) - 1, 0, -1):
        j = number_of_integers(0, i + 1)
        held = np.copy(x[i])
        x[i] = x[j]
        x[j] = held


@means(np.random.permutation)
def permutation(x):  # type: ignore[no-untyped-def]
    found = np.arange(x) if np.ndim(x) == 0 else np.array(x)
    shuffle(found)
    return found


@means(np.random.choice)
def choice(a, size=None, replace=True, p=None):  # type: ignore[no-untyped-def]
    count = a if np.ndim(a) == 0 else len(a)
    if p is not None:
        refuse(not replace, "choices without replacement by weights are not supported", "draw the positions outside")
        sums = np.cumsum(p)
        at = np.searchsorted(sums / sums[-1], uniform_standard(size), side="right")
    elif replace:
        at = integers(0, count, size)
    else:
        shape = () if size is None else size if isinstance(size, (tuple, list)) else (size,)
        at = permutation(count)[: int(np.prod(shape))].reshape(shape) if size is not None else permutation(count)[0]
    return at if np.ndim(a) == 0 else a[at]


# --------------------------------------------------------------------------- methods of generators that are passed in


@means()
def of_shape(number, address, size, *parameters):  # type: ignore[no-untyped-def]
    """As `numbers`, from a generator of an address."""
    shapes = [np.shape(p) for p in parameters if p is not None and np.ndim(p) > 0]
    refuse(size is None and len(shapes) > 1, "random numbers with several arrays of parameters are drawn with `size` alone", "write size=x.shape")
    if size is None and len(shapes) == 0:
        return number(address)
    shape = shapes[0] if size is None else size if isinstance(size, (tuple, list)) else (size,)
    found = np.empty(shape)
    flat = found.reshape(-1)
    for i in range(len(flat)):
        flat[i] = number(address)
    return found


@means()
def generator_random(self, size=None):  # type: ignore[no-untyped-def]
    return of_shape(uniform_of, self.address, size)


@means()
def generator_standard_normal(self, size=None):  # type: ignore[no-untyped-def]
    return of_shape(normal_of, self.address, size)


@means()
def generator_standard_exponential(self, size=None):  # type: ignore[no-untyped-def]
    return of_shape(exponential_of, self.address, size)


@means()
def generator_uniform(self, low=0.0, high=1.0, size=None):  # type: ignore[no-untyped-def]
    return low + (high - low) * of_shape(uniform_of, self.address, size, low, high)


@means()
def generator_normal(self, loc=None, scale=None, size=None):  # type: ignore[no-untyped-def]
    z = of_shape(normal_of, self.address, size, loc, scale)
    if scale is not None:
        not_negative(scale, "scale < 0")
        z = scale * z
    return z if loc is None else loc + z


@means()
def generator_lognormal(self, mean=0.0, sigma=1.0, size=None):  # type: ignore[no-untyped-def]
    not_negative(sigma, "sigma < 0")
    return np.exp(mean + sigma * of_shape(normal_of, self.address, size, mean, sigma))


@means()
def generator_exponential(self, scale=1.0, size=None):  # type: ignore[no-untyped-def]
    not_negative(scale, "scale < 0")
    return scale * of_shape(exponential_of, self.address, size, scale)


@means()
def generator_integers(self, low, high=None, size=None, dtype=np.int64, endpoint=False):  # type: ignore[no-untyped-def]
    refuse(np.ndim(low) > 0 or high is not None and np.ndim(high) > 0, "random integers between arrays of bounds are not supported", "draw them in a loop")
    refuse(dtype not in (int, np.int64), "random integers of another dtype than int64 are not supported", "write .astype(...) behind it")
    first, stop = (0, low) if high is None else (low, high)
    stop = stop + 1 if endpoint else stop
    if size is None:
        return integer_of(self.address, first, stop)
    found = np.empty(size, dtype=np.int64)
    flat = found.reshape(-1)
    for i in range(len(flat)):
        flat[i] = integer_of(self.address, first, stop)
    return found


@means()
def generator_shuffle(self, x):  # type: ignore[no-untyped-def]
    for i in range(len(x) - 1, 0, -1):
        j = interval_of(self.address, i)
        held = np.copy(x[i])
        x[i] = x[j]
        x[j] = held


@means()
def generator_permutation(self, x):  # type: ignore[no-untyped-def]
    found = np.arange(x) if np.ndim(x) == 0 else np.array(x)
    generator_shuffle(self, found)
    return found


@means()
def generator_choice(self, a, size=None, replace=True, p=None):  # type: ignore[no-untyped-def]
    refuse(not replace, "choices without replacement from a generator are not supported", "write rng.permutation(a)[:n], or draw them outside")
    count = a if np.ndim(a) == 0 else len(a)
    if p is not None:
        sums = np.cumsum(p)
        at = np.searchsorted(sums / sums[-1], generator_random(self, size), side="right")
    else:
        at = generator_integers(self, 0, count, size)
    return at if np.ndim(a) == 0 else a[at]


for _method in (
    generator_random, generator_standard_normal, generator_standard_exponential, generator_uniform, generator_normal, generator_lognormal,
    generator_exponential, generator_integers, generator_shuffle, generator_permutation, generator_choice,
):  # fmt: skip
    setattr(Draws, _method.__name__.removeprefix("generator_"), _method)
