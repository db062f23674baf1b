"""Finding the tree of a function, whatever its kind, and what it sees."""

import ast
import doctest
import functools
import importlib.util
import itertools
import linecache
import types

import gast
import numba
import numpy as np
import pytest

from stgrad import errors, source
from stgrad.source import load, unwrap

SCALE = 3.0


def text(loaded):
    return ast.unparse(ast.fix_missing_locations(gast.gast_to_ast(loaded.tree)))


def plain(x, y=2.0):
    """Doc."""
    return x * y * SCALE


def decorated_by_wraps(fn):
    @functools.wraps(fn)
    def wrapper(*args):
        return 2.0 * fn(*args)

    return wrapper


@decorated_by_wraps
def doubled(x):
    return x * x


@numba.njit
def jitted(x):
    return x + 1.0


class Model:
    def __init__(self, w):
        self.w = w

    def apply(self, x):
        return self.w * x

    @staticmethod
    def static(x):
        return x - 1.0

    def __call__(self, x):
        return self.apply(x)


def with_assert(x):
    assert x > 0.0, "positive"
    return x


def test_module_function():
    loaded = load(plain)
    assert text(loaded).startswith("def plain(x, y=2.0):")
    assert loaded.kind == "function"
    assert loaded.file == loaded.filename == __file__
    assert list(loaded.signature.parameters) == ["x", "y"]
    assert loaded.lines[loaded.first_line - 1].startswith("def plain")


def test_resolve_is_live(monkeypatch):
    loaded = load(plain)
    assert loaded.resolve("SCALE") == 3.0
    monkeypatch.setitem(globals(), "SCALE", 4.0)
    assert loaded.resolve("SCALE") == 4.0
    assert loaded.resolve("len") is len
    assert loaded.resolve("np") is np
    with pytest.raises(errors.UndefinedNameError, match="`nowhere` is not defined in `plain`"):
        loaded.resolve("nowhere")


def test_closures():
    k = 2.0

    def inner(x):
        return k * x + late

    loaded = load(inner)
    assert loaded.resolve("k") == 2.0
    k = 5.0
    assert loaded.resolve("k") == 5.0
    with pytest.raises(errors.UndefinedNameError, match="`late` has no value yet"):
        loaded.resolve("late")
    late = 1.0
    assert loaded.resolve("late") == 1.0


def test_lambdas_on_one_line():
    a, b, c = (lambda x: x), (lambda x: x * 2.0), (lambda x: (lambda y: x - y))
    assert [text(load(f)).splitlines()[1].strip() for f in (a, b, c)] == ["return x", "return x * 2.0", "return lambda y: x - y"]
    assert "return x - y" in text(load(c(1.0)))
    same = [lambda x: x + 1.0, lambda x: x + 1.0, lambda x: 7.0]
    assert "return x + 1.0" in text(load(same[1]))
    assert "return 7.0" in text(load(same[2]))


def test_a_lambda_takes_the_name_it_is_assigned_to():
    square = lambda x: x * x  # noqa: E731
    assert load(square).name == "square"
    assert load(square).kind == "lambda"
    assert load((lambda: lambda x: x)()).name == "fn"


def test_a_lambda_over_several_lines():
    f = functools.partial(
        lambda x, y: (
            x
            + y
        ),
        1.0,
    )
    assert "return x + y" in text(load(unwrap(f).function))


def test_methods_and_callable_objects():
    model = Model(2.0)
    bound = unwrap(model.apply)
    assert bound.args == (model,)
    assert text(load(bound.function)) == "def apply(self, x):\n    return self.w * x"
    assert load(unwrap(model).function).name == "__call__"
    assert load(unwrap(Model.__dict__["static"]).function).name == "static"


def test_decorators_are_stripped_and_wrappers_kept():
    assert text(load(doubled)).startswith("def wrapper(*args):")
    assert text(load(load(doubled).resolve("fn"))) == "def doubled(x):\n    return x * x"
    assert text(load(unwrap(jitted).function)) == "def jitted(x):\n    return x + 1.0"


def test_partial_of_partial():
    f = functools.partial(functools.partial(plain, 1.0, y=2.0), y=3.0)
    assert unwrap(f) == source.Unwrapped(plain, (1.0,), {"y": 3.0})


def test_asserts_that_pytest_rewrites():
    assert "assert x > 0.0" in text(load(with_assert))


def test_code_with_its_text_in_linecache():
    code = "def cell(x):\n    return x ** 2\n"
    linecache.cache["<cell 1>"] = (len(code), None, code.splitlines(True), "<cell 1>")
    space = {}
    exec(compile(code, "<cell 1>", "exec"), space)
    assert text(load(space["cell"])) == code.strip().replace("x ** 2", "x ** 2")


@pytest.mark.parametrize(
    ("file", "message"), [("<stdin>", "typed at the Python prompt"), ("<string>", "made by `exec`"), ("/gone.py", "cannot be read")]
)
def test_no_text(file, message):
    space = {}
    exec(compile("def f(x):\n    for _ in range(3): x = x * x\n    return x", file, "exec"), space)
    with pytest.raises(errors.SourceNotFoundError, match=message):
        load(space["f"])


@pytest.mark.parametrize(("fn", "message"), [(len, "no Python source"), (np.sin, "`ufunc`"), (int, "is a class")])
def test_not_python(fn, message):
    with pytest.raises(errors.SourceNotFoundError, match=message):
        load(fn)


def test_async_is_refused():
    async def f(x):
        return x

    with pytest.raises(errors.UnsupportedSyntaxError, match="async"):
        load(f)


def test_a_file_changed_after_its_import_is_refused(tmp_path):
    file = tmp_path / "module_that_changes.py"
    file.write_text("def f(x):\n    return x * 2.0\n")
    spec = importlib.util.spec_from_file_location("module_that_changes", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    file.write_text("def f(x):\n    return x * 3.0\n")
    with pytest.raises(errors.SourceNotFoundError, match="changed after it was imported"):
        load(module.f)


def test_locations_count_characters():
    def f(x):
        é = x + 1.0; y = é * 2.0  # noqa: E702
        return y

    loaded = load(f)
    loc = loaded.loc(loaded.tree.body[1])
    assert loc.text[loc.col : loc.end_col] == "y = é * 2.0"
    assert loc.file == __file__
    assert loc.scope == "f"
    whole = loaded.loc(loaded.tree)
    assert whole.text[whole.col : whole.end_col] == "def f(x):"


def test_the_tree_is_parsed_once():
    assert load(plain).tree is load(plain).tree


def named(x, mode):
    return x if mode in {0, 8, 16} else 2.0 * x  # they have one place in a table, whatever the seed of hashes


def test_sets_of_constants_have_any_order():
    """What a file of byte code holds was put together in another order than what the text compiles to."""
    code = named.__code__
    (modes,) = [c for c in code.co_consts if isinstance(c, frozenset)]
    other = next(order for order in map(frozenset, itertools.permutations(modes)) if list(order) != list(modes))
    again = types.FunctionType(code.replace(co_consts=tuple(other if c is modes else c for c in code.co_consts)), globals())
    assert load(again).tree.name == "named"


def test_doctests():
    assert doctest.testmod(source).failed == 0
