"""Integers are as large as Python's, or the program says that they are not: compared with plain Python, in both modes."""

import linecache
import math

import numpy as np
import pytest

import stgrad

MODES = pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])


def negative_power(x, n):
    return x * 2**-n + 10 ** (-n)


def quotient_of_powers(x, n):
    return x * 2**n / 2 ** (n - 1)


def shifted(x, n):
    return x * (1 << n)


def fibonacci(x, n):
    a, b = 1, 1
    for _ in range(n):
        a, b = b, a + b
    return x * a / b


def taylor(x, n):
    s, f = 0.0, 1
    for k in range(1, n + 1):
        f *= k
        s += x**k / f
    return s


def squares(x, n):
    return x * n**2 + x * (n * n * n)


def triangle(x, n):
    return x * (n * (n + 1) // 2)


def literal(x, n):
    k = 1 << 70
    return x * 2**70 / k + n


def compared(x, n):
    return x * 2**n if 2**n > 1e20 else -x


def counted(x, n):
    return x / math.factorial(n) + x * math.comb(n, n // 2)


def generator(x, n):
    s, t = 12345, 0.0
    for _ in range(n):
        s = (s * 1103515245 + 12345) % 2**31
        t += x * s
    return t


def table(x, n):
    return (x * np.arange(5.0))[2**n]


def grown(x, n):
    k = 3
    for _ in range(n):
        k = k * k % 1000003
    return x * k


def sum_of_squares(x, n):
    return x * sum(i * i for i in range(n))


def bits(x, n):
    return x * ((n >> 70) + (n & 5) + (n ^ 3))


def flat(x, n):
    a = np.ones(400) * x
    s = 0.0
    for i in range(n):
        s += a[i * n % 400]
    return s


FUNCTIONS = [
    negative_power, quotient_of_powers, shifted, fibonacci, taylor, squares, triangle, literal, compared, counted, generator, table, grown,
    sum_of_squares, bits, flat,
]  # fmt: skip


@MODES
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_python_s_result(function, jit):
    """The value, or OverflowError; never another number."""
    g = stgrad.value_and_grad(function, jit=jit)
    for n in (0, 1, 2, 3, 19, 20, 63, 64, 100, 1100):
        try:
            right = function(1.25, n)
        except (OverflowError, IndexError):
            with pytest.raises((OverflowError, IndexError)):
                g(1.25, n)
            continue
        if function in (triangle, table) and n > 60:
            continue
        value, slope = g(1.25, n)
        assert np.isclose(value, right, rtol=1e-12, atol=0.0), n
        if function not in (taylor, negative_power):
            assert np.isclose(slope, right / 1.25, rtol=1e-9) or function is literal, n


def integer_product(x, n):
    k = 1
    for i in range(1, n + 1):
        k = k * i
    return x * (k % 7)


def integer_sum(x, n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return x * (a % 10)


def integer_shift(x, n):
    return x * ((1 << n) % 3)


def integer_power(x, n):
    return x * (3**n % 5)


@MODES
@pytest.mark.parametrize("function", [integer_product, integer_sum, integer_shift, integer_power], ids=lambda f: f.__name__)
def test_what_cannot_be_a_float_is_refused(function, jit):
    g = stgrad.value_and_grad(function, jit=jit)
    for n in (0, 1, 5, 15):
        assert g(2.0, n)[0] == function(2.0, n)
    with pytest.raises(OverflowError, match=r"an integer of more than 62 bits \(line \d+.*2.0 \*\* n"):
        g(2.0, 200)


@MODES
def test_negative_exponents_and_shifts(jit):
    with pytest.raises(OverflowError, match="an integer to a negative power is a float"):
        stgrad.grad(integer_power, jit=jit)(2.0, -1)
    with pytest.raises(ValueError, match="negative shift count"):
        stgrad.grad(shifted, jit=jit)(2.0, -1)
    assert stgrad.grad(lambda x, n: x * (n % 2**64), jit=jit)(2.0, 3) == 3.0  # with n compiled in, these are Python's integers
    with pytest.raises(stgrad.errors.IntegerSizeError, match="an integer of more than 64 bits"):
        stgrad.grad(lambda x: x * (int(x) % 2**64), jit=jit)(2.0)


def test_numpy_s_integers_wrap():
    def hashed(x, seeds):
        return x * float(seeds[0] * seeds[1] % 1000)

    seeds = np.array([2**40, 2**30 + 7])
    with np.errstate(over="ignore"):
        assert stgrad.value_and_grad(hashed)(2.0, seeds)[0] == hashed(2.0, seeds)


def plain_counts(x, n):
    s, k = 0.0, 0
    for i in range(n):
        for j in range(i + 1, 2 * n + 3):
            s += x * (i - j + 3 * n)
            k += 2
    return s * (k + len(range(n)))


def test_counters_and_small_sums_are_not_tested():
    assert "Error" not in stgrad.grad(plain_counts).lowered(2.0, 3)


def random_integer(draw, depth):
    """The text of an integer expression in n and m."""
    if depth == 0 or draw.random() < 0.15:
        return str(draw.choice(["n", "m", "i", draw.integers(-3, 9), draw.integers(10, 70)]))
    a, b, c = random_integer(draw, depth - 1), random_integer(draw, depth - 1), random_integer(draw, 0)
    form = draw.choice(["({a} + {b})", "({a} - {b})", "({a} * {b})", "({a} // {b})", "({a} % {b})", "({a} ** {c})", "({a} << {c})", "({a} >> {c})",
                        "abs({a})", "min({a}, {b})", "max({a}, {b})", "(-{a})", "({a} & {b})"])  # fmt: skip
    return form.format(a=a, b=b, c=c)


MODE = (False, True)
REFUSED = (OverflowError, ZeroDivisionError, ValueError, TypeError, MemoryError)


def defined(source, name):
    """A function from its text, which the compiler can read."""
    file = f"<{name} {hash(source)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space = {"math": math, "np": np}
    exec(compile(source, file, "exec"), space)  # noqa: S102
    return space[name]


def outcome(call, *arguments):
    try:
        value = call(*arguments)
    except REFUSED as error:
        return None, error
    value = value[0] if isinstance(value, tuple) else value
    return (None, TypeError("complex")) if isinstance(value, complex) else (value, None)


@pytest.mark.parametrize("seed", range(24))
def test_random_integers(seed):
    """As a factor of a float, and as an integer: Python's number, or an error."""
    draw = np.random.default_rng(seed)
    draw = type("Draw", (), {"random": draw.random, "integers": draw.integers, "choice": staticmethod(lambda items: items[draw.integers(len(items))])})
    text = random_integer(draw, 3)
    use = ["s += x * {e}", "s += x * ({e} % 11)", "k = k + {e}", "s = s + x / ({e} + 0.5)"][seed % 4].format(e=text)
    source = f"def program(x, n, m):\n    s, k = x, 1\n    for i in range(1, 4):\n        {use}\n    return s * 1.5 + x * k\n"
    program = defined(source, "program")
    for jit in MODE:
        g = stgrad.value_and_grad(program, jit=jit)
        for n, m in ((1, 2), (-3, 5), (7, -2), (40, 33), (0, 1), (63, 64)):
            right, wrong = outcome(program, 1.25, n, m)
            value, error = outcome(g, 1.25, n, m)
            if wrong is not None:
                assert error is not None or not np.isfinite(value), (source, n, m, wrong, value)
            elif error is None:
                assert np.isclose(value, right, rtol=1e-9, atol=1e-9 * abs(right)), (source, n, m, jit)
            else:
                assert isinstance(error, (OverflowError, stgrad.errors.StgradError)), (source, n, m, jit, error)


def large_argument(x, k):
    return x * ((k + k) % 5) + x * ((k - 1) * 4 % 7) + x * (k // 3 % 11)


def large_items(x, ks):
    s = 0.0
    for k in ks["counts"]:
        s += x * (k * 8 % 13)
    return s


@pytest.mark.parametrize("jit", [False, True])
def test_integer_arguments_of_any_size(jit):
    """Among small ones and after them: what is large is compiled in."""
    one, items = stgrad.grad(large_argument, jit=jit), stgrad.value_and_grad(large_items, jit=jit)
    for k in (3, 2**47, 2**47 + 1, 2**62, -(2**60), 5, 2**63, -(2**63), 2**70, 2**62):
        assert one(1.0, k) == large_argument(1.0, k)
        if abs(k) <= 2**62:
            given = {"counts": (1, k, 7)}
            assert items(2.0, given) == (large_items(2.0, given), large_items(1.0, given))
