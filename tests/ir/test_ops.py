"""The table of operations says the truth, and stands alone: no other list of their names is kept."""

from __future__ import annotations

import ast
import math
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stgrad
import stgrad.runtime
from stgrad import rules
from stgrad.ir import BUILTIN_OPS
from stgrad.ir.ops import MODES, TABLE, operation

rules.load_scipy()
ROOT = Path(stgrad.__file__).parent
NUMBERS = np.array([-2.5, -1.0, -0.3, 0.0, 0.4, 1.0, 3.2])


def function_of(name: str) -> Callable[..., Any] | None:
    """What runs for an operation: the function that its name says, or what the table has."""
    module, _, short = name.rpartition(".")
    if not module:
        return TABLE[name].python or getattr(__import__("builtins"), name, None)
    if module == "runtime":
        return getattr(stgrad.runtime, short, None)
    found: Any = sys.modules[re.sub(r"^np\b", "numpy", module)]
    return getattr(found, short)


def where(condition: Callable[[Any], Any]) -> list[str]:
    return sorted(name for name, known in TABLE.items() if condition(known) and not name.startswith("runtime."))


def pairs() -> Iterator[tuple[float, float]]:
    yield from ((a, b) for a in NUMBERS.tolist() for b in NUMBERS.tolist())


# --------------------------------------------------------------------------- the rows


@pytest.mark.parametrize("name", [n for n in TABLE if "." in n])
def test_every_row_names_a_function(name: str) -> None:
    assert callable(function_of(name))


@pytest.mark.parametrize("name", [n for n in TABLE if rules.lookup(n) is not None])
def test_rows_do_not_contradict_rules(name: str) -> None:
    known, rule = operation(name), rules.lookup(name)
    assert rule is not None
    views = None if known.sharing == "moves" else known.views
    assert (known.differentiable, views) == (rule.kind != "nondiff", rule.views)


def test_every_operation_of_ours_has_a_row() -> None:
    assert BUILTIN_OPS <= TABLE.keys()
    assert {f"runtime.{name}" for name in stgrad.runtime.__all__} <= TABLE.keys()


def test_unknown_operations() -> None:
    assert not operation("np.of_no_such_name").known
    assert operation("np.linalg.qr").known


@pytest.mark.parametrize("name", where(lambda o: o.signs and o.kind == "arithmetic"))
def test_sums_have_the_signs_of_their_row(name: str) -> None:
    signs, f = TABLE[name].signs, function_of(name)
    assert f is not None
    for args in [(3, -2), (-5, 4)] if name == "np.int64" else pairs():
        assert f(*args[: len(signs)]) == sum(sign * a for sign, a in zip(signs, args, strict=False))


@pytest.mark.parametrize("name", where(lambda o: o.linear and o.kind == "arithmetic"))
def test_linear_where_the_row_says_so(name: str) -> None:
    """f(2 x) = 2 f(x) in each set of arguments; and no set is missing."""
    f = function_of(name)
    assert f is not None
    arity = 1 if TABLE[name].linear == (frozenset({0}),) and name not in ("np.divide", "np.true_divide") else 2
    for positions in (frozenset({0}), frozenset({1}), frozenset({0, 1})):
        if max(positions) >= arity:
            continue
        found = all(
            math.isclose(f(*(2 * a if i in positions else a for i, a in enumerate(args))), 2 * f(*args), abs_tol=1e-12)
            for args in [(0.5, 3.0)[:arity], (-1.5, 0.25)[:arity]]
        )
        assert found == (positions in TABLE[name].linear)


@pytest.mark.parametrize("name", where(lambda o: o.kind == "comparison"))
def test_comparisons(name: str) -> None:
    known = TABLE[name]
    f, opposite, swapped = (function_of(n) for n in (name, known.opposite, known.swapped))
    assert f is not None and opposite is not None and swapped is not None
    for a, b in pairs():
        assert f(a, b) == (not opposite(a, b)) == swapped(b, a)


@pytest.mark.parametrize("name", where(lambda o: o.symbol and "@" not in o.symbol))
def test_symbols(name: str) -> None:
    known, f = TABLE[name], function_of(name)
    assert f is not None and known.python is not None
    whole = known.symbol in ("&", "|", "^", "~", "<<", ">>")
    for a, b in ((6, 1), (5, 2)) if whole else ((2.5, 0.5), (0.3, 2.0)):
        one = known.symbol == "~" or known.kind == "arithmetic" and len(known.signs) == 1
        expected = eval(f"{known.symbol} a" if one else f"a {known.symbol} b", {"a": a, "b": b})
        assert f(*((a,) if one else (a, b))) == known.python(*((a,) if one else (a, b))) == expected


