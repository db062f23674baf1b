"""Gradients written by the user: `custom_gradient`, `recompute_grad`, `grad_pass_through`, `RegisterGradient`."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad.eager import structures
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.dispatch import Operation
from stgrad.eager.errors import GradientMismatchError
from stgrad.eager.logs import warn_first
from stgrad.eager.record import numpy_promotion, record, recorders, recording_active, state
from stgrad.eager.tensor import Tensor, is_tensor


class Watcher:
    """A recorder that only lists the trainable variables read while it is active."""

    passive = True
    ids: frozenset[int] = frozenset()

    def __init__(self) -> None:
        self.variables: dict[int, Any] = {}

    def add(self, *node: Any) -> None:
        pass

    def note(self, *cut: Any) -> None:
        pass

    def watch_variable(self, variable: Any) -> None:
        self.variables.setdefault(variable._id, variable)


class Custom(Operation):
    """One call of a function with a gradient of its own: a node of the tape."""

    key = "custom"  # each node has an operation of its own

    def __init__(self, name: str, backward: Callable[..., list[Any]]) -> None:
        super().__init__(None, name)
        self.backward = backward

    def pull(self, y: Any, y_bar: Any, args: tuple[Any, ...], kwargs: Any) -> list[Any]:
        bars = y_bar if isinstance(y_bar, tuple) else (y_bar,)
        bare = not any(type(b) is Tensor for b in bars)
        with numpy_promotion(False):
            grads = self.backward(*[Tensor(b) if bare else b for b in bars])
            found = [None if g is None else self._fitting(g, x) for g, x in zip(grads, args)]
        return [g._a if bare and g is not None else g for g in found]

    def _fitting(self, g: Any, x: Tensor) -> Any:
        """A gradient as a tensor; an error when it is none for this input."""
        g = g if type(g) is Tensor else convert_to_tensor(g, dtype_hint=x.dtype)
        if x._a.dtype.kind not in "fc":
            return None
        if g._a.shape != x._a.shape:
            raise GradientMismatchError(
                f"the custom gradient of {self.name} returned shape {g._a.shape} for an input of shape {x._a.shape}: a "
                "gradient has the shape of "
                "its input"
            )
        if g._a.dtype != x._a.dtype:
            raise GradientMismatchError(
                f"the custom gradient of {self.name} returned dtype {g.dtype.name} for an input of dtype {x.dtype.name}: cast it in grad_fn"
            )
        return g

    def push(self, y: Any, args: tuple[Any, ...], kwargs: Any, dots: dict[int, Any]) -> Any:
        """The pullback is linear in its cotangents; its transpose, a pullback of the pullback, is the tangent."""
        from stgrad.eager.tape import GradientTape

        outputs = y if isinstance(y, tuple) else (y,)
        seeds = [Tensor(np.zeros_like(o._a)) for o in outputs]
        with GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(seeds)
            bars = self.pull(y, tuple(seeds), args, kwargs)
            pairs = [(g, dots[x._id]) for x, g in zip(args, bars) if g is not None and x._id in dots]
            total = functools.reduce(lambda t, p: t + np.sum(p[0] * p[1]), pairs, Tensor(np.float32(0)))
        dot = tape.gradient(total, seeds)
        return tuple(dot) if isinstance(y, tuple) else dot[0]


def custom_gradient(f: Any = None) -> Any:
    """Give a function a gradient of its own.

    `f(*x)` returns `(y, grad_fn)`; `grad_fn(*dys)` returns one gradient for each flattened argument, None where there is none. Keyword
    arguments are bound to the signature of `f`; of a method, `self` is no argument and gets no gradient. A function that reads
    variables needs `grad_fn(*dys, variables=None)`, which returns `(grad_xs, grad_variables)`.

    Raises (at the call): TypeError when variables are read and grad_fn does not take `variables`.
    Raises (at `gradient`): ValueError for a wrong number of gradients; GradientMismatchError for a wrong shape or dtype.
    """
    if f is None:
        return custom_gradient

    return CustomGradient(f)


class CustomGradient:
    """A function with a gradient of its own; in a class, a method, whose instance is no argument of the gradient."""

    def __init__(self, f: Any, owner: type | None = None) -> None:
        functools.update_wrapper(self, f)
        self._custom_gradient_of = f
        self._owner = owner

    def __get__(self, instance: Any, owner: type | None = None) -> CustomGradient:
        f = self._custom_gradient_of
        return CustomGradient(f, owner) if instance is None else CustomGradient(types.MethodType(f, instance))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._owner is not None and args and isinstance(args[0], self._owner):
            return _call(types.MethodType(self._custom_gradient_of, args[0]), args[1:], kwargs)
        return _call(self._custom_gradient_of, args, kwargs)


def forget_gradient(f: Any) -> Any:
    """The forward pass of a custom-gradient function whose gradient was not saved: asking for it is a LookupError."""

    @functools.wraps(f)
    def forward(*args: Any, **kwargs: Any) -> Any:
        def lost(*dys: Any, variables: Any = None) -> Any:
            raise LookupError(
                "No gradient defined for operation'IdentityN' (op type: IdentityN). In general every operation must have "
                "an associated `@tf.RegisterGradient` for correct autodiff, which this op is lacking."
            )

        def without(*inner: Any, **inner_kwargs: Any) -> Any:
            return f(*inner, **inner_kwargs)[0], lost

        return _call(without, args, kwargs)

    return forward


def _bind(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Keywords that name positional parameters and hold tensors become positional."""
    if not kwargs or not any(is_tensor(leaf) for leaf in structures.flatten(kwargs)):
        return args, kwargs
    try:
        bound = inspect.signature(f).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return args, kwargs
    return bound.args, bound.kwargs


