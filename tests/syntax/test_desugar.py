"""The core language: what is gone is gone, and the tree that is left means the same."""

import ast
import contextlib
import copy
import doctest
import inspect
import itertools
import math
import textwrap

import gast
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stgrad import errors
from stgrad import syntax as package
from stgrad.source import load
from stgrad.syntax import desugar, to_ast, to_text


def core_of(text):
    return desugar(gast.parse(textwrap.dedent(text)).body[0])


def compiled(tree, namespace=None):
    space = dict(namespace or {"np": np, "math": math})
    exec(compile(ast.Module([to_ast(tree)], []), "<core>", "exec"), space)
    return space[tree.name]


FORBIDDEN = (gast.Break, gast.Continue, gast.AnnAssign, gast.Pass, gast.Delete)


def assert_core(tree):
    for node in gast.walk(tree):
        assert not isinstance(node, FORBIDDEN), gast.dump(node)
        assert getattr(node, "lineno", 1) is not None
        if isinstance(node, (gast.stmt, gast.expr)):
            assert node.lineno >= 1
            assert node.col_offset >= 0
        if isinstance(node, gast.Compare):
            assert len(node.ops) == 1
        if isinstance(node, gast.Assign):
            assert len(node.targets) == 1
        if isinstance(node, (gast.For, gast.While)):
            assert not node.orelse
        if isinstance(node, gast.FunctionDef):
            returns = [n for n in own_nodes(node) if isinstance(n, gast.Return)]
            assert returns == [node.body[-1]]
            assert returns[0].value is not None


def own_nodes(function):
    """Nodes of a function without those of functions in it."""
    todo = list(function.body)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, gast.FunctionDef):
            todo.extend(gast.iter_child_nodes(node))


def outcome(function, args):
    try:
        return function(*copy.deepcopy(args))
    except (ValueError, NameError, ZeroDivisionError) as error:
        return type(error)


# --------------------------------------------------------------------------- a corpus of jumps


def early_return(x, n):
    if x > 1.0:
        return x * 2.0
    return x + n


def several_returns(x, n):
    if x > 2.0:
        return 1.0
    elif x > 1.0:
        if n > 2:
            return 2.0
        x = x * 3.0
    elif n == 0:
        return -1.0
    x += 1.0
    return x


def falls_off(x, n):
    if x > 1.0:
        return x


def plain_return(x, n):
    if x > 1.0:
        return
    x = 2.0


def nothing(x, n):
    """Only a docstring."""


def no_return(x, n):
    x = x + 1.0


def break_first(x, n):
    total = 0.0
    for i in range(n):
        if i > x:
            break
        total += i
    return total


def break_and_counter(x, n):
    i = -1
    for i in range(n):
        if i > x:
            break
    return i


def continue_odd(x, n):
    total = 0.0
    for i in range(n):
        if i % 2:
            continue
        total += i * x
    return total


def continue_last(x, n):
    total = 0.0
    for i in range(n):
        total += 1.0
        if i > x:
            continue
    return total


def maybe_continue(x, n):
    total = 0.0
    for i in range(n):
        if i > x:
            if i % 2:
                continue
            total += 10.0
        total += i
        total *= 1.5
    return total


def maybe_break(x, n):
    total = 0.0
    for i in range(n):
        if i > x:
            if total > 4.0:
                break
            total += 10.0
        elif i == 1:
            continue
        total += i
    return total


def return_in_loop(x, n):
    for i in range(n):
        if i > x:
            return i * 10
    return -1


def return_in_nested_loops(x, n):
    count = 0
    for i in range(n):
        for j in range(n):
            if i * j > x:
                return i * 100 + j
            if j > i:
                break
            count += 1
        else:
            count += 100
        if count > 50:
            break
        count += 1
    return count


def for_else(x, n):
    for i in range(n):
        if i > x:
            break
    else:
        return "none"
    return i


def for_else_without_break(x, n):
    for _ in range(n):
        x += 1.0
    else:
        x *= 2.0
    return x


def while_break(x, n):
    while x < 100.0:
        x = x * 1.5 + 1.0
        if x > n * 7:
            break
    return x


def while_true(x, n):
    k = 0
    while True:
        k += 1
        if k > n:
            return x
        x += k


