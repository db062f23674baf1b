"""What depends on some parameters, and what may run before all of that."""

import pytest

from stgrad.analysis.binding_times import divided
from stgrad.ir import text as texts

IN_ORDER = """
def f(x: float64['n'], y_bar: float64['n']):
    y: float64['n'] = np.sin(x)
    a: float64['n'] = y_bar * y
    t: float64['n'] = np.cos(x)
    b: float64['n'] = a * t
    return y, b
"""

OVERWRITTEN = """
def f(x: float64['n'], y_bar: float64['n']):
    u: float64['n'] = np.sin(x)
    y: float64['n'] = np.copy(u)
    a: float64['n'] = y_bar * u
    u[...] = x
    b: float64['n'] = a * u
    return y, b
"""

REBOUND = """
def f(x: float64, y_bar: float64):
    t: float64 = np.sin(x)
    a: float64 = y_bar * t
    t = np.cos(x)
    b: float64 = a * t
    return x, b
"""

PRINTS = """
def f(x: float64, y_bar: float64):
    print(x)
    a: float64 = y_bar * x
    print(x)
    return x, a
"""


def ops(block):
    return [getattr(s, "op", type(s).__name__) for s in block]


@pytest.mark.parametrize(
    ("text", "early", "late"),
    [
        (IN_ORDER, ["np.sin", "np.cos"], ["np.multiply", "np.multiply"]),
        (OVERWRITTEN, ["np.sin", "np.copy"], ["np.multiply", "Store", "np.multiply"]),
        (REBOUND, ["np.sin"], ["np.multiply", "np.cos", "np.multiply"]),
        (PRINTS, ["print"], ["np.multiply", "print"]),
    ],
)
def test_divided(text, early, late):
    found = divided(texts.parse(text), ["y_bar"])
    assert tuple(map(ops, found)) == (early, late)
