"""A pass of the compiler seen at work: on the program of a function, or alone, on the text of a program."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from typing import Any

from stgrad.ir.text import dump, parse
from stgrad.request import DEFAULT
from stgrad.transformed import Transformed
from stgrad.transforms.lower.nests import SWITCHES
from stgrad.transforms.pipeline import passes
from stgrad.verify import verify


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
    y_part = x * 1.0
    y = y_part
    t = y ** 3
    return t
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


def run_pass(name: str, text: str) -> str:
    """What one pass alone makes of a program, both in the text of the IR (`stgrad.ir.text`). The program is verified before and after.

    Args:
        name: a pass, as `stages` calls it.
        text: the program.

    Raises:
        KeyError: there is no such pass.
        SyntaxError: the text is no program.
        InternalError: the program, or what the pass makes of it, breaks an invariant of the IR.

    >>> print(run_pass("cleanup", '''
    ... def f(x: float):
    ...     t: float = x * 1.0
    ...     y: float = t
    ...     z: float = y + y
    ...     return y
    ... '''))
    def f(x: float):
        return x
    """
    fn = parse(text)
    verify(fn)
    made = passes(DEFAULT)[name](fn)
    verify(made)
    return dump(made, idle=False)


def _without(transformed: Transformed, name: str) -> Any:
    return replace(transformed.options, without=transformed.options.without | {name})


def _body(text: str) -> str:
    """The statements of the only function of a module, without its docstring."""
    lines = f"\n{text}".partition("\ndef ")[2].splitlines()[1:]
    body = textwrap.dedent("\n".join(lines))
    if body.startswith('"""'):
        body = body[body.index('"""', 3) + 3 :].lstrip("\n")
    return body.rstrip()
