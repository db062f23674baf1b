"""The text of a program after each stage of the compiler, for people."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from stgrad import source
from stgrad.request import Derivative, Options

if TYPE_CHECKING:
    from stgrad.ir import Function
    from stgrad.program import Compiled
    from stgrad.transforms.pipeline import Trace


def readable_of(compiled: Compiled) -> list[Function]:
    """The array-level program for people, under the name and with the docstring of the one that runs; two of them where the sweeps are apart."""
    from stgrad.transforms.pipeline import FORWARD, REVERSE
    from stgrad.transforms.readable import readable
    from stgrad.transforms.tidy import stacks_named, tidy

    stages = compiled.trace.stages
    programs = [(stages["optimised"], compiled)] if compiled.then is None else [(stages[FORWARD], compiled), (stages[REVERSE], compiled.then)]
    return [replace(stacks_named(tidy(readable(fn), shown=True)), name=of.function.name, doc=of.function.doc) for fn, of in programs]


def texts_of(derivative: Derivative, trace: Trace, options: Options) -> dict[str, str]:
    """The stages by name: 'desugar' is the function as it is read, the others are programs that were kept on the way."""
    from stgrad.frontend.inlining import desugared
    from stgrad.recursion import text_of
    from stgrad.syntax import to_text

    function = derivative.function
    while hasattr(function, "derivative"):
        function = function.derivative.function
    tree = desugared(source.load(source.unwrap(function).function))
    return {"desugar": to_text(tree)} | {name: text_of(fn, options, nest=name != "anf") for name, fn in trace.stages.items()}
