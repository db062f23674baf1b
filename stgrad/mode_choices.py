"""Why a derivative goes forward or backward: what is decided while its program is read, in words for `memory()`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_SAID: ContextVar[list[str] | None] = ContextVar("SAID", default=None)


@contextmanager
def listened() -> Iterator[list[str]]:
    """A list of what is said meanwhile."""
    said: list[str] = []
    token = _SAID.set(said)
    try:
        yield said
    finally:
        _SAID.reset(token)


def say(choice: str, reason: str) -> None:
    """Tell a choice to whoever listens; a program may be read twice."""
    said = _SAID.get()
    text = f"{choice}: {reason}"
    if said is not None and text not in said:
        said.append(text)


__all__ = ["listened", "say"]
