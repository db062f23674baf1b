"""Python `ast` -> text: comments, and only the parentheses that are needed.

`Comment` is a statement of its own. Everything else is the plain `ast` of the standard library. Levels are those of the
precedence table of the Python reference, lowest first: an operand is put in parentheses where its level is too low.
"""

from __future__ import annotations

import ast
import io
from typing import Any

import astunparse  # type: ignore[import-untyped,unused-ignore]


class Comment(ast.stmt):
    """`# text` on lines of its own."""

    _fields = ("text",)

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


TUPLE, CONDITIONAL, OR, AND, NOT, COMPARE = range(6)
BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, PRODUCT, UNARY, POWER, ATOM = range(6, 15)

_BINARY: dict[type[ast.operator], int] = {
    ast.BitOr: BIT_OR,
    ast.BitXor: BIT_XOR,
    ast.BitAnd: BIT_AND,
    ast.LShift: SHIFT,
    ast.RShift: SHIFT,
    ast.Add: SUM,
    ast.Sub: SUM,
    ast.Mult: PRODUCT,
    ast.Div: PRODUCT,
    ast.FloorDiv: PRODUCT,
    ast.Mod: PRODUCT,
    ast.MatMult: PRODUCT,
    ast.Pow: POWER,
}


def level(node: ast.expr) -> int:
    """How tightly an expression holds together."""
    match node:
        case ast.Tuple():
            return TUPLE if node.elts else ATOM
        case ast.IfExp():
            return CONDITIONAL
        case ast.BoolOp(op=ast.Or()):
            return OR
        case ast.BoolOp():
            return AND
        case ast.UnaryOp(op=ast.Not()):
            return NOT
        case ast.Compare():
            return COMPARE
        case ast.BinOp():
            return _BINARY[type(node.op)]
        case ast.UnaryOp():
            return UNARY
    return ATOM


def text(tree: ast.AST) -> str:
    """The text of a module, a statement or an expression.

    >>> text(ast.parse("-((a + b) * c) ** (-(2.0)) - (d - (e - f))", mode="eval").body)
    '-((a + b) * c) ** -2.0 - (d - (e - f))'
    """
    return lines(tree)[0]


def lines(tree: ast.AST) -> tuple[str, dict[int, ast.stmt]]:
    """The text, and the statement that begins on each of its lines, which count from zero."""
    out = _Counted()
    writer = _Writer(tree, out)
    written = out.getvalue()
    ahead = len(written) - len(written.lstrip("\n"))
    return written.strip("\n"), {line - ahead: node for line, node in writer.begun.items()}


class _Counted(io.StringIO):
    """Text that knows how many lines it has."""

    ends = 0

    def write(self, text: str) -> int:
        self.ends += text.count("\n")
        return super().write(text)


