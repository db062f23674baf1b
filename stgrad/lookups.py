"""What a program was made from: each look-up outside of it, with what was found there, or that nothing was.

Contract: while a function is read, everything that is asked of an object from outside goes through `look` (or `note`, where the value is
at hand), and is on the record. The record is complete: a program is right as long as each of its look-ups would find the same, in this
process (`Lookup.holds`, and the guards of calls) and in another (see `stgrad.calls.program_cache`). A look-up is made again exactly as
it was made at first, so that what supplies an attribute (an instance, a class, a property, `__getattr__`) makes no difference.

    name       a free name of a function: in its closure, its globals or the builtins
    attribute  `getattr(owner, name)`
    raw        what a class or its bases hold under a name, descriptors as they are
    own        what one class holds
    class      `type(owner)`
    form       dtype, rank and extents of 1 of an array that is a parameter
    item       an item of a container, which is itself on the record
    module     what `import name` finds
    table      the numbers that `name` spells: always the same
    call       `owner(*name)` for code of the user that runs while its program is made: `len`, `==`, an index
"""

from __future__ import annotations

import copy
import datetime
import importlib
import operator as op
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from stgrad.contents import alike, form_of, is_numeric, snapshot, unchanged

LIBRARIES = frozenset({"builtins", "math", "cmath", "operator", "functools", "itertools", "numpy", "scipy", "stgrad", "typing", "collections"})


