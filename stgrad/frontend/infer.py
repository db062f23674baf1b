"""Result types of operations, read off NumPy itself.

An operation is run on small samples that have the dtypes and ranks of its operands: so dtype, rank and the Python type of
the result are NumPy's own, whatever the operation. Extents are guessed from three runs in which every symbol has a size of its own:
one that follows `size + constant` in all three may be that symbol's. Then the guess is put to the test with sizes at which operations
change their mind: none, one, few, many, all alike, in another order. What fails there once, and what no symbol fits, gets a
new symbol, which proves nothing and so is always right.

Where an operation takes no three different sizes, it is looked for which symbols must agree; nothing is guessed of those.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice, product
from typing import Any

import numpy as np

from stgrad.errors import ShapeError, StgradError, UnsupportedSyntaxError
from stgrad.ir import Dim, Type
from stgrad.values import leaves, map_leaves

Fresh = Callable[[], Dim]
Sizes = Mapping[str, int]
Claim = Dim | None
RUNS = 3
# Sizes of the k-th symbol in the three runs. Differences between runs are all distinct, so that sums and multiples
# of sizes do not pass for another symbol.
_SIZES = [(6, 9, 13), (5, 11, 7), (8, 7, 17), (11, 6, 8), (7, 14, 10), (10, 5, 19), (9, 17, 6), (12, 8, 23), (14, 12, 9), (13, 19, 15)]
# Values of integers in the three runs: an extent that follows one of them is nobody's. All are valid indices of the sizes above.
_INTEGERS = [(1, 2, 4), (2, 1, 3), (3, 4, 1), (1, 3, 2), (4, 2, 3)]
_FEW = (1, 2, 3)
_MANY_CELLS = 100_000  # of an array as long as all its symbols at their largest
_LARGE = (40, 300, 5000)  # what extents are raised by where an operation does not take short arrays
_SEARCHED = 5  # symbols among which it is looked for those that must agree
_COMBINATIONS = 2_000  # tries to give each group of symbols one of several constants
_UNSUITABLE = (ValueError, IndexError)  # what an operation raises for sizes that it does not take; a library may have classes of its own


def sample(type_: Type, sizes: Sizes, number: int = 1, *, varied: int | None = None) -> Any:
    """A value of this type: well conditioned where square, positive, a valid index where integer; `number` for one of which nothing is known.

    Elements are alike, in matrices nearly so, or `varied` in one of three ways: what keeps some of them for their values, or so many as a value says, has
    other extents then.
    """
    if varied is not None:
        return _varied(type_, sizes, number, varied)
    if not type_.array:
        kind = np.dtype(type_.dtype).kind
        value: Any = _extent(type_.value, sizes) if type_.value is not None else number if kind in "iu" else True if kind == "b" else 0.5
        return (
            {"b": bool, "i": int, "f": float, "c": complex}.get(kind, float)(value) if type_.weak else np.dtype(type_.dtype).type(value)
        )
    shape = tuple(_extent(d, sizes) for d in type_.dims)
    kind = np.dtype(type_.dtype).kind
    if kind in "iub":
        return np.full(shape, kind == "b", dtype=type_.dtype)
    array = np.full(shape, 0.5, dtype=type_.dtype)
    if len(shape) >= 2 and shape[-1] == shape[-2]:
        array = array * 0.1 + (np.eye(shape[-1]) * (1.0 + np.arange(shape[-1]))).astype(type_.dtype)
    elif len(shape) >= 2:  # the bands of a matrix must be those of one that has an inverse
        array = (array * (1.0 + 0.3 * np.cos(np.arange(array.size).reshape(shape)))).astype(type_.dtype)
    return array


def _varied(type_: Type, sizes: Sizes, number: int, way: int) -> Any:
    if not type_.array:
        plain = sample(type_, sizes, number)
        return plain if type_.value is not None or np.dtype(type_.dtype).kind in "iu" else not plain if isinstance(plain, (bool, np.bool_)) else plain * 3
    shape = tuple(_extent(d, sizes) for d in type_.dims)
    count = np.arange(int(np.prod(shape))).reshape(shape) + way
    kind = np.dtype(type_.dtype).kind
    return (count % 3 == 1 if kind == "b" else count % 3 if kind in "iu" else 0.25 + count % 5).astype(type_.dtype)


def _extent(dim: Dim, sizes: Sizes) -> int:
    return dim.offset if dim.symbol is None else max(sizes[dim.symbol] + dim.offset, 0)


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


# --------------------------------------------------------------------------- one call


def by_example(call: Callable[..., Any], args: Any, kwargs: Any, fresh: Fresh, *, values_decide: bool = False) -> Any:
    """Types of the results of `call`; leaves of the arguments that are a `Type` stand for values of the running program.

    Returns a Type, or a tuple of them for several results. Raises what the call raises where no sizes suit it.
    """
    names: dict[str, str] = {}  # the same call on other symbols has the same answer

    def canonical(leaf: Any, _: str) -> Any:
        return _renamed(leaf, lambda symbol: names.setdefault(symbol, f"${len(names)}")) if isinstance(leaf, Type) else leaf

    tree = (map_leaves(canonical, tuple(args)), map_leaves(canonical, dict(kwargs)))
    try:
        found = _remembered(call, _Arguments(tree, _key(tree)), values_decide)
    except _Unhashable:
        found = _found(call, tree, values_decide)
    back = {new: old for old, new in names.items()}

    def own(leaf: Any, _: str) -> Any:
        return replace(leaf, dims=tuple(fresh() if d == _NEW else Dim(back.get(d.symbol, d.symbol), d.offset) for d in leaf.dims))

    return map_leaves(own, found)


_NEW = Dim("new")


def _renamed(t: Type, name: Callable[[str], str]) -> Type:
    def dim(d: Dim) -> Dim:
        return d if d.symbol is None else Dim(name(d.symbol), d.offset)

    return replace(t, dims=tuple(map(dim, t.dims)), value=None if t.value is None else dim(t.value))


class _Unhashable(Exception):
    """Among the arguments is something that may change."""


@dataclass(frozen=True)
class _Arguments:
    """Arguments that compare by what they are."""

    tree: Any
    key: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Arguments) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def _key(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return (type(value), tuple(map(_key, value)))
    if isinstance(value, dict):
        return (dict, tuple((k, _key(v)) for k, v in value.items()))
    if isinstance(value, slice):
        return (slice, _key((value.start, value.stop, value.step)))
    if value is None or value is Ellipsis or isinstance(value, (bool, int, float, complex, str, type, np.dtype, Type)):
        return (type(value), repr(value) if isinstance(value, (float, complex)) else value)
    raise _Unhashable


@lru_cache(maxsize=4096)
def _remembered(call: Callable[..., Any], arguments: _Arguments, values_decide: bool) -> Any:
    return _found(call, arguments.tree, values_decide)


def _found(call: Callable[..., Any], tree: Any, values_decide: bool) -> Any:
    study = _Study.of(call, tree)
    groups, steady, results = study.suitable()
    claims = _Claims(study.symbols, groups, nothing=values_decide or steady and study.integers)
    guesses = claims.guess(results)
    for sizes, number, varied in study.probes(groups):
        if not any(_is_claimed(g) for g in leaves(guesses)):
            break
        try:
            result = study.run(sizes, number, varied=varied)
        except Exception:  # noqa: BLE001  (a library may raise what it likes: such sizes tell nothing)
            continue
        if varied is not None:
            _must_be_alike([results[0][1], result])
        guesses = _kept(guesses, result, sizes)
    return guesses


def _must_be_alike(results: Sequence[Any]) -> None:
    """Refuse results of several numbers of axes, or of items."""
    if len({np.ndim(r) if _is_leaf(r) else -1 - len(r) for r in results}) > 1:
        reason = "it is another one for arrays of other extents, or for other values, and a type is found before the program runs"
        raise UnsupportedSyntaxError("the number of axes or of items of this result is not known at compile time", reason=reason)
    if not _is_leaf(results[0]):
        for items in zip(*results, strict=True):
            _must_be_alike(items)


def _is_leaf(result: Any) -> bool:
    return not isinstance(result, (tuple, list))


def _is_claimed(guess: Type) -> bool:
    return any(d != _NEW for d in guess.dims)


def _kept(guess: Any, result: Any, sizes: Sizes) -> Any:
    """A guess without what a run contradicts."""
    if isinstance(guess, tuple):
        items = [_kept(g, r, sizes) for g, r in zip(guess, result, strict=True)]
        return type(guess)(*items) if hasattr(guess, "_fields") else tuple(items)
    shape = np.shape(result)
    agrees = len(shape) == guess.rank
    return replace(guess, dims=tuple(d if d == _NEW or agrees and _extent(d, sizes) == shape[k] else _NEW for k, d in enumerate(guess.dims)))


# --------------------------------------------------------------------------- sizes

Group = tuple[tuple[str, ...], int | None]  # symbols that have one size, and that size where it is one of the constants


@dataclass
class _Study:
    """A call and what its arguments are made of."""

    call: Callable[..., Any]
    tree: Any
    symbols: list[str]
    lifts: dict[str, int]  # by symbol: the least that makes its extents be none but those of arrays with items
    constants: list[int]
    integers: bool

    @classmethod
    def of(cls, call: Callable[..., Any], tree: Any) -> _Study:
        types = [leaf for leaf in leaves(tree) if isinstance(leaf, Type)]
        dims = [d for t in types for d in (*t.dims, t.value) if d is not None]
        symbols = list(dict.fromkeys(d.symbol for d in dims if d.symbol is not None))
        lifts = {s: max(0, *(-d.offset for d in dims if d.symbol == s)) for s in symbols}
        constants = sorted({d.offset for d in dims if d.symbol is None and d.offset > 1}, reverse=True)
        unknown = any(not t.array and t.value is None and np.dtype(t.dtype).kind in "iu" for t in types)
        return cls(call, tree, symbols, lifts, constants, unknown)

    def run(self, sizes: Sizes, number: Callable[[int], int], *, varied: int | None = None) -> Any:
        count = 0

        def one(leaf: Any, _: str) -> Any:
            nonlocal count
            if not isinstance(leaf, Type):
                return leaf
            count += not leaf.array and leaf.value is None
            return sample(leaf, sizes, number(count), varied=varied)

        args, kwargs = map_leaves(one, self.tree)
        return run(self.call, args, kwargs)

    def sizes(self, groups: Sequence[Group], r: int) -> Sizes:
        """Sizes of the r-th run."""
        found = {}
        for k, (members, constant) in enumerate(groups):
            for symbol in members:
                lift = max(self.lifts[s] for s in members)
                found[symbol] = _SIZES[k % len(_SIZES)][r] + 25 * (k // len(_SIZES)) + lift if constant is None else constant
        return found

    def suitable(self) -> tuple[Sequence[Group], bool, list[tuple[Sizes, Any]]]:
        """Which symbols may differ, whether integers must be 1, and three runs."""
        try:
            return self._three([((s,), None) for s in self.symbols], steady=False)
        except Exception as problem:
            if not isinstance(problem, _UNSUITABLE) and (isinstance(problem, StgradError) or type(problem).__module__ == "builtins"):
                raise
            for groups, steady in product(self.groupings(), (False, True) if self.integers else (False,)):
                try:
                    return self._three(groups, steady)
                except Exception:  # noqa: BLE001
                    continue
            return self._larger(problem)

    def _larger(self, problem: Exception) -> tuple[Sequence[Group], bool, list[tuple[Sizes, Any]]]:
        """Runs with arrays that are longer than all that the call says, such as windows; else the problem is raised."""
        before, rank = self.lifts, max((leaf.rank for leaf in leaves(self.tree) if isinstance(leaf, Type)), default=0)
        for lift in (n for n in _LARGE if self.symbols and n**rank <= _MANY_CELLS):
            self.lifts = {s: n + lift for s, n in before.items()}
            try:
                return self._three([((s,), None) for s in self.symbols], steady=False)
            except Exception:  # noqa: BLE001  (a library may raise what it likes: such sizes tell nothing)
                continue
        raise problem

    def _three(self, groups: Sequence[Group], steady: bool) -> tuple[Sequence[Group], bool, list[tuple[Sizes, Any]]]:
        chosen = [self.sizes(groups, r) for r in range(RUNS)]
        return groups, steady, [(s, self.run(s, _numbers(None if steady else r))) for r, s in enumerate(chosen)]

    def groupings(self) -> Iterator[Sequence[Group]]:
        """Symbols that must agree, or have the size of a constant: from none to all."""
        yield [((s,), None) for s in self.symbols]
        if len(self.symbols) <= _SEARCHED:
            partitions = sorted(_partitions(self.symbols), key=len, reverse=True)
        else:
            partitions = [[(s,) for s in self.symbols], [tuple(self.symbols)]]
        for parts in partitions[1:]:
            yield [(p, None) for p in parts]
        for parts, constant in product(partitions, self.constants):
            for tied in parts:
                yield [(p, constant if p == tied else None) for p in parts]
            yield [(p, constant) for p in parts]
        yield from islice(self._of_several_constants(partitions), _COMBINATIONS)

    def _of_several_constants(self, partitions: Sequence[Sequence[tuple[str, ...]]]) -> Iterator[Sequence[Group]]:
        """Groups of which some have the size of one constant, and some of another: a stack of 2 matrices of which each has 3 rows."""
        for parts in partitions:
            for given in product((None, *self.constants), repeat=len(parts)):
                if len(set(given) - {None}) > 1:
                    yield list(zip(parts, given, strict=True))

    def probes(self, groups: Sequence[Group]) -> Iterator[tuple[Sizes, Callable[[int], int], int | None]]:
        """Sizes and values at which an operation may change its mind."""
        base = self.sizes(groups, 0)
        for r in range(RUNS):
            yield self.sizes(groups, r), _numbers(r), r
        many = max(self.constants, default=0) + 25
        every = [0, *_FEW, *([many] if many ** len(self.symbols) <= _MANY_CELLS else [])]
        together = [*((s,) for s in self.symbols), *(members for members, _ in groups if len(members) > 1)]
        for r, (n, raised) in enumerate(product(every, {0, max(self.lifts.values(), default=0)})):
            yield dict.fromkeys(self.symbols, n + raised), _numbers(r % RUNS), None
        for members, n in product(together, (*_FEW, many)):
            yield {**base, **{s: n + self.lifts[s] for s in members}}, _numbers(n % RUNS), None
        yield dict(zip(base, reversed(base.values()), strict=True)), _numbers(1), None
        if self.integers:
            for integer in (0, 7, -1):
                yield base, lambda _, integer=integer: integer, None  # type: ignore[misc]


def _numbers(r: int | None) -> Callable[[int], int]:
    """The values of unknown integers in the r-th run; 1 for all without one."""
    return lambda k: 1 if r is None else _INTEGERS[(k - 1) % len(_INTEGERS)][r]


def _partitions(items: Sequence[str]) -> list[list[tuple[str, ...]]]:
    """All ways to put items into groups.

    >>> [len(_partitions("abcde"[:n])) for n in range(6)]
    [1, 1, 2, 5, 15, 52]
    """
    if not items:
        return [[]]
    head, found = items[0], []
    for rest in _partitions(items[1:]):
        found.append([(head,), *rest])
        found += [[*rest[:k], (head, *rest[k]), *rest[k + 1 :]] for k in range(len(rest))]
    return found


@dataclass
class _Claims:
    """What three runs suggest. Nothing is suggested of symbols that must agree, nor where one must have the size of a constant."""

    symbols: list[str]
    groups: Sequence[Group]
    nothing: bool

    def guess(self, results: Sequence[tuple[Sizes, Any]]) -> Any:
        return self._common([r for _, r in results], [s for s, _ in results])

    def _common(self, results: Sequence[Any], sizes: Sequence[Sizes]) -> Any:
        _must_be_alike(results)
        if not _is_leaf(results[0]):
            items = [self._common([r[i] for r in results], sizes) for i in range(len(results[0]))]
            return type(results[0])(*items) if hasattr(results[0], "_fields") else tuple(items)  # np.linalg.eigh has named results
        first = _must(results[0])
        dims = []
        for axis in range(first.rank):
            claim = self._dim([r.shape[axis] for r in results], sizes)
            dims.append(_NEW if claim is None else claim)
        return replace(first, dims=tuple(dims))

    def _dim(self, extents: Sequence[int], sizes: Sequence[Sizes]) -> Claim:
        """The Dim that has these extents in the three runs."""
        if self.nothing or any(constant is not None for _, constant in self.groups):
            return None
        if len(set(extents)) == 1:
            return Dim(None, extents[0])
        for members, _ in self.groups:
            offsets = {e - s[members[0]] for e, s in zip(extents, sizes, strict=True)}
            if len(offsets) == 1:
                return Dim(members[0], offsets.pop()) if len(members) == 1 else None
        return None


# --------------------------------------------------------------------------- elementwise operations


@lru_cache(maxsize=4096)
def elementwise_dtype(call: Callable[..., Any], kinds: tuple[tuple[str, bool, bool], ...]) -> tuple[Type, ...] | Type:
    """Result type, extents left out, of an elementwise call on operands given as (dtype, is array, weak)."""

    def one(dtype: str, array: bool, weak: bool) -> Any:
        return sample(Type(dtype, (Dim(None, 2),) if array else (), array=array, weak=weak), {})

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
            shapes = " and ".join(map(_shape, dims))
            raise ShapeError(f"these shapes do not broadcast: {shapes}") from ValueError(f"operands could not be broadcast together: {shapes}")
        result.append((constants or wide or here)[0])
    return tuple(result)


def _shape(dims: tuple[Dim, ...]) -> str:
    return f"({', '.join(map(str, dims))}{',' if len(dims) == 1 else ''})"
