"""Integers of fewer than 64 bits count as NumPy counts with them, compiled too: they wrap where it lets them wrap, and are wide where it makes them wide."""

import linecache

import numpy as np
import pytest

import stgrad

EXPRESSIONS = """
np.sum(u, dtype=np.uint8) | np.sum(U, axis=0, dtype=np.uint8) | np.sum(U, axis=1, dtype=np.int8) | np.prod(u, dtype=np.uint8) | np.cumsum(u, dtype=np.uint8)
np.cumprod(u, dtype=np.int16) | np.cumsum(U, axis=1, dtype=np.uint8) | u.sum(dtype=np.uint8) | np.add.reduce(u, dtype=np.uint8) | np.add.reduce(u)
np.add.accumulate(u) | np.multiply.reduce(u) | np.add(u, u, dtype=np.uint8) | np.add(u, u, dtype=int) | np.trace(U, dtype=np.uint8) | np.trace(U)
np.einsum("i,i->", u, u) | np.dot(u, u) | np.inner(u, u) | U @ U | np.outer(u, u) | np.convolve(u, u) | np.kron(u, u) | np.diff(u) | np.ediff1d(u) | np.ptp(u)
np.max(u) - np.uint8(255) | np.power(u, 2) | np.square(u) | np.left_shift(u, 1) | np.negative(u) | u // np.uint8(7) | u % 7 | np.sum(u * u) | np.sum(u) * u[0]
u[0] + u[1] | u[0] * u[1] | u[0] - u[1] | u[0] + 1 | u[0] * 2 | int(u[0]) * int(u[1]) | sum(u) | sum(U) | sum([u[1], u[1]]) | sum(v for v in u) | u.max() * 2
np.sum([u[1], u[1]]) | np.array([u[1], 300]) | np.array([u[1], u[0]]) | u.astype(np.int32) * u | u.tolist()[1] * 2 | U.tolist()[0][1] * 2 | u.item(1) * 2
[v * 2 for v in u][1] | [int(v) * 2 for v in u][1] | u[u > 5].sum() | np.prod(np.full(3, 200, dtype=np.uint8)) | u.astype(np.int16) * np.int16(300)
""".strip().split("\n")
u = np.array([3, 250, 107], dtype=np.uint8)
U = np.array([[3, 250], [107, 200]], dtype=np.uint8)


def function_of(line):
    source, name = f"def f(u, U):\n    return ({', '.join(e.strip() for e in line.split('|'))})\n", f"<narrow {hash(line)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    scope = {"np": np}
    exec(compile(source, name, "exec"), scope)  # noqa: S102
    return scope["f"]


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("line", EXPRESSIONS)
def test_as_numpy(line):
    f = function_of(line)
    for wanted, found, expression in zip(f(u, U), stgrad.jit(f)(u, U), line.split("|"), strict=True):
        np.testing.assert_array_equal(found, wanted, err_msg=expression)
        assert np.asarray(found).dtype == np.asarray(wanted).dtype, expression
