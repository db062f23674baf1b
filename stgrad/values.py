"""What a name can stand for while a function is read: IR values, and everything that is known at compile time.

A value is a `Sym` (a scalar or an array of the running program), a Python container of values, a `Closure`, a `Method`, or
any other Python object, which is then static: a number, None, a string, a module, a function, a dtype.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from stgrad.errors import TypeInferenceError
from stgrad.instances import attributes_of, make
from stgrad.ir import Const, Dim, Operand, Pack, Slice, Type, Var

Value = Any  # see the module docstring


@dataclass(frozen=True)
class Sym:
    """A value of the running program. `operand` is a Var, or a Const where the value is known."""

    operand: Var | Const
    type: Type

    @property
    def name(self) -> str:
        assert isinstance(self.operand, Var)
        return self.operand.name


@dataclass(frozen=True)
class Known(Sym):
    """A variable whose value is known here: it reads as the variable, and serves where a static value is asked for."""

    const: Any = None


@dataclass(frozen=True, eq=False)
class Closure:
    """A function defined in the code being read: a desugared tree and the frame it was defined in."""

    tree: Any
    frame: Any
    defaults: tuple[Value, ...]
    kw_defaults: tuple[Value | None, ...]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("a function of the code being read is called by the front end alone")

    @property
    def __signature__(self) -> inspect.Signature:
        """What `inspect.signature` gives; defaults are values."""
        spec, kind = self.tree.args, inspect.Parameter
        positional = [(a.id, kind.POSITIONAL_ONLY) for a in spec.posonlyargs] + [(a.id, kind.POSITIONAL_OR_KEYWORD) for a in spec.args]
        defaults = (kind.empty,) * (len(positional) - len(self.defaults)) + self.defaults
        params = [inspect.Parameter(n, k, default=d) for (n, k), d in zip(positional, defaults, strict=True)]
        if spec.vararg is not None:
            params.append(inspect.Parameter(spec.vararg.id, kind.VAR_POSITIONAL))
        for a, node, d in zip(spec.kwonlyargs, spec.kw_defaults, self.kw_defaults, strict=True):
            params.append(inspect.Parameter(a.id, kind.KEYWORD_ONLY, default=kind.empty if node is None else d))
        if spec.kwarg is not None:
            params.append(inspect.Parameter(spec.kwarg.id, kind.VAR_KEYWORD))
        return inspect.Signature(params)


@dataclass(eq=False)
class Generator:
    """A call of a generator function that nothing has consumed yet: a desugared tree, what it sees, and its arguments by name.

    `items` are those that were made before their consumer asks for them.
    """

    tree: Any
    source: Any
    parent: Any
    given: dict[str, Value]
    unroll: bool
    endless: bool
    items: Value = None


class Waiting:
    """What reads its parts later than they were evaluated: iterators, bound methods. They stay what they were, whatever names are bound to since."""


@dataclass(frozen=True, eq=False)
class Method(Waiting):
    """An attribute of a value that is about to be called: `x.sum`."""

    owner: Value
    name: str


@dataclass(eq=False)
class Maybe:
    """A name that only some paths bind: read, it is its value, behind the test of its flag.

    `error` says why it cannot be read, where the paths bind values that no one variable can hold.
    """

    value: Value
    error: Exception | None = None


@dataclass(frozen=True, eq=False)
class Optional:
    """A value of the running program that may be None; `none` is a flag of the program (see `stgrad.frontend.optionals`)."""

    value: Value
    none: Value


@dataclass(frozen=True, eq=False)
class Chosen:
    """One of several values of which no one variable can hold two; `index`, a number of the program, says which (see `stgrad.frontend.choices`).

    `error` says why, where it is used as one value.
    """

    index: Value
    options: tuple[Value, ...]
    error: Exception


@dataclass(eq=False)
class Record:
    """An instance of a user's class: its attributes are values."""

    cls: type
    fields: dict[str, Value]


@dataclass(eq=False)
class Growing:
    """A list whose length the running program decides: the first `count` items of buffers.

    `structure` is what an item is made of, with a buffer in place of each number or array. `origin` is the list as the code wrote
    it; `trip` says how the one loop that fills it counts its items (see `stgrad.frontend.growing`). `cls` is tuple where nothing may be appended.
    """

    structure: Value
    count: Value
    origin: Value = None
    trip: Any = None
    cls: type = list


