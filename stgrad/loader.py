"""Generated text to a callable: a real module file in the cache directory, imported, compiled with Numba.

The module gets a stable name and stands in `sys.modules` before it runs: Numba's cached code finds its globals by that
name. The file is real, so pdb, tracebacks and `inspect.getsource` show the code that runs. The text that was handed in is what
runs, never the file's content, and the file is rewritten wherever it differs from the text.
"""

from __future__ import annotations

import importlib.util
import linecache
import re
import sys
import threading
import types
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numba
from numba.core import event
from numba.core.dispatcher import Dispatcher
from numba.core.errors import ForceLiteralArg, NumbaPerformanceWarning

from stgrad import progress
from stgrad.cache import directory, key, write_source
from stgrad.errors import NotCompiledError, StgradError
from stgrad.native import keep
from stgrad.runtime import casts, shared  # noqa: F401  (Numba learns the casts)
from stgrad.stack_slots import Compiler

OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "boundscheck": False}

def keep_shared(dispatcher: Any, symbol: str) -> None:
    """Keep the native code of a function of the runtime beside that of programs."""
    keep(dispatcher, directory() / f"{_shared_file(symbol)}.py")


def _shared_file(symbol: str) -> str:
    return f"{symbol}_{key(symbol)}"


shared.KEEPERS[:] = [keep_shared]

_lock = threading.RLock()
_compiled: dict[tuple[str, str], Callable[..., Any]] = {}  # (path, function) -> dispatcher


def load(
    text: str, name: str, *, jit: bool = True, parallel: bool = False, checked: bool = False, tell: bool = True
) -> Callable[..., Any]:
    """The function `name` of a generated module.

    Args:
        text: source of the whole module, its imports included.
        name: the function to return; it also names the file.
        jit: compile with Numba at the first call of each type; else the plain function of the same file.
        parallel: let Numba run `prange` loops on threads.
        checked: compile with tests that every index is within its array: for text that comes from outside.
        tell: let a terminal know of a compilation that takes long.

    Returns:
        A Numba dispatcher or a plain function. The same text gives the same object for the life of the process.
    """
    if parallel and jit:
        shared.fill_kept(lambda symbol: any(directory().glob(f"{_shared_file(symbol)}.*.nbc")))
    with _lock:
        path = write_source(text, name, options_text(parallel, checked))
        function = getattr(_module(text, path), name)
        return _dispatcher(function, path, parallel=parallel, tell=tell, boundscheck=checked) if jit else function


def file_of(text: str, name: str, *, parallel: bool = False, checked: bool = False) -> Path:
    """The file that the function of a generated module is loaded from; it is written if need be."""
    with _lock:
        return write_source(text, name, options_text(parallel, checked))


def options_text(parallel: bool, checked: bool) -> str:
    """The options that native code depends on, in one string."""
    return " ".join([*["parallel"] * parallel, *["checked"] * checked])


def warm(compiled: Any, arguments: Sequence[Any]) -> None:
    """Compile a dispatcher for the types of these arguments, 0-d arrays as scalars; a plain function stays as it is."""
    if isinstance(compiled, Dispatcher):
        scalars = (a[()] if getattr(a, "ndim", 1) == 0 else a for a in arguments)
        compiled.compile(tuple(numba.typeof(a) for a in scalars))


