"""Numba's static single assignment, in time that grows with a program and not with its square.

Numba walks all statements twice for each variable that is assigned to more than once, and looks for the place of a statement from the beginning of its
block. Here a table says which statements mention a variable, and only they are looked at. What is renamed, and to what, is decided by Numba's own
handlers, so the outcome is the same. Their search for a definition calls itself at each branch that it passes, which ends at the limit of Python's
recursion for programs of some hundred branches; here it is a loop.

Source: Braun et al., Simple and efficient construction of static single assignment form (2013), has the same search for definitions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from numba.core import ir, postproc, ssa
from numba.core.compiler_machinery import register_pass
from numba.core.ir_utils import build_definitions
from numba.core.untyped_passes import ReconstructSSA

Places = Mapping[int, Sequence[int]]  # label of a block -> positions of statements in it


def renamed(blocks: Mapping[int, Any]) -> dict[int, Any]:
    """Blocks in which each variable is assigned to once, with phi nodes where definitions meet."""
    graph = ssa.compute_cfg_from_blocks(blocks)
    frontiers = ssa._iterated_domfronts(graph)
    several = ssa._find_defs_violators(blocks, graph)
    mentions = _mentions(blocks, set(several))
    blocks = {label: _copied(block) for label, block in blocks.items()}
    phis: dict[int, list[Any]] = defaultdict(list)
    variables = ssa._CacheListVars()
    for name in several:
        states: dict[str, Any] = {**ssa._make_states(blocks), "varname": name, "defmap": defaultdict(list), "phimap": defaultdict(list), "cfg": graph}
        _rewrite(blocks, mentions[name], states, ssa._FreshVarHandler())
        states["phi_locations"] = ssa._compute_phi_locations(frontiers, states["defmap"])
        _rewrite(blocks, mentions[name], states, _Uses(variables))
        for label, made in states["phimap"].items():
            phis[label] = made + phis[label]
    for label, made in phis.items():
        blocks[label].body = made + blocks[label].body
    return blocks


def _mentions(blocks: Mapping[int, Any], wanted: Collection[str]) -> dict[str, dict[int, list[int]]]:
    """Where variables are assigned to or read, in the order of the program."""
    found: dict[str, dict[int, list[int]]] = {name: {} for name in wanted}
    for label, block in blocks.items():
        for position, stmt in enumerate(block.body):
            for name in {var.name for var in stmt.list_vars()} & found.keys():
                found[name].setdefault(label, []).append(position)
    return found


def _copied(block: Any) -> Any:
    copy = ir.Block(scope=block.scope, loc=block.loc)
    copy.body = list(block.body)
    return copy


def _rewrite(blocks: Mapping[int, Any], places: Places, states: dict[str, Any], handler: Any) -> None:
    """Replace statements by what a handler makes of them; it sees a block as it was until it has gone through it."""
    for label, positions in places.items():
        body = blocks[label].body
        states["label"], states["block"] = label, blocks[label]
        handler.positions = {id(body[k]): k for k in positions}
        made = [(handler.on_assign if isinstance(body[k], ir.Assign) else handler.on_other)(states, body[k]) for k in positions]
        for k, stmt in zip(positions, made, strict=True):
            body[k] = stmt


class _Uses(ssa._FixSSAVars):  # type: ignore[misc]
    """Numba's handler of reads, which knows where the statements of a block are that mention the variable."""

    positions: Mapping[int, int] = {}

    def _stmt_index(self, stmt: Any, block: Any, stop: int = -1) -> int:
        end = len(block.body)
        position = self.positions.get(id(stmt), end)
        return position if stop == -1 or position < stop else end

    def _find_def_from_top(self, states: dict[str, Any], label: int, loc: Any) -> Any:
        """The definition that reaches a block; with phi nodes where several meet on the way."""
        open_: list[tuple[int, Any]] = []
        found = self._reaching(states, label, loc, open_)
        while open_:
            label, phi = open_.pop()
            for predecessor, _ in states["cfg"].predecessors(label):
                defs = states["defmap"][predecessor]
                incoming = defs[-1] if defs else self._reaching(states, predecessor, loc, open_)
                phi.value.incoming_values.append(incoming.target)
                phi.value.incoming_blocks.append(predecessor)
        return found

    def _reaching(self, states: dict[str, Any], label: int, loc: Any, open_: list[tuple[int, Any]]) -> Any:
        """The same; a phi node that is made for it is still open: nothing has told what comes in."""
        while label not in states["phi_locations"]:
            above = states["cfg"].immediate_dominators()[label]
            if above == label:
                ssa._warn_about_uninitialized_variable(states["varname"], loc)
                return ssa.UndefinedVariable
            if states["defmap"][above]:
                return states["defmap"][above][-1]
            label = above
        place = states["block"].loc
        phi = ir.Assign(target=states["scope"].redefine(states["varname"], loc=place), value=ir.Expr.phi(loc=place), loc=place)
        states["defmap"][label].insert(0, phi)
        states["phimap"][label].append(phi)
        open_.append((label, phi))
        return phi


@register_pass(mutates_CFG=False, analysis_only=False)
class Renaming(ReconstructSSA):  # type: ignore[misc]
    """The pass of Numba, by `renamed`."""

    _name = "reconstruct_ssa"

    def run_pass(self, state: Any) -> bool:
        state.func_ir.blocks = renamed(state.func_ir.blocks)
        self._patch_locals(state)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        postproc.PostProcessor(state.func_ir).run(emit_dels=False)
        return True
