"""One case: the name of a function, how its arguments are drawn, and what its derivative is by differences."""

from __future__ import annotations

import importlib
import json
import random
import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).parent / "cases.json"


@dataclass(frozen=True)
class Case:
    """`kinds` has a letter for each argument: s scalar, v and w vectors of 5 and 3, m matrix, i integer; `written`: the argument that is the result."""

    target: str  # module:name, or module:name/inner@line for a function inside another one
    kinds: str
    scale: float
    expected: tuple[float, ...]  # the derivative along the drawn direction of each float argument, in order
    written: int | None = None

    @property
    def source(self) -> str:
        """The package, or the module of Numba's tests."""
        module = self.target.partition(":")[0]
        return module if module.startswith(("numba.tests", "scipy.")) else module.split(".")[0]


def draw(case_target: str, kinds: str, scale: float) -> list[Any]:
    """The arguments of a case."""
    lot = random.Random(case_target)
    shapes = {"s": (), "v": (5,), "w": (3,), "m": (4, 4)}

    def one(kind: str) -> Any:
        if kind == "i":
            return 3
        shape = shapes[kind]
        numbers = [scale * lot.uniform(0.2, 0.9) for _ in range(int(np.prod(shape)))]
        return numbers[0] if not shape else np.array(numbers).reshape(shape)

    return [one(kind) for kind in kinds]


def direction(position: int, value: Any) -> Any:
    """The direction in which an argument moves."""
    if isinstance(value, float):
        return 1.0
    lot = random.Random(position)
    return np.array([lot.uniform(-1.0, 1.0) for _ in range(value.size)]).reshape(value.shape)


def numbers(result: Any) -> list[Any]:
    """The real float leaves of a result, in order; TypeError where it holds what has no place in a derivative."""
    if isinstance(result, (tuple, list)):
        return [leaf for item in result for leaf in numbers(item)]
    if isinstance(result, dict):
        return [leaf for item in result.values() for leaf in numbers(item)]
    if isinstance(result, (float, np.floating)) or (isinstance(result, np.ndarray) and result.dtype == np.float64):
        return [result]
    if result is None or isinstance(result, (bool, int, str, np.integer, np.bool_)) or (isinstance(result, np.ndarray) and result.dtype.kind in "biu"):
        return []
    raise TypeError(f"a result of type {type(result).__name__}")


def weights(leaf: Any, position: int) -> Any:
    """What each number of a result counts for."""
    if not isinstance(leaf, np.ndarray):
        return float(np.cos(1.3 * position + 0.4))
    return np.cos(0.7 * np.arange(leaf.size) + 1.3 * position + 0.4).reshape(leaf.shape)


def cotangents(result: Any, count: list[int]) -> Any:
    """`weights` in the structure of a result."""
    if isinstance(result, (tuple, list)):
        found = [cotangents(item, count) for item in result]
        return found if isinstance(result, list) else tuple.__new__(type(result), found)  # some tuples want more than their items
    if isinstance(result, dict):
        return {key: cotangents(item, count) for key, item in result.items()}
    if not numbers(result):
        return None
    count[0] += 1
    return weights(result, count[0] - 1)


def weighed(result: Any) -> float:
    """One number for a result."""
    return float(sum(np.sum(weights(leaf, i) * leaf) for i, leaf in enumerate(numbers(result))))


def target_function(target: str) -> Callable[..., Any]:
    """The function that a target names, as it is."""
    module, _, path = target.partition(":")
    path, _, inner = path.partition("/")
    found: Any = importlib.import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    return inner_function(found, inner) if inner else found


def inner_function(outer: Any, inner: str) -> Callable[..., Any]:
    """A function without free variables that is defined inside another one."""
    name, _, line = inner.partition("@")
    for code in codes(outer.__code__):
        if code.co_name == name and code.co_firstlineno == int(line):
            return types.FunctionType(code, outer.__globals__, name)
    raise LookupError(inner)


def codes(code: types.CodeType) -> Iterable[types.CodeType]:
    """The functions that are defined directly or deeper inside a function."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from codes(constant)


def writing(function: Callable[..., Any], position: int) -> Callable[..., Any]:
    """The function with what it writes to an argument as its result."""

    def written(*args):  # type: ignore[no-untyped-def]
        function(*args)
        return args[position]

    return written


def load(file: Path = FILE) -> list[Case]:
    """The cases that were drawn."""
    return [Case(**{**row, "expected": tuple(row["expected"])}) for row in json.loads(file.read_text())]


def save(cases: Sequence[Case], file: Path = FILE) -> None:
    """One case to a line."""
    rows = [json.dumps({k: v for k, v in asdict(case).items() if v is not None}) for case in sorted(cases, key=lambda c: c.target)]
    file.write_text("[\n" + ",\n".join(rows) + "\n]\n")
