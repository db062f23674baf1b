"""The documentation, as `stgrad help TOPIC` shows it: pages and their sections by name.

The pages are those of `docs/` and the folders in it: beside the package in a checkout, in it (`stgrad/docs`) where it was installed. The reference names
objects of the package (`::: stgrad.grad`); their signatures and docstrings are put in for them.
"""

from __future__ import annotations

import difflib
import inspect
import pydoc
import re
from collections.abc import Iterator
from pathlib import Path

_HEADING = re.compile(r"^(#+) (.*)$")
_FENCE = re.compile(r"^(```|~~~)")
_OBJECT = re.compile(r"^::: (\S+)$", re.M)
_MARKUP = re.compile(r"^</?div[^>]*>\n+|</?p[^>]*>", re.M)
_COMMENT = re.compile(r"<!--.*?-->\n*", re.S)
FIRST = ("limits", "api", "cli")  # pages whose sections are looked at first: errors point to the first one


def folder() -> Path:
    """Where the pages are."""
    own = Path(__file__).parent
    return next((place for place in (own / "docs", own.parent / "docs") if place.is_dir()), own / "docs")


def pages() -> dict[str, str]:
    """Name and text of each page: `limits`, `tutorials/kalman_filter`; the first page of a folder has the folder's name."""
    found = {path.relative_to(folder()).with_suffix("").as_posix(): path for path in sorted(folder().rglob("*.md"))}
    return {name.removesuffix("/index"): path.read_text(encoding="utf-8") for name, path in found.items()}


def anchor(heading: str) -> str:
    """A heading as links name it.

    >>> anchor("Plain Python: `jit=False`")
    'plain-python-jitfalse'
    """
    return re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-")


def headings(text: str) -> Iterator[tuple[int, int, str]]:
    """Line, depth and words of each heading; comments in code are none."""
    inside = False
    for number, line in enumerate(text.splitlines()):
        inside ^= bool(_FENCE.match(line))
        found = None if inside else _HEADING.match(line)
        if found:
            yield number, len(found[1]), found[2]


def section(text: str, name: str) -> str | None:
    """The section of a page with this anchor, down to the next heading that is no part of it."""
    found = list(headings(text))
    for place, (first, depth, words) in enumerate(found):
        if anchor(words) == name:
            last = next((line for line, other, _ in found[place + 1 :] if other <= depth), None)
            return "\n".join(text.splitlines()[first:last]).rstrip() + "\n"
    return None


def look_up(topic: str) -> str | None:
    """The text about a topic: the name of a page, of a section (`cli#build`, `indices`), or of a function; None where there is none.

    >>> (look_up("limits#indices") or "").splitlines()[0].lstrip("# ")
    'Indices'
    """
    known = pages()
    page, _, part = topic.partition("#")
    page = page.removeprefix("docs/").removesuffix(".md")
    page = next((name for name in known if name.endswith(f"/{page}")), page)
    if page in known:
        return _plain((section(known[page], part) if part else known[page]) or "") or None
    wish = anchor(topic.removeprefix("stgrad."))
    names = sorted(known, key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name))
    found = [section(known[name], wish) for name in names] + [_naming(known[name], wish) for name in names]
    return next((_plain(text) for text in found if text is not None), None)


def _naming(text: str, word: str) -> str | None:
    """The first section with a word in its heading."""
    found = next((anchor(words) for _, _, words in headings(text) if word in anchor(words).split("-")), None)
    return None if found is None else section(text, found)


def _plain(text: str) -> str:
    return _OBJECT.sub(lambda found: _documented(found[1]), _MARKUP.sub("", _COMMENT.sub("", text)))


def _documented(name: str) -> str:
    """A public object as the reference shows it."""
    found = pydoc.locate(name)
    try:
        signature = str(inspect.signature(found)) if callable(found) else ""
    except ValueError:
        signature = ""
    return f"### {name}\n\n    {name.rpartition('.')[2]}{signature}\n\n{inspect.getdoc(found) or ''}\n"


def contents() -> str:
    """The pages and their sections, as a list."""
    lines = []
    for name, text in pages().items():
        found = list(headings(text))
        parts = ", ".join(anchor(words) for _, depth, words in found if depth == 2)
        lines.append(f"- **{name}**: {found[0][2] if found else name}" + (f" ({parts})" if parts else ""))
    return "\n".join(lines) + "\n"


def close_to(topic: str) -> list[str]:
    """Names like one that is not there."""
    known = pages()
    names = [*known, *(anchor(words) for text in known.values() for _, _, words in headings(text))]
    wish = anchor(topic)
    return list(dict.fromkeys([*(name for name in names if len(wish) > 3 and wish in name), *difflib.get_close_matches(wish, names, 3)]))[:4]
