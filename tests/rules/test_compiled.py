"""Every operation through the compiler: the gradient of a program of one call agrees with differences of that program.

This is what checks compositions, whose derivative is that of their parts, and that rule bodies stay in the compiler's language.
"""

from __future__ import annotations

import importlib.util
import itertools
import math
import zlib
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.special  # noqa: F401  (programs import what they call)

import stgrad
import stgrad.rules as rules
from stgrad.errors import TypeInferenceError
from stgrad.pushforwards import pushforward_of
from stgrad.request import Derivative, Options
from stgrad.tangent_calls import Tangent
from stgrad.testing.rules import HERMITIAN, dot, is_float, leaves, moved, noise, pull, tree_map
from stgrad.transformed import Transformed

rules.load_scipy()
PER_RULE = 2  # samples of each generator
ONE_TRIANGLE = HERMITIAN | {"scipy.linalg.eigvalsh", "scipy.stats.multivariate_normal.logpdf", "scipy.stats.multivariate_normal.pdf"}
# Not programs: the compiler's own operations; extents that decide what a call means.
LEFT_OUT = {"unbroadcast", "stretch", "shrink", "with_room", "cholesky_bar", "np.unstack", "scipy.linalg.solve_banded"}
LEFT_OUT |= {"scipy.integrate._quadrature.fixed_quad"}  # of a function
LEFT_OUT |= {"scipy.stats.dirichlet.logpdf", "scipy.stats.dirichlet.pdf"}  # SciPy refuses the points beside the simplex
AT_BORDER = {"np.percentile": 1, "np.quantile": 1}  # differences of this argument would leave its range
NAMES = sorted(n for n, r in rules.TABLE.items() if r.kind != "nondiff" and r.samples and n not in LEFT_OUT and not n.startswith("stgrad."))
HEADER = """import math
import numpy
import numpy as np
import scipy.fft
import scipy.linalg
import scipy.signal
import scipy.special
import scipy.stats


def symmetrised(x):
    return 0.5 * (x + np.conj(np.swapaxes(x, -1, -2)))


"""


class Program:
    """A function of one call, with the arrays and floats of a sample as its parameters."""

    def __init__(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], rng: np.random.Generator) -> None:
        self.name, self.values = name, []  # type: ignore[var-annotated]
        call = [self.place(a) for a in args] + [f"{k}={self.place(v)}" for k, v in kwargs.items()]
        self.inputs = len(self.values)
        y = rules.TABLE[name].op(*args, **kwargs)
        several = isinstance(y, (tuple, list))
        lines = [self.weigh(f"y[{i}]" if several else "y", v, rng) for i, v in enumerate(y if several else (y,))]
        self.body = [f"    y = {name}({', '.join(call)})", *[line for line in lines if line]]

    def place(self, value: Any) -> str:
        if isinstance(value, (tuple, list)):
            items = "".join(self.place(v) + ", " for v in value)
            return f"({items})" if isinstance(value, tuple) else f"[{items}]"
        if isinstance(value, np.ndarray) or (isinstance(value, float) and math.isfinite(value)):
            self.values.append(value)
            name = f"a{len(self.values) - 1}"
            square = np.ndim(value) >= 2 and np.shape(value)[-1] == np.shape(value)[-2]
            return f"symmetrised({name})" if square and self.name in ONE_TRIANGLE else name
        if isinstance(value, type):
            return {float: "float", np.float64: "np.float64"}[value]
        return repr(value).replace("inf", "np.inf")

    def weigh(self, text: str, value: Any, rng: np.random.Generator) -> str:
        if not is_float(value) or not np.size(value):
            return ""
        self.values.append(rng.normal(size=np.shape(value)))
        weight = f"a{len(self.values) - 1}"
        if np.iscomplexobj(value):
            return f"    s = s + np.sum(np.real({text}) * {weight}) + np.sum(np.imag({text}) * {weight})"
        return f"    s = s + np.sum({text} * {weight})"

    def load(self, folder: Path, number: int) -> ModuleType:
        parameters = ", ".join(f"a{i}" for i in range(len(self.values)))
        text = "\n".join([f"def f({parameters}):", "    s = 0.0", *self.body, "    return s", ""])
        name = f"program_{self.name.replace('.', '_')}_{number}"
        path = folder / f"{name}.py"
        path.write_text(HEADER + text)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


