"""A compiled program of a `Transformed`, as it is kept between calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stgrad import lookups
from stgrad.calls import own_exceptions
from stgrad.calls.compilations import Lazy
from stgrad.calls.program_cache import Param, Ready
from stgrad.lookups import Lookup

if TYPE_CHECKING:
    from stgrad.program import Compiled


@dataclass(eq=False)
class Program:
    """A compiled program and how it is called with flat arguments; in the wrapper from its second call on."""

    nodes: list[Any]
    ready: Ready  # without its captures, whose owners are not to be kept alive
    hidden: list[Any]  # captured arrays, which it takes after its arguments
    run: Callable[..., Any]
    called: bool = False
    wrapped: bool = False
    lazy: Lazy | None = None  # while another process compiles it


def hidden_of(ready: Ready) -> list[Any]:
    """The captured arrays that a program takes after its arguments; one that is reached in two ways is passed once."""
    return list({c.variable: c.value for c in ready.captures if c.variable is not None}.values())


def ready_program(program: Compiled, record: dict[Any, Lookup]) -> Ready:
    fn = program.function
    apart = program.reading.apart
    written = fn.written | {pair.left for pair in apart if pair.left != pair.right}
    changed = fn.written | {pair.left for pair in apart if pair.left == pair.right}
    params = tuple(Param(p.name, fn.types[p.name].array, p.name in written, p.name in changed) for p in fn.params)
    captures = lookups.carried(record, program.reading.captures)
    then = None if program.then is None else ready_program(program.then, {})
    reading = program.reading
    flags = {"optimistic": program.optimistic, "short": program.short, "distinct": reading.distinct}
    return Ready(fn.name, program.text, params, reading.result, captures, plain=program.plain, then=then, **flags, raised=own_exceptions.noted(program.text))
