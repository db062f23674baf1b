"""The callable object: pickles, compiles once for each signature, binds like the function."""

from __future__ import annotations

import copy
import functools
import gc
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import weakref

import numpy as np
import pytest

import stgrad


def quadratic(x, a=1.0):
    return a * np.sum(x * x)


GRADIENT = stgrad.grad(quadratic)


def test_pickles():
    again = pickle.loads(pickle.dumps(GRADIENT))
    np.testing.assert_array_equal(again(np.ones(2)), [2.0, 2.0])
    assert repr(again) == repr(GRADIENT)


def test_pickles_after_a_call():
    GRADIENT(np.ones(2))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(GRADIENT))(np.ones(2)), [2.0, 2.0])


def test_pickles_into_another_process(tmp_path):
    (tmp_path / "shared.py").write_text("def cube(x):\n    return x ** 3\n")
    write = "import pickle, stgrad, shared; g = stgrad.grad(shared.cube); g(1.0); open('g', 'wb').write(pickle.dumps(g))"
    read = "import pickle; print(pickle.load(open('g', 'rb'))(2.0))"
    subprocess.run([sys.executable, "-c", write], cwd=tmp_path, check=True)
    done = subprocess.run([sys.executable, "-c", read], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "12.0"


def test_the_second_process_compiles_nothing(tmp_path):
    program = textwrap.dedent("""
        import sys, numpy as np, stgrad
        from numba.core import event

        compiled = []

        class Watch(event.Listener):
            def on_start(self, e):
                compiled.append(e.data["dispatcher"])

            def on_end(self, e):
                pass

        event.register("numba:compile", Watch())

        def f(x):
            return np.sum(x * x)

        assert (stgrad.grad(f)(np.ones(3)) == 2.0).all()
        print(len(compiled))
    """)
    script = tmp_path / "program.py"
    script.write_text(program)
    environment = {**os.environ, "STGRAD_CACHE_DIR": str(tmp_path / "cache")}
    first, second = (
        int(subprocess.run([sys.executable, str(script)], env=environment, check=True, capture_output=True, text=True).stdout) for _ in range(2)
    )
    assert first > 0
    assert second == 0


def programs(gradient):
    """How many programs a gradient has made or found on disk."""
    return len(gradient._known)


def test_one_program_for_each_signature():
    gradient = stgrad.grad(quadratic)
    for n in range(5, 8):
        gradient(np.ones(n))
    assert programs(gradient) == 1
    gradient(np.ones((5, 5)))
    gradient(np.ones(6, np.float32))
    assert programs(gradient) == 3
    gradient(np.ones(6), 2.0)
    gradient(np.ones(6), a=5.0)
    assert programs(gradient) == 3
    gradient(np.ones(1))  # an extent of 1 broadcasts: another program
    assert programs(gradient) == 4


def test_many_signatures():
    """More than the wrapper checks inline."""
    gradient = stgrad.grad(quadratic)
    for _ in range(2):
        for rank in range(1, 13):
            np.testing.assert_array_equal(gradient(np.ones((1,) * rank)), np.full((1,) * rank, 2.0))
    assert programs(gradient) == 12


def test_static_arguments_are_part_of_the_signature():
    def f(x, how):
        return np.sum(x) if how == "sum" else np.prod(x)

    gradient = stgrad.grad(f)
    np.testing.assert_array_equal(gradient(np.array([2.0, 3.0]), "sum"), [1.0, 1.0])
    np.testing.assert_array_equal(gradient(np.array([2.0, 3.0]), "prod"), [3.0, 2.0])
    np.testing.assert_array_equal(gradient(np.array([2.0, 3.0]), how="sum"), [1.0, 1.0])


def test_functions_as_arguments():
    def f(x, g):
        return g(x) * 2.0

    gradient = stgrad.grad(f)
    assert gradient(3.0, lambda x: x * x) == 12.0
    assert gradient(3.0, np.sqrt) == pytest.approx(1.0 / np.sqrt(3.0))


def test_integers_that_the_program_must_know():
    def f(x, axis):
        return np.sum(np.max(x, axis=axis))

    gradient = stgrad.grad(f)
    x = np.array([[1.0, 4.0], [3.0, 2.0]])
    np.testing.assert_array_equal(gradient(x, 0), [[0.0, 1.0], [1.0, 0.0]])
    np.testing.assert_array_equal(gradient(x, 1), [[0.0, 1.0], [1.0, 0.0]])
    np.testing.assert_array_equal(gradient(np.array([[1.0, 4.0], [0.0, 2.0]]), 0), [[1.0, 1.0], [0.0, 0.0]])


def test_as_a_method():
    class Model:
        weight = 3.0

        @stgrad.value_and_grad(argnums="x")
        def loss(self, x):
            return self.weight * x * x

    model = Model()
    assert model.loss(2.0) == (12.0, 12.0)
    model.weight = 1.0
    assert model.loss(2.0) == (4.0, 4.0)


def test_variadic_arguments():
    def f(x, *rest, **options):
        y = x
        for r in rest:
            y = y * r
        return y * options["scale"]

    assert stgrad.grad(f)(1.0, 2.0, 3.0, scale=4.0) == 24.0


def test_errors_of_the_program_itself():
    def f(x):
        if x < 0.0:
            raise ValueError("negative")
        return np.sqrt(x)

    gradient = stgrad.grad(f)
    assert gradient(4.0) == 0.25
    with pytest.raises(ValueError, match="negative"):
        gradient(-1.0)


def test_keeps_no_arrays_alive():
    import gc
    import weakref

    class Array(np.ndarray):
        pass

    x = np.ones(3)
    alive = weakref.ref(x)
    GRADIENT(x)
    del x
    gc.collect()
    assert alive() is None


def test_a_choice_between_scalars_is_no_array():
    """Numba's `np.where` makes an array, of scalars too: the derivative of a square root would allocate."""

    def f(x):
        return np.where(x > 1.0, np.sqrt(x), x * x)

    gradient = stgrad.grad(f)
    code = [line for line in gradient.lowered(4.0).splitlines() if not line.lstrip().startswith("#")]
    assert "np.where" not in "".join(code)
    assert gradient(4.0) == 0.25
    assert gradient(0.5) == 1.0


def test_many_threads_call_a_new_gradient_at_once():
    gradient = stgrad.value_and_grad(quadratic, (0, 1))
    start = threading.Barrier(12)
    found = {}

    def call(k):
        start.wait()
        for rank in (1, 2, 1):
            found[k, rank] = gradient(np.full((3,) * rank, float(k)), 2.0)

    threads = [threading.Thread(target=call, args=(k,)) for k in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 24 and programs(gradient) == 2
    for (k, rank), (value, (x_bar, a_bar)) in found.items():
        assert value == 2.0 * k * k * 3**rank and a_bar == k * k * 3**rank
        np.testing.assert_array_equal(x_bar, np.full((3,) * rank, 4.0 * k))


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
def test_a_long_compilation_tells_a_terminal(tmp_path):
    import os
    import pty

    code = "import stgrad\nfrom stgrad import progress\nprogress.PATIENCE = 0.0\nstgrad.grad(lambda x: x * x)(1.0)\n"
    (tmp_path / "main.py").write_text(code)
    main, terminal = pty.openpty()
    environment = {**os.environ, "STGRAD_CACHE_DIR": str(tmp_path / "cache")}
    subprocess.run([sys.executable, str(tmp_path / "main.py")], env=environment, stderr=terminal, check=True)
    os.close(terminal)
    assert b"stgrad: fn_grad: compiling takes more" in os.read(main, 4096)
    os.close(main)


SETTINGS = {"a": 2.0, "w": np.array([1.0, 2.0]), "inner": {"k": [1.0, 2.0]}}
FACTORS = [1.0, 2.0]


class Owner:
    def __init__(self):
        self.table = {"q": 1.0}


OWNER = Owner()


def test_containers_that_changed_are_read_again():
    """A list or dict outside is compiled in as it is; when what it holds changes, the program is made again."""
    functions = [
        lambda x: x * SETTINGS["a"],
        lambda x: x * np.sum(SETTINGS["w"]),
        lambda x: x * SETTINGS["inner"]["k"][1],
        lambda x: x * sum(FACTORS),
        lambda x: x * len(FACTORS),
        lambda x: x * OWNER.table["q"],
    ]
    gradients = [stgrad.grad(f, jit=False) for f in functions]
    assert [g(1.0) for g in gradients] == [f(1.0) for f in functions]
    before = copy.deepcopy((SETTINGS, FACTORS, OWNER.table))
    try:
        SETTINGS["a"], SETTINGS["w"][0], SETTINGS["inner"]["k"][1], OWNER.table["q"] = 5.0, 10.0, 7.0, 6.0
        FACTORS.append(4.0)
        for _ in range(2):
            assert [g(1.0) for g in gradients] == [f(1.0) for f in functions]
    finally:
        SETTINGS.update(before[0])
        FACTORS[:] = before[1]
        OWNER.table = before[2]


class Mode:
    """Instances are equal and differ."""

    __slots__ = ("k",)

    def __init__(self, k):
        self.k = k

    def __eq__(self, other):
        return isinstance(other, Mode)

    def __hash__(self):
        return 1


def test_arguments_that_are_equal_and_differ():
    """A program is for a plain value, its class included, or for one object; what `__eq__` says decides nothing."""
    by_object = stgrad.grad(lambda x, mode: mode.k * x, jit=False)
    by_class = stgrad.grad(lambda x, n: sum([x * (2.0 if n is True else 3.0) for _ in range(n)]), jit=False)
    by_set = stgrad.grad(lambda x, names: (2.0 if "b" in names else 3.0) * x, jit=False)
    names = {"a"}
    for _ in range(3):
        assert by_object(1.0, Mode(2.0)) == 2.0 and by_set(1.0, names) == 3.0 and by_class(1.0, 1) == 3.0
    names.add("b")
    assert by_object(1.0, Mode(5.0)) == 5.0 and by_set(1.0, names) == 2.0
    mode = Mode(2.0)
    assert by_object(1.0, mode) == 2.0
    mode.k = 7.0
    assert by_object(1.0, mode) == 7.0


def test_a_pullback_is_of_the_moment_it_was_made():
    scale, weights = 2.0, np.array([1.0, 2.0])

    def f(x):
        return scale * np.sum(weights * x)

    value, pull = stgrad.vjp(f, 1.0, jit=False)
    scale, weights[0] = 5.0, 10.0
    assert value == 6.0 and pull(1.0) == (6.0,)
    assert stgrad.vjp(f, 1.0, jit=False)[1](1.0) == (60.0,)


class Spring:
    def __init__(self, k):
        self.k = k

    def energy(self, x):
        return self.k * x[0] * x[0]

    @classmethod
    def square(cls, x):
        return x * x

    def __call__(self, x):
        return self.k * x


@pytest.mark.parametrize(
    "f", [Spring(2.0).energy, Spring.square, Spring(2.0), functools.partial(Spring(2.0).energy), functools.partial(lambda k, x: k * x * x, 2.0)]
)
def test_texts_without_arguments_of_whatever_can_be_called(f):
    gradient = stgrad.grad(f)
    assert gradient.path().exists()
    assert "return" in gradient.source()
    assert "return" in gradient.lowered()
    assert gradient.stages()["optimised"]
    assert str(gradient.memory())


def test_texts_without_arguments_are_those_of_the_last_call():
    """Types that only a call tells (`y` is passed on), and no array of it is kept alive."""

    def misfit(m, y):
        r = np.linalg.solve(m, y)
        return r @ r

    gradient = stgrad.grad(misfit)
    m, y = np.eye(3) + 0.1, np.arange(3.0)
    gradient(m, y)
    alive = weakref.ref(y)
    del y
    gc.collect()  # where Numba refuses (it solves by SciPy), its exceptions hold frames in a cycle
    assert alive() is None
    assert gradient.source() == gradient.source(m, np.ones(3)) and "solve" in gradient.source()
    assert gradient.lowered() == gradient.lowered(m, np.ones(3))
    assert str(gradient.memory()) == str(gradient.memory(m, np.ones(3)))
    assert gradient.explain().picture.readable == gradient.explain(m, np.ones(3)).picture.readable
    gradient(m, np.ones((3, 1))[:, 0])
    assert "np.linalg.solve" in gradient.source()
