"""Random expressions of numbers and truth values."""

from __future__ import annotations

from .kinds import Array, Closure, Function, Int, Items, Keys, Many, Record, Text
from .writer import Writer, is_bool, is_float, is_int


class Scalars(Writer):
    """Floats stay near one in size: what grows goes through a bounded function."""

    # ------------------------------------------------------------- floats

    def scalar(self, depth: int = 2) -> str:
        """A float."""
        if depth <= 0 or self.chance(0.3):
            return self.scalar_leaf()
        return self.draw(
            [
                (4, lambda: f"{self.scalar(depth - 1)} {self.rng.choice('*+-*')} {self.scalar_leaf()}"),
                (2, lambda: f"{self.rng.choice(['np.sin', 'np.cos', 'np.tanh', 'math.sin', 'np.arctan', 'math.tanh', 'np.exp'])}({self.scalar_leaf()})"),
                (3, lambda: self.reduced(depth - 1)),
                (1, lambda: f"({self.scalar_leaf()} if {self.condition(1)} else {self.scalar_leaf()})"),
                (1, lambda: f"{self.scalar_leaf()} / ({self.scalar_leaf()} ** 2 + 1.2)"),
                (0.5, lambda: f"{self.rng.choice(['max', 'min', 'np.maximum', 'np.minimum'])}({self.scalar_leaf()}, {self.scalar_leaf()})"),
                (0.5, lambda: f"{self.scalar_leaf()} * {self.integer(1)}"),
                (0.5, lambda: f"{self.constant().lstrip('-')} ** {self.within(0, 3)}"),
                (0.3, lambda: f"{self.scalar_leaf()} ** {self.within(0, 3)}"),
                (0.3, lambda: f"2.0 ** -{self.within(0, 3)}" if not self.chance(0.3) else f"2 ** -{self.within(0, 3)}"),
                (0.3, lambda: f"abs({self.scalar_leaf()})"),
                (0.3, lambda: f"np.where({self.condition(1)}, {self.scalar_leaf()}, {self.scalar_leaf()})"),
                (0.3, lambda: f"{self.rng.choice(['float', 'stgrad.stop_gradient', 'np.float64'])}({self.scalar_leaf()})"),
                (0.4, lambda: f"(-{self.scalar_leaf()})"),
                (0.6, self.called),
                (1.5, self.chosen_call),
                (0.5, self.generated_sum),
                (0.7, self.helped_scalar),
            ]
        )

    def scalar_leaf(self) -> str:
        return self.draw([(5, self.float_place), (4, self.element), (0.7, self.constant)])

    def float_place(self) -> str | None:
        found = self.place(is_float)
        return found.text if found else None

    def element(self) -> str | None:
        """An item of an array."""
        known = [p for p in self.arrays() if all(p.kind.shape)]  # type: ignore[union-attr]
        if not known:
            return None
        found = self.pick(known)
        assert isinstance(found.kind, Array)
        return f"{found.text}[{', '.join(self.position(n or 1) for n in found.kind.shape)}]"

    def reduced(self, depth: int) -> str:
        text, kind = self.array(depth)
        if self.chance(0.2):
            other = self.shaped(kind.shape, 0)
            return self.rng.choice([f"np.sum({text} * {other})", f"({text} * {other}).sum()"] + [f"np.dot({text}, {other})"] * (kind.rank == 1))
        least = 1 if all(kind.shape) else 0
        names = ["np.sum", "np.sum", "np.mean", "np.prod", "np.max", "np.min", "np.var"] if least else ["np.sum"]
        name = self.rng.choice(names)
        if name == "np.sum" and kind.rank == 1 and self.chance(0.1):
            return f"sum({text})"
        short = name.removeprefix("np.")
        return f"{_method(text)}.{short}()" if self.chance(0.25) else f"{name}({text})"

    def called(self) -> str | None:
        """A call of a nested function that returns a float."""
        found = self.place(lambda k: isinstance(k, Closure) and is_float(k.result))
        if found is None:
            return None
        assert isinstance(found.kind, Closure)
        return f"{found.text}({', '.join(self.scalar_leaf() if is_float(p) else self.integer(1) for p in found.kind.parameters)})"

    def chosen_call(self) -> str | None:
        """A call of a function that a name stands for here."""
        found = self.place(lambda k: isinstance(k, Function))
        return f"{found.text}({self.scalar_leaf()})" if found else None

    def generated_sum(self) -> str | None:
        """A sum over a generator or a list comprehension."""
        many = self.place(lambda k: isinstance(k, Many) and is_float(k.item))
        if many and self.chance(0.5):
            return f"sum({many.text})" if self.chance(0.5) else f"sum(u * u for u in {many.text})"
        known = [p for p in self.arrays() if p.kind.rank == 1 and p.kind.shape[0] is not None]  # type: ignore[union-attr]
        if not known:
            return None
        v = self.pick(known)
        extent = self.extent(v.kind.shape[0])  # type: ignore[union-attr,arg-type]
        condition = f" if j % 2 == {self.rng.randrange(2)}" if self.chance(0.2) else ""
        body = f"{v.text}[j] * {self.scalar_leaf()} for j in range({extent}){condition}"
        return f"sum({body})" if self.chance(0.6) else f"sum([{body}])"

    def helped_scalar(self) -> str | None:
        """A call of a function of the module that returns a float."""
        name = self.rng.choice(["soft", "poly", "early", "gcd_like", "cubed", "scaled"])
        self.library.add(name)
        a, b = self.scalar_leaf(), self.scalar_leaf()
        return {
            "soft": self.rng.choice([f"soft({a})", f"soft({a}, {b})", f"soft({a}, slope={b})"]),
            "poly": f"poly({a}, {b}, {self.constant()})",
            "early": f"early({a}, {self.integer(1)})",
            "gcd_like": f"{a} * gcd_like({self.within(1, 6)}, {self.within(1, 6)})",
            "cubed": f"cubed({a})",
            "scaled": f"scaled({a}, factor={b})",
        }[name]

    # ------------------------------------------------------------- integers

    def integer(self, depth: int = 2) -> str:
        """An integer of moderate size."""
        return self.ranged(depth)[0]

    def ranged(self, depth: int) -> tuple[str, Int]:
        """An integer and where it lies."""
        found = self.place(lambda k: isinstance(k, Int) and k.known)
        if found is None or depth <= 0 or self.chance(0.3):
            if found is None or self.chance(0.2):
                n = self.rng.randint(0, 4)
                return str(n), Int(n, n)
            return found.text, found.kind  # type: ignore[return-value]
        (a, p), (b, q) = self.ranged(depth - 1), self.ranged(depth - 1)
        assert p.low is not None and p.high is not None and q.low is not None and q.high is not None
        m = self.rng.randint(2, 4)
        choices: list[tuple[str, int, int]] = [
            (f"({a} + {b})", p.low + q.low, p.high + q.high),
            (f"({a} - {b})", p.low - q.high, p.high - q.low),
            (f"({a} // {m})", p.low // m, p.high // m),
            (f"({a} % {m})", 0, m - 1),
            (f"(-{a} // {m})", -p.high // m, -p.low // m),
            (f"max({a}, {b})", max(p.low, q.low), max(p.high, q.high)),
            (f"min({a}, {b})", min(p.low, q.low), min(p.high, q.high)),
            (f"abs({a})", 0, max(abs(p.low), abs(p.high))),
            (f"({a} ^ {m})" if 0 <= p.low and p.high < 8 else f"({a} + 1)", min(0, p.low + 1), max(7, p.high + 1)),
            (f"({a} & {m})" if p.low >= 0 else f"({a} % 3)", 0, max(2, m)),
        ]
        if 0 <= p.low and p.high < 9:
            choices += [(f"{a} ** 2", p.low**2, p.high**2), (f"(1 << {a})", 1 << p.low, 1 << p.high), (f"({a} >> 1)", p.low >> 1, p.high >> 1)]
        if self.daring(0.2):
            choices = [(f"({m} // {a})", -m, m), (f"({m} % {a})", -9, 9)]
        text, low, high = self.rng.choice(choices)
        return (text, Int(low, high)) if max(abs(low), abs(high)) < 200 else (a, p)

    def within(self, low: int, high: int) -> str:
        """An integer that lies between the two bounds, both included."""
        found = self.place(lambda k: isinstance(k, Int) and k.inside(low, high))
        if found and self.chance(0.6):
            return found.text
        if self.chance(0.2):
            text, kind = self.ranged(1)
            if kind.inside(low, high):
                return text
            unknown = self.place(is_int)
            return f"{unknown.text if unknown and self.chance(0.4) else text} % {high - low + 1}{f' + {low}' * (low != 0)}" if high > low else str(low)
        return str(self.rng.randint(low, high))

    def position(self, n: int) -> str:
        """A position in `n` items."""
        if self.daring(0.05):
            return self.integer(1)
        inside = self.place(lambda k: isinstance(k, Int) and k.inside(0, n - 1))
        if inside and self.chance(0.6):
            return inside.text
        backwards = self.place(lambda k: isinstance(k, Int) and k.inside(-n, n - 1))
        if backwards and self.chance(0.2):
            return backwards.text
        return self.within(0, n - 1) if self.chance(0.4) else str(self.rng.randint(-n, n - 1))

    # ------------------------------------------------------------- truth values

    def condition(self, depth: int = 2) -> str:
        if depth > 0 and self.chance(0.15):
            a, b = self.condition(depth - 1), self.condition(depth - 1)
            return self.rng.choice([f"({a} and {b})", f"({a} or {b})", f"not {a}"])
        return self.draw(
            [
                (3, self.truth),
                (4, self.compared_text),
                (4, self.compared_integers),
                (3, lambda: f"{self.scalar_leaf()} {self.rng.choice(['>', '<'])} {self.constant()}"),
                (0.5, lambda: f"-0.6 < {self.scalar_leaf()} < 0.8"),
                (0.5, lambda: f"{self.scalar_leaf()} > {self.scalar_leaf()}"),
                (0.5, lambda: f"{self.rng.choice(['np.any', 'np.all'])}({self.array(0)[0]} > {self.constant()})"),
                (0.5, self.one_object),
            ]
        )

    def truth(self) -> str | None:
        found = self.place(is_bool)
        return found.text if found else None

    def one_object(self) -> str | None:
        """Whether two names of lists, dicts or objects mean one."""
        known = [n for n, k in self.scope.names.items() if isinstance(k, (Many, Keys, Record)) or isinstance(k, Items) and k.type == "list"]
        return f"{self.rng.choice(known)} {self.rng.choice(['is', 'is not'])} {self.rng.choice(known)}" if known else None

    def compared_text(self) -> str | None:
        found = self.place(lambda k: isinstance(k, Text))
        test = self.rng.choice(["== 'low'", "!= 'mid'", "in ('low', 'high')"])
        return f"{found.text} {test}" if found else None

    def compared_integers(self) -> str | None:
        found = self.place(is_int)
        if found is None:
            return None
        m = self.rng.randint(2, 3)
        return self.rng.choice(
            [
                f"{found.text} % {m} == {self.rng.randrange(m)}",
                f"{found.text} {self.rng.choice(['>', '<', '==', '!=', '>=', '<='])} {self.integer(1)}",
                f"{found.text} in (0, {m})",
                f"0 < {found.text} < {m + 1}",
            ]
        )


def _method(text: str) -> str:
    return text if text.replace("_", "a").isalnum() else f"({text})"
