"""The short form of a picture, for the result of a notebook cell: what the derivative is of, and its program, folded away."""

from __future__ import annotations

import html
import warnings
from typing import Any

from stgrad.errors import StgradError
from stgrad.explain.colours import coloured

_STYLE = """<style>.stgrad i{font-style:normal}.stgrad .k{color:#a04fd0}.stgrad .s{color:#3c8f40}.stgrad .n{color:#c2701c}.stgrad .c{color:#848c98}
.stgrad .d{color:#3a7bd5}
.stgrad pre{margin:6px 0 0;padding:8px 12px;border-left:3px solid #d99a00;max-height:420px;overflow:auto}.stgrad summary{cursor:pointer}</style>"""


def short(target: Any) -> str:
    """HTML for a derivative; its program is that for guessed types, where they can be guessed."""
    what = html.escape(repr(target).strip("<>").removeprefix("stgrad "))
    head = f"<b>∂ {html.escape(target.__name__)}</b> <span>{what}</span>"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = target.source()
    except StgradError:  # nothing tells the types, or these are not taken
        return f"<div class=stgrad>{head}</div>"
    lines = coloured(text.strip("\n").split("\n"))
    summary = f"<summary>its program, {len(lines)} lines (<code>.explain(...)</code> shows it beside yours)</summary>"
    body = "\n".join(lines)
    return f"{_STYLE}<div class=stgrad>{head}<details>{summary}<pre>{body}</pre></details></div>"

