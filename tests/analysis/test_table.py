"""The page on the compiler lists every analysis, by the first line of its module."""

from __future__ import annotations

import ast
from pathlib import Path

import stgrad.analysis

FOLDER = Path(stgrad.analysis.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "how-it-works.md"


def test_each_analysis_is_on_the_page() -> None:
    rows = []
    for path in sorted(FOLDER.glob("[a-z]*.py")):
        told = ast.get_docstring(ast.parse(path.read_text())) or ""
        rows.append(f"| `{path.stem}` | {told.splitlines()[0].rstrip('.:')} |")
    assert "\n".join(rows) in PAGE.read_text()
