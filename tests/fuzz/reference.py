"""A program under plain Python: its value, what it raises, and its derivative in a direction by differences."""

from __future__ import annotations

import copy
import linecache
import sys
import types
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .generator import Draft, Pair

STEPS = (2e-3, 4e-4, 8e-5, 1e-5)
CENTRAL = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))  # of order six


@dataclass(frozen=True)
class Slope:
    """A derivative in a direction, and how far differences of other steps lie from it; `smooth` tells whether both sides agree."""

    value: float
    doubt: float


def load(text: str) -> dict[str, Any]:
    """The names of a module's text, whose functions have source that can be found."""
    name = f"random_program_{zlib.crc32(text.encode()):08x}"
    path = f"<{name}>"
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(text, path, "exec"), module.__dict__)  # noqa: S102
    return module.__dict__


def arguments(draft: Draft, names: dict[str, Any]) -> list[Any]:
    """Copies of the arguments, with objects of the module's own class."""
    made = copy.deepcopy(list(draft.args.values()))
    return [names["Pair"](v.u, v.v) if isinstance(v, Pair) else v for v in made]


def floats(value: Any) -> Iterator[Any]:
    """The floats and arrays of floats in a value."""
    if isinstance(value, dict):
        value = list(value.values())
    elif hasattr(value, "__dataclass_fields__"):
        value = list(vars(value).values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from floats(item)
    elif isinstance(value, (float, np.floating)) or isinstance(value, np.ndarray) and value.dtype.kind == "f":
        yield value


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """The structure with `function` of each float or array of floats."""
    if isinstance(value, dict):
        return {k: mapped(function, v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(mapped(function, v) for v in value)
    if hasattr(value, "__dataclass_fields__"):
        return type(value)(*(mapped(function, v) for v in vars(value).values()))
    return function(value) if any(True for _ in floats(value)) else copy.copy(value)


def direction(args: list[Any], seed: int) -> list[Any]:
    """Random numbers in the structure of the arguments."""
    rng = np.random.default_rng(seed + 10**6)

    def drawn(value: Any) -> Any:
        return rng.uniform(-1, 1, value.shape).astype(value.dtype) if isinstance(value, np.ndarray) else float(rng.uniform(-1, 1))

    return [mapped(drawn, a) for a in args]


def moved(args: list[Any], v: list[Any], h: float) -> list[Any]:
    steps = (d for a in v for d in floats(a))
    return [mapped(lambda x: x + h * next(steps), a) for a in args]


def inner(a: Any, b: Any) -> float:
    """The sum of products of the floats of two structures."""
    pairs = list(zip(floats(a), floats(b), strict=True))
    return float(sum(float(np.sum(np.asarray(u, np.float64) * w)) for u, w in pairs))


class Frozen:
    """`stop_gradient` for differences: what it gave at the point itself, in the order of the calls."""

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.at: int | None = None

    def __call__(self, value: Any) -> Any:
        if self.at is None:
            self.kept.append(copy.deepcopy(value))
            return value
        self.at += 1
        return copy.deepcopy(self.kept[self.at - 1])


class Reference:
    """The program under plain Python."""

    def __init__(self, draft: Draft) -> None:
        names = load(draft.text.replace("float32", "float64"))
        self.frozen = Frozen()
        names["stgrad"] = types.SimpleNamespace(stop_gradient=self.frozen)
        if "cubed" in names:
            names["cubed"] = lambda a: a * a * a
        self.function = names["f"]
        self.args = arguments(draft, names)
        if draft.float32:
            self.args = [mapped(lambda x: x.astype(np.float64) if isinstance(x, np.ndarray) else float(x), a) for a in self.args]

    def value(self) -> Any:
        """Raises what the program raises."""
        self.frozen.at = None
        self.frozen.kept = []
        return self.function(*copy.deepcopy(self.args))

    def _along(self, v: list[Any], h: float) -> float:
        self.frozen.at = 0
        return float(self.function(*moved(self.args, v, h)))

    def slope(self, v: list[Any]) -> Slope:
        """The derivative along `v`; the doubt is large beside a kink or a jump."""
        found = [sum(w * (self._along(v, k * h) - self._along(v, -k * h)) for k, w in CENTRAL) / h for h in STEPS]
        pairs = [(abs(a - b), b) for a, b in zip(found, found[1:], strict=False)]
        doubt, value = min(pairs)
        return Slope(value, doubt)

    def is_smooth(self, v: list[Any], size: float) -> bool:
        """Whether the derivatives from both sides agree."""
        h, here = 1e-5, self._along(v, 0.0)
        right, left = ((self._along(v, s * h) - here) / (s * h) for s in (1, -1))
        near = (self._along(v, h / 8) - here) / (h / 8)
        return abs(right - left) <= 1e-3 * size and abs(near - right) <= 1e-3 * size
