"""What mypy and Pyright say of a user's file: parameters of derivatives are those of the function, and their results fit."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
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

def springs(x: np.ndarray, k: float) -> np.ndarray:
    return k * stgrad.stop_gradient(x)

stgrad.jacobian(springs)(x, 2.0)
stgrad.jacobian(springs)(x)                 # error
stgrad.jacfwd(springs, argnums="k")(x, "2") # error
stgrad.jacrev(springs)(x, k=1.0, m=2.0)     # error
stgrad.hessian(loss)(w, x, scale=2.0)
stgrad.hessian(loss)(w)                     # error
stgrad.hessian(loss).source(w, x).upper()

@stgrad.elementwise_grad(argnums="k")
def bend(x: np.ndarray, k: float) -> np.ndarray:
    return k * x

bend(x, 1.0)
bend(x)                                     # error
reveal_type(stgrad.stop_gradient(1.5))      # float
vector, unflatten = stgrad.flatten({"rate": 0.5})
reveal_type(unflatten(vector)["rate"])      # float
"""


ROOT = Path(stgrad.__file__).parent.parent


def mypy(file: Path) -> list[tuple[int, str]]:
    """Lines and messages, notes too."""
    options = ["--config-file=", "--follow-imports=silent", "--ignore-missing-imports", "--no-error-summary", "--cache-dir", str(file.parent / "cache")]
    environment = {"MYPYPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-m", "mypy", *options, str(file)]
    found = subprocess.run(command, capture_output=True, text=True, cwd=file.parent, env=environment, timeout=300)
    parts = [re.fullmatch(r"users\.py:(\d+): (.*)", line) for line in found.stdout.splitlines()]
    return [(int(part[1]), part[2]) for part in parts if part]


def pyright(file: Path) -> list[tuple[int, str]]:
    (file.parent / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(ROOT)], "include": [file.name]}))
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(file.parent)]
    found = subprocess.run(command, capture_output=True, text=True, cwd=file.parent, timeout=300)
    if not found.stdout.startswith("{"):  # it fetches itself at its first run
        pytest.skip(f"Pyright does not run here: {found.stderr[-200:]}")
    told = json.loads(found.stdout)["generalDiagnostics"]
    return [(each["range"]["start"]["line"] + 1, f"{each['severity']}: {each['message']}") for each in told]


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_checkers_know_parameters_and_results(checker: Callable[[Path], list[tuple[int, str]]], tmp_path: Path) -> None:
    pytest.importorskip(checker.__name__)
    file = tmp_path / "users.py"
    file.write_text(USERS)
    said: dict[int, list[str]] = {}
    for number, text in checker(file):
        said.setdefault(number, []).append(text)
    for number, line in enumerate(USERS.splitlines(), 1):
        texts = said.get(number, [])
        if "# error" in line:
            assert any(text.startswith("error") for text in texts), f"{checker.__name__} takes {line!r}: {said}"
        elif "reveal_type" in line:
            assert any(re.search(r'"(builtins\.)?float"', text) for text in texts), texts
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
