"""Second derivatives of compiled calls: the pullback of a pullback, compiled, and one node of the tape like the first."""

from __future__ import annotations

from typing import Any

import numpy as np

from stgrad.eager.compilation import NotCompiledError, Program, _compare, _seed, compiler_failures, leaf_order
from stgrad.eager.custom import Custom
from stgrad.eager.record import record, recorders, recording_active
from stgrad.eager.tensor import Tensor
from stgrad.request import Derivative
from stgrad.transformed import Transformed


class _Body:
    """The pullback of a program as the compiler calls it: `call(inputs, captured, seeds)`."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def __call__(self, inputs: Any, captured: Any, seeds: Any) -> Any:
        raise NotImplementedError("read by the compiler alone")

    def _stgrad_call_(self, frame: Any, args: Any, kwargs: Any) -> Any:
        from stgrad.nested import call_pullback

        inputs, captured, seeds = args
        return call_pullback(self.program.pull, frame, (inputs, captured), seeds)


def _entry(call: Any) -> Any:
    def pullback(inputs, captured, seeds):  # type: ignore[no-untyped-def]
        return call(inputs, captured, seeds)

    return pullback


class Second:
    """The compiled pullback of a program's pullback."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.entry = _entry(_Body(program))
        self.pull: Any = None
        self.connected: list[bool] = []

    def __call__(self, inputs: tuple[Any, ...], given: Any, dys: list[Any], values: Any) -> list[Any]:
        """The cotangents of the inputs, recorded as one operation.

        Raises StgradError where that does not compile, or differs from the eager run.
        """
        if self.pull is None:
            self._check(inputs, given, dys, values)
        bars = self._values(given, dys, values)
        places = [i for i, bar in enumerate(bars) if bar is not None]
        outputs = [Tensor(np.asarray(bars[i], inputs[i]._a.dtype)[()]) for i in places]
        sources = (*inputs, *dys)
        op = Custom(f"{self.program.name}_grad", self._backward(sources, given, dys, places, values))
        record(op, tuple(outputs) if len(outputs) != 1 else outputs[0], sources, sources)
        found: list[Any] = [None] * len(inputs)
        for i, output in zip(places, outputs):
            found[i] = output
        return found

    def _values(self, given: Any, dys: list[Any], values: Any) -> list[Any]:
        bars = self.program._bars(given, [dy._a if dy._a.dtype.kind == "f" else None for dy in dys], values)
        return [bar if connected else None for bar, connected in zip(bars, self.program.connected)]

    def _backward(self, sources: tuple[Any, ...], given: Any, dys: list[Any], places: list[int], values: Any) -> Any:
        def backward(*cotangents: Any) -> list[Any]:
            if recording_active():
                return self._eagerly(sources, len(sources) - len(dys), places, cotangents)
            return self._bars(sources, given, dys, places, cotangents, values)

        return backward

    def _bars(self, sources: Any, given: Any, dys: list[Any], places: list[int], cotangents: Any, values: Any) -> list[Any]:
        """Cotangents of inputs, captured tensors and seeds."""
        floats = [i for i in leaf_order(values) if dys[i]._a.dtype.kind == "f"]
        seeds = tuple([dys[i]._a if dys[i]._a.ndim else dys[i]._a[()] for i in floats])
        bars = self.program._bars(given, [dy._a if dy._a.dtype.kind == "f" else None for dy in dys], values)
        counts = len(given[0]), len(given[1])
        wanted: list[Any] = [None] * sum(counts)
        for i, cotangent in zip(places, cotangents):
            wanted[i] = cotangent._a
        split = [_parts(part, counts[0], given) for part in (bars, wanted)]
        found = dict(zip(self.pull.derivative.wrt, self.pull.with_seeds((*given, seeds), split[1], split[0])))
        own, captured, of_seeds = (found.get(n) or () for n in ("inputs", "captured", "seeds"))
        given_back = dict(zip(floats, of_seeds))
        flat = [*(own or (None,) * counts[0]), *(captured or (None,) * counts[1]), *[given_back.get(i) for i in range(len(dys))]]
        flat = [bar if connected else None for bar, connected in zip(flat, self._depends(given, seeds, floats, len(dys)))]
        return [None if bar is None else Tensor(np.asarray(bar, x._a.dtype)[()]) for bar, x in zip(flat, sources)]

    def _depends(self, given: Any, seeds: tuple[Any, ...], floats: list[int], count: int) -> list[bool]:
        """For each input, captured tensor and cotangent, whether the pullback depends on it."""
        if not self.connected:
            from stgrad.program import dependences, spec_of

            arguments = {"inputs": given[0], "captured": given[1], "seeds": seeds}
            specs = {name: spec_of(value, name) for name, value in arguments.items()}
            found = dependences(Derivative(self.entry, "primal"), specs)
            own = len(given[0]) + len(given[1])
            of_seeds = dict(zip(floats, found[own:]))
            self.connected = [*found[:own], *[of_seeds.get(i, False) for i in range(count)]]
        return self.connected

    def _eagerly(self, sources: tuple[Any, ...], count: int, places: list[int], cotangents: Any) -> list[Any]:
        """The same by tapes, operation by operation."""
        from stgrad.eager.tape import GradientTape

        with GradientTape(watch_accessed_variables=False) as tape:
            tape.watch([s for s in sources if s.dtype.is_floating])
            bars = self.program._on_tensors(sources[:count], len(sources[:count]) - len(self.program.captured), sources[count:])
        kept = [(bars[i], c) for i, c in zip(places, cotangents) if bars[i] is not None]
        return list(tape.gradient([b for b, _ in kept], list(sources), output_gradients=[c for _, c in kept]))

    def _check(self, inputs: tuple[Any, ...], given: Any, dys: list[Any], values: Any) -> None:
        """Once for a trace: the compiled second pullback against tapes."""
        names = [n for n, arrays in zip(("inputs", "captured"), given) if any(a.dtype.kind == "f" for a in arrays)]
        self.pull = Transformed(Derivative(self.entry, "vjp", (*names, "seeds"), False, False), self.program.options)
        own, captured = inputs[: len(given[0])], inputs[len(given[0]) :]
        sources = (*[Tensor(x._a) for x in own], *captured, *[Tensor(dy._a) for dy in dys])  # one that is passed twice is two inputs
        bars = self._values(given, dys, values)
        places = [i for i, bar in enumerate(bars) if bar is not None]
        seeds = [_seed(np.asarray(bars[i], inputs[i]._a.dtype)) for i in places]
        try:
            with recorders(()):
                wanted = self._eagerly(sources, len(inputs), places, seeds)
                found = self._bars(sources, given, dys, places, seeds, values)
        except compiler_failures() as error:
            self.pull = None
            raise NotCompiledError(f"its second derivative is not compiled: {error}") from error
        pairs = [(f, w) for f, w in zip(found, wanted) if f is not None or w is not None]
        try:
            if any(w is None for _, w in pairs):  # a path that ends on the way, or on this way alone
                raise NotCompiledError("the tape finds no second derivative where the compiler finds one")
            _compare([0.0 if f is None else f._a for f, _ in pairs], [0.0 if w is None else w._a for _, w in pairs], "second derivative")
        except NotCompiledError:
            self.pull = None
            raise


def _parts(flat: list[Any], count: int, given: Any) -> Any:
    """Cotangents as the pullback returns them: a tuple for each of the two arguments that hold floats."""
    parts = (tuple(flat[:count]), tuple(flat[count:]))
    return tuple([part for part, arrays in zip(parts, given) if any(a.dtype.kind == "f" for a in arrays)])
