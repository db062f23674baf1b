"""Floats from outside that are another number in one program than in the last: the program takes them as it runs.

A float that a closure, an object or a module holds is compiled in at first, as a constant that the compiler may compute with. Where the same code finds
another number there (the next window of a time series, the next instance of a model), its program gets a hidden parameter in place of the constant, as it
does for arrays, and serves all further numbers. Where such a program cannot be read, since something has to be known of the number, or would be slow, it
stays a constant for good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from stgrad.errors import StgradError
from stgrad.frontend.builder import Builder
from stgrad.frontend.values import Sym, Value
from stgrad.ir import Var
from stgrad.lookups import Lookup

T = TypeVar("T")
Found = frozenset[tuple[str, str]]  # types and digits of the numbers that one program found at a place
CONSTANT = None  # said of a place whose numbers have to be known

_places: WeakKeyDictionary[Any, dict[tuple[str, str], Found | None]] = WeakKeyDictionary()  # by the code, class or module where the look-up starts


@dataclass
class _Carried:
    """The places whose numbers the program that is being read takes as it runs."""

    places: set[tuple[Any, tuple[str, str]]] = field(default_factory=set)


_carried: ContextVar[_Carried | None] = ContextVar("carried", default=None)


def is_carried(lookup: Lookup) -> bool:
    """Whether a program has a parameter for what a look-up found; it is noted that it has."""
    open_, place = _carried.get(), _place(lookup)
    if open_ is None or place is None:
        return False
    anchor, name = place
    known = _places.get(anchor, {}).get(name, frozenset())
    if known is CONSTANT or not known or _digits(lookup.value) in known:
        return False
    open_.places.add(place)
    return True


def read_carrying(read: Callable[[], T], found: Callable[[T], Iterable[Lookup]]) -> T:
    """What `read()` gives, which may take floats from outside as parameters; without them where it is refused so.

    Args:
        read: makes a program.
        found: the look-ups that it rests on.
    """
    with _carrying() as carried:
        try:
            made = read()
        except StgradError:
            if not carried.places:
                raise
            made = None
    if made is None:
        made = read()
        for anchor, name in carried.places:
            _places[anchor][name] = CONSTANT
    _remember(found(made))
    return made


def better_known(builder: Builder, exponent: Value) -> None:
    """Refuse to carry an exponent for which there are products and roots, which are many times as fast as powers."""
    number = builder.carried.get(exponent.name) if isinstance(exponent, Sym) and isinstance(exponent.operand, Var) else None
    if number is not None and (2.0 * number).is_integer():
        raise StgradError(f"the exponent {number} is better known", builder.loc)


@contextmanager
def _carrying() -> Iterator[_Carried]:
    token = _carried.set(carried := _Carried())
    try:
        yield carried
    finally:
        _carried.reset(token)


def _remember(lookups: Iterable[Lookup]) -> None:
    """The numbers that were compiled in; what was carried stays so, as its last number does not come again."""
    compiled: dict[tuple[Any, tuple[str, str]], set[tuple[str, str]]] = {}
    for lookup in lookups:
        place = _place(lookup)
        if place is not None and lookup.variable is None:
            compiled.setdefault(place, set()).add(_digits(lookup.value))
    for (anchor, name), numbers in compiled.items():
        known = _places.setdefault(anchor, {})
        if known.get(name, frozenset()) is not CONSTANT:
            known[name] = frozenset(numbers)


def _place(lookup: Lookup) -> tuple[Any, tuple[str, str]] | None:
    """Where a float was found, the same for all closures of one code and all instances of a class; None for other values and places."""
    owner, value = lookup.owner, lookup.value
    if type(value) not in (float, np.float64, np.float32) or lookup.kind not in ("name", "attribute") or type(lookup.name) is not str:
        return None
    anchor = owner.__code__ if isinstance(owner, FunctionType) else owner if isinstance(owner, (type, ModuleType)) else type(owner)
    return anchor, (lookup.kind, lookup.name)


def _digits(value: Any) -> tuple[str, str]:
    return type(value).__name__, repr(float(value))
