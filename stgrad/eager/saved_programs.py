"""Generated programs in saved models: how they stand in the manifest, and how a loaded function runs them.

The text of a program is checked and defined when the model is loaded, and compiled at its first call, with every index tested. What the
compiler does not take back runs under plain Python, on arrays. First derivatives are those of the stored pullback.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad.eager import structures
from stgrad.eager.compilation import NotCompiledError, Program, _around, _compare, form_of
from stgrad.eager.generated import as_tuple, result_order
from stgrad.eager.shapes import TensorSpec
from stgrad.eager.tensor import Tensor
from stgrad.errors import StgradError
from stgrad.request import Derivative, Options
from stgrad.transformed import Transformed


def described(
    program: Program, value: Callable[[Any], Any], number: Callable[[Any], int], name: str, constants: Any, connected: list[bool]
) -> dict[str, Any]:
    """A program for the manifest; `value` and `number` write values and objects."""
    leaves, order = list(program.leaves), result_order(program)
    for place, tensor in zip(program.places, program.examples):
        leaves[place] = tensor if isinstance(tensor, TensorSpec) else TensorSpec.from_tensor(tensor)
    return {
        "name": name,
        "captured": [number(c) for c in program.captured],
        "connected": connected,
        "arguments": value(program.rebuild(leaves)),
        "constants": [number(c) for c in constants],
        "dtypes": [str(program.dtypes[i]) for i in order],
        "result": value(program.rebuild_y([order.index(i) for i in range(len(order))])),
    }


def form_of_described(arguments: Any) -> Any:
    """The form of the arguments that a program in the manifest is for."""
    leaves, rebuild = structures.flatten_with(arguments)
    args, kwargs = rebuild(
        [Tensor(np.zeros([int(n) for n in s.shape], s.dtype.dtype)[()]) if isinstance(s, TensorSpec) else s for s in leaves]
    )
    return form_of(args, kwargs)


class StoredProgram(Program):
    """A program of a saved model.

    Args:
        texts: the two functions, value and pullback.
        captured, constants: the variables, tensors and arrays that it takes behind its inputs.
        connected: for each input and captured tensor, whether the result depends on it.
        dtypes, result: the dtypes of its results, and their structure with numbers as leaves.
        arguments: what it is called with, TensorSpecs for tensors.
    """

    def __init__(
        self,
        texts: tuple[Any, Any],
        captured: list[Any],
        constants: list[Any],
        connected: list[bool],
        dtypes: list[str],
        result: Any,
        arguments: Any,
    ) -> None:  # the parts of a Program that calls need
        self.texts = texts
        self.name = str(texts[0].__name__)
        self.captured, self.constants, self.connected = captured, tuple(constants), connected
        numbers, rebuild = structures.flatten_with(result)
        self.order = [i for i in numbers if i is not None]  # of the results of the text
        if sorted(self.order) != list(range(len(dtypes))):
            raise ValueError("the results of a stored program do not have their numbers")
        self.dtypes = [np.dtype(dtypes[i]) for i in self.order]
        self.rebuild_y = _around([i is None for i in numbers], rebuild)
        self.leaves, self.rebuild = structures.flatten_with(arguments)
        self.places = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, TensorSpec)]
        self.checked = False
        self.runs: dict[Any, Any] = {}

    def for_call(self, eager: Any) -> StoredProgram:
        self.eager = eager
        return self

    second = False  # by the stored function

    def _values(self, inputs: tuple[Any, ...], captured: tuple[Any, ...]) -> Any:
        found = self._run(0, (*inputs, *captured, *self.constants))
        return tuple([found[i] for i in self.order])

    def _bars(self, given: Any, seeds: list[Any], values: Any) -> list[Any]:
        arrays = [*given[0], *given[1]]
        of_text = [self.order.index(i) for i in range(len(self.order))]
        pairs = [(seeds[i], values[i]) for i in of_text if np.result_type(values[i]).kind == "f"]
        floats = [np.asarray(np.zeros_like(v) if s is None else s)[()] for s, v in pairs]
        bars = iter(self._run(1, (*arrays, *floats, *self.constants))[len(values) :])
        return [next(bars) if a.dtype.kind == "f" else None for a in arrays]

    def _check_gradients(self, tensors: list[Any], captured: list[Any]) -> None:
        """They were compared when the model was saved."""
        self.checked = True

    def _run(self, which: int, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """One of the two functions on these arrays: compiled where the compiler takes it, and gives what the text gives."""
        plain = self.texts[which]
        key = which, *[(a.dtype.str, tuple([n == 1 for n in a.shape])) for a in map(np.asarray, arrays)]
        if key not in self.runs:
            with np.errstate(all="ignore"):
                wanted = as_tuple(plain(*arrays))
            self.runs[key] = _compiled(plain, arrays, wanted)
            return wanted
        with np.errstate(all="ignore"):
            return as_tuple(self.runs[key](*arrays))


def _compiled(plain: Any, arrays: tuple[Any, ...], wanted: tuple[Any, ...]) -> Any:
    run = Transformed(Derivative(plain, "primal"), Options(outside=True))
    try:
        _compare(as_tuple(run(*arrays)), wanted, "value")
    except (StgradError, NotCompiledError, ValueError, TypeError, IndexError, ArithmeticError):
        return plain
    return run
