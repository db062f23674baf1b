"""The passes from the array-level program to the one that is compiled: names in order, what each does, what it relies on, whether it can be left out.

The pipeline, the command line, `without=` and the table in docs/how-it-works.md are made from this list; `pipeline` binds the functions.

A pass `requires` facts that hold of the program before it, `establishes` some, and `destroys` some; `FACTS` says what each means. An order of passes
is legal where each finds what it requires, which `check` tells; without it, a pass has nothing to do, or is wrong. What it only profits from (that others
have simplified before) is no requirement: the order of the list is the one that was found to be fastest, and any legal one gives the same results.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stgrad.errors import InternalError

FACTS = {
    "arrays": "statements work on whole arrays, as the function did",
    "lists": "values that the reverse sweep needs are pushed on lists",
    "settled": "extents that always equal one of an argument have its symbol",
    "placed": "lists of which the length is known are arrays",
    "typed": "scalar statements have NumPy's result types",
    "loops": "array statements are loops over elements",
    "fresh": "what an operation gives is new memory, or a view that its name tells of",
    "requests": "new memory is asked for by `np.empty` where it is used",
    "apart": "no iteration of a loop uses memory of another",
    "library": "calls stand under the names of NumPy and SciPy",
    "native": "every call is one that Numba compiles",
    "precision": "elementary functions may still be the vectorised ones",
}
START = frozenset({"arrays", "lists", "fresh", "requests", "apart", "library", "precision"})  # hold of the program that differentiation gives
END = frozenset({"loops", "placed", "typed", "native"})  # of the one that is compiled


@dataclass(frozen=True)
class PassInfo:
    """A pass: its name, what it does, and its contract.

    Attributes:
        requires, establishes, destroys: names of `FACTS`, with spaces between.
        optional: whether `without=` may name it.
        asked: the option that asks for it; '' for one that always runs.
        spares: facts that it destroys unless a later pass requires them.
    """

    name: str
    summary: str
    requires: str = ""
    establishes: str = ""
    destroys: str = ""
    optional: bool = True
    asked: str = ""
    spares: str = ""


REGISTRY = (
    PassInfo("expand", "operations that Numba lacks are written with others", "arrays"),
    PassInfo("countdown", "what a `while` loop counts is counted down in its reversal, and not kept", "lists"),
    PassInfo("records", "of a running maximum and its kin, the trip that made it is kept instead of all earlier values", "lists"),
    PassInfo("sweeps", "unites a loop of independent trips with its own reversal, so that nothing is stored", "lists fresh"),
    PassInfo("small", "small local arrays become scalars", "arrays"),
    PassInfo("motion", "array operations, and costly ones of numbers, that every trip of a loop repeats are done before it", "arrays fresh"),
    PassInfo("states", "an array that a loop changes in place, and restores on the way back, becomes a block of states", "arrays lists fresh"),
    PassInfo("settle", "extents that always equal one of an argument take its symbol", "arrays", "settled", optional=False),
    PassInfo("agree", "extents that the program itself requires to be equal are tested once, and are one from there on", "arrays settled"),
    PassInfo("storage", "lists become preallocated arrays, or plain variables", "lists settled", "placed", "lists", optional=False),
    PassInfo("hoist", "outer products that a reversed loop adds to one matrix are done after it, as one matrix product", "arrays placed fresh"),
    PassInfo("casts", "scalar statements get NumPy's result types", "arrays", "typed", optional=False),
    PassInfo("loops", "array statements become loops; its parts `copies`, `substitute`, `gather`, `fuse` and `contract` are optional",
             "arrays settled placed typed fresh library", "loops", "arrays", optional=False),
    PassInfo("invariants", "arithmetic that every trip of a loop repeats is done before it", "loops", destroys="apart", spares="apart"),
    PassInfo("registers", "array elements that do not move with a loop are kept in a scalar", "loops"),
    PassInfo("neighbours", "elements around the counter of a loop stay in scalars as it goes along", "loops"),
    PassInfo("columns", "local matrices that the deepest loops walk down are kept turned", "loops requests"),
    PassInfo("layouts", "matrices that inner loops walk down are turned before the outermost loop", "loops", destroys="apart"),
    PassInfo("tables", "elementary functions of elements that an outer loop never changes are tabulated before it", "loops"),
    PassInfo("hits", "what adds nothing where a cotangent is zero is left out there", "loops"),
    PassInfo("masked", "products that are guarded against `0 * inf` test one of their factors", "loops"),
    PassInfo("reciprocals", "quotients of the derivative by one number are products with its reciprocal", "loops"),
    PassInfo("packed", "independent loops are written so that LLVM runs several trips at once", "loops precision"),
    PassInfo("growable", "stacks that are left become growable memory", "placed", optional=False),
    PassInfo("cleanup", "what `optimised` does, again", optional=False),
    PassInfo("accumulate", "local derivatives are multiplied up before the adjoint arrives", "loops"),
    PassInfo("foreign", "calls that Numba does not have go to Python", "loops", "native", "library", optional=False),
    PassInfo("slots", "arrays that a loop makes and keeps are written straight into the block that keeps them", "loops requests", destroys="apart fresh"),
    PassInfo("carried", "arrays that a loop carries, and keeps for the reversed loop, are slots of one block", "loops requests", destroys="apart fresh"),
    PassInfo("rotations", "iterations of a loop take their memory in turn, in place of new memory in each", "loops requests", destroys="apart"),
    PassInfo("jam", "loops that add to the same elements again and again do four iterations at once", "loops", destroys="apart"),
    PassInfo("tidy", "restored values get their old names back"),
    PassInfo("products", "matrix products in a loop use the same memory in every iteration", "loops native requests", destroys="apart fresh", spares="apart"),
    PassInfo("pages", "large arrays of run-time extents get huge pages, and memory that is apart", "loops", destroys="requests"),
    PassInfo("libm", "elementary functions are those of the C library", "loops", destroys="precision", asked="precise"),
    PassInfo("parallel", "independent loops run on threads", "loops native apart", asked="parallel"),
)  # fmt: skip
PASSES = tuple(p.name for p in REGISTRY if not p.asked)


def facts(text: str) -> frozenset[str]:
    """The facts that a contract names.

    Raises InternalError for one that `FACTS` does not have.
    """
    found = frozenset(text.split())
    if not found <= FACTS.keys():
        raise InternalError(f"a pass speaks of {', '.join(sorted(found - FACTS.keys()))}, which is no fact")
    return found


def after(known: frozenset[str], info: PassInfo) -> frozenset[str]:
    """What holds behind a pass of what was known before it."""
    return known - facts(info.destroys) | facts(info.establishes)


def check(order: Iterable[PassInfo]) -> None:
    """See that each pass finds what it requires, and that the last one leaves a program that can be compiled.

    Raises:
        InternalError: the order is not legal; the message names the pass, the fact, and who destroyed it.

    >>> check(REGISTRY[:2])
    Traceback (most recent call last):
    stgrad.errors.InternalError: no pass of expand, countdown establishes `loops`: array statements are loops over elements
    ...
    """
    known = START
    done: list[str] = []
    gone: dict[str, str] = {}
    for info in order:
        for fact in sorted(facts(info.requires) - known):
            why = f"`{gone[fact]}` destroyed that" if fact in gone else "no pass before it establishes that"
            raise InternalError(f"the pass `{info.name}` requires `{fact}` ({FACTS[fact]}), and {why}")
        gone |= dict.fromkeys(facts(info.destroys), info.name)
        known = after(known, info)
        done.append(info.name)
    for fact in sorted(END - known):
        raise InternalError(f"no pass of {', '.join(done)} establishes `{fact}`: {FACTS[fact]}")


def sparing(order: Iterable[PassInfo]) -> dict[PassInfo, frozenset[str]]:
    """The passes of an order that stay, each with the facts that it must spare: what a pass that was asked for requires is not destroyed before it."""
    kept: dict[PassInfo, frozenset[str]] = {}
    wanted: frozenset[str] = frozenset()
    for info in reversed(list(order)):
        lost = facts(info.destroys) & wanted
        if info.optional and not info.asked and lost - facts(info.spares):
            continue
        kept[info] = lost
        wanted |= facts(info.requires) if info.asked else frozenset()
    return dict(reversed(kept.items()))


def table() -> str:
    """The passes as a table in Markdown.

    >>> print(table().splitlines()[2])
    | `expand` | operations that Numba lacks are written with others | arrays | | | yes |
    """
    head = ("pass", "what it does", "requires", "establishes", "destroys", "optional")
    return "\n".join([_row(head), "|---|---|---|---|---|---|", *(_row(_cells(p)) for p in REGISTRY if not p.asked)])


def _cells(info: PassInfo) -> tuple[str, ...]:
    contract = (", ".join(text.split()) for text in (info.requires, info.establishes, info.destroys))
    return f"`{info.name}`", info.summary, *contract, "yes" if info.optional else ""


def _row(cells: Iterable[str]) -> str:
    return "".join(f"| {cell} " if cell else "| " for cell in cells) + "|"


def facts_table() -> str:
    """The facts of the contracts as a list in Markdown."""
    return "\n".join(f"- **{name}**: {meaning}{' (from the start)' if name in START else ''}" for name, meaning in FACTS.items())
