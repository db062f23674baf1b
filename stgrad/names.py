"""Deterministic, readable fresh names: `x_bar`, then `x_bar_2`, `x_bar_3`... Never random."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable

# Module aliases that generated code imports: no variable may shadow them.
RESERVED = frozenset({"np", "math", "scipy", "runtime", "numba"}) | frozenset(keyword.kwlist) | frozenset(dir(builtins))
COUNT = "__"  # stands before the number of a name that several temporaries wish for; printed programs count anew
_NUMBER = re.compile(rf"{COUNT}\d+")


class Names:
    """Hands out names that are not taken yet; the same requests in the same order give the same names."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken) | RESERVED
        self._last: dict[str, int] = {}  # the last number given to each wish

    def fresh(self, wish: str, between: str = "_") -> str:
        """`wish` if it is free, else `wish_2`, `wish_3`...; `between` stands before the number.

        >>> names = Names(["x"])
        >>> names.fresh("x"), names.fresh("x"), names.fresh("y")
        ('x_2', 'x_3', 'y')
        """
        wish = wish if wish.isidentifier() else "v_" + re.sub(r"\W", "_", wish)
        name, count = wish, self._last.get(wish, 1)
        while name in self._taken:
            count += 1
            name = f"{wish}{between}{count}"
        self._taken.add(name)
        self._last[wish] = max(count - 1, 1)
        return name

    def state(self) -> tuple[set[str], dict[str, int]]:
        """What `restore` takes to go back to now."""
        return set(self._taken), dict(self._last)

    def restore(self, state: tuple[set[str], dict[str, int]]) -> None:
        self._taken, self._last = set(state[0]), dict(state[1])

    def reserve(self, names: Iterable[str]) -> None:
        self._taken.update(names)


def plain(name: str) -> str:
    """A name without what marks it as invented, and one of several.

    >>> plain("_K_part__2_bar")
    'K_part_bar'
    """
    return _NUMBER.sub("", name.lstrip("_"))


def is_counted(name: str) -> bool:
    """Whether a name is one of several that temporaries wish for."""
    return _NUMBER.search(name) is not None
