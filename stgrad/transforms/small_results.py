"""Small arrays that somebody else holds: results, of which copies are made at the end, and what lists keep, which is pushed once it is finished."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set

from stgrad.analysis.alias import aliases, sharing
from stgrad.ir import Assign, Function, Pop, Push, Var, assigns, map_operand, operand_vars, reads, stored, walk
from stgrad.names import Names
from stgrad.transforms.lower.rows import finished
from stgrad.transforms.unroll import is_small


def with_results_apart(fn: Function) -> tuple[Function, dict[str, str]]:
    """The program with a copy of each result that is a small array, where nobody could tell; the results by the names of their copies."""
    classes, results = sharing(fn), list(operand_vars(fn.result))
    outside = [*(p.name for p in fn.params), *fn.constants]
    met = Counter(classes.find(n) for n in (*results, *outside))
    names = Names([*fn.types, *outside])
    copies = {names.fresh(n): n for n in results if is_small(fn.types[n]) and met[classes.find(n)] == 1}
    under = {n: Var(copy) for copy, n in copies.items()}
    made = tuple(Assign((Var(copy),), "np.copy", (Var(n),)) for copy, n in copies.items())
    types = {**fn.types, **{copy: fn.types[n] for copy, n in copies.items()}}
    return fn.with_body((*fn.body, *made), types=types, result=map_operand(lambda o: under.get(o.name, o) if isinstance(o, Var) else o, fn.result)), copies


def without_copies(fn: Function, copies: Mapping[str, str], apart: Set[str]) -> Function:
    """The program without copies of results that are in memory themselves."""
    whole = {copy: Var(n) for copy, n in copies.items() if n not in apart}
    body = tuple(s for s in fn.body if not (isinstance(s, Assign) and s.op == "np.copy" and s.target.name in whole))
    return fn.with_body(body, result=map_operand(lambda o: whole.get(o.name, o) if isinstance(o, Var) else o, fn.result))


def pushed_when_finished(fn: Function) -> tuple[Function, set[str]]:
    """The program with arrays pushed once they are finished, and the arrays that lists hold by reference: what is written later shows in these."""
    classes = aliases(fn)
    written = frozenset(map(classes.find, stored(fn.body)))
    fn, rows = finished(fn, classes, written)
    held = (s for s in walk(fn.body) if isinstance(s, (Push, Pop)) and s.stack not in rows and classes.find(s.stack) in written)
    return fn, {n for s in held for n in (*reads(s), *assigns(s))}
