"""NumPy as users write it, through the compiler: value and gradient of programs of a line or two.

`r` is made from x (3, 4), v (4,), m (3, 3), t (2, 3, 4), m2 (4, 4), b3 (2, 3, 3) and q4 (1, 2, 3, 2), and weighed by
position, so that misplaced elements are seen.
"""

from __future__ import annotations

import importlib.util
import textwrap
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stgrad
from stgrad.errors import StgradError

NAMES = ("x", "v", "m", "t", "m2", "b3", "q4")


def values() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(1)
    square = rng.normal(size=(3, 3)) + 3 * np.eye(3)
    blocks = rng.normal(size=(2, 3, 3)) + 3 * np.eye(3)
    shapes = ((3, 4), (4,), (2, 3, 4), (4, 4), (1, 2, 3, 2))
    x, v, t, m2, q4 = (rng.normal(size=s) for s in shapes)
    return x, v, square, t, m2, blocks, q4


def load(folder: Path, body: str) -> Any:
    """A function of the body, in a file of its own."""
    scope = dict(zip(NAMES, values(), strict=True)) | {"np": np}
    exec(body, scope)
    end = "return np.cos(r) * r"
    if np.ndim(scope["r"]):
        end = "w = np.reshape(r, -1)\nreturn np.sum(np.cos(w) * w * np.arange(1.0, np.size(w) + 1.0))"
    path = folder / f"program_{zlib.crc32(body.encode()):08x}.py"
    path.write_text(f"import numpy as np\n\n\ndef f({', '.join(NAMES)}):\n" + textwrap.indent(f"{body}\n{end}\n", "    "))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def check(f: Any, jit: bool) -> None:
    args = values()
    active = tuple(i for i in range(len(NAMES)) if uses(f, i)) or (0,)
    value, gradients = stgrad.value_and_grad(f, argnums=active, jit=jit)(*values())
    np.testing.assert_allclose(value, f(*values()), rtol=1e-10)
    rng = np.random.default_rng(2)
    for i, g in zip(active, gradients, strict=True):
        direction = rng.normal(size=args[i].shape)
        steps = [(shifted(f, i, direction, h) - shifted(f, i, direction, -h)) / (2 * h) for h in (1e-4, 1e-5, 1e-6)]
        got = np.sum(g * direction)
        assert min(abs(got - s) for s in steps) <= 1e-5 * max(1.0, abs(got)), f"{NAMES[i]}: {got}, differences {steps}"


def uses(f: Any, i: int) -> bool:
    """Whether the argument changes the result."""
    args = list(values())
    args[i] = args[i] + 0.01 * np.arange(1.0, args[i].size + 1.0).reshape(args[i].shape)
    return bool(f(*args) != f(*values()))


def shifted(f: Any, i: int, direction: np.ndarray, h: float) -> Any:
    args = list(values())
    args[i] = args[i] + h * direction
    return f(*args)


