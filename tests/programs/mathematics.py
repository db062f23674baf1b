"""Mathematical functions, operators, reductions, broadcasting, shapes, dtypes; elementwise ones on arrays and on scalars."""

import math

import numpy as np

from .registry import example, matrix, positive, spd, vector


@example(0.6, jit=True)
def math_functions(x):
    s = math.sin(x) + math.cos(x) * math.tan(x) + math.asin(x) + math.acos(x) + math.atan(x)
    s += math.sinh(x) * math.cosh(x) + math.tanh(x) + math.exp(x) * math.log(x) + math.sqrt(x)
    return s + math.log1p(x) + math.expm1(x) + math.erf(x) + math.gamma(x) + math.lgamma(x) + math.pow(x, 2.5)


@example(0.6, 1.4)
def math_of_two(x, y):
    return math.atan2(x, y) * math.hypot(x, y) + math.copysign(x, -y) + math.fabs(x - y) + math.log(y, 2.0) + math.log10(y) + math.log2(x)


@example(positive(4), jit=True)
def numpy_functions(x):
    y = np.sin(x) * np.exp(-x) + np.log(x) + np.sqrt(x) - np.tanh(x) + np.arctan(x)
    return np.sum(y + np.log1p(x) * np.expm1(x) + np.cbrt(x) + np.square(x) + np.reciprocal(x) + np.abs(x - 1.0))


@example(vector(4), positive(4))
def operators(x, y):
    return np.sum(-x + x * y - x / y + y**x + y**2.5 + 2.0**x + (+x) * 3 - 1 / y)


