"""The command line: `stgrad dump | explain | check | profile | rules | cache | compile | build | help | completion`.

Results go to standard output, coloured on a terminal and plain in a pipe; errors go to standard error. Exit codes: 0 all
is well; 1 a check failed, or the program itself raised; 2 wrong usage, or a `StgradError`. `--traceback`, anywhere on the
line, shows where an error came from.

Heavy modules (Numba, SciPy) are imported where they are needed: `stgrad --help` is quick.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import os
import sys
import time
from collections.abc import Collection, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from stgrad.command_request import Request, UsageError, parameters, request_of
from stgrad.errors import StgradError
from stgrad.transforms.registry import PASSES

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Derivatives of Python functions, as source code. With --traceback, anywhere on the line: where an error came from.",
)

Target = Annotated[str, typer.Argument(metavar="TARGET", help="FILE.py:FUNCTION or package.module:function; Class.method, object.method")]
Wrt = Annotated[str, typer.Option("--wrt", help="parameters to differentiate in: names or positions, with commas between")]
Mode = Annotated[
    str, typer.Option("--mode", help="grad, value_and_grad, primal, or forward: value and tangent; by default as the function is decorated")
]
Order = Annotated[int, typer.Option("--order", min=1, help="how many times to differentiate")]
Args = Annotated[str, typer.Option("--args", help='example arguments, a Python tuple: "(1.0, np.ones(3))"')]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="write to this file")]

COMPLETE = "_STGRAD_COMPLETE"
STAGES = ("desugar", "anf", "activity", "reverse", "forward", "optimised", *PASSES, "specialised", "all")


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    traceback = "--traceback" in arguments
    arguments = [argument for argument in arguments if argument != "--traceback"]
    if COMPLETE in os.environ:  # a shell asks
        importlib.import_module("typer._completion_classes").completion_init()
    try:
        app(args=arguments, prog_name="stgrad")
    except (UsageError, StgradError) as error:
        sys.exit(_report(error, traceback, 2))
    except Exception as error:  # noqa: BLE001  (the user's program runs in this process, and may raise anything)
        sys.exit(_report(error, traceback, 1))


def _report(error: Exception, traceback: bool, code: int) -> int:
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    if traceback:
        console.print_exception()  # ends with the message
        return code
    label = "usage error" if isinstance(error, UsageError) else type(error).__name__
    console.print(f"[bold red]{label}[/]: {escape(str(error))}")
    return code


# --------------------------------------------------------------------------- commands


def _version(wish: bool) -> None:
    if wish:
        typer.echo(f"stgrad {importlib.import_module('stgrad').__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="show the version and exit")] = False,
) -> None:
    """Options of the line as a whole; the text of --help is that of `app`."""


@app.command()
def dump(
    target: Target,
    wrt: Wrt = "0",
    order: Order = 1,
    stage: Annotated[str, typer.Option("--stage", help=f"stages of the compiler, with commas between: {', '.join(STAGES)}")] = "",
    args: Args = "",
    lowered: Annotated[bool, typer.Option("--lowered", help="the program that Numba compiles: loops over numbers")] = False,
    memory: Annotated[bool, typer.Option("--memory", help="what is stored for the reverse sweep, instead of the source")] = False,
    without: Annotated[str, typer.Option("--without", help="passes to leave out: names with commas between")] = "",
    precise: Annotated[bool, typer.Option("--precise", help="the C library's elementary functions")] = False,
    mode: Mode = "",
    output: Output = None,
) -> None:
    """Print the source of the gradient of a function."""
    wishes = _listed("--stage", stage, STAGES)
    chosen = _listed("--without", without, _optional() if without else ())
    request = request_of(target, wrt, args, run=False)
    gradient = request.derivative(mode, order, precise=precise, without=frozenset(chosen))
    _say_guess(request)
    if memory:
        typer.echo(str(gradient.memory(*request.arguments)))
        return
    if not wishes:
        text = gradient.lowered(*request.arguments) if lowered else gradient.source(*request.arguments)
    else:
        text = _stages(gradient.stages(*request.arguments), wishes)
    _show(text, output)


@app.command()
def explain(
    target: Target,
    wrt: Wrt = "0",
    order: Order = 1,
    args: Args = "",
    mode: Mode = "",
    profile: Annotated[bool, typer.Option("--profile", help="run it with --args, and show what each line costs")] = False,
    output: Output = None,
) -> None:
    """Write a page that shows a function beside its derivative: which lines belong together, what is kept, what each stage changed."""
    if profile and mode == "forward":
        raise UsageError("--profile: not with --mode forward; profile a function that calls stgrad.jvp with --mode primal")
    request = request_of(target, wrt, args, run=profile)
    _say_guess(request)
    derivative = request.derivative(mode, order)
    if profile:
        found = importlib.import_module("stgrad.profiling").profile(derivative, *request.arguments).explain()
    else:
        found = derivative.explain(*request.arguments)
    path = output or Path(f"{request.name}_explained.html")
    try:
        found.save(path)
    except OSError as error:
        raise UsageError(f"--output: {error}") from None
    typer.echo(f"wrote {path}: {found.summary}")


def _say_guess(request: Request) -> None:
    """Say which types were guessed from the code where nobody gave an example."""
    if request.arguments or not parameters(request.function):
        return
    import inspect

    from stgrad.guess import guess_specs

    specs = guess_specs(request.function, inspect.signature(request.function))
    typer.echo(f"guessed from the code: {', '.join(f'{name}: {spec}' for name, spec in specs.items())}; --args gives examples", err=True)


def _optional() -> list[str]:
    from stgrad.transforms.pipeline import OPTIONAL

    return sorted(OPTIONAL)


def _listed(option: str, text: str, known: Collection[str]) -> tuple[str, ...]:
    """The names of an option, with commas between; each must be known."""
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    for name in names:
        if name not in known:
            raise UsageError(f"{option}: {name!r} is none of {', '.join(known)}")
    return names


def _stages(stages: dict[str, str], wishes: tuple[str, ...]) -> str:
    """The text of one stage, or of several with a heading for each."""
    names = tuple(stages) if "all" in wishes else wishes
    for name in names:
        if name not in stages:
            raise UsageError(f"--stage: this program has no stage {name!r}, but {', '.join(stages)}")
    if len(names) == 1:
        return stages[names[0]]
    texts = [stages[name].strip() for name in names]
    shown = ["# unchanged" if text == last else text for text, last in zip(texts, ["", *texts], strict=False)]
    return "\n\n".join(f"# ----- {name}\n\n{text}" for name, text in zip(names, shown, strict=True)) + "\n"


def _show(text: str, output: Path | None) -> None:
    """Write Python source to a file, to a terminal in colours, or as it is."""
    text = text.rstrip("\n") + "\n"
    if output is not None:
        try:
            output.write_text(text)
        except OSError as error:
            raise UsageError(f"--output: {error}") from None
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
    request = request_of(target, wrt, args)
    gradient = request.gradient()
    found = gradient(*_copies(request.arguments))
    bars = found if len(request.positions) > 1 else (found,)
    table = Table("parameter", "gradient along d", "differences along d", "error", "", title="derivatives along a random direction d (numbers: 1)")
    wrong = 0
    for position, bar in zip(request.positions, bars, strict=True):
        along, differences, error = _compare(request, position, bar, seed)
        right = error <= tolerance
        wrong += not right
        name = parameters(request.function)[position].name
        table.add_row(name, f"{along:.12g}", f"{differences:.12g}", f"{error:.1e}", "ok" if right else "[bold red]wrong[/]")
    Console().print(table)
    if wrong:
        raise typer.Exit(1)


def _copies(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The function may write to its arguments."""
    import copy

    return copy.deepcopy(arguments)


