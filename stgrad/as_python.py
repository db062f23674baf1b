"""Functions of NumPy, SciPy and `math` as functions written in Python, so that their derivatives can be asked for: `grad(np.sum)`."""

from __future__ import annotations

import linecache
from functools import cache
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

_TEXT = "def {name}(*args, **kwargs):\n    return function(*args, **kwargs)\n"


def as_python(f: Any) -> Any:
    """The function itself, or one that calls it where it is an operation with a rule.

    >>> as_python(np.sin).__name__
    'sin'
    """
    if isinstance(f, (np.ufunc, BuiltinFunctionType)) or type(f) is type(np.sum):
        from stgrad.rules import lookup  # not before it is needed: a warm start has no use for the rules

        return _calling(f) if lookup(f) is not None else f
    return f


@cache
def _calling(f: Any) -> FunctionType:
    name = f.__name__
    file = f"<{getattr(f, '__module__', None) or 'numpy'}.{name}>"
    text = _TEXT.format(name=name)
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"function": f, "__name__": file}
    exec(compile(text, file, "exec"), names)  # noqa: S102
    made: FunctionType = names[name]
    return made
