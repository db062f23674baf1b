"""Calls of any Python function from compiled code: for what Numba lacks.

    y = runtime.call_python("lambda a, b: np.einsum('ij,ij->i', a, b)", "float64[:]", a, b)

The text is the whole call: everything static (axes, flags, subscripts) stands in it, scalars and arrays are handed over. It
sees `np`, `math`, `scipy` and this `runtime`. The second text says what comes back:

    "float64"                      a scalar of this dtype ("int64", "bool", "complex128", "float32"...)
    "float64[:]"  "bool[:, :]"     a C-contiguous array; "float64[()]" one of rank 0
    "(float64[:, :], float64[:])"  a tuple of these
    "None"                         nothing: the call is made for its effect (`np.add.at`)

Both texts are literals. An array that comes back never shares memory with an argument. Exceptions pass through the compiled code as
they are. The call takes the GIL, and 1 to 2 us; the compiled code can be cached on disk, which Numba's `objmode` cannot.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import RequireLiteralValue
from numba.extending import intrinsic, overload
from numba.np.numpy_support import from_dtype

COMPLEX_RESULT = "the result is complex for these real arguments"  # how the message begins: the derivative is recorded then
_ARRAY = re.compile(r"(\w+)\[(.*)\]")


def call_python(text: str, result: str, *args: Any) -> Any:
    """Evaluate the function `text` and call it with `args`; `result` describes what it returns (see the module)."""
    return prepared(text, result)(*args)


@cache
def prepared(text: str, result: str) -> Callable[..., Any]:
    """The function of a text, with its result brought to the form that is described."""
    function = _evaluate(text)
    bring = _bringer(result)

    def call(*args: Any) -> Any:
        return bring(function(*args), args)

    return call


def _evaluate(text: str) -> Callable[..., Any]:
    # In a module of `stgrad.build` the functions of the runtime stand beside this one.
    namespace: dict[str, Any] = {**globals(), "np": np, "math": math, "runtime": sys.modules.get("stgrad.runtime")}
    for module in re.findall(r"\bscipy(?:\.[a-z]\w*)?(?=\.)", text):
        namespace["scipy"] = __import__(module)
    function: Callable[..., Any] = eval(text, namespace)
    return function


def _parts(result: str) -> list[str] | None:
    """The items of a tuple's description; None for that of a scalar or array."""
    if not result.startswith("("):
        return None
    return re.findall(r"\w+(?:\[[^\]]*\])?", result)


def _rank(axes: str) -> int:
    return axes.count(":")


def _bringer(result: str) -> Callable[[Any, tuple[Any, ...]], Any]:
    parts = _parts(result)
    if parts is not None:
        inner = [_bringer(part) for part in parts]
        return lambda value, args: tuple([bring(item, args) for bring, item in zip(inner, value, strict=True)])
    if result == "None":
        return lambda value, args: None
    array = _ARRAY.fullmatch(result)
    if array is not None:
        dtype, rank = np.dtype(array[1]), _rank(array[2])
        return lambda value, args: _as_array(value, args, dtype, rank)
    scalar = int if result == "int64" else np.dtype(result).type  # some functions of `math` want Python's integers
    return lambda value, args: scalar(value)


def _as_array(value: Any, args: tuple[Any, ...], dtype: np.dtype[Any], rank: int) -> Any:
    """A C-contiguous, writeable array of its own."""
    value = np.asarray(value)
    if value.dtype.kind == "c" and dtype.kind != "c":
        raise ValueError(f"{COMPLEX_RESULT}: pass them as complex arrays, x.astype(complex)")
    if value.ndim != rank:
        raise TypeError(f"expected an array of rank {rank}, got one of shape {value.shape}")
    flags = value.flags
    fresh = flags.owndata or not any(isinstance(arg, np.ndarray) and np.may_share_memory(arg, value) for arg in args)
    if fresh and value.dtype == dtype and flags.c_contiguous and flags.writeable and flags.aligned and not any(value is a for a in args):
        return value
    return np.array(value, dtype, order="C")


