"""Attributes that only some of the paths to a place set.

    if c: self.a = x          ->     if c: a = x; lacks_a = False
                                     else: lacks_a = True
    return self.a                    if lacks_a: raise AttributeError
                                     return a

The flag stands beside the value in the object, under a name that no attribute has. In Python an attribute that a path leaves out raises where
it is read, or is found in the class: that is what this path leaves, then.
"""

from __future__ import annotations

from types import MemberDescriptorType
from typing import Any

from stgrad import errors
from stgrad.frontend.frame import Frame
from stgrad.frontend.heap import LACKS, all_of
from stgrad.frontend.values import Record, Sym, Value, is_number
from stgrad.ir import Const, Effect, If
from stgrad.lookups import ABSENT, look

Fields = dict[str, Value]


def together(record: Value, a: Fields, b: Fields) -> tuple[Fields, Fields] | None:
    """What two paths leave in an object, with the same attributes in the same order; None where there is no telling what one of them leaves out."""
    if not isinstance(record, Record):
        return None
    names = [n for n in dict.fromkeys((*a, *b)) if not n.startswith(LACKS)]
    new: tuple[Fields, Fields] = ({}, {})
    flagged = {n for n in names if n not in a or n not in b or LACKS + n in a or LACKS + n in b}
    for name in names:
        for side, fields, other in zip(new, (a, b), (b, a), strict=True):
            value = fields[name] if name in fields else left_out(record, name, other[name])
            if value is ABSENT:
                return None
            side[name] = value
            if name in flagged:
                side[LACKS + name] = fields.get(LACKS + name, False) if name in fields else nothing(look("raw", record.cls, name))
        if all(side.get(LACKS + name) is False for side in new):  # its class has one
            del new[0][LACKS + name], new[1][LACKS + name]
    return new


def begun(record: Value, before: Fields) -> Fields | None:
    """The attributes that a loop sets first in an object, with what its class has for them, or with what a trip gives them; None where there is no telling."""
    found = together(record, before, record.fields) if isinstance(record, Record) and before.keys() <= record.fields.keys() else None
    return None if found is None else {n: v for n, v in found[0].items() if n not in before}


def left_out(record: Record, name: str, other: Value) -> Value:
    """What stands for an attribute that a path does not set, and another one does: what its class has, else the other value, which nobody reads."""
    if look("raw", record.cls, "__getattr__") is not ABSENT:
        return ABSENT
    found = look("raw", record.cls, name)
    if nothing(found):
        return other
    return found if _is_constant(found) else ABSENT


def _is_constant(value: Any) -> bool:
    return is_number(value) or value is None or isinstance(value, str) or type(value) is tuple and all(map(_is_constant, value))


def nothing(found: Any) -> bool:
    """Whether what a class has under a name is no value of the attribute: nothing, or its place among `__slots__`."""
    return found is ABSENT or isinstance(found, MemberDescriptorType) and found.__name__ != "__dict__"  # as which namespaces have theirs


def lacks(record: Record, name: str) -> Value:
    """Whether an object has no such attribute of its own."""
    return record.fields.get(LACKS + name, False) if name in record.fields else True


def read(frame: Frame, record: Record, name: str) -> Value:
    """An attribute of an object, of which the program tests that it is there."""
    flag = lacks(record, name)
    if flag is not False:
        message = f"'{record.cls.__name__}' object has no attribute '{name}'"
        if not isinstance(flag, Sym):
            raise errors.UndefinedNameError(message, frame.builder.loc) from AttributeError(message)
        error = Effect("raise", (Const("AttributeError"), Const(message)), (), frame.builder.loc, frame.builder.note)
        frame.builder.emit(If(flag.operand, (error,), (), frame.builder.loc, frame.builder.note))
    return record.fields[name]


def note_set(record: Record, name: str) -> None:
    """An attribute is set here."""
    if LACKS + name in record.fields:
        record.fields[LACKS + name] = False


def whole(value: Any) -> None:
    """Refuse objects in a result some of whose attributes may not be there."""
    if isinstance(value, Record):
        value.fields = all_of(value.fields)
    inner = value.fields if isinstance(value, Record) else value
    if isinstance(inner, (dict, list, tuple)):
        for item in inner.values() if isinstance(inner, dict) else inner:
            whole(item)


__all__ = ["lacks", "note_set", "read", "together", "whole"]
