"""Random programs: a fixed sample at first and second order, a few with Numba, and seeds that Hypothesis chooses."""

from __future__ import annotations

import pytest
from fuzz import HELPERS, Outcome, check, generate
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


def assert_right(text: str, found: Outcome) -> None:
    assert found.kind in ("ok", "skipped"), f"{found.kind}: {found.detail}\n{text[len(HELPERS) :]}"


@pytest.mark.parametrize("block", range(6))
def test_first_order(block: int) -> None:
    for seed in range(10 * block, 10 * block + 10):
        assert_right(*check(seed))


@pytest.mark.parametrize("block", range(4))
def test_second_order(block: int) -> None:
    for seed in range(1000 + 3 * block, 1003 + 3 * block):
        assert_right(*check(seed, order=2, stages=("optimised",)))


@pytest.mark.parametrize("seed", [3, 8])
def test_compiled(seed: int) -> None:
    assert_right(*check(seed, stages=(), jit=True))


@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 10**6))
def test_any_seed(seed: int) -> None:
    assert_right(*check(seed, stages=("optimised",)))


def test_the_same_seed_gives_the_same_program() -> None:
    assert generate(7) == generate(7) != generate(8)
