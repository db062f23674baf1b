"""What stands in a program for the values that it takes from outside.

An array becomes a hidden parameter, one for each array, wherever it is found; a list, tuple or dict that holds arrays is followed to them,
so that the program sees the same container with parameters in it. So does a float that is not what it was in an earlier program of the same code
(`stgrad.frontend.varying`). Everything else is compiled in as it is. Containers from outside are remembered, for the program must not change them.

What a program changes there and gives back (the settings of a package within a `with`) nobody else sees: such a container is *lent*, and the
program is read with a copy of it, which has to hold at the end what it held at the beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.contents import form_of, holds_arrays, is_array_of_own_class, is_numeric, is_short, items_of, snapshot, unchanged
from stgrad.frontend.builder import Builder
from stgrad.frontend.values import Sym, Value, is_constant, rebuild
from stgrad.frontend.varying import is_carried
from stgrad.ir import Dim, Loc, Type
from stgrad.lookups import ABSENT, Lookup, look, note, spelled


def refuse_own_class(builder: Builder, array: np.ndarray[Any, Any], name: str) -> None:
    """An array from outside, or made of such, is to be one of NumPy's own: others mean something else by `+` and `*`."""
    if is_array_of_own_class(type(array)):
        what = f"`{name}` is a {type(array).__name__}, whose operations are not those of arrays"
        raise errors.TypeInferenceError(what, builder.loc, hint=f"make an array of it outside of the function: np.asarray({name})")


class Borrows(errors.Signal):
    """A container from outside changes: to be read again with a copy of it."""

    def __init__(self, name: str, container: Any) -> None:
        super().__init__(name)
        self.name, self.container = name, container


@dataclass
class _Loan:
    """A copy of a container from outside, what it held at first, and where the program changed it."""

    name: str
    copy: Any
    was: Any
    changed_at: Loc | None = None
    variable: bool = False  # of a module


@dataclass(frozen=True)
class ModuleVariable:
    """A name of the module of a function, which the program binds by `global`."""

    function: Any
    name: str

    @property
    def key(self) -> tuple[int, str]:
        return id(self.function.__globals__), self.name


_VARIABLES: dict[tuple[int, str], ModuleVariable] = {}  # one object for each

KNOWS_SHORT: ContextVar[bool] = ContextVar("KNOWS_SHORT", default=False)  # whether programs know the extents of captured arrays that are short
_OPEN: ContextVar[tuple[Captures, ...]] = ContextVar("_OPEN", default=())  # of the readings that wait for the one at work