def while_true_break(x, n):
    k = 0
    while True:
        k += 1
        if k > n:
            break
        if k == 2:
            continue
        x += k
    return x


def while_else(x, n):
    k = 0
    while k < n:
        k += 1
        if k > x:
            break
    else:
        k = -k
    return k


def while_condition_not_evaluated_after_break(x, n):
    values = [1.0, 2.0, 3.0]
    k = 0
    while values[k] > 0.0:
        k += 1
        if k == 3:
            break
    return k


def raises(x, n):
    if x < 1.0:
        raise ValueError("small")
    elif n > 3:
        return 3.0
    else:
        raise ZeroDivisionError("n")


def only_raises(x, n):
    raise ValueError("no")


def raise_then_return(x, n):
    if n == 0:
        raise ValueError("no")
    x = x / n
    return x


def break_in_else_of_inner(x, n):
    total = 0
    for i in range(n):
        for j in range(i):
            if j > x:
                break
        else:
            if i == 2:
                break
            continue
        total += 1
    return total, i if n else None


def chained_assignment(x, n):
    a = b = x * 2.0
    c = d = 1
    (e, f) = g = (a, b)
    a += 1.0
    return a, b, c, d, e, f, g


def chained_comparison(x, n):
    return 0.0 < x <= n, 0 < abs(x) < n != 2, (x < n < 3 < 5)


def middle_once(x, n):
    calls = []

    def f(v):
        calls.append(v)
        return v

    return 0.0 < f(x) < f(n) < 5, calls


def annotated(x: float, n: int) -> float:
    y: float = x * 2.0
    z: float
    z = y
    return z


def deleted(x, n):
    y = x
    del y
    return x


def errstate(x, n):
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.float64(x) / n
        if n == 0:
            return 0.0
    return y


def nested_functions(x, n):
    def inner(y):
        for i in range(n):
            if i > y:
                return i
        return 0.5 < y < 2.0

    def deeper(y):
        def innermost(z):
            if z > 1.0:
                return z
            return -z

        return innermost(y)

    square = lambda v: v * v if 0.0 < v < 3.0 else v  # noqa: E731
    if x > 1.0:
        return inner(x), deeper(x)
    return square(x), inner(x)


def return_in_while_in_for(x, n):
    for i in range(n):
        k = 0
        while k < i:
            k += 1
            if k * i > x * 2:
                return i, k
            if k == 2:
                break
        if i == 3:
            continue
        x += 0.1
    return x


def counters_of_a_tuple(x, n):
    i = a = 0
    for i, a in enumerate([1.0, 2.0, 3.0, 4.0]):
        if a > x:
            break
    return i, a


def counter_used_in_its_loop_only(x, n):
    total = 0
    for i in range(n):
        if i > x:
            break
        total += i
    for i in range(n):
        total += i
    return total


def flags_of_the_user(x, n):
    _break = 1.0
    _ret = 2.0
    for i in range(n):
        if i > x:
            break
        _break += _ret
    if x > 1.0:
        return _break
    return _ret


def dead_code(x, n):
    for i in range(n):
        continue
        x += 1.0
    if x:
        return x
        x = 2.0
    else:
        return 0.0
    return 5.0


def effects_in_a_test(x, n):
    for i in range(n):
        if (y := i * x) > 1.0:
            continue
    return y if n else None


def loop_in_a_branch(x, n):
    if n > 2:
        for i in range(n):
            if i > x:
                return i
        x = 7.0
    else:
        x = 3.0
    x += 1.0
    return x


def three_kinds(x, n):
    total = 0
    for i in range(n):
        if i > 0:
            if i == 1:
                continue
            if i > x + 2:
                break
            if total > 30:
                return total
            total += 5
        total += 1
    else:
        total += 1000
    return -total


def comprehension(x, n):
    values = [i * x for i in range(n) if 0 < i < 3]
    for v in values:
        if v > 1.0:
            return v
    return sum(values)


def asserting(x, n):
    assert x > -1.0, "message"
    if n == 1:
        pass
    else:
        x = 4.0
    return x


CORPUS = [v for v in list(globals().values()) if inspect.isfunction(v) and list(inspect.signature(v).parameters) == ["x", "n"]]
INPUTS = list(itertools.product((-0.5, 0.0, 0.7, 1.5, 2.5, 30.0), range(6)))


