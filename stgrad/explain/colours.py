"""Python text as HTML: one string for each line, escaped, with the kinds of tokens marked."""

from __future__ import annotations

import html
import io
import keyword
import token
import tokenize
from collections.abc import Iterator, Sequence

_KINDS = {tokenize.COMMENT: "c", tokenize.STRING: "s", tokenize.NUMBER: "n"}
_KINDS.update({kind: "s" for name in ("FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END") if (kind := getattr(token, name, None)) is not None})


def coloured(lines: Sequence[str]) -> list[str]:
    """The lines of a program as HTML.

    >>> coloured(["x = 1 < y  # </script>"])
    ['x = <i class=n>1</i> &lt; y  <i class=c># &lt;/script&gt;</i>']
    """
    spans: list[list[tuple[int, int, str]]] = [[] for _ in lines]
    for row, start, end, kind in _spans(lines):
        if row < len(lines):
            spans[row].append((start, end, kind))
    return [_line(text, found) for text, found in zip(lines, spans, strict=True)]


def _line(text: str, spans: Sequence[tuple[int, int, str]]) -> str:
    out, at = "", 0
    for start, end, kind in spans:
        if start < at:  # inside an f-string that is marked as a whole
            continue
        out += html.escape(text[at:start]) + f"<i class={kind}>{html.escape(text[start:end])}</i>"
        at = end
    return out + html.escape(text[at:])


def _spans(lines: Sequence[str]) -> Iterator[tuple[int, int, int, str]]:
    """Row, first and last column and kind of each token that is marked."""
    before = ""
    try:
        for found in tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline):
            kind = _KINDS.get(found.type, "")
            if found.type == tokenize.NAME:
                kind = "k" if keyword.iskeyword(found.string) else "d" if before == "def" else ""
            if kind:
                (first, start), (last, end) = found.start, found.end
                for row in range(first, last + 1):
                    yield row - 1, start if row == first else 0, end if row == last else len(lines[row - 1]), kind
            before = found.string
    except (tokenize.TokenError, SyntaxError):  # a piece of a program: what follows stays plain
        return
