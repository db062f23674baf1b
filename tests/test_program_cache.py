"""Programs on disk: a second process runs no compiler, and never takes a program that is not its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WATCH = """
import sys
import numpy as np
import stgrad
def compiled():
    return "stgrad.program" in sys.modules
"""


@pytest.fixture
def run(tmp_path):
    """Runs a program in a fresh process with a cache of its own; the printed lines."""

    def go(code: str, **files: str) -> list[str]:
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
        (tmp_path / "main.py").write_text(WATCH + textwrap.dedent(code))
        env = {**os.environ, "STGRAD_CACHE_DIR": str(tmp_path / "cache"), "STGRAD_PROGRAM_CACHE": "1", "STGRAD_CHECK": "0", "PYTHONPATH": str(ROOT)}
        done = subprocess.run([sys.executable, "main.py"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return go


def entries(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache").glob("*.json"))


PROGRAM = """
    import math
    scale = 2.0
    table = np.array([1.0, 2.0])
    def helper(x, power=2):
        return scale * x ** power
    def f(x, n):
        y = x
        for i in range(n):
            y = helper(math.sin(y)) + np.sum(table)
        return y
    g = stgrad.grad(f)
    print(g(0.5, 3), compiled())
"""


def test_the_second_process_runs_no_compiler(run):
    (first, was), (second, now) = run(PROGRAM)[0].split(), run(PROGRAM)[0].split()
    assert (was, now) == ("True", "False")
    assert first == second


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("scale = 2.0", "scale = 3.0"),
        ("scale = 2.0", "scale = np.float32(2.0)"),
        ("power=2", "power=3"),
        ("scale * x", "scale + x"),
        ("math.sin(y)", "math.cos(y)"),
        ("[1.0, 2.0]", "[1.0]"),
        ("[1.0, 2.0]", "[1, 2]"),
        ("import math", "import cmath\n    class math: sin = staticmethod(lambda x: x)"),
        ("np.sum", "len"),
        ("grad(f)", "value_and_grad(f)"),
        ("grad(f)", "grad(stgrad.grad(f))"),
        ("0.5", "np.float32(0.5)"),
    ],
)
def test_a_change_is_seen(run, old, new):
    run(PROGRAM)
    changed = PROGRAM.replace(old, new)
    assert changed != PROGRAM
    line = run(changed)[0]
    assert line.endswith("True")
    assert run(changed.replace("grad(", "grad(jit=False)("))[0].rpartition(" ")[0] == line.rpartition(" ")[0]


def test_new_contents_of_an_array_need_no_new_program(run):
    before = run(PROGRAM)[0]
    after = run(PROGRAM.replace("[1.0, 2.0]", "[5.0, 2.0]"))[0]
    assert after.endswith("False") and after.split()[0] != before.split()[0]


def test_arrays_that_become_one(run):
    program = """
        a = np.ones(2)
        b = np.ones(2)
        def f(x):
            return np.sum(x * a) + np.sum(b)
        print(stgrad.grad(f)(np.ones(2)), compiled())
    """
    run(program)
    assert run(program)[0].endswith("False")
    assert run(program.replace("b = np.ones(2)", "b = a"))[0].endswith("True")


def test_variants_stand_beside_each_other(run):
    program = """
        def make(k):
            def f(x):
                return k * x
            return f
        print([stgrad.grad(make(k))(1.0) for k in (2.0, 3.0, 4.0)], compiled())
    """
    assert run(program)[0] == "[2.0, 3.0, 4.0] True"
    assert run(program)[0] == "[2.0, 3.0, 4.0] False"


def test_integers_that_decide_a_shape(run):
    program = """
        def f(x, n):
            parts = [x * i for i in range(n)]
            return sum(parts)
        g = stgrad.grad(f)
        print(g(1.0, 3), g(1.0, 4), compiled())
    """
    assert [run(program)[0], run(program)[0]] == ["3.0 6.0 True", "3.0 6.0 False"]


def test_structures(run):
    program = """
        from typing import NamedTuple
        class P(NamedTuple):
            w: object
            b: object
        def f(p, options, mode="a"):
            return np.sum(p.w) * p.b + options["k"]
        print(stgrad.value_and_grad(f, (0, 1))(P(np.ones(2), 3.0), {"k": 1.0}), compiled())
    """
    first, second = run(program)[0], run(program)[0]
    assert first.replace("True", "False") == second


def test_modules_methods_and_attributes(run):
    files = {"consts": "RATE = 2.0\n\ndef square(x):\n    return x * x\n"}
    program = """
        import consts
        class Model:
            def __init__(self): self.k = 3.0
            def energy(self, x): return self.k * consts.square(x) * consts.RATE
        print(stgrad.grad(Model().energy)(1.0), compiled())
    """
    assert run(program, **files)[0].split()[0] == "12.0"
    run(program)
    assert run(program, consts=files["consts"].replace("2.0", "4.0"))[0] == "24.0 True"
    assert run(program, consts=files["consts"].replace("x * x", "x * x * x"))[0] == "18.0 True"
    assert run(program.replace("self.k = 3.0", "self.k = 5.0"))[0].split()[0] == "30.0"


def test_custom_gradients(run):
    program = """
        @stgrad.custom_gradient
        def twice(x):
            def pullback(g):
                return 7.0 * g
            return x * 2.0, pullback
        print(stgrad.grad(lambda x: twice(x))(1.0), compiled())
    """
    assert [run(program)[0], run(program)[0]] == ["7.0 True", "7.0 False"]
    assert run(program.replace("7.0", "8.0"))[0] == "8.0 True"


def test_vjp(run):
    program = """
        def f(x): return x * x, np.sum(x)
        value, pull = stgrad.vjp(f, np.array([1.0, 2.0]))
        print(pull((np.ones(2), 1.0))[0], compiled())
    """
    assert [run(program)[0], run(program)[0]] == ["[3. 5.] True", "[3. 5.] False"]


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"variants": 3}', '{"variants": [{}]}'])
def test_damage_is_a_miss(run, tmp_path, damage):
    first = run(PROGRAM)[0]
    for path in entries(tmp_path):
        path.write_text(damage)
    assert run(PROGRAM)[0] == first
    assert run(PROGRAM)[0].endswith("False")


def test_a_changed_text_is_a_miss(run, tmp_path):
    first = run(PROGRAM)[0]
    (path,) = entries(tmp_path)
    content = json.loads(path.read_text())
    content["variants"][0]["text"] += "\nimport os\n"
    path.write_text(json.dumps(content))
    assert run(PROGRAM)[0] == first


def test_rules_of_the_user_switch_it_off(run):
    program = """
        from stgrad.rules.core import partials
        @partials(np.sinc)
        def own(y, x): return (x,)
        def f(x): return x * x
        print(stgrad.grad(f)(1.0), compiled())
    """
    assert [run(program)[0], run(program)[0]] == ["2.0 True", "2.0 True"]


def test_the_rules_of_the_eager_api_leave_it_on(run):
    program = """
        import stgrad.eager as tf
        @tf.function
        def sine(x): return tf.sin(x)
        def f(x): return x * x
        print(stgrad.grad(f)(1.0), compiled())
    """
    assert [run(program)[0], run(program)[0]] == ["2.0 True", "2.0 False"]


def test_what_hands_itself_to_the_compiler_is_not_kept():
    from stgrad.calls.identity import Identity, Unknown

    class Body:
        def _stgrad_call_(self, frame, args, kwargs):
            raise NotImplementedError

    with pytest.raises(Unknown):
        Identity().describe(Body())


def test_import_is_light(run):
    heavy = "[m for m in ('numba', 'scipy', 'optree', 'typer', 'rich', 'stgrad.frontend', 'stgrad.rules') if m in sys.modules]"
    assert run(f"print({heavy})") == ["[]"]


def test_eight_processes_at_once(tmp_path):
    env = {**os.environ, "STGRAD_CACHE_DIR": str(tmp_path / "cache"), "STGRAD_PROGRAM_CACHE": "1", "STGRAD_CHECK": "0", "PYTHONPATH": str(ROOT)}
    (tmp_path / "main.py").write_text(WATCH + textwrap.dedent(PROGRAM))
    running = [subprocess.Popen([sys.executable, "main.py"], cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    values = {process.communicate()[0].split()[0] for process in running}
    assert len(values) == 1 and {p.returncode for p in running} == {0}
    assert len(entries(tmp_path)) == 1


HITS = """
    from stgrad import loader
    (dispatcher,) = loader._compiled.values()
    print(g(x), compiled(), sum(dispatcher.stats.cache_misses.values()))
