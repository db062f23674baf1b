"""`Function` -> Python text that reads like hand-written code, runs, and means exactly what the IR means.

The stages are `fold` (temporaries back into the expressions that read them), `statements` and `expressions` (IR ->
`ast`) and `unparse` (`ast` -> text). The same function always gives the same text.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stgrad import ir
from stgrad.names import RESERVED, is_counted, plain
from stgrad.printer.expressions import Expressions, names, places
from stgrad.printer.fold import fold
from stgrad.printer.statements import Statements
from stgrad.printer.unparse import lines, text

_VERSION = re.compile(r"([^\W_]+)_(\d+)$")
_TEMPORARY = re.compile(r"_t(_\d+)?$")


def to_source(fn: ir.Function, *, nest: bool = True, units: Sequence[ir.Function] = ()) -> str:
    """The text of a module with the imports that the function needs, and the function.

    Names in `fn.constants` stay free: the module that runs the text must define them.

    Args:
        fn: The function.
        nest: Whether to put temporaries back into expressions; without, a line for each statement of the IR.
        units: Functions that it calls, to stand before it.

    >>> x, t, y = ir.Var("x"), ir.Var("_t"), ir.Var("y")
    >>> body = (ir.Assign((t,), "np.multiply", (x, x)), ir.Assign((y,), "math.sin", (t,)))
    >>> print(to_source(ir.Function("f", (x,), body, y)))
    import math
    <BLANKLINE>
    <BLANKLINE>
    def f(x):
        y = math.sin(x * x)
        return y
    <BLANKLINE>
    """
    return "".join(f"{line.text}\n" for line in to_lines(fn, nest=nest, units=units))


@dataclass(frozen=True)
class Line:
    """A line of a printed program: the places of the statements that it was printed from, the one that it writes first; and the function that it begins."""

    text: str
    places: tuple[ir.Loc, ...] = ()
    begins: str = ""


def to_lines(fn: ir.Function, *, nest: bool = True, units: Sequence[ir.Function] = ()) -> list[Line]:
    """The lines of `to_source`, each with what it comes from."""
    written = [_definition(unit, nest) for unit in units]
    main = _definition(fn, nest)
    imports = _imports({m for unit in (*written, main) for m in unit.modules} | ({"runtime"} if units else set()))
    out = [Line(line) for line in (*imports, *["", ""] * bool(imports))]
    for unit in written:
        out += [Line("@runtime.unit"), *unit.lines(), Line(""), Line("")]
    return out + main.lines()


@dataclass(frozen=True)
class _Definition:
    """A function, the modules that it needs, and the statements that its nodes come from."""

    tree: ast.FunctionDef
    modules: set[str]
    made: Mapping[ast.stmt, ir.Stmt]

    def lines(self) -> list[Line]:
        written, begun = lines(self.tree)
        out = []
        for number, line in enumerate(written.split("\n")):
            node = begun.get(number)
            stmt = None if node is None else self.made.get(node)
            out.append(Line(line, () if stmt is None else tuple(_places(stmt)), "" if number else self.tree.name))
        return out


def _places(stmt: ir.Stmt) -> dict[ir.Loc, None]:
    """Where a statement comes from, and what was put into it."""
    own = {} if stmt.loc is None else {stmt.loc: None}
    return own | dict.fromkeys(loc for operand in ir.operands(stmt) for loc in places(operand))


def _definition(fn: ir.Function, nest: bool) -> _Definition:
    body, result = fold(fn.body, fn.result, fn.types) if nest else (fn.body, fn.result)
    spell = _spelling(fn, body, result)
    writer = Statements(fn.types, spell)
    statements = writer.plain_block(body)
    definition = ast.FunctionDef(
        fn.name,
        _arguments(fn, writer.write),
        [*_docstring(fn.doc), *statements, ast.Return(writer.write.expr(result))],
        [],
    )
    return _Definition(definition, writer.write.modules, writer.made)


def print_block(block: ir.Block, types: Mapping[str, ir.Type] | None = None) -> str:
    """The text of a block as it stands: a line for each statement."""
    return text(ast.Module(Statements(types or {}, {}).block(block), []))


def _docstring(doc: str) -> list[ast.stmt]:
    return [ast.Expr(ast.Constant(doc))] if doc else []


def _arguments(fn: ir.Function, write: Expressions) -> ast.arguments:
    defaults = [write.constant(fn.defaults[param.name]) for param in fn.params if param.name in fn.defaults]
    params = [ast.arg(write.name(param.name)) for param in fn.params]
    return ast.arguments([], params, None, [], [], None, defaults)


def _imports(modules: Iterable[str]) -> list[str]:
    """Import statements, the standard library first.

    >>> _imports({"np.linalg", "np", "math", "scipy.special", "runtime"})[-3:]
    ['', 'from stgrad import runtime', 'from stgrad.runtime import special  # lets Numba compile scipy.special']
    """
    groups: dict[int, set[str]] = {0: set(), 1: set(), 2: set()}
    for module in modules:
        first = module.split(".")[0]
        if first == "np":
            groups[1].add("import numpy as np")
        elif first == "runtime":
            groups[2].add("from stgrad import runtime")
        else:
            groups[0 if first in ("math", "cmath", "operator") else 1].add(f"import {module}")
        if module == "scipy.special":
            groups[2].add("from stgrad.runtime import special  # lets Numba compile scipy.special")
        if module == "scipy.linalg":
            groups[2].add("from stgrad.runtime import triangular  # lets Numba compile scipy.linalg.solve_triangular")
    lines: list[str] = []
    for group in groups.values():
        if group:
            lines += ["", *sorted(group)] if lines else sorted(group)
    return lines


def _spelling(fn: ir.Function, body: ir.Block, result: Any) -> dict[str, str]:
    """Names without the leading underscore for the compiler's own names that are still there, in order of appearance.

    `_t`, `_t_2`... become `t`, `t2`, `t3`...; `_i` becomes `i`, or `i_2` where there is an `i`.
    """
    order: dict[str, None] = dict.fromkeys(param.name for param in fn.params)
    for stmt in ir.walk(body):
        order.update(dict.fromkeys(ir.assigns(stmt)))
        order.update(dict.fromkeys(name for operand in ir.operands(stmt) for name in names(operand)))
        if isinstance(stmt, (ir.Stack, ir.Push, ir.Pop)):
            order[stmt.name if isinstance(stmt, ir.Stack) else stmt.stack] = None
    order.update(dict.fromkeys(names(result)))
    kept = {param.name for param in fn.params} | set(fn.constants)
    own = [name for name in order if (name.startswith("_") or is_counted(name)) and name not in kept]
    taken = ({*order, *fn.types, *kept} - set(own)) | RESERVED
    spell: dict[str, str] = {}
    count = 0
    for name in own:
        if not _TEMPORARY.match(name):
            spell[name] = _free(_plain(name), taken)
        while name not in spell:
            count += 1
            wish = "t" if count == 1 else f"t{count}"
            if wish not in taken:
                spell[name] = wish
        taken.add(spell[name])
    threads = any(isinstance(stmt, ir.For) and stmt.parallel for stmt in ir.walk(body))
    if threads:
        bound = Counter([*(p.name for p in fn.params), *(name for stmt in ir.walk(body) for name in ir.assigns(stmt))])
        often = {spell.get(name, name) for name, times in bound.items() if times > 1}
        spell |= _apart_from_versions({name: spell.get(name, name) for name in order if name not in kept}, often, taken)
    return spell


def _apart_from_versions(shown: Mapping[str, str], often: set[str], taken: set[str]) -> dict[str, str]:
    """Other names for `w_2` where `w` is bound more than once: Numba calls a version of `w` so in loops on threads, and refuses two of one name."""
    found: dict[str, str] = {}
    for name, now in shown.items():
        version = _VERSION.match(now)
        if version and version[1] in often:
            found[name] = _free(f"{version[1]}_v{version[2]}", taken)
            taken.add(found[name])
    return found


def _plain(name: str) -> str:
    """A name without the underscores that mark it as invented, where what is left is one."""
    found = plain(name)
    return found if found.isidentifier() else "i" if not found else f"v{found}"


def _free(wish: str, taken: set[str]) -> str:
    name, count = wish, 1
    while name in taken:
        count += 1
        name = f"{wish}_{count}"
    return name
