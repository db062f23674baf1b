"""Values that a program takes from outside: where each was found, and what it was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stgrad.source import Scope


@dataclass(frozen=True)
class Capture:
    """A value from outside the program: `owner` is a Scope (then `name` is a free name) or an object (an attribute).

    `variable` is the parameter that carries it, for arrays; other values are compiled in, and the compiled program is used only
    while they stay the same.
    """

    owner: Any
    name: str
    value: Any
    variable: str | None

    def current(self) -> Any:
        return self.owner.resolve(self.name) if isinstance(self.owner, Scope) else getattr(self.owner, self.name)
