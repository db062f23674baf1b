"""Which names need a derivative: those that depend on an input asked for, and that the result depends on.

By name, not by place: a name that is active anywhere is active everywhere. That costs work, never correctness. Names of one alias
class are active together, as a store through one changes the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from stgrad.analysis.alias import Classes, sharing
from stgrad.analysis.liveness import result_names
from stgrad.analysis.manager import kept
from stgrad.ir import Assign, Block, Custom, Function, Pop, Push, Stmt, Store, Type, Var, assigned, blocks, operand_vars, rule_reads
from stgrad.ir.ops import operation


@dataclass(frozen=True)
class Activity:
    """`varied`: depends on an input. `useful`: the result depends on it. `active`: both, and of a floating type."""

    varied: frozenset[str]
    useful: frozenset[str]
    active: frozenset[str]


def activity(fn: Function, wrt: Iterable[str]) -> Activity:
    """Activity of every name of a program with respect to the parameters `wrt`."""
    return _activity(fn, frozenset(wrt))


@kept
def _activity(fn: Function, wrt: frozenset[str]) -> Activity:
    classes = sharing(fn)
    edges = list(flows(fn, classes))
    forward: dict[str, set[str]] = {}
    backward: dict[str, set[str]] = {}
    for source, target in edges:
        forward.setdefault(source, set()).add(target)
        backward.setdefault(target, set()).add(source)
    varied = reached({classes.find(n) for n in wrt}, forward)
    useful = reached({classes.find(n) for n in result_names(fn)}, backward)
    names = set(fn.types)

    def of(found: set[str]) -> frozenset[str]:
        return frozenset(n for n in names if classes.find(n) in found)

    both = of(varied) & of(useful)
    return Activity(of(varied), of(useful), frozenset(n for n in both if fn.types[n].is_float))


def reached(start: set[str], edges: Mapping[str, set[str]]) -> set[str]:
    """What can be reached from `start` along edges."""
    found, todo = set(start), list(start)
    while todo:
        for target in edges.get(todo.pop(), ()):
            if target not in found:
                found.add(target)
                todo.append(target)
    return found


def flows(fn: Function, classes: Classes) -> Iterator[tuple[str, str]]:
    """Pairs of alias classes: numbers of the first go into the second."""
    for stmt, own in _walk(fn.body, frozenset()):
        for source, target in _moves(stmt, fn.types):
            if target not in own:
                yield classes.find(source), classes.find(target)


def _walk(block: Block, own: frozenset[str]) -> Iterator[tuple[Stmt, frozenset[str]]]:
    """Statements, and what they make that has a derivative of its own: the outputs of the region around them."""
    for stmt in block:
        yield stmt, own
        if isinstance(stmt, Custom) and not rule_reads((stmt,)) & (assigned(stmt.body) - {o.name for o in stmt.outputs}):
            continue  # what happens inside is nobody's business: the rule says all
        inner = own | {o.name for o in stmt.outputs} if isinstance(stmt, Custom) else own
        for part in blocks(stmt):
            yield from _walk(part, inner)


def _moves(stmt: Stmt, types: Mapping[str, Type]) -> Iterator[tuple[str, str]]:
    match stmt:
        case Assign():
            if differentiable(stmt.op):
                for operand in (*stmt.args, *(v for _, v in stmt.kwargs)):
                    yield from _pairs(operand, [t.name for t in stmt.targets], types)
        case Store():
            yield from _pairs(stmt.value, [stmt.target.name], types)
        case Push():
            yield from _pairs(stmt.value, [stmt.stack], types)
        case Pop():
            yield stmt.stack, stmt.target.name
        case Custom():
            for operand in stmt.inputs:
                yield from _pairs(operand, [o.name for o in stmt.outputs], types)


def _pairs(operand: object, targets: list[str], types: Mapping[str, Type]) -> Iterator[tuple[str, str]]:
    for name in operand_vars(operand):  # type: ignore[arg-type]
        if types[name].is_float:
            for target in targets:
                if types[target].is_float:
                    yield name, target


def differentiable(op: str) -> bool:
    """Whether a derivative may pass through an operation."""
    return operation(op).differentiable


__all__ = ["Activity", "Var", "activity", "differentiable", "flows", "reached"]
