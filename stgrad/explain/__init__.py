"""A picture of a derivative: the user's program on the left, the program of its derivative on the right, and which lines belong together.

`explain(target, args, kwargs)` compiles nothing for the machine and runs nothing: all of it is read off the programs of the compiler's stages.
Times are added by those who measured them (`Explanation.measured`).
The page is one file that needs no network; `template.html` is its form, `page` fills it in.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stgrad import source as sources
from stgrad.analysis.leaving import calls_in_loops
from stgrad.explain.derived import Row, rows_of
from stgrad.explain.page import Picture, page, summary
from stgrad.explain.primal import Facts, Part, Place, facts_of, parts_of, place_of
from stgrad.explain.sizes import names_of, total
from stgrad.ir import Function, walk
from stgrad.line_costs import Times
from stgrad.memory import Kept, memory_report
from stgrad.request import function_name
from stgrad.stage_texts import readable_of, texts_of

if TYPE_CHECKING:
    from stgrad.program import Compiled


@dataclass(frozen=True)
class Explanation:
    """What a derivative is made of: `html` is the page, `save(path)` writes it; a notebook shows it in place."""

    picture: Picture

    @cached_property
    def html(self) -> str:
        """The whole page."""
        return page(self.picture)

    @property
    def summary(self) -> str:
        """What it shows, in a line."""
        return summary(self.picture)

    def measured(self, times: Times) -> Explanation:
        """The same with what each line costs."""
        return Explanation(replace(self.picture, times=times))

    def save(self, path: str | Path) -> Path:
        """Write the page to a file; its path is returned."""
        found = Path(path)
        found.write_text(self.html, encoding="utf-8")
        return found

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that its styles and those of a notebook do not meet."""
        style = "width:100%;height:640px;border:1px solid #8884;border-radius:8px"
        return f'<iframe title="{html.escape(self.picture.title)}" style="{style}" srcdoc="{html.escape(self.html)}"></iframe>'

    def __repr__(self) -> str:
        return f"<stgrad explanation of {self.picture.title}: {len(self.picture.readable)} lines; .save(path) writes the page>"


def explain(target: Any, compiled: Compiled, arguments: Mapping[str, Any]) -> Explanation:
    """The picture of a derivative.

    Args:
        target: what `grad` or one of its neighbours returned.
        compiled: its program, with all stages kept.
        arguments: example arguments by name, for sizes in bytes; none where types were guessed.
    """
    stages = compiled.trace.stages
    read = stages.get("activity", stages["anf"])
    report = memory_report(stages["optimised"], stages["specialised"]).kept
    first = _first_place(target)
    parts = parts_of(first, _places(read))
    facts = facts_of(read, compiled.trace.activity, report)
    for loc, call in calls_in_loops(compiled.function):
        if loc is not None:
            facts.setdefault(place_of(loc), Facts()).mark("python", f"each trip of a loop calls Python for `{call}`, which takes microseconds")
    picture = Picture(
        title=target.__name__,
        what=repr(target).strip("<>").removeprefix("stgrad "),
        parts=parts,
        facts=facts,
        readable=[row for fn in readable_of(compiled) for row in rows_of(fn, target.options)],
        lowered=[row for part in (compiled, compiled.then) if part is not None for row in rows_of(part.function, target.options)],
        kept=[(row, total(row, names_of(arguments))) for row in report],
        stages=texts_of(target.derivative, compiled.trace, target.options),
        name=function_name(target.derivative),
    )
    return Explanation(picture)


def _first_place(target: Any) -> Place:
    """Where the user's function begins."""
    function = target.derivative.function
    while hasattr(function, "derivative"):
        function = function.derivative.function
    found = sources.load(sources.unwrap(function).function)
    return found.file, found.first_line


def _places(fn: Function) -> list[Place]:
    return list(dict.fromkeys(place_of(s.loc) for s in walk(fn.body) if s.loc is not None))


__all__ = ["Explanation", "Facts", "Kept", "Part", "Picture", "Row", "explain"]
