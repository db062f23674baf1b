"""Functions of the runtime that are compiled once a machine, and called by all programs that need them.

What Numba compiles for a program holds a copy of every function that it calls, typed, lowered and optimised anew: for a product of matrices
longer than the program itself. A shared function is compiled by itself, for fixed types, and kept on disk; a program loads its address from a
slot, which the linker of every process knows by name, so that the program can be kept on disk, too. A slot that is still empty when a
program runs (it was loaded, not compiled here) is filled by a call back into Python. Errors that the function raises arrive as always.

    @share(lambda x: Signature(types.void, (matrix(x), matrix(x), types.boolean)))
    def substitute(a, b, lower): ...
"""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import llvmlite.binding
import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.compiler_lock import global_compiler_lock
from numba.core.imputils import impl_ret_new_ref
from numba.core.typing import signature
from numba.extending import lower_builtin, type_callable

__all__ = ["DTYPES", "Shared", "announce", "call", "columns", "fill_kept", "matrix", "rows", "share", "vector"]

OPTIONS = {"error_model": "numpy", "nogil": True, "boundscheck": False}
DTYPES = (types.float64, types.float32)
FILL = "stgrad_fill_slot"
LOST = "a function of stgrad's runtime could not be compiled"

KEEPERS: list[Callable[[Any, str], None]] = []  # how native code is kept on disk: the layer above knows


def vector(dtype: Any) -> Any:
    return types.Array(dtype, 1, "A")


def matrix(dtype: Any) -> Any:
    """A matrix of any layout, so that one compilation does for all."""
    return types.Array(dtype, 2, "A")


def rows(dtype: Any) -> Any:
    """A matrix with its rows in one piece."""
    return types.Array(dtype, 2, "C")


def columns(dtype: Any) -> Any:
    """A matrix with its columns in one piece."""
    return types.Array(dtype, 2, "F")


@dataclass(eq=False)
class Shared:
    """One function for one set of types.

    Attributes:
        slot: where its address stands; empty until somebody compiles a program that needs it, or runs one.
    """

    function: Callable[..., Any]
    result: Any
    parameters: tuple[Any, ...]
    symbol: str
    slot: ctypes.c_void_p = field(default_factory=ctypes.c_void_p)
    native: Any = None  # keeps the code alive

    def fill(self) -> None:
        """Compile the function, or load its code from disk."""
        with global_compiler_lock:  # one lock for all who compile: programs ask for shared functions while they hold it
            if self.slot.value is None:
                dispatcher = numba.njit(**OPTIONS)(self.function)
                for keeper in KEEPERS:
                    keeper(dispatcher, self.symbol)
                dispatcher.compile(signature(self.result, *self.parameters))
                (compiled,) = dispatcher.overloads.values()
                self.native = compiled
                self.slot.value = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)


_known: dict[tuple[Callable[..., Any], tuple[Any, ...]], Shared] = {}
_slots: dict[int, Shared] = {}  # by the address of the slot


def announce(function: Callable[..., Any], result: Any, parameters: Sequence[Any]) -> Shared:
    """Give a function and its types a slot that every process knows; nothing is compiled."""
    kinds = "_".join(str(getattr(t, "dtype", t)) for t in parameters[:1])
    symbol = f"stgrad_shared_{function.__module__.rpartition('.')[2]}_{function.__name__}_{kinds}"
    shared = Shared(function, result, tuple(parameters), symbol)
    _known[function, shared.parameters] = shared
    _slots[ctypes.addressof(shared.slot)] = shared
    llvmlite.binding.add_symbol(symbol, ctypes.addressof(shared.slot))
    return shared


def fill_kept(kept: Callable[[str], bool]) -> None:
    """Fill the slots of all functions whose code is `kept` on disk: threads of a program that was kept, too, must not wait for Python."""
    for shared in list(_slots.values()):
        if shared.slot.value is None and kept(shared.symbol):
            shared.fill()


def _fill(address: int) -> None:
    _slots[address].fill()


_callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_fill)
llvmlite.binding.add_symbol(FILL, ctypes.cast(_callback, ctypes.c_void_p).value)


def call(context: Any, builder: Any, function: Callable[..., Any], parameters: Sequence[Any], args: Sequence[Any]) -> Any:
    """Write the call of a shared function into a program; None where it is not shared for these types."""
    shared = _known.get((function, tuple(parameters)))
    if shared is None:
        return None
    shared.fill()
    pointer = ir.IntType(8).as_pointer()
    module = builder.module
    slot = module.globals.get(shared.symbol) or ir.GlobalVariable(module, pointer, shared.symbol)
    code = builder.load(slot)
    with builder.if_then(cgutils.is_null(builder, code), likely=False):
        fill = cgutils.get_or_insert_function(module, ir.FunctionType(ir.VoidType(), [pointer]), FILL)
        builder.call(fill, [builder.bitcast(slot, pointer)])
        with builder.if_then(cgutils.is_null(builder, builder.load(slot)), likely=False):
            context.call_conv.return_user_exc(builder, RuntimeError, (LOST,))
    kind = context.call_conv.get_function_type(shared.result, shared.parameters)
    target = builder.bitcast(builder.load(slot), kind.as_pointer())
    status, result = context.call_conv.call_function(builder, target, shared.result, shared.parameters, args)
    with cgutils.if_unlikely(builder, status.is_error):
        context.call_conv.return_status_propagate(builder, status)
    return context.get_dummy_value() if shared.result is types.none else impl_ret_new_ref(context, builder, shared.result, result)


Form = Callable[[Any], tuple[Any, ...]]


def share(form: Form, dtypes: Sequence[Any] = DTYPES) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a function by itself wherever compiled code calls it.

    Args:
        form: of an element type, the type of the result and those of the parameters, the first of them an array.
        dtypes: the element types.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        known = {dtype: announce(function, form(dtype)[0], form(dtype)[1:]) for dtype in dtypes}

        def entry(*args: Any) -> Any:
            return function(*args)

        entry.__name__, entry.__doc__ = function.__name__, function.__doc__

        @type_callable(entry)
        def typed(context: Any) -> Any:
            def of(*args: Any) -> Any:
                shared = known.get(getattr(args[0], "dtype", None)) if args else None
                return shared.result if shared is not None and _fits(args, shared.parameters) else None

            of.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]  # Numba folds the arguments by it
            return of

        @lower_builtin(entry, types.VarArg(types.Any))
        def lowered(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            shared = known[sig.args[0].dtype]
            given = [_as(context, builder, v, t, p) for v, t, p in zip(args, sig.args, shared.parameters, strict=True)]
            return call(context, builder, function, shared.parameters, given)

        return entry

    return decorate


def _fits(args: Sequence[Any], parameters: Sequence[Any]) -> bool:
    if len(args) != len(parameters):
        return False
    pairs = ((a, p) for a, p in zip(args, parameters, strict=True) if isinstance(p, types.Array))
    return all(isinstance(a, types.Array) and (a.dtype, a.ndim) == (p.dtype, p.ndim) and p.layout in ("A", a.layout) for a, p in pairs)


def _as(context: Any, builder: Any, value: Any, given: Any, wanted: Any) -> Any:
    """An argument as the function takes it; arrays look the same whatever their layout."""
    return value if isinstance(wanted, types.Array) else context.cast(builder, value, given, wanted)
