"""Operations: a NumPy function with its derivative rule, ready to be called on tensors and to be pulled back.

`bind(fn)` finds the rule of a NumPy function once and returns its `Operation`; `apply(op, args, kwargs)` runs it on tensors,
variables, arrays and numbers, and tells the recorders. The rules are those of `stgrad.rules`: a rule runs on bare arrays, or,
where a recorder listens, on tensors, whose NumPy calls come back here and are recorded in turn.

An operation has three methods. `pull(y, y_bar, args, kwargs)` gives one cotangent for each tensor among the arguments, in
their order. `push(y, args, kwargs, dots)` gives the tangent of the result. Both work on arrays and on tensors alike.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import stgrad.rules  # noqa: F401  (fills the table)
from stgrad.eager.record import QUIET, loud, numpy_promotion, quiet, record, recorders, state
from stgrad.eager.shortcuts import SHORTCUTS
from stgrad.eager.tensor import Tensor
from stgrad.rules.core import Rule, lookup, op_name

_OPERATIONS: dict[Any, Operation] = {}


class Operation:
    """A function without a derivative rule; the base of those that have one."""

    differentiable = True
    shortcut: Any = None  # a quicker pullback for bare arrays (see `shortcuts`)
    absent = False  # whether `pull` takes None for the cotangent of a result that nothing used
    key: Any = None  # what tells it from others in the structure of a recording: itself, where there is one object for each function

    def __init__(self, fn: Callable[..., Any], name: str) -> None:
        self.fn = fn
        self.name = name

    def pull(self, y: Any, y_bar: Any, args: tuple[Any, ...], kwargs: Any) -> list[Any]:
        raise LookupError(f"gradient registry has no entry for: {self.name}")

    def push(self, y: Any, args: tuple[Any, ...], kwargs: Any, dots: dict[int, Any]) -> Any:
        raise LookupError(f"gradient registry has no entry for: {self.name}")

    def __repr__(self) -> str:
        return f"<operation {self.name}>"


class Nondifferentiable(Operation):
    """The result carries no derivative: the path ends here."""

    differentiable = False


class Composite(Operation):
    """A composition of other operations: run on tensors, so that those are recorded."""

    def __init__(self, fn: Callable[..., Any], name: str, definition: Callable[..., Any]) -> None:
        super().__init__(fn, name)
        self.definition = definition


class Elementwise(Operation):
    """An operation with `partials`: backwards y_bar times the conjugate partial, unbroadcast; forwards the partial times dot."""

    def __init__(self, fn: Callable[..., Any], name: str, partials: Callable[..., Any]) -> None:
        super().__init__(fn, name)
        self.partials = partials

    def pull(self, y: Any, y_bar: Any, args: tuple[Any, ...], kwargs: Any) -> list[Any]:
        if type(y_bar) is Tensor:
            slopes = settled(twin(self.partials)(y, *args, **(kwargs or {})))
        elif len(args) == 1 and not kwargs:  # the common case, without loops
            x = args[0]._a
            return (elementwise_bar(y_bar, self.partials(y._a, x), x.shape),)
        else:
            slopes = self.partials(y._a, *[x._a if type(x) is Tensor else x for x in args], **(kwargs or {}))
        if type(slopes) is not tuple:
            slopes = (slopes,)
        return [elementwise_bar(y_bar, p, x._a.shape) for x, p in zip(args, slopes) if type(x) is Tensor]

    def push(self, y: Any, args: tuple[Any, ...], kwargs: Any, dots: dict[int, Any]) -> Any:
        total = None
        slopes = settled(twin(self.partials)(y, *args, **(kwargs or {})))
        for x, p in zip(args, slopes if type(slopes) is tuple else (slopes,)):
            dot = dots.get(x._id) if type(x) is Tensor else None
            if dot is None or p is None:
                continue
            term = p * dot
            total = term if total is None else total + term
        if total is None or total.shape == y.shape:
            return total
        return np.broadcast_to(total, tuple(y.shape))


def elementwise_bar(y_bar: Any, partial: Any, shape: tuple[int, ...]) -> Any:
    """The cotangent of an argument of this shape from the partial derivative: conj(partial) y_bar, unbroadcast."""
    if partial is None:
        return None
    if type(partial) is float:
        g = y_bar if partial == 1.0 else y_bar * partial
    elif isinstance(partial, complex) or (not isinstance(partial, int) and partial.dtype.kind == "c"):
        g = y_bar * np.conj(partial)
    else:
        g = y_bar * partial
    return g if g.shape == shape else unbroadcast(g, shape)


def unbroadcast(g: Any, shape: tuple[int, ...]) -> Any:
    """Sum `g` over the axes along which an argument of this shape was stretched; arrays and tensors."""
    extra = g.ndim - len(shape)
    axes = (*range(extra), *(i + extra for i, n in enumerate(shape) if n == 1 and g.shape[i + extra] != 1))
    return np.reshape(np.sum(g, axis=axes), shape) if axes else np.broadcast_to(g, shape)


class General(Operation):
    """An operation with an `adjoint`, and a `tangent` (or linear in its first argument, which is then its own tangent)."""

    def __init__(self, fn: Callable[..., Any], rule: Rule) -> None:
        super().__init__(fn, rule.name)
        assert rule.adjoint is not None
        self.adjoint = rule.adjoint
        self.tangent = rule.tangent
        self.linear = rule.kind == "linear"
        self.absent = rule.absent

    def pull(self, y: Any, y_bar: Any, args: tuple[Any, ...], kwargs: Any) -> list[Any]:
        if any(isinstance(b, Tensor) for b in (y_bar if isinstance(y_bar, tuple) else (y_bar,))):
            bars = settled(twin(self.adjoint)(y, y_bar, *args, **(kwargs or {})))
        else:
            bare_y = tuple([o._a for o in y]) if isinstance(y, tuple) else y._a
            bars = self.adjoint(bare_y, y_bar, *[bare(x) for x in args], **(kwargs or {}))
        return align(args, bars, self.linear)

    def push(self, y: Any, args: tuple[Any, ...], kwargs: Any, dots: dict[int, Any]) -> Any:
        kwargs = kwargs or {}
        if self.linear and self.tangent is None:
            first = args[0]
            dot = tuple([_dot(x, dots) for x in first]) if isinstance(first, (list, tuple)) else _dot(first, dots)
            return apply(self, (dot, *args[1:]), kwargs)
        if self.tangent is None:
            return _push_by_two_pulls(self, y, args, kwargs, dots)
        return self._push_by_tangent(y, args, kwargs, dots)

    def _push_by_tangent(self, y: Any, args: tuple[Any, ...], kwargs: Any, dots: dict[int, Any]) -> Any:
        """The tangent rule's parameters `x_dot` get the tangents of its parameters `x`."""
        assert self.tangent is not None
        parameters = inspect.signature(self.tangent).parameters
        if any(p.kind is p.VAR_POSITIONAL for p in parameters.values()):  # operands, then their tangents
            own = [x for x in args if not isinstance(x, str)]
            return settled(twin(self.tangent)(y, *args, *[_dots(x, dots) for x in own], **kwargs))
        names = list(parameters)[1:]
        primals = dict(zip([n for n in names if not n.endswith("_dot")], args)) | kwargs
        tangents = {n: _dots(primals[n[:-4]], dots) if n[:-4] in primals else 0.0 for n in names if n.endswith("_dot")}
        return settled(twin(self.tangent)(y, **primals, **tangents))


