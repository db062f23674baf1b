"""What the front end read, made ready for derivatives: every array has an axis, and what Python would refuse is tested."""

from __future__ import annotations

from dataclasses import replace

from stgrad.analysis.apart import asked, written_parameters
from stgrad.analysis.held import check_held, keep_taken
from stgrad.analysis.overlaps import refusal, unordered
from stgrad.frontend import Reading, result_operand
from stgrad.ir import Function, Var
from stgrad.transforms.cells import cells, check_looks
from stgrad.transforms.decided import decide, end_where_it_raises
from stgrad.transforms.motion import move_integers
from stgrad.transforms.overflow import guard_integers
from stgrad.transforms.own_kinds import Items
from stgrad.transforms.positions import guard_positions
from stgrad.transforms.refusals import refuse
from stgrad.values import Sym, Value, leaves, map_leaves


def prepared_reading(reading: Reading, checked: bool | None) -> Reading:
    """The reading with all that derivatives rely on.

    Args:
        reading: a function as it was read.
        checked: the option of that name: tests that cost little (None), all of them (True), none (False).

    Raises:
        AliasingError: one place in memory would have two meanings.
    """
    _check_overlaps(reading.function)
    check_held(reading.function, reading.puts, reading.moves)
    reading = replace(reading, function=keep_taken(reading.function, reading.replaced, {id(s) for s, _ in reading.puts} | {id(s) for s in reading.moves}))
    apart = asked(reading.function, reading.apart)
    reading = _with_cells(reading)
    reading = replace(reading, function=replace(reading.function, written=written_parameters(reading.function)), apart=apart)
    return reading if checked is False else replace(reading, function=_guarded(reading, everything=bool(checked)))


def _check_overlaps(fn: Function) -> None:
    for stmt in unordered(fn):
        raise refusal(stmt.loc)


def _with_cells(reading: Reading) -> Reading:
    """A reading with variables in place of its arrays without axes."""
    names = {v.name for v in leaves(reading.result) if isinstance(v, Sym) and isinstance(v.operand, Var)}
    check_looks(reading.function, reading.looks, names)
    fn, one = cells(reading.function, names)

    def leaf(value: Value, _: str) -> Value:
        mine = isinstance(value, Sym) and isinstance(value.operand, Var) and value.name in one
        return Sym(Var(one[value.name]), fn.types[value.name]) if mine else value

    if not one:
        return reading
    result = map_leaves(leaf, reading.result)
    return replace(reading, function=replace(fn, result=result_operand(result)), result=result)


def _guarded(reading: Reading, *, everything: bool) -> Function:
    """The program with tests of what Python would refuse, or compute differently."""
    fn = guard_positions(move_integers(decide(reading.function)), reading.tested)  # the first: a line that may raise keeps tests behind it
    fn = guard_integers(fn, reading.tested)
    return end_where_it_raises(refuse(fn, reading.tested | reading.library, Items(reading.items, reading.listed), everything=everything))
