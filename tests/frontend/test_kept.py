"""What an expression has evaluated to stays, whatever its names are bound to before it is used: in containers, iterators, methods, slices, left of `:=`."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pytest
from fuzz import Draft, Mode, check

HEAD = """
import functools
from collections import OrderedDict, namedtuple
from dataclasses import dataclass

import numpy as np


@dataclass
class Pair:
    u: object
    v: object = 1.0


Named = namedtuple("Named", "u v")


class Plain:
    def __init__(self, u, v):
        self.u = u
        self.v = v


def boxed(a):
    return [a]


def added(items, a):
    items.append(a)
    return items


def same(a):
    return a


"""

Y = np.array([0.3, -0.1, 0.7])


def checked(body: str, mode: Mode = Mode(), **args: Any) -> None:
    args = {"y": Y, **args}
    text = f"{HEAD}def f({', '.join(args)}):\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}\n"
    for seed in (0, 1):
        found = check(Draft(text, args), mode, seed)
        assert found.kind == "ok", f"{found.kind}: {found.detail}\n{body}"


HELD = [
    ("dict(a=c)", "d['a']"), ("dict(a=dict(b=c))", "d['a']['b']"), ("OrderedDict(a=c)", "d['a']"), ("dict.fromkeys('ab', c)", "d['a']"),
    ("{**dict(b=1.0), 'a': c}", "d['a']"), ("dict(a=c).items()", "list(d)[0][1]"), ("list((c, z))", "d[0] * np.sum(d[1])"), ("[[c]]", "d[0][0]"),
    ("(c, [c, z])", "d[1][0]"), ("[*(c, c)]", "d[0]"), ("[c] * 2", "d[1]"), ("Pair(c, z)", "d.u * np.sum(d.v)"), ("Named(c, z)", "d.u * np.sum(d.v)"),
    ("Plain(c, z)", "d.u * np.sum(d.v)"), ("boxed(c)", "d[0]"), ("added([1.0], c)", "d[1]"), ("added([], z)", "np.sum(d[0])"), ("same(c)", "d"),
    ("z.sum", "d()"), ("functools.partial(np.multiply, z)", "np.sum(d(z))"), ("enumerate(z)", "sum(i * v for i, v in d)"),
    ("zip(z, y)", "sum(a * b for a, b in d)"),
    ("map(lambda q: q * c, z)", "sum(d)"), ("reversed(z)", "sum(q * y[0] for q in d)"), ("(q * 2 for q in z)", "sum(d)"), ("(c if c > -9 else 2.0)", "d"),
    ("z[1:]", "np.sum(d)"), ("lambda q, b=c: q * b", "d(2.0)"), ("lambda q: q * c", "d(2.0)"),
]  # fmt: skip


@pytest.mark.parametrize(("held", "use"), HELD)
def test_what_a_name_holds(held: str, use: str) -> None:
    checked(f"c = y[0] * 2\nz = y * 2\nd = {held}\nc = c * 3\nz = z * 3\nreturn {use} + c + np.sum(z)")


LOOPS = {
    "for a in z:\n    z = z * 0.5\n    s = s + a": "an array",
    "for a, b in zip(z, y):\n    z = z * 0.5\n    s = s + a * b": "zip",
    "for i, (a, b) in enumerate(zip(z, z)):\n    z = z * 0.5\n    s = s + a * b * i": "nested",
    "for a in reversed(z):\n    z = z * 0.5\n    s = s * a + a": "reversed",
    "for a in map(lambda v: v * 2, z):\n    z = z * 0.5\n    s = s + a": "map",
    "for a in z:\n    if a > 0:\n        z = z * 0.5\n    s = s + a\n    for q in z:\n        z = z * 0.2\n        s = s * 0.5 + q": "loops in loops",
    "A = np.outer(z, z)\nfor r in A:\n    A = A * 0.5\n    s = s + np.sum(r * r)": "rows",
    "for a in z[1:]:\n    z = z * 0.5\n    s = s + a": "a slice",
    "n = len(y) - 1\nr = range(n)\nn = n - 1\nfor i in r:\n    s = s + z[i]": "range",
    "n = len(y) - 1\nn = n + 1\nt = slice(0, n)\nn = n - 1\ns = np.sum(z[t]) + s * n": "a slice object",
}


@pytest.mark.parametrize("body", LOOPS, ids=LOOPS.values())
def test_what_a_loop_goes_over(body: str) -> None:
    checked(f"z = y * 2\ns = 0.1\n{body}\nreturn s + np.sum(z)")


def test_what_a_loop_goes_over_compiled() -> None:
    checked("z = y * 2\ns = 0.1\nfor a, b in zip(z, y):\n    z = z * 0.5\n    s = s + a * b\nreturn s + np.sum(z)", Mode(jit=True, order=2))


@pytest.mark.parametrize(
    "body",
    [
        "return c + (c := c * 2) + c",
        "w = z + (z := z * 3)\nreturn np.sum(w * z)",
        "d = c < (c := c * 2) < 5\nreturn c * d",
        "a = [c, (c := c * 2), c]\nreturn a[0] + 2 * a[1] + 3 * a[2]",
        "for i in range(3):\n    s = s + c + (c := c * 0.5) * c\nreturn s * c",
        "k = 0\nwhile (k := k + 1) < 3:\n    s = s + z[k] * k\nreturn s * k",
        "for i in range(2):\n    z[i] = np.sum(z) + np.sum(z := z * 0.5)\nreturn np.sum(z)",
        "return sum([w * w for v in y if (w := v * 2) > -5.0]) * c",
    ],
)
def test_names_bound_in_expressions(body: str) -> None:
    checked(f"c = y[0] * 2\nz = y * 2\ns = 0.1\n{body}")


def test_a_name_of_a_comprehension_that_is_bound_outside_too() -> None:
    text = f"{HEAD}def f(y):\n    c = 1.0\n    q = [c := c * v for v in y]\n    return sum(q) * c\n"
    found = check(Draft(text, {"y": Y}))
    assert found.kind == "refused"
    assert "`c` is bound by a comprehension and outside of it" in found.detail
