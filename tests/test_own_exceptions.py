"""Exceptions of the user's own classes reach who calls a derivative as those that the function itself raises."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import stgrad
from stgrad.calls import own_exceptions


class NoConvergence(Exception):
    pass


class OutOfDomain(ValueError):
    def __init__(self, bound, why="no"):
        super().__init__(f"{why}: above {bound}")
        self.bound = bound


class Several(RuntimeError):
    pass


class Named(KeyError):
    pass


def plain(x):
    if x > 1.0:
        raise NoConvergence("after 50 trips")
    return x * x


def with_init(x):
    if x > 1.0:
        raise OutOfDomain(1)
    return x * x


def with_arguments(x):
    if x > 1.0:
        raise Several("a", 2)
    return x * x


def without_arguments(x):
    if x > 1.0:
        raise NoConvergence
    return x * x


def of_a_key(x):
    if x > 1.0:
        raise Named("scale")
    return x * x


def pair_of_python(x):
    if x > 1.0:
        raise ValueError("a", 2)
    return x * x


def in_a_loop(x):
    s = x
    for k in range(5):
        s = s * x
        if s > 4.0 and k > 1:
            raise NoConvergence("in a loop")
    return s


def certain(x):
    if np.ndim(x) == 0:
        raise Several("never an array", x is None)
    return x * x


def passed_on(x):
    try:
        return plain(x)
    except NoConvergence as problem:
        raise Several("again") from problem


def factorised(x):
    np.linalg.cholesky(np.array([[1.0, x], [x, 1.0]]))
    return x * x


FUNCTIONS = (plain, with_init, with_arguments, without_arguments, of_a_key, pair_of_python, in_a_loop, certain, passed_on, factorised)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_same_class_and_arguments(f, jit) -> None:
    with pytest.raises(Exception) as expected:  # noqa: PT011  (whatever Python raises)
        f(2.0)
    for make in (stgrad.grad, stgrad.value_and_grad, stgrad.jit) if jit else (stgrad.grad,):
        derivative = make(f, jit=jit) if make is not stgrad.jit else make(f)
        for _ in range(3):  # read, compiled, through native code
            with pytest.raises(expected.type) as raised:
                derivative(2.0)
            assert raised.type is expected.type
            assert raised.value.args == expected.value.args
            assert {k: v for k, v in vars(raised.value).items() if not k.startswith("_stgrad")} == vars(expected.value)
            if f is not certain:
                derivative(0.5)


def test_pullbacks_and_jacobians() -> None:
    with pytest.raises(OutOfDomain, match="above 1"):
        stgrad.vjp(with_init, 2.0)
    with pytest.raises(OutOfDomain, match="above 1"):
        stgrad.jacobian(with_init)(2.0)
    with pytest.raises(OutOfDomain, match="above 1"):
        stgrad.jvp(with_init, (2.0,), (1.0,))


def of_run_time_text(x):
    if x > 1.0:
        raise Several(f"x is {x}")
    return x * x


def test_the_class_where_the_text_is_known_as_it_runs() -> None:
    with pytest.raises(Several, match="x is"):
        stgrad.grad(of_run_time_text)(2.0)


def test_local_classes() -> None:
    class Mine(ArithmeticError):
        pass

    def local(x):
        if x > 1.0:
            raise Mine("here")
        return x * x

    for jit in (False, True):
        with pytest.raises(Mine, match="^here$"):
            stgrad.grad(local, jit=jit)(2.0)


def test_programs_from_disk(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(
        "class Mine(ValueError):\n    pass\n\n\ndef f(x):\n    if x > 1.0:\n        raise Mine('far', 3)\n    return x * x\n", encoding="utf-8"
    )
    text = (
        "import stgrad, model\ng = stgrad.grad(model.f)\n"
        "for _ in range(3):\n    g(0.5)\n    try: g(2.0)\n    except model.Mine as e: print(type(e) is model.Mine, e.args)\n"
    )
    env = {**os.environ, "STGRAD_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(stgrad.__file__).parents[1])])}
    for name in ("STGRAD_CHECK", "STGRAD_PROGRAM_CACHE"):
        env.pop(name, None)
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", text], env=env, capture_output=True, text=True, check=True)
        assert done.stdout == "True ('far', 3)\n" * 3
    assert list((tmp_path / "cache").glob("f_grad_*.json"))


def test_local_classes_of_one_name() -> None:
    def made():
        class Mine(ArithmeticError):
            pass

        def local(x):
            if x > 1.0:
                raise Mine("here")
            return x * x

        return Mine, stgrad.grad(local)

    pairs = [made(), made()]
    for _, gradient in pairs:
        gradient(0.5)
    for own, gradient in pairs:
        with pytest.raises(own):
            gradient(2.0)


def test_programs_without_exceptions_have_no_part_in_those_of_others(monkeypatch):
    monkeypatch.setattr(own_exceptions, "_NOTED", {})
    own_exceptions.note("ValueError", "", Short("x"), "x", True)
    own_exceptions.note("ValueError", "x", Short("x"), "x", True)
    assert own_exceptions.noted("def f_grad(x):\n    x_bar = x + x\n    return x_bar\n") == ()
    assert len(own_exceptions.noted("    raise ValueError()\n")) == 1
    assert len(own_exceptions.noted("    raise ValueError('x')\n")) == 1


class Short(ValueError):
    pass
