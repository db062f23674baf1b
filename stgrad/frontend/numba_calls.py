"""What Numba adds to Python, read as what it means: `prange`, typed lists and dicts, stencils.

A parallel loop is a loop (`stgrad.transforms.parallel` finds out itself which loops threads can share), a typed container a container. A
stencil is a loop over the places of its first array, with a kernel that indexes its arrays relative to the place:

    k = stencil(lambda a: a[-1] + a[1])         y = np.zeros(a.shape)
    y = k(a)                            ->      for i in range(1, n - 1): y[i] = a[i - 1] + a[i + 1]

Source: Numba's reference, "Using the @stencil decorator": the neighbourhood is what constant indices span unless it is given, outside of
it the result is `cval`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import gast
import numpy as np

from stgrad import errors
from stgrad.frontend import library
from stgrad.frontend.frame import Frame
from stgrad.frontend.heap import State
from stgrad.frontend.indexing import load
from stgrad.frontend.operations import binary
from stgrad.frontend.values import Sym, Value, is_static, static_of, type_of
from stgrad.ir import Type
from stgrad.source import module_of


def meaning(function: Any) -> Callable[..., Value] | None:
    """The handler of what Numba defines; None for other functions."""
    if type(getattr(getattr(function, "__self__", None), "_numba_type_", None)).__name__ == "ClassInstanceType":
        return _refused_method(function.__name__)
    if type(function).__name__ == "_Intrinsic":
        return _intrinsic(function)
    function = getattr(function, "__func__", function)
    if not module_of(function).startswith("numba."):
        return None
    if type(function).__name__ == "StencilFunc":
        made = Stencil(function.kernel_ir.func_id.func, {**function.options, "neighborhood": function.neighborhood})
        return lambda frame, *args, **kwargs: made._stgrad_call_(frame, args, kwargs)
    return _MEANS.get(f"{function.__module__}.{getattr(function, '__qualname__', '')}")


def in_numpy(value: Value) -> Value:
    """What NumPy takes for a type of Numba's: `np.zeros(n, dtype=numba.float64)`."""
    if not type(value).__module__.startswith("numba.core.types") or not hasattr(value, "bitwidth") and str(value) not in ("bool", "boolean"):
        return value
    from numba.np.numpy_support import as_dtype

    return as_dtype(value)


def _intrinsic(function: Any) -> Callable[..., Value]:
    def refuse(frame: Frame, *args: Any, **kwargs: Any) -> Value:
        what, why = f"`{getattr(function, '_name', 'a function')}` is an intrinsic of Numba", "it writes LLVM's code itself"
        raise errors.UnknownFunctionError(what, frame.builder.loc, reason=why, hint="write a rule for it (`stgrad help extending`)")

    return refuse


def _refused_method(name: str) -> Callable[..., Value]:
    def refuse(frame: Frame, *args: Any, **kwargs: Any) -> Value:
        raise errors.UnknownFunctionError(
            f"`{name}` is a method of an object of a `jitclass` from outside",
            frame.builder.loc,
            reason="its numbers may change, and programs cannot tell",
            hint="pass the object as an argument",
        )

    return refuse


def _as(python: Any) -> Callable[..., Value]:
    return lambda frame, *args, **kwargs: frame.call(python, args, kwargs)


def _empty(python: Any) -> Callable[..., Value]:
    """`List.empty_list(type)`, `Dict.empty(key, value)`: the types follow from what is put in."""
    return lambda frame, *types, **options: frame.call(python, (), {})


def _stencil(frame: Frame, kernel: Value = "constant", **options: Value) -> Value:
    if isinstance(kernel, str):
        return Stencils(options)
    return Stencil(kernel, options)


_MEANS: dict[str, Callable[..., Value]] = {
    "numba.misc.special.prange": _as(range),
    "numba.typed.typedlist.List": lambda frame, *args, lsttype=None, meminfo=None, allocated=0: frame.call(list, args, {}),
    "numba.typed.typeddict.Dict": lambda frame, *args, dcttype=None, meminfo=None, n_keys=0: frame.call(dict, args, {}),
    "numba.typed.typedlist.List.empty_list": _empty(list),
    "numba.typed.typeddict.Dict.empty": _empty(dict),
    "numba.misc.special.literal_unroll": lambda frame, container: container,
    "numba.misc.special.literally": lambda frame, value: value,
    "numba.stencils.stencil.stencil": _stencil,
}


# --------------------------------------------------------------------------- stencils


