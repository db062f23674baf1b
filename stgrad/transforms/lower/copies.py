"""Loads of a copy become loads of its source, where neither changes any more."""

from __future__ import annotations

from collections.abc import Mapping

from stgrad.transforms.lower.nest import Axis, Buffer, Fixed, Kernel, Load, Unit, map_loads
from stgrad.transforms.lower.views import compose


def forward_copies(units: list[Unit], buffers: Mapping[str, Buffer]) -> list[Unit]:
    """Follow `t_2[i] = t[i]`, both of them buffers of this run, to `t`; the copy is left without readers."""
    last_write = {a.buffer: k for k, u in enumerate(units) for a in u.accesses() if a.write}
    sources: dict[str, tuple[Kernel, Load]] = {}
    result: list[Unit] = []
    for k, unit in enumerate(units):
        if isinstance(unit, Kernel):
            unit = _follow(unit, sources)
            if (
                _is_copy(unit, buffers)
                and isinstance(unit.expr, Load)
                and last_write[unit.target] == k
                and last_write.get(unit.expr.buffer, k) < k
            ):
                sources[unit.target] = (unit, unit.expr)
        result.append(unit)
    read = {a.buffer for u in result for a in u.accesses() if not a.write}  # also where a place in the source has no form
    return [u for u in result if not (isinstance(u, Kernel) and u.target in sources and u.target not in read and not buffers[u.target].escapes)]


def _is_copy(unit: Kernel, buffers: Mapping[str, Buffer]) -> bool:
    if unit.mode != "def" or not isinstance(unit.expr, Load) or unit.target not in buffers or not unit.index:
        return False
    plain = all(isinstance(e, Fixed) or isinstance(e, Axis) and e.scale == 1 for e in (*unit.index, *unit.expr.index))
    return plain and unit.expr.buffer in buffers and unit.expr.dtype == unit.dtype


def _follow(unit: Kernel, sources: Mapping[str, tuple[Kernel, Load]]) -> Kernel:
    def one(load: Load) -> Load:
        if load.buffer not in sources:
            return load
        copy, source = sources[load.buffer]
        places = {e.depth: load.index[k] for k, e in enumerate(copy.index) if isinstance(e, Axis)}
        index = compose(source.index, [places.get(d, Axis(d)) for d in range(max(places, default=-1) + 1)])
        return load if index is None else Load(source.buffer, index, load.dtype, load.weak)

    return Kernel(unit.space, unit.target, unit.index, map_loads(one, unit.expr), unit.mode, unit.dtype, unit.loc, unit.note)
