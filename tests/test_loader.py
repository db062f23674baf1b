"""Text to callable: the disk cache of native code, tracebacks, threads, messages."""

import linecache
import pickle
import sys
import threading
import traceback

import numba
import numpy as np
import pytest

import stgrad
from stgrad import cache, errors, loader, progress
from stgrad.loader import load
from tests.test_cache import ROOT, cache_dir, python  # noqa: F401  (a fixture)

TEXT = '''\
import math
import numpy as np


def f(x, n):
    total = 0.0
    for i in range(n):
        total += math.sin(x) / (i + 1.0)
    return total
'''
FAILS = "def g(x):\n    y = x[0]\n    return y\n"
RUN = f"from stgrad.loader import load\nf = load({TEXT!r}, 'f')\n"
RUN += "print(f(1.0, 3), sum(f.stats.cache_hits.values()), sum(f.stats.cache_misses.values()))"
VALUE = sum(__import__("math").sin(1.0) / k for k in (1.0, 2.0, 3.0))


def test_jit_and_plain_function_of_the_same_file():
    fast, plain = load(TEXT, "f"), load(TEXT, "f", jit=False)
    assert isinstance(fast, numba.core.dispatcher.Dispatcher) and fast.py_func is plain
    assert fast(1.0, 3) == pytest.approx(VALUE) == plain(1.0, 3)
    assert load(TEXT, "f") is fast and load(TEXT, "f", jit=False) is plain


def test_options_reach_numba():
    options = load(TEXT, "f").targetoptions
    assert options["error_model"] == "numpy" and options["nogil"] and not options["boundscheck"] and not options["parallel"]
    assert load(TEXT, "f", parallel=True).targetoptions["parallel"]


def test_second_process_compiles_nothing(tmp_path):
    assert python(RUN).split()[1:] == ["0", "1"]
    assert python(RUN, cwd=tmp_path).split()[1:] == ["1", "0"]
    # Numba's own variable moves nothing: everything lies in one directory.
    assert python(RUN, NUMBA_CACHE_DIR=str(tmp_path / "numba")).split()[1:] == ["1", "0"]


def test_fork_and_spawn_find_the_code():
    code = f"import multiprocessing as m\nfrom tests.test_loader import run\nif __name__ == '__main__':\n    run({TEXT!r})\n"
    assert python(code).split() == ["0", "1"]


def run(text):
    import multiprocessing

    load(text, "f")(1.0, 3)
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    child = context.Process(target=report, args=(text, queue))
    child.start()
    print(*queue.get())
    child.join()


def report(text, queue):
    f = load(text, "f")
    f(1.0, 3)
    queue.put((sum(f.stats.cache_misses.values()), sum(f.stats.cache_hits.values())))


@pytest.mark.parametrize("damage", [b"", b"\0" * 3000, "truncate", "flip"])
def test_damaged_native_code_is_compiled_again(cache_dir, damage):  # noqa: F811
    python(RUN)
    (path,) = cache_dir.glob("*.nbc")
    content = path.read_bytes()
    flipped = bytes([*content[:500], content[500] ^ 1, *content[501:]])
    path.write_bytes({"truncate": content[:-10], "flip": flipped}.get(damage, damage))
    assert python(RUN).split()[1:] == ["0", "1"]
    assert python(RUN).split()[1:] == ["1", "0"]


def test_other_version_compiles_again():
    python(RUN)
    upgrade = "import numba\nnumba.__version__ = '99.0'\n"
    assert python(upgrade + RUN).split()[1:] == ["0", "1"]


