"""Names assigned once in a straight run of statements.

Before: `t = a * b; y = t; t = y + c`; after: `t_2 = a * b; y = t_2; t = y + c`. What the run reads from before it
keeps its name too: a final value whose name is still read as it was gets a new name, and is given back at the end.
"""

from __future__ import annotations

from collections.abc import Sequence

from stgrad.analysis.alias import OwnClasses
from stgrad.ir import Assign, Stmt, Type, Var, assigns, exposed, rename
from stgrad.names import Names


def number(
    block: Sequence[Stmt], live: frozenset[str], types: dict[str, Type], names: Names, classes: OwnClasses
) -> tuple[list[Stmt], list[Assign]]:
    """The statements with every name assigned once, and the copies that give the final values back."""
    before = exposed(tuple(block))
    last = {name: k for k, stmt in enumerate(block) for name in assigns(stmt)}
    current: dict[str, str] = {}
    result: list[Stmt] = []
    for k, stmt in enumerate(block):
        bound = {}
        for name in assigns(stmt):
            if last[name] == k and name not in before:
                bound[name] = name
            else:
                bound[name] = names.fresh(name)
                types[bound[name]] = types[name]
                classes.unite(bound[name], name)
        (read,) = rename((stmt,), {n: v for n, v in current.items() if n not in bound}) if not bound else (_rebind(stmt, current, bound),)
        result.append(read)
        current.update(bound)
    back = [Assign((Var(n),), "alias", (Var(v),)) for n, v in current.items() if v != n and n in live]
    return result, back


def _rebind(stmt: Stmt, current: dict[str, str], bound: dict[str, str]) -> Stmt:
    """Rename what a statement reads by `current`, what it binds by `bound`."""
    from dataclasses import replace

    from stgrad.ir import Operand, Pop, map_operands

    def leaf(operand: Operand) -> Operand:
        return Var(current.get(operand.name, operand.name)) if isinstance(operand, Var) else operand

    stmt = map_operands(leaf, stmt)
    if isinstance(stmt, Assign):
        return replace(stmt, targets=tuple(Var(bound[t.name]) for t in stmt.targets))
    assert isinstance(stmt, Pop)
    return replace(stmt, target=Var(bound[stmt.target.name]))
