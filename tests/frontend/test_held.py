"""Lists of run-time length and the arrays put into them: right while neither is written to behind the other's back, else refused."""

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import errors

B = np.arange(1.0, 7.0).reshape(3, 2) / 3.0


def rows_then_array_written(b, n):
    rows = list(b)
    b[0] = 1.0
    return np.sum(rows)


def row_written_then_array_read(b, n):
    rows = [r for r in b]
    rows[0] *= 2.0
    return np.sum(b)


def part_of_row_written(b, n):
    rows = []
    for r in b:
        rows.append(r)
    rows[0][:] *= 2.0
    return np.sum(b)


def one_array_many_times(b, n):
    rows = []
    v = b[0] * 1.0
    for _ in range(n):
        rows.append(v)
    v[0] = 5.0
    return np.sum(rows)


def written_while_read(b, n):
    rows = list(b)
    s = 0.0
    for r in rows:
        s += np.sum(r)
        b[2] = b[2] * 0.5
    return s


def history_of_one_array(b, n):
    x = b[0].copy()
    history = []
    for _ in range(n):
        x[0] = x[0] * 2.0
        history.append(x)
    return np.sum(np.array(history) ** 2)


def tuple_of_rows(b, n):
    rows = tuple(b[k] for k in range(b.shape[0]))
    b[0, 0] = 7.0 * b[1, 1]
    return np.sum(rows[0] ** 2)


def unstacked(b, n):
    first = np.unstack(b)[0]
    b[0, 0] = 7.0 * b[1, 1]
    return np.sum(first * first)


def copy_of_a_list(b, n):
    rows = list(b)
    again = list(rows)
    again[0][0] = 7.0 * b[1, 1]
    return np.sum(b * b)


def slice_of_list(b, n):
    rows = []
    for i in range(n):
        rows.append(b[i] * 1.0)
    some = rows[1:]
    rows[1] *= 3.0
    return np.sum(np.array(some))


def made_in_each_iteration(b, n):
    rows = []
    for i in range(n):
        v = b[i] * 2.0
        v[0] = 5.0 * v[1]
        rows.append(v)
    return np.sum(np.array(rows) ** 2)


def copies(b, n):
    x = b[0].copy()
    history = []
    for _ in range(n):
        x[0] = x[1] * x[0]
        history.append(x.copy())
    x[1] = 3.0
    return np.sum(np.array(history) ** 2) + x[0]


def bound_anew(b, n):
    x = b[0]
    history = [x]
    for _ in range(n):
        x = x + 0.1 * np.sin(x)
        history.append(x)
    return np.sum(np.array(history) ** 2)


def bound_anew_and_written(b, n):
    x = b[0].copy()
    history = []
    for _ in range(n):
        history.append(x)
        x = x * 2.0
        x[0] = 1.0
    return np.sum(np.array(history) ** 2)


def previous_one(b, n):
    history = []
    u = np.zeros(2)
    for i in range(n):
        v = u.copy()
        v[0] = i * b[0, 0]
        history.append(v)
        u = v
    return np.sum(np.array(history) ** 2)


def items_changed_in_the_list(b, n):
    rows = []
    for i in range(n):
        rows.append(b[i] * 1.0)
    for r in rows:
        r *= 2.0
    return np.sum(np.array(rows) ** 2)


def written_before_and_list_not_read(b, n):
    rows = list(b)
    s = np.sum(rows[0]) + len(rows)
    b[0] = 1.0
    return s + np.sum(b)


def list_of(b, n):
    rows = []
    for i in range(n):
        rows.append(b[i] * 2.0)
    return rows


def taken_and_written_after_an_append(b, n):
    rows = list_of(b, n)
    first = rows[0]
    rows.append(b[0])  # the items move to a larger buffer
    first[0] = 7.0
    return np.sum(rows[0] ** 2)


def taken_and_written_in_the_list_after_an_append(b, n):
    rows = list_of(b, n)
    first = rows[0]
    rows.extend([b[0], b[1]])
    rows[0][1] = 7.0
    return np.sum(first**2)