@dataclass(frozen=True, eq=False)
class Relative:
    """An array that is indexed from a place; `seen` collects the constant indices."""

    array: Sym
    place: tuple[Value, ...]
    seen: list[tuple[Value, ...]] = field(default_factory=list)

    def _stgrad_item_(self, frame: Frame, index: Value, node: Any) -> Value:
        steps = index if isinstance(index, tuple) else (index,)
        if len(steps) != len(self.place):
            raise errors.ShapeError(f"a stencil over {len(self.place)} axes has {len(steps)} indices here", frame.builder.loc)
        self.seen.append(tuple(static_of(s) for s in steps))
        return load(frame, self.array, tuple(_moved(frame, s, p) for s, p in zip(steps, self.place, strict=True)), node)


def _moved(frame: Frame, step: Value, place: Value) -> Value:
    if isinstance(step, slice):
        return slice(*(place if v is None else binary(frame, gast.Add, place, v) for v in (step.start, step.stop)))
    return place if static_of(step) == 0 else binary(frame, gast.Add, place, step)


@dataclass(frozen=True, eq=False)
class Stencils:
    """`stencil(cval=...)`: a decorator."""

    options: dict[str, Value]

    def _stgrad_call_(self, frame: Frame, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        return Stencil(args[0], self.options)


@dataclass(frozen=True, eq=False)
class Stencil:
    """A stencil: its kernel and its options."""

    kernel: Value
    options: dict[str, Value]

    def _stgrad_call_(self, frame: Frame, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        if not args or not isinstance(args[0], Sym) or not args[0].type.rank:
            raise errors.TypeInferenceError("a stencil takes an array first", frame.builder.loc)
        if set(kwargs) - {"out"}:
            raise errors.TypeInferenceError(f"a stencil has no option `{min(set(kwargs) - {'out'})}`", frame.builder.loc)
        rank = args[0].type.rank
        if rank > 4:
            raise errors.UnsupportedSyntaxError("a stencil over more than four axes is not supported", frame.builder.loc)
        seen, dtype = self._tried(frame, args)
        around = static_of(self.options.get("neighborhood")) or _spanned(frame, seen, rank)
        shape = tuple(frame.call(np.shape, (args[0],), {}))
        out, outside = kwargs.get("out"), self.options.get("cval")
        if out is None:
            out = frame.call(np.full, (shape, 0 if outside is None else outside, np.dtype(dtype)), {})
        elif outside is not None:
            frame.call(library.copyto, (out, outside), {})
        first, last = tuple(-min(0, lo) for lo, _ in around), tuple(max(0, hi) for _, hi in around)
        frame.call(library.swept, (AtPlace(self, []), out, shape, first, last, *args), {})
        return out

    def _tried(self, frame: Frame, args: tuple[Value, ...]) -> tuple[list[tuple[Value, ...]], str]:
        """The indices that the kernel uses and the dtype that it gives; what reading it wrote is taken back."""
        state, seen = State(frame), []  # type: ignore[var-annotated]
        with frame.builder.block():
            place = tuple(frame.builder.variable("i", Type("int64", weak=True)) for _ in range(args[0].type.rank))
            result = AtPlace(self, seen)._stgrad_call_(frame, (place, *args), {})
        state.restore()
        return seen, type_of(result).dtype

    def names(self) -> list[str]:
        """The parameters of the kernel."""
        tree = getattr(self.kernel, "tree", None)
        if tree is not None:
            return [a.id for a in tree.args.args]
        code = self.kernel.__code__
        return list(code.co_varnames[: code.co_argcount])


@dataclass(frozen=True, eq=False)
class AtPlace:
    """The kernel of a stencil at one place."""

    stencil: Stencil
    seen: list[tuple[Value, ...]]

    def _stgrad_call_(self, frame: Frame, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        place, *given = args
        plain = static_of(self.stencil.options.get("standard_indexing")) or ()
        given = [
            Relative(a, place, self.seen) if isinstance(a, Sym) and a.type.rank == len(place) and name not in plain else a
            for name, a in zip(self.stencil.names(), given, strict=True)
        ]
        return frame.call(self.stencil.kernel, tuple(given), {})


def _spanned(frame: Frame, seen: list[tuple[Value, ...]], rank: int) -> tuple[tuple[int, int], ...]:
    """The neighbourhood that constant indices span; the place itself belongs to it."""
    if not all(is_static(s) and isinstance(s, (int, np.integer)) for steps in seen for s in steps):
        raise errors.NeedStaticError("an index of a stencil is not a constant", frame.builder.loc, hint="give its `neighborhood`")
    return tuple((min(0, *(s[d] for s in seen), 0), max(0, *(s[d] for s in seen), 0)) for d in range(rank))
