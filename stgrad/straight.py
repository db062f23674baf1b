"""The reverse sweep of a straight-line program whose forward values are at hand: what a tape that comes round again runs.

A recording is a list of operations and the values they gave. Its reverse sweep is that of a program without branches, differentiated,
simplified, fused and lowered like any other; the forward half is left out, and the values it computed are parameters:

    y1 = np.tanh(x0)        ->      def sweep(y1, y2_bar):
    y2 = y1 * c1                        y1_bar = y2_bar * c1
                                        return y1_bar * (1.0 - y1 * y1)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stgrad.errors import NotDifferentiableError
from stgrad.frontend import Builder, splice
from stgrad.ir import Assign, Const, Function, Operand, Pack, Slice, Type, Var, operand_vars, read
from stgrad.names import Names
from stgrad.printer import to_source
from stgrad.transforms.pipeline import Trace, specialise
from stgrad.transforms.reverse import reverse
from stgrad.transforms.simplify import simplify
from stgrad.values import Sym, Value

Layout = tuple[Any, ...]  # of a number: (dtype,); of an array: (dtype, rank, 'C' 'F' or 'A', writeable)


@dataclass(frozen=True)
class Step:
    """`targets = op(*args, **kwargs)`. `op` names a rule of the table, or is a function to be read in place of the call."""

    op: str | Callable[..., Any]
    targets: tuple[str, ...]
    args: tuple[Operand, ...]
    kwargs: tuple[tuple[str, Operand], ...] = ()


@dataclass(frozen=True)
class Straight:
    """A program without branches: `types` has every name that a step reads or makes, and their values are known."""

    name: str
    steps: tuple[Step, ...]
    results: tuple[str, ...]  # whose cotangents are given
    wrt: tuple[str, ...]  # whose cotangents are wanted; no step makes them
    types: Mapping[str, Type]
    doc: str = ""


@dataclass(frozen=True)
class Sweep:
    """The text of a reverse sweep. `params` names its arguments: values of the program, then those of `seeds` that it needs."""

    name: str
    text: str
    params: tuple[str, ...]
    seeds: tuple[str, ...]  # the parameter of each result's cotangent, needed or not


def reverse_sweep(program: Straight) -> Sweep:
    """The reverse sweep of a straight-line program.

    Raises:
        StgradError: an operation has no reverse rule, or one that the compiler does not take.
    """
    fn = _forward(program)
    both = reverse(fn, program.wrt, splice, seeds=True)
    known = set(program.types)
    body = tuple(s for s in both.body if not (isinstance(s, Assign) and any(t.name in known for t in s.targets)))
    seeds = tuple(p.name for p in both.params if p not in fn.params)
    params = tuple(Var(n) for n in (*program.types, *seeds))
    lowered = specialise(simplify(replace(both, params=params, body=body)), Trace())
    used = read(lowered.body) | set(operand_vars(lowered.result))
    lowered = replace(lowered, name=program.name, params=tuple(p for p in lowered.params if p.name in used), doc=program.doc)
    return Sweep(program.name, to_source(lowered), tuple(p.name for p in lowered.params), seeds)


def _forward(program: Straight) -> Function:
    """The program itself, with a parameter for every name that no step makes."""
    builder = Builder(names=Names(program.types), types=dict(program.types))
    for step in program.steps:
        _emit(builder, step)
    made = {t for step in program.steps for t in step.targets}
    results: tuple[Operand, ...] = tuple(Var(r) for r in program.results)
    return Function(
        name=program.name,
        params=tuple(Var(n) for n in program.types if n not in made),
        body=tuple(builder.out),
        result=results[0] if len(results) == 1 else Pack(results),
        types=builder.types,
    )


def _emit(builder: Builder, step: Step) -> None:
    if isinstance(step.op, str):
        builder.emit(Assign(tuple(Var(t) for t in step.targets), step.op, step.args, step.kwargs))
        return
    given = set(builder.types)
    value = splice(builder, step.op, tuple(_value(builder, a) for a in step.args), {k: _value(builder, v) for k, v in step.kwargs})
    (target,) = step.targets
    wanted = builder.types[target]
    if not isinstance(value, Sym) or (value.type.dtype, value.type.rank) != (wanted.dtype, wanted.rank):
        raise NotDifferentiableError(f"`{step.op.__name__}` gives another type here than it gave on the tape")
    if isinstance(value.operand, Var) and value.name not in given:
        builder.types[value.name] = wanted  # extents that were seen say more than those that can be told
    builder.assign(Sym(Var(target), wanted), "alias", value.operand)


def _value(builder: Builder, operand: Operand) -> Value:
    match operand:
        case Var():
            return Sym(operand, builder.types[operand.name])
        case Pack():
            return tuple(_value(builder, o) for o in operand.items)
        case Slice():
            return slice(*(_value(builder, o) for o in (operand.lower, operand.upper, operand.step)))
    assert isinstance(operand, Const)
    return operand.value


# --------------------------------------------------------------------------- running

_WRITEABLE = 0x0400  # NPY_ARRAY_WRITEABLE; to ask `flags.writeable` itself makes NumPy warn for some arrays


def layout_of(value: Any) -> Layout:
    """What native code depends on in an argument.

    >>> layout_of(np.ones((2, 3), np.float32).T), layout_of(0.5)
    (('float32', 2, 'F', True), ('float64',))
    """
    if type(value) is np.ndarray:
        flags = value.flags
        order = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return (value.dtype.name, value.ndim, order, bool(flags.num & _WRITEABLE))
    return (np.result_type(value).name,)


def load(sweep: Sweep, *, jit: bool = True) -> Callable[..., Any]:
    """The function of a sweep. Once `warm` was called for it, it takes arguments of those layouts alone for which that was done."""
    from stgrad import loader

    return loader.load(sweep.text, sweep.name, jit=jit, tell=False)


def warm(run: Any, layouts: Sequence[Layout]) -> None:
    """Compile a loaded sweep for arguments of these layouts."""
    if hasattr(run, "disable_compile"):
        run.disable_compile(False)
        try:
            run.compile(tuple(map(_numba_type, layouts)))
        finally:
            run.disable_compile(bool(run.signatures))


def _numba_type(layout: Layout) -> Any:
    import numba

    dtype = numba.from_dtype(np.dtype(layout[0]))
    if len(layout) == 1:
        return dtype
    return numba.types.Array(dtype, layout[1], layout[2], readonly=not layout[3])
