"""What stands in generated functions for a step that no text can say: it is called while they are read, and knows what it was made with."""

from __future__ import annotations

from typing import Any


class Stub:
    """Called in programs that are read, by `_stgrad_call_`, which subclasses bring.

    Two stubs of one class with equal attributes mean the same: so programs that call them are found on disk again.
    """

    def __call__(self, *args: Any) -> Any:
        raise TypeError("it is called in programs that are read")


__all__ = ["Stub"]
