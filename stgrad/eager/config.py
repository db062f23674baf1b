"""`tf.config`: whether tapes that come round again are compiled, under TensorFlow's name for its own such compiler."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from stgrad.eager.repeats import settings


def set_jit(enabled: Any) -> None:
    """Compile the reverse sweeps of tapes whose structure comes round again (True or "autoclustering", the default), or do not (False).

    A tape made with `compile=False` is never compiled.
    """
    if enabled not in (True, False, "autoclustering"):
        raise ValueError(f"Invalid value for `enabled`: {enabled!r}; use True, False or 'autoclustering'")
    settings.enabled = bool(enabled)


def get_jit() -> str:
    """`"autoclustering"` where repeated tapes are compiled, else the empty string."""
    return "autoclustering" if settings.enabled else ""


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Run every `tf.function` as the Python function that it is."""
    functions.eagerly = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    return functions.eagerly


def list_physical_devices(device_type: str | None = None) -> list[Any]:
    """The one CPU."""
    return [SimpleNamespace(name="/physical_device:CPU:0", device_type="CPU")] if device_type in (None, "CPU") else []


def list_logical_devices(device_type: str | None = None) -> list[Any]:
    return [SimpleNamespace(name="/device:CPU:0", device_type="CPU")] if device_type in (None, "CPU") else []


functions = SimpleNamespace(eagerly=False)
experimental = SimpleNamespace(list_physical_devices=list_physical_devices)
optimizer = SimpleNamespace(set_jit=set_jit, get_jit=get_jit)
