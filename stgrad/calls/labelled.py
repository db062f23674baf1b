"""Arguments with labels (pandas Series and DataFrames, xarray DataArrays) that are differentiated: by position, where that means the same.

Contract: a gradient has the kind, labels and shape of its argument. A function gets the array of the values or, where it reads columns or `.values`, a
stand-in that has them. Which of the two, is decided by running it in plain Python, at each call, as another branch may read labels: at numbers near those of
the call, drawn so that no two places are alike, it must give what it gives for the labelled objects themselves. Where neither form does (labels that are
aligned, sums that skip nan, deviations that divide by n - 1), the call is refused. No package is imported for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.calls.foreign_arrays import is_labelled
from stgrad.instances import make

_PYTHON = (AttributeError, TypeError, ValueError, LookupError, NotImplementedError)


class Values:
    """What rows and tables have in common: an array of their numbers."""

    values: Any

    def to_numpy(self) -> Any:
        return self.values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.values

    def __len__(self) -> int:
        return len(self.values)

    def __matmul__(self, other: Any) -> Any:
        return self.values @ other

    def __rmatmul__(self, other: Any) -> Any:
        return other @ self.values

    def dot(self, other: Any) -> Any:
        return self.values @ other


class Row(Values):
    """A Series or DataArray by its values."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __getitem__(self, key: Any) -> Any:
        return self.values[key]

    def __neg__(self) -> Any:
        return -self.values

    def __add__(self, other: Any) -> Any:
        return self.values + other

    def __radd__(self, other: Any) -> Any:
        return other + self.values

    def __sub__(self, other: Any) -> Any:
        return self.values - other

    def __rsub__(self, other: Any) -> Any:
        return other - self.values

    def __mul__(self, other: Any) -> Any:
        return self.values * other

    def __rmul__(self, other: Any) -> Any:
        return other * self.values

    def __truediv__(self, other: Any) -> Any:
        return self.values / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.values

    def __pow__(self, other: Any) -> Any:
        return self.values**other

    def sum(self) -> Any:
        return np.sum(self.values)

    def mean(self) -> Any:
        return np.mean(self.values)

    def max(self) -> Any:
        return np.max(self.values)

    def min(self) -> Any:
        return np.min(self.values)

    def std(self) -> Any:
        return np.std(self.values, ddof=1)

    def var(self) -> Any:
        return np.var(self.values, ddof=1)


class Table(Values):
    """A DataFrame by its columns, which are attributes, too."""

    _names: tuple[str, ...]

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, list):
            return Row(np.stack([getattr(self, k).values for k in key], axis=1))
        return getattr(self, key)

    @property
    def values(self) -> Any:  # type: ignore[override]
        return np.stack([getattr(self, k).values for k in self._names], axis=1)

    def sum(self) -> Any:
        return Row(np.sum(self.values, axis=0))

    def mean(self) -> Any:
        return Row(np.mean(self.values, axis=0))


Values.__module__ = Row.__module__ = Table.__module__ = "labelled"  # instances of classes of libraries are opaque to the compiler; these are to be read


def values_of(x: Any) -> Any:
    """The array of a labelled object."""
    return np.ascontiguousarray(x.to_numpy())


def stand_in(x: Any) -> Any:
    """What has the columns or `.values` of a labelled object."""
    if hasattr(x, "columns"):
        names = tuple(x.columns)
        if all(isinstance(n, str) and n.isidentifier() and not hasattr(Table, n) for n in names) and len(set(names)) == len(names):
            return make(Table, {**{n: Row(np.ascontiguousarray(x[n].to_numpy())) for n in names}, "_names": names})
    return Row(values_of(x))


FORMS = (values_of, stand_in)


