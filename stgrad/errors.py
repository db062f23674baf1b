"""Every exception of the package, and the one renderer of their messages.

There is one class for each thing that the user can do about it. Each is a `StgradError` and the fitting builtin, so
both `except StgradError` and `except NotImplementedError` work. A message says what, where (file, line, and a caret
under the expression), why, what to write instead, and which page tells more.

Locations are duck-typed (`file`, `line`, `col`, `end_col`, `text`, as in `stgrad.ir.Loc`): this file imports nothing of the package.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, Protocol, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")

LIMITS_PAGE = "docs/limits.md"
# How messages of programs begin that cannot go on, where the function can: its derivative is recorded then.
NO_TRIP = "a loop makes no trip"
NO_COMMON_SHAPE = "operands could not be broadcast together (line"
SQUEEZED = "np.squeeze drops other axes as the program runs"
FEWER = "zip: an array has fewer items than what stands beside it"
RAGGED = "the arrays in a list have different shapes"
NOT_COMPILED = "the program comes to a path that is not compiled: "  # what is refused there follows


class Location(Protocol):
    """A place in the user's source; `col` and `end_col` count from zero, in characters of `text`."""

    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def col(self) -> int: ...
    @property
    def end_col(self) -> int: ...
    @property
    def text(self) -> str: ...


