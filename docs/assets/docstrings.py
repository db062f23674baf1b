"""Docstrings on their way to the reference: doctests become blocks of code, and every section has a name that Griffe knows."""

from __future__ import annotations

import inspect
import re
from typing import Any

import griffe

_DOCTEST = re.compile(r"^>>> .*(?:\n.+)*", re.M)
_CONDITION = re.compile(r"^(Args|Returns|Raises) \(.*\):$", re.M)


class Docstrings(griffe.Extension):
    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            text = _CONDITION.sub(r"\1:", inspect.cleandoc(obj.docstring.value))
            obj.docstring.value = _DOCTEST.sub(lambda found: f"```pycon\n{found[0]}\n```".replace("  # doctest: +SKIP", ""), text)
