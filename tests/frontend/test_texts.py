"""Texts made of values of the running program can be shown: what would have to know their letters is refused, never guessed."""

from __future__ import annotations

import pytest

import stgrad
from stgrad import errors

COMPARED = {
    "keys of a display": lambda x, y: sum({f"{x:.1f}": x, f"{y:.1f}": 2 * y}.values()),
    "keys of a comprehension": lambda x, y: sum({k: v for k, v in ((f"{x:.1f}", x), (f"{y:.1f}", y))}.values()),
    "keys of pairs": lambda x, y: sum(dict([(f"{x:.1f}", x), (f"{y:.1f}", y)]).values()),
    "keys in tuples": lambda x, y: sum({(f"{x:.1f}", 1): x, (f"{y:.1f}", 1): y}.values()),
    "items of a set": lambda x, y: x * len({f"{x:.1f}", f"{y:.1f}"}),
    "equal tuples": lambda x, y: x if (f"{x:.1f}", 1) == (f"{y:.1f}", 1) else y,
    "other lists": lambda x, y: x if [f"{x:.1f}"] != [f"{y:.1f}"] else y,
    "an item of a list": lambda x, y: x if (f"{y:.1f}", 1) in [(f"{x:.1f}", 1)] else y,
    "items counted": lambda x, y: x * [f"{x:.1f}", f"{y:.1f}"].count("1.5"),
    "letters": lambda x, y: x * sum(1 for c in f"{x}{y}"),
    "letters in pairs": lambda x, y: x * len(list(zip(str(x), str(y)))),
    "joined": lambda x, y: x * len(",".join([str(x), str(y)])),
    "hash": lambda x, y: x * (hash(f"{x}{y}") % 3 + 1),
}


def stored(x, y):
    table = {}
    for v in (x, y):
        table[f"{v:.1f}"] = v
    return sum(table.values())


@pytest.mark.parametrize("f", [*COMPARED.values(), stored], ids=[*COMPARED, "stored"])
def test_a_text_of_the_running_program_is_not_looked_at(f) -> None:
    with pytest.raises(errors.StgradError, match="a text made of values of the running program"):
        stgrad.grad(f, jit=False)(1.5, 2.25)


def shown(x, y):
    log = []
    log.append((f"x = {x:.1f}", 1))
    log.append(("y", 2))
    if x > 100.0:
        raise ValueError(", ".join([f"{x:.1f}", str(y)]) + f" after {log}")
    notes = {"first": f"{y:.2f}"}
    return x * y * len(log) * len(notes) if f"{x}" and log is not None else y


def test_a_text_may_be_kept_and_raised() -> None:
    assert stgrad.grad(shown, (0, 1))(1.5, 2.25) == (4.5, 3.0)
    with pytest.raises(ValueError):
        stgrad.grad(shown)(101.0, 1.0)
