"""Functions of NumPy in PyTensor's graphs, and so in PyMC's models: `function`, an Op with gradients.

The function and its pullback are stgrad's compiled ones, which PyTensor's Numba backend calls without Python; the pullback is an Op of the same kind, so
that gradients of gradients are there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch import numba_funcify
from pytensor.link.numba.dispatch.basic import generate_fallback_impl, numba_njit

from stgrad.api import jit
from stgrad.differentials import vjp
from stgrad.errors import ShapeError, StgradError


def function(f: Callable[..., Any], result: Any = None) -> Callable[..., Any]:
    """A function of numbers and arrays as one of PyTensor's variables.

    Args:
        f: takes numbers and arrays, and returns a number, an array, or a tuple of them. Python ints, bools and strings are compiled in.
        result: an example of what f returns. Without it f is run once, at ones, 3 long along axes whose extents PyTensor does not know.

    Returns:
        A function with the parameters of f, which gives a variable, or a tuple of them.

    Raises:
        ShapeError: f does not run at ones; give `result`.

    >>> energy = function(lambda x: np.sum(x**4))
    >>> x = pt.vector("x", dtype="float64")
    >>> pt.grad(energy(x), x).eval({x: [1.0, 2.0]}, mode="FAST_COMPILE")
    array([ 4., 32.])
    """

    def of_variables(*args: Any) -> Any:
        moving = [isinstance(a, (Variable, float, np.ndarray, np.generic)) for a in args]
        operands = [pt.as_tensor_variable(a) for a, moves in zip(args, moving, strict=True) if moves]
        places = tuple(sum(moving[:i]) if moves else -1 for i, moves in enumerate(moving))
        fixed = tuple(None if moves else a for a, moves in zip(args, moving, strict=True))

        def of_operands(values: Any) -> Any:
            return f(*[values[place] if place >= 0 else fixed[i] for i, place in enumerate(places)])

        example = _example(of_operands, operands) if result is None else result
        several = isinstance(example, tuple)
        types = [_type(leaf) for leaf in (example if several else (example,))]
        found = FunctionOp(of_operands, types, several)(*operands, return_list=True)
        return tuple(found) if several else found[0]

    of_variables.__name__ = getattr(f, "__name__", "function")
    of_variables.__doc__ = getattr(f, "__doc__", None)
    return of_variables


class FunctionOp(Op):  # type: ignore[misc]
    """A compiled function of tensors; its pullback is another one."""

    def __init__(self, f: Callable[[Any], Any], types: list[Any], several: bool) -> None:
        self._f, self._types, self.several = f, types, several
        self.compiled: Any = jit(f)

    def make_node(self, *inputs: Any) -> Any:
        """A node with outputs of the types that are known."""
        return Apply(self, [pt.as_tensor_variable(x) for x in inputs], [t() for t in self._types])

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        """The function at numbers."""
        value = self.compiled(tuple(np.asarray(x)[()] for x in inputs))
        for storage, t, leaf in zip(output_storage, self._types, value if self.several else (value,), strict=True):
            storage[0] = np.asarray(leaf, dtype=t.dtype)

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        """The cotangents of the inputs, as a graph; integers have none."""
        floats = tuple(i for i, x in enumerate(inputs) if _is_float(x))
        given = [pt.zeros_like(y) if isinstance(c.type, DisconnectedType) else c for c, y in zip(cotangents, outputs, strict=True)]
        f, count, several = self._f, len(inputs), self.several

        def pulled(values: Any) -> Any:
            bars = vjp(f, values[:count])[1](values[count:] if several else values[count])[0]
            return tuple([bars[i] for i in floats])  # noqa: C409  (the compiler reads comprehensions of lists)

        op = FunctionOp(pulled, [_type_of(inputs[i]) for i in floats], True)
        found = iter(op(*inputs, *given, return_list=True) if floats else ())
        return [next(found) if i in floats else disconnected_type() for i in range(count)]

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """Integers are not connected to the outputs."""
        return [[_is_float(x)] * len(node.outputs) for x in node.inputs]


if not hasattr(Op, "pullback"):  # PyTensor 2
    FunctionOp.L_op = FunctionOp.pullback  # type: ignore[attr-defined]


def _is_float(x: Any) -> bool:
    return bool(x.type.dtype.startswith(("float", "complex")))


@numba_funcify.register(FunctionOp)
def _native(op: FunctionOp, node: Any, **options: Any) -> Any:
    """What PyTensor's Numba backend calls: the compiled program itself, with numbers for arrays without axes; through Python where it takes no such call."""
    ones = tuple(np.ones([3 if n is None else n for n in x.type.shape], x.type.dtype)[()] for x in node.inputs)
    try:
        op.compiled.dispatcher_for((ones,), {}, typed=True)
    except StgradError:
        return generate_fallback_impl(op, node, **options)
    names = [f"x{i}" for i in range(len(node.inputs))]
    given = "".join(f"{name}, " if x.type.ndim else f"{name}[()], " for name, x in zip(names, node.inputs, strict=True))
    result = ", ".join(f"asarray(y[{i}])" for i in range(len(node.outputs))) if op.several else "asarray(y)"
    space: dict[str, Any] = {"compiled": op.compiled, "asarray": np.asarray}
    exec(f"def native({', '.join(names)}):\n    y = compiled(({given}))\n    return {result}\n", space)  # noqa: S102  (Numba has no calls with *args of mixed ranks)
    return numba_njit(space["native"])


def _example(f: Callable[[Any], Any], operands: list[Any]) -> Any:
    ones = [np.ones([3 if n is None else n for n in x.type.shape], x.type.dtype)[()] for x in operands]
    try:
        return f(tuple(ones))
    except (ValueError, IndexError) as problem:
        shapes = ", ".join(str(np.shape(x)) for x in ones)
        raise ShapeError(f"the function does not run at ones of shapes {shapes}: {problem}", hint="give an example of what it returns: `result=`") from problem


def _type(leaf: Any) -> Any:
    array = np.asarray(leaf)
    return pt.TensorType(array.dtype, shape=(None,) * array.ndim)


def _type_of(x: Any) -> Any:
    return pt.TensorType(x.type.dtype, shape=x.type.shape)


__all__ = ["FunctionOp", "function"]
