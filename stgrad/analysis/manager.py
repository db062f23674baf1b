"""Answers of analyses, kept with the function that they are about: a function never changes, so what is true of it stays true.

    @kept
    def uses(fn: Function) -> Mapping[str, int]: ...

    uses(fn)        computed
    uses(fn)        the same object again; a pass that leaves the function as it is leaves what is known of it, too

An answer is shared by all who ask: its type says that it is not to be changed (`Mapping`, `frozenset`, a frozen class). A pass that has to keep an
answer up to date while it rewrites takes a copy of its own (`Classes.own`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from stgrad.ir import Function

P = ParamSpec("P")
R = TypeVar("R")


def kept(analysis: Callable[Concatenate[Function, P], R]) -> Callable[Concatenate[Function, P], R]:
    """An analysis that keeps its answers with the function, one for each set of further arguments; those have to be hashable."""
    key = f"{analysis.__module__}.{analysis.__qualname__}"

    @functools.wraps(analysis)
    def asked(fn: Function, /, *args: P.args, **kwargs: P.kwargs) -> R:
        question = (key, args, tuple(sorted(kwargs.items())))
        if question not in fn.answers:
            fn.answers[question] = analysis(fn, *args, **kwargs)
        return fn.answers[question]  # type: ignore[no-any-return]

    return asked
