"""Static single assignment by a table of mentions gives what Numba's own pass gives."""

import numpy as np
import pytest
from numba.core import ssa
from numba.core.compiler import run_frontend

import stgrad
import stgrad.loader
from stgrad.renaming import renamed


def straight(x):
    y = x
    y = y * y + y
    x = y - x
    return y * x


def branches(x, n):
    y = 0.0
    if n > 2:
        y = x
        if n > 3:
            y = y * x
            z = y
        else:
            z = 1.0
    else:
        z = y + x
    y = y + z
    return y


def loops(x, n):
    s = t = 0.0
    for i in range(n):
        for j in range(i):
            s, t = t + x[j], s
            if s > 10.0:
                continue
            t = t * s
        while t > 1.0:
            t = t / 2.0
            if t < s:
                break
        x[i] = s
    return s, t


def a_value_that_one_path_leaves_out(x, n):
    if n > 0:
        y = x
    for _ in range(n):
        y = y * x
    return y


def lines(blocks):
    return {label: [str(stmt) for stmt in block.body] for label, block in blocks.items()}


@pytest.mark.parametrize("function", [straight, branches, loops, a_value_that_one_path_leaves_out], ids=lambda f: f.__name__)
def test_as_by_numba(function):
    assert lines(renamed(run_frontend(function).blocks)) == lines(ssa._run_ssa(run_frontend(function).blocks))


def test_a_generated_program():
    def f(x, n):
        for _ in range(n):
            x = np.where(x > 0.5, x * x, np.sin(x))
        return np.sum(x)

    program = stgrad.grad(f, jit=True).dispatcher(np.array([0.3, 0.9]), 3).py_func
    for function in (program, stgrad.loader.load(stgrad.grad(f).lowered(np.array([0.3, 0.9]), 3), "f_grad", jit=False)):
        assert lines(renamed(run_frontend(function).blocks)) == lines(ssa._run_ssa(run_frontend(function).blocks))


def test_many_branches_do_not_nest():
    """Each phi node asks for the definitions above it; Numba's own search calls itself for each."""

    def chain(count):
        lines = ["def f(x):", "    s = 0.0", *(line for k in range(count) for line in (f"    if x > {k}.5:", "        s = x")), "    return s"]
        space = {}
        exec("\n".join(lines), space)
        return run_frontend(space["f"]).blocks

    assert lines(renamed(chain(20))) == lines(ssa._run_ssa(chain(20)))
    blocks = renamed(chain(1200))
    assert sum("phi" in str(stmt) for block in blocks.values() for stmt in block.body) == 1200
