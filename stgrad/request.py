"""What is asked of the compiler: a function, which derivative of it, and with respect to what."""

from __future__ import annotations

import functools
import inspect
import os
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from stgrad import errors
from stgrad import source as sources
from stgrad.budgets import Budget, budget_of


@dataclass(frozen=True)
class Options:
    """How a program is compiled.

    `precise` calls the C library's elementary functions instead of the vectorised ones, `without` names passes to leave out.
    `checked` says what is tested while a program runs: None for what costs next to nothing, True for all that Python would refuse, False for
    nothing, not even that positions are inside their arrays. Programs `outside`, made of text that others wrote, have every index tested by Numba too.
    `broadcast`: extents that may be 1 stretch as the program runs; without it the program takes them to be equal, and tests that.
    `check_nan`: a statement that makes a NaN of numbers raises, with its place.
    `memory`: bytes that a reverse sweep may take, beside arguments and results.
    `plain`: where the compiler refuses a function, its derivative is recorded in plain Python.
    `lazy`: another process compiles, and until it has, the program runs as it was before it was lowered.
    `apart`: a pullback is a program of its own, which takes what a first one keeps that gives the value.
    """

    jit: bool = True
    parallel: bool = False
    precise: bool = False
    without: frozenset[str] = frozenset()
    checked: bool | None = None
    outside: bool = False
    broadcast: bool = False
    plain: bool = False
    check_nan: bool = False
    memory: Budget | None = None
    lazy: bool = False
    apart: bool = False

    @property
    def key(self) -> str:
        """What the text of a program depends on; the same text serves with and without `jit` and `outside`."""
        tests = [] if self.checked is None else ["checked" if self.checked else "unchecked"]
        flags = [name for name in ("parallel", "precise", "broadcast", "check_nan", "apart") if getattr(self, name)]
        tests += [] if self.memory is None else [f"memory={self.memory}"]
        chosen = [*tests, *flags, *(f"-{name}" for name in sorted(self.without))]
        return " ".join(chosen)

    @property
    def falls_back(self) -> bool:
        """Whether plain Python may run what cannot be compiled: `plain`, but for `STGRAD_PLAIN=0` in the environment."""
        return self.plain and os.environ.get("STGRAD_PLAIN") != "0"


DEFAULT = Options()


def options(
    jit: bool | str, parallel: bool = False, precise: bool = False, without: frozenset[str] = frozenset(), checked: bool | None = None,
    check_nan: bool = False, memory: int | str | Budget | None = None, lazy: bool = False,
) -> Options:
    """The options of a call: `jit="auto"` compiles what it can, and it and `False` let the rest run in plain Python.

    What runs in plain Python keeps everything, so that with a budget of memory nothing does. Of what is not compiled, and of
    what tests each statement, no other process makes anything.
    """
    if jit not in (True, False, "auto"):
        raise ValueError(f'jit={jit!r} is none of True, False, "auto"')
    budget = None if memory is False else budget_of(memory)
    plain = jit is not True and not check_nan and budget is None
    lazy = lazy and jit is not False and not check_nan
    return Options(bool(jit), parallel, precise, without, checked, plain=plain, check_nan=check_nan, memory=budget, lazy=lazy)


@dataclass(frozen=True)
class Derivative:
    """What is asked for: which function, with respect to which parameters, and which results.

    `mode` is 'primal', 'grad', 'value_and_grad', 'vjp' (cotangents of the results are extra arguments), 'jvp' (tangents
    of the arguments are) or 'series' (the coefficients of their power series are, order by order). A
    'jvp' has several `directions`, each the numbers of the float leaves of `wrt` whose tangents are given, or one of all of them. 'columns' and
    'rows' are the derivatives in all numbers of the arguments, or of all numbers of the results, at once.
    """

    function: Any
    mode: str = "grad"
    wrt: tuple[str, ...] = ()
    single: bool = True  # one gradient rather than a tuple of them
    has_aux: bool = False
    directions: tuple[tuple[int, ...], ...] | None = None
    sweep: str = "reverse"  # of a gradient; 'auto': forward where that costs less
    around: Around | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Around:
    """What a program is that we put around the derivative of a function: a Jacobian, a map over a batch.

    `make(function, *args)` gives the program, which takes the arguments of the function and, `behind` them, others. It is named after the
    function, says what it is of it, calls arguments as the function does, and is made again in another process.
    """

    make: Callable[..., Any]
    what: str  # in words
    suffix: str  # of its name
    function: Any
    wrt: tuple[str, ...] = ()
    args: tuple[Any, ...] = ()
    behind: tuple[str, ...] = ()

    @property
    def chosen(self) -> tuple[str, ...]:
        """`wrt`, as the innermost function calls them."""
        known = _called(self.function, 0) if any(name.startswith("args[") for name in self.wrt) else []
        places = [int(name[5:-1]) if name.startswith("args[") else len(known) for name in self.wrt]
        return tuple(known[i] if i < len(known) else name for i, name in zip(places, self.wrt, strict=True))

    def request(self) -> Derivative:
        """The request for the program; the program knows what it is."""
        program = self.make(self.function, *self.args)
        program._stgrad_around_ = self
        return Derivative(program, "primal", around=self)

    def names(self, parameter: str, count: int) -> list[str]:
        """What the items of a parameter of the program are called that holds those of the function."""
        own = [f"{base}_{index[:-1]}" if index else base for base, _, index in (name.partition("[") for name in self.chosen)]
        known = _called(self.function, count) if parameter in ("args", "primals") else own
        if parameter == "args":
            known = [*known[: max(count - len(self.behind), 0)], *self.behind]
        return [f"{name}_dot" for name in known] if parameter == "tangents" else known

    def own(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Of the arguments of the program those that go to the function, as it calls them."""
        found = {name: value for name, value in arguments.items() if name not in ("args", "primals", "tangents")}
        for parameter in arguments.keys() & {"args", "primals"}:
            items = arguments[parameter]
            items = items[: len(items) - len(self.behind)] if parameter == "args" else items
            found.update(zip(self.names(parameter, len(arguments[parameter])), items, strict=False))
        return found


def public_signature(target: Any) -> inspect.Signature:
    """The parameters of what is called, those of the user's function where the program around it takes any."""
    around = target.derivative.around
    if around is None or not any(p.kind is p.VAR_POSITIONAL for p in signature_of(target).parameters.values()):
        return signature_of(target)
    own = list(signature_of(innermost(around.function)).parameters.values())
    behind = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in around.behind]
    return inspect.Signature(own if not behind else [*(p.replace(kind=p.POSITIONAL_ONLY, default=p.empty) for p in own), *behind])


