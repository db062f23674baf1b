"""Derivatives of functions: `grad`, `vjp`, `jvp`, `jacobian`, `hessian` and their neighbours, and the compiled function itself, `jit`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MethodType
from typing import Any
from weakref import ref

import numpy as np

from stgrad import jacobians
from stgrad.as_python import as_python
from stgrad.hooks import custom_gradient, stop_gradient
from stgrad.request import Derivative, Options, signature_of
from stgrad.transformed import Transformed
from stgrad.values import closed, leaves, map_leaves, opened

Argnums = int | str | Sequence[int | str]


def grad(
    f: Callable[..., Any] | None = None, argnums: Argnums = 0, has_aux: bool = False, *,
    jit: bool = True, parallel: bool = False, precise: bool = False, without: Collection[str] = (),
    checked: bool | None = None,
) -> Any:  # fmt: skip
    """The gradient of a function that returns one real number.

    Args:
        f: a Python function of numbers, NumPy arrays, and tuples, lists or dicts of them.
        argnums: the argument to differentiate in, by position or name; a tuple of those gives a tuple of gradients.
        has_aux: whether f returns `(value, auxiliary data)`; then the result is `(gradient, auxiliary data)`.
        jit: compile with Numba. With False the same text runs in plain Python, so that pdb and print work in it.
        parallel: run loops on threads where their trips are independent.
        precise: use the C library's elementary functions (below 1 ulp) rather than our vectorised ones (below 3 ulp, several times faster).
        without: passes of the compiler to leave out, by name, to look for the one at fault; `stages` shows them all.
        checked: whether compiled code raises what Python raises: None tests what costs next to nothing (positions, integers beyond 64 bits, division
            by zero...), True all of it, False nothing: a position outside of an array then reads or writes other memory. See docs/limits.md#indices.

    Returns:
        A function with the arguments of f. Its result has the shape and dtype of the argument.

    Raises:
        NotDifferentiableError: f returns no real number, or the argument is an int.
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
    return _make(f, "grad", argnums, has_aux, Options(jit, parallel, precise, _named(without), checked))


def value_and_grad(
    f: Callable[..., Any] | None = None, argnums: Argnums = 0, has_aux: bool = False, *,
    jit: bool = True, parallel: bool = False, precise: bool = False, without: Collection[str] = (),
    checked: bool | None = None,
) -> Any:  # fmt: skip
    """The value of a function and its gradient, in one sweep: `(value, gradient)`; arguments and errors as for `grad`."""
    return _make(f, "value_and_grad", argnums, has_aux, Options(jit, parallel, precise, _named(without), checked))


def jit(
    f: Callable[..., Any] | None = None, *, parallel: bool = False, precise: bool = False, without: Collection[str] = (), checked: bool | None = None
) -> Any:
    """The function itself, compiled through the same passes as its gradient; options as for `grad`."""
    if f is None:
        return lambda function: jit(function, parallel=parallel, precise=precise, without=without, checked=checked)
    return Transformed(Derivative(as_python(f), "primal"), Options(True, parallel, precise, _named(without), checked))


def _make(f: Any, mode: str, argnums: Argnums, has_aux: bool, options: Options) -> Any:
    if f is None:
        return lambda function: _make(function, mode, argnums, has_aux, options)
    if not callable(f):
        raise TypeError(f"{mode} takes a function, not {type(f).__name__}; options go by keyword: @stgrad.{mode}(argnums=...)")
    if isinstance(f, type):
        raise TypeError(f"{mode} takes a function, not the class {f.__name__}; pass a function that makes an instance and calls it")
    f = as_python(f)
    names = parameter_names(f, argnums)
    single = isinstance(argnums, (int, str))
    return Transformed(Derivative(f, mode, names, single, has_aux), options)


