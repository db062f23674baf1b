"""Gradients of functions, `grad` and `value_and_grad`, and the compiled function itself, `jit`; how arguments are named."""

from __future__ import annotations

import contextlib
import functools
import operator
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from stgrad import errors, pushforwards
from stgrad.as_python import as_python
from stgrad.budgets import Budget
from stgrad.hooks import custom_gradient, custom_jvp, custom_vjp, insert_grad_of, stop_gradient
from stgrad.progress import shown
from stgrad.request import Around, Derivative, Options, signature_of
from stgrad.request import options as chosen_options
from stgrad.transformed import LAST_RESORT, Transformed

if TYPE_CHECKING:
    from stgrad.typed import Derived, P, R

Argnums = int | str | Sequence[int | str]


def _last_resort() -> Any:
    from stgrad.plain import resort

    return resort


LAST_RESORT.append(_last_resort)


@overload
def grad(
    f: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False, *,
    jit: bool | str = "auto", parallel: bool = False, precise: bool = False, without: Collection[str] = (),
    checked: bool | None = None, check_nan: bool = False, mode: str | None = None, memory: int | str | Budget | None = None, lazy: bool = False,
) -> Derived[P, Any]: ...
@overload
def grad(
    f: None = None, argnums: Argnums = 0, has_aux: bool = False, *,
    jit: bool | str = "auto", parallel: bool = False, precise: bool = False, without: Collection[str] = (),
    checked: bool | None = None, check_nan: bool = False, mode: str | None = None, memory: int | str | Budget | None = None, lazy: bool = False,
) -> Callable[[Callable[P, Any]], Derived[P, Any]]: ...
def grad(
    f: Callable[..., Any] | None = None, argnums: Argnums = 0, has_aux: bool = False, *,
    jit: bool | str = "auto", parallel: bool = False, precise: bool = False, without: Collection[str] = (),
    checked: bool | None = None, check_nan: bool = False, mode: str | None = None, memory: int | str | Budget | None = None, lazy: bool = False,
) -> Any:  # fmt: skip
    """The gradient of a function that returns one real number.

    Args:
        f: a Python function of numbers, NumPy arrays, and tuples, lists or dicts of them.
        argnums: the argument to differentiate in, by position or name; a tuple of those gives a tuple of gradients.
        has_aux: whether f returns `(value, auxiliary data)`; then the result is `(gradient, auxiliary data)`.
        jit: "auto" compiles with Numba; what the compiler does not take runs in plain Python and its derivative is recorded, with a
            `RunsPlainlyWarning` that names the line, see `stgrad help plain-python`. True refuses that instead. False runs the text of the
            gradient, and what there is none for, in plain Python, so that pdb and print work in it.
        parallel: run loops on threads where their trips are independent.
        precise: use the C library's elementary functions (below 1 ulp) rather than our vectorised ones (below 3 ulp, several times faster).
        without: passes of the compiler to leave out, by name, to look for the one at fault; `stages` shows them all.
        checked: whether compiled code raises what Python raises: None tests what costs next to nothing (positions, integers beyond 64 bits, division
            by zero...), True all of it, False nothing: a position outside of an array then reads or writes other memory. See `stgrad help indices`.
        check_nan: whether the first statement that makes a NaN of numbers, in the program or on the way back, raises NotANumberError, with its line and
            operands. It costs time: for debugging.
        mode: 'reverse', whose cost does not depend on how many numbers the argument has; 'forward', which stores nothing and takes one direction
            for each number; or 'auto', which is forward for up to four scalars where the reverse sweep would store values of loops, and tangents
            cost no products of matrices, and reverse elsewhere. The environment variable STGRAD_MODE is the default, or else 'auto'.
        memory: bytes that the reverse sweep may take beside arguments and results, as a number or a text ("100 MB", "2 GiB"): loops whose trips keep
            more run again from snapshots (see `stgrad help memory-budget`). The environment variable STGRAD_MEMORY is the default;
            `stgrad.Budget("100 MB", disk="/scratch")` keeps snapshots that do not fit on disk.

    Returns:
        A function with the arguments of f. Its result has the shape and dtype of the argument.

    Raises:
        NotDifferentiableError: f returns no real number, or the argument is an int.
        MemoryBudgetError: the budget cannot be met, or is no size.
        StgradError: f uses something that is not supported; the message says where, why and what to write instead.

    >>> import stgrad
    >>> def f(x, n):
    ...     y = 1.0
    ...     for i in range(n):
    ...         y = y * x
    ...     return y
    >>> stgrad.grad(f, jit=False)(2.0, 3)  # doctest: +SKIP
    12.0
    """
    return _make(f, "grad", argnums, has_aux, chosen_options(jit, parallel, precise, named(without), checked, check_nan, memory, lazy), mode)