class _Writer(astunparse.Unparser):  # type: ignore[misc,unused-ignore]
    begun: dict[int, ast.stmt]

    def __init__(self, tree: ast.AST, file: _Counted) -> None:
        self.begun = {}
        super().__init__(tree, file)

    def dispatch(self, tree: Any) -> None:
        if isinstance(tree, ast.stmt):
            self.begun[self.f.ends + 1] = tree  # each begins with the end of the line before
        super().dispatch(tree)

    def operand(self, node: ast.expr, least: int) -> None:
        """Write an operand where nothing looser than `least` can stand without parentheses."""
        if level(node) < least:
            self.write("(")
            self.bare(node)
            self.write(")")
        else:
            self.dispatch(node)

    def bare(self, node: ast.expr) -> None:
        """Write an expression, a tuple without its parentheses."""
        if isinstance(node, ast.Tuple) and node.elts:
            self.commas(node.elts)
            self.write("," * (len(node.elts) == 1))
        else:
            self.dispatch(node)

    def commas(self, nodes: list[ast.expr]) -> None:
        for position, node in enumerate(nodes):
            self.write(", " * (position > 0))
            self.operand(node, CONDITIONAL)

    # expressions

    def _BinOp(self, node: ast.BinOp) -> None:
        own = level(node)
        power = own == POWER  # binds to the right, and less tightly than a sign on its right
        self.operand(node.left, own + 1 if power else own)
        self.write(f" {self.binop[type(node.op).__name__]} ")
        self.operand(node.right, UNARY if power else own + 1)

    def _UnaryOp(self, node: ast.UnaryOp) -> None:
        self.write("not " if isinstance(node.op, ast.Not) else self.unop[type(node.op).__name__])
        self.operand(node.operand, level(node))

    def _Compare(self, node: ast.Compare) -> None:
        self.operand(node.left, COMPARE + 1)
        for op, right in zip(node.ops, node.comparators, strict=True):
            self.write(f" {self.cmpops[type(op).__name__]} ")
            self.operand(right, COMPARE + 1)

    def _BoolOp(self, node: ast.BoolOp) -> None:
        own = level(node)
        for position, value in enumerate(node.values):
            self.write(f" {'or' if own == OR else 'and'} " if position else "")
            self.operand(value, own + 1)

    def _IfExp(self, node: ast.IfExp) -> None:
        self.operand(node.body, OR)
        self.write(" if ")
        self.operand(node.test, OR)
        self.write(" else ")
        self.operand(node.orelse, CONDITIONAL)

    def _Tuple(self, node: ast.Tuple) -> None:
        self.write("(")
        if node.elts:
            self.bare(node)
        self.write(")")

    def _Subscript(self, node: ast.Subscript) -> None:
        self.operand(node.value, ATOM)
        self.write("[")
        self.bare(node.slice)
        self.write("]")

    def _Slice(self, node: ast.Slice) -> None:
        if node.lower:
            self.operand(node.lower, CONDITIONAL)
        self.write(":")
        if node.upper:
            self.operand(node.upper, CONDITIONAL)
        if node.step:
            self.write(":")
            self.operand(node.step, CONDITIONAL)

    def _Attribute(self, node: ast.Attribute) -> None:
        number = isinstance(node.value, ast.Constant) and isinstance(node.value.value, int)
        self.write("(" * number)
        self.operand(node.value, ATOM)
        self.write(")" * number + f".{node.attr}")

    def _Call(self, node: ast.Call) -> None:
        self.operand(node.func, ATOM)
        self.write("(")
        self.commas(node.args)
        for position, keyword in enumerate(node.keywords):
            self.write(", " * (position > 0 or bool(node.args)) + f"{keyword.arg}=")
            self.operand(keyword.value, CONDITIONAL)
        self.write(")")

    def _Constant(self, node: ast.Constant) -> None:
        self.write("..." if node.value is Ellipsis else repr(node.value))

    # statements

    def _Comment(self, node: Comment) -> None:
        for line in node.text.splitlines():
            self.fill(f"# {line}".rstrip())

    def _Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            self.docstring(node.value.value)
        else:
            self.fill()
            self.dispatch(node.value)

    def docstring(self, doc: str) -> None:
        lines = doc.replace("\\", "\\\\").replace('"""', '\\"\\"\\"').strip().split("\n")
        self.fill('"""' + lines[0].rstrip())
        for line in lines[1:]:
            self.write("\n" + ("    " * self._indent + line.strip("\n")).rstrip())
        if len(lines) > 1:
            self.fill('"""')
        else:
            self.write(' """' if lines[0].endswith('"') else '"""')

    def _Assign(self, node: ast.Assign) -> None:
        self.fill()
        for target in node.targets:
            self.bare(target)
            self.write(" = ")
        self.bare(node.value)

    def _Return(self, node: ast.Return) -> None:
        self.fill("return")
        if node.value is not None:
            self.write(" ")
            self.bare(node.value)

    def _FunctionDef(self, node: ast.FunctionDef) -> None:
        self.fill(f"def {node.name}({ast.unparse(node.args)})")
        self.enter()
        self.dispatch(node.body)
        self.leave()