def innermost(function: Any) -> Any:
    """The function that a derivative, or a program around one, is of."""
    while hasattr(function, "derivative"):
        request = function.derivative
        function = request.function if request.around is None else request.around.function
    return function


def _called(function: Any, count: int) -> list[str]:
    """The names of so many arguments by position."""
    names: list[str] = []
    for name, parameter in signature_of(innermost(function)).parameters.items():
        many = parameter.kind is parameter.VAR_POSITIONAL
        names += [f"{name}_{i}" for i in range(count - len(names))] if many else [name] if parameter.kind is not parameter.VAR_KEYWORD else []
    return names


Spelling = str | list[str] | dict[str, str]


def spelled(function: Any, arguments: Mapping[str, Any]) -> dict[str, Spelling]:
    """For each parameter of a program what its value is called: a text, or a text for each item of it."""
    around = getattr(function, "_stgrad_around_", None)
    found: dict[str, Spelling] = {}
    for name, value in arguments.items():
        found[name] = name
        if around is not None and name == "kwargs":
            found[name] = {key: key for key in value}
        elif around is not None and name in ("args", "primals", "tangents") and isinstance(value, tuple):
            names = around.names(name, len(value))
            found[name] = [names[i] if i < len(names) else f"{name}_{i}" for i in range(len(value))]
    return found


def function_name(request: Any) -> str:
    """The name of what is differentiated: `loss`, `loss_grad`, `loss_hessian`."""
    if request.around is not None:
        return f"{function_name_of(request.around.function)}_{request.around.suffix}"
    return function_name_of(request.function)


def function_name_of(inner: Any) -> str:
    """The same of a function, or of what is called like one."""
    if hasattr(inner, "derivative"):
        return function_name(inner.derivative) if inner.derivative.mode == "primal" else f"{function_name(inner.derivative)}_grad"
    inner = sources.unwrap(inner).function if callable(inner) else inner
    inner = getattr(inner, "tree", inner)  # a function of the code being read
    name = getattr(inner, "__name__", getattr(inner, "name", type(inner).__name__))
    return name if name.isidentifier() else name.strip("<>") if name.strip("<>").isidentifier() and name != "<lambda>" else "function"


def described(request: Derivative) -> str:
    """What a derivative is, in a sentence; nothing for a function itself."""
    if request.around is not None:
        return _sentence(request.around.what, function_name_of(request.around.function), request.around.chosen)
    if request.mode == "primal":
        return ""
    words = {"grad": "Gradient", "value_and_grad": "Value and gradient", "vjp": "Vector-Jacobian product", "jvp": "Value and tangent"}
    what = words.get(request.mode, "Derivative")
    return _sentence(what, function_name(request), request.wrt)


def extents_told(params: Iterable[Any], types: Mapping[str, Any]) -> str:
    """The arrays that a program takes of certain extents alone, in a sentence; nothing where there are none. An extent of 1 is part of every type."""
    dims = {p.name: types[p.name].dims for p in params}
    told = [f"{name} of shape ({', '.join(map(str, d))}{',' * (len(d) == 1)})" for name, d in dims.items() if any(n.constant not in (None, 1) for n in d)]
    return f"Only for {', '.join(told)}." if told else ""


def _sentence(what: str, of: str, names: tuple[str, ...]) -> str:
    what = f"{what[0].upper()}{what[1:]}"
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "nothing"
    return f"{what} of {of} with respect to {listed}." if names else f"{what} of {of}."


def signature_of(target: Any) -> inspect.Signature:
    """The signature of the innermost Python function."""
    while hasattr(target, "derivative"):
        target = target.derivative.function
    if sources.is_dispatcher(target):
        target = target.py_func
    if isinstance(target, functools._lru_cache_wrapper):
        target = target.__wrapped__
    if isinstance(target, types.FunctionType) and "__signature__" in target.__dict__:  # of what it wraps: its own code takes other names
        named = target
        target = types.FunctionType(named.__code__, named.__globals__, named.__name__, named.__defaults__, named.__closure__)
        target.__kwdefaults__ = named.__kwdefaults__
    try:
        return inspect.signature(target, follow_wrapped=False)
    except (TypeError, ValueError) as problem:
        raise errors.SourceNotFoundError(f"`{target!r}` has no signature that can be read", reason=str(problem)) from None