@overload
def value_and_grad(
    f: Callable[P, R], argnums: Argnums = 0, has_aux: bool = False, *,
    jit: bool | str = "auto", parallel: bool = False, precise: bool = False, without: Collection[str] = (),
    checked: bool | None = None, check_nan: bool = False, mode: str | None = None, memory: int | str | Budget | None = None, lazy: bool = False,
) -> Derived[P, tuple[R, Any]]: ...
@overload
def value_and_grad(
    f: None = None, argnums: Argnums = 0, has_aux: bool = False, *,
    jit: bool | str = "auto", parallel: bool = False, precise: bool = False, without: Collection[str] = (),
    checked: bool | None = None, check_nan: bool = False, mode: str | None = None, memory: int | str | Budget | None = None, lazy: bool = False,
) -> Callable[[Callable[P, R]], Derived[P, tuple[R, Any]]]: ...
def value_and_grad(
    f: Callable[..., Any] | None = None, argnums: Argnums = 0, has_aux: bool = False, *,
    jit: bool | str = "auto", parallel: bool = False, precise: bool = False, without: Collection[str] = (),
    checked: bool | None = None, check_nan: bool = False, mode: str | None = None, memory: int | str | Budget | None = None, lazy: bool = False,
) -> Any:  # fmt: skip
    """The value of a function and its gradient, in one sweep: `(value, gradient)`; arguments and errors as for `grad`."""
    return _make(f, "value_and_grad", argnums, has_aux, chosen_options(jit, parallel, precise, named(without), checked, check_nan, memory, lazy), mode)


@overload
def jit(
    f: Callable[P, R], *, parallel: bool = False, precise: bool = False, without: Collection[str] = (), checked: bool | None = None, check_nan: bool = False,
) -> Derived[P, R]: ...
@overload
def jit(
    f: None = None, *, parallel: bool = False, precise: bool = False, without: Collection[str] = (), checked: bool | None = None, check_nan: bool = False,
) -> Callable[[Callable[P, R]], Derived[P, R]]: ...
def jit(
    f: Callable[..., Any] | None = None, *, parallel: bool = False, precise: bool = False, without: Collection[str] = (), checked: bool | None = None,
    check_nan: bool = False,
) -> Any:  # fmt: skip
    """The function itself, compiled through the same passes as its gradient; options as for `grad`."""
    if f is None:
        return lambda function: jit(function, parallel=parallel, precise=precise, without=without, checked=checked, check_nan=check_nan)
    return Transformed(Derivative(as_python(f), "primal"), Options(True, parallel, precise, named(without), checked, check_nan=check_nan))


def _make(f: Any, mode: str, argnums: Argnums, has_aux: bool, options: Options, sweep: str | None) -> Any:
    sweep = sweep or os.environ.get("STGRAD_MODE", "auto")
    if sweep not in ("auto", "reverse", "forward"):
        raise ValueError(f"mode={sweep!r} is none of auto, forward, reverse")
    if f is None:
        return lambda function: _make(function, mode, argnums, has_aux, options, sweep)
    if not callable(f):
        raise TypeError(f"{mode} takes a function, not {type(f).__name__}; options go by keyword: @stgrad.{mode}(argnums=...)")
    if isinstance(f, type):
        raise TypeError(f"{mode} takes a function, not the class {f.__name__}; pass a function that makes an instance and calls it")
    f = as_python(f)
    names = parameter_names(f, argnums)
    single = isinstance(argnums, (int, str))
    if sweep == "forward":
        what = "gradient" if mode == "grad" else "value and gradient"
        return Transformed(Around(_forward, what, "grad", f, names, (names, mode, single, has_aux)).request(), options)
    return Transformed(Derivative(f, mode, names, single, has_aux, sweep=sweep), options)


def _forward(f: Any, names: tuple[str, ...], mode: str, single: bool, has_aux: bool) -> Callable[..., Any]:
    """The gradient by forward mode."""
    return pushforwards.gradient_of(*pushforwards.gradient_parts(f, names, single, has_aux), mode == "value_and_grad")


