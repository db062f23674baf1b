"""The function of a built module that users call: it tests its arguments, takes them apart, and builds the result.

    def loss_grad(p, x, n=3):
        dict_of(p, 'p', ('w', 'b'))
        p_w = array_of(p['w'], "p['w']", 'float64', (None,))
        p_b = float_of(p['b'], "p['b']")
        ...
        r0, r1 = program(p_w, p_b, x, n)
        return {'w': r0, 'b': r1}
"""

from __future__ import annotations

import base64
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.calls import wrapper
from stgrad.calls.program_cache import Param, Ready
from stgrad.names import Names
from stgrad.prepared import hidden_of
from stgrad.values import Listed, Sym, Value

CHECKS = "stgrad.standalone.checks"
FEW = 64  # numbers of an array from outside that are written as such
MOST = 1 << 20  # bytes of one that are written at all
_LITERALS = (bool, int, float, complex, str, bytes, type(None))
_NUMBERS = {float: "float_of", int: "int_of", bool: "bool_of", complex: "complex_of"}


class Wrapping:
    """Writes one function; see the module."""

    def __init__(self, name: str, program: str, signature: inspect.Signature, nodes: Mapping[str, wrapper.Node], ready: Ready, doc: str) -> None:
        self._name, self._program, self._signature, self._nodes, self._ready, self._doc = name, program, signature, nodes, ready, doc
        self._names = Names([*signature.parameters, name, program, "np", *_checks()])
        self._lines: list[str] = []
        self._used: dict[str, None] = {}
        self.constants: list[str] = []  # lines of module scope: arrays from outside

    def text(self) -> str:
        """The function, with the documentation of its arguments."""
        leaves = [leaf for name, node in self._nodes.items() if self._is_plain(name) for leaf in self._leaves(name, name, node)]
        self._refuse_shared(leaves)
        passed = [*leaves, *map(self._constant, hidden_of(self._ready))]
        results = [self._names.fresh(f"r{i}") for i in range(_count(self._ready.result))]
        call = f"{self._program}({', '.join(passed)})"
        built = _built(self._ready.result, iter(results))
        taken = f"{', '.join(results)} = {call}" if results else call
        end = [f"return {call}"] if built == f"({', '.join(results)})" or [built] == results else [taken, f"return {built}"]
        body = [*self._docstring(), *self._lines, *end]
        return "\n".join([f"def {self._name}({', '.join(self._parameters())}):", *("    " + line if line else "" for line in body), ""])

    @property
    def checks(self) -> list[str]:
        """The functions of `checks` that it calls."""
        return sorted(self._used)

    def _docstring(self) -> list[str]:
        told = [f"    {name}: {_told(node)}" for name, node in self._nodes.items() if self._is_plain(name)]
        doc = self._doc or f"{self._name}, compiled."
        lines = [*doc.replace("\\", "\\\\").replace('"""', '\\"\\"\\"').splitlines(), *(["", "Args:", *told] if told else [])]
        return [f'"""{lines[0]}', *lines[1:], '"""']

    def _parameters(self) -> Iterator[str]:
        last = None
        for name, parameter in self._signature.parameters.items():
            if parameter.kind is parameter.VAR_KEYWORD:
                if self._nodes.get(name, wrapper.Keys(())) != wrapper.Keys(()):
                    raise _refused(name, f"it is {parameter.kind.description}", "name its parameters")
                continue
            if parameter.kind is parameter.KEYWORD_ONLY and last not in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL):
                yield "*"
            if last is parameter.POSITIONAL_ONLY and parameter.kind is not last:
                yield "/"
            last = parameter.kind
            star = "*" * (parameter.kind is parameter.VAR_POSITIONAL)
            yield star + name if parameter.default is parameter.empty else f"{name}={self._default(name, parameter.default)}"
        if last is inspect.Parameter.POSITIONAL_ONLY:
            yield "/"

    def _default(self, name: str, value: Any) -> str:
        if not _is_literal(value):
            raise _refused(name, f"its default is a {type(value).__name__}", "give it a number, a string or None as default, or none")
        return repr(value)

    def _is_plain(self, name: str) -> bool:
        """Whether a parameter stands in the new function: `**kwargs` does not."""
        return self._signature.parameters[name].kind is not inspect.Parameter.VAR_KEYWORD

    # ------------------------------------------------------------- arguments

    def _leaves(self, place: str, wish: str, node: wrapper.Node) -> Iterator[str]:
        """Names of the numbers and arrays of an argument, once the lines before have run."""
        match node:
            case wrapper.Items() if node.type in (tuple, list):
                self._check("items_of", place, node.type.__name__, str(len(node.items)))
                for i, inner in enumerate(node.items):
                    yield from self._leaves(f"{place}[{i}]", f"{wish}_{i}", inner)
            case wrapper.Keys() if all(_is_literal(key) for key, _ in node.items):
                self._check("dict_of", place, repr(tuple(key for key, _ in node.items)))
                for key, inner in node.items:
                    yield from self._leaves(f"{place}[{key!r}]", f"{wish}_{key}", inner)
            case wrapper.Static() if _is_literal(node.value):
                self._check("fixed", place, repr(node.value))
            case wrapper.Array():
                extents = node.extents if node.extents is not None else (None,) * node.ndim
                name = self._leaf(wish, "array_of", place, repr(node.dtype), repr(extents))
                yield name if node.ndim else f"{name}[()]"
            case wrapper.Scalar():
                known = _NUMBERS.get(node.type)
                yield self._leaf(wish, known, place) if known else self._leaf(wish, "number_of", place, repr(np.dtype(node.type).name))
            case _:
                raise _refused(place, f"it is a {_kind(node)}", "pass numbers, arrays, and tuples, lists and dicts of them")

    def _check(self, check: str, place: str, *rest: str) -> None:
        self._lines.append(self._call(check, place, rest))

    def _leaf(self, wish: str, check: str, place: str, *rest: str) -> str:
        name = wish if wish == place else self._names.fresh(wish)
        self._lines.append(f"{name} = {self._call(check, place, rest)}")
        return name

    def _call(self, check: str, place: str, rest: Sequence[str]) -> str:
        self._used[check] = None
        return f"{check}({', '.join([place, repr(place), *rest])})"

    def _refuse_shared(self, leaves: Sequence[str]) -> None:
        """A program that writes to one of several arrays tests at each call that it shares memory with no other."""
        for a, b in _written_pairs(self._ready.params[: len(leaves)]):
            self._used["apart"] = None
            self._lines.append(f"apart({leaves[a]}, {leaves[b]}, {f'`{leaves[a]}` and `{leaves[b]}`'!r})")

    def _constant(self, value: Any) -> str:
        """The name of an array from outside, whose numbers stand in the module."""
        name = self._names.fresh(f"{self._name.upper()}_ARRAY")
        self.constants.append(f"{name} = {_array_text(value)}")
        return name


