"""Generated lines around compiled code: hidden arguments in, structure and scalar types out.

    r0, r1, r2 = compiled(x, y, captured)
    return r0, {'w': r1, 'b': float32(r2)}
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.calls.listed import items_of
from stgrad.calls.program_cache import Param
from stgrad.instances import maker
from stgrad.names import Names
from stgrad.values import Listed, Record, Sym, Value, leaves, rebuild


class Run:
    """What a call does once its arguments are taken apart: compiled code, then the structure of the result around what it returns.

    Call it with the flat arguments, or let the wrapper write its lines inline.
    """

    def __init__(
        self, compiled: Callable[..., Any], unbox: Sequence[int], hidden: Sequence[Any], result: Value, jit: bool, *, whole: bool = False
    ) -> None:
        """
        Args:
            compiled: takes the arguments, then `hidden`, and returns the run-time leaves of the result: one, or a tuple.
            unbox: positions of 0-d arrays, which programs take as scalars.
            hidden: captured arrays.
            result: a structure with `Sym` leaves for what `compiled` returns; other leaves are returned as they are.
            jit: whether compiled code returns NumPy scalars as Python numbers.
            whole: whether `compiled` returns the structure itself.
        """
        self._whole = whole or self._is_flat(result, jit)
        self._compiled, self._unbox, self._hidden, self._result, self._jit = compiled, frozenset(unbox), hidden, result, jit
        self._known: dict[int, Callable[..., Any]] = {}

    def __call__(self, *flat: Any) -> Any:
        if len(flat) not in self._known:
            self._known[len(flat)] = self._function(len(flat))
        return self._known[len(flat)](*flat)

    def _function(self, count: int) -> Callable[..., Any]:
        params = [f"a{i}" for i in range(count)]
        taken = Names(params)
        names: dict[str, Any] = {}

        def bind(wish: str, thing: Any) -> str:
            names[name := taken.fresh(re.sub(r"\W", "_", wish))] = thing
            return name

        lines = [f"def run({', '.join(params)}):", *("    " + line for line in self.lines(params, bind, taken.fresh)), ""]
        exec(compile("\n".join(lines), "<stgrad result>", "exec"), names)  # noqa: S102
        function: Callable[..., Any] = names["run"]
        return function

    def lines(self, passed: Sequence[str], bind: Callable[[str, Any], str], fresh: Callable[[str], str]) -> Iterator[str]:
        """The body of a function that makes the call; its last line returns.

        Args:
            passed: expressions of the flat arguments.
            bind: a name in the text for a wish and an object.
            fresh: a name that nothing has, for a wish.
        """
        unboxed = [f"{p}[()]" if i in self._unbox else p for i, p in enumerate(passed)]
        call = f"{bind('compiled', self._compiled)}({', '.join([*unboxed, *(bind('captured', h) for h in self._hidden)])})"
        if self._whole:
            yield f"return {call}"
            return
        flat = [leaf for leaf in leaves(self._result) if isinstance(leaf, Sym)]
        targets = [fresh(f"r{i}") for i in range(len(flat))]
        yield f"{', '.join(targets) + ' = ' if flat else ''}{call}"
        yield f"return {_built(self._result, iter(targets), bind, self._jit)}"

    @staticmethod
    def _is_flat(result: Value, jit: bool) -> bool:
        """Whether what a program returns is the structure already."""
        flat = result if type(result) is tuple and len(result) > 1 else (result,)
        return all(isinstance(leaf, Sym) and _cast(leaf, jit) is None for leaf in flat)


def _built(value: Value, items: Iterator[str], bind: Callable[[str, Any], str], jit: bool) -> str:
    """The expression that builds a structure from the names of its leaves."""

    def bound(thing: Any) -> str:
        name = getattr(thing, "__name__", "part")
        return bind(name if name.isidentifier() else "part", thing)

    def built(inner: Value) -> str:
        return _built(inner, items, bind, jit)

    if isinstance(value, Sym):
        item, cast = next(items), _cast(value, jit)
        return item if cast is None else f"{bound(cast)}({item})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{bound(k)}: {built(v)}" for k, v in value.items()) + "}"
    if isinstance(value, Listed):
        arrays = ", ".join(next(items) for leaf in leaves(value) if isinstance(leaf, Sym))
        return f"{bound(partial(items_of, value))}(iter([{arrays}]))"
    if isinstance(value, (tuple, list)):
        inner = ", ".join(map(built, value))
        if hasattr(value, "_fields"):
            return f"{bound(partial(rebuild, value))}([{inner}])" if getattr(value, "__dict__", None) else f"{bound(type(value))}({inner})"
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
    if isinstance(value, Record):
        return f"{bound(maker(value.cls, tuple(value.fields)))}({', '.join(map(built, value.fields.values()))})"
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


# --------------------------------------------------------------------------- arguments that share memory


def guarded(compiled: Callable[..., Any], params: tuple[Param, ...]) -> Callable[..., Any]:
    """Compiled code that refuses arguments of which one is written while another shares its memory."""
    arrays = [i for i, p in enumerate(params) if p.array]
    written = [i for i in arrays if params[i].written]
    pairs = [(i, j) for i in written for j in arrays if i != j and not (j in written and j < i)]
    if not pairs:
        return compiled

    def checked(*flat: Any) -> Any:
        for i, j in pairs:
            if overlap(flat[i], flat[j]):
                raise errors.AliasingError(
                    f"the arguments `{params[i].name}` and `{params[j].name}` share memory, and the function writes to `{params[i].name}`",
                    reason="the derivative would depend on how they overlap",
                    hint="pass a copy of one of them",
                )
        return compiled(*flat)

    return checked


def writing(compiled: Callable[..., Any], params: tuple[Param, ...]) -> Callable[..., Any]:
    """Compiled code that refuses arguments to which it cannot write as NumPy does; what native code reads by itself is none of those."""
    written = [i for i, p in enumerate(params) if p.array and p.changed]

    def checked(*flat: Any) -> Any:
        for i in written:
            flags = flat[i].flags
            if not flags.writeable or not flags.forc and overlaps_itself(flat[i]):
                what = "has elements that are one place in memory" if flags.writeable else "is read-only"
                raise errors.AliasingError(f"the argument `{params[i].name}` {what}, and the function writes to it", hint="pass a copy of it")
        return compiled(*flat)

    return checked if written else compiled


def overlap(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Whether two arrays share memory, as far as can be told without much work."""
    if not np.may_share_memory(a, b):
        return False
    try:
        return np.shares_memory(a, b, max_work=100_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def overlaps_itself(a: np.ndarray[Any, Any]) -> bool:
    """Whether two elements of an array are one piece of memory, as `np.broadcast_to` and windows have them."""
    if a.flags.c_contiguous or a.flags.f_contiguous:
        return False
    reach = 0
    for step, extent in sorted((abs(s), n) for s, n in zip(a.strides, a.shape, strict=True) if n > 1):
        if step <= reach:
            return True
        reach += step * (extent - 1)
    return False