def _dots(x: Any, dots: dict[int, Any]) -> Any:
    return tuple([_dot(e, dots) for e in x]) if isinstance(x, (list, tuple)) else _dot(x, dots)


def _dot(x: Any, dots: dict[int, Any]) -> Any:
    dot = dots.get(x._id) if type(x) is Tensor else None
    return Tensor(np.zeros_like(bare(x))) if dot is None else dot


def _push_by_two_pulls(op: Operation, y: Any, args: Any, kwargs: Any, dots: dict[int, Any]) -> Any:
    """The tangent without a forward rule: the pullback is linear in y_bar, and its own pullback at x_dot is the pushforward."""
    from stgrad.eager.tape import GradientTape

    u = Tensor(np.zeros_like(y._a))
    with GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(u)
        bars = op.pull(y, u, args, kwargs)
        pairs = [(bar, dots[x._id]) for x, bar in zip(tensors_in(args), bars) if bar is not None and x._id in dots]
        total = sum((np.sum(bar * dot) for bar, dot in pairs), start=Tensor(y._a.dtype.type(0)))
    return tape.gradient(total, u)


# ------------------------------------------------------------------ arguments


def settled(x: Any) -> Any:
    """What a rule returned, with the arrays it wrote into as tensors."""
    if isinstance(x, (tuple, list)):
        return tuple([settled(e) for e in x])
    return x._read() if hasattr(type(x), "_read") else x


def bare(x: Any) -> Any:
    """The NumPy value of an argument: tensors unwrapped, lists and tuples element by element."""
    kind = type(x)
    if kind is Tensor:
        return x._a
    if (kind is list or kind is tuple) and x and any(type(e) is Tensor or type(e) in (list, tuple) for e in x):
        return kind([bare(e) for e in x])
    return x


def tensors_in(args: Any) -> list[Tensor]:
    """The tensors among arguments, also inside lists and tuples, in order."""
    found: list[Tensor] = []
    for x in args:
        kind = type(x)
        if kind is Tensor:
            found.append(x)
        elif kind is list or kind is tuple:
            found.extend(tensors_in(x))
    return found


