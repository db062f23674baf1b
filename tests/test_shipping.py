"""Derivatives in other processes: pickled by name, where a decorator stands under the name, and by value, with the text of what is called."""

import multiprocessing
import os
import pickle
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

import stgrad
from stgrad import shipping

ROWS = np.arange(6.0).reshape(3, 2)


@stgrad.grad
def decorated(x):
    return np.sum(x**3)


@stgrad.jit
@stgrad.grad
def twice_decorated(x):
    return np.sum(x**3)


class Model:
    @staticmethod
    @stgrad.value_and_grad
    def energy(x):
        return np.sum(x * x)


def sent(thing):
    return pickle.loads(pickle.dumps(thing))


@pytest.mark.parametrize("thing", [decorated, twice_decorated, Model.energy], ids=lambda t: t.__name__)
def test_decorated_functions_are_found_by_name(thing):
    assert str(sent(thing)(ROWS[1])) == str(thing(ROWS[1]))


def plain(x):
    return np.sum(x)


def test_a_pool_of_processes():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        np.testing.assert_array_equal(pool.map(decorated, list(ROWS)), 3.0 * ROWS**2)


SCRIPT = """
    import sys
    import numpy as np, stgrad

    def helper(x):
        return np.sum(x * x)

    @stgrad.jit
    def inner(x):
        return np.sum(np.sin(x))

    class Model:
        def __init__(self, k):
            self.k = k

        def energy(self, x):
            return self.k * helper(x)

    def loss(x):
        return helper(x) + inner(x) + Model(2.0).energy(x)

    def scaled(k):
        def of(x):
            return k * helper(x)
        return of

    @stgrad.grad
    def decorated(x):
        return helper(x) ** 2

    things = [stgrad.grad(loss), stgrad.grad(scaled(3.0)), stgrad.grad(Model(3.0).energy), decorated, stgrad.hessian(helper), stgrad.grad(lambda x: x[0])]
"""
GIVEN = """
    import cloudpickle
    with open(sys.argv[1], "wb") as file:
        cloudpickle.dump((things, [f(np.ones(2)) for f in things]), file)
"""


def run(folder, name, text, *args):
    (folder / name).write_text(textwrap.dedent(text))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "error", str(folder / name), *args]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment, timeout=300)


def test_what_goes_by_value_takes_its_text_along(tmp_path):
    """Code that cloudpickle copies has no file; the derivative is compiled in the other process all the same, which has no such script."""
    pytest.importorskip("cloudpickle")
    made = run(tmp_path, "script.py", SCRIPT + GIVEN, str(tmp_path / "things"))
    assert made.returncode == 0, made.stderr
    (tmp_path / "script.py").unlink()
    received = """
        import pickle, sys
        import numpy as np
        things, wanted = pickle.load(open(sys.argv[1], "rb"))
        for f, value in zip(things, wanted):
            np.testing.assert_array_equal(f(np.ones(2)), value)
        things[0].lowered(np.ones(2))
    """
    found = run(tmp_path, "other.py", received, str(tmp_path / "things"))
    assert found.returncode == 0, found.stderr


def test_what_other_processes_import_takes_no_text_along():
    assert shipping.texts_of(plain) == ()


def made_by_exec():
    names = {}
    exec("def q(x):\n    for _ in range(1):\n        y = x**2\n    return y\n", names)  # noqa: S102
    return names["q"]


def test_warnings_are_of_the_users_line(monkeypatch):
    """A function that `exec` made in no module has no text, nor is a loop read from its instructions; it is recorded, and the warning is where it is called."""
    monkeypatch.setenv("STGRAD_PLAIN", "1")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert stgrad.grad(made_by_exec())(3.0) == 6.0
    assert [w.filename for w in caught] == [__file__]
