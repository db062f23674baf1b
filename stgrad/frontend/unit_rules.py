"""The rules of calls of units: calls of the units of their derivatives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from stgrad.frontend.frame import Frame
from stgrad.frontend.values import Sym, Value, operand_of, type_of
from stgrad.ir import Assign, Type, Var
from stgrad.ir.units import UNITS, Unit
from stgrad.rules.core import UNIT_RULE, Rule


@dataclass(frozen=True)
class Pull:
    """The cotangents of the arguments of a call of a unit, from those of its results."""

    unit: Unit

    def __call__(self, y_bar: Any, *args: Any) -> Any:
        raise TypeError("the front end alone calls this")

    def _stgrad_call_(self, frame: Frame, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        unit, (y_bar, *given) = self.unit, args
        bars = y_bar if isinstance(y_bar, tuple) else (y_bar,)
        types = tuple(replace(type_of(given[i]), value=None) for i in unit.moving)
        if not types:
            return (None,) * len(given)
        found = iter(_called(frame, unit.derivative("vjp"), (*given, *(bars[i] for i in unit.outputs)), types))
        return tuple(next(found) if i in unit.moving else None for i in range(len(given)))


@dataclass(frozen=True)
class Push:
    """The tangents of the results of a call of a unit, from those of its arguments."""

    unit: Unit

    def __call__(self, y: Any, *args: Any) -> Any:
        raise TypeError("the front end alone calls this")

    def _stgrad_call_(self, frame: Frame, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        unit, (y, *given) = self.unit, args
        values = [replace(v.type, value=None) for v in (y if isinstance(y, tuple) else (y,))]
        count = len(unit.params)
        dots = [given[count + i] for i in unit.moving]
        found = _called(frame, unit.derivative("jvp"), (*given[:count], *dots), (*values, *(values[i] for i in unit.outputs)))
        tangents = iter(found[len(values) :])
        each = tuple(next(tangents) if i in unit.outputs else None for i in range(len(values)))
        return each if isinstance(y, tuple) else each[0]


def _called(frame: Frame, unit: Unit, args: tuple[Value, ...], types: tuple[Type, ...]) -> tuple[Sym, ...]:
    builder = frame.builder
    results = tuple(builder.variable("_t", t) for t in types)
    builder.emit(Assign(tuple(Var(r.name) for r in results), unit.op, tuple(map(operand_of, args)), (), builder.loc, builder.note))
    return results


def _rule(op: str) -> Rule | None:
    """The rule of a unit, of which nobody may know the results yet: it is asked for while the unit is read, too."""
    unit = UNITS.get(op)
    return None if unit is None else _made(unit, "adjoint" if unit.outputs and unit.moving else "nondiff")


@cache
def _made(unit: Unit, kind: str) -> Rule:
    pull, push = Pull(unit), Push(unit)

    def adjoint(y, y_bar, *args):  # type: ignore[no-untyped-def]
        return pull(y_bar, *args)

    def tangent(y, *operands_and_dots):  # type: ignore[no-untyped-def]
        return push(y, *operands_and_dots)

    return Rule(pull, unit.op, kind, adjoint=adjoint, tangent=tangent)


UNIT_RULE.append(_rule)
