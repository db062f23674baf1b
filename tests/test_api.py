"""What `grad`, `value_and_grad`, `vjp` and `jit` take and return; names and semantics as in JAX where JAX has them."""

from __future__ import annotations

import copy
import math
import threading

import numpy as np
import pytest

import stgrad
from stgrad.errors import NotDifferentiableError

BOTH = pytest.mark.parametrize("jit", [True, False], ids=["numba", "python"])


def power(x, n):
    y = 1.0
    for _ in range(n):
        y = y * x
    return y


def weighted(a, b, c=3.0):
    return a * b**2 * c


def total(x, scale=2.0):
    return np.sum(np.sin(x) * scale)


# --------------------------------------------------------------------------- argnums


@BOTH
def test_gradient_of_the_first_argument(jit):
    assert stgrad.grad(power, jit=jit)(2.0, 3) == 12.0


@pytest.mark.parametrize(
    ("argnums", "expected"),
    [
        (0, 12.0),
        (1, 12.0),
        (-1, 4.0),
        ("c", 4.0),
        ((0,), (12.0,)),
        ((1, 0), (12.0, 12.0)),
        (("c", 0), (4.0, 12.0)),
        ([0, "b", 2], (12.0, 12.0, 4.0)),
    ],
)
def test_argnums(argnums, expected):
    assert stgrad.grad(weighted, argnums)(1.0, 2.0, 3.0) == expected


@pytest.mark.parametrize(
    ("argnums", "error", "message"),
    [
        (3, IndexError, "3 parameters by position: a, b, c"),
        (-4, IndexError, "3 parameters"),
        ("d", ValueError, "no parameter 'd', but a, b, c"),
        ((0, "a"), ValueError, "twice"),
        ((0, -3), ValueError, "twice"),
    ],
)
def test_argnums_that_name_nothing(argnums, error, message):
    with pytest.raises(error, match=message):
        stgrad.grad(weighted, argnums)


@pytest.mark.parametrize(
    ("argnums", "error", "message"),
    [(-1, ValueError, r"counts from the end of `\*rest`"), ((0, -2), ValueError, "count from the front"), ((0.0, 1), TypeError, "as an integer")],
)
def test_argnums_that_would_name_another_argument(argnums, error, message):
    def total(x, y, *rest):
        return x * y + sum(r * r for r in rest)

    with pytest.raises(error, match=message):
        stgrad.grad(total, argnums)


def test_not_a_function():
    with pytest.raises(TypeError, match="takes a function, not int"):
        stgrad.grad(0)


# --------------------------------------------------------------------------- value and auxiliary data


def test_value_and_grad():
    assert stgrad.value_and_grad(weighted)(1.0, 2.0) == (12.0, 12.0)
    assert stgrad.value_and_grad(weighted, (0, 1))(1.0, 2.0) == (12.0, (12.0, 12.0))
    assert stgrad.value_and_grad(weighted, (1,))(1.0, 2.0) == (12.0, (12.0,))


@BOTH
def test_auxiliary_data(jit):
    def f(x):
        y = x * x
        return np.sum(y), {"square": y, "count": len(x)}

    x = np.array([1.0, 2.0])
    (value, aux), gradient = stgrad.value_and_grad(f, has_aux=True, jit=jit)(x)
    assert value == 5.0
    assert aux["count"] == 2
    np.testing.assert_array_equal(aux["square"], [1.0, 4.0])
    np.testing.assert_array_equal(gradient, [2.0, 4.0])
    gradient, aux = stgrad.grad(f, has_aux=True, jit=jit)(x)
    np.testing.assert_array_equal(gradient, [2.0, 4.0])
    np.testing.assert_array_equal(aux["square"], [1.0, 4.0])


def test_auxiliary_data_must_be_a_pair():
    with pytest.raises(NotDifferentiableError, match="must return a pair"):
        stgrad.grad(power, has_aux=True)(2.0, 3)


# --------------------------------------------------------------------------- vjp


@BOTH
def test_vjp_of_an_array(jit):
    def f(x, a):
        return a * np.sin(x)

    x = np.array([0.5, 1.0])
    value, pullback = stgrad.vjp(f, x, 2.0, jit=jit)
    np.testing.assert_allclose(value, 2.0 * np.sin(x), rtol=1e-14)
    x_bar, a_bar = pullback(np.array([1.0, 10.0]))
    np.testing.assert_allclose(x_bar, 2.0 * np.cos(x) * [1.0, 10.0], rtol=1e-14)
    np.testing.assert_allclose(a_bar, np.sin(x) @ [1.0, 10.0], rtol=1e-14)


