"""What mypy says of a user's file: parameters of derivatives are those of the function, and their results fit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import stgrad

USERS = """
import numpy as np
import stgrad

def loss(w: np.ndarray, x: np.ndarray, scale: float = 1.0) -> float:
    return float(np.sum(w * x)) * scale

w, x = np.ones(3), np.ones(3)
g = stgrad.grad(loss)
g(w, x)
g(w, x=x, scale=2.0)
g(w)                                        # error
g(w, x, scale="two")                        # error
g(w, x, other=1.0)                          # error
text: str = g.source(w, x)
number: int = g.source(w, x)                # error

both = stgrad.value_and_grad(loss, argnums=(0, 1))
value, gradients = both(w, x)
reveal_type(value)                          # float
both(w, x, 1.0, 2.0)                        # error

@stgrad.grad(argnums="x")
def energy(k: float, x: float) -> float:
    return k * x * x

energy(1.0, 2.0)
energy(1.0)                                 # error

@stgrad.jit
def area(a: float, b: float) -> float:
    return a * b

reveal_type(area(1.0, b=2.0))               # float
area("a", 2.0)                              # error

@stgrad.value_and_grad
def cost(a: float) -> float:
    return a

cost(1.0)[0].is_integer()
cost()                                      # error
second = stgrad.grad(stgrad.grad(loss))
second(w, x)
second()                                    # error
"""


def test_mypy_knows_parameters_and_results(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    file = tmp_path / "users.py"
    file.write_text(USERS)
    root = Path(stgrad.__file__).parent.parent
    command = [sys.executable, "-m", "mypy", "--config-file=", "--follow-imports=silent", "--ignore-missing-imports", "--no-error-summary", str(file)]
    cache = ["--cache-dir", str(tmp_path / "cache")]
    environment = {"MYPYPATH": str(root), "PATH": "/usr/bin:/bin"}
    found = subprocess.run([*command, *cache], capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=300)
    said: dict[int, list[str]] = {}
    for line in found.stdout.splitlines():
        place, _, text = line.partition(": ")
        number = place.rpartition(":")[2]
        if place.startswith("users.py") and number.isdecimal():
            said.setdefault(int(number), []).append(text)
    for number, line in enumerate(USERS.splitlines(), 1):
        texts = said.get(number, [])
        if "# error" in line:
            assert any(text.startswith("error") for text in texts), f"mypy takes {line!r}: {found.stdout}"
        elif "reveal_type" in line:
            assert any('"builtins.float"' in text or '"float"' in text for text in texts), texts
        else:
            assert not [text for text in texts if text.startswith("error")], f"{line!r}: {texts}"


def test_documentation_of_derivatives() -> None:
    def loss(w, x):
        """Half the squared error."""
        return 0.5 * (w * x) ** 2

    def bare(x):
        return x

    assert stgrad.grad(loss, ("w", "x")).__doc__ == "Gradient of loss with respect to w and x.\n\nHalf the squared error."
    assert stgrad.value_and_grad(loss).__doc__ == "Value and gradient of loss with respect to w.\n\nHalf the squared error."
    assert stgrad.grad(bare).__doc__ == "Gradient of bare with respect to x."
    assert stgrad.jit(loss).__doc__ == "Half the squared error."
