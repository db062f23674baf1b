"""Functions whose calls go through a hook, and that are otherwise as they were written.

    y = f(x, k=2)      ->   y = _stgrad_call_(f, x, k=2)
    "%s" % x           ->   _stgrad_mod_("%s", x)
    d[x]               ->   _stgrad_item_(d, x)
    self.area          ->   _stgrad_attribute_(self, "area")
    self.a = x         ->   _stgrad_place_(self, "a").value = x
    d[k] = x           ->   _stgrad_slot_(d, k).value = x
    a + b, a < b, -a   ->   _stgrad_binary_("add", a, b), ...
    a += b             ->   a = _stgrad_in_place_("add", a, b)
    for x in items     ->   for x in _stgrad_iterated_(items)
    eval(text)         ->   eval(_stgrad_executed_(text))

The text keeps its lines and columns, so tracebacks show the user's code. Free variables, defaults and globals are those of the function itself.
"""

from __future__ import annotations
import __future__

import ast
import copy
import types
import weakref
from typing import Any

import gast  # type: ignore[import-untyped,unused-ignore]

from stgrad import errors
from stgrad.source import load

CALL, MOD, ITEM, ATTRIBUTE, PLACE, SLOT = "_stgrad_call_", "_stgrad_mod_", "_stgrad_item_", "_stgrad_attribute_", "_stgrad_place_", "_stgrad_slot_"
BINARY, UNARY, IN_PLACE, ITERATED, SLICE = "_stgrad_binary_", "_stgrad_unary_", "_stgrad_in_place_", "_stgrad_iterated_", "_stgrad_slice_"
EXECUTED = "_stgrad_executed_"
_HOOKS = (CALL, MOD, ITEM, ATTRIBUTE, PLACE, SLOT, BINARY, UNARY, IN_PLACE, ITERATED, SLICE, EXECUTED)
_TARGET = "_stgrad_target_"
_OPERATORS: dict[type, str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.Pow: "pow", ast.MatMult: "matmul",
    ast.LShift: "lshift", ast.RShift: "rshift", ast.BitOr: "or", ast.BitAnd: "and", ast.BitXor: "xor", ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert",
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip
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
    tree.name, tree.decorator_list, tree.returns = _NAME, [], None
    for argument in ast.walk(tree.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None  # what it names may be gone
    tree.args.defaults = [ast.Constant(None) for _ in tree.args.defaults]
    tree.args.kw_defaults = [d and ast.Constant(None) for d in tree.args.kw_defaults]
    free = [*function.__code__.co_freevars, *_HOOKS]
    outer: Any = ast.FunctionDef("_stgrad_outer_", _arguments(free), [tree, ast.Return(ast.Name(_NAME, ast.Load()))], [], None)
    outer.type_params = []  # since Python 3.12
    module = ast.fix_missing_locations(ast.Module([outer], []))
    names: dict[str, Any] = {}
    as_texts = function.__code__.co_flags & __future__.annotations.compiler_flag
    exec(compile(module, found.file, "exec", as_texts, dont_inherit=True), names)  # noqa: S102
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
            if node.func.id in ("eval", "exec") and node.args and not isinstance(node.args[0], ast.Starred):
                node.args[0] = _hooked(node.args[0], EXECUTED, node.args[0])
            return node
        return ast.copy_location(ast.Call(ast.Name(CALL, ast.Load()), [node.func, *node.args], node.keywords), node)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        if isinstance(node.op, ast.Mod):
            return _hooked(node, MOD, node.left, node.right)
        return _hooked(node, BINARY, _name_of(node.op), node.left, node.right)

    def visit_Compare(self, node: ast.Compare) -> Any:
        self.generic_visit(node)
        if len(node.ops) > 1 or type(node.ops[0]) not in _OPERATORS:
            return node
        return _hooked(node, BINARY, _name_of(node.ops[0]), node.left, node.comparators[0])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        self.generic_visit(node)
        if type(node.op) not in _OPERATORS or isinstance(node.operand, ast.Constant):
            return node
        return _hooked(node, UNARY, _name_of(node.op), node.operand)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Del) or any(isinstance(n, ast.Starred) for n in _parts(node.slice)):
            return node
        if isinstance(node.ctx, ast.Load):
            return _hooked(node, ITEM, node.value, _as_value(node.slice))
        return ast.copy_location(ast.Attribute(_hooked(node, SLOT, node.value, _as_value(node.slice)), "value", node.ctx), node)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Del):
            return node
        if isinstance(node.ctx, ast.Load):
            return _hooked(node, ATTRIBUTE, node.value, ast.Constant(node.attr))
        return ast.copy_location(ast.Attribute(_hooked(node, PLACE, node.value, ast.Constant(node.attr)), "value", node.ctx), node)

    def visit_match_case(self, node: ast.match_case) -> Any:
        """Patterns stay as they are: no calls may stand in them."""
        pattern, node.pattern = node.pattern, ast.MatchAs()
        self.generic_visit(node)
        node.pattern = pattern
        return node

    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        node.iter = _hooked(node.iter, ITERATED, node.iter)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        self.generic_visit(node)
        node.iter = _hooked(node.iter, ITERATED, node.iter)
        return node

    def visit_Name(self, node: ast.Name) -> Any:
        if self.owner and node.id.startswith("__") and not node.id.endswith("__"):  # as its attributes have been renamed when it was read
            node.id = f"_{self.owner}{node.id}"
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        outer, self.owner = self.owner, ""  # the compiler does it there
        self.generic_visit(node)
        self.owner = outer
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        """Annotations stay as they are: they may be read as texts."""
        returns, node.returns = node.returns, None
        self.generic_visit(node)
        node.returns = returns
        return node

    def visit_arg(self, node: ast.arg) -> Any:
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """Of a name it may be the field of a class; of anything else it is an assignment."""
        if isinstance(node.target, ast.Name):
            node.value = node.value and self.visit(node.value)
            return node
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return self.visit(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """`a.b += c` looks for `a` once, before `c`."""
        name = _name_of(node.op)
        self.generic_visit(node)
        if isinstance(node.target, ast.Name):
            target: Any = node.target
            first: list[ast.stmt] = []
        elif isinstance(node.target, ast.Attribute) and isinstance(node.target.value, ast.Call):
            first = [ast.copy_location(ast.Assign([ast.Name(_TARGET, ast.Store())], node.target.value), node)]
            target = ast.copy_location(ast.Attribute(ast.Name(_TARGET, ast.Load()), "value", ast.Store()), node)
        else:  # `a[*i] += b`
            return node
        read = copy.copy(target)
        read.ctx = ast.Load()
        return [*first, ast.copy_location(ast.Assign([target], _hooked(node, IN_PLACE, name, read, node.value)), node)]


def _hooked(node: ast.AST, hook: str, *args: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Call(ast.Name(hook, ast.Load()), list(args), []), node)  # type: ignore[type-var,return-value]


def _name_of(op: ast.AST) -> ast.Constant:
    return ast.Constant(_OPERATORS[type(op)])


def _parts(index: ast.expr) -> list[ast.expr]:
    return index.elts if isinstance(index, ast.Tuple) else [index]


def _as_value(index: ast.expr) -> ast.expr:
    """What stands in brackets, as an argument."""
    if isinstance(index, ast.Tuple):
        return ast.copy_location(ast.Tuple([_as_value(i) for i in index.elts], ast.Load()), index)
    if isinstance(index, ast.Slice):
        return _hooked(index, SLICE, *(end or ast.Constant(None) for end in (index.lower, index.upper, index.step)))
    return index
