"""Functions of NumPy as functions of PyTorch's tensors: `function`, and `Module` for those with parameters.

The derivative is stgrad's compiled one, of any order: the backward pass is itself such a function. Tensors are on the CPU; arrays share their memory with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optree
import torch

from stgrad.differentials import vjp
from stgrad.errors import NotDifferentiableError


def function(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays as one of tensors.

    Args:
        f: takes numbers, arrays, and structures of them, and returns such. Where it is given a tensor, f gets an array, or for one of rank 0 a number.

    Returns:
        A function with the parameters of f. It gives tensors for the floats and arrays of the result, and its derivatives are those of f.

    Raises:
        NotDifferentiableError: a tensor is not on the CPU, or NumPy has no such dtype.

    >>> power = function(lambda x, n: np.sum(x**n))
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> power(x, 3).backward()
    >>> x.grad
    tensor([ 3., 12.], dtype=torch.float64)
    """
    bridge = _Bridge(f)

    def of_tensors(*args: Any) -> Any:
        return bridge(*args)

    of_tensors.__name__ = getattr(f, "__name__", "function")
    of_tensors.__doc__ = getattr(f, "__doc__", None)
    return of_tensors


class Module(torch.nn.Module):
    """A module with the parameters of a function: `f(params, *inputs)`.

    `params` is a structure of numbers and arrays, such as `{"w": np.zeros((3, 2)), "b": np.zeros(3)}`: each float in it becomes a
    `torch.nn.Parameter`, named by its place (`w`, `layers_0_b`).

    >>> line = Module(lambda p, x: p["slope"] * x + p["start"], {"slope": np.ones(1), "start": np.zeros(1)})
    >>> sorted(name for name, _ in line.named_parameters())
    ['slope', 'start']
    """

    def __init__(self, f: Callable[..., Any], params: Any) -> None:
        super().__init__()
        self._call = function(f)
        paths, leaves, self._structure = optree.tree_flatten_with_path(params)
        self._places: list[str | None] = []
        self._fixed = leaves
        for path, leaf in zip(paths, leaves, strict=True):
            array = np.asarray(leaf)
            place = "_".join(map(str, path)) or "value" if array.dtype.kind in "fc" else None
            self._places.append(place)
            if place is not None:
                self.register_parameter(place, torch.nn.Parameter(torch.tensor(array)))

    def forward(self, *inputs: Any) -> Any:
        """The function at the parameters of now."""
        leaves = [known if place is None else getattr(self, place) for place, known in zip(self._places, self._fixed, strict=True)]
        return self._call(optree.tree_unflatten(self._structure, leaves), *inputs)


class _Bridge:
    """A function of arrays, called with tensors; its pullback is another one."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f = f
        self._pullback: _Bridge | None = None

    @property
    def pullback(self) -> _Bridge:
        """The cotangents of the arguments, as a function of the arguments and the cotangents of the result."""
        if self._pullback is None:
            f = self.f

            def pulled(args: Any, cotangents: Any) -> Any:
                return vjp(f, *args)[1](cotangents)

            self._pullback = _Bridge(pulled)
        return self._pullback

    def __call__(self, *args: Any) -> Any:
        leaves, structure = optree.tree_flatten(args, none_is_leaf=True)
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        if not tensors:
            return _tensors(self.f(*args))
        shape: list[Any] = []  # filled by the call: the structure of the result
        results = _Call.apply(self, leaves, structure, shape, *tensors)
        items = iter(results)
        return optree.tree_unflatten(shape[0], [next(items) if known is _TENSOR else known for known in shape[1]])


_TENSOR = object()


class _Call(torch.autograd.Function):
    """One call: keeps the pullback for the first derivative, and the tensors for further ones."""

    @staticmethod
    def forward(ctx: Any, bridge: _Bridge, leaves: list[Any], structure: Any, shape: list[Any], *tensors: torch.Tensor) -> Any:
        arrays = [_array(leaf) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        value, pullback = vjp(bridge.f, *optree.tree_unflatten(structure, arrays))
        results, known, result_structure = _tensors_of(value)
        shape += [result_structure, known]
        ctx.save_for_backward(*tensors)
        ctx.known = bridge, _marked(leaves), structure, value, pullback
        ctx.result = known, result_structure
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        bridge, leaves, structure, value, pullback = ctx.known
        known, result_structure = ctx.result
        given = iter(cotangents)
        seeds = [next(given) if leaf is _TENSOR else leaf for leaf in known]
        if torch.is_grad_enabled():  # a derivative of the derivative is asked for
            saved = iter(ctx.saved_tensors)
            args = optree.tree_unflatten(structure, [next(saved) if leaf is _TENSOR else leaf for leaf in leaves])
            found = bridge.pullback(args, optree.tree_unflatten(result_structure, seeds))
        else:
            arrays = [_array(s) if isinstance(s, torch.Tensor) else s for s in seeds]
            found = pullback(optree.tree_unflatten(result_structure, arrays))
        bars = _bars(found, optree.tree_unflatten(structure, leaves))
        gradients = [_as_tensor(bar) for bar, leaf in zip(bars, leaves, strict=True) if leaf is _TENSOR]
        return (None, None, None, None, *gradients)


def _bars(found: Any, args: Any) -> list[Any]:
    """A cotangent for each leaf of the arguments; None for what has none."""
    out: list[Any] = []
    for bar, arg in zip(found, args, strict=True):
        out += [None] * len(optree.tree_leaves(arg, none_is_leaf=True)) if bar is None else optree.tree_leaves(bar, none_is_leaf=True)
    return out


def _marked(leaves: list[Any]) -> list[Any]:
    """The leaves with marks for tensors."""
    return [_TENSOR if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]


def _tensors_of(value: Any) -> tuple[list[torch.Tensor], list[Any], Any]:
    """The floats of a result as tensors, the leaves with marks for those, and the structure."""
    leaves, structure = optree.tree_flatten(value, none_is_leaf=True)
    floats = [np.asarray(leaf).dtype.kind in "fc" for leaf in leaves]
    return (
        [torch.from_numpy(np.array(leaf)) for leaf, is_float in zip(leaves, floats, strict=True) if is_float],
        [_TENSOR if is_float else leaf for leaf, is_float in zip(leaves, floats, strict=True)],
        structure,
    )


def _tensors(value: Any) -> Any:
    """A result with tensors for its floats."""
    tensors, known, structure = _tensors_of(value)
    items = iter(tensors)
    return optree.tree_unflatten(structure, [next(items) if leaf is _TENSOR else leaf for leaf in known])


def _as_tensor(value: Any) -> Any:
    return value if value is None or isinstance(value, torch.Tensor) else torch.from_numpy(np.array(value))


def _array(tensor: torch.Tensor) -> Any:
    """The array of a tensor; a number for one of rank 0.

    Raises NotDifferentiableError for tensors that NumPy does not take.
    """
    if tensor.device.type != "cpu":
        raise NotDifferentiableError(f"a tensor is on the device {tensor.device}", reason="compiled programs run on the CPU", hint="pass x.cpu()")
    if tensor.dtype not in _DTYPES:
        raise NotDifferentiableError(f"NumPy has no numbers of the kind {tensor.dtype}", hint="pass x.double() or x.float()")
    return tensor.detach().resolve_conj().resolve_neg().numpy()[()]


_DTYPES = frozenset(getattr(torch, name) for name in "float32 float64 complex64 complex128 int8 int16 int32 int64 uint8 bool".split())

__all__ = ["Module", "function"]
