"""The command line: `stgrad dump | check | rules | cache | compile`.

Results go to standard output, coloured on a terminal and plain in a pipe; errors go to standard error. Exit codes: 0 all
is well; 1 a check failed, or the program itself raised; 2 wrong usage, or a `StgradError`. `--traceback`, anywhere on the
line, shows where an error came from.

Heavy modules (Numba, SciPy) are imported where they are needed: `stgrad --help` is quick.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from stgrad.errors import StgradError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Derivatives of Python functions, as source code. With --traceback, anywhere on the line: where an error came from.",
)

Target = Annotated[str, typer.Argument(metavar="TARGET", help="FILE.py:FUNCTION or package.module:function")]
Wrt = Annotated[str, typer.Option("--wrt", help="parameters to differentiate in: names or positions, with commas between")]
Order = Annotated[int, typer.Option("--order", min=1, help="how many times to differentiate")]
Args = Annotated[str, typer.Option("--args", help='example arguments, a Python tuple: "(1.0, np.ones(3))"')]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="write to this file")]

_PASSES = """
records sweeps small settle storage casts loops
invariants registers layouts tables packed growable cleanup accumulate foreign tidy products pages
"""
PASSES = tuple(_PASSES.split())
STAGES = ("desugar", "anf", "activity", "reverse", "optimised", *PASSES, "specialised", "all")


class UsageError(Exception):
    """The command line names something that is not there."""


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    traceback = "--traceback" in arguments
    arguments = [argument for argument in arguments if argument != "--traceback"]
    try:
        app(args=arguments, prog_name="stgrad")
    except (UsageError, StgradError) as error:
        sys.exit(_report(error, traceback, 2))
    except Exception as error:  # noqa: BLE001  (the user's program runs in this process, and may raise anything)
        sys.exit(_report(error, traceback, 1))


def _report(error: Exception, traceback: bool, code: int) -> int:
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    if traceback:
        console.print_exception()
    label = "usage error" if isinstance(error, UsageError) else type(error).__name__
    console.print(f"[bold red]{label}[/]: {escape(str(error))}")
    return code


# --------------------------------------------------------------------------- what is asked for


@dataclass(frozen=True)
class Request:
    """A function, example arguments for it, and the positions of those to differentiate in."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    positions: tuple[int, ...]

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", "function")

    def gradient(self, order: int = 1) -> Any:
        """The gradient of the given order, a function of the same arguments."""
        return self.derivative("grad", order)

    def derivative(self, mode: str, order: int = 1, **options: Any) -> Any:
        """The gradient of the given order, with the value at 'value_and_grad'; the function itself at 'primal'."""
        api = importlib.import_module("stgrad.api")
        if mode == "primal":
            return api.jit(self.function, **options)
        if mode not in ("grad", "value_and_grad"):
            raise UsageError(f"--mode: {mode!r} is none of grad, value_and_grad, primal")
        argnums = self.positions if len(self.positions) > 1 else self.positions[0]
        function = self.function
        for _ in range(order - 1):
            function = api.grad(function, argnums)
        return getattr(api, mode)(function, argnums, **options)


def _request(target: str, wrt: str, args: str, *, run: bool = True) -> Request:
    """What is asked for; without `run` there may be no arguments: the compiler then guesses types from the code."""
    module, function = _resolve(target)
    arguments = _evaluate(args, module) if args else _guess(function) if run or _told(function) else ()
    return Request(function, arguments, _positions(function, wrt))


def _told(function: Callable[..., Any]) -> bool:
    """Whether annotations or defaults give an example of every argument."""
    return all(p.default is not p.empty or any(p.annotation in (k, k.__name__) for k in _EXAMPLES) for p in _parameters(function))


def _resolve(target: str) -> tuple[ModuleType, Callable[..., Any]]:
    """The module and the function that `FILE.py:FUNCTION` or `package.module:function` names."""
    place, colon, path = target.rpartition(":")
    if not colon or not place or not path:
        raise UsageError(f"{target!r} is not FILE.py:FUNCTION or package.module:function")
    module = _load_file(Path(place)) if place.endswith(".py") else _load_module(place)
    found: Any = module
    for part in path.split("."):
        if not hasattr(found, part):
            there = ", ".join(name for name, value in vars(module).items() if inspect.isfunction(value) and not name.startswith("_"))
            raise UsageError(f"there is no {path!r} in {place}; it has: {there or 'no functions'}")
        found = getattr(found, part)
    if not callable(found):
        raise UsageError(f"{target!r} is not a function, but of type {type(found).__name__}")
    return module, found


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[path.stem]
        raise
    return module


def _load_module(name: str) -> ModuleType:
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name + ".").startswith(error.name + "."):
            raise  # the module is there, and imports one that is not
        raise UsageError(f"there is no module {error.name!r}") from None


