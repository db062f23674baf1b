"""Between which numbers an integer lies in every run: one interval a name, over all of its definitions.

    i = 0                           i is never negative: it starts at 0 and only grows
    while ...:
        i += 2

No loop runs more than 2**48 times: a name that only grows by small steps stays far below 2**63. An integer argument is within 2**47, others are
compiled in (`calls.wrapper`). What is believed here and not known: an extent is below 2**31. Python's integers are within `FITS`, since `overflow`
tests those that may not be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product

from stgrad.analysis.definitions import definitions
from stgrad.analysis.manager import kept
from stgrad.calls.wrapper import ARGUMENT
from stgrad.ir import Assign, Const, For, Function, Operand, Stmt, Type, Var
from stgrad.ir.ops import operation

Interval = tuple[int, int]  # both ends included

WORD = 2**63
FITS = 2**62  # what Python's integers may grow to in compiled code
EXTENT = 2**31
TRIPS = 2**48  # of all loops around a statement together
LIMIT = 2**200  # beyond it, nothing is known
ALL: Interval = (-LIMIT, LIMIT)
_ROUNDS = 4  # before a name that still grows is taken to have no end
_FAR = 60  # temporaries between one value of a name and the next


@kept
def intervals(fn: Function) -> Mapping[str, Interval]:
    """The interval of each scalar integer of a program.

    >>> from stgrad.ir import Assign, Const, Function, Type, Var, While
    >>> step = Assign((Var("i"),), "np.add", (Var("i"), Const(1)))
    >>> body = (Assign((Var("i"),), "alias", (Const(0),)), While((), Const(True), (step,)))
    >>> low, high = intervals(Function("f", (), body, Var("i"), {"i": Type("int64", weak=True)}))["i"]
    >>> low, high < 2**50
    (0, True)
    """
    return _Ranges(fn, {name: made for name, made in definitions(fn).made.items() if is_integer(name, fn.types)}).solved()


def is_integer(name: str, types: Mapping[str, Type]) -> bool:
    """Whether a name is an integer scalar of 64 bits."""
    return name in types and types[name].dtype == "int64" and not types[name].array


def hull(intervals: Iterable[Interval]) -> Interval | None:
    """The smallest interval around others; None for none."""
    found = list(intervals)
    return (min(a for a, _ in found), max(b for _, b in found)) if found else None


def operand_interval(operand: Operand, ranges: Mapping[str, Interval]) -> Interval:
    """The interval of an operand, by those of all names."""
    if isinstance(operand, Const):
        return (int(operand.value), int(operand.value)) if isinstance(operand.value, int) else ALL
    return ranges.get(operand.name, (-WORD, WORD - 1)) if isinstance(operand, Var) else ALL


class _Ranges:
    def __init__(self, fn: Function, definitions: Mapping[str, list[Stmt]]) -> None:
        self.fn, self.definitions = fn, definitions
        self.found: dict[str, Interval] = {}
        for param in fn.params:
            if is_integer(param.name, fn.types):
                self.found[param.name] = (-ARGUMENT, ARGUMENT)
        self.given = dict(self.found)

    def solved(self) -> dict[str, Interval]:
        for count in range(10 * _ROUNDS):
            before = dict(self.found)
            for name, statements in self.definitions.items():
                self._name(name, statements, widen=count >= _ROUNDS)
            if self.found == before:
                return self.found
        return {}

    def _name(self, name: str, statements: list[Stmt], *, widen: bool) -> None:
        again = len(statements) + (name in self.given) > 1
        steps = [self._step(name, s) if again else None for s in statements]
        parts = [self._result(s) for s, step in zip(statements, steps, strict=True) if step is None]
        start = hull([p for p in parts if p is not None] + ([self.given[name]] if name in self.given else []))
        if start is None:
            return
        low = min([0, *(step[0] for step in steps if step is not None)])
        high = max([0, *(step[1] for step in steps if step is not None)])
        new = self._fitting(name, (start[0] + low * TRIPS, start[1] + high * TRIPS))
        old = self.found.get(name, new)
        if widen:  # an end that still moves has none
            new = self._fitting(name, (-LIMIT if new[0] < old[0] else old[0], LIMIT if new[1] > old[1] else old[1]))
        self.found[name] = (min(new[0], old[0]), max(new[1], old[1]))

    def _fitting(self, name: str, found: Interval) -> Interval:
        """Python's integers are tested to fit, unless they come so from elsewhere; NumPy's have 64 bits and wrap."""
        if self.fn.types[name].weak and found != (-WORD, WORD - 1):
            return max(found[0], -FITS), min(found[1], FITS)
        return found if found[0] >= -WORD and found[1] < WORD else (-WORD, WORD - 1)

    def _step(self, name: str, stmt: Stmt) -> Interval | None:
        """By how much a definition changes a name: `i = i + 1`, also by way of temporaries and of branches."""
        found: dict[str, Interval | None] = {}

        def change(stmt: Stmt) -> Interval | None:
            """What a definition adds to some value that the name has had; None where it gives anything else."""
            if not isinstance(stmt, Assign) or len(stmt.targets) != 1:
                return None
            if _same(stmt.op):
                return since(stmt.args[0])
            if stmt.op not in ("np.add", "np.subtract") or len(stmt.args) != 2:
                return None
            before, step = since(stmt.args[0]), self.operand(stmt.args[1])
            if before is None and stmt.op == "np.add":
                before, step = since(stmt.args[1]), self.operand(stmt.args[0])
            if before is None or step is None:
                return None
            return result_of(stmt.op, [before, step])

        def since(operand: Operand) -> Interval | None:
            """What an operand is more than some value that the name has had, or one of the names that carry its value through loops inside."""
            if operand == Var(name):
                return 0, 0
            if not isinstance(operand, Var) or operand.name in self.given or len(found) > _FAR:
                return None
            if operand.name not in found:
                found[operand.name] = 0, 0  # more than itself; what it gets in a loop is counted by the trips of that loop
                parts = [change(s) for s in self.definitions.get(operand.name, [])]
                found[operand.name] = hull(p for p in parts if p is not None) if None not in parts else None
            return found[operand.name]

        return change(stmt)

    def operand(self, operand: Operand) -> Interval | None:
        """The interval of an operand; None where no definition of it has been reached yet."""
        if isinstance(operand, Const) and isinstance(operand.value, int):
            return int(operand.value), int(operand.value)
        if isinstance(operand, Var) and is_integer(operand.name, self.fn.types):
            return self.found.get(operand.name) if operand.name in self.definitions or operand.name in self.given else (-WORD, WORD - 1)
        if isinstance(operand, Var) and self.fn.types[operand.name].dtype == "bool":
            return 0, 1
        return -WORD, WORD - 1

    def _result(self, stmt: Stmt) -> Interval | None:
        if isinstance(stmt, For):
            return self._counter(stmt)
        if not isinstance(stmt, Assign) or len(stmt.targets) != 1:
            return -WORD, WORD - 1
        parts = [self.operand(a) for a in stmt.args]
        if stmt.op not in ("shape", "getitem") and any(p is None for p in parts):
            return None
        found = result_of(stmt.op, [p for p in parts if p is not None])
        return self._fitting(stmt.target.name, found)

    def _counter(self, loop: For) -> Interval | None:
        """A counter goes from its start, at most `TRIPS` times."""
        start, stop, step = (self.operand(o) for o in (loop.start, loop.stop, loop.step))
        if start is None or stop is None or step is None:
            return None
        up = (start[0], min(max(stop[1] - 1, start[0]), start[1] + TRIPS * max(step[1], 0)))
        down = (max(min(stop[0] + 1, start[1]), start[0] + TRIPS * min(step[0], 0)), start[1])
        return up if step[0] >= 0 else down if step[1] <= 0 else hull([up, down])


def result_of(op: str, parts: list[Interval]) -> Interval:
    """Between which numbers Python's result of an operation on integers lies."""
    match op, parts:
        case "shape", _:
            return 0, EXTENT
        case _, [a] if _same(op):
            return a
        case "np.negative", [(low, high)]:
            return -high, -low
        case "np.absolute", [(low, high)]:
            return max(low, -high, 0), max(abs(low), abs(high))
        case "np.add", [a, b]:
            return _cut(a[0] + b[0], a[1] + b[1])
        case "np.subtract", [a, b]:
            return _cut(a[0] - b[1], a[1] - b[0])
        case "np.multiply", [a, b]:
            corners = [x * y for x, y in product(a, b)]
            return _cut(min(corners), max(corners))
        case ("max" | "np.maximum"), [a, b]:
            return max(a[0], b[0]), max(a[1], b[1])
        case ("min" | "np.minimum"), [a, b]:
            return min(a[0], b[0]), min(a[1], b[1])
        case "np.power", [a, b]:
            return _power(a, b)
        case "np.left_shift", [a, (low, high)]:
            return result_of("np.multiply", [a, (2 ** max(low, 0), 2 ** min(max(high, 0), 250))])
        case "np.right_shift", [(low, high), _]:
            return min(low, 0), max(high, 0)
        case "np.floor_divide", [(low, high), (by, most)] if by > 0:
            return min(low // by, low // most), max(high // by, high // most)
        case "np.floor_divide", [(low, high), _]:
            most = max(abs(low), abs(high))
            return -most, most
        case "np.remainder", [_, (by, most)]:
            return min(by + 1, 0), max(most - 1, 0)
        case "np.bitwise_and", [a, b] if a[0] >= 0 or b[0] >= 0:
            return 0, min(x[1] for x in (a, b) if x[0] >= 0)
    return -WORD, WORD - 1


def _same(op: str) -> bool:
    """Whether an operation gives its integer as it is."""
    return op == "int" or operation(op).signs == (1,) or operation(op).kind == "identity"


def _cut(low: int, high: int) -> Interval:
    return max(low, -LIMIT), min(high, LIMIT)


def _power(a: Interval, b: Interval) -> Interval:
    """Of whole exponents at least 0: others are refused while the program runs."""
    most, base = min(max(b[1], 0), 250), max(abs(a[0]), abs(a[1]))
    top = min(base**most, LIMIT)
    even = b[0] == b[1] and b[0] % 2 == 0
    return (0 if even or a[0] >= 0 else -top), max(top, 1)
