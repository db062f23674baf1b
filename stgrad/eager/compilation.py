"""`tf.function` by the compiler: one trace of a function as a compiled program, which on a tape is one node.

The compiler reads the function with the tensors among its arguments as arrays. Tensors and variables that it meets on the way become
arguments too. Nothing compiled is trusted blindly: the first call of a trace compares its values, and the first on a tape its
gradients, with those of the eager run. What cannot be compiled runs eagerly, and a `RunsEagerlyWarning` says why.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

from stgrad.eager import structures
from stgrad.eager.custom import Custom
from stgrad.eager.logs import logger
from stgrad.eager.record import record, recorders, recording_active, state
from stgrad.eager.shapes import TensorSpec
from stgrad.eager.tensor import Tensor, is_tensor
from stgrad.eager.tracing import changes_outside
from stgrad.errors import StgradError, users_level
from stgrad.request import Derivative, Options
from stgrad.transformed import Transformed

LARGE = 100_000  # elements of an argument that is not kept as an example
_TOLERANCE = {"float32": 1e-3, "float64": 1e-8}
_bound: ContextVar[dict[int, Any]] = ContextVar("bound")


class RunsEagerlyWarning(UserWarning):
    """A `tf.function` that the compiler cannot take runs eagerly: same results, without the speed. The text says why."""


class NotCompiledError(StgradError, NotImplementedError):
    """A function that is not handed to the compiler, or whose compiled results are not those of the eager run."""


class _Found(StgradError):
    """The compiler met a tensor or variable that is no argument yet."""

    def __init__(self, owner: Any) -> None:
        super().__init__("a captured tensor")
        self.left, self.passes = False, True
        self.owner = owner


def stgrad_value(self: Any) -> Any:
    """What stands for a tensor or variable that the compiler meets: the argument that carries it."""
    bound = _bound.get(None)
    if bound is None:
        return self
    if id(self) not in bound:
        raise _Found(self)
    return bound[id(self)]


class _Body:
    """The function as the compiler calls it: `call(inputs, captured)`."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def __call__(self, inputs: Any, captured: Any) -> Any:
        raise NotImplementedError("read by the compiler alone")

    def _stgrad_call_(self, frame: Any, args: Any, kwargs: Any) -> Any:
        from stgrad.frontend.statements import TENSORS

        inputs, captured = args
        program = self.program
        token = _bound.set(dict(zip(map(id, program.captured), captured)))
        leaves = list(program.leaves)
        for place, value in zip(program.places, inputs):
            leaves[place] = value
        positional, keywords = program.rebuild(leaves)
        tensors = TENSORS.set(True)
        try:
            return frame.call(program.function, (*program.before(), *positional), keywords)
        finally:
            TENSORS.reset(tensors)
            _bound.reset(token)


def form_of(args: Any, kwargs: Any) -> Any:
    """What a program depends on: structure, dtypes and ranks, which extents are 1, and the values that are no tensors."""
    leaves = structures.flatten((tuple(args), dict(kwargs)))
    return (structures.form((tuple(args), dict(kwargs))), *[_leaf_form(leaf) for leaf in leaves])


def _leaf_form(leaf: Any) -> Any:
    if is_tensor(leaf):
        return ("tensor", leaf._a.dtype.str, tuple([n == 1 for n in leaf._a.shape]))
    try:
        hash(leaf)
    except TypeError:
        return ("object", id(leaf))
    return ("value", type(leaf), leaf)


def _entry(call: Any) -> Any:
    def program(inputs, captured):  # type: ignore[no-untyped-def]
        return call(inputs, captured)

    return program


