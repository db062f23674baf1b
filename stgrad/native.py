"""Numba's disk cache, in one checked file for each compiled overload.

Numba keeps an index file and numbered data files for a function. Two processes that save different overloads at the same time can
make the index of one point to the data of the other, and a damaged file raises while it is unpickled. Here an overload's file
is named by its key and holds a checksum and the key itself, so there is no index to race for, and what does not check is a miss.
"""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache
from numba.core.serialize import dumps

from stgrad.cache import read_bytes, unwritable, write_atomically

_SUM = hashlib.sha256().digest_size


class OverloadFiles:
    """Stores the native code of the overloads of one function; what `numba.core.caching.Cache` asks of its cache file."""

    def __init__(self, source: Path) -> None:
        self._source = source

    def _path(self, key: Any) -> Path:
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        return self._source.with_name(f"{self._source.stem}.{digest}.nbc")

    def save(self, key: Any, data: Any) -> None:
        payload = dumps((key, data))
        write_atomically(self._path(key), hashlib.sha256(payload).digest() + payload)

    def load(self, key: Any) -> Any | None:
        content = read_bytes(self._path(key)) or b""
        payload = content[_SUM:]
        if hashlib.sha256(payload).digest() != content[:_SUM]:
            return None
        saved_key, data = pickle.loads(payload)
        return data if saved_key == key else None

    def flush(self) -> None:
        for path in self._source.parent.glob(f"{self._source.stem}.*.nbc"):
            path.unlink(missing_ok=True)


class NativeCache(FunctionCache):  # type: ignore[misc]
    """The cache of a dispatcher whose function stands in a file of the cache directory."""

    def __init__(self, py_func: Any, source: Path) -> None:
        super().__init__(py_func)
        self._cache_path = str(source.parent)
        self._cache_file = OverloadFiles(source)

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:
            unwritable(error)


def keep(dispatcher: Any, source: Path) -> None:
    """Let a dispatcher find its native code on disk and keep it there, where that has its source."""
    try:
        dispatcher._cache = NativeCache(dispatcher.py_func, source)
    except (OSError, RuntimeError) as error:  # no file, or no folder that Numba can write to
        if source.exists():
            unwritable(OSError(str(error)))
