"""Random expressions of arrays: by what is there (`array`), and of a given shape (`shaped`)."""

from __future__ import annotations

from .kinds import Array, Closure, Function, Int, Many, Shape
from .scalars import Scalars, _method

ELEMENTWISE = [
    "np.sin({})", "np.cos({})", "np.tanh({})", "np.exp({} * 0.3)", "np.arctan({})", "np.sqrt({0} * {0} + 0.4)", "np.log({0} * {0} + 1.1)", "{} ** 2",
    "{} ** 3 * 0.2", "-{}", "np.square({})", "np.abs({})", "1.0 / ({0} * {0} + 1.5)", "np.clip({}, -0.8, 0.9)", "np.maximum({}, 0.15)",
    "np.minimum({}, 0.35)", "np.where({0} > 0.2, {0}, 0.1)", "np.expm1({} * 0.5)", "{}.copy()", "np.array({})", "np.negative({})", "np.zeros_like({})",
    "np.ones_like({})", "np.nan_to_num({})", "stgrad.stop_gradient({})", "np.sinh({} * 0.4)", "np.log1p({} ** 2)", "np.full_like({}, 0.7)",
    "np.logaddexp(0.0, {})", "np.fmax({}, 0.21)", "np.hypot({}, 2)", "np.sinc({} * 0.3)", "{0} - 0.5 * np.round({0})", "np.heaviside({0} - 0.23, 0.5) * {0}",
]  # fmt: skip


def broadcast(a: Shape, b: Shape) -> Shape | None:
    """The shape of a sum; None where the shapes do not fit, or may not."""
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    if any(m != n and 1 not in (m, n) or m is None and n is None for m, n in zip(a, b, strict=True)):
        return None
    return tuple(n if m == 1 else m for m, n in zip(a, b, strict=True))


