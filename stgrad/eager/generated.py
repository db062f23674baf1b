"""The generated programs of a `tf.function` as text for saved models: its value and its pullback, at the level of arrays.

Such a text is what the compiler made before it wrote loops: it runs under plain Python on arrays of the dtypes and ranks it was made for,
and can be compiled again. `texts` writes it and runs it once, beside the eager function: what differs is not kept.
"""

from __future__ import annotations

import logging
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from stgrad.eager import structures
from stgrad.eager.compilation import (
    NotCompiledError,
    Program,
    RunsEagerlyWarning,
    _arrays,
    _compare,
    _read_quietly,
    _seed,
    _tensors_of,
    leaf_order,
    pullback_of,
)
from stgrad.eager.core_language import check, namespace
from stgrad.eager.function import ConcreteFunction, Function
from stgrad.eager.record import recorders
from stgrad.eager.shapes import TensorSpec
from stgrad.eager.tensor import Tensor
from stgrad.errors import StgradError
from stgrad.request import Derivative, Options
from stgrad.transformed import Transformed

logger = logging.getLogger("stgrad.eager")
_UNKNOWN_EXTENT = 3  # what stands for an extent that a signature leaves open: not 1, which would broadcast


@dataclass(frozen=True)
class Texts:
    """The two functions `forward` and `adjoint` of one program, with the arrays they take behind everything else.

    `connected` tells for each input and captured tensor whether the result depends on it.
    """

    forward: str
    adjoint: str
    constants: tuple[Any, ...]
    connected: list[bool]


def programs_of(function: Function) -> list[Program]:
    """What was compiled for a function, one for each form of arguments; for one with a signature that was not called, what its signature asks for."""
    found: dict[Any, Program] = {}
    for concrete in list(function._traces.values()):
        made = [p for p in concrete._programs.values() if p is not None] or [_from_specs(function, *concrete.structured_input_signature)]
        for program in made:
            if program is not None:
                found.setdefault(program.form, program)
    if not function._traces and function.input_signature is not None:
        program = _from_specs(function, function.input_signature, {})
        found = {} if program is None else {program.form: program}
    return list(found.values())


def _from_specs(function: Function, args: Any, kwargs: Any) -> Program | None:
    """The program for arguments that TensorSpecs describe; made without native code."""
    if function._eager_only:
        return None
    given = structures.map_structure(lambda s: _example(s) if isinstance(s, TensorSpec) else s, (tuple(args), dict(kwargs)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RunsEagerlyWarning)
            args, kwargs = function._bind(*given)
            return ConcreteFunction(function, None, [], {})._compiled(args, kwargs, not function._called, function, jit=False)
    except (StgradError, ValueError, TypeError, ArithmeticError, IndexError) as error:
        logger.info("%s is saved without generated programs: %s", function, error)
        return None


def _example(spec: TensorSpec) -> Tensor:
    extents = () if spec.shape.rank is None else tuple(_UNKNOWN_EXTENT if n is None else int(n) for n in spec.shape)
    return Tensor(_numbers(extents, spec.dtype.dtype))


def _numbers(shape: tuple[int, ...], dtype: Any) -> Any:
    """Numbers at which most functions are defined."""
    if dtype.kind != "f":
        return np.zeros(shape, dtype)[()]
    return (0.25 + np.arange(int(np.prod(shape))) % 17 / 16.0).reshape(shape).astype(dtype)[()]


# --------------------------------------------------------------------------- text


def texts(program: Program, name: str) -> Texts | None:
    """The functions `name` and `name_grad`; None where they are not within the language of saved models, or do not give the eager results."""
    examples = [_example(e) if isinstance(e, TensorSpec) else e for e in program.examples]
    given = {"inputs": _arrays(examples), "captured": _arrays(map(_read_quietly, program.captured))}
    try:
        forward, constants = _text(program, given, name, pull=False)
        adjoint, others = _text(program, given, f"{name}_grad", pull=True)
        if [id(c) for c in constants] != [id(c) for c in others]:
            raise NotCompiledError("its programs see different arrays")
        found = Texts(forward, adjoint, tuple(constants), program._depends(examples, list(map(_read_quietly, program.captured))))
        for text in (forward, adjoint):
            check(text, (), generated=True)
        _compare_with_tape(program, found, name, given, examples)
    except (StgradError, ValueError, TypeError, ArithmeticError, IndexError, LookupError) as error:
        logger.info("%s is saved without a generated program: %s", program.name, error)
        return None
    return found


def _text(program: Program, given: dict[str, Any], name: str, pull: bool) -> tuple[str, list[Any]]:
    """The text of one program after differentiation, before loops, and the arrays that it takes as last arguments."""
    from stgrad.assumed import array_text
    from stgrad.program import spec_of

    specs = {key: spec_of(value, key) for key, value in given.items()}
    request = pullback_of(program.entry, tuple(given.values())) if pull else Derivative(program.entry, "primal")
    doc = f"Value of {program.name} and the cotangents of its arguments." if pull else f"Value of {program.name}."
    return array_text(Transformed(request, Options(False)), specs, name, doc)


def _compare_with_tape(program: Program, found: Texts, name: str, given: dict[str, Any], examples: list[Any]) -> None:
    """NotCompiledError where the texts, run as they stand, differ from the eager function on a tape."""
    from stgrad.eager.tape import GradientTape

    inputs = [*examples, *map(_read_quietly, program.captured)]
    with recorders(()):
        with GradientTape(watch_accessed_variables=False) as tape:
            tape.watch([x for x in inputs if x.dtype.is_floating])
            flat = _tensors_of(program.eager(examples))
        seeds = [_seed(y._a) for y in flat]
        wanted = tape.gradient(flat, inputs, output_gradients=seeds)
    order = result_order(program)
    floats = [s._a for s in (seeds[i] for i in order) if s._a.dtype.kind == "f"]
    space = define(f"{found.forward}\n\n{found.adjoint}", name)
    arrays = [*given["inputs"], *given["captured"]]
    with np.errstate(all="ignore"):
        values = as_tuple(space[name](*arrays, *found.constants))
        results = as_tuple(space[f"{name}_grad"](*arrays, *floats, *found.constants))
    bars = [w for w, x in zip(wanted, inputs) if x.dtype.is_floating]
    flat = [flat[i] for i in order]
    _compare(values, [y._a for y in flat], "value")
    _compare(results, [*[y._a for y in flat], *[0.0 if w is None else w._a for w in bars]], "gradient")


def result_order(program: Program) -> list[int]:
    """For each result of the text, in order, its place among the tensors of the eager result."""
    return leaf_order(program.rebuild_y(list(range(len(program.dtypes)))))


def as_tuple(result: Any) -> tuple[Any, ...]:
    """The arrays that a text returns; where a function returns None in a structure, its text does too."""
    return tuple([r for r in result if r is not None]) if isinstance(result, tuple) else (result,)


def define(text: str, name: str) -> dict[str, Any]:
    """The functions of a text that has passed `check`."""
    import linecache

    file = f"<generated {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = namespace(generated=True)
    exec(compile(text, file, "exec"), space)  # noqa: S102  (definitions of functions alone, within the language)
    return space
