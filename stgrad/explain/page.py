"""A picture as one HTML page: `template.html` with its holes filled.

All text of users is escaped: by `html.escape` in the body, and in the data for the script by writing `<`, `>` and `&` as `\\u003c`, `\\u003e` and
`\\u0026`, so that no text can end the script or begin a tag.
"""

from __future__ import annotations

import difflib
import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import PurePath
from typing import Any

from stgrad.explain.colours import coloured
from stgrad.explain.derived import Row
from stgrad.explain.primal import Facts, Part, Place
from stgrad.explain.sizes import spoken
from stgrad.explain.times import chip, sentence, table
from stgrad.line_costs import Times, duration
from stgrad.memory import Kept
from stgrad.transforms.registry import REGISTRY

_FIRST = {
    "desugar": "the function as it is read: calls of methods, comprehensions and the like in simple terms",
    "anf": "what it means for these types: one operation for each line",
    "activity": "which of the variables carry derivatives",
    "reverse": "the program with its adjoint: a forward sweep that keeps values, and a sweep back",
    "forward": "the program with its tangents",
    "series": "the program of power series",
    "optimised": "the same, shorter: the readable form",
    "specialised": "what runs",
}
_SIGNS = {"kink": "∧", "stop": "⊘", "step": "⌐", "branch": "◇", "python": "↗"}


@dataclass(frozen=True)
class Picture:
    """What a page shows, as data."""

    title: str
    what: str
    name: str
    parts: Sequence[Part]
    facts: Mapping[Place, Facts]
    readable: Sequence[Row]
    lowered: Sequence[Row]
    kept: Sequence[tuple[Kept, int | None]]
    stages: Mapping[str, str]
    times: Times | None = None


def page(picture: Picture) -> str:
    """The page."""
    numbers = {place: i for i, place in enumerate(_places(picture))}
    holes = {
        "title": html.escape(picture.title),
        "what": html.escape(picture.what),
        "summary": html.escape(summary(picture)),
        "primal": "".join(_part(part, picture, numbers) for part in picture.parts),
        "readable": _program(picture.readable, numbers, "r"),
        "lowered": _program(picture.lowered, numbers, "w"),
        "times": table(picture.times, numbers),
        "kept": _table(picture, numbers),
        "data": _data(picture, numbers),
    }
    template = resources.files("stgrad.explain").joinpath("template.html").read_text(encoding="utf-8")
    return re.sub(r"@@(\w+)@@", lambda hole: holes[hole[1]], template)


def _places(picture: Picture) -> Iterator[Place]:
    """Every place that is shown, each once, in order."""
    seen: dict[Place, None] = {}
    for part in picture.parts:
        seen.update({(part.file, line): None for line, _ in part.lines})
    yield from seen


# --------------------------------------------------------------------------- the two sides


def _part(part: Part, picture: Picture, numbers: Mapping[Place, int]) -> str:
    """A function of the user under its heading."""
    codes = coloured([text for _, text in part.lines])
    rows = [_primal_row(part, line, code, picture, numbers) for (line, _), code in zip(part.lines, codes, strict=True)]
    place = f"{PurePath(part.file).name}:{part.lines[0][0]}" if part.lines else part.file
    heading = f"<h3>{html.escape(part.name)}<small>{html.escape(place)}</small></h3>"
    return f"{heading}<div class=code>{''.join(rows)}</div>"


def _primal_row(part: Part, line: int, code: str, picture: Picture, numbers: Mapping[Place, int]) -> str:
    begin = part.owner.get(line, line)
    keys = dict.fromkeys(numbers[place] for place in ((part.file, line), (part.file, begin)) if place in numbers)
    facts = picture.facts.get((part.file, line), Facts())
    moves = " act" if facts.moves else ""
    return _row(f"p{numbers[part.file, line]}", line, code, " ".join(map(str, keys)), _chips(facts, picture) + chip((part.file, line), picture.times), moves)


def _row(name: str, number: int, code: str, keys: str, chips: str = "", more: str = "") -> str:
    """A line: its number, its text, what is said of it at its end."""
    return (
        f'<div class="l{more}" role=option id={name} data-k="{keys}"><b>{number}</b><code>{code or " "}</code>'
        f"{f'<span class=chips>{chips}</span>' if chips else ''}</div>"
    )


def _chips(facts: Facts, picture: Picture) -> str:
    """What is kept of a line and where its derivative ends or bends, at the end of the line."""
    said = "".join(f'<em class={kind} title="{html.escape(text)}">{_SIGNS[kind]} {kind}</em>' for kind, text in facts.marks)
    sizes = {id(row): size for row, size in picture.kept}
    known = [sizes.get(id(row)) for row in facts.kept]
    if known:
        text = "kept" if None in known else spoken(sum(size for size in known if size is not None))
        said += f'<em class=mem title="{html.escape(chr(10).join(map(_sentence, facts.kept)))}">{text}</em>'
    return said


