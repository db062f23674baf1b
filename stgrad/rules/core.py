"""How a derivative rule is written, and the table that holds them.

A rule is a plain function of NumPy values that runs as it stands. The compiler parses its body and splices it; the
eager tape calls it. A rule names the operation it belongs to by the callable itself, never by a string:

    @partials(np.tanh)                       elementwise: the derivative in each argument, reverse and forward derived
    def tanh(y, x): return 1.0 - y * y

    @linear(np.reshape)                      linear in its first argument: the body is the adjoint, the tangent is the
    def reshape(y, y_bar, x, shape): ...     operation itself applied to the tangent

    @adjoint(np.linalg.solve)                general: the cotangents of the arguments, in their order
    def solve(y, y_bar, a, b): ...
    @tangent(np.linalg.solve)                and the tangent of the result
    def solve_dot(y, a, b, a_dot, b_dot): ...

    @composite(np.var)                       a composition of differentiable operations: differentiated like user code
    def var(x, axis=None, ddof=0, keepdims=False): ...

    nondiff(np.floor, np.argmax)             the result carries no derivative (zero almost everywhere, or not a float)

Conventions. The first parameter is always the result `y` (a tuple for several results, and then `y_bar` is a tuple of the
same length). Then come the operation's own parameters with their own names and defaults, so keywords bind as for the
operation. A rule with several differentiable arguments returns a tuple, one entry for each *array argument*
in order; with one, the bare value. `None` means: no derivative with respect to this argument. An argument that is a sequence of
arrays (np.stack) gets a tuple of cotangents. Cotangents have the shape of their argument. `partials` never unbroadcast:
the caller does it. Complex: y_bar is conjugate-free steepest ascent (|z|^2 -> 2z), so reverse mode multiplies by conj(partial).
Rule bodies use only the compiler's language: NumPy calls that have rules themselves, static branches on axis, ndim and
flags, comprehensions over static tuples, and helpers marked `static` that compute on static values alone.

Details. Tuples of cotangents are aligned with the operation's positional parameters from the first on; what is left off at the
end has no derivative. `None` for an argument that is active means that there is no rule for it, and it is refused; a derivative
that is zero is written 0.0. A bare value belongs to the first parameter. `linear` always returns the bare value: where the first
parameter is a sequence of arrays (np.stack), it is the tuple of their cotangents, and the operation is jointly linear in them. A
tangent rule takes y, the positional arguments up to the last differentiable one, the tangents of the differentiable ones (`x_dot`
for parameter `x`, zero where the argument is inactive), then the other parameters. The caller unbroadcasts what `partials` gives
and casts every cotangent to the dtype of its argument (complex to real by the real part).
"""

from __future__ import annotations

import math  # noqa: F401  (doctest)
import re
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np  # noqa: F401  (doctest)

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class Rule:
    """Everything known about one operation.

    `kind` is 'partials', 'linear', 'adjoint', 'composite' or 'nondiff'. `fresh_shape` marks results whose extents
    depend on values (np.unique, x[mask]), `views` the position of the argument that the result may share memory with. A `multilinear`
    operation is linear in each array alone: its tangent is a sum of itself, with one factor replaced by its tangent in each term. `absent`: its
    reverse rule takes None as the cotangent of a result that nothing reads, in place of zeros. `floats`: the rule multiplies arguments, which may outgrow any
    type of integers: it is given floats.
    """

    op: Callable[..., Any]
    name: str
    kind: str
    partials: Callable[..., Any] | None = None
    adjoint: Callable[..., Any] | None = None
    tangent: Callable[..., Any] | None = None
    composite: Callable[..., Any] | None = None
    fresh_shape: bool = False
    views: int | None = None
    multilinear: bool = False
    absent: bool = False
    floats: bool = False
    samples: list[Any] = field(default_factory=list)


TABLE: dict[str, Rule] = {}  # by name
_NAMES: dict[Any, str] = {}  # callable -> name
EXPANSIONS: dict[str, tuple[Callable[..., Any], bool]] = {}  # operation -> itself, written with others; whether that is better even where Numba has it
LATE: dict[str, Callable[[], None]] = {}  # module -> what registers its rules, run once the module is imported
UNIT_RULE: list[Callable[[str], Rule | None]] = []  # the rule of a call of a unit (`stgrad.frontend.unit_rules`)
STATIC: set[Any] = set()  # helpers that run at compile time on static arguments


# Where operations live, by the prefix that generated code writes. SciPy's are looked at only once they are imported.
_PREFIXES = (
    "np", "np.linalg", "np.fft", "np.lib.stride_tricks", "math", "operator", "scipy.special", "scipy.linalg", "scipy.signal", "scipy.fft", "scipy.fftpack",
    "scipy.special._ufuncs",
)  # fmt: skip


