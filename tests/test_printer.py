"""Printed text reads as intended (golden strings) and means what the IR means (it is run)."""

import itertools
import random
import textwrap

import numba
import numpy as np
import pytest

from stgrad.ir import (
    ALL,
    NONE,
    Assign,
    Const,
    Custom,
    Dim,
    Effect,
    For,
    Function,
    If,
    Pack,
    Pop,
    Push,
    Slice,
    Stack,
    Store,
    Type,
    Var,
    While,
    assigned,
)
from stgrad.printer import print_block, to_source

FLOAT, INT, BOOL = Type("float64", weak=True), Type("int64", weak=True), Type("bool")
VECTOR = Type("float64", (Dim("n"),), array=True)
MATRIX = Type("float64", (Dim("n"), Dim("m")), array=True)


def var(operand):
    return Var(operand) if isinstance(operand, str) else operand if isinstance(operand, (Var, Pack, Slice)) else Const(operand)


def let(name, op, *args, note=None, **kwargs):
    targets = tuple(map(Var, name.split()))
    return Assign(targets, op, tuple(map(var, args)), tuple((k, var(v)) for k, v in kwargs.items()), note=note)


def function(params, body, result, name="f", **types):
    names = {p: FLOAT for p in params.split()} | {n: FLOAT for n in assigned(tuple(body))} | types
    return Function(name, tuple(map(Var, params.split())), tuple(body), var(result) if isinstance(result, str) else result, names)


def run(fn, *args, **options):
    space = {}
    exec(to_source(fn, **options), space)
    return space[fn.name](*args)


def body_text(fn):
    """The body without imports, def line and indentation."""
    return textwrap.dedent(to_source(fn).partition("def ")[2].partition("\n")[2]).rstrip("\n")


def check(fn, expected):
    assert body_text(fn) == textwrap.dedent(expected).strip("\n")


def test_the_logistic_map():
    body = [
        let("x", "alias", "x0"),
        Stack("x_stack"),
        For(
            Var("i"),
            Const(0),
            Var("n"),
            Const(1),
            (
                Push("x_stack", Var("x")),
                let("_t", "np.multiply", "r", "x"),
                let("_t_2", "np.subtract", 1.0, "x"),
                let("x", "np.multiply", "_t", "_t_2"),
            ),
        ),
        let("r_bar", "alias", 0.0),
        For(
            Var("i"),
            Const(2),
            Const(-1),
            Const(-1),
            (
                Pop(Var("x"), "x_stack"),
                let("_t_3", "np.subtract", 1.0, "x", note="grad of line 4: x = r * x * (1.0 - x)"),
                let("_t_4", "np.multiply", "x_bar", "x", note="grad of line 4: x = r * x * (1.0 - x)"),
                let("_t_5", "np.multiply", "_t_4", "_t_3", note="grad of line 4: x = r * x * (1.0 - x)"),
                let("r_bar", "np.add", "r_bar", "_t_5", note="grad of line 4: x = r * x * (1.0 - x)"),
                let("_t_6", "np.multiply", "x_bar", "r", note="grad of line 4: x = r * x * (1.0 - x)"),
                let("_t_7", "np.subtract", "_t_3", "x", note="grad of line 4: x = r * x * (1.0 - x)"),
                let("x_bar", "np.multiply", "_t_6", "_t_7", note="grad of line 4: x = r * x * (1.0 - x)"),
            ),
        ),
    ]
    fn = Function(
        "logistic_grad",
        tuple(map(Var, ("r", "x0", "n", "x_bar"))),
        tuple(body),
        Pack((Var("r_bar"), Var("x_bar"))),
        {n: FLOAT for n in assigned(tuple(body))},
        {"x_bar": 1.0},
        "Gradient of logistic with respect to r and x0.",
    )
    assert to_source(fn) == textwrap.dedent('''\
        def logistic_grad(r, x0, n, x_bar=1.0):
            """Gradient of logistic with respect to r and x0."""
            x = x0
            x_stack = []
            for i in range(n):
                x_stack.append(x)
                x = r * x * (1.0 - x)
            r_bar = 0.0
            for i in range(2, -1, -1):
                x = x_stack.pop()
                # grad of line 4: x = r * x * (1.0 - x)
                t = 1.0 - x
                r_bar += x_bar * x * t
                x_bar = x_bar * r * (t - x)
            return r_bar, x_bar
        ''')
    assert run(fn, 3.0, 0.2, 3) == run(fn, 3.0, 0.2, 3, nest=False)


