"""`numpy.polynomial`'s classes, made inside of a program or outside of it: their Python is read."""

import linecache

import numpy as np
import pytest
from numpy.polynomial import Chebyshev, Hermite, Legendre, Polynomial

from tests.thorough import check_gradient

OUTSIDE = Polynomial([1.0, 2.0, 3.0])
PROGRAMS = [
    'c: return Polynomial(c)(.7)',
    'c: return Polynomial(c).deriv(2)(.7)+Polynomial(c).integ()(.3)',
    'c: return Chebyshev(c)(.7)',
    'c: return Legendre(c).deriv()(.7)',
    'c: p=Polynomial(c); q=p*p+2*p-1; return q(.4)',
    'c: p=Polynomial(c); q=p**3; return q(.4)',
    'y: return Polynomial.fit(np.arange(4.),y,2)(.7)',
    'c: return (OUTSIDE*Polynomial(c)).coef.sum()',
    'c: return Polynomial(c,domain=[0,2])(.7)',
    'c: p=Polynomial(c)//Polynomial([1.,1.]); return p(.3)',
    'c: p=Polynomial.fromroots(c); return p(2.5)',
    'c: return Polynomial(c).degree()*c[0]',
    'c: return OUTSIDE(c).sum()',
    'c: return OUTSIDE.deriv()(c).sum()',
    'c: return (OUTSIDE+c[0])(1.3)',
    'c: return Polynomial(c).trim()(.3)+Polynomial(c).cutdeg(1)(.3)',
    'c: return Polynomial(c).linspace(5)[1].sum()',
    'c: return Hermite(c)(c).sum()',
    'c: return Polynomial.basis(3)(c).sum()',
    'c: return float(Polynomial(c).mapparms()[1])*c[1]',
    'c: return sum(Polynomial(c))',
    'c: return len(Polynomial(c))*c[0]',
]
COEFFICIENTS = np.array([0.5, -1.2, 0.7, 0.4])


@pytest.mark.parametrize("text", PROGRAMS)
def test_polynomials(text):
    name, body = text.split(": ", 1)
    source = f"def f({name}):\n    " + "\n    ".join(body.split("; ")) + "\n"
    file = f"<polynomial {hash(text)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    scope = {"np": np, "OUTSIDE": OUTSIDE, "Polynomial": Polynomial, "Chebyshev": Chebyshev, "Legendre": Legendre, "Hermite": Hermite}
    exec(compile(source, file, "exec"), scope)  # noqa: S102
    check_gradient(scope["f"], (COEFFICIENTS,), order=1 + (PROGRAMS.index(text) % 3 == 0))
