"""A sample of the code that others wrote: functions of Numba's own tests that are right, and stay so; the whole is `python -m wild`."""

from __future__ import annotations

import pytest
from wild.cases import load
from wild.judging import agree, derivatives, judge
from wild.packages import held_out, sources

MODULES = ("usecases", "test_array_exprs", "test_stencils", "test_parfors", "test_operators", "complex_usecases")
SAMPLE = [c for c in load() if c.source in {f"numba.tests.{m}" for m in MODULES} and not held_out(c.target)][::4]


@pytest.mark.parametrize("case", SAMPLE, ids=[c.target for c in SAMPLE])
def test_is_right_or_refused(case):
    assert judge(case, jit=False, memory=None)["kind"] in ("right", "refused")


def test_a_wrong_value_is_seen():
    case = next(c for c in SAMPLE if judge(c, jit=False, memory=None)["kind"] == "right")
    found = derivatives(case, jit=False)
    assert agree(found, case.expected)
    assert not agree([f * 1.01 + 0.01 for f in found], case.expected)


def test_every_case_is_of_a_listed_source():
    assert {c.source for c in load()} <= set(sources())


def test_a_third_is_held_out():
    cases = load()
    assert 0.28 < sum(held_out(c.target) for c in cases) / len(cases) < 0.38