@dataclass(frozen=True, eq=False)
class Nested:
    """In the structure of a growing list: items that are lists themselves, as rows of one buffer."""

    buffer: Sym


@dataclass(frozen=True)
class Texts:
    """The texts that items of a list of run-time length may be, in the order in which they were met."""

    options: tuple[str, ...]


class Listed(NamedTuple):
    """In a result: a list of run-time length, by what its items are made of, with an array in place of each number or array (see `stgrad.calls.listed`)."""

    structure: Value


class Queue(list[Any]):
    """A `collections.deque` without a bound."""


class ListOrTuple(list[Any]):
    """A list on one path and a tuple on another: its items are read, but nobody may change them, or ask which it is."""


class DictView(list[Any]):
    """`d.keys()`, `d.values()` or `d.items()`: what the dict holds now, whenever it is looked at."""

    def __init__(self, owner: dict[Any, Value], name: str) -> None:
        super().__init__(getattr(owner, name)())
        self.owner, self.name = owner, name

    def __iter__(self) -> Any:
        return iter(list(getattr(self.owner, self.name)()))

    def __len__(self) -> int:
        return len(self.owner)

    def __contains__(self, item: Any) -> bool:
        return item in getattr(self.owner, self.name)()


class Undefined:
    """A name that is not bound yet."""


UNDEFINED = Undefined()


def is_static(value: Value) -> bool:
    """Whether nothing of a value belongs to the running program."""
    if isinstance(value, (Sym, Maybe, Method, Growing, Record, Optional, Chosen)):
        return False
    if isinstance(value, (tuple, list)):
        return all(is_static(v) for v in value)
    if isinstance(value, dict):
        return all(is_static(v) for v in value.values())
    if isinstance(value, slice):
        return all(is_static(v) for v in (value.start, value.stop, value.step))
    return True


def is_number(value: Value) -> bool:
    """A static Python or NumPy scalar."""
    return isinstance(value, (bool, int, float, complex, np.generic))


def is_plain_number(value: Value) -> bool:
    """A static number that is nothing but its value: a member of an IntEnum is an object, too, of which `is` asks."""
    return is_number(value) and not isinstance(value, Enum)


def is_constant(value: Value) -> bool:
    """Whether a value, an instance among them, is made of what is known while the program is read."""
    return all(is_static(static_of(leaf)) for leaf in leaves(value))


def is_derived(value: Value) -> bool:
    """A static number of a class that someone derived from Python's: a member of an IntEnum, a float with a unit."""
    return isinstance(value, (int, float, complex)) and not isinstance(value, (bool, np.generic)) and type(value) not in (int, float, complex)


def underived(value: Any) -> Any:
    """A static number as one of Python's or NumPy's own classes; such a class may print and convert itself as it likes."""
    if not is_derived(value):
        return value
    base: Any = next(kind for kind in (int, float, complex) if isinstance(value, kind))
    return base.__pos__(value)


def static_of(value: Value) -> Value:
    """Known variables as their values, through containers."""
    if isinstance(value, Known):
        return value.const
    if isinstance(value, Sym) and isinstance(value.operand, Const):
        return value.operand.value
    if isinstance(value, DictView):
        return value
    if isinstance(value, (tuple, list)):
        return rebuild(value, [static_of(v) for v in value])
    if isinstance(value, slice):
        return slice(static_of(value.start), static_of(value.stop), static_of(value.step))
    return value


def rebuild(like: tuple[Value, ...] | list[Value], items: list[Value]) -> Value:
    """A container of the same type as `like` with other items."""
    if not isinstance(like, tuple):
        return type(like)(items) if type(like) in (Queue, ListOrTuple) else list(items)
    if not hasattr(like, "_fields"):
        return tuple(items)
    made = tuple.__new__(type(like), items)  # without a `__new__` of its own, which may want more than the items
    getattr(made, "__dict__", {}).update(getattr(like, "__dict__", {}))
    return made


_SPOKEN = {
    "Closure": "function", "Undefined": "name without a value", "Moved": "list", "Nested": "list", "Attributes": "dict", "DefaultDict": "defaultdict",
    "RunTimeText": "str", "Mapped": "map", "Chosen": "value of one of several kinds", "Maybe": "name that may be unbound",
    "Optional": "value that may be None", "Again": "function",
}  # fmt: skip


