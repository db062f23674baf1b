"""Whether a few linear constraints over integers contradict each other.

Equations are substituted, the rest is eliminated variable by variable (Fourier and Motzkin), constants rounded to integers on the way. Without
a contradiction nothing is proved: there may still be no solution in integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd

Form = Mapping[str, int]  # factors of variables; the constant under ""
MANY = 120  # constraints that are not worth the work


def plus(a: Form, b: Form, factor: int = 1) -> dict[str, int]:
    """`a + factor * b`, without zeros."""
    result = dict(a)
    for name, value in b.items():
        result[name] = result.get(name, 0) + factor * value
    return {n: v for n, v in result.items() if v}


def constant(value: int) -> dict[str, int]:
    return {"": value} if value else {}


def contradictory(zero: Iterable[Form], nonnegative: Iterable[Form]) -> bool:
    """Whether no integers make every form of `zero` 0 and every one of `nonnegative` at least 0.

    >>> contradictory([{"i": 1, "j": -1}], [{"i": 1, "j": -1, "": -1}])  # i = j and i > j
    True
    """
    substituted = _substituted([dict(f) for f in zero], [dict(f) for f in nonnegative])
    if substituted is None:
        return True
    return _eliminated(substituted)


def _substituted(equations: list[dict[str, int]], rest: list[dict[str, int]]) -> list[dict[str, int]] | None:
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
            rest += [form, plus({}, form, -1)]
            continue
        equations = [_without(unit, form, f) for f in equations]
        rest = [_without(unit, form, f) for f in rest]
    return rest


def _without(name: str, equation: Form, form: dict[str, int]) -> dict[str, int]:
    """A form with a variable replaced by what an equation says of it; the equation's factor of it is 1 or -1."""
    return plus(form, equation, -form.get(name, 0) * equation[name])


def _eliminated(forms: list[dict[str, int]]) -> bool:
    forms = [_rounded(f) for f in forms]
    while True:
        if any(not any(f) and f.get("", 0) < 0 for f in forms):
            return True
        names = {n for f in forms for n in f if n}
        if not names or len(forms) > MANY:
            return False
        name = min(sorted(names), key=lambda n: sum(f.get(n, 0) > 0 for f in forms) * sum(f.get(n, 0) < 0 for f in forms))
        below = [f for f in forms if f.get(name, 0) > 0]
        above = [f for f in forms if f.get(name, 0) < 0]
        forms = [f for f in forms if not f.get(name, 0)]
        forms += [_rounded(plus(plus({}, b, -a[name]), a, b[name])) for b in below for a in above]


def _rounded(form: dict[str, int]) -> dict[str, int]:
    factors = [v for n, v in form.items() if n]
    if not factors:
        return form
    by = gcd(*factors)
    return {n: v // by for n, v in form.items() if v // by}
