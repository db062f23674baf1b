"""Functions of notebook cells, run by IPython's own shell: each statement of a cell is compiled by itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CELLS = {
    "beside an import": """
        import numpy as np
        def f(x):
            s = 0.0
            for i in range(len(x)):
                s += np.exp(x[i])
            return s
        print(stgrad.grad(f)(np.zeros(2)))
    """,
    "a lambda, a method, a private name": """
        import scipy.special as sp
        h = lambda x: sp.expit(x)
        class Model:
            __rate = 3.0
            def __call__(self, x):
                return np.sum(x) * self.__rate
        print(stgrad.grad(h)(0.0), stgrad.grad(Model())(np.zeros(1)))
    """,
    "timed": """
        %%time
        import math
        def g(x):
            for i in range(3):
                x = 2.0 * math.sin(x)
            return x
        print(stgrad.grad(g)(0.0))
    """,
    "of a timed cell": "print(stgrad.grad(g)(0.0), 'cos(x)' in stgrad.grad(g).source(0.0))",
    "annotations": """
        from __future__ import annotations
        import math
        def k(x: Missing):
            def inner(u: Missing) -> Missing:
                return math.sin(u)
            return inner(x)
        print(stgrad.grad(k)(0.0))
    """,
}
EXPECTED = ["[1. 1.]", "0.25 [3.]", "8.0", "8.0 True", "1.0"]


def test_cells(tmp_path: Path) -> None:
    lines = ["import textwrap, warnings, stgrad", "from IPython.core.interactiveshell import InteractiveShell", "warnings.simplefilter('error')"]
    lines += ["shell = InteractiveShell.instance()", "shell.run_cell('import stgrad')"]
    lines += [f"shell.run_cell(textwrap.dedent({cell!r}).strip(), store_history=True).raise_error()" for cell in CELLS.values()]
    run = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, cwd=tmp_path, env=_clean(tmp_path))
    assert run.returncode == 0, run.stdout + run.stderr
    assert [line for line in run.stdout.splitlines() if not line.startswith(("CPU", "Wall"))] == EXPECTED


def _clean(home: Path) -> dict[str, str]:
    return {**os.environ, "IPYTHONDIR": str(home), "STGRAD_PLAIN": "0", "STGRAD_QUIET": "1"}
