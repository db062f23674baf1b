"""The site of the documentation as it is built: it asks no other server for anything, and its search works from the disk. Skipped without MkDocs."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
CHROMIUM = next((path for name in ("chromium", "chromium-browser", "google-chrome", "chrome") if (path := shutil.which(name))), None)
FLAGS = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-dev-shm-usage --virtual-time-budget=9000".split()
SEARCH = """<script>setTimeout(() => {
  const box = document.querySelector("[data-md-component=search-query]");
  box.focus();
  box.value = "checkpoint";
  box.dispatchEvent(new KeyboardEvent("keyup", {key: "t", bubbles: true}));
  box.dispatchEvent(new Event("input", {bubbles: true}));
}, 2500);</script></body>"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in ("mkdocs", "material", "mkdocstrings"):
        pytest.importorskip(name)
    folder = tmp_path_factory.mktemp("site")
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)], cwd=ROOT, check=True, timeout=300)
    return folder


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    loaded = [tag for page in pages for tag in re.findall(r"<(?:script|img|link|iframe)\b[^>]*>", page.read_text(encoding="utf-8"))]
    assert [tag for tag in loaded if re.search(r'(?:src|href)="?(?:https?:)?//', tag) and "canonical" not in tag] == []


def hooks() -> Any:
    spec = importlib.util.spec_from_file_location("site_hooks", ROOT / "docs" / "assets" / "hooks.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def found(name: str) -> Any:
    """What a name in a program stands for."""
    parts = name.replace("np.", "numpy.", 1).split(".") if name.startswith("np.") else name.split(".")
    for count in range(len(parts) - 1, 0, -1):
        try:
            return functools.reduce(getattr, parts[count:], importlib.import_module(".".join(parts[:count])))
        except ImportError:
            continue
    raise AssertionError(name)


def test_functions_that_are_listed_exist() -> None:
    listed = {name: kind for kinds in hooks().functions().values() for kind, names in kinds.items() for name in names}
    assert all(callable(found(name)) or isinstance(found(name), type) for name in listed)
    assert len(listed) > 800
    assert listed["np.linalg.cholesky"] == listed["scipy.special.gammaln"] == "Differentiated"
    assert (listed["np.argmax"], listed["itertools.accumulate"]) == ("Constant", "Read")
    assert not {"np.load", "np.loadtxt", "io.open", "builtins.input"} & listed.keys()


def test_pages_that_are_made_of_the_code(site: Path) -> None:
    functions = (site / "functions.html").read_text(encoding="utf-8")
    assert all(f"<code>{name}</code>" in functions for name in ("np.cumsum", "math.erf", "scipy.stats.norm.logpdf", "sorted"))
    assert "First version." in (site / "changelog.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["index.html", "tutorials/index.html"])
def test_search_works_from_the_disk(site: Path, name: str, tmp_path: Path) -> None:
    if CHROMIUM is None:
        pytest.skip("needs Chromium")
    page = (site / name).with_name("searched.html")
    page.write_text((site / name).read_text(encoding="utf-8").replace("</body>", SEARCH), encoding="utf-8")
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page.as_uri()]
    seen = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    found = re.search(r"(\d+) matching documents", seen)
    assert found is not None and int(found[1]) >= 3
