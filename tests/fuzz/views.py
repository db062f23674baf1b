"""Random statements about what looks into other memory, or is there on some paths alone: parts of complex arrays, diagonals, broadcast arrays, keys."""

from __future__ import annotations

from .kinds import Array, Float
from .statements import Statements


class Views(Statements):
    """Each method writes a statement, or returns False where nothing fits."""

    def parts(self) -> bool:
        """A complex array, a view of one of its parts, writes to both, and what is in it then."""
        place = self.writable()
        if place is None or not isinstance(place.kind, Array):
            return False
        shape = place.kind.shape
        z, w, name = self.new("z"), self.new("w"), self.rng.choice(["real", "imag"])
        self.emit(f"{z} = {place.text} * ({self.constant()} + {self.constant()} * 1j)")
        self.emit(f"{w} = {self.rng.choice([f'{z}.{name}', f'np.{name}({z})', f'{z}.T.{name}.T', f'{z}[...].{name}'])}")
        text, part = self.subscript(shape)
        value = self.shaped(self.smaller(part), 0) if part and self.chance(0.6) else self.scalar_leaf()
        writes = [f"{w}[{text}] {self.rng.choice(['=', '+=', '*='])} {value}", f"{z}.{name}[{text}] = {value}", f"{z}[{text}] = {value}", f"{z} *= 0.5j"]
        for write in self.rng.sample(writes, self.rng.choice([1, 2])):
            self.emit(write)
        self.bind(f"{z}.real + {w} * np.imag({z})", place.kind, "v")
        self.bound(w, place.kind)
        return True

    def looked_into(self) -> bool:
        """A view that cannot be written to, of an array that is written to behind it or in front of it."""
        place = self.writable()
        if place is None or not isinstance(place.kind, Array):
            return False
        shape = place.kind.shape
        u, rank = self.new("u"), len(shape)
        if rank == 2:
            view, kind = self.rng.choice([f"np.diag({place.text})", f"np.diagonal({place.text})"]), Array((min(shape),))  # type: ignore[type-var]
        else:
            view, kind = f"np.broadcast_to({place.text}, (2, *{place.text}.shape))", Array((2, *shape))
        write = f"{place.text}[{self.subscript(shape)[0]}] = {self.scalar_leaf()}"
        binding = f"{u} = {view}"
        for line in (binding, write) if self.chance(0.5) else (write, binding):
            self.emit(line)
        if self.chance(0.1):
            self.emit(f"{u}[0] = {self.scalar_leaf()}")  # raises
        self.bind(f"{u} * {self.scalar_leaf()}", kind, "v")
        return True

    def keys_by_path(self) -> bool:
        """A dict that gets a key on one path alone."""
        d = self.new("d")
        self.emit(f"{d} = {self.rng.choice(['{}', repr('a').join(['{', ': ' + self.scalar_leaf() + '}'])])}")
        self.emit(f"if {self.condition(1)}:")
        self.emit(f"    {d}['b'] = {self.scalar(1)}")
        if self.chance(0.4):
            self.emit("else:")
            self.emit(f"    {d}['{self.rng.choice('bc')}'] = {self.scalar_leaf()}")
        self.bind(f"sum({d}.values()) + {d}.get('b', {self.scalar_leaf()}) * len({d})", Float(), "a")
        return True
