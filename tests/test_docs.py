"""The code in README.md and docs/ runs and prints what stands there; links lead somewhere.

`STGRAD_UPDATE_DOCS=1 pytest tests/test_docs.py` writes the outputs anew.
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import os
import pydoc
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from documents import PICTURE, STYLE, Page, updated

import stgrad
from stgrad import errors, testing
from stgrad.interop import scipy

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TUTORIALS = [path for path in PAGES if path.parent.name == "tutorials" and path.stem != "index"]
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
    monkeypatch.delenv("STGRAD_MODE")
    page = Page(path, tmp_path)
    with figures_look_alike():
        found = updated(page)
    if UPDATE:
        path.write_text(found)
    assert found == path.read_text(), "the output is another one now; look at it, then STGRAD_UPDATE_DOCS=1"
    for kept, made in page.pictures():
        if UPDATE:
            shutil.copyfile(made, kept)
        assert kept.exists() and difference(kept, made) < 0.02, f"{kept.name} is another picture now; look at it, then STGRAD_UPDATE_DOCS=1"


@contextlib.contextmanager
def figures_look_alike() -> Iterator[None]:
    """The pictures of all pages in one style, which is legible on light and dark pages."""
    if importlib.util.find_spec("matplotlib") is None:
        yield
        return
    from matplotlib import pyplot, style

    with style.context(STYLE):
        yield
    pyplot.close("all")


def difference(kept: Path, made: Path) -> float:
    """How far two pictures are apart, between 0 and 1: releases of a plotting library draw letters a little differently."""
    from matplotlib.image import imread

    one, other = imread(kept), imread(made)
    return 1.0 if one.shape != other.shape else float(np.mean(np.abs(one - other)))


def test_tutorials_make_their_pictures() -> None:
    for path in TUTORIALS:
        shown, text = PICTURE.findall(path.read_text()), path.read_text()
        assert shown == [f"{path.stem}.png"] and f'savefig("{path.stem}.png")' in text, path.name
        assert (path.parent / shown[0]).stat().st_size < 80_000
        assert f"({path.name})" in (path.parent / "index.md").read_text(), f"the gallery does not show {path.name}"


def test_the_reference_has_every_public_name() -> None:
    listed = set(re.findall(r"^::: (\S+)$", (ROOT / "docs" / "reference.md").read_text(), re.M))
    wanted = {f"stgrad.{name}" for name in stgrad.__all__} | {f"stgrad.testing.{name}" for name in testing.__all__ if name.startswith("check")}
    own = [name for name, value in vars(scipy).items() if inspect.isfunction(value) and value.__module__ == scipy.__name__]
    wanted |= {f"stgrad.interop.scipy.{name}" for name in own if not name.startswith("_")}
    assert wanted <= listed, sorted(wanted - listed)
    assert all(pydoc.locate(name) for name in listed)


def test_every_page_is_in_the_table_of_the_site() -> None:
    named = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text()))
    assert named == {path.relative_to(ROOT / "docs").as_posix() for path in PAGES[1:]}


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
