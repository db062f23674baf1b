"""What the table says of calls, and that it is true for a sample of them."""

import numba
import numpy as np
import pytest

from stgrad.ir.ops.support import TABLE, Value, supported

M, V, S = Value("float64", 2, True), Value("float64", 1, True), Value("float64")
I1, B1, B2, I = Value("int64", 1, True), Value("bool", 1, True), Value("bool", 2, True), Value("int64")


@pytest.mark.parametrize(
    ("op", "args", "kwargs", "answer"),
    [
        ("np.sin", [M], {}, True),
        ("np.sin", [Value("float64", 7, True)], {}, True),
        ("np.add", [M, S], {}, True),
        ("np.add", [M, S], {"where": B2}, False),
        ("np.heaviside", [S, S], {}, False),
        ("np.sum", [M], {"axis": 1}, True),
        ("np.sum", [M], {"axis": 1, "keepdims": True}, False),
        ("np.mean", [M], {"axis": 1}, False),
        ("np.einsum", ["ij,ij->i", M, M], {}, False),
        ("np.matmul", [M, V], {}, True),
        ("np.matmul", [Value("float64", 3, True), M], {}, False),
        ("np.bitwise_and", [B2, B2], {}, True),
        ("np.abs", [M], {}, True),
        ("np.linalg.solve", [M, V], {}, True),
        ("np.linalg.solve", [Value("int64", 2, True)] * 2, {}, False),
        ("np.linalg.inv", [Value("float64", 3, True)], {}, False),
        ("np.linalg.svd", [M], {"full_matrices": False}, True),
        ("np.linalg.svd", [M, 0], {}, True),
        ("np.concatenate", [(M, M)], {"axis": 1}, True),
        ("np.concatenate", [[M, M], 1], {}, True),
        ("np.transpose", [Value("float32", 3, True), (2, 0, 1)], {}, True),
        ("np.reshape", [V, (3, I)], {}, True),
        ("np.take", [M, I1], {"axis": 0}, True),
        ("np.take", [Value("int64", 2, True), I1], {"axis": 0}, True),
        ("np.searchsorted", [V, S], {}, True),
        ("np.searchsorted", [I1, I], {}, True),
        ("np.searchsorted", [V, V], {"side": "right"}, True),
        ("np.zeros", [(3, 4)], {}, True),
        ("np.zeros", [(I, 4)], {}, True),
        ("np.fft.fft", [V], {}, False),
        ("np.add.at", [V, I1, V], {}, False),
        ("np.clip", [V, S, None], {}, True),
        ("np.nonsense", [V], {}, False),
        ("np.sort", [Value("float16", 1, True)], {}, False),
        ("np.dot", [V, Value("float32", 1, True)], {}, False),
        ("getitem", [M, (I1, I1)], {}, True),
        ("getitem", [M, (slice(None), I1)], {}, True),
        ("getitem", [V, B1], {}, True),
        ("getitem", [M, B2], {}, False),
        ("setitem", [M, (I1, I1), S], {}, True),
        ("setitem", [M, B2, S], {}, False),
    ],
)
def test_answers(op, args, kwargs, answer):
    assert supported(op, args, kwargs) is answer


def test_layout_matters_where_it_was_seen_to():
    restricted = [(op, p) for op, rows in TABLE.items() for p, works in rows.items() if "C" in works]
    assert restricted, "some functions take contiguous arrays only"
    assert supported("np.ravel", [M], contiguous=True)


@pytest.mark.parametrize(
    ("op", "code", "args"),
    [
        ("np.linalg.solve", "np.linalg.solve(a, b)", (np.eye(3), np.ones(3))),
        ("np.take_along_axis", "np.take_along_axis(a, b, 1)", (np.eye(3), np.zeros((3, 1), int))),
        ("getitem", "a[b, b]", (np.eye(3), np.array([0, 2]))),
        ("np.sum", "np.sum(a, axis=(0, 2)) * b", (np.ones((2, 3, 4)), 1.0)),
    ],
)
def test_a_sample_is_true(op, code, args):
    assert op in TABLE
    space = {"np": np}
    exec(f"def f(a, b):\n    return {code}\n", space)
    np.testing.assert_allclose(numba.njit(space["f"])(*args), space["f"](*args))
