"""A pass of the compiler seen at work: the program before it and after it."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from typing import Any

from stgrad.transformed import Transformed
from stgrad.transforms.lower.nests import SWITCHES


def show_pass(name: str, transformed: Transformed, *args: Any) -> None:
    """Print the body of a generated program before a pass and after it, with an arrow between them.

    Args:
        name: a pass, as `stages` calls it, or a part of `loops`.
        transformed: what `grad` or a neighbour returned.
        args: example arguments.

    Raises:
        KeyError: there is no such pass.

    >>> import stgrad
    >>> def cube(x):
    ...     y = x * 1.0
    ...     return y**3
    >>> show_pass("optimised", stgrad.jit(cube), 2.0)
    t = x * 1.0
    y = t
    t2 = y ** 3
    return t2
    ->
    return x ** 3
    """
    if name in SWITCHES:
        less = Transformed(transformed.derivative, _without(transformed, name))
        before, after = less.stages(*args)["loops"], transformed.stages(*args)["loops"]
    else:
        stages = transformed.stages(*args)
        names = list(stages)
        before, after = stages[names[names.index(name) - 1]], stages[name]
    print(f"{_body(before)}\n->\n{_body(after)}")


def _without(transformed: Transformed, name: str) -> Any:
    return replace(transformed.options, without=transformed.options.without | {name})


def _body(text: str) -> str:
    """The statements of the only function of a module, without its docstring."""
    lines = f"\n{text}".partition("\ndef ")[2].splitlines()[1:]
    body = textwrap.dedent("\n".join(lines))
    if body.startswith('"""'):
        body = body[body.index('"""', 3) + 3 :].lstrip("\n")
    return body.rstrip()
