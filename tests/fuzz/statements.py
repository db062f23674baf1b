"""Random simple statements: bindings, stores, augmented assignments, containers, calls for their effect."""

from __future__ import annotations

from .arrays import Arrays
from .kinds import Array, Bool, Closure, Float, Function, Int, Items, Keys, Kind, Many, Record, Shape, Text, holds
from .writer import Place, is_float, is_int


class Statements(Arrays):
    """Each method writes a statement, or returns False where nothing fits."""

    # ------------------------------------------------------------- bindings

    def bind_float(self) -> None:
        self.bind(self.scalar(), Float(), "a")

    def bind_array(self) -> None:
        text, kind = self.array(self.rng.randint(0, 2))
        loose = kind.rank == 1 and not self.loops and self.chance(0.08)
        self.bind(text, Array((None,)) if loose else kind, "v")

    def bind_integer(self) -> None:
        if self.chance(0.3) and (found := self.place(lambda k: isinstance(k, Int) and k.known)) and found.text.isidentifier() and found.text not in self.fixed:
            low, high = found.kind.low, found.kind.high  # type: ignore[union-attr]
            step = self.rng.randint(1, 2)
            text, kind = self.rng.choice([(f"{found.text} + {step}", Int(low + step, high + step)), (f"({found.text} + {step}) % 3", Int(0, 2))])  # type: ignore[operator]
            if self.may_be(found.text, kind):
                self.emit(f"{found.text} = {text}")
                self.bound(found.text, kind)
                return
        text, kind = self.ranged(2)
        self.bind(text, kind, "k")

    def merged(self) -> bool:
        """A name that is bound anew on one path, and read by one copy alone."""
        a = self.place(lambda k: isinstance(k, (Float, Array)) and (isinstance(k, Float) or k.dtype == "float"))
        b = a and self.place(lambda k: k == a.kind)
        if a is None or b is None:
            return False
        name = self.new("m")
        self.emit(f"{name} = {a.text} if {self.condition(1)} else {self.rng.choice([a.text, b.text])}" if self.chance(0.6) else f"{name} = {a.text}")
        other = self.rng.choice([b.text, f"{b.text} * 0.5", self.constant() if isinstance(a.kind, Float) else f"{b.text} + 1.0"])
        around = self.rng.choice([f"if {self.condition(1)}: ", f"if not {self.condition(1)}: ", "for _ in range(2): "])
        self.emit(f"{around}{name} = {other}")
        self.bind(self.rng.choice([name, name, f"{name} * 1.0"]), a.kind, "v" if isinstance(a.kind, Array) else "a")
        return True

    def bind_truth(self) -> None:
        self.bind(self.condition(), Bool(), "b")

    def bind_text(self) -> None:
        self.bind(self.one_of(["'low'", "'mid'", "'high'"]), Text(), "t")

    def bind_function(self) -> None:
        self.bind(self.one_of(["np.sin", "np.cos", "np.tanh", "np.arctan"]), Function(), "h")

    def one_of(self, values: list[str]) -> str:
        """A value, or two of which the program chooses one."""
        a, b = self.rng.sample(values, 2)
        return f"{a} if {self.condition(1)} else {b}" if self.chance(0.5) else a

    def bind_mask(self) -> bool:
        text, kind = self.array_leaf()
        if None in kind.shape:
            return False
        if self.chance(0.3) and kind.rank == 1 and kind.shape[0]:
            text, count = self.positions(kind.shape[0])
            self.bind(f"np.argsort({self.shaped(kind.shape, 0)})" if self.chance(0.3) else text, Array((None,), "int", kind.shape[0]), "p")
        else:
            self.bind(self.mask_of(text, kind), Array(kind.shape, "bool"), "m")
        return True

    def unpack(self) -> bool:
        """A tuple of values to names: at random, a swap, or what a container holds."""
        floats = [n for n, k in self.scope.names.items() if is_float(k) and n not in self.fixed]
        if len(floats) > 1 and self.chance(0.4):
            a, b = self.rng.sample(floats, 2)
            self.emit(f"{a}, {b} = {b}, {self.rng.choice([a, f'{a} * {self.scalar_leaf()}'])}")
            return True
        arrays = [n for n, k in self.scope.names.items() if isinstance(k, Array) and k.dtype == "float" and n not in self.fixed]
        pairs = [(a, b) for a in arrays for b in arrays if a < b and self.scope.names[a] == self.scope.names[b]]
        if pairs and self.chance(0.5):
            a, b = self.rng.choice(pairs)
            self.emit(f"{a}, {b} = {b}, {a}")
            return True
        if self.chance(0.3):
            text, kind = self.array_leaf()
            if kind.rank == 1 and kind.shape[0] in (2, 3):
                names = [self.new("a") for _ in range(kind.shape[0])]
                self.emit(f"{', '.join(names)} = {text}")
                for name in names:
                    self.bound(name, Float())
                return True
        text, kind = self.array_leaf()
        first, second = self.target(Float(), "a"), self.target(kind, "v")
        self.emit(f"{first}, {second} = {self.scalar(1)}, {text}")
        self.bound(first, Float())
        self.bound(second, kind)
        return True

    # ------------------------------------------------------------- stores

    def writable(self, known: bool = True) -> Place | None:
        found = [p for p in self.arrays() if not known or None not in p.kind.shape and all(p.kind.shape)]  # type: ignore[union-attr]
        return self.pick(found) if found else None

    def store(self) -> bool:
        """A value to a part of an array."""
        place = self.writable()
        if place is None:
            return False
        assert isinstance(place.kind, Array)
        op = self.rng.choice(["=", "=", "+=", "*=", "-="])
        text, shape = self.subscript(place.kind.shape)
        if self.chance(0.15):
            return self.store_selected(place, op)
        value = self.shaped(self.smaller(shape), 1) if shape and self.chance(0.7) else self.scalar(1)
        if self.chance(0.3) and shape == place.kind.shape:
            self.emit(f"{place.text} {'*=' if op == '=' else op} {value}")
        else:
            self.emit(f"{place.text}[{text}] {op} {value}")
        return True

    def store_selected(self, place: Place, op: str) -> bool:
        """To where a mask is true, or to listed positions."""
        kind = place.kind
        assert isinstance(kind, Array)
        if self.chance(0.5):
            self.emit(f"{place.text}[{self.mask_of(place.text, kind)}] {op} {self.scalar_leaf()}")
        else:
            positions, count = self.positions(kind.shape[0] or 1)
            value = self.shaped((count,), 0) if kind.rank == 1 and self.chance(0.5) else self.scalar_leaf()
            self.emit(f"{place.text}[{positions}] {op} {value}")
        return True

    def store_scattered(self) -> bool:
        """To places that come more than once, or by their numbers in C order."""
        place = self.writable()
        if place is None:
            return False
        kind = place.kind
        assert isinstance(kind, Array)
        v, size, value = place.text, 1, self.scalar(1)
        for n in kind.shape:
            size *= n or 1
        positions, count = self.positions(kind.shape[0] or 1)
        many = self.shaped((self.rng.choice([count, 1]),), 0) if kind.rank == 1 and self.chance(0.6) else value
        self.emit(
            self.rng.choice(
                [
                    f"np.{self.rng.choice(['add', 'subtract', 'multiply'])}.at({v}, {positions}, {many})",
                    f"{v}.flat[{self.position(size)}] {self.rng.choice(['=', '+=', '*='])} {value}",
                    f"{v}.flat[{self.part(size)[0]}] {self.rng.choice(['=', '*='])} {value}",
                    f"{v}.flat[[{self.position(size)}, {self.position(size)}]] = {value}",
                    f"np.put({v}, [{self.position(size)}, {self.position(size)}], {self.shaped((self.rng.randint(1, 3),), 0)})",
                ]
            )
        )
        return True

    def overlap(self) -> bool:
        """One array on both sides of an update, at different places."""
        known = [p for p in self.arrays() if p.kind.rank == 1 and (p.kind.shape[0] or 0) >= 3]  # type: ignore[union-attr]
        if not known:
            return False
        place, op = self.pick(known), self.rng.choice(["=", "+=", "-=", "*="])
        v, n = place.text, place.kind.shape[0]  # type: ignore[union-attr]
        steps = [("::2", f":{(n + 1) // 2}"), (f":{(n + 1) // 2}", "::2"), (f"{n // 2}:", f"{n % 2}::2")]
        left, right = self.rng.choice([("1:", ":-1"), (":-1", "1:"), (":", "::-1"), (":2", "-2:"), ("2:", ":-2"), ("::-1", ":"), *steps])
        factor = self.rng.choice(["", " * 0.5", f" * {self.scalar_leaf()}"])
        self.emit(f"{v}[{left}] {op} {v}[{right}]{factor}")
        return True

    def augment(self) -> bool:
        """An augmented assignment of a float, in a name or in a container."""
        found = [p for p in self.places(is_float) if p.assignable and p.text not in self.fixed]
        if not found:
            return False
        place = self.pick(found)
        op = self.rng.choice(["+=", "-=", "*=", "*=", "/="])
        value = self.scalar(1) if op != "/=" else f"({self.scalar_leaf()} ** 2 + 1.1)"
        self.emit(f"{place.text} {op} {value}")
        return True

    # ------------------------------------------------------------- containers

    def value_of(self, kind: Kind) -> str | None:
        """A value of a kind."""
        if isinstance(kind, Float):
            return self.scalar(1)
        if isinstance(kind, Int):
            return self.within(kind.low, kind.high) if kind.known else self.integer()  # type: ignore[arg-type]
        if isinstance(kind, Bool):
            return self.condition(1)
        if isinstance(kind, Array):
            return self.shaped(kind.shape, 1) if kind.dtype == "float" and None not in kind.shape else None
        if isinstance(kind, Items):
            items = [self.value_of(k) for k in kind.items]
            if None in items:
                return None
            inner = ", ".join(items)  # type: ignore[arg-type]
            return f"[{inner}]" if kind.type == "list" else f"({inner}{',' * (len(items) == 1)})"
        if isinstance(kind, (Keys, Record)):
            values = [self.value_of(v) for _, v in kind.items]
            if None in values:
                return None
            if isinstance(kind, Record):
                return f"{kind.name}({', '.join(values)})"  # type: ignore[arg-type]
            return "{" + ", ".join(f"{key!r}: {v}" for (key, _), v in zip(kind.items, values, strict=True)) + "}"
        return None

    def item_kind(self) -> Kind:
        """A kind for an item of a container."""
        if self.chance(0.5):
            return Float()
        if self.chance(0.1):
            return Int(0, 3)
        known = [p.kind for p in self.arrays() if None not in p.kind.shape]  # type: ignore[union-attr]
        return self.pick(known) if known and self.chance(0.9) else Array((2,))

    def bind_container(self) -> bool:
        """A container to a name: a new one, or one of the structure of another that the name holds, now or on some paths."""
        kinds = {**self.scope.maybe, **self.scope.names}
        known = [(n, k) for n, k in kinds.items() if isinstance(k, (Items, Keys, Record)) and self.may_be(n, k)]
        if known and self.chance(0.5):
            name, kind = self.pick(known)
        else:
            items = tuple(self.item_kind() for _ in range(self.rng.randint(1, 3)))
            name, way = self.new("box"), self.rng.randrange(5)
            if way == 0:
                self.library.add("Pair")
                kind = Record("Pair", tuple(zip("uv", (items * 2)[:2], strict=True)))
            elif way == 1:
                kind = Keys(tuple(zip("abc", items, strict=False)))
            else:
                kind = Items("tuple" if way == 2 else "list", items)
        value = self.value_of(kind)
        if value is None:
            return False
        self.emit(f"{name} = {value}")
        self.bound(name, kind)
        return True

    def store_item(self) -> bool:
        """A value to an item of a container."""
        places = [p for p in self.places(lambda k: not isinstance(k, (Closure, Many))) if p.assignable and not p.text.isidentifier()]
        if not places:
            return False
        place = self.pick(places)
        value = self.value_of(place.kind)
        if value is None:
            return False
        self.emit(f"{place.text} = {value}")
        return True

    def bind_list(self) -> bool:
        """A list that grows, or one by a comprehension."""
        if self.chance(0.5):
            kind: Kind = Float() if self.chance(0.6) else self.item_kind()
            if not isinstance(kind, (Float, Array)):
                return False
            name, first = self.new("seq"), self.value_of(kind)
            empty = self.chance(0.5) or first is None
            self.emit(f"{name} = [{'' if empty else first}]")
            self.bound(name, Many(kind, 0 if empty else 1))
            self.fixed.add(name)
            return True
        known = [p for p in self.arrays() if p.kind.shape[0]]  # type: ignore[union-attr]
        if not known:
            return False
        place = self.pick(known)
        shape: Shape = place.kind.shape  # type: ignore[union-attr]
        n = shape[0] or 1
        item: Kind = Array(shape[1:]) if len(shape) > 1 else Float()
        name, count = self.new("seq"), self.extent(n)
        text = self.rng.choice(
            [
                f"[{place.text}[j] * {self.scalar_leaf()} for j in range({count})]",
                f"[u * {self.constant()} for u in {place.text}]",
                f"[u + {self.scalar_leaf()} * j for j, u in enumerate({place.text})]",
                f"[{place.text}[j] for j in range({count}) if j % 2 == 0]",
                f"list({place.text})",
            ]
        )
        self.emit(f"{name} = {text}")
        self.bound(name, Many(item, 1))
        self.fixed.add(name)
        return True

    def grow(self) -> bool:
        """A change of a list that grows."""
        many = [p for p in self.places(lambda k: isinstance(k, Many)) if p.text in self.scope.names]
        if not many:
            return False
        place = self.pick(many)
        kind = place.kind
        assert isinstance(kind, Many)
        value = self.value_of(kind.item)
        if value is None:
            return False
        if self.chance(0.2):
            self.library.add("push")
            self.emit(f"push({place.text}, {value})")
        elif self.chance(0.15):
            self.emit(f"{place.text} += [{value}]")
        elif self.chance(0.15) and kind.least and not self.loops:
            self.emit(f"{place.text}.pop()" if self.chance(0.5) else f"{place.text}[-1] = {value}")
            kind = Many(kind.item, kind.least - 1)
        else:
            self.emit(f"{place.text}.append({value})")
            kind = Many(kind.item, kind.least + 1)
        if self.may_be_item(place.text, kind):
            self.scope.names[place.text] = kind
        return True

    def may_be_item(self, name: str, kind: Many) -> bool:
        return all(name not in loop.names or holds(loop.names[name], kind) for loop in self.loops)

    # ------------------------------------------------------------- calls

    def effect(self) -> bool:
        """A call of a function that writes to its arguments."""
        vectors = [p for p in self.arrays() if p.kind.rank == 1 and (p.kind.shape[0] or 0) >= 2]  # type: ignore[union-attr]
        matrices = [p for p in self.arrays(least=2) if p.kind.rank == 2 and None not in p.kind.shape and all(p.kind.shape)]  # type: ignore[union-attr]
        if matrices and self.chance(0.3):
            self.library.add("row_update")
            self.emit(f"row_update({self.pick(matrices).text}, {self.scalar_leaf()})")
            return True
        if not vectors:
            return False
        a = self.pick(vectors)
        same = [p for p in vectors if p.kind == a.kind]
        name = self.rng.choice(["scale_first", "mix"])
        self.library.add(name)
        more = self.rng.choice(["", f", {self.scalar_leaf()}", f", s={self.scalar_leaf()}"]) if name == "mix" else ""
        self.emit(f"{name}({a.text}, {self.pick(same).text}{more})")
        return True

    def closure(self) -> bool:
        """A nested function or a lambda of a float, or of an array."""
        name = self.new("g")
        if self.chance(0.3):
            self.emit(f"{name} = lambda t: {self.rng.choice(['t', 'np.sin(t)'])} * {self.scalar(1)}")
            kind = Closure((Float(),), Float())
        elif self.chance(0.3):
            found = self.arrays()
            if not found:
                return False
            array = self.pick(found).kind
            assert isinstance(array, Array)
            if None in array.shape:
                return False
            self.emit(f"def {name}(w):")
            self.emit(f"    return w * {self.scalar(1)} + {self.shaped(self.smaller(array.shape), 0)}")
            kind = Closure((array,), array)
        else:
            floats = [n for n, k in self.scope.names.items() if is_float(k) and n not in self.fixed and n not in ("c",)]
            self.emit(f"def {name}(t, k=1):")
            if floats and self.chance(0.3):
                self.emit(f"    nonlocal {floats[-1]}")
                self.emit(f"    {floats[-1]} = {floats[-1]} * 0.5 + t * 0.1")
            if self.chance(0.3):
                self.emit(f"    if {self.rng.choice(['t > 0.21', 'k > 1', 'k % 2 == 0'])}:")
                self.emit(f"        return t * {self.scalar_leaf()}")
            self.emit(f"    return np.sin(t * k) + {self.scalar(1)}")
            kind = Closure((Float(), Int(0, 3)) if self.chance(0.4) else (Float(),), Float())
        self.bound(name, kind)
        self.fixed.add(name)
        return True

    def trivial(self) -> bool:
        """What changes nothing: an assertion, a value that is not used, a deleted name."""
        found = self.place(is_int)
        if self.chance(0.3):
            self.emit(f"assert {self.array_leaf()[0]}.ndim > 0")
        elif found and self.chance(0.3):
            self.emit(f"if {found.text} > 999:")
            self.emit("    raise ValueError('too many')")
        else:
            self.emit(f"unused = {self.array(1)[0]}")
        return True
