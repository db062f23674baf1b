"""Arrays that are new in each trip: who can see one before it is finished.

    for t in range(T):
        new = u.copy()
        for i in range(1, n - 1):
            new[i] = f(u[i - 1], u[i], u[i + 1])
        u = new

`u` and `new` share memory at the end of a trip, never where `new` is written: what the stores overwrite has no reader, so nothing has to
be put back. A store changes the array that its own trip has made; only names that got it since then can show what it held before, and only
to statements that run between the making and the store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stgrad.analysis.alias import viewed
from stgrad.analysis.places import Place, Region
from stgrad.ir import Assign, Custom, Pop, Push, Stmt, Store, Type, Var, assigns, walk


@dataclass(frozen=True)
class Fresh:
    """What is known of the array that a store changes: `names` may stand for it before, and `region` is the block that makes it anew in each run."""

    names: frozenset[str]
    region: Region

    def runs_before(self, place: Place, store: Place) -> bool:
        """Whether a statement may see the array before the store changes it: it stands before, or a loop runs both again between two makings."""
        loops = [loop for loop in store.loops() if any(r is self.region for r in loop.region.chain())]
        around = set(map(id, place.loops()))
        return place.number < store.number or place is store or any(id(loop) in around for loop in loops)


def fresh(store: Place, places: Sequence[Place], types: Mapping[str, Type]) -> Fresh | None:
    """Who sees the array that a store changes, before it does; None where the array is not new."""
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
    return Fresh(_spread(name, between, types), made[0].region)


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
