"""`zip(*rows)` of as many rows as the program decides: the columns, each as long as there are rows.

    zip(*m)                                  ->  map(tuple, np.swapaxes(m, 0, 1))
    a, b = zip(*[(u, v) for ... in ...])     ->  a, b = tuple(r[0] for r in rows), tuple(r[1] for r in rows)

Of no rows Python has no columns; the program raises ValueError there.
"""

from __future__ import annotations

from typing import Any

import gast
import numpy as np

from stgrad.frontend import operations
from stgrad.frontend.control import raise_where
from stgrad.frontend.frame import Frame
from stgrad.frontend.values import Growing, Nested, Sym, Value


def unzipped(frame: Frame, rows: Value) -> Value | None:
    """What `zip(*rows)` gives; None where the rows are known one by one, or are no rows."""
    if isinstance(rows, Growing) and isinstance(rows.structure, Nested):  # lists of one length
        rows = frame.call(np.array, (rows,), {})
    matrix = isinstance(rows, Sym) and rows.type.rank > 1 and bool(rows.type.dims[0].symbol)
    if not matrix and not (isinstance(rows, Growing) and isinstance(rows.structure, tuple)):
        return None
    none = operations.binary(frame, gast.Eq, frame.call(len, (rows,), {}), 0)
    raise_where(frame, none, "ValueError", "`zip(*rows)` has no rows, and so no columns")
    if matrix:
        return frame.call(map, (tuple, frame.call(np.swapaxes, (rows, 0, 1), {})), {})
    columns = [frame.call(column, (rows, k), {}) for k in range(len(rows.structure))]
    return frame.call(iter, (columns,), {})


def column(rows: Any, k: int) -> Any:
    return tuple([row[k] for row in rows])
