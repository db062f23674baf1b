"""From a callable to its syntax tree: `load(fn)` finds the source, the tree and the names a function sees.

Contract: the tree is that of the code object which would run, or a `SourceNotFoundError` is raised; a file edited after
its import is refused, as the tree would be that of another program.
What `exec` has made is read from its instructions. Decorators are not part of the tree: `fn` is what
remains after they ran. Free names are resolved live, at each request, as Python does.

`unwrap` strips what does not change the meaning of a call: Numba dispatchers, `functools.partial`, bound methods,
`staticmethod`. A `functools.wraps` wrapper is a program of its own and is loaded as it is.
"""

from __future__ import annotations
import __future__

import ast
import functools
import inspect
import linecache
import operator
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import gast  # type: ignore[import-untyped,unused-ignore]

from stgrad import decompiled, lookups
from stgrad.errors import InternalError, SourceNotFoundError, UndefinedNameError, UnsupportedSyntaxError
from stgrad.ir import Loc

AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Span = tuple[tuple[int, int], tuple[int, int]]  # (line, byte column) of the first and past the last character


@dataclass(frozen=True)
class Scope:
    """A function, and what its free names stand for."""

    function: types.FunctionType = field(repr=False)

    def resolve(self, name: str) -> Any:
        """The present value of a free name: of the closure, the module or the builtins.

        Raises:
            UndefinedNameError: there is no such name, or it has no value yet.
        """
        if name in lookups.names_of_its_own(self.function.__code__):
            raise InternalError(f"`{name}` of `{self.function.__name__}` is looked for outside of it")
        fixed = lookups.ours(self.function) and name not in self.function.__code__.co_freevars
        found = (lookups.read if fixed else lookups.look)("name", self.function, name)
        if found is not lookups.ABSENT:
            return found
        where, cause = self.function.__name__, NameError(f"name '{name}' is not defined")
        if name in self.function.__code__.co_freevars:
            raise UndefinedNameError(f"`{name}` has no value yet in the function around `{where}`") from cause
        reason = "it is neither local nor in the closure, the module or the builtins"
        raise UndefinedNameError(f"`{name}` is not defined in `{where}`", reason=reason) from cause


@dataclass(frozen=True)
class Source(Scope):
    """A function, its tree and what it sees.

    `tree` is shared by all callers: copy it before a change. `kind` is 'function' or 'lambda'; a lambda has the tree of
    a function that returns its body. `lines` are those of the whole file.
    """

    file: str
    first_line: int
    name: str
    kind: str
    tree: gast.FunctionDef = field(repr=False)
    lines: tuple[str, ...] = field(repr=False)

    @property
    def filename(self) -> str:
        return self.file

    @property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.function, follow_wrapped=False)

    def loc(self, node: Any) -> Loc:
        """Where a node of the tree stands; columns count characters."""
        line = getattr(node, "lineno", None) or self.first_line
        text = self.lines[line - 1].rstrip("\n") if line <= len(self.lines) else ""
        raw = text.encode()
        start = getattr(node, "col_offset", None) or 0
        ends_here = getattr(node, "end_lineno", line) == line and getattr(node, "end_col_offset", None) is not None
        end = node.end_col_offset if ends_here else len(raw)
        return Loc(self.file, line, len(raw[:start].decode()), len(raw[:end].decode()), text, self.name)


@dataclass(frozen=True)
class _Parsed:
    file: str
    tree: gast.FunctionDef
    kind: str
    lines: tuple[str, ...]


def load(fn: Callable[..., Any]) -> Source:
    """Find the source of a Python function.

    Raises:
        SourceNotFoundError: it is no Python function, or its text is gone.
        UnsupportedSyntaxError: it is asynchronous.
    """
    if not isinstance(fn, types.FunctionType):
        raise _not_python(fn)
    code = fn.__code__ if lookups.ours(fn) else lookups.look("attribute", fn, "__code__")
    parsed = _parsed(fn, code)
    return Source(fn, parsed.file, parsed.tree.lineno, parsed.tree.name, parsed.kind, parsed.tree, parsed.lines)


def lines_of(file: str, around: dict[str, Any]) -> tuple[str, ...]:
    """The lines of a file, by the loader of the module whose names are `around` where there is one; what is frozen into Python has a file, too."""
    if file.startswith("<frozen "):
        file = around.get("__file__") or file
    return tuple(linecache.getlines(file, around))


