"""Every elementwise operation on plain numbers, in native code: calls on scalars in loops are what users of Numba write most."""

from __future__ import annotations

import importlib.util
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special  # noqa: F401  (programs import what they call)

import stgrad
import stgrad.rules as rules

rules.load_scipy()
GROUP = 8  # operations in one compilation
HEADER = "import math\nimport numpy as np\nimport scipy.special\n\n\n"


def numbers(rule: rules.Rule) -> list[float] | None:
    """Arguments of the first sample that has real numbers for all of them; arrays as their first element."""
    rng = np.random.default_rng(zlib.crc32(rule.name.encode()))
    for generator in rule.samples:
        for args, kwargs in generator(rng):
            real = all(isinstance(a, (float, np.ndarray)) and np.size(a) and np.result_type(a) == np.float64 for a in args)
            if real and not kwargs:
                return [float(np.ravel(a)[0]) for a in args]
    return None


ARRAYS_ALONE = {"np.diff", "np.ediff1d", "np.unwrap"}
FOUND = {n: numbers(r) for n, r in sorted(rules.TABLE.items()) if r.kind == "partials" and r.samples}
CASES = {n: v for n, v in FOUND.items() if v is not None and n not in ARRAYS_ALONE and n.split(".")[0] in ("np", "math", "scipy")}
NAMES = list(CASES)


def active(names: list[str]) -> tuple[int, ...]:
    """The positions of the arguments, all calls in a row, that have a derivative."""
    found: list[bool] = []
    for n in names:
        rule, args = rules.TABLE[n], CASES[n]
        partial = rule.partials(rule.op(*args), *args)
        found += [p is not None for p, _ in zip(partial if isinstance(partial, tuple) else (partial,), args, strict=False)]
    return tuple(i for i, yes in enumerate(found) if yes)


def program(names: list[str], folder: Path) -> tuple[Any, list[float]]:
    """A function that adds up one call of each operation, and its arguments."""
    values = [v for n in names for v in CASES[n]]
    params, lines = iter(f"a{i}" for i in range(len(values))), []
    for n in names:
        call = f"{n}({', '.join(next(params) for _ in CASES[n])})"
        lines.append(f"    s = s + np.real({call}) * 1.5\n")
    path = folder / f"scalars_{zlib.crc32(' '.join(names).encode()):08x}.py"
    path.write_text(HEADER + f"def f({', '.join(f'a{i}' for i in range(len(values)))}):\n    s = 0.0\n{''.join(lines)}    return s\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f, values


@pytest.mark.parametrize("start", range(0, len(NAMES), GROUP), ids=lambda i: NAMES[i])
def test_gradient_of_numbers(start: int, tmp_path: Path) -> None:
    names = NAMES[start : start + GROUP]
    f, values = program(names, tmp_path)
    every = active(names)
    with np.errstate(all="ignore"):
        value, expected = stgrad.value_and_grad(f, argnums=every, jit=False)(*values)
        assert float(value) == pytest.approx(f(*values), rel=1e-12, nan_ok=True)
        got, gradients = stgrad.value_and_grad(f, argnums=every)(*values)
    assert float(got) == pytest.approx(float(value), rel=1e-12, nan_ok=True)
    np.testing.assert_allclose(gradients, expected, rtol=1e-9, atol=1e-12)


def test_most_operations_have_numbers() -> None:
    assert len(CASES) > 150