def _evaluate(text: str, module: ModuleType) -> tuple[Any, ...]:
    """Example arguments: an expression in which `np` and `math` and the names of the module are known."""
    import math

    import numpy as np

    try:
        code = compile(text, "--args", "eval")
    except SyntaxError as error:
        raise UsageError(f"--args is not a Python expression: {error.msg}") from None
    value = eval(code, {"np": np, "math": math, **vars(module)})  # noqa: S307  (the user's own expression)
    return value if isinstance(value, tuple) else (value,)


_EXAMPLES = {float: 1.0, int: 2, complex: 1.0 + 0.5j, bool: True}


def _guess(function: Callable[..., Any]) -> tuple[Any, ...]:
    """Example arguments from defaults and annotations."""
    values = []
    for parameter in _parameters(function):
        annotation = parameter.annotation
        kind = next((k for k in _EXAMPLES if annotation in (k, k.__name__)), None)
        if parameter.default is not parameter.empty:
            values.append(parameter.default)
        elif kind is not None:
            values.append(_EXAMPLES[kind])
        else:
            raise UsageError(
                f"nothing tells the type of {parameter.name!r}: give example arguments, as in --args \"(1.0, np.ones(3))\""
            )
    return tuple(values)


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p for p in inspect.signature(function).parameters.values() if p.kind in kinds]


def _positions(function: Callable[..., Any], wrt: str) -> tuple[int, ...]:
    """The positions that `--wrt x,2` names."""
    names = [parameter.name for parameter in _parameters(function)]
    positions = []
    for part in wrt.split(","):
        wish = part.strip()
        if wish in names:
            positions.append(names.index(wish))
        elif wish.isdecimal() and int(wish) < max(len(names), 1):
            positions.append(int(wish))
        else:
            raise UsageError(f"--wrt: there is no parameter {wish!r}; there are: {', '.join(names)}")
    return tuple(dict.fromkeys(positions))


# --------------------------------------------------------------------------- commands


@app.command()
def dump(
    target: Target,
    wrt: Wrt = "0",
    order: Order = 1,
    stage: Annotated[str, typer.Option("--stage", help=f"a stage of the compiler: {', '.join(STAGES)}")] = "",
    args: Args = "",
    memory: Annotated[bool, typer.Option("--memory", help="what is stored for the reverse sweep, instead of the source")] = False,
    without: Annotated[str, typer.Option("--without", help="passes to leave out: names with commas between")] = "",
    precise: Annotated[bool, typer.Option("--precise", help="the C library's elementary functions")] = False,
    output: Output = None,
) -> None:
    """Print the source of the gradient of a function."""
    if stage and stage not in STAGES:
        raise UsageError(f"--stage: {stage!r} is none of {', '.join(STAGES)}")
    request = _request(target, wrt, args, run=False)
    chosen = frozenset(name.strip() for name in without.split(",") if name.strip())
    gradient = request.derivative("grad", order, precise=precise, without=chosen)
    if memory:
        typer.echo(str(gradient.memory(*request.arguments)))
        return
    if not stage:
        text = gradient.source(*request.arguments)
    else:
        text = _stage(gradient.stages(*request.arguments), stage)
    _show(text, output)


def _stage(stages: dict[str, str], wish: str) -> str:
    """The text of one stage, or of all with a heading for each."""
    if wish == "all":
        before = ["", *stages.values()]
        texts = (text.strip() if text != last else "# unchanged" for text, last in zip(stages.values(), before, strict=False))
        return "\n\n".join(f"# ----- {name}\n\n{text}" for name, text in zip(stages, texts, strict=True)) + "\n"
    if wish not in stages:
        raise UsageError(f"--stage: this program has no stage {wish!r}, but {', '.join(stages)}")
    return stages[wish]


def _show(text: str, output: Path | None) -> None:
    """Write Python source to a file, to a terminal in colours, or as it is."""
    text = text.rstrip("\n") + "\n"
    if output is not None:
        output.write_text(text)
        return
    console = Console()
    if console.is_terminal and not console.no_color:
        from rich.syntax import Syntax

        console.print(Syntax(text.rstrip("\n"), "python", theme="ansi_dark", background_color="default"))
    else:
        sys.stdout.write(text)


@app.command()
def check(
    target: Target,
    wrt: Wrt = "0",
    args: Args = "",
    tolerance: Annotated[float, typer.Option("--tolerance", help="relative to the derivative and the function's value")] = 1e-6,
    seed: Annotated[int, typer.Option("--seed", help="of the random directions")] = 0,
) -> None:
    """Compare the gradient of a function with finite differences; exit code 1 where they differ."""
    request = _request(target, wrt, args)
    gradient = request.gradient()
    found = gradient(*_copies(request.arguments))
    bars = found if len(request.positions) > 1 else (found,)
    table = Table("parameter", "gradient", "differences", "error", "")
    wrong = 0
    for position, bar in zip(request.positions, bars, strict=True):
        along, differences, error = _compare(request, position, bar, seed)
        right = error <= tolerance
        wrong += not right
        name = _parameters(request.function)[position].name
        table.add_row(name, f"{along:.12g}", f"{differences:.12g}", f"{error:.1e}", "ok" if right else "[bold red]wrong[/]")
    Console().print(table)
    if wrong:
        raise typer.Exit(1)