EXPRESSIONS = """\
np.square(x, dtype=None)
x * np.arange(start=0, stop=4, step=1)
x * np.arange(stop=len(v))
v * np.array(range(1, len(v) + 1))
v * np.mean(range(len(v)))
np.ndarray.flatten(x) * np.ndarray.sum(v * v)
np.multiply(x, v, order="K", casting="same_kind", subok=True, where=True)
np.vstack([v, v * v], casting="same_kind")
np.stack([v, v * v], casting="same_kind", dtype=float)
np.concatenate([v, v * v], casting="unsafe")
x.sum(axis=1, keepdims=True)
x.sum()
x.sum(0)
x.sum(-1)
x.mean()
x.mean(axis=0)
x.mean(axis=(0,1))
x.max()
x.max(axis=1)
x.min(axis=0, keepdims=True)
x.T
x.mT
x.reshape(-1)
x.reshape(2, 6)
x.reshape((4, -1))
x.reshape(12, order="F")
x.dot(v)
v.dot(v)
x.flatten()
x.flatten("F")
x.ravel()
x.clip(-0.5, 0.5)
x.clip(min=0.1)
x.clip(max=0.1)
x.clip(0.1)
x.cumsum()
x.cumsum(axis=1)
x.cumprod(axis=0)
x.swapaxes(0, 1)
x.argmax()*x.sum()
x[x.argmax(axis=0), np.arange(4)]
x.take([0, 2], axis=0)
x.take(np.array([1, 5]))
x.repeat(2)
x.repeat(2, axis=1)
x.std()
x.std(axis=0, ddof=1)
x.var()
x.var(axis=1, keepdims=True)
x.round(2) + x
x.astype(np.float64)
x.astype("float64")
x.astype(float)
x.copy()
x.item(3)
x[0].item(1)
x[0, 1].item()
m.trace()
m.diagonal()
m.trace(offset=1)
x.prod()
x.prod(axis=1)
x[x.nonzero()]
x.squeeze()
x[:, None].squeeze(1)
x.transpose()
x.transpose(1, 0)
x.transpose((1, 0))
x.conj()
x.conjugate()
x.real
x.imag + x
x.argsort(axis=1) * x
x.all() * x.sum()
x.any() * x.sum()
x.size * x
x.ndim * x
x.shape[0] * x
len(x) * x
x.nbytes * x
x.view() * 2
x.tolist()[0][1]
np.add.reduce(x)
np.add.reduce(x, axis=1)
np.add.reduce(x, axis=None)
np.multiply.reduce(x, axis=1)
np.maximum.reduce(x, axis=1)
np.minimum.reduce(x)
np.maximum.accumulate(x, axis=1)
np.minimum.accumulate(v)
np.add.accumulate(x, axis=1)
np.multiply.accumulate(v)
np.multiply.outer(v, v)
np.add.outer(v, x[:, 0])
np.subtract.outer(v, v)
np.maximum.outer(v, v)
np.add.reduce(x, keepdims=True)
np.logaddexp.reduce(v)
np.logaddexp.reduce(x, axis=1)
np.reshape(v[::2], -1) * 2
x[np.ix_([0, 2], [1, 3])]
x[np.ix_(np.array([0, 2]), np.array([1, 3]))]
x[:, np.newaxis] * v
v[np.newaxis, :] * v[:, np.newaxis]
x[..., 0]
x[1:, ::-1]
x[[0, 2]]
x[:, [0, 2]]
x[np.array([True, False, True])]
x[x > 0]
np.einsum("ij->ji", x)
np.einsum("ij->i", x)
np.einsum("ij->", x)
np.einsum("ii->i", m)
np.einsum("ii", m)
np.einsum("ij,jk->ik", m, x)
np.einsum("ij,jk", m, x)
np.einsum("i,j->ij", v, v)
np.einsum("i,i->", v, v)
np.einsum("i,i", v, v)
np.einsum("ij,ij->i", x, x)
np.einsum("ij,ij->j", x, x)
np.einsum("ij,j->i", x, v)
np.einsum("ij,j", x, v)
np.einsum("bij,bjk->bik", t, t.swapaxes(1, 2))
np.einsum("bij,jk->bik", t, m2)
np.einsum("...ij,...jk->...ik", t, m2)
np.einsum("...i,i->...", t, m2[0])
np.einsum("ijk,ijk->", t, t)
np.einsum("ij,jk,kl->il", m, m, m)
np.einsum("ij,kj->ik", x, x)
np.einsum("i,ij,j->", x[:, 0], x, v)
np.einsum("i,ij,j", x[:, 0], x, v)
np.einsum("ij,kl->ijkl", m, m)
np.einsum("bhqd,bhkd->bhqk", q4, q4)
np.einsum("ij,jk->ik", m, x, optimize=True)
np.linalg.solve(b3, t[:2, :, 0][..., None])
np.linalg.inv(b3)
np.linalg.det(b3)
np.linalg.slogdet(b3)[1]
np.linalg.cholesky(b3 @ b3.swapaxes(-1, -2) + 5*np.eye(3))
np.linalg.eigh(b3 + b3.swapaxes(-1, -2))[0]
np.linalg.eigvalsh(b3 + b3.swapaxes(-1, -2))
np.linalg.qr(b3)[1]
np.linalg.svd(b3, compute_uv=False)
np.linalg.pinv(b3)
np.linalg.norm(b3, axis=(1, 2))
np.linalg.norm(b3, axis=-1)
np.linalg.matrix_power(b3, 2)
np.linalg.norm(x)
np.linalg.norm(v, 1)
np.linalg.norm(v, np.inf)
np.linalg.norm(x, "fro")
np.linalg.norm(m, "nuc")
np.linalg.norm(m, 2)
np.matmul(b3, b3)
b3 @ b3
b3 @ m
np.sin(x, out=None)
np.add(x, x)
np.add(x, 1.0, where=x > 0, out=np.zeros((3, 4)))
np.sqrt(x, where=x > 0, out=np.zeros_like(x))
np.divide(x, v, out=np.zeros_like(x), where=v != 0)
np.log(x, where=x > 0, out=x*0.0)
np.sum(x, where=x > 0)
np.mean(x, where=x > 0)
x.sum(where=x > 0)
x.max(initial=0.0)
np.max(x, axis=1, initial=0.0)
np.max(x, initial=-10.0, where=x < 0)
np.sum(x, initial=2.0)
np.prod(x, initial=2.0)
np.sum([x[0, 0], x[1, 1]])
np.array([x[0], x[1]])
np.array([[x[0, 0], 1.0], [2.0, x[1, 1]]])
np.asarray(x)
np.stack([x, x], axis=-1)
np.concatenate([x, x])
np.concatenate((x, x), 1)
np.hstack([v, v])
np.vstack([v, v])
np.column_stack([v, v])
np.tile(v, 2)
np.tile(v, (2, 1))
np.repeat(v, [1, 2, 0, 1])
np.roll(v, 1)
np.roll(x, 1, axis=1)
np.roll(x, (1, 2), axis=(0, 1))
np.pad(v, 1)
np.pad(x, ((1, 0), (0, 2)))
np.pad(v, (1, 2), mode="edge")
np.pad(v, (1, 2), "reflect")
np.pad(v, 2, "wrap")
np.pad(v, 1, constant_values=3.0)
np.pad(v, (1, 1), "constant", constant_values=(1.0, 2.0))
np.split(x, 2, axis=1)[0]
np.split(v, [1, 3])[1]
np.array_split(v, 3)[0]
np.meshgrid(v, x[:, 0])[0]
np.meshgrid(v, x[:, 0], indexing="ij")[1]
np.where(x > 0, x, 0.0)
np.select([x > 0.5, x > 0], [x, 2*x], 0.0)
np.piecewise(v, [v < 0, v >= 0], [lambda u: -u, lambda u: u**2])
np.interp(0.5, np.arange(4.0), v)
np.interp(v, np.arange(4.0), np.arange(4.0)**2)
np.gradient(v)
np.gradient(x, axis=0)
np.gradient(x)[1]
np.gradient(v, 0.1)
np.diff(x, n=2)
np.diff(v, prepend=0.0)
np.convolve(v, v)
np.convolve(v, v, "same")
np.correlate(v, v, mode="full")
np.cross(m[0], m[1])
np.kron(m, m)
np.outer(v, v)
np.inner(x, x)
np.vdot(x, x)
np.tensordot(x, x, axes=([0], [0]))
np.tensordot(x, x, axes=2)
np.tensordot(x, v, 1)
np.trapezoid(v)
np.trapezoid(v, dx=0.1)
np.trapezoid(x, v, axis=1)
np.median(x)
np.median(x, axis=1)
np.percentile(x, 30)
np.percentile(x, [25, 75], axis=0)
np.quantile(v, 0.3)
np.average(v, weights=v**2)
np.average(x, axis=0)
np.sort(v)
np.sort(x, axis=0)
np.partition(v, 2)
v[np.argsort(v)]
np.take_along_axis(x, np.argsort(x, axis=1), axis=1)
np.unique(v)
np.flip(x)
np.fliplr(x)
np.rot90(x)
np.triu(m)
np.tril(m, -1)
np.diag(m)
np.diag(v)
np.diag(v, 1)
np.trace(m)
np.cov(x)
np.corrcoef(x)
np.linspace(x[0, 0], x[0, 1], 5)
np.linspace(v, v+1, 3)
np.fft.fft(v).real
np.abs(np.fft.rfft(x, axis=1))
np.fft.irfft(np.fft.rfft(v))
np.fft.ifft2(np.fft.fft2(x)).real
np.fft.fftshift(v)
np.nan_to_num(x)
np.cumsum(x)
np.nansum(x)
np.nanmean(x, axis=0)
np.ptp(x, axis=0)
np.clip(x, -v, v**2)
np.maximum(x, 0)
np.hypot(x, x+1)
np.apply_along_axis(lambda r: r.sum(), 1, x)
np.polyval(v, 0.5)
np.polyval([1.0, 2.0], v)
np.vander(v, 3)
np.expand_dims(v, 0)
np.expand_dims(v, (0, 2))
np.squeeze(x[None])
np.moveaxis(t, 0, -1)
np.rollaxis(t, 2)
np.atleast_2d(v)
np.broadcast_to(v, (3, 4)) * x
np.broadcast_to(v, x.shape)
np.broadcast_arrays(v, x)[0]
np.broadcast_shapes(v.shape, ())[0] * v
np.broadcast_shapes((2, 1), v.shape, 1)[0] * v
np.full((2, 2), x[0, 0])
np.full(3, v[0])
np.full_like(x, v[0])
np.ones_like(x) * x
np.zeros(x.shape) + x
np.eye(3) @ x
np.identity(3) @ x
np.arange(4) * v
np.fromiter((a*a for a in v), float)
np.ldexp(v, 2)
np.float64(2.0) * x
np.float32(2.0) * x
np.pi * x
np.linalg.multi_dot([m, m, x])
np.linalg.lstsq(x.T, v, rcond=None)[0]
np.linalg.cond(m)
np.linalg.solve(m, x)
np.dot(x, v)
np.dot(2.0, v)
np.mod(x, 0.7)
np.divmod(x, 0.7)[1]
np.modf(x)[0]
np.frexp(x)[0]
np.heaviside(x, 0.5) * x
np.sign(x) * x
np.angle(x + 1j*x)
np.insert(v, 1, v[0])
np.delete(v, 1)
np.append(v, 1.0)
np.append(x, x, axis=0)
np.resize(v, 6)
np.choose([0, 1, 0, 1], [v, 2*v])
np.compress([True, False, True, True], v)
np.extract(v > 0, v)
np.argwhere(v > -9)[0, 0] * v
np.count_nonzero(x) * x
np.bincount(np.array([0, 1, 1, 2]), weights=v)
np.digitize(v, [0.0]) * v
np.isclose(v, v) * v
np.allclose(v, v) * v
np.array_equal(v, v) * v
np.sinc(v)
np.unwrap(v)
np.ediff1d(v)
np.nancumsum(v)
np.nanprod(v)
np.nanstd(x, axis=0)
np.matvec(m, x[:, 0])
np.vecdot(x, x)
np.linalg.vector_norm(x, axis=1)
np.linalg.matrix_norm(m)
np.linalg.trace(m)
np.linalg.diagonal(m)
np.linalg.outer(v, v)
np.linalg.cross(m[0], m[1])
np.matrix_transpose(x)
np.permute_dims(t, (2, 0, 1))
np.concat([v, v])
np.pow(np.abs(v), 2.5)
np.cumulative_sum(v)
np.cumulative_prod(v)
np.acos(v*0.1)
np.astype(x, np.float64)
np.split(x, 3)[1]
np.dsplit(t, 2)[0]
np.fmax(x, v)
np.float_power(np.abs(x), 2)
np.square(x)
np.cbrt(x)
np.reciprocal(x)
np.linalg.norm(x, ord=2, axis=1)
np.block([[m, m], [m, m]])
np.triu_indices(3)[0].sum() * x
m[np.triu_indices(3)]
m[np.tril_indices(3, -1)]
m[np.diag_indices(3)]
np.linalg.slogdet(m).logabsdet
sum(v)
max(v)
x.dot(v).sum() + (x @ v).mean()
np.dot(v, [1.0, 2.0, 3.0, 4.0])
np.dot([1.0, 2.0, 3.0, 4.0], v)
np.interp(v, [-1.0, 0.0, 1.0], [2.0, 3.0, 1.0])
np.interp([0.1, 0.2], v*0 + np.arange(4.0), v)
np.linalg.norm([v[0], v[1]])
np.linalg.norm((v[0], v[1], 2.0))
np.sum((v[0], v[1]))
np.mean((v[0], v[1]))
np.max((v[0], v[1]))
np.max([v[0], v[1], 0.0])
np.argmax([v[0], v[1]]) * v
np.cross([1.0, 2.0, 3.0], m[0])
np.polyval([1.0, v[0]], v)
np.outer([1.0, 2.0], v)
np.outer(v, (1.0, 2.0))
np.stack((v, [1.0, 2.0, 3.0, 4.0]))
np.concatenate((v, [1.0, 2.0]))
np.concatenate([v, [v[0], 2.0]])
np.hstack((v[0], v))
np.hstack([v, 1.0])
np.append(v, [1.0, v[0]])
np.average(v, weights=[1, 2, 3, 4])
np.clip(v, [0, 0, 0, 0], 1)
np.einsum("i,i->i", v, [1.0, 2.0, 3.0, 4.0])
np.trapezoid([v[0], v[1], 2.0])
np.convolve(v, [1.0, -1.0])
np.convolve(v, [0.25, 0.5, 0.25], mode="same")
np.convolve(v, v, mode="same")
np.linalg.solve(m, [1.0, 2.0, 3.0])
np.linalg.det([[v[0], 1.0], [2.0, v[1]]])
np.matmul([[1.0, 0.0, 0.0, 1.0]], v)
np.take(v, [0, 2])
np.take(v, (0, 2))
np.roll(v, 2)
np.diag([v[0], v[1]])
np.tile([v[0], 1.0], 3)
np.repeat(v, 2)
np.repeat(x, [1, 0, 2], axis=0)
np.choose((0, 1, 0, 1), (v, 2*v))
np.cumsum([v[0], v[1]])
np.array([v[0], v[1]]) @ [1.0, 2.0]
v + [1.0, 2.0, 3.0, 4.0]
v * (1.0, 2.0, 3.0, 4.0)
m @ [1.0, 2.0, 3.0]
np.select([v > 0.5, v < -0.5], [v, -v])
np.piecewise(v, [v < 0], [lambda u: -u, 2.0])
np.transpose(x, [1, 0])
np.moveaxis(t, [0, 1], [1, 0])
np.ones((2, 2)) * v[0]
np.full((2,), v[0])
np.zeros(4) + v
np.linspace(0.0, 1.0, 4) * v
np.arange(v[0], v[0] + 2.5, 1.0)
np.repeat(v, np.array([1, 2, 0, 1]))
np.unravel_index(5, (3, 4))[0] * v
np.ravel_multi_index((1, 1), (3, 4)) * v
np.sort(x, axis=None)
np.max(x, axis=(0, 1))
np.linalg.norm(x, axis=1, keepdims=True)
x.max(axis=1, keepdims=True) - x
np.exp(x - x.max(axis=1, keepdims=True)).sum(axis=1)
np.add(v, v, v * 0)
np.tensordot(np.ones(4), x.T, 1)
np.tensordot(x.T, np.array([1.0, 2.0, 3.0]), 1)
np.einsum("ij,i->j", x, np.array([1.0, 2.0, 3.0]))
np.linalg.solve(m + 0.0, np.ones((3, 2)))
np.r_[v, 1.0, v]
np.r_[v[1:], v[0]]
np.r_[0.0, v]
np.r_[v]
np.r_[0:3] * x[:, 0]
np.r_[0.0:1.0:5j] * v[0]
np.c_[v, v]
np.c_[x, x[:, 0]]
np.c_[[1.0, 2.0, 3.0], x]
np.vectorize(lambda a, b: a * b if a > 0 else b)(v, 2.0)
np.vectorize(np.sin)(v)
np.einsum(x, [0, 1], v, [1], [0])
np.where(v > 0, [1.0, 2.0, 3.0, 4.0], v)
x.flat[3]
x.compress([True, False, True], axis=0)
""".strip().splitlines()

