"""A plugin for pytest: a function that is marked `gradient` is a test of its own derivative.

    @pytest.mark.gradient(args=(1.0, np.ones(3)))
    def energy(k, x):
        return k * np.sum(x**2)

It is collected under its own name, whatever that is, and not called as a test: `stgrad.testing.check_gradient` compares its gradient with differences,
compiled and in plain Python. All arguments of `check_gradient` can be given; `args` may be a function that makes them. Several marks are several tests.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

import pytest

MARK = "gradient(args, **options): the function's derivative is checked by stgrad.testing.check_gradient(function, args, **options)"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARK)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: Any, name: str, obj: Any) -> list[pytest.Item] | None:
    """A test for each mark of a function; None where there is none, for pytest itself to look at it."""
    marks = [mark for mark in _marks(obj) if mark.name == "gradient"]
    return list(_items(collector, name, obj, marks)) if marks else None


def _marks(function: Any) -> list[pytest.Mark]:
    """The marks of a function; one under `numba.njit` may have them on either side of that decorator."""
    plain = function if isinstance(function, types.FunctionType) else getattr(function, "py_func", None)
    if not isinstance(plain, types.FunctionType):
        return []
    return [mark for one in {id(f): f for f in (plain, function)}.values() for mark in getattr(one, "pytestmark", ())]


def _items(collector: Any, name: str, function: Any, marks: list[pytest.Mark]) -> Iterator[pytest.Item]:
    for number, mark in enumerate(reversed(marks)):  # the mark next to the function comes first
        yield GradientItem.from_parent(collector, name=f"{name}[gradient{number if len(marks) > 1 else ''}]", function=function, mark=mark)


class GradientItem(pytest.Item):
    """The check of one function at one point."""

    def __init__(self, *, function: Any, mark: pytest.Mark, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.function, self.mark = function, mark
        for other in _marks(function):
            if other.name != "gradient":
                self.add_marker(getattr(pytest.mark, other.name)(*other.args, **other.kwargs))

    def runtest(self) -> None:
        from stgrad.testing import check_gradient

        given = dict(self.mark.kwargs)
        if self.mark.args:
            given["args"] = self.mark.args[0]
        if "args" not in given:
            raise pytest.UsageError(f"{self.name}: write @pytest.mark.gradient(args=(...))")
        args = given.pop("args")
        args = args() if callable(args) else args
        check_gradient(self.function, args if isinstance(args, (tuple, list)) else (args,), **given)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """What is wrong with the gradient, without frames of ours."""
        from stgrad.errors import StgradError
        from stgrad.testing import GradientError

        wrong = isinstance(excinfo.value, (GradientError, StgradError, pytest.UsageError))
        return f"{type(excinfo.value).__name__}: {excinfo.value}" if wrong else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int, str]:
        code = getattr(self.function, "py_func", self.function).__code__
        return self.path, code.co_firstlineno - 1, self.name
