"""`break`, `continue`, early `return` and the `else` of loops -> branches and flags.

Structure is preferred to flags. Where a branch always jumps, the statements behind the `if` move into the other branch.
Only where a branch may jump or not does a flag guard what follows:

    if c: return a          if c: _ret = a              for ...:                     for ...:
    rest                    else: rest                      if c: continue               if not c:
                                                            rest                             rest

All assignments to flags are written first; those that nothing tests are dropped at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import gast  # type: ignore[import-untyped,unused-ignore]

from stgrad.names import Names
from stgrad.syntax.build import assign, at, constant, load, negate, none_of

Stmts = list[Any]


def remove_jumps(fn: gast.FunctionDef, names: Names) -> gast.FunctionDef:
    """Rewrite a function, and those in it, so that its only jump is one `return` at its end. Changes the tree."""
    for node in [n for n in gast.walk(fn) if isinstance(n, gast.FunctionDef)]:
        node.body = _Function(node, names).rewrite()
    return fn


# --------------------------------------------------------------------------- facts about jumps


def falls(stmts: Sequence[Any]) -> bool:
    """Whether control may reach the end of a block."""
    return all(_falls(stmt) for stmt in stmts)


def _falls(stmt: Any) -> bool:
    match stmt:
        case gast.Return() | gast.Break() | gast.Continue() | gast.Raise():
            return False
        case gast.If():
            return falls(stmt.body) or falls(stmt.orelse)
        case gast.With():
            return falls(stmt.body)
        case gast.Try():
            return falls([*stmt.body, *stmt.orelse]) or any(falls(h.body) for h in stmt.handlers)
        case gast.While() if isinstance(stmt.test, gast.Constant) and stmt.test.value:
            return "break" in jumps(stmt.body)
        case gast.While() | gast.For():
            return falls(stmt.orelse) or "break" in jumps(stmt.body)
    return True


def jumps(stmts: Sequence[Any]) -> set[str]:
    """The kinds of jumps that leave a block: 'return', 'break', 'continue'."""
    found: set[str] = set()
    for stmt in stmts:
        match stmt:
            case gast.Return():
                found.add("return")
            case gast.Break():
                found.add("break")
            case gast.Continue():
                found.add("continue")
            case gast.If():
                found |= jumps(stmt.body) | jumps(stmt.orelse)
            case gast.Try():
                found |= jumps([*stmt.body, *stmt.orelse, *stmt.handlers, *stmt.finalbody])
            case gast.ExceptHandler() | gast.With():
                found |= jumps(stmt.body)
            case gast.While() | gast.For():
                found |= (jumps(stmt.body) & {"return"}) | jumps(stmt.orelse)
    return found


# --------------------------------------------------------------------------- the rewriting


@dataclass
class _Loop:
    """The flags of a loop; `left` is true once it is left early."""

    left: str
    skip: str  # the rest of this iteration is skipped
    breaks: bool


@dataclass
class _Function:
    """One function while it is rewritten."""

    node: Any
    names: Names
    loops: list[_Loop] = field(default_factory=list)
    tested: set[str] = field(default_factory=set)
    flags: set[str] = field(default_factory=set)
    loads: Counter[str] = field(default_factory=Counter)
    result: str = ""
    returned: str = ""

    def rewrite(self) -> Stmts:
        body = self.node.body
        last = body[-1] if body else self.node
        self.loads = _loads(body)
        if falls(body) or "return" not in jumps(body):
            body = [*body, at(last, gast.Return(constant(None)))]
        if isinstance(body[-1], gast.Return) and "return" not in jumps(body[:-1]):
            final = body[-1]
            final.value = final.value or at(final, constant(None))
            return [*self._finish(self.block(body[:-1])), final]
        self.result = self.names.fresh("_ret")
        self.returned = self._flag("_returned")
        statements = _without_last(self.block(body), self.returned)
        if self.returned in self.tested:
            statements.insert(0, assign(self.node, self.returned, constant(False)))
        return [*self._finish(statements), at(last, gast.Return(load(self.result)))]

    def _flag(self, wish: str) -> str:
        name = self.names.fresh(wish)
        self.flags.add(name)
        return name

    def _finish(self, statements: Stmts) -> Stmts:
        """Drop the assignments to flags that nothing tests."""
        return _clean(statements, self.flags - self.tested)

    def block(self, stmts: Sequence[Any]) -> Stmts:
        """A block without jumps."""
        out: Stmts = []
        for position, stmt in enumerate(stmts):
            rest = list(stmts[position + 1 :])
            match stmt:
                case gast.Return() | gast.Break() | gast.Continue():
                    return out + self.jump(stmt)
                case gast.Raise():
                    return [*out, stmt]
                case gast.Delete() if not stmt.flags and all(isinstance(t, gast.Name) for t in stmt.targets):
                    continue
                case gast.If() if jumps([stmt]):
                    return out + self.branch(stmt, rest)
                case gast.If():
                    stmt.body, stmt.orelse = self.block(stmt.body), self.block(stmt.orelse)
                    out.append(stmt)
                case gast.Try():
                    rest = _followed(stmt, rest)
                    kinds = self.attempt(stmt)
                    return [*out, stmt, *self.guard(stmt, kinds, rest)]
                case gast.With():
                    kinds = jumps(stmt.body)
                    stmt.body = self.block(stmt.body)
                    return [*out, stmt, *self.guard(stmt, kinds, rest)]
                case gast.While() | gast.For():
                    returns = jumps(stmt.body) & {"return"}
                    loop, following = self.loop(stmt)
                    return out + loop + self.guard(stmt, returns, following + rest)
                case _:
                    out.append(stmt)
        return out

    def jump(self, stmt: Any) -> Stmts:
        """A jump as assignments to flags."""
        match stmt:
            case gast.Return():
                stored = assign(stmt, self.result, stmt.value or constant(None))
                left = [loop.left for loop in reversed(self.loops) if loop.breaks]
                return [stored, *(self.raise_flag(stmt, flag) for flag in (self.returned, *left))]
            case gast.Break():
                return [self.raise_flag(stmt, self.loops[-1].left)]
        return [self.raise_flag(stmt, self.loops[-1].skip)]

    def attempt(self, stmt: Any) -> set[str]:
        """The parts of a `try` without jumps; the kinds of jumps that were in it. Its `else` runs where the body did not jump."""
        kinds, inside = jumps([stmt]), jumps(stmt.body)
        stmt.swallows = bool(jumps(stmt.finalbody))
        for part in (stmt, *stmt.handlers):
            part.body = self.block(part.body)
        stmt.orelse, stmt.finalbody = self.guard(stmt, inside, stmt.orelse), self.block(stmt.finalbody)
        return kinds

    def raise_flag(self, place: Any, flag: str) -> Any:
        return assign(place, flag, constant(True))

    def branch(self, stmt: Any, rest: Stmts) -> Stmts:
        """An `if` with jumps, and the statements behind it."""
        if not falls(stmt.body):
            stmt.body, stmt.orelse = self.block(stmt.body), self.block([*stmt.orelse, *rest])
            return [stmt]
        if not falls(stmt.orelse):
            stmt.body, stmt.orelse = self.block([*stmt.body, *rest]), self.block(stmt.orelse)
            return [stmt]
        kinds = jumps([stmt])
        stmt.body, stmt.orelse = self.block(stmt.body), self.block(stmt.orelse)
        return [stmt, *self.guard(stmt, kinds, rest)]

    def guard(self, place: Any, kinds: set[str], rest: Stmts) -> Stmts:
        """The statements behind one that may have jumped."""
        if not rest:
            return []
        flags = []
        if "return" in kinds:
            flags.append(self.returned)
        if "break" in kinds:
            flags.append(self.loops[-1].left)
        if "continue" in kinds:
            flags.append(self.loops[-1].skip)
        self.tested.update(flags)
        return [at(place, gast.If(none_of(flags), self.block(rest), []))] if flags else self.block(rest)

    # loops

    def loop(self, stmt: Any) -> tuple[Stmts, Stmts]:
        """A loop without jumps, and the statements of its `else`, to stand behind it."""
        kinds = jumps(stmt.body)
        breaks = "break" in kinds
        left = self._flag("_break") if breaks else self.returned if "return" in kinds else ""
        skip = self._flag("_continue") if "continue" in kinds else ""
        following, inside = list(stmt.orelse), _loads(stmt.body)
        if following and breaks:
            following = [at(following[0], gast.If(none_of([left]), following, []))]
            self.tested.add(left)
        stmt.orelse = []
        self.loops.append(_Loop(left, skip, breaks))
        body = self.block(stmt.body)
        self.loops.pop()
        if skip in self.tested:
            body.insert(0, assign(stmt, skip, constant(False)))
        stmt.body = body
        if not left:
            return [stmt], following
        self.tested.add(left)
        self.leave_early(stmt, left, inside)
        return ([assign(stmt, left, constant(False))] if breaks else []) + [stmt], following

    def leave_early(self, stmt: Any, flag: str, inside: Counter[str]) -> None:
        """Make a loop do nothing once its flag is true."""
        stmt.until = flag
        if isinstance(stmt, gast.While):
            runs = at(stmt.test, none_of([flag]))
            always = isinstance(stmt.test, gast.Constant) and stmt.test.value
            stmt.test = runs if always else at(stmt.test, gast.BoolOp(gast.And(), [runs, stmt.test]))
        else:
            stmt.body = [at(stmt, gast.If(none_of([flag]), self.keep_counters(stmt, inside) + stmt.body, []))]

    def keep_counters(self, stmt: Any, inside: Counter[str]) -> Stmts:
        """Let the counters that are read outside of the loop keep their values when it is left."""
        copies = []
        for target in gast.walk(stmt.target):
            if isinstance(target, gast.Name) and isinstance(target.ctx, gast.Store) and self.loads[target.id] > inside[target.id]:
                name = target.id
                target.id = self.names.fresh(f"_{name}")
                copies.append(assign(stmt.target, name, load(target.id)))
                if hasattr(target, "flag"):
                    copies[-1].targets[0].flag = target.flag
                    del target.flag
        return copies


def _followed(stmt: Any, rest: Stmts) -> Stmts:
    """Move what stands behind a `try` into the one part of it that comes there; what stays behind."""
    coming = [h for h in stmt.handlers if falls(h.body)]
    if not rest or stmt.finalbody or not stmt.handlers:
        return rest
    if not coming:
        stmt.orelse = [*stmt.orelse, *rest]
    elif len(coming) == 1 and not falls([*stmt.body, *stmt.orelse]):
        coming[0].body = [*coming[0].body, *rest]
    else:
        return rest
    return []


def _loads(stmts: Sequence[Any]) -> Counter[str]:
    """How often each name is read."""
    found: Counter[str] = Counter()
    for stmt in stmts:
        for node in gast.walk(stmt):
            if isinstance(node, gast.Name) and isinstance(node.ctx, gast.Load):
                found[node.id] += 1
            elif isinstance(node, gast.AugAssign) and isinstance(node.target, gast.Name):
                found[node.target.id] += 1
    return found


def _without_last(stmts: Stmts, flag: str) -> Stmts:
    """Drop the assignments to a flag that come last: nothing tests it any more."""
    match stmts:
        case [*others, gast.Assign(targets=[gast.Name(id=name)])] if name == flag:
            return others
        case [*_, gast.If() as last]:
            last.body, last.orelse = _without_last(last.body, flag), _without_last(last.orelse, flag)
    return stmts


def _clean(stmts: Sequence[Any], dead: set[str]) -> Stmts:
    """Drop the assignments to dead flags, and the branches that are empty then."""
    out: Stmts = []
    for stmt in stmts:
        match stmt:
            case gast.Assign(targets=[gast.Name(id=name)]) if name in dead:
                continue
            case gast.If():
                stmt.body, stmt.orelse = _clean(stmt.body, dead), _clean(stmt.orelse, dead)
                out.extend(_without_empty_branches(stmt))
                continue
            case gast.For() | gast.While() | gast.With() | gast.ExceptHandler():
                stmt.body = _clean(stmt.body, dead)
            case gast.Try():
                stmt.body, stmt.orelse = _clean(stmt.body, dead), _clean(stmt.orelse, dead)
                stmt.handlers, stmt.finalbody = _clean(stmt.handlers, dead), _clean(stmt.finalbody, dead)
        out.append(stmt)
    return out


def _without_empty_branches(stmt: Any) -> Stmts:
    if stmt.body:
        return [stmt]
    if stmt.orelse:
        stmt.test, stmt.body, stmt.orelse = negate(stmt.test), stmt.orelse, []
        return [stmt]
    return [at(stmt, gast.Expr(stmt.test))] if any(map(_may_raise, gast.walk(stmt.test))) else []


def _may_raise(node: Any) -> bool:
    """Whether the evaluation of a node is seen, though nobody looks at its value."""
    if isinstance(node, gast.Name):
        return hasattr(node, "check")
    return not isinstance(node, (gast.Constant, gast.BoolOp, gast.UnaryOp, gast.boolop, gast.unaryop, gast.expr_context))