class Absent:
    """What a look-up finds where there is nothing."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent()
_PROTOCOLS = "eq ne lt le gt ge bool len getitem iter contains float int complex index".split()
_SETTLED = (
    int, float, complex, str, bytes, range, slice, type(None), type(Ellipsis), type, FunctionType, MethodType, BuiltinFunctionType, ModuleType, deque,
    np.generic, np.dtype, np.ufunc, np.ndarray,
)  # fmt: skip
_IMMUTABLE = (datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone, Decimal, Fraction)
_PROTOCOL_CALLS = (op.eq, op.ne, op.lt, op.le, op.gt, op.ge, op.contains, op.getitem, bool, len, list, float, int, complex)


@dataclass(frozen=True, eq=False)
class Lookup:
    """One look-up and what it found; see the module docstring for its kinds.

    `variable` is the parameter that carries the value, for arrays; other values are compiled in.
    """

    kind: str
    owner: Any
    name: Any
    value: Any
    variable: str | None = None
    was: Any = field(init=False, repr=False)  # what a container held

    def __post_init__(self) -> None:
        object.__setattr__(self, "was", snapshot(self.value))

    @property
    def key(self) -> tuple[Any, ...]:
        return key_of(self.kind, self.owner, self.name)

    def carried_by(self, variable: str | None) -> Lookup:
        """The same look-up, of a value that a parameter carries; what was found stays what it was then."""
        new = copy.copy(self)
        object.__setattr__(new, "variable", variable)
        return new

    def current(self) -> Any:
        """What is there now."""
        return _READ[self.kind](self.owner, self.name)

    def renewed(self) -> Lookup:
        """The same look-up with the object that it finds now, for one that holds."""
        new = copy.copy(self)
        object.__setattr__(new, "value", self.current())
        return new

    def holds(self) -> bool:
        """Whether the look-up would find the same now; of what a call makes anew, the like."""
        now = self.current()
        if type(now) is not type(self.value):
            return False
        return unchanged(now, self.was) or self.kind == "call" and alike(now, self.value)


def key_of(kind: str, owner: Any, name: Any) -> tuple[Any, ...]:
    """Equal for look-ups that ask for the same."""
    name = tuple(map(id, name)) if kind == "call" else name
    return kind, id(owner), type(name), name


# --------------------------------------------------------------------------- how each kind is made


def _free(function: FunctionType, name: str) -> Any:
    free = function.__code__.co_freevars
    if name in free:
        try:
            return (function.__closure__ or ())[free.index(name)].cell_contents
        except ValueError:
            return ABSENT
    found = function.__globals__.get(name, ABSENT)
    return vars_of_builtins(function).get(name, ABSENT) if found is ABSENT else found


def vars_of_builtins(function: FunctionType) -> dict[str, Any]:
    """The names that a function finds behind its globals."""
    return function.__builtins__  # type: ignore[attr-defined,no-any-return]


def _attribute(owner: Any, name: str) -> Any:
    return getattr(owner, name, ABSENT)


def _raw(cls: type, name: str) -> Any:
    return next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), ABSENT)


def _own(cls: type, name: str) -> Any:
    return vars(cls).get(name, ABSENT)


def _class(owner: Any, name: Any) -> Any:
    return type(owner)


def _form(array: np.ndarray[Any, Any], name: Any) -> Any:
    return form_of(array)


def _item(owner: Any, key: Any) -> Any:
    known = key in owner if isinstance(owner, dict) else key < len(owner)
    return owner[key] if known else ABSENT


def _module(owner: None, name: str) -> Any:
    found = sys.modules.get(name)
    if found is not None:
        return found
    try:
        return importlib.import_module(name)
    except ImportError:
        return ABSENT


def _call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    try:
        return function(*arguments)
    except Exception as raised:  # noqa: BLE001  (which is what the call gives)
        return _Raised(type(raised))


@dataclass(frozen=True)
class _Raised:
    """What a call gives that raises."""

    cls: type[BaseException]


def spelled(numbers: np.ndarray[Any, Any]) -> str:
    """Numbers as a text that other processes read.

    >>> spelled(np.array([1.0, -0.0]))
    'float64 000000000000f03f0000000000000080'
    """
    return f"{numbers.dtype.name} {numbers.tobytes().hex()}"


def _table(owner: None, text: str) -> np.ndarray[Any, Any]:
    dtype, _, digits = text.partition(" ")
    return np.frombuffer(bytes.fromhex(digits), dtype).copy()


_READ: dict[str, Callable[[Any, Any], Any]] = {
    "name": _free, "attribute": _attribute, "raw": _raw, "own": _own, "class": _class, "form": _form, "item": _item, "module": _module, "call": _call,
    "table": _table,
}  # fmt: skip


# --------------------------------------------------------------------------- the record

_records: ContextVar[dict[Any, Lookup] | None] = ContextVar("lookups", default=None)


@contextmanager
def recorded() -> Iterator[dict[Any, Lookup]]:
    """The look-ups that are made in this context, as they come, each once."""
    record: dict[Any, Lookup] = {}
    token = _records.set(record)
    try:
        yield record
    finally:
        _records.reset(token)


_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: of classes that Python code made, or that are like them


def _keeps_its_class(value: Any) -> bool:
    """Whether nobody sets the `__class__` of a value: one of a class of C, or a tuple, which a program makes anew with what stands for its items."""
    return isinstance(value, tuple) or not type(value).__flags__ & _HEAP_TYPE


def note(kind: str, owner: Any, name: Any, value: Any) -> None:
    """Put a look-up on the record."""
    record, key = _records.get(), key_of(kind, owner, name)
    if record is None or key in record or kind == "class" and _keeps_its_class(owner):
        return
    record[key] = Lookup(kind, owner, name, value)
    if is_numeric(value):
        note("form", value, None, form_of(value))


def read(kind: str, owner: Any, name: Any = None) -> Any:
    """Look something up that cannot change; ABSENT where there is nothing."""
    return _READ[kind](owner, name)


def look(kind: str, owner: Any, name: Any = None) -> Any:
    """Look something up and put it on the record; ABSENT where there is nothing."""
    value = _READ[kind](owner, name)
    note(kind, owner, name, value)
    return value


def gives(cls: type, name: str) -> bool:
    """Whether a class of Python's gives its instances an attribute: what its own class gives it (`list.__name__`) they do not have."""
    return any(name in vars(c) for c in cls.__mro__)


def ours(function: Any) -> bool:
    """Whether a function is one of stgrad: what it looks for in modules cannot change."""
    return root_of(function) == "stgrad"


def lineage(cls: type) -> tuple[type, ...]:
    """The classes that are searched for what `cls` has, in their order, which is on the record: `__bases__` can be set."""
    order: tuple[type, ...] = cls.__mro__ if root_of(cls) in LIBRARIES else look("attribute", cls, "__mro__")
    return order


