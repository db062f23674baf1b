"""Names that only some paths assign: UnboundLocalError where Python raises it, no cost where it cannot come to that."""

from dataclasses import dataclass

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import errors
from stgrad.errors import RunsPlainlyWarning


def one_side(x, c):
    if c > 0.0:
        y = x * x
    return y


def set_in_every_trip(x, n):
    for i in range(n):
        s = x * (i + 1.0)
    return s


def counter_after_loop(x, n):
    for i in range(n):
        pass
    return x * i


def previous_trip(x, n):
    s = 0.0
    for i in range(n):
        if i > 0:
            s += prev * x  # noqa: F821
        prev = x * i + x * x  # noqa: F841
    return s


def previous_array(x, n):
    total = 0.0
    for k in range(n):
        if k:
            total += np.sum(old * x)  # noqa: F821
        old = x * k  # noqa: F841
    return total


def previous_trip_of_inner_loop(x, n):
    for i in range(3):
        for j in range(n):
            if j + i > 0:
                x = x * last  # noqa: F821
            last = 1.0 + x * j
    return x * last


def deleted(x, c):
    y = x
    if c > 0.0:
        del y
    return y * 2.0


def found(x, n):
    for i in range(n):
        if x * i > 3.0:
            t = x * i
            break
    return t


def while_loop(x, n):
    k = 0
    while k < n:
        z = x * k
        k += 1
    return z


def rows(x):
    for v in x:
        w = v * v
    return w


def nested(x, n):
    for i in range(n):
        for j in range(i):
            q = x * i * j
    return q


def in_closure(x, c):
    def inner():
        return y * 3.0

    if c > 0.0:
        y = x * x
    return inner()


def conditional_read(x, c):
    if c > 0.0:
        y = x * x
    return 1.0 * x if c < 0.0 else y


def augmented(x, c):
    if c > 0.0:
        y = x
    y += 1.0
    return y * x


def array(x, c):
    if c > 0.0:
        y = x.copy()
    return np.sum(y * y)


def rebound_in_loop(x, c):
    if c > 0.0:
        y = x
    s = x
    for _ in range(3):
        s = s * y
        y = s + 1.0
    return s


def walrus(x, c):
    if c > 0.0 and (y := x * x) > 1.0:
        c = c * y
    return y + c


@dataclass
class Pair:
    first: float
    second: float


def list_of_loop(x, c):
    for i in range(len(x)):
        best = [x[i], c]
    return best[0] * c * best[1]


def list_of_loop_never_read(x, c):
    for i in range(len(x)):
        best = [x[i], c]  # noqa: F841
    return x[0] * c


def arrays_in_list(x, c):
    for _ in range(3):
        y = x * c
        best = [y, x]
    return np.sum(best[0] * x) + np.sum(best[1])


def dict_of_loop(x, c):
    for i in range(len(x)):
        best = {"a": x[i], "c": c}
    return best["a"] * c * best["c"]


def dataclass_of_loop(x, c):
    for i in range(len(x)):
        best = Pair(x[i], c)
    return best.first * c * best.second


def list_of_branch(x, c):
    y = x * 2.0
    if c > 0:
        best = [y, c]
    y[0] = 5.0
    return best[0][1] * c * best[1] * best[0][0]


def list_of_branch_then_loop(x, c, n):
    if c > 0:
        best = [x[0] * c, c]
    for i in range(n):
        best = [x[i], 2.0 * c]
    return best[0] * best[1] * c


def list_of_earlier_trip(x, c):
    for i in range(len(x)):
        if i > 0:
            c = c + best[0] * best[1]  # noqa: F821
        best = [x[i], c]  # noqa: F841
    return c


def array_of_first_trip(x, n):
    for i in range(n):
        if i == 0:
            a = 2.0 * x
        x = x + a
    return np.sum(x)


def changed_on_one_path(x, n):
    if n % 2 == 0:
        n += 1
    return np.sum(np.ones(6)[:n]) * x


def changed_in_loop(x, n):
    k = 1
    while k < n:
        k *= 2
    w = np.ones(20) * x
    return np.sum(w[:k]) + 2.0 * np.sum(w[k:])


