"""The call path: a generated function of fixed arity that checks its arguments inline and calls compiled code.

A type key is a description of every argument, made of the classes below; `describe` gives the one of a value. `make_wrapper`
turns a list of (descriptions, compiled function) into the text of one function and runs it:

    def loss(x, p, n=3):
        if type(x) is float and type(p) is tuple and len(p) == 2:
            p_0, p_1 = p
            if type(p_0) is ndarray and (p_0.dtype is float64 or p_0.dtype == float64) and p_0.ndim == 2 and 1 not in p_0.shape and type(p_1) is float:
                return compiled(x, p_0, p_1)
        return slow(x, p, n)

Containers are taken apart, their leaves passed flat and in order, static values left out. What matches no case goes to
`slow` with the user's own arguments. There is no state and no lock: another thread may do the same at the same time.
"""

from __future__ import annotations

import builtins
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from stgrad.instances import attributes_of
from stgrad.names import Names

ARGUMENT = 2**47  # integers up to this size are passed to programs


@dataclass(frozen=True, slots=True)
class Scalar:
    """An instance of exactly this class: float, int, bool, complex, np.float64... An int is a small one (`is_small`)."""

    type: type


@dataclass(frozen=True, slots=True)
class Array:
    """An `np.ndarray` (no subclass) of this dtype, in native byte order.

    `extents` tells for each axis which extent the code is for: 1, as code for others has no broadcasting in it, one that decides the program, or
    None, which is any but 1. Without it nothing is asked.
    `contiguous` asks for C order, `writeable` for an array that may be written to.
    """

    dtype: str
    ndim: int
    extents: tuple[int | None, ...] | None = None
    contiguous: bool = False
    writeable: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Static:
    """A value that is part of the program: None, a string, a function, an int that decides a structure. Not passed on.

    Plain values are the same where their class and they are equal (1 is not True); any other object, whatever its `__eq__` says, is only itself.
    """

    value: Any

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Static) or type(self.value) is not type(other.value):
            return False
        return self.value is other.value or type(self.value) in _EQUAL and bool(self.value == other.value)

    def __hash__(self) -> int:
        value = frozenset(self.value) if isinstance(self.value, set) else self.value
        return hash((type(value), value if type(value) in _EQUAL else id(value)))


@dataclass(frozen=True, slots=True)
class Items:
    """A tuple, list or NamedTuple of exactly this class and length."""

    type: type
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Keys:
    """A dict with exactly these keys; leaves come in this order."""

    items: tuple[tuple[Any, Node], ...]


@dataclass(frozen=True, slots=True)
class Attributes:
    """An instance of exactly this class with exactly these attributes."""

    type: type
    items: tuple[tuple[str, Node], ...]


Node = Scalar | Array | Static | Items | Keys | Attributes
Case = tuple[Sequence[Node], Callable[..., Any]]
Guards = tuple[Sequence[str], dict[str, Any]]

_EQUAL = (str, bytes, int, range, set, frozenset)  # classes whose values are compared, not their identity


@runtime_checkable
class Inline(Protocol):
    """A callable of the flat arguments that can write its body into the wrapper."""

    def lines(self, passed: Sequence[str], bind: Callable[[str, Any], str], fresh: Callable[[str], str]) -> Iterator[str]: ...


def describe(value: Any, *, contiguous: bool = False, writeable: bool = False) -> Node:
    """The description that `value` matches, as precise as the classes above allow; of scalars integers that are not small are static.

    >>> describe({"w": np.ones((3, 1)), "mode": "l2"})
    Keys(items=(('w', Array(dtype='float64', ndim=2, extents=(None, 1), contiguous=False, writeable=False)), ('mode', Static(value='l2'))))
    """

    def go(inner: Any) -> Node:
        return describe(inner, contiguous=contiguous, writeable=writeable)

    kind = type(value)
    if kind is np.ndarray:
        extents = tuple(1 if n == 1 else None for n in value.shape)
        dtype = value.dtype.name if value.dtype.isnative else value.dtype.str  # which the compiler refuses
        return Array(dtype, value.ndim, extents, contiguous, writeable)
    if kind in (float, bool, complex) or kind is int and is_small(value) or isinstance(value, np.generic) and value.dtype.kind in "fciub":
        return Scalar(kind)
    if kind in (tuple, list) or (isinstance(value, tuple) and hasattr(kind, "_fields")):
        return Items(kind, tuple(map(go, value)))
    if kind is dict:
        return Keys(tuple((key, go(item)) for key, item in value.items()))
    attributes = attributes_of(value)
    if attributes is not None:
        return Attributes(kind, tuple((name, go(item)) for name, item in attributes.items()))
    return Static(set(value) if kind is set else value)  # a copy: the caller's may change


def is_small(value: int) -> bool:
    """Whether programs take an integer as an argument: what they compute of it then fits, or is tested. Others are compiled in, as Python's."""
    return -ARGUMENT <= value <= ARGUMENT


