"""Arrays that hold one number everywhere are that number, where it is exact; what is guarded else has one name in the text that people read."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from fuzz.reference import load

import stgrad
from stgrad import runtime
from stgrad.frontend import read
from stgrad.ir.ops import TABLE
from stgrad.printer import to_source
from stgrad.program import spec_of
from stgrad.testing import check_gradient
from stgrad.transforms.simplify import simplify
from stgrad.transforms.uniform import uniform


def masked_pairs(w, y):
    z = y[w > 0.2]
    return np.sum(z[1:] * z[:-1])


def roots(x):
    return np.sum(np.sqrt(x[x > 0.5])) + np.sum(np.where(x > 0.5, np.log(x + 1.0), x))


def scaled_in_a_loop(x, w):
    """The number that fills the cotangent is another one in each iteration."""
    total = 0.0
    for k in range(3):
        y = x * (k + 1.0)
        y[y < 0.3] = 0.0
        total += w[k] * np.sum(np.sqrt(y + 1.0) * x)
    return total


def diagonal(x):
    """Elements among zeros are not one number everywhere."""
    return np.sum(np.sin(np.diag(np.ones(3)) * x + x[0])) + np.sum(np.eye(3)[:, ::-1] * x**0 * x)


def overwritten(x):
    """An array that held one number, and does no more."""
    y = np.ones(x.shape[0])
    y[1] = x[0] * 2.0
    z = np.full(x.shape[0], 2.0)
    view = z[1:]
    view[0] = x[2]
    return np.sum(y * x) + np.sum(z * x**2)


X = np.array([0.7, 1.3, 0.2])
CASES: list[tuple[Any, tuple[Any, ...], int]] = [
    (masked_pairs, (np.array([0.1, 0.5, 0.7, 0.9]), np.array([1.0, 2.0, 4.0, 7.0])), 1), (roots, (X,), 0),
    (scaled_in_a_loop, (X, np.array([0.5, 2.0, 1.0])), 0),
    (diagonal, (X,), 0), (overwritten, (X,), 0),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arguments", "argnum"), CASES, ids=lambda case: getattr(case, "__name__", ""))
@pytest.mark.parametrize("order", [1, 2])
def test_against_differences(function: Any, arguments: tuple[Any, ...], argnum: int, order: int) -> None:
    check_gradient(function, arguments, argnums=argnum, order=order)


@pytest.mark.parametrize(("function", "arguments", "argnum"), CASES, ids=lambda case: getattr(case, "__name__", ""))
def test_the_text_for_people_runs(function: Any, arguments: tuple[Any, ...], argnum: int) -> None:
    gradient = stgrad.grad(function, argnum)
    namespace: dict[str, Any] = {}
    exec(gradient.source(*arguments), namespace)  # noqa: S102
    np.testing.assert_allclose(namespace[gradient.__name__](*arguments), gradient(*arguments), rtol=1e-12)


def test_no_test_of_a_number_that_is_known() -> None:
    gradient = stgrad.grad(masked_pairs, 1)
    for text in (gradient.source(*CASES[0][1]), gradient.lowered(*CASES[0][1])):
        assert "isfinite" not in text
        assert "1.0 *" not in text
        assert "== 0.0" not in text
    assert "isfinite" not in stgrad.grad(lambda x: np.sum(np.sqrt(np.maximum(x, 0.5) * 1.0)[1:])).lowered(X).split("for")[0]
    assert "pow" not in stgrad.hessian(lambda x: np.sum(np.sin(x) ** 2)).lowered(X)


def test_a_guarded_product_has_one_name() -> None:
    gradient = stgrad.grad(lambda x: np.sum(np.where(x > 0.0, 1.0 / x, 0.0)))
    text = gradient.source(X)
    assert "runtime.safe_product(" in text
    assert "isfinite" not in text
    assert "== 0.0 else" in gradient.lowered(X)  # the test of the cotangent
    with np.errstate(divide="ignore"):
        assert gradient(np.array([0.0, 2.0])).tolist() == [0.0, -0.25]


def test_safe_product() -> None:
    np.testing.assert_array_equal(runtime.safe_product(np.array([0.0, 0.0, 2.0]), np.array([np.inf, np.nan, 3.0])), [0.0, 0.0, 6.0])
    assert np.isnan(runtime.safe_product(1.0, np.nan))
    assert runtime.safe_product(0.0, 5.0) == 0.0


# --------------------------------------------------------------------------- every operation, against NumPy

MOVES = {
    "np.transpose": ("np.transpose({0})",), "np.squeeze": ("np.squeeze({0}[None], 0)",), "np.expand_dims": ("np.expand_dims({0}, 1)[:, 0]",),
    "np.swapaxes": ("np.swapaxes({0}, 0, 1)",), "np.moveaxis": ("np.moveaxis({0}, 0, 1)",), "np.diagonal": ("np.diagonal({0})[None] + np.zeros((2, 2))",),
    "np.broadcast_to": ("np.broadcast_to({0}[0], (2, 2))", "np.broadcast_to({0}, (3, 2, 2))[1]"),
    "np.lib.stride_tricks.sliding_window_view": ("np.lib.stride_tricks.sliding_window_view({0}, 2, 1)[:, 0]",),
    "np.diag": ("np.diag({0}[0])", "np.diag({0}[0, 1:], 1)", "np.diag({0}[:, 0])[::-1]", "np.diag(np.diag({0}))"),
    "np.reshape": ("np.reshape({0}, (4, 1)).reshape(2, 2)", "np.reshape({0}, (2, 2), order='F')"), "np.ravel": ("np.ravel({0}).reshape(2, 2)",),
    "np.asarray": ("np.asarray({0})",), "np.asanyarray": ("np.asanyarray({0})",), "np.asfortranarray": ("np.asfortranarray({0})",),
    "np.array": ("np.array({0})", "np.array([{0}[0], {1}[1]])"), "np.astype": ("np.astype({0}, {dtype})", "{0}.astype({dtype})"),
    "np.ascontiguousarray": ("np.ascontiguousarray({0})",), "np.copy": ("np.copy({0})",), "np.concatenate": ("np.concatenate([{0}[:1], {1}[1:]])",),
    "np.stack": ("np.stack([{0}[0], {1}[1]])",), "np.repeat": ("np.repeat({0}[:1], 2, axis=0)",), "np.tile": ("np.tile({0}[0], (2, 1))",),
    "np.tril": ("np.tril({0})", "np.tril({0}, -1)"), "np.triu": ("np.triu({0})", "np.triu({0}, 1)"), "np.roll": ("np.roll({0}, 1)",),
    "getitem": ("{0}[::-1]", "{0}[:, [1, 0]]", "{0}[:, 1:][:, [0, 0]]", "{0}.T"), "alias": ("{0}",), "stop_gradient": ("stgrad.stop_gradient({0})",),
}  # fmt: skip
FILLS = ("np.full(k.shape, {n})", "np.full_like(x, {n})", "np.full_like(k, {n})", "np.full_like(m, {n})", "np.ones_like(x)", "np.ones(x.shape)",
         "np.ones_like(s)", "np.zeros_like(x)", "np.full(k.shape, c)", "np.full(k.shape, x[0, 1])", "np.full_like(x, r)", "x ** 0",
         "np.full(k.shape, {n}, dtype={dtype})")  # fmt: skip
NUMBERS = ("1.0", "0.0", "-0.0", "2.5", "-3.0", "1", "0", "3", "True", "False", "np.nan", "np.inf", "1e300")
PROBES = ("{0} * x", "{0} == x", "np.where({0}, x, s)", "np.where({0} > 0.5, k, x)", "np.where({0} > 0.5, x, m)")  # where a number that is known shows
DTYPES = ("np.float64", "np.float32", "bool", "np.int64", "np.int8")
OUTSIDE = ("stretch", "runtime.reshape", "runtime.opaque", "with_room")  # written by passes that run later, for text, or for lists


def elementwise() -> list[str]:
    """The operations on elements that NumPy has, as calls."""
    names = [n for n, known in TABLE.items() if known.scalar and known.fused and n.startswith("np.") and n not in ("np.where", "np.clip")]
    found = [f"{n}({', '.join(f'{{{i}}}' for i in range(getattr(np, n[3:]).nin))})" for n in names]
    return [*found, "np.where({0}, {1}, {2})", "np.clip({0}, {1}, {2})"]


def works(expression: str, names: dict[str, Any]) -> bool:
    """Whether NumPy computes it, to an array of two rows of two of a dtype that programs have."""
    try:
        made = eval(expression, names)  # noqa: S307
    except (TypeError, ValueError, OverflowError, np.exceptions.DTypePromotionError):
        return False
    return isinstance(made, np.ndarray) and made.shape == (2, 2) and made.dtype.kind in "fiub" and made.dtype != np.float16


def random_program(seed: int, arguments: dict[str, Any]) -> tuple[str, list[str]]:
    """A function that applies operations to filled arrays and others, and the names of all that it computes."""
    rng, pool = np.random.default_rng(seed), ["x", "k", "m", "s"]
    names, lines = {"np": np, "stgrad": stgrad, **arguments}, []
    moving = [form for forms in MOVES.values() for form in forms]
    groups = [list(FILLS), moving, elementwise(), ["np.where({0} > 0, {1}, {2})", "{0} * {1}", "{0} * {n}", "{n} + {0}", "{0} == {n}"]]
    while len(lines) < 14:
        group = groups[0 if len(lines) < 4 else rng.choice(4, p=[0.1, 0.3, 0.4, 0.2])]
        operands = [str(rng.choice(pool[-8:] if rng.random() < 0.7 else pool)) for _ in range(3)]
        text = group[rng.integers(len(group))].format(*operands, n=rng.choice(NUMBERS), dtype=rng.choice(DTYPES))
        if works(text, names):
            name = f"a{len(lines)}"
            names[name] = eval(text, names)  # noqa: S307
            lines.append(f"    {name} = {text}")
            pool.append(name)
    made = [*pool[4:], *(form.format(a) for a in pool[4:] for form in PROBES if works(form.format(a), names))]
    return f"def f({', '.join(arguments)}):\n" + "\n".join([*lines, f"    return {', '.join(made)}"]), made


ARGUMENTS = {
    "x": np.array([[0.7, -1.3], [0.2, 2.0]]), "k": np.array([[1, 0], [3, 2]]), "m": np.array([[True, False], [False, True]]),
    "s": np.array([[0.5, -0.25], [1.5, 2.0]], np.float32), "c": 1.75, "r": np.float32(0.3),
}  # fmt: skip


def test_forms_of_every_operation_that_is_let_through() -> None:
    moving = {name for name, known in TABLE.items() if known.kind in ("identity", "copy", "element", "move")}
    assert moving - set(OUTSIDE) == MOVES.keys()


@pytest.mark.parametrize("seed", range(8))
def test_random_programs_give_what_numpy_gives(seed: int) -> None:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text, made = random_program(seed, ARGUMENTS)
        function = load(f"import numpy as np\nimport stgrad\n\n\n{text}\n")["f"]
        expected = function(*ARGUMENTS.values())
        program = uniform(simplify(read(function, {n: spec_of(v, n) for n, v in ARGUMENTS.items()}).function))
        names: dict[str, Any] = {}
        exec(to_source(program), names)  # noqa: S102
        found = names["f"](*ARGUMENTS.values())
    for name, a, b in zip(made, expected, found, strict=True):
        assert a.dtype == b.dtype, f"{name} of\n{text}\n{to_source(program)}"
        np.testing.assert_allclose(b, a, rtol=1e-6 if a.dtype == np.float32 else 1e-14, err_msg=f"{name} of\n{text}\n{to_source(program)}")
