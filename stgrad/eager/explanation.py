"""Why a gradient is what it is: the path from source to target in words, with the user's lines where it is cut."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from stgrad.eager.recording import Cut, Recording

Link = tuple[str, list[int], list[int]]  # an operation's name, the ids of its results, the ids of its inputs


@dataclass
class Past:
    """What a tape remembers for explanations after its recording is given up: ids and cuts, no values."""

    ids: set[int]
    cuts: list[Cut]
    links: list[Link]
    reached: set[int] = field(default_factory=set)  # sources that got a gradient


def links(recording: Recording) -> list[Link]:
    return [
        (op.name, [o._id for o in (y if type(y) is tuple else (y,))], [x._id for x in inputs]) for op, y, inputs, _, _ in recording.nodes
    ]


def remember(recording: Recording) -> Past:
    """A recording without its values; the links between ids are kept only where a path was cut."""
    return Past(recording.ids, recording.cuts, links(recording) if recording.cuts else [])


def explain(recording: Recording | None, past: Past | None, target: Any, source: Any, watches_variables: bool) -> str:
    """One paragraph; see `GradientTape.explain`."""
    for what, t in (("target", target), ("source", source)):
        if not hasattr(t, "_id"):
            return f"The {what} is no tensor but a {type(t).__name__}: the tape follows tensors and variables alone."
    if source._a.dtype.kind not in "fc":
        return f"The source has dtype {source.dtype.name}: only floating and complex tensors have gradients. Make it a float first."
    if recording is not None:
        past = Past(recording.ids, recording.cuts, links(recording))
    if past is None:
        return "The tape has no recording: it was never entered."
    if target._id == source._id:
        return "The target is the source: the gradient is ones."
    if source._id not in past.ids:
        return _not_watched(source, watches_variables)
    return _path(past, target, source)


def _path(past: Past, target: Any, source: Any) -> str:
    reached = _forward(past.links, source._id)
    if target._id in reached:
        return _connected(past.links, reached, target._id)
    if source._id in past.reached:
        return "The target of the last gradient depends on the source."
    cut = _cut_text(past, reached)
    text = "The target does not depend on the source through anything recorded. "
    if target._a.dtype.kind not in "fc":
        text += f"The target has dtype {target.dtype.name}, which has no gradient. "
    if cut:
        return text + cut
    if target._id not in past.ids:
        return text + (
            "It was not computed on this tape from anything watched: it was made outside the `with` block, before the watch, "
            "or on another thread."
        )
    return text + "It was computed from other watched tensors alone."


def _forward(chain: list[Link], source: int) -> set[int]:
    """The ids of everything that depends on the source."""
    reached = {source}
    for _, outputs, inputs in chain:
        if not reached.isdisjoint(inputs):
            reached.update(outputs)
    return reached


def _connected(chain: list[Link], reached: set[int], target: int) -> str:
    wanted, names = {target}, []
    for name, outputs, inputs in reversed(chain):
        if not wanted.isdisjoint(outputs) and not reached.isdisjoint(inputs):
            wanted.update(inputs)
            names.append(name)
    shown = ", ".join(names[::-1][:8]) + (", ..." if len(names) > 8 else "")
    return f"The target depends on the source through {len(names)} recorded operation{'s' * (len(names) != 1)}: {shown}."


def _not_watched(source: Any, watches_variables: bool) -> str:
    if hasattr(type(source), "_read"):
        if not source.trainable:
            return "The source is a variable with trainable=False, which no tape follows by itself: call tape.watch(variable)."
        if not watches_variables:
            return "The source is a variable, but the tape was made with watch_accessed_variables=False: call tape.watch(variable)."
        return "The source is a variable that was not read inside the tape's context, or not after the last reset."
    return "The source is not watched by this tape: call tape.watch(source) inside the context, before the source is used."


def _cut_text(past: Past, reached: set[int]) -> str:
    """The cuts that lie on what the source reaches, following each to what was made of it."""
    found = []
    for cut in past.cuts:
        if cut.x in reached:
            found.append(f"The path is cut by {cut.reason} at {cut.where}" + (f": `{cut.line}`." if cut.line else "."))
            if cut.y is not None:
                reached |= {cut.y} | _forward(past.links, cut.y)
    return " ".join(dict.fromkeys(found))
