"""What is indexed, iterated over or called: `np.r_`, `np.c_`, `np.mgrid`, `np.ndindex`, `np.vectorize`, `x.flat`, `np.broadcast`, `itertools.compress`."""

from __future__ import annotations

import functools
import itertools
import math
import re
import string
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.frontend import library
from stgrad.frontend.arrays import get
from stgrad.frontend.broadcasting import operands_of
from stgrad.frontend.builtins import handles
from stgrad.frontend.contractions import contracted
from stgrad.frontend.elementwise_calls import over_elements
from stgrad.frontend.frame import Frame
from stgrad.frontend.iteration import Mapped, Range, Zip
from stgrad.frontend.operations import shape_of
from stgrad.frontend.values import Growing, Sym, Value, is_static, static_of, type_of
from stgrad.rules.products import parsed


@handles(itertools.compress)
def _compress(frame: Frame, data: Value, selectors: Value) -> Value:
    return frame.call(_compressed, (data, selectors), {})


def _compressed(data, selectors):  # type: ignore[no-untyped-def]
    for value, wanted in zip(data, selectors, strict=False):
        if wanted:
            yield value


def indexed(frame: Frame, owner: Any, index: Value) -> Value:
    """`np.r_[...]`, `np.c_[...]`, `np.mgrid[...]` and `np.ogrid[...]`."""
    if owner in (np.r_, np.c_):
        return _joined(frame, owner, index)
    entries = index if isinstance(index, tuple) else (index,)
    if not all(isinstance(e, slice) for e in entries):
        raise errors.UnsupportedSyntaxError("a grid needs slices", frame.builder.loc, hint="write np.mgrid[0:n, 0:m]")
    axes = [_item(frame, e) for e in entries]
    if not isinstance(index, tuple):
        return axes[0]
    dtype = np.dtype(np.result_type(*(a.type.dtype for a in axes)))
    axes = [frame.call(np.asarray, (a, dtype), {}) for a in axes]
    options = {"indexing": "ij", "sparse": owner is np.ogrid}
    grids = frame.call(np.meshgrid, tuple(axes), options)
    return tuple(grids) if owner is np.ogrid else frame.call(np.stack, (tuple(grids),), {})


def _joined(frame: Frame, owner: Any, index: Value) -> Value:
    entries = index if isinstance(index, tuple) else (index,)
    if any(isinstance(e, str) for e in entries):
        raise errors.UnsupportedSyntaxError("`np.r_` with a string is not supported", frame.builder.loc, hint="use np.concatenate or np.stack")
    items = [_item(frame, e) for e in entries]
    if owner is np.r_:
        return frame.call(np.concatenate, (tuple(items),), {})
    columns = tuple(frame.call(np.reshape, (a, (-1, 1)), {}) if a.type.rank == 1 else a for a in items)
    return frame.call(np.concatenate, (columns,), {"axis": -1})


def _item(frame: Frame, entry: Value) -> Value:
    """One entry as an array of at least one axis; a slice is a range, with a complex step a number of points."""
    if isinstance(entry, slice):
        start, stop, step = (static_of(v) for v in (entry.start, entry.stop, entry.step))
        if isinstance(step, complex):
            return frame.call(np.linspace, (start or 0, stop, int(abs(step))), {})
        return frame.call(np.arange, (0 if start is None else start, stop, 1 if step is None else step), {})
    if isinstance(entry, (list, tuple, np.ndarray, Growing)):
        return frame.call(np.array, (entry,), {})
    return entry if type_of(entry).rank else frame.call(np.full, ((1,), entry), {})


@handles(np.ndindex)
def _ndindex(frame: Frame, *shape: Value) -> Value:
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = tuple(shape[0])
    count: Value = 1
    for n in shape:
        count = n if is_static(count) and count == 1 else frame.call(np.multiply, (count, n), {})
    return Mapped(functools.partial(library.unravel, shape), Zip((Range(0, count, 1),)))


@handles(np.ndenumerate)
def _ndenumerate(frame: Frame, arr: Value) -> Value:
    return Mapped(functools.partial(library.entry, arr, shape_of(frame, arr)), Zip((Range(0, get(frame, arr, "size", None), 1),)))


@handles(np.nditer)
def _nditer(frame: Frame, op: Value, **options: Value) -> Value:
    if options or not isinstance(op, Sym):
        raise errors.UnsupportedSyntaxError("`np.nditer` with options is not supported", frame.builder.loc, hint="use np.ndindex(x.shape)")
    return frame.call(np.ravel, (op,), {})


