"""The benchmark programs at their smallest size: our gradient equals the adjoint written by hand."""

from __future__ import annotations

import pytest

import stgrad
from benchmarks import ablation, bars, measure, page, program, variants
from benchmarks.one import difference
from benchmarks.unseen.report import HEADING

QUICK = ("logistic", "while_loop", "adaptive", "branchy", "elementwise", "rosenbrock", "small_array", "black_scholes", "heston", "soft_dtw")


@pytest.mark.parametrize("name", QUICK)
def test_gradient_equals_the_adjoint_by_hand(name: str) -> None:
    found = program.load(name)
    args = next(iter(found.sizes.values()))()
    assert found.by_hand is not None
    expected = variants.results("by hand", found.by_hand.py_func(*args))
    argnums = found.wrt if len(found.wrt) > 1 else found.wrt[0]
    ours = variants.results("stgrad", stgrad.value_and_grad(found.function, argnums, jit=False)(*args))
    assert len(expected) == len(ours)
    assert difference(expected, ours, found.tolerance) == ""


def test_every_program_says_what_it_needs() -> None:
    for name in program.names():
        found = program.load(name)
        assert found.name == name
        assert found.by_hand is not None
        assert set(found.upto.values()) <= {"", *found.sizes}


def test_a_wrong_gradient_is_seen() -> None:
    assert difference([1.0, 2.0], [1.0, 2.1], 1e-8).startswith("result 1 differs")
    assert difference([1.0], [float("nan")], 1e-8)
    assert not difference([1.0], [1.0 + 1e-12], 1e-8)


def test_ratios_are_taken_within_a_round() -> None:
    found = measure.ratio({"a": [1.0, 20.0, 3.0], "b": [1.0, 10.0, 2.0]}, "a", "b")
    assert found is not None and found.median == 1.5


def test_passes_are_told_from_those_that_leave_a_program_alone() -> None:
    changing = ablation.changing(ablation.subject("own/logistic"))
    assert "accumulate" in changing
    assert "loops" not in changing  # cannot be left out
    assert not {"expand", "jam"} & {*changing}  # nothing to do
    assert "columns" in ablation.changing(ablation.subject("unseen/trmm"))


def test_passes_are_ordered_by_what_they_are_worth() -> None:
    shown = ablation.table({"a": {"jam": 1.1, "states": 4.0}, "b": {"states": 1.0}})
    columns = [list(column.cells) for column in shown.columns]
    assert columns == [["states", "jam"], ["2", "1"], ["2.00", "1.10"], ["4.00 a", "1.10 a"], ["1.00 b", "1.10 a"]]


def test_a_bar_without_measurements_is_not_met() -> None:
    empty = bars.Results([])
    assert all(bar.verdict(empty) == (None, "not measured") for bar in (*bars.FIRST, *bars.FINAL))


def test_the_page_shows_every_program_and_bar(tmp_path) -> None:
    def spread(median):
        return {"low": median * 0.9, "median": median, "high": median * 1.1}

    rows = [
        {"program": "logistic", "size": size, "seconds": {"stgrad": spread(1e-3)}, "ratios": {"by hand": spread(1.04), "jax": spread(0.3)}, "failures": {}}
        for size in ("1e2", "1e6")
    ]
    page.write(bars.Results(rows), tmp_path / "page.md", {"clock": "cpu", "machine": "x86_64", "numba": "0.68"})
    text = (tmp_path / "page.md").read_text()
    assert "| logistic | 1e2 | 1 ms | 1.04 | 0.3 |" in text
    (tmp_path / "page.md").write_text(f"{text}\n{HEADING}\n\nmeasured apart\n")
    page.write(bars.Results(rows), tmp_path / "page.md", {"clock": "cpu", "machine": "x86_64", "numba": "0.68"})
    assert (tmp_path / "page.md").read_text() == f"{text.rstrip()}\n\n{HEADING}\n\nmeasured apart\n"
    assert "| logistic | 1e6 | 1 ms | 1.04 (0.94 to 1.1) | 0.3 (0.27 to 0.33) |" in text
    assert "processor time on one core of x86_64, numba 0.68" in text
    assert all(bar.what in text for bar in (*bars.FIRST, *bars.FINAL))
    assert "| over the adjoint by hand: worst | ≤ 1.5 × | 1.04 × | met |" in text