def taken_and_written_while_the_list_grows(b, n):
    rows = list_of(b, n)
    first = rows[0]
    for k in range(20):
        if k % 3 == 1:
            rows.append(b[0] * k)
        first += 1.0
    return np.sum(rows[0] ** 2)


def taken_and_written_after_an_insert(b, n):
    rows = list_of(b, n)
    first = rows[0]
    rows.insert(0, b[1])
    first[0] = 7.0
    return np.sum(rows[1] ** 2)


def inserted_at_the_front(b, n):
    rows, u = [], b[0]
    for i in range(n):
        v = u * b[i]
        rows.insert(0, v)
        u = u + v
    return np.sum(rows[0] * rows[-1]) + np.sum(u)


def taken_and_read_after_an_append(b, n):
    rows = list_of(b, n)
    first = rows[0]
    first[1] = 3.0 * b[0, 0]
    rows.append(b[0])
    return np.sum(first * rows[0] * rows[-1])


REFUSED = [
    taken_and_written_after_an_append, taken_and_written_in_the_list_after_an_append, taken_and_written_while_the_list_grows, taken_and_written_after_an_insert,
    part_of_row_written, one_array_many_times, history_of_one_array, slice_of_list,
]  # fmt: skip
RIGHT = [
    rows_then_array_written, row_written_then_array_read, written_while_read, tuple_of_rows, unstacked, copy_of_a_list,  # with the extents compiled in
    inserted_at_the_front, taken_and_read_after_an_append,
    made_in_each_iteration, copies, bound_anew, bound_anew_and_written, previous_one, items_changed_in_the_list, written_before_and_list_not_read,
]  # fmt: skip


@pytest.mark.parametrize("program", REFUSED, ids=lambda f: f.__name__)
def test_what_both_would_see_is_refused(program):
    with pytest.raises(errors.AliasingError, match="list") as caught:
        stgrad.grad(program)(B.copy(), 3)
    assert "held.py" in str(caught.value)  # with its place


@pytest.mark.parametrize("program", RIGHT, ids=lambda f: f.__name__)
def test_what_one_sees_is_right(program):
    assert stgrad.value_and_grad(program)(B.copy(), 3)[0] == pytest.approx(program(B.copy(), 3), rel=1e-12)
    check_gradient(program, (B, 3), order=2)


def taken_and_replaced(T):
    rows = [u for u in T]
    first, again = rows[1], rows[1]
    rows[1] = first * again
    return np.sum(first) + 3.0 * np.sum(rows[1])


def swapped(T):
    rows = [u for u in T]
    for i in range(len(rows) - 1):
        rows[i], rows[i + 1] = rows[i + 1], rows[i]
    return np.sum(rows[0] * 2.0) + np.sum(rows[-1] ** 2)


def swapped_by_a_name(T):
    rows = [u for u in T]
    first = rows[0]
    rows[0] = rows[1]
    rows[1] = first
    return np.sum(rows[0] * 2.0) + np.sum(rows[1] ** 3)


def carried_along(T):
    rows = [u for u in T]
    total = 0.0
    for i in range(1, len(rows)):
        before = rows[i - 1]
        rows[i] = before * rows[i]
        total += np.sum(before * rows[i])
    return total


@pytest.mark.parametrize("program", [taken_and_replaced, swapped, swapped_by_a_name, carried_along])
def test_items_that_were_taken_out_stay_when_their_place_gets_another(program):
    check_gradient(program, (np.arange(1.0, 7.0).reshape(3, 2),), jit=True)


def test_a_place_gets_another_item_and_items_are_written_to():
    """With the extents compiled in, each row has a name of its own."""

    def program(T):
        rows = [u for u in T]
        first = rows[0]
        rows[0] = 2.0 * first
        rows[1][0] = 5.0
        return np.sum(first) + np.sum(rows[0]) + np.sum(rows[1])

    check_gradient(program, (np.ones((3, 2)),), jit=True)
