"""Pictures of derivatives: which lines belong together, what is said of them, and that no text of users is taken for markup."""

from __future__ import annotations

import html
import json
import re
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import stgrad
from stgrad.cli import app
from stgrad.explain.primal import KINKS
from stgrad.rules import core


def rectified(z):
    return np.maximum(z, 0.0)


def loss(W, x, n):
    """Ends a </script> and <b>begins</b> a tag & more."""
    if n < 1:
        raise ValueError("no </script> and <b>no layer")
    h = x
    for _ in range(n):
        z = W @ h
        h = rectified(z) + 0.1 * np.tanh(z)
    scale = stgrad.stop_gradient(np.max(np.abs(h)))
    if h[0] > 0.5:
        h = h * 2.0
    return np.sum(
        h**2
    ) / scale


ARGS = (np.eye(3) * 0.3, np.ones(3), 4)


@pytest.fixture(scope="module")
def picture() -> Any:
    return stgrad.grad(loss).explain(*ARGS)


class Page(HTMLParser):
    """The lines of a page by their ids: classes, keys and text; and the tags that were opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.lines: dict[str, dict[str, Any]] = {}
        self.tags: list[str] = []
        self.here: dict[str, Any] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        found = dict(attrs)
        self.tags.append(tag)
        if tag == "div":
            self.here = None
            if found.get("role") == "option":
                self.here = self.lines[found["id"]] = {"keys": found["data-k"].split(), "class": found["class"], "text": ""}

    def handle_data(self, data: str) -> None:
        if self.here is not None:
            self.here["text"] += data


def line_of(page: Page, side: str, part: str) -> dict[str, Any]:
    """The first line of a side ('p', 'r' or 'w') that holds a text."""
    return next(line for name, line in page.lines.items() if name[0] == side and part in line["text"])


def test_lines_that_belong_together_share_a_key(picture: Any) -> None:
    page = Page(picture.html)
    (key,) = line_of(page, "p", "z = W @ h")["keys"]
    assert line_of(page, "r", "z = W @ h")["keys"] == [key]
    assert line_of(page, "r", "np.transpose(W) @ z_bar")["keys"] == [key]
    assert key in line_of(page, "w", "runtime.matmul(W, h_2")["keys"]


def test_helpers_have_headings_and_keys_of_their_own(picture: Any) -> None:
    assert [part.name for part in picture.picture.parts] == ["loss", "rectified"]
    page = Page(picture.html)
    (key,) = line_of(page, "p", "return np.maximum")["keys"]
    assert line_of(page, "r", "# grad of line")["keys"] != []
    adjoints = [line["text"] for name, line in page.lines.items() if name[0] == "r" and line["keys"] == [key]]
    assert any("z_bar += " in text for text in adjoints), adjoints


def test_a_statement_of_several_lines_lights_up_as_one(picture: Any) -> None:
    page = Page(picture.html)
    first, middle = line_of(page, "p", "return np.sum("), line_of(page, "p", "    h**2")
    assert set(first["keys"]) <= set(middle["keys"])
    assert set(first["keys"]) & set(line_of(page, "r", "h_bar = ")["keys"])


def test_says_what_is_kept_and_where_derivatives_bend_or_end(picture: Any) -> None:
    page = Page(picture.html)
    assert line_of(page, "p", "z = W @ h")["text"].endswith("192 B")  # z and z_bar: 3 numbers of 8 bytes in each of 4 steps
    assert "kink" in line_of(page, "p", "return np.maximum")["text"]
    assert "stop" in line_of(page, "p", "stop_gradient(")["text"]
    assert "branch" in line_of(page, "p", "if h[0] > 0.5")["text"]
    assert "kink" not in line_of(page, "p", "stop_gradient(")["text"], "no derivative comes there"
    assert line_of(page, "p", "z = W @ h")["class"] == "l act"
    assert line_of(page, "p", "scale = ")["class"] == "l"
    assert picture.summary.endswith("1 kink · 1 stop · 1 branch")


def test_shows_what_each_line_costs() -> None:
    def slow(x, n):
        y = x
        for _ in range(n):
            y = y - 0.1 * np.sin(y) * np.exp(-y)
        small = 3.0 * x
        return y * small

    measured = stgrad.profile(stgrad.grad(slow), 1.0, 20_000)
    shown = measured.explain()
    assert re.match(r"[\d.]+ .s a call · ", shown.summary)
    page = Page(shown.html)
    hot = line_of(page, "p", "y = y - 0.1")
    share = round(100 * max(cost.share(measured.lines) for cost in measured.lines))
    assert share > 50 and hot["text"].endswith(f"{share}%")
    assert "%" not in line_of(page, "p", "small = ")["text"]
    table = shown.html.index("<h3>Where the time goes")
    assert f"<tr data-k={hot['keys'][0]}>" in shown.html[table : shown.html.index("<tr data-k", table) + 20], "the line that takes most comes first"
    assert "Where the time goes" not in stgrad.grad(slow).explain(1.0, 20_000).html, "without a measurement there are no times"


def test_no_text_of_users_is_markup(picture: Any) -> None:
    page = Page(picture.html)
    assert page.tags.count("script") == 2  # the data, and the script of the template
    assert "</script> and <b>begins" in line_of(page, "p", "Ends a")["text"]
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', picture.html, re.S)
    assert data is not None
    assert "no </script> and <b>no layer" in json.dumps(json.loads(data[1])["stages"])


def test_needs_no_network(picture: Any) -> None:
    assert not re.search(r"""(src|href)=["']?(https?:|//)|@import|url\(""", picture.html)
    assert "default-src 'none'" in picture.html


