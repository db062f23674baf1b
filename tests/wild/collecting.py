"""Drawing the cases: functions that run on drawn floats and have a derivative there, with differences as the judge.

It runs with NUMBA_DISABLE_JIT=1, so that nothing is compiled (but for packages that cannot be imported so); stgrad is not imported. Sources:
their modules are walked, and functions in random but fixed order get arguments of a few patterns until they return floats that change smoothly.
"""

from __future__ import annotations

import dis
import importlib
import inspect
import pkgutil
import random
import signal
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .cases import Case, codes, direction, draw, numbers, weighed, writing
from .packages import WITHOUT_A_VALUE

WHOLE = frozenset("n k m i j order axis window size ndim nbins bins degree deg lag lags maxlen num step steps dim length width nlags p_order ddof".split())
SCALES = (1.0, 30.0, 300.0)
ATTEMPT = 2.0  # seconds
IGNORED = ("test", "plot", "example", "conftest", "setup", "cuda", "gpu", "cli", "gui", "_version", "data", "deprecated", "bench", "docs")


class Late(BaseException):
    """An attempt takes too long."""


def modules(name: str) -> Iterator[types.ModuleType]:
    """A package with what is in it, or one module of SciPy or Numba; what cannot be imported is left out."""
    top = _imported(name)
    if top is None:
        return
    yield top
    if name.startswith(("numba.", "scipy.")) or not hasattr(top, "__path__"):
        return
    for info in pkgutil.walk_packages(top.__path__, name + ".", onerror=lambda _: None):
        if not any(part.startswith(IGNORED) for part in info.name.lower().split(".")[1:]):
            found = _imported(info.name)
            if found is not None:
                yield found


def _imported(name: str) -> types.ModuleType | None:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit):  # noqa: BLE001  (packages fail in any way they like)
        return None


def functions(name: str) -> dict[str, Callable[..., Any]]:
    """The functions that are defined in a package, by target; of Numba's tests also those inside of test methods."""
    found: dict[str, Callable[..., Any]] = {}
    for module in modules(name):
        for key, value in sorted(vars(module).items()):
            if isinstance(plain(value), types.FunctionType) and value.__module__ == module.__name__:
                found[f"{module.__name__}:{key}"] = value
            elif isinstance(value, type) and name.startswith("numba.") and value.__module__ == module.__name__:
                found.update(_inner(module, value))
    return {target: function for target, function in found.items() if target not in WITHOUT_A_VALUE}


def plain(function: Any) -> Any:
    """What Numba compiles, where it has been handed to Numba."""
    return getattr(function, "py_func", function)


def _inner(module: types.ModuleType, owner: type) -> dict[str, Callable[..., Any]]:
    found = {}
    for key, method in sorted(vars(owner).items()):
        if isinstance(method, types.FunctionType):
            for code in codes(method.__code__):
                if not code.co_freevars and code.co_name.isidentifier():
                    inner = f"{module.__name__}:{owner.__name__}.{key}/{code.co_name}@{code.co_firstlineno}"
                    found[inner] = types.FunctionType(code, method.__globals__, code.co_name)
    return found


def patterns(function: Callable[..., Any]) -> list[str]:
    """Letters for the required parameters of a function, the likeliest first; none where it has no use for floats."""
    parameters = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    if not 1 <= len(parameters) <= 9 or any(p.kind in (p.VAR_KEYWORD, p.KEYWORD_ONLY, p.VAR_POSITIONAL) for p in parameters):
        return []
    count = len(parameters)
    drafts = ["s" * count, "v" * count, "v" + "s" * (count - 1), "vv" + "s" * (count - 2), "m" * count, "m" + "v" * (count - 1), "w" * count]
    drafts += ["m" + "s" * (count - 1), "ww" + "s" * (count - 2), "vvv" + "s" * (count - 3)]
    drafts = list(dict.fromkeys(d[:count] for d in drafts))
    fixed = ["i" if p.name in WHOLE or p.annotation in (int, "int") else "" for p in parameters]
    drafts = ["".join(f or d for f, d in zip(fixed, draft, strict=True)) for draft in drafts]
    drafts += ["i" + draft[1:] for draft in drafts[:2]] + [draft[:-1] + "i" for draft in drafts[:5]]
    return [d for d in dict.fromkeys(drafts) if set(d) != {"i"}]


def found_case(target: str, function: Callable[..., Any]) -> Case | None:
    """The first pattern at which the function has a derivative."""
    try:
        drafts = patterns(function)
    except (ValueError, TypeError):
        return None
    for scale in SCALES[:1] if target.startswith("numba.") else SCALES:
        for kinds in drafts:
            case = _attempt(target, function, kinds, scale)
            if case is not None:
                return case
    return None


def _attempt(target: str, function: Callable[..., Any], kinds: str, scale: float) -> Case | None:
    signal.setitimer(signal.ITIMER_REAL, ATTEMPT)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return _tried(target, function, kinds, scale)
    except (Exception, SystemExit, Late):  # noqa: BLE001
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _tried(target: str, function: Callable[..., Any], kinds: str, scale: float) -> Case | None:
    args = draw(target, kinds, scale)
    copies = [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]
    result = function(*copies)
    written = None
    if result is None:
        written = next(i for i, (a, b) in enumerate(zip(args, copies, strict=True)) if isinstance(a, np.ndarray) and not np.array_equal(a, b))
        function = writing(function, written)
    elif not numbers(result) or len(numbers(result)) > 50:
        return None
    expected = []
    for i, kind in enumerate(kinds):
        if kind != "i":
            expected.append(differences(function, args, i))
    if not all(np.isfinite(expected)) or not 1e-9 < max(map(abs, expected)) < 1e9:
        return None
    return Case(target, kinds, scale, tuple(expected), written)


def differences(function: Callable[..., Any], args: list[Any], position: int) -> float:
    """The derivative along one argument's direction; NaN where the function is not smooth, or not the same twice."""
    move = direction(position, args[position])
    size = float(np.max(np.abs(args[position])))

    def at(step: float) -> float:
        moved = [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]
        moved[position] = moved[position] + step * move
        return weighed(function(*moved))

    def central(h: float) -> float:
        return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)

    slopes = [central(size * relative) for relative in (1e-3, 3e-4)]
    sides = [(at(s * size * 1e-6) - at(0.0)) / (s * size * 1e-6) for s in (1.0, -1.0)]
    tolerance = 1e-5 * max(abs(slopes[1]), 1e-4 * abs(at(0.0)) / size)
    smooth = abs(slopes[0] - slopes[1]) <= tolerance and abs(sides[0] - sides[1]) <= 1e3 * tolerance + 1e-9 * abs(at(0.0)) / (size * 1e-6)
    return slopes[1] if smooth and at(0.0) == at(0.0) else float("nan")


def collect(name: str, wanted: int) -> list[Case]:
    """The cases of one source: the functions that have a loop first, then the others, each in an order drawn by lot."""

    def late(*_: Any) -> None:
        raise Late

    signal.signal(signal.SIGALRM, late)
    candidates = functions(name)
    order = sorted(candidates)
    random.Random(name).shuffle(order)
    order.sort(key=lambda target: not _loops(candidates[target]))
    cases: list[Case] = []
    for target in order:
        if len(cases) == wanted:
            break
        case = found_case(target, candidates[target])
        if case is not None:
            cases.append(case)
    return cases


def _loops(function: Callable[..., Any]) -> bool:
    return any("FOR_ITER" in i.opname or i.opname == "JUMP_BACKWARD" for i in dis.get_instructions(plain(function)))
