"""The functions of `cmath`, as those of NumPy on complex numbers (branch cuts are the same), and those of `np.emath`.

The latter give complex numbers where real ones have no real result. Here real arguments are taken to have one, and the program says so where they have not.
"""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad.frontend.library import LIBRARY, means, refuse
from stgrad.runtime.call import COMPLEX_RESULT

_COMPLEX = f"{COMPLEX_RESULT}: pass them as complex arrays, x.astype(complex)"


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


# --------------------------------------------------------------------------- np.emath


@means()
def _given(x):  # type: ignore[no-untyped-def]
    return np.asarray(x) if isinstance(x, (list, tuple)) else x


def _where_real(numpy_function: Callable[..., Any], outside: Callable[..., Any]) -> Callable[..., Any]:
    """A function of what has a real result; of real numbers `outside` of that the program says so."""

    def body(x):  # type: ignore[no-untyped-def]
        x = _given(x)
        if not np.iscomplexobj(x) and np.any(outside(x)):
            raise ValueError(_COMPLEX)
        return numpy_function(x)

    return body


@means()
def _negative(x):  # type: ignore[no-untyped-def]
    return np.less(x, 0)


@means()
def _beyond_one(x):  # type: ignore[no-untyped-def]
    return np.abs(x) > 1


for _name in ("sqrt", "log", "log2", "log10"):
    LIBRARY[getattr(np.emath, _name)] = _where_real(getattr(np, _name), _negative)
for _name in ("arccos", "arcsin", "arctanh"):
    LIBRARY[getattr(np.emath, _name)] = _where_real(getattr(np, _name), _beyond_one)


@means(np.emath.logn)
def logn(n, x):  # type: ignore[no-untyped-def]
    return np.emath.log(x) / np.emath.log(n)


@means(np.emath.power)
def power(x, p):  # type: ignore[no-untyped-def]
    x = _given(x)
    refuse(np.result_type(x).kind not in "fc", "`np.emath.power` of integers is not supported", "make them floats")
    if not np.iscomplexobj(x) and np.any(np.less(x, 0)):
        raise ValueError(_COMPLEX)
    return np.power(x, p)