def called(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """`function(*arguments, **options)`, on the record where it may run code of the user, or look into an object of theirs."""
    if options:
        function = partial(function, **options)
    try:
        value = function(*arguments)
    except Exception as raised:
        _note_call(function, arguments, options, _Raised(type(raised)))
        raise
    if isinstance(value, np.ndarray):
        value = value.copy()  # it may be one that an object keeps, and changes: what was found stays what it was
    _note_call(function, arguments, options, value)
    return value


def _note_call(function: Any, arguments: tuple[Any, ...], options: dict[str, Any], value: Any) -> None:
    by_protocol = function in _PROTOCOL_CALLS
    if function in (isinstance, issubclass) and _asks_the_order_alone(arguments[1]):
        lineage(type(arguments[0]) if function is isinstance else arguments[0])
    elif function in (isinstance, issubclass) and not _of_libraries(type(arguments[0]) if function is isinstance else arguments[0], arguments[1]):
        note("call", function, arguments, value)  # what a class says of others may be a matter of their attributes, or of what was registered
    elif _asks_around(function, arguments) or not all(_plain(v, by_protocol) for v in (*arguments, *options.values(), *_owner_of(function))):
        note("call", function, arguments, value)


def _asks_around(function: Any, arguments: tuple[Any, ...]) -> bool:
    """Whether what a function gives is a matter of more than its arguments: settings (`np.geterr()`), defaults of functions (`inspect.signature(f)`)."""
    of_no_object = isinstance(function, FunctionType) or isinstance(function, BuiltinFunctionType) and isinstance(function.__self__, ModuleType)
    return of_no_object and (not arguments or function.__module__ == "inspect" and not all(root_of(a) in LIBRARIES for a in arguments))


def _owner_of(function: Any) -> tuple[Any, ...]:
    """The instance that a method in Python looks into."""
    return (function.__self__,) if isinstance(function, MethodType) else ()


def _of_libraries(*classes: Any) -> bool:
    return all(_of_libraries(*c) if isinstance(c, tuple) else root_of(c) in LIBRARIES or root_of(c) in ("numbers", "abc") for c in classes)


def _asks_the_order_alone(classes: Any) -> bool:
    """Whether to be an instance of these classes is a matter of `__mro__`: none of them has a test of its own, as those of `abc` have."""
    return all(map(_asks_the_order_alone, classes)) if isinstance(classes, tuple) else type(classes) is type


def _plain(value: Any, by_protocol: bool) -> bool:
    """Whether a value, and those in it, are what they are for good, or a container whose contents are on the record.

    What a function asks `by_protocol` is settled by the class alone, unless that has a method for it: those of C look into their objects, too (`array.array`).
    """
    if isinstance(value, (tuple, list, set, frozenset)):
        return all(_plain(v, by_protocol) for v in value)
    if isinstance(value, dict):
        return all(_plain(k, by_protocol) and _plain(v, by_protocol) for k, v in value.items())
    cls = type(value)
    if cls in _IMMUTABLE or isinstance(value, _SETTLED) and root_of(cls) in LIBRARIES or root_of(cls) == "stgrad":
        return True
    return root_of(cls) not in LIBRARIES and by_protocol and not _looks_inside(cls)


def _looks_inside(cls: type) -> bool:
    """Whether instances of a class answer a protocol by more than their class."""
    return not all(_raw(cls, f"__{name}__") in (ABSENT, getattr(object, f"__{name}__", ABSENT)) for name in _PROTOCOLS)


def carried(record: dict[Any, Lookup], carriers: Iterable[Lookup]) -> tuple[Lookup, ...]:
    """The look-ups of a record, with the parameters that carry what they found."""
    last = {c.key: record.get(c.key, c).carried_by(c.variable) for c in carriers if c.variable is not None}  # in the order of the parameters
    return (*(lookup for key, lookup in record.items() if key not in last), *last.values())


def root_of(value: Any) -> str:
    """The package that a function or class is defined in; a copied `__module__` (functools.wraps) does not count."""
    module = value.__globals__.get("__name__") if isinstance(value, FunctionType) else getattr(value, "__module__", None)
    return str(module or "").split(".")[0]


@cache
def names_of_its_own(code: CodeType) -> frozenset[str]:
    """Names that a function, or one in it, binds, and that neither looks up outside: Python never finds a global of such a name there."""
    nested = [c for c in code.co_consts if isinstance(c, CodeType)]
    bound = {n for c in (code, *nested) for n in (*c.co_varnames, *c.co_cellvars)} | {n for c in nested for n in names_of_its_own(c)}
    return frozenset(bound - _looked_up(code))


def _looked_up(code: CodeType) -> set[str]:
    nested = (c for c in code.co_consts if isinstance(c, CodeType))
    return set(code.co_names).union(*map(_looked_up, nested))


__all__ = [
    "ABSENT", "LIBRARIES", "Lookup", "called", "carried", "key_of", "lineage", "look", "names_of_its_own", "note", "ours", "read", "recorded", "root_of",
    "spelled",
]  # fmt: skip
