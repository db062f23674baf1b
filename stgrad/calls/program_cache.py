"""Generated programs on disk: another process finds the text of a program without reading the function again.

An entry is a JSON file, `<name>_<key>.json`. The key hashes the function's code, the request, the types of the arguments and the versions
of everything that generates code. The entry lists every look-up that was made while the program was made (see `stgrad.lookups`) and what was
found, or that nothing was; it counts only where all of them find the same now. There is nothing in it that runs by being loaded: what
cannot be described in JSON is not kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from stgrad import lookups
from stgrad.cache import directory, fingerprint, read_bytes, unwritable, write_atomically
from stgrad.calls import wrapper
from stgrad.calls.identity import Identity, Unknown, class_name
from stgrad.calls.own_exceptions import Raised
from stgrad.contents import form_of, is_numeric
from stgrad.errors import NO_COMMON_SHAPE, NO_TRIP, NOT_COMPILED, RAGGED, SQUEEZED, StgradError
from stgrad.ir import NONE, Type
from stgrad.lookups import Lookup
from stgrad.values import Listed, Sym, Value

# The rules of `stgrad.eager` are for operations of its own; they replace none, and the key changes with the files they stand in.
_KNOWN_RULES = ("stgrad.rules.", "stgrad.eager.")
VARIANTS = 8  # programs kept for one key: the same code with other captured values


@dataclass(frozen=True)
class Param:
    """A parameter of a generated function: `written`, where others must not share its memory, and `changed`, where the function writes to it."""

    name: str
    array: bool
    written: bool
    changed: bool


@dataclass(frozen=True)
class Ready:
    """A generated program and what it takes to call it.

    `result` is the structure of the result, with `Sym` leaves for what the program returns.
    """

    name: str
    text: str
    params: tuple[Param, ...]
    result: Value
    captures: tuple[Lookup, ...]
    optimistic: bool = False  # whether a ValueError may mean that extents differ which broadcast (see `request.Options.broadcast`)
    short: bool = False  # whether it may mean that an array is shorter than what a slice leaves out
    plain: str = ""  # of a program that was made now and is to run at once: its text before it was lowered
    then: Ready | None = None  # the program that takes what this one keeps (see `request.Options.apart`)
    distinct: bool = False  # whether lists, dicts and objects among the arguments must be different ones (see `stgrad.calls.distinct`)
    raised: tuple[Raised, ...] = ()  # exceptions that it raises in the place of the user's own

    @property
    def second_try(self) -> bool:
        """Whether the program that broadcasts as it runs may go on where this one raises."""
        return self.optimistic or self.short

    @property
    def hands_on(self) -> bool:
        """Whether what the program raises may not be what the function raises."""
        words = (NO_TRIP, NO_COMMON_SHAPE, RAGGED, SQUEEZED, NOT_COMPILED, "call_python")  # which may find a complex result
        return self.second_try or any(word in self.text for word in words)


def enabled() -> bool:
    """Whether programs are kept: not with STGRAD_PROGRAM_CACHE=0, not while each pass is checked, not with rules of the user's own."""
    off = os.environ.get("STGRAD_PROGRAM_CACHE", "1") in ("", "0") or os.environ.get("STGRAD_CHECK", "") not in ("", "0")
    return not off and not _own_rules()


def _own_rules() -> bool:
    core = sys.modules.get("stgrad.rules.core")
    rules = core.TABLE.values() if core is not None else ()
    functions = (f for r in rules for f in (r.partials, r.adjoint, r.tangent, r.composite) if f is not None)
    return any(not f.__module__.startswith(_KNOWN_RULES) for f in functions)


def find(target: Any, nodes: Sequence[wrapper.Node], options: str = "") -> Ready | None:
    """The program of a Transformed for arguments of these descriptions, if it is kept and still valid."""
    try:
        path = _path(target, nodes, options)
    except Unknown:
        return None
    for entry in sorted(_entries(path), key=_is_general):
        found = _revived(entry, target, nodes)
        if found is not None:
            return found
    return None


