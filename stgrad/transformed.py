"""The callable that `grad` and its neighbours return: compiles for the types of a call, then calls through a generated wrapper."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from stgrad import compile as compiler
from stgrad import errors, source, wrapper
from stgrad.frontend import Capture
from stgrad.frontend.calls import desugared
from stgrad.frontend.values import Sym, Value, leaves, map_leaves
from stgrad.program import Compiled, Derivative, call_inline, compile_program, function_name, signature_of, spec_of
from stgrad.guess import guess_specs
from stgrad.ir import Function, Type
from stgrad.printer import to_source
from stgrad.transforms.desugar import to_text

MAX_CASES = 8  # signatures that the wrapper checks inline; beyond, the slow path looks them up


class Transformed:
    """A function made from another one: its gradient, its value and gradient, or its compiled self.

    Call it like the original. `source(*example_args)` is the text that runs for such arguments, `stages(*example_args)` every
    stage of the way there.
    """

    def __init__(self, derivative: Derivative, *, jit: bool = True, parallel: bool = False) -> None:
        self.derivative = derivative
        self.jit = jit
        self.parallel = parallel
        self._signature = signature_of(derivative.function)
        functools.update_wrapper(self, derivative.function, updated=())
        self.__name__ = function_name(derivative) if derivative.mode == "primal" else f"{function_name(derivative)}_grad"
        self._lock = threading.RLock()
        self._reset()

    def _reset(self) -> None:
        self._cases: list[wrapper.Case] = []
        self._known: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._captures: dict[tuple[int, str], Capture] = {}
        self._call = wrapper.make_wrapper(self.__name__, self._signature, [], self._slow)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._captures and self._stale():
            with self._lock:
                self._reset()
        return self._call(*args, **kwargs)

    def with_seeds(self, primals: tuple[Any, ...], cotangents: Any, value: Any) -> Any:
        """The gradients of a 'vjp' derivative for given cotangents, which have the structure of the value."""
        arguments = self._bind(primals, {})
        if self._captures and self._stale():
            self._reset()
        key = tuple(_key(wrapper.describe(v)) for v in arguments.values())
        entry = self._known.get(key)
        if entry is None:
            program, nodes = self._build(arguments, keep=False)
            run = _unboxed(nodes, self._loaded(program))
            entry = self._known[key] = lambda seeds, args: run(*_flat(nodes, args), *seeds)
        return entry(_seeds(cotangents, value), tuple(arguments.values()))[1]

    # ------------------------------------------------------------- seeing

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The program that runs for arguments like these, as Python text; without arguments, types are guessed from the code."""
        return self._program(args, kwargs, keep=False).text

    def stages(self, *args: Any, **kwargs: Any) -> dict[str, str]:
        """The text after each stage: 'desugar', 'anf', 'activity', 'reverse', 'optimised', 'specialised'."""
        program = self._program(args, kwargs, keep=True)
        texts = {"desugar": self._desugared()}
        for name, fn in program.trace.stages.items():
            texts[name] = to_source(fn, nest=name != "anf")
        return texts

    def _desugared(self) -> str:
        function = self.derivative.function
        while hasattr(function, "derivative"):
            function = function.derivative.function
        tree = desugared(source.load(source.unwrap(function).function))
        return to_text(tree)

    def _program(self, args: tuple[Any, ...], kwargs: dict[str, Any], *, keep: bool) -> Compiled:
        if not args and not kwargs and self._signature.parameters:
            function = self.derivative.function
            while hasattr(function, "derivative"):
                function = function.derivative.function
            return compile_program(self, guess_specs(function, self._signature), keep=keep)
        return self._build(self._bind(args, kwargs), keep=keep)[0]

    def __repr__(self) -> str:
        what = {"grad": "gradient", "value_and_grad": "value and gradient", "vjp": "pullback", "primal": "compiled"}[self.derivative.mode]
        wrt = f" with respect to {', '.join(self.derivative.wrt)}" if self.derivative.wrt else ""
        return f"<stgrad {what} of {function_name(self.derivative)}{self._signature}{wrt}>"

    def __reduce__(self) -> Any:
        return _restore, (type(self), self.derivative, self.jit, self.parallel)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method of a class, with the instance as first argument."""
        return self if instance is None else functools.partial(self, instance)

    def _stgrad_call_(self, frame: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        return call_inline(self, frame, args, kwargs)

    # ------------------------------------------------------------- compiling

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return dict(bound.arguments)

    def _slow(self, *args: Any, **kwargs: Any) -> Any:
        """A call of a new signature: compile, then let the wrapper know it."""
        arguments = self._bind(args, kwargs)
        nodes = [wrapper.describe(v) for v in arguments.values()]
        key = tuple(map(_key, nodes))
        run = self._known.get(key)
        if run is None:
            with self._lock:
                program, nodes = self._build(arguments, keep=False)
                run = self._known[key] = _unboxed(nodes, self._loaded(program))
                self._cases.append((nodes, run))
                if len(self._cases) <= MAX_CASES:
                    self._call = wrapper.make_wrapper(self.__name__, self._signature, self._cases, self._slow)
        else:
            nodes = next(n for n, r in self._cases if r is run)
        return run(*_flat(nodes, tuple(arguments.values())))

    def _build(self, arguments: dict[str, Any], *, keep: bool) -> tuple[Compiled, list[Any]]:
        """Compile for these arguments; integers become constants where the program needs to know them."""
        nodes = [wrapper.describe(v) for v in arguments.values()]
        specs = {name: spec_of(value, name) for name, value in arguments.items()}
        try:
            return compile_program(self, specs, keep=keep), nodes
        except (errors.NeedStaticError, errors.TypeInferenceError) as problem:
            fixed = {n: _fixed(s, arguments[n]) for n, s in specs.items()}
            if all(_equal(a, b) for a, b in zip(fixed.values(), specs.values(), strict=True)):
                raise
            try:
                program = compile_program(self, fixed, keep=keep)
            except errors.StgradError:
                raise problem from None
            return program, [_fixed_node(n, v) for n, v in zip(nodes, arguments.values(), strict=True)]

    def _loaded(self, program: Compiled) -> Callable[..., Any]:
        compiled = compiler.load(program.text, program.function.name, jit=self.jit, parallel=self.parallel)
        hidden = [c for c in program.reading.captures if c.variable is not None]
        seen: dict[str, Capture] = {c.variable: c for c in hidden if c.variable is not None}
        for capture in program.reading.captures:
            if not isinstance(capture.value, ModuleType):
                self._captures[id(capture.owner), capture.name] = capture
        compiled = _guarded(compiled, program.function)
        finish = finisher(program.reading.result, self.jit)
        arrays = tuple(c.value for c in seen.values())
        if not arrays and finish is None:
            return compiled
        if not arrays:
            return lambda *flat: finish(compiled(*flat))  # type: ignore[misc]
        if finish is None:
            return lambda *flat: compiled(*flat, *arrays)
        return lambda *flat: finish(compiled(*flat, *arrays))

    def _stale(self) -> bool:
        """Whether a global or captured value that was compiled in is another one now."""
        return any(c.current() is not c.value and not _same(c.current(), c.value) for c in self._captures.values())


def _unboxed(nodes: Any, run: Callable[..., Any]) -> Callable[..., Any]:
    """Programs take 0-d arrays as scalars: an update in place must not reach the caller's."""
    kinds = [leaf for node in nodes for leaf in _arrays(node)]
    boxed = [i for i, node in enumerate(kinds) if isinstance(node, wrapper.Array) and node.ndim == 0]
    if not boxed:
        return run

    def unbox(*flat: Any) -> Any:
        items = list(flat)
        for i in boxed:
            items[i] = items[i][()]
        return run(*items)

    return unbox