def test_the_corpus_is_there():
    assert len(CORPUS) >= 38


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # `with np.errstate` is dropped
@pytest.mark.parametrize("function", CORPUS, ids=lambda f: f.__name__)
def test_same_results(function):
    source = load(function)
    before = gast.dump(source.tree)
    core = desugar(source.tree, source.loc)
    assert gast.dump(source.tree) == before
    assert_core(core)
    rewritten = compiled(core)
    for args in INPUTS:
        assert outcome(rewritten, args) == outcome(function, args), (args, to_text(core))
    assert gast.dump(desugar(source.tree, source.loc)) == gast.dump(core)


# --------------------------------------------------------------------------- the form of the result


def test_structure_rather_than_flags():
    assert to_text(core_of(inspect.getsource(early_return))) == inspect.cleandoc("""
        def early_return(x, n):
            if x > 1.0:
                _ret = x * 2.0
            else:
                _ret = x + n
            return _ret
        """)
    assert to_text(core_of(inspect.getsource(continue_odd))) == inspect.cleandoc("""
        def continue_odd(x, n):
            total = 0.0
            for i in range(n):
                if not i % 2:
                    total += i * x
            return total
        """)
    assert to_text(core_of(inspect.getsource(break_first))) == inspect.cleandoc("""
        def break_first(x, n):
            total = 0.0
            _break = False
            for i in range(n):
                if not _break:
                    if i > x:
                        _break = True
                    else:
                        total += i
            return total
        """)
    assert to_text(core_of(inspect.getsource(while_true_break))) == inspect.cleandoc("""
        def while_true_break(x, n):
            k = 0
            _break = False
            while not _break:
                k += 1
                if k > n:
                    _break = True
                elif not k == 2:
                    x += k
            return x
        """)


def test_loops_left_early_name_their_flag():
    core = core_of(inspect.getsource(return_in_nested_loops))
    loops = [n for n in gast.walk(core) if isinstance(n, gast.For)]
    assert [loop.until for loop in loops] == ["_break", "_break_2"]
    (loop,) = (n for n in gast.walk(core_of(inspect.getsource(return_in_loop))) if isinstance(n, gast.For))
    assert loop.until == "_returned"
    (loop,) = (n for n in gast.walk(core_of(inspect.getsource(continue_odd))) if isinstance(n, gast.For))
    assert not hasattr(loop, "until")


def test_a_single_return_stays():
    text = "def f(x):\n    y = x\n    return y"
    assert to_text(core_of(text)) == text


def test_new_nodes_have_places():
    core = core_of("def f(x):\n    for i in range(3):\n        if x:\n            break\n    return x")
    breaks = [n for n in gast.walk(core) if isinstance(n, gast.Assign) and n.targets[0].id == "_break"]
    assert [n.lineno for n in breaks] == [2, 4]


# --------------------------------------------------------------------------- match, nonlocal, try


def patterns(x):
    match x:
        case 0 | 1:
            return "few"
        case None:
            return "none"
        case [a, b]:
            return (b, a)
        case [first, *_, last] if first == last:
            return ("ring", first)
        case {"k": value, "m": "v"}:
            return value
        case {"rest": first, **others}:
            return first, others
        case int(n) if n > 9:
            return ("many", n)
        case str() as text:
            return text + "!"
        case complex(real=r, imag=i):
            return (i, r)
        case _:
            return x


VALUES = [0, 1, 2, None, (1, 2), [1, 2, 1], [1, 2, 3], {"k": 5, "m": "v"}, {"k": 5}, {"rest": 1}, {"rest": 1, "k": 2}, 10, "text", 1 + 2j, 2.5]


@pytest.mark.parametrize("value", VALUES)
def test_match(value):
    assert compiled(core_of(inspect.getsource(patterns)))(value) == patterns(value)


def counters(n):
    total, steps = 0, 0

    def add(v, total_of=lambda: total):
        nonlocal total, steps

        def inner():
            nonlocal steps
            steps += 1
            return [steps for steps in range(2)]

        inner()
        total = total + v + total_of()

    for k in range(n):
        add(k)
    return total, steps


def nonlocal_parameter(x):
    def double():
        nonlocal x
        x = 2 * x
        return (lambda x: x)(1)

    return double(), x