VECTOR = np.array([1.0, 2.0, 3.0])
ASSIGNED = [
    (one_side, (2.0, 1.0)), (set_in_every_trip, (2.0, 3)), (counter_after_loop, (2.0, 3)), (previous_trip, (1.5, 4)), (previous_trip, (1.5, 0)),
    (previous_array, (VECTOR, 4)), (previous_trip_of_inner_loop, (0.5, 3)), (deleted, (1.0, -1.0)), (found, (2.0, 5)), (while_loop, (2.0, 3)),
    (rows, (VECTOR,)), (nested, (2.0, 4)), (in_closure, (2.0, 1.0)), (conditional_read, (2.0, 1.0)), (conditional_read, (2.0, -1.0)),
    (augmented, (1.5, 1.0)), (array, (VECTOR, 1.0)), (rebound_in_loop, (1.2, 1.0)), (walrus, (2.0, 1.0)),
    (list_of_loop, (VECTOR, 0.5)), (list_of_loop_never_read, (VECTOR, 0.5)), (arrays_in_list, (VECTOR, 0.5)), (dict_of_loop, (VECTOR, 0.5)),
    (dataclass_of_loop, (VECTOR, 0.5)), (list_of_branch, (VECTOR, 0.5)), (list_of_branch_then_loop, (VECTOR, 0.5, 2)),
    (list_of_branch_then_loop, (VECTOR, 0.5, 0)), (list_of_branch_then_loop, (VECTOR, -0.5, 2)), (list_of_earlier_trip, (VECTOR, 0.5)),
    (array_of_first_trip, (VECTOR, 4)), (changed_on_one_path, (0.7, 3)), (changed_on_one_path, (0.7, 2)), (changed_in_loop, (0.7, 5)),
]  # fmt: skip
UNASSIGNED = [
    (one_side, (2.0, -1.0)), (set_in_every_trip, (2.0, 0)), (counter_after_loop, (2.0, 0)), (previous_trip_of_inner_loop, (0.5, 0)),
    (deleted, (1.0, 1.0)), (found, (0.1, 5)), (while_loop, (2.0, 0)), (rows, (np.zeros(0),)), (nested, (2.0, 1)), (conditional_read, (2.0, 0.0)),
    (augmented, (1.5, -1.0)), (array, (VECTOR, -1.0)), (rebound_in_loop, (1.2, -1.0)), (walrus, (2.0, -1.0)),
    (list_of_loop, (np.zeros(0), 0.5)), (dict_of_loop, (np.zeros(0), 0.5)), (list_of_branch, (VECTOR, -0.5)), (list_of_branch_then_loop, (VECTOR, -0.5, 0)),
]  # fmt: skip


def names(case):
    return case.__name__ if callable(case) else None


@pytest.mark.parametrize(("function", "args"), ASSIGNED, ids=names)
def test_where_it_is_assigned(function, args):
    assert stgrad.value_and_grad(function, jit=False)(*args)[0] == pytest.approx(function(*args), rel=1e-14)
    check_gradient(function, args, order=2)


@pytest.mark.parametrize(("function", "args"), ASSIGNED[19:], ids=names)
def test_where_it_is_assigned_in_native_code(function, args):
    value, gradients = stgrad.value_and_grad(function, argnums=(0,))(*args)
    assert value == pytest.approx(function(*args), rel=1e-12)
    expected = stgrad.grad(function, argnums=(0,), jit=False)(*args)
    np.testing.assert_allclose(gradients[0], expected[0], rtol=1e-12)


@pytest.mark.parametrize(("function", "args"), UNASSIGNED, ids=names)
def test_raises_as_python_does(function, args):
    with pytest.raises(UnboundLocalError) as expected:
        function(*args)
    for transform in (stgrad.grad, stgrad.value_and_grad):
        with pytest.raises(UnboundLocalError) as got:
            transform(function, jit=False)(*args)
        assert str(got.value) == str(expected.value)


def test_raises_when_compiled():
    assert stgrad.grad(one_side)(2.0, 1.0) == 4.0
    with pytest.raises(UnboundLocalError):
        stgrad.grad(one_side)(2.0, -1.0)


def test_no_flag_where_the_assignment_is_certain():
    def certain(x, n):
        if x > 0.0:
            y = x
        elif x < -1.0:
            y = -x
        else:
            raise ValueError("no")
        while True:
            z = y * n
            if z > 1.0:
                break
        return z

    assert "UnboundLocalError" not in stgrad.grad(certain).lowered(2.0, 3)


def test_one_comparison_for_a_loop():
    """What every trip assigns is there if there was a trip: nothing is added to the loop."""
    text = stgrad.grad(set_in_every_trip).lowered(2.0, 3)
    assert "if not n > 0:\n        raise UnboundLocalError" in text


def test_certainly_unassigned_is_said_at_compile_time():
    def never(x):
        y = x
        del y
        return y * x  # noqa: F821

    with pytest.raises(errors.UndefinedNameError, match="`y` may be unassigned here"):
        stgrad.grad(never)(1.0)


def test_del_of_entries():
    def entries(x):
        held = [x, x * x, x * x * x]
        named = {"a": x, "b": x * x}
        del held[1], named["a"]
        return sum(held) + sum(named.values())

    check_gradient(entries, (1.5,), order=2)


def counter_read_behind_its_loop(x):
    y = np.zeros(3)
    for e in x:
        for i in range(2):
            y[i] += e
        else:
            last = i
        y[last] *= 2.0
    return np.sum(y * y)


