"""What becomes of a case: right, wrong, refused with a reason, or a fault of ours.

`right`: every derivative agrees with the differences. `wrong`: one does not, and nothing was said. `refused`: a StgradError with a
message. `crash`: any other exception, or the end of the process (`killed` in what `forked` returns).
"""

from __future__ import annotations

import os
import re
import resource
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import stgrad
from stgrad.errors import StgradError

from .cases import Case, cotangents, direction, draw, numbers, target_function, weights, writing

MEMORY = 6 << 30  # bytes of address space on top of what the process has
TOLERANCE = 2e-4


def limit_memory(size: int) -> None:
    """Let this process have so many bytes more than it has."""
    pages = Path("/proc/self/statm")
    used = int(pages.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE") if pages.exists() else 0
    resource.setrlimit(resource.RLIMIT_AS, (used + size, resource.RLIM_INFINITY))


def judge(case: Case, jit: bool, memory: int | None = MEMORY) -> dict[str, Any]:
    """The result of a case, for a line of JSON; `memory` limits the process that it runs in."""
    if memory is not None:
        limit_memory(memory)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = derivatives(case, jit)
    except StgradError as error:
        place = f"{os.path.basename(error.loc.file)}:{error.loc.line} {error.loc.text.strip()}" if error.loc is not None else ""
        return {"kind": "refused", "why": construct(error), "detail": str(error), "place": place}
    except Exception as error:  # noqa: BLE001  (anything but a StgradError is what is looked for)
        return {"kind": "crash", "why": type(error).__name__, "detail": f"{type(error).__name__}: {error}"[:1500], "place": raised_at(error)}
    if agree(found, case.expected):
        return {"kind": "right"}
    return {"kind": "wrong", "why": "wrong value", "detail": f"{found} instead of {list(case.expected)}"}


def derivatives(case: Case, jit: bool) -> list[float]:
    """The derivative along the direction of each float argument."""
    function = target_function(case.target)
    args = draw(case.target, case.kinds, case.scale)
    floats = tuple(i for i, kind in enumerate(case.kinds) if kind != "i")
    if case.written is not None:
        function = writing(function, case.written)
    gradients = pulled(function, args, floats, jit)
    return [float(np.sum(g * direction(i, args[i]))) for i, g in zip(floats, gradients, strict=True)]


def pulled(function: Any, args: list[Any], floats: tuple[int, ...], jit: bool) -> list[Any]:
    """Gradients of the weighed result; of one number by `grad`, of everything else by `vjp`."""
    value, pullback = stgrad.vjp(function, *args, jit=jit)
    leaves = numbers(value)
    if len(leaves) == 1 and leaves[0] is value and not isinstance(value, np.ndarray):
        found = stgrad.grad(function, floats, jit=jit)(*args)
        return [weights(value, 0) * g for g in found]
    pulled_back = pullback(cotangents(value, [0]))
    return [pulled_back[i] for i in floats]


def agree(found: list[float], expected: tuple[float, ...]) -> bool:
    """Whether derivatives are those of the differences."""
    scale = max(map(abs, expected))
    return all(abs(f - e) <= TOLERANCE * abs(e) + 1e-6 * scale + 1e-9 for f, e in zip(found, expected, strict=True))


def construct(error: StgradError) -> str:
    """What was refused, without the names of this one program."""
    return re.sub(r"`[^`]*`", lambda m: m.group(0) if re.fullmatch(r"`(numpy|np|math|numba|scipy|[a-z]+)(\.\w+)*`", m.group(0)) else "`...`", error.message)


def raised_at(error: BaseException) -> str:
    """The last place of stgrad in a traceback."""
    place = ""
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if f"{os.sep}stgrad{os.sep}" in file:
            place = f"{file.rpartition(f'{os.sep}stgrad{os.sep}')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
