"""Control flow, mapping and calls of Python functions, run eagerly: Python's own loops, recorded as they go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stgrad.eager import structures
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.dispatch import note_all
from stgrad.eager.ops_array import stack, unstack
from stgrad.eager.record import state
from stgrad.eager.tensor import Tensor


def cond(pred: Any, true_fn: Callable[[], Any] | None = None, false_fn: Callable[[], Any] | None = None, name: str | None = None) -> Any:
    """`true_fn()` if the scalar predicate holds, else `false_fn()`."""
    for fn, what in ((true_fn, "true_fn"), (false_fn, "false_fn")):
        if not callable(fn):
            raise TypeError(f"'{what}' must be callable.")
    return true_fn() if bool(convert_to_tensor(pred)._a) else false_fn()


def case(pred_fn_pairs: Any, default: Any = None, exclusive: bool = False, strict: bool = False, name: str = "case") -> Any:
    """The function of the first predicate that holds."""
    pairs = pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs
    for pred, fn in pairs:
        if bool(convert_to_tensor(pred)._a):
            return fn()
    if default is None:
        raise ValueError("none of the predicates of tf.case holds, and there is no default")
    return default()


def switch_case(branch_index: Any, branch_fns: Any, default: Any = None, name: str = "switch_case") -> Any:
    """The function of a number; the last, or `default`, where there is none."""
    branches = dict(
        branch_fns.items() if isinstance(branch_fns, dict) else (b if isinstance(b, tuple) else (i, b) for i, b in enumerate(branch_fns))
    )
    chosen = branches.get(int(convert_to_tensor(branch_index)._a))
    return (chosen or default or branches[max(branches)])()


def while_loop(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, shape_invariants: Any = None, parallel_iterations: int = 10,
    back_prop: bool = True, swap_memory: bool = False, maximum_iterations: Any = None, name: str | None = None,
) -> Any:  # fmt: skip
    """Apply `body` to the loop variables while `cond` holds of them."""
    if not loop_vars:
        raise ValueError("'loop_vars' must be provided.")
    values = loop_vars
    limit = None if maximum_iterations is None else int(getattr(maximum_iterations, "_a", maximum_iterations))
    count = 0
    while (limit is None or count < limit) and bool(convert_to_tensor(cond(*values))._a):
        new = body(*values)
        new = new if isinstance(new, (list, tuple)) else (new,)
        structures.assert_same_structure(list(values), list(new))
        values = type(values)(new) if type(values) in (list, tuple) else new
        count += 1
    return structures.map_structure(lambda v: v if isinstance(v, Tensor) else convert_to_tensor(v), values)


def scan(
    fn: Callable[..., Any], elems: Any, initializer: Any = None, parallel_iterations: int = 10, back_prop: bool = True,
    swap_memory: bool = False, infer_shape: bool = True, reverse: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    """Every value of an accumulator along the first axis, stacked."""
    rows = _rows(elems)
    rows = rows[::-1] if reverse else rows
    value = rows.pop(0) if initializer is None else structures.map_structure(convert_to_tensor, initializer)
    found = [value] if initializer is None else []
    for row in rows:
        value = fn(value, row)
        found.append(value)
    return _stacked(found[::-1] if reverse else found)


def foldl(fn: Callable[..., Any], elems: Any, initializer: Any = None, *_: Any, **__: Any) -> Any:
    """The last value of an accumulator along the first axis."""
    rows = _rows(elems)
    value = rows.pop(0) if initializer is None else initializer
    for row in rows:
        value = fn(value, row)
    return value


def foldr(fn: Callable[..., Any], elems: Any, initializer: Any = None, *_: Any, **__: Any) -> Any:
    """The last value of an accumulator along the first axis, from its end."""
    rows = _rows(elems)[::-1]
    value = rows.pop(0) if initializer is None else initializer
    for row in rows:
        value = fn(value, row)
    return value


def map_fn(
    fn: Callable[..., Any], elems: Any, dtype: Any = None, *_: Any, fn_output_signature: Any = None, name: str | None = None, **__: Any
) -> Any:
    """`fn` of each row, stacked."""
    return _stacked([fn(row) for row in _rows(elems)])


def vectorized_map(fn: Callable[..., Any], elems: Any, fallback_to_while_loop: bool = True, warn: bool = True) -> Any:
    """As `map_fn`."""
    return map_fn(fn, elems)


def _rows(elems: Any) -> list[Any]:
    leaves, rebuild = structures.flatten_with(elems)
    columns = [unstack(leaf) for leaf in leaves]
    return [rebuild(list(row)) for row in zip(*columns)]


def _stacked(rows: Sequence[Any]) -> Any:
    if not rows:
        raise ValueError("elems must not be empty")
    return structures.map_structure(lambda *parts: stack(list(parts)), *rows)


# ------------------------------------------------------------------ Python functions


def py_function(func: Callable[..., Any] | None = None, inp: Any = None, Tout: Any = None, name: str | None = None) -> Any:  # noqa: N803
    """Call a Python function of tensors; what it does is recorded."""
    assert func is not None
    result = func(*[convert_to_tensor(x) for x in inp or []])
    if isinstance(Tout, (list, tuple)):
        values = result if isinstance(result, (list, tuple)) else [result]
        return [convert_to_tensor(v, t) for v, t in zip(values, Tout)]
    return convert_to_tensor(result, Tout)


def numpy_function(
    func: Callable[..., Any] | None = None, inp: Any = None, Tout: Any = None, stateful: bool = True, name: str | None = None
) -> Any:  # noqa: N803
    """Call a Python function of NumPy arrays; the path of derivatives ends there."""
    assert func is not None
    inputs = [convert_to_tensor(x) for x in inp or []]
    result = func(*[np.array(x._a)[()] for x in inputs])
    if isinstance(Tout, (list, tuple)):
        values: Any = [convert_to_tensor(v, t) for v, t in zip(result if isinstance(result, (list, tuple)) else [result], Tout)]
    else:
        values = convert_to_tensor(result, Tout)
    if state.recorders:
        for y in values if isinstance(values, list) else [values]:
            note_all("numpy_function", inputs, y)
    return values