def dead_condition(x, n):
    if n > 3:
        v = x
    if v > 0.0:
        pass
    return x * x


def dead_condition_out_of_bounds(x, n):
    y = np.zeros(n) + x
    if y[3] > 0.0:
        pass
    return x * x


@pytest.mark.parametrize("jit", [False, True])
def test_counters_of_inner_loops(jit):
    check_gradient(counter_read_behind_its_loop, (np.array([0.3, -0.7, 1.1]),), jit=jit)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize(("function", "problem"), [(dead_condition, UnboundLocalError), (dead_condition_out_of_bounds, IndexError)])
def test_conditions_that_decide_nothing_are_evaluated(function, problem, jit):
    gradient = stgrad.grad(function, jit=jit)
    assert gradient(2.0, 4) == 4.0
    with pytest.raises(problem):
        gradient(2.0, 3)


def rank_by_path(d, a, n):
    for _ in range(n):
        v = a * d
        if d > 0.95:
            v = np.ones((5, 2))
    return d**2 * np.sum(v)


def rank_by_path_before_it_is_bound(d, a, n):
    total = 0.0
    for i in range(n):
        if i > 0:
            total += np.sum(v) * d  # noqa: F821
        v = d  # noqa: F841
        if i > 1:
            v = a * d  # noqa: F841
    return total


def swapped_pair(d, a, n):
    i = 0
    while i < n:
        pair = (a, d)
        if d > 0.95:
            pair = (d, a)
        i += 1
    return d**2 * np.sum(pair[0])


@pytest.mark.parametrize("f", [rank_by_path, swapped_pair])
@pytest.mark.parametrize("d", [0.9, 1.0])
@pytest.mark.parametrize("jit", [False, True])
def test_one_of_two_ranks_is_read_behind_the_loop_that_binds_it(f, d, jit):
    a, step = np.ones((2, 1, 2)), 1e-6
    found = stgrad.grad(f, jit=jit)(d, a, 3)
    assert found == pytest.approx((f(d + step, a, 3) - f(d - step, a, 3)) / (2 * step), rel=1e-7)
    with pytest.raises(UnboundLocalError):
        stgrad.grad(f, jit=jit)(d, a, 0)


@pytest.mark.parametrize("f", [rank_by_path_before_it_is_bound])
@pytest.mark.parametrize("d", [0.9, 1.0])
def test_what_no_variable_can_hold_is_not_read_in_the_next_trip(f, d, monkeypatch):
    """A branch that leaves values of two ranks makes the name unreadable, through the ends of loops; the recorded run is right."""
    a, step, n = np.ones((2, 1, 2)), 1e-6, 70  # more trips than are written out
    monkeypatch.delenv("STGRAD_PLAIN", raising=False)
    with pytest.warns(RunsPlainlyWarning):
        found = stgrad.grad(f)(d, a, n)
    assert found == pytest.approx((f(d + step, a, n) - f(d - step, a, n)) / (2 * step), rel=1e-7)
    with pytest.raises(errors.TypeInferenceError, match="on one path"):
        stgrad.grad(f, jit=True)(d, a, n)
    few = stgrad.grad(f, jit=True)(d, a, 3)
    assert few == pytest.approx((f(d + step, a, 3) - f(d - step, a, 3)) / (2 * step), rel=1e-7)


def no_trip_binds(x, n):
    for _ in range(0, n, 2):
        for i in range(0):
            x = x * i
        if x > 0.5 and i in (0, 3):  # noqa: B007
            unused = x  # noqa: F841
    return x


def no_trip_binds_in_two_loops(x, n):
    for _ in range(n):
        for _ in range(n):
            if x > 0.5:
                x = x * y  # noqa: F821
            for y in ():  # noqa: B007
                x = 2.0 * x
    return x


def bound_where_another_is_missing(x, n):
    for k in range(n):
        if k > 1:
            z = y * x  # noqa: F821
        if k > 0:
            y = v * x  # noqa: F821, F841
        v = x  # noqa: F841
    return z


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [no_trip_binds, no_trip_binds_in_two_loops])
def test_a_side_that_reads_what_no_trip_binds_is_not_left_out(f, jit):
    """The side was taken for one that the first trip does not come to, which no other trip came to either."""
    with pytest.raises(UnboundLocalError):
        f(1.0, 2)
    with pytest.raises(UnboundLocalError):
        stgrad.grad(f, jit=jit)(1.0, 2)
    assert stgrad.grad(f, jit=jit)(0.25, 2) == 1.0


@pytest.mark.parametrize("jit", [False, True])
def test_names_that_wait_for_each_other(jit):
    g = stgrad.value_and_grad(bound_where_another_is_missing, jit=jit)
    assert g(1.5, 4) == (1.5**3, 3 * 1.5**2)
    with pytest.raises(UnboundLocalError):
        g(1.5, 1)
