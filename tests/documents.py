"""Runs the code of a Markdown page and compares what it shows.

A ```` ```python ```` block runs, in the namespace of its page. What stands in a comment right before a block says more:

    <!-- output -->         the block is what the block before printed
    <!-- raises -->         the block raises a StgradError; its message is the block's output
    <!-- file: name.py -->  the block is written to a file beside the page's code
    <!-- needs: name -->    the block runs where the package is installed, and what it prints is held there
    <!-- shown: once -->    the block does not run: its output differs from machine to machine

A ```` ```console ```` block holds commands, each after `$ `, and what they print. Each block is a virtual file: `example_1.py`, `example_2.py`...
A picture that a page saves and shows is compared with the one that is kept beside the page.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import linecache
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stgrad.errors import StgradError

STYLE = Path(__file__).parent / "figures.mplstyle"
PICTURE = re.compile(r"!\[[^\]]*\]\(([\w.-]+\.png)\)")
BLOCK = re.compile(r"(?:^<!-- (?P<mark>\w+)(?:: (?P<name>\S+))? -->\n+)?^```(?P<kind>\w+)\n(?P<code>.*?)^```$", re.M | re.S)


@dataclass
class Page:
    """Runs the blocks of one page in order; `folder` is where its files go, and the current directory."""

    path: Path
    folder: Path

    def __post_init__(self) -> None:
        self.count = 0
        self.names: dict[str, Any] = {"__name__": "example"}

    def blocks(self) -> Iterator[tuple[re.Match[str], str]]:
        """Every block that shows output, and the output it should show."""
        printed, missing = "", False
        for block in BLOCK.finditer(self.path.read_text()):
            mark, kind, code = block["mark"], block["kind"], block["code"]
            if mark == "output" and not missing:
                yield block, printed.rstrip("\n") + "\n"
            elif mark == "output":
                missing = False
            elif mark == "file":
                (self.folder / block["name"]).write_text(code)
            elif mark == "shown":
                continue
            elif mark == "needs" and importlib.util.find_spec(block["name"]) is None:
                missing = True
            elif kind == "python":
                printed = self.run(code, raises=mark == "raises")
            elif kind == "console":
                yield block, "\n".join(self.command(line[2:]) for line in code.splitlines() if line.startswith("$ "))

    def run(self, code: str, *, raises: bool) -> str:
        """What a block prints, or the message of what it raises."""
        self.count += 1
        name = f"example_{self.count}.py"
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out):
                exec(compile(code, name, "exec", dont_inherit=True), self.names)
        except StgradError as error:
            if not raises:
                raise
            return f"{type(error).__name__}: {error}\n"
        assert not raises, f"{self.path}: this block should raise an error:\n{code}"
        return out.getvalue()

    def pictures(self) -> Iterator[tuple[Path, Path]]:
        """Each picture that the code made and the page shows: where it is kept, and the new one."""
        for name in dict.fromkeys(PICTURE.findall(self.path.read_text())):
            if (self.folder / name).exists():
                yield self.path.parent / name, self.folder / name

    def command(self, line: str) -> str:
        """A command and what it prints; `stgrad` runs as the module of this interpreter."""
        words = shlex.split(line)
        words[:1] = [sys.executable, "-m", "stgrad"] if words[0] == "stgrad" else words[:1]
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, check=False)
        return f"$ {line}\n{done.stdout}{done.stderr}"


def updated(page: Page) -> str:
    """The text of the page with the output that its code prints now."""
    text, shift = page.path.read_text(), 0
    for block, output in page.blocks():
        start, end = (at + shift for at in block.span("code"))
        text = text[:start] + output + text[end:]
        shift += len(output) - (end - start)
    return text
