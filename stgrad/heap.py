"""How the C library lays blocks of memory out: what is freed leaves a hole, which serves what fits into it; large blocks are mapped for themselves.

A model of glibc's `malloc` as `stgrad.runtime.memory` sets it: best fit, neighbouring holes become one, a hole at the end grows, and the end is not given back.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Heap:
    """Blocks and holes in the order of their places, and bytes that are mapped apart.

    `mapped`: the size from which on a block is mapped, and gone as soon as it is freed.

    >>> heap = Heap(mapped=1000)
    >>> for name, size in (("a", 300), ("b", 100), ("c", 5000)):
    ...     heap.take(name, size)
    >>> heap.size
    5400
    >>> heap.give("a"), heap.take("d", 400), heap.give("c")
    (None, None, None)
    >>> heap.size
    800
    >>> heap.give("d"), heap.take("e", 450), heap.size
    (None, None, 850)
    """

    mapped: int
    places: list[tuple[object, int]] = field(default_factory=list)  # a block or None, and its bytes
    apart: dict[object, int] = field(default_factory=dict)

    def copy(self) -> Heap:
        return Heap(self.mapped, list(self.places), dict(self.apart))

    @property
    def size(self) -> int:
        """Bytes that the heap takes, with its holes, and those that are mapped."""
        return sum(size for _, size in self.places) + sum(self.apart.values())

    def take(self, block: object, size: int) -> None:
        """A new block."""
        if size >= self.mapped:
            self.apart[block] = size
            return
        fitting = [(free, at) for at, (held, free) in enumerate(self.places) if held is None and free >= size]
        if not fitting:
            if self.places and self.places[-1][0] is None:  # a hole at the end grows
                self.places.pop()
            self.places.append((block, size))
            return
        free, at = min(fitting)
        self.places[at : at + 1] = [(block, size), (None, free - size)] if free > size else [(block, size)]

    def give(self, block: object) -> None:
        """A block that is freed; nothing happens where there is none."""
        if self.apart.pop(block, None) is not None:
            return
        merged: list[tuple[object, int]] = []
        for held, size in self.places:
            if held is None or held == block:
                size += merged.pop()[1] if merged and merged[-1][0] is None else 0
                held = None
            merged.append((held, size))
        self.places = merged
