# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""`array_api_extra.at(x)[index].set(y)`, as SciPy writes its stores: a changed copy; who calls it must not use `x` again."""

from __future__ import annotations

import numpy as np


class At:
    """An array and a place in it."""

    def __init__(self, x, idx=None):
        self.x, self.idx = x, idx

    def __getitem__(self, idx):
        return At(self.x, idx)

    def set(self, y, copy=None, xp=None):
        return _changed(self.x, self.idx, y)

    def add(self, y, copy=None, xp=None):
        return _changed(self.x, self.idx, self.x[self.idx] + y)

    def subtract(self, y, copy=None, xp=None):
        return _changed(self.x, self.idx, self.x[self.idx] - y)

    def multiply(self, y, copy=None, xp=None):
        return _changed(self.x, self.idx, self.x[self.idx] * y)

    def divide(self, y, copy=None, xp=None):
        return _changed(self.x, self.idx, self.x[self.idx] / y)

    def power(self, y, copy=None, xp=None):
        return _changed(self.x, self.idx, self.x[self.idx] ** y)

    def min(self, y, copy=None, xp=None):
        return _changed(self.x, self.idx, np.minimum(self.x[self.idx], y))

    def max(self, y, copy=None, xp=None):
        return _changed(self.x, self.idx, np.maximum(self.x[self.idx], y))


def at(x, idx=None):
    return At(x, idx)


def _changed(x, idx, y):
    if np.ndim(x) == 0:
        return np.where(idx if np.asarray(idx).dtype == np.bool_ and np.ndim(idx) == 0 else True, y, x)
    places = isinstance(idx, (tuple, slice, list)) or idx is Ellipsis or idx is None
    mask = not places and np.asarray(idx).dtype == np.bool_ and np.ndim(idx) == np.ndim(x)
    if mask and np.ndim(y) == 0:
        return np.where(idx, y, x)
    changed = np.copy(x)
    changed[idx] = y
    return changed
