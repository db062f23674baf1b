"""The command line: what it prints where, and its exit codes. The compiler behind it is replaced by a stand-in."""

import subprocess
import sys
import types

import pytest

import stgrad
from stgrad import cache, cli, errors
from stgrad.errors import UnsupportedSyntaxError

PROGRAM = '''
import numpy as np

SIZE = 3

def square(x: float) -> float:
    return x * x

def product(x, y=2.0):
    return x * y

def total(v, k=3):
    return float(np.sum(v * v)) * k

def wrong(x: float):
    return x * x * x

def refused(x: float):
    return x

def raising(x: float):
    raise ValueError("out of range [0, 1]")

class Model:
    @staticmethod
    def energy(x: float):
        return x * x

class Spring:
    def __init__(self, k=3.0):
        self.k = k

    def energy(self, x: float):
        return self.k * x * x

class Given:
    def __init__(self, k):
        self.k = k

    def energy(self, x: float):
        return self.k * x * x

soft = Given(1.0)
number = 3.0
'''

GRADIENTS = {
    "square": lambda x: 2.0 * x,
    "energy": lambda x: 2.0 * x,
    "wrong": lambda x: 2.0 * x * x,
    "total": lambda v, k=3: 2.0 * v * k,
    "raising": lambda x: 0.0,
    "grad_square": lambda x: 2.0,
}


class StandIn:
    """What `api.grad` returns, as far as the command line knows it."""

    def __init__(self, function, argnums, **options):
        name = function.__name__
        if name == "refused":
            raise UnsupportedSyntaxError("`try` is not supported", hint="write [if]")
        self.__name__ = f"grad_{name}"
        self.name, self.argnums = name, argnums

    def __call__(self, *args):
        if self.name == "product":
            x, y = args
            return (y, x) if self.argnums == (0, 1) else {0: y, 1: x}[self.argnums]
        return GRADIENTS[self.name](*args)

    def source(self, *args):
        return f"def {self.__name__}({', '.join(type(a).__name__ for a in args)}):  # {self.argnums}\n    pass\n"

    def lowered(self, *args):
        return "for i in range(n):  # lowered\n    pass\n"

    def compile(self, *args):
        return self

    def memory(self, *args):
        return "name  line"

    def stages(self, *args):
        return {"desugar": "one\n", "reverse": "two\n"}


