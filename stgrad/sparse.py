"""Sparse derivatives: `sparsity`, `sparse_jacobian`, `sparse_hessian`.

The pattern is found by running the program on sets of positions (`stgrad.analysis.dependence`), columns or rows that share nothing are
given one colour, and each colour costs one sweep. Pattern and colours are kept for calls with arguments of the same shapes and the same integers.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from stgrad import colouring, errors, lookups
from stgrad.api import Argnums, grad, named, parameter_names
from stgrad.as_python import as_python, first_of
from stgrad.compressed import compressed_of, compressed_rows_of
from stgrad.jacobians import Row
from stgrad.request import Derivative, Options, signature_of
from stgrad.tangent_calls import Point, Pushforward
from stgrad.transformed import Transformed
from stgrad.values import Sym, leaves, opened


@errors.presents
def sparsity(f: Callable[..., Any], *args: Any, argnums: Argnums = 0, **kwargs: Any) -> Any:
    """Which numbers of a result depend on which numbers of an argument: a boolean SciPy CSR array.

    Args:
        f: a function of numbers and arrays with any result.
        args: its arguments. The pattern holds for all floats in their place: both sides of a branch that depends on one count; integers are what they are.
        argnums: the argument to depend on, as for `grad`; several are put beside one another.

    Returns:
        An array with a row for each number of the result and a column for each number of the argument, in the order of their elements. It may say
        that there is a dependence where there is none, never the reverse; it is full where positions depend on floats.

    >>> import numpy as np
    >>> sparsity(lambda x: x[1:] * x[:-1], np.ones(3)).toarray()
    array([[ True,  True, False],
           [False,  True,  True]])
    """
    return _pattern(as_python(f), parameter_names(f, argnums), args, kwargs).pattern


def sparse_jacobian(
    f: Callable[..., Any] | None = None, argnums: Argnums = 0, has_aux: bool = False, *, mode: str = "auto", jit: bool = True, parallel: bool = False,
    precise: bool = False, without: Collection[str] = (), checked: bool | None = None,
) -> Any:  # fmt: skip
    """The Jacobian as a SciPy CSR array: as many sweeps as colours of its columns or rows.

    Args:
        f: a function of numbers and arrays with any result.
        argnums: the argument to differentiate in; several are put beside one another.
        has_aux: whether f returns `(value, auxiliary data)`; then the result is `(Jacobian, auxiliary data)`.
        mode: 'forward' colours columns, 'reverse' rows, 'auto' takes the cheaper one. The other options are those of `grad`.

    Returns:
        A function with the arguments of f. Rows are the numbers of the result, columns those of the argument. `plan(*args)` tells the
        pattern and the colours that it keeps.

    >>> import numpy as np
    >>> bands = sparse_jacobian(lambda x: x[1:] * x[:-1], jit=False)
    >>> bands(np.array([1.0, 2.0, 3.0])).toarray()
    array([[2., 1., 0.],
           [0., 3., 2.]])
    """
    if mode not in ("auto", "forward", "reverse"):
        raise ValueError(f"mode={mode!r} is none of auto, forward, reverse")
    options = Options(jit, parallel, precise, named(without), checked)
    if f is None:
        return lambda function: Sparse(as_python(function), parameter_names(function, argnums), mode, options, has_aux)
    return Sparse(as_python(f), parameter_names(f, argnums), mode, options, has_aux)


def sparse_hessian(f: Callable[..., Any] | None = None, argnums: Argnums = 0, has_aux: bool = False, **options: Any) -> Any:
    """The Hessian of a function that returns one real number, as a SciPy CSR array; a star colouring makes use of its symmetry.

    Args and options as for `sparse_jacobian`; `argnums` is one argument.

    >>> import numpy as np
    >>> sparse_hessian(lambda x: np.sum(x[1:] * x[:-1] ** 2), jit=False)(np.array([1.0, 2.0, 3.0])).toarray()
    array([[4., 2., 0.],
           [2., 6., 4.],
           [0., 4., 0.]])
    """
    if f is None:
        return lambda function: sparse_hessian(function, argnums, has_aux, **options)
    if not isinstance(argnums, (int, str)):
        raise TypeError("sparse_hessian: argnums is one argument; put several into a tuple")
    made = sparse_jacobian(grad(f, argnums, has_aux), argnums, has_aux, mode="forward", **options)
    made.symmetric = True
    return made


@dataclass(frozen=True)
class Plan:
    """The pattern of a Jacobian, a boolean CSR array, the colours of its columns, or its rows, and where its entries stand in the sums of these.

    `lookups` and `held`, the arrays from outside with what was in them, tell what the pattern was found from.
    """

    pattern: Any
    colours: Any
    places: Any
    by_columns: bool
    seeds: tuple[Any, ...]
    dtype: Any
    lookups: tuple[Any, ...]
    held: tuple[tuple[Any, bytes], ...]

    def lasts(self) -> bool:
        """Whether all that it was made from is as it was."""
        return all(lookup.holds() for lookup in self.lookups) and all(array.tobytes() == was for array, was in self.held)

    @property
    def sweeps(self) -> int:
        return int(self.seeds[0].shape[0])


class Sparse:
    """What `sparse_jacobian` returns."""

    def __init__(self, f: Any, names: tuple[str, ...], mode: str, options: Options, has_aux: bool = False) -> None:
        self._both = Transformed(Derivative(f, "primal"), options) if has_aux else None  # the function with its auxiliary data
        f = first_of(f) if has_aux else f
        self.f, self.names, self.mode, self.symmetric = f, names, mode, False
        push, point = Pushforward(f, names), Point(f, names)
        self._forward = Transformed(Derivative(compressed_of(push, point), "primal"), options)
        self._reverse = Transformed(Derivative(compressed_rows_of(f, Row(f, names)), "primal"), options)
        self._plans: dict[Any, Plan] = {}

    @errors.presents
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = self._matrix(args, kwargs)
        return found if self._both is None else (found, self._both(*copy.deepcopy(args), **copy.deepcopy(kwargs))[1])

    def _matrix(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        from scipy.sparse import csr_array

        plan = self.plan(*args, **kwargs)
        run = self._forward if plan.by_columns else self._reverse
        blocks = run(plan.seeds, args, kwargs) if plan.sweeps else [np.zeros((1, max(plan.pattern.shape)))]
        data = np.take(blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1), plan.places).astype(plan.dtype, copy=False)
        pattern = plan.pattern
        return csr_array((data, pattern.indices.copy(), pattern.indptr.copy()), shape=pattern.shape)

    @errors.presents
    def plan(self, *args: Any, **kwargs: Any) -> Plan:
        """The pattern and the colours for arguments like these."""
        key = _key(args, kwargs)
        known = self._plans.get(key)
        if known is None or not known.lasts():
            known = self._plans[key] = self._made(args, kwargs)
        return known

    def _made(self, args: Any, kwargs: Any) -> Plan:
        with lookups.recorded() as record:
            found = _pattern(self.f, self.names, args, kwargs)
        if found.is_complex:
            raise _complex_result(self.f)
        pattern, inputs, outputs = found.pattern, found.inputs, found.outputs
        kept = found.dtype, tuple(record.values()), tuple((value, value.tobytes()) for value in found.outside if isinstance(value, np.ndarray))
        if self.symmetric:
            pattern = (pattern + pattern.T).tocsr().astype(bool)
            pattern.sort_indices()
            colours = colouring.star(pattern)
            return Plan(pattern, colours, colouring.mirrored_positions(pattern, colours), True, _split(colouring.seeds(colours), inputs), *kept)
        by_column = colouring.columns(pattern) if self.mode != "reverse" else None
        by_row = colouring.columns(pattern.T.tocsr()) if self.mode != "forward" else None
        if by_row is None or by_column is not None and by_column.max(initial=-1) <= 2 * (by_row.max(initial=-1) + 1):
            return Plan(pattern, by_column, colouring.positions(pattern, by_column), True, _split(colouring.seeds(by_column), inputs), *kept)
        return Plan(pattern, by_row, colouring.row_positions(pattern, by_row), False, _split(colouring.seeds(by_row), outputs), *kept)


def _split(rows: Any, sizes: list[int]) -> tuple[Any, ...]:
    return tuple(np.ascontiguousarray(part) for part in np.split(rows, np.cumsum(sizes)[:-1], axis=1))


def _key(args: Any, kwargs: Any) -> Any:
    """What a pattern depends on: shapes and dtypes, the values of integers, and what is no number."""

    def one(leaf: Any) -> Any:
        if isinstance(leaf, (np.ndarray, np.generic)):
            return leaf.shape, leaf.dtype.str, leaf.tobytes() if leaf.dtype.kind in "iub" else None
        return type(leaf), None if isinstance(leaf, (float, complex)) else leaf if isinstance(leaf, (int, str, type(None))) else id(leaf)

    return tuple(map(one, leaves(opened(list(args))))), tuple((k, *map(one, leaves(opened(v)))) for k, v in sorted(kwargs.items()))


def _complex_result(f: Any) -> errors.NotDifferentiableError:
    from stgrad.program import last_line

    reason = "the result is complex, and a sparse Jacobian holds numbers of the type that the arguments have"
    return errors.NotDifferentiableError(reason, last_line(f), hint="return the real and the imaginary part: np.concatenate((y.real, y.imag))")


class _Found(NamedTuple):
    """A pattern, the sizes of the arguments' arrays and numbers, those of the result's, the values from outside, the dtype of the arguments, and whether a
    result is complex."""

    pattern: Any
    inputs: list[int]
    outputs: list[int]
    outside: tuple[Any, ...]
    dtype: Any
    is_complex: bool


def _pattern(f: Any, names: tuple[str, ...], args: Any, kwargs: Any) -> _Found:
    from stgrad.analysis.dependence import Dynamic, dependence, full
    from stgrad.program import array_program, float_leaves, spec_of
    from stgrad.transforms.pipeline import Trace
    from stgrad.transforms.simplify import simplify

    bound = signature_of(f).bind(*args, **kwargs)
    bound.apply_defaults()
    reading = array_program(f, {name: spec_of(value, name) for name, value in bound.arguments.items()}, Trace())
    values = dict(reading.function.constants)
    for name, value in bound.arguments.items():
        for leaf, given in zip(leaves(reading.arguments[name]), leaves(opened(value)), strict=True):
            if isinstance(leaf, Sym):
                values[leaf.name] = given
    wanted = [leaf.name for name in names for leaf in float_leaves(name, _argument(reading.arguments, name))]
    sizes = [int(np.size(values[name])) for name in wanted]
    starts = dict(zip(wanted, np.cumsum([0, *sizes]).tolist(), strict=False))
    floats = frozenset(n for a in bound.arguments for v in leaves(reading.arguments[a]) if isinstance(v, Sym) and v.type.is_float for n in (v.name,))
    flat = [i for i, leaf in enumerate(leaves(reading.result)) if isinstance(leaf, Sym) and leaf.type.is_float]
    fn = _with_result(simplify(_with_result(reading.function, reading.result)), None)
    try:
        found = [sets for i, sets in enumerate(dependence(fn, values, starts, floats - set(wanted))) if i in flat]
    except Dynamic:
        every, value = frozenset(range(sum(sizes))), list(leaves(opened(_plain(f, bound))))
        found = [full(np.shape(value[i]), every) for i in flat]
    outside, dtype = tuple(reading.function.constants.values()), np.result_type(*(values[name] for name in wanted)) if wanted else np.dtype(float)
    is_complex = any(isinstance(leaf, Sym) and leaf.type.dtype.startswith("complex") for leaf in leaves(reading.result))
    return _Found(_csr(found, sum(sizes)), sizes, [sets.size for sets in found], outside, dtype, is_complex)


def _with_result(fn: Any, result: Any) -> Any:
    from dataclasses import replace

    from stgrad.frontend import result_operand

    return fn if result is None else replace(fn, result=result_operand(result))


def _plain(f: Any, bound: Any) -> Any:
    run = f if isinstance(f, Transformed) else Transformed(Derivative(f, "primal"), Options(jit=False))
    return run(*copy.deepcopy(bound.args), **copy.deepcopy(bound.kwargs))


def _argument(arguments: Any, name: str) -> Any:
    base, _, index = name.partition("[")
    return arguments[base][int(index[:-1])] if index else arguments[base]


def _csr(blocks: list[Any], width: int) -> Any:
    from scipy.sparse import csr_array

    rows = [sorted(item) for sets in blocks for item in sets.ravel().tolist()]
    indptr = np.cumsum([0, *map(len, rows)])
    indices = np.fromiter((j for row in rows for j in row), dtype=np.int64, count=int(indptr[-1]))
    return csr_array((np.ones(len(indices), dtype=bool), indices, indptr), shape=(len(rows), width))


for _called in (sparsity, sparse_jacobian, sparse_hessian, Sparse):
    errors.refuse_inside(
        _called,
        reason="which entries can be other than zero is found from the values of the arguments, before there is a program",
        hint="call it outside of the function, or take stgrad.jacobian or stgrad.hessian in it",
    )

__all__ = ["Plan", "Sparse", "sparse_hessian", "sparse_jacobian", "sparsity"]