def leaves(node: Node, value: Any) -> Iterator[Any]:
    """The values that a wrapper passes on for `value`, which must match `node`; in the same order."""
    match node:
        case Items():
            for child, inner in zip(node.items, value, strict=True):
                yield from leaves(child, inner)
        case Keys():
            for key, child in node.items:
                yield from leaves(child, value[key])
        case Attributes():
            for name, child in node.items:
                yield from leaves(child, getattr(value, name))
        case Static():
            return
        case _:
            yield value


def make_wrapper(
    name: str, signature: inspect.Signature, cases: Sequence[Case], slow: Callable[..., Any], guards: Guards = ((), {})
) -> Callable[..., Any]:
    """The generated function: try the cases in order, then `slow`.

    Args:
        name: what the function is called, in tracebacks too.
        signature: of the user's function; defaults and keywords work as there.
        cases: for each, one description per parameter (`*args` is a tuple, `**kwargs` a dict) and what to call with the leaves.
        slow: called with the arguments as they came; without cases, and where a guard does not hold, MISSING stands for what the caller left out.
        guards: expressions that must all be true for any case to be tried, and the names in them.
    """
    text, namespace = wrapper_text(name, signature, cases, slow, guards)
    exec(compile(text, f"<stgrad call of {name}>", "exec"), namespace)
    function: Callable[..., Any] = namespace[name]
    return function


def wrapper_text(
    name: str, signature: inspect.Signature, cases: Sequence[Case], slow: Callable[..., Any], guards: Guards = ((), {})
) -> tuple[str, dict[str, Any]]:
    """The text of a wrapper and the names it needs."""
    writer = _Writer([name, *signature.parameters])
    tests, names = guards
    header = f"def {name}({', '.join(writer.parameters(signature, late=bool(tests) or not cases))}):"
    body = [line for nodes, compiled in cases for line in writer.case(list(signature.parameters), nodes, compiled)]
    passed = ", ".join(_passed(parameter) for parameter in signature.parameters.values())
    otherwise = f"    return {writer.bind('slow', slow)}({passed})"
    if tests:
        writer.namespace.update({f"_{key}": value for key, value in names.items()})
        valid = " and ".join(_GUARD_NAME.sub(r"_\g<0>", test) for test in tests)
        body = [f"    if not ({valid}):", f"    {otherwise}", *writer.defaults(signature), *body]
    return "\n".join([header, *body, otherwise, ""]), writer.namespace


class _Missing:
    """What a parameter has that the caller left out, until it is certain that the defaults are still the same."""


MISSING = _Missing()


