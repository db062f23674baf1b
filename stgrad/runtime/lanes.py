"""Floating-point code written as Python expressions and emitted as LLVM instructions.

A `Real` is a double while a kernel is being emitted, a `Bits` its 64-bit pattern. Operators emit the strict IEEE operation: no
reassociation, no call, no branch; `fused` alone rounds once instead of twice where the machine can. So LLVM's loop vectoriser takes
what comes out as it is. Nothing is typed by Numba.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

F32, F64, I64 = ir.FloatType(), ir.DoubleType(), ir.IntType(64)


@dataclass(frozen=True, slots=True)
class Truth:
    """What a comparison gives; no short circuit."""

    b: Any
    v: Any

    def __and__(self, other: Truth) -> Truth:
        return Truth(self.b, self.b.and_(self.v, other.v))

    def __or__(self, other: Truth) -> Truth:
        return Truth(self.b, self.b.or_(self.v, other.v))

    def __xor__(self, other: Truth) -> Truth:
        return Truth(self.b, self.b.xor(self.v, other.v))

    def __invert__(self) -> Truth:
        return Truth(self.b, self.b.not_(self.v))


@dataclass(frozen=True, slots=True)
class Bits:
    """A 64-bit integer that is not interpreted as a number of its own sign: shifts are logical."""

    b: Any
    v: Any

    def _int(self, other: Bits | int) -> Any:
        return other.v if isinstance(other, Bits) else ir.Constant(I64, other)

    def __add__(self, other: Bits | int) -> Bits:
        return Bits(self.b, self.b.add(self.v, self._int(other)))

    def __sub__(self, other: Bits | int) -> Bits:
        return Bits(self.b, self.b.sub(self.v, self._int(other)))

    def __and__(self, other: Bits | int) -> Bits:
        return Bits(self.b, self.b.and_(self.v, self._int(other)))

    def __or__(self, other: Bits | int) -> Bits:
        return Bits(self.b, self.b.or_(self.v, self._int(other)))

    def __xor__(self, other: Bits | int) -> Bits:
        return Bits(self.b, self.b.xor(self.v, self._int(other)))

    def __lshift__(self, count: int) -> Bits:
        return Bits(self.b, self.b.shl(self.v, self._int(count)))

    def __rshift__(self, count: int) -> Bits:
        return Bits(self.b, self.b.lshr(self.v, self._int(count)))

    def real(self) -> Real:
        """The double of this pattern."""
        return Real(self.b, self.b.bitcast(self.v, F64))

    def is_zero(self) -> Truth:
        return Truth(self.b, self.b.icmp_unsigned("==", self.v, ir.Constant(I64, 0)))


@dataclass(frozen=True, slots=True, eq=False)
class Real:
    """A double. All comparisons are false for nan, but `!=` is true."""

    b: Any
    v: Any

    def _float(self, other: Real | float) -> Any:
        return other.v if isinstance(other, Real) else literal(other)

    def _op(self, name: str, x: Any, y: Any) -> Real:
        return Real(self.b, getattr(self.b, name)(x, y))

    def __add__(self, other: Real | float) -> Real:
        return self._op("fadd", self.v, self._float(other))

    def __sub__(self, other: Real | float) -> Real:
        return self._op("fsub", self.v, self._float(other))

    def __rsub__(self, other: float) -> Real:
        return self._op("fsub", self._float(other), self.v)

    def __mul__(self, other: Real | float) -> Real:
        return self._op("fmul", self.v, self._float(other))

    def __truediv__(self, other: Real | float) -> Real:
        return self._op("fdiv", self.v, self._float(other))

    def __rtruediv__(self, other: float) -> Real:
        return self._op("fdiv", self._float(other), self.v)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Real:
        return Real(self.b, self.b.fneg(self.v))

    def _compare(self, sign: str, other: Real | float) -> Truth:
        emit = self.b.fcmp_unordered if sign == "!=" else self.b.fcmp_ordered
        return Truth(self.b, emit(sign, self.v, self._float(other)))

    def __lt__(self, other: Real | float) -> Truth:
        return self._compare("<", other)

    def __gt__(self, other: Real | float) -> Truth:
        return self._compare(">", other)

    def __ge__(self, other: Real | float) -> Truth:
        return self._compare(">=", other)

    def __eq__(self, other: Real | float) -> Truth:  # type: ignore[override]
        return self._compare("==", other)

    def __ne__(self, other: Real | float) -> Truth:  # type: ignore[override]
        return self._compare("!=", other)

    def bits(self) -> Bits:
        return Bits(self.b, self.b.bitcast(self.v, I64))

    def __abs__(self) -> Real:
        return (self.bits() & 0x7FFFFFFFFFFFFFFF).real()

    def sign_bit(self) -> Bits:
        return self.bits() & -0x8000000000000000

    def like(self, other: Real) -> Real:
        """This magnitude, which is not negative, with the sign of another."""
        return (self.bits() | other.sign_bit()).real()

    def floor(self) -> Real:
        function = self.b.module.declare_intrinsic("llvm.floor", [F64])
        return Real(self.b, self.b.call(function, [self.v]))

    def top(self) -> Real:
        """The upper half of the bits: products of two such are exact."""
        return (self.bits() & -0x100000000).real()


def fused(x: Real, y: Real | float, z: Real | float) -> Real:
    """x * y + z, rounded once where the machine can."""
    function = x.b.module.declare_intrinsic("llvm.fmuladd", [F64], ir.FunctionType(F64, [F64] * 3))
    return Real(x.b, x.b.call(function, [x.v, x._float(y), x._float(z)]))


def literal(x: float) -> Any:
    if math.isfinite(x):
        return ir.Constant(F64, float(x))
    return ir.Constant(I64, struct.unpack("<q", struct.pack("<d", x))[0]).bitcast(F64)


def select(condition: Truth, x: Real | float, y: Real | float) -> Real:
    """`x` where the condition holds, else `y`; both are computed."""
    values = [value.v if isinstance(value, Real) else literal(value) for value in (x, y)]
    return Real(condition.b, condition.b.select(condition.v, *values))


def polynomial(x: Real, coefficients: Sequence[float]) -> Real:
    """c0 + c1 x + c2 x^2 + ..., by Horner's rule on x^2, even and odd powers apart: half the latency."""
    if len(coefficients) < 4:
        return _horner(x, coefficients)
    square = x * x
    return fused(x, _horner(square, coefficients[1::2]), _horner(square, coefficients[::2]))


def _horner(x: Real, coefficients: Sequence[float]) -> Real:
    result = fused(x, coefficients[-1], coefficients[-2])
    for c in coefficients[-3::-1]:
        result = fused(result, x, c)
    return result
