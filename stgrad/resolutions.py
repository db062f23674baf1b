"""Numba's memory of what calls resolve to, as long as one program is compiled.

To resolve a call of an operation, Numba tries the templates of the operation one after the other, thirty of them for `x * y`, begins anew at each of its
rounds over the program, and once more where it lowers an operator. It remembers what fails alone. Here what was found serves every other call of the
operation that has arguments of the same types: templates of Numba's own give one answer to one question. Types that are not known yet (the items of a list
that is still empty) are asked for anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba import types


@contextmanager
def remembered() -> Iterator[None]:
    """Let operations remember what their calls resolve to, until the outermost program is compiled: helpers are on the way."""
    if "get_call_type" in vars(types.Function):
        yield
        return
    resolve, found = types.Function.get_call_type, {}

    def resolved(self: Any, context: Any, args: Any, kws: Any) -> Any:
        if not all(a.is_precise() for a in (*args, *kws.values())):
            return resolve(self, context, args, kws)
        key = self, tuple(args), tuple(sorted(kws.items()))
        if key not in found:
            signature = resolve(self, context, args, kws)
            if signature is None:
                return None
            found[key] = signature
        return found[key]

    types.Function.get_call_type = resolved
    try:
        yield
    finally:
        del types.Function.get_call_type