def test_vjp_of_a_structure():
    def f(x):
        return {"sum": np.sum(x), "both": (x[0], 2.0 * x)}

    value, pullback = stgrad.vjp(f, np.array([1.0, 2.0]))
    assert value["sum"] == 3.0
    (x_bar,) = pullback({"sum": 1.0, "both": (10.0, np.array([0.0, 100.0]))})
    np.testing.assert_array_equal(x_bar, [11.0, 201.0])


def test_vjp_may_be_called_again():
    _, pullback = stgrad.vjp(power, 2.0, 3)
    assert pullback(1.0) == (12.0, None)
    assert pullback(2.0) == (24.0, None)


def test_vjp_is_of_the_moment():
    """A change of the argument after the call does not reach the pullback."""
    x = np.array([1.0, 2.0])
    _, pullback = stgrad.vjp(lambda x: np.sum(x * x), x)
    x[:] = 100.0
    np.testing.assert_array_equal(pullback(1.0)[0], [2.0, 4.0])


# --------------------------------------------------------------------------- decorators


@stgrad.grad
def bare(x):
    return x * x


@stgrad.grad(argnums="y")
def with_arguments(x, y):
    return x * y * y


@stgrad.value_and_grad(argnums=(0, 1), jit=False)
def both(x, y):
    """Product."""
    return x * y


def test_decorators():
    assert bare(3.0) == 6.0
    assert with_arguments(2.0, 3.0) == 12.0
    assert both(2.0, 3.0) == (6.0, (3.0, 2.0))


def test_looks_like_the_function():
    assert both.__wrapped__(2.0, 3.0) == 6.0
    assert both.__doc__ == "Value and gradient of both with respect to x and y.\n\nProduct."
    assert both.__module__ == __name__
    assert both.__name__ == "both_grad"


def test_repr():
    assert repr(stgrad.grad(weighted, ("a", "c"))) == "<stgrad gradient of weighted(a, b, c=3.0) with respect to a, c>"
    assert "value and gradient" in repr(both)


def test_decorated_method():
    class Spring:
        def __init__(self, stiffness):
            self.stiffness = stiffness

        def energy(self, x):
            return 0.5 * self.stiffness * x * x

    spring = Spring(3.0)
    force = stgrad.grad(spring.energy)
    assert force(2.0) == 6.0
    spring.stiffness = 5.0
    assert force(2.0) == 10.0


# --------------------------------------------------------------------------- arguments


def test_defaults_and_keywords():
    assert stgrad.grad(weighted)(1.0, 2.0) == 12.0
    assert stgrad.grad(weighted)(1.0, b=2.0) == 12.0
    assert stgrad.grad(weighted)(a=1.0, c=1.0, b=2.0) == 4.0


def test_wrong_arguments_are_a_type_error():
    with pytest.raises(TypeError, match="missing"):
        stgrad.grad(weighted)(1.0)
    with pytest.raises(TypeError, match="unexpected"):
        stgrad.grad(weighted)(1.0, 2.0, d=1.0)


@BOTH
def test_structures(jit):
    def f(parameters, x):
        w, (b, c) = parameters["w"], parameters["rest"]
        return np.sum(w * x) + b * c

    parameters = {"w": np.array([1.0, 2.0]), "rest": [3.0, 4.0]}
    bar = stgrad.grad(f, jit=jit)(parameters, np.array([5.0, 6.0]))
    assert list(bar) == ["w", "rest"]
    np.testing.assert_array_equal(bar["w"], [5.0, 6.0])
    assert bar["rest"] == [4.0, 3.0]


def test_integers_have_no_derivative():
    with pytest.raises(NotDifferentiableError, match="respect to `n`"):
        stgrad.grad(power, "n")(2.0, 3)
    with pytest.raises(NotDifferentiableError, match="respect to `x`"):
        stgrad.grad(total)(np.arange(3))


def test_arrays_of_different_rank_and_dtype():
    gradient = stgrad.grad(total)
    for x in (np.ones(3), np.ones((2, 3)), np.ones((2, 1, 2), np.float32), np.ones(0), 1.0, np.float32(1.0)):
        bar = gradient(x)
        assert np.shape(bar) == np.shape(x)
        np.testing.assert_allclose(bar, 2.0 * np.cos(x), rtol=1e-6)