def _copies(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The function may write to its arguments."""
    import copy

    return copy.deepcopy(arguments)


def _compare(request: Request, position: int, bar: Any, seed: int) -> tuple[float, float, float]:
    """The derivative in a random direction: by the gradient, by finite differences, and their relative difference.

    Of central differences with several steps the best one counts: too long a step truncates, too short a one rounds.
    """
    import numpy as np

    value = np.asarray(request.arguments[position])
    if value.dtype.kind not in "fc":
        raise UsageError(f"argument {position} is of type {value.dtype}: differences need a float or an array of floats")
    rng = np.random.default_rng(seed)
    direction = rng.standard_normal(value.shape)
    if value.dtype.kind == "c":
        direction = direction + 1j * rng.standard_normal(value.shape)

    def at(step: float) -> float:
        moved = value + step * direction
        arguments = list(_copies(request.arguments))
        arguments[position] = moved.astype(value.dtype) if value.ndim else type(request.arguments[position])(moved)
        return float(np.real(request.function(*arguments)))

    along = float(np.real(np.sum(np.conj(bar) * direction)))
    scale = max(abs(along), 1e-6 * abs(at(0.0)), 1e-12)
    largest = float(np.max(np.abs(value), initial=1.0))
    steps = [largest * 10.0**power for power in (range(-7, -2) if value.dtype.itemsize > 4 * (1 + (value.dtype.kind == "c")) else range(-4, 0))]
    candidates = [(at(step) - at(-step)) / (2.0 * step) for step in steps]
    best = min(candidates, key=lambda difference: abs(difference - along))
    return along, best, abs(best - along) / scale


@app.command()
def rules(
    pattern: Annotated[str, typer.Argument(help="only operations whose name contains this")] = "",
) -> None:
    """List the operations that have derivative rules."""
    from stgrad.rules import core

    _late_rules(core)
    table = Table("operation", "kind", "reverse", "forward")
    names = [name for name in sorted(core.TABLE) if pattern in name]
    if not names:
        close = difflib.get_close_matches(pattern, sorted({n.rpartition(".")[2] for n in core.TABLE}), 3)
        raise UsageError(f"no operation is called {pattern!r}" + (f"; there are {', '.join(close)}" if close else ""))
    for name in names:
        table.add_row(name, *_modes(core.TABLE[name]))
    _print_table(table)


def _late_rules(core: Any) -> None:
    """Register the rules of packages that are looked at only once they are imported."""
    for module in list(core.LATE):
        if importlib.util.find_spec(module.split(".")[0]) is not None:
            importlib.import_module(module)
            core.LATE.pop(module)()


def _modes(rule: Any) -> tuple[str, str, str]:
    """Kind, reverse and forward, as the table shows them."""
    if rule.kind == "nondiff":
        return "no derivative", "-", "-"
    both = rule.partials or rule.composite
    reverse = "yes" if both or rule.adjoint else "no"
    forward = "yes" if both or rule.tangent or rule.kind == "linear" else "no"
    return rule.kind, reverse, forward


def _print_table(table: Table) -> None:
    """A table with borders on a terminal; columns of text in a pipe."""
    console = Console()
    if console.is_terminal:
        console.print(table)
        return
    columns = [[str(cell) for cell in column.cells] for column in table.columns]
    widths = [max(map(len, column), default=0) for column in columns]
    for row in zip(*columns, strict=True):
        sys.stdout.write("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n")


@app.command()
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="remove everything that stgrad wrote there")] = False,
) -> None:
    """Show what the cache of generated code holds, or clear it."""
    from stgrad.cache import cache_info, clear_cache

    if clear:
        typer.echo(f"removed {clear_cache()} files")
        return
    info = cache_info()
    typer.echo(f"directory  {info.directory}")
    typer.echo(f"sources    {info.sources}")
    typer.echo(f"programs   {info.programs}")
    typer.echo(f"natives    {info.natives}")
    typer.echo(f"strays     {info.strays}")
    typer.echo(f"size       {info.size / 1e6:.1f} MB")


@app.command("compile")
def compile_(
    target: Target,
    wrt: Wrt = "0",
    order: Order = 1,
    args: Args = "",
    mode: Annotated[str, typer.Option("--mode", help="grad, value_and_grad, primal, or several with commas between")] = "grad",
    output: Output = None,
) -> None:
    """Compile derivatives of a function into the cache, for the types of the example arguments; nothing is run."""
    request = _request(target, wrt, args)
    for name in (part.strip() for part in mode.split(",")):
        derivative = request.derivative(name, order)
        start = time.perf_counter()
        derivative.compile(*request.arguments)
        typer.echo(f"{request.name}, {name}: compiled in {time.perf_counter() - start:.2f} s")
        if output is not None:
            _show(derivative.source(*request.arguments), output)
