"""What the site does to a page before it is made.

A block that shows what the block before printed gets a look of its own; pages that are alone in their tab have no list of pages beside them. The list of
functions is made of the tables that the compiler asks, and the changelog is the file of that name.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

_OUTPUT = re.compile(r"^<!-- output -->\n+```(\w+)$", re.M)


_ALONE = ("index.md", "reference.md")


_MODULES = {"numpy": "np", "_operator": "operator", "_heapq": "heapq", "_bisect": "bisect", "_functools": "functools", "_warnings": "warnings"}
_INNER = re.compile(r"\.(_\w+|RandomState|mtrand|RandomState\.\w+)(?=\.)")  # modules and classes under which nobody asks for a function
_GROUPS = {
    "NumPy": ("np",), "NumPy: linear algebra": ("np.linalg",), "NumPy: transforms": ("np.fft",), "NumPy: random numbers": ("np.random",),
    "NumPy: polynomials and others": ("np.*",), "Numbers": ("math", "cmath", "statistics", "operator"),
    "SciPy: special functions": ("scipy.special",), "SciPy: linear algebra": ("scipy.linalg",), "SciPy: transforms": ("scipy.fft", "scipy.fftpack"),
    "SciPy: distributions": ("scipy.stats.*",), "SciPy: others": ("scipy.*",),
    "Python": ("builtins", "itertools", "functools", "collections", "heapq", "bisect"),
}  # fmt: skip


def functions() -> dict[str, dict[str, list[str]]]:
    """The functions that stgrad knows by name: by group, what is differentiated, constant and read."""
    from stgrad import frontend  # noqa: F401  (it fills the tables)
    from stgrad.frontend.builtins import HANDLERS
    from stgrad.frontend.library import LIBRARY
    from stgrad.rules import core

    for module in list(core.LATE):
        if importlib.util.find_spec(module.split(".")[0]) is not None:
            importlib.import_module(module)
            core.LATE.pop(module)()
    kinds = {_said(name): "Constant" if rule.kind == "nondiff" else "Differentiated" for name, rule in core.TABLE.items()}
    refused = {function for function, handler in HANDLERS.items() if handler.__qualname__.startswith("_refused.")}
    for function in {*LIBRARY, *HANDLERS} - refused:
        kinds.setdefault(_said(f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}"), "Read")
    found: dict[str, dict[str, list[str]]] = {title: defaultdict(list) for title in _GROUPS}
    for name, kind in sorted(kinds.items()):
        module = name.rpartition(".")[0]
        exact = next((title for title, modules in _GROUPS.items() if module in modules), None)
        title = exact or next((t for t, modules in _GROUPS.items() if any(m[-1] == "*" and name.startswith(m[:-1]) for m in modules)), None)
        if title is not None and "<" not in name and not re.search(r"\._[a-z]", name):
            found[title][kind].append(name)
    return found


def _said(name: str) -> str:
    """A name as it is written in programs."""
    first, dot, rest = _INNER.sub("", name).partition(".")
    return _MODULES.get(first, first) + dot + rest


def _listed() -> str:
    lines = []
    for title, kinds in functions().items():
        lines += [f"## {title}", ""]
        for kind in ("Differentiated", "Read", "Constant"):
            if kinds[kind]:
                lines += [f"*{kind}*: " + ", ".join(f"`{name.removeprefix('builtins.')}`" for name in kinds[kind]), ""]
    return "\n".join(lines)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    if page.file.src_uri in _ALONE:
        page.meta["hide"] = ["navigation"]
    if page.file.src_uri == "functions.md":
        markdown = markdown.replace("<!-- functions -->", _listed())
    if page.file.src_uri == "changelog.md":
        markdown = (Path(__file__).parents[2] / "CHANGELOG.md").read_text(encoding="utf-8")
    return _OUTPUT.sub(r"``` { .\1 .output }", markdown)
