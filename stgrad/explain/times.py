"""What lines cost, as the page shows it: a chip at the end of each line, a table, and a sentence. The times come from `stgrad.profile`."""

from __future__ import annotations

import html
from collections.abc import Mapping

from stgrad.line_costs import LineCost, Times, duration, percent

_SHOWN = 0.005  # of the whole: a line that takes less has no chip


def chip(place: tuple[str, int], times: Times | None) -> str:
    """The share of a line as HTML, filled as far as the share goes; empty where the line takes next to nothing."""
    cost = None if times is None else next((each for each in times.costs if (each.file, each.line) == place), None)
    if times is None or cost is None or cost.share(times.costs) < _SHOWN:
        return ""
    return f'<em class=time style="--part:{100 * cost.share(times.costs):.0f}%" title="{html.escape(sentence(cost))}">{percent(cost, times)}</em>'


def sentence(cost: LineCost) -> str:
    """What a line costs, in words."""
    ways = [f"{duration(seconds)} {way}" for seconds, way in ((cost.forward, "forward"), (cost.backward, "back")) if duration(seconds)]
    packed = {"yes": "its loop works on vectors", "no": "its loop does not work on vectors", "some": "some of its loops work on vectors"}.get(cost.vectorised)
    return ", ".join(["takes " + " and ".join(ways), *([packed] if packed else []), *(["estimated"] if cost.estimated else [])]) if ways else ""


def table(times: Times | None, keys: Mapping[tuple[str, int], int]) -> str:
    """The lines that take most, first, as a part of the page; nothing where nothing was measured."""
    if times is None:
        return ""
    rows = []
    for cost in sorted(times.costs, key=lambda each: -each.seconds):
        key = keys.get((cost.file, cost.line))
        if key is not None and cost.share(times.costs) >= _SHOWN:
            cells = (cost.line, percent(cost, times), duration(cost.forward), duration(cost.backward), cost.vectorised)
            rows.append(f"<tr data-k={key}>" + "".join(f"<td>{html.escape(str(cell))}" for cell in cells))
    head = "".join(f"<th>{name}" for name in ("line", "share", "forward", "back", "on vectors"))
    note = "<p>~ shares a loop with other lines: its part is estimated.</p>" if any(cost.estimated for cost in times.costs) else ""
    return f"<h3>Where the time goes</h3><div class=wide><table><tr>{head}{''.join(rows)}</table></div>{note}"
