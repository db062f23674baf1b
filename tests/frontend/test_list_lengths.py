"""A name that means lists of several lengths: on two paths, and from trip to trip of a loop."""

from __future__ import annotations

import numpy as np
import pytest
from fuzz import Draft, Mode, check

HEAD = """
import numpy as np


class Groups:
    def __init__(self):
        self.now, self.total = [], 0.0

    def add(self, v):
        if v < 0:
            self.total = self.total + sum(self.now) ** 2
            self.now = []
        self.now.append(v * v)
"""
Y = np.array([0.3, -0.7, 1.1, 0.4, -0.2])
MODES = pytest.mark.parametrize("mode", [Mode(order=2), Mode(jit=True)], ids=["plain", "numba"])

LENGTHS = [
    "g, t = [0], 0.0\nfor v in y:\n    if v < 0:\n        t = t + max(g) ** 2\n        g = []\n    g.append(v * v)\nreturn t + sum(g)",
    "g = [1]\nif y[0] > 0:\n    g = []\ng.append(y[1])\nreturn sum(v * v for v in g)",
    "g = [1.0]\nif y[0] > 0:\n    g = [y[0], y[1], y[2]]\nreturn sum(v * v for v in g) + len(g) * y[1]",
    "g = [1]\nfor v in y:\n    if v > 0.35:\n        g = [1.5 * v, v]\nreturn sum(g) * y[0]",
    "s, t = [0], 0.0\nfor i in range(len(y)):\n    if y[i] > 0:\n        t = t + y[s[-1]] * y[i]\n        s = []\n    s.append(i)\nreturn t",
    "s, t = [0], 0.0\nfor i in range(len(y)):\n    if y[i] > 0:\n        t = t + y[s[np.argmax(y[s])]] * y[i]\n        s = []\n    s.append(i)\nreturn t",
    "g, t = [], 0.0\nfor v in y:\n    if v < 0:\n        t = t + sum(g) ** 2\n        g = []\n    else:\n        g.append(v * v)\nreturn t + sum(g)",
    "a, t = [(0, 0.0)], 0.0\nfor i in range(len(y)):\n    if y[i] > 0:\n        a = []\n    a.append((i, y[i] * y[0]))\n"
    "for i, v in a:\n    t = t + v * v * (i + 1)\nreturn t",
    "g = [1.0]\nfor v in y:\n    h = [0.0] + [w * v for w in g]\n    for j in range(len(g)):\n        h[j] = h[j] + 2 * g[j]\n    g = h\n"
    "return sum(v * v for v in g)",
    "c, n = [y[0], y[1]], 3\nwhile n > 0:\n    c = [v * y[2] for v in c] + [y[3]]\n    n = n - 1\nreturn sum(v * v for v in c)",
    "b, g = [], []\nfor v in y:\n    if v > -0.5:\n        g.append(v)\n    else:\n        if len(g) > len(b):\n            b = g\n        g = []\n"
    "if len(g) > len(b):\n    b = g\nreturn sum(v * v * v for v in b)",
    "g = Groups()\nfor v in y:\n    g.add(v)\nreturn g.total * y[0] + sum(g.now)",
]


def draft(body: str) -> Draft:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return Draft(f"{HEAD}\n\ndef f(y):\n{lines}\n", {"y": Y})


@MODES
@pytest.mark.parametrize("body", LENGTHS)
def test_lengths(body: str, mode: Mode) -> None:
    found = check(draft(body), mode)
    assert found.kind == "ok", found


def test_a_second_name_of_one_of_them() -> None:
    body = "g = [1.0]\nk = g\nfor v in y:\n    if v > 0:\n        g = [v, v]\n    g.append(v)\nreturn sum(v * v for v in g) + sum(k) * y[0]"
    found = check(draft(body))
    assert found.kind == "refused", found
    assert "it has several names" in found.detail
