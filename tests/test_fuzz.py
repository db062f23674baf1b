"""The search for faulty programs itself: planted faults are found and made small, and a process that dies is a result."""

from __future__ import annotations

import ast
import itertools
import os
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fuzz import Draft, Mode, check, generate, shrink
from fuzz.oracle import normal
from fuzz.poison import poisoned
from fuzz.runner import forked

from stgrad import loader
from stgrad.runtime import memory
from stgrad.transforms import adjoints, instrument, saves

HEAD = "import math\n\nimport numpy as np\n\nimport stgrad\n\n\n"


def draft(body: str, **args: Any) -> Draft:
    return Draft(f"{HEAD}def f({', '.join(args)}):\n" + "".join(f"    {line}\n" for line in body.splitlines()), args)


X = np.array([0.4, -0.7, 0.2])

# --------------------------------------------------------------------------- what is right and what is not


@pytest.mark.parametrize(
    ("program", "kind"),
    [
        (draft("return np.sum(x * x) * c", x=X, c=0.3), "ok"),
        (draft("return np.sum(stgrad.stop_gradient(x) * x)", x=X), "ok"),
        (draft("x[0] = 0.1\nreturn np.sum(np.sort(x))", x=X), "ok"),
        (draft("return x[n]", x=X, n=3), "raised"),
        (draft("return np.sum(np.packbits(x > 0.0)) * x[0]", x=X), "refused"),
        (draft("return np.sum(np.where(x > 0.4, 3.0 * x, x))", x=X), "skipped"),
        (draft("return np.sum(np.exp(x * 100.0))", x=X), "skipped"),
    ],
)
def test_programs(program: Draft, kind: str) -> None:
    found = check(program)
    assert found.kind == kind, found.detail


def without_saving(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(saves, "reassigned", lambda name, place, after: False)


def with_a_wrong_rule(patch: pytest.MonkeyPatch) -> None:
    right = adjoints.Adjoints._times
    patch.setattr(adjoints.Adjoints, "_times", lambda self, g, p: right(self, right(self, g, p), 1.001))


def without_the_parameters_copy(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(instrument, "_copy_parameters", lambda fn, *_: (fn, {}))


@pytest.mark.parametrize("fault", [without_saving, with_a_wrong_rule, without_the_parameters_copy], ids=lambda f: f.__name__)
def test_a_fault_of_the_compiler_is_found_and_made_small(fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fault(monkeypatch)
    seed, found = next((s, o) for s in range(40) if (o := check(generate(s), Mode(), s)).is_fault)
    assert found.kind in ("wrong", "changed", "crashed")
    small = shrink(generate(seed), lambda d: check(d, Mode(), seed).signature == found.signature, 60.0)
    assert len(ast.parse(small.text).body[-1].body) <= 4, small.text  # type: ignore[attr-defined]


def test_fresh_memory_is_poisoned() -> None:
    text = "import numpy as np\n\n\ndef fresh(n):\n    return np.empty(n)\n"
    with poisoned():
        assert np.isnan(memory.empty(3)).all()
        fresh = loader.load(text, "fresh", jit=False)
        assert np.isnan(fresh(3)).all()
    assert memory.np is np  # type: ignore[attr-defined]
    assert fresh.__globals__["np"] is np


def test_a_message_without_its_names() -> None:
    assert normal("`a1` has shape (3, 4), `b` has none") == normal("`q` has shape (5, 61), `w` has none")


# --------------------------------------------------------------------------- making programs small


def test_shrink_keeps_what_the_fault_needs() -> None:
    seed = next(s for s in itertools.count() if "np.cumsum" in generate(s).text and "for " in generate(s).text)
    small = shrink(generate(seed), lambda d: "np.cumsum" in d.text, 30.0)
    assert len(small.text.splitlines()) <= 8
    assert len(small.args) == 1


def test_shrink_makes_arguments_small() -> None:
    start = draft("a = x[0]\nfor i in range(n):\n    a = a + x[i] * y[0]\nreturn a", x=np.ones(5) * 0.123, y=np.ones(2), n=5)
    small = shrink(start, lambda d: "def f(" in d.text and "x" in d.args and len(d.args["x"]) >= 2, 30.0)
    assert list(small.args) == ["x"]
    assert small.args["x"].shape == (2,)


def test_shrink_leaves_what_cannot_go() -> None:
    start = draft("return x[0]", x=np.ones(1))
    assert shrink(start, lambda d: False, 5.0) == replace(start)


# --------------------------------------------------------------------------- processes


def work(seed: int) -> dict[str, Any]:
    if seed == 3:
        os._exit(7)
    if seed == 5:
        time.sleep(60)
    return {"seed": seed, "kind": "ok", "detail": ""}


def test_a_process_that_dies_or_hangs_is_a_result() -> None:
    found = {r["seed"]: r for r in forked(work, iter(range(8)), jobs=2, limit=0.5)}
    assert sorted(found) == list(range(8))
    assert {s for s, r in found.items() if r["kind"] == "killed"} == {3, 5}
    assert "longer than" in found[5]["detail"]
