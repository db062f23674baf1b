"""Numba's lifetimes of variables, computed where something reads them, in time that grows with what is live.

Numba computes anew, behind each of nine passes, where each variable begins and ends; all but the last of these answers are thrown away unread (object mode
and generators read them, and get them as always). Its search for what is live carries all variables of a program from block to block, where only those
can matter that some block reads before it assigns to them: temporaries are most of a program, and none of them. And it declares each variable in the scope
of each block, though all blocks share one.

What is found is the same. Source: Aho, Lam, Sethi and Ullman, Compilers (2006), section 9.2.5, live variables by sets of bits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from numba.core import analysis, postproc, transforms, untyped_passes


@contextmanager
def found_where_read() -> Iterator[None]:
    """Let Numba compile so; helpers that it compiles on the way too."""
    run, live, declare = postproc.PostProcessor.run, analysis.compute_live_map, untyped_passes.fixup_var_define_in_scope

    def lifetimes(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        program = self.func_ir
        if program.is_generator:
            run(self, emit_dels, extend_lifetimes)
            return
        program.blocks = transforms.canonicalize_cfg(program.blocks)
        program.variable_lifetime, program.generator_info = postproc.VariableLifetime(program.blocks), None
        if emit_dels:
            self._insert_var_dels(extend_lifetimes=extend_lifetimes)

    postproc.PostProcessor.run, analysis.compute_live_map, untyped_passes.fixup_var_define_in_scope = lifetimes, live_at_entries, declared
    try:
        yield
    finally:
        postproc.PostProcessor.run, analysis.compute_live_map, untyped_passes.fixup_var_define_in_scope = run, live, declare


def live_at_entries(graph: Any, blocks: Iterable[int], uses: Mapping[int, set[str]], defs: Mapping[int, set[str]]) -> dict[int, set[str]]:
    """The variables that are live where each block begins: read before they are assigned to, on some path, by code that some assignment reaches."""
    places = {name: 1 << k for k, name in enumerate(sorted(set().union(*uses.values())))}
    names = list(places)
    order = list(graph.topo_order())
    read, assigned = ({label: _bits(found[label], places) for label in blocks} for found in (uses, defs))
    reach: dict[int, int] = defaultdict(int)

    def forward(label: int) -> None:
        reach[label] |= read[label] | assigned[label]
        for successor, _ in graph.successors(label):
            reach[successor] |= reach[label]

    def backward(label: int) -> None:
        for predecessor, _ in graph.predecessors(label):
            live[predecessor] |= live[label] & reach[predecessor] & ~assigned[predecessor]

    live = dict(read)
    _settle(forward, order, reach)
    _settle(backward, order[::-1], live)
    return {label: set(_named(bits, names)) for label, bits in live.items()}


def declared(blocks: Mapping[int, Any]) -> None:
    """Declare each variable that some block mentions in the scope of every block."""
    mentioned = {var.name: var for block in blocks.values() for stmt in block.body for var in stmt.list_vars()}
    for scope in {id(block.scope): block.scope for block in blocks.values()}.values():
        for name, var in mentioned.items():
            if name not in scope.localvars:
                scope.localvars.define(name, var)


def _settle(step: Any, order: Iterable[int], found: Mapping[int, int]) -> None:
    before: list[int] | None = None
    while before != (now := list(found.values())):
        before = now
        for label in order:
            step(label)


def _bits(names: Iterable[str], places: Mapping[str, int]) -> int:
    bits = 0
    for name in names:
        bits |= places.get(name, 0)
    return bits


def _named(bits: int, names: list[str]) -> Iterator[str]:
    while bits:
        lowest = bits & -bits
        yield names[lowest.bit_length() - 1]
        bits ^= lowest