@pytest.mark.parametrize(
    ("op", "args", "text"),
    [
        ("np.add", ("x", "y"), "x + y"),
        ("np.add", ("x", -2.0), "x - 2.0"),
        ("np.subtract", ("x", -2), "x + 2"),
        ("np.power", (-2.0, "x"), "(-2.0) ** x"),
        ("np.power", ("x", -2.0), "x ** -2.0"),
        ("np.matmul", ("x", "y"), "x @ y"),
        ("np.negative", ("x",), "-x"),
        ("not", ("x",), "not x"),
        ("np.less_equal", ("x", "y"), "x <= y"),
        ("np.logical_and", ("x", "y"), "np.logical_and(x, y)"),
        ("np.absolute", ("x",), "np.abs(x)"),
        ("math.sin", ("x",), "math.sin(x)"),
        ("scipy.special.erf", ("x",), "scipy.special.erf(x)"),
        ("runtime.outer", ("x", "y"), "runtime.outer(x, y)"),
        ("unbroadcast", ("x", "y"), "runtime.unbroadcast(x, y)"),
        ("stop_gradient", ("x",), "x"),
        ("float", ("x",), "float(x)"),
        ("shape", ("x", 0), "x.shape[0]"),
        ("cast", ("x", "float32!"), "np.float32(x)"),
        ("cast", ("x", "bool!"), "np.bool_(x)"),
        ("getitem", ("x", "i"), "x[i]"),
        ("getitem", ("x", Pack((Var("i"), Slice(Const(1), Var("n"), NONE)))), "x[i, 1:n]"),
        ("getitem", ("x", Slice(NONE, NONE, Const(-1))), "x[::-1]"),
        ("getitem", ("x", Pack((NONE, ALL))), "x[None, ...]"),
        ("getitem", ("x", Pack(())), "x[()]"),
        ("np.zeros", (Pack((Var("n"),)), np.float64), "np.zeros((n,), np.float64)"),
        ("np.stack", (Pack((Var("x"), Var("y"))),), "np.stack((x, y))"),
        ("alias", (np.float32(0.5),), "np.float32(0.5)"),
        ("alias", (float("inf"),), "np.inf"),
        ("alias", (float("-inf"),), "-np.inf"),
        ("alias", (float("nan"),), "np.nan"),
        ("alias", (np.float64("nan"),), "np.float64(np.nan)"),
        ("alias", (np.dtype("complex64"),), "np.complex64"),
        ("alias", (-0.0,), "-0.0"),
        ("alias", (2j,), "2j"),
        ("alias", (complex(1.0, -2.0),), "complex(1.0, -2.0)"),
        ("alias", ("text!",), "'text'"),
    ],
)
def test_spelling(op, args, text):
    operands = [Const(a[:-1]) if isinstance(a, str) and a.endswith("!") else a for a in args]
    operands = [a if isinstance(a, Const) else var(a) for a in operands]
    assert print_block((Assign((Var("z"),), op, tuple(operands)),)) == f"z = {text}"


def test_keywords_and_several_targets():
    assert print_block((let("q r", "np.linalg.qr", "a", mode=Pack(())),)) == "q, r = np.linalg.qr(a, mode=())"
    assert print_block((let("s", "np.sum", "a", axis=0, keepdims=True),)) == "s = np.sum(a, axis=0, keepdims=True)"


def test_parentheses_keep_the_order():
    body = [
        let("_a", "np.add", "x", "y"),
        let("_b", "np.add", "x", "_a"),
        let("_c", "np.multiply", "_b", "y"),
        let("_d", "np.power", "_c", 2.0),
        let("_e", "np.negative", "_d"),
        let("z", "np.subtract", "x", "_e"),
        let("_f", "np.negative", "z"),
        let("_g", "np.power", "_f", 2),
        let("w", "np.divide", "_g", "x"),
    ]
    fn = function("x y", body, "w")
    check(fn, "z = x + ((x + (x + y)) * y) ** 2.0\nw = (-z) ** 2 / x\nreturn w")
    assert run(fn, 1.7, 0.3) == run(fn, 1.7, 0.3, nest=False)


