"""Generated source lives in real files: where they are, how they are named, written and removed.

A file is `<directory>/<name>_<key>.py`, where the key hashes its text and everything else that the native code depends on
(versions, CPU, the runtime's own source). So a file is never out of date, only unused. Beside it lie the files of native
code, `<name>_<key>.<overload>.nbc` (see `native`), and the programs that another process need not generate, `<name>_<key>.json` (see
`program_cache`). All writes go through `write_atomically`: a reader sees the old content or the new, never half of it, and a process
that is killed leaves at most a stray `*.tmp` file behind. Where nothing can be written (a full disk, a folder without permission) programs run all
the same, from memory; one `CacheWarning` in a process says so.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import stat
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

FORMAT = 1  # raised when the layout of the files changes
_OURS = re.compile(r"\w+_[0-9a-f]{16}(\.py|\.json|\.[0-9a-f]{16}\.nbc|\.[\w-]+\.pyc)(\.\w+\.tmp)?")


class CacheWarning(UserWarning):
    """Generated code cannot be kept on disk: it is made again in each process."""


@dataclass(frozen=True)
class CacheInfo:
    """What the cache holds. `strays` are remains of killed processes."""

    directory: Path
    sources: int
    programs: int
    natives: int
    strays: int
    size: int  # bytes


def directory() -> Path:
    """The cache directory; it exists and is writable, if anything is.

    `STGRAD_CACHE_DIR` if set, else the user's cache directory, else one below the system's temporary directory that belongs to
    this user alone (native code is loaded from it).
    """
    wish = os.environ.get("STGRAD_CACHE_DIR")
    return _usable(Path(wish).expanduser().absolute() if wish else _user_cache() / "stgrad")


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    wish = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if wish.is_absolute():
        return wish
    try:
        return Path.home() / ".cache"
    except RuntimeError:  # no home directory
        return Path(os.devnull)


@cache
def _usable(wish: Path) -> Path:
    try:
        wish.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=wish).close()
        return wish
    except OSError:
        with contextlib.suppress(OSError):
            return _temporary()
    return wish  # nothing can be written anywhere: each attempt fails, and is no harm


def _temporary() -> Path:
    uid = os.getuid() if hasattr(os, "getuid") else 0
    path = Path(tempfile.gettempdir()) / f"stgrad-{uid}"
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    info = path.lstat()
    private = stat.S_ISDIR(info.st_mode) and not (hasattr(os, "getuid") and (info.st_uid != uid or info.st_mode & 0o022))
    return path if private else Path(tempfile.mkdtemp(prefix="stgrad-"))


def unwritable(error: OSError) -> None:
    """Say once in a process that nothing is kept on disk, and why."""
    if not _told:
        _told.append(error)
        warnings.warn(f"stgrad keeps nothing on disk, it compiles anew in each process: {error}", CacheWarning, stacklevel=2)


_told: list[OSError] = []


def key(text: str, options: str = "") -> str:
    """16 hex digits that change with the text, the options and all that native code depends on."""
    content = "\0".join((*fingerprint(), options, text))
    return hashlib.sha256(content.encode()).hexdigest()[:16]


@cache
def fingerprint() -> tuple[str, ...]:
    """Everything besides the text that native code depends on."""
    import llvmlite.binding
    import numba

    return (
        str(FORMAT),
        str(getattr(sys.modules["stgrad"], "__version__", "")),
        _runtime_digest(),
        numba.__version__,
        llvmlite.__version__,
        np.__version__,
        platform.python_implementation() + platform.python_version(),
        llvmlite.binding.get_default_triple(),
        llvmlite.binding.get_host_cpu_name(),
        llvmlite.binding.get_host_cpu_features().flatten(),
        f"bounds {numba.config.BOUNDSCHECK}",  # NUMBA_BOUNDSCHECK has the last word, whatever is asked for
    )


def _runtime_digest() -> str:
    """Of the runtime's source: its helpers are compiled into the code of their callers."""
    digest = hashlib.sha256()
    for path in sorted((Path(__file__).parent / "runtime").glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def write_source(text: str, name: str, options: str = "") -> Path:
    """Write the text to its file, unless it stands there already, and return the path; where that fails, there is no file."""
    path = directory() / f"{name}_{key(text, options)}.py"
    content = text.encode()
    if read_bytes(path) != content:
        try:
            write_atomically(path, content)
        except OSError as error:
            unwritable(error)
    return path


def read_bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def write_atomically(path: Path, content: bytes) -> None:
    """Replace the file in one step; concurrent writers of equal content do no harm."""
    handle, temporary = tempfile.mkstemp(prefix=path.name + ".", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        try:
            os.replace(temporary, path)
        except PermissionError:  # Windows: another process reads the file, which has this very content
            if read_bytes(path) != content:
                raise
            os.unlink(temporary)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _files() -> Iterator[Path]:
    return (path for path in directory().glob("**/*") if _OURS.fullmatch(path.name))


def cache_info() -> CacheInfo:
    """Count what the cache directory holds."""
    counts = {".py": 0, ".json": 0, ".nbc": 0, ".tmp": 0, ".pyc": 0}
    size = 0
    for path in _files():
        with contextlib.suppress(FileNotFoundError):
            size += path.stat().st_size
            counts[path.suffix] += 1
    return CacheInfo(directory(), counts[".py"], counts[".json"], counts[".nbc"], counts[".tmp"], size)


def clear_cache() -> int:
    """Remove every file that stgrad wrote to the cache directory, and no other; return their number."""
    removed = 0
    for path in list(_files()):
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
            removed += 1
    return removed
