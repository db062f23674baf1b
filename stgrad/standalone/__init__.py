"""Derivatives as modules of their own: text that needs NumPy and Numba, and no stgrad.

The text holds a function for each derivative that tests its arguments, the program that it calls, and the functions of stgrad's runtime which that
calls in turn, each once. It is for libraries that ship gradients without depending on stgrad.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from stgrad.request import described, function_name, signature_of

if TYPE_CHECKING:
    from stgrad.calls.program_cache import Ready
    from stgrad.standalone.assembly import Assembly
    from stgrad.transformed import Transformed

LICENCE = "Copyright (c) 2026, the stgrad developers. SPDX-License-Identifier: BSD-3-Clause"


def build(f: Any, *args: Any, **kwargs: Any) -> str:
    """A module without stgrad that holds a derivative, for arguments like these: NumPy and Numba run it, and SciPy where the function calls that.

    Args:
        f: what `grad`, `value_and_grad`, `jacobian`, `hessian`, `vmap` or `jit` returned; a plain function is compiled by `jit`. A dict of
            these gives one module with functions of its keys' names.
        args: example arguments: numbers, arrays, and tuples, lists and dicts of them. Only their types count, but for integers that decide
            the structure of a program, strings and None, which are compiled in.
        kwargs: those that are given by name.

    Returns:
        The text of the module. Its functions have the parameters of f, and raise TypeError for arguments of other types. Arrays that f reads from
        outside stand in it as they are now.

    Raises:
        UnsupportedCallerError: such a module cannot take these arguments, return this result, or call what the function calls.

    >>> import stgrad
    >>> text = stgrad.build(stgrad.grad(lambda x: x * x), 1.0)
    >>> "import stgrad" in text, "import numpy as np" in text
    (False, True)
    """
    chosen = f if isinstance(f, Mapping) else {_name(_transformed(f)): f}
    return _module({name: _transformed(function) for name, function in chosen.items()}, args, kwargs)


def _transformed(f: Any) -> Transformed:
    from stgrad.api import jit
    from stgrad.transformed import Transformed

    return f if isinstance(f, Transformed) else jit(f)


def _name(f: Transformed) -> str:
    both = f.derivative.mode == "value_and_grad"
    return f"{function_name(f.derivative)}_value_and_grad" if both else f.__name__


def _module(functions: Mapping[str, Transformed], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    from stgrad import loader
    from stgrad.standalone.assembly import Assembly
    from stgrad.standalone.parts import take_apart

    public, programs, readies = ["import base64", "import numpy as np"], [], []
    for number, (name, function) in enumerate(functions.items()):
        ready, nodes = function.ready_for(args, kwargs)
        program, module = f"program{number}", f"{__name__}.program{number}"
        public += [f"from {module} import {ready.name} as {program}", _public(name, function, ready, nodes, program)]
        programs.append(take_apart(module, _program(ready)))
        readies.append(ready)
    recursive = any("@runtime.unit" in ready.text for ready in readies)  # Numba cannot load the code of functions that call themselves
    parallel = any(f.options.parallel for f in functions.values()) and not any(".pop()" in ready.text for ready in readies)  # see stgrad.kept_stores
    options = {**loader.OPTIONS, "parallel": parallel, "cache": not recursive}
    return _text(functions, options, Assembly(take_apart(f"{__name__}.public", "\n\n".join(public)), programs))


def _public(name: str, f: Transformed, ready: Ready, nodes: list[Any], program: str) -> str:
    """The function that users call, behind the imports of what it calls."""
    from stgrad.standalone.wrapping import CHECKS, Wrapping

    signature = signature_of(f.derivative.function)
    wrapping = Wrapping(name, program, signature, dict(zip(signature.parameters, nodes, strict=True)), ready, f.__doc__ or "")
    text = wrapping.text()
    return "\n".join([*(f"from {CHECKS} import {check}" for check in wrapping.checks), *wrapping.constants, text])


def _program(ready: Ready) -> str:
    """The text of a program; Numba learns the casts that it lacks."""
    casts = any(f"{cast}(" in ready.text for cast in ("float", "complex"))
    return "from stgrad.runtime import casts\n" * casts + ready.text


def _text(functions: Mapping[str, Transformed], options: dict[str, Any], assembly: Assembly) -> str:
    head = ['"""' + _title(functions), '"""', "", "from __future__ import annotations", "", *assembly.imports(), ""]
    head += [f"__all__ = {sorted(functions)!r}", "", f"OPTIONS = {options!r}  # of Numba"]
    runtime = assembly.runtime_parts()
    ours = [f"# {'-' * 60} stgrad's runtime\n# {LICENCE}", runtime] if runtime else []
    return "\n\n\n".join(["\n".join(head), assembly.public_parts(), assembly.program_parts(), *ours]) + "\n"


def _title(functions: Mapping[str, Transformed]) -> str:
    told = [described(f.derivative) or f"Compiled {function_name(f.derivative)}." for f in functions.values()]
    return "\n".join([" ".join(told), "", f"Written by stgrad {sys.modules['stgrad'].__version__}, which it does not need: NumPy and Numba run it."])