def _module(text: str, path: Path) -> types.ModuleType:
    full_name = f"stgrad.generated.{path.stem}"
    module = sys.modules.get(full_name)
    if module is not None and module.__file__ == str(path):
        return module
    spec = importlib.util.spec_from_file_location(full_name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    code = compile(text, str(path), "exec")
    # An entry without a time stamp stays when the file is removed under a running process.
    linecache.cache[str(path)] = (len(text), None, text.splitlines(keepends=True), str(path))
    sys.modules[full_name] = module
    try:
        exec(code, module.__dict__)
    except BaseException:
        del sys.modules[full_name]
        raise
    return module


def _dispatcher(function: Callable[..., Any], path: Path, *, tell: bool, **options: bool) -> Callable[..., Any]:
    known = (str(path), function.__name__)
    if known not in _compiled:
        whole = compiled_units(function, options)
        dispatcher: Any = numba.njit(**(OPTIONS | options), pipeline_class=Compiler)(whole)
        if isinstance(dispatcher, Dispatcher):  # NUMBA_DISABLE_JIT gives the function back
            if not _recurs(function):  # code of functions that call themselves cannot be loaded again: Numba sets their pointers as it compiles
                keep(dispatcher, path)
            _hush(dispatcher)
            if tell:
                _watch(dispatcher)
        _compiled[known] = dispatcher
    return _compiled[known]


def compiled_units(function: Callable[..., Any], options: dict[str, bool]) -> Callable[..., Any]:
    """The function with compiled versions of the units of its module, if it has any; in the module they stay plain ones."""
    assert isinstance(function, types.FunctionType)
    units = _units(function)
    if not units:
        return function
    scope = dict(function.__globals__)
    for name, unit in units.items():
        inner = {"parallel": False, "no_cpython_wrapper": True}  # nobody calls it but its module
        scope[name] = _once_for_integers(numba.njit(**(OPTIONS | options | inner), pipeline_class=Compiler)(_in_scope(unit, scope)))
    return _in_scope(function, scope)


def _once_for_integers(dispatcher: Any) -> Any:
    """A function that is not compiled anew for each integer that stands in a call of it: `f(x, 0)` for Numba has another type than `f(x, n)`."""
    if not isinstance(dispatcher, Dispatcher):
        return dispatcher
    made: Any = dispatcher
    compile_for = made.compile
    made.compile = lambda signature: compile_for(tuple(numba.types.unliteral(t) for t in signature))
    return made


def _units(function: types.FunctionType) -> dict[str, types.FunctionType]:
    return {name: unit for name, unit in function.__globals__.items() if getattr(unit, "_stgrad_unit_", False)}


def _recurs(function: Any) -> bool:
    """Whether a unit of its module calls itself, directly or not."""
    units = _units(function)
    calls = {name: units.keys() & set(unit.__code__.co_names) for name, unit in units.items()}
    while ends := [name for name, others in calls.items() if not others & calls.keys()]:
        for name in ends:
            del calls[name]
    return bool(calls)


def _in_scope(function: types.FunctionType, scope: dict[str, Any]) -> types.FunctionType:
    return types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__)


def _hush(dispatcher: Any) -> None:
    """No advice on performance, and no words of Numba: the code is not the user's."""
    original = dispatcher._compiler.compile

    def compiled(args: Any, return_type: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NumbaPerformanceWarning)
            try:
                return original(args, return_type)
            except (ForceLiteralArg, StgradError, MemoryError):  # the first is Numba's own way to ask for another type
                raise
            except Exception as problem:  # its passes raise what they like: NotImplementedError of float16, AttributeError of code that never runs
                raise _translated(dispatcher.py_func, problem) from problem

    dispatcher._compiler.compile = compiled


_COLOURS = re.compile("\x1b\\[[0-9;]*m")  # with which Numba prints


def _translated(function: Any, problem: Exception) -> StgradError:
    lines = _COLOURS.sub("", str(problem)).splitlines()
    said = [line for line in lines[1:] if line.strip()] or lines or [type(problem).__name__]
    message = f"Numba does not compile the program `{function.__name__}`"
    if "float16" in str(problem):
        return NotCompiledError(message, reason="it has no numbers of half precision (float16)", hint='use np.float32; jit="auto" runs it in plain Python')
    if "breakpoint" in str(problem):
        return NotCompiledError(message, reason="`breakpoint()` stops what runs in plain Python", hint="stgrad.grad(f, jit=False)")
    return NotCompiledError(message, reason=said[0].strip(), hint='jit="auto" runs it in plain Python; please report the function')


class _Patience(event.Listener):  # type: ignore[misc]
    """Tells the log, and whoever waits, what is being compiled."""

    def __init__(self) -> None:
        self.watched: set[int] = set()
        self._works: dict[int, progress.Work] = {}

    def on_start(self, event: Any) -> None:
        dispatcher = event.data["dispatcher"]
        if id(dispatcher) in self.watched:
            self._works[id(dispatcher)] = progress.Work(dispatcher.py_func.__name__, "compiling")

    def on_end(self, event: Any) -> None:
        work = self._works.pop(id(event.data["dispatcher"]), None)
        if work is not None:
            work.done()


_patience = _Patience()


def _watch(dispatcher: Any) -> None:
    if not _patience.watched:
        event.register("numba:compile", _patience)
    _patience.watched.add(id(dispatcher))  # `_compiled` keeps it alive