def users_level() -> int:
    """How many frames above `warnings.warn` the user's code stands: the `stacklevel` of a warning that is given where this is called."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and (frame.f_globals.get("__name__", "").startswith("stgrad.") or frame.f_code.co_filename.startswith("<stgrad ")):
        frame, level = frame.f_back, level + 1
    return level


def render(
    message: str, loc: Location | None = None, reason: str = "", hint: str = "", anchor: str = "", within: tuple[str, Location] | None = None
) -> str:
    """The text of an error.

    >>> print(render("`async` is not supported", reason="it has no order", hint="write a function", anchor="async"))
    `async` is not supported
      why:     it has no order
      instead: write a function
      see:     stgrad help async
    """
    parts = [message]
    if loc is not None:
        parts.append(_place(loc))
    if within is not None and loc is not None and loc.file != within[1].file:
        parts.append(_place(within[1], f"  in `{within[0]}`, called at "))
    for label, text in (("why", reason), ("instead", hint)):
        if text:
            parts.append(f"  {label + ':':<8} " + text.replace("\n", "\n" + " " * 11))
    if anchor:
        parts.append(f"  see:     stgrad help {anchor}")
    return "\n".join(parts)


def _place(loc: Location, lead: str = "  at ") -> str:
    """`file:line` and, where the source line is known, the line with carets below the columns."""
    place = f"{lead}{loc.file}:{loc.line}"
    text = loc.text.rstrip()
    code = text.lstrip()
    if not code:
        return place
    indent = len(text) - len(code)
    start = min(max(loc.col - indent, 0), len(code))
    end = loc.end_col - indent if loc.end_col > loc.col else len(code)
    carets = "^" * max(min(end, len(code)) - start, 1)
    return f"{place}\n    {code}\n    {' ' * start}{carets}"


class Signal(BaseException):
    """What the compiler tells itself while it reads a program: no `except` of that program, whatever it catches, is meant."""


class StgradError(Exception):
    """Base of all errors of the package.

    Args:
        message: What is wrong, in one sentence.
        loc: Where; any object with `file`, `line`, `col`, `end_col` and `text`.
        reason: Why it cannot be done.
        hint: What to write instead.
        anchor: The heading of `docs/limits.md` about it; the default is that of the class.
    """

    anchor = ""

    def __init__(
        self, message: str, loc: Location | None = None, *, reason: str = "", hint: str = "", anchor: str | None = None
    ) -> None:
        self.message = message
        self.loc = loc
        self.reason = reason
        self.hint = hint
        self.anchor = type(self).anchor if anchor is None else anchor
        self.certain = True  # whether the code around it always comes to this
        self.plainly = True  # whether a run in plain Python, of copies of the arguments, is what the program means
        self.left = True  # whether a side of a branch that it stands on may end the program in its place
        self.passes = False  # whether it is no refusal, but for who asked for the program
        self.within: tuple[str, Location] | None = None  # the function of another file that it is in, and where that is called
        self.once = False  # whether it is about a constant that is kept outside, which a run in plain Python leaves there
        super().__init__(message)

    def __str__(self) -> str:
        return render(self.message, self.loc, self.reason, self.hint, self.anchor, self.within)

    def at(self, loc: Location | None) -> StgradError:
        """The error itself, now with a location where it had none."""
        self.loc = self.loc or loc
        return self


def with_line(message: str, loc: Location | None) -> str:
    """A message of the running program, with the user's line behind it.

    >>> with_line("shapes do not fit", None)
    'shapes do not fit'
    """
    return message if loc is None else f"{message} (line {loc.line}: {loc.text.strip()})"


def presented(error: StgradError) -> StgradError:
    """An error as users see it: of a public class, without the frames of the compiler and what led to it; `STGRAD_TRACEBACK=full` keeps those."""
    if type(error).__module__ != __name__:  # a class by which the compiler tells cases apart
        error.__class__ = next(cls for cls in type(error).__mro__ if cls.__module__ == __name__)
    if os.environ.get("STGRAD_TRACEBACK") != "full":
        error.__cause__ = None
        error.__context__ = None
        error.with_traceback(None)
    return error


def presents(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A function that users call: what it refuses is `presented`.

    >>> @presents
    ... def refuse():
    ...     raise StgradError("no")
    """

    @functools.wraps(function)
    def presenting(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        __tracebackhide__ = True
        try:
            return function(*args, **kwargs)
        except StgradError as error:
            problem = presented(error)
        raise problem

    return presenting


class UnsupportedSyntaxError(StgradError, NotImplementedError):
    """A construct of Python that the compiler does not take: `try`, `yield`, `global`, `async`...

    Example: a loop inside `with open(path) as f:`. Fix: do it outside, and pass the data in.
    """

    anchor = "syntax"


class UnknownFunctionError(StgradError, NotImplementedError, LookupError):
    """A call of a function that has neither a rule nor source that can be read.

    Example: a function of an extension module. Fix: write a rule for it, or mark it as without derivative.
    """

    anchor = "unknown-functions"


class SourceNotFoundError(StgradError, OSError):
    """The source of a function cannot be found: typed into a bare prompt, made by `exec`, written in C.

    Fix: put the function in a file or a notebook cell.
    """

    anchor = "source"


class NotDifferentiableError(StgradError, TypeError):
    """A derivative was asked for where there is none.

    Example: the gradient with respect to an integer. Fix: pass `2.0` for `2`.
    """

    anchor = "not-differentiable"


class AliasingError(StgradError, ValueError):
    """Two names may share memory that is overwritten, and what the derivative must save cannot be told.

    Fix: make a copy (`x.copy()`) before the update.
    """

    anchor = "aliasing"


class TypeInferenceError(StgradError, TypeError):
    """A variable has no single type: a float in one branch and an array in the other, an unknown rank.

    Fix: give the second type another name, or start with the type that it ends with.
    """

    anchor = "types"
    widens = False  # a number on one path is an array on the other
    first = False  # of a loop: a name that the first trip alone finds to be a number


class ShapeError(StgradError, ValueError):
    """Shapes do not fit each other, as NumPy would say at run time."""

    anchor = "shapes"


class PositionError(StgradError, IndexError):
    """A position is outside of an array whatever the arguments are, as NumPy would say at run time.

    Example: `x.reshape(2, 3)[2]`. Fix: the last position is the extent less one.
    """

    anchor = "indices"


class IntegerSizeError(StgradError, OverflowError):
    """An integer of more than 64 bits where compiled code needs an integer.

    Example: `k % 2**64`. Fix: smaller numbers, or floats where they are good enough.
    """

    anchor = "integers"


class UndefinedNameError(StgradError, NameError):
    """A name is neither local nor a global nor a builtin, or is read on a path on which it was not assigned."""

    anchor = "names"


class NeedStaticError(StgradError, TypeError):
    """A value must be known at compile time, and depends on the argument `parameter`.

    The compiler catches it at the call and starts again with the value of that argument as a constant; it reaches
    the user only where that cannot help (`parameter` is None).
    """

    anchor = "static-arguments"

    def __init__(
        self,
        message: str,
        loc: Location | None = None,
        *,
        parameter: str | None = None,
        reason: str = "",
        hint: str = "",
        anchor: str | None = None,
    ) -> None:
        super().__init__(message, loc, reason=reason, hint=hint, anchor=anchor)
        self.parameter = parameter


class ZeroGradientWarning(UserWarning):
    """The whole gradient of a function is zero wherever there is one: the result depends on the arguments through steps alone.

    Example: `x[np.argmax(x) // 2] * 0.0 + np.floor(x[0])`. Fix: a smooth function in its place, or `stgrad.stop_gradient` where zero is meant.
    """


class KinkWarning(UserWarning):
    """A function has a kink or a jump where its gradient was checked: there are several derivatives, and the check tells of their mean alone.

    Example: `check_gradient(abs, (0.0,))`. Fix: check at arguments away from it.
    """


class RunsPlainlyWarning(UserWarning):
    """A function that the compiler does not take runs in plain Python, where its derivative is recorded: the same results, without the speed."""


class NativeCodeWarning(UserWarning):
    """A loop of a compiled program calls Python in each trip, for an operation that has no native form; each place is told once in a process.

    Example: `np.searchsorted` of one number at a time. Fix: call it once for all, before the loop, or write it out.
    """


class RecursionDepthError(NeedStaticError):
    """A function calls itself as often as values say that are known when the program runs; `tree` is its tree.

    The compiler catches it, and compiles the function as one that calls itself.
    """

    def __init__(self, message: str, loc: Location | None = None, *, reason: str = "", hint: str = "", tree: object = None) -> None:
        super().__init__(message, loc, reason=reason, hint=hint)
        self.tree = tree
        self.left = False


class NotANumberError(StgradError, FloatingPointError):
    """A program that was made with `check_nan=True` has made a NaN, of numbers; the place is the user's statement, the reason its operands.

    Example: `np.log(x)` where x is -1, or the derivative of `np.sqrt(x)` where x is 0, times 0. Fix: keep the argument where the function has a derivative.
    """

    anchor = "nan"


class MemoryBudgetError(StgradError, MemoryError):
    """A derivative needs more memory than the budget that `memory=` or STGRAD_MEMORY sets, whatever is computed again; or the budget is no size.

    Fix: a larger budget, smaller arrays, or loops of which single trips keep less.
    """

    anchor = "memory-budget"


class UnsupportedCallerError(StgradError, TypeError):
    """Compiled code or C cannot call this function with these arguments, or cannot take its result.

    Fix: pass and return numbers, arrays and tuples of them; call it from Python for anything else.
    """

    anchor = "compiled-callers"


class NotCompiledError(StgradError, TypeError):
    """Numba does not compile the program that stgrad made: a bug of the compiler. The reason is what Numba says.

    Fix: `jit="auto"` or `jit=False` runs the same text in plain Python.
    """

    anchor = "internal-errors"


class ShardError(StgradError, RuntimeError):
    """An evaluation over shards cannot be made, or was given up: shards that do not fit together, workers that are lost again and again, or hang.

    Fix: as many shards of each argument; smaller ones where workers run out of memory.
    """

    anchor = "shards"


class InternalError(StgradError, AssertionError):
    """A bug of the compiler: an invariant of the IR is broken. `dump` is the program in which it was found."""

    anchor = "internal-errors"

    def __init__(self, message: str, loc: Location | None = None, *, dump: str = "", reason: str = "") -> None:
        super().__init__(
            message, loc, reason=reason, hint="this is a bug of stgrad, not of your program: please report it with the text below"
        )
        self.dump = dump

    def __str__(self) -> str:
        text = super().__str__()
        return f"{text}\n\n{self.dump}" if self.dump else text


def refuse_inside(*functions: Any, reason: str, hint: str) -> None:
    """Say of functions that programs which are read cannot call them, and why."""
    for function in functions:

        def inside(frame: Any, *_: Any, name: str = function.__name__, **__: Any) -> Any:
            raise UnsupportedCallerError(f"`{name}` is called in a function that is read", frame.builder.loc, reason=reason, hint=hint)

        function._stgrad_inside_ = staticmethod(inside) if isinstance(function, type) else inside


def furthest(problems: Sequence[StgradError]) -> StgradError:
    """The error at the last line that several readings of a program met; of those there the first that tells more than what must be known."""
    file = problems[0].loc.file if problems[0].loc is not None else None
    lines = [p.loc.line if p.loc is not None and p.loc.file == file else 0 for p in problems]
    last = [p for p, line in zip(problems, lines, strict=True) if line == max(lines)]
    return next((p for p in last if not isinstance(p, NeedStaticError)), last[0])
