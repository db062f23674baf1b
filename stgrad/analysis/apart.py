"""Arrays that must share no memory: what a program that is read in place, or a deep copy, takes for granted.

    def f(a, b):                   g = grad(f)(x, y)      the derivative works on a copy of what f writes to, so that b stays as it is:
        a[0] = 2 * b[0]                                   right where x and y are apart
        return np.sum(a * b)       p, q = deepcopy([x, y])   two copies; one, where x and y are one array

Each asks for a pair of names. Where both come from arguments of the program, the call is asked (an array that is passed twice is known only then);
where they may be one memory inside of the program, it is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stgrad.analysis.alias import Classes, sharing
from stgrad.errors import AliasingError
from stgrad.frontend.identities import Apart
from stgrad.ir import Function, Loc, stored


def written_parameters(fn: Function) -> frozenset[str]:
    """Arrays among the parameters that a program writes to, by any name."""
    names = stored(fn.body)
    if not names:
        return frozenset()
    classes = sharing(fn)
    changed = {classes.find(n) for n in names}
    return frozenset(p.name for p in fn.params if fn.types[p.name].array and classes.find(p.name) in changed)


def of_copies(fn: Function, loc: Loc | None = None) -> Iterator[Apart]:
    """What a derivative asks for: it copies the parameters that the program writes to; a pair of one says that."""
    arrays = [p.name for p in fn.params if fn.types[p.name].array]
    return (Apart(a, b, loc) for a in arrays if a in fn.written for b in arrays if not (b in fn.written and b < a))


def asked(fn: Function, pairs: Iterable[Apart]) -> tuple[Apart, ...]:
    """The pairs of parameters that must be apart.

    Raises AliasingError where two names may be one memory inside of the program.
    """
    pairs = tuple(pairs)
    if not pairs:
        return ()
    classes = sharing(fn)
    changed = {classes.find(n) for n in stored(fn.body)}
    found: dict[tuple[str, str], Apart] = {}
    for pair in pairs:
        if pair.copies and not any(classes.find(c) in changed for c in pair.copies):
            continue
        if pair.left == pair.right:
            found.update({(a, a): Apart(a, a, pair.loc) for a in _parameters(fn, classes, pair.left)})
            continue
        if pair.one or classes.same(pair.left, pair.right):
            raise refused(pair)
        for a in _parameters(fn, classes, pair.left):
            for b in _parameters(fn, classes, pair.right):
                found.setdefault((a, b), Apart(a, b, pair.loc))
    return tuple(found.values())


def refused(pair: Apart) -> AliasingError:
    """What is said of two names that may be one memory."""
    if pair.one:
        what, reason = "a function that calls itself returns an array that it is given, and one of both is written to", "its result is compiled as a copy"
        hint = "return a copy of it"
    elif pair.copies:
        what, reason, hint = "two arrays that are copied may share memory", "their copies are written to, and share none", "copy each of the arrays before"
    else:
        what, reason = "a function that writes to an argument is differentiated, and its arguments may share memory", "its derivative works on a copy"
        hint = "pass a copy of one of them"
    return AliasingError(what, pair.loc, reason=reason, hint=hint)


def _parameters(fn: Function, classes: Classes, name: str) -> Iterator[str]:
    return (p.name for p in fn.params if fn.types[p.name].array and classes.same(p.name, name))


__all__ = ["asked", "of_copies", "refused", "written_parameters"]
