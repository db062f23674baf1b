"""Programs and what they call of stgrad's runtime, as the text of one module: each function once, under a name of its own.

What a program needs is found from its text: functions that it calls, what those call, and what teaches Numba to compile them. Statements are copied as they
stand, with other names only where two modules use one, or where the program has it for something else.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from stgrad import errors, runtime
from stgrad.names import RESERVED, Names
from stgrad.standalone.parts import Imported, Part, Source, take_apart

RUNTIME = "stgrad.runtime"
ASKED = {"NotANumberError": "check_nan", "MemoryBudgetError": "memory"}  # the options whose programs raise what only stgrad has
UNIT = f"{RUNTIME}.units", "unit"
PACKAGES = ("numba", "numpy", "scipy", "llvmlite")
COMPILED = "@njit(**OPTIONS)\n"
NAMED = re.compile(r"\bruntime\.(\w+)")
Definition = tuple[str, str]  # module and name; of what is imported from elsewhere, the statement and its name


@cache
def source_of(module: str) -> Source:
    """A module of the runtime, or of this package."""
    path = Path(runtime.__file__).parents[1].joinpath(*module.split(".")[1:]).with_suffix(".py")
    if not path.is_file():
        path = path.with_suffix("") / "__init__.py"
    return take_apart(module, path.read_text(encoding="utf-8"))


class Assembly:
    """The statements that some programs need, collected; then their text."""

    def __init__(self, public: Source, programs: Iterable[Source]) -> None:
        """
        Args:
            public: functions whose names stay what they are; they call the programs.
            programs: texts of the printer, to be compiled.
        """
        self._public = public
        self._programs = [public, *programs]
        self._sources = {source.name: source for source in self._programs}
        self._needed: dict[tuple[str, int], Part] = {}  # by module and number
        self._asked: dict[Definition, None] = {}
        self._imports: dict[str, Imported] = {}
        for source in self._programs:
            self._whole(source)
        self._flat = self._names()

    # ------------------------------------------------------------- what is needed

    def _source(self, module: str) -> Source:
        if module not in self._sources:
            self._sources[module] = source_of(module)
        return self._sources[module]

    def _whole(self, source: Source) -> None:
        for part in source.parts:
            self._take(source, part)
        for found in [f for group in source.imports.values() for f in group]:
            if found.module == RUNTIME and found.name is not None and _is_module(found):  # imported for what it teaches Numba
                self._whole(self._source(f"{RUNTIME}.{found.name}"))

    def _take(self, source: Source, part: Part) -> None:
        """A statement, and all that it needs; in a loop, as chains of calls are long."""
        todo = [(source, part)]
        while todo:
            source, part = todo.pop()
            key = source.name, source.parts.index(part)
            if key in self._needed:
                continue
            self._needed[key] = part
            for definition in self._read(source, part):
                if definition not in self._asked:
                    self._asked[definition] = None
                    todo += self._defining(definition)

    def _defining(self, definition: Definition) -> list[tuple[Source, Part]]:
        module, name = definition
        if module in self._imports:
            return []
        source = self._source(module)
        return [(source, part) for part in source.parts if name in part.binds or part.subject == name]

    def _read(self, source: Source, part: Part) -> Iterator[Definition]:
        for node in part.reads:
            yield from self._meant(source, node.id)
        for _, _, definition in self._attributes(source, part):
            if definition != UNIT:
                yield definition
        for text in _texts(part.node):
            for name in NAMED.findall(str(text.value)):
                yield self._exported(name)

    def _meant(self, source: Source, name: str) -> Iterator[Definition]:
        """What a name of module scope means; nothing for a builtin and for a module of the runtime, whose attributes are asked for."""
        if any(name in part.binds for part in source.parts):
            yield source.name, name
            return
        for found in source.imports.get(name, []):
            if not found.module.startswith("stgrad"):
                self._imports[found.text] = found
                yield found.text, name
            elif not _is_module(found):
                yield self._ours(found.module, str(found.name))

    def _ours(self, module: str, name: str) -> Definition:
        if not module.startswith((RUNTIME, __name__.rpartition(".")[0])):
            raise errors.UnsupportedCallerError(
                f"a module without stgrad cannot have `{name}`", reason=f"it is part of {module}", hint=f"leave `{ASKED.get(name, 'check_nan')}` out"
            )
        return self._exported(name) if module == RUNTIME else (module, name)

    def _exported(self, name: str) -> Definition:
        """Where a function of the runtime is defined."""
        if name in ("kept", "call_kept"):
            raise errors.UnsupportedCallerError(
                "a module without stgrad cannot call a function that stgrad cannot read",
                reason="the program knows it by a key alone (register_gradient, custom_gradient of foreign functions)",
                hint="write it in Python or NumPy",
            )
        found = self._source(RUNTIME).imports[name][0]
        return found.module, str(found.name)

    def _attributes(self, source: Source, part: Part) -> Iterator[tuple[ast.Attribute, str, Definition]]:
        """Attributes of modules of the runtime: `runtime.exp`, `kernels.exp`."""
        bases = {id(node) for node in part.reads}
        for node in ast.walk(part.node):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and id(node.value) in bases:
                for found in source.imports.get(node.value.id, []):
                    if found.module.startswith("stgrad") and _is_module(found):
                        yield node, node.attr, self._attribute(found, node.attr)

    def _attribute(self, found: Imported, name: str) -> Definition:
        whole = f"{found.module}.{found.name}"
        return UNIT if (whole, name) == (RUNTIME, "unit") else self._exported(name) if whole == RUNTIME else (whole, name)

    # ------------------------------------------------------------- names

    def _names(self) -> dict[Definition, str]:
        """A name in the new module for each definition and import: its own, unless that is taken."""
        programs = {source.name for source in self._programs}
        words = {word for _, part in self._ordered() for word in _words(part.node)}
        variables = {word for source in self._programs for part in source.parts for word in _words(part.node, part.reads)}
        fixed = {name for part in self._public.parts for name in part.binds} | {i.module.split(".")[0] for i in self._imports.values() if i.dotted}
        fresh, used = Names([*words, *fixed]), {*fixed, "OPTIONS", "njit"}
        flat: dict[Definition, str] = {}
        defined = {(source.name, name): None for source, part in self._ordered() for name in sorted(part.binds)}
        for module, name in [*(d for d in self._asked if d[0] in self._imports), *defined]:
            foreign = module in self._imports
            if module == self._public.name or foreign and self._imports[module].dotted:
                flat[module, name] = name
                continue
            blocked = used if foreign else used | RESERVED if module in programs else used | RESERVED | variables
            own = f"_{name.lstrip('_')}" if module in programs else name
            wish = own if module in programs or foreign else f"{module.rpartition('.')[2]}_{name.lstrip('_')}"
            fresh.reserve(used)
            flat[module, name] = own if own not in blocked else fresh.fresh(wish)
            used.add(flat[module, name])
        return flat

    # ------------------------------------------------------------- text

    def imports(self) -> list[str]:
        """The import statements, sorted: the standard library, then packages."""
        found = {self._imports[m].under(name) for (m, _), name in self._flat.items() if m in self._imports}
        found |= {i.text for i in self._imports.values() if i.dotted} | {"from numba import njit"}
        first, then = ([t for t in sorted(found) if (t.split()[1].split(".")[0] in PACKAGES) is wish] for wish in (False, True))
        return [*_merged(first), *[""] * bool(first), *_merged(then)]

    def public_parts(self) -> str:
        """The functions that users call."""
        return _spaced((part, self._text(self._public, part)) for part in self._public.parts)

    def program_parts(self) -> str:
        """The programs, compiled by Numba."""
        return _spaced((part, self._text(source, part)) for source in self._programs[1:] for part in source.parts)

    def runtime_parts(self) -> str:
        """The statements of the runtime."""
        return _spaced((part, self._text(source, part)) for source, part in self._ordered() if source not in self._programs)

    def _ordered(self) -> Iterator[tuple[Source, Part]]:
        """Statements in order: modules behind those that they import."""
        done: dict[str, None] = {}

        def visit(module: str) -> None:
            if module in done or module not in self._sources or module == RUNTIME:
                return
            done[module] = None
            for group in self._sources[module].imports.values():
                for found in group:
                    visit(f"{found.module}.{found.name}" if _is_module(found) else found.module)
            order.append(module)

        order: list[str] = []
        for module in sorted(self._sources):
            visit(module)
        for module in order:
            yield from ((self._sources[module], self._needed[key]) for key in sorted(self._needed) if key[0] == module)

    def _text(self, source: Source, part: Part) -> str:
        """A statement with its new names."""
        start = min([part.node.lineno, *(d.lineno for d in getattr(part.node, "decorator_list", []))])
        begin, end = source.offset(start, 0), source.offset(int(part.node.end_lineno or 0), int(part.node.end_col_offset or 0))
        text = source.text[begin:end]
        for first, last, new in sorted(self._changes(source, part, begin), reverse=True):
            text = text[:first] + new + text[last:]
        program = source in self._programs and source is not self._public
        return COMPILED + text if program and isinstance(part.node, ast.FunctionDef) and not part.node.decorator_list else text

    def _changes(self, source: Source, part: Part, begin: int) -> Iterator[tuple[int, int, str]]:
        def span(node: ast.expr, new: str) -> tuple[int, int, str]:
            return source.offset(node.lineno, node.col_offset) - begin, source.offset(int(node.end_lineno or 0), int(node.end_col_offset or 0)) - begin, new

        for node in part.reads:
            for definition in self._meant(source, node.id):
                if self._flat[definition] != node.id:
                    yield span(node, self._flat[definition])
        for attribute, _, definition in self._attributes(source, part):
            yield span(attribute, "njit(**OPTIONS)" if definition == UNIT else self._flat[definition])
        for constant in _texts(part.node):
            new = NAMED.sub(lambda match: self._flat[self._exported(match[1])], str(constant.value))
            if new != constant.value:
                yield span(constant, repr(new))
        if isinstance(part.node, (ast.FunctionDef, ast.ClassDef)):
            yield from self._title(source, part.node, begin)

    def _title(self, source: Source, node: ast.FunctionDef | ast.ClassDef, begin: int) -> Iterator[tuple[int, int, str]]:
        at = source.offset(node.lineno, node.col_offset) + len("def " if isinstance(node, ast.FunctionDef) else "class ")
        new = self._flat.get((source.name, node.name), node.name)
        if new != node.name:
            yield at - begin, at - begin + len(node.name), new


def _words(node: ast.AST, without: Iterable[ast.Name] = ()) -> Iterator[str]:
    """The names in a statement, of variables and of parameters."""
    left_out = {id(name) for name in without}
    for inner in ast.walk(node):
        if isinstance(inner, (ast.Name, ast.arg)) and id(inner) not in left_out:
            yield inner.id if isinstance(inner, ast.Name) else inner.arg


def _is_module(found: Imported) -> bool:
    """Whether an import from stgrad binds a module of the runtime."""
    if found.name is None or not found.module.startswith("stgrad"):
        return False
    folder = Path(runtime.__file__).parents[1].joinpath(*found.module.split(".")[1:])
    return (folder / f"{found.name}.py").is_file() or (folder / found.name).is_dir()


def _merged(statements: list[str]) -> list[str]:
    """Import statements, those from one module in one line.

    >>> _merged(["from a import b", "from a import c as d", "import e"])
    ['import e', 'from a import b, c as d']
    """
    groups: dict[str, list[str]] = {}
    for statement in statements:
        head, _, names = statement.partition(" import ")
        groups.setdefault(head, []).append(names)
    plain = [head for head in groups if head.startswith("import ")]
    return [*plain, *(f"{head} import {', '.join(names)}" for head, names in groups.items() if head not in plain)]


def _spaced(parts: Iterable[tuple[Part, str]]) -> str:
    """Statements with two lines between; with none between assignments, and between what stands alone."""
    text, last = "", True
    for part, written in parts:
        large = isinstance(part.node, (ast.FunctionDef, ast.ClassDef))
        text += ("\n\n\n" if large or last else "\n") * bool(text) + written
        last = large
    return text


def _texts(node: ast.AST) -> Iterator[ast.Constant]:
    """The first arguments of calls of `call_python`, which are code."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and ast.unparse(inner.func).endswith("call_python") and inner.args:
            first = inner.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first
