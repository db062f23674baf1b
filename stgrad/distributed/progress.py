"""A progress bar of the blocks of an evaluation, in terminals."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from rich.progress import Progress

from stgrad.distributed.engines import Tell


@contextlib.contextmanager
def bar(count: int) -> Iterator[Tell]:
    """Shows how many of `count` blocks are done, 0 for an unknown number; call it with how many more are."""
    with Progress(transient=True) as progress:
        task = progress.add_task("shards", total=count or None)
        yield lambda done: progress.advance(task, done)