def parameter_names(f: Any, argnums: Argnums) -> tuple[str, ...]:
    """The names of the parameters that `argnums` means: numbers count those that calls may give by position, and go on into `*args` (`args[1]`).

    Raises IndexError or ValueError where there is no such parameter, one is named twice, or a number counts back from the end of `*args`.
    """
    parameters = signature_of(f).parameters.values()
    known = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD]
    star = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)
    before = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
    chosen = [argnums] if isinstance(argnums, (int, str)) else list(argnums)
    names = []
    for wish in chosen:
        if isinstance(wish, str):
            if wish not in known:
                raise ValueError(f"argnums: the function has no parameter {wish!r}, but {', '.join(known)}")
            names.append(wish)
        elif star is not None and operator.index(wish) >= before:
            names.append(f"{star}[{operator.index(wish) - before}]")
        elif star is not None and operator.index(wish) < 0:
            raise ValueError(f"argnums={wish} counts from the end of `*{star}`, and only a call tells where that is: count from the front, or name it")
        elif not -before <= operator.index(wish) < before:
            told = ", ".join(known[:before]) + (f"; name it if it is one of {', '.join(known[before:])}" if known[before:] else "")
            raise IndexError(f"argnums={wish}: the function has {before} parameters by position: {told}")
        else:
            names.append(known[:before][operator.index(wish)])
    if len(set(names)) != len(names):
        raise ValueError(f"argnums names a parameter twice: {', '.join(names)}")
    return tuple(names)


def named(without: Collection[str]) -> frozenset[str]:
    """The passes to leave out; a single one may stand by itself."""
    return frozenset([without] if isinstance(without, str) else without) if without else _NONE


_NONE: frozenset[str] = frozenset()


@errors.presents
def compile(f: Any, *signatures: Any, progress: bool = False) -> Transformed:  # noqa: A001
    """Generate and compile a derivative ahead of time, so that the first call of this or another process finds it on disk.

    Args:
        f: what `grad`, `value_and_grad` or `jit` returned; a plain function is compiled by `jit`.
        signatures: for each program a tuple of example arguments, or types in Numba's notation: `"float64[:], int64"`.
        progress: whether to tell on standard error what the compiler is at, and how long each part took.

    Returns:
        f, or `jit(f)`.

    >>> import stgrad
    >>> stgrad.compile(stgrad.grad(lambda x, n: x**n), (1.0, 3), "float32, int64")  # doctest: +SKIP
    """
    transformed = f if isinstance(f, Transformed) else jit(f)
    for number, signature in enumerate(signatures, 1):
        with shown(f"{transformed.__name__}, {number} of {len(signatures)}") if progress else contextlib.nullcontext():
            _compile_for(transformed, signature)
    return transformed


def _compile_for(transformed: Transformed, signature: Any) -> None:
    if isinstance(signature, str):
        import numba

        types, _ = numba.core.sigutils.normalize_signature(signature if signature.strip().endswith(")") else f"({signature},)")
        transformed.compile_for(types)
    else:
        transformed.compile(*(signature if isinstance(signature, tuple) else (signature,)))


@errors.presents
def cfunc(
    f: Callable[..., Any], signature: Any, argnums: Argnums = 0, *, sizes: Mapping[str, int | tuple[int, ...]] | None = None, user_data: bool = False
) -> Any:
    """Value and gradient as a C function, for samplers and solvers: no Python runs in it, and it needs no GIL.

    Args:
        f: a function of numbers and arrays that returns one real number.
        signature: the types of value and arguments in Numba's notation: `"float64(float64[:], float64)"`. The buffers of the gradients
            may be written out behind the arguments: `"float64(float64[:], float64[:])"`.
        argnums: what to differentiate in, as for `grad`; an empty tuple for the value alone.
        sizes: extents of array arguments that never change; C then passes none for them.
        user_data: whether the function has a last argument `void *`, which it ignores.

    Returns:
        A `numba.cfunc` object with `.address` and `.ctypes`; `.prototype` is its declaration in C. An array is passed as a pointer
        followed by its extents, gradients as pointers behind all arguments. The function returns the value, NaN where f raises.

    Raises:
        UnsupportedCallerError: C cannot pass these arguments.
    """
    from stgrad import cfunctions

    names = list(signature_of(f).parameters)
    wrt = parameter_names(f, argnums)
    value, given = cfunctions.parse_signature(signature, names, wrt)
    both = Transformed(Derivative(f, "value_and_grad" if wrt else "primal", wrt, single=False))
    run = functools.partial(both.dispatcher_for, kwargs={}, typed=True)
    return cfunctions.make_cfunc(run, both.__name__, value, dict(zip(names, given, strict=True)), wrt, sizes or {}, user_data)


__all__ = [
    "cfunc", "compile", "custom_gradient", "custom_jvp", "custom_vjp", "grad", "insert_grad_of", "jit", "parameter_names", "stop_gradient", "value_and_grad",
]  # fmt: skip
