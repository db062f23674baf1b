"""The code in README.md and docs/ runs and prints what stands there; links lead somewhere.

`STGRAD_UPDATE_DOCS=1 pytest tests/test_docs.py` writes the outputs anew.
"""

from __future__ import annotations

import inspect
import os
import re
from pathlib import Path

import pytest
from documents import Page, updated

from stgrad import errors

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
UPDATE = os.environ.get("STGRAD_UPDATE_DOCS", "") not in ("", "0")
LINK = re.compile(r"\[[^\]]*\]\((?!https?:)([^)#\s]*)(?:#([\w-]+))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.M)


def names(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", PAGES, ids=names)
def test_code_runs_and_prints_what_is_shown(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("STGRAD_PLAIN", "1")  # as a reader has it
    found = updated(Page(path, tmp_path))
    if UPDATE:
        path.write_text(found)
    assert found == path.read_text(), "the output is another one now; look at it, then STGRAD_UPDATE_DOCS=1"


@pytest.mark.parametrize("path", PAGES, ids=names)
def test_links_lead_somewhere(path: Path) -> None:
    for target, anchor in LINK.findall(path.read_text()):
        page = (path.parent / target).resolve() if target else path
        assert page.exists(), f"{path.name} links to {target}"
        if anchor and page.suffix == ".md":
            assert anchor in anchors(page), f"{path.name} links to {target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """The headings of a page as its links name them."""
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in HEADING.findall(page.read_text())}


def test_every_error_has_its_place_in_the_limits() -> None:
    kinds = [c for c in vars(errors).values() if inspect.isclass(c) and issubclass(c, errors.StgradError)]
    wanted = {kind.anchor for kind in kinds if kind.anchor}
    assert wanted <= anchors(ROOT / errors.LIMITS_PAGE)
