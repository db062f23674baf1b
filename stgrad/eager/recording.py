"""What a tape has recorded: the operations in order, the tensors it follows, the variables it saw, and where paths were cut.

A node is `(op, y, inputs, args, kwargs)`: the operation, its result (a tensor, or a tuple of them), the tensors among the
arguments, and the arguments themselves. The recording owns its nodes; nothing else refers to them.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

Node = tuple[Any, Any, tuple[Any, ...], tuple[Any, ...], Any]


@dataclass
class Cut:
    """A place where a path of derivatives ended: why, from which tensor to which (None: out of the tensors' world), and where."""

    reason: str
    x: int
    y: int | None
    where: str
    line: str


class Recording:
    """The memory of one tape."""

    __slots__ = ("ids", "nodes", "roots", "variables", "watch_accessed", "cuts")
    passive = False

    def __init__(self, watch_accessed: bool) -> None:
        self.ids: set[int] = set()
        self.nodes: list[Node] = []
        self.roots: set[int] = set()
        self.variables: dict[int, Any] = {}
        self.watch_accessed = watch_accessed
        self.cuts: list[Cut] = []

    def add(self, op: Any, y: Any, inputs: tuple[Any, ...], args: tuple[Any, ...], kwargs: Any) -> None:
        if type(y) is tuple:
            self.ids.update([o._id for o in y])
        else:
            self.ids.add(y._id)
        self.nodes.append((op, y, inputs, args, kwargs))

    def watch(self, tensor_id: int) -> None:
        self.ids.add(tensor_id)
        self.roots.add(tensor_id)

    def watch_variable(self, variable: Any) -> None:
        """Called at each read of a trainable variable."""
        if self.watch_accessed and variable._id not in self.variables:
            self.force_variable(variable)

    def force_variable(self, variable: Any) -> None:
        self.variables[variable._id] = variable
        self.watch(variable._id)

    def note(self, reason: str, x: Any, y: Any) -> None:
        where, line = user_frame()
        self.cuts.append(Cut(reason, x._id, None if y is None else y._id, where, line))


class Paused:
    """Stands in for a recording while `stop_recording` is in force: only notes which results were not recorded."""

    __slots__ = ("recording", "ids", "where")
    passive = True

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.ids = recording.ids
        self.where = user_frame()

    def add(self, op: Any, y: Any, inputs: tuple[Any, ...], args: tuple[Any, ...], kwargs: Any) -> None:
        self.note(f"{op.name} while recording was stopped", inputs[0], y[0] if type(y) is tuple else y)

    def note(self, reason: str, x: Any, y: Any) -> None:
        self.recording.note(reason, x, y)

    def watch_variable(self, variable: Any) -> None:
        pass


def user_frame() -> tuple[str, str]:
    """`file:line` and the text of the innermost frame outside this package."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(("stgrad.eager", "stgrad.rules", "numpy", "contextlib")):
        frame = frame.f_back
    if frame is None:
        return "<unknown>", ""
    import linecache

    return f"{frame.f_code.co_filename}:{frame.f_lineno}", linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