@pytest.mark.parametrize("name", where(lambda o: o.vector or o.precise) + [n for n, o in TABLE.items() if o.precise])
def test_other_forms_compute_the_same(name: str) -> None:
    known, f = TABLE[name], function_of(name)
    other = function_of(known.precise or known.vector)
    if f is None or other is None or f is other:
        return
    args = (0.7, 1.3) if name.endswith(("pow", "power")) else (0.7,)
    assert f(*args) == pytest.approx(other(*args), rel=1e-14)


@pytest.mark.parametrize("name", where(lambda o: o.total and "." in o.name))
def test_total_operations_never_raise(name: str) -> None:
    f = function_of(name)
    assert isinstance(f, np.ufunc)
    with np.errstate(all="ignore"):
        for a, b in [*pairs(), (np.inf, np.nan), (np.nan, -np.inf)]:
            f(*(np.bool_(v > 0) if "logical" in name else np.float64(v) for v in (a, b)[: f.nin]))


@pytest.mark.parametrize("name", where(lambda o: "always" in (o.natural, o.positive) and o.kind in ("arithmetic", "function")))
def test_results_that_are_never_negative(name: str) -> None:
    f = function_of(name)
    assert f is not None
    for a, b in pairs():
        try:
            found = f(*((a, b) if "hypot" in name else (abs(a) if "sqrt" in name else a,)))
        except (ValueError, OverflowError):
            continue
        assert found > 0 if TABLE[name].positive == "always" else found >= 0


@pytest.mark.parametrize("name", where(lambda o: o.kind in ("creation", "like") and "." in o.name))
def test_new_arrays(name: str) -> None:
    known, f = TABLE[name], function_of(name)
    assert f is not None
    like = np.full((2, 3), np.nan)  # of which nothing but the extents is read
    first: Any = like if known.extents else (2, 3)
    made = f(first, 1.5) if known.filled == 1 else f(first)
    assert made.shape == (2, 3) and made.flags.c_contiguous and not np.shares_memory(made, like)
    if "empty" not in name:
        assert (made == (1.5 if known.filled == 1 else known.fill)).all()


MOVING = sorted(name for name, known in TABLE.items() if known.kind in ("identity", "copy", "element", "move") and rules.lookup(name) is not None)


def of_one_number(name: str) -> Iterator[tuple[Any, Any]]:
    """The samples of an operation's rule with sevens in their first argument: that argument, and what the operation makes of it."""
    rule = rules.lookup(name)
    assert rule is not None and rule.samples
    for generate in rule.samples:
        for (first, *rest), kwargs in generate(np.random.default_rng(0)):
            if isinstance(first, np.ndarray):
                sevens = np.full_like(first, 7.0)
                yield sevens, rule.op(sevens, *rest, **kwargs)


@pytest.mark.parametrize("name", MOVING)
def test_zeros_beside_elements(name: str) -> None:
    """What an operation makes of one number is that number, but for zeros where the row says so; and where it says so, there are some."""
    known = operation(name)
    zeros = set()
    for first, made in of_one_number(name):
        assert set(np.unique(made)) <= {0.0, 7.0}
        zeros |= {"larger" if made.ndim > first.ndim else "always"} if (made == 0.0).any() else set()
    assert zeros == ({"always"} if known.room is not None else {known.zeros} if known.zeros else set())


@pytest.mark.parametrize("name", sorted(n for n, known in TABLE.items() if known.room is not None))
def test_room_behind_items(name: str) -> None:
    rule = rules.lookup(name)
    assert rule is not None and rule.samples
    for args, kwargs in (case for generate in rule.samples for case in generate(np.random.default_rng(0))):
        given, count = args[0], args[operation(name).room]
        made = rule.op(*args, **kwargs)
        assert made is given or len(made) > len(given)
        assert len(made) > count and (made[:count] == given[:count]).all()


def test_modes_are_operations() -> None:
    assert {known.combine for known in TABLE.values() if known.combine} <= MODES.keys()
    assert all(operation(name).known for name in MODES.values())


# --------------------------------------------------------------------------- memory

# The operations that programs of the compiler hold: composites, and `np.einsum` where it only moves axes, are read into their parts.
SAMPLED = sorted(n for n, r in rules.TABLE.items() if "." in n and r.samples and r.kind != "composite")


