"""Arrays of other packages as arguments: taken where it is plain what they mean, else refused with what to write."""

import warnings

import numpy as np
import pandas
import pytest

import stgrad
from stgrad.errors import NotDifferentiableError
from stgrad.plain.running import RunsPlainlyWarning


def squares(x):
    return np.sum(x**2)


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (pandas.Series([1.0, 2.0]), "pass x.to_numpy()"),
        (pandas.DataFrame({"a": [1.0]}), "pass x.to_numpy()"),
        (np.ma.array([1.0, 2.0], mask=[False, True]), "pass x.filled(0.0)"),
        (np.ones((1, 1)).view(np.matrix), "pass np.asarray(x)"),
    ],
    ids=["series", "frame", "masked", "matrix"],
)
def test_refused_with_what_to_write(value, hint) -> None:
    for call in (stgrad.grad(squares), stgrad.grad(squares, jit=False), stgrad.value_and_grad(squares)):
        with pytest.raises(NotDifferentiableError, match="`x` is a .* " + type(value).__name__) as caught:
            call(value)
        assert hint in str(caught.value)


def test_in_a_structure_and_beside_the_argument() -> None:
    with pytest.raises(NotDifferentiableError, match="`p` is or holds a pandas Series"):
        stgrad.grad(lambda p: np.sum(p["w"]))({"w": pandas.Series([1.0])})
    with pytest.raises(NotDifferentiableError, match="`x` is a numpy MaskedArray"):
        stgrad.grad(lambda w, x: np.sum(w * x))(np.ones(2), np.ma.array([1.0, 2.0], mask=[False, True]))


def test_tables_may_be_read(monkeypatch) -> None:
    monkeypatch.setenv("STGRAD_PLAIN", "1")

    def misfit(w, table):
        return np.sum((table[["a", "b"]].to_numpy() @ w) ** 2)

    table = pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RunsPlainlyWarning)
        found = stgrad.grad(misfit)(np.ones(2), table)
    np.testing.assert_allclose(found, 2.0 * table.to_numpy().T @ table.to_numpy() @ np.ones(2))


@pytest.mark.parametrize(("package", "name", "value"), [("torch", "ones", 3), ("xarray", "DataArray", [1.0, 2.0])])
def test_other_packages_by_name(package, name, value) -> None:
    module = pytest.importorskip(package)
    with pytest.raises(NotDifferentiableError, match=f"`x` is a {package}"):
        stgrad.grad(squares)(getattr(module, name)(value))
