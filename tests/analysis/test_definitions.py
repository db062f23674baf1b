"""What binds names, what loops that mirror each other may rely on, and that answers stay with the function."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stgrad.analysis.alias import sharing
from stgrad.analysis.definitions import definitions
from stgrad.analysis.liveness import liveness
from stgrad.analysis.trips import mirrored
from stgrad.ir import Assign, Const, For, Function, Type, Var, assigned
from stgrad.ir.text.reading import parse
from stgrad.request import DEFAULT
from stgrad.transforms.pipeline import passes

LOOPS = """
def f(n: int, x: float):
    m: int = n + 1
    s: float = x
    for i in range(0, m, 1):
        s = s * x
{between}
    for i in range({start}, -1, -1):
        s = s + x
    return s
"""


def pair(between: str, start: str) -> tuple[Function, For, For]:
    fn = parse(LOOPS.format(between="\n".join(f"    {line}" for line in between.splitlines()), start=start))
    first, second = (s for s in fn.body if isinstance(s, For))
    return fn, first, second


@pytest.mark.parametrize(
    ("between", "start", "expected"),
    [
        ("t: int = m - 1", "t", True),
        ("", "n", True),
        ("m = m - 1\nt: int = m - 1", "t", False),  # bound again in between: it has another value there
        ("m = m - 1\nt: int = m - 0", "t", False),
        ("n = n - 1\nt: int = m - 1", "t", True),
        ("n = n - 1", "n", False),
        ("t: int = m - 2", "t", False),
        ("t: int = m // 2", "t", False),
    ],
)
def test_a_loop_backwards(between: str, start: str, expected: bool) -> None:
    fn, first, second = pair(between, start)
    run = fn.body[fn.body.index(first) : fn.body.index(second) + 1]
    assert mirrored([first], [second], definitions(fn), standing=fn.types.keys() - assigned(run)) is expected


def test_a_name_that_is_bound_often_stands_where_nothing_binds_it() -> None:
    """A count that a program has grown is the bound of both loops; without the run between them nothing is known of it."""
    fn, first, second = pair("t: int = m - 1", "t")
    grown = fn.with_body((*fn.body[:1], Assign((Var("m"),), "np.add", (Var("m"), Const(1))), *fn.body[1:]))
    run = grown.body[grown.body.index(first) : grown.body.index(second) + 1]
    assert mirrored([first], [second], definitions(grown), standing=fn.types.keys() - assigned(run))
    assert not mirrored([first], [second], definitions(grown))


def test_definitions() -> None:
    fn, first, _ = pair("n = n - 1\nt: int = m - 1", "t")
    found = definitions(fn)
    assert found.counts["n"] == 2 and found.counts["x"] == 1 and found.counts["s"] == 3 and found.counts["i"] == 2
    assert set(found.once) == {"m", "t"} and found.pure("m") == fn.body[0]
    assert not found.all("n") and len(found.all("s")) == 3 and found.all("i")[0] is first
    assert found.reads["x"] == 3 and found.reads["s"] == 3  # the result is a read


def test_definitions_that_say_the_same_are_one() -> None:
    same = Assign((Var("t"),), "np.add", (Var("n"), Const(1)))
    other = replace(same, args=(Var("n"), Const(2)))
    types = {"n": Type("int64"), "t": Type("int64")}
    for body, expected in [((same, replace(same, note="again")), same), ((same, other), None), ((), None)]:
        assert definitions(Function("f", (Var("n"),), body, Var("n"), types)).agreed("t") == expected


def test_answers_stay_with_the_function() -> None:
    fn, *_ = pair("t: int = m - 1", "t")
    assert definitions(fn) is definitions(fn) and liveness(fn) is liveness(fn) and sharing(fn) is sharing(fn)
    assert definitions(fn.with_body(fn.body[:1])) is not definitions(fn)
    assert not replace(fn).answers  # a copy may be given other parts


def test_what_a_pass_changes_for_itself_nobody_else_sees() -> None:
    fn, *_ = pair("t: int = m - 1", "t")
    own = sharing(fn).own()
    own.unite("s", "x")
    assert own.same("s", "x") and not own.alone("s") and not sharing(fn).same("s", "x") and sharing(fn).alone("s")


def test_a_pass_that_changes_nothing_leaves_the_function() -> None:
    fn = parse("def f(x: float):\n    y: float = x * x\n    return y\n")
    same = [name for name, step in passes(DEFAULT).items() if step(fn) is fn]
    assert {"motion", "states", "packed", "jam", "registers", "pages"} <= set(same)