# fmt: off
PROGRAMS = [p.strip("\n") for p in """
from scipy.special import bernoulli
r = v * bernoulli(4)[1:]
---
y = np.array([])
for a in v:
    if a > 0.0:
        y = np.append(y, a * a)
r = np.sum(y) * v
---
items = []
for a in v:
    list.append(items, a * a)
r = sum(items) * v
---
r = v[0] * v
if v[1] > 100.0:
    r = r * len(v[2])
---
a, b = np.empty((3, 4)), np.empty((3, 4))
np.modf(x * v, out=(a, b))
r = a * x + b * v
---
a, b = np.empty((3, 4)), np.empty((3, 4))
c, d = np.divmod(x, 0.37, a, b)
r = a * c + b * d * x
---
a = np.empty((3, 4))
c, d = np.modf(x * v, out=(None, a))
r = a * x + c
---
y = x.copy()
y.sort()
r = y
---
y = x.copy()
y.sort(axis=0)
r = y
---
y = np.empty(4)
y.fill(v[0])
r = y
---
y = np.zeros_like(x)
np.multiply(x, x, out=y)
r = y
---
y = np.zeros_like(x)
np.exp(x, y)
r = y
---
y = x * 2
np.sin(y, out=y)
r = y
---
y = np.ones_like(x)
np.sqrt(x, out=y, where=x > 0)
r = y
---
y = np.empty(3)
np.dot(x, v, out=y)
r = y
---
y = np.empty((3, 3))
np.matmul(m, m, out=y)
r = y
---
y = np.empty(4)
np.sum(x, axis=0, out=y)
r = y
---
y = np.empty(4)
x.sum(axis=0, out=y)
r = y
---
y = np.empty((2, 4))
np.stack([v, v * 2], out=y)
r = y
---
y = x.copy()
y += 1
y *= v
y **= 2
r = y
---
y = x.copy()
np.add.at(y, [0, 0], v)
r = y
---
y = x.copy()
np.subtract.at(y, [0, 0], v)
r = y
---
y = x.copy()
np.fill_diagonal(y, v[0])
r = y
---
y = x.copy()
np.put_along_axis(y, np.argmax(x, axis=1)[:, None], 0.0, axis=1)
r = y
---
y = x.copy()
np.putmask(y, y > 0, 0.0)
r = y
---
y = x.copy()
np.putmask(y, y > 0, v)
r = y
---
y = x.copy()
np.putmask(y, y > -9, np.stack((v[:1], v[1:2])))
r = y
---
y = np.vstack((x, x))
np.fill_diagonal(y, v[:2])
r = y
---
y = x.copy()
np.place(y, y > 0, [0.0])
r = y
---
y = np.zeros_like(x)
np.copyto(y, x)
r = y
---
y = np.zeros_like(x)
np.copyto(y, x, where=x > 0)
r = y
---
y = x.copy()
y[:] = v
r = y
---
y = x.copy()
y[y > 0] = 0.0
r = y
---
y = x.copy()
y[y > 0] *= 2.0
r = y
---
y = x.copy().reshape(-1)
y[3] = v[0]**2
r = y
---
a, b = np.meshgrid(v, x[:, 0])
r = a * b
---
q, s = np.linalg.qr(m)
r = q @ s
---
u, s, vt = np.linalg.svd(m)
r = (u * s) @ vt
---
w, q = np.linalg.eigh(m + m.T)
r = w
---
res = np.linalg.eigh(m + m.T)
r = res.eigenvalues
---
res = np.linalg.svd(m)
r = res.S
---
s = 0.0
for row in x:
    s += row.dot(v)
r = s
---
s = 0.0
for a, b in zip(v, x[0]):
    s += a * b
r = s
---
with np.errstate(all="ignore"):
    r = x / v
---
y = np.zeros(4)
y[1:3] = [v[0], v[1]]
r = y
---
y = np.zeros((2, 2))
y[0] = v[0], v[1]
r = y
---
y = v.copy()
y[[0, 2]] = [1.0, 2.0]
r = y
---
k = int(v[0] > -100) + 1
r = np.repeat(v, k)
---
k = int(v[0] > -100) + 1
r = np.tile(v, k)
---
k = int(v[0] > -100) + 1
r = np.roll(v, k)
---
k = int(v[0] > -100)
r = np.take(np.array([v[0], v[1]]), k)
---
k = int(v[0] > -100) + 1
r = np.pad(v, k)
---
k = int(v[0] > -100) + 1
r = np.diag(v, k)
---
k = int(v[0] > -100) + 1
r = np.linspace(0.0, v[0], k + 3)
---
k = int(v[0] > -100) + 1
r = np.fft.rfft(v, 3).real
---
k = int(v[0] > -100) + 1
r = np.fft.rfft(v, k).real
---
k = int(v[0] > -100) + 1
r = np.delete(v, k)
---
k = int(v[0] > -100) + 1
r = np.insert(v, k, v[0])
---
k = int(v[0] > -100) + 1
r = np.vander(v, k)
---
k = int(v[0] > -100) + 1
r = np.partition(v, k)[k]
---
k = int(v[0] > -100) + 1
r = np.eye(k + 1) * v[0]
---
k = int(v[0] > -100) + 1
r = np.tri(4, k=k) * v
---
k = int(v[0] > -100) + 1
r = np.triu(m, k)
---
k = int(v[0] > -100) + 1
r = np.linalg.matrix_power(m, 3)
---
k = int(v[0] > -100) + 1
r = np.broadcast_to(v, (k, 4))
---
k = int(v[0] > -100) + 1
r = np.bincount(np.array([0, 1, 1, 2]), weights=v, minlength=k + 5)
---
k = int(v[0] > -100) + 1
r = np.resize(v, k + 5)
---
s = 0.0
for i, j in np.ndindex(x.shape):
    s += x[i, j] ** 2
r = s
---
s = 0.0
for (i, j), a in np.ndenumerate(x):
    s += a ** 2 * i
r = s
---
s = 0.0
for a in x.flat:
    s += a ** 2
r = s
---
s = 0.0
for a in np.nditer(v):
    s += a * a
r = s
""".split("---\n")]
# fmt: on


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression(expression: str, tmp_path: Path) -> None:
    check(load(tmp_path, f"r = {expression}"), jit=False)


