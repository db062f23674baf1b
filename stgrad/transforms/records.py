"""A variable that some trips replace, such as a running maximum: only the last replacement has a derivative.

    for i in range(n):                         at = -1
        top_stack.append(top)                  for i in range(n):
        t = f(x[i])                                t = f(x[i])
        if t > top: top = t            ->          if t > top: top = t; at = i
    ...                                        ...
    for i in range(n - 1, -1, -1):             for i in range(at, max(at - 1, -1), -1):
        top = top_stack.pop()                      x_bar[i] += top_bar * df(x[i])
        if f(x[i]) > top:                          top_bar = 0.0
            x_bar[i] += top_bar * df(x[i])
            top_bar = 0.0

Behind the last replacement the adjoint of the variable is zero, and what earlier ones would add is zero times something, in loops of the
trip as well. Trips that set anything for what comes after the reversal are not left out.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def largest(x):
    ...     top = x[0]
    ...     for i in range(1, len(x)):
    ...         top = max(top, x[i])
    ...     return top * top
    >>> show_pass("records", stgrad.grad(largest), np.ones(3))
    top_part_stack = []
    if x.shape[0] < 1:
        raise IndexError('index 0 is out of bounds for axis 0 of `x` (line 2: top = x[0])')
    top = x[0]
    n_x = x.shape[0]
    for i in range(1, n_x):
        x_i = x[i]
        top_part = x_i > top
        top_part_stack.append(top_part)
        if top_part:
            top = x_i
    # grad of line 5: return top * top
    top_bar = top + top
    x_bar = np.zeros_like(x)
    for i in range(n_x - 1, 0, -1):
        top_part_2 = top_part_stack.pop()
        if top_part_2:
            # grad of line 4: top = max(top, x[i])
            x_i_bar = top_bar
            top_bar = 0.0
        else:
            x_i_bar = 0.0
        x_bar[i] += x_i_bar
    # grad of line 2: top = x[0]
    x_bar[0] += top_bar
    return x_bar
    ->
    at_stack = []
    if x.shape[0] < 1:
        raise IndexError('index 0 is out of bounds for axis 0 of `x` (line 2: top = x[0])')
    top = x[0]
    at = 0
    for i in range(1, x.shape[0]):
        x_i = x[i]
        if x_i > top:
            top = x_i
            at = i
    at_stack.append(at)
    # grad of line 5: return top * top
    top_bar = top + top
    x_bar = np.zeros_like(x)
    at_2 = at_stack.pop()
    for i in range(at_2, max(at_2 - 1, 0), -1):
        # grad of line 4: top = max(top, x[i])
        x_i_bar = top_bar
        top_bar = 0.0
        x_bar[i] += x_i_bar
    # grad of line 2: top = x[0]
    x_bar[0] += top_bar
    return x_bar
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

from stgrad.analysis.liveness import Liveness, observed
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Custom,
    For,
    Function,
    If,
    Operand,
    Pop,
    Push,
    Stack,
    Stmt,
    Store,
    Type,
    Var,
    While,
    assigned,
    assigns,
    map_blocks,
    operand_vars,
    reads,
    walk,
)
from stgrad.names import Names

INT = Type("int64", weak=True)


def records(fn: Function) -> Function:
    """The program with the trip of the last replacement kept, where that tells the reversal all."""
    if not any(isinstance(s, Pop) for s in walk(fn.body)) or any(isinstance(s, Custom) for s in walk(fn.body)):
        return fn
    types, names = dict(fn.types), Names(fn.types)
    body = fn.body
    while (found := _first(body, observed(fn))) is not None:
        body = found.rewrite(body, types, names)
    return replace(fn, body=body, types=types)


def _first(body: Block, results: set[str]) -> _Record | None:
    loops = [s for s in walk(body) if isinstance(s, For)]
    after = Liveness(body, results).after
    for reverse in loops:
        for branch in reverse.body:
            found = _Record.find(loops, reverse, branch, after[id(reverse)]) if isinstance(branch, If) else None
            if found is not None:
                return found
    return None


@dataclass
class _Record:
    """A loop, its reversal, the statements that compute the condition in both."""

    forward: For
    reverse: For
    test: Assign
    again: Assign | Pop  # computed again, or kept
    branch: If
    carried: Set[str]  # names that a trip hands on: to the next one, or to what is behind the reversal

    @classmethod
    def find(cls, loops: list[For], reverse: For, branch: If, after: Set[str]) -> _Record | None:
        again = _definition(reverse.body, branch.cond)
        if again is None or reverse.step != Const(-1) or isinstance(again, Assign) and not again.op.startswith(("np.less", "np.greater")):
            return None
        popped = {s.target.name: s.stack for s in reverse.body if isinstance(s, Pop)}
        stacks = {again.stack} if isinstance(again, Pop) else {popped[n] for n in reads(again) if n in popped}
        carried = (Liveness(reverse.body, ()).before | after) & assigned(reverse.body)
        for forward in loops:
            pushed = {s.stack: s.value for s in forward.body if isinstance(s, Push)}
            if not stacks or not stacks <= pushed.keys() or forward.step != Const(1) or forward.var != reverse.var:
                continue
            conditions = [_definition(forward.body, s.cond) for s in forward.body if isinstance(s, If)]
            tests = [d for d in conditions if isinstance(d, Assign) and _alike(d, again, pushed)]
            found = cls(forward, reverse, tests[0], again, branch, carried) if len(tests) == 1 else None
            return found if found is not None and found.legal() else None
        return None

    def legal(self) -> bool:
        """Whether the branch adds nothing but zeros once it has run, and nothing else touches the adjoint that it ends."""
        if any(isinstance(s, (Pop, Push, For, While)) for s in walk((self.branch,))):
            return False
        ended = {s.target.name for s in self.branch.then if isinstance(s, Assign) and s.op == "alias" and s.args == (Const(0.0),)}
        records = self.carried & ended
        within = [id(s) for s in walk(self.branch.then)]
        outside = [s for s in walk(self.reverse.body) if id(s) not in within]
        touched = {n for s in outside for n in (*reads(s), *assigns(s))}
        condition = self.branch.cond
        if not records or records & touched or [s for s in outside if set(operand_vars(condition)) & set(reads(s))] != [self.branch]:
            return False
        zero = _zeros(self.branch.then, records, self.carried)
        other = _cleared(self.branch.orelse)
        return zero is not None and other is not None and other <= zero and not (assigned(self.branch.then) - other) & touched

    def alone(self) -> bool:
        """Whether a trip without the branch adds nothing but zeros."""
        rest = tuple(s for s in self.reverse.body if s is not self.branch and not isinstance(s, Pop))
        cleared = _cleared(self.branch.orelse) or set()
        if cleared & self.carried:
            return False
        for pop in (s for s in self.reverse.body if isinstance(s, Pop)):
            users = [s for s in walk(self.reverse.body) if pop.target.name in reads(s)]
            if pop is not self.again and any(s is not self.again for s in users):
                return False
        return _zeros(rest, cleared, self.carried) is not None

    # --------------------------------------------------------------- rewriting

    def rewrite(self, body: Block, types: dict[str, Type], names: Names) -> Block:
        at, last, stack = (names.fresh(wish) for wish in ("_at", "_at", "at_stack"))
        types |= {at: INT, last: INT, stack: INT}
        before = Var(names.fresh("_t"))
        types[before.name] = INT
        known = Assign((Var(at),), "alias", (self.forward.var,))
        replaced = next(s for s in self.forward.body if isinstance(s, If) and s.cond == self.test.target)
        marked = tuple(replace(s, then=(*s.then, known)) if s is replaced else s for s in self.forward.body)
        forward = replace(self.forward, body=marked)
        ahead = [Assign((before,), "np.subtract", (self.forward.start, Const(1))), Assign((Var(at),), "alias", (before,))]
        pieces: dict[int, list[Stmt]] = {
            id(self.forward): [*ahead, forward, Push(stack, Var(at))],
            id(self.reverse): [Pop(Var(last), stack), *self._single(Var(last), types, names)],
        }
        return (Stack(stack), *_replaced(body, pieces))

    def _single(self, last: Var, types: dict[str, Type], names: Names) -> list[Stmt]:
        """The reversal of the one trip that counts, or with a test for it."""
        if not self.alone():
            test = Assign((self.again.target,), "np.equal", (self.reverse.var, last), (), self.again.loc)
            return [replace(self.reverse, body=tuple(test if s is self.again else s for s in self.reverse.body))]
        body = tuple(x for s in self.reverse.body for x in (self.branch.then if s is self.branch else (s,)) if s is not self.again)
        below, stop = (Var(names.fresh("_t")) for _ in range(2))
        types |= {below.name: INT, stop.name: INT}
        bounds = [Assign((below,), "np.subtract", (last, Const(1))), Assign((stop,), "max", (below, self.reverse.stop))]
        return [*bounds, replace(self.reverse, start=last, stop=stop, body=body)]


def _replaced(block: Block, pieces: dict[int, list[Stmt]]) -> Block:
    out: list[Stmt] = []
    for stmt in block:
        out += pieces.get(id(stmt)) or [map_blocks(lambda b: _replaced(b, pieces), stmt)]
    return tuple(out)


def _definition(block: Block, operand: Operand) -> Assign | Pop | None:
    found = [s for s in block if isinstance(s, (Assign, Pop)) and operand in (s.targets if isinstance(s, Assign) else (s.target,))]
    return found[0] if len(found) == 1 else None


def _alike(test: Assign, again: Assign | Pop, pushed: dict[str, Operand]) -> bool:
    """Whether a condition of the forward loop is the one that the reversal asks for."""
    if isinstance(again, Pop):
        return pushed[again.stack] == test.target
    return test.op == again.op and test.loc is not None and test.loc == again.loc


def _cleared(block: Block) -> set[str] | None:
    """The names that a block sets to zero; None if it does anything else."""
    zero = {s.target.name for s in block if isinstance(s, Assign) and s.op == "alias" and s.args == (Const(0.0),)}
    return zero if len(zero) == len(block) else None


def _is_zero(stmt: Assign, zero: set[str]) -> bool:
    inside = [isinstance(a, Var) and a.name in zero or a == Const(0.0) for a in stmt.args]
    match stmt.op:
        case "np.multiply":
            return any(inside)
        case "np.divide":
            return inside == [True, False]
        case "np.add" | "np.subtract":
            return all(inside)
        case "np.negative" | "alias":
            return inside == [True]
    return False


def _zeros(block: Block, zero: Set[str], carried: Set[str]) -> set[str] | None:
    """Names that are zero behind a block, if those in `zero` are ahead of it; None if it does more than add zeros to what is `carried`."""
    known = set(zero)
    for stmt in block:
        if isinstance(stmt, For):
            repeated = _zeros_of_trips(stmt, known, carried)
            if repeated is None:
                return None
            known = repeated
        elif isinstance(stmt, Store):
            if stmt.mode != "add" or not isinstance(stmt.value, Var) or stmt.value.name not in known:
                return None
        elif not isinstance(stmt, Assign) or len(stmt.targets) != 1:
            return None
        elif _is_zero(stmt, known) and stmt.target.name not in carried - known:
            known.add(stmt.target.name)
        elif stmt.target.name not in carried:
            known.discard(stmt.target.name)
        elif stmt.op != "np.add" or stmt.args[0] != stmt.target or not isinstance(stmt.args[1], Var) or stmt.args[1].name not in known:
            return None
    return known


def _zeros_of_trips(loop: For, zero: Set[str], carried: Set[str]) -> set[str] | None:
    """The same of a loop: what stays zero in every trip, of which there may be none."""
    known = set(zero) - {loop.var.name}
    while (after := _zeros(loop.body, known, carried)) is not None:
        if known <= after:
            return known
        known &= after
    return None
