"""Arrays that are new in each trip: who can see one before it is finished.

    for t in range(T):
        new = u.copy()
        for i in range(1, n - 1):
            new[i] = f(u[i - 1], u[i], u[i + 1])
        u = new

`u` and `new` share memory at the end of a trip, never where `new` is written: what the stores overwrite has no reader, so nothing has to
be put back. A store changes the array that its own trip has made; only names that got it since then can show what it held before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stgrad.analysis.alias import viewed
from stgrad.analysis.places import Place
from stgrad.ir import Assign, Custom, Pop, Push, Stmt, Store, Type, Var, assigns, walk


def holders(store: Place, places: Sequence[Place], types: Mapping[str, Type]) -> frozenset[str] | None:
    """The names that may stand for the array that a store changes, before it does; None where the array is not new."""
    assert isinstance(store.stmt, Store)
    name = store.stmt.target.name
    made = [p for p in places if name in assigns(p.stmt)]
    if len(made) != 1 or not isinstance(made[0].stmt, Assign) or viewed(made[0].stmt, types) is not None:
        return None
    at = store
    while at.region is not made[0].region:
        if at.region.owner is None:
            return None
        at = at.region.owner
    between = [s for p in at.region.places[made[0].index + 1 : at.index + 1] for s in walk((p.stmt,))]
    if at.index <= made[0].index or any(isinstance(s, Custom) for s in between):
        return None
    return _spread(name, between, types)


def _spread(name: str, statements: Sequence[Stmt], types: Mapping[str, Type]) -> frozenset[str]:
    """A name and those that get its array from it."""
    found = {name}
    while True:
        more: set[str] = set()
        for stmt in statements:
            if isinstance(stmt, Push) and isinstance(stmt.value, Var) and stmt.value.name in found:
                more.add(stmt.stack)
            elif isinstance(stmt, Pop) and stmt.stack in found or viewed(stmt, types) in found:
                more.update(assigns(stmt))
        if more <= found:
            return frozenset(found)
        found |= more
