"""What classes say of instances: metaclasses that look at them, protocols that change, attributes that a class computes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Protocol, runtime_checkable

import pytest

import stgrad


class OfVolume(type):
    def __instancecheck__(cls, instance):
        return hasattr(instance, "volume")


class Solid(metaclass=OfVolume):
    pass


class Box:
    def __init__(self, side):
        self.side = side

    def volume(self):
        return self.side**3


class Flat:
    pass


BOX, FLAT = Box(2.0), Flat()


def made(x):
    return x * 2 if isinstance(Box(x), Solid) else x * 3


def made_flat(x):
    return x * 2 if isinstance(Flat(), (int, Solid)) else x * 3


def of_module(x):
    return x * 2 * (isinstance(BOX, Solid) + 3 * isinstance(FLAT, Solid))


def matched(x):
    match Box(x):
        case Solid():
            return x * 2
        case _:
            return x * 3


@runtime_checkable
class Measured(Protocol):
    def volume(self): ...


def by_protocol(x):
    return x * 2 if isinstance(Box(x), Measured) and not isinstance(Flat(), Measured) else x * 3


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [made, made_flat, of_module, matched, by_protocol], ids=lambda f: f.__name__)
def test_instances(f, jit) -> None:
    assert stgrad.value_and_grad(f, jit=jit)(1.5) == (f(1.5), f(1.0))


@pytest.mark.parametrize("jit", [False, True])
def test_arguments(jit) -> None:
    def f(x, o):
        return x * 2 if isinstance(o, Solid) else x * 3

    gradient = stgrad.grad(f, jit=jit)
    assert gradient(1.5, Box(1.0)) == 2.0
    assert gradient(1.5, Flat()) == 3.0


class Doubling:
    def __init__(self, v):
        self.v = v

    def __getattribute__(self, name):
        found = object.__getattribute__(self, name)
        return found * 2 if name == "v" else found


def doubled(x):
    return Doubling(x).v


def test_attributes_that_a_class_computes(monkeypatch) -> None:
    with pytest.raises(stgrad.errors.UnknownFunctionError, match="Doubling"):
        stgrad.grad(doubled, jit=True)(1.5)
    monkeypatch.setenv("STGRAD_PLAIN", "1")
    with pytest.warns(stgrad.errors.RunsPlainlyWarning):
        assert stgrad.value_and_grad(doubled)(1.5) == (3.0, 2.0)


KINDS = """
from typing import Protocol, runtime_checkable
@runtime_checkable
class Has(Protocol):
    def foo(self): ...
class Item:
    def NAME(self): pass
"""
MODEL = """
import stgrad, kinds
def f(x):
    return x * 2 if isinstance(kinds.Item(), kinds.Has) else x * 3
print(stgrad.grad(f)(1.5))
"""


def test_protocols_that_a_class_stops_to_follow(tmp_path: Path) -> None:
    env = {**os.environ, "STGRAD_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(stgrad.__file__).parents[1])])}
    for name in ("STGRAD_CHECK", "STGRAD_PROGRAM_CACHE"):
        env.pop(name, None)
    told = []
    for name in ("foo", "bar", "foo"):
        (tmp_path / "kinds.py").write_text(KINDS.replace("NAME", name), encoding="utf-8")
        (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
        done = subprocess.run([sys.executable, "-B", str(tmp_path / "model.py")], env=env, capture_output=True, text=True, check=True)
        told.append(float(done.stdout))
    assert told == [2.0, 3.0, 2.0]
