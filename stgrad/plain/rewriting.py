"""Functions whose calls go through a hook, and that are otherwise as they were written.

    y = f(x, k=2)      ->   y = _stgrad_call_(f, x, k=2)
    "%s" % x           ->   _stgrad_mod_("%s", x)
    d[x]               ->   _stgrad_item_(d, x)
    self.area          ->   _stgrad_attribute_(self, "area")
    self.a = x         ->   self.a = x; _stgrad_set_(self, "a")
    d[k] = x           ->   d[k] = x; _stgrad_set_(d)

The text keeps its lines and columns, so tracebacks show the user's code. Free variables, defaults and globals are those of the function itself.
"""

from __future__ import annotations

import ast
import copy
import types
import weakref
from typing import Any

import gast  # type: ignore[import-untyped,unused-ignore]

from stgrad import errors
from stgrad.source import load

CALL, MOD, SET, ITEM, ATTRIBUTE = "_stgrad_call_", "_stgrad_mod_", "_stgrad_set_", "_stgrad_item_", "_stgrad_attribute_"
_LOOK_AT_FRAMES = frozenset({"super", "locals", "globals", "vars", "dir", "eval", "exec"})
_NAME = "_stgrad_function_"

_KNOWN: weakref.WeakKeyDictionary[types.CodeType, types.CodeType] = weakref.WeakKeyDictionary()


def rewritten(function: types.FunctionType, hooks: dict[str, Any]) -> types.FunctionType | None:
    """The function with its calls through the hooks; None where its text cannot be had."""
    if CALL in function.__code__.co_freevars:
        return function
    code = _KNOWN.get(function.__code__)
    if code is None:
        try:
            code = _KNOWN[function.__code__] = _rewritten_code(function)
        except (errors.StgradError, SyntaxError):
            return None
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)) | {k: types.CellType(v) for k, v in hooks.items()}
    closure = tuple([cells[name] for name in code.co_freevars])
    made = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__dict__.update(function.__dict__)
    made.__qualname__ = function.__qualname__
    return made


def _rewritten_code(function: types.FunctionType) -> types.CodeType:
    found = load(function)
    tree = gast.gast_to_ast(copy.deepcopy(found.tree))
    owner = function.__qualname__.split(".")[-2] if "." in function.__qualname__ else ""
    _Calls("" if owner == "<locals>" else owner).visit(tree)
    tree.name, tree.decorator_list = _NAME, []
    tree.args.defaults = [ast.Constant(None) for _ in tree.args.defaults]
    tree.args.kw_defaults = [d and ast.Constant(None) for d in tree.args.kw_defaults]
    free = [*function.__code__.co_freevars, CALL, MOD, SET, ITEM, ATTRIBUTE]
    outer: Any = ast.FunctionDef("_stgrad_outer_", _arguments(free), [tree, ast.Return(ast.Name(_NAME, ast.Load()))], [], None)
    outer.type_params = []  # since Python 3.12
    module = ast.fix_missing_locations(ast.Module([outer], []))
    names: dict[str, Any] = {}
    exec(compile(module, found.file, "exec", dont_inherit=True), names)  # noqa: S102
    code: types.CodeType = names["_stgrad_outer_"](*free).__code__
    return code.replace(co_name=function.__code__.co_name)


def _arguments(names: list[str]) -> ast.arguments:
    return ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, [])


class _Calls(ast.NodeTransformer):
    """`owner` is the class around a method, for names with two underscores."""

    def __init__(self, owner: str) -> None:
        self.owner = owner.lstrip("_")

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in _LOOK_AT_FRAMES:
            return node
        return ast.copy_location(ast.Call(ast.Name(CALL, ast.Load()), [node.func, *node.args], node.keywords), node)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Mod):
            return node
        return ast.copy_location(ast.Call(ast.Name(MOD, ast.Load()), [node.left, node.right], []), node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) or not _may_be_a_key(node.slice):
            return node
        return ast.copy_location(ast.Call(ast.Name(ITEM, ast.Load()), [node.value, node.slice], []), node)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self.generic_visit(node)
        node.attr = self._mangled(node.attr)
        if not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(ast.Call(ast.Name(ATTRIBUTE, ast.Load()), [node.value, ast.Constant(node.attr)], []), node)

    def visit_Name(self, node: ast.Name) -> Any:
        node.id = self._mangled(node.id)
        return node

    def _mangled(self, name: str) -> str:
        private = self.owner and name.startswith("__") and not name.endswith("__")
        return f"_{self.owner}{name}" if private else name

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        outer, self.owner = self.owner, ""  # the compiler does it there
        self.generic_visit(node)
        self.owner = outer
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.returns = None
        self.generic_visit(node)
        return node

    def visit_arg(self, node: ast.arg) -> Any:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return self.visit(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        return [node, *(note for target in node.targets for note in _notes(target))]

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        return [node, *_notes(node.target)]


def _may_be_a_key(index: ast.expr) -> bool:
    """Whether a float may stand in brackets: no constants, no slices."""
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    return not any(isinstance(i, (ast.Slice, ast.Starred)) for i in items) and not all(isinstance(i, ast.Constant) for i in items)


def _notes(target: ast.expr) -> list[ast.stmt]:
    """What tells of attributes and items that were set, of objects that have a name."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return [note for item in target.elts for note in _notes(item)]
    if not isinstance(target, (ast.Attribute, ast.Subscript)) or not _is_dotted(target.value):
        return []
    owner = copy.deepcopy(target.value)
    names = [ast.Constant(target.attr)] if isinstance(target, ast.Attribute) else []
    call = ast.Call(ast.Name(SET, ast.Load()), [owner, *names], [])
    return [ast.copy_location(ast.Expr(call), target)]


def _is_dotted(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == ATTRIBUTE:
        return _is_dotted(node.args[0])
    return isinstance(node, ast.Name)
