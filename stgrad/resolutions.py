"""Numba's inference of types, in which each call of an operation on the same types is resolved once.

To resolve one, Numba tries the templates of the operation one after the other, thirty of them for `x * y`, and begins anew at each of its rounds over
the program. It remembers what fails alone. Here what was found serves every other call of the operation that has arguments of the same types, as long
as one program is typed: templates of Numba's own give one answer to one question. Types that are not known yet (the items of a list that is still empty)
are asked for anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba import types
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NopythonTypeInference


@register_pass(mutates_CFG=True, analysis_only=False)
class Inference(NopythonTypeInference):  # type: ignore[misc]
    """The pass of Numba, with a memory of calls."""

    _name = "nopython_type_inference"

    def run_pass(self, state: Any) -> bool:
        with remembered(state.typingctx):
            return bool(super().run_pass(state))


@contextmanager
def remembered(context: Any) -> Iterator[None]:
    """Let a typing context remember what it resolves, until the outermost program is typed: helpers are on the way."""
    if "resolve_function_type" in vars(context):
        yield
        return
    resolve, found = context.resolve_function_type, {}

    def resolved(function: Any, args: Any, kws: Any) -> Any:
        named = dict(kws)
        if type(function) is not types.Function or not all(a.is_precise() for a in (*args, *named.values())):
            return resolve(function, args, kws)
        key = function, tuple(args), tuple(sorted(named.items()))
        if key not in found:
            signature = resolve(function, args, kws)
            if signature is None:
                return None
            found[key] = signature
        return found[key]

    context.resolve_function_type = resolved
    try:
        yield
    finally:
        del context.resolve_function_type
