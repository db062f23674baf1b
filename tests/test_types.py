"""The types that the compiler derives are those that Numba infers for the text it prints."""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
import programs
import pytest
from numba.core import types
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import PassManager
from numba.core.errors import NumbaPerformanceWarning
from numba.core.registry import cpu_target
from numba.core.typed_passes import NopythonTypeInference
from programs.registry import EXAMPLES, Example

import stgrad
from stgrad import loader
from stgrad.assumed import compile_program
from stgrad.calls.arguments import fixed_spec
from stgrad.errors import NeedStaticError
from stgrad.frontend.joins import SELECTS
from stgrad.ir import Type
from stgrad.program import Compiled, spec_of
from stgrad.request import signature_of
from stgrad.values import leaves, opened

for _module in pkgutil.iter_modules(programs.__path__):
    importlib.import_module(f"programs.{_module.name}")


class TypesOnly(CompilerBase):
    """Numba's compiler up to its inference of types."""

    def define_pipelines(self) -> list[PassManager]:
        manager = DefaultPassBuilder.define_untyped_pipeline(self.state)
        manager.add_pass(NopythonTypeInference, "types")
        manager.finalize()
        return [manager]


def inferred(text: str, name: str, arguments: list[Any]) -> dict[str, Any]:
    """Numba's type for every name of a generated program, `x.1` for the second that `x` is bound to."""
    function = loader.compiled_units(loader.load(text, name, jit=False), {})
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
    flags = Flags()
    flags.nrt = True
    flags.error_model = "numpy"
    compiler = TypesOnly(cpu_target.typing_context, cpu_target.target_context, None, arguments, None, flags, {})
    compiler.state.cr = "types"  # what there is instead of compiled code
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumbaPerformanceWarning)
        compiler.compile_extra(function)
    return dict(compiler.state.typemap)


def numba_type(t: Type) -> Any:
    """The Numba type of a value of ours."""
    dtype = numba.from_dtype(np.dtype(t.dtype))
    return types.Array(dtype, t.rank, "C") if t.array else dtype


def differences(fn: Any, typemap: dict[str, Any]) -> Iterator[str]:
    """Names whose type is another one: dtype, or rank."""
    for name, found in typemap.items():
        t = fn.types.get(name.partition(".")[0])
        if t is None or not isinstance(found, (types.Array, types.Number, types.Boolean)):
            continue  # a stack, or a part of an expression
        wanted, found = numba_type(t), types.unliteral(found)
        same = (wanted.dtype, wanted.ndim) == (found.dtype, found.ndim) if isinstance(found, types.Array) and t.array else wanted == found
        if not same:
            yield f"{name}: {t}, Numba: {found}"


def knowing_more(gradient: Any, specs: dict[str, Any], example: Example) -> Compiled:
    """The program with entries that it selects as it runs, or else with the integers of the example compiled in."""
    token = SELECTS.set(True)
    try:
        return compile_program(gradient, specs)
    except NeedStaticError:
        values = dict(zip(specs, example.args, strict=False))
        return compile_program(gradient, {n: fixed_spec(s, values[n]) for n, s in specs.items()})
    finally:
        SELECTS.reset(token)


def compared(example: Example) -> list[str]:
    names = tuple(signature_of(example.function).parameters)
    floats = tuple(i for i, a in enumerate(example.args) if any(np.result_type(v).kind in "fc" for v in leaves(opened(a))))
    gradient = stgrad.value_and_grad(example.function, example.argnums or floats)
    specs = dict(zip(names, map(spec_of, example.args, names), strict=False))
    try:
        compiled = compile_program(gradient, specs)
    except NeedStaticError:  # what a call has then
        compiled = knowing_more(gradient, specs, example)
    fn = compiled.function
    arguments = [numba_type(fn.types[p.name]) for p in fn.params]
    typemap = inferred(compiled.text, fn.name, arguments)
    assert len({n.partition(".")[0] for n in typemap} & set(fn.types)) > len(fn.params), "nothing was compared"
    return list(differences(fn, typemap))


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.jit], ids=lambda e: e.name)
def test_numba_infers_the_same_types(example: Example) -> None:
    assert compared(example) == []


def mixed(x, y, n):
    total = np.float32(0.0)
    for i in range(n):
        total += x[i] * 0.5
    return np.sum(x * y) + total * y[0] + np.mean(np.where(x > 0.0, x, 0))


def halves(x, k):
    scale = k / 2
    shift = k // 2
    return np.sum(x[shift:] * scale) + x[k % 3] ** 2


@pytest.mark.parametrize(
    "example",
    [
        Example(mixed, (np.ones(4, np.float32), np.ones(4), 3), argnums=(0, 1)),
        Example(mixed, (np.ones(4, np.float32), np.ones(4, np.float32), 3), argnums=(0, 1)),
        Example(halves, (np.ones(9, np.float32), 5), argnums=(0,)),
        Example(halves, (np.ones(9), 5), argnums=(0,)),
    ],
    ids=["mixed dtypes", "float32", "an integer from outside, float32", "an integer from outside"],
)
def test_mixed_types(example: Example) -> None:
    assert compared(example) == []


def test_a_wrong_type_would_be_seen():
    gradient = stgrad.grad(halves)
    compiled = compile_program(gradient, {"x": spec_of(np.ones(9, np.float32), "x"), "k": spec_of(5, "k")})
    fn = compiled.function
    typemap = inferred(compiled.text, fn.name, [types.Array(types.float64, 1, "C"), types.int64])
    assert any(line.startswith("x:") for line in differences(fn, typemap))
