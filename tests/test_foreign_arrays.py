"""Arrays of other packages as arguments: taken where it is plain what they mean, else refused with what to write."""

import warnings

import numpy as np
import pandas
import pytest

import stgrad
from stgrad.errors import NotDifferentiableError, RunsPlainlyWarning


def squares(x):
    return np.sum(x**2)


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (pandas.Series([1, 2]), "pass x.to_numpy()"),
        (pandas.DataFrame({"a": ["text"]}), "pass x.to_numpy()"),
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
        stgrad.grad(lambda p: np.log(p["w"]).std())({"w": pandas.Series([1.0, 2.0])})
    with pytest.raises(NotDifferentiableError, match="`x` is a pandas Series"):
        stgrad.vjp(squares, pandas.Series([1.0, 2.0]))
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


def test_tensors_by_name() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(NotDifferentiableError, match="`x` is a torch"):
        stgrad.grad(squares)(torch.ones(3))


SERIES = pandas.Series([1.0, 2.0, 4.0], index=list("abc"), name="w")
TABLE = pandas.DataFrame({"a": [1.0, 2.0, 4.0], "b": [0.5, 0.0, 0.3]}, index=list("xyz"))
A, B = TABLE["a"].to_numpy(), TABLE["b"].to_numpy()


@pytest.mark.parametrize(
    ("f", "x", "want"),
    [
        (squares, SERIES, 2.0 * A),
        (lambda x: (x.values**3).sum() + (2.0 / x).sum(), SERIES, 3.0 * A**2 - 2.0 / A**2),
        (lambda x: x.std(), SERIES, (A - A.mean()) / (2.0 * A.std(ddof=1))),
        (lambda d: np.sum(d.to_numpy() ** 2), TABLE, 2.0 * TABLE.to_numpy()),
        (lambda d: np.sum(d["a"] * np.exp(d["b"])) + d.b.sum(), TABLE, np.stack([np.exp(B), A * np.exp(B) + 1.0], axis=1)),
        (lambda d: np.sum((d[["b", "a"]].values @ np.array([1.0, 2.0])) ** 2), TABLE, np.outer(2.0 * (B + 2.0 * A), [2.0, 1.0])),
    ],
    ids=["array", "values", "deviation", "table", "columns", "chosen"],
)
def test_gradients_have_the_labels_of_their_arguments(f, x, want) -> None:
    found = stgrad.grad(f, jit=False)(x)
    assert type(found) is type(x)
    assert all(ours.equals(given) for ours, given in zip(found.axes, x.axes, strict=True))
    np.testing.assert_allclose(found.to_numpy(), want)


def test_compiled_with_other_arguments_in_structures() -> None:
    value, (p_bar, k_bar) = stgrad.value_and_grad(lambda p, k: k * np.sum(p["w"] * p["v"]), (0, 1))({"w": SERIES, "v": np.ones(3)}, 2.0)
    assert (value, k_bar) == (14.0, 7.0)
    pandas.testing.assert_series_equal(p_bar["w"], SERIES * 0.0 + 2.0)
    np.testing.assert_array_equal(p_bar["v"], 2.0 * A)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (lambda x: np.log(x).std(), (SERIES,)),  # over n - 1, and arrays over n
        (lambda x: x.mean(), (pandas.Series([1.0, np.nan, 3.0]),)),  # skips nan
        (lambda x, y: (x * y).sum(), (SERIES, pandas.Series([0.0, 0.0, 1.0], index=list("bca")))),  # aligns
        (lambda x: x[2] ** 2, (pandas.Series([1.0, 1.0, 1.0], index=[2, 1, 0]),)),  # by label
        (lambda x: x["b"] ** 2, (SERIES,)),
        (lambda d: d.sum()[0] if d.to_numpy()[0, 0] < 0.0 else np.sum(d.rolling(2).sum()), (TABLE,)),
    ],
    ids=["deviation", "nan", "aligned", "label", "name", "rolling"],
)
def test_what_labels_mean_otherwise_is_refused(f, args) -> None:
    with pytest.raises(NotDifferentiableError, match="is a pandas .*\n.*by position its function"):
        stgrad.grad(f, tuple(range(len(args))), jit=False)(*args)


def test_each_call_is_asked() -> None:
    """Another branch may read labels."""
    f = stgrad.grad(lambda x: np.sum(x**2) if x.sum() > 0.0 else np.exp(x).std(), jit=False)
    np.testing.assert_array_equal(f(SERIES), 2.0 * A)
    with pytest.raises(NotDifferentiableError, match="another value"):
        f(-SERIES)


def test_arrays_of_xarray() -> None:
    xarray = pytest.importorskip("xarray")
    x = xarray.DataArray(np.array([[1.0, 2.0], [3.0, 4.0]]), dims=("t", "x"), coords={"t": [0.1, 0.2]}, name="q")
    for f, want in ((lambda x: np.sum(np.sin(x) * x), np.sin(x) + x * np.cos(x)), (lambda x: (x.values**2).sum(), 2.0 * x)):
        xarray.testing.assert_allclose(stgrad.grad(f, jit=False)(x), want)
    with pytest.raises(NotDifferentiableError, match="`x` is a xarray DataArray"):
        stgrad.grad(lambda x: x.sel(t=0.1).sum(), jit=False)(x)


@pytest.mark.parametrize("jit", [True, False])
def test_arrays_mapped_to_files(tmp_path, jit) -> None:
    """They are arrays as any other; what writes to its argument works on a copy of them."""
    x = np.memmap(tmp_path / "numbers", dtype=float, shape=3, mode="w+")
    x[:] = A

    def doubled(x):
        x[0] = 2.0 * x[1]
        return np.sum(x * x)

    for _ in range(3):
        np.testing.assert_allclose(stgrad.grad(lambda x: np.sum(x**3), jit=jit)(x), 3.0 * A**2)
    np.testing.assert_allclose(stgrad.grad(doubled, jit=jit)(x), [0.0, 10.0 * A[1], 2.0 * A[2]])
    np.testing.assert_array_equal(x, A)
    np.testing.assert_allclose(stgrad.grad(lambda p: np.sum(p["x"] ** 2) * p["k"], jit=jit)({"x": x, "k": 2.0})["x"], 4.0 * A)
    np.testing.assert_allclose(stgrad.vjp(lambda x: x**2, x, jit=jit)[1](np.ones(3))[0], 2.0 * A)
    np.testing.assert_allclose(stgrad.jvp(lambda x: x**2, (x,), (x,), jit=jit)[1], 2.0 * A**2)
    np.testing.assert_allclose(stgrad.hessian(lambda x: np.sum(x**2), jit=jit)(x), 2.0 * np.eye(3))
    assert "def" in stgrad.grad(lambda x: np.sum(x**2)).source(x)


class Metres(np.ndarray):
    pass


def test_own_subclasses_are_refused() -> None:
    with pytest.raises(NotDifferentiableError, match=r"Metres(.|\n)*pass np.asarray\(x\)"):
        stgrad.grad(lambda x: np.sum(x**2))(np.ones(3).view(Metres))
    with pytest.raises(NotDifferentiableError, match="`x` is or holds a"):
        stgrad.vjp(lambda x: x["a"] ** 2, {"a": np.ones(3).view(Metres)})
