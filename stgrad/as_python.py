"""Functions of NumPy, SciPy and `math` as functions written in Python, so that their derivatives can be asked for: `grad(np.sum)`.

So are functions with a derivative rule of their own.
"""

from __future__ import annotations

import inspect
import linecache
from functools import cache
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any
from zlib import crc32

import numpy as np

from stgrad.checkpoints import checkpoint
from stgrad.hooks import custom_gradient, custom_jvp, custom_vjp
from stgrad.request import signature_of

_TEXT = "def {name}(*args, **kwargs):\n    return _function_(*args, **kwargs)\n"


def as_python(f: Any) -> Any:
    """The function itself, or one that calls it where it is an operation with a rule.

    >>> as_python(np.sin).__name__
    'sin'
    """
    if isinstance(f, (np.ufunc, BuiltinFunctionType)) or type(f) is type(np.sum) or _of_scipy(f):
        from stgrad.rules import lookup  # not before it is needed: a warm start has no use for the rules

        return _calling(f) if lookup(f) is not None or _of_scipy(f) and _is_read_otherwise(f) else f
    if type(f).__module__.startswith("numba.np.ufunc."):  # what `numba.vectorize` and `numba.guvectorize` make
        return _calling(f)
    return _ruled(f) if isinstance(f, (checkpoint, custom_gradient, custom_jvp, custom_vjp)) else f


def _of_scipy(f: Any) -> bool:
    """Whether a function or method is SciPy's: it may have a rule that stands for what is written there."""
    return isinstance(f, (FunctionType, MethodType)) and (getattr(f, "__module__", None) or "").startswith("scipy.")


def _is_read_otherwise(f: Any) -> bool:
    """Whether calls of a function of SciPy mean other code than its own."""
    from stgrad.frontend.solvers import meaning

    return meaning(getattr(f, "__func__", f)) is not None


def _ruled(f: Any) -> Any:
    """A function with the parameters of one that has a derivative rule, which calls it; kept with it."""
    made = vars(f).get("_stgrad_calling")
    if made is None:
        made = f._stgrad_calling = _calling_like(f, inspect.signature(f.function if isinstance(f, custom_gradient) else f.fun))
    return made


def first_of(f: Any) -> FunctionType:
    """The function that gives the first of the results of f, with its parameters."""
    return _calling_like(f, signature_of(f), "[0]")


def _calling_like(f: Any, signature: inspect.Signature, suffix: str = "") -> FunctionType:
    """A function with these parameters that calls f."""
    params = signature.parameters.values()
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in params):
        return _written(f, _TEXT.replace("\n", f"{suffix}\n").replace(f":{suffix}", ":"))
    named = ", ".join([f"{p.name}={p.name}" if p.kind is p.KEYWORD_ONLY else p.name for p in params])
    heads = [p.name for p in params if p.kind is not p.KEYWORD_ONLY] + ["*"] * any(p.kind is p.KEYWORD_ONLY for p in params)
    heads += [p.name for p in params if p.kind is p.KEYWORD_ONLY]
    made = _written(f, f"def {{name}}({', '.join(heads)}):\n    return _function_({named}){suffix}\n")
    made.__defaults__ = tuple(p.default for p in params if p.default is not p.empty and p.kind is not p.KEYWORD_ONLY) or None
    made.__kwdefaults__ = {p.name: p.default for p in params if p.default is not p.empty and p.kind is p.KEYWORD_ONLY} or None
    return made


@cache
def _calling(f: Any) -> FunctionType:
    return _written(f, _TEXT)


def _written(f: Any, template: str) -> FunctionType:
    own = getattr(f, "__name__", type(f).__name__)
    name = own if own.isidentifier() else "function"
    text = template.format(name=name)
    mark = "" if template == _TEXT else f" {crc32(text.encode()):08x}"  # functions of one name may have other parameters
    file = f"<{getattr(f, '__module__', None) or 'numpy'}.{name}{mark}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"_function_": f, "__name__": file}
    exec(compile(text, file, "exec"), names)  # noqa: S102
    made: FunctionType = names[name]
    return made