def test_imports():
    body = [let("_a", "math.sin", "x"), let("_b", "np.linalg.norm", "_a"), let("_c", "scipy.special.erf", "_b"), let("y", "runtime.f", "_c")]
    assert to_source(function("x", body, "y")).splitlines()[:8] == [
        "import math",
        "",
        "import numpy as np",
        "import scipy.special",
        "",
        "from stgrad import runtime",
        "from stgrad.runtime import special  # lets Numba compile scipy.special",
        "",
    ]


def test_a_temporary_is_not_moved_past_what_changes_it():
    fn = function(
        "x y v",
        [
            let("_t", "np.multiply", "x", 2.0),
            let("x", "np.add", "x", 1.0),
            let("_t_2", "getitem", "v", 0),
            let("_t_3", "np.add", "x", "y"),
            let("_t_4", "shape", "v", 0),
            Store(Var("v"), Const(0), Var("_t_3")),
            let("_t_5", "np.add", "_t", "_t_2"),
            let("z", "np.add", "_t_5", "_t_4"),
        ],
        "z",
        v=VECTOR,
    )
    check(fn, "t = x * 2.0\nx += 1.0\nt2 = v[0]\nv[0] = x + y\nz = t + t2 + v.shape[0]\nreturn z")
    assert run(fn, 1.0, 2.0, np.ones(3)) == run(fn, 1.0, 2.0, np.ones(3), nest=False) == 6.0


def test_a_temporary_is_not_moved_into_a_loop_or_past_one_that_changes_it():
    fn = function(
        "x n",
        [
            let("_a", "np.sin", "x"),
            let("_b", "np.cos", "x"),
            let("_c", "np.exp", 2.0),
            For(Var("i"), Const(0), Var("n"), Const(1), (let("x", "np.multiply", "x", "_a"),)),
            let("_d", "np.add", "_b", "_c"),
            let("y", "np.add", "x", "_d"),
        ],
        "y",
        i=INT,
    )
    check(
        fn,
        "a = np.sin(x)\nb = np.cos(x)\nfor i in range(n):\n    x *= a\ny = x + (b + np.exp(2.0))\nreturn y",
    )


def test_a_temporary_that_is_reused_nests_each_time():
    fn = function("x", [let("_t", "np.sin", "x"), let("y", "np.cos", "_t"), let("_t", "np.exp", "y"), let("z", "np.add", "_t", 1.0)], "z")
    check(fn, "y = np.cos(np.sin(x))\nz = np.exp(y) + 1.0\nreturn z")


def test_names_of_the_user_stay_and_lines_stay_short():
    body = [let("_t_0", "alias", "x")]
    body += [let(f"_t_{k}", "np.multiply", f"_t_{k - 1}", "a_rather_long_name") for k in range(1, 8)]
    fn = function("x a_rather_long_name", [*body, let("u", "np.sin", "_t_7"), let("v", "np.cos", "u")], "v")
    assert max(map(len, to_source(fn).splitlines())) <= 100
    assert "u = np.sin(" in to_source(fn)
    assert run(fn, 0.5, 1.1) == run(fn, 0.5, 1.1, nest=False)


def test_random_numbers_are_not_moved():
    fn = function("x", [let("_a", "np.random.normal"), let("_b", "np.random.normal"), let("y", "np.subtract", "_b", "_a")], "y")
    check(fn, "a = np.random.normal()\nb = np.random.normal()\ny = b - a\nreturn y")


def test_fresh_spelling_of_temporaries():
    fn = function("t", [let("_t", "np.sin", "t"), let("y", "np.multiply", "_t", "_t")], "y")
    check(fn, "t2 = np.sin(t)\ny = t2 * t2\nreturn y")


def test_stores():
    y, z, u = Var("y"), Var("z"), Var("u")
    body = [
        Store(y, Const(0), Var("x")),
        let("_t", "np.negative", "x"),
        Store(y, Pack((Slice(NONE, Const(2), NONE),)), Var("_t"), "add"),
        Store(y, ALL, Const(0.0)),
        Store(y, ALL, Var("x"), "add"),
        Store(z, ALL, Const(1.0)),
        Store(y, Var("i"), Var("x"), "add_at"),
        Store(y, Pack((Slice(Const(1), NONE, NONE), Const(0))), Var("x"), "add_at"),
        let("u", "np.add", "u", "y"),
    ]
    fn = function("x y z u i", body, NONE, y=VECTOR, z=Type("float64", array=True), u=VECTOR)
    check(
        fn,
        """
        y[0] = x
        y[:2,] -= x
        y[:] = 0.0
        y += x
        z[()] = 1.0
        np.add.at(y, i, x)
        np.add.at(y, (slice(1, None, None), 0), x)
        u = u + y
        return None
        """,
    )
    assert u in fn.params