def _arrays(node: Any) -> list[Any]:
    """The descriptions of the leaves that are passed on, in order."""
    if isinstance(node, wrapper.Items):
        return [leaf for n in node.items for leaf in _arrays(n)]
    if isinstance(node, (wrapper.Keys, wrapper.Attributes)):
        return [leaf for _, n in node.items for leaf in _arrays(n)]
    return [] if isinstance(node, wrapper.Static) else [node]


def _flat(nodes: Any, values: tuple[Any, ...]) -> list[Any]:
    return [leaf for node, value in zip(nodes, values, strict=True) for leaf in wrapper.leaves(node, value)]


def _seeds(cotangents: Any, value: Any) -> list[Any]:
    """Cotangents leaf by leaf, with the dtype and shape of the value's leaves.

    Raises ValueError where a shape is another one, TypeError where the structure is.
    """
    given, wanted = list(leaves(cotangents)), list(leaves(value))
    if len(given) != len(wanted):
        raise TypeError(f"the cotangents have {len(given)} leaves, the value has {len(wanted)}")
    seeds = []
    for g, v in zip(given, wanted, strict=True):
        dtype = np.result_type(v)
        if dtype.kind not in "fc":
            continue
        array = np.asarray(0.0 if g is None else g, dtype=dtype)
        if array.shape != np.shape(v):
            raise ValueError(f"a cotangent has shape {array.shape}, its value has {np.shape(v)}")
        seeds.append(array if array.ndim else dtype.type(array) if dtype != np.float64 else float(array))
    return seeds


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and isinstance(a, (int, float, complex, str, bool)) and a == b