def op_name(op: Callable[..., Any]) -> str:
    """The name of an operation, as generated code writes it: 'np.linalg.solve', 'math.sin', 'scipy.special.erf'.

    >>> op_name(np.linalg.solve), op_name(math.sin), op_name(len)
    ('np.linalg.solve', 'math.sin', 'len')
    """
    known = _NAMES.get(op)
    if known is not None:
        return known
    short = getattr(op, "__name__", type(op).__name__)
    for prefix in _PREFIXES:
        module = sys.modules.get(re.sub(r"^np\b", "numpy", prefix))
        if module is not None and getattr(module, short, None) is op:
            return f"{prefix}.{short}"
    module_name = getattr(op, "__module__", None) or "builtins"
    return short if module_name == "builtins" else f"{module_name}.{short}"


def _register(ops: tuple[Callable[..., Any], ...], kind: str, name: str | None = None, **facts: Any) -> None:
    for op in ops:
        key = name or op_name(op)
        rule = TABLE.get(key)
        if rule is None:
            rule = TABLE[key] = Rule(op, key, kind)
        elif kind:
            rule.kind = kind
        _NAMES[op] = key
        for fact, value in facts.items():
            setattr(rule, fact, value)


def partials(*ops: Callable[..., Any], floats: bool = False) -> Callable[[F], F]:
    """Rule of an elementwise operation: `rule(y, *args)` gives dy/darg for each argument, `None` where there is none."""

    def register(rule: F) -> F:
        _register(ops, "partials", partials=rule, floats=floats)
        return rule

    return register


def adjoint(*ops: Callable[..., Any], views: int | None = None, absent: bool = False) -> Callable[[F], F]:
    """Reverse rule: `rule(y, y_bar, *args, **kwargs)` gives the cotangents of the array arguments."""

    def register(rule: F) -> F:
        _register(ops, "adjoint", adjoint=rule, views=views, absent=absent)
        return rule

    return register


def tangent(*ops: Callable[..., Any], multilinear: bool = False) -> Callable[[F], F]:
    """Forward rule: `rule(y, *args, *tangents, **kwargs)` gives the tangent of the result."""

    def register(rule: F) -> F:
        _register(ops, "", tangent=rule, multilinear=multilinear)
        return rule

    return register


def linear(*ops: Callable[..., Any], views: int | None = None) -> Callable[[F], F]:
    """Reverse rule of an operation that is linear in its first argument; its tangent is the operation itself."""

    def register(rule: F) -> F:
        _register(ops, "linear", adjoint=rule, views=views)
        return rule

    return register


def composite(*ops: Callable[..., Any]) -> Callable[[F], F]:
    """The operation as a composition of others; called with the operation's own arguments."""

    def register(definition: F) -> F:
        _register(ops, "composite", composite=definition)
        return definition

    return register


def expansion(*ops: Callable[..., Any], always: bool = False) -> Callable[[F], F]:
    """What operations that Numba lacks are made of, for the program that is compiled; NotImplemented for arguments that are not covered.

    Derivatives come from the operation's own rule. `always`: also where Numba has it, as loops over elements then compute it with what is around it.
    """

    def register(definition: F) -> F:
        EXPANSIONS.update({op_name(op): (definition, always) for op in ops})
        return definition

    return register


def nondiff(*ops: Callable[..., Any], fresh_shape: bool = False, name: str | None = None) -> None:
    """The results of these operations carry no derivative."""
    _register(ops, "nondiff", name, fresh_shape=fresh_shape)


def static(helper: F) -> F:
    """Mark a helper that rule bodies call on static values (ints, tuples, None, str): it runs at compile time."""
    STATIC.add(helper)
    return helper


class NotCovered(NotImplementedError):
    """A rule does not cover a call; the compiler says where it stands."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@static
def refuse(wrong: bool, message: str, hint: str = "") -> None:
    """Stop where a call is not covered, with what to write instead."""
    if wrong:
        raise NotCovered(message, hint)


def samples(*ops: Callable[..., Any]) -> Callable[[F], F]:
    """Attach a generator of sample calls to operations: `gen(rng)` yields `(args, kwargs)`; used by tests alone."""

    def register(gen: F) -> F:
        for op in ops:
            TABLE[op_name(op)].samples.append(gen)
        return gen

    return register


def _find(op: Any) -> Rule | None:
    if isinstance(op, str):
        return TABLE.get(op) or (UNIT_RULE[0](op) if op.startswith("unit:") else None)
    try:
        name = _NAMES.get(op)
    except TypeError:  # unhashable callables have no rule
        return None
    return TABLE.get(name) if name is not None else None


def lookup(op: Any) -> Rule | None:
    """The rule of a callable or of an operation's name; None where there is none.

    Rules of modules that are slow to import (SciPy) are registered when one of their names is asked for, or when something unknown
    is asked for and the program has imported the module.
    """
    rule = _find(op)
    if rule is None and (LATE or _registering):
        with _late:  # another thread may be about to register what is asked for
            wanted = [m for m in LATE if m in sys.modules or (isinstance(op, str) and op.startswith(m + "."))]
            for module in wanted:
                _registering.append(module)
                try:
                    LATE.pop(module)()
                finally:
                    _registering.remove(module)
            rule = _find(op)
    return rule


_late = threading.RLock()
_registering: list[str] = []  # modules whose rules are being registered
