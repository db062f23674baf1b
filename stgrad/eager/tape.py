"""`GradientTape`: records the operations on watched tensors and gives derivatives of what was computed.

A tape that was entered pushes its `Recording` on this thread's recorders. Life cycle and errors are TensorFlow's: a
single-use tape gives up its recording with the first `gradient`, and a new one begins when it is entered again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from stgrad.eager import explanation, jacobians, repeats, structures
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.errors import InvalidArgumentError, NotRecordingError
from stgrad.eager.logs import warn_first
from stgrad.eager.record import recording_active, state
from stgrad.eager.recording import Paused, Recording
from stgrad.eager.structures import UnconnectedGradients
from stgrad.eager.sweep import reach, sweep
from stgrad.eager.tensor import Tensor, is_tensor

_USED_UP = "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians)"
_INSIDE = (
    "Calling GradientTape.gradient on a persistent tape inside its context is significantly less efficient than calling it outside "
    "the context (it causes the gradient ops to be recorded on the tape). Only call GradientTape.gradient inside the context if you "
    "want to trace the gradient in order to compute higher order derivatives."
)


class GradientTape:
    """Records operations for automatic differentiation.

    Args:
        persistent: keep the recording, so that `gradient` may be called more than once; it is freed with the tape.
        watch_accessed_variables: follow every trainable variable that is read inside the context.
        compile: hand the reverse sweep to the compiler when the same structure comes round again (see `tf.config.optimizer.set_jit`).

    Example:
        >>> x = Tensor(np.float32(3.0))
        >>> with GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        >>> tape.gradient(y, x).numpy()
        np.float32(6.0)
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True, *, compile: bool = True) -> None:
        self._tape: Recording | None = None
        self._persistent = persistent
        self._watch_accessed_variables = watch_accessed_variables
        self._recording = False
        self._watched_variables: tuple[Any, ...] = ()
        self._past: explanation.Past | None = None
        self._compile = compile
        self._structure: repeats.Entry | None = None

    # -------------------------------------------------------------- recording

    def __enter__(self) -> GradientTape:
        self._push_tape()
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._recording:
            self._pop_tape()

    def _push_tape(self) -> None:
        if self._recording:
            raise ValueError("Tape is still recording, This can happen if you try to re-enter an already-active tape.")
        if self._tape is None:
            self._tape = Recording(self._watch_accessed_variables)
        state.recorders = (*state.recorders, self._tape)
        self._recording = True

    def _pop_tape(self) -> None:
        if not self._recording:
            raise ValueError("Tape is not recording.")
        state.recorders = tuple([r for r in state.recorders if r is not self._tape])
        self._recording = False

    def watch(self, tensor: Any) -> None:
        """Follow a tensor or variable, or every one in a structure.

        Raises:
            ValueError: something else was passed.
            NotRecordingError: the tape was not entered.
        """
        for t in structures.flatten(tensor):
            if not is_tensor(t):
                raise ValueError(
                    f"Passed in object {t!r} of type {type(t).__name__!r}, not tf.Tensor or tf.Variable or ExtensionType. "
                    "Make a tensor of it first, `x = tf.constant(...)`, and use that tensor in the computation."
                )
            if self._tape is None:
                raise NotRecordingError("watch before the tape is entered: call it inside `with tf.GradientTape() as tape:`")
            if not (t.dtype.is_floating or t.dtype.is_complex):
                warn_first("The dtype of the watched tensor must be floating (e.g. tf.float32), got %r", 5, t.dtype)
            elif isinstance(t, Tensor):
                self._tape.watch(t._id)
            else:
                self._tape.force_variable(t)

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Suspend this tape for a block; what runs in it is constant for the tape."""
        if self._tape is None:
            raise RuntimeError("Trying to stop recording a tape which is not recording.")
        self._pop_tape()
        paused = Paused(self._tape)
        state.recorders = (*state.recorders, paused)
        try:
            yield
        finally:
            state.recorders = tuple([r for r in state.recorders if r is not paused])
            self._push_tape()

    def reset(self) -> None:
        """Forget everything recorded so far, watches included; recording goes on."""
        self._pop_tape()
        self._tape = None
        self._push_tape()

    def watched_variables(self) -> tuple[Any, ...]:
        """The variables this tape follows, in the order of their construction."""
        if self._tape is not None:
            self._watched_variables = tuple(variable for _, variable in sorted(self._tape.variables.items()))
        return self._watched_variables

    # -------------------------------------------------------------- derivatives

    def gradient(
        self, target: Any, sources: Any, output_gradients: Any = None, unconnected_gradients: Any = UnconnectedGradients.NONE
    ) -> Any:
        """The gradient of the sum of the targets with respect to each source, in the structure of `sources`.

        Args:
            target: tensor, variable or structure of them; contributions are summed.
            sources: tensor, variable or structure of them.
            output_gradients: cotangents of the targets in the same structure; ones where they are missing.
            unconnected_gradients: what a source gets that the target does not depend on: None or zeros.

        Raises:
            RuntimeError: the tape is not persistent and was used before, or was never entered.
        """
        recording = self._begin()
        if target is None:
            raise TypeError(
                "Argument `target` should be a list or nested structure of Tensors, Variables or CompositeTensors to be "
                "differentiated, but received None."
            )
        targets = structures.flatten(target)
        flat, rebuild = structures.flatten_with(sources)
        unconnected = structures.unconnected(unconnected_gradients)
        structures.check_sources([*targets, *flat])
        seeds = _seeds(targets, output_gradients)
        ids = list(dict.fromkeys([s._id for s in flat if s._a.dtype.kind in "fc"]))
        self._past = past = explanation.remember(recording)
        try:
            if not targets or not flat:
                return rebuild([None] * len(flat))
            wanted = set(ids)
            grads = self._again(
                recording.nodes, recording.ids, seeds, ids,
                lambda: sweep(*reach(recording, wanted), seeds, wanted, consume=not self._persistent),
            )  # fmt: skip
        finally:
            self._end()
        past.reached.update(grads)
        return rebuild([structures.result(grads, s, unconnected) for s in flat])

    def _again(self, nodes: Any, followed: Any, seeds: Any, sources: list[int], interpret: Callable[[], Any]) -> Any:
        """The gradients by a compiled sweep, if the structure has one and nothing is to be recorded or checked on the way."""
        if not (self._compile and repeats.settings.enabled) or state.check_numerics or recording_active():
            return interpret()
        return repeats.sweep_again(nodes, followed, seeds, sources, interpret, self._keep)

    def _keep(self, structure: repeats.Entry) -> None:
        self._structure = structure

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The derivative of each element of one target tensor in each element of the sources: shape target.shape + source.shape."""
        self._check_pfor(experimental_use_pfor, "jacobian")
        flat, rebuild = structures.flatten_with(sources)
        target.shape, [s.dtype for s in flat]  # AttributeError for a list or a number, as in TensorFlow
        recording = self._begin()
        try:
            rows = jacobians.jacobian(recording, target, flat, self._again)
        finally:
            self._end()
        unconnected = structures.unconnected(unconnected_gradients)
        zeros = unconnected is UnconnectedGradients.ZERO
        return rebuild([_full_zeros(target, s) if row is None and zeros else row for row, s in zip(rows, flat)])

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Tensor:
        """The Jacobians of the rows of `target` (b, ...) in the rows of `source` (b, ...), shape (b, ..., ...).

        Row i of the target is taken to depend on row i of the source alone; this is not checked.
        """
        jacobians.check_batch(target, source)
        self._check_pfor(experimental_use_pfor, "batch_jacobian")
        structures.unconnected(unconnected_gradients)
        recording = self._begin()
        try:
            return jacobians.batch_jacobian(recording, target, source, self._again)
        finally:
            self._end()

    def explain(self, target: Any, source: Any) -> str:
        """In words: why `gradient(target, source)` is what it is, and where in your program the path is cut.

        Works before and after `gradient`, on any tape.
        """
        return explanation.explain(self._tape, self._past, target, source, self._watch_accessed_variables)

    def compiled_source(self) -> str | None:
        """The programs that the reverse sweep of the last derivative is made of, as Python text, in the order in which they run.

        None where the structure of the tape was not met often enough, or is left to the interpreter.
        """
        return repeats.source_of(self._structure)

    def _check_pfor(self, use_pfor: bool, what: str) -> None:
        if not use_pfor and not self._persistent and state.graph is None:
            raise RuntimeError(
                f"GradientTape must be created with persistent=True to compute the {what} with eager execution enabled and with "
                " experimental_use_pfor set to False."
            )

    def _begin(self) -> Recording:
        if self._tape is None:
            raise RuntimeError(_USED_UP)
        if self._recording:
            if self._persistent:
                warn_first(_INSIDE, 1)
            else:
                self._pop_tape()
        return self._tape

    def _end(self) -> None:
        """A single-use tape lets go of its recording."""
        if not self._persistent and self._tape is not None:
            self.watched_variables()
            self._tape = None


