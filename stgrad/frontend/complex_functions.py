"""The functions of `cmath`, as those of NumPy on complex numbers: branch cuts are the same."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad.frontend.library import LIBRARY, means


def _elementwise(numpy_function: Callable[..., Any]) -> Callable[..., Any]:
    def body(z):  # type: ignore[no-untyped-def]
        return numpy_function(complex(z))

    return body


for _name in ("exp", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "log10"):
    LIBRARY[getattr(cmath, _name)] = _elementwise(getattr(np, _name))
for _name in ("asin", "acos", "atan", "asinh", "acosh", "atanh"):
    LIBRARY[getattr(cmath, _name)] = _elementwise(getattr(np, _name.replace("a", "arc", 1)))


@means(cmath.log)
def log(z, *base):  # type: ignore[no-untyped-def]
    return np.log(complex(z)) if len(base) == 0 else np.log(complex(z)) / np.log(complex(base[0]))


@means(cmath.phase)
def phase(z):  # type: ignore[no-untyped-def]
    return np.angle(complex(z))


@means(cmath.polar)
def polar(z):  # type: ignore[no-untyped-def]
    return abs(complex(z)), np.angle(complex(z))


@means(cmath.rect)
def rect(r, phi):  # type: ignore[no-untyped-def]
    return complex(r * np.cos(phi), r * np.sin(phi))


@means(cmath.isnan)
def isnan(z):  # type: ignore[no-untyped-def]
    return np.isnan(complex(z))


@means(cmath.isinf)
def isinf(z):  # type: ignore[no-untyped-def]
    return np.isinf(complex(z))


@means(cmath.isfinite)
def isfinite(z):  # type: ignore[no-untyped-def]
    return np.isfinite(complex(z))