def form_of(function: Any, bound: Any, names: tuple[str, ...]) -> Callable[[Any], Any]:
    """The form that a function takes, with these arguments; raises NotDifferentiableError where there is none."""
    draw = np.random.default_rng(7)

    def moved(x: Any) -> Any:
        values = values_of(x)
        return like(x, values + 1e-3 * draw.uniform(size=np.shape(x)) * np.where(values == 0.0, 1e-3, values))

    near = {n: mapped(moved, bound.arguments[n]) for n in names}
    wanted = numbers_of(_called(function, bound, near))
    found: Any = None
    for form in FORMS:
        try:
            found = numbers_of(_called(function, bound, {n: mapped(form, x) for n, x in near.items()}))
        except _PYTHON as problem:
            found = problem
            continue
        if len(found) == len(wanted) and all(map(_agree, found, wanted)):
            return form
    first = next(iter(leaves_with_labels(bound.arguments[names[0]])))
    why = f"by position its function raises {type(found).__name__}: {found}" if isinstance(found, Exception) else "by position its function gives another value"
    verb = "is" if first is bound.arguments[names[0]] else "is or holds"
    what = f"`{names[0]}` {verb} a {type(first).__module__.partition('.')[0]} {type(first).__name__}"
    raise errors.NotDifferentiableError(what, reason=why, hint=f"pass {names[0]}.to_numpy()")


def _called(function: Any, bound: Any, instead: Mapping[str, Any]) -> Any:
    kept = dict(bound.arguments)
    bound.arguments.update(instead)
    try:
        return function(*bound.args, **bound.kwargs)
    finally:
        bound.arguments.update(kept)


def _agree(a: Any, b: Any) -> bool:
    return np.shape(a) == np.shape(b) and bool(np.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True))


def numbers_of(value: Any) -> list[Any]:
    """The numbers and arrays of a result, whatever their kind."""
    if isinstance(value, (tuple, list)):
        return [leaf for v in value for leaf in numbers_of(v)]
    if isinstance(value, dict):
        return [leaf for v in value.values() for leaf in numbers_of(v)]
    array = np.asarray(value)
    return [array] if array.dtype.kind in "fcib" else []


def mapped(act: Callable[[Any], Any], value: Any) -> Any:
    """A structure with something else for each labelled object in it."""
    if is_labelled(value):
        return act(value)
    if isinstance(value, dict):
        return {k: mapped(act, v) for k, v in value.items()}
    if type(value) in (tuple, list):
        return type(value)(mapped(act, v) for v in value)
    return value


def leaves_with_labels(value: Any) -> list[Any]:
    """The labelled objects in a structure."""
    found: list[Any] = []
    mapped(found.append, value)
    return found


def like(x: Any, values: Any) -> Any:
    """A labelled object with other values."""
    if hasattr(x, "coords"):
        return x.copy(data=values)
    if hasattr(x, "columns"):
        return type(x)(values, index=x.index, columns=x.columns)
    return type(x)(values, index=x.index, name=x.name)


def labels_again(bar: Any, x: Any) -> Any:
    """A gradient by position in the kind of its argument."""
    if is_labelled(x):
        if isinstance(bar, Table):
            bar = np.stack([getattr(bar, n).values for n in x.columns], axis=1)
        return like(x, bar.values if isinstance(bar, Row) else bar)
    if isinstance(x, dict):
        return {k: labels_again(bar[k], v) for k, v in x.items()}
    if type(x) in (tuple, list):
        return type(x)(labels_again(b, v) for b, v in zip(bar, x, strict=True))
    return bar


def by_position(transformed: Any, bound: Any, names: tuple[str, ...]) -> Any:
    """The gradient, or value and gradient, for arguments of which those of these names have labels."""
    derivative = transformed.derivative
    form = form_of(derivative.function, bound, names)
    given = dict(bound.arguments)
    bound.arguments.update({n: mapped(form, given[n]) for n in names})
    result = transformed(*bound.args, **bound.kwargs)
    with_value = derivative.mode == "value_and_grad" or derivative.has_aux
    bars = result[derivative.mode == "value_and_grad"] if with_value else result
    if derivative.single:
        again = labels_again(bars, given[derivative.wrt[0]])
    else:
        again = tuple(labels_again(b, given.get(n)) for b, n in zip(bars, derivative.wrt, strict=True))
    if not with_value:
        return again
    return (result[0], again) if derivative.mode == "value_and_grad" else (again, result[1])


__all__ = ["Row", "Table", "by_position", "leaves_with_labels"]
