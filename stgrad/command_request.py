"""What a command line asks for: the function that TARGET names, example arguments for it, and the parameters to differentiate in."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

DEFAULT_WRT = "0"


class UsageError(Exception):
    """The command line names something that is not there."""


@dataclass(frozen=True)
class Request:
    """A function, example arguments for it, and the positions of those to differentiate in.

    `decorated`: what decorators have made of it (`@stgrad.value_and_grad`), the outermost first.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    positions: tuple[int, ...]
    decorated: tuple[Any, ...] = ()

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", "function")

    def gradient(self, order: int = 1) -> Any:
        """The gradient of the given order, a function of the same arguments."""
        return self.derivative("grad", order)

    def derivative(self, mode: str, order: int = 1, **options: Any) -> Any:
        """The gradient of the given order, with the value at 'value_and_grad'; its tangent program at 'forward'; the function itself at 'primal'.

        Where nothing is said, '', what the decorators of the function say; of a function without any, a gradient is shown as its adjoint.
        """
        api = importlib.import_module("stgrad.api")
        if not mode:
            modes = [d.mode for d in self.decorated]
            mode = modes[0] if modes and modes[0] in ("grad", "value_and_grad", "primal") else "grad"
            order += sum(m in ("grad", "value_and_grad") for m in modes[1:])
        if mode == "primal":
            return api.jit(self.function, **options)
        if mode not in ("grad", "value_and_grad", "forward"):
            raise UsageError(f"--mode: {mode!r} is none of grad, value_and_grad, forward, primal")
        argnums = self.positions if len(self.positions) > 1 else self.positions[0]
        function = self.function
        for _ in range(order - 1):
            function = api.grad(function, argnums, mode="reverse")
        if mode == "forward":
            return importlib.import_module("stgrad.differentials").tangent_program(function, argnums, **options)
        return getattr(api, mode)(function, argnums, mode=self.decorated[0].sweep if self.decorated else "reverse", **options)


def request_of(target: str, wrt: str, args: str, *, run: bool = True) -> Request:
    """What is asked for; without `run` there may be no arguments: the compiler then guesses types from the code."""
    module, function = _resolve(target)
    decorated: list[Any] = []
    while hasattr(function, "derivative"):
        decorated.append(function.derivative)
        function = decorated[-1].function
    if wrt == DEFAULT_WRT and decorated and decorated[0].wrt:
        wrt = ",".join(decorated[0].wrt)
    arguments = _evaluate(args, module) if args else _guess(function) if run or _told(function) else ()
    request = Request(function, arguments, _positions(function, wrt), tuple(decorated))
    if arguments:
        _must_fit(request)
    return request


def _must_fit(request: Request) -> None:
    try:
        inspect.signature(request.function).bind(*request.arguments)
    except TypeError as problem:
        raise UsageError(f"--args: {problem}: {request.name} takes {inspect.signature(request.function)}") from None


def _told(function: Callable[..., Any]) -> bool:
    """Whether annotations or defaults give an example of every argument."""
    return all(p.default is not p.empty or any(p.annotation in (k, k.__name__) for k in _EXAMPLES) for p in parameters(function))


def _resolve(target: str) -> tuple[ModuleType, Callable[..., Any]]:
    """The module and the function that `FILE.py:FUNCTION` or `package.module:function` names; `Class.method` of an instance made for it."""
    place, colon, path = target.rpartition(":")
    if not colon or not place or not path:
        raise UsageError(f"{target!r} is not FILE.py:FUNCTION or package.module:function")
    module = _load_file(Path(place)) if place.endswith(".py") else _load_module(place)
    found: Any = module
    for part in path.split("."):
        if not hasattr(found, part):
            own = module if inspect.ismodule(found) else found if inspect.isclass(found) else type(found)
            there = ", ".join(name for name, value in vars(own).items() if inspect.isroutine(value) and not name.startswith("_"))
            raise UsageError(f"there is no {path!r} in {place}; it has: {there or 'no functions'}")
        found = getattr(_owner(found, part), part)
    if not callable(found):
        raise UsageError(f"{target!r} is not a function, but of type {type(found).__name__}")
    return module, found


def _owner(found: Any, part: str) -> Any:
    """What a name is looked up in: for a method of a class, an instance of it."""
    if not inspect.isclass(found) or not inspect.isfunction(inspect.getattr_static(found, part)):
        return found
    try:
        inspect.signature(found).bind()
    except TypeError:
        hint = f"make one in the file, `thing = {found.__name__}(...)`, and name thing.{part}"
        raise UsageError(f"{found.__name__}.{part} needs an instance, and {found.__name__}{inspect.signature(found)} takes arguments: {hint}") from None
    return found()


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
    try:
        value = eval(code, {"np": np, "math": math, **vars(module)})  # noqa: S307  (the user's own expression)
    except NameError as error:
        raise UsageError(f"--args: {error}; known are np, math and the names of the file") from None
    return value if isinstance(value, tuple) else (value,)


_EXAMPLES = {float: 1.0, int: 2, complex: 1.0 + 0.5j, bool: True}


def _guess(function: Callable[..., Any]) -> tuple[Any, ...]:
    """Example arguments from defaults and annotations."""
    values = []
    for parameter in parameters(function):
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


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p for p in inspect.signature(function).parameters.values() if p.kind in kinds]


def _positions(function: Callable[..., Any], wrt: str) -> tuple[int, ...]:
    """The positions that `--wrt x,2` names."""
    names = [parameter.name for parameter in parameters(function)]
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
