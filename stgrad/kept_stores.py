"""Stores that Numba must keep where it compiles loops for threads.

Numba drops stores to an array that nothing reads afterwards, under any name that it knows of for the same memory. It does not know that what is taken
off a list may have other names, nor all names that a loop passes on; so in a reversed loop it dropped `d_bar[k] = 0.0` of an array that a second list
holds, too. In our programs each array counts as one that the caller has, which may be any other: no store is dropped or moved past a loop on threads,
and LLVM sees for itself which are dead.
"""

from __future__ import annotations

from typing import Any

from numba.core import ir
from numba.core.ir_utils import alias_analysis_extensions, is_immutable_type

GENERATED = "stgrad.generated."


def keep_stores() -> None:
    """Tell Numba of it; programs that are not ours are analysed as before."""
    alias_analysis_extensions[ir.Assign] = _seen_by_the_caller


def _seen_by_the_caller(stmt: Any, args: Any, typemap: Any, func_ir: Any, alias_map: Any, seen: Any) -> None:
    if isinstance(seen, set) and func_ir.func_id.modname.startswith(GENERATED) and not is_immutable_type(stmt.target.name, typemap):
        seen.add(stmt.target.name)