def arrays_in(value: Any) -> Iterator[Any]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from arrays_in(item)


@pytest.mark.parametrize("name", SAMPLED)
def test_results_that_share_memory_are_views(name: str) -> None:
    """A result that shares memory with an argument is a view of the one that the table names."""
    rule, known = rules.TABLE[name], operation(name)
    for generate in rule.samples:
        for args, kwargs in generate(np.random.default_rng(0)):
            try:
                made = list(arrays_in(rule.op(*args, **kwargs)))
            except (TypeError, ValueError, AttributeError):  # samples of other things than calls of this function
                continue
            for i, arg in enumerate((*args, *kwargs.values())):
                if name == "np.einsum" and "->" in args[0] and len(args) == 2 and set(args[0].partition("->")[0]) == set(args[0].partition("->")[2]):
                    continue
                shares = any(np.shares_memory(m, a) for m in made for a in arrays_in(arg) if m.size)
                assert not shares or known.views == i, f"{name} shares memory with its argument {i}"


# --------------------------------------------------------------------------- no other table

NAME = re.compile(r"(np|math|scipy|runtime)(\.\w+)+")
SHORT = BUILTIN_OPS | {"max", "min", "abs", "len", "round", "select"}
ELSEWHERE = {"ir", "rules", "eager", "plain", "frontend", "testing"}  # `ir/ops` itself; rules; what reads calls of users, by the functions themselves
ALLOWED = {
    "transforms/lower/reductions.py": "the three operations that make a variance, in order",
}


def names_in(text: str) -> set[str]:
    words = text.split()
    found = {w for w in words if NAME.fullmatch(w) or w in SHORT}
    return found if len(found) >= 0.8 * len(words) else set()


def parts(node: ast.AST) -> list[Any]:
    match node:
        case ast.Dict():
            items: list[Any] = [*node.keys, *node.values]
        case ast.MatchOr():
            items = [p.value if isinstance(p, ast.MatchValue) else p for p in node.patterns]
        case ast.Set() | ast.List() | ast.Tuple():
            items = list(node.elts)
        case _:
            return []
    return [q for p in items for q in (p.elts if isinstance(p, (ast.Tuple, ast.List)) else [p])]


def is_built(node: ast.AST) -> bool:
    """`{f"np.{name}": ... for name in ...}`"""
    texts = [n.values[0] for n in ast.walk(node) if isinstance(n, ast.JoinedStr) and n.values]
    return any(isinstance(t, ast.Constant) and re.match(r"(np|math|scipy|runtime)\.", str(t.value)) for t in texts)


def tables(node: ast.AST) -> Iterator[int]:
    """Lines of the collections of at least three names of operations."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        found = names_in(node.value)
    else:
        found = {n for p in parts(node) if isinstance(p, ast.Constant) and isinstance(p.value, str) for n in names_in(p.value)}
    comprehension = isinstance(node, (ast.DictComp, ast.SetComp, ast.ListComp, ast.GeneratorExp)) and is_built(node)
    if comprehension or len(found) >= 3 and any("." in n for n in found):
        yield node.lineno  # type: ignore[attr-defined]
        return
    for child in ast.iter_child_nodes(node):
        yield from tables(child)


def test_no_table_of_operations_stands_elsewhere() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted(ROOT.rglob("*.py"))
        if path.relative_to(ROOT).parts[0] not in ELSEWHERE
        for line in tables(ast.parse(path.read_text()))
    }
    wrong = {f for f in found if f.partition(":")[0] not in ALLOWED}
    assert not wrong, f"ask `stgrad.ir.ops.operation` instead: {sorted(wrong)}"
    assert {f.partition(":")[0] for f in found} == ALLOWED.keys(), "take what is gone off the list"


@pytest.mark.parametrize(
    "text",
    [
        'X = {"np.add", "np.subtract", "alias"}',
        'X = "np.add np.subtract np.multiply".split()',
        'X = {f"np.{n}" for n in ("sin", "cos")}',
        'match op:\n    case "np.sin" | "np.cos" | "np.tan":\n        pass',
        'X = {"np.add": "+", "np.subtract": "-", "np.multiply": "*"}',
        'X = (("np.add", 1), ("np.subtract", 2), ("np.negative", 3))',
    ],
)
def test_finds_tables(text: str) -> None:
    """The test itself can fail."""
    assert list(tables(ast.parse(text)))