def given(names: Sequence[str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call as the caller gave them, without those that are MISSING; `names` are the parameters in order.

    >>> given(("a", "b", "c"), (1, MISSING, 3), {"d": MISSING})
    ((1,), {'c': 3})
    """
    first = next((i for i, value in enumerate(args) if value is MISSING), len(args))
    named = {**dict(zip(names[first:], args[first:], strict=False)), **kwargs}
    return args[:first], {name: value for name, value in named.items() if value is not MISSING}


_GUARD_NAME = re.compile(r"\b(?:at|was|held|same|holds|absent)\d+\b")


def _passed(parameter: inspect.Parameter) -> str:
    """How the wrapper hands a parameter on."""
    marks: dict[Any, str] = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**", parameter.KEYWORD_ONLY: f"{parameter.name}="}
    return marks.get(parameter.kind, "") + parameter.name


class _Writer:
    """Collects the names that the text refers to, and writes the checks of a case."""

    def __init__(self, taken: Sequence[str]) -> None:
        self._taken = set(taken)
        self._names = Names(taken)
        self._bound: dict[int, str] = {}
        self.namespace: dict[str, Any] = {}

    def bind(self, wish: str, value: Any) -> str:
        """A name for an object in the text; builtins keep theirs, unless a parameter has it."""
        if wish not in self._taken and getattr(builtins, wish, self) is value:
            return wish
        if id(value) not in self._bound:
            name = self._names.fresh(re.sub(r"\W", "_", wish))
            self._bound[id(value)] = name
            self.namespace[name] = value
        return self._bound[id(value)]

    def defaults(self, signature: inspect.Signature) -> Iterator[str]:
        """The lines that give parameters their defaults."""
        for parameter in signature.parameters.values():
            if parameter.default is not parameter.empty:
                default = self.bind(f"{parameter.name}_default", parameter.default)
                yield f"    if {parameter.name} is {self.bind('missing', MISSING)}: {parameter.name} = {default}"

    def parameters(self, signature: inspect.Signature, late: bool = False) -> Iterator[str]:
        """The header; with `late`, parameters that are left out are MISSING at first."""
        previous = None
        for parameter in signature.parameters.values():
            if previous is parameter.POSITIONAL_ONLY and parameter.kind is not previous:
                yield "/"
            if parameter.kind is parameter.KEYWORD_ONLY and previous not in (parameter.VAR_POSITIONAL, parameter.KEYWORD_ONLY):
                yield "*"
            previous = parameter.kind
            plain = "**" if previous is parameter.VAR_KEYWORD else "*" if previous is parameter.VAR_POSITIONAL else ""
            bound = ("missing", MISSING) if late else (f"{parameter.name}_default", parameter.default)
            default = "" if parameter.default is parameter.empty else "=" + self.bind(*bound)
            yield f"{plain}{parameter.name}{default}"
        if previous is inspect.Parameter.POSITIONAL_ONLY:
            yield "/"

    def case(self, names: Sequence[str], nodes: Sequence[Node], compiled: Callable[..., Any]) -> Iterator[str]:
        """Nested `if`s, one for each level of the containers."""
        passed: dict[tuple[int, ...], str] = {}  # by the path to it
        level: list[tuple[tuple[int, ...], str, Node]] = [((i,), *pair) for i, pair in enumerate(zip(names, nodes, strict=True))]
        indent = "    "
        while level:
            tests = [test for _, name, node in level for test in self._tests(name, node)]
            if tests:
                yield f"{indent}if {' and '.join(tests)}:"
                indent += "    "
            deeper: list[tuple[tuple[int, ...], str, Node]] = []
            for path, name, node in level:
                if isinstance(node, (Scalar, Array)):
                    passed[path] = name
                elif not isinstance(node, Static):
                    inner = [self._names.fresh(f"{name}_{i}") for i in range(len(node.items))]
                    if inner:
                        yield f"{indent}{', '.join(inner)}, = {self._taken_apart(name, node)}"
                    deeper += [((*path, i), n, child) for i, (n, child) in enumerate(zip(inner, _children(node), strict=True))]
            level = deeper
        arguments = [passed[path] for path in sorted(passed)]
        if isinstance(compiled, Inline):
            yield from (indent + line for line in compiled.lines(arguments, self.bind, self._names.fresh))
        else:
            yield f"{indent}return {self.bind('compiled', compiled)}({', '.join(arguments)})"

    def _tests(self, name: str, node: Node) -> list[str]:
        match node:
            case Scalar():
                return [self._is_a(name, node.type), *([f"-{ARGUMENT} <= {name} <= {ARGUMENT}"] if node.type is int else ())]
            case Array():
                return [self._is_a(name, np.ndarray), *self._array_tests(name, node)]
            case Static():
                return self._static_tests(name, node.value)
            case Items():
                return [self._is_a(name, node.type), self._has_length(name, node)]
            case Keys():
                present = [f"{self._literal(key)} in {name}" for key, _ in node.items]
                return [self._is_a(name, dict), self._has_length(name, node), *present]
            case Attributes():
                tests = [self._is_a(name, node.type)]
                if getattr(node.type, "__dictoffset__", 0):
                    tests.append(f"{name}.__dict__.keys() == {self.bind('names', frozenset(key for key, _ in node.items))}")
                return tests

    def _is_a(self, name: str, kind: type) -> str:
        return f"{self.bind('type', type)}({name}) is {self.bind(kind.__name__, kind)}"

    def _has_length(self, name: str, node: Items | Keys) -> str:
        return f"{self.bind('len', len)}({name}) == {len(node.items)}"

    def _array_tests(self, name: str, node: Array) -> Iterator[str]:
        dtype = self.bind(node.dtype, np.dtype(node.dtype))
        yield f"({name}.dtype is {dtype} or {name}.dtype == {dtype})"  # what was unpickled, or made by cached code of Numba, has an object of its own
        yield f"{name}.ndim == {node.ndim}"
        extents = node.extents or ()
        if len(extents) > 1 and extents.count(None) == len(extents):
            yield f"1 not in {name}.shape"
        else:
            yield from (f"{name}.shape[{axis}] {'!= 1' if n is None else f'== {n}'}" for axis, n in enumerate(extents))
        if node.contiguous:
            yield f"{name}.flags.c_contiguous"
        if node.writeable:
            yield f"{name}.flags.writeable"

    def _static_tests(self, name: str, value: Any) -> list[str]:
        if type(value) not in _EQUAL:
            return [f"{name} is {self._literal(value)}"]
        return [self._is_a(name, type(value)), f"{name} == {self._literal(value)}"]

    def _literal(self, value: Any) -> str:
        return repr(value) if type(value) in (str, int, bool, type(None)) else self.bind("static", value)

    def _taken_apart(self, name: str, node: Items | Keys | Attributes) -> str:
        match node:
            case Items():
                return name
            case Keys():
                return ", ".join(f"{name}[{self._literal(key)}]" for key, _ in node.items) + ","
            case Attributes():
                return ", ".join(f"{name}.{field}" for field, _ in node.items) + ","


def _children(node: Items | Keys | Attributes) -> Iterator[Node]:
    if isinstance(node, Items):
        yield from node.items
    else:
        yield from (child for _, child in node.items)
