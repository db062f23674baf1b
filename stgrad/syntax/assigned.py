"""Definite assignment: which names may be read before anything was assigned to them.

A name that every path to its reads assigns costs nothing. The others get a flag, which says at run time whether they are assigned:

    FunctionDef.flags   name -> flag: the flags of its local names (an attribute of the node, as the following ones)
    Name.check          on a read that some path reaches without an assignment: the flag to test
    Name.flag, .flag    on what binds a flagged name (a target, a nested function, an import): the flag to raise
    For.ran             flags that any trip of the loop raises: raised behind the loop if there was a trip, not in it
    Delete.flags        flags to lower

The tree means the same to those who do not know the attributes: Python checks by itself. The rules are those of Java for definite
assignment (The Java Language Specification, chapter 16), on the tree before its jumps are removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import gast  # type: ignore[import-untyped,unused-ignore]

from stgrad.names import Names

State = frozenset[str] | None  # the assigned names; None where control never comes
_FUNCTIONS = (gast.FunctionDef, gast.Lambda)
_COMPREHENSIONS = (gast.ListComp, gast.SetComp, gast.GeneratorExp, gast.DictComp)


def mark_unassigned(tree: gast.FunctionDef, names: Names) -> gast.FunctionDef:
    """Give flags to the names of a function, and of those in it, that may be read unassigned. Changes the tree."""
    _mark(tree, names)
    return tree


def _mark(function: Any, names: Names) -> None:
    bound = [name for name, _ in binders(function.body)]
    params = parameters(function)
    scan = _Scan(frozenset(bound) | params)
    scan.block(function.body, params)
    function.flags = {name: names.fresh(f"{name}_assigned") for name in sorted({node.id for node in scan.unsure})}
    for node in scan.unsure:
        node.check = function.flags[node.id]
    raised_behind = _behind_loops(function, scan)
    for name, node in binders(function.body):
        if name in function.flags and id(node) not in raised_behind:
            node.flag = function.flags[name]
    for inner in own(function.body):
        if isinstance(inner, gast.For) and not hasattr(inner, "ran"):
            inner.ran = []  # no path comes to this loop
        if isinstance(inner, gast.Delete):
            inner.flags = [function.flags[t.id] for t in inner.targets if isinstance(t, gast.Name) and t.id in function.flags]
        if isinstance(inner, gast.FunctionDef):
            _mark(inner, names)


def _behind_loops(function: Any, scan: _Scan) -> set[int]:
    """The binders whose flags are raised behind the loop around them: those of names that every trip assigns and none reads unassigned.

    A loop in a `try`, or under a manager that may suppress exceptions, may be left in the middle: its flags are raised where the names are bound.
    """
    found: set[int] = set()
    attempts = {id(n) for t in own(function.body) if isinstance(t, (gast.Try, gast.With)) for s in t.body for n in gast.walk(s)}
    for loop, always in scan.loops:
        unsure = {node.id for node in gast.walk(loop) if isinstance(node, gast.Name) and hasattr(node, "check")}
        deleted = {t.id for node in gast.walk(loop) if isinstance(node, gast.Delete) for t in node.targets if isinstance(t, gast.Name)}
        names = always & function.flags.keys() - unsure - deleted if id(loop) not in attempts else frozenset()
        loop.ran = [function.flags[name] for name in sorted(names)]
        found |= {id(node) for name, node in binders([loop]) if name in names}
    return found


# --------------------------------------------------------------------------- what binds names


def parameters(function: Any) -> frozenset[str]:
    spec = function.args
    every = (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg)
    return frozenset(a.id for a in every if a is not None)


def own(statements: Sequence[Any]) -> Iterator[Any]:
    """The nodes of a function itself, not those of functions and comprehensions in it (of which the node alone comes)."""
    todo = list(statements)
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, _COMPREHENSIONS):
            todo += [n for n in gast.walk(node) if isinstance(n, gast.NamedExpr)]
        elif isinstance(node, gast.FunctionDef):
            todo += [*node.decorator_list, *node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
        elif not isinstance(node, gast.Lambda):
            todo += gast.iter_child_nodes(node)


def binders(statements: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Each name that statements bind, with the node that binds it."""
    for node in own(statements):
        if isinstance(node, gast.Name) and isinstance(node.ctx, gast.Store):
            yield node.id, node
        elif isinstance(node, gast.FunctionDef):
            yield node.name, node
        elif isinstance(node, (gast.Import, gast.ImportFrom)):
            for alias in node.names:
                yield alias.asname or alias.name.split(".")[0], alias


