"""What the site does to a page before it is made.

A block that shows what the block before printed gets a look of its own; pages that are alone in their tab have no list of pages beside them.
"""

from __future__ import annotations

import re
from typing import Any

_OUTPUT = re.compile(r"^<!-- output -->\n+```(\w+)$", re.M)


_ALONE = ("index.md", "reference.md")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    if page.file.src_uri in _ALONE:
        page.meta["hide"] = ["navigation"]
    return _OUTPUT.sub(r"``` { .\1 .output }", markdown)
