"""Functions of a program that call each other: what recurs by value at run time is no part of the program, but a unit beside it.

A statement calls a unit by the name of its operation. Units of derivatives are made of units when somebody asks for them; their programs are
written later still, since a program that recurs calls its own derivative.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

from stgrad.ir.core import Assign, Effect, Function, Type
from stgrad.ir.walks import walk

MARK = "unit:"
UNITS: dict[str, Unit] = {}  # by the name of the operation, which no other compilation uses
_numbers = itertools.count(1)


@dataclass(eq=False)
class Unit:
    """A function with typed parameters and results.

    `kind` is 'primal', or how it is made of `base`: 'vjp' takes a cotangent for each float result and gives one for each float parameter; 'jvp'
    takes a tangent for each float parameter, and gives the results and the tangents of the float ones; 'gradient' gives the result, one float,
    and its gradient. `reading` is what the front end has read, of a primal. `written`: parameters whose arrays a call changes; what they hold behind
    it are its last results. `one`: places of results that may be an array which is given, or another result, and the names or places of those.
    """

    name: str
    kind: str
    params: tuple[Type, ...] = ()
    results: tuple[Type, ...] = ()
    base: Unit | None = None
    written: tuple[str, ...] = ()
    one: tuple[tuple[int, str | int], ...] = ()
    reading: Any = None
    function: Function | None = None
    derived: dict[str, Unit] = field(default_factory=dict)
    lowered: dict[str, Function] = field(default_factory=dict)  # by the options of the compiler
    op: str = ""

    def __post_init__(self) -> None:
        self.op = f"{MARK}{next(_numbers)}:{self.name}"
        UNITS[self.op] = self

    @property
    def moving(self) -> list[int]:
        """The places of the float parameters."""
        return [i for i, t in enumerate(self.params) if t.is_float]

    @property
    def outputs(self) -> list[int]:
        """The places of the float results."""
        return [i for i, t in enumerate(self.results) if t.is_float]

    @property
    def scalar(self) -> bool:
        """Whether the result is one real number, and a gradient is asked for with it."""
        return len(self.results) == 1 and self.results[0].is_float and not self.results[0].array and bool(self.moving)

    @property
    def acts(self) -> bool:
        """Whether a call is seen where its results are not: what it calls raises, or prints."""
        if self.kind == "vjp":  # stands behind the call whose derivative it is
            return False
        todo, met = [self.base or self], set[str]()
        while todo:
            unit = todo.pop()
            body = () if unit.reading is None else unit.reading.function.body
            if any(isinstance(s, Effect) for s in walk(body)):
                return True
            met.add(unit.op)
            todo += [UNITS[s.op] for s in walk(body) if isinstance(s, Assign) and s.op in UNITS and s.op not in met]
        return False

    def derivative(self, kind: str) -> Unit:
        """The unit of a derivative."""
        if kind not in self.derived:
            params, results = [self.params[i] for i in self.moving], [self.results[i] for i in self.outputs]
            given = {"vjp": results, "jvp": params, "gradient": []}[kind]
            found = {"vjp": params, "jvp": [*self.results, *results], "gradient": [*self.results, *params]}[kind]
            self.derived[kind] = Unit(f"{self.name}_{kind}", kind, (*self.params, *given), tuple(found), self)
        return self.derived[kind]


__all__ = ["MARK", "UNITS", "Unit"]
