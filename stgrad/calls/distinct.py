"""Whether the lists, dicts and objects among the arguments of a call are different ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stgrad import errors
from stgrad.instances import attributes_of


def refuse_shared(arguments: Mapping[str, Any]) -> None:
    """Raise AliasingError where one of them stands at two places, for a program that changes some, or asks which are one."""
    found: dict[int, str] = {}
    for name, value in arguments.items():
        for path, container in _containers(name, value):
            other = found.setdefault(id(container), path)
            if other is not path:
                raise errors.AliasingError(
                    f"the arguments `{other}` and `{path}` are one {type(container).__name__}, and the function changes it, or asks whether they are one",
                    reason="the derivative would depend on which of them is meant",
                    hint="pass a copy of one of them",
                )


def _containers(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The lists, dicts and objects in an argument, with their paths."""
    if isinstance(value, (tuple, list)):
        inside = [(f"{path}[{i}]", v) for i, v in enumerate(value)]
    elif type(value) is dict:
        inside = [(f"{path}[{k!r}]", v) for k, v in value.items()]
    elif (attributes := attributes_of(value)) is not None:
        inside = [(f"{path}.{k}", v) for k, v in attributes.items()]
    else:
        return
    if not isinstance(value, tuple):
        yield path, value
    for where, item in inside:
        yield from _containers(where, item)
