"""Random programs: a fixed sample at first and second order, a few with Numba. `python -m tests.fuzz` runs others."""

from __future__ import annotations

import pytest
from fuzz import GOOD, Mode, check, generate


def assert_right(seed: int, mode: Mode) -> str:
    draft = generate(seed)
    found = check(draft, mode, seed)
    assert found.kind in GOOD, f"seed {seed}: {found.kind}: {found.detail}\n{draft.text}\n{draft.args}"
    return found.kind


@pytest.mark.parametrize("block", range(6))
def test_first_order(block: int) -> None:
    kinds = [assert_right(seed, Mode()) for seed in range(10 * block, 10 * block + 10)]
    assert kinds.count("ok") >= 7


@pytest.mark.parametrize("block", range(4))
def test_second_order(block: int) -> None:
    for seed in range(23 + 3 * block, 26 + 3 * block):
        assert_right(seed, Mode(order=2))


@pytest.mark.parametrize("seed", [3, 8, 12, 27])
def test_compiled(seed: int) -> None:
    assert assert_right(seed, Mode(jit=True)) == "ok"


def test_compiled_in_parallel() -> None:
    assert assert_right(9, Mode(jit=True, parallel=True)) == "ok"


def test_the_same_seed_gives_the_same_program() -> None:
    assert generate(7).text == generate(7).text != generate(8).text