class Program:
    """One trace of a function, compiled. `outside`: its text comes from a file, so every index is tested. `jit`: natively.

    Raises NotCompiledError, or another StgradError, where the compiler does not take the function.
    """

    def __init__(
        self, function: Any, before: Callable[[], tuple[Any, ...]], eager: Any, args: Any, kwargs: Any,
        outside: bool = False, jit: bool = True,
    ) -> None:  # fmt: skip
        from stgrad.eager import translations  # the compiler is imported when a function is compiled

        translations.install()
        self.function = function
        self.before = before
        self.eager = eager
        self.options = Options(jit, outside=outside)
        self.leaves, self.rebuild = structures.flatten_with((tuple(args), dict(kwargs)))
        self.places = [i for i, leaf in enumerate(self.leaves) if is_tensor(leaf)]
        self.captured: list[Any] = []
        self.name = str(getattr(function, "__name__", "function"))
        self.checked = False
        tensors = self.tensors(args, kwargs)
        self._refuse_strange(tensors)
        name = changes_outside(function)
        if name is not None:
            raise NotCompiledError(f"it changes `{name}`, which is from outside")
        self.entry = _entry(_Body(self))
        self.run = Transformed(Derivative(self.entry, "primal"), self.options)
        self._first(tensors)
        self.form = form_of(args, kwargs)
        self.examples = [t if t._a.size < LARGE else TensorSpec.from_tensor(t) for t in tensors]  # what saved models are compared on
        self.leaves = [None if i in self.places else leaf for i, leaf in enumerate(self.leaves)]

    def tensors(self, args: Any, kwargs: Any) -> list[Any]:
        leaves = structures.flatten((tuple(args), dict(kwargs)))
        return [_read(leaves[i]) for i in self.places]

    def _refuse_strange(self, tensors: list[Any]) -> None:
        for t in tensors:
            if t._a.dtype.kind not in "fib" or t._a.dtype.itemsize < 4 and t._a.dtype.kind == "f":
                raise NotCompiledError(f"an argument is a tensor of {t.dtype.name}")

    def _first(self, tensors: list[Any]) -> None:
        """Compile, adding captured tensors as they are met, and compare with the eager run."""
        while True:
            try:
                given = {"inputs": _arrays(tensors), "captured": _arrays(map(_read_quietly, self.captured))}
                self.run._program_for(given)  # not run yet: errors of shapes are to be those of the eager run
                break
            except _Found as found:
                self.captured.append(found.owner)
                self._refuse_strange([_read_quietly(found.owner)])
                self.run = Transformed(Derivative(self.entry, "primal"), self.options)
        from stgrad.program import has_effects, spec_of

        if has_effects(self.run, {name: spec_of(value, name) for name, value in given.items()}):
            raise NotCompiledError("it prints, or writes to an array from outside")
        _settle(self.run)
        with recorders(()):
            wanted = self.eager(tensors)
        values = self.run(**given)
        leaves, rebuild = structures.flatten_with(wanted)
        flat = [y for y in leaves if y is not None]
        if not flat or not all(is_tensor(y) for y in flat):
            raise NotCompiledError("its result is not made of tensors alone")
        self.rebuild_y = _around([y is None for y in leaves], rebuild)
        self.dtypes = [y._a.dtype for y in flat]
        _compare(_tensors_of(values), [y._a for y in flat], "value")

    # -------------------------------------------------------------- calling

    def __call__(self, tensors: list[Any]) -> Any:
        captured = [_read(c) for c in self.captured]
        inputs = (*tensors, *captured)
        if not any(t._id in r.ids for r in state.recorders for t in inputs):
            return self.rebuild_y(self._outputs(self._values(_arrays(tensors), _arrays(captured))))
        if not self.checked:
            self._check_gradients(tensors, captured)
        given = _arrays(tensors), _arrays(captured)
        values = self._values(*given)
        outputs = self._outputs(values)
        op = Custom(self.name, self._backward(inputs, given, values))
        record(op, tuple(outputs) if len(outputs) > 1 else outputs[0], inputs, inputs)
        return self.rebuild_y(outputs)

    def _values(self, inputs: tuple[Any, ...], captured: tuple[Any, ...]) -> Any:
        return self.run(inputs, captured)

    seconds = 0  # how often second derivatives were asked for
    second: Any = None  # what gives second derivatives; False where it does not compile

    def _bars(self, given: tuple[tuple[Any, ...], tuple[Any, ...]], seeds: list[Any], values: Any) -> list[Any]:
        """The cotangents of inputs and captured tensors, None for integers."""
        found = dict(zip(self.pull.derivative.wrt, self.pull.with_seeds(given, _like(values, seeds), values)))
        own, captured = (found.get(n) or (None,) * len(g) for n, g in zip(("inputs", "captured"), given))
        return [*own, *captured]

    def _outputs(self, values: Any) -> list[Tensor]:
        return [Tensor(np.asarray(y, dtype)[()]) for y, dtype in zip(_tensors_of(values), self.dtypes)]

    def _backward(self, inputs: tuple[Any, ...], given: Any, values: Any) -> Any:
        def backward(*dys: Any) -> list[Any]:
            if recording_active():
                return self._recorded(inputs, given, list(dys), values)
            bars = self._bars(given, [dy._a if dy._a.dtype.kind == "f" else None for dy in dys], values)
            bars = [bar if connected else None for bar, connected in zip(bars, self.connected)]
            return [None if bar is None else Tensor(np.asarray(bar, x._a.dtype)[()]) for bar, x in zip(bars, inputs)]

        return backward

    def _recorded(self, inputs: tuple[Any, ...], given: Any, dys: list[Any], values: Any) -> list[Any]:
        """The pullback where it is itself recorded: compiled, as one operation, or else operation by operation."""
        from stgrad.eager.second import Second

        self.seconds += 1
        if self.second is not False and self.seconds > 1:  # the first is not worth a compilation
            self.second = self.second or Second(self)
            try:
                return self.second(inputs, given, dys, values)  # type: ignore[no-any-return]
            except StgradError as error:
                logger.info("the second derivative of %s is not compiled: %s", self.name, error.message)
                self.second = False
        return self._on_tensors(inputs, len(given[0]), dys)

    def _on_tensors(self, inputs: tuple[Any, ...], count: int, dys: Any) -> list[Any]:
        """The pullback recorded operation by operation: the function itself under a tape, with the values it had."""
        from stgrad.eager.tape import GradientTape

        later = [(c, c._a) for c in self.captured]
        sources = list(inputs)
        for owner, x in zip(self.captured, inputs[count:]):
            owner._a = x._a
        try:
            with GradientTape(watch_accessed_variables=False) as tape:
                tape.watch([s for s in sources if s.dtype.is_floating])
                again = _tensors_of(self.eager(list(inputs[:count])))
        finally:
            for owner, value in later:
                owner._a = value
        return list(tape.gradient(again, sources, output_gradients=list(dys)))

    def _check_gradients(self, tensors: list[Any], captured: list[Any]) -> None:
        """Once for a trace: the compiled pullback against the tape."""
        from stgrad.eager.tape import GradientTape

        tensors = [Tensor(t._a) for t in tensors]  # one that is passed twice is two inputs
        inputs = (*tensors, *captured)
        with recorders(()):
            with GradientTape(watch_accessed_variables=False) as tape:
                tape.watch([s for s in inputs if s.dtype.is_floating])
                flat = _tensors_of(self.eager(tensors))
            seeds = [_seed(y._a) for y in flat]
            try:
                wanted = tape.gradient(flat, list(inputs), output_gradients=seeds)
            except (LookupError, ValueError, TypeError, ArithmeticError, RuntimeError) as error:  # `gradient` is to raise it, not the call
                raise NotCompiledError(f"its gradient raises a {type(error).__name__}") from error
            wanted = [None if g is None else g._a for g in wanted]
            self.connected = self._depends(tensors, captured)
            given = _arrays(tensors), _arrays(captured)
            self.pull = Transformed(pullback_of(self.entry, given), self.options)
            found = self._backward(inputs, given, self._values(*given))(*seeds)
        zeros = [(f, w) for f, w in zip(found, wanted) if f is not None or w is not None]
        _compare([0.0 if f is None else f._a for f, _ in zeros], [0.0 if w is None else w for _, w in zeros], "gradient")
        _settle(self.pull)
        self.checked = True

    def _depends(self, tensors: list[Any], captured: list[Any]) -> list[bool]:
        """For each input whether the result depends on it, on any path; the gradient of the others is None."""
        from stgrad.program import dependences, spec_of

        given = {"inputs": _arrays(tensors), "captured": _arrays(captured)}
        return dependences(self.run, {name: spec_of(value, name) for name, value in given.items()})


