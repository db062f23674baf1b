"""The generated source of small programs, reviewed by eye and kept in `tests/golden/`.

A change of a pass shows here as a change of text. `STGRAD_UPDATE_GOLDEN=1 pytest tests/test_golden.py` writes the files anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from golden_programs import PROGRAMS, logistic

import stgrad

GOLDEN = Path(__file__).parent / "golden"
UPDATE = os.environ.get("STGRAD_UPDATE_GOLDEN", "") not in ("", "0")


@pytest.mark.parametrize("name", PROGRAMS)
def test_generated_source(name: str) -> None:
    function, argnums, arguments = PROGRAMS[name]
    check(name, stgrad.value_and_grad(function, argnums).lowered(*arguments))


def test_second_order() -> None:
    check("logistic_second", stgrad.grad(stgrad.grad(logistic)).lowered(3.5, 0.2, 10))


def check(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.py"
    if UPDATE:
        path.write_text(text.rstrip("\n") + "\n")
    assert path.read_text() == text.rstrip("\n") + "\n", f"{path} is another text now; look at both, then STGRAD_UPDATE_GOLDEN=1"


def test_every_file_has_its_program() -> None:
    assert {path.stem for path in GOLDEN.glob("*.py")} == {*PROGRAMS, "logistic_second"}
