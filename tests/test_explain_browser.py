"""The page in a browser: pointing, clicking, keys, views, stages, search, light and dark; no error on the console and no request.

A script at the end of the page does what a user does and writes down what it sees; Chromium prints the page after it. Skipped without Chromium.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from typing import Any

import pytest
from test_explain import ARGS, loss

import stgrad

CHROMIUM = next((path for name in ("chromium", "chromium-browser", "google-chrome", "chrome") if (path := shutil.which(name))), None)
FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update
--disable-sync --disable-dev-shm-usage --window-size=1300,800 --virtual-time-budget=4000""".split()

DRIVER = """{
const seen = {}, errors = [];
window.addEventListener("error", event => errors.push(String(event.message)));
document.addEventListener("securitypolicyviolation", event => errors.push(event.violatedDirective));
const find = (pane, text) => [...document.querySelectorAll(`#${pane} .l`)].find(line => line.textContent.includes(text));
const texts = name => [...document.querySelectorAll(`main .${name}`)].filter(line => line.offsetParent)
  .map(line => line.querySelector("code").textContent.trim());
const press = key =>
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
const type = text => { const box = document.getElementById("find"); box.value = text; box.dispatchEvent(new Event("input")); };
const matmul = find("left", "z = W @ h");

matmul.dispatchEvent(new MouseEvent("mouseover", {bubbles: true}));
seen.pointed = texts("lit");
seen.about = document.getElementById("about").textContent;
document.getElementById("left").dispatchEvent(new MouseEvent("mouseleave"));
seen.left = texts("lit");

matmul.click();
find("left", "h = h * 2.0").dispatchEvent(new MouseEvent("mouseover", {bubbles: true}));
seen.held = texts("sel");
press("Escape");
seen.released = texts("sel");

find("readable", "h_bar * 2.0").click();
seen.back = texts("lit");
document.getElementById("right").focus();
press("Escape");
press("ArrowUp");
seen.up = texts("sel");
press("ArrowLeft");
seen.across = [document.activeElement.id, ...texts("sel")];
press("ArrowDown"); press("Enter"); press("Escape");
seen.let_go = texts("sel");

document.querySelector("[data-view=lowered]").click();
seen.lowered = [!!document.getElementById("lowered").offsetParent, !!document.getElementById("readable").offsetParent];
document.querySelector("[data-view=stages]").click();
[...document.querySelectorAll("#list button")].find(button => button.textContent.startsWith("storage")).click();
seen.stage = [document.querySelector("#diff > p").textContent, texts("plus").length > 0, texts("minus").length > 0];
[...document.querySelectorAll("#list button")].find(button => button.textContent.startsWith("storage")).focus();
press("ArrowDown");
seen.next_stage = document.activeElement.textContent.startsWith("hoist");

document.querySelector("[data-view='']").click();
press("/");
seen.searching = document.activeElement.id;
type("NP.TANH(");
seen.hits = [texts("hit"), document.getElementById("count").textContent];
press("Enter");
seen.first_hit = document.getElementById("count").textContent;
press("Escape");
seen.cleared = [texts("hit").length, document.getElementById("find").value];

const before = getComputedStyle(document.body).backgroundColor;
document.getElementById("theme").click();
seen.painted = before !== getComputedStyle(document.body).backgroundColor;
seen.overflow = document.documentElement.scrollWidth > window.innerWidth;
const result = document.createElement("pre"); result.id = "result";
result.textContent = JSON.stringify({seen, errors, resources: performance.getEntriesByType("resource").length});
document.body.append(result);
}"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    if CHROMIUM is None:
        pytest.skip("needs Chromium")
    folder = tmp_path_factory.mktemp("browser")
    page = stgrad.grad(loss).explain(*ARGS).html.replace("</body>", f"<script>{DRIVER}</script></body>")
    (folder / "page.html").write_text(page, encoding="utf-8")
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'profile'}", "--dump-dom", (folder / "page.html").as_uri()]
    out = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    result = re.search('<pre id="result">(.*?)</pre>', out, re.S)
    assert result is not None, out[-2000:]
    return json.loads(html.unescape(result[1]))


def test_no_errors_and_no_requests(found: dict[str, Any]) -> None:
    assert found["errors"] == []
    assert found["resources"] == 0


def test_pointing_lights_up_the_other_side(found: dict[str, Any]) -> None:
    seen = found["seen"]
    assert {"z = W @ h", "h_bar = np.transpose(W) @ z_bar"} <= set(seen["pointed"])
    assert "z carries a derivative" in seen["about"]
    assert "keeps z_stack" in seen["about"]
    assert seen["left"] == []


def test_a_click_holds_a_line_and_escape_lets_go(found: dict[str, Any]) -> None:
    assert found["seen"]["held"] == ["z = W @ h"]
    assert found["seen"]["released"] == []


def test_the_derivative_lights_up_the_source(found: dict[str, Any]) -> None:
    assert "h = h * 2.0" in found["seen"]["back"]


def test_keys_move_over_lines_and_sides(found: dict[str, Any]) -> None:
    seen = found["seen"]
    assert re.fullmatch(r"# grad of line \d+: h = h \* 2.0", seen["up"][0])
    assert seen["across"] == ["left", "h = h * 2.0"]
    assert seen["let_go"] == []


def test_views_and_stages(found: dict[str, Any]) -> None:
    seen = found["seen"]
    assert seen["lowered"] == [True, False]
    assert seen["stage"] == ["lists become preallocated arrays, or plain variables", True, True]
    assert seen["next_stage"] is True


def test_search(found: dict[str, Any]) -> None:
    seen = found["seen"]
    assert seen["searching"] == "find"
    assert len(seen["hits"][0]) == int(seen["hits"][1]) == 3
    assert seen["first_hit"] == "1/3"
    assert seen["cleared"] == [0, ""]


def test_light_and_dark_and_no_overflow(found: dict[str, Any]) -> None:
    assert found["seen"]["painted"] is True
    assert found["seen"]["overflow"] is False


