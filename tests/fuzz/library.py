"""Functions and classes of the module that random programs call; a program's text has those that it uses."""

from __future__ import annotations

SOURCES: dict[str, str] = {}


def _add(text: str) -> None:
    name = next(line.split("(")[0].split(":")[0].split()[-1] for line in text.splitlines() if line.startswith(("def ", "class ")))
    SOURCES[name] = text.strip("\n")


for _text in '''
@dataclass
class Pair:
    u: object
    v: object

===
def scale_first(a, b):
    a[0] = b[-1] * 0.5
    a[1:] += b[:-1]

===
def mix(a, b, s=0.7):
    a *= b
    b[-1] = a[0] * s

===
def blend(a, b, s):
    r = a * s + b
    r[0] = s * 0.3
    return r

===
def doubled(a):
    out = np.zeros_like(a)
    for i in range(len(a)):
        out[i] = a[i] * 2.0 if i % 2 == 0 else a[i]
    return out

===
def clipped(a, low=-0.5, high=0.6):
    return np.clip(a, low, high)

===
def tail(a):
    return a[1:], a[0]

===
def normal(a):
    return a / np.sqrt(np.sum(a * a) + 0.3)

===
def soft(a, slope=0.5):
    return np.log(1.0 + np.exp(-abs(a * slope))) + max(a * slope, 0.0)

===
def poly(a, *coefficients):
    value = 0.0
    for k in coefficients:
        value = value * a + k
    return value

===
def early(a, n):
    for i in range(n):
        if i == 1:
            return a * 0.5
        a = np.sin(a)
    return a

===
def gcd_like(a, b):
    while b:
        a, b = b, a % b
    return a

===
def scaled(a, *, factor=2.0):
    return a * factor

===
def row_update(m, s):
    for i in range(m.shape[0]):
        r = m[i]
        r[1:] *= s
        r[0] += r[-1]

===
def push(items, value):
    items.append(value)
    return len(items)

===
@stgrad.custom_gradient
def cubed(a):
    return a * a * a, lambda g: g * 3.0 * a * a

'''.split("==="):
    _add(_text)


def module(used: set[str], body: str) -> str:
    """The text of a module: imports, the functions used, the program."""
    parts = [SOURCES[name] for name in SOURCES if name in used]
    imports = ["import math"] + ["from dataclasses import dataclass"] * ("Pair" in used) + ["", "import numpy as np", "", "import stgrad"]
    return "\n\n\n".join(["\n".join(imports), *parts, body]) + "\n"