@pytest.mark.parametrize("body", PROGRAMS)
def test_program(body: str, tmp_path: Path) -> None:
    check(load(tmp_path, body), jit=False)


NATIVE = """\
x.sum(axis=1, keepdims=True)
x.clip(-0.5, 0.5)
x.cumsum(axis=1)
x.std(axis=0, ddof=1)
x.flatten("F")
x.round(2) + x
np.add.reduce(x, axis=1)
np.maximum.accumulate(x, axis=1)
np.multiply.outer(v, v)
np.logaddexp.reduce(v)
np.r_[v[1:], v[0]]
np.c_[x, x[:, 0]]
x[np.ix_([0, 2], [1, 3])]
np.einsum("ij,j->i", x, v)
np.einsum("bhqd,bhkd->bhqk", q4, q4)
np.linalg.inv(b3)
np.linalg.slogdet(b3)[1]
np.linalg.norm(b3, axis=(1, 2))
b3 @ m
np.divide(x, v, out=np.zeros_like(x), where=v != 0)
np.mean(x, where=x > 0)
np.max((v[0], v[1]))
np.concatenate([v, [v[0], 2.0]])
np.interp(v, [-1.0, 0.0, 1.0], [2.0, 3.0, 1.0])
np.linalg.solve(m, [1.0, 2.0, 3.0])
np.repeat(v, np.array([1, 2, 0, 1]))
np.partition(v, 2)
np.pad(v, (1, 2), mode="edge")
np.percentile(x, [25, 75], axis=0)
np.block([[m, m], [m, m]])
np.piecewise(v, [v < 0], [lambda u: -u, 2.0])
np.vectorize(lambda a, b: a * b if a > 0 else b)(v, 2.0)
np.abs(np.fft.rfft(x, axis=1))
np.tensordot(x, x, axes=([0], [0]))
np.take_along_axis(x, np.argsort(x, axis=1), axis=1)
np.cov(x)
np.gradient(x)[1]
np.kron(m, m)
np.diff(x, n=2)
np.prod(x, axis=1)
""".strip().splitlines()


