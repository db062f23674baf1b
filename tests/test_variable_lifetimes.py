"""Lifetimes of variables are those that Numba finds, on programs with loops, early ends, generators and lists."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
from numba.core import analysis, ir, postproc, untyped_passes

from stgrad import variable_lifetimes
from stgrad.stack_slots import Compiler


def looping(x: Any, n: int) -> Any:
    kept, total = x, 0.0
    for i in range(n):
        y = x * i
        if i % 2 == 0:
            kept = y + 1.0
        elif i == 5:
            continue
        while total < i:
            total += kept[0] * 0.5 + 1.0
            if total > 20.0:
                return kept * total
    return kept * total


def raising(x: Any, n: int) -> Any:
    for i in range(n):
        if x[i] > 100.0:
            raise ValueError("too large")
        z = x[i] * n
    return x * n if n == 0 else x * z


def endless(x: Any, n: int) -> Any:
    total = 0.0
    while True:
        total += x[0]
        for k in range(n):
            total += k
        if total > 10.0:
            break
    return x * total


def drawn(n: int) -> Any:
    for i in range(n):
        before = i * 2.0
        yield before + 1.0
        yield before




def compared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many variables were live in all, of each function; each answer is compared with Numba's."""
    seen = []
    ours, numbas = variable_lifetimes.live_at_entries, analysis.compute_live_map

    def both(graph: Any, blocks: Any, uses: Any, defs: Any) -> Any:
        found = ours(graph, blocks, uses, defs)
        assert found == dict(numbas(graph, blocks, uses, defs))
        seen.append(sum(map(len, found.values())))
        return found

    monkeypatch.setattr(variable_lifetimes, "live_at_entries", both)
    return seen


@pytest.mark.parametrize("f", [looping, raising, endless])
def test_live_variables(f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = compared(monkeypatch)
    x = np.array([0.5, 1.5, -0.5, 2.0])
    np.testing.assert_array_equal(numba.njit(pipeline_class=Compiler)(f)(x, 4), f(x, 4))
    assert max(seen) > 5


def test_generators_are_compiled_as_always(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = compared(monkeypatch)
    generator = numba.njit(drawn)

    def f(x: Any, n: int) -> Any:
        total = 0.0
        for v in generator(n):
            total += v
        return x * total

    x = np.array([0.5, 1.5])
    np.testing.assert_array_equal(numba.njit(pipeline_class=Compiler)(f)(x, 3), x * sum(drawn(3)))
    assert seen


def test_numba_is_as_it_was() -> None:
    before = postproc.PostProcessor.run, analysis.compute_live_map, untyped_passes.fixup_var_define_in_scope
    with pytest.raises(ZeroDivisionError), variable_lifetimes.found_where_read(), variable_lifetimes.found_where_read():
        _ = 1 // 0
    assert (postproc.PostProcessor.run, analysis.compute_live_map, untyped_passes.fixup_var_define_in_scope) == before


def test_variables_are_declared_in_every_scope() -> None:
    loc = ir.unknown_loc
    one, other = ir.Scope(None, loc), ir.Scope(None, loc)
    blocks = {}
    for label, scope, name in ((0, one, "a"), (1, one, "b"), (2, other, "c")):
        blocks[label] = ir.Block(scope, loc)
        blocks[label].append(ir.Return(ir.Var(scope, name, loc), loc))
    variable_lifetimes.declared(blocks)
    assert all({"a", "b", "c"} <= set(scope.localvars._con) for scope in (one, other))
