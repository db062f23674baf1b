"""What is live, against all paths through small programs, written out."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from stgrad.analysis.liveness import Liveness, live_at_end, live_before
from stgrad.ir import Assign, Block, Const, For, If, Stmt, Var, While, assigns, certain, exposed, reads

NAMES = "abcde"
Path = list[tuple[Stmt | None, frozenset[str], frozenset[str]]]  # a statement, what it reads there, what it binds there


def drawn(rng: random.Random, depth: int) -> Block:
    return tuple(statement(rng, depth) for _ in range(rng.randint(1, 3)))


def statement(rng: random.Random, depth: int) -> Stmt:
    kind = rng.choice(["assign", "assign", "if", "for", "while"]) if depth else "assign"
    one = Var(rng.choice(NAMES))
    if kind == "if":
        return If(one, drawn(rng, depth - 1), drawn(rng, depth - 1) if rng.random() < 0.7 else ())
    if kind == "for":
        return For(one, Const(0), Var(rng.choice(NAMES)), Const(1), drawn(rng, depth - 1))
    if kind == "while":
        return While(drawn(rng, 0), one, drawn(rng, depth - 1))
    return Assign((one,), "np.add", (Var(rng.choice(NAMES)), Var(rng.choice(NAMES))))


def paths(block: Block) -> Iterator[Path]:
    if not block:
        yield []
        return
    for first in paths_of(block[0]):
        for rest in paths(block[1:]):
            yield first + rest


def paths_of(stmt: Stmt) -> Iterator[Path]:
    """Loops with up to two iterations: what flows round once has been everywhere after the second."""
    nothing: frozenset[str] = frozenset()
    match stmt:
        case If():
            for side in (stmt.then, stmt.orelse):
                for path in paths(side):
                    yield [(None, frozenset({stmt.cond.name}), nothing), *path]
        case For():
            bounds = (None, frozenset({stmt.stop.name}), nothing)
            counter = (None, nothing, frozenset({stmt.var.name}))
            once = [[counter, *path] for path in paths(stmt.body)]
            yield [bounds]
            yield from ([bounds, *one] for one in once)
            yield from ([bounds, *one, *two] for one in once for two in once)
        case While():
            heads = [[*path, (None, frozenset({stmt.cond.name}), nothing)] for path in paths(stmt.head)]
            bodies = list(paths(stmt.body))
            yield from heads
            yield from ([*h, *b, *k] for h in heads for b in bodies for k in heads)
            yield from ([*h, *b, *k, *c, *h] for h in heads for b in bodies for k in heads for c in bodies)
        case _:
            yield [(stmt, frozenset(reads(stmt)), frozenset(assigns(stmt)))]


def needed(path: Path, out: frozenset[str]) -> frozenset[str]:
    """Names that a path reads before it binds them, or leaves for what is read behind it."""
    live = out
    for _, read, bound in reversed(path):
        live = (live - bound) | read
    return live


def small(seed: int) -> tuple[Block, list[Path]]:
    """A program with few paths."""
    rng = random.Random(seed)
    while True:
        block = drawn(rng, 2)
        found = []
        for path in paths(block):
            found.append(path)
            if len(found) > 3000:
                break
        else:
            return block, found


@pytest.mark.parametrize("seed", range(60))
def test_against_all_paths(seed: int) -> None:
    block, found = small(seed)
    assert exposed(block) == frozenset().union(*(needed(p, frozenset()) for p in found))
    assert certain(block) == frozenset.intersection(*(frozenset(n for _, _, bound in p for n in bound) for p in found))
    out = frozenset("ab")
    live = Liveness(block, out)
    exact: dict[int, frozenset[str]] = {}
    for path in found:
        for k, (stmt, _, _) in enumerate(path):
            if stmt is not None:
                exact[id(stmt)] = exact.get(id(stmt), frozenset()) | needed(path[k + 1 :], out)
    for stmt, names in exact.items():
        assert names <= live.after[stmt]
    assert live_before(block, out) == frozenset().union(*(needed(p, out) for p in found)) <= live.before


def test_what_is_live_after_a_statement_is_no_more_than_paths_need() -> None:
    """Statement by statement where every loop may have no iteration and bounds are numbers: the sets are exact."""
    step = Assign((Var("a"),), "np.add", (Var("a"), Var("b")))
    last = Assign((Var("b"),), "alias", (Var("c"),))
    loop = For(Var("i"), Const(0), Const(9), Const(1), (step, last))
    live = Liveness((loop,), {"a"})
    assert live.after[id(step)] == {"a", "c"} and live.after[id(last)] == {"a", "b", "c"}
    assert live_at_end(loop, frozenset("a")) == {"a", "b", "c"}
