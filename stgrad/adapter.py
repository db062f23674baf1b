"""Programs for callers in compiled code: a Numba dispatcher with the parameters and the result of the user's function.

Where the program's flat parameters are not the user's, a function stands between, itself compiled and inlined by LLVM:

    def loss_grad(x, p, k=2.0):
        r0, r1 = compiled(x, p[0], p[1], k, table)
        return r0, (r1,)

Captured arrays are constants of it, as everywhere in Numba.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from stgrad import errors, loader
from stgrad.calls import wrapper
from stgrad.calls.arguments import known_extents, knows_extents
from stgrad.calls.program_cache import Ready
from stgrad.names import Names
from stgrad.values import Listed, Sym, Value

_LITERALS = (bool, int, float, complex, str, type(None))


Nodes = Mapping[str, wrapper.Node]


def adapter(ready: Ready, nodes: Nodes, signature: inspect.Signature, *, typed: Collection[str] = (), parallel: bool = False) -> Any:
    """A dispatcher that takes the user's arguments and returns the user's result.

    Args:
        ready: the program.
        nodes: descriptions of the arguments, by parameter.
        signature: of the user's function.
        typed: parameters of which only the type is known: their value must not have been compiled in.
        parallel: as for the program.

    Raises UnsupportedCallerError for structures that compiled code cannot pass or return, and for programs that must check
    whether their arguments share memory.
    """
    _refuse_shared(ready)
    for name in typed:
        refuse_constants(name, nodes[name])
    compiled = loader.load(ready.text, ready.name, parallel=parallel)
    nodes, signature = spread(nodes, signature)
    text, names = adapter_text(ready, nodes, signature)
    if _is_plain(ready, nodes, signature):
        return compiled
    import numba

    namespace = {**names, "compiled": compiled}
    exec(compile(text, f"<stgrad call of {ready.name}>", "exec"), namespace)  # noqa: S102
    return numba.njit(**loader.OPTIONS)(namespace[ready.name])


def adapter_text(ready: Ready, nodes: Nodes, signature: inspect.Signature) -> tuple[str, dict[str, Any]]:
    """The text of the function between, and the values it refers to."""
    nodes, signature = spread(nodes, signature)
    _refuse_parameters(signature)
    fresh = Names([ready.name, "compiled", "np", *signature.parameters])
    names: dict[str, Any] = {"np": np}
    tests: list[str] = []
    passed = [e for name, node in nodes.items() for e in _passed(name, node, tests)]
    for capture in {c.variable: c for c in ready.captures if c.variable is not None}.values():
        name = fresh.fresh(capture.variable)
        names[name] = capture.value
        passed.append(name)
    results = [fresh.fresh(f"r{i}") for i in range(_count(ready.result))]
    returned = _returned(ready.result, iter(results), names)
    call = f"compiled({', '.join(passed)})"
    lines = [f"def {ready.name}({', '.join(_parameters(signature, names))}):"]
    lines += [f"    if {test}:\n        raise ValueError('stgrad: compiled for another value: {name}')" for name, test in map(_split, tests)]
    lines += [f"    {', '.join(results)} = {call}" if results else f"    {call}", f"    return {returned}", ""]
    return "\n".join(lines), names


def spread(nodes: Nodes, signature: inspect.Signature) -> tuple[Nodes, inspect.Signature]:
    """The same with a parameter for each item of `*args` and `**kwargs`: a call in compiled code has so many."""
    kinds = inspect.Parameter
    found: dict[str, wrapper.Node] = {}
    parameters = []
    for name, parameter in signature.parameters.items():
        node = nodes[name] if name in nodes else wrapper.Items(tuple, ())
        if parameter.kind is kinds.VAR_POSITIONAL and isinstance(node, wrapper.Items):
            items = [(f"{name}_{i}", item) for i, item in enumerate(node.items)]
        elif parameter.kind is kinds.VAR_KEYWORD and isinstance(node, (wrapper.Keys, wrapper.Items)):
            items = list(node.items) if isinstance(node, wrapper.Keys) else []
        else:
            found[name] = node
            parameters.append(parameter)
            continue
        found.update(items)
        parameters += [kinds(one, kinds.POSITIONAL_OR_KEYWORD) for one, _ in items]
    return found, inspect.Signature(parameters)


def _split(test: str) -> tuple[str, str]:
    return test.partition(" ")[0], test


def _is_plain(ready: Ready, nodes: Nodes, signature: inspect.Signature) -> bool:
    """Whether the program has the user's own parameters and result."""
    defaults = any(p.default is not p.empty for p in signature.parameters.values())
    leaf = all(isinstance(n, wrapper.Scalar) or isinstance(n, wrapper.Array) and n.ndim and not known_extents(n) for n in nodes.values())
    same = [p.name for p in ready.params] == list(signature.parameters)
    result = ready.result
    flat = isinstance(result, Sym) or type(result) is tuple and len(result) > 1 and all(isinstance(v, Sym) for v in result)
    return same and leaf and flat and not defaults