def _parsed(fn: types.FunctionType, code: types.CodeType) -> _Parsed:
    """The tree of a function; a file that was read before is read again where it has changed and the code with it."""
    lines = lines_of(code.co_filename, fn.__globals__)
    if not lines:
        return _parsed_of(_timed_cells(code.co_filename), code) or _parsed_of(_shipped(), code) or _parsed_of_instructions(fn, code)
    try:
        return _parse(code, code.co_filename, lines)
    except SourceNotFoundError:
        linecache.checkcache(code.co_filename)
        new = lines_of(code.co_filename, fn.__globals__)
        if new == lines:
            raise
        return _parse(code, code.co_filename, new)


def _shipped() -> Iterator[tuple[str, tuple[str, ...]]]:
    """The texts that came with what was unpickled."""
    yield from ((file, lines) for (_, lines), file in tuple(SHIPPED.items()))


def _timed_cells(file: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The texts below `%%time`, which IPython compiles as if they had none, the last one first."""
    shell: Any = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules and file.startswith("<timed ") else None
    for number, cell in reversed(list(enumerate(shell.history_manager.input_hist_raw if shell else ()))):
        head, _, body = cell.lstrip().partition("\n")
        if head.startswith("%%time"):
            yield f"<timed cell {number}>", tuple(shell.transform_cell(body).splitlines(keepends=True))


def _parsed_of(texts: Iterable[tuple[str, tuple[str, ...]]], code: types.CodeType) -> _Parsed | None:
    """The tree of a function in the first of some texts that compiles to the same code."""
    for file, lines in texts:
        try:
            return _parse(code, file, lines)
        except SourceNotFoundError:
            continue
    return None


def _parsed_of_instructions(fn: types.FunctionType, code: types.CodeType) -> _Parsed:
    """The tree of a function of which nobody kept the text: in the one that its instructions tell, where they are simple."""
    text = decompiled.text_of(code)
    if text is None:
        raise _no_text(fn)
    lines = tuple(text.splitlines(keepends=True))
    (node,) = _module(lines, code.co_filename).functions
    if isinstance(node, ast.Lambda):
        return _Parsed(code.co_filename, _as_function(node, "fn"), "lambda", lines)
    return _Parsed(code.co_filename, gast.ast_to_gast(node), "function", lines)


SHIPPED: dict[tuple[str, tuple[str, ...]], str] = {}  # texts that came with what was unpickled (`stgrad.shipping`), and the names of their files here


@dataclass(frozen=True)
class Unwrapped:
    """`fn(*args, **kwargs)` is `function(*self.args, *args, **{**self.kwargs, **kwargs})`."""

    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)


def unwrap(fn: Any, look: Callable[[str, Any, Any], Any] = lookups.look) -> Unwrapped:
    """Strip wrappers that do not change the meaning of a call; `look` finds what they hold.

    >>> import math
    >>> unwrap(functools.partial(functools.partial(math.pow, 2.0), y=3.0))
    Unwrapped(function=<built-in function pow>, args=(2.0,), kwargs={'y': 3.0})
    """
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    while True:
        if isinstance(fn, functools.partial):
            args, kwargs = (*look("attribute", fn, "args"), *args), {**look("attribute", fn, "keywords"), **kwargs}
            fn = look("attribute", fn, "func")
        elif isinstance(fn, types.MethodType):
            fn, args = fn.__func__, (look("attribute", fn, "__self__"), *args)
        elif isinstance(fn, staticmethod):
            fn = fn.__func__
        elif is_dispatcher(fn):
            fn = look("attribute", fn, "py_func")
        elif isinstance(fn, functools._lru_cache_wrapper):
            fn = look("attribute", fn, "__wrapped__")
        elif _is_callable_object(fn):
            fn, args = look("raw", look("class", fn, None), "__call__"), (fn, *args)
        else:
            return Unwrapped(fn, args, kwargs)


def is_dispatcher(fn: Any) -> bool:
    """Whether it is a function under `numba.njit`; not `numba.vectorize`, which changes what a call means."""
    return type(fn).__module__.startswith("numba.") and isinstance(getattr(fn, "py_func", None), types.FunctionType)


def _is_callable_object(fn: Any) -> bool:
    return (
        not isinstance(fn, (types.FunctionType, type))
        and not hasattr(type(fn), "__signature__")
        and isinstance(getattr(type(fn), "__call__", None), types.FunctionType)  # noqa: B004
    )


# --------------------------------------------------------------------------- finding the tree


@functools.lru_cache(maxsize=4096)
def _parse(code: types.CodeType, file: str, lines: tuple[str, ...]) -> _Parsed:
    module = _module(lines, file)
    found = [node for node in module.functions if _first_line(node) == code.co_firstlineno and _name(node) == code.co_name]
    node = _choose(code, found)
    if node is None or not (_same_program(code, node, module.codes) or _same_program(code, node, _alone(lines, file, code.co_flags & _FUTURE))):
        raise _changed(code)
    if isinstance(node, ast.AsyncFunctionDef):
        raise UnsupportedSyntaxError(
            f"`{node.name}` is an async function", Loc(file, node.lineno, 0, 0, lines[node.lineno - 1]), hint="write `def` for `async def`"
        )
    if isinstance(node, ast.Lambda):
        return _Parsed(file, _as_function(node, module.names.get(node, "fn")), "lambda", lines)
    tree = gast.ast_to_gast(node)
    tree.decorator_list = []
    return _Parsed(file, tree, "function", lines)


@dataclass(frozen=True)
class _Module:
    functions: tuple[AnyFunction, ...]
    names: dict[ast.Lambda, str]  # of lambdas that are assigned to a name
    codes: tuple[types.CodeType, ...]


_DUNDER = re.compile(r"\b__\w+")
_FUTURE = functools.reduce(operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names))


@functools.lru_cache(maxsize=128)
def _tree(lines: tuple[str, ...], file: str) -> ast.Module:
    try:
        tree = ast.parse("".join(lines), file)
    except SyntaxError as error:
        raise SourceNotFoundError(f"the text of {file} cannot be parsed: {error.msg} (line {error.lineno})") from None
    if any(map(_is_private, _DUNDER.findall("".join(lines)))):
        _Private().visit(tree)
    return tree


@functools.lru_cache(maxsize=128)
def _alone(lines: tuple[str, ...], file: str, flags: int) -> tuple[types.CodeType, ...]:
    """The code that the statements of a text have by themselves, as notebooks compile those of a cell: a call of `np.sum` is another one beside its import."""
    units = [ast.Module([statement], []) for statement in _tree(lines, file).body]
    return tuple(code for unit in units for code in _codes(compile(unit, file, "exec", flags, dont_inherit=True)))


@functools.lru_cache(maxsize=128)
def _module(lines: tuple[str, ...], file: str) -> _Module:
    tree = _tree(lines, file)
    nodes = list(ast.walk(tree))
    functions = tuple(n for n in nodes if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)))
    assigned = [(n.value, n.targets[0]) for n in nodes if isinstance(n, ast.Assign)]
    names = {value: target.id for value, target in assigned if isinstance(value, ast.Lambda) and isinstance(target, ast.Name)}
    return _Module(functions, names, tuple(_codes(compile(tree, file, "exec", dont_inherit=True))))


def _is_private(name: str) -> bool:
    return name[:2] == "__" and name[-2:] != "__"


class _Private(ast.NodeVisitor):
    """Attributes with two underscores under the name that they have in a class: `self.__k` is `self._Model__k`."""

    owner = ""

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        outer = self.owner
        for part in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(part)
        self.owner = node.name.lstrip("_")
        for stmt in node.body:
            self.visit(stmt)
        self.owner = outer

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.generic_visit(node)
        if self.owner and _is_private(node.attr):
            node.attr = f"_{self.owner}{node.attr}"


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _codes(const)


def _first_line(node: AnyFunction) -> int:
    """The first line as the code object has it: that of the first decorator."""
    decorators = getattr(node, "decorator_list", [])
    return int(decorators[0].lineno) if decorators else node.lineno


def _name(node: AnyFunction) -> str:
    return "<lambda>" if isinstance(node, ast.Lambda) else node.name


def _choose(code: types.CodeType, found: list[AnyFunction]) -> AnyFunction | None:
    """The node of a code object among those that begin on its line: the innermost one that holds all its instructions."""
    if len(found) < 2:
        return found[0] if found else None
    span = _code_span(code)
    if span is None:
        return next((node for node in found if _same_alone(code, node)), None)
    around = [node for node in found if _body_span(node)[0] <= span[0] and span[1] <= _body_span(node)[1]]
    return max(around, key=lambda node: _body_span(node)[0], default=None)


def _same_alone(code: types.CodeType, node: AnyFunction) -> bool:
    """Whether a lambda compiled by itself is this code."""
    if not isinstance(node, ast.Lambda):
        return False
    alone = compile(ast.Expression(node), code.co_filename, "eval", dont_inherit=True)
    return any(isinstance(c, types.CodeType) and _fingerprint(c) == _fingerprint(code) for c in alone.co_consts)


def _code_span(code: types.CodeType) -> Span | None:
    """Where the instructions stand; None for a lambda that is a constant alone."""
    # The entry instructions (RESUME, COPY_FREE_VARS) have an empty place at column 0.
    places = [p for p in code.co_positions() if None not in p and (p[0], p[2]) != (p[1], p[3])]
    if not places:
        return None
    return min((p[0], p[2]) for p in places), max((p[1], p[3]) for p in places)  # type: ignore[return-value]


def _body_span(node: AnyFunction) -> Span:
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    first, last = body[0], body[-1]
    return (first.lineno, first.col_offset), (last.end_lineno or last.lineno, last.end_col_offset or 0)


def _same_program(code: types.CodeType, node: AnyFunction, codes: tuple[types.CodeType, ...]) -> bool:
    """Whether the text compiles to this code. pytest rewrites `assert`, so with one only the parameters are compared."""
    rewritten = any(isinstance(inner, ast.Assert) for inner in ast.walk(node))
    return any(
        other.co_firstlineno == code.co_firstlineno
        and other.co_name == code.co_name
        and _parameters(other) == _parameters(code)
        and (rewritten or _fingerprint(other) == _fingerprint(code))
        for other in codes
    )


def _parameters(code: types.CodeType) -> tuple[str, ...]:
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _fingerprint(code: types.CodeType) -> tuple[Any, ...]:
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, tuple(map(_constant, code.co_consts))


def _constant(value: Any) -> Any:
    if isinstance(value, types.CodeType):
        return _fingerprint(value)
    if isinstance(value, frozenset):  # of `x in {"a", "b"}`: its order is another one in a file of byte code
        return frozenset(map(_constant, value))
    return tuple(map(_constant, value)) if isinstance(value, tuple) else repr(value)


def _as_function(node: ast.Lambda, name: str) -> gast.FunctionDef:
    """`lambda x: e` as `def name(x): return e`."""
    returns = ast.copy_location(ast.Return(node.body), node.body)
    function = ast.FunctionDef(name, node.args, [returns], [], None, None)
    if "type_params" in ast.FunctionDef._fields:  # since Python 3.12
        function.type_params = []  # type: ignore[attr-defined,unused-ignore]
    return gast.ast_to_gast(ast.copy_location(function, node))


# --------------------------------------------------------------------------- errors


def _label(fn: Any) -> str:
    return getattr(fn, "__qualname__", None) or getattr(fn, "__name__", None) or type(fn).__name__


def _not_python(fn: Any) -> SourceNotFoundError:
    if isinstance(fn, type):
        return SourceNotFoundError(f"`{_label(fn)}` is a class, not a function", hint="wrap what it does in a function")
    return SourceNotFoundError(
        f"`{_label(fn)}` has no Python source",
        reason=f"it is a `{type(fn).__name__}`, not a function written in Python",
        hint="write a rule for it, or call it from a Python function",
    )


def _no_text(fn: types.FunctionType) -> SourceNotFoundError:
    file = fn.__code__.co_filename
    if file == "<stdin>":
        reason, hint = "it was typed at the Python prompt, which keeps no text", "use a file, IPython or a notebook"
    elif file.startswith("<frozen "):
        reason, hint = "it belongs to a module that is frozen into Python", "write what it does in the function itself"
    elif file == "<dynamic-code>":
        reason = "it was pickled by value, which leaves out the file that it is from"
        hint = "put it in a module, or pickle what is called (`stgrad.grad(f)`), which takes the text along"
    elif file.startswith("<"):
        reason = f"it was made by `exec` or `eval` (file name {file!r}), which keep no text, and has loops or more that its instructions do not tell"
        hint = "put it in a file, or register its text in `linecache.cache` under a file name of its own"
    else:
        reason, hint = f"the file {file} cannot be read", "run it where its .py file is present"
    return SourceNotFoundError(f"the source of `{_label(fn)}` is not available", reason=reason, hint=hint)


def _changed(code: types.CodeType) -> SourceNotFoundError:
    return SourceNotFoundError(
        f"the source of `{code.co_name}` at {code.co_filename}:{code.co_firstlineno} is not that of the function",
        reason="the file was changed after it was imported, or the code was rewritten by a tool",
        hint="import the module again (restart Python)",
    )


def module_of(function: Any) -> str:
    """The module that a function says it is of; nothing where its text stands in another package, and a decorator (`functools.wraps`) gave it the name."""
    module = getattr(function, "__module__", None)
    names = getattr(function, "__globals__", None)
    if not isinstance(module, str) or names is not None and str(names.get("__name__", module)).partition(".")[0] != module.partition(".")[0]:
        return ""
    return module
