"""A rare case of an elementwise function, apart from its common one, in a loop that still vectorises.

A branch in the body of a loop, or a call, keeps LLVM from vectorising it. What it does take is a call of a function that comes
with versions for whole vectors. So `mended` emits a call of `stgrad.<name>.rare(x, y)`, which returns y, the common result,
unless x is rare, and defines that function for 1, 2, 4, 8 and 16 lanes. Each tests all its lanes at once, and goes on to
`stgrad.<name>.slow` where one is rare. Behind the vectorisation, the versions for vectors are put in their place (`stack_slots.Library`).

The calls are those of C. Conventions that leave more registers to the caller (intel_ocl_bicc) also let the callee have the frame
pointer, and LLVM then reads variables from the wrong places of a frame that it aligns for vectors (llvm/llvm-project#114941).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils

from stgrad.runtime.lanes import F64, I64, Real

LANES = (2, 4, 8, 16)


def mended(x: Real, y: Real, library: str, limit: float) -> Real:
    """y, or the C library's function of x where |x| is `limit` or more."""
    module = x.b.module
    name = f"stgrad.{library}.rare"
    if name not in module.globals:
        exact = cgutils.get_or_insert_function(module, ir.FunctionType(F64, [F64]), library)
        for lanes in (1, *LANES):
            _define_test(module, name, lanes, limit, _define_slow(module, f"stgrad.{library}.slow", lanes, exact, limit))
    call = x.b.call(module.globals[name], [x.v, y.v])
    versions = ",".join(f"_ZGV_LLVM_N{lanes}vv_{name}({name}.{lanes})" for lanes in LANES)
    set.add(call.attributes, f'"vector-function-abi-variant"="{versions}"')  # llvmlite knows no attributes with values
    return Real(x.b, call)


def _define_test(module: Any, name: str, lanes: int, limit: float, slow: Any) -> None:
    """`y`, or what the slow function makes of it where a lane of `x` is rare."""
    function, builder = _function(module, name, lanes, inline=lanes > 1)
    function.linkage = "weak_odr"  # kept though nothing calls it before vectorisation
    function.attributes.add("readnone")
    x, y = function.args
    rare = _is_rare(builder, x, lanes, limit)
    if lanes > 1:
        rare = builder.icmp_unsigned("!=", builder.bitcast(rare, ir.IntType(lanes)), ir.Constant(ir.IntType(lanes), 0))
    with builder.if_then(rare, likely=False):
        builder.ret(builder.call(slow, [x, y], tail=True))
    builder.ret(y)


def _define_slow(module: Any, name: str, lanes: int, exact: Any, limit: float) -> Any:
    """`y` with the C library's value in the lanes where `x` is rare."""
    function, builder = _function(module, name, lanes, inline=False)
    function.linkage = "linkonce_odr"
    x, y = function.args
    if lanes == 1:
        builder.ret(builder.call(exact, [x]))
        return function
    result = cgutils.alloca_once_value(builder, y)
    rare = _is_rare(builder, x, lanes, limit)
    with cgutils.for_range(builder, ir.Constant(I64, lanes)) as loop, builder.if_then(builder.extract_element(rare, loop.index)):
        value = builder.call(exact, [builder.extract_element(x, loop.index)])
        builder.store(builder.insert_element(builder.load(result), value, loop.index), result)
    builder.ret(builder.load(result))
    return function


def _function(module: Any, name: str, lanes: int, *, inline: bool) -> tuple[Any, Any]:
    kind = _vector(F64, lanes)
    function = ir.Function(module, ir.FunctionType(kind, [kind, kind]), name if lanes == 1 else f"{name}.{lanes}")
    for attribute in ("nounwind", "alwaysinline" if inline else "noinline"):
        function.attributes.add(attribute)
    return function, ir.IRBuilder(function.append_basic_block("entry"))


def _vector(kind: Any, lanes: int) -> Any:
    return kind if lanes == 1 else ir.VectorType(kind, lanes)


def _is_rare(builder: Any, x: Any, lanes: int, limit: float) -> Any:
    """Whether |x| >= limit, for each lane."""
    repeat = (lambda v: v) if lanes == 1 else (lambda v: [v] * lanes)
    bits, reals = _vector(I64, lanes), _vector(F64, lanes)
    size = builder.and_(builder.bitcast(x, bits), ir.Constant(bits, repeat(0x7FFFFFFFFFFFFFFF)))
    return builder.fcmp_ordered(">=", builder.bitcast(size, reals), ir.Constant(reals, repeat(limit)))