def keep(target: Any, nodes: Sequence[wrapper.Node], ready: Ready, options: str = "") -> bool:
    """Write a program to its entry; whether it could be described.

    Args:
        target: the Transformed it belongs to.
        nodes: descriptions of the arguments.
        ready: the program.
        options: everything else that the text depends on.
    """
    try:
        path = _path(target, nodes, options)
        entry = _described(target, ready)
        content = json.dumps({"variants": [entry, *_entries(path)[: VARIANTS - 1]]})
    except Unknown:
        return False
    try:
        write_atomically(path, content.encode())
    except OSError as error:  # a full disk, or a directory that is gone: only speed is lost
        unwritable(error)
        return False
    return True


# --------------------------------------------------------------------------- the key


def _path(target: Any, nodes: Sequence[wrapper.Node], options: str) -> Path:
    described = [Identity().describe(target), [_node(n) for n in nodes], options, fingerprint(), _generator()]
    digest = hashlib.sha256(json.dumps(described).encode()).hexdigest()[:16]
    return directory() / f"{target.__name__}_{digest}.json"


@cache
def _generator() -> str:
    """Changes with every file of the compiler. Sizes and times, not contents: reading them all takes longer than a warm start."""
    folders = [str(Path(__file__).parents[1])]
    facts = []
    for folder in folders:  # which grows as folders are found
        for entry in os.scandir(folder):
            if entry.name.endswith(".py"):
                facts.append((entry.path, entry.stat().st_size, entry.stat().st_mtime_ns))
            elif entry.name != "__pycache__" and entry.is_dir():
                folders.append(entry.path)
    return hashlib.sha256(repr(sorted(facts)).encode()).hexdigest()


def _node(node: wrapper.Node) -> Any:
    match node:
        case wrapper.Scalar():
            return ["scalar", class_name(node.type)]
        case wrapper.Array():
            return ["array", node.dtype, node.ndim, node.extents]
        case wrapper.Static():
            return ["static", Identity().describe(node.value)]
        case wrapper.Items():
            return ["items", class_name(node.type), *map(_node, node.items)]
        case wrapper.Keys():
            return ["keys", *([Identity().describe(k), _node(n)] for k, n in node.items)]
    raise Unknown(f"an argument that is a {type(node).__name__}")


# --------------------------------------------------------------------------- to JSON


def _described(target: Any, ready: Ready) -> Any:
    identity = Identity()
    identity.describe(target)
    captures = [line for lookup in ready.captures if lookup.kind != "form" for line in _lines(identity, lookup)]
    return {**_described_program(ready), "captures": captures, "then": ready.then and _described_program(ready.then)}


def _described_program(ready: Ready) -> dict[str, Any]:
    return {
        "name": ready.name,
        "text": ready.text,
        "params": [[p.name, p.array, p.written, p.changed] for p in ready.params],
        "result": _structure(ready.result),
        "optimistic": ready.optimistic,
        "short": ready.short,
        "distinct": ready.distinct,
        "raised": [r.described() for r in ready.raised],
        "sum": _sum(ready.text),
    }


def _lines(identity: Identity, lookup: Lookup) -> Iterator[Any]:
    """A look-up as JSON; before it the import of the module that it looks into, where nothing else leads there."""
    kind, owner, name = lookup.kind, lookup.owner, lookup.name
    if kind == "call" or type(name) not in (str, int, type(None)):
        raise Unknown("a look-up that JSON cannot name")
    if isinstance(owner, ModuleType) and _place(identity, owner) is None:
        yield ["module", None, owner.__name__, identity.describe(owner), None]
    place = _place(identity, owner)
    if place is None and owner is not None:
        raise Unknown("an owner that no look-up leads to")
    yield [kind, place, name, _what(identity, lookup.value, lookup.variable), lookup.variable]


def _what(identity: Identity, value: Any, variable: str | None) -> Any:
    """What a look-up must find: any number of a type, where a parameter carries it."""
    return ["any", class_name(type(value))] if variable is not None and isinstance(value, float | np.floating) else identity.describe(value)