def differentiable(rule: rules.Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[bool]:
    """For each array and float among the arguments, whether it is a float that the rule has a derivative for."""
    if rule.kind == "composite":
        return [is_float(x) for x in leaves(args) if isinstance(x, (np.ndarray, float))]
    y = rule.op(*args, **kwargs)
    bars = pull(rule, y, tree_map(lambda v: np.ones(np.shape(v)), y), args, kwargs)
    pairs = [(x, bar is not None) for a, bar in zip(args, bars, strict=True) for x in leaves(a)]
    return [is_float(x) and known for x, known in pairs if isinstance(x, (np.ndarray, float))]


def check(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], rng: np.random.Generator, folder: Path, number: int) -> None:
    program = Program(name, args, kwargs, rng)
    wanted = differentiable(rules.TABLE[name], args, kwargs)
    active = [i for i, yes in enumerate(wanted) if yes and i != AT_BORDER.get(name)]
    if not active:
        return
    f = program.load(folder, number).f
    values = program.values
    if name in ("np.linalg.eigvals", "scipy.linalg.eigvals") and np.iscomplexobj(np.linalg.eigvals(*args)) and not np.iscomplexobj(args[0]):
        with pytest.raises(TypeInferenceError, match="complex for these real arguments"):
            stgrad.grad(f, jit=False)(*values)
        return
    if not np.isfinite(f(*values)):
        return
    gradients = stgrad.grad(f, argnums=tuple(active), jit=False)(*(np.copy(v) if isinstance(v, np.ndarray) else v for v in values))
    for i, g in zip(active, gradients, strict=True):
        assert np.shape(g) == np.shape(values[i])
        v = noise(rng, values[i])
        steps = [(shifted(f, values, i, v, h) - shifted(f, values, i, v, -h)) / (2 * h) for h in (1e-4, 1e-5, 1e-6)]
        got = dot((g,), (v,))
        assert min(abs(got - s) for s in steps) <= 1e-5 * max(1.0, abs(got)), f"argument {i}: {got}, differences {steps}"
    check_forward(f, values, dict(zip(active, gradients, strict=True)), rng, apart=not number)


def check_forward(f: Any, values: list[Any], gradients: dict[int, Any], rng: np.random.Generator, *, apart: bool) -> None:
    """The tangent in a direction of all arguments at once, and of each alone, is what the gradients say."""
    directions = {i: noise(rng, values[i]) for i in gradients}
    for chosen in (set(gradients), *({i} for i in gradients if len(gradients) > 1 and apart)):
        names = tuple(f"a{i}" for i in sorted(chosen))
        along = Transformed(Derivative(pushforward_of(Tangent(f, names)), "primal"), Options(jit=False))
        got = along(tuple(np.copy(v) if isinstance(v, np.ndarray) else v for v in values), tuple(directions[i] for i in sorted(chosen)))[1]
        want = sum(dot((gradients[i],), (directions[i],)) for i in chosen)
        size = max(1.0, abs(want), *(float(np.max(np.abs(gradients[i]), initial=0.0)) for i in chosen))
        assert abs(float(got) - want) <= 1e-9 * size, f"forward mode, arguments {chosen}: {got}, reverse mode says {want}"


def shifted(f: Any, values: list[Any], i: int, v: Any, h: float) -> float:
    return float(f(*values[:i], moved(values[i], v, h), *values[i + 1 :]))


@pytest.mark.parametrize("name", NAMES)
def test_compiled(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    number = itertools.count()
    with np.errstate(all="ignore"):
        for generator in rules.TABLE[name].samples:
            for args, kwargs in itertools.islice(generator(rng), PER_RULE):
                if not any(getattr(x, "dtype", None) == np.float32 for x in leaves(args)):
                    check(name, args, kwargs, rng, tmp_path, next(number))