def test_stages_can_be_put_together_from_their_differences(picture: Any) -> None:
    data = re.search(r'id="data">(.*?)</script>', picture.html, re.S)
    assert data is not None
    wanted = stgrad.grad(loss).stages(*ARGS)
    for stage in json.loads(data[1])["stages"]:
        text = "\n".join(line for tag, lines in stage["ops"] for line in lines if tag != "-")
        assert text == wanted[stage["name"]].strip("\n"), stage["name"]
        assert stage["what"], stage["name"]


def test_the_page_is_the_same_each_time(picture: Any) -> None:
    assert stgrad.grad(loss).explain(*ARGS).html == picture.html


@pytest.mark.parametrize("make", [stgrad.value_and_grad, stgrad.jit, lambda f: stgrad.grad(stgrad.grad(f))])
def test_other_derivatives(make: Any) -> None:
    def cubic(x):
        y = x * x
        return y * x

    found = make(cubic).explain(2.0)
    page = Page(found.html)
    (key,) = line_of(page, "p", "y = x * x")["keys"]
    assert any(key in line["keys"] for name, line in page.lines.items() if name[0] == "r")


def test_types_are_guessed_without_arguments() -> None:
    assert "carr" in stgrad.grad(rectified_sum).explain().summary


def rectified_sum(x):
    total = 0.0
    for i in range(len(x)):
        total += max(x[i], 0.0) ** 3
    return total


def test_saved_pages_and_notebooks(picture: Any, tmp_path: Path) -> None:
    path = picture.save(tmp_path / "page.html")
    assert path.read_text(encoding="utf-8") == picture.html
    frame = picture._repr_html_()
    assert html.unescape(re.search('srcdoc="(.*)">', frame, re.S)[1]) == picture.html  # type: ignore[index]


def test_the_short_form_of_a_gradient() -> None:
    short = stgrad.grad(rectified_sum)._repr_html_()
    assert "gradient of rectified_sum(x) with respect to x" in short
    assert "x_bar" in short
    assert "<script" not in short


def test_the_short_form_where_types_cannot_be_guessed() -> None:
    short = stgrad.grad(lambda params: params["w"] * 2.0)._repr_html_()
    assert "details" not in short
    assert "with respect to params" in short


def test_kinks_are_operations_that_there_are() -> None:
    assert set(core.TABLE) >= KINKS


def test_the_template_is_part_of_the_package() -> None:
    """Setuptools is told of it: `pyproject.toml` is what wheel and sdist are made from."""
    assert resources.files("stgrad.explain").joinpath("template.html").is_file()
    root = Path(stgrad.__file__).parent.parent / "pyproject.toml"
    if root.exists():
        assert '"stgrad.explain" = ["template.html"]' in root.read_text()


def test_the_command_line(tmp_path: Path) -> None:
    model = tmp_path / "model_explained.py"
    model.write_text("import numpy as np\n\ndef total(x):\n    return np.sum(np.sin(x))\n")
    found = CliRunner().invoke(app, ["explain", f"{model}:total", "--args", "np.ones(3)", "-o", str(tmp_path / "page.html")])
    assert found.exit_code == 0, found.output
    assert "nothing is kept for the way back" in found.output
    assert "np.cos(x)" in re.sub("<[^>]*>", "", (tmp_path / "page.html").read_text())
    found = CliRunner().invoke(app, ["explain", f"{model}:total", "--args", "np.ones(3)", "--profile", "-o", str(tmp_path / "page.html")])
    assert re.match(r"wrote .*page.html: [\d.]+ .s a call · ", found.output)
    assert "Where the time goes" in (tmp_path / "page.html").read_text()
    found = CliRunner().invoke(app, ["explain", f"{model}:total", "--profile", "--mode", "forward"])
    assert "--profile: not with --mode forward" in found.output + str(found.exception)


def searched(x):
    total = 0.0
    for i in range(len(x)):
        total += np.lexsort((x, x * x))[i] * x[i]
    return total


def test_a_loop_that_leaves_native_code_is_marked() -> None:
    page = Page(stgrad.grad(searched).explain(np.arange(3.0)).html)
    assert "↗ python" in line_of(page, "p", "total += np.lexsort")["text"]
