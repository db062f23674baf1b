"""`tf.saved_model`: modules, their variables and their functions in a directory, to load where the class is not there.

Layout: `saved_model.stg` (a pickle in which functions outside of installed packages stand by value: code, defaults, closure and the globals
they name) and `assets/`. Loading executes code, as loading any pickle does: load what you trust.
"""

from __future__ import annotations

import io
import os
import pickle
from dataclasses import dataclass
from typing import Any

from stgrad.eager.function import ConcreteFunction, Function
from stgrad.eager.logs import logger
from stgrad.eager.module import Module
from stgrad.eager.serialise import Pickler, custom_gradients
from stgrad.eager.variable import Variable

_FILE = "saved_model.stg"


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
    """Save a module, with its variables and its `tf.function`s.

    Raises:
        ValueError: the object is no module, function or variable.
    """
    if not isinstance(obj, (Module, Function, Variable)):
        raise ValueError(
            "Expected an object of type `Trackable`, such as `tf.Module` or a subclass of the `Trackable` class, for "
            f"export. Got {obj} with type {type(obj)}."
        )
    options = options or SaveOptions()
    os.makedirs(os.path.join(export_dir, "assets"), exist_ok=True)
    buffer = io.BytesIO()
    with custom_gradients(options.experimental_custom_gradients):
        Pickler(buffer).dump({"version": 1, "object": obj, "signatures": _signatures(signatures)})
    with open(os.path.join(export_dir, _FILE), "wb") as file:
        file.write(buffer.getvalue())
    logger.info("Assets written to: %s", os.path.join(export_dir, "assets"))


def _signatures(signatures: Any) -> dict[str, Any]:
    if signatures is None:
        return {}
    if not isinstance(signatures, dict):
        signatures = {"serving_default": signatures}
    return {name: f._owner if isinstance(f, ConcreteFunction) else f for name, f in signatures.items()}


def load(export_dir: Any, tags: Any = None, options: LoadOptions | None = None) -> Any:
    """The saved object: an object with its variables, functions and submodules as attributes.

    Raises:
        OSError: there is no saved model in the directory.
    """
    path = os.path.join(export_dir, _FILE)
    if not os.path.exists(path):
        raise OSError(f"SavedModel file does not exist at: {path}")
    with open(path, "rb") as file:
        content = pickle.load(file)  # noqa: S301  (documented above)
    loaded = content["object"]
    if isinstance(loaded, Module):
        loaded.signatures = content["signatures"]
    return loaded


def contains_saved_model(export_dir: Any) -> bool:
    """Whether `load` would find something."""
    return os.path.exists(os.path.join(export_dir, _FILE))
