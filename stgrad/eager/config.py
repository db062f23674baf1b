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


optimizer = SimpleNamespace(set_jit=set_jit, get_jit=get_jit)