@pytest.fixture(autouse=True)
def compiler(monkeypatch):
    stand_in = types.ModuleType("stgrad.api")
    stand_in.grad = stand_in.value_and_grad = StandIn
    stand_in.jit = lambda function, **options: StandIn(function, ())
    monkeypatch.setitem(sys.modules, "stgrad.api", stand_in)
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command line in a directory that holds the program; exit code, output, errors."""
    (tmp_path / "prog.py").write_text(PROGRAM)
    (tmp_path / "broken.py").write_text("import does_not_exist_anywhere\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "prog", raising=False)

    def go(*arguments):
        with pytest.raises(SystemExit) as caught:
            cli.main(arguments)
        out, err = capsys.readouterr()
        return caught.value.code or 0, out, err

    yield go
    sys.modules.pop("prog", None)


@pytest.mark.parametrize("target", ["prog.py:square", "prog:square"])
def test_dump(run, target):
    assert run("dump", target, "--lowered")[1].startswith("for i in range(n):  # lowered")
    assert run("dump", target) == (0, "def grad_square(float):  # 0\n    pass\n", "")


def test_dump_of_a_method(run):
    assert "grad_energy" in run("dump", "prog.py:Model.energy")[1]


def test_dump_order_and_wrt(run):
    assert "def grad_grad_square(" in run("dump", "prog.py:square", "--order", "2")[1]
    assert "# (0, 1)" in run("dump", "prog.py:product", "--wrt", "x,y", "--args", "(1.0, 2.0)")[1]
    assert "# 1" in run("dump", "prog.py:product", "--wrt", "y", "--args", "(1.0, 2.0)")[1]
    assert "# 1" in run("dump", "prog.py:product", "--wrt", "1", "--args", "(1.0, 2.0)")[1]


def test_dump_to_a_file(run, tmp_path):
    assert run("dump", "prog.py:square", "-o", "out.py") == (0, "", "")
    assert (tmp_path / "out.py").read_text().startswith("def grad_square")


def test_example_arguments(run):
    assert "grad_total(ndarray)" in run("dump", "prog.py:total", "--args", "np.ones(SIZE)")[1]
    assert "grad_total(ndarray, int)" in run("dump", "prog.py:total", "--args", "(np.ones(3), 2)")[1]


def test_stages(run):
    assert run("dump", "prog.py:square", "--stage", "reverse")[1] == "two\n"
    assert run("dump", "prog.py:square", "--stage", "all")[1] == "# ----- desugar\n\none\n\n# ----- reverse\n\ntwo\n"
    assert run("dump", "prog.py:square", "--stage", "reverse, desugar")[1] == "# ----- reverse\n\ntwo\n\n# ----- desugar\n\none\n"
    assert run("dump", "prog.py:square", "--stage", "anf")[0] == 2
    code, _, err = run("dump", "prog.py:square", "--stage", "nothing")
    assert code == 2
    assert "none of desugar, anf" in err


def test_colour_on_a_terminal(run, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in run("dump", "prog.py:square")[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in run("dump", "prog.py:square")[1]


def test_check(run):
    code, out, _ = run("check", "prog.py:square", "--args", "1.5")
    assert code == 0
    assert "ok" in out
    code, out, _ = run("check", "prog.py:total", "--args", "(np.arange(4.0), 2)")
    assert code == 0
    code, out, _ = run("check", "prog.py:product", "--wrt", "x,y", "--args", "(3.0, 4.0)")
    assert code == 0
    assert out.count("ok") == 2


def test_check_of_a_wrong_gradient(run):
    code, out, err = run("check", "prog.py:wrong", "--args", "1.5")
    assert code == 1
    assert "wrong" in out
    assert err == ""


def test_check_in_single_precision(run):
    assert run("check", "prog.py:total", "--args", "(np.ones(3, np.float32), 2)", "--tolerance", "1e-3")[0] == 0


def test_check_of_an_integer(run):
    code, _, err = run("check", "prog.py:square", "--args", "2")
    assert code == 2
    assert "need a float" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("dump", "prog.py"), "is not FILE.py:FUNCTION"),
        (("dump", "gone.py:f"), "there is no file gone.py"),
        (("dump", "gone.module:f"), "there is no module 'gone'"),
        (("dump", "prog.py:f"), "it has: square, product"),
        (("dump", "prog.py:number"), "is not a function, but of type float"),
        (("check", "prog.py:product"), "nothing tells the type of 'x'"),
        (("dump", "prog.py:square", "--wrt", "z"), "no parameter 'z'; there are: x"),
        (("dump", "prog.py:square", "--args", "(1.0"), "not a Python expression"),
        (("dump", "prog.py:square", "--order", "0"), "--order"),
        (("dump", "prog.py:square", "--colour"), "No such option"),
        (("dump", "prog.py:refused"), "UnsupportedSyntaxError: `try` is not supported\n  instead: write [if]"),
        (("nonsense",), "No such command"),
        (("dump", "prog.py:square", "--args", "undefined"), "--args: name 'undefined' is not defined; known are np, math"),
        (("dump", "prog.py:square", "--args", "1.0, 2.0"), "--args: too many positional arguments: square takes (x: float)"),
        (("dump", "prog.py:square", "--without", "gather,nonsense"), "--without: 'nonsense' is none of accumulate, agree"),
        (("dump", "prog.py:square", "--stage", "reverse,nonsense"), "--stage: 'nonsense' is none of desugar, anf"),
        (("dump", "prog.py:square", "-o", "gone/grad.py"), "--output: [Errno 2] No such file or directory"),
    ],
)
def test_usage_and_compiler_errors(run, arguments, message):
    code, out, err = run(*arguments)
    assert code == 2
    assert message in err
    assert out == ""
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("check", "prog.py:raising"), "ValueError: out of range [0, 1]"),
        (("dump", "broken.py:f"), "does_not_exist_anywhere"),
        (("dump", "broken:f"), "does_not_exist_anywhere"),
    ],
)
def test_errors_of_the_program(run, arguments, message):
    code, out, err = run(*arguments)
    assert code == 1
    assert message in err
    assert out == ""
    assert "Traceback" not in err


def test_traceback(run):
    """Once, and it ends with the message."""
    err = run("check", "prog.py:raising", "--traceback")[2]
    assert err.count("Traceback") == 1
    assert err.splitlines()[-1] == "ValueError: out of range [0, 1]"


def test_methods(run):
    """Of a module's object, and of an instance that is made where its class takes no arguments."""
    for target in ("Spring.energy", "soft.energy", "Model.energy"):
        assert run("dump", f"prog.py:{target}")[1].startswith("def grad_energy(float)")
    code, _, err = run("dump", "prog.py:Given.energy")
    assert code == 2
    assert "Given.energy needs an instance, and Given(k) takes arguments: make one in the file" in err
    assert "there is no 'Spring.mass' in prog.py; it has: energy" in run("dump", "prog.py:Spring.mass")[2]


@pytest.mark.parametrize(
    ("shell", "asked"),
    [
        ("bash", {"COMP_WORDS": "stgrad dump --lo", "COMP_CWORD": "2"}), ("zsh", {"_TYPER_COMPLETE_ARGS": "stgrad dump --lo"}),
        ("fish", {"_TYPER_COMPLETE_ARGS": "stgrad dump --lo", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}),
    ],
)  # fmt: skip
def test_completion(run, monkeypatch, shell, asked):
    code, script, _ = run("completion", shell)
    assert code == 0
    assert f"_STGRAD_COMPLETE=complete_{shell}" in script
    for name, value in {"_STGRAD_COMPLETE": f"complete_{shell}", **asked}.items():
        monkeypatch.setenv(name, value)
    assert "--lowered" in run()[1]