def parameter_names(f: Any, argnums: Argnums) -> tuple[str, ...]:
    """The names of the parameters that `argnums` means; `args[1]` for an element of `*args`, which numbers beyond the other ones mean.

    Raises IndexError or ValueError where there is no such parameter, or one is named twice.
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
        elif star is not None and int(wish) >= before:
            names.append(f"{star}[{int(wish) - before}]")
        elif not -len(known) <= int(wish) < len(known):
            raise IndexError(f"argnums={wish}: the function has {len(known)} parameters: {', '.join(known)}")
        else:
            names.append(known[int(wish)])
    if len(set(names)) != len(names):
        raise ValueError(f"argnums names a parameter twice: {', '.join(names)}")
    return tuple(names)


def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False, jit: bool = True) -> Any:
    """The value of a function and its pullback: `(value, pullback)`, as in JAX.

    Args:
        f: a function of numbers and arrays; any result.
        primals: its arguments.

    Returns:
        `f(*primals)` and a function that takes cotangents with the structure of the value and returns a tuple of
        cotangents, one for each primal (None for what has no derivative).
    """
    f = as_python(f)
    names = parameter_names(f, range(len(primals)))
    primals = closed(map_leaves(_copied, opened(primals)))  # the pullback is of this moment
    floats = [n for n, v in zip(names, primals, strict=False) if _has_floats(v)]
    primal, run = _pair(f, tuple(floats), has_aux, jit)
    value = primal(*closed(map_leaves(_copied, opened(primals))))
    aux: tuple[Any, ...] = ()
    if has_aux:
        value, aux = value[0], (value[1],)

    pull = run.pullback(primals, frozen=True)

    def pullback(cotangents: Any) -> tuple[Any, ...]:
        gradients = iter(pull(cotangents, value))
        return tuple(next(gradients) if n in floats else None for n in names)

    return (value, pullback, *aux)


def jacobian(f: Callable[..., Any] | None = None, argnums: Argnums = 0, *, jit: bool = True) -> Any:
    """The derivative of every number of a result in every number of an argument.

    Args:
        f: a function of numbers and arrays with any result.
        argnums: as for `grad`. jit: compile with Numba.

    Returns:
        A function with the arguments of f. For a result of shape `m` and an argument of shape `n` it gives an array of shape `m + n`; for
        structures, the structure of the argument in each place of the structure of the result. It is a program like any other: it has
        `source`, and can be differentiated again. One sweep is run for each number of the result.
    """
    return _derived(jacobians.jacobian_of, f, argnums, jit, "jacobian")


def hessian(f: Callable[..., Any] | None = None, argnums: Argnums = 0, *, jit: bool = True) -> Any:
    """The second derivatives of a function that returns one real number: the Jacobian of its gradient; arguments as for `jacobian`."""
    if f is None:
        return lambda function: hessian(function, argnums, jit=jit)
    return jacobian(grad(f, argnums), argnums, jit=jit)


def elementwise_grad(f: Callable[..., Any] | None = None, argnums: Argnums = 0, *, jit: bool = True) -> Any:
    """The derivative of each element of a result in the same element of an argument, of a function that works element by element.

    Where elements depend on others it is the derivative of the sum of all results.
    """
    return _derived(jacobians.elementwise_of, f, argnums, jit, "elementwise_grad")


def jvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], *, jit: bool = True) -> tuple[Any, Any]:
    """The value of a function and its derivative in a direction: `(value, tangent)`, as in JAX.

    Args:
        f: a function of numbers and arrays with any result.
        primals: its arguments.
        tangents: for each argument a direction of the same structure; None, or an int, for what has no derivative.

    >>> import math
    >>> jvp(math.sin, (0.0,), (2.0,), jit=False)  # doctest: +SKIP
    (0.0, 2.0)
    """
    f = as_python(f)

    _directed("jvp", primals, tangents)

    def pushforward() -> Transformed:
        pullback = jacobians.Pullback(f, parameter_names(f, _floats(primals)))
        return Transformed(Derivative(jacobians.pushforward_of(f, pullback, grad), "primal"), Options(jit))

    chosen = _floats(primals)
    directions = tuple(tangents[i] for i in chosen)
    value, tangent = _kept(f, ("jvp", chosen, jit), pushforward)(tuple(primals), directions)
    return value, tangent


def hvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], *, jit: bool = True) -> tuple[Any, ...]:
    """The Hessian of a function that returns one real number, times a vector, without the Hessian.

    Args:
        f: the function. primals: its arguments.
        tangents: for each argument the part of the vector that belongs to it.

    Returns:
        The product: a tuple with an entry for each argument that has floats, None for the others.
    """
    _directed("hvp", primals, tangents)
    f, chosen = as_python(f), _floats(primals)

    def product() -> Transformed:
        return Transformed(Derivative(jacobians.hessian_product_of(grad(f, chosen), grad, chosen), "primal"), Options(jit))

    found = iter(_kept(f, ("hvp", chosen, jit), product)(tuple(primals), tuple(tangents[i] for i in chosen)))
    return tuple(next(found) if i in chosen else None for i in range(len(primals)))


def _derived(make: Callable[..., Any], f: Any, argnums: Argnums, jit: bool, what: str) -> Any:
    if f is None:
        return lambda function: _derived(make, function, argnums, jit, what)
    if not callable(f):
        raise TypeError(f"{what} takes a function, not {type(f).__name__}; options go by keyword: @stgrad.{what}(argnums=...)")
    f = as_python(f)
    program = make(f, jacobians.Pullback(f, parameter_names(f, argnums)), isinstance(argnums, (int, str)))
    return Transformed(Derivative(program, "primal"), Options(jit))


def _floats(primals: Sequence[Any]) -> tuple[int, ...]:
    """The positions of the arguments that have a derivative."""
    return tuple(i for i, value in enumerate(primals) if _has_floats(value))


def _named(without: Collection[str]) -> frozenset[str]:
    """The passes to leave out; a single one may stand by itself."""
    return frozenset([without] if isinstance(without, str) else without)


def _directed(name: str, primals: Any, tangents: Any) -> None:
    """Raise unless there is for each argument a tangent of its structure and shapes: nothing is broadcast here."""
    for what, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise TypeError(f"{name}: the {what} are a tuple with an entry for each argument, not of type {type(given).__name__}")
    if len(primals) != len(tangents):
        raise TypeError(f"{name}: there are {len(primals)} primals and {len(tangents)} tangents")
    for position in _floats(primals):
        point, direction = (list(leaves(opened(given[position]))) for given in (primals, tangents))
        if len(point) != len(direction):
            raise TypeError(f"{name}: tangent {position} has {len(direction)} leaves, its primal has {len(point)}")
        for x, v in zip(point, direction, strict=True):
            if _has_floats(x) and np.shape(x) != np.shape(v):
                raise ValueError(f"{name}: tangent {position} has shape {np.shape(v)}, its primal has {np.shape(x)}")


def _kept(f: Any, key: Any, make: Callable[[], Transformed]) -> Transformed:
    """A program that belongs to a function, made once; it lives in the function's own dictionary, so it goes with it."""
    if not hasattr(f, "__dict__") or isinstance(f, MethodType):
        return make()
    known: tuple[Any, dict[Any, Transformed]] | None = vars(f).get("_stgrad_programs")
    if known is None or known[0]() is not f:  # `functools.wraps` copies the dictionary of what it wraps
        known = vars(f)["_stgrad_programs"] = (ref(f), {})
    if key not in known[1]:
        known[1][key] = make()
    return known[1][key]


