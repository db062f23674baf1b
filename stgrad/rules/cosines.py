"""Derivatives of the discrete cosine and sine transforms of scipy.fft.

Transforms of the types II and III are transposes of each other up to the weight of one item: the first of a cosine transform, the
last of a sine transform. Orthogonalised ones are exact transposes, types I and IV their own. Source: SciPy's reference of `dct`.
"""

from __future__ import annotations

import numpy as np
import scipy.fft as sf

from .core import composite, linear, samples, static
from .fft import fft_axes, fitted
from .reductions import back, last

TRANSPOSED = {1: 1, 2: 3, 3: 2, 4: 4}


@static
def transposed(type):
    return TRANSPOSED[type]


@static
def swapped(norm):
    """The normalisation of the inverse."""
    return {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}[norm]


@static
def orthogonal(norm, orthogonalize):
    return norm == "ortho" if orthogonalize is None else bool(orthogonalize)


def weighed(x, axis, first, end):
    """`x` with its first and last item along an axis multiplied."""
    weights = np.ones(np.shape(x)[axis], dtype=x.dtype)
    weights[0] = first
    weights[-1] = weights[-1] * end
    return back(last(x, axis) * weights, axis)


@linear(sf.dct)
def dct(y, y_bar, x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, orthogonalize=None):
    orthogonalize = None if np.iscomplexobj(x) else orthogonalize  # of a complex array, SciPy transforms the parts without it
    exact = orthogonal(norm, orthogonalize) or type == 4
    before = y_bar if exact or type == 3 else weighed(y_bar, axis, 2.0, 2.0 if type == 1 else 1.0)
    x_bar = sf.dct(before, transposed(type), axis=axis, norm=norm, orthogonalize=orthogonalize)
    if not exact and type != 2:
        x_bar = weighed(x_bar, axis, 0.5, 0.5 if type == 1 else 1.0)
    return x_bar if n is None else fitted(x_bar, np.shape(x)[axis], axis)


@linear(sf.dst)
def dst(y, y_bar, x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, orthogonalize=None):
    orthogonalize = None if np.iscomplexobj(x) else orthogonalize  # of a complex array, SciPy transforms the parts without it
    exact = orthogonal(norm, orthogonalize) or type in (1, 4)
    before = y_bar if exact or type == 3 else weighed(y_bar, axis, 1.0, 2.0)
    x_bar = sf.dst(before, transposed(type), axis=axis, norm=norm, orthogonalize=orthogonalize)
    if not exact and type == 3:
        x_bar = weighed(x_bar, axis, 1.0, 0.5)
    return x_bar if n is None else fitted(x_bar, np.shape(x)[axis], axis)


@composite(sf.idct)
def idct(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, orthogonalize=None):
    return sf.dct(x, transposed(type), n, axis, swapped(norm), orthogonalize=orthogonal(norm, orthogonalize))


@composite(sf.idst)
def idst(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, orthogonalize=None):
    return sf.dst(x, transposed(type), n, axis, swapped(norm), orthogonalize=orthogonal(norm, orthogonalize))


@composite(sf.dctn)
def dctn(x, type=2, s=None, axes=None, norm=None, overwrite_x=False, workers=None, *, orthogonalize=None):
    for i, axis in enumerate(fft_axes(s, axes, np.ndim(x))):
        x = sf.dct(x, type, None if s is None else s[i], axis, norm, orthogonalize=orthogonalize)
    return x


@composite(sf.idctn)
def idctn(x, type=2, s=None, axes=None, norm=None, overwrite_x=False, workers=None, *, orthogonalize=None):
    for i, axis in enumerate(fft_axes(s, axes, np.ndim(x))):
        x = sf.idct(x, type, None if s is None else s[i], axis, norm, orthogonalize=orthogonalize)
    return x


@samples(sf.dct, sf.dst, sf.idct, sf.idst)
def _(rng):
    for type in (1, 2, 3, 4):
        for norm in (None, "ortho", "forward"):
            yield (rng.normal(size=(3, 4)), type), {"norm": norm}
        yield (rng.normal(size=(3, 4)), type, 5, 0), {}
        yield (rng.normal(size=5), type, 3), {"norm": "ortho", "orthogonalize": False}
        yield (rng.normal(size=5), type), {"orthogonalize": True}


@samples(sf.dctn, sf.idctn)
def _(rng):
    yield (rng.normal(size=(3, 4)),), {}
    yield (rng.normal(size=(3, 4)),), {"type": 3, "norm": "ortho", "axes": (0,)}