def align(args: tuple[Any, ...], bars: Any, linear: bool) -> list[Any]:
    """Cotangents as a rule returns them, one for each tensor among the arguments.

    A linear rule returns the cotangent of its first argument, any other a tuple for several arguments or a bare value for one. An
    argument that is a sequence has a tuple of cotangents. A plain 0.0 stands for zeros.
    """
    if linear or not isinstance(bars, tuple):
        bars = (bars,)
    aligned: list[Any] = []
    for x, bar in zip(args, (*bars, *[None] * (len(args) - len(bars)))):
        if type(x) is Tensor:
            if isinstance(bar, (float, complex)) and not isinstance(bar, np.generic):  # also what 1j * np.float64(2.0) is
                bar = np.full(x._a.shape, bar)[()]
            aligned.append(bar)
        elif isinstance(x, (list, tuple)):
            parts = tensors_in(x)
            if parts:
                aligned.extend(align(tuple(x), tuple(bar) if bar is not None else (None,) * len(x), False))
    return aligned


# ------------------------------------------------------------------ binding and applying


def bind(fn: Any) -> Operation:
    """The operation of a NumPy function (or of a function with a rule made by the decorators of `stgrad.rules`)."""
    op = _OPERATIONS.get(fn)
    if op is None:
        op = _OPERATIONS[fn] = _make(fn)
        op.key = op
        op.shortcut = SHORTCUTS.get(fn)
    return op


def rebind(fn: Any, replacement: Any) -> None:
    """Let `fn` mean `replacement` on tensors, where TensorFlow's convention at a kink differs from the compiler's."""
    _OPERATIONS[fn] = bind(replacement)


def _make(fn: Any) -> Operation:
    rule = lookup(fn)
    name = rule.name if rule is not None else op_name(fn)
    if rule is None:
        return Operation(fn, name)
    if rule.kind == "nondiff":
        return Nondifferentiable(fn, name)
    if rule.composite is not None:
        return Composite(fn, name, rule.composite)
    if rule.partials is not None:
        return Elementwise(fn, name, rule.partials)
    return General(fn, rule)


def apply(op: Operation, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
    """Run an operation on arguments that may hold tensors, and tell the recorders. Arrays in the result become tensors."""
    if kwargs and any(type(value) is Tensor for value in kwargs.values()):
        args, kwargs = _positional(op.fn, args, kwargs)
    listening = state.recorders
    if type(op) is Composite and listening:
        with numpy_promotion():
            return settled(twin(op.definition)(*args, **(kwargs or {})))
    token = quiet(QUIET)
    try:
        y = op.fn(*[x._a if type(x) is Tensor else bare(x) for x in args], **(kwargs or {}))
    finally:
        loud(token)
    y = Tensor(y) if type(y) is np.ndarray else wrap(y)
    if listening:
        inputs = tuple(tensors_in(args))
        if op.differentiable:
            record(op, _outputs(y), inputs, args, kwargs)
        else:
            note_all(op.name, inputs, y)
    return y


def compute(op: Operation, function: Callable[..., Any], inputs: tuple[Tensor, ...], kwargs: dict[str, Any] | None = None) -> Tensor:
    """One array from the arrays of tensors alone, by `function`, which stands for that of a differentiable operation; recorded as the operation."""
    token = quiet(QUIET)
    try:
        y = Tensor(function(*[x._a for x in inputs], **(kwargs or {})))
    finally:
        loud(token)
    if state.recorders:
        record(op, y, inputs, inputs, kwargs)
    return y


def _outputs(y: Any) -> Any:
    """The results as tensors alone: what else an operation returns (a flag, a rank) is made one."""
    if type(y) is Tensor:
        return y
    return tuple([o if type(o) is Tensor else Tensor(np.asarray(o)) for o in (y if isinstance(y, tuple) else (y,))])


def note_all(name: str, inputs: Any, y: Any) -> None:
    """Tell the recorders that `y` was made from these inputs by an operation that has no derivative."""
    for recorder in state.recorders:
        for x in inputs:
            if x._id in recorder.ids:
                recorder.note(name, x, y)


def wrap(y: Any) -> Any:
    """Arrays as tensors; tuples and lists of arrays as tuples of tensors; anything else as it is."""
    if isinstance(y, (np.ndarray, np.generic)):
        return Tensor(y)
    if isinstance(y, (tuple, list)):
        return tuple([wrap(e) for e in y])
    return y


def _positional(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same call with its tensor keywords in place."""
    bound = inspect.signature(fn).bind(*args, **kwargs)
    if any(p.kind is p.KEYWORD_ONLY and type(bound.arguments.get(n)) is Tensor for n, p in bound.signature.parameters.items()):
        raise TypeError(f"{op_name(fn)} takes its tensor arguments by position")
    last = max(i for i, value in enumerate(bound.arguments.values()) if type(value) is Tensor)
    bound.apply_defaults()
    keywords = {n for n, p in bound.signature.parameters.items() if p.kind is p.KEYWORD_ONLY}
    flat = list(bound.args)
    return tuple(flat[: max(len(args), last + 1)]), {
        n: v for n, v in kwargs.items() if n in keywords or n not in list(bound.arguments)[: last + 1]
    }


def under(active: tuple[Any, ...], op: Operation, *args: Any) -> Any:
    """Apply an operation while exactly these recorders listen."""
    with recorders(active):
        return apply(op, args)


def twin(rule: Any) -> Any:
    """See `rulespace.twin`; found late, because that module needs this one."""
    from stgrad.eager import rulespace

    return rulespace.twin(rule)
