"""What NumPy's functions give and refuse, beyond their values: lists where it makes lists, exceptions where it raises."""

import numpy as np
import pytest

import stgrad


def grown(x, y):
    parts = np.split(x, 3) + [y]
    more = np.array_split(x, 2)
    more.append(y * 2.0)
    return sum([np.sum(np.sin(p)) for p in parts]) + more[2][0] * more[0][1]


def kinds(x, y):
    return np.sum(x) * (isinstance(np.hsplit(x, 3), list) and isinstance(np.unstack(x), tuple) and isinstance(np.broadcast_arrays(x, y), tuple))


def raised_to_arrays(x, y):
    a, b = np.atleast_1d([x[0], 2.0]), np.atleast_2d((x, y))
    return np.sum(a * a) + b[1, 2] * np.atleast_1d((2, 1)).astype(int)[0] + np.atleast_3d([x, y]).shape[2]


def medians(x, y):
    return x[0] * (np.median(y > 0) + np.median(np.array([1, 2, 7, 9], dtype=np.int32)))


def joined_rows(x, y):
    a = np.outer(x, y)
    return np.concatenate(a, axis=0)[4] + np.stack(a, axis=1)[0, 2] * np.stack(a, 1)[1, 2]


def narrow_integers(x, y):
    n = np.array([7, 2, 1, 9], dtype=np.int32)
    m = np.array([[7, 2], [1, 9]], dtype=np.uint8)
    return x[0] * (np.sort(n)[1] + sorted(n)[2] + np.median(n)) + x[np.argsort(n[:3])[1]] * np.sort(m, axis=0)[1, 0] + y[1] * np.argsort(m)[0, 0]


def norms_of_whole_numbers(x, y):
    flags = np.outer(x, y) > 0.2
    n = np.arange(6).reshape(2, 3)
    return x[0] * np.linalg.norm(flags, 1, axis=0)[1] + x[1] * (np.linalg.norm(n, 1, axis=0)[1] / 2) + np.linalg.norm([1, 2], np.inf) // 2


def over_arange(x, y):
    s, a = 0.0, np.array([1])
    for i in np.arange(1, len(x)):
        if i == 1:
            w = x[0]
        s += w * y[i] ** i
        a = np.concatenate((a, np.zeros(1))) + x[i] * np.concatenate((np.zeros(1), a[::-1]))
    for i in np.arange(len(x) - 1, -1, -1):
        if x[i] > 10.0:
            break
        s += x[i] * np.sum(np.ones(i + 1)) / (i + 1)
    return s + np.sum(a * a) * (isinstance(i, np.integer) and i == 0)


def unrolled_where_no_trip_is_like_another(x, y):
    parts = ()
    for row in np.outer(x, y):
        parts = (*parts, np.sum(row))
    nested = None
    for k, v in enumerate(x):
        nested = (nested, v * k)
    return parts[0] * parts[2] + nested[1] * nested[0][1]


X, Y = np.array([0.3, -0.7, 1.2]), np.array([1.0, -0.5, 2.0])


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [grown, kinds, raised_to_arrays, medians, joined_rows, narrow_integers, norms_of_whole_numbers])
def test_values_and_gradients(f, jit):
    held_against_differences(f, jit)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [over_arange, unrolled_where_no_trip_is_like_another])
def test_loops(f, jit):
    held_against_differences(f, jit)


def held_against_differences(f, jit):
    value, (dx, _) = stgrad.value_and_grad(f, (0, 1), jit=jit)(X, Y)
    assert value == pytest.approx(f(X, Y))
    for k in range(3):
        step = 1e-6 * np.eye(3)[k]
        assert dx[k] == pytest.approx((f(X + step, Y) - f(X - step, Y)) / 2e-6, abs=1e-7)


RAISES = {
    "np.amin(x[:0])": "zero-size array",
    "np.max(x[3:3])": "zero-size array",
    "x[:0].min()": "zero-size array",
    "np.max(np.zeros((0, 3)) * x[0], axis=0).sum()": "zero-size array",
    "np.cumulative_sum(np.outer(x, x)).sum()": "axis",
    "np.vander(np.outer(x, x)).sum()": "one-dimensional",
    "np.squeeze(np.outer(x, x), axis=0).sum()": "cannot select an axis to squeeze out",
    "x[np.squeeze(np.outer(x, x) > 0.1, 0)].sum()": "cannot select an axis to squeeze out",
    **{
        text: "out of bounds|out of range|index"
        for text in (
            "np.median(x, 1)", "np.nanmedian(x, axis=2)", "np.quantile(x, 0.5, axis=2)", "np.moveaxis(x, 0, 1).sum()", "np.diff(x, axis=3).sum()",
            "np.gradient(x, axis=1).sum()", "np.tensordot(x, x, axes=([2], [2]))", "np.apply_along_axis(np.sum, 2, x).sum()",
            "np.transpose(np.outer(x, x), (0, 2)).sum()", "np.linalg.norm(x, axis=2)",
        )
    },
}


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("text", RAISES)
def test_what_numpy_raises(text, jit, tmp_path):
    path = tmp_path / "raises.py"
    path.write_text(f"import numpy as np\n\n\ndef f(x):\n    return {text}\n")
    names = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    with pytest.raises((ValueError, IndexError), match=RAISES[text]):
        names["f"](X)
    with pytest.raises((ValueError, IndexError, stgrad.errors.StgradError), match=RAISES[text]):
        stgrad.grad(names["f"], jit=jit)(X)


def test_names_of_arguments_of_rows():
    def f(x):
        return np.sum(np.concatenate(np.outer(x, x), keepdims=True))

    with pytest.raises((TypeError, stgrad.errors.UnsupportedSyntaxError), match="`keepdims` of `np.concatenate`"):
        stgrad.grad(f, jit=True)(X)
