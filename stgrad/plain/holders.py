"""Arrays that hold numbers without being numbers: of objects, and of records.

An array of objects is NumPy's own, with a tracked number in each place, so that it works as for any objects. An array of records (`dtype=[("a", float), ...]`)
is kept field by field, each an array of its own; what a subscript gives shares the memory of the fields, as in NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from stgrad.plain.operations import fresh, has_floats, item, tracked_in
from stgrad.plain.tracked import Tracked, plain, running

_FOLLOWED = "fc"
_DISCRETE = "iubmM"


def converted(value: Any, dtype: Any) -> Any:
    """An array of numbers as one of a type that is not float: integers and flags have no derivative, objects have, texts cannot be followed."""
    dtype = np.dtype(dtype)
    if dtype.kind == "O":
        return objects(value)
    if dtype.kind not in _DISCRETE and any(t.buffer.active for t in tracked_in(value)):
        raise running().refuse(f"a number that is differentiated is put into an array of {dtype}")
    return np.asarray(plain(value)).astype(dtype)


# --------------------------------------------------------------------------- objects


def objects(value: Any) -> Any:
    """`np.array(value, dtype=object)`, with the numbers themselves as its items."""
    shape = np.array(plain(value), dtype=object).shape
    found = np.empty(int(np.prod(shape)), dtype=object)
    for i, place in enumerate(np.ndindex(*shape)):
        found[i] = _at(value, place)
    return found.reshape(shape)


def _at(value: Any, place: tuple[int, ...]) -> Any:
    for depth, i in enumerate(place):
        if type(value) is Tracked:
            return item(value, place[depth:])
        value = value[i]
    return value


def is_of_objects(array: Any) -> bool:
    return type(array) is np.ndarray and array.dtype.kind == "O"


def is_holder(value: Any) -> bool:
    """Whether it is an array that holds numbers without being numbers."""
    return type(value) is Records or isinstance(value, np.ndarray) and value.dtype.kind in "OV"


def put(array: Any, key: Any, value: Any) -> None:
    """`array[key] = value` of an array of objects: where the key is one place, the value is the item."""
    places = key if isinstance(key, tuple) else (key,)
    one = len(places) == array.ndim and all(isinstance(i, (int, np.integer)) for i in places)
    array[key] = objects(value) if tracked_in(value) and not one else value


def by_elements(function: Any, args: tuple[Any, ...]) -> Any:
    """A function of numbers, on each item of arrays of objects."""
    return np.frompyfunc(function, len(args), 1)(*(objects(a) if tracked_in(a) else a for a in args))


# --------------------------------------------------------------------------- records


def is_of_records(value: Any) -> bool:
    """Whether it is an array of records, each field a number."""
    return isinstance(value, np.ndarray) and value.dtype.names is not None and all(value.dtype[n].kind in _FOLLOWED + _DISCRETE for n in value.dtype.names)


class Records:
    """An array of records, or one of its rows, which has no axes."""

    __slots__ = ("fields", "kind")

    def __init__(self, fields: dict[str, Any], kind: type) -> None:
        self.fields, self.kind = fields, kind

    @classmethod
    def of(cls, array: Any) -> Records:
        """What a call made."""
        if not is_of_records(array):
            raise running().refuse(f"an array of {array.dtype} is made")
        return cls({n: fresh(np.array(array[n])) for n in array.dtype.names}, type(array))

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return self.kind if self.shape else np.void

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(plain(next(iter(self.fields.values()))))

    @property
    def dtype(self) -> Any:
        return np.dtype([(n, f.dtype) for n, f in self.fields.items()])

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: int(np.prod(self.shape)))

    def __len__(self) -> int:
        return self.shape[0] if self.shape else len(self.fields)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def _name(self, key: Any) -> Any:
        """The field that a key names, by its position in a row."""
        return list(self.fields)[key] if not self.shape and isinstance(key, (int, np.integer)) else key

    def __getitem__(self, key: Any) -> Any:
        key = self._name(plain(key))
        if isinstance(key, str):
            return self.fields[key] if self.shape else self.fields[key][()]
        if isinstance(key, list) and key and all(isinstance(k, str) for k in key):
            return Records({k: self.fields[k] for k in key}, self.kind)
        row = key if isinstance(key, tuple) else (key,)
        row = (*row, Ellipsis) if len(row) == self.ndim and all(isinstance(i, (int, np.integer)) for i in row) else key  # a view of one item
        return Records({n: f[row] for n, f in self.fields.items()}, self.kind)

    def __setitem__(self, key: Any, value: Any) -> None:
        key = self._name(plain(key))
        if isinstance(key, str):
            self.fields[key][...] = value
            return
        for i, (name, field) in enumerate(self.fields.items()):
            field[key] = value[name] if type(value) is Records else _column(value, i)

    def __getattr__(self, name: str) -> Any:
        if name in self.fields and issubclass(self.kind, np.recarray):
            return self[name]
        if not name.startswith("__") and hasattr(np.ndarray, name):
            raise running().refuse(f"`{name}` of an array of records is used")
        raise AttributeError(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in Records.__slots__:
            object.__setattr__(self, name, value)
        elif name in self.fields and issubclass(self.kind, np.recarray):
            self[name] = value
        else:
            raise running().refuse(f"`{name}` of an array of records is set")

    def copy(self, *_: Any) -> Records:
        return Records({n: f.copy() for n, f in self.fields.items()}, self.kind)

    def view(self, kind: Any) -> Records:
        if not (isinstance(kind, type) and issubclass(kind, np.ndarray)):
            raise running().refuse("`.view` of another type is used")
        return Records(self.fields, kind)

    def _lost(self, *_: Any, **__: Any) -> Any:
        raise running().refuse("an array of records is used as a whole")

    __array__ = __array_ufunc__ = __array_function__ = __eq__ = __ne__ = __reduce_ex__ = _lost
    __hash__ = None  # type: ignore[assignment]


def _column(value: Any, i: int) -> Any:
    """The i-th field of a row, or of a list of rows; a number is for all fields."""
    if isinstance(value, tuple):
        return value[i]
    return [row[i] for row in value] if isinstance(value, list) else value


def records(value: Any, dtype: Any) -> Any:
    """`np.array(value, dtype)` of a row or a list of rows."""
    made = Records.of(np.zeros(_rows(value), dtype))
    if made.shape and not isinstance(value, list):
        raise running().refuse("an array of records is made of another array")
    if len(made.shape) > 1:
        raise running().refuse("an array of records with several axes is made of numbers")
    if made.shape:
        made[:] = value
    else:
        made[()] = value
    return made


def _rows(value: Any) -> tuple[int, ...]:
    return (len(value), *_rows(value[0])) if isinstance(value, list) and value else (0,) if isinstance(value, list) else ()


def from_arrays(arrays: Any, *args: Any, **kwargs: Any) -> Any:
    """`np.rec.fromarrays`."""
    like = np.rec.fromarrays(plain(list(arrays)), *args, **kwargs)
    made = Records.of(np.zeros(like.shape, like.dtype).view(np.recarray))
    for name, array in zip(made.fields, arrays, strict=True):
        made[name] = array
    return made


def held(value: Any) -> Any:
    """What a call made, where it is an array of records; else None."""
    return Records.of(value) if is_of_records(value) and not has_floats(value) else None