class Arrays(Scalars):
    """Of float arrays, unless it says otherwise."""

    def array(self, depth: int = 2) -> tuple[str, Array]:
        """Any array, of rank one or more."""
        if depth <= 0 or self.chance(0.25):
            return self.array_leaf()
        text, kind = self.draw(
            [
                (4, lambda: self.combined(depth - 1)),
                (3, lambda: self.elementwise(depth - 1)),
                (3, lambda: self.moved(depth - 1)),
                (2, lambda: self.along(depth - 1)),
                (1.5, lambda: self.assembled(depth - 1)),
                (1.2, lambda: self.selected(depth - 1)),
                (1.2, lambda: self.product(depth - 1)),
                (1, lambda: self.meeting(depth - 1)),
                (0.8, lambda: self.helped_array()),
                (0.8, lambda: self.made()),
                (0.7, lambda: self.chosen(depth - 1)),
            ]
        )
        return (text, kind) if _size(kind) <= 60 and kind.rank <= 3 else self.array_leaf()

    def array_leaf(self) -> tuple[str, Array]:
        found = self.arrays()
        if not found:
            return f"np.ones(2) * {self.constant()}", Array((2,))
        place = self.pick(found)
        assert isinstance(place.kind, Array)
        if self.chance(0.35):
            text, shape = self.subscript(place.kind.shape)
            if shape:
                return f"{place.text}[{text}]", Array(shape)
        return place.text, place.kind

    # ------------------------------------------------------------- subscripts

    def part(self, n: int | None) -> tuple[str, int | None]:
        """A slice of an axis and its extent."""
        if n is None:
            return self.rng.choice([(":", None), ("::-1", None), ("1:", None), ("::2", None)])
        choices: list[tuple[str, int | None]] = [(":", n), ("::-1", n), ("::2", (n + 1) // 2), ("1:", max(n - 1, 0)), (":-1", max(n - 1, 0))]
        a, b = sorted((self.rng.randint(0, n), self.rng.randint(0, n)))
        choices += [(f"{a}:{b}", b - a), (f":{b}", b), (f"{a}:", n - a), (f"-{b}:" if b else ":", b or n), (f"{n - 1}:0:-1", max(n - 1, 0))]
        at = self.place(lambda k: isinstance(k, Int) and k.inside(0, n - 1))
        if at is not None:
            low, high = at.kind.low, at.kind.high  # type: ignore[union-attr]
            same = low == high
            choices += [(f"{at.text}:{at.text} + 1", 1)] * 2
            choices += [(f"{at.text}:", n - low if same else None), (f":{at.text}", low if same else None), (f"{at.text}::-1", low + 1 if same else None)]  # type: ignore[operator]
            choices += [(f"{at.text}:{at.text} + 2", 2)] if high is not None and high + 2 <= n else []
            choices += [(f":{at.text} + 1", low + 1 if same else None)]  # type: ignore[operator]
        return self.rng.choice(choices)

    def subscript(self, shape: Shape) -> tuple[str, Shape]:
        """A basic subscript and the shape of what it takes."""
        texts: list[str] = []
        taken: list[int | None] = []
        for n in shape[: self.rng.randint(1, len(shape))]:
            if n and self.chance(0.35 if len(shape) > 1 else 0.08):
                texts.append(self.position(n))
            else:
                text, extent = self.part(n)
                texts.append(text)
                taken.append(extent)
            if self.chance(0.06):
                texts.append("None")
                taken.append(1)
        rest = shape[sum(t != "None" for t in texts) :]
        if rest and self.chance(0.15):
            return ", ".join(["...", *(":" for _ in shape[1:]), self.part_only()]), (*shape[:-1], shape[-1])
        return ", ".join(texts), (*taken, *rest)

    def part_only(self) -> str:
        return self.rng.choice([":", "::-1"])

    # ------------------------------------------------------------- by what is there

    def combined(self, depth: int) -> tuple[str, Array]:
        """Two operands, broadcast."""
        a, kind = self.array(depth)
        op = self.rng.choice(["*", "*", "+", "-", "+"])
        if self.chance(0.3):
            s = self.scalar_leaf()
            return (f"{a} {op} {s}" if self.chance(0.6) else f"{s} {op} ({a})"), kind
        if self.chance(0.3):
            b, other = self.array(depth)
            shape = broadcast(kind.shape, other.shape)
            if shape is not None or self.daring(0.3):
                return f"({a}) {op} ({b})", Array(shape or kind.shape)
        b = self.shaped(self.smaller(kind.shape), depth)
        if self.chance(0.15):
            return f"{self.rng.choice(['np.maximum', 'np.minimum', 'np.hypot', 'np.arctan2'])}({a}, {b} + 0.11)", kind
        return f"({a}) {op} {b}", kind

    def smaller(self, shape: Shape) -> Shape:
        """A shape that broadcasts to the given one."""
        if self.chance(0.6):
            return shape
        cut = shape[self.rng.randrange(len(shape)) :]
        return tuple(1 if self.chance(0.25) else n for n in cut)

    def elementwise(self, depth: int) -> tuple[str, Array]:
        text, kind = self.array(depth)
        chosen = self.place(lambda k: isinstance(k, Function))
        if chosen and self.chance(0.5):
            return f"{chosen.text}({text})", kind
        return self.rng.choice(ELEMENTWISE).format(f"({text})" if " " in text else text), kind

    def moved(self, depth: int) -> tuple[str, Array]:
        """The same items elsewhere."""
        text, kind = self.array(depth)
        shape = kind.shape
        known = None not in shape
        choices: list[tuple[str, Shape]] = [(f"{_method(text)}[::-1]", shape), (f"np.flip({text})", shape), (f"{_method(text)}[None]", (1, *shape))]
        if kind.rank == 1:
            choices += [(f"{_method(text)}[:, None]", (*shape, 1)), (f"np.roll({text}, {self.within(-2, 2)})", shape)]
            if known:
                n = shape[0] or 0
                choices += [(f"np.repeat({text}, 2)", (2 * n,)), (f"np.tile({text}, 2)", (2 * n,)), (f"{_method(text)}.reshape(-1, 1)", (n, 1))]
                choices += [(f"np.append({text}, {self.scalar_leaf()})", (n + 1,)), (f"np.diag({text})", (n, n)), (f"np.tile({text}, (2, 1))", (2, n))]
                choices += [(f"np.pad({text}, (1, 2))", (n + 3,)), (f"np.pad({text}, (1, 2), mode='{self.mode()}')", (n + 3,))] if n else []
        else:
            choices += [(f"{_method(text)}.T", shape[::-1]), (f"np.transpose({text})", shape[::-1])]
            choices += [(f"np.swapaxes({text}, 0, 1)", (shape[1], shape[0], *shape[2:]))]
            if known:
                size = _size(kind)
                choices += [(f"{_method(text)}.ravel()", (size,)), (f"{_method(text)}.reshape(-1)", (size,)), (f"{_method(text)}.flatten()", (size,))]
                if kind.rank == 2 and size:
                    choices += [(f"np.pad({text}, ((0, 1), (2, 0)), mode='{self.mode()}')", (shape[0] + 1, shape[1] + 2))]  # type: ignore[operator]
                    choices += [(f"np.repeat({text}, 2, axis=1)", (shape[0], 2 * shape[1]))]  # type: ignore[operator]
            if kind.rank == 2:
                choices += [(f"np.triu({text})", shape), (f"np.tril({text})", shape), (f"{_method(text)}[:, ::-1]", shape)]
            if kind.rank == 3:
                choices += [(f"np.transpose({text}, (1, 0, 2))", (shape[1], shape[0], shape[2])), (f"np.moveaxis({text}, 0, -1)", (*shape[1:], shape[0]))]
        if 1 in shape[:1] and kind.rank > 1:
            choices.append((f"np.squeeze({text}, 0)", shape[1:]))
        return _checked(self.rng.choice(choices))

    def mode(self) -> str:
        """How np.pad fills a border."""
        return self.rng.choice(["constant", "edge", "reflect", "symmetric", "wrap"])

    def along(self, depth: int) -> tuple[str, Array] | None:
        """A reduction or a scan along an axis."""
        text, kind = self.array(depth)
        axis = self.rng.randrange(kind.rank)
        shown = axis - kind.rank if self.chance(0.3) else axis
        if kind.rank == 1 or self.chance(0.2):
            if self.chance(0.4) and kind.shape[axis]:
                return f"np.sort({text}, axis={shown})", kind
            if self.chance(0.3) and kind.shape[axis]:
                n = kind.shape[axis]
                assert n is not None
                return f"np.diff({text}, axis={shown})", Array((*kind.shape[:axis], n - 1, *kind.shape[axis + 1 :]))
            return f"np.{self.rng.choice(['cumsum', 'cumprod', 'cumsum'])}({text}, axis={shown}) * 0.4", kind
        name = self.rng.choice(["sum", "sum", "mean", "max", "min", "prod"] if kind.shape[axis] else ["sum"])
        if self.chance(0.4):
            shape = (*kind.shape[:axis], 1, *kind.shape[axis + 1 :])
            return f"np.{name}({text}, axis={shown}, keepdims=True)", Array(shape)
        shape = (*kind.shape[:axis], *kind.shape[axis + 1 :])
        return (f"{_method(text)}.{name}(axis={shown})" if self.chance(0.3) else f"np.{name}({text}, {shown})"), Array(shape)

    def assembled(self, depth: int) -> tuple[str, Array] | None:
        """Arrays joined, or a list made into one."""
        many = self.place(lambda k: isinstance(k, Many) and k.least > 0 and (isinstance(k.item, Array) and k.item.rank == 1 or not isinstance(k.item, Array)))
        if many and self.chance(0.5):
            item = many.kind.item  # type: ignore[union-attr]
            if isinstance(item, Array) and item.dtype == "float" and None not in item.shape:
                return f"np.{self.rng.choice(['stack', 'array', 'vstack'])}({many.text})", Array((None, *item.shape))
            return (f"np.array({many.text})", Array((None,))) if type(item).__name__ == "Float" else None
        if self.chance(0.25):
            items = [self.scalar(1) for _ in range(self.rng.randint(1, 3))]
            return f"np.array([{', '.join(items)}])", Array((len(items),))
        text, kind = self.array(depth)
        if None in kind.shape:
            return None
        if self.chance(0.5):
            parts = [text, *(self.shaped(kind.shape, 0) for _ in range(self.rng.randint(1, 2)))]
            axis = self.rng.randint(0, kind.rank)
            shape = (*kind.shape[:axis], len(parts), *kind.shape[axis:])
            return f"np.stack([{', '.join(parts)}], axis={axis})", Array(shape)
        axis = self.rng.randrange(kind.rank)
        n = self.rng.randint(1, 2)
        other = self.shaped((*kind.shape[:axis], n, *kind.shape[axis + 1 :]), 0)
        named = f", axis={axis}" if axis or self.chance(0.3) else ""
        return f"np.concatenate([{text}, {other}]{named})", Array((*kind.shape[:axis], (kind.shape[axis] or 0) + n, *kind.shape[axis + 1 :]))

    def selected(self, depth: int) -> tuple[str, Array] | None:
        """Items taken by a mask, by positions, or one of two by a condition."""
        text, kind = self.array(depth)
        if self.chance(0.45):
            return f"np.where({self.mask_of(text, kind)}, {text}, {self.shaped(self.smaller(kind.shape), 0) if self.chance(0.6) else self.scalar_leaf()})", kind
        if self.chance(0.4) and kind.rank < 3:
            return f"{_method(text)}[{self.mask_of(text, kind)}]", Array((None,))
        n = kind.shape[0]
        if not n:
            return None
        positions, count = self.positions(n)
        way = self.rng.choice([f"{_method(text)}[{positions}]", f"np.take({text}, {positions}, axis=0)"])
        return way, Array((count, *kind.shape[1:]))

    def mask_of(self, text: str, kind: Array) -> str:
        """A mask of the shape of an array."""
        masks = [p for p in self.arrays("bool") if p.kind == Array(kind.shape, "bool") and None not in kind.shape]
        if masks and self.chance(0.5):
            return self.pick(masks).text
        one = f"({text} {self.rng.choice('<>')} {self.constant()})"
        if self.chance(0.25):
            one = f"({one} {self.rng.choice('&|')} ({text} < {self.constant()}))"
        return f"~{one}" if self.chance(0.1) else one

    def positions(self, n: int) -> tuple[str, int | None]:
        """An array or a list of positions in `n` items, and how many."""
        known = [p for p in self.arrays("int") if 0 < p.kind.below <= n]  # type: ignore[union-attr]
        if known and self.chance(0.6):
            found = self.pick(known)
            return found.text, found.kind.shape[0]  # type: ignore[union-attr]
        count = self.rng.randint(1, 3)
        listed = ", ".join(self.position(n) for _ in range(count))
        return self.rng.choice([(f"[{listed}]", count), (f"np.array([{listed}])", count), (f"np.arange({self.extent(n)})", n)])

    def product(self, depth: int) -> tuple[str, Array] | None:
        """A product of matrices and vectors."""
        text, kind = self.array(depth)
        shape = kind.shape
        if None in shape or not all(shape):
            return None
        if kind.rank == 1:
            b = self.shaped((self.rng.randint(1, 3),), 0)
            if self.chance(0.5):
                return f"np.outer({text}, {b})", Array((shape[0], None))
            if self.chance(0.6):
                return f"{self.shaped((2, shape[0]), 0)} @ ({text})", Array((2,))
            return f"np.einsum('i,j->ji', {text}, {b})", Array((None, shape[0]))
        if kind.rank == 2:
            v = self.shaped((shape[1],), 0)
            return self.rng.choice(
                [
                    (f"({text}) @ {v}", Array((shape[0],))),
                    (f"np.dot({text}, {v})", Array((shape[0],))),
                    (f"({text}) @ ({text}).T", Array((shape[0], shape[0]))),
                    (f"np.einsum('ij,j->i', {text}, {v})", Array((shape[0],))),
                    (f"np.matmul({text}, {self.shaped((shape[1], 2), 0)})", Array((shape[0], 2))),
                    (f"np.einsum('ij,kj->ik', {text}, {text})", Array((shape[0], shape[0]))),
                ]
            )
        return f"np.einsum('ijk,k->ij', {text}, {self.shaped((shape[2],), 0)})", Array(shape[:2])

    def meeting(self, depth: int) -> tuple[str, Array] | None:
        """An operation whose operands meet otherwise than element by element, where an extent of one stretches."""
        text, kind = self.array(depth)
        if None in kind.shape or not all(kind.shape):
            return None
        shape, letters = kind.shape, "ijk"[: kind.rank]
        other = self.shaped(tuple(1 if self.chance(0.3) else n for n in shape), 0)
        a, b = (text, other) if self.chance(0.5) else (other, text)
        choices: list[tuple[str, Shape]] = [
            (f"np.einsum('{letters},{letters}->{letters}', {a}, {b})", shape),
            (f"np.einsum('{letters},{letters}->{letters[0]}', {a}, {b})", shape[:1]),
            (f"np.broadcast_to({other}, np.shape({text}))", shape),
            (f"np.select([{self.mask_of(text, kind)}, {text} < {self.constant()}], [{a}, {b}], {self.scalar_leaf()})", shape),
            (f"np.choose(({text} > {self.constant()}).astype(int), [{a}, {b}])", shape),
            (f"np.take_along_axis({other}, np.zeros(np.shape({text}), dtype=int), {self.rng.randrange(kind.rank)})", shape),
            (f"np.broadcast_arrays({a}, {b})[{self.rng.randint(0, 1)}]", shape),
        ]
        if kind.rank == 2:
            n = self.rng.randint(1, 3)
            rows, columns = zip(shape, (n, self.rng.choice([n, 1])), strict=True)
            first, second = (f"np.array([{', '.join(self.position(m or 1) for _ in range(k))}])" for m, k in (rows, columns))
            choices += [(f"({text})[{first}, {second}]", (n,)), (f"({text})[{first}[:, None], {second}]", (n, None))]
        if kind.rank == 3:
            choices += [(f"{a} @ np.swapaxes({b}, 1, 2)", (shape[0], None, None))] if other == text else []
        return _checked(self.rng.choice(choices))

    def helped_array(self) -> tuple[str, Array] | None:
        """A call of a function that returns an array."""
        closure = self.place(lambda k: isinstance(k, Closure) and isinstance(k.result, Array))
        if closure and self.chance(0.5):
            kind = closure.kind
            assert isinstance(kind, Closure) and isinstance(kind.result, Array)
            return f"{closure.text}({', '.join(self.shaped(p.shape, 0) if isinstance(p, Array) else self.scalar_leaf() for p in kind.parameters)})", kind.result
        text, kind = self.array_leaf()
        name = self.rng.choice(["blend", "doubled", "clipped", "tail", "normal"])
        if kind.rank != 1 or kind.shape[0] in (0, None) or name == "tail" and kind.shape[0] == 1:
            return None
        self.library.add(name)
        if name == "tail":
            return f"tail({text})[0]", Array((None,))
        call = {
            "blend": f"blend({text}, {self.shaped(kind.shape, 0)}, s={self.scalar_leaf()})",
            "doubled": f"doubled({text})",
            "clipped": f"clipped({text}{self.rng.choice(['', ', high=0.4', ', -0.3'])})",
            "normal": f"normal({text})",
        }[name]
        return call, kind

    def made(self) -> tuple[str, Array]:
        """A new array."""
        if self.chance(0.5):
            n = self.rng.choice([1, 2, 3, 3, 4])
            return self.fresh_array((n,)), Array((n,))
        shape = (self.rng.choice([1, 2, 3]), self.rng.choice([1, 2, 3]))
        return self.fresh_array(shape), Array(shape)

    def chosen(self, depth: int) -> tuple[str, Array] | None:
        """One of two arrays by a condition."""
        text, kind = self.array(depth)
        if None in kind.shape:
            return None
        return f"({text} if {self.condition(1)} else {self.shaped(kind.shape, depth)})", kind

    # ------------------------------------------------------------- of a shape

    def fresh_array(self, shape: Shape) -> str:
        extents = [self.extent(n or 0) for n in shape]
        text = extents[0] if len(extents) == 1 else f"({', '.join(extents)})"
        choices = [f"np.zeros({text})", f"np.ones({text})", f"np.full({text}, {self.scalar_leaf()})", f"np.ones({text}) * {self.scalar_leaf()}"]
        if len(extents) == 1:
            choices += [f"np.linspace(0.1, 0.9, {text})", f"np.arange({text}) * {self.scalar_leaf()}"]
        return f"({self.rng.choice(choices)})"

    def shaped(self, shape: Shape, depth: int) -> str:
        """An array of the shape; where that is not known, a number."""
        if None in shape or not shape:
            return self.scalar_leaf()
        if depth > 0 and self.chance(0.4):
            return self.draw(
                [
                    (2, lambda: f"({self.shaped(shape, depth - 1)} * {self.scalar_leaf()})"),
                    (2, lambda: f"({self.shaped(shape, depth - 1)} {self.rng.choice('+-*')} {self.shaped(self.smaller(shape), depth - 1)})"),
                    (2, lambda: self.rng.choice(ELEMENTWISE).format(self.shaped(shape, 0))),
                ]
            )
        exact = [p.text for p in self.arrays() if p.kind.shape == shape]  # type: ignore[union-attr]
        if exact and self.chance(0.6):
            return self.pick(exact)
        cut = [text for p in self.arrays() if (text := self.cut(p.text, p.kind.shape, shape))]  # type: ignore[union-attr]
        if cut and self.chance(0.75):
            return self.pick(cut)
        if exact:
            return self.pick(exact)
        return self.fresh_array(shape)

    def cut(self, text: str, have: Shape, want: Shape) -> str | None:
        """A subscript of an array that has the wanted shape."""
        if len(have) < len(want) or None in have:
            return None
        parts = [self.position(n) if n else None for n in have[: len(have) - len(want)]]
        for m, n in zip(have[len(have) - len(want) :], want, strict=True):
            assert m is not None and n is not None
            parts.append(self.window(m, n))
        return None if None in parts else f"{text}[{', '.join(parts)}]"  # type: ignore[arg-type]

    def window(self, m: int, n: int) -> str | None:
        """A slice of `n` out of `m` items."""
        if m < n:
            return None
        if m == n:
            return self.rng.choice([":", ":", "::-1"])
        if n == 1:
            at = self.place(lambda k: isinstance(k, Int) and k.inside(0, m - 1))
            if at is not None and self.chance(0.6):
                return f"{at.text}:{at.text} + 1"
        a = self.rng.randint(0, m - n)
        choices = [f"{a}:{a + n}", f":{self.extent(n)}"] + ["::2"] * ((m + 1) // 2 == n) + ([f"{m - n}:"] if n else [])
        if m == n + 1:
            choices += ["1:", ":-1"]
        return self.rng.choice(choices)


def _size(kind: Array) -> int:
    size = 1
    for n in kind.shape:
        size *= 4 if n is None else n
    return size


def _checked(found: tuple[str, Shape]) -> tuple[str, Array]:
    return found[0], Array(found[1])