def _is_general(entry: Any) -> bool:
    """Whether a program takes numbers from outside as it runs: one that has them compiled in comes first."""
    found = entry.get("captures") if isinstance(entry, dict) else None
    return isinstance(found, list) and any(type(was) is list and was[:1] == ["any"] for *_, was, _ in found)


def _place(identity: Identity, owner: Any) -> int | None:
    return next((i for i, place in enumerate(identity.places) if place is owner), None)


def _structure(value: Value) -> Any:
    if isinstance(value, Sym):
        return ["sym", value.type.dtype, value.type.array, value.type.weak]
    if isinstance(value, (tuple, list)):
        return ["items", class_name(type(value)), *map(_structure, value)]
    if isinstance(value, dict):
        if not all(type(k) in (str, int) for k in value):
            raise Unknown("a dict with keys that JSON does not have")
        return ["keys", *([k, _structure(v)] for k, v in value.items())]
    if value is None or type(value) in (bool, int, float, str):
        return ["value", value]
    raise Unknown(f"a result that is a {type(value).__name__}")


def _sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# --------------------------------------------------------------------------- from JSON


def _entries(path: Path) -> list[Any]:
    try:
        variants = json.loads(read_bytes(path) or b"{}").get("variants", [])
    except (ValueError, AttributeError):
        return []
    return variants if isinstance(variants, list) else []


def _revived(entry: Any, target: Any, nodes: Sequence[wrapper.Node]) -> Ready | None:
    """The program of an entry, or None where something in it is another thing now."""
    try:
        classes = {**dict(_classes(nodes)), class_name(Listed): Listed}
        ready = _program(entry, classes)
        captures = _captures(entry["captures"], target)
        return replace(ready, captures=captures, then=_program(entry["then"], classes) if entry["then"] else None)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, StgradError, Unknown):
        return None


def _program(entry: Any, classes: dict[str, type]) -> Ready:
    """A program of an entry; ValueError where its text is not what was written."""
    if entry["sum"] != _sum(entry["text"]):
        raise ValueError(entry["name"])
    params = tuple(Param(*p) for p in entry["params"])
    flags = {name: entry[name] for name in ("optimistic", "short", "distinct")}
    raised = tuple(Raised(*r) for r in entry["raised"])
    return Ready(entry["name"], entry["text"], params, _value(entry["result"], classes), (), **flags, raised=raised)


def _captures(described: Any, target: Any) -> tuple[Lookup, ...]:
    """The look-ups as they come out now.

    Raises ValueError where one is not what it was.
    """
    identity = Identity()
    identity.describe(target)
    carried: dict[str, int] = {}
    captures = []
    for kind, place, name, was, variable in described:
        owner = None if place is None else identity.places[place]
        value = lookups.read(kind, owner, name)
        if _what(identity, value, variable) != was:
            raise ValueError(name)
        if variable is not None and isinstance(value, np.ndarray) and carried.setdefault(variable, id(value)) != id(value):
            raise ValueError(name)
        if is_numeric(value) and kind != "table":
            captures.append(Lookup("form", value, None, form_of(value)))
        captures.append(Lookup(kind, owner, name, value, variable))
    if len(set(carried.values())) != len(carried):
        raise ValueError("two arrays are one now")
    return tuple(captures)


def _value(described: Any, classes: dict[str, type]) -> Value:
    match described:
        case ["sym", dtype, array, weak]:
            return Sym(NONE, Type(dtype, array=array, weak=weak))
        case ["items", "tuple", *items]:
            return tuple(_value(i, classes) for i in items)
        case ["items", "list", *items]:
            return [_value(i, classes) for i in items]
        case ["items", name, *items]:
            return classes[name](*(_value(i, classes) for i in items))
        case ["keys", *items]:
            return {k: _value(v, classes) for k, v in items}
        case ["value", value]:
            return value
    raise ValueError(described)


def _classes(nodes: Sequence[wrapper.Node]) -> Any:
    """The NamedTuple classes among the arguments, by name: a gradient has the class of its argument."""
    for node in nodes:
        if isinstance(node, wrapper.Items):
            yield class_name(node.type), node.type
            yield from _classes(node.items)
        elif isinstance(node, wrapper.Keys):
            yield from _classes([n for _, n in node.items])