def a_kind(value: Value) -> str:
    """What a value is to the user, for messages: `a list`, `an array`, `a Body`; never a class of the compiler."""
    if value is None:
        return "None"
    if isinstance(value, (Record, Growing)):
        name = getattr(value.cls, "stands_for", value.cls).__name__
    elif isinstance(value, Sym):
        name = "array" if value.type.array else "number"
    elif type(value).__module__.startswith("stgrad."):
        name = _SPOKEN.get(type(value).__name__, type(value).__name__.lower())
    else:
        name = type(value).__name__
    return f"{'an' if name[0] in 'aeiAEI' else 'a'} {name}"


def operand_of(value: Value) -> Operand:
    """The IR operand of a value.

    Raises TypeInferenceError where the value has none: a function, a dict, a list of those.
    """
    if isinstance(value, Sym):
        return value.operand
    if isinstance(value, (tuple, list)):
        return Pack(tuple(operand_of(v) for v in value))
    if isinstance(value, slice):
        return Slice(operand_of(value.start), operand_of(value.stop), operand_of(value.step))
    if value is None or value is Ellipsis or is_number(value) or isinstance(value, (str, np.dtype)):
        return Const(underived(value))
    if isinstance(value, type) and (issubclass(value, np.generic) or value in (float, int, bool, complex)):
        return Const(value)
    if isinstance(value, Chosen):
        raise value.error
    what = f"the method `{value.name}`" if isinstance(value, Method) else a_kind(value)
    raise TypeInferenceError(f"{what} is used as a number or an array", hint="call it" if isinstance(value, Method) else "")


def leaves(value: Value) -> Iterator[Value]:
    """The leaves of a container, left to right; a value that is no container is its own leaf."""
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, (dict, Record)):
        for item in (value if isinstance(value, dict) else value.fields).values():
            yield from leaves(item)
    else:
        yield value


def map_leaves(f: Callable[[Value, str], Value], value: Value, path: str = "") -> Value:
    """Apply f to every leaf, with a path such as `_0_b` that names it."""
    if isinstance(value, (tuple, list)):
        return rebuild(value, [map_leaves(f, v, f"{path}_{i}") for i, v in enumerate(value)])
    if isinstance(value, dict):
        return of_class(value, {k: map_leaves(f, v, f"{path}_{k}") for k, v in value.items()})
    if isinstance(value, Record):
        return Record(value.cls, map_leaves(f, value.fields, path))
    return f(value, path)


def of_class(like: dict[Any, Value], entries: dict[Any, Value]) -> dict[Any, Value]:
    """A dict of the same class as `like` with other entries."""
    if type(like) is dict:
        return entries
    made = type(like)(entries)
    for name, value in getattr(like, "__dict__", {}).items():
        setattr(made, name, value)
    return made


def opened(value: Any) -> Value:
    """A user's structure with a record in place of each instance."""
    if isinstance(value, (tuple, list)):
        return rebuild(value, [opened(v) for v in value])
    if type(value) is dict:
        return {k: opened(v) for k, v in value.items()}
    attributes = attributes_of(value)
    return value if attributes is None else Record(type(value), {k: opened(v) for k, v in attributes.items()})


def closed(value: Value) -> Any:
    """A structure with an instance in place of each record."""
    if isinstance(value, (tuple, list)):
        return rebuild(value, [closed(v) for v in value])
    if isinstance(value, dict):
        return {k: closed(v) for k, v in value.items()}
    return make(value.cls, closed(value.fields)) if isinstance(value, Record) else value


def scalar_type(value: Any) -> Type:
    """The type of a static number."""
    if isinstance(value, Chosen):
        raise value.error
    if not is_number(value):
        raise TypeInferenceError(f"{a_kind(value)} is used as a number")
    value = underived(value)
    weak = not isinstance(value, np.generic)
    dtype = np.result_type(value) if not weak else {bool: "bool", int: "int64", float: "float64", complex: "complex128"}[type(value)]
    number = int(value) if isinstance(value, (int, np.integer)) and not isinstance(value, bool) else None
    return Type(str(dtype), weak=weak, value=None if number is None else Dim(None, number))


def type_of(value: Value) -> Type:
    """The type of a Sym or a static number."""
    return value.type if isinstance(value, Sym) else scalar_type(value)