# --------------------------------------------------------------------------- the analysis


def meet(states: Iterable[State]) -> State:
    """What is assigned behind several paths."""
    reached = [s for s in states if s is not None]
    return frozenset.intersection(*reached) if reached else None


@dataclass
class _Jumps:
    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)


@dataclass
class _Scan:
    """One walk over a function; `unsure` are the reads that some path reaches without an assignment."""

    locals: frozenset[str]
    unsure: list[Any] = field(default_factory=list)
    loops: list[tuple[Any, frozenset[str]]] = field(default_factory=list)  # with the names that every trip assigns
    jumps: list[_Jumps] = field(default_factory=list)

    def block(self, statements: Sequence[Any], state: State) -> State:
        for stmt in statements:
            state = self.statement(stmt, state)
        return state

    def statement(self, stmt: Any, state: State) -> State:
        match stmt:
            case gast.Return() | gast.Raise():
                self.children(stmt, state)
                return None
            case gast.Break():
                self.jumps[-1].breaks.append(state)
                return None
            case gast.Continue():
                self.jumps[-1].continues.append(state)
                return None
            case gast.If():
                yes, no = self.condition(stmt.test, state)
                return meet([self.block(stmt.body, yes), self.block(stmt.orelse, no)])
            case gast.For():
                return self.for_loop(stmt, self.expression(stmt.iter, state))
            case gast.While():
                return self.while_loop(stmt, state)
            case gast.Try():
                return self.attempt(stmt, state)
            case gast.With():
                return self.block(stmt.body, self.children(stmt, state, skip=stmt.body))
            case gast.Delete():
                gone = {t.id for t in stmt.targets if isinstance(t, gast.Name)}
                return None if state is None else self.children(stmt, state) - gone  # type: ignore[operator]
            case gast.FunctionDef():
                return self.function(stmt, state)
            case gast.Assign() | gast.AugAssign():
                return self.assignment(stmt, state)
        return self.children(stmt, state)

    def assignment(self, stmt: Any, state: State) -> State:
        if isinstance(stmt, gast.AugAssign) and isinstance(stmt.target, gast.Name):
            self.read(stmt.target, state)
        state = self.expression(stmt.value, state)
        for target in getattr(stmt, "targets", None) or [stmt.target]:
            state = self.expression(target, state)
        return state

    def attempt(self, stmt: Any, state: State) -> State:
        """A `try`: its handlers start with what was assigned before it."""
        ends = [self.block(stmt.orelse, self.block(stmt.body, state))]
        for handler in stmt.handlers:
            start = state if handler.type is None else self.expression(handler.type, state)
            ends.append(self.block(handler.body, start if handler.name is None else self.bind(start, handler.name.id)))
        self.block(stmt.finalbody, state)  # it comes behind jumps, too
        return self.block(stmt.finalbody, meet(ends))

    def function(self, stmt: Any, state: State) -> State:
        state = self.children(stmt, state, skip=[*stmt.body, stmt.args])
        for default in (*stmt.args.defaults, *stmt.args.kw_defaults):
            state = state if default is None else self.expression(default, state)
        state = self.bind(state, stmt.name)
        inner = parameters(stmt) | {name for name, _ in binders(stmt.body)}
        for node in stmt.body:
            self.hidden(node, state, inner)
        return state

    # ------------------------------------------------------------- loops

    def for_loop(self, stmt: Any, state: State) -> State:
        jumps = _Jumps()
        stmt.ran = []  # where control never comes, too
        self.jumps.append(jumps)
        end = self.block(stmt.body, self.expression(stmt.target, state))
        self.jumps.pop()
        always = meet([end, *jumps.continues, *jumps.breaks])
        if always is not None and state is not None:
            self.loops.append((stmt, always - state))
        return meet([self.block(stmt.orelse, state), *jumps.breaks])

    def while_loop(self, stmt: Any, state: State) -> State:
        jumps = _Jumps()
        yes, no = self.condition(stmt.test, state)
        self.jumps.append(jumps)
        self.block(stmt.body, yes)
        self.jumps.pop()
        return meet([self.block(stmt.orelse, no), *jumps.breaks])

    # ------------------------------------------------------------- expressions

    def condition(self, test: Any, state: State) -> tuple[State, State]:
        """The states where a test holds and where it does not."""
        if isinstance(test, gast.Constant):
            return (state, None) if test.value else (None, state)
        if isinstance(test, gast.UnaryOp) and isinstance(test.op, gast.Not):
            yes, no = self.condition(test.operand, state)
            return no, yes
        if isinstance(test, gast.BoolOp):
            return self.short_circuit(test, state)
        state = self.expression(test, state)
        return state, state

    def short_circuit(self, test: Any, state: State) -> tuple[State, State]:
        left: list[State] = []
        is_and = isinstance(test.op, gast.And)
        for value in test.values:
            yes, no = self.condition(value, state)
            state, out = (yes, no) if is_and else (no, yes)
            left.append(out)
        return (state, meet([*left])) if is_and else (meet([*left]), state)

    def expression(self, node: Any, state: State) -> State:
        match node:
            case gast.Name():
                if isinstance(node.ctx, gast.Store):
                    return self.bind(state, node.id)
                self.read(node, state)
                return state
            case gast.NamedExpr():
                return self.bind(self.expression(node.value, state), node.target.id)
            case gast.IfExp():
                yes, no = self.condition(node.test, state)
                return meet([self.expression(node.body, yes), self.expression(node.orelse, no)])
            case gast.BoolOp():
                return meet(self.short_circuit(node, state))
            case gast.Lambda():
                self.hidden(node.body, state, parameters(node))
                return self.children(node.args, state, skip=[a for a in gast.walk(node.args) if isinstance(a, gast.Name)])
        if isinstance(node, _COMPREHENSIONS):
            self.hidden(node, self.expression(node.generators[0].iter, state), frozenset())
            return state
        return self.children(node, state)

    def children(self, node: Any, state: State, skip: Sequence[Any] = ()) -> State:
        for child in gast.iter_child_nodes(node):
            if not any(child is s for s in skip):
                state = self.expression(child, state)
        return state

    def hidden(self, node: Any, state: State, inner: frozenset[str] | set[str]) -> None:
        """The reads in a nested function or a comprehension, which has names of its own."""
        if isinstance(node, _COMPREHENSIONS):
            stores = (n for g in node.generators for n in gast.walk(g.target) if isinstance(n, gast.Name))
            inner = {*inner, *(n.id for n in stores)}
        elif isinstance(node, _FUNCTIONS):
            bound = {name for name, _ in binders(node.body)} if isinstance(node, gast.FunctionDef) else set()
            inner = {*inner, *parameters(node), *bound}
        if isinstance(node, gast.Name) and isinstance(node.ctx, gast.Load) and node.id not in inner:
            self.read(node, state)
        for child in gast.iter_child_nodes(node):
            self.hidden(child, state, inner)

    def bind(self, state: State, name: str) -> State:
        return None if state is None else state | {name}

    def read(self, node: Any, state: State) -> None:
        if node.id in self.locals and state is not None and node.id not in state and not hasattr(node, "check"):
            self.unsure.append(node)
