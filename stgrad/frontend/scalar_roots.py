# mypy: allow-untyped-defs, allow-untyped-calls
"""`scipy.optimize.root_scalar` as plain Python, read in place of its calls: it chooses among the root finders that are read by themselves.

Which one that is, and what they are given, is as in SciPy. A root that is not found has no derivative: where SciPy says `converged=False`, a
RuntimeError is raised.
"""

from __future__ import annotations

import math

from stgrad.frontend.brackets import Found, bisect, brenth, brentq, ridder
from stgrad.frontend.library import refuse
from stgrad.frontend.solvers import newton

_METHOD = "methods other than brentq, brenth, bisect, ridder, newton, secant and halley of scipy.optimize.root_scalar are not supported"
_OWN = "leave `method` out, or give a solver of your own to stgrad.custom_root"
_NOTHING = "Unable to select a solver as neither bracket nor starting point provided."
_WITHIN = {"brentq": brentq, "brenth": brenth, "bisect": bisect, "ridder": ridder}
_STEP = 1.4901161193847656e-08  # of differences, the root of what is left of 1.0


def root_scalar(
    f, args=(), method=None, bracket=None, fprime=None, fprime2=None, x0=None, x1=None, xtol=None, rtol=None, maxiter=None, options=None,
):  # fmt: skip
    more = args if isinstance(args, tuple) else (args,)
    with_slope, with_bend = isinstance(fprime, bool) and fprime, isinstance(fprime2, bool) and fprime2
    pair = with_slope or with_bend

    def value(x):
        return f(x, *more)[0] if pair else f(x, *more)

    def slope(x):
        return f(x, *more)[1] if pair else fprime(x, *more)

    def bend(x):
        return f(x, *more)[2] if with_bend else fprime2(x, *more)

    sloped = pair or callable(fprime)
    bent = with_bend or callable(fprime2)
    chosen = method.lower() if method else _method(bracket, x0, x1, sloped, bent)
    refuse(chosen not in (*_WITHIN, "newton", "secant", "halley"), _METHOD, _OWN)
    given = {} if options is None else options
    limit = given.get("maxiter", (100 if chosen in _WITHIN else 50) if maxiter is None else maxiter)
    if chosen in _WITHIN:
        if bracket is None:
            raise ValueError(f"Bracket needed for {chosen}")
        find = _WITHIN[chosen]
        near, share = given.get("xtol", 2e-12 if xtol is None else xtol), given.get("rtol", 8.881784197001252e-16 if rtol is None else rtol)
        return Found(find(value, bracket[0], bracket[1], (), near, share, limit), chosen)
    if x0 is None:
        raise ValueError(f"x0 must not be None for {chosen}")
    near, share = given.get("xtol", 1.48e-8 if xtol is None else xtol), given.get("rtol", 0.0 if rtol is None else rtol)
    if chosen == "secant":
        return Found(newton(value, x0, None, (), near, limit, None, x1, share), chosen)
    if chosen == "halley" and not (sloped and bent):
        raise ValueError("fprime and fprime2 must be specified for halley")
    return Found(newton(value, x0, slope if sloped else _difference(value), (), near, limit, bend if chosen == "halley" else None, None, share), chosen)


def _method(bracket, x0, x1, sloped, bent):
    """The method where none is asked for."""
    if bracket is not None:
        return "brentq"
    if x0 is None:
        raise ValueError(_NOTHING)
    if sloped:
        return "halley" if bent else "newton"
    return "newton" if x1 is None else "secant"


def _difference(value):
    """The slope by a forward difference."""

    def slope(x):
        h = math.copysign(_STEP * max(1.0, abs(x)), x)
        return (value(x + h) - value(x)) / h

    return slope


__all__ = ["root_scalar"]
