"""The error types of the eager API, named and related as in `tf.errors`.

Each class says what the user did; the fitting builtin is a base too, so `except ValueError` works as for NumPy.
"""

from __future__ import annotations

from stgrad.errors import StgradError


class OpError(StgradError):
    """An operation refused its arguments. `message` is the text, `op` the operation's name or None."""

    error_code: int = 2

    def __init__(self, message: str, op: str | None = None) -> None:
        super().__init__(f"{message} [Op:{op}]" if op else message)
        self.op = op


class InvalidArgumentError(OpError, ValueError):
    """The shapes, dtypes or values of the arguments do not fit the operation."""

    error_code = 3


class OutOfRangeError(OpError, IndexError):
    """An iteration went past its valid range."""

    error_code = 11


class FailedPreconditionError(OpError, RuntimeError):
    """The state that the operation needs is not there (an uninitialised variable)."""

    error_code = 9


class NotFoundError(OpError, LookupError):
    """A named thing (a file, a variable in a checkpoint) does not exist."""

    error_code = 5


class UnimplementedError(OpError, NotImplementedError):
    """The operation exists, but not for these dtypes or this layout."""

    error_code = 12


class UnknownError(OpError):
    """An error from Python code that the operation called."""


class OperatorNotAllowedInGraphError(StgradError, TypeError):
    """A symbolic tensor was used as a Python bool, or iterated, in a function that is being traced."""


class NotRecordingError(StgradError, RuntimeError, AttributeError):
    """A tape was used before it was entered: write `with tf.GradientTape() as tape:` around the use."""


class GradientMismatchError(StgradError, ValueError, TypeError):
    """A custom gradient returned a value whose shape or dtype does not fit its primal."""
