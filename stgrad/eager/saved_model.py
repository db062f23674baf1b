"""`tf.saved_model`: modules, their variables and their functions in a directory, to load where the class is not there.

    manifest.json             format, versions, the objects, and the SHA-256 of every other file
    model-<hash>/functions.py the functions, in the language of `core_language`, custom gradients among them
    model-<hash>/generated.py what the compiler made of them: for each form of arguments the value, and the pullback
    model-<hash>/arrays.npz   the values of variables and constants
    assets/

The manifest is written last, in one step, so a directory holds either the old model or the new one. Loading runs no code but that of the
stored functions when they are called, and those are refused unless they lie within the language; arrays hold no pickles.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import sys
import uuid
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stgrad.eager.core_language import SavedModelError
from stgrad.eager.function import ConcreteFunction, Function
from stgrad.eager.logs import logger
from stgrad.eager.module import Module
from stgrad.eager.saved_objects import Decoder, Encoder
from stgrad.eager.variable import Variable

FORMAT = 2
_MANIFEST, _FUNCTIONS, _GENERATED, _ARRAYS = "manifest.json", "functions.py", "generated.py", "arrays.npz"


@dataclass
class SaveOptions:
    """How to save. `experimental_custom_gradients`: whether functions made by `custom_gradient` keep their gradients."""

    namespace_whitelist: Any = None
    save_debug_info: bool = False
    function_aliases: Any = None
    experimental_debug_stripper: bool = False
    experimental_io_device: Any = None
    experimental_variable_policy: Any = None
    experimental_custom_gradients: bool = True
    experimental_image_format: bool = False
    experimental_skip_saver: bool = False
    experimental_sharding_callback: Any = None
    extra_tags: Any = None


@dataclass
class LoadOptions:
    """How to load; accepted and not used."""

    allow_partial_checkpoint: bool = False
    experimental_io_device: Any = None
    experimental_skip_checkpoint: bool = False


def save(obj: Any, export_dir: Any, signatures: Any = None, options: SaveOptions | None = None) -> None:
    """Save a module, with its variables, its submodules and its `tf.function`s; or one function or variable.

    Raises:
        ValueError: the object is no module, function or variable.
        SavedModelError: a function uses what a saved model cannot hold; the message says what and where.
    """
    if not isinstance(obj, (Module, Function, Variable)):
        raise ValueError(
            "Expected an object of type `Trackable`, such as `tf.Module` or a subclass of the `Trackable` class, for "
            f"export. Got {obj} with type {type(obj)}."
        )
    encoder = Encoder((options or SaveOptions()).experimental_custom_gradients)
    content = {"root": encoder.value(obj), "signatures": encoder.value(_signatures(signatures))}
    buffer = io.BytesIO()
    np.savez(buffer, **encoder.arrays)
    texts = {_FUNCTIONS: encoder.texts, _GENERATED: encoder.generated}
    files = {name: "\n\n".join(text).encode() for name, text in texts.items()} | {_ARRAYS: buffer.getvalue()}
    _write(Path(export_dir), files, {**content, "objects": encoder.objects})
    logger.info("Assets written to: %s", os.path.join(export_dir, "assets"))


def _signatures(signatures: Any) -> dict[str, Any]:
    if signatures is None:
        return {}
    if not isinstance(signatures, dict):
        signatures = {"serving_default": signatures}
    return {name: f._owner if isinstance(f, ConcreteFunction) else f for name, f in signatures.items()}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _write(place: Path, files: dict[str, bytes], content: dict[str, Any]) -> None:
    """The files in a folder of their own, then the manifest that makes them the model."""
    (place / "assets").mkdir(parents=True, exist_ok=True)
    mark = uuid.uuid4().hex[:16]
    folder = place / f"model-{mark}"
    hidden = place / f".model-{mark}"
    hidden.mkdir()
    try:
        for name, data in files.items():
            _write_through(hidden / name, data)
        os.rename(hidden, folder)
        hashes = {f"{folder.name}/{name}": _digest(data) for name, data in files.items()}
        versions = {"stgrad": str(sys.modules["stgrad"].__version__), "numpy": np.__version__}
        manifest = {"format": FORMAT, "versions": versions, "folder": folder.name, "files": hashes, **content}
        manifest["sum"] = _sum(manifest)
        _write_through(place / f".manifest-{mark}", json.dumps(manifest, indent=1).encode())
        os.replace(place / f".manifest-{mark}", place / _MANIFEST)
    except BaseException:
        shutil.rmtree(hidden, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)
        (place / f".manifest-{mark}").unlink(missing_ok=True)
        raise
    for old in place.glob("model-*"):
        if old.name != folder.name and (old / _FUNCTIONS).exists():
            shutil.rmtree(old, ignore_errors=True)


def _write_through(path: Path, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sum(manifest: dict[str, Any]) -> str:
    return _digest(json.dumps({k: v for k, v in manifest.items() if k != "sum"}, sort_keys=True).encode())


def load(export_dir: Any, tags: Any = None, options: LoadOptions | None = None) -> Any:
    """The saved object: an object with its variables, functions and submodules as attributes.

    Raises:
        OSError: there is no saved model in the directory.
        SavedModelError: a file is missing or changed, of a newer format, or holds what `save` does not write.
    """
    place = Path(export_dir)
    if not contains_saved_model(place):
        raise OSError(f"SavedModel file does not exist at: {export_dir}/{_MANIFEST}")
    manifest = _manifest(place)
    names = (_FUNCTIONS, _GENERATED, _ARRAYS) if manifest["format"] > 1 else (_FUNCTIONS, _ARRAYS)
    files = {name: _checked(place, f"{manifest['folder']}/{name}", manifest["files"]) for name in names}
    try:
        text, generated = files[_FUNCTIONS].decode(), files.get(_GENERATED, b"").decode()
        with np.load(io.BytesIO(files[_ARRAYS]), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        decoder = Decoder(list(manifest["objects"]), text, generated, arrays)
        decoder.all()
        loaded, signatures = decoder.value(manifest["root"]), decoder.value(manifest["signatures"])
    except SavedModelError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, zipfile.BadZipFile) as error:
        raise SavedModelError(f"the saved model at {export_dir} is damaged: {type(error).__name__}: {error}") from None
    if isinstance(loaded, Module):
        loaded.__dict__["signatures"] = signatures
    return loaded


def _manifest(place: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((place / _MANIFEST).read_bytes())
    except (ValueError, RecursionError) as error:
        raise SavedModelError(f"the manifest of the saved model at {place} is damaged: {error}") from None
    if not isinstance(manifest, dict) or type(manifest.get("format")) is not int or manifest["format"] < 1:
        raise SavedModelError(f"the manifest of the saved model at {place} has no format number")
    if manifest["format"] > FORMAT:
        version = manifest.get("versions")
        raise SavedModelError(
            f"the saved model at {place} has format {manifest['format']}, written with {version}; this stgrad reads up to {FORMAT}",
            hint="load it with a newer stgrad",
        )
    if manifest.get("sum") != _sum(manifest):
        raise SavedModelError(f"the manifest of the saved model at {place} was changed after it was written")
    folder = manifest.get("folder")
    if not isinstance(folder, str) or not folder.startswith("model-") or Path(folder).name != folder:
        raise SavedModelError(f"the manifest of the saved model at {place} names the folder {folder!r:.80}")
    return manifest


def _checked(place: Path, name: str, hashes: Any) -> bytes:
    try:
        data = (place / name).read_bytes()
    except OSError:
        raise SavedModelError(f"the file {name} of the saved model at {place} is missing") from None
    if not isinstance(hashes, dict) or hashes.get(name) != _digest(data):
        raise SavedModelError(f"the file {name} of the saved model at {place} was changed after it was written")
    return data


def contains_saved_model(export_dir: Any) -> bool:
    """Whether `load` would find something."""
    return os.path.exists(os.path.join(export_dir, _MANIFEST))