@pytest.mark.parametrize(("function", "args"), [(counters, (4,)), (nonlocal_parameter, (3,))])
def test_nonlocal(function, args):
    core = core_of(inspect.getsource(function))
    assert not any(isinstance(node, gast.Nonlocal) for node in gast.walk(core))
    assert compiled(core)(*args) == function(*args)


def attempts(d, n):
    found = []
    for k in range(n):
        try:
            if k == 1:
                continue
            v = d[k]
            if v > 5:
                return found, v
        except KeyError:
            found.append(k)
        else:
            found.append(v)
    return found


@pytest.mark.parametrize("held", [{}, {0: 1, 2: 3}, {2: 9}])
def test_jumps_in_try(held):
    core = core_of(inspect.getsource(attempts))
    assert_core(core)
    assert compiled(core)(held, 4) == attempts(held, 4)


# --------------------------------------------------------------------------- refusals

REFUSED = {
    "try:\n        x = 1.0\n    except* ValueError:\n        pass": "`try`",
    "global y\n    y += 1.0": "`global`",
    "nonlocal y\n    y += x": "`nonlocal`",
    "x = eval('1')": "`eval`",
    "exec('1')": "`exec`",
    "x = yield x": "the value of a `yield`",
}


@pytest.mark.parametrize("body", REFUSED)
def test_refused(body):
    tree = gast.parse(f"def f(x):\n    {body}\n    return x").body[0]
    with pytest.raises(errors.UnsupportedSyntaxError, match=REFUSED[body]):
        desugar(tree)


def test_nonlocal_of_a_variable_outside_is_refused_with_its_place():
    count = 0

    def inner(x):
        nonlocal count
        count += 1
        return x * count

    source = load(inner)
    with pytest.raises(errors.UnsupportedSyntaxError) as caught:
        desugar(source.tree, source.loc)
    message = str(caught.value)
    assert "    nonlocal count\n    ^^^^^^^^^^^^^^\n" in message
    assert f"{__file__}:" in message
    assert "instead:" in message


# --------------------------------------------------------------------------- random jump structures


@st.composite
def blocks(draw, depth=0, in_loop=False):
    kinds = ["add", "add", "if", "if", "return"] + ["break", "continue"] * in_loop
    if depth < 3:
        kinds += ["for", "while", "for_else", "while_else", "with"]
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(kinds))
        if depth > 3 and kind == "if":
            kind = "add"
        lines += draw(statement(kind, depth, in_loop))
    return lines


def indented(lines):
    return ["    " + line for line in lines]


@st.composite
def statement(draw, kind, depth, in_loop):
    number = draw(st.integers(0, 4))
    if kind == "add":
        return [f"x = (x * 3 + {number + 1}) % 17"]
    if kind == "return":
        return [f"return (x, {number})"]
    if kind in ("break", "continue"):
        return [kind]
    test = draw(st.sampled_from([f"x % 3 == {number % 3}", f"x > {number * 3}", f"n < {number} < x"]))
    body = indented(draw(blocks(depth + 1, in_loop if kind in ("if", "with") else True)))
    orelse = []
    if kind.endswith("else") or (kind == "if" and draw(st.booleans())):
        orelse = ["else:", *indented(draw(blocks(depth + 1, in_loop)))]
    if kind == "with":
        return [f"with entered({number}) as y:", *body]
    if kind == "if":
        return [f"if {test}:", *body, *orelse]
    name = f"k{depth}"
    if kind.startswith("for"):
        return [f"for {name} in range({number}):", *body, *orelse, f"x += {name} if {number} else 1"]
    return [f"{name} = 0", f"while {name} < {number}:", f"    {name} += 1", *body, *orelse]


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(blocks(), st.booleans())
def test_random_jumps(lines, ends_with_return):
    text = "\n".join(["def f(x, n):", *indented(lines), *(["    return x"] * ends_with_return)])
    space = {"entered": contextlib.nullcontext}
    exec(text, space)
    core = desugar(gast.parse(text).body[0])
    assert_core(core)
    rewritten = compiled(core, space)
    for x in range(8):
        for n in (0, 2):
            assert outcome(rewritten, (x, n)) == outcome(space["f"], (x, n)), text + "\n\n" + to_text(core)


def test_doctests():
    assert doctest.testmod(package).failed == 0
