"""Tests that look-ups would still find what a program was made from, as expressions for the generated wrapper.

A guard may fail where nothing changed (another object, of equal value); `Lookup.holds` then decides. It never holds where something did.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import MethodType, ModuleType
from typing import Any

import numpy as np

from stgrad.contents import is_container, same, unchanged
from stgrad.lookups import ABSENT, Lookup, vars_of_builtins

_NUMBERS = (int, float, bool, str, complex, np.generic, tuple)


def guards(record: Iterable[Lookup]) -> tuple[list[str], dict[str, Any]]:
    """One expression for each look-up, and the names in them."""
    names: dict[str, Any] = {"same0": same, "held0": unchanged, "absent0": ABSENT}
    return [_test(lookup, names) for lookup in record if lookup.kind != "item"], names


def _test(lookup: Lookup, names: dict[str, Any]) -> str:
    def bind(wish: str, value: Any) -> str:
        names[name := f"{wish}{len(names)}"] = value
        return name

    if lookup.kind == "form":
        return _form_test(bind("at", lookup.owner), bind("was", lookup.value[0]), lookup.value[1:])
    place = _place(lookup, bind)
    if place is None:
        return f"{bind('holds', lookup.holds)}()"
    if is_container(lookup.value):
        return f"held0({place}, {bind('was', lookup.was)})"
    was = bind("was", lookup.value)
    if isinstance(lookup.value, MethodType):
        return f"{place} == {was}"
    return f"({place} is {was} or same0({place}, {was}))" if isinstance(lookup.value, _NUMBERS) else f"{place} is {was}"


def _form_test(at: str, dtype: str, extents: tuple[int | None, ...]) -> str:
    shape = " and ".join(f"{at}.shape[{axis}] {'!= 1' if n is None else f'== {n}'}" for axis, n in enumerate(extents))
    return " and ".join([f"{at}.ndim == {len(extents)}", f"{at}.dtype is {dtype}", *([shape] if shape else [])])


def _place(lookup: Lookup, bind: Any) -> str | None:
    """An expression for what is found now; None where only the look-up itself tells."""
    owner, name = lookup.owner, lookup.name
    if lookup.value is ABSENT:
        return None
    match lookup.kind:
        case "name":
            return _place_of_name(owner, name, bind)
        case "attribute" if isinstance(owner, ModuleType) and name in vars(owner):
            return f"{bind('at', vars(owner))}.get({name!r})"
        case "attribute":
            return f"getattr({bind('at', owner)}, {name!r}, absent0)"
        case "raw" if getattr(owner, name, ABSENT) is lookup.value:
            return f"getattr({bind('at', owner)}, {name!r}, absent0)"
        case "own":
            return f"{bind('at', vars(owner))}.get({name!r})"
        case "class":
            return f"{bind('at', type)}({bind('at', owner)})"
        case "module":
            return f"{bind('at', sys.modules)}.get({name!r})"
    return None


def _place_of_name(function: Any, name: str, bind: Any) -> str:
    if name in function.__code__.co_freevars:
        return f"{bind('at', function.__closure__[function.__code__.co_freevars.index(name)])}.cell_contents"
    here = bind("at", function.__globals__)
    if name in function.__globals__:
        return f"{here}.get({name!r})"
    return f"{here}.get({name!r}, {bind('at', vars_of_builtins(function))}.get({name!r}))"
