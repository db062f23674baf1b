"""Random compound statements: loops of every kind, branches, `match`; and what is left in scope behind them."""

from __future__ import annotations

from .kinds import Array, Float, Int, Items, Keys, Kind, Many
from .views import Views
from .writer import Scope, is_float, is_int


class Blocks(Views):
    """Statements, simple and compound."""

    def statement(self) -> None:
        choices = [
            (5, self.bind_float), (6, self.bind_array), (1.5, self.bind_integer), (0.5, self.bind_truth), (0.8, self.bind_mask), (1.5, self.unpack),
            (1.5, self.merged), (6, self.store), (1.5, self.overlap), (4, self.augment), (3, self.bind_container), (3, self.store_item),
            (1.2, self.bind_list), (2.5, self.grow), (1.2, self.effect), (1, self.closure), (0.4, self.trivial), (0.7, self.bind_text),
            (0.7, self.bind_function),
            (0.8, self.store_scattered), (0.5, self.parts), (0.4, self.looked_into), (0.4, self.keys_by_path),
        ]  # fmt: skip
        if self.indent < 4:
            choices += [(5, self.for_loop), (1, self.while_loop), (4, self.branch), (0.5, self.match), (0.8, self.iteration), (0.8, self.changing)]
        self.draw([(w, lambda make=make: None if make() is False else True) for w, make in choices])  # type: ignore[misc]

    # ------------------------------------------------------------- blocks

    def block(self, lines: int, leave: str | None = None) -> Scope:
        """Statements one deeper; the scope behind them. `leave` is a last statement, which nothing follows."""
        outer = self.scope
        self.scope = outer.copy()
        self.indent += 1
        before = len(self.lines)
        for _ in range(lines):
            self.statement()
        if leave is not None or len(self.lines) == before:
            self.emit(leave or "pass")
        self.indent -= 1
        inner, self.scope = self.scope, outer
        return inner

    def leaving(self) -> str | None:
        """A statement that leaves the block early, or None."""
        if self.loops and self.chance(0.2):
            return self.rng.choice(["break", "continue", "break", f"return {self.scalar()}"])
        return f"return {self.scalar()}" if self.chance(0.06) else None

    def branch(self) -> None:
        condition = self.condition()
        self.emit(f"if {condition}:")
        leave = self.leaving()
        first = self.block(0 if leave and self.chance(0.5) else self.rng.randint(1, 2), leave)
        if self.chance(0.15):
            self.emit(f"elif {self.condition()}:")
            first = first.joined(self.block(self.rng.randint(1, 2)))
            leave = None
        second = self.scope
        if self.chance(0.5):
            self.emit("else:")
            second = self.block(self.rng.randint(1, 2))
        self.scope = second if leave else first.joined(second).joined(self.scope if second is self.scope else second)

    def match(self) -> bool:
        found = self.place(is_int)
        if found is None:
            return False
        self.emit(f"match {found.text}:")
        self.indent += 1
        after = self.scope
        for case in ("0", "1 | 2"):
            self.emit(f"case {case}:")
            after = after.joined(self.block(1))
        if self.chance(0.5):
            self.emit("case _:")
            after = after.joined(self.block(1))
        self.indent -= 1
        self.scope = after
        return True

    # ------------------------------------------------------------- loops

    def looped(self, names: dict[str, Kind], first: list[str] | None = None) -> None:
        """The body of a loop, with the names that its head binds, and perhaps an `else`."""
        start = self.scope.copy()
        for name in names:
            start.names.pop(name, None)
        entry = self.scope.copy()
        self.loops.append(start)
        self.scope = entry.copy()
        self.scope.names.update(names)
        self.fixed |= set(names)
        self.indent += 1
        for line in first or []:
            self.emit(line)
        self.indent -= 1
        inner = self.block(self.rng.randint(1, 3), self.late_leave())
        self.loops.pop()
        self.fixed -= set(names)
        self.scope = entry.joined(inner)
        if self.chance(0.12):
            self.emit("else:")
            after = self.block(1)
            self.scope = self.scope.joined(after)

    def late_leave(self) -> str | None:
        if not self.chance(0.12):
            return None
        return f"if {self.condition(1)}: {self.rng.choice(['break', 'continue'])}" if self.chance(0.8) else None

    def for_loop(self) -> None:
        self.draw([(5, self.over_range), (2, self.over_array), (1.2, self.over_pairs), (1, self.over_enumerated), (1, self.over_container)])

    def over_range(self) -> bool:
        i = f"i{len(self.loops)}"
        known = [p for p in self.arrays() if p.kind.shape[0]]  # type: ignore[union-attr]
        n = self.pick(known).kind.shape[0] if known and self.chance(0.7) else self.rng.choice([2, 3, 3, 0, 1])  # type: ignore[union-attr]
        assert n is not None
        extent = self.extent(n)
        choices: list[tuple[str, int, int]] = [(f"range({extent})", 0, n - 1)] * 4
        choices += [(f"range(1, {extent})", 1, n - 1), (f"range({extent} - 1, -1, -1)", 0, n - 1), (f"range(0, {extent}, 2)", 0, n - 1)]
        choices += [(f"reversed(range({extent}))", 0, n - 1), (f"range({n - 1}, 0, -1)", 1, n - 1), (f"range({extent} - 1)", 0, n - 2)]
        if self.loops and (outer := self.place(lambda k: isinstance(k, Int) and k.inside(0, 5))):
            choices += [(f"range({outer.text})", 0, (outer.kind.high or 0) - 1), (f"range({outer.text} + 1)", 0, outer.kind.high or 0)]  # type: ignore[union-attr]
        text, low, high = self.rng.choice(choices)
        self.emit(f"for {i} in {text}:")
        self.looped({i: Int(low, max(low, high))})
        return True

    def over_array(self) -> bool:
        known = [p for p in self.arrays() if (p.kind.shape[0] or 9) <= 5]  # type: ignore[union-attr]
        if not known:
            return False
        place = self.pick(known)
        shape = place.kind.shape  # type: ignore[union-attr]
        name = self.new("e")
        source = place.text if self.chance(0.7) else self.rng.choice([f"reversed({place.text})", f"{place.text}[1:]", f"{place.text}[::-1]"])
        self.emit(f"for {name} in {source}:")
        self.looped({name: Array(shape[1:]) if len(shape) > 1 else Float()})
        return True

    def over_pairs(self) -> bool:
        known = [p for p in self.arrays() if p.kind.rank == 1 and (p.kind.shape[0] or 9) <= 5]  # type: ignore[union-attr]
        if not known:
            return False
        a, b = self.pick(known).text, self.pick(known).text
        other = self.rng.choice([b, f"{b}[1:]", f"range({self.rng.randint(1, 4)})", f"{b} * {self.scalar_leaf()}"])
        u, v = self.new("e"), self.new("e")
        self.emit(f"for {u}, {v} in zip({a}, {other}):")
        self.looped({u: Float(), v: Int(0, 3) if other.startswith("range") else Float()})
        return True

    def over_enumerated(self) -> bool:
        known = [p for p in self.arrays() if p.kind.rank <= 2 and 0 < (p.kind.shape[0] or 9) <= 5]  # type: ignore[union-attr]
        if not known:
            return False
        place = self.pick(known)
        shape = place.kind.shape  # type: ignore[union-attr]
        j, u = self.new("j"), self.new("e")
        self.emit(f"for {j}, {u} in enumerate({place.text}{self.rng.choice(['', '', ', 1', ', start=1'])}):")
        self.looped({j: Int(0, shape[0] or 0), u: Array(shape[1:]) if len(shape) > 1 else Float()})
        return True

    def over_container(self) -> bool:
        """The items of a list, a tuple or a dict."""
        place = self.place(lambda k: isinstance(k, Many) or isinstance(k, (Items, Keys)) and len(k.items) > 0 and _alike(k))
        if place is None:
            return False
        name, kind = self.new("e"), place.kind
        held = self.fixed.copy()
        if isinstance(kind, Keys):
            key = self.new("key")
            self.emit(f"for {key}, {name} in {place.text}.items():" if self.chance(0.6) else f"for {name} in {place.text}.values():")
            item = kind.items[0][1]
        else:
            self.emit(f"for {name} in {place.text}:")
            item = kind.item if isinstance(kind, Many) else kind.items[0]  # type: ignore[union-attr]
        many = self.scope.names.pop(place.text, None) if isinstance(kind, Many) else None  # a list that is iterated over does not grow
        self.looped({name: item})
        if many is not None:
            self.scope.names[place.text] = many
        self.fixed = held
        return True

    def while_loop(self) -> bool:
        k = self.new("k")
        trips = self.rng.choice([0, 1, 2, 3, 3])
        extents = [p for p in self.arrays() if p.kind.shape[0]]  # type: ignore[union-attr]
        if extents and self.chance(0.5):
            n = self.pick(extents).kind.shape[0] or 1  # type: ignore[union-attr]
            trips = min(n, 5)
        style = self.rng.randrange(4)
        if style == 0:  # counts at the end
            self.emit(f"{k} = 0")
            self.emit(f"while {k} < {self.extent(trips)}{f' and {self.scalar_leaf()} < 1.7' if self.chance(0.2) else ''}:")
            self.looped({k: Int(0, max(trips, 1))}, [f"{k} += 1"])
            self.scope.names[k] = Int(0, trips)
        elif style == 1:
            self.emit(f"{k} = {self.extent(trips)}")
            self.emit(f"while {k} > 0:")
            self.looped({k: Int(0, max(trips - 1, 0))}, [f"{k} -= 1"])
            self.scope.names[k] = Int(0, trips)
        elif style == 2:
            self.emit(f"{k} = 0")
            self.emit("while True:")
            self.looped({k: Int(0, max(trips, 1))}, [f"if {k} >= {trips}:", "    break", f"{k} += 1"])
            self.scope.names[k] = Int(0, trips)
        else:
            self.emit(f"{k} = -1")
            self.emit(f"while {k} < {trips - 1}:")
            self.looped({k: Int(0, max(trips - 1, 0))}, [f"{k} += 1"])
            self.scope.names[k] = Int(-1, max(trips - 1, -1))
        return True

    def iteration(self) -> None:
        """A loop to a tolerance, with a residual that its last trip makes for nobody; what it has found may be left out."""
        s, r, k = self.new("s"), self.new("r"), self.new("k")
        goal, factor = self.scalar_leaf(), self.scalar_leaf()
        residual = self.rng.choice([f"np.exp(-{s} * {s}) * np.sin({s})", f"{factor} * np.cos({s}) * np.tanh({s})", f"np.sin({s}) * np.arctan({s}) * {factor}"])
        self.emit(f"{s}, {k} = {self.scalar_leaf()}, 0")
        self.emit(f"{r} = {residual}")
        self.emit(f"while abs({goal} - {s} - {r}) > 1e-3 and {k} < {self.rng.randint(2, 6)}:")
        self.indent += 1
        self.emit(f"{s} = {s} + 0.3 * ({goal} - {s} - {r}) / (1.0 + {s} * {s})")
        self.emit(f"{r} = {residual}")
        self.emit(f"{k} += 1")
        self.indent -= 1
        self.scope.names[s] = Float()
        if self.chance(0.6):
            self.bind(f"{s} if {self.condition()} else {self.scalar_leaf()}", Float(), "a")
            del self.scope.names[s]

    def changing(self) -> None:
        """A loop that binds an array anew, longer or shorter in each trip; what one trip made may be read in the next one, and behind the loop."""
        v, i, n, trips = self.new("v"), f"i{len(self.loops)}", self.rng.randint(1, 4), self.rng.randint(1, 4)
        long = self.chance(0.4)
        self.emit(f"{v} = {f'np.linspace({self.scalar_leaf()}, {self.scalar_leaf()}, {2 * trips + n})' if long else self.shaped((n,), 1)}")
        lag = self.new("v") if self.chance(0.4) else None
        if lag:
            self.emit(f"{lag} = {v}{self.rng.choice(['', ' * 0.5', '[:1]'])}")
        total = self.new("a")
        self.emit(f"{total} = {self.scalar_leaf()}")
        self.emit(f"for {i} in range({trips}):")
        self.indent += 1
        if lag:
            self.emit(f"{lag} = {v}{self.rng.choice(['', f' * {self.scalar_leaf()}', '[::-1]', '.copy()'])}")
        for _ in range(self.rng.randint(1, 2)):
            text, grows = self.resized(v, shrinks=long)
            guard = f"if {i} % 2 == {self.rng.randrange(2)}: " if grows and self.chance(0.25) else ""
            self.emit(f"{guard}{v} = {text}")
        self.emit(f"{total} += {self.rng.choice([f'{v}[0]', f'np.sum({v} ** 2)', f'{v}[-1] * len({v})', f'np.sum({lag or v}) * {self.scalar_leaf()}'])}")
        self.indent -= 1
        for name, kind in ((v, Array((None,))), (total, Float())):
            self.bound(name, kind)
        if lag:
            self.bound(lag, Array((None,)))

    def resized(self, v: str, shrinks: bool) -> tuple[str, bool]:
        """An array of other extents made of one, with items that stay of common size; whether it is never shorter."""
        s, pair = self.scalar_leaf(), self.shaped((2,), 0)
        longer = [
            f"np.convolve(np.tanh({v}), {pair})", f"np.append({v}, np.sin({v}[-1]) * {s})", f"np.concatenate((np.sin({v}), {pair}))",
            f"np.concatenate(({v}[:1] * {s}, {v}))", f"np.pad({v}, 1) * 0.5 + np.tanh({s})", f"np.kron(np.tanh({v}), {pair})", f"np.hstack(({s}, np.cos({v})))",
            f"np.convolve({v}[::-1] * 0.5, {pair}, 'full')", f"np.repeat({v}, 2) * {s}", f"np.outer(np.tanh({v}), {pair}).ravel()",
        ]  # fmt: skip
        shorter = [f"np.diff({v})", f"{v}[1:] * {v}[:-1]", f"np.sin({v}[1:])", f"np.correlate({v}, {pair}, 'valid')", f"({v}[1:] + {v}[:-1]) / 2"]
        return (self.rng.choice(shorter), False) if shrinks and self.chance(0.6) else (self.rng.choice(longer), True)

    # ------------------------------------------------------------- the end

    def result(self) -> str:
        """A number that depends on much of what is in scope."""
        parts: list[str] = []
        floats = [p.text for p in self.places(is_float)]
        if self.wild and self.scope.maybe and self.chance(0.3):
            name, kind = self.pick(list(self.scope.maybe.items()))
            parts += [name] if is_float(kind) else [f"np.sum({name})"] if isinstance(kind, Array) else []
        arrays = self.arrays()
        for place in self.rng.sample(arrays, min(len(arrays), self.rng.randint(1, 4))) + arrays[-1:]:
            shape = place.kind.shape  # type: ignore[union-attr]
            other = self.shaped(shape, 0) if None not in shape else place.text
            parts.append(self.rng.choice([f"np.sum({place.text} * {other})", f"np.sum({place.text} ** 2)", f"np.sum(np.sin({place.text}))"]))
        parts += self.rng.sample(floats, min(len(floats), 2)) + [f"{t} ** 2" for t in floats[-2:]]
        many = [p for p in self.places(lambda k: isinstance(k, Many) and is_float(k.item))]
        parts += [f"sum({p.text})" for p in many[-1:]]
        self.rng.shuffle(parts)
        return " + ".join(dict.fromkeys(parts[: self.rng.randint(1, 5)])) or "0.5 * x[0]"


def _alike(kind: Kind) -> bool:
    items = [v for _, v in kind.items] if isinstance(kind, Keys) else list(kind.items)  # type: ignore[union-attr]
    return all(v == items[0] for v in items)