class Captures:
    """The captured values of one reading, each once; `lent` are the containers from outside that it may change for a while."""

    def __init__(self, lent: dict[int, tuple[str, Any]] | None = None) -> None:
        self.lent = lent
        self.loans: dict[int, _Loan] = {}
        self.variables: dict[tuple[int, str], dict[str, Value]] = {}  # of modules, that are lent: what stands for a name now
        self.found: dict[tuple[Any, ...], tuple[Lookup, Value]] = {}
        self._arrays: dict[int, Value] = {}
        self._containers: dict[int, tuple[str, Any]] = {}
        self._followed: dict[int, Value] = {}
        self._originals: dict[int, Any] = {}  # by what stands for them

    def protect(self, name: str, value: Any) -> None:
        """Note the containers of a value from outside, which the program must not change."""
        if isinstance(value, (list, dict, set)) and id(value) not in self._containers and id(value) not in self.loans:
            self._containers[id(value)] = (name, value)
        if isinstance(value, (list, tuple, dict)):
            for item in value.values() if isinstance(value, dict) else value:
                self.protect(name, item)

    def name_of(self, container: Any) -> str | None:
        """Where a container from outside was found."""
        return self._containers[id(container)][0] if id(container) in self._containers else None

    def is_outside(self, container: Any) -> bool:
        """Whether a container comes from outside, or stands for one that does."""
        return id(container) in self._containers or id(container) in self.loans

    def changing(self, container: Any, at: Loc | None, *, constant: bool) -> None:
        """Take note of a change of a container, which is refused where it is one from outside that is not lent.

        Raises:
            Borrows: it can be lent.
        """
        name, loan = self.name_of(container), self.loans.get(id(container))
        if loan is not None:
            loan.changed_at = loan.changed_at or at
        if name is None:
            return
        original = self._originals.get(id(container), container)
        if self.lent is not None and not constant and type(original) in (list, dict, set) and id(original) not in self.lent:
            raise Borrows(name, original)
        refused = _changed_outside(name, container, at)
        refused.once = constant
        raise refused

    def lend(self, builder: Builder) -> None:
        """Make the copies of what is lent, before a part of the program begins that may not run."""
        for name, container in (self.lent or {}).values():
            if isinstance(container, ModuleVariable):
                self._lend_variable(builder, container)
            else:
                self._follow(builder, name, container)

    def _lend_variable(self, builder: Builder, variable: ModuleVariable) -> None:
        outside = look("name", variable.function, variable.name)
        held = {"value": self.take(builder, Lookup("name", variable.function, variable.name, outside))}
        self.variables[variable.key] = held
        self.loans[id(held)] = _Loan(variable.name, held, snapshot(held), variable=True)

    def of_module(self, function: Any, name: str) -> dict[str, Value]:
        """What holds the value that a name of a function's module has now, for a program that binds it.

        Raises:
            Borrows: it can be lent.
            UnsupportedSyntaxError: it cannot.
        """
        variable = ModuleVariable(function, name)
        variable = _VARIABLES.setdefault(variable.key, variable)
        if variable.key in self.variables:
            return self.variables[variable.key]
        if self.lent is not None and id(variable) not in self.lent and look("name", function, name) is not ABSENT:
            raise Borrows(name, variable)
        raise _assigned(name, None)

    def returned(self) -> None:
        """Refuse what the program was lent and did not give back as it was."""
        for loan in self.loans.values():
            if loan.changed_at is None or unchanged(loan.copy, loan.was):
                continue
            if loan.variable:
                refused = _assigned(loan.name, loan.changed_at)
                refused.once = is_constant(loan.copy["value"])
                raise refused
            raise _changed_outside(loan.name, loan.copy, loan.changed_at)

    def _refuse_changed(self, value: Any, at: Loc | None) -> None:
        for others in _OPEN.get():
            loan = others.loans.get(id(others._followed.get(id(value)))) if others is not self else None
            if loan is not None and loan.changed_at is not None:
                raise _changed_outside(loan.name, loan.copy, at)

    def _is_followed(self, value: Any) -> bool:
        """Whether something else stands for a container: it holds arrays, or is lent, or holds what is."""
        if self.lent and isinstance(value, (list, tuple, dict, set)):
            return id(value) in self.lent or any(self._is_followed(item) for _, item in items_of(value)) or holds_arrays(value)
        return holds_arrays(value)

    def take(self, builder: Builder, lookup: Lookup, wish: str = "") -> Value:
        """What stands for a value from outside; `wish` is a name for it where that of the look-up is none."""
        value, name = lookup.value, str(lookup.name)
        hook = getattr(type(value), "_stgrad_value_", None)  # a tensor or variable of the eager API knows its parameter
        if hook is not None:
            return hook(value)
        if type(value) in (list, tuple) and any(hasattr(type(v), "_stgrad_value_") for v in value):
            return type(value)([self.take(builder, Lookup("item", value, i, v)) for i, v in enumerate(value)])
        key = lookup.key
        if key not in self.found:
            if isinstance(value, np.ndarray) and value.dtype.kind == "O":
                raise errors.NotDifferentiableError(f"`{wish or name}` is an array of {value.dtype}", builder.loc, hint="use a list, or an array of numbers")
            if isinstance(value, np.ndarray) and value.dtype.kind in "fciub" and not value.dtype.isnative:
                hint = f"make it {wish or name}.astype({value.dtype.name!r})"
                raise errors.NotDifferentiableError(f"`{wish or name}` has the byte order of another machine ({value.dtype.str})", builder.loc, hint=hint)
            if is_numeric(value):
                refuse_own_class(builder, value, wish or name)
            stands_for = self._parameter(builder, wish or name, value) if is_numeric(value) else value
            if is_carried(lookup):
                stands_for = builder.hidden(wish or name, Type(np.dtype(type(value)).name, weak=type(value) is float))
                builder.carried[stands_for.name] = float(value)
            variable = stands_for.name if isinstance(stands_for, Sym) else None
            self.found[key] = (lookup.carried_by(variable), stands_for)
            self.protect(wish or name, value)
            self._refuse_changed(value, builder.loc)
            if self._is_followed(value):
                self.found[key] = (self.found[key][0], self._follow(builder, wish or name, value))
        return self.found[key][1]

    def _follow(self, builder: Builder, name: str, container: Any) -> Value:
        """A container with hidden parameters in place of the arrays in it."""
        if id(container) not in self._followed:
            followed = {key: self._item(builder, f"{name}_{key}", container, key, item) for key, item in items_of(container)}
            items = list(followed.values())
            new: Any = followed if isinstance(container, dict) else set(items) if isinstance(container, set) else items
            new = rebuild(container, items) if isinstance(container, tuple) else new
            self._followed[id(container)], self._originals[id(new)] = new, container
            if self.lent and id(container) in self.lent:
                self.loans[id(new)] = _Loan(name, new, snapshot(new))
            self.protect(name, new)
            self._containers.setdefault(id(container), (name, container))  # it stays as it is, with its identity
        return self._followed[id(container)]

    def _item(self, builder: Builder, name: str, container: Any, key: Any, item: Any) -> Value:
        if is_numeric(item):
            return self.take(builder, Lookup("item", container, key, item), re.sub(r"\W", "_", name))
        return self._follow(builder, name, item) if self._is_followed(item) else item

    def _parameter(self, builder: Builder, name: str, value: np.ndarray[Any, Any]) -> Value:
        """A hidden parameter for a captured array; one for an array that is captured under several names."""
        if id(value) not in self._arrays:
            note("form", value, None, form_of(value))
            known = is_short if KNOWS_SHORT.get() else (1).__eq__
            dims = tuple(Dim(None, n) if known(n) else builder.fresh_dim() for n in value.shape)
            builder.extents.wide.update(d.symbol for d in dims if d.symbol is not None)
            self._arrays[id(value)] = builder.hidden(name, Type(str(value.dtype), dims, array=True))
        return self._arrays[id(value)]

    def table(self, builder: Builder, numbers: np.ndarray[Any, Any]) -> Sym:
        """A hidden parameter for numbers that the program takes one after the other; one for equal numbers."""
        lookup = Lookup("table", None, spelled(numbers), numbers)
        if lookup.key not in self.found:
            variable = builder.hidden("table", Type(str(numbers.dtype), (Dim(None, len(numbers)),), array=True))
            self.found[lookup.key] = (lookup.carried_by(variable.name), variable)
        return self.found[lookup.key][1]  # type: ignore[no-any-return]

    def field(self, builder: Builder, records: np.ndarray[Any, Any], name: str) -> Value:
        """A field of an array of records, which is compiled in as a whole."""
        numbers = np.ascontiguousarray(records[name])
        return self.table(builder, numbers) if records.ndim == 1 and is_numeric(numbers) and numbers.ndim == 1 else numbers

    def __iter__(self) -> Iterator[Lookup]:
        return (lookup for lookup, _ in self.found.values())


def _assigned(name: str, at: Loc | None) -> errors.UnsupportedSyntaxError:
    what, hint = "`global` of a name that is assigned is not supported", "return the new value, or keep the state in an array argument"
    return errors.UnsupportedSyntaxError(what, at, reason=f"`{name}` outlives the call", hint=hint)


def _changed_outside(name: str, container: Any, at: Loc | None) -> errors.AliasingError:
    return errors.AliasingError(
        f"the function changes `{name}`, a {type(container).__name__} from outside of it",
        at,
        reason="what other code would see of the change cannot be differentiated, nor made again in the next call",
        hint=f"pass `{name}` as an argument, or work on a copy of it, or put back what it held before the function ends",
    )


@contextmanager
def reading(captures: Captures) -> Iterator[None]:
    """While a program with these captures is read."""
    token = _OPEN.set((*_OPEN.get(), captures))
    try:
        yield
    finally:
        _OPEN.reset(token)