def test_read_only_package(tmp_path, cache_dir):  # noqa: F811
    import shutil

    package = tmp_path / "site"
    shutil.copytree(ROOT / "stgrad", package / "stgrad", ignore=shutil.ignore_patterns("__pycache__"))
    for path in [package, *package.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert python(RUN, cwd=tmp_path, PYTHONPATH=str(package)).split()[1:] == ["0", "1"]
        assert python(RUN, cwd=tmp_path, PYTHONPATH=str(package)).split()[1:] == ["1", "0"]
        assert not list(package.rglob("*.nb?"))
    finally:
        for path in [package, *package.rglob("*")]:
            path.chmod(0o755)


def test_pickled_function_loads_in_a_fresh_process(tmp_path):
    for jit in (False, True):
        (tmp_path / "pickled").write_bytes(pickle.dumps(load(TEXT, "f", jit=jit)))
        code = f"import pickle\nprint(pickle.load(open({str(tmp_path / 'pickled')!r}, 'rb'))(1.0, 3))"
        assert float(python(code)) == pytest.approx(VALUE)


def test_traceback_shows_generated_lines_even_after_clearing():
    plain = load(FAILS, "g", jit=False)
    cache.clear_cache()
    linecache.checkcache()
    with pytest.raises(TypeError) as caught:
        plain(1.0)
    assert "y = x[0]" in "".join(traceback.format_tb(caught.tb))


def test_syntax_error_and_failing_import_leave_no_module():
    before = set(sys.modules)
    for text, error in (("def f(:\n", SyntaxError), ("raise ValueError('no')\n", ValueError)):
        with pytest.raises(error):
            load(text, "f")
        assert not [name for name in set(sys.modules) - before if name.startswith("stgrad.generated.")]


def test_threads_get_one_object():
    barrier, found = threading.Barrier(8), []

    def work():
        barrier.wait()
        f = load(TEXT + "# threads\n", "f")
        found.append((f, f(1.0, 3)))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(f) for f, _ in found}) == 1 and len({v for _, v in found}) == 1 and len(found[0][0].overloads) == 1


@pytest.mark.parametrize(("terminal", "patience", "told"), [(True, 0.0, True), (False, 0.0, False), (True, 60.0, False)])
def test_slow_compilation_tells_a_terminal(monkeypatch, capsys, terminal, patience, told):
    monkeypatch.setattr(progress, "PATIENCE", patience)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    f = load(f"def f(x):\n    return x * {patience} + {int(terminal)}.0\n", "f")
    f(1.0)
    f(1.0)
    err = capsys.readouterr().err
    assert (err.count("\n") == 1 and err.startswith("stgrad: f: compiling takes more than")) if told else not err


def test_parallel_code_is_cached_too():
    text = "import numba\n\n\ndef f(x):\n    s = 0.0\n    for i in numba.prange(x.size):\n        s += x[i]\n    return s\n"
    code = f"import numpy as np\nfrom stgrad.loader import load\nf = load({text!r}, 'f', parallel=True)\n"
    code += "print(f(np.ones(1000)), sum(f.stats.cache_hits.values()))"
    assert [python(code), python(code)] == ["1000.0 0", "1000.0 1"]


def test_tested_indices_are_code_of_their_own():
    run = "from stgrad.loader import load\nimport numpy as np\nf = load('def f(x, i):\\n    return x[i]\\n', 'f')\n"
    run += "try:\n    f(np.ones(2), 2)\n    print('read')\nexcept IndexError:\n    print('IndexError')\n"
    assert [python(run), python(run, NUMBA_BOUNDSCHECK="1"), python(run)] == ["read", "IndexError", "read"]


def test_numba_switched_off():
    run = f"from stgrad.loader import load\nprint(load({TEXT!r}, 'f')(1.0, 3))"
    assert float(python(run, NUMBA_DISABLE_JIT="1")) == pytest.approx(VALUE)


def test_no_advice_on_performance_for_generated_code(recwarn):
    f = load("def f(a):\n    return a[::2] @ a[::2]\n", "f")
    assert f(np.ones(5)) == 3.0
    assert not recwarn.list
    with pytest.warns(numba.NumbaPerformanceWarning):
        numba.njit(lambda a: a[::2] @ a[::2])(np.ones(5))


UNTYPED = "def h(x):\n    return x + [1]\n"


def test_numba_does_not_speak_to_users():
    with pytest.raises(errors.NotCompiledError, match="Numba does not compile the program `h`") as refused:
        load(UNTYPED, "h")(1.0)
    assert isinstance(refused.value.__cause__, numba.core.errors.NumbaError)


def squared(x):
    return x * x


@pytest.mark.parametrize("jit", [True, "auto"])
def test_what_numba_does_not_compile_runs_as_text(jit, monkeypatch):
    """A program of ours that Numba refuses is a bug of the compiler; with "auto" the user has the right number all the same."""

    def refused(args, return_type):
        raise numba.core.errors.TypingError("no such type")

    monkeypatch.setenv("STGRAD_PLAIN", "1")
    gradient = stgrad.grad(squared, jit=jit)
    dispatcher = gradient._load(gradient._ready({"x": 1.5})[0])
    monkeypatch.setattr(dispatcher._compiler, "compile", refused)
    loader._hush(dispatcher)
    if jit is True:
        with pytest.raises(errors.NotCompiledError, match="no such type"):
            gradient(1.5)
    else:
        with pytest.warns(UserWarning, match="runs in plain Python"):
            assert gradient(1.5) == 3.0
        assert gradient(2.5) == 5.0 == gradient(2.5)
