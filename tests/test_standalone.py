"""Built modules: run in a process that cannot import stgrad, they give what stgrad gives."""

from __future__ import annotations

import ast
import importlib.util
import pickle
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import scipy.linalg
import scipy.special

import stgrad
from stgrad.errors import UnsupportedCallerError
from stgrad.standalone.parts import global_names, take_apart

TABLE = np.array([1.0, 2.0, 3.0])
LARGE = np.linspace(0.0, 1.0, 100)


def loops(p, t, n=3):
    """The misfit of a decay."""
    y = p["a"][0]
    for i in range(n):
        y = y - 0.1 * np.sin(y) * t[i] + TABLE[i]
    return np.sum(np.exp(-p["w"] * t)) * y


def stacked(x, top: float):
    y = x
    while y < top:
        y = y * 1.5 + np.sin(y)
    return y


def determinant(a):
    return np.log(np.linalg.det(a))


def linear(a, b):
    return np.sum(np.linalg.solve(a @ a.T, b) ** 2) + np.log(np.linalg.det(a)) + np.sum(np.tanh(a @ b))


def factored(a, b):
    return np.sum(scipy.linalg.solve_triangular(np.linalg.cholesky(a), b, lower=True) ** 2)


def special(x, exp):
    total = 0.0
    for v in x:
        total += scipy.special.gammaln(v) * np.exp(-exp) + scipy.special.zeta(2.0, v)
    return total + scipy.special.logsumexp(x)


def python_calls(x):
    return np.sum(np.linalg.svd(x)[1]) + np.sum(LARGE) * x[0, 0]


def recursive(x, n):
    return x if n == 0 else x * recursive(x, n - 1) + 1.0


def broadcast(x, y):
    return np.sum((x[:-1] - y) ** 2)


def single(x):
    return np.sum(x**2)


class Pair(NamedTuple):
    a: float
    b: float


MATRIX = np.array([[2.0, 0.3, 0.1], [0.3, 3.0, 0.2], [0.1, 0.2, 1.5]])
QUICK = {
    "loops": (loops, ({"a": (1.0, 2.0), "w": np.ones(3)}, np.arange(3.0))),
    "stacked": (stacked, (1.0, 30.0)),
    "special": (special, (np.array([1.0, 2.0, 3.5]), 0.5)),
    "recursive": (recursive, (1.5, 4)),
    "broadcast": (broadcast, (np.arange(4.0), np.ones(3))),
    "single": (single, (np.ones(3, np.float32),)),
    "factored": (factored, (MATRIX, np.ones(3))),
}
SLOW = {
    "determinant": (determinant, (MATRIX,)),
    "linear": (linear, (MATRIX, np.ones(3))),
    "python_calls": (python_calls, (MATRIX,)),
}
RUNNER = """
import importlib.abc, pickle, sys
class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] == "stgrad":
            raise ImportError("stgrad is blocked")
sys.meta_path.insert(0, Blocked())
sys.path.insert(0, sys.argv[1])
found = {}
for name, arguments in pickle.load(open(sys.argv[1] + "/cases.pickle", "rb")).items():
    module = __import__("built_" + name)
    found[name] = getattr(module, module.__all__[0])(*arguments)
pickle.dump(found, open(sys.argv[1] + "/found.pickle", "wb"))
assert not any(name.partition(".")[0] == "stgrad" for name in sys.modules)
"""