def test_the_result_must_be_one_number():
    with pytest.raises(NotDifferentiableError, match="one real number"):
        stgrad.grad(lambda x: x * x)(np.ones(3))
    with pytest.raises(NotDifferentiableError, match="one real number"):
        stgrad.grad(lambda x: (x, x))(1.0)


@pytest.mark.parametrize("order", ["F", "strided", "reversed", "readonly"])
def test_layouts(order):
    x = np.arange(12.0).reshape(3, 4)
    made = {"F": np.asfortranarray(x), "strided": np.repeat(x, 2, axis=1)[:, ::2], "reversed": x[::-1].copy()[::-1], "readonly": x.copy()}[order]
    made.flags.writeable = order != "readonly"
    np.testing.assert_allclose(stgrad.grad(total)(made), 2.0 * np.cos(x), rtol=1e-14)


@BOTH
def test_arguments_are_not_changed(jit):
    def f(x):
        x[0] = x[1] * 3.0
        x *= x
        return np.sum(x)

    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(stgrad.grad(f, jit=jit)(x), [0.0, 40.0])
    np.testing.assert_array_equal(x, [1.0, 2.0])


# --------------------------------------------------------------------------- dtypes of results


@BOTH
@pytest.mark.parametrize(
    ("x", "kind"),
    [
        (1.0, float),
        (np.float64(1.0), float),
        (np.float32(1.0), np.float32),
        (np.array(1.0), (np.ndarray, np.floating)),
        (np.array([1.0], np.float32), np.ndarray),
    ],
    ids=["float", "float64", "float32", "0-d", "float32 array"],
)
def test_dtype_of_the_result(x, kind, jit):
    bar = stgrad.grad(total, jit=jit)(x)
    assert isinstance(bar, kind), type(bar)
    assert np.asarray(bar).dtype == np.asarray(x).dtype
    assert np.shape(bar) == np.shape(x)
    np.testing.assert_allclose(bar, 2.0 * np.cos(1.0) * np.ones_like(x), rtol=1e-6)


# --------------------------------------------------------------------------- higher order


@BOTH
def test_gradient_of_a_gradient(jit):
    second = stgrad.grad(stgrad.grad(power), jit=jit)
    assert second(2.0, 4) == 48.0
    assert stgrad.grad(second, jit=jit)(2.0, 4) == 48.0


def test_a_gradient_inside_a_function():
    inner = stgrad.grad(lambda x: x**3)

    def f(x):
        return inner(x) ** 2

    assert stgrad.grad(f)(2.0) == pytest.approx(2 * 12.0 * 12.0)


# --------------------------------------------------------------------------- values from outside

FACTOR = 2.0
TABLE = np.array([1.0, 2.0, 3.0])


def with_globals(x):
    return np.sum(x * TABLE) * FACTOR


def test_globals_that_change(monkeypatch):
    gradient = stgrad.grad(with_globals)
    x = np.ones(3)
    np.testing.assert_array_equal(gradient(x), [2.0, 4.0, 6.0])
    monkeypatch.setitem(globals(), "FACTOR", 10.0)
    np.testing.assert_array_equal(gradient(x), [10.0, 20.0, 30.0])
    monkeypatch.setitem(globals(), "TABLE", np.array([1.0, 0.0, 0.0]))
    np.testing.assert_array_equal(gradient(x), [10.0, 0.0, 0.0])


def test_contents_of_a_global_array_that_change():
    gradient = stgrad.grad(with_globals)
    x = np.ones(3)
    np.testing.assert_array_equal(gradient(x), [2.0, 4.0, 6.0])
    TABLE[0] = 7.0
    try:
        np.testing.assert_array_equal(gradient(x), [14.0, 4.0, 6.0])
    finally:
        TABLE[0] = 1.0


def test_captured_values_that_change():
    factor = 2.0
    data = np.array([1.0, 2.0])

    def f(x):
        return np.sum(x * data) * factor

    gradient = stgrad.grad(f)
    np.testing.assert_array_equal(gradient(np.ones(2)), [2.0, 4.0])
    factor = 3.0
    np.testing.assert_array_equal(gradient(np.ones(2)), [3.0, 6.0])
    data = np.array([1.0, 1.0])
    np.testing.assert_array_equal(gradient(np.ones(2)), [3.0, 3.0])


