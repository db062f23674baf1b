"""Name scopes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_scopes: list[str] = []


@contextmanager
def name_scope(name: str) -> Iterator[str]:
    """Names begin with this one and a slash inside the block."""
    _scopes.append(name)
    try:
        yield "/".join(_scopes) + "/"
    finally:
        _scopes.pop()


def scoped(name: str) -> str:
    """A name under the scopes that are open."""
    return "/".join([*_scopes, name])