# --------------------------------------------------------------------------- in compiled code


def numba_type(result: str) -> Any:
    """The Numba type of what a description says.

    >>> numba_type("(float64[:, :], int64)")
    Tuple((Array(float64, 2, 'C', False, aligned=True), int64))
    """
    parts = _parts(result)
    if parts is not None:
        return types.Tuple([numba_type(part) for part in parts])
    if result == "None":
        return types.none
    array = _ARRAY.fullmatch(result)
    if array is not None:
        return types.Array(from_dtype(np.dtype(array[1])), _rank(array[2]), "C")
    return from_dtype(np.dtype(result))


@overload(call_python, prefer_literal=True, strict=False)
def _call_python_overload(text: Any, result: Any, *args: Any) -> Any:
    if not (isinstance(text, types.StringLiteral) and isinstance(result, types.StringLiteral)):
        raise RequireLiteralValue("call_python: the function and its result are described by literal strings")
    return lambda text, result, *args: _call_prepared(text, result, args)


@intrinsic(prefer_literal=True)
def _call_prepared(typingctx: Any, text: Any, result: Any, args: Any) -> Any:
    """Box the arguments, call, unbox the result."""
    returned = numba_type(result.literal_value)

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        api = context.get_python_api(builder)
        gil = api.gil_ensure()
        env = context.get_env_manager(builder)
        function = _function(context, builder, api, text.literal_value, result.literal_value)
        native = cgutils.alloca_once_value(builder, context.get_constant_null(returned))
        failed = cgutils.alloca_once_value(builder, cgutils.true_bit)
        with builder.if_then(cgutils.is_not_null(builder, function), likely=True):
            answer = _call(context, builder, api, env, function, signature.args[2], values[2])
            with builder.if_then(cgutils.is_not_null(builder, answer), likely=True):
                unboxed = api.to_native_value(returned, answer)
                builder.store(unboxed.value, native)
                builder.store(unboxed.is_error, failed)
                if unboxed.cleanup is not None:
                    unboxed.cleanup()
                api.decref(answer)
        api.gil_release(gil)
        with builder.if_then(builder.load(failed), likely=False):
            context.call_conv.return_exc(builder)  # the Python exception that is set
        return builder.load(native)

    return returned(types.literal(text.literal_value), types.literal(result.literal_value), args), codegen


def _function(context: Any, builder: Any, api: Any, text: str, result: str) -> Any:
    """The prepared function, looked up at the first call and kept in a variable of the native module (under the GIL)."""
    pointer = ir.GlobalVariable(builder.module, api.pyobj, builder.module.get_unique_name("stgrad.prepared"))
    pointer.linkage = "internal"
    pointer.initializer = ir.Constant(api.pyobj, None)
    with builder.if_then(cgutils.is_null(builder, builder.load(pointer)), likely=False):
        module = api.import_module(context.insert_const_string(builder.module, __name__))
        with builder.if_then(cgutils.is_not_null(builder, module), likely=True):
            prepare = api.object_getattr_string(module, "prepared")
            strings = [api.string_from_string(context.insert_const_string(builder.module, s)) for s in (text, result)]
            builder.store(api.call_function_objargs(prepare, strings), pointer)
            for used in (module, prepare, *strings):
                api.decref(used)
    return builder.load(pointer)


def _call(context: Any, builder: Any, api: Any, env: Any, function: Any, types_: Any, values: Any) -> Any:
    boxed = []
    for i, kind in enumerate(types_):
        value = builder.extract_value(values, i)
        if context.enable_nrt:
            context.nrt.incref(builder, kind, value)  # boxing takes a reference over
        boxed.append(api.from_native_value(kind, value, env))
    answer = api.call_function_objargs(function, boxed)
    for used in boxed:
        api.decref(used)
    return answer
