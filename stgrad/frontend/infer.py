"""Result types of operations, read off NumPy itself.

An operation is run on small samples that have the dtypes and ranks of its operands: so dtype, rank and the Python type of
the result are NumPy's own, whatever the operation. Extents are found by running it on three samples with different
sizes for every symbol: an extent that follows `size + constant` in all three is that symbol's. Where sizes depend on
values, or no symbol fits, the result gets a new symbol, which proves nothing and so is always right.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from stgrad.errors import ShapeError
from stgrad.ir import Dim, Type

Fresh = Callable[[], Dim]
RUNS = 3
# Sizes of the k-th symbol in the three runs. Differences between runs are all distinct, so that sums and multiples
# of sizes do not pass for another symbol.
_SIZES = [(6, 9, 13), (5, 11, 7), (8, 7, 17), (11, 6, 8), (7, 14, 10), (10, 5, 19), (9, 17, 6), (12, 8, 23), (14, 12, 9), (13, 19, 15)]


# Values of integers in the three runs: an extent that follows one of them is nobody's. All are valid indices of the sizes above.
_INTEGERS = [(1, 2, 4), (2, 1, 3), (3, 4, 1), (1, 3, 2), (4, 2, 3)]


class Sampler:
    """Sizes for the symbols of one call. `merged`: all symbols have one size; `steady`: integers are 1 in all runs."""

    def __init__(self, merged: tuple[int, ...] | None = None, *, steady: bool = False) -> None:
        self.sizes: dict[str, tuple[int, ...]] = {}
        self.merged = merged
        self.steady = steady
        self.constants: set[int] = set()
        self.flexible: set[int] = set()
        self._integers = [0] * RUNS

    def size(self, dim: Dim, run: int) -> int:
        if dim.symbol is None:
            self.constants.add(dim.offset)
            return dim.offset
        if self.merged:
            self.flexible.add(self.merged[run])
            return self.merged[run]
        if dim.symbol not in self.sizes:
            self.sizes[dim.symbol] = _SIZES[len(self.sizes) % len(_SIZES)]
        return max(self.sizes[dim.symbol][run] + dim.offset, 0)

    @property
    def met_integers(self) -> bool:
        return any(self._integers)

    def integer(self, run: int) -> int:
        """A value for the next integer of which nothing is known."""
        self._integers[run] += 1
        return 1 if self.steady else _INTEGERS[(self._integers[run] - 1) % len(_INTEGERS)][run]

    def dim(self, extents: Sequence[int]) -> Dim | None:
        """The Dim that has these extents in the three runs."""
        if len(set(extents)) == 1:
            return None if extents[0] in self.flexible else Dim(None, extents[0])
        if self.merged:
            return None
        for symbol, sizes in self.sizes.items():
            offsets = {e - s for e, s in zip(extents, sizes, strict=True)}
            if len(offsets) == 1:
                return Dim(symbol, offsets.pop())
        return None


def sample(type_: Type, sampler: Sampler, run: int) -> Any:
    """A value of this type: well conditioned where square, positive, a valid index where integer."""
    if not type_.array:
        if type_.value is not None:
            number: Any = sampler.size(type_.value, run)
        else:
            kind = np.dtype(type_.dtype).kind
            number = sampler.integer(run) if kind in "iu" else True if kind == "b" else 0.5
        return (
            {"b": bool, "i": int, "f": float, "c": complex}.get(np.dtype(type_.dtype).kind, float)(number)
            if type_.weak
            else np.dtype(type_.dtype).type(number)
        )
    shape = tuple(sampler.size(d, run) for d in type_.dims)
    kind = np.dtype(type_.dtype).kind
    if kind in "iub":
        return np.full(shape, kind == "b", dtype=type_.dtype)
    array = np.full(shape, 0.5, dtype=type_.dtype)
    if len(shape) >= 2 and shape[-1] == shape[-2]:
        array = array * 0.1 + (np.eye(shape[-1]) * (1.0 + np.arange(shape[-1]))).astype(type_.dtype)
    return array


def describe(result: Any) -> Type | None:
    """The type of a result, extents left as constants, 0-d arrays as scalars; None for what is no number or array."""
    if isinstance(result, np.ndarray) and not result.ndim:
        return Type(str(result.dtype))
    if isinstance(result, np.ndarray):
        return Type(str(result.dtype), tuple(Dim(None, n) for n in result.shape), array=True)
    if isinstance(result, np.generic):
        return Type(str(result.dtype))
    for kind, dtype in ((bool, "bool"), (int, "int64"), (float, "float64"), (complex, "complex128")):
        if isinstance(result, kind):
            return Type(dtype, weak=True)
    return None


def run(call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*args, **kwargs)


def by_example(call: Callable[..., Any], build: Callable[[Sampler, int], tuple[Any, Any]], fresh: Fresh, *, values_decide: bool = False) -> Any:
    """Types of the results of `call`; `build(sampler, run)` makes `(args, kwargs)` of one run.

    Returns a Type, or a tuple of them for several results. Raises what the call raises where no sizes suit it.
    """
    sampler = Sampler()
    try:
        results = [run(call, *build(sampler, r)) for r in range(RUNS)]
    except (ValueError, IndexError, np.linalg.LinAlgError) as problem:
        results, sampler = _agreeing(call, build, sampler, problem)
        values_decide |= sampler.steady and sampler.met_integers
    return _common(results, sampler, fresh, values_decide)


def _agreeing(call: Callable[..., Any], build: Callable[[Sampler, int], tuple[Any, Any]], first: Sampler, problem: Exception) -> tuple[list[Any], Sampler]:
    """Results where all symbols have one size: what the operands must agree in is found out at run time."""
    alike = [_SIZES[0], *((n,) * RUNS for n in sorted(first.constants, reverse=True) if n > 1)]
    for sizes, steady in ((None, True), *((sizes, steady) for sizes in alike for steady in (False, True))):
        sampler = Sampler(sizes, steady=steady)
        try:
            return [run(call, *build(sampler, r)) for r in range(RUNS)], sampler
        except (ValueError, IndexError, np.linalg.LinAlgError):
            continue
    raise problem


def _common(results: list[Any], sampler: Sampler, fresh: Fresh, values_decide: bool) -> Any:
    if isinstance(results[0], (tuple, list)):
        items = [_common([r[i] for r in results], sampler, fresh, values_decide) for i in range(len(results[0]))]
        return type(results[0])(*items) if hasattr(results[0], "_fields") else tuple(items)  # np.linalg.eigh has named results
    first = describe(results[0])
    if first is None:
        raise TypeError(f"the result is a {type(results[0]).__name__}")
    if not first.array:
        return first
    dims = []
    for axis in range(first.rank):
        extents = [r.shape[axis] for r in results]
        known = None if values_decide else sampler.dim(extents)
        dims.append(known if known is not None else fresh())
    return Type(first.dtype, tuple(dims), array=True)


@lru_cache(maxsize=4096)
def elementwise_dtype(call: Callable[..., Any], kinds: tuple[tuple[str, bool, bool], ...]) -> tuple[Type, ...] | Type:
    """Result type, extents left out, of an elementwise call on operands given as (dtype, is array, weak)."""

    def one(dtype: str, array: bool, weak: bool) -> Any:
        return sample(Type(dtype, (Dim(None, 2),) if array else (), array=array, weak=weak), Sampler(), 0)

    samples = [one(*k) for k in kinds]
    try:
        result = run(call, samples, {})
    except ValueError:  # outside the domain of a function of `math`
        result = run(call, [s + 1 for s in samples], {})
    if isinstance(result, tuple):
        return tuple(_must(r) for r in result)
    return _must(result)


def _must(result: Any) -> Type:
    found = describe(result)
    if found is None:
        raise TypeError(f"the result is a {type(result).__name__}")
    return found


def broadcast(dims: Sequence[tuple[Dim, ...]]) -> tuple[Dim, ...]:
    """Extents of a broadcast result. Axes of constant extent 1 stretch; others are taken to agree (checked at run time).

    Raises ShapeError where constant extents do not agree.
    """
    rank = max((len(d) for d in dims), default=0)
    result = []
    for axis in range(-rank, 0):
        here = [d[axis] for d in dims if len(d) >= -axis]
        wide = [d for d in here if d.constant != 1]
        constants = [d for d in wide if d.constant is not None]
        if len(set(constants)) > 1:
            raise ShapeError(f"these shapes do not broadcast: {' and '.join(map(_shape, dims))}")
        result.append((constants or wide or here)[0])
    return tuple(result)


def _shape(dims: tuple[Dim, ...]) -> str:
    return f"({', '.join(map(str, dims))}{',' if len(dims) == 1 else ''})"
