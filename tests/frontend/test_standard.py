"""What programs say and look up with the standard library: records, warnings, exceptions as texts, patterns, `dict.fromkeys`."""

from __future__ import annotations

import collections
import functools
import inspect
import logging
import re
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

import stgrad
from stgrad.testing import check_gradient

log = logging.getLogger("stgrad.tests")
FORMULA = re.compile(r"([A-Z][a-z]?)(\d*)")
MASSES = {"H": 1.008, "C": 12.011, "O": 15.999}


def with_records(x, n):
    """Under a branch that only the run decides."""
    if x > 1.0:
        log.warning("large: %g of %d", x, n)
        logging.info(f"{x:.3f}")
        warnings.warn(f"{x} is large", stacklevel=2)
    if log.isEnabledFor(logging.DEBUG):
        log.debug(str(x))
    return x**3 * n


def with_an_exception(x, n):
    """One of several classes, with messages of the run: what is said of it is not looked at."""
    try:
        if x < 0.0:
            raise ValueError(f"{x} is negative")
        if x > 100.0:
            raise TypeError("too large")
        y = x * x
    except Exception as problem:  # noqa: BLE001
        warnings.warn(str(problem), stacklevel=2)
        logging.getLogger(__name__).error("failed: %s (%s)", problem, problem.args)
        y = -x
    return y * n


def with_messages(x, n):
    """Of one class, with messages of the run."""
    try:
        if x < 0.0:
            raise ValueError("negative")
        if x > 100.0:
            raise ValueError("too large")
        y = x * x
    except ValueError as problem:
        print("sorry:", str(problem), f"{problem}")
        y = -x
    return y * n


def with_a_text(x, n):
    """Each `raise` has a branch to the handler of its own."""
    try:
        if x < 0.0:
            raise ValueError("negative")
        if x > 100.0:
            raise ValueError("large")
        y = x * x
    except ValueError as problem:
        y = 2.0 * x if str(problem) == "negative" else 3.0 * x
    return y * n


def with_a_pattern(x, n):
    """A formula is taken apart while the program is read."""
    mass = 0.0
    for element, count in FORMULA.findall("C2H6O"):
        mass += MASSES[element] * (int(count) if count else 1)
    found = re.match(r"(\w+)-(\w+)", "left-right")
    return x * mass if found.group(1) == "left" and re.sub("e", "", "left") == "lft" else x * n


def with_clocks(x, n):
    start = time.perf_counter()
    y = sum(x**k for k in range(n))
    print("took", time.perf_counter() - start, time.time() > 1e9)
    return y if time.monotonic() - start < 1e9 else 0.0


def with_keys(x, n):
    totals = dict.fromkeys(("a", "b"), 0.0)
    order = collections.OrderedDict.fromkeys(["b", "a"])
    for k in range(n):
        totals["a" if k % 2 else "b"] += x**k
    return sum(totals[name] * (i + 1) for i, name in enumerate(order))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("x", [0.7, 1.9, -1.3, 120.0])
@pytest.mark.parametrize("f", [with_records, with_an_exception, with_messages, with_a_text, with_a_pattern, with_clocks, with_keys])
def test_derivatives(f, x, monkeypatch):
    monkeypatch.setenv("STGRAD_PLAIN", "0")
    check_gradient(f, (x, 4), order=2)


def test_what_is_said_leaves_no_trace():
    def f(x):
        if x > 1.0:
            log.warning("large: %s", np.sin(x))
        return x * x

    assert "sin" not in stgrad.grad(f, jit=True).source(1.5)


def test_a_text_of_an_exception_is_not_known():
    def f(x):
        try:
            if x < 0.0:
                if x < -10.0:
                    raise ValueError("small")
                raise ValueError("negative")
            y = x
        except ValueError as problem:
            y = 2.0 * x if str(problem) == "negative" else 3.0 * x
        return y

    with pytest.raises(stgrad.errors.NeedStaticError, match="a text made of values of the running program"):
        stgrad.grad(f, jit=True)(1.5)


PROGRAM = """
import time, stgrad
def f(x):
    while time.time() < 1e9:
        x = x + 1.0
    return x * x
print(stgrad.grad(f, jit=True)(1.5))
"""


def test_clocks_of_kept_programs(tmp_path, monkeypatch):
    """Another process, which reads no function, finds the clock."""
    monkeypatch.setenv("STGRAD_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("STGRAD_PROGRAM_CACHE", raising=False)
    file = tmp_path / "clocks.py"
    file.write_text(PROGRAM)
    for _ in range(2):
        assert subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=True).stdout == "3.0\n"


@pytest.mark.parametrize("jit", [False, True])
def test_bars_of_progress_are_left_out(jit):
    """Compiled programs show none, and iterate over the same."""
    import tqdm
    import tqdm.auto

    def steps(x, n):
        s = 0.0
        for i in tqdm.tqdm(range(n), desc="steps", leave=False):
            s += x**i
        for i, v in enumerate(tqdm.auto.tqdm([x, 2.0 * x])):
            s += i * v
        return s + sum(np.sin(x * k) for k in tqdm.trange(3))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert stgrad.grad(steps, jit=jit)(1.5, 4) == pytest.approx(1.0 + 3.0 + 3 * 1.5**2 + 2.0 + np.cos(1.5) + 2 * np.cos(3.0))


def checked(function):
    signature = inspect.signature(function)

    @functools.wraps(function)
    def bound(*args, **kwargs):
        found = signature.bind(*args, **kwargs)
        found.apply_defaults()
        for name, value in found.arguments.items():
            if name == "scale" and value <= 0.0:
                raise ValueError("scale")
        return function(*found.args, **found.kwargs)

    return bound


@checked
def powers(x, scale=2.0, *, power=2):
    return np.sum(x**power) * scale


@pytest.mark.parametrize("jit", [False, True])
def test_arguments_that_are_bound_to_a_signature(jit):
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(stgrad.grad(lambda x: powers(x, 3.0, power=3), jit=jit)(x), [9.0, 36.0])
    np.testing.assert_allclose(stgrad.grad(lambda x: powers(x, scale=x[0]), jit=jit)(x), [7.0, 4.0])
    with pytest.raises(ValueError, match="scale"):
        stgrad.grad(lambda x: powers(x, -x[0]), jit=jit)(x)
    with pytest.raises(stgrad.errors.TypeInferenceError, match="too many positional arguments"):
        stgrad.grad(lambda x: powers(x, 1.0, 2.0), jit=jit)(x)
