"""`function`: a Python function with signatures, traced once for each, and the errors of TensorFlow's tracing.

A trace here is a first call with a signature: the compiler makes a program of it (see `compilation`), and the Python function runs
eagerly, under a `Tracing` that knows which tensors would have been symbolic. What cannot be compiled goes on running so.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad.eager import config, structures
from stgrad.eager.compilation import NotCompiledError, Program, compiler_failures, form_of, warn
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.logs import logger
from stgrad.eager.record import state
from stgrad.eager.shapes import TensorShape, TensorSpec
from stgrad.eager.tensor import Tensor, is_tensor
from stgrad.eager.tracing import Tracing, gradients, one_sided, wants_graph_gradients
from stgrad.errors import StgradError

__all__ = ["ConcreteFunction", "Function", "function", "gradients"]


def function(
    func: Any = None,
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: Any = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: Any = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
) -> Any:
    """Make a `Function` of a Python function; usable as a decorator, with or without arguments.

    Raises:
        TypeError: the input signature is no list or tuple, or leaves a required keyword-only argument out.
    """
    if input_signature is not None and not isinstance(input_signature, (tuple, list)):
        raise TypeError(f"input_signature must be either a tuple or a list, got {type(input_signature)}.")

    def make(python_function: Any) -> Function:
        return Function(python_function, input_signature, autograph, bool(reduce_retracing or experimental_relax_shapes))

    return make if func is None else make(func)


class Function:
    """A callable with its traces. `python_function` is the original."""

    def __init__(self, python_function: Any, input_signature: Any, autograph: bool, reduce_retracing: bool) -> None:
        functools.update_wrapper(self, python_function)
        self.python_function = python_function
        self.input_signature = None if input_signature is None else tuple(input_signature)
        self._autograph = autograph
        self._reduce = reduce_retracing
        self._signature = inspect.signature(python_function)
        self._traces: dict[Any, ConcreteFunction] = {}
        self._recent: deque[bool] = deque(maxlen=6)
        self._bound: weakref.WeakKeyDictionary[Any, Function] = weakref.WeakKeyDictionary()
        self._called = False
        self._method_of: Any = None  # for a method: a weak reference to its object, and the function of the class
        self._graph_gradients = wants_graph_gradients(python_function)
        self._warned = False
        self._outside = False  # its text comes from a saved model
        self._stored: dict[Any, Any] = {}  # form of the arguments -> what makes the program that was saved for it
        # TensorFlow's own rules about tracing are checked while the function runs
        self._eager_only = not autograph or self._graph_gradients or bool(one_sided(inspect.unwrap(python_function)))
        if self.input_signature is not None:
            self._check_signature()

    def _check_signature(self) -> None:
        for name, parameter in self._signature.parameters.items():
            if parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty:
                raise TypeError(f"Keyword only argument {name!r} has no default, and an input_signature cannot give its type.")

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        try:
            bound = self._bound.get(instance)
            if bound is None:
                bound = self._bound[instance] = self._bind_to(weakref.ref(instance))
        except TypeError:  # the object cannot be a key: a function for each access
            bound = self._bind_to(lambda: instance)
        return bound

    def _bind_to(self, reference: Callable[[], Any]) -> Function:
        """This function as a method of the object behind a reference."""
        raw = self.python_function

        @functools.wraps(raw)
        def method(*args: Any, **kwargs: Any) -> Any:
            return raw(reference(), *args, **kwargs)

        parameters = list(self._signature.parameters.values())[1:]
        method.__signature__ = self._signature.replace(parameters=parameters)
        bound = Function(method, self.input_signature, self._autograph, self._reduce)
        bound._graph_gradients = self._graph_gradients
        bound._method_of = (reference, self)
        return bound

    # -------------------------------------------------------------- calling

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if config.functions.eagerly:
            return self.python_function(*args, **kwargs)
        args, kwargs = self._bind(args, kwargs)
        key = _key((args, kwargs))
        concrete = self._find(key)
        new = concrete is None
        if concrete is None:
            concrete = self._trace(key, args, kwargs)
        self._warn_of_retracing(new)
        return concrete.run(args, kwargs, first=not self._called, function=self)

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with defaults, arrays as tensors, and, where there is a signature, what it says."""
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(
                f"Binding inputs to tf.function failed due to `{error}`. Received args: {args} and kwargs: {kwargs} for "
                f"signature: {self._signature}."
            ) from None
        bound.apply_defaults()
        if self.input_signature is not None:
            self._apply_signature(bound, args, kwargs)
        arguments = structures.map_structure(
            lambda x: convert_to_tensor(x) if isinstance(x, (np.ndarray, np.generic)) else x, [*bound.args]
        )
        keywords = structures.map_structure(
            lambda x: convert_to_tensor(x) if isinstance(x, (np.ndarray, np.generic)) else x, dict(bound.kwargs)
        )
        return tuple(arguments), keywords

    def _apply_signature(self, bound: Any, args: Any, kwargs: Any) -> None:
        names = [n for n, p in self._signature.parameters.items() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        specs = self.input_signature or ()
        if len(args) + len(kwargs) > max(len(specs), len(names)) or any(
            n not in names[: len(specs)] and bound.arguments[n] is not self._signature.parameters[n].default for n in names
        ):
            raise TypeError(
                f"Binding inputs to tf.function failed due to `too many positional arguments`. Received args: {args} and "
                f"kwargs: {kwargs} for signature: {specs}."
            )
        for name, spec in zip(names, specs):
            bound.arguments[name] = (
                structures.map_structure(lambda s, v: _coerce(v, s), spec, bound.arguments[name])
                if structures.is_nested(spec)
                else _coerce(bound.arguments[name], spec)
            )

    def _find(self, key: Any) -> ConcreteFunction | None:
        found = self._traces.get(key)
        if found is None and self._reduce:
            found = next((c for c in self._traces.values() if _covers(c.key, key)), None)
        return found

    def _trace(self, key: Any, args: Any, kwargs: Any) -> ConcreteFunction:
        if self._reduce:
            for old in list(self._traces):
                wider = _generalise(old, key)
                if wider is not None:
                    key = wider
                    break
        spec = structures.map_structure(lambda x: TensorSpec.from_tensor(x) if is_tensor(x) else x, [*args])
        concrete = self._traces[key] = ConcreteFunction(self, key, spec, kwargs)
        return concrete

    def _raw(self) -> tuple[Any, Callable[[], tuple[Any, ...]]]:
        """The function as it was written, and what gives the object that it is a method of."""
        if self._method_of is None:
            return self.python_function, tuple
        reference, function = self._method_of
        return function.python_function, lambda: (reference(),)

    def _stgrad_call_(self, frame: Any, args: Any, kwargs: Any) -> Any:
        raw, before = self._raw()
        return frame.call(raw, (*before(), *args), kwargs)

    def _warn_of_eager_run(self, error: StgradError) -> None:
        if not self._warned:
            self._warned = True
            warn(getattr(self, "__qualname__", "a tf.function"), error)

    def _warn_of_retracing(self, new: bool) -> None:
        self._recent.append(new)
        if len(self._recent) == 6 and sum(self._recent) >= 5 and new:
            logger.warning(
                "%d out of the last %d calls to %s triggered tf.function retracing. Tracing is expensive and the "
                "excessive number of tracings could be due to passing tensors with different shapes or Python objects instead of tensors.",
                sum(self._recent),
                len(self._recent),
                self,
            )

    # -------------------------------------------------------------- facts

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The trace for these arguments, which may be TensorSpecs; made if it is new."""
        if not args and not kwargs and self.input_signature is not None:
            args = self.input_signature
        else:
            args, kwargs = self._with_defaults(args, kwargs)
        key = _key((tuple(args), kwargs))
        found = self._find(key)
        if found is None:
            found = self._traces[key] = ConcreteFunction(self, key, list(args), kwargs)
        return found

    def _with_defaults(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Arguments in their places, with defaults."""
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError:  # said when it is called
            return args, kwargs
        bound.apply_defaults()
        return bound.args, dict(bound.kwargs)

    def experimental_get_tracing_count(self) -> int:
        return len(self._traces)

    @property
    def function_spec(self) -> Any:
        return self._signature

    function_type = function_spec

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        return "\n\n".join(str(c) for c in self._traces.values())

    def experimental_get_compiler_ir(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("there is no XLA here; see the generated source instead")

    def __repr__(self) -> str:
        return f"<stgrad.eager.function.Function {getattr(self.python_function, '__qualname__', self.python_function)}>"


class ConcreteFunction:
    """One trace of a function."""

    def __init__(self, owner: Function, key: Any, spec: Any, kwargs: Any) -> None:
        self._owner = owner
        self.key = key
        self._programs: dict[Any, Program | None] = {}  # by dtypes and ranks, which a trace of unknown shape leaves open
        self.structured_input_signature = (tuple(spec), kwargs)

    @property
    def name(self) -> str:
        return str(getattr(self._owner, "__name__", "function"))

    def _filled(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """A call with the tensors alone: the Python values are those of the trace.

        Raises TypeError where one of them is given another value.
        """
        names = list(self._owner._signature.parameters)
        fixed = {n: v for n, v in zip(names, self.structured_input_signature[0]) if not structures.flatten(v) or not _has_spec(v)}
        fixed |= {n: v for n, v in self.structured_input_signature[1].items() if not _has_spec(v)}
        given = dict(zip([n for n in names if n not in fixed], args)) if len(args) <= len(names) - len(fixed) else dict(zip(names, args))
        given |= kwargs
        for name, value in fixed.items():
            if name in given and not (type(given[name]) is type(value) and given[name] == value):
                raise TypeError(f"Binding inputs to tf.function failed due to `{name}` being {value!r} in this trace, not {given[name]!r}.")
        return (), {**fixed, **given}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.structured_input_signature[0] or self.structured_input_signature[1]:
            args, kwargs = self._filled(args, kwargs)
        args, kwargs = self._owner._bind(args, kwargs)
        if not _covers(self.key, _key((args, kwargs))):
            raise TypeError(
                "Binding inputs to tf.function failed due to `arguments that do not fit the signature "
                f"{self.structured_input_signature}`. Received args: {args} and kwargs: {kwargs}."
            )
        return self.run(args, kwargs, first=not self._owner._called, function=self._owner)

    def run(self, args: Any, kwargs: Any, first: bool, function: Function) -> Any:
        program, error = self._program(args, kwargs, first, function)
        if program is not None:
            try:
                return program(program.tensors(args, kwargs))
            except StgradError as problem:  # its gradient cannot be compiled
                self._programs[_open(args, kwargs)] = None
                function._warn_of_eager_run(problem)
            except (ValueError, IndexError, ArithmeticError):  # shapes that do not fit: the eager run says it better
                pass
        result, created = self._run(args, kwargs, first, function)
        if error is not None and created:  # the variables are there now, so the next call compiles
            del self._programs[_open(args, kwargs)]
        elif error is not None:
            function._warn_of_eager_run(error)
        return result

    def _program(self, args: Any, kwargs: Any, first: bool, function: Function) -> tuple[Program | None, StgradError | None]:
        """The compiled program for arguments like these; None where there is none, with the reason when that is new."""
        if state.graph is not None or function._eager_only:
            return None, None
        key = _open(args, kwargs)
        if key not in self._programs:
            self._programs[key] = None
            try:
                self._programs[key] = self._compiled(args, kwargs, first, function)
            except StgradError as error:
                return None, error
            except compiler_failures() as error:  # the eager run raises it again, if it is the function's own
                return None, NotCompiledError(f"{type(error).__name__} while it was compiled: {error}")
        return self._programs[key], None

    def _compiled(self, args: Any, kwargs: Any, first: bool, function: Function, jit: bool = True) -> Program:
        leaves, rebuild = structures.flatten_with((tuple(args), dict(kwargs)))
        places = [i for i, leaf in enumerate(leaves) if is_tensor(leaf)]
        fixed = [None if i in places else leaf for i, leaf in enumerate(leaves)]

        def eager(tensors: list[Any]) -> Any:
            given = list(fixed)
            for place, tensor in zip(places, tensors):
                given[place] = tensor
            positional, keywords = rebuild(given)
            return self._run_eagerly(positional, keywords, first, function)

        stored = function._stored.get(form_of(args, kwargs)) if function._stored else None
        if stored is not None:
            return stored().for_call(eager)
        raw, before = function._raw()
        return Program(raw, before, eager, args, kwargs, function._outside, jit)

    def _run_eagerly(self, args: Any, kwargs: Any, first: bool, function: Function) -> Any:
        return self._run(args, kwargs, first, function)[0]

    def _run(self, args: Any, kwargs: Any, first: bool, function: Function) -> tuple[Any, bool]:
        """The result of the Python function, and whether it made variables."""
        tracing = Tracing(function.python_function, function._autograph, (args, kwargs), first, function._graph_gradients)
        with tracing:
            result = function.python_function(*args, **kwargs)
        function._called = True
        tracing.check_variables(result)
        tensors = structures.map_structure(
            lambda y: convert_to_tensor(y) if isinstance(y, (int, float, complex, np.ndarray, np.generic)) else _read(y), result
        )
        return tensors, bool(tracing.created)

    def __str__(self) -> str:
        return f"{self.name}{self._owner._signature}: {self.structured_input_signature}"


def _has_spec(value: Any) -> bool:
    return any(isinstance(leaf, TensorSpec) or is_tensor(leaf) for leaf in structures.flatten(value))


def _read(y: Any) -> Any:
    return y.value() if hasattr(type(y), "_read") else y


def _coerce(value: Any, spec: Any) -> Any:
    """An argument as its spec demands."""
    if not isinstance(spec, TensorSpec):
        return value
    try:
        tensor = value._read() if hasattr(type(value), "_read") else convert_to_tensor(value, spec.dtype)
    except (TypeError, ValueError) as error:
        raise TypeError(f"Binding inputs to tf.function failed due to `Can not cast {value!r} to {spec!r}: {error}`.") from None
    if tensor.dtype != spec.dtype or not spec.shape.is_compatible_with(tensor.shape):
        raise TypeError(
            f"Binding inputs to tf.function failed due to `Can not cast TensorSpec(shape={tensor.shape}, "
            f"dtype={tensor.dtype!r}, name=None) to {spec!r}`."
        )
    return tensor


# ------------------------------------------------------------------ signatures


def _open(args: Any, kwargs: Any) -> Any:
    """What a compiled program depends on beyond its trace: dtypes and ranks, and which extents are 1."""
    leaves = structures.flatten((tuple(args), dict(kwargs)))
    return tuple([(t._a.dtype.str, tuple([n == 1 for n in t._a.shape])) for t in leaves if is_tensor(t)])


def _key(arguments: Any) -> Any:
    """What distinguishes traces: dtype and shape of tensors, value of everything else."""
    leaves, _ = structures.flatten_with(arguments)
    return (structures.form(arguments), *[_leaf_key(leaf) for leaf in leaves])


def _leaf_key(leaf: Any) -> Any:
    if isinstance(leaf, TensorSpec):
        return ("tensor", leaf.dtype, leaf.shape)
    if isinstance(leaf, Tensor):
        return ("tensor", leaf.dtype, leaf.shape)
    if is_tensor(leaf):
        return ("variable", leaf.dtype, leaf.shape, leaf._id)
    try:
        hash(leaf)
    except TypeError:
        return ("object", id(leaf))
    return ("value", type(leaf), leaf)


def _covers(key: Any, other: Any) -> bool:
    """Whether a trace for `key` serves arguments of key `other`."""
    return len(key) == len(other) and all(a == b or _wider(a, b) for a, b in zip(key, other))


def _wider(a: Any, b: Any) -> bool:
    tensors = isinstance(a, tuple) and isinstance(b, tuple) and a[0] == b[0] == "tensor"
    return tensors and a[1] == b[1] and a[2].is_compatible_with(b[2])


def _generalise(old: Any, new: Any) -> Any:
    """The key with unknown extents where two keys differ in shape alone; None where they differ otherwise."""
    if len(old) != len(new):
        return None
    found = []
    for a, b in zip(old, new):
        if a == b:
            found.append(a)
        elif isinstance(a, tuple) and isinstance(b, tuple) and a[0] == b[0] == "tensor" and a[1] == b[1]:
            same_rank = a[2].rank is not None and a[2].rank == b[2].rank
            shape = TensorShape([m if m == n else None for m, n in zip(a[2], b[2])]) if same_rank else TensorShape(None)
            found.append((*a[:2], shape))
        else:
            return None
    return tuple(found)
