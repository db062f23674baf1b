"""The source of a module, taken apart into its top-level statements, each with what it binds, teaches Numba, and reads.

Contract: a name that is read from module scope is found whatever stands around it (parameters, local variables, comprehensions and nested functions hide
names as in Python), so that a statement can be moved to another module under other names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

Scope = frozenset[str]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, eq=False)
class Part:
    """A top-level statement.

    `subject` is what it is about where it binds no name that others read: `f` of `@overload(f)` and of `register(f, ...)`,
    `TABLE` of `for name in TABLE: register(name)`.
    """

    node: ast.stmt
    binds: frozenset[str]
    subject: str | None
    reads: tuple[ast.Name, ...]


@dataclass(frozen=True)
class Imported:
    """What an import binds a name to: a module, or an attribute of one."""

    module: str
    name: str | None
    alias: str
    dotted: bool = False  # `import a.b`, which binds `a`

    @property
    def text(self) -> str:
        return self.under(self.alias)

    def under(self, alias: str) -> str:
        """The statement, for another name."""
        if self.dotted:
            return f"import {self.module}"
        if self.name is None:
            return f"import {self.module}" if alias == self.module else f"import {self.module} as {alias}"
        return f"from {self.module} import {self.name}" + ("" if alias == self.name else f" as {alias}")


@dataclass(frozen=True, eq=False)
class Source:
    """A module: its text, its statements in order, and what its imports bind."""

    name: str
    text: str
    parts: tuple[Part, ...]
    imports: dict[str, list[Imported]] = field(default_factory=dict)

    def offset(self, line: int, column: int) -> int:
        """Where a place of the syntax tree is in the text: columns count bytes."""
        lines = self.text.splitlines(keepends=True)
        return sum(map(len, lines[: line - 1])) + len(lines[line - 1].encode()[:column].decode())


def take_apart(name: str, text: str) -> Source:
    """The source of a module called `name`."""
    parts: list[Part] = []
    imports: dict[str, list[Imported]] = {}
    for number, node in enumerate(ast.parse(text).body):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for found in _imported(node):
                imports.setdefault(found.module.split(".")[0] if found.dotted else found.alias, []).append(found)
        elif not _is_about_the_module(node, number):
            parts.append(Part(node, frozenset(_bound(node)), _subject(node), tuple(global_names(node))))
    return Source(name, text, tuple(parts), imports)


def _is_about_the_module(node: ast.stmt, number: int) -> bool:
    docstring = not number and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return docstring or isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets)


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[Imported]:
    for alias in node.names:
        if isinstance(node, ast.Import):
            yield Imported(alias.name, None, alias.asname or alias.name, dotted=alias.asname is None and "." in alias.name)
        elif node.module != "__future__":
            yield Imported(str(node.module), alias.name, alias.asname or alias.name)


def _bound(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from (n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name))


def _subject(node: ast.stmt) -> str | None:
    """The name that a registration is for: the first argument of a decorator, or of a call that stands alone; the table that a loop runs over."""
    if isinstance(node, ast.For):
        return next((n.id for n in ast.walk(node.iter) if isinstance(n, ast.Name)), None)
    calls: list[ast.expr] = node.decorator_list if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else [node.value] if isinstance(node, ast.Expr) else []
    for call in calls:
        while isinstance(call, ast.Call) and isinstance(call.func, ast.Call):
            call = call.func
        if isinstance(call, ast.Call) and call.args and isinstance(call.args[0], ast.Name):
            return call.args[0].id
    return None


# --------------------------------------------------------------------------- names of module scope


def global_names(node: ast.AST, hidden: Scope = frozenset()) -> Iterator[ast.Name]:
    """Each place in a statement where a name of module scope stands.

    >>> [n.id for n in global_names(ast.parse("def f(x): return g(x, [y for y in z])"))]
    ['g', 'z']
    """
    if isinstance(node, ast.Name):
        if node.id not in hidden:
            yield node
    elif isinstance(node, FUNCTIONS):
        yield from _of_function(node, hidden)
    elif isinstance(node, ast.ClassDef):
        yield from _of_class(node, hidden)
    else:
        if isinstance(node, COMPREHENSIONS):
            hidden = hidden | {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
        for child in ast.iter_child_nodes(node):
            yield from global_names(child, hidden)


def _of_function(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, hidden: Scope) -> Iterator[ast.Name]:
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    outside = [child for child in ast.iter_child_nodes(node) if child not in body]
    for child in outside:  # decorators, defaults, annotations
        yield from global_names(child, hidden)
    inner = hidden | local_names(node)
    for statement in body:
        yield from global_names(statement, inner)


def _of_class(node: ast.ClassDef, hidden: Scope) -> Iterator[ast.Name]:
    own = {name for statement in node.body for name in _bound(statement)}
    for child in ast.iter_child_nodes(node):
        method = isinstance(child, FUNCTIONS)  # does not see the names of its class
        yield from global_names(child, hidden if method or child not in node.body else hidden | own)


def local_names(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Scope:
    """The parameters and variables of a function."""
    arguments = node.args
    found = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg) if a is not None}
    todo: list[ast.AST] = [] if isinstance(node, ast.Lambda) else list(node.body)
    while todo:
        inner = todo.pop()
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(inner.name)
        elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            found.add(inner.id)
        elif isinstance(inner, (ast.Import, ast.ImportFrom)):
            found |= {(alias.asname or alias.name).split(".")[0] for alias in inner.names}
        elif isinstance(inner, ast.ExceptHandler) and inner.name:
            found.add(inner.name)
        if not isinstance(inner, (*FUNCTIONS, *COMPREHENSIONS, ast.ClassDef)):
            todo += ast.iter_child_nodes(inner)
    return frozenset(found)