def leaves(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


@pytest.mark.parametrize("cases", [QUICK, SLOW], ids=["compiled", "plain"])
def test_run_without_stgrad_and_give_the_same(cases, tmp_path: Path) -> None:
    """Those that Numba needs long for run in plain Python, where every name that they call must be there, too."""
    for name, (function, arguments) in cases.items():
        tmp_path.joinpath(f"built_{name}.py").write_text(stgrad.build(stgrad.value_and_grad(function), *arguments))
    tmp_path.joinpath("cases.pickle").write_bytes(pickle.dumps({name: arguments for name, (_, arguments) in cases.items()}))
    environment = {"PATH": "", "NUMBA_DISABLE_JIT": str(int(cases is SLOW))}
    subprocess.run([sys.executable, "-I", "-c", RUNNER, str(tmp_path)], check=True, cwd=tmp_path, env=environment)
    found = pickle.loads(tmp_path.joinpath("found.pickle").read_bytes())
    for name, (function, arguments) in cases.items():
        wanted = stgrad.value_and_grad(function, jit=False)(*arguments)
        for ours, theirs in zip(leaves(wanted), leaves(found[name]), strict=True):
            assert np.result_type(ours) == np.result_type(theirs)
            np.testing.assert_allclose(theirs, ours, 1e-12, 1e-12 * np.max(np.abs(ours)), err_msg=name)  # zeros are known to rounding


def module_of(text: str, path: Path):
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def test_tells_which_arguments_it_takes(tmp_path: Path) -> None:
    def energy(x, k: float, n, mode="sum", *, scale=2.0):
        """Of a spring."""
        return np.sum(k * x**n) * scale if mode == "sum" else k

    built = module_of(stgrad.build(stgrad.grad(energy), np.ones(3), 2.0, 2), tmp_path / "energy_module.py")
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(built.energy_grad(x, 3, 2, scale=1.0), [6.0, 12.0])
    assert built.energy_grad.__doc__.startswith("Gradient of energy with respect to x.\n\n    Of a spring.")
    assert "x: an array of float64, rank 1" in built.energy_grad.__doc__
    for wrong, message in [
        ((x.astype(int), 3.0, 2), "`x` must be an array of float64 and rank 1, not an array of int64 and rank 1"),
        ((x[:, None], 3.0, 2), "rank 2"),
        ([[1.0], 3.0, 2], "not list"),
        ((x[:1], 3.0, 2), "another extent than 1"),
        ((x, "3", 2), "`k` must be a float, not str"),
        ((x, 3.0, 2.0), "`n` must be"),
        ((x, 3.0, 2, "mean"), "must be 'sum'"),
    ]:
        with pytest.raises(TypeError, match=message):
            built.energy_grad(*wrong)


def test_arrays_that_share_memory_with_one_that_is_written(tmp_path: Path) -> None:
    def shift(x, y):
        x[:] = y * 2.0
        return np.sum(x)

    built = module_of(stgrad.build(shift, np.ones(3), np.ones(3)), tmp_path / "shift_module.py")
    x = np.ones(3)
    assert built.shift(x, np.arange(3.0)) == 6.0
    np.testing.assert_array_equal(x, [0.0, 2.0, 4.0])
    with pytest.raises(ValueError, match="share memory"):
        built.shift(x, x[::-1])


def test_several_functions_share_what_they_call(tmp_path: Path) -> None:
    functions = {"value": stgrad.jit(stacked), "slope": stgrad.grad(stacked), "curvature": stgrad.grad(stgrad.grad(stacked)), "empty": stgrad.jit(single)}
    text = "".join(stgrad.build({name: f}, *((1.0, 30.0) if name != "empty" else (np.ones(3),))) for name, f in functions.items())
    assert text.count("class StackType") == 2  # the value and `empty` need none
    functions.pop("empty")
    built = module_of(stgrad.build(functions, 1.0, 30.0), tmp_path / "several_module.py")
    assert built.__all__ == ["curvature", "slope", "value"]
    for name, function in functions.items():
        assert getattr(built, name)(1.0, 30.0) == function(1.0, 30.0)
    statements = ast.parse(tmp_path.joinpath("several_module.py").read_text()).body
    definitions = [node.name for node in statements if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    assert len(definitions) == len(set(definitions))
    assert "StackType" in definitions


def test_refuses_what_a_module_cannot_hold() -> None:
    with pytest.raises(UnsupportedCallerError, match="cannot take `p`"):
        stgrad.build(stgrad.grad(lambda p: p.a * p.b), Pair(1.0, 2.0))
    with pytest.raises(UnsupportedCallerError, match="cannot take `more`"):
        stgrad.build(stgrad.grad(lambda x, **more: more["y"] * x), 1.0, y=2.0)
    with pytest.raises(UnsupportedCallerError, match="it is a function"):
        stgrad.build(stgrad.grad(lambda x, f: f(x)), 1.0, np.sin.__class__ and (lambda v: v * v))
    with pytest.raises(UnsupportedCallerError, match="NotANumberError|raise_nan|key"):
        stgrad.build(stgrad.grad(lambda x: np.sqrt(x) * x, check_nan=True), 1.0)


def test_functions_of_any_number_of_arguments(tmp_path: Path) -> None:
    functions = {"curvature": stgrad.hessian(single), "product": lambda *factors: factors[0] * 2.0}
    built = module_of(stgrad.build(functions, np.ones(2)), tmp_path / "any_module.py")
    np.testing.assert_array_equal(built.curvature(np.array([1.0, 5.0])), 2.0 * np.eye(2))
    np.testing.assert_array_equal(built.product(np.array([1.0, 5.0])), [2.0, 10.0])
    with pytest.raises(TypeError, match=r"`factors\[0\]` must be an array"):
        built.product("x")
    with pytest.raises(TypeError, match="`factors` must be a tuple of 1 items"):
        built.product(np.ones(2), np.ones(2))


def test_names_of_module_scope() -> None:
    text = "def f(x, y=a):\n    def g(z):\n        return x + z + b\n    return [c for c in g(x)] + d\n"
    assert [node.id for node in global_names(ast.parse(text))] == ["a", "b", "d"]
    source = take_apart("m", "import numpy as np\n@overload(f, strict=False)\ndef _f(x): return np.sin(x)\nteach(g)\n")
    assert [part.subject for part in source.parts] == ["f", "g"]
    assert source.imports["np"][0].under("numeric") == "import numpy as numeric"
