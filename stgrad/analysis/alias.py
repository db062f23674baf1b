"""Which arrays may share memory: views, and classes of names that may be views of one another.

Classes do not know the order of statements: names of different classes never share memory (arguments that are written are copied on entry, or the
call is refused).
"""

from __future__ import annotations

from collections.abc import Mapping

from stgrad.analysis.manager import kept
from stgrad.ir import Assign, Block, Function, Pop, Push, Stmt, Type, Var, assigns, gathers, operand_vars, operands, walk
from stgrad.ir.ops import operation


def may_view(stmt: Assign) -> bool:
    """Whether the results of a statement may share memory with its arguments."""
    known = operation(stmt.op)
    return known.views is not None or not known.known or stmt.op == "runtime.matmul" and bool(stmt.kwargs)


def sources(stmt: Stmt, types: Mapping[str, Type], *, moved: bool = True) -> tuple[str, ...]:
    """Arrays whose memory the arrays that a statement binds may share. `moved`: also where they take it over, as sums that have nothing to add do."""
    if not isinstance(stmt, Assign) or not may_view(stmt):
        return ()
    known = operation(stmt.op)
    if stmt.op == "runtime.matmul":
        read = tuple(v for _, v in stmt.kwargs)
    elif known.views is None:
        read = operands(stmt)
    elif known.sharing == "moves" and not moved or known.kind == "element" and gathers(stmt.args[1], types):
        return ()  # arrays in an index make a new array
    else:
        read = stmt.args[known.views : known.views + 1]
    return tuple(n for operand in read for n in operand_vars(operand) if n in types and types[n].array)


def viewed(stmt: Stmt, types: Mapping[str, Type]) -> str | None:
    """The array whose memory the result of an assignment shares, or may share; None where it is fresh or a scalar."""
    if not isinstance(stmt, Assign) or not types[stmt.targets[0].name].array:
        return None
    return next(iter(sources(stmt, types, moved=False)), None)


def views_of(name: str, fn: Function) -> set[str]:
    """The name and all that may be views of it, or of its views."""
    derived = {name}
    while more := {t for s in walk(fn.body) if viewed(s, fn.types) in derived for t in assigns(s)} - derived:
        derived |= more
    return derived


class Classes:
    """Connected components of array names and stacks that may share memory."""

    def __init__(self, block: Block, types: Mapping[str, Type], *, moved: bool = False) -> None:
        self._parent: dict[str, str] = {}
        self._shared: set[str] = set()
        for stmt in walk(block):
            if isinstance(stmt, Assign):
                targets = [t.name for t in stmt.targets if t.name in types and types[t.name].array]
                for source in sources(stmt, types, moved=moved) if targets else ():
                    for target in targets:
                        self._unite(target, source)
            elif isinstance(stmt, Push) and isinstance(stmt.value, Var) and types[stmt.value.name].array:
                self._unite(stmt.stack, stmt.value.name)
            elif isinstance(stmt, Pop) and types[stmt.target.name].array:
                self._unite(stmt.stack, stmt.target.name)

    def find(self, name: str) -> str:
        root = name
        while self._parent.get(root, root) != root:
            root = self._parent[root]
        while self._parent.get(name, name) != root:
            self._parent[name], name = root, self._parent[name]
        return root

    def alone(self, name: str) -> bool:
        """Whether no other name shares an array's memory."""
        return name not in self._shared

    def own(self) -> OwnClasses:
        """A copy for a pass that makes arrays share memory as it rewrites."""
        found = OwnClasses((), {})
        found._parent, found._shared = dict(self._parent), set(self._shared)
        return found

    def _unite(self, a: str, b: str) -> None:
        self._shared |= {a, b}
        self._parent[self.find(a)] = self.find(b)

    def same(self, a: str, b: str) -> bool:
        return self.find(a) == self.find(b)


class OwnClasses(Classes):
    """Classes that grow."""

    def unite(self, a: str, b: str) -> None:
        """Let two names share memory from here on."""
        self._unite(a, b)


@kept
def sharing(fn: Function) -> Classes:
    """The classes of a program."""
    return Classes(fn.body, fn.types)


@kept
def aliases(fn: Function) -> Classes:
    """The classes of a program whose memory is placed: what an operation may take over counts, too."""
    return Classes(fn.body, fn.types, moved=True)