def _restore(cls: type, derivative: Derivative, jit: bool, parallel: bool) -> Any:
    return cls(derivative, jit=jit, parallel=parallel)


def _key(node: Any) -> Any:
    try:
        hash(node)
    except TypeError:
        return repr(node)
    return node


def _equal(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except ValueError:
        return a is b


def _fixed(spec: Any, value: Any) -> Any:
    """A specification with integers and bools compiled in."""
    if isinstance(spec, Type):
        return value if not spec.array and spec.dtype in ("int64", "bool") and spec.weak else spec
    if isinstance(spec, (tuple, list)):
        items = [_fixed(s, v) for s, v in zip(spec, value, strict=True)]
        return type(spec)(*items) if hasattr(spec, "_fields") else type(spec)(items)
    if isinstance(spec, dict):
        return {k: _fixed(s, value[k]) for k, s in spec.items()}
    return spec


def _fixed_node(node: Any, value: Any) -> Any:
    if isinstance(node, wrapper.Scalar) and node.type in (int, bool):
        return wrapper.Static(value)
    if isinstance(node, wrapper.Items):
        return wrapper.Items(node.type, tuple(_fixed_node(n, v) for n, v in zip(node.items, value, strict=True)))
    if isinstance(node, wrapper.Keys):
        return wrapper.Keys(tuple((k, _fixed_node(n, value[k])) for k, n in node.items))
    return node


def _guarded(compiled: Callable[..., Any], fn: Function) -> Callable[..., Any]:
    """Compiled code that refuses arguments of which one is written while another shares its memory."""
    arrays = [i for i, p in enumerate(fn.params) if fn.types[p.name].array]
    written = [i for i in arrays if fn.params[i].name in fn.written]
    pairs = [(i, j) for i in written for j in arrays if i != j and not (j in written and j < i)]
    if not pairs:
        return compiled

    def checked(*flat: Any) -> Any:
        for i, j in pairs:
            if _overlap(flat[i], flat[j]):
                raise errors.AliasingError(
                    f"the arguments `{fn.params[i].name}` and `{fn.params[j].name}` share memory, and the function writes to `{fn.params[i].name}`",
                    reason="the derivative would depend on how they overlap",
                    hint="pass a copy of one of them",
                )
        return compiled(*flat)

    return checked


def _overlap(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    if not np.may_share_memory(a, b):
        return False
    try:
        return np.shares_memory(a, b, max_work=100_000)
    except np.exceptions.TooHardError:
        return True


def finisher(result: Value, jit: bool) -> Callable[[Any], Any] | None:
    """What turns the flat results of compiled code into the structure and the scalar types of the function's result.

    None where the results are right as they come.
    """
    flat = [leaf for leaf in leaves(result) if isinstance(leaf, Sym)]
    casts = [_cast(leaf, jit) for leaf in flat]
    if isinstance(result, Sym):
        return casts[0]
    if type(result) is tuple and len(result) > 1 and all(isinstance(r, Sym) for r in result) and all(c is None for c in casts):
        return None
    if not flat:
        return lambda _: result

    def finish(values: Any) -> Any:
        items = iter(values if len(flat) > 1 else (values,))
        takes = iter(casts)

        def leaf(value: Value, _: str) -> Any:
            if not isinstance(value, Sym):
                return value
            item, cast = next(items), next(takes)
            return item if cast is None else cast(item)

        return map_leaves(leaf, result)

    return finish


def _cast(leaf: Sym, jit: bool) -> Callable[[Any], Any] | None:
    """Numba returns every scalar as a Python number: NumPy scalars other than float64 get their type back."""
    t = leaf.type
    if t.array or t.weak and jit:
        return None
    if t.weak:
        return {"float64": float, "int64": int, "bool": bool, "complex128": complex}.get(t.dtype)
    return np.dtype(t.dtype).type


Signature = inspect.Signature
