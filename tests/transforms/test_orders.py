"""The contracts of the passes: illegal orders are refused with a reason, and all legal ones give the same values and gradients."""

from __future__ import annotations

import inspect
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from lowering import execute
from programs.generators import asked_by_next_in_a_loop
from programs.registry import EXAMPLES
from programs.states import first_step_has_another_shape
from test_pipeline import PROGRAMS, stgrad_leaves

import stgrad
from stgrad.assumed import compile_program
from stgrad.errors import InternalError
from stgrad.frontend import result_operand
from stgrad.ir import Function
from stgrad.program import spec_of
from stgrad.request import DEFAULT, Options
from stgrad.transforms.pipeline import passes
from stgrad.transforms.registry import FACTS, REGISTRY, START, PassInfo, after, check, facts, sparing
from stgrad.verify import verify

ALWAYS = [info for info in REGISTRY if not info.asked]
BY_NAME = {info.name: info for info in REGISTRY}


def recurrent(w, x):
    h = np.zeros(w.shape[0])
    for t in range(x.shape[0]):
        h = np.tanh(w @ h + x[t])
    return np.sum(h * h)


def halved(x, limit):
    steps = 0.0
    while x > limit:
        x = x * 0.5 * np.cos(x * 0.1)
        steps += x * x
    return steps


def single(x, a):
    y = a * x**3
    return np.sum(y[1:] * x[:-1]) / y[0]


CHOSEN = [
    *PROGRAMS,
    (recurrent, (np.array([[0.2, -0.4], [0.5, 0.1]]), np.array([[1.0, 0.3], [0.2, -0.7], [0.4, 0.5]]))),
    (halved, (9.0, 0.5)),
    (single, (np.array([0.5, 1.5, 2.5], dtype=np.float32), 0.3)),
    *((e.function, e.args) for e in EXAMPLES if e.function in (asked_by_next_in_a_loop, first_step_has_another_shape)),
]


def drawn(seed: int) -> list[PassInfo]:
    """A legal order of all passes: at each step one of which the requirements hold, and that destroys nothing that a later one requires."""
    rng = random.Random(seed)
    order: list[PassInfo] = []
    known, left = START, list(ALWAYS)
    while left:
        wanted = [frozenset().union(*(facts(q.requires) for q in left if q is not p)) for p in left]
        ready = [p for p, later in zip(left, wanted, strict=True) if facts(p.requires) <= known and not facts(p.destroys) & later]
        order.append(rng.choice(ready))
        left.remove(order[-1])
        known = after(known, order[-1])
    return order


def array_level(function: Any, args: tuple[Any, ...]) -> Function:
    """The program of value and gradient before the passes."""
    wrt = tuple(i for i, a in enumerate(args) if isinstance(a, (float, np.ndarray)))
    specs = {name: spec_of(a, name) for name, a in zip(inspect.signature(function).parameters, args, strict=True)}
    reading = compile_program(stgrad.value_and_grad(function, wrt, jit=False), specs).reading
    return replace(reading.function, result=result_operand(reading.result))


def test_the_order_of_the_list_is_legal() -> None:
    check(ALWAYS)
    for asked in (("parallel",), ("precise",), ("precise", "parallel")):
        options = Options(**dict.fromkeys(asked, True))
        assert [name for name in passes(options) if BY_NAME[name].asked] == [i.name for i in REGISTRY if i.asked in asked]


def test_threads_leave_out_what_shares_memory() -> None:
    chosen = sparing([info for info in REGISTRY if info.asked != "precise"])
    assert {info.name for info in ALWAYS} - {info.name for info in chosen} == {"slots", "carried", "rotations", "layouts", "jam"}
    assert {info.name for info, spared in chosen.items() if spared} == {"invariants", "products"}


@pytest.mark.parametrize("info", [i for i in ALWAYS if i.optional], ids=lambda i: i.name)
def test_no_pass_needs_an_optional_one(info: PassInfo) -> None:
    check([p for p in ALWAYS if p is not info])


def moved(name: str, place: str) -> list[PassInfo]:
    """The list with a pass right behind another one."""
    rest = [p for p in ALWAYS if p.name != name]
    at = [p.name for p in rest].index(place) + 1
    return [*rest[:at], BY_NAME[name], *rest[at:]]


@pytest.mark.parametrize(
    ("name", "place", "reason"),
    [
        ("storage", "sweeps", "`storage` requires `settled` .* no pass before it establishes that"),
        ("small", "loops", "`small` requires `arrays` .* `loops` destroyed that"),
        ("records", "growable", "`records` requires `lists` .* `storage` destroyed that"),
        ("rotations", "pages", "`rotations` requires `requests` .* `pages` destroyed that"),
    ],
)
def test_an_illegal_order_is_refused(name: str, place: str, reason: str) -> None:
    with pytest.raises(InternalError, match=reason):
        check(moved(name, place))


def test_contracts_speak_of_facts() -> None:
    with pytest.raises(InternalError, match="speaks of loop, which is no fact"):
        check([PassInfo("new", "a slip", "loop")])
    with pytest.raises(InternalError, match="no pass of .* establishes `native`"):
        check([p for p in ALWAYS if p.name not in ("foreign", "products")])
    assert all(facts(f"{i.requires} {i.establishes} {i.destroys} {i.spares}") <= FACTS.keys() for i in REGISTRY)


@pytest.mark.parametrize(("function", "args"), CHOSEN, ids=lambda v: getattr(v, "__name__", ""))
def test_legal_orders_give_the_same_results(function: Any, args: tuple[Any, ...]) -> None:
    program = array_level(function, args)
    steps = passes(DEFAULT)
    value, gradient = stgrad.value_and_grad(function, tuple(i for i, a in enumerate(args) if isinstance(a, (float, np.ndarray))), jit=False)(*args)
    for seed in range(4):
        fn = program
        for info in drawn(seed):
            fn = steps[info.name](fn)
            verify(fn)
        found = execute(fn, list(args))[0]
        for a, b in zip(stgrad_leaves((value, gradient)), found, strict=True):
            assert np.asarray(a).dtype == np.asarray(b).dtype
            np.testing.assert_allclose(b, a, rtol=1e-5 if np.asarray(a).dtype == np.float32 else 1e-11, atol=1e-13)


def test_orders_differ() -> None:
    orders = {tuple(info.name for info in drawn(seed)) for seed in range(4)}
    assert len(orders) == 4
