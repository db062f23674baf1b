"""Deterministic, readable fresh names: `x_bar`, then `x_bar_2`, `x_bar_3`... Never random."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable

# Module aliases that generated code imports: no variable may shadow them.
RESERVED = frozenset({"np", "math", "scipy", "runtime", "numba"}) | frozenset(keyword.kwlist) | frozenset(dir(builtins))


class Names:
    """Hands out names that are not taken yet; the same requests in the same order give the same names."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken) | RESERVED

    def fresh(self, wish: str) -> str:
        """`wish` if it is free, else `wish_2`, `wish_3`...

        >>> names = Names(["x"])
        >>> names.fresh("x"), names.fresh("x"), names.fresh("y")
        ('x_2', 'x_3', 'y')
        """
        wish = wish if wish.isidentifier() else "v_" + re.sub(r"\W", "_", wish)
        name, count = wish, 1
        while name in self._taken:
            count += 1
            name = f"{wish}_{count}"
        self._taken.add(name)
        return name

    def reserve(self, names: Iterable[str]) -> None:
        self._taken.update(names)
