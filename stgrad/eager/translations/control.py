"""Control flow by function: as the statements that they stand for."""

from __future__ import annotations

import numpy as np

from stgrad.eager.translations.bodies import as_list, body, is_list
from stgrad.frontend.library import refuse


@body("cond")
def cond(pred, true_fn=None, false_fn=None, name=None):  # type: ignore[no-untyped-def]
    if pred:
        y = true_fn()
    else:
        y = false_fn()
    return y


@body("while_loop")
def while_loop(  # type: ignore[no-untyped-def]
    cond, body, loop_vars, shape_invariants=None, parallel_iterations=10, back_prop=True, swap_memory=False, maximum_iterations=None, name=None,
):  # fmt: skip
    values = as_list(loop_vars)
    if maximum_iterations is None:
        while cond(*values):
            values = as_list(body(*values))
    else:
        count = 0
        while count < maximum_iterations and cond(*values):
            values = as_list(body(*values))
            count += 1
    return values


@body("map_fn")
def map_fn(fn, elems, dtype=None, parallel_iterations=None, fn_output_signature=None, name=None):  # type: ignore[no-untyped-def]
    refuse(not hasattr(elems, "dtype"), "tf.map_fn over several tensors")
    return np.stack([fn(row) for row in elems])


@body("vectorized_map")
def vectorized_map(fn, elems, fallback_to_while_loop=True, warn=True):  # type: ignore[no-untyped-def]
    return map_fn(fn, elems)


@body("foldl")
def foldl(fn, elems, initializer=None):  # type: ignore[no-untyped-def]
    refuse(not hasattr(elems, "dtype"), "tf.foldl over several tensors")
    value = elems[0] if initializer is None else initializer
    for i in range(1 if initializer is None else 0, len(elems)):
        value = fn(value, elems[i])
    return value


@body("scan")
def scan(  # type: ignore[no-untyped-def]
    fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, infer_shape=True, reverse=False, name=None,
):  # fmt: skip
    refuse(not hasattr(elems, "dtype"), "tf.scan over several tensors")
    refuse(initializer is not None and not hasattr(initializer, "dtype"), "tf.scan of several values")
    rows = np.flip(elems, axis=0) if reverse else elems
    value = rows[0] if initializer is None else initializer
    found = np.zeros((len(rows), *np.shape(value)), value.dtype)
    if initializer is None:
        found[0] = value
    for i in range(1 if initializer is None else 0, len(rows)):
        value = fn(value, rows[i])
        found[i] = value
    return np.flip(found, axis=0) if reverse else found


@body("switch_case")
def switch_case(branch_index, branch_fns, default=None, name="switch_case"):  # type: ignore[no-untyped-def]
    refuse(not is_list(branch_fns) or default is not None, "tf.switch_case with a default or named branches")
    return chosen(branch_index, list(branch_fns), 0)


def chosen(index, functions, first):  # type: ignore[no-untyped-def]
    if first == len(functions) - 1:
        return functions[first]()
    if index == first:
        y = functions[first]()
    else:
        y = chosen(index, functions, first + 1)
    return y


@body("case")
def case(pred_fn_pairs, default=None, exclusive=False, strict=False, name="case"):  # type: ignore[no-untyped-def]
    refuse(not is_list(pred_fn_pairs) or default is None, "tf.case without a default")
    return first_of(list(pred_fn_pairs), default)


def first_of(pairs, default):  # type: ignore[no-untyped-def]
    if len(pairs) == 0:
        return default()
    if pairs[0][0]:
        y = pairs[0][1]()
    else:
        y = first_of(pairs[1:], default)
    return y


# --------------------------------------------------------------------------- assertions: the eager run that follows a failure says more


@body("debugging.assert_greater")
def assert_greater(x, y, message=None, summarize=None, name=None):  # type: ignore[no-untyped-def]
    if not np.all(x > y):
        raise ValueError("an assertion failed")


@body("debugging.assert_less")
def assert_less(x, y, message=None, summarize=None, name=None):  # type: ignore[no-untyped-def]
    if not np.all(x < y):
        raise ValueError("an assertion failed")


@body("debugging.assert_equal")
def assert_equal(x, y, message=None, summarize=None, name=None):  # type: ignore[no-untyped-def]
    if not np.all(x == y):
        raise ValueError("an assertion failed")


@body("debugging.check_numerics", "debugging.assert_all_finite")
def check_numerics(tensor, message=None, name=None):  # type: ignore[no-untyped-def]
    if not np.all(np.isfinite(tensor)):
        raise ValueError("not all numbers are finite")
    return tensor
