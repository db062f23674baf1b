"""The competitors: each turns a program into a call `() -> (value, gradients)` on inputs that are already where the tool wants them."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numba
import numpy as np

import stgrad
from benchmarks.program import Function, Program

Call = Callable[[], Any]
NAMES = ("stgrad", "by hand", "primal", "stgrad primal", "jax", "jax expert", "torch", "torch.compile", "autograd")
PEERS = ("jax", "jax expert", "torch", "torch.compile", "autograd")


def available(variant: str, program: Program) -> bool:
    """Whether the program has this variant and its tool is installed."""
    port = {
        "by hand": program.by_hand,
        "jax": program.jax,
        "jax expert": program.jax_expert,
        "torch": program.torch,
        "torch.compile": program.torch,
        "autograd": program.autograd,
    }
    if variant in port and port[variant] is None:
        return False
    module = variant.split()[0].split(".")[0]
    return module not in ("jax", "torch", "autograd") or importlib.util.find_spec(module) is not None


def make(variant: str, program: Program, args: tuple[Any, ...]) -> Call:
    """The call to time."""
    return _MAKERS[variant](program, args)


def results(variant: str, answer: Any) -> list[Any]:
    """Value and gradients as NumPy arrays; only the value for a primal."""
    if variant in ("primal", "stgrad primal"):
        return [np.asarray(answer)]
    if variant == "by hand":
        value, *bars = answer
    else:
        value, bars = answer
        bars = bars if isinstance(bars, (tuple, list)) else [bars]
    return [_numpy(x) for x in (value, *bars)]


def _numpy(x: Any) -> Any:
    return x.detach().numpy() if hasattr(x, "detach") else np.asarray(x)


def _argnums(program: Program) -> int | tuple[int, ...]:
    return program.wrt[0] if len(program.wrt) == 1 else program.wrt


def _stgrad(program: Program, args: tuple[Any, ...]) -> Call:
    run = stgrad.value_and_grad(program.function, _argnums(program))
    return lambda: run(*args)


def _stgrad_primal(program: Program, args: tuple[Any, ...]) -> Call:
    run = stgrad.jit(program.function)
    return lambda: run(*args)


def _by_hand(program: Program, args: tuple[Any, ...]) -> Call:
    run = program.by_hand
    assert run is not None
    return lambda: run(*args)


def njit(function: Function) -> Function:
    """Numba's dispatcher with the options of generated code; the plain functions that it calls are compiled too."""
    assert isinstance(function, FunctionType)
    called = {name: function.__globals__.get(name) for name in function.__code__.co_names}
    helpers = {name: njit(f) for name, f in called.items() if isinstance(f, FunctionType) and f.__module__ == function.__module__}
    copy = FunctionType(function.__code__, {**function.__globals__, **helpers}, function.__name__, function.__defaults__)
    compiled: Function = numba.njit(error_model="numpy", nogil=True)(copy)
    return compiled


def _primal(program: Program, args: tuple[Any, ...]) -> Call:
    run = njit(program.function)
    return lambda: run(*args)


def _jax_call(factory: Callable[[], Function], program: Program, args: tuple[Any, ...]) -> Call:
    import jax

    static = tuple(i for i, a in enumerate(args) if isinstance(a, int))
    run = jax.jit(jax.value_and_grad(factory(), argnums=program.wrt), static_argnums=static)
    placed = [a if isinstance(a, int) else jax.numpy.asarray(a) for a in args]
    return lambda: jax.block_until_ready(run(*placed))


def _jax(program: Program, args: tuple[Any, ...]) -> Call:
    assert program.jax is not None
    return _jax_call(program.jax, program, args)


def _jax_expert(program: Program, args: tuple[Any, ...]) -> Call:
    assert program.jax_expert is not None
    return _jax_call(program.jax_expert, program, args)


def _torch_call(program: Program, args: tuple[Any, ...], wrap: Callable[[Function], Function]) -> Call:
    import torch

    torch.set_num_threads(1)
    assert program.torch is not None
    run = wrap(program.torch())
    placed = [_tensor(a, i in program.wrt) for i, a in enumerate(args)]
    leaves = [placed[i] for i in program.wrt]

    def call() -> Any:
        value = run(*placed)
        return value, torch.autograd.grad(value, leaves)

    return call


def _tensor(x: Any, differentiated: bool) -> Any:
    import torch

    if not differentiated and not isinstance(x, np.ndarray):
        return x
    tensor = torch.as_tensor(x) if isinstance(x, np.ndarray) else torch.tensor(x, dtype=torch.float64)
    return tensor.clone().requires_grad_(differentiated)


def _torch(program: Program, args: tuple[Any, ...]) -> Call:
    return _torch_call(program, args, lambda f: f)


def _torch_compiled(program: Program, args: tuple[Any, ...]) -> Call:
    import torch

    warnings.simplefilter("ignore")
    return _torch_call(program, args, lambda f: torch.compile(f))


def _autograd(program: Program, args: tuple[Any, ...]) -> Call:
    import autograd

    assert program.autograd is not None
    function = program.autograd()

    def of_leaves(leaves: Sequence[Any]) -> Any:
        full = list(args)
        for i, leaf in zip(program.wrt, leaves, strict=True):
            full[i] = leaf
        return function(*full)

    run = autograd.value_and_grad(of_leaves)
    start = tuple(args[i] for i in program.wrt)
    return lambda: run(start)


_MAKERS: dict[str, Callable[[Program, tuple[Any, ...]], Call]] = {
    "stgrad": _stgrad,
    "stgrad primal": _stgrad_primal,
    "by hand": _by_hand,
    "primal": _primal,
    "jax": _jax,
    "jax expert": _jax_expert,
    "torch": _torch,
    "torch.compile": _torch_compiled,
    "autograd": _autograd,
}
