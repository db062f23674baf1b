"""Functions that `exec` and `eval` have made: what their instructions tell is their text, and it compiles to the same instructions."""

import math
import types

import numpy as np
import pytest

import stgrad
from stgrad import errors
from stgrad.decompiled import instructions, text_of
from stgrad.source import load

READ = [
    "def f(x, mu: float, sigma=2.0): return wrap(g)(x, mu, sigma)",
    "def f(x, *rest, **named): return g(*rest, **named)",
    "def f(x, *rest, k=2, **named): return g(x, *rest, k=k, **named)",
    "def f(self, loc, scale=1): return (), loc, scale",
    'def f(x):\n    "Doc."\n    y = x.sum(axis=0)\n    return y[1:], -y, +y, not y, ~y, y[0], y[:, None], y[::2]',
    "def f(x):\n    if x > 0 and x < 3: return 2.0\n    if x is None: return x in (1, 2)\n    return x ** 2",
    "def f(x):\n    print(x)",
    "f = lambda x, c: g(x if c else -x, [1, x])",
    "f = lambda x: x if x > 0 else -x if x < -1 else 1",
    "import math\nf = lambda x: math.sin(x) + math.pi",
    "import math, numpy as np\ndef f(x): return math.sin(x) + np.exp(x) + h.apply(x)",
    "def outer(c):\n    def f(x): return c * x\n    return f\nf = outer(3.0)",
]
NOT_READ = [
    "def f(x):\n    for i in x: pass\n    return x",
    "def f(x):\n    return [i for i in x]",
    "def f(x):\n    try: return x\n    except ValueError: return 1",
    "def f(x):\n    while x > 1: x = x / 2\n    return x",
    "def f(x):\n    yield x",
    "async def f(x): return x",
    "def f(x):\n    def g(y): return x * y\n    return g(x)",
]


def made(text, **names):
    space = dict(names)
    exec(text, space)
    return space["f"]


@pytest.mark.parametrize("text", READ)
def test_the_text_compiles_to_the_same(text):
    function = made(text)
    found = text_of(function.__code__)
    assert found is not None
    again = f"f = {found}" if found.startswith("lambda") else found
    for before in ("", "import math, numpy as np\n"):
        names = function.__code__.co_freevars
        body = "\n".join(f"    {line}" for line in again.splitlines())
        around = made(f"{before}def make({', '.join(names)}):\n{body}\n    return f\nf = make")
        (code,) = (c for c in around.__code__.co_consts if isinstance(c, types.CodeType))
        if instructions(code) == instructions(function.__code__):
            return
    raise AssertionError(found)


@pytest.mark.parametrize("text", NOT_READ)
def test_what_is_not_read_has_no_text(text):
    function = made(text)
    assert text_of(function.__code__) is None
    with pytest.raises(errors.SourceNotFoundError, match="made by `exec` or `eval`"):
        load(function)


def wrapping(function):
    def outer(first, *rest):
        return function(np.array(first).flatten(), *rest).reshape(np.shape(first))

    return outer


def density(x, mu, sigma):
    return np.exp(-0.5 * ((x - mu) / sigma) ** 2)


@pytest.mark.parametrize("jit", [False, True])
def test_wrappers_that_a_package_writes(jit):
    f = made("def f(x, mu, sigma=2.0): return wrap(density)(x, mu, sigma)", wrap=wrapping, density=density)
    x = np.array([0.3, 1.7])
    expected = density(x, 0.5, 2.0) * (x - 0.5) / 4.0
    assert np.allclose(stgrad.vjp(f, x, 0.5, jit=jit)[1](np.ones(2))[1], expected.sum())


@pytest.mark.parametrize("jit", [False, True])
def test_lambdas_of_eval(jit):
    f = eval("lambda x: math.sin(x) if x > 0 else x ** 3")
    first = stgrad.grad(f, jit=jit)
    assert math.isclose(first(0.4), math.cos(0.4)) and math.isclose(first(-0.5), 0.75)
    assert math.isclose(stgrad.grad(first, jit=jit)(-0.5), -3.0)


def test_errors_show_the_line_that_was_read():
    f = made("import numpy as np\ndef f(x):\n    y = x * x\n    return np.lexsort(y)")
    with pytest.raises(errors.NotDifferentiableError, match=r"(?s)<string>:3.*return np\.lexsort\(y\)"):
        stgrad.grad(f, jit=True)(np.ones(3))