def _compare(request: Request, position: int, bar: Any, seed: int) -> tuple[float, float, float]:
    """The derivative in a random direction, of a real number in that of 1: by the gradient, by finite differences, and their relative difference.

    Of central differences with several steps the best one counts: too long a step truncates, too short a one rounds.
    """
    import numpy as np

    value = np.asarray(request.arguments[position])
    if value.dtype.kind not in "fc":
        raise UsageError(f"argument {position} is of type {value.dtype}: differences need a float or an array of floats")
    rng = np.random.default_rng(seed)
    direction = rng.standard_normal(value.shape) if value.ndim else np.ones(())
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
    request = request_of(target, wrt, args)
    for name in (part.strip() for part in mode.split(",")):
        if name == "forward":
            raise UsageError("--mode: forward is for dump; a program for directions is compiled when stgrad.jvp is called")
        derivative = request.derivative(name, order)
        start = time.perf_counter()
        derivative.compile(*request.arguments)
        typer.echo(f"{request.name}, {name}: compiled in {time.perf_counter() - start:.2f} s")
        if output is not None:
            _show(derivative.lowered(*request.arguments), output)


@app.command()
def build(
    target: Target,
    wrt: Wrt = "0",
    order: Order = 1,
    args: Args = "",
    mode: Annotated[str, typer.Option("--mode", help="grad, value_and_grad, primal, or several with commas between")] = "grad",
    c: Annotated[bool, typer.Option("--c", help="a shared object and a header for C: the value, and unless --mode is primal the gradients")] = False,
    output: Output = None,
) -> None:
    """Write a module that holds derivatives of a function and needs NumPy and Numba, but no stgrad; or with --c a shared object for C."""
    request = request_of(target, wrt, args)
    if c:
        _build_shared(request, mode, order, output)
        return
    names = [name.strip() for name in mode.split(",")]
    if "forward" in names:
        raise UsageError("--mode: forward is for dump; write a function that calls stgrad.jvp, and build it with --mode primal")
    derivatives = {request.name if name == "primal" else f"{request.name}_{name}": request.derivative(name, order) for name in names}
    text = importlib.import_module("stgrad.standalone").build(derivatives, *request.arguments)
    _show(text, output)
    if output is not None:
        typer.echo(f"wrote {output}: {', '.join(derivatives)}")


