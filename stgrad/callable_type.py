"""The Numba type of a Transformed: in `numba.njit` code it is a function that compiles itself for the types of the call."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import NativeValue, models, register_model, unbox

from stgrad import errors


class TransformedType(types.WeakType, types.Callable, types.Dummy):  # type: ignore[misc]
    """One type for each object. A call resolves to the object's dispatcher for arguments of these types."""

    def __init__(self, transformed: Any) -> None:
        self._store_object(transformed)
        self._calls: dict[Any, Any] = {}
        self._alive: list[Any] = []
        super().__init__(f"stgrad({transformed.__name__} at {id(transformed):#x})")

    def get_call_type(self, context: Any, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        examples = [example(types.unliteral(t)) for t in args]
        named = {name: example(types.unliteral(t)) for name, t in kws.items()}
        dispatcher = self._get_object().dispatcher_for(tuple(examples), named, typed=True)
        resolved = types.Dispatcher(dispatcher)
        signature = resolved.get_call_type(context, args, kws)
        self._alive.append(dispatcher)  # Numba's type of it holds a weak reference
        if signature is not None:
            self._calls[signature.args] = resolved
        return signature

    def get_call_signatures(self) -> tuple[list[Any], bool]:
        return list(self._calls), True

    def get_impl_key(self, signature: Any) -> Any:
        return self._calls[signature.args].get_impl_key(signature)


register_model(TransformedType)(models.OpaqueModel)


@unbox(TransformedType)
def _unbox(typ: Any, obj: Any, c: Any) -> Any:
    return NativeValue(c.context.get_dummy_value())


def example(type_: Any) -> Any:
    """A value of a Numba type.

    >>> example(types.float64), example(types.UniTuple(types.boolean, 2))
    (1.0, (True, True))
    """
    if isinstance(type_, types.NamedTuple):
        return type_.instance_class(*map(example, type_.types))
    if isinstance(type_, types.NamedUniTuple):
        return type_.instance_class(*(example(type_.dtype) for _ in range(type_.count)))
    if isinstance(type_, types.BaseTuple):
        return tuple(map(example, type_))
    if isinstance(type_, types.Array):
        return np.ones((2,) * type_.ndim, numba.np.numpy_support.as_dtype(type_.dtype))
    simple = {types.float64: 1.0, types.int64: 0, types.boolean: True, types.complex128: 1.0 + 1.0j, types.none: None}
    if type_ in simple:
        return simple[type_]
    if isinstance(type_, types.Number):
        return numba.np.numpy_support.as_dtype(type_).type(1)
    raise errors.UnsupportedCallerError(f"compiled code cannot pass a {type_}", hint="pass numbers, arrays and tuples of them")