class Broadcast:
    """What `np.broadcast` tells of its arrays, as a class of a user's."""

    def __init__(self, *arrays):  # type: ignore[no-untyped-def]
        self.shape = np.broadcast_shapes(*[np.shape(a) for a in arrays])
        self.ndim = self.nd = len(self.shape)
        self.numiter = len(arrays)
        self._arrays = arrays

    def __iter__(self):  # type: ignore[no-untyped-def]
        return zip(*[np.ravel(a) for a in np.broadcast_arrays(*self._arrays)], strict=True)

    @property
    def size(self):  # type: ignore[no-untyped-def]
        return math.prod(self.shape)


@handles(np.broadcast)
def _broadcast(frame: Frame, *arrays: Value) -> Value:
    return frame.call(Broadcast, arrays, {})


@handles(np.vectorize)
def _vectorize(frame: Frame, pyfunc: Value, **options: Value) -> Value:
    kinds, signature = static_of(options.pop("otypes", None)), static_of(options.pop("signature", None))
    if isinstance(signature, str) and kinds is None and not options.keys() - {"doc", "cache"}:
        inputs, _, outputs = signature.replace(" ", "").partition("->")
        ranks = [core.count(",") + bool(core) for core in re.findall(r"\(([^)]*)\)", inputs)]
        return functools.partial(library.over_rows, pyfunc, tuple(ranks), outputs.count("("))
    if signature is not None or options.keys() - {"doc", "cache"} or kinds is not None and len(kinds) != 1:
        raise errors.UnsupportedSyntaxError("`np.vectorize` with options is not supported", frame.builder.loc, hint="write a loop")
    return functools.partial(_over_elements, pyfunc, None if kinds is None else np.dtype(kinds[0]).name)


def _over_elements(pyfunc: Value, dtype: str | None, *args: Value) -> Value:
    """What `np.vectorize` makes of a function; `dtype`: of its result, where that is given."""
    raise AssertionError("read by its handler")


@handles(_over_elements)
def _vectorized(frame: Frame, pyfunc: Value, dtype: str | None, *args: Value) -> Value:
    found = over_elements(frame, pyfunc, args)
    if dtype is None or type_of(found).dtype == dtype:
        return found
    return frame.call(np.asarray, (found, dtype), {}) if type_of(found).array else frame.call(np.dtype(dtype).type, (found,), {})


@handles(np.einsum)
def _einsum(frame: Frame, *operands: Value, **options: Value) -> Value:
    """With its subscripts as a string, whichever way they are given."""
    from stgrad.frontend.calls import call_python

    if operands and not isinstance(operands[0], str):
        operands = _written_out(operands)
    options = {k: v for k, v in options.items() if k not in ("order", "casting")}
    dtype = options.pop("dtype", None)
    if dtype is not None:
        operands = (operands[0], *(frame.call(np.asarray, (x, dtype), {}) for x in operands[1:]))
    found = _rearranged(frame, *operands) if len(operands) == 2 and isinstance(operands[0], str) and dtype is None else None
    operands = operands_of(frame, np.einsum, operands)
    if found is None and options.keys() <= {"optimize"}:
        found = contracted(frame, operands[0], operands[1:])
    return call_python(frame, np.einsum, operands, options) if found is None else found


def _rearranged(frame: Frame, subscripts: str, x: Value) -> Value:
    """`np.einsum("ij->ji", x)`, which sums nothing and gives a view: diagonals, then the axes in another order."""
    if not isinstance(x, Sym) or not x.type.rank:
        return None
    (term,), output = parsed(subscripts, (x.type.rank,))  # type: ignore[no-untyped-call]
    if set(term) != set(output) or len(set(output)) != len(output) or len(term) != x.type.rank:
        return None
    for letter in sorted(set(term)):
        while term.count(letter) > 1:
            first, second = term.index(letter), term.rindex(letter)
            x = frame.call(np.diagonal, (x, 0, first, second), {})
            frame.builder.seal(x, "a diagonal of `np.einsum`")
            term = "".join(c for i, c in enumerate(term) if i not in (first, second)) + letter
    return frame.call(np.transpose, (x, tuple(term.index(c) for c in output)), {})


def _written_out(operands: tuple[Value, ...]) -> tuple[Value, ...]:
    """`(x, [0, 1], v, [1], [0])` as `('ab,b->a', x, v)`."""
    lists = ["".join("..." if i is Ellipsis else string.ascii_letters[i] for i in static_of(s)) for s in operands[1::2]]
    if len(operands) % 2 == 0:
        return (",".join(lists), *operands[::2])
    result = "".join("..." if i is Ellipsis else string.ascii_letters[i] for i in static_of(operands[-1]))
    return (f"{','.join(lists)}->{result}", *operands[:-1:2])