def _build_shared(request: Request, mode: str, order: int, output: Path | None) -> None:
    """Value and gradients for C; the value of a function whose gradient is asked for comes with it."""
    if order != 1 or mode not in ("grad", "value_and_grad", "primal"):
        raise UsageError("--c: one function, of --mode grad or primal and of the first order")
    positions = () if mode == "primal" else request.positions
    build_shared = importlib.import_module("stgrad.standalone.shared").build_shared
    written = build_shared(request.function, request.arguments, positions, output or Path(f"{request.name}.so"))
    typer.echo(f"wrote {', '.join(map(str, written))}")


@app.command()
def profile(
    target: Target,
    wrt: Wrt = "0",
    order: Order = 1,
    args: Args = "",
    mode: Annotated[str, typer.Option("--mode", help="grad, value_and_grad or primal")] = "grad",
) -> None:
    """Measure where a derivative spends its time, by the lines of the function."""
    request = request_of(target, wrt, args)
    if mode == "forward":
        raise UsageError("--mode: forward is for dump; profile a function that calls stgrad.jvp with --mode primal")
    measured = importlib.import_module("stgrad.profiling").profile
    typer.echo(str(measured(request.derivative(mode, order), *request.arguments)))


@app.command("help")
def help_(topic: Annotated[str, typer.Argument(help="a page (limits), a section (cli#build, indices), or a function (jacobian)")] = "") -> None:
    """Show a page or a section of the documentation."""
    from stgrad.manual import close_to, contents, look_up

    text = look_up(topic) if topic else contents()
    if text is None:
        close = close_to(topic)
        raise UsageError(f"there is no page or section {topic!r}" + (f"; there are {', '.join(close)}" if close else "; `stgrad help` lists them"))
    console = Console()
    if console.is_terminal:
        from rich.markdown import Markdown

        console.print(Markdown(text))
    else:
        sys.stdout.write(text)


class Shell(StrEnum):
    """A shell whose completion Typer knows."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


@app.command()
def completion(shell: Annotated[Shell, typer.Argument(help="the shell that is to read it")]) -> None:
    """Print what makes a shell complete this command line; for bash, in ~/.bashrc: eval "$(stgrad completion bash)"."""
    from typer._completion_shared import get_completion_script

    # Typer hides what `add_completion=True` would add to every --help
    typer.echo(get_completion_script(prog_name="stgrad", complete_var=COMPLETE, shell=shell.value))