def compile(f: Any, *signatures: Any) -> Transformed:  # noqa: A001
    """Generate and compile a derivative ahead of time, so that the first call of this or another process finds it on disk.

    Args:
        f: what `grad`, `value_and_grad` or `jit` returned; a plain function is compiled by `jit`.
        signatures: for each program a tuple of example arguments, or types in Numba's notation: `"float64[:], int64"`.

    Returns:
        f, or `jit(f)`.

    >>> import stgrad
    >>> stgrad.compile(stgrad.grad(lambda x, n: x**n), (1.0, 3), "float32, int64")  # doctest: +SKIP
    """
    transformed = f if isinstance(f, Transformed) else jit(f)
    for signature in signatures:
        if isinstance(signature, str):
            import numba

            types, _ = numba.core.sigutils.normalize_signature(signature if signature.strip().endswith(")") else f"({signature},)")
            transformed.compile_for(types)
        else:
            transformed.compile(*(signature if isinstance(signature, tuple) else (signature,)))
    return transformed


def _pair(f: Callable[..., Any], floats: tuple[str, ...], has_aux: bool, jit: bool) -> tuple[Transformed, Transformed]:
    """The compiled function and its pullback, made once; they live in the function's own dictionary, so they go with it."""
    keep: dict[str, Any] = vars(f) if hasattr(f, "__dict__") and not isinstance(f, MethodType) else {}
    pairs: tuple[Any, dict[Any, tuple[Transformed, Transformed]]] | None = keep.get("_stgrad_pairs")
    if pairs is None or pairs[0]() is not f:  # `functools.wraps` copies the dictionary of what it wraps
        pairs = keep["_stgrad_pairs"] = (ref(f), {})
    key = (floats, has_aux, jit)
    if key not in pairs[1]:
        pullback = Derivative(f, "vjp", floats, False, has_aux)
        pairs[1][key] = (Transformed(Derivative(f, "primal"), Options(jit)), Transformed(pullback, Options(jit)))
    return pairs[1][key]


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


def _copied(leaf: Any, _: str) -> Any:
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf


def _has_floats(value: Any) -> bool:
    return any(isinstance(v, (float, complex)) or getattr(getattr(v, "dtype", None), "kind", "") in ("f", "c") for v in leaves(opened(value)))


jacrev = jacfwd = jacobian  # as JAX calls them; there is one way to compute a Jacobian here

__all__ = [
    "cfunc", "compile", "custom_gradient", "elementwise_grad", "grad", "hessian", "hvp", "jacfwd", "jacobian", "jacrev", "jit", "jvp",
    "stop_gradient", "value_and_grad", "vjp",
]  # fmt: skip
