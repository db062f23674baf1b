"""The cache directory: names, atomic writes, damage, concurrent processes, clearing."""

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stgrad import cache

ROOT = Path(__file__).parents[1]
TEXT = "def f(x):\n    return x + 1.0\n"


@pytest.fixture(autouse=True)
def cache_dir(tmp_path, monkeypatch):
    monkeypatch.setenv("STGRAD_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def python(code, *, cwd=ROOT, wait=True, **env):
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if not wait:
        return process
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.strip()


def test_same_text_same_path(cache_dir):
    path = cache.write_source(TEXT, "f")
    assert path.parent == cache_dir and path.name.startswith("f_") and path.read_text() == TEXT
    before = path.stat().st_mtime_ns
    assert cache.write_source(TEXT, "f") == path
    assert path.stat().st_mtime_ns == before


def test_text_and_options_change_the_path():
    paths = {cache.write_source(TEXT, "f"), cache.write_source(TEXT + "\n", "f"), cache.write_source(TEXT, "f", "parallel")}
    assert len(paths) == 3


@pytest.mark.parametrize("position", range(len(cache.fingerprint())))
def test_every_version_changes_the_key(monkeypatch, position):
    before = cache.key(TEXT)
    changed = list(cache.fingerprint())
    changed[position] += "x"
    monkeypatch.setattr(cache, "fingerprint", lambda: tuple(changed))
    assert cache.key(TEXT) != before


@pytest.mark.parametrize("damage", [b"", TEXT[:9].encode(), b"\0" * len(TEXT)])
def test_damaged_file_is_rewritten(damage):
    path = cache.write_source(TEXT, "f")
    path.write_bytes(damage)
    assert cache.write_source(TEXT, "f").read_text() == TEXT


def test_failing_write_leaves_nothing(monkeypatch, cache_dir):
    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    monkeypatch.setattr(cache, "_told", [])
    with pytest.warns(cache.CacheWarning, match="disk full"):
        cache.write_source(TEXT, "f")
    cache.write_source(TEXT, "f")  # once is enough
    assert list(cache_dir.iterdir()) == []


def test_kill_during_write_leaves_no_half_file(cache_dir):
    code = (
        "import os, time\n"
        "from stgrad import cache\n"
        "os.replace = lambda *_: (print('written', flush=True), time.sleep(60))\n"
        f"cache.write_source({TEXT!r}, 'f')\n"
    )
    process = python(code, wait=False)
    assert process.stdout.readline() == "written\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert cache.cache_info().sources == 0 and cache.cache_info().strays == 1
    assert cache.write_source(TEXT, "f").read_text() == TEXT
    assert cache.clear_cache() == 2 and list(cache_dir.iterdir()) == []


def test_clear_cache_keeps_other_files(cache_dir):
    path = cache.write_source(TEXT, "f")
    (cache_dir / "notes.py").write_text("mine")
    (cache_dir / "f_0123.py").write_text("mine")
    assert cache.cache_info() == cache.CacheInfo(cache_dir, 1, 0, 0, 0, len(TEXT))
    assert cache.clear_cache() == 1
    assert not path.exists() and len(list(cache_dir.iterdir())) == 2


def test_directory_from_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("STGRAD_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache.directory() == tmp_path / "xdg" / "stgrad"


def test_unusable_directory_gives_a_private_temporary_one(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("STGRAD_CACHE_DIR", str(tmp_path / "file" / "below"))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    path = cache.directory()
    assert path.parent == tmp_path and stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="POSIX permissions")
def test_shared_temporary_directory_is_not_trusted(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    shared = tmp_path / f"stgrad-{os.getuid()}"
    shared.mkdir()
    shared.chmod(0o777)
    assert cache._temporary() != shared


def test_eight_processes_at_once(cache_dir):
    code = (
        "import sys\n"
        "from stgrad.loader import load\n"
        f"text = {TEXT!r}\n"
        "sys.stdin.readline()\n"
        "print(load(text, 'f')(1.0), load(text, 'f')(1))\n"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code], cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(8)
    ]
    time.sleep(0.1)
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        out, err = process.communicate(timeout=200)
        assert (out, process.returncode) == ("2.0 2.0\n", 0), err
    info = cache.cache_info()
    assert (info.sources, info.natives, info.strays) == (1, 2, 0)
