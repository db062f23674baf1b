"""Every program of the corpus at first and second order, every other one stage by stage; a subset compiled with Numba."""

from __future__ import annotations

import importlib
import pkgutil
import zlib

import programs
import pytest
from programs.registry import EXAMPLES, Example
from thorough import check_gradient

# What their gradients write to may be a view or a copy: forward over reverse does not take them, reverse over reverse does.
GRADIENT_REFUSED_FORWARD = ("inplace.reshapes_what_it_overwrites",)

for _module in pkgutil.iter_modules(programs.__path__):
    importlib.import_module(f"programs.{_module.name}")


def name(example: Example) -> str:
    return example.name


@pytest.mark.parametrize("example", EXAMPLES, ids=name)
def test_gradient(example: Example) -> None:
    modes = ("reverse",) if example.name in GRADIENT_REFUSED_FORWARD else None
    by_stages = zlib.crc32(example.name.encode()) % 2 == 0
    check_gradient(example.function, example.args, order=example.order, modes=modes, argnums=example.argnums, stages=by_stages)


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.jit], ids=name)
def test_gradient_compiled(example: Example) -> None:
    check_gradient(example.function, example.args, order=1, argnums=example.argnums, jit=True)
