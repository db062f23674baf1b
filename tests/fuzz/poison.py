"""Fresh memory of generated programs in plain Python holds NaN, so that what is read before it is written shows."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np

from stgrad import loader
from stgrad.runtime import memory


def _spoiled(make: Callable[..., Any]) -> Callable[..., Any]:
    def made(*args: Any, **options: Any) -> Any:
        array = make(*args, **options)
        array.fill(np.nan if array.dtype.kind in "fc" else array.dtype.type(1))
        return array

    return made


class _NumPy(types.ModuleType):
    """NumPy as a generated module sees it."""

    empty = staticmethod(_spoiled(np.empty))
    empty_like = staticmethod(_spoiled(np.empty_like))

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


@contextlib.contextmanager
def poisoned() -> Iterator[None]:
    """For programs that are loaded in this context, and run in it."""
    spoiled, right = _NumPy("numpy"), loader._module
    changed: list[types.ModuleType] = [memory]

    def load(*args: Any) -> types.ModuleType:
        module = right(*args)
        if getattr(module, "np", None) is np:
            module.np = spoiled  # type: ignore[attr-defined]
            changed.append(module)
        return module

    memory.np = spoiled  # type: ignore[attr-defined]
    try:
        with mock.patch.object(loader, "_module", load):
            yield
    finally:
        for module in changed:
            module.np = np  # type: ignore[attr-defined]
