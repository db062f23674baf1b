"""One expression in a program that is written around it: stgrad's value is Python's, or both raise."""

import linecache

import numpy as np

import stgrad


def check_expression(body, expression, scope, arguments, jit=False):
    source, name = body.format(expression), f"<expression {expression} {hash(body)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    scope = {"np": np, **scope}
    exec(compile(source, name, "exec"), scope)  # noqa: S102
    function = scope["f"]
    for args in arguments:
        try:
            wanted = function(*args)
        except ValueError as raised:
            wanted = raised
        try:
            found = stgrad.value_and_grad(function, jit=jit)(*args)[0]
        except (ValueError, stgrad.errors.StgradError) as raised:
            assert isinstance(wanted, ValueError), raised
            continue
        assert found == wanted, args
