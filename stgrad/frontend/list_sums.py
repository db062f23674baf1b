"""Sums and multiples of lists whose length the running program decides."""

from __future__ import annotations

import numpy as np

from stgrad import errors
from stgrad.frontend import operations
from stgrad.frontend.broadcasting import must_be_equal
from stgrad.frontend.frame import Frame
from stgrad.frontend.growing import as_array, copy, from_array
from stgrad.frontend.values import Growing, Method, Sym, Value, is_number, type_of


def repeated(frame: Frame, items: list[Value], count: Sym) -> Growing:
    """`[0.0] * n`: a list, n times."""
    t = type_of(items[0]) if len(items) == 1 and (is_number(items[0]) or isinstance(items[0], Sym)) else None
    if count.type.rank or not count.type.dtype.startswith("int"):
        raise errors.TypeInferenceError(f"a list is repeated {count.type} times", frame.builder.loc, hint="write int(...)")
    if t is None or t.array or not (t.dtype == "float64" or t.weak and t.dtype == "int64"):
        from stgrad.frontend.ordering import times

        return times(frame, items, count)
    least = frame.call(max, (count, 0), {})
    return from_array(frame, frame.call(np.full, (least, items[0], np.dtype(t.dtype)), {}), rows=False)


def concatenated(frame: Frame, a: Value, b: Value) -> Growing:
    """`a + b` of two lists of which one grows."""
    if any(isinstance(v, Growing) and not isinstance(v.structure, Sym) for v in (a, b)):
        return _extended(frame, a, b)
    arrays = [as_array(frame, v) for v in (a, b) if isinstance(v, Growing) or len(v)]
    if len(arrays) > 1 and type_of(arrays[0]).rank == type_of(arrays[1]).rank > 1:
        first, second = arrays
        dims = (second.type.dims[0], *first.type.dims[1:])
        must_be_equal(frame, second, dims, lambda axis: operations.extent(frame, first, axis), errors.RAGGED)
    whole = frame.call(np.concatenate, (arrays,), {}) if len(arrays) > 1 else frame.call(np.copy, (arrays[0],), {})
    frame.builder.puts += [(frame.builder.out[-1], v.name) for v in arrays if isinstance(v, Sym) and v.type.rank > 1]
    return Growing(whole, operations.extent(frame, whole, 0), cls=a.cls if isinstance(a, Growing) else type(a))


def _extended(frame: Frame, a: Value, b: Value) -> Growing:
    """A list with the items of a, to which those of b are appended."""
    from stgrad.frontend.arrays import call_method

    name = frame.hidden_name("sum")
    new = frame.env[name] = copy(frame, a) if isinstance(a, Growing) else frame.copied(list(a))
    cls = a.cls if isinstance(a, Growing) else type(a)
    if cls is tuple and isinstance(new, Growing):
        new.cls = list
    call_method(frame, Method(new, "extend"), (b,), {})
    made: Growing = frame.env.pop(name)
    made.cls = cls
    return made
