"""Which arrays may share memory: views, and classes of names that may be views of one another.

Classes do not know the order of statements: names of different classes never share memory (arguments that are written are copied on entry, or the
call is refused).
"""

from __future__ import annotations

from stgrad.analysis.manager import kept
from stgrad.ir import Function, assigns, walk
from stgrad.ir.memory import Classes as Classes
from stgrad.ir.memory import OwnClasses as OwnClasses
from stgrad.ir.ops import may_view as may_view
from stgrad.ir.ops import sources as sources
from stgrad.ir.ops import viewed as viewed


def views_of(name: str, fn: Function) -> set[str]:
    """The name and all that may be views of it, or of its views."""
    derived = {name}
    while more := {t for s in walk(fn.body) if viewed(s, fn.types) in derived for t in assigns(s)} - derived:
        derived |= more
    return derived


@kept
def sharing(fn: Function) -> Classes:
    """The classes of a program."""
    return Classes(fn.body, fn.types)


@kept
def aliases(fn: Function) -> Classes:
    """The classes of a program whose memory is placed: what an operation may take over counts, too."""
    return Classes(fn.body, fn.types, moved=True)
