"""Whether a few linear constraints over integers contradict each other.

Equations are substituted, the rest is eliminated variable by variable (Fourier and Motzkin), constants rounded to integers on the way. Without
a contradiction nothing is proved: there may still be no solution in integers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm

from stgrad.analysis.affine import Affine

Row = dict[str, int]  # factors of variables; the constant under ""
MANY = 120  # constraints that are not worth the work


def contradictory(zero: Iterable[Affine], nonnegative: Iterable[Affine]) -> bool:
    """Whether no integers make every sum of `zero` 0 and every one of `nonnegative` at least 0.

    >>> from stgrad.analysis.affine import named, number
    >>> contradictory([named("i") - named("j")], [named("i") - named("j") - number(1)])  # i = j and i > j
    True
    """
    return _contradictory(tuple(zero), tuple(nonnegative))


@lru_cache(maxsize=4096)  # walks along a program ask the same again at each of its stages
def _contradictory(zero: tuple[Affine, ...], nonnegative: tuple[Affine, ...]) -> bool:
    substituted = _substituted([_row(f) for f in zero], [_row(f) for f in nonnegative])
    return substituted is None or _eliminated(substituted)


def _row(total: Affine) -> Row:
    """A sum in whole numbers."""
    by = lcm(*(f.denominator for _, f in total.terms), Fraction(total.constant).denominator)
    row = {key: int(f * by) for key, f in total.terms}
    return {**row, "": int(total.constant * by)} if total.constant else row


def _plus(a: Row, b: Row, factor: int = 1) -> Row:
    """`a + factor * b`, without zeros."""
    result = dict(a)
    for name, value in b.items():
        result[name] = result.get(name, 0) + factor * value
    return {n: v for n, v in result.items() if v}


def _substituted(equations: list[Row], rest: list[Row]) -> list[Row] | None:
    """The inequalities after the equations are used up; None where they contradict each other."""
    while equations:
        form = equations.pop()
        names = [n for n in form if n]
        if not names or form.get("", 0) % gcd(*(form[n] for n in names)):
            if form:
                return None
            continue
        unit = next((n for n in names if abs(form[n]) == 1), None)
        if unit is None:
            rest += [form, _plus({}, form, -1)]
            continue
        equations = [_without(unit, form, f) for f in equations]
        rest = [_without(unit, form, f) for f in rest]
    return rest


def _without(name: str, equation: Row, form: Row) -> Row:
    """A form with a variable replaced by what an equation says of it; the equation's factor of it is 1 or -1."""
    return _plus(form, equation, -form.get(name, 0) * equation[name])


def _eliminated(forms: list[Row]) -> bool:
    forms = [_rounded(f) for f in forms]
    while True:
        if any(not any(f) and f.get("", 0) < 0 for f in forms):
            return True
        signs = Counter((n, factor > 0) for f in forms for n, factor in f.items() if n)
        if not signs or len(forms) > MANY:
            return False
        name = min(sorted({n for n, _ in signs}), key=lambda n: signs[n, True] * signs[n, False])
        below = [f for f in forms if f.get(name, 0) > 0]
        above = [f for f in forms if f.get(name, 0) < 0]
        forms = [f for f in forms if not f.get(name, 0)]
        forms += [_rounded(_plus(_plus({}, b, -a[name]), a, b[name])) for b in below for a in above]


def _rounded(form: Row) -> Row:
    factors = [v for n, v in form.items() if n]
    if not factors:
        return form
    by = gcd(*factors)
    return {n: v // by for n, v in form.items() if v // by}