def pullback_of(entry: Any, given: tuple[tuple[Any, ...], tuple[Any, ...]]) -> Derivative:
    """The request for the pullback of a program in what is differentiable among its arguments."""
    names = [n for n, arrays in zip(("inputs", "captured"), given) if any(a.dtype.kind == "f" for a in arrays)]
    return Derivative(entry, "vjp", tuple(names), False, False)


def compiler_failures() -> tuple[type[Exception], ...]:
    """What stops a compilation: refusals, and what is wrong with the generated code or with the function itself."""
    from numba.core.errors import NumbaError

    return (
        StgradError,
        NumbaError,
        TypeError,
        ValueError,
        LookupError,
        ArithmeticError,
        RuntimeError,
        AttributeError,
        AssertionError,
        NameError,
    )


def leaf_order(values: Any) -> list[int]:
    """The places, among the leaves of the eager API, of the leaves of a result in the compiler's order (that of a dict's keys differs)."""
    from stgrad.values import leaves, opened

    flat, rebuild = structures.flatten_with(values)
    numbers = iter(range(len(flat)))
    numbered = rebuild([None if y is None else next(numbers) for y in flat])
    return [n for n in leaves(opened(numbered)) if n is not None]


def _tensors_of(result: Any) -> list[Any]:
    """The leaves of a result that are there."""
    return [y for y in structures.flatten(result) if y is not None]


