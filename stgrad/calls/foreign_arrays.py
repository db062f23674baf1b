"""Arrays of other packages as arguments: refused by name, with what to write instead.

Contract: tensors, masked arrays and matrices mean something else by `+` and `*` than arrays, or carry a derivative of their own, and are refused
wherever they stand. Objects with labels (pandas, xarray) go by labels where arrays go by position; where they are differentiated, gradients take them
as far as that is the same (`stgrad.calls.labelled`), and all else refuses them. They may be read elsewhere (`table["x"].to_numpy()` in a function).
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.calls.numba_objects import numba_type, plain
from stgrad.contents import is_array_of_own_class
from stgrad.values import closed, leaves, map_leaves, opened

DEEPEST = 100  # lists and dicts in each other
_LABELS = "it goes by its labels, compiled programs by position"
_LABELLED = {
    ("pandas", "Series"): ("{0}.to_numpy()", _LABELS),
    ("pandas", "DataFrame"): ("{0}.to_numpy()", _LABELS),
    ("xarray", "DataArray"): ("{0}.to_numpy()", _LABELS),
    ("xarray", "Dataset"): ("{0}['name'].to_numpy()", _LABELS),
    ("polars", "Series"): ("{0}.to_numpy()", _LABELS),
    ("polars", "DataFrame"): ("{0}.to_numpy()", _LABELS),
}
_BY_POSITION = {("pandas", "Series"), ("pandas", "DataFrame"), ("xarray", "DataArray")}
_ARRAYS = {
    ("torch", "Tensor"): ("{0}.detach().numpy(), or wrap the function: stgrad.interop.torch.function(f)", "it belongs to PyTorch's own derivatives"),
    ("jaxlib", "ArrayImpl"): ("np.asarray({0}), or wrap the function: stgrad.interop.jax.function(f)", "it belongs to JAX's own derivatives"),
    ("jax", "Tracer"): ("wrap the function: stgrad.interop.jax.function(f)", "JAX has no numbers in it yet"),
    ("tensorflow", "Tensor"): ("{0}.numpy()", "it belongs to TensorFlow's own derivatives"),
    ("cupy", "ndarray"): ("{0}.get()", "compiled programs run on the CPU"),
    ("numpy", "matrix"): ("np.asarray({0})", "`*` of matrices is a product of matrices"),
    ("numpy", "MaskedArray"): ("{0}.filled(0.0) and the mask as an array of its own", "a compiled program knows nothing of the mask"),
}


def refuse_foreign(signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any], wrt: Collection[str]) -> None:
    """Raise NotDifferentiableError where an argument is, or holds, an array of another package that programs do not take."""
    for name, value in [*zip(signature.parameters, args, strict=False), *kwargs.items()]:
        for leaf in leaves(value):
            known = None if type(leaf).__module__ == "builtins" else _known(type(leaf), name in wrt)
            if known is not None:
                hint, reason = known
                what = f"{type(leaf).__module__.partition('.')[0]} {type(leaf).__name__}"
                verb = "is" if leaf is value else "is or holds"
                raise errors.NotDifferentiableError(f"`{name}` {verb} a {what}", reason=reason, hint="pass " + hint.format(name))


def refuse_endless(signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Raise NotDifferentiableError where an argument is a list or dict that holds itself, or of which too many stand in each other."""
    for name, value in [*zip(signature.parameters, args, strict=False), *kwargs.items()]:
        todo = [(value, 0)]
        while todo:
            inner, depth = todo.pop()
            if depth > DEEPEST:
                raise errors.NotDifferentiableError(
                    f"`{name}` holds itself, or more than {DEEPEST} lists or dicts in each other",
                    reason="a program has a variable for each number of its arguments",
                    hint="pass the numbers as an array",
                )
            if isinstance(inner, (list, tuple, dict)):
                items = list(inner.values()) if isinstance(inner, dict) else list(inner)
                todo += [(item, depth + 1) for item in items if isinstance(item, (list, tuple, dict))]


def as_taken(arguments: dict[str, Any]) -> dict[str, Any]:
    """The same arguments as programs take them: arrays for the files that are mapped to them, plain containers and objects for those of Numba, and
    what native code draws random numbers by for a generator of them.
    """
    inside = {name: opened(value) for name, value in arguments.items()}
    foreign = [name for name, value in inside.items() if any(_is_foreign(leaf) for leaf in leaves(value))]
    return {**arguments, **{name: closed(map_leaves(lambda leaf, _: _as_taken(leaf), inside[name])) for name in foreign}} if foreign else arguments


def _is_foreign(leaf: Any) -> bool:
    return isinstance(leaf, (np.memmap, np.random.Generator)) or numba_type(leaf) is not None


def _as_taken(leaf: Any) -> Any:
    if isinstance(leaf, np.random.Generator):
        from stgrad.runtime.generators import draws_of

        return draws_of(leaf)
    return leaf.view(np.ndarray) if type(leaf) is np.memmap else plain(leaf)


def is_labelled(value: Any) -> bool:
    """Whether a value is a Series, DataFrame or DataArray of floats."""
    cls = type(value)
    if cls.__module__ == "builtins" or not any((base.__module__.partition(".")[0], base.__name__) in _BY_POSITION for base in cls.__mro__):
        return False
    dtypes = value.dtypes if hasattr(value, "columns") else [value.dtype]
    return all(getattr(dtype, "kind", "O") in "fc" and hasattr(dtype, "str") for dtype in dtypes)


def _known(cls: type, moves: bool) -> tuple[str, str] | None:
    """What to write for an object of a class, and why."""
    table = _ARRAYS | _LABELLED if moves else _ARRAYS
    keys = [(base.__module__.partition(".")[0], base.__name__) for base in cls.__mro__]
    known = next((table[key] for key in keys if key in table), None)
    own = known is None and is_array_of_own_class(cls)
    return ("np.asarray({})", "what its operations mean is up to its class") if own else known


__all__ = ["as_taken", "is_labelled", "refuse_foreign"]