def test_rules(run):
    code, out, _ = run("rules")
    assert code == 0
    rows = {line.split()[0]: line for line in out.splitlines()}
    assert rows["np.tanh"].split() == ["np.tanh", "partials", "yes", "yes"]
    assert rows["np.floor"].split() == ["np.floor", "no", "derivative", "-", "-"]
    assert "np.linalg.solve" not in run("rules", "tanh")[1]
    code, _, err = run("rules", "tanhh")
    assert code != 0
    assert "no operation is called 'tanhh'; there are tanh" in err


def test_cache(run, tmp_path, monkeypatch):
    monkeypatch.setenv("STGRAD_CACHE_DIR", str(tmp_path / "cache"))
    path = cache.write_source("x = 1\n", "f")
    code, out, _ = run("cache")
    assert code == 0
    assert f"directory  {tmp_path / 'cache'}" in out
    assert "sources    1" in out
    assert run("cache", "--clear") == (0, "removed 1 files\n", "")
    assert not path.exists()


def test_version(run):
    assert run("--version") == (0, f"stgrad {stgrad.__version__}\n", "")


def test_memory(run):
    assert run("dump", "prog.py:square", "--memory") == (0, "name  line\n", "")


def test_compile(run, tmp_path):
    code, out, error = run("compile", "prog.py:square", "--mode", "primal, grad", "-o", "square_grad.py")
    assert (code, error) == (0, "")
    assert [line.partition(":")[0] for line in out.splitlines()] == ["square, primal", "square, grad"]
    assert (tmp_path / "square_grad.py").exists()


def test_build(run, tmp_path, monkeypatch):
    def built(functions, *args):
        return f"{ {name: f.argnums for name, f in functions.items()} } {args}"

    monkeypatch.setattr("stgrad.standalone.build", built)
    line = ("build", "prog.py:square", "--args", "2.0", "--mode", "grad, value_and_grad,primal")
    shown = "{'square_grad': 0, 'square_value_and_grad': 0, 'square': ()} (2.0,)\n"
    assert run(*line) == (0, shown, "")
    assert run(*line, "-o", "new.py") == (0, "wrote new.py: square_grad, square_value_and_grad, square\n", "")
    assert (tmp_path / "new.py").read_text() == shown
    assert "--mode: forward" in run("build", "prog.py:square", "--mode", "forward")[2]


def test_profile(run, monkeypatch):
    monkeypatch.setattr("stgrad.profiling.profile", lambda g, *args: f"{g.__name__} {args}")
    assert run("profile", "prog.py:square", "--args", "2.0") == (0, "grad_square (2.0,)\n", "")
    assert "--mode: forward" in run("profile", "prog.py:square", "--mode", "forward")[2]


def test_help_shows_pages_and_sections(run):
    code, out, err = run("help", "limits#indices")
    assert (code, err) == (0, "")
    assert out.startswith("## Indices\n")
    assert run("help", "indices")[1] == run("help", "docs/limits.md#indices")[1] == out
    assert run("help", "stgrad.jacobian")[1].startswith("## jacobian and hessian\n")
    assert run("help", "memory")[1].startswith("# ")
    assert "<!--" not in run("help", "api")[1]
    assert "- **limits**: " in run("help")[1]
    assert run("help", "kalman_filter")[1] == run("help", "docs/tutorials/kalman_filter.md")[1]
    assert run("help", "tutorials/kalman_filter#the-filter")[1].startswith("## The filter\n")
    assert "- **tutorials/kalman_filter**: A Kalman filter (" in run("help")[1]
    reference = run("help", "reference#memory")[1]
    assert "checkpointed(trips" in reference and ":::" not in reference
    assert "<div" not in run("help", "tutorials")[1]
    assert run("help", "indxces")[2].endswith("there is no page or section 'indxces'; there are indices, index\n")


def test_every_error_names_a_topic_that_is_there(run):
    kinds = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.StgradError) and c.anchor]
    assert len(kinds) > 10
    for kind in kinds:
        assert run("help", kind.anchor)[1] == run("help", f"limits#{kind.anchor}")[1] != ""


def test_help_does_not_load_the_compiler():
    code = "import sys\nimport stgrad.cli\nassert not {'numba', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_functions_that_are_decorated(tmp_path):
    """The name of a decorated function means what its decorators make of it, unless options say otherwise."""
    module = tmp_path / "decorated_module.py"
    module.write_text(
        "import stgrad\n"
        "@stgrad.value_and_grad(argnums=(0, 1))\n"
        "def both(a: float, b: float):\n    return a * b\n"
        "@stgrad.grad\n"
        "@stgrad.grad\n"
        "def cube(a: float):\n    return a**3\n"
    )
    expected = {
        ("both",): "return a * b, b, a",
        ("both", "--mode", "grad", "--wrt", "b"): "return a\n",
        ("cube",): "Gradient of cube_grad with respect to a",
        ("cube", "--mode", "primal"): "def cube(a):",
    }
    for (name, *options), text in expected.items():
        result = subprocess.run([sys.executable, "-m", "stgrad", "dump", f"{module}:{name}", *options], capture_output=True, text=True)
        assert text in result.stdout, result.stderr