"""


@pytest.mark.parametrize("signature", ["(np.ones(3), 2.0, 1.0)", "'float64[:], float64, float64'"])
def test_compiled_ahead_of_time(run, signature):
    program = """
        table = np.ones(3)
        def f(x, k=2.0, shift=1.0):
            return np.sum(k * x * table) + shift
        g = stgrad.grad(f)
        x = np.ones(3)
    """
    program = textwrap.dedent(program)
    run(program + f"stgrad.compile(g, {signature})\n")
    assert run(program + "g(x)" + textwrap.dedent(HITS))[-1] == "[2. 2. 2.] False 0"


CALLS = (  # in pairs
    "hvp(f, (x, y), (x, None))[0]", "hvp(f, (x, y), (None, x))[1]", "hvp(f)(x, y, x)", "hvp(f, 1)(x, y, x)", "jvp(v, (x, y), (x, None))[1]",
    "jvp(v, (x, y), (None, x))[1]", "jacfwd(v)(x, y)", "jacfwd(v, 1)(x, y)", "jacrev(v)(x, y)", "jacrev(v, 1)(x, y)", "hessian(f)(x, y)", "hessian(f, 1)(x, y)",
    "vjp(v, x, y)[1](y)[0]", "vjp(v, x, y)[1](y)[1]", "linearize(v, x, y)[1](x, None)", "linearize(v, x, y)[1](None, x)",
    "vmap(v, (0, None))(np.arange(9.0).reshape(3, 3), y)", "vmap(v, (1, None))(np.arange(9.0).reshape(3, 3), y)",
    "grad(f, mode='forward')(x, y)", "grad(f, 1, mode='forward')(x, y)", "jet(v, (x, y), ((x,), (y,)))[1][0]", "jet(v, (x, y), ((x, y), (y, x)))[1][1]",
)  # fmt: skip
OPERATORS = """
    scale = 2.0
    x, y = np.linspace(0.1, 1.0, 3), np.array([2.0, 3.0, 4.0])
    def f(x, y):
        return np.sum(np.sin(scale * x) * y * y)
    def v(x, y):
        return np.sin(scale * x) * y
"""


def test_the_second_process_runs_no_compiler_for_operators(run):
    def lines(scale: str, calls: tuple[str, ...] = CALLS) -> tuple[list[list[float]], bool]:
        shown = "".join(f"    print(*np.ravel(stgrad.{call}))\n" for call in calls)
        *found, compiled = run(OPERATORS.replace("2.0", scale, 1) + shown + "    print(compiled())")
        return [[float(n) for n in line.split()] for line in found], compiled == "True"

    first, again, other = lines("2.0"), lines("2.0"), lines("np.float32(0.5)", CALLS[::5])
    assert (first[1], again[1], other[1]) == (True, False, True)
    for one, two in zip(first[0], again[0], strict=True):
        assert one == pytest.approx(two, rel=1e-14)
    assert not any(one == pytest.approx(two) for one, two in zip(first[0][::5], other[0], strict=True))
    for one, two in zip(first[0][::2], first[0][1::2], strict=True):  # what differs in names and axes alone is not taken for another
        assert one != pytest.approx(two)
