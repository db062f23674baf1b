"""A growable stack of scalars, for loops whose trip count is not known before they run.

In plain Python it is a list. In compiled code it is one block of memory that doubles when it is full: `push` is a compare and a store. The
block belongs to Numba's run-time, which frees it with the last reference. Layout: top, capacity, items.

A loop whose trips are counted before it pushes a `span`, an array of as many items that lies on the stack, and fills it. It is valid until
the next span or push.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir as llvm
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, models, register_model, type_callable
from numba.np.arrayobj import make_array, populate_array

from stgrad.runtime.memory import WATCHES

__all__ = ["new_stack", "pop", "push", "span", "unspan"]

FIRST = 64  # items of a new block
HEADER = 16  # bytes
MOST = 1 << 40  # items of a span


def new_stack(like: Any) -> list[Any]:
    """An empty stack for values of the type of `like`."""
    return []


def push(stack: list[Any], value: Any) -> None:
    """Put a value on top."""
    stack.append(value)


def pop(stack: list[Any]) -> Any:
    """Take the value on top."""
    return stack.pop()


def span(stack: Any, count: int) -> np.ndarray[Any, Any]:
    """So many new items on top, to be filled; none where the count is negative."""
    stack.append(np.empty(max(count, 0), object))  # in plain Python items stay what they are
    return stack[-1]  # type: ignore[no-any-return]


def unspan(stack: Any, count: int) -> np.ndarray[Any, Any]:
    """The items of the span on top, which are taken off."""
    return stack.pop()  # type: ignore[no-any-return]


class StackType(types.Type):
    """A stack of `dtype`s in compiled code."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"stgrad.Stack({dtype})")


@register_model(StackType)
class _StackModel(models.StructModel):
    def __init__(self, manager: Any, fe_type: Any) -> None:
        super().__init__(manager, fe_type, [("meminfo", types.MemInfoPointer(types.voidptr))])


@type_callable(new_stack)
def _type_new(context: Any) -> Any:
    return lambda like: StackType(types.unliteral(like))


@type_callable(push)
def _type_push(context: Any) -> Any:
    from numba.core.typing import signature

    return lambda stack, value: signature(types.none, stack, stack.dtype) if isinstance(stack, StackType) else None


@type_callable(pop)
def _type_pop(context: Any) -> Any:
    return lambda stack: stack.dtype if isinstance(stack, StackType) else None


@type_callable(span)
@type_callable(unspan)
def _type_span(context: Any) -> Any:
    return lambda stack, count: types.Array(stack.dtype, 1, "C") if isinstance(stack, StackType) and isinstance(count, types.Integer) else None


class _Block:
    """The memory of one stack, while code for it is built."""

    def __init__(self, context: Any, builder: Any, type_: Any, value: Any) -> None:
        self.context, self.builder, self.type = context, builder, type_
        self.meminfo = cgutils.create_struct_proxy(type_)(context, builder, value).meminfo
        self.size = context.get_abi_sizeof(context.get_data_type(type_.dtype))

    def field(self, position: int) -> Any:
        """Pointer to the top (0) or the capacity (1)."""
        words = self.builder.bitcast(self.context.nrt.meminfo_data(self.builder, self.meminfo), llvm.IntType(64).as_pointer())
        return self.builder.gep(words, [cgutils.intp_t(position)])

    def item(self, position: Any) -> Any:
        data = self.builder.bitcast(self.context.nrt.meminfo_data(self.builder, self.meminfo), llvm.IntType(8).as_pointer())
        items = self.builder.bitcast(
            self.builder.gep(data, [cgutils.intp_t(HEADER)]), self.context.get_data_type(self.type.dtype).as_pointer()
        )
        return self.builder.gep(items, [position])

    def bytes(self, capacity: Any) -> Any:
        return self.builder.add(self.builder.mul(capacity, cgutils.intp_t(self.size)), cgutils.intp_t(HEADER))

    def grow(self, capacity: Any, larger: Any) -> None:
        for watch in WATCHES:
            watch.lower_ask(self.context, self.builder, self.bytes(self.builder.sub(larger, capacity)))
        self.context.nrt.meminfo_varsize_realloc(self.builder, self.meminfo, self.bytes(larger))
        self.builder.store(larger, self.field(1))

    def items(self, array_type: Any, first: Any, count: Any) -> Any:
        """Items as an array, which holds on to the memory."""
        array, size = make_array(array_type)(self.context, self.builder), cgutils.intp_t(self.size)
        populate_array(array, data=self.item(first), shape=[count], strides=[size], itemsize=size, meminfo=self.meminfo)
        self.context.nrt.incref(self.builder, array_type, array._getvalue())
        return array._getvalue()


@lower_builtin(new_stack, types.Any)
def _lower_new(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    type_ = signature.return_type
    size = context.get_abi_sizeof(context.get_data_type(type_.dtype))
    made = cgutils.create_struct_proxy(type_)(context, builder)
    made.meminfo = context.nrt.meminfo_new_varsize(builder, cgutils.intp_t(HEADER + FIRST * size))
    block = _Block(context, builder, type_, made._getvalue())
    builder.store(cgutils.intp_t(0), block.field(0))
    builder.store(cgutils.intp_t(FIRST), block.field(1))
    return made._getvalue()


@lower_builtin(push, StackType, types.Any)
def _lower_push(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    block = _Block(context, builder, signature.args[0], args[0])
    top, capacity = builder.load(block.field(0)), builder.load(block.field(1))
    with builder.if_then(builder.icmp_signed("==", top, capacity), likely=False):
        block.grow(capacity, builder.mul(capacity, cgutils.intp_t(2)))
    context.pack_value(builder, signature.args[1], args[1], block.item(top))
    builder.store(builder.add(top, cgutils.intp_t(1)), block.field(0))
    return context.get_dummy_value()


@lower_builtin(pop, StackType)
def _lower_pop(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    block = _Block(context, builder, signature.args[0], args[0])
    top = builder.sub(builder.load(block.field(0)), cgutils.intp_t(1))
    builder.store(top, block.field(0))
    return context.unpack_value(builder, signature.return_type, block.item(top))


def _count(context: Any, builder: Any, type_: Any, value: Any) -> Any:
    """A number of items."""
    count = context.cast(builder, value, type_, types.intp)
    return builder.select(builder.icmp_signed("<", count, cgutils.intp_t(0)), cgutils.intp_t(0), count)


@lower_builtin(span, StackType, types.Integer)
def _lower_span(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    block, count = _Block(context, builder, signature.args[0], args[0]), _count(context, builder, signature.args[1], args[1])
    top, capacity = builder.load(block.field(0)), builder.load(block.field(1))
    with builder.if_then(builder.icmp_signed(">", count, cgutils.intp_t(MOST)), likely=False):  # their bytes may be no 64-bit number
        context.call_conv.return_user_exc(builder, MemoryError, (f"{MOST} numbers and more are to be kept for the sweep back",))
    end = builder.add(top, count)
    with builder.if_then(builder.icmp_signed(">", end, capacity), likely=False):
        block.grow(capacity, builder.add(end, capacity))
    builder.store(end, block.field(0))
    return block.items(signature.return_type, top, count)


@lower_builtin(unspan, StackType, types.Integer)
def _lower_unspan(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    block, count = _Block(context, builder, signature.args[0], args[0]), _count(context, builder, signature.args[1], args[1])
    top = builder.sub(builder.load(block.field(0)), count)
    builder.store(top, block.field(0))
    return block.items(signature.return_type, top, count)
