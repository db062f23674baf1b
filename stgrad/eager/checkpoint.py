"""`tf.train.Checkpoint`: the values of an object's variables in an archive of arrays, to be put back into an object of the same form.

Variables are named by the path of attributes, keys and places that leads to them. There is nothing else in the file, and nothing runs.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from stgrad.eager.errors import NotFoundError
from stgrad.eager.variable import Variable

_SUFFIX = ".npz"


class Checkpoint:
    """Objects whose variables are saved and restored together: `Checkpoint(model=model, optimizer=optimizer)`."""

    def __init__(self, root: Any = None, **kwargs: Any) -> None:
        self._objects = {**({"root": root} if root is not None else {}), **kwargs}
        vars(self).update(kwargs)
        self.save_counter = Variable(0, trainable=False, dtype="int64", name="save_counter")
        self._waiting: dict[str, Any] = {}

    def write(self, file_prefix: Any, options: Any = None) -> str:
        """Write the values to `<file_prefix>.npz`; the prefix."""
        return self._write(str(file_prefix))

    def save(self, file_prefix: Any, options: Any = None) -> str:
        """Write the values under a prefix with the number of this save, and note it as the latest."""
        self.save_counter.assign_add(1)
        prefix = f"{file_prefix}-{int(self.save_counter.numpy())}"
        self._write(prefix)
        folder = Path(prefix).parent
        _replace(folder / "checkpoint", f'model_checkpoint_path: "{Path(prefix).name}"\n'.encode())
        return prefix

    def _write(self, prefix: str) -> str:
        import io

        buffer = io.BytesIO()
        np.savez(buffer, **{name: np.asarray(variable._a) for name, variable in self._variables()})
        place = Path(prefix + _SUFFIX)
        place.parent.mkdir(parents=True, exist_ok=True)
        _replace(place, buffer.getvalue())
        return prefix

    def restore(self, save_path: Any, options: Any = None) -> Status:
        """Assign the values of a file to the variables; what is made later takes its value from `Status.assert_consumed` on."""
        if save_path is None:
            return Status(self, {})
        found = _read(str(save_path))
        for name, variable in self._variables():
            if name in found:
                variable.assign(found.pop(name))
        return Status(self, found)

    read = restore

    def _variables(self) -> Iterator[tuple[str, Variable]]:
        seen: set[int] = set()
        for name, value in (*self._objects.items(), ("save_counter", self.save_counter)):
            yield from _walk(name, value, seen)


class Status:
    """What a restore left: values without a variable."""

    def __init__(self, checkpoint: Checkpoint, rest: dict[str, Any]) -> None:
        self._checkpoint, self._rest = checkpoint, rest

    def assert_consumed(self) -> Status:
        """AssertionError where a stored value has no variable; variables made since are restored first."""
        for name, variable in self._checkpoint._variables():
            if name in self._rest:
                variable.assign(self._rest.pop(name))
        rest = [name for name in self._rest if name != "save_counter"]
        if rest:
            raise AssertionError(f"Some objects in the checkpoint have no counterpart: {', '.join(rest)}")
        return self

    def assert_existing_objects_matched(self) -> Status:
        return self

    def expect_partial(self) -> Status:
        return self


class CheckpointManager:
    """Numbered checkpoints in a folder, of which the last `max_to_keep` stay."""

    def __init__(self, checkpoint: Checkpoint, directory: Any, max_to_keep: int | None, checkpoint_name: str = "ckpt", **_: Any) -> None:
        self._checkpoint, self.directory, self._keep = checkpoint, str(directory), max_to_keep
        self._prefix = os.path.join(self.directory, checkpoint_name)
        self.checkpoints: list[str] = _numbered(self._prefix)

    @property
    def latest_checkpoint(self) -> str | None:
        return self.checkpoints[-1] if self.checkpoints else None

    def save(self, checkpoint_number: Any = None, **_: Any) -> str:
        self.checkpoints.append(self._checkpoint.save(self._prefix))
        while self._keep is not None and len(self.checkpoints) > self._keep:
            Path(self.checkpoints.pop(0) + _SUFFIX).unlink(missing_ok=True)
        return self.checkpoints[-1]

    def restore_or_initialize(self) -> str | None:
        self._checkpoint.restore(self.latest_checkpoint)
        return self.latest_checkpoint


def latest_checkpoint(checkpoint_dir: Any, latest_filename: str | None = None) -> str | None:
    """The prefix of the checkpoint saved last in a folder."""
    try:
        text = (Path(checkpoint_dir) / (latest_filename or "checkpoint")).read_text()
    except OSError:
        return None
    found = re.match(r'model_checkpoint_path: "([^"/\\]+)"', text)
    return None if found is None else str(Path(checkpoint_dir) / found[1])


def _numbered(prefix: str) -> list[str]:
    place = Path(prefix)
    found = [p for p in place.parent.glob(f"{place.name}-*{_SUFFIX}") if p.stem.removeprefix(f"{place.name}-").isdigit()]
    return [str(p.with_suffix("")) for p in sorted(found, key=lambda p: int(p.stem.rsplit("-", 1)[1]))]


def _read(prefix: str) -> dict[str, Any]:
    try:
        with np.load(prefix + _SUFFIX, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except FileNotFoundError:
        raise NotFoundError(f"Unsuccessful TensorSliceReader constructor: Failed to find any matching files for {prefix}") from None
    except (ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"the checkpoint {prefix} is damaged: {error}") from None


def _replace(place: Path, data: bytes) -> None:
    beside = place.with_name(f".{place.name}.{os.getpid()}")
    beside.write_bytes(data)
    os.replace(beside, place)


def _walk(path: str, value: Any, seen: set[int]) -> Iterator[tuple[str, Variable]]:
    """The variables below an object, with the paths that lead to them."""
    if id(value) in seen:
        return
    if isinstance(value, Variable):
        seen.add(id(value))
        yield path, value
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from _walk(f"{path}/{i}", item, seen)
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            yield from _walk(f"{path}/{key}", value[key], seen)
    elif hasattr(value, "__dict__") and not isinstance(value, type) and not callable(getattr(value, "__code__", None)):
        seen.add(id(value))
        for name in sorted(vars(value)):
            yield from _walk(f"{path}/{name}", vars(value)[name], seen)