def _full_zeros(target: Any, source: Any) -> Tensor:
    return Tensor(np.zeros((*target.shape, *source.shape), source.dtype.dtype))


def _seeds(targets: list[Any], output_gradients: Any) -> list[tuple[int, Any]]:
    """The cotangent of each differentiable target: the given one, or ones."""
    given = [] if output_gradients is None else structures.flatten(output_gradients)
    if output_gradients is not None and any(g is None for g in given):
        raise ValueError("Attempt to convert a value (None) with an unsupported type (<class 'NoneType'>) to a Tensor.")
    as_tensor = recording_active()
    seeds = []
    for i, target in enumerate(targets):
        value = target._a
        if value.dtype.kind not in "fc":
            continue
        seed = _given_seed(given[i], value) if i < len(given) else Tensor(np.ones(value.shape, value.dtype)[()])
        seeds.append((target._id, seed if as_tensor else seed._a))
    return seeds


def _given_seed(given: Any, value: Any) -> Any:
    """A cotangent from the user, stretched over its target."""
    seed = convert_to_tensor(given, dtype_hint=value.dtype)
    if tuple(seed.shape) == value.shape:
        return seed
    try:
        np.broadcast_to(seed._a, value.shape)
    except ValueError:
        raise InvalidArgumentError(f"Incompatible shapes: output_gradients {list(seed.shape)} vs. target {list(value.shape)}") from None
    return np.broadcast_to(seed, value.shape)