def _around(absent: list[bool], rebuild: Any) -> Any:
    """Puts results in their structure, None where it has None."""

    def rebuild_y(found: list[Any]) -> Any:
        rest = iter(found)
        return rebuild([None if a else next(rest) for a in absent])

    return rebuild_y if any(absent) else rebuild


def _like(values: Any, seeds: list[Any]) -> Any:
    leaves, rebuild = structures.flatten_with(values)
    return _around([y is None for y in leaves], rebuild)(seeds)


def _seed(y: Any) -> Tensor:
    """A cotangent in which nothing cancels."""
    return Tensor(np.cos(1.0 + np.arange(y.size)).reshape(y.shape).astype(y.dtype)[()])


def _read(x: Any) -> Any:
    return x._read() if hasattr(type(x), "_read") else x


def _read_quietly(x: Any) -> Any:
    with recorders(()):
        return _read(x)


def _arrays(tensors: Any) -> tuple[Any, ...]:
    """Arrays of one axis or more, and NumPy scalars."""
    return tuple([t._a if t._a.ndim else t._a[()] for t in tensors])


def _compare(found: Any, wanted: Any, what: str) -> None:
    """NotCompiledError where compiled and eager results differ by more than rounding."""
    if len(found) != len(wanted):
        raise NotCompiledError(f"its compiled {what} has another structure than the eager one")
    floats = [np.abs(b[np.isfinite(b)]) for b in map(np.asarray, wanted) if b.dtype.kind == "f"]
    size = max([float(np.max(b, initial=0.0)) for b in floats], default=0.0)
    for a, b in zip(found, wanted):
        a, b = np.asarray(a), np.asarray(b)
        kind = b.dtype.kind
        if a.dtype.kind != kind or (a.shape != b.shape and what == "value"):
            raise NotCompiledError(f"its compiled {what} is {a.dtype}{a.shape}, the eager one {b.dtype}{b.shape}")
        tolerance = _TOLERANCE.get(b.dtype.name, 0.0)
        if not np.allclose(a, b, rtol=tolerance, atol=tolerance * size, equal_nan=True):
            raise NotCompiledError(f"its compiled {what} differs from the eager one")


def _settle(run: Transformed) -> None:
    """Python values are those of the trace, as in TensorFlow; nothing refers to the objects that they were attributes of."""
    run.forget()


def warn(name: str, error: StgradError) -> None:
    """Say once for a function why it runs eagerly."""
    place = f" (line {error.loc.line} of {error.loc.file})" if error.loc is not None else ""
    why = f"{error.message}, {error.reason}" if error.reason else error.message
    warnings.warn(f"{name} runs eagerly, it is not compiled: {why}{place}", RunsEagerlyWarning, stacklevel=users_level())


def install(*owners: Any) -> None:
    for owner in owners:
        owner._stgrad_value_ = stgrad_value
