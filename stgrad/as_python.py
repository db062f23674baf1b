"""Functions of NumPy, SciPy and `math` as functions written in Python, so that their derivatives can be asked for: `grad(np.sum)`.

So are functions with a derivative rule of their own.
"""

from __future__ import annotations

import inspect
import linecache
from functools import cache
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from stgrad.checkpoints import checkpoint
from stgrad.hooks import custom_gradient, custom_jvp, custom_vjp

_TEXT = "def {name}(*args, **kwargs):\n    return function(*args, **kwargs)\n"


def as_python(f: Any) -> Any:
    """The function itself, or one that calls it where it is an operation with a rule.

    >>> as_python(np.sin).__name__
    'sin'
    """
    if isinstance(f, (np.ufunc, BuiltinFunctionType)) or type(f) is type(np.sum):
        from stgrad.rules import lookup  # not before it is needed: a warm start has no use for the rules

        return _calling(f) if lookup(f) is not None else f
    return _ruled(f) if isinstance(f, (checkpoint, custom_gradient, custom_jvp, custom_vjp)) else f


def _ruled(f: Any) -> Any:
    """A function with the parameters of one that has a derivative rule, which calls it; kept with it."""
    made = vars(f).get("_stgrad_calling")
    if made is None:
        own = f.function if isinstance(f, custom_gradient) else f.fun
        params = inspect.signature(own).parameters.values()
        if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in params):
            made = _written(f, _TEXT)
        else:
            named = ", ".join([f"{p.name}={p.name}" if p.kind is p.KEYWORD_ONLY else p.name for p in params])
            heads = [p.name for p in params if p.kind is not p.KEYWORD_ONLY] + ["*"] * any(p.kind is p.KEYWORD_ONLY for p in params)
            heads += [p.name for p in params if p.kind is p.KEYWORD_ONLY]
            made = _written(f, f"def {{name}}({', '.join(heads)}):\n    return function({named})\n")
            made.__defaults__ = tuple(p.default for p in params if p.default is not p.empty and p.kind is not p.KEYWORD_ONLY) or None
            made.__kwdefaults__ = {p.name: p.default for p in params if p.default is not p.empty and p.kind is p.KEYWORD_ONLY} or None
        f._stgrad_calling = made
    return made


@cache
def _calling(f: Any) -> FunctionType:
    return _written(f, _TEXT)


def _written(f: Any, template: str) -> FunctionType:
    name = f.__name__ if f.__name__.isidentifier() else "function"
    file = f"<{getattr(f, '__module__', None) or 'numpy'}.{name}>"
    text = template.format(name=name)
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"function": f, "__name__": file}
    exec(compile(text, file, "exec"), names)  # noqa: S102
    made: FunctionType = names[name]
    return made