def _call(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    positional = len(structures.flatten(args))
    args, kwargs = _bind(f, args, kwargs)
    leaves = structures.flatten(args)
    watcher = Watcher()
    with recorders((*state.recorders, watcher)):  # what f computes is recorded too: grad_fn may use it, and is itself differentiated
        result = f(*args, **kwargs)
    try:
        y, grad_fn = result
    except (TypeError, ValueError):
        raise TypeError(f"{_name(f)} must return (result, grad_fn), but it returned {result!r}") from None
    handed = {leaf._id for leaf in leaves if hasattr(type(leaf), "_read")}
    variables = [v for _, v in sorted(watcher.variables.items()) if v._id not in handed]
    _check_variables(grad_fn, variables)
    flat_y, rebuild_y = structures.flatten_with(y)
    outputs = tuple([Tensor(convert_to_tensor(o)._a) for o in flat_y])
    if state.recorders:
        xs = [_constant(leaf) for leaf in leaves]
        tensors = (*[x for x in xs if isinstance(x, Tensor)], *[v._read() for v in variables])
        _record(Custom(_name(f), _backward(grad_fn, xs, positional, variables)), outputs, tensors)
    return rebuild_y(list(outputs))


def _constant(leaf: Any) -> Any:
    """Numbers and arrays are inputs too; other values are passed as they are."""
    if hasattr(type(leaf), "_read"):
        return leaf._read()
    if leaf is None or isinstance(leaf, str) or callable(leaf):
        return leaf
    try:
        return convert_to_tensor(leaf)
    except (TypeError, ValueError):
        return leaf


def _record(op: Custom, outputs: tuple[Any, ...], inputs: tuple[Any, ...]) -> None:
    record(op, outputs if len(outputs) != 1 else outputs[0], inputs, inputs)


def _name(f: Any) -> str:
    return getattr(f, "__name__", type(f).__name__)


def _takes_variables(grad_fn: Any) -> bool:
    parameters = inspect.signature(grad_fn).parameters.values()
    return any(p.name == "variables" or p.kind is p.VAR_KEYWORD for p in parameters)


def _check_variables(grad_fn: Any, variables: list[Any]) -> None:
    if variables and not _takes_variables(grad_fn):
        raise TypeError(f"@tf.custom_gradient grad_fn must accept keyword argument 'variables', since function uses variables: {variables}")
    if not variables and "variables" in inspect.signature(grad_fn).parameters:
        warn_first("@custom_gradient grad_fn has 'variables' in signature, but no Variables were used on the forward pass.", 1)


def _backward(grad_fn: Any, xs: list[Any], positional: int, variables: list[Any]) -> Any:
    """The pullback: calls grad_fn and lines its gradients up with the tensors among the inputs, then the variables."""

    def backward(*dys: Any) -> list[Any]:
        variable_grads: Any = []
        if variables:
            grads, variable_grads = grad_fn(*dys, variables=variables)
            if len(variable_grads) != len(variables):
                raise ValueError(
                    f"Must return gradient for each variable from @custom_gradient grad_fn: expected {len(variables)}, got "
                    f"{len(variable_grads)}."
                )
        else:
            grads = grad_fn(*dys)
        flat = structures.flatten(grads)
        if len(flat) == positional < len(xs):  # what came by keyword may be left out
            flat += [None] * (len(xs) - positional)
        if len(flat) != len(xs):
            raise ValueError(f"custom_gradient function expected to return {len(xs)} gradients, but returned {len(flat)} instead.")
        return [g for g, x in zip(flat, xs) if isinstance(x, Tensor)] + list(variable_grads)

    return backward


def recompute_grad(f: Any) -> Any:
    """`f`, with nothing kept between its forward and its backward pass: the backward pass calls it again."""

    @functools.wraps(f)
    def recomputed(*args: Any, **kwargs: Any) -> Any:
        leaves, rebuild = structures.flatten_with(args)
        watcher = Watcher()
        with recorders((watcher,)):
            result = f(*args, **kwargs)
        flat_y, rebuild_y = structures.flatten_with(result)
        outputs = tuple([Tensor(convert_to_tensor(o)._a) for o in flat_y])
        inputs = [leaf for leaf in leaves if is_tensor(leaf)]
        given = {x._id for x in inputs if hasattr(type(x), "_read")}
        extra = [v for k, v in sorted(watcher.variables.items()) if k not in given]
        if state.recorders:
            sources = tuple([x._read() if hasattr(type(x), "_read") else x for x in (*inputs, *extra)])
            backward = _recomputing(f, leaves, rebuild, kwargs, [*inputs, *extra])
            _record(Custom(_name(f), backward), outputs, sources)
        return rebuild_y(list(outputs))

    return recomputed


def _recomputing(f: Any, leaves: list[Any], rebuild: Any, kwargs: Any, sources: list[Any]) -> Any:
    def backward(*dys: Any) -> list[Any]:
        from stgrad.eager.tape import GradientTape

        active = state.recorders if recording_active() else ()
        with recorders(active), GradientTape(watch_accessed_variables=False) as tape:
            tape.watch([s for s in sources if s.dtype.is_floating or s.dtype.is_complex])
            again = structures.flatten(f(*rebuild(leaves), **kwargs))
        return list(tape.gradient(again, sources, output_gradients=list(dys)))

    return backward


def grad_pass_through(f: Any) -> Any:
    """`f`, with the gradient of the identity."""

    @functools.wraps(f)
    def passing(*args: Any, **kwargs: Any) -> Any:
        def with_identity(*inner: Any, **inner_kwargs: Any) -> Any:
            def grad(*dys: Any, variables: Any = None) -> Any:
                if variables is not None:
                    return list(dys), [None] * len(variables)
                return list(dys) if len(dys) > 1 else dys[0]

            return f(*inner, **inner_kwargs), grad

        return _call(with_identity, args, kwargs)

    return passing