def test_scalars_update_in_place_arrays_do_not():
    fn = function("x v", [let("x", "np.multiply", "x", 2.0), let("v", "np.multiply", "v", 2.0)], "v", v=VECTOR)
    check(fn, "x *= 2.0\nv = v * 2.0\nreturn v")


def test_and_or_conditional():
    fn = function(
        "x y",
        [
            let("_c", "np.less", "x", 1.0),
            If(Var("_c"), (let("_t", "np.sin", "y"), let("_c", "np.greater", "_t", 0.0))),
            let("_d", "alias", "_c"),
            let("_n", "not", "_d"),
            If(Var("_n"), (let("_d", "np.equal", "y", 2.0),)),
            If(Var("_d"), (let("z", "np.multiply", "x", 2.0),), (let("z", "alias", "y"),)),
        ],
        "z",
        _c=BOOL,
        _d=BOOL,
    )
    check(fn, "z = x * 2.0 if x < 1.0 and np.sin(y) > 0.0 or y == 2.0 else y\nreturn z")
    for x in (0.5, 1.5):
        for y in (1.0, 2.0, -1.0):
            assert run(fn, x, y) == run(fn, x, y, nest=False)


def test_what_takes_an_item_off_a_stack_always_runs():
    """A product that is left out where its factor is zero takes the other factor off its stack all the same; what only computes may stay behind."""
    fn = function(
        "g p",
        [
            Stack("s", FLOAT),
            Push("s", Var("p")),
            let("_z", "np.equal", "g", 0.0),
            let("_p", "runtime.pop", "s"),
            let("_w", "np.multiply", "g", "_p"),
            If(Var("_z"), (let("_y", "alias", 0.0),), (let("_y", "alias", "_w"),)),
            let("_v", "np.multiply", "g", "p"),
            If(Var("_z"), (let("_x", "alias", 0.0),), (let("_x", "alias", "_v"),)),
            let("z", "np.add", "_y", "_x"),
        ],
        "z",
        _z=BOOL,
    )
    text = to_source(fn)
    assert "0.0 if z_2 else g * p" in text
    assert not any(" else " in line and "pop" in line for line in text.splitlines())


@pytest.mark.parametrize("between", [[], [Push("s", Const(3.0))], [let("z", "runtime.pop", "s")], [If(Var("_z"), (let("z", "runtime.pop", "s"),))]])
def test_items_of_a_stack_come_off_in_their_order(between):
    pops = [let("_a", "runtime.pop", "s"), *between, let("_b", "runtime.pop", "s")]
    pushes = [Push("s", Const(float(k))) for k in range(5)]
    for order in ("_b", "_a"), ("_a", "_b"):
        body = [Stack("s", FLOAT), *pushes, let("z", "alias", 0.0), let("_z", "np.equal", "p", 1.0), *pops, let("c", "np.subtract", *order)]
        fn = function("p", body, Pack((Var("c"), Var("z"))), _z=BOOL)
        assert run(fn, 1.0) == run(fn, 1.0, nest=False)
        assert run(fn, 2.0) == run(fn, 2.0, nest=False)


def test_or_with_an_empty_branch_and_a_long_conditional():
    long = [let(f"_a{k}", "np.sin", f"_a{k - 1}" if k else "x") for k in range(9)]
    fn = function(
        "x y",
        [
            let("c", "np.less", "x", 1.0),
            If(Var("c"), (), (let("c", "np.less", "y", 1.0),)),
            If(Var("c"), (*long, let("z", "alias", "_a8")), (let("z", "alias", "y"),)),
            If(Var("c"), (), (let("z", "np.add", "z", 1.0),)),
        ],
        "z",
        c=BOOL,
    )
    nested = "np.sin(" * 9 + "x" + ")" * 9
    check(
        fn,
        f"c = x < 1.0 or y < 1.0\nif c:\n    z = {nested}\nelse:\n    z = y\nif not c:\n    z += 1.0\nreturn z",
    )


