"""`Module`: an object that finds the variables and modules among its attributes, through lists, tuples and dictionaries."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

from stgrad.eager.scopes import name_scope
from stgrad.eager.variable import Variable

_VALID = re.compile(r"^[A-Za-z_]\w*$")


class Module:
    """Base of things that own variables.

    Raises:
        ValueError: the name is no Python identifier.
    """

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", type(self).__name__).lower()
        if not _VALID.match(name):
            raise ValueError(
                f"{name!r} is not a valid module name. Module names must be valid Python identifiers (e.g. a valid class name)."
            )
        self._name = name

    @property
    def name(self) -> str:
        return self.__dict__.get("_name", type(self).__name__.lower())

    @property
    def name_scope(self) -> Any:
        return name_scope(self.name)

    @property
    def variables(self) -> Any:
        """All variables, sorted by attribute name, each once."""
        return tuple(_unique(_find(self, Variable)))

    @property
    def trainable_variables(self) -> Any:
        return tuple(v for v in self.variables if v.trainable)

    @property
    def non_trainable_variables(self) -> Any:
        return tuple(v for v in self.variables if not v.trainable)

    @property
    def submodules(self) -> tuple[Module, ...]:
        """All modules below this one."""
        return tuple(m for m in _unique(_find(self, Module)) if m is not self)

    @classmethod
    def with_name_scope(cls, method: Callable[..., Any]) -> Callable[..., Any]:
        """Run a method under the module's name scope; names of variables made in it begin with that name."""

        @functools.wraps(method)
        def scoped(self: Any, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return scoped

    def _flatten(self, recursive: bool = True, predicate: Any = None, with_path: bool = False, expand_composites: bool = False) -> Any:
        return (x for x in _unique(_find(self, object)) if predicate is None or predicate(x))


def _find(owner: Any, wanted: type) -> Iterator[Any]:
    """Depth first: an owner's own leaves by attribute name, then those of its submodules."""
    seen: set[int] = {id(owner)}
    queue: list[Any] = [owner]
    while queue:
        below: list[Any] = []
        for leaf in _leaves(queue.pop(0), seen):
            if isinstance(leaf, wanted) and (isinstance(leaf, (Module, Variable)) or wanted is not object):
                yield leaf
            if isinstance(leaf, Module):
                below.append(leaf)
        queue = below + queue


def _leaves(owner: Any, seen: set[int]) -> Iterator[Any]:
    for name in sorted(vars(owner)):
        yield from _expand(vars(owner)[name], seen)


def _expand(value: Any, seen: set[int]) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for e in value:
            yield from _expand(e, seen)
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            yield from _expand(value[key], seen)
    elif isinstance(value, (Module, Variable)) and id(value) not in seen:
        seen.add(id(value))
        yield value


def _unique(values: Iterator[Any]) -> list[Any]:
    return list({id(v): v for v in values}.values())