def _passed(place: str, node: wrapper.Node, tests: list[str]) -> Iterator[str]:
    """Expressions for the values that the program takes; conditions that refuse a call go to `tests`."""
    match node:
        case wrapper.Items() if issubclass(node.type, tuple):
            for i, inner in enumerate(node.items):
                yield from _passed(f"{place}[{i}]", inner, tests)
        case wrapper.Array() if not node.ndim:
            yield f"{place}[()]"
        case wrapper.Scalar() | wrapper.Array():
            if isinstance(node, wrapper.Array):
                tests.extend(f"{place}.shape[{axis}] != {n}" for axis, n in known_extents(node).items())
            yield place
        case wrapper.Static() if type(node.value) in (bool, int, str):
            tests.append(f"{place} != {node.value!r}")
        case wrapper.Static() if node.value is None:
            return
        case _:
            raise errors.UnsupportedCallerError(
                f"compiled code cannot pass `{place}`", reason=f"it is a {_kind(node)}", hint="pass numbers, arrays and tuples of them"
            )


def _kind(node: wrapper.Node) -> str:
    if isinstance(node, wrapper.Static):
        return type(node.value).__name__
    return "dict" if isinstance(node, wrapper.Keys) else getattr(node, "type", type(node)).__name__


def _returned(value: Value, results: Iterator[str], names: dict[str, Any]) -> str:
    if isinstance(value, Sym):
        return next(results)
    if isinstance(value, tuple) and not isinstance(value, Listed):
        items = "".join(f"{_returned(v, results, names)}, " for v in value)
        if not hasattr(value, "_fields"):
            return f"({items})"
        names[type(value).__name__] = type(value)
        return f"{type(value).__name__}({items})"
    if type(value) in _LITERALS:
        return repr(value)
    kind = "list" if isinstance(value, Listed) else type(value).__name__
    raise errors.UnsupportedCallerError(f"compiled code cannot return a {kind}", hint="return numbers, arrays and tuples of them")


def _count(value: Value) -> int:
    if isinstance(value, (tuple, list)):
        return sum(map(_count, value))
    return sum(map(_count, value.values())) if isinstance(value, dict) else int(isinstance(value, Sym))


def _parameters(signature: inspect.Signature, names: dict[str, Any]) -> Iterator[str]:
    for name, parameter in signature.parameters.items():
        if parameter.default is parameter.empty:
            yield name
        else:
            names[f"{name}_default"] = parameter.default
            yield f"{name}={name}_default"


def _refuse_parameters(signature: inspect.Signature) -> None:
    for name, parameter in signature.parameters.items():
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
            raise errors.UnsupportedCallerError(f"compiled code cannot pass `{name}`", reason=f"it is {parameter.kind.description}")


def refuse_constants(place: str, node: wrapper.Node) -> None:
    """Raise UnsupportedCallerError where a value was compiled in that the caller knows only the type of."""
    if isinstance(node, wrapper.Items):
        for inner in node.items:
            refuse_constants(place, inner)
    pinned = isinstance(node, wrapper.Array) and knows_extents(node)
    if pinned or isinstance(node, wrapper.Static) and node.value is not None:
        raise errors.UnsupportedCallerError(
            f"the {'shape' if pinned else 'value'} of `{place}` decides the program, and compiled code knows only its type",
            hint="call `.dispatcher(*example_arguments)` outside, or fix the argument with functools.partial",
        )


def _refuse_shared(ready: Ready) -> None:
    """A program that writes to one of several arrays checks them at each call from Python."""
    arrays = [p for p in ready.params if p.array]
    written = [p.name for p in arrays if p.written]
    if written and len(arrays) > 1:
        raise errors.UnsupportedCallerError(
            f"the function writes to its argument `{written[0]}`",
            reason="compiled callers cannot be asked whether the arguments share memory",
            hint=f"copy it inside the function: {written[0]} = {written[0]}.copy()",
        )
