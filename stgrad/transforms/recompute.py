"""Which values to put on stacks, so that all others can be made again from them: the cheapest cut.

Each value has two nodes: that it is at hand, and that it is made again. The edge between them costs what a save costs; making it again
costs its work, needs its operands at hand, and the contents that it reads restored:

    source -> at hand(v) --save--> made again(v) --work--> sink,   made again(v) -> at hand(operand)

What a trip hands to the next one is there for nothing where that saves what it begins with (`stgrad.transforms.handovers`).
A cheapest cut goes through the values to save. The idea is that of the recomputation graphs of Griewank and Walther,
Evaluating Derivatives (2008), chapter 12.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from stgrad.analysis.cut import ENDLESS, Network
from stgrad.analysis.places import Place, Version
from stgrad.ir import Slice, Store
from stgrad.transforms.makers import SAVE, TRIPS, Maker, Makers, saving, weight


@dataclass
class Choice:
    """The values that the reverse sweep has at hand: the last reader of each in its region, and those that are made again."""

    users: dict[Version, int] = field(default_factory=dict)
    made: dict[Version, Maker] = field(default_factory=dict)

    def in_order(self, makers: Makers) -> list[Version]:
        """Operands before what is made of them."""
        result: dict[Version, None] = {}
        waiting = sorted(self.users, key=lambda v: (v.index, v.name), reverse=True)
        while waiting:
            found = waiting[-1]
            maker = self.made.get(found) if found not in result else None
            missing = [v for v, _ in makers.needs(maker) if v not in result] if maker is not None else []
            if missing:
                waiting += missing
            else:
                result.setdefault(waiting.pop())
        return list(result)


def choose(wanted: Iterable[tuple[Version, int]], makers: Makers, restored: Iterable[Place]) -> Choice:
    """The cheapest choice. `restored`: stores that are undone in any case."""
    demands, undone = list(wanted), {s.number for s in restored}
    candidates = _candidates(demands, makers)
    choice = _cut(demands, candidates, makers, undone, frozenset())
    kept = frozenset(v for v in choice.users if v not in choice.made)
    if any(makers.handed(v) in kept for v in candidates):
        choice = _cut(demands, candidates, makers, undone, kept)
    return choice


def _cut(
    demands: list[tuple[Version, int]], candidates: dict[Version, Maker | None], makers: Makers, undone: set[int], kept: frozenset[Version]
) -> Choice:
    """The cheapest choice where some values are kept in any case."""
    network, priced = Network(), set(undone)
    for found in [v for v, _ in demands] + [v for v in candidates if v in kept]:
        network.join("source", found, ENDLESS)
    for found, maker in candidates.items():
        known = makers.handed(found) in kept
        network.join(found, ("made", found), 1 if known else saving(makers.types[found.name], found.region))
        if maker is None:
            network.join(("made", found), "sink", ENDLESS)
            continue
        network.join(("made", found), "sink", maker.cost * weight(found.region))
        for operand, _ in makers.needs(maker):
            network.join(("made", found), operand, ENDLESS)
        for name, access in maker.read if not maker.back else ():
            for store in makers.after(name, access, maker.place):
                network.join(("made", found), store.number, ENDLESS)
                if store.number not in priced:
                    network.join(store.number, "sink", _undoing(store, makers))
                    priced.add(store.number)
    near = network.near("source", "sink")
    choice = Choice(made={v: m for v, m in candidates.items() if m is not None and ("made", v) in near})
    _users(choice, demands, makers)
    return choice


def _candidates(demands: list[tuple[Version, int]], makers: Makers) -> dict[Version, Maker | None]:
    """Every value that may be needed, with its maker where that can run at its last possible reader."""
    everything = Choice()
    waiting = [found for found, _ in demands]
    found: dict[Version, Maker | None] = {}
    while waiting:
        value = waiting.pop()
        if value not in found:
            maker = found[value] = makers.of(value)
            if maker is not None:
                everything.made[value] = maker
                waiting += [operand for operand, _ in makers.needs(maker)]
    _users(everything, demands, makers)
    for value, maker in found.items():
        if maker is not None and makers.disturbed(maker, value.region, value.index, everything.users[value]):
            found[value] = None
    return found


def _users(choice: Choice, demands: Iterable[tuple[Version, int]], makers: Makers) -> None:
    """The last readers, those included that are made again themselves."""
    users = choice.users
    pending: list[Version] = []

    def note(found: Version, user: int) -> None:
        maker = choice.made.get(found)
        user = max(user, maker.place.index) if maker is not None and maker.back else user
        if users.get(found, -2) < user:
            users[found] = user
            pending.append(found)

    for found, user in demands:
        note(found, user)
    while pending:
        found = pending.pop()
        maker = choice.made.get(found)
        if maker is not None:
            for operand, user in makers.needs(maker):
                note(operand, max(user, users[found]) if operand.region is found.region else user)


def _undoing(store: Place, makers: Makers) -> int:
    """What it costs to undo a store."""
    assert isinstance(store.stmt, Store)
    index = store.stmt.index
    items = getattr(index, "items", (index,))
    axes = makers.types[store.stmt.target.name].rank - sum(not isinstance(i, Slice) for i in items)
    return int(SAVE * TRIPS ** max(axes, 0) * weight(store.region))
