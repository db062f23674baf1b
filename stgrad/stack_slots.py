"""Numba's lowering, with the variables of a program in memory that LLVM turns into registers in linear time.

A variable of more than one basic block is a slot of the stack. Numba zeroes each slot where the function begins, reads what it holds before a
value is stored, and zeroes it once more where the variable dies; so every field of an array seems to be in use from the beginning of the function
on, and LLVM walks all blocks for each field of each variable. That grows with the square of a program, and was most of LLVM's time for one of 1,000 lines.

Of all this only counts of references need anything, and of an array only the one field that says who owns its memory. What is stored once is promoted
without a walk, so other slots and fields are left alone until a value comes.

The text of a program says the same before and after: it never reads a variable that nothing was assigned to.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba import types
from numba.core import cgutils, lowering
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import BaseNativeLowering, NativeLowering
from numba.core.untyped_passes import ReconstructSSA

from stgrad.inner_code import InnerLibrary, simplified
from stgrad.kept_stores import keep_stores
from stgrad.renaming import Renaming
from stgrad.resolutions import remembered
from stgrad.variable_lifetimes import found_where_read

keep_stores()


class Lower(lowering.Lower):  # type: ignore[misc]
    """Numba's lowering but for the slots of variables."""

    def lower(self) -> None:
        self._counted: dict[types.Type, bool] = {}  # whether values of a type own memory
        with _filled_at_once():
            super().lower()

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Store a value; what was there is released."""
        kind = self.typeof(name)
        self._alloca_var(name, kind)
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
            return
        slot = self.getvar(name)
        if argidx is None:
            self._release(kind, slot)
        self.builder.store(value, slot)

    def delvar(self, name: str) -> None:
        """Release the value of a variable that nothing reads any more."""
        kind = self.typeof(name)
        if name in self._blk_local_varmap and not self._counts(kind):
            return
        if name not in self._blk_local_varmap:
            self._singly_assigned_vars.discard(name)  # it is deleted before it is assigned to, in an earlier block of a loop
        self._alloca_var(name, kind)
        if name in self._blk_local_varmap:
            self.decref(kind, self._blk_local_varmap[name])
            return
        slot = self.getvar(name)
        self._release(kind, slot)
        self._own_nothing(kind, slot)

    def alloca(self, name: str, type: types.Type) -> Any:  # noqa: A002  (Numba's name)
        """A slot that owns nothing yet."""
        slot = _alloca(self.builder, self.context.get_value_type(type), name=name)
        with self.builder.goto_entry_block():
            self._own_nothing(type, slot)
        return slot

    def _counts(self, kind: types.Type) -> bool:
        """Whether values of a type own memory whose references are counted."""
        if kind not in self._counted:
            self._counted[kind] = bool(self.context.enable_nrt and self.context.data_model_manager[kind].contains_nrt_meminfo())
        return self._counted[kind]

    def _owner(self, kind: types.Type, slot: Any) -> tuple[types.Type, Any]:
        """The part of a slot that says what its value owns, with its type."""
        if isinstance(kind, types.Array):
            position = self.context.data_model_manager[kind].get_field_position("meminfo")
            return types.MemInfoPointer(kind.dtype), cgutils.gep_inbounds(self.builder, slot, 0, position)
        return kind, slot

    def _release(self, kind: types.Type, slot: Any) -> None:
        if self._counts(kind):
            part, place = self._owner(kind, slot)
            self.decref(part, self.builder.load(place))

    def _own_nothing(self, kind: types.Type, slot: Any) -> None:
        if self._counts(kind):
            _, place = self._owner(kind, slot)
            self.builder.store(place.type.pointee(None), place)


def _alloca(builder: Any, kind: Any, size: Any = None, name: str = "") -> Any:
    """A slot where the function begins."""
    with builder.goto_entry_block():
        return builder.alloca(kind, size=size, name=name)


@contextmanager
def _filled_at_once() -> Iterator[None]:
    """Leave out the zeros at the beginning of a function for slots of which the place that makes them says that it fills them."""
    zeroed, with_value = cgutils.alloca_once, cgutils.alloca_once_value

    def alloca_once(builder: Any, ty: Any, size: Any = None, name: str = "", zfill: bool = False) -> Any:
        if not zfill or size is not None:
            return zeroed(builder, ty, size, name, zfill)
        slot = _alloca(builder, ty, name=name)
        builder.store(ty(None), slot)
        return slot

    def alloca_once_value(builder: Any, value: Any, name: str = "", zfill: bool = False) -> Any:
        slot = _alloca(builder, value.type, name=name)
        builder.store(value, slot)
        return slot

    cgutils.alloca_once, cgutils.alloca_once_value = alloca_once, alloca_once_value
    try:
        yield
    finally:
        cgutils.alloca_once, cgutils.alloca_once_value = zeroed, with_value


class Library(JITCodeLibrary):  # type: ignore[misc]
    """Code in which functions that are to be inlined behind the vectorisation of loops are (`runtime.rare`)."""

    def _optimize_final_module(self) -> None:
        super()._optimize_final_module()
        passes, builder = self._codegen._module_pass_manager(opt=0)
        passes.add_always_inliner_pass()
        passes.run(self._final_module, builder)


@register_pass(mutates_CFG=True, analysis_only=False)
class Lowering(BaseNativeLowering):  # type: ignore[misc]
    """The pass that lowers with `Lower`."""

    _name = "native_lowering"

    def run_pass(self, state: Any) -> bool:
        if state.library is None:
            made = InnerLibrary if state.flags.no_cpython_wrapper else Library
            state.library = made(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
        return bool(super().run_pass(state))

    @property
    def lowering_class(self) -> type[Lower]:
        return Lower


class Compiler(CompilerBase):  # type: ignore[misc]
    """Numba's compiler with this lowering, our renaming, typing and lifetimes; loops over threads, and code for debuggers, are lowered as they always are."""

    def _compile_core(self) -> Any:
        with found_where_read(), remembered(), simplified():
            return super()._compile_core()

    def define_pipelines(self) -> list[Any]:
        built = DefaultPassBuilder.define_nopython_pipeline(self.state)
        own = {ReconstructSSA: Renaming} | ({} if self.state.flags.debuginfo else {NativeLowering: Lowering})
        built.passes = [(own.get(made, made), what) for made, what in built.passes]
        built.finalize()
        return [built]