def test_two_closures_of_one_function():
    def scaled(by):
        return lambda x: by * x * x

    assert [stgrad.grad(scaled(by))(1.0) for by in (1.0, 2.0, 3.0)] == [2.0, 4.0, 6.0]


def helper(x):
    return 2.0 * x


def calls_helper(x):
    return helper(x)


def test_a_helper_that_is_replaced(monkeypatch):
    gradient = stgrad.grad(calls_helper)
    assert gradient(1.0) == 2.0
    monkeypatch.setitem(globals(), "helper", lambda x: 5.0 * x)
    assert gradient(1.0) == 5.0


# --------------------------------------------------------------------------- the object itself


def test_deepcopy_and_copy():
    gradient = stgrad.grad(power)
    gradient(2.0, 3)
    assert copy.deepcopy(gradient)(2.0, 3) == 12.0
    assert copy.copy(gradient)(2.0, 3) == 12.0


def test_source_is_the_same_every_time():
    assert stgrad.grad(power).lowered(2.0, 3) == stgrad.grad(power).lowered(2.0, 3)


def test_source_without_arguments():
    assert "def power_grad(x, n" in stgrad.grad(power).lowered()


def test_stages():
    stages = stgrad.grad(power).stages(2.0, 3)
    assert list(stages)[:5] == ["desugar", "anf", "activity", "reverse", "optimised"] and list(stages)[-1] == "specialised"
    for text in stages.values():
        compile(text, "stage", "exec")
    assert stages["specialised"] == stgrad.grad(power).lowered(2.0, 3)


def test_python_and_numba_run_the_same_text():
    assert stgrad.grad(power, jit=False).lowered(2.0, 3) == stgrad.grad(power).lowered(2.0, 3)


def test_the_text_is_a_real_file_in_plain_python(capsys):
    def f(x):
        print("x is", x)
        return x * x

    assert stgrad.grad(f, jit=False)(3.0) == 6.0
    assert capsys.readouterr().out == "x is 3.0\n"


def test_threads():
    gradient = stgrad.grad(total)
    results = {}

    def work(k):
        results[k] = [gradient(np.full(k + 1, float(k))) for _ in range(50)][-1]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(8):
        np.testing.assert_allclose(results[k], np.full(k + 1, 2.0 * math.cos(k)), rtol=1e-12)


def test_jit_is_the_function():
    compiled = stgrad.jit(weighted)
    assert compiled(1.0, 2.0) == 12.0
    assert compiled(1.0, b=2.0, c=1.0) == 4.0
    assert stgrad.jit(power)(2, 3) == 8.0


def test_stop_gradient():
    def f(x):
        return x * stgrad.stop_gradient(x)

    assert stgrad.grad(f)(3.0) == 3.0
    assert stgrad.stop_gradient(3.0) == 3.0


@stgrad.custom_gradient
def clipped(x):
    def pullback(y_bar):
        return min(max(y_bar, -1.0), 1.0)

    return x * x, pullback


def test_custom_gradient():
    def f(x):
        return 5.0 * clipped(x)

    assert clipped(3.0) == 9.0
    assert stgrad.grad(f)(3.0) == 1.0


# --------------------------------------------------------------------------- functions written in C


def test_operations_themselves():
    assert stgrad.grad(math.sin, jit=False)(0.5) == math.cos(0.5)
    assert stgrad.grad(np.tanh, jit=False)(0.5) == pytest.approx(1.0 - np.tanh(0.5) ** 2)
    np.testing.assert_array_equal(stgrad.grad(np.sum, jit=False)(np.ones(3)), np.ones(3))
    np.testing.assert_array_equal(stgrad.value_and_grad(np.dot, (0, 1), jit=False)(np.ones(2), np.arange(2.0))[1][0], [0.0, 1.0])
    value, pullback = stgrad.vjp(np.multiply, 2.0, 3.0, jit=False)
    assert (value, pullback(1.0)) == (6.0, (3.0, 2.0))


def test_numbers_mean_parameters_by_position():
    def f(a, b, *, k=2.0):
        return a * b * b * k

    assert stgrad.grad(f, -1)(2.0, 3.0, k=5.0) == stgrad.grad(f, 1)(2.0, 3.0, k=5.0) == 60.0
    assert stgrad.grad(f, "k")(2.0, 3.0, k=5.0) == 18.0
    with pytest.raises(IndexError, match="2 parameters by position: a, b; name it if it is one of k"):
        stgrad.grad(f, 2)