def _checks() -> list[str]:
    from stgrad.standalone import checks

    return [name for name, value in vars(checks).items() if inspect.isfunction(value)]


def _is_literal(value: Any) -> bool:
    return all(map(_is_literal, value)) if type(value) is tuple else type(value) in _LITERALS


def _array_text(value: np.ndarray[Any, Any]) -> str:
    """An expression for an array."""
    if value.size <= FEW and np.all(np.isfinite(value)):
        return f"np.array({value.tolist()!r}, {value.dtype.name!r}).reshape({value.shape})"
    if value.nbytes > MOST:
        raise errors.UnsupportedCallerError(
            f"the function reads an array of {value.nbytes / 1e6:.1f} MB from outside", reason="it would stand in the module", hint="make it an argument"
        )
    coded = base64.b85encode(np.ascontiguousarray(value).tobytes()).decode()
    return f"np.frombuffer(base64.b85decode({coded!r}), {value.dtype.name!r}).reshape({value.shape}).copy()"


def _written_pairs(params: Sequence[Param]) -> Iterator[tuple[int, int]]:
    arrays = [i for i, p in enumerate(params) if p.array]
    written = [i for i in arrays if params[i].written]
    yield from ((i, j) for i in written for j in arrays if i != j and not (j in written and j < i))


def _count(value: Value) -> int:
    if isinstance(value, (tuple, list)):
        return sum(map(_count, value))
    return sum(map(_count, value.values())) if isinstance(value, dict) else int(isinstance(value, Sym))


def _built(value: Value, results: Iterator[str]) -> str:
    """The expression that builds the result from the names of its numbers and arrays."""
    if isinstance(value, Sym):
        item, t = next(results), value.type
        return item if t.array or t.weak else f"np.{np.dtype(t.dtype).type.__name__}({item})"
    if type(value) is dict and all(map(_is_literal, value)):
        return "{" + ", ".join(f"{key!r}: {_built(inner, results)}" for key, inner in value.items()) + "}"
    if type(value) in (tuple, list):
        inner = ", ".join(_built(item, results) for item in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
    if _is_literal(value):
        return repr(value)
    kind = "list of a length that only the running program knows" if isinstance(value, Listed) else type(value).__name__
    raise errors.UnsupportedCallerError(
        f"a module without stgrad cannot return a {kind}", hint="return numbers, arrays, and tuples, lists and dicts of them"
    )


def _told(node: wrapper.Node) -> str:
    """What an argument is, in words."""
    match node:
        case wrapper.Array():
            known = [f"of extent {n} in axis {i}" for i, n in enumerate(node.extents or ()) if n is not None]
            return ", ".join((f"an array of {node.dtype}, rank {node.ndim}", *known))
        case wrapper.Scalar():
            return f"{'an' if node.type is int else 'a'} {node.type.__name__}" if node.type in _NUMBERS else f"a np.{node.type.__name__}"
        case wrapper.Items():
            return f"a {node.type.__name__} of {len(node.items)}: " + "; ".join(map(_told, node.items))
        case wrapper.Keys():
            return "a dict with " + "; ".join(f"{key!r}: {_told(inner)}" for key, inner in node.items)
        case _:
            return repr(getattr(node, "value", node))


def _kind(node: wrapper.Node) -> str:
    value = node.value if isinstance(node, wrapper.Static) else None
    return type(value).__name__ if isinstance(node, wrapper.Static) else getattr(node, "type", dict).__name__


def _refused(place: str, reason: str, hint: str) -> errors.UnsupportedCallerError:
    return errors.UnsupportedCallerError(f"a module without stgrad cannot take `{place}`", reason=reason, hint=hint)
