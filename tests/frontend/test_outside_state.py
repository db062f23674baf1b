"""What a program may not do silently: change what is outside, use an iterator twice, compute with made-up texts."""

import numpy as np
import pytest

import stgrad
from stgrad import errors
from tests.thorough import check_gradient

HISTORY = []
TABLE = {"a": 1.0}
NESTED = [[1.0]]


class Holder:
    def __init__(self):
        self.items = []


HOLDER = Holder()


def appends_to_a_global(x):
    HISTORY.append(x)
    return x * x


def sets_a_global_entry(x):
    TABLE["a"] = x
    return TABLE["a"] * x


def adds_to_a_global_entry(x):
    TABLE["a"] += 1.0
    return TABLE["a"] * x


def changes_a_nested_global(x):
    NESTED[0].append(2.0)
    return x * len(NESTED[0])


def changes_a_global_object(x):
    HOLDER.items.append(x)
    return x


def helper_with_a_default(x, seen=[]):  # noqa: B006
    seen.append(1.0)
    return x * len(seen)


def changes_a_default(x):
    return helper_with_a_default(x)


@pytest.mark.parametrize(
    "function",
    [appends_to_a_global, sets_a_global_entry, adds_to_a_global_entry, changes_a_nested_global, changes_a_global_object, changes_a_default],
)
def test_changes_outside_are_refused_and_not_made(function):
    with pytest.raises(errors.AliasingError, match="from outside of it"):
        stgrad.grad(function, jit=False)(2.0)
    assert (HISTORY, TABLE, NESTED, HOLDER.items, helper_with_a_default.__defaults__) == ([], {"a": 1.0}, [[1.0]], [], ([],))


def zip_twice(x):
    pairs = zip([x, x], [1.0, 2.0])
    return sum(a * b for a, b in pairs) + sum(a * b for a, b in pairs)


def map_twice(x):
    scaled = map(lambda t: t * x, [1.0, 2.0])
    return sum(scaled) + sum(scaled)


def generator_twice(x):
    scaled = (t * x for t in [1.0, 2.0])
    return sum(scaled) + sum(scaled)


def iterator_in_every_trip(x):
    scaled, s = map(lambda t: t * x, [1.0, 2.0]), 0.0
    for _ in range(3):
        s += sum(scaled)
    return s


@pytest.mark.parametrize("function", [zip_twice, map_twice, generator_twice, iterator_in_every_trip])
def test_an_iterator_is_used_once(function):
    with pytest.raises(errors.UnsupportedSyntaxError, match="an iterator is used a second time"):
        stgrad.grad(function, jit=False)(2.0)


def compared_text(x):
    return x if f"{x}" == "2.0" else 0.0


def text_as_key(x):
    return {"2.0": x}.get(str(x), 0.0)


def length_of_text(x):
    return x * len(str(x))


@pytest.mark.parametrize("function", [compared_text, text_as_key, length_of_text])
def test_texts_of_run_time_values_are_for_printing(function):
    with pytest.raises(errors.NeedStaticError, match="for more than printing"):
        stgrad.grad(function, jit=False)(2.0)


def test_known_texts_may_be_used():
    def keyed(x, n):
        return {"w_2": x * x}[f"w_{n}"] * len(str(n))

    assert stgrad.grad(keyed, jit=False)(3.0, 2) == 6.0


class Empty:
    def __len__(self):
        return 0


class No:
    def __bool__(self):
        return False


@pytest.mark.parametrize("cls", [Empty, No])
def test_truth_of_instances(cls):
    def chosen(x):
        return x if cls() else x * x

    assert stgrad.grad(chosen, jit=False)(3.0) == 6.0


def test_dicts_of_run_time_values_are_compared():
    def compared(x):
        same = {"a": x, "b": 1.0} == {"b": 1.0, "a": 2.0 * x - 2.0}
        other = {"a": x} != {"b": x}
        return x * x if same and other else x

    assert stgrad.grad(compared, jit=False)(2.0) == 4.0
    assert stgrad.grad(compared, jit=False)(3.0) == 1.0


def test_identity_of_run_time_values_is_refused():
    def identical(x):
        y = x + 0.0
        return x * x if y is x else x

    with pytest.raises(errors.UnsupportedSyntaxError, match="`is` of two values"):
        stgrad.grad(identical, jit=False)(2.0)


def test_shapes_are_compared_when_the_program_runs():
    def by_shape(x):
        return np.sum(x * x) if x.shape == (3,) else np.sum(x)

    g = stgrad.grad(by_shape, jit=False)
    assert g(np.ones(3)).tolist() == [2.0, 2.0, 2.0]
    assert g(np.ones(2)).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("jit", [False, True])
def test_defaults_that_are_set_between_calls(jit):
    """Also before the second call, whose wrapper knows of no program yet."""

    def power(x, k=2.0, *, scale=1.0):
        return scale * x**k

    gradient = stgrad.grad(power, jit=jit)
    assert gradient(1.5) == 3.0
    power.__defaults__ = (3.0,)
    assert gradient(1.5) == 6.75
    power.__kwdefaults__ = {"scale": 2.0}
    for _ in range(3):
        assert gradient(1.5) == 13.5


WEIGHTS, OTHERS = np.array([1.0, 2.0, 3.0]), np.array([2.0, 1.0, 0.5])


def chooses_an_array_from_outside(x):
    own, s = np.array([x[0], x[1], 1.0]), 0.0
    for i in range(3):
        s = s + np.sum((own if i == 1 else WEIGHTS) * x)
    return s


def lists_arrays_from_outside(x):
    own = x * 2.0
    own[1] = x[0]
    return sum(np.sum([OTHERS, own, WEIGHTS][i] ** 2 * x[i]) for i in range(len(x)))


def writes_to_what_it_chose(x):
    a = x * 2.0
    for i in range(3):
        if i == 2:
            a[0] = 5.0 * x[1]
        a = WEIGHTS if i == 1 else x * 3.0
    return a.sum()


@pytest.mark.parametrize("function", [chooses_an_array_from_outside, lists_arrays_from_outside])
def test_arrays_from_outside_beside_arrays_that_are_filled(function):
    check_gradient(function, (np.array([0.4, 1.2, 0.7]),))


def test_an_array_from_outside_that_is_written_to_where_it_was_chosen():
    with pytest.raises(errors.AliasingError, match="array from outside of it"):
        stgrad.grad(writes_to_what_it_chose, jit=True)(np.array([0.4, 1.2, 0.7]))
