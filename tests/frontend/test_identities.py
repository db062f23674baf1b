"""`is` of arrays: which names of the program mean one object."""

from __future__ import annotations

import numpy as np
import pytest
from fuzz import Draft, Mode, check

HEAD = """
import numpy as np


def weigh(a, b):
    return 3.0 if a is b else 0.5


class Pair:
    @classmethod
    def of(cls, a, b):
        self = object.__new__(cls)
        self.a, self.b = a, b
        return self


class Renewed:
    def __init__(self, y):
        self.y = y
        self.first = y

    def grow(self, c):
        self.y = self.y * c
"""
Y = np.array([0.3, -0.7, 1.1])
MODES = pytest.mark.parametrize("mode", [Mode(order=2), Mode(jit=True)], ids=["plain", "numba"])

KNOWN = [
    "z = y\nreturn weigh(z, y) * np.sum(y * y)",
    "z = y[:]\nreturn weigh(z, y) * np.sum(z * y)",
    "z = np.asarray(y)\nreturn weigh(z, y) * np.sum(z * y)",
    "z = np.ascontiguousarray(y * 2)\nreturn weigh(z, y) * np.sum(z * y)",
    "z = y * 2 if y[0] > 0 else y + 1\nreturn weigh(z, y) * np.sum(z * y)",
    "z = y.conj()\nz[0] = 3.0 * y[1]\nreturn weigh(z, y) * np.sum(z * y)",
    "z = np.conj(y)\nz[0] = 3.0 * y[1]\nreturn weigh(z, y) * np.sum(z * y)",
    "z = y.T\nz[0] = 3.0 * y[1]\nreturn weigh(z, y) * np.sum(z * y)",
    "z = np.squeeze(y)\nreturn weigh(z, y) * np.sum(z * y)",
    "z = np.moveaxis(y, 0, 0)\nreturn weigh(z, y) * np.sum(z * y)",
    "z = y.ravel()\nw = np.real(y)\nreturn weigh(z, y) * weigh(w, y) * np.sum(z * y)",
    "z = y * 2\nw = z\nreturn weigh(w, z) * np.sum(w * y)",
    "z = np.copy(y)\nreturn weigh(y, z) * np.sum(z * y)",
    "s = 0.0\nfor v in y:\n    z = y * v\n    w = z\n    s = s + weigh(w, z) * np.sum(w)\nreturn s",
    "p = Pair.of(y, y * y)\nreturn weigh(p.a, p.b) * np.sum(p.a * p.b)",
    "p = Pair.of(y, y)\nreturn weigh(p.a, p.b) * np.sum(p.a * p.b)",
    "h = Renewed(y)\nfor k in range(3):\n    s = weigh(h.y, h.first)\n    h.grow(y[1])\nreturn s * np.sum(h.y)",
    "s = 1.0\nh = Renewed(y)\nfor k in range(len(y)):\n    s = weigh(h.y, h.first)\n    h.grow(y[1])\nreturn s * np.sum(h.y)",
]
REFUSED = [
    "z = y * 2\nw = z\nfor k in range(3):\n    if w is z:\n        z = z * y\nreturn np.sum(z * w)",
    "z = y * 2\nw = y if y[0] > 0 else z\nreturn weigh(w, y) * np.sum(w * y)",
    "z = []\nfor k in range(3):\n    z.append(y)\nw = z[-1]\nreturn weigh(w, y) * np.sum(w * y)",
    "w = max([y, y * y], key=lambda v: v.sum())\nreturn weigh(w, y) * np.sum(w * y)",
    "z = y * 2\nw = z\nif y[0] > 0:\n    z = z * y\nreturn weigh(w, z) * np.sum(w * y)",
]


def draft(body: str) -> Draft:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return Draft(f"{HEAD}\n\ndef f(y):\n{lines}\n", {"y": Y})


@MODES
@pytest.mark.parametrize("body", KNOWN)
def test_known(body: str, mode: Mode) -> None:
    found = check(draft(body), mode)
    assert found.kind == "ok", found


@pytest.mark.parametrize("body", REFUSED)
def test_what_may_be_either(body: str) -> None:
    found = check(draft(body))
    assert found.kind == "refused", found
    assert "`is` of two values of the running program" in found.detail


def test_two_arguments() -> None:
    body = "return weigh(y, x) * np.sum(y * x)"
    found = check(Draft(f"{HEAD}\n\ndef f(y, x):\n    {body}\n", {"y": Y, "x": Y * 2}))
    assert found.kind == "refused", found
