"""How reading leaves a place of a program whose end it does not come to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stgrad import errors
from stgrad.frontend.values import Chosen


class Leaves(errors.Signal):
    """This side of a branch ends by raising an exception: nothing behind it runs, and what it bound is never read.

    `kind` is the class of the exception, None where it is one of several.
    """

    def __init__(self, kind: type[Exception] | None) -> None:
        super().__init__()
        self.kind = kind


class Chooses(errors.TypeInferenceError):
    """An expression gives one of several values, where one is wanted: what uses it is to be read once for each."""

    def __init__(self, node: Any, chosen: Chosen) -> None:
        error = chosen.error
        assert isinstance(error, errors.StgradError)
        super().__init__(error.message, error.loc, reason=error.reason, hint=error.hint)
        self.node, self.chosen = node, chosen


class Unreached(errors.UndefinedNameError):
    """A name is read that a loop assigns only later in its body: no first trip comes to this place.

    `earlier` tells whether a loop that is being read may have bound it in an earlier trip.
    """

    earlier: Callable[[], bool]

    def outside(self) -> errors.UndefinedNameError:
        """What it is to those around a loop whose first trip always comes to this place: itself where one of them may have bound the name, else an error."""
        return self if self.earlier() else errors.UndefinedNameError(self.message, self.loc, reason=self.reason, hint=self.hint)


class TestChanges(errors.Signal):
    """The condition of a `while` changes what is there before it: it is evaluated once more than the body runs."""
