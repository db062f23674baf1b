"""`np.poly1d` made inside of a program: a class in plain Python that is read in its place (numpy/lib/_polynomial_impl.py says what it does)."""

from __future__ import annotations

from typing import Any

import numpy as np

from stgrad.frontend.library import means, refuse

# mypy: disable-error-code="no-untyped-def, no-untyped-call"


class Poly1d:
    """A polynomial by its coefficients, the highest power first, without zeros in front."""

    stands_for: type = np.poly1d
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, c_or_r, r=False, variable=None):
        c = c_or_r.coeffs if isinstance(c_or_r, np.poly1d) else np.atleast_1d(np.poly(c_or_r) if r else c_or_r)
        refuse(np.ndim(c) > 1, "Polynomial must be 1d only.")
        places = np.flatnonzero(c)
        self.coeffs = c[places[0] :] if np.size(places) > 0 else np.zeros(1, c.dtype)
        self.variable = "x" if variable is None else variable

    @property
    def c(self):
        return self.coeffs

    @property
    def coef(self):
        return self.coeffs

    @property
    def coefficients(self):
        return self.coeffs

    @property
    def order(self):
        return len(self.coeffs) - 1

    @property
    def o(self):
        return len(self.coeffs) - 1

    @property
    def roots(self):
        return np.roots(self.coeffs)

    @property
    def r(self):
        return np.roots(self.coeffs)

    def __array__(self, dtype=None, copy=None):
        return self.coeffs

    def __len__(self):
        return len(self.coeffs) - 1

    def __call__(self, val):
        refuse(isinstance(val, np.poly1d), "a polynomial of a polynomial is not supported", "pass a number or an array")
        return np.polyval(self.coeffs, val)

    def __getitem__(self, val):
        n = len(self.coeffs) - 1
        return self.coeffs[n - val] if 0 <= val <= n else self.coeffs.dtype.type(0)

    def __iter__(self):
        return iter(self.coeffs)

    def __eq__(self, other):
        refuse(not isinstance(other, np.poly1d), "a polynomial is compared with polynomials alone", "compare p.coeffs")
        return len(self.coeffs) == len(other.coeffs) and np.all(self.coeffs == other.coeffs)

    def __ne__(self, other):
        return not self == other

    def __neg__(self):
        return Poly1d(-self.coeffs)

    def __pos__(self):
        return self

    def __mul__(self, other):
        return Poly1d(self.coeffs * other) if np.isscalar(other) else Poly1d(np.polymul(self.coeffs, coefficients_of(other)))

    def __rmul__(self, other):
        return Poly1d(other * self.coeffs) if np.isscalar(other) else Poly1d(np.polymul(coefficients_of(other), self.coeffs))

    def __add__(self, other):
        return Poly1d(np.polyadd(self.coeffs, coefficients_of(other)))

    def __radd__(self, other):
        return Poly1d(np.polyadd(coefficients_of(other), self.coeffs))

    def __sub__(self, other):
        return Poly1d(np.polysub(self.coeffs, coefficients_of(other)))

    def __rsub__(self, other):
        return Poly1d(np.polysub(coefficients_of(other), self.coeffs))

    def __truediv__(self, other):
        refuse(not np.isscalar(other), "a quotient of polynomials is not supported", "divide by a number")
        return Poly1d(self.coeffs / other)

    def __pow__(self, val):
        power = Poly1d(np.ones(1))
        for _ in range(val):
            power = power * self
        return power

    def integ(self, m=1, k=0):
        return Poly1d(np.polyint(self.coeffs, m) if k == 0 else np.polyint(self.coeffs, m, k))

    def deriv(self, m=1):
        return Poly1d(np.polyder(self.coeffs, m))


def coefficients_of(other):
    return other.coeffs if isinstance(other, np.poly1d) else np.atleast_1d(other)


@means(np.poly1d)
def poly1d(c_or_r: Any, r: bool = False, variable: Any = None) -> Any:
    return Poly1d(c_or_r, r, variable)


__all__ = ["Poly1d"]
