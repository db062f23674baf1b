"""The attributes of an instance as a dict: `vars(obj)` and `obj.__dict__`, which the object changes with, and which change the object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stgrad import errors
from stgrad.frontend import objects
from stgrad.frontend.builtins import handles
from stgrad.frontend.frame import Frame
from stgrad.frontend.heap import Attributes, all_of, references
from stgrad.frontend.values import Record, Value, is_static, static_of


@handles(vars)
def of(frame: Frame, owner: Value) -> Value:
    """What holds the attributes of an instance; of one from outside, what it holds now."""
    if isinstance(owner, Record):
        if not owner.cls.__dictoffset__:
            raise errors.UndefinedNameError(f"a `{owner.cls.__name__}` has no `__dict__`", frame.builder.loc) from AttributeError("__dict__")
        return Attributes(owner)
    if not is_static(owner) or type(getattr(owner, "__dict__", None)) is not dict:
        raise errors.TypeInferenceError("`vars` of what has no attributes of its own", frame.builder.loc)
    return frame.look("attribute", owner, "__dict__")


def is_one(value: Value) -> bool:
    """Whether a dict is that of an instance of the program."""
    return isinstance(value, Attributes) and value.record is not None


def changed(frame: Frame, attributes: Attributes, change: Callable[[dict[str, Value]], Any], node: Any = None) -> Any:
    """What a change of the dict gives, made to the object."""
    record = attributes.record
    assert record is not None
    before = all_of(record.fields)
    after = dict(before)
    result = change(after)
    for name, value in after.items():
        if not isinstance(name, str):
            raise errors.TypeInferenceError("the name of an attribute is a text", frame.builder.loc)
        if name not in before or value is not before[name]:
            objects.set_field(frame, record, name, value)
    for name in before.keys() - after.keys():
        objects.drop(frame, record, name, node)
    attributes.clear()
    attributes.update(all_of(record.fields))
    return result


def store(frame: Frame, attributes: Attributes, name: Value, value: Value) -> None:
    """`obj.__dict__[name] = value`."""
    key = static_of(name)
    if not isinstance(key, str):
        raise errors.NeedStaticError("the name of an attribute must be known at compile time", frame.builder.loc)
    changed(frame, attributes, lambda held: held.update({key: value}))


def replaced(frame: Frame, record: Record, value: Value, node: Any) -> None:
    """`obj.__dict__ = value`, a dict that nothing else holds: from here on it is that of the object."""
    if type(value) is not dict or references(frame)[id(value)] or frame.captured.is_outside(value):
        frame.unsupported(node, "assigning a dict to `__dict__` that something else holds is not supported", hint="write obj.__dict__.update(...)")

    def change(held: dict[str, Value]) -> None:
        held.clear()
        held.update(value)

    changed(frame, Attributes(record), change, node)


__all__ = ["changed", "is_one", "of", "replaced", "store"]
