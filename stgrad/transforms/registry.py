"""The passes from the array-level program to the one that is compiled: their names in order, what each does, and whether it can be left out.

The pipeline, the command line, `without=` and the table in docs/how-it-works.md are made from this list; `pipeline` binds the functions.
"""

from __future__ import annotations

from typing import NamedTuple


class PassInfo(NamedTuple):
    """A pass: its name, what it does, whether `without=` may name it."""

    name: str
    summary: str
    optional: bool = True


REGISTRY = (
    PassInfo("records", "of a running maximum and its kin, the trip that made it is kept instead of all earlier values"),
    PassInfo("sweeps", "unites a loop of independent trips with its own reversal, so that nothing is stored"),
    PassInfo("small", "small local arrays become scalars"),
    PassInfo("states", "an array that a loop changes in place, and restores on the way back, becomes a block of states"),
    PassInfo("settle", "extents that always equal one of an argument take its symbol", optional=False),
    PassInfo("agree", "extents that the program itself requires to be equal are tested once, and are one from there on"),
    PassInfo("storage", "lists become preallocated arrays, or plain variables", optional=False),
    PassInfo("hoist", "outer products that a reversed loop adds to one matrix are done after it, as one matrix product"),
    PassInfo("casts", "scalar statements get NumPy's result types", optional=False),
    PassInfo("loops", "array statements become loops; its parts `copies`, `substitute`, `gather`, `fuse` and `contract` are optional", optional=False),
    PassInfo("invariants", "arithmetic that every trip of a loop repeats is done before it"),
    PassInfo("registers", "array elements that do not move with a loop are kept in a scalar"),
    PassInfo("columns", "local matrices that the deepest loops walk down are kept turned"),
    PassInfo("layouts", "matrices that inner loops walk down are turned before the outermost loop"),
    PassInfo("tables", "elementary functions of elements that an outer loop never changes are tabulated before it"),
    PassInfo("packed", "independent loops are written so that LLVM runs several trips at once"),
    PassInfo("growable", "stacks that are left become growable memory", optional=False),
    PassInfo("cleanup", "what `optimised` does, again", optional=False),
    PassInfo("accumulate", "local derivatives are multiplied up before the adjoint arrives"),
    PassInfo("foreign", "calls that Numba does not have go to Python", optional=False),
    PassInfo("slots", "arrays that a loop makes and keeps are written straight into the block that keeps them"),
    PassInfo("carried", "arrays that a loop carries, and keeps for the reversed loop, are slots of one block"),
    PassInfo("rotations", "iterations of a loop take their memory in turn, in place of new memory in each"),
    PassInfo("jam", "loops that add to the same elements again and again do four iterations at once"),
    PassInfo("tidy", "restored values get their old names back"),
    PassInfo("products", "matrix products in a loop use the same memory in every iteration"),
    PassInfo("pages", "large arrays of run-time extents get huge pages, and memory that is apart"),
)
PASSES = tuple(p.name for p in REGISTRY)


def table() -> str:
    """The passes as a table in Markdown.

    >>> print(table().splitlines()[2])
    | `records` | of a running maximum and its kin, the trip that made it is kept instead of all earlier values | yes |
    """
    rows = [f"| `{p.name}` | {p.summary} | {'yes ' if p.optional else ''}|" for p in REGISTRY]
    return "\n".join(["| pass | what it does | optional |", "|---|---|---|", *rows])
