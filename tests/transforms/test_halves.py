"""A program as two: what the first keeps for the second, and what that one copies."""

from stgrad.ir.text import dump, parse
from stgrad.transforms.buffers import buffered
from stgrad.transforms.halves import halves, repeated

WRITES_TO_WHAT_IT_READS = """
def f(x: float64['n'], y_bar: float64['n']):
    u: float64['n'] = np.sin(x)
    y: float64['n'] = np.copy(u)
    u[...] += y_bar
    b: float64['n'] = y_bar * u
    return y, b
"""

TWO_NAMES = """
def f(x: float64[4], y_bar: float64[4]):
    u: float64[4] = np.sin(x)
    if True:
        v: float64[4] = u
    else:
        v = x
    y: float64[4] = np.copy(u)
    u[...] += y_bar
    b: float64[4] = v * u
    return y, b
"""

STACK = """
def f(x: float, y_bar: float):
    s: float = stack()
    trips: int = 0
    while True:
        more: bool = x < 100.0
        if not more: break
        push(s, x)
        x = x * x
        trips = trips + 1
    g: float = y_bar
    k: int
    for k in range(0, trips, 1):
        z: float = pop(s)
        g = g * z
    return x, g
"""

ARRAYS = """
def f(x: float64['n', 2], y_bar: float64['n', 2]):
    s: float64['n', 2] = stack()
    trips: int = 0
    while True:
        total: float64 = np.sum(x)
        more: bool = total < 100.0
        if not more: break
        push(s, x)
        x = x * x
        trips = trips + 1
    g: float64['n', 2] = y_bar
    k: int
    for k in range(0, trips, 1):
        z: float64['n', 2] = pop(s)
        g = g * z
    return total, g
"""

EMPTIED_BY_BOTH = STACK.replace("    g: float = y_bar\n", "    first: float = pop(s)\n    g: float = y_bar\n").replace("return x, g", "return first, g")


def split(text):
    return halves(parse(text), ["y_bar"], 1)


def test_what_is_written_to_is_copied():
    found = split(WRITES_TO_WHAT_IT_READS)
    assert "np.copy(" in dump(found.reverse) and "np.sin(" not in dump(found.reverse)
    assert [t.array for t in found.kept] == [True]


def test_an_array_under_two_names_that_is_written_to_is_not_passed_on():
    assert split(TWO_NAMES) is None
    again = repeated(parse(TWO_NAMES), ["y_bar"], 1)
    assert "np.sin(" in dump(again.reverse) and [p.name for p in again.reverse.params] == ["x_2", "y_bar"]


def test_a_stack_of_numbers_is_a_growing_array():
    fn = buffered(parse(STACK), ["y_bar"])
    assert "push(" not in dump(fn) and "pop(" not in dump(fn)
    found = halves(fn, ["y_bar"], 1)
    assert [p.name for p in found.reverse.params] == ["s_2", "s_top", "trips", "y_bar"]
    assert "np.empty(" in dump(found.forward) and "np." not in dump(found.reverse)


def test_a_stack_of_arrays_is_their_numbers_and_extents():
    fn = buffered(parse(ARRAYS), ["y_bar"])
    assert "push(" not in dump(fn) and "np.reshape(" in dump(fn)
    found = halves(fn, ["y_bar"], 1)
    assert {p.name for p in found.reverse.params} == {"s_2", "s_top", "s_sizes_2", "s_sizes_top", "trips", "y_bar"}


def test_a_stack_of_arrays_that_something_writes_to_stays():
    fn = parse(ARRAYS.replace("        g = g * z\n", "        g = g * z\n        z[...] = 0.0\n"))
    assert buffered(fn, ["y_bar"]) is fn and halves(fn, ["y_bar"], 1) is None


def test_a_stack_that_both_take_from_stays():
    fn = parse(EMPTIED_BY_BOTH)
    assert buffered(fn, ["y_bar"]) is fn and halves(fn, ["y_bar"], 1) is None
