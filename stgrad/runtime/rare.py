"""A rare case of an elementwise function, apart from its common one, in a loop that still vectorises.

A branch in the body of a loop, or a call, keeps LLVM from vectorising it. What it does take is a call of a function that comes
with versions for whole vectors. So `mended` emits a call of `stgrad.<name>.rare(x, y)`, which returns y, the common result,
unless x is rare, and defines that function for 1, 2, 4, 8 and 16 lanes. The wide ones test all lanes at once and almost never
branch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils

from stgrad.runtime.lanes import F64, Real, Truth

LANES = (2, 4, 8, 16)


def mended(x: Real, y: Real, library: str, is_rare: Callable[[Real], Truth]) -> Real:
    """y, or the C library's function of x where `is_rare` holds for x."""
    module = x.b.module
    name = f"stgrad.{library}.rare"
    if name not in module.globals:
        for lanes in (1, *LANES):
            _define(module, name, lanes, library, is_rare)
    call = x.b.call(module.globals[name], [x.v, y.v])
    versions = ",".join(f"_ZGV_LLVM_N{lanes}vv_{name}({name}.{lanes})" for lanes in LANES)
    set.add(call.attributes, f'"vector-function-abi-variant"="{versions}"')  # llvmlite knows no attributes with values
    return Real(x.b, call)


def _define(module: Any, name: str, lanes: int, library: str, is_rare: Callable[[Real], Truth]) -> None:
    kind = F64 if lanes == 1 else ir.VectorType(F64, lanes)
    function = ir.Function(module, ir.FunctionType(kind, [kind, kind]), name if lanes == 1 else f"{name}.{lanes}")
    function.linkage = "weak_odr"  # kept though nothing calls it before vectorisation
    for attribute in ("noinline", "nounwind", "readnone"):
        function.attributes.add(attribute)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    rare_block, common_block = function.append_basic_block("rare"), function.append_basic_block("common")
    x, y = function.args
    flags = [is_rare(Real(builder, _lane(builder, x, i, lanes))).v for i in range(lanes)]
    any_rare = flags[0]
    for flag in flags[1:]:
        any_rare = builder.or_(any_rare, flag)
    builder.cbranch(any_rare, rare_block, common_block)
    builder.position_at_end(common_block)
    builder.ret(y)
    builder.position_at_end(rare_block)
    exact = cgutils.get_or_insert_function(module, ir.FunctionType(F64, [F64]), library)
    for i in range(lanes):
        lane = builder.select(flags[i], builder.call(exact, [_lane(builder, x, i, lanes)]), _lane(builder, y, i, lanes))
        y = lane if lanes == 1 else builder.insert_element(y, lane, ir.Constant(ir.IntType(32), i))
    builder.ret(y)


def _lane(builder: Any, vector: Any, i: int, lanes: int) -> Any:
    return vector if lanes == 1 else builder.extract_element(vector, ir.Constant(ir.IntType(32), i))
