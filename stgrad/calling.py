"""Generated functions around compiled code: hidden arguments in, structure and scalar types out, and the tests that it is still valid.

    def run(a0, a1):
        r0, r1, r2 = compiled(a0, a1, K)
        return r0, {'w': r1, 'b': float32(r2)}
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from stgrad.captures import Capture
from stgrad.instances import maker
from stgrad.source import Scope
from stgrad.values import Record, Sym, Value, leaves


def make_run(compiled: Callable[..., Any], count: int, unbox: Sequence[int], hidden: Sequence[Any], result: Value, jit: bool) -> Callable[..., Any]:
    """A function of `count` flat arguments that returns the structure `result`.

    Args:
        compiled: takes the arguments, then `hidden`, and returns the run-time leaves of the result: one, or a tuple.
        unbox: positions of 0-d arrays, which programs take as scalars.
        hidden: captured arrays.
        result: a structure with `Sym` leaves for what `compiled` returns; other leaves are returned as they are.
        jit: whether compiled code returns NumPy scalars as Python numbers.
    """
    flat = [leaf for leaf in leaves(result) if isinstance(leaf, Sym)]
    plain = isinstance(result, Sym) or (type(result) is tuple and len(result) > 1 and all(isinstance(v, Sym) for v in result))
    if not unbox and not hidden and plain and all(_cast(leaf, jit) is None for leaf in flat):
        return compiled
    names: dict[str, Any] = {"compiled": compiled, **{f"h{i}": array for i, array in enumerate(hidden)}}
    params = [f"a{i}" for i in range(count)]
    passed = [f"{p}[()]" if i in unbox else p for i, p in enumerate(params)] + [f"h{i}" for i in range(len(hidden))]
    targets = ", ".join(f"r{i}" for i in range(len(flat)))
    counter = iter(range(len(flat)))
    built = _built(result, counter, names, jit)
    call = f"compiled({', '.join(passed)})"
    lines = [f"def run({', '.join(params)}):", f"    {targets + ' = ' if flat else ''}{call}", f"    return {built}", ""]
    exec(compile("\n".join(lines), "<stgrad result>", "exec"), names)  # noqa: S102
    function: Callable[..., Any] = names["run"]
    return function


def _built(value: Value, counter: Iterable[int], names: dict[str, Any], jit: bool) -> str:
    """The expression that builds a structure from `r0`, `r1`..."""

    def bound(thing: Any) -> str:
        name = f"k{len(names)}"
        names[name] = thing
        return name

    if isinstance(value, Sym):
        item, cast = f"r{next(iter(counter))}", _cast(value, jit)
        return item if cast is None else f"{bound(cast)}({item})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{bound(k)}: {_built(v, counter, names, jit)}" for k, v in value.items()) + "}"
    if isinstance(value, (tuple, list)):
        items = "".join(f"{_built(v, counter, names, jit)}, " for v in value)
        if hasattr(value, "_fields"):
            return f"{bound(type(value))}({items})"
        return f"[{items}]" if isinstance(value, list) else f"({items})"
    if isinstance(value, Record):
        items = ", ".join(_built(v, counter, names, jit) for v in value.fields.values())
        return f"{bound(maker(value.cls, tuple(value.fields)))}({items})"
    return "None" if value is None else bound(value)


def _cast(leaf: Sym, jit: bool) -> Callable[[Any], Any] | None:
    """Numba returns every scalar as a Python number: NumPy scalars get their type back."""
    t = leaf.type
    if t.array or t.weak and jit:
        return None
    if t.weak:
        return {"float64": float, "int64": int, "bool": bool, "complex128": complex}.get(t.dtype)
    kind: Callable[[Any], Any] = np.dtype(t.dtype).type
    return kind


# --------------------------------------------------------------------------- validity


def guards(captures: Iterable[Capture]) -> tuple[list[str], dict[str, Any]]:
    """Tests that captured values are still those that were compiled in, as expressions, and the names that they use."""
    tests: list[str] = []
    names: dict[str, Any] = {}
    for capture in captures:
        place = _place(capture, names)
        if place is None:
            continue
        was = f"was{len(names)}"
        names[was] = capture.value
        same = f"{place} is {was}"
        if type(capture.value) in (int, float, bool, str, complex):
            same = f"({same} or type({place}) is type({was}) and {place} == {was})"
        tests.append(same)
    return tests, names


def _place(capture: Capture, names: dict[str, Any]) -> str | None:
    """Where a captured value is found now; None for what nobody changes: modules and builtins."""
    if isinstance(capture.value, ModuleType):
        return None
    key = f"at{len(names)}"
    if not isinstance(capture.owner, Scope):
        names[key] = capture.owner
        return f"{key}.{capture.name}"
    function = capture.owner.function
    if capture.name in function.__code__.co_freevars:
        names[key] = function.__closure__[function.__code__.co_freevars.index(capture.name)]  # type: ignore[index]
        return f"{key}.cell_contents"
    if capture.name not in function.__globals__ and hasattr(builtins, capture.name):
        return None
    names[key] = function.__globals__
    return f"{key}.get({capture.name!r})"
