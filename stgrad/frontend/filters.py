# mypy: allow-untyped-defs, allow-untyped-calls
"""`scipy.signal.lfilter` from a given state, and `sosfilt`, as plain Python, read in place of their calls; SciPy's `filtfilt` and `sosfiltfilt` stand on them.

With Y the transform of the output, a Y = b X + Z: the state Z goes in like samples of an input of its own, and is found again, behind the last sample,
as what the filter still gives, times a.
"""

from __future__ import annotations

import numpy as np

from stgrad.rules.signal import from_rest


def lfilter(b, a, x, axis=-1, zi=None):
    b, a, x = (np.atleast_1d(np.asarray(v)) for v in (b, a, x))
    if zi is None:
        return from_rest(b, a, x, axis)
    zi = np.atleast_1d(np.asarray(zi))
    rows, state = np.moveaxis(x, axis, -1), np.moveaxis(zi, axis, -1)
    samples, count = rows.shape[-1], state.shape[-1]
    if zi.ndim != x.ndim or count != max(len(a), len(b)) - 1:
        raise ValueError("Unexpected shape for parameter zi")
    state = np.broadcast_to(state, (*rows.shape[:-1], count))
    driven = from_rest(b, a, np.concatenate((rows, np.zeros((*rows.shape[:-1], count))), axis=-1))
    left = from_rest(np.ones(1), a / a[0], np.concatenate((state, np.zeros((*rows.shape[:-1], samples))), axis=-1))
    y = driven + left
    after = from_rest(a / a[0], np.ones(1), y[..., samples:])
    return np.moveaxis(y[..., :samples], -1, axis), np.moveaxis(after, -1, axis)


def sosfilt(sos, x, axis=-1, zi=None):
    sections, x = np.atleast_2d(np.asarray(sos)), np.asarray(x)
    if sections.ndim != 2 or sections.shape[1] != 6:
        raise ValueError("sos array must be shape (n_sections, 6)")
    if not (sections[:, 3] == 1).all():
        raise ValueError("sos[:, 3] should be all ones")
    if zi is None:
        for k in range(len(sections)):
            x = from_rest(sections[k, :3], sections[k, 3:], x, axis)
        return x
    states = []
    for k in range(len(sections)):
        x, state = lfilter(sections[k, :3], sections[k, 3:], x, axis, zi[k])
        states.append(state)
    return x, np.array(states)
