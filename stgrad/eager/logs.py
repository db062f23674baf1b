"""The logger of the eager API, and warnings that are given only the first few times."""

from __future__ import annotations

import logging
from collections import Counter
from typing import Any

logger = logging.getLogger("stgrad")
_given: Counter[str] = Counter()


def warn_first(message: str, times: int, *args: Any) -> None:
    """Log a warning, at most so many times for the same text."""
    _given[message] += 1
    if _given[message] <= times:
        logger.warning(message, *args)
