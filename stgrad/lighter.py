"""The gradient in a few numbers, by the mode that costs less.

A reverse sweep stores values of loops, and reads them again; a tangent for each of a few numbers lives in registers. Where the reverse sweep stores
nothing it is the cheaper one, as it is where each tangent would take a product of matrices or a solver again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from stgrad import errors
from stgrad.analysis.activity import activity
from stgrad.ir import Assign, Const, Function, Pack, Push, Stmt, Var, entries_of, operand_vars, walk
from stgrad.ir.ops import operation
from stgrad.mode_choices import say
from stgrad.names import Names
from stgrad.transforms.pipeline import Trace, prepared, push_forward, simplified
from stgrad.transforms.sweeps import unite_sweeps

FEW = 4
EACH_ELEMENT = frozenset({"identity", "cast", "copy", "part", "whole", "count", "element", "extent", "move", "creation", "like", "reduction"})


def lighter(fn: Function, wrt: Sequence[str], splice: Any, backward: Function, with_value: bool, output: int, keep: bool) -> tuple[Function, Trace] | None:
    """The gradient program by forward mode, where that costs less than `backward`, that by reverse mode; its results are in the same order.

    `output`: which result of `fn` is differentiated. `keep`: whether the stages on the way are asked for.
    """
    types = [fn.types[name] for name in wrt]
    if len(wrt) > FEW or any(t.array or t.dtype.startswith("complex") for t in types):
        return None
    reason = _against(fn, wrt, backward)
    if not reason:
        trace = Trace(keep)
        try:
            forward = push_forward(fn, [[name] for name in wrt], splice, trace, outputs=[output], values=None if with_value else 0)
        except errors.InternalError:
            raise
        except errors.StgradError as problem:
            reason = f"forward mode refuses the program ({str(problem).splitlines()[0]})"
        else:
            say("forward mode", f"a reverse sweep would store values of loops, and there are no more than {len(wrt)} numbers to go forward in")
            program = replace(_in_unit_directions(fn, wrt, forward), name=backward.name)
            return trace.add("optimised", simplified(program)), trace
    say("reverse mode", reason)
    return None


def _against(fn: Function, wrt: Sequence[str], backward: Function) -> str:
    """What speaks against forward mode in a few numbers."""
    if not any(isinstance(s, Push) for s in walk(unite_sweeps(backward).body)):
        return "it stores nothing"
    fn = prepared(fn)
    active = activity(fn, wrt).active
    heavy = next((s.op for s in walk(fn.body) if isinstance(s, Assign) and _is_heavy(s, fn, active)), "")
    return f"forward mode would run `{heavy}` once more for each number" if heavy else ""


def _is_heavy(stmt: Assign, fn: Function, active: frozenset[str]) -> bool:
    """Whether a statement takes more than some work for each element, or it is not known what it takes."""
    if not any(t.name in active for t in stmt.targets):
        return False
    arrays = any(fn.types[v].array for o in stmt.args for v in operand_vars(o) if v in fn.types)
    found = operation(stmt.op)
    return arrays and not found.fused and found.kind not in EACH_ELEMENT


def _in_unit_directions(fn: Function, wrt: Sequence[str], program: Function) -> Function:
    """The tangent program, each of whose directions is one number by itself; derivatives are of the type of that number."""
    known = {p.name for p in fn.params}
    seeds = [p for p in program.params if p.name not in known]
    types, casts, names = dict(program.types), list[Stmt](), Names(program.types)
    results = list(entries_of(program.result))
    for at, name in enumerate(wrt, len(results) - len(wrt)):
        t, dot = fn.types[name], results[at]
        if isinstance(dot, Var) and types[dot.name].dtype != t.dtype:
            results[at] = cast = Var(names.fresh(dot.name))
            types[cast.name] = replace(t, value=None)
            casts.append(Assign((cast,), "cast", (dot, Const(t.dtype))))
    ones = [Assign((p,), "alias", (Const(types[p.name].one),)) for p in seeds]
    body = (*ones, *program.body, *casts)
    result = results[0] if len(results) == 1 else Pack(tuple(results))
    return replace(program, params=tuple(p for p in program.params if p not in seeds), body=body, result=result, types=types)


__all__ = ["lighter"]