def test_not_a_short_circuit():
    fn = function("x", [let("c", "np.less", "x", 1.0), If(Var("c"), (let("c", "not", "c"),))], "c", c=BOOL)
    check(fn, "c = x < 1.0\nif c:\n    c = not c\nreturn c")


def test_while():
    fn = function(
        "x",
        [
            let("n", "alias", 0),
            While((let("_c", "np.less", "x", 9.0),), Var("_c"), (let("x", "np.multiply", "x", 2.0), let("n", "np.add", "n", 1))),
            While((let("y", "np.sin", "x"), let("_d", "np.greater", "y", 0.5)), Var("_d"), (let("x", "np.add", "x", 1.0),)),
            While((), Const(False), ()),
        ],
        Pack((Var("x"), Var("y"), Var("n"))),
        n=INT,
    )
    check(
        fn,
        """
        n = 0
        while x < 9.0:
            x *= 2.0
            n += 1
        while True:
            y = np.sin(x)
            if not y > 0.5:
                break
            x += 1.0
        while False:
            pass
        return x, y, n
        """,
    )
    assert run(fn, 1.3) == run(fn, 1.3, nest=False)


def test_the_condition_of_a_while_is_not_taken_from_outside():
    fn = function("x", [let("_c", "np.less", "x", 2.0), While((), Var("_c"), (let("_c", "np.less", "x", 0.0),))], "x", _c=BOOL)
    check(fn, "c = x < 2.0\nwhile c:\n    c = x < 0.0\nreturn x")


def test_effects():
    body = [
        Effect("print", (Const("x ="), Var("x"))),
        let("_c", "np.less", "x", 0.0),
        If(Var("_c"), (Effect("raise", (Const("ValueError"), Const("negative"))),)),
        Effect("check_equal", (Var("x"), Const(2), Const("extents differ"))),
    ]
    check(
        function("x", body, "x"),
        """
        print('x =', x)
        if x < 0.0:
            raise ValueError('negative')
        if x != 2:
            raise ValueError('extents differ')
        return x
        """,
    )


def test_swap():
    body = [let("_t", "alias", "a"), let("a", "alias", "b"), let("b", "alias", "_t")]
    check(function("a b", body, Pack((Var("a"), Var("b")))), "a, b = b, a\nreturn a, b")
    check(function("a b", body, Pack((Var("a"), Var("_t")))), "t = a\na = b\nb = t\nreturn a, t")


def test_notes_where_they_change():
    body = [let("a", "np.sin", "x", note="one"), let("b", "np.sin", "a", note="one"), let("c", "np.sin", "b"), let("d", "np.sin", "c", note="two")]
    check(function("x", body, "d"), "# one\na = np.sin(x)\nb = np.sin(a)\nc = np.sin(b)\n# two\nd = np.sin(c)\nreturn d")


def test_empty_blocks_and_custom():
    custom = Custom((Var("y"),), (Var("x"),), (let("y", "np.sin", "x"),), (Var("y_bar"),), (), (Var("y_bar"),))
    fn = function("x", [For(Var("i"), Const(0), Const(3), Const(1), ()), If(Var("x"), ()), custom], "y", i=INT)
    check(fn, "for i in range(3):\n    pass\nif x:\n    pass\n# custom gradient\ny = np.sin(x)\nreturn y")


def test_docstrings():
    fn = function("x", [], "x")
    text = to_source(Function("f", fn.params, (), Var("x"), {}, {}, 'Says "hi"\n\nand \\ too."'))
    space = {}
    exec(text, space)
    assert space["f"].__doc__.replace(" ", "").strip() == 'Says"hi"\n\nand\\too."'


def test_numba_compiles_the_text():
    body = [
        let("y", "np.zeros", Pack((Var("n"),))),
        For(Var("i"), Const(0), Var("n"), Const(1), (let("_t", "np.multiply", "x", "i"), Store(Var("y"), Var("i"), Var("_t")))),
        Store(Var("y"), ALL, Const(1.0), "add"),
        let("_s", "np.sum", "y"),
    ]
    fn = function("x n", body, "_s", y=VECTOR)
    space = {}
    exec(to_source(fn), space)
    assert numba.njit(space["f"])(2.0, 3) == run(fn, 2.0, 3) == 9.0