@example(3.3, 1.2)
def floor_and_modulo(x, y):
    return x % y + (x // y) * y + divmod(x, y)[1] * x


@example(3.0, 2)
def integer_power(x, n):
    return x**n + x**-n + x ** (n - 1) + x**0


@example(vector(3), matrix(2, 3), 1.5, jit=True)
def broadcasting(x, a, c):
    y = a * x + c
    z = y - x[None, :] * a[:, :1]
    return np.sum(z / c) + np.sum(z * y)


@example(vector(3), 1.7)
def scalar_under_an_array(x, y):
    return np.sum(x / y)


@example(vector(4))
def product_with_zero(x):
    return np.sum(x * 0 + x) + np.sum(x + 0 * x * x)


@example(matrix(3, 4), jit=True)
def reductions(a):
    s = np.sum(a, axis=0) * np.mean(a, axis=0)
    t = np.sum(a, axis=1, keepdims=True) * a
    return np.sum(s) + np.max(a) * np.min(a) + np.mean(t) + np.prod(a) + np.var(a) + np.std(a, axis=-1)[0]


@example(matrix(3, 4))
def more_reductions(a):
    return np.sum(np.max(a, axis=1) * np.min(a, axis=0)[:3]) + np.sum(a.sum(axis=0) ** 2) + a.mean() * a.max() + np.sum(np.cumsum(a, axis=1) ** 2)


@example(matrix(3, 4))
def shapes(a):
    b = a.reshape(4, 3) @ a
    c = np.transpose(a, (1, 0)) + a.T
    d = np.ravel(a)[2:5] * a.flatten()[:3]
    return np.sum(b * b.T) + np.sum(c * c) + np.sum(d) + np.sum(np.concatenate((a, 2.0 * a), axis=0)[1:5] ** 2)


@example(vector(3), vector(3, 1))
def joins(x, y):
    a = np.stack([x, y, x * y])
    b = np.hstack((x, y)) * np.append(y, x)
    c = np.vstack([x, y])
    return np.sum(a @ a) + np.sum(b) + np.sum(c * c[::-1]) + np.sum(np.array([x[0], y[0] * x[1]]) ** 2)


@example(matrix(3, 4), matrix(4, 2), vector(4), vector(3))
def products(a, b, x, y):
    return np.sum(a @ b) + y @ a @ x + np.dot(x, x) * np.sum(np.outer(y, x)) + np.sum(np.matmul(a, x) * y) + np.einsum("ij,j,i->", a, x, y)


@example(spd(3), vector(3))
def linear_algebra(a, b):
    x = np.linalg.solve(a, b)
    return b @ x + np.log(np.linalg.det(a)) + np.sum(np.linalg.inv(a)) + np.linalg.norm(b) + np.trace(a @ a)


@example(spd(3))
def factorisations(a):
    low = np.linalg.cholesky((a + a.T) / 2)
    sign, logdet = np.linalg.slogdet(a)
    return np.sum(low) + logdet * sign


@example(vector(5))
def selections(x):
    y = np.maximum(x, 0.5) * np.minimum(x, 1.0) + np.clip(x, -1.0, 1.0)
    return np.sum(y) + np.sum(np.where(x > 0, x, 0.1 * x)) + np.sum(np.sort(x) * np.arange(5.0))


@example(vector(4))
def creation(x):
    n = len(x)
    y = np.zeros(n) + np.ones_like(x) * x + np.full(n, 2.0) * np.linspace(0.0, 1.0, n) + np.eye(n) @ x
    return np.sum(y * np.arange(n)) + np.sum(np.zeros((n, 2)) + x[:, None])


@example(positive(4).astype(np.float32), np.float32(0.5))
def single_precision(x, c):
    y = np.exp(-x) * c
    return np.sum(y * x)


@example(positive(4).astype(np.float32))
def single_precision_loop(x):
    s = x[0]
    for i in range(1, len(x)):
        s = s * x[i] + x[i - 1]
    return s


@example(np.float64(0.7))
def numpy_scalar(x):
    return np.sin(x) * x


@example(vector(4))
def methods(x):
    y = x.copy()
    return y.sum() * y.mean() + x.dot(y) + (x * y).max() + x.astype(np.float64).reshape(2, 2).T.ravel().cumsum()[2]


@example(vector(4))
def logsumexp(x):
    m = np.max(x)
    return m + np.log(np.sum(np.exp(x - m)))


@example(matrix(4, 4))
def diagonals(a):
    return np.sum(np.diag(a) ** 2) + np.trace(a) * a[0, 0] + np.sum(np.tril(a) * np.triu(a.T)) + np.sum(np.diag(a[0]) @ a)


@example(vector(6))
def differences(x):
    return np.sum(np.diff(x) ** 2) + np.sum(np.cumprod(x)) + np.sum(np.flip(x) * x) + np.sum(np.repeat(x, 2) ** 2) + np.sum(np.tile(x, 2)[3:9] * x)


@example(vector(4), positive(4, 3))
def constant_results(x, y):
    return np.sum(np.floor(x) * y) + np.sum(np.sign(x) * y * y) + np.sum(np.round(x) * y)


@example(1.3, jit=True)
def reduced_number(x):
    return np.sum(np.abs(x) ** 3, axis=0) * np.prod(x, axis=-1) + np.max(x * x, 0)


@example(1.3, jit=True)
def taken_apart_and_put_together(x):
    mantissa, exponent = math.frexp(x * x)
    return math.ldexp(mantissa, exponent) * x


@example(1.3, jit=True)
def position_that_no_path_takes(x):
    m = np.full((1, 1), x)
    m = m * 2.0
    if m[0, 0] < 0.0:
        m[2, :] *= -1.0
    return m[0, 0] ** 2


@example(matrix(3, 3), jit=True)
def like_but_for_the_shape(x):
    full = np.full_like(x, x[1, 0], shape=(x.shape[0] + 1, 2))
    zeros = np.zeros_like(x, shape=(2, 5))
    for i in range(2):
        zeros[i, 4] = x[i, i] ** 2
    return np.sum(full * full) + np.sum(zeros * zeros) + np.sum(np.ones_like(x, shape=7)) * x[0, 1]


@example(positive(3), np.array([0, 200, 3], dtype=np.uint8), np.array([-2, 5, -128], dtype=np.int8), jit=True)
def bytes_beside_floats(x, a, b):
    """Elementwise operations take bytes for floats, and so do their derivatives: 0 - 1, 200 * 200 and the negative of -128 are no bytes."""
    y = np.arctan2(a, x) + np.arctan2(x, b) + x**b + 0.001 * np.power(x / 2.0, a) + (a + 1.0) ** x + np.hypot(x, b)
    return np.sum(y * (x**a - x / (b - 0.5)) * np.where(b < 0, 0.5, x))


@example(positive(3), np.array([True, False, True]), jit=True)
def truth_beside_floats(x, m):
    y = x**m + np.arctan2(m, x) + np.diff(m).sum() * x
    return np.sum(y * m - x)


@example(vector(3), np.array([1, 2, -3], dtype=np.int32), np.array([7, 0, 255], dtype=np.uint8), jit=True)
def products_with_narrow_integers(x, a, b):
    return np.sum(np.outer(a, x) * np.outer(x, b)) + np.dot(a, x) * np.sum(np.vstack((a, a, a)) @ x) + np.tensordot(b, x, 1)


@example(0.7, 4 * 10**9, np.array([5, -7 * 10**9]), jit=True)
def angles_with_large_integers(x, n, m):
    """Squares of these outgrow 64 bits."""
    return 1e9 * (math.atan2(x, n) + np.sum(np.arctan2(m, x)))


@example(matrix(3, 3), 1, jit=True)
def triangles_of_one_number(x, k):
    """Beside the triangle of an array that holds one number everywhere there are zeros."""
    y = np.ones_like(x)
    return np.sum(np.tril(y) * x) + np.sum(np.triu(np.full((x.shape[0], x.shape[0]), 2.0), k) * x * x)