@pytest.mark.parametrize("expression", NATIVE)
def test_native(expression: str, tmp_path: Path) -> None:
    check(load(tmp_path, f"r = {expression}"), jit=True)


DTYPES = """\
x.sum(axis=1)
x * v
x @ v
np.exp(x)
x.mean(axis=0)
np.concatenate([x, x])
np.linalg.solve(x.T @ x + 5 * np.eye(4, dtype=x.dtype), v)
x.reshape(-1) * 2
x[:, 1:3]
np.einsum("ij,j->i", x, v)
x.cumsum(axis=1)
np.stack([v, v])
x.T
2.0 * x + 1
np.sqrt(x * x + 4)
np.outer(v, v)
x.prod(axis=0)
np.full(3, x[0, 0])
np.fft.fft(x, axis=1)
x / v
x ** 2
np.where(np.real(x) > 0, x, 2 * x)
np.array([x[0, 0], x[1, 1]])
np.tanh(x)
np.insert(v, 1, 2.0)
np.diff(x, axis=1)
np.trace(x[:, :3])
np.linalg.det(x[:, :3])
np.linalg.inv(x[:, :3])
""".strip().splitlines()


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("expression", DTYPES)
def test_dtypes(expression: str, dtype: str, tmp_path: Path) -> None:
    """Result and gradient keep the dtype; the gradient of sum(|r|^2) is that of float64 parts."""
    rng = np.random.default_rng(3)
    x, v = rng.normal(size=(3, 4)).astype(dtype), rng.normal(size=4).astype(dtype)
    if dtype == "complex128":
        x, v = x + 1j * rng.normal(size=(3, 4)), v + 1j * rng.normal(size=4)
    path = tmp_path / "dtypes.py"
    loss = "def loss(x, v):\n    r = result(x, v)\n    return np.sum(np.real(r) ** 2) + np.sum(np.imag(r) ** 2)\n"
    path.write_text(f"import numpy as np\n\n\ndef result(x, v):\n    return {expression}\n\n\n{loss}")
    spec = importlib.util.spec_from_file_location("dtypes", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    got, wanted = stgrad.vjp(module.result, x, v, jit=False)[0], module.result(x, v)
    assert got.dtype == wanted.dtype
    np.testing.assert_allclose(got, wanted, rtol=1e-5)
    gradients = stgrad.grad(module.loss, argnums=(0, 1), jit=False)(x, v)
    wide = [a.astype("complex128" if dtype == "complex128" else "float64") for a in (x, v)]
    for i, g in enumerate(gradients):
        assert g.dtype == dtype
        for unit in (1.0, 1j) if dtype == "complex128" else (1.0,):
            direction = unit * rng.normal(size=wide[i].shape)
            moved = [[a + s * 1e-6 * direction if k == i else a for k, a in enumerate(wide)] for s in (1, -1)]
            difference = (module.loss(*moved[0]) - module.loss(*moved[1])) / 2e-6
            tolerance = 1e-3 if dtype == "float32" else 1e-5
            np.testing.assert_allclose(np.sum(np.real(np.conj(g) * direction)), difference, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("np.sqrt(np.abs(x), where=x > 0)", "without `out=`"),
        ("np.max(x, where=x > 0, initial=None)", "needs `initial`"),
        ("np.r_['0,2', v, v]", "with a string"),
    ],
)
def test_refused(expression: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "refused.py"
    path.write_text(f"import numpy as np\n\n\ndef f({', '.join(NAMES)}):\n    return np.sum({expression})\n")
    spec = importlib.util.spec_from_file_location("refused", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(StgradError, match=message) as caught:
        stgrad.grad(module.f, jit=False)(*values())
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("q", ["0.3", "q"])
def test_quantile_keeps_float32(q: str, tmp_path: Path) -> None:
    path = tmp_path / "quantile.py"
    path.write_text(f"import numpy as np\n\n\ndef f(x, q):\n    return np.sum(np.quantile(x, {q}, axis=0))\n")
    spec = importlib.util.spec_from_file_location("quantile", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    x = np.array([[1.0, 5.0], [2.0, 3.0], [4.0, 0.0]], np.float32)
    value, g = stgrad.value_and_grad(module.f, jit=False)(x, 0.3)
    np.testing.assert_allclose(value, module.f(x, 0.3), rtol=1e-6)
    assert value.dtype == g.dtype == np.float32
    np.testing.assert_allclose(g, [[0.4, 0.0], [0.6, 0.6], [0.0, 0.4]], rtol=1e-6)


def test_complex_constants_are_conjugated() -> None:
    """The gradient with respect to a real argument takes the real part of conj(2j) times the cotangent."""

    def f(x):
        z = x + 1j * x * 2
        return np.sum(np.real(z) * 3 + np.imag(z))

    np.testing.assert_allclose(stgrad.grad(f, jit=False)(np.array([0.5, -0.3])), [5.0, 5.0])


def test_solve_of_the_array_api():
    xp = pytest.importorskip("scipy._lib.array_api_compat.numpy")
    a = np.array([[1.0, 2.0], [3.0, 5.0]])
    found = stgrad.grad(lambda a: np.sum(xp.linalg.solve(a, np.ones(2))), jit=True)(a)
    np.testing.assert_allclose(found, stgrad.grad(lambda a: np.sum(np.linalg.solve(a, np.ones(2))))(a))