# --------------------------------------------------------------------------- random programs


class Generator:
    """Random IR programs over the scalars a, b and temporaries, the vector v, what the stack s holds, and counters."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.count = 0

    def scalar(self, known):
        return Var(self.random.choice(known)) if self.random.random() < 0.85 else Const(self.random.choice([2.0, -1.5, 0.0, 1]))

    def statement(self, known, depth):
        choice = self.random.random()
        if choice < 0.55:
            target = self.random.choice(["a", "b", "_x", "_x"]) if self.random.random() < 0.4 else self.fresh()
            op, arity = self.random.choice([("np.add", 2), ("np.subtract", 2), ("np.multiply", 2), ("np.negative", 1), ("np.sin", 1), ("alias", 1)])
            stmt = Assign((Var(target),), op, tuple(self.scalar(known) for _ in range(arity)))
            known.append(target)
            return stmt
        if choice < 0.6:
            known.append(self.fresh())
            return Assign((Var(known[-1]),), "runtime.pop", (Var("s"),))
        if choice < 0.65:
            known.append(self.fresh())
            return Assign((Var(known[-1]),), "getitem", (Var("v"), Const(self.random.randrange(3))))
        if choice < 0.78:
            mode = self.random.choice(["set", "add"])
            return Store(Var("v"), self.random.choice([Const(1), ALL]), self.scalar(known), mode)
        if depth > 2:
            return Assign((Var("a"),), "np.tanh", (self.scalar(known),))
        if choice < 0.92:
            orelse = self.block(list(known), depth + 1) if self.random.random() < 0.5 else ()
            return If(Var(self.random.choice(known)), self.block(known, depth + 1), orelse)
        self.count += 1
        return For(Var(f"i{self.count}"), Const(0), Const(2), Const(1), self.block(list(known), depth + 1))

    def fresh(self):
        self.count += 1
        return f"_t_{self.count}"

    def block(self, known, depth):
        known = list(known)
        return tuple(self.statement(known, depth) for _ in range(self.random.randrange(1, 9)))

    def function(self):
        known = ["a", "b", "_x"]
        body = list(self.block(known, 0))
        stack = Stack("s", FLOAT)
        filled = [Push("s", Const(float(k))) for k in range(99)]
        last = Assign((Var("z"),), "runtime.pop", (Var("s"),))
        return function("a b v", [let("_x", "alias", 0.5), stack, *filled, *body, last], Pack((Var("a"), Var("b"), Var("v"), Var("_x"), Var("z"))), v=VECTOR)


def outcome(fn, nest):
    v = np.array([0.3, -0.7, 1.1])
    try:
        return [np.asarray(r).tolist() for r in run(fn, 0.4, -0.9, v, nest=nest)]
    except UnboundLocalError:
        return "unbound"


@pytest.mark.parametrize("seed", range(200))
def test_nesting_never_changes_a_result(seed):
    fn = Generator(seed).function()
    expected = outcome(fn, nest=False)
    if expected != "unbound":
        assert outcome(fn, nest=True) == expected
    assert to_source(fn) == to_source(fn)


def test_conditions():
    body = [
        let("_a", "np.less", "i", "n"),
        let("_b", "not", "_r"),
        If(Var("_a"), (let("_c", "alias", "_b"),), (let("_c", "alias", False),)),
        let("_d", "np.equal", "i", 2),
        let("_e", "not", "_d"),
        If(Var("_e"), (let("_f", "alias", True),), (let("_f", "alias", "_c"),)),
        let("_g", "np.remainder", "i", 2),
        let("_h", "bool", "_g"),
        If(Var("_h"), (let("i", "alias", 5),)),
        let("_j", "bool", "i"),
        let("k", "not", "_j"),
        If(Var("_f"), (let("i", "np.add", "i", 1),)),
    ]
    fn = function("i n _r", body, Pack((Var("i"), Var("k"))), i=INT, n=INT, _r=BOOL)
    check(fn, "f = i != 2 or i < n and not _r\nif i % 2:\n    i = 5\nk = not i\nif f:\n    i += 1\nreturn i, k")
    for args in itertools.product(range(4), range(4), (True, False)):
        assert run(fn, *args) == run(fn, *args, nest=False)