def _amount(row: Kept) -> str:
    """How much is kept in all, as an expression."""
    return " × ".join([row.bytes_per_step.replace(" * ", " × "), *[f"({row.steps})" if " " in row.steps else row.steps] * (row.steps != "1")])


def _sentence(row: Kept) -> str:
    return f"keeps {row.name.lstrip('_')} for the way back: {row.place} of {row.dtype}, {row.bytes_per_step} bytes in each of {row.steps} steps"


def _program(rows: Sequence[Row], numbers: Mapping[Place, int], prefix: str) -> str:
    """The lines of a derivative's program."""
    out = []
    for i, (row, code) in enumerate(zip(rows, coloured([row.text for row in rows]), strict=True)):
        shown = [place for place in row.places if place in numbers]
        chip = f"<a>{' '.join(str(line) for _, line in shown[:3])}</a>" if shown else ""
        out.append(_row(f"{prefix}{i}", i + 1, code, " ".join(str(numbers[place]) for place in shown), chip))
    return "".join(out)


# --------------------------------------------------------------------------- what is said of it as a whole


def summary(picture: Picture) -> str:
    """How much carries the derivative, what is kept, and where there are kinks, in a line."""
    marks = [kind for facts in picture.facts.values() for kind, _ in facts.marks]
    moving = sum(facts.moves for facts in picture.facts.values())
    known = [size for _, size in picture.kept if size is not None]
    parts = [f"{moving} line{'s' * (moving != 1)} carr{'y' if moving != 1 else 'ies'} the derivative"]
    if not picture.kept:
        parts.append("nothing is kept for the way back")
    else:
        more = " and more" if len(known) < len(picture.kept) else ""
        parts.append(f"keeps {spoken(sum(known))}{more}" if known else f"keeps {len(picture.kept)} variables")
    words = {"kink": ("kink", "kinks"), "stop": ("stop", "stops"), "step": ("step", "steps"), "branch": ("branch", "branches")}
    words["python"] = ("call of Python", "calls of Python")
    if picture.times is not None:
        parts.insert(0, f"{duration(picture.times.call)} a call")
    parts += [f"{count} {words[kind][count > 1]}" for kind in words if (count := marks.count(kind))]
    return " · ".join(parts)


def _table(picture: Picture, numbers: Mapping[Place, int]) -> str:
    """What is kept, as a table."""
    if not picture.kept:
        return "<p>Nothing.</p>"
    head = "".join(f"<th>{name}" for name in ("name", "line", "where", "bytes", "in all"))
    rows = []
    for row, size in picture.kept:
        key = numbers.get((row.file, row.line or 0))
        cells = (row.name.lstrip("_"), row.line or "", f"{row.place}, {row.dtype}", _amount(row), "" if size is None else spoken(size))
        rows.append(f"<tr{'' if key is None else f' data-k={key}'}>" + "".join(f"<td>{html.escape(str(cell))}" for cell in cells))
    return f"<div class=wide><table><tr>{head}{''.join(rows)}</table></div>"


# --------------------------------------------------------------------------- data of the script


def _data(picture: Picture, numbers: Mapping[Place, int]) -> str:
    """What the script needs, as JSON that holds no markup."""
    spent = {} if picture.times is None else {(cost.file, cost.line): sentence(cost) for cost in picture.times.costs}
    about = {key: _about(picture.facts.get(place, Facts()), spent.get(place, "")) for place, key in numbers.items() if place in picture.facts or place in spent}
    text = json.dumps({"about": about, "stages": list(_stages(picture.stages))}, ensure_ascii=False, separators=(",", ":"))
    escapes = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
    return re.sub("[<>&\u2028\u2029]", lambda found: escapes[found[0]], text)


def _about(facts: Facts, spent: str) -> dict[str, Any]:
    return {
        "spent": [spent] if spent else [],
        "active": facts.active,
        "kept": [_sentence(row) for row in facts.kept],
        "marks": [[_SIGNS[kind], text] for kind, text in facts.marks],
    }


def _stages(stages: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Each stage as its difference from the one before: lines that stay, as a number, and lines that go or come."""
    summaries = _FIRST | {info.name: info.summary for info in REGISTRY}
    before: list[str] = []
    for name, text in stages.items():
        lines = text.strip("\n").split("\n")
        base = [] if name == "anf" else before  # a language of its own: a difference from Python text says nothing
        yield {"name": name, "what": summaries.get(name, ""), "same": lines == base, "ops": _operations(base, lines)}
        before = lines if name != "activity" else before


def _operations(before: list[str], after: list[str]) -> list[list[Any]]:
    out: list[list[Any]] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            out.append(["=", after[c:d]])
        else:
            out += [["-", before[a:b]]] * (b > a) + [["+", after[c:d]]] * (d > c)
    return out
