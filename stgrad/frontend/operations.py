"""Emits one operation: finds its result type, writes the statement, gives back the value."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import gast
import numpy as np

from stgrad import errors
from stgrad.frontend import agreement, boxes, shapes
from stgrad.frontend.broadcasting import agreed, operands_of
from stgrad.frontend.builder import Builder
from stgrad.frontend.casting import widened
from stgrad.frontend.departures import Leaves
from stgrad.frontend.exceptions import emit_raised
from stgrad.frontend.extents import ASSUMPTION
from stgrad.frontend.frame import Frame
from stgrad.frontend.infer import broadcast, by_example, elementwise_dtype
from stgrad.frontend.lengths import assured, count_items
from stgrad.frontend.text import known_text
from stgrad.frontend.truth_values import counted
from stgrad.frontend.values import (
    Growing,
    Method,
    Record,
    Sym,
    Value,
    a_kind,
    is_number,
    is_static,
    leaves,
    map_leaves,
    operand_of,
    static_of,
    type_of,
)
from stgrad.frontend.varying import better_known
from stgrad.ir import Const, Dim, Type
from stgrad.ir.ops import operation as known_operation
from stgrad.lookups import ABSENT, called, look
from stgrad.rules import lookup, op_name

# node type: (Python operator, the operation that stands for it in the program)
BINARY: dict[type, tuple[Callable[..., Any], Any]] = {
    gast.Add: (operator.add, np.add),
    gast.Sub: (operator.sub, np.subtract),
    gast.Mult: (operator.mul, np.multiply),
    gast.Div: (operator.truediv, np.divide),
    gast.FloorDiv: (operator.floordiv, np.floor_divide),
    gast.Mod: (operator.mod, np.remainder),
    gast.Pow: (operator.pow, np.power),
    gast.MatMult: (operator.matmul, np.matmul),
    gast.BitAnd: (operator.and_, np.bitwise_and),
    gast.BitOr: (operator.or_, np.bitwise_or),
    gast.BitXor: (operator.xor, np.bitwise_xor),
    gast.LShift: (operator.lshift, np.left_shift),
    gast.RShift: (operator.rshift, np.right_shift),
}
COMPARE: dict[type, tuple[Callable[..., Any], Any]] = {
    gast.Lt: (operator.lt, np.less),
    gast.LtE: (operator.le, np.less_equal),
    gast.Gt: (operator.gt, np.greater),
    gast.GtE: (operator.ge, np.greater_equal),
    gast.Eq: (operator.eq, np.equal),
    gast.NotEq: (operator.ne, np.not_equal),
}
UNARY: dict[type, tuple[Callable[..., Any], Any]] = {
    gast.USub: (operator.neg, np.negative),
    gast.UAdd: (operator.pos, np.positive),
    gast.Invert: (operator.invert, np.invert),
}
_MAKES_ARRAYS = (np.zeros, np.ones, np.empty, np.full, np.zeros_like, np.ones_like, np.empty_like, np.full_like)  # 0-d ones can be written to
_ELEMENTWISE = (np.where, np.clip, np.sinc, np.nan_to_num, np.real, np.imag, np.angle)


_TOTAL = (gast.Add, gast.Sub, gast.Mult)
_BY = (gast.FloorDiv, gast.Mod)
_BITS = (gast.BitAnd, gast.BitOr, gast.BitXor)


def binary(frame: Frame, kind: type, a: Value, b: Value) -> Value:
    """`a <op> b` for an operator node of Python."""
    python, op = (BINARY.get(kind) or COMPARE[kind])
    if is_static(a) and is_static(b):
        return _of_constants(frame, python, a, b)
    known = [static_of(v) for v in (a, b)]
    if all(type(k) in (int, bool) or type(k) is float and not frame.builder.trying for k in known) and (
        kind in _TOTAL or (kind in _BITS and float not in map(type, known)) or kind in (*_BY, gast.Div) and known[1] != 0
    ):  # variables whose values here are known
        return python(*known)
    _numeric(frame, (a, b), python.__name__)
    if op is np.matmul:
        return operation(frame, np.matmul, (a, b))
    if op is np.power:
        better_known(frame.builder, b)
        b = int(b) if isinstance(b, np.bool_) and type_of(a).is_float else b  # rules subtract from it
        if type(known[1]) is int and known[1] < 0 and type_of(a).weak and type_of(a).dtype in ("int64", "bool"):
            a = cast_scalar(frame, a, "float")  # as Python: the result is one
    a, b = agreed(frame, (a, b))
    if frame.unroll and not frame.builder.refused:
        a, b = _as_numpy(frame, kind, a, b)
    type_ = _elementwise_type(python, (a, b))
    a, b = widened(frame, (a, b), type_)
    name, operands = counted(frame, op_name(op), (a, b), type_)
    result = frame.builder.call(name, operands, type_)
    value = _integer_value(frame, kind, a, b)
    return Sym(result.operand, replace(result.type, value=value)) if value is not None and result.type.weak else result


def _as_numpy(frame: Frame, kind: type, a: Value, b: Value) -> tuple[Value, Value]:
    """Operands of which the quotient or power is what NumPy's numbers give: rules count with them, and 1 / 0 of Python's is an exception."""
    types = [type_of(v) for v in (a, b)]
    if kind not in (gast.Div, *_BY, gast.Pow) or not all(t.weak for t in types) or not {"float64"} <= {t.dtype for t in types} <= {"float64", "int64", "bool"}:
        return a, b
    if kind is gast.Pow:
        return (a, b) if is_number(b) and b >= 0 else (_strong(frame, a), b)
    return (a, b) if is_number(b) and b != 0 else (a, _strong(frame, b))


def _strong(frame: Frame, value: Value) -> Value:
    """One of Python's numbers as a float of NumPy's."""
    return frame.builder.call("cast", (value, "float64"), Type("float64")) if isinstance(value, Sym) else np.float64(value)


def unary(frame: Frame, kind: type, a: Value) -> Value:
    python, op = UNARY[kind]
    if is_static(a):
        return _of_constants(frame, python, a)
    if type(static_of(a)) is int:  # a variable whose value here is known
        return python(static_of(a))
    _numeric(frame, (a,), python.__name__)
    if op is np.invert and a.type.dtype == "bool" and not a.type.rank and not a.type.weak:  # in plain Python it may be Python's, whose `~` is that of integers
        return frame.builder.call("not", (a,), Type("bool"))
    type_ = _elementwise_type(python, (a,))
    name, operands = counted(frame, op_name(op), (a,), type_)
    return frame.builder.call(name, operands, type_)


def _of_constants(frame: Frame, python: Callable[..., Any], *args: Any) -> Value:
    """An operation of Python on known values; what it raises, the program raises there: something before it may raise, too.

    Rules count as NumPy does, for which 1 / 0 is infinite: what Python refuses, the program refuses where the rule's function is called.
    """
    try:
        return called(python, *args)
    except (ArithmeticError, TypeError) as problem:
        if isinstance(problem, ArithmeticError) and frame.unroll and any(isinstance(a, float) for a in args):
            with np.errstate(all="ignore"):
                return float(python(*map(np.float64, args)))
        conditional = frame.builder.regions and frame.builder.regions[-1].conditional
        if isinstance(problem, TypeError) and not conditional:
            raise
        emit_raised(frame, problem)
        if conditional:
            raise Leaves(type(problem)) from None
        return 0.0 if any(isinstance(a, float) for a in args) else 0  # nothing behind it runs


def _numeric(frame: Frame, args: tuple[Value, ...], what: str) -> None:
    frame.no_bare_method(args)
    for a in args:
        if not (isinstance(a, Sym) or is_number(a)):
            raise errors.TypeInferenceError(
                f"`{what}` on {a_kind(a)}",
                frame.builder.loc,
                reason="arithmetic is defined on numbers and arrays",
                hint="convert it with np.array(...)",
            ) from (TypeError(f"unsupported operand type(s) for {what}: {', '.join(map(_kind_of, args))}") if a is None else None)


def _kind_of(value: Value) -> str:
    """What an operand is in a message of Python's."""
    return "'NoneType'" if value is None else f"'{a_kind(value).split()[-1]}'"


def _integer_value(frame: Frame, kind: type, a: Value, b: Value) -> Dim | None:
    """Symbolic value of the sum or difference of an integer and a constant."""
    va, vb = type_of(a).value, type_of(b).value
    if va is None or vb is None or kind not in (gast.Add, gast.Sub) or frame.builder.clipped & {va, vb}:
        return None
    if vb.symbol is None:
        return Dim(va.symbol, va.offset + (vb.offset if kind is gast.Add else -vb.offset))
    if va.symbol is None and kind is gast.Add:
        return Dim(vb.symbol, vb.offset + va.offset)
    return None


def _elementwise_type(call: Callable[..., Any], args: tuple[Value, ...]) -> Any:
    types = [type_of(a) for a in args]
    kinds = tuple((t.dtype, t.array, t.weak) for t in types)
    try:
        found = elementwise_dtype(call, kinds)
    except TypeError as problem:
        name = getattr(call, "__name__", "operation").strip("_")
        raise errors.TypeInferenceError(f"`{name}` is not defined for {' and '.join(map(str, types))}") from problem
    dims = broadcast([t.dims for t in types if t.array])

    def sized(t: Type) -> Type:
        return replace(t, dims=dims, array=bool(dims)) if t.array else t  # np.where of scalars is an array without axes

    return tuple(map(sized, found)) if isinstance(found, tuple) else sized(found)


def _is_run_time_integer(value: Value) -> bool:
    return isinstance(value, Sym) and not value.type.array and value.type.dtype == "int64"


def operation(frame: Frame, call: Callable[..., Any], args: tuple[Value, ...], kwargs: dict[str, Value] | None = None) -> Value:
    """Emit `call(*args, **kwargs)` for a function of the rule table and return the value of its result."""
    args, kwargs = _of_a_number(call, args, kwargs or {})
    name = op_name(call)
    args = tuple(agreed(frame, args)) if is_elementwise(call) else operands_of(frame, call, args)
    try:
        type_ = result_type(frame, call, args, kwargs)
    except errors.StgradError:
        raise
    except (TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError, OverflowError, np.linalg.LinAlgError) as problem:
        frame.no_bare_method(args)
        if isinstance(problem, np.exceptions.AxisError) and any(_is_run_time_integer(v) for v in leaves((*args, *kwargs.values()))):
            raise errors.NeedStaticError(f"an axis of `{name}` must be known at compile time", frame.builder.loc) from problem
        error = errors.ShapeError if isinstance(problem, ValueError) else errors.TypeInferenceError
        inside = any(type(v).__module__.startswith("stgrad.") and not isinstance(v, Sym) for v in (*args, *kwargs.values()))
        why = "it works on numbers and arrays" if inside else str(problem)
        raise error(f"`{name}` does not take these arguments: {', '.join(_say(a) for a in args)}", frame.builder.loc, reason=why) from problem
    if call in _OF_ONE_NUMBER and not type_.rank and not frame.unroll and not ASSUMPTION.get().boxes:
        return boxes.made(frame, _filling(frame, call, args, kwargs, type_.dtype))
    agreement.check(frame, call, args, kwargs)
    count_items(frame, call, args)
    if isinstance(call, np.ufunc):
        name, args = counted(frame, name, widened(frame, args, type_), type_, operator=False)
    args = _of_numpy(frame, name, args, type_)
    args, kwargs = static_options(frame, name, args, kwargs)
    if isinstance(type_, Type) and type_.array and not type_.rank and call not in _MAKES_ARRAYS:
        type_ = Type(type_.dtype)
    if call in (np.sum, np.prod) and isinstance(type_, Type) and not type_.array and np.dtype(type_.dtype).kind in "iu" and np.dtype(type_.dtype).itemsize < 8:
        wide = frame.builder.call(name, args, Type("int64"), {**kwargs, "dtype": np.dtype("int64")})  # native code counts no narrower
        return frame.builder.call("cast", (wide, type_.dtype), type_)
    result = frame.builder.call(name, args, type_, kwargs)
    boxes.note_view(frame, call, args, result)
    return type(type_)(*result) if hasattr(type_, "_fields") else result


def _of_numpy(frame: Frame, name: str, args: tuple[Value, ...], result: Any) -> tuple[Value, ...]:
    """Arguments of `np.divide(a, b)`, which is written `a / b`: if both are Python's numbers one becomes NumPy's, as the result is."""
    if not (isinstance(result, Type) and not result.array and result.dtype == "float64" and known_operation(name).symbol in _ARITHMETIC):
        return args
    if not all(isinstance(a, Sym) or is_number(a) for a in args) or not all(type_of(a).weak for a in args):
        return args
    first = next(i for i, a in enumerate(args) if type_of(a).dtype == "float64" or i == len(args) - 1)
    return tuple(_strong(frame, a) if i == first else a for i, a in enumerate(args))


_ARITHMETIC = ("+", "-", "*", "/", "//", "%", "**")
_OF_ONE_NUMBER: dict[Any, int | None] = {np.zeros: 0, np.ones: 1, np.empty: 0, np.full: None}


def _filling(frame: Frame, call: Any, args: tuple[Value, ...], kwargs: dict[str, Value], dtype: str) -> Value:
    """The number of an array without axes that is filled with it: `np.zeros(np.shape(x))` of a number `x`."""
    number = _OF_ONE_NUMBER[call]
    if number is not None:
        return np.dtype(dtype).type(number)
    given = static_of(args[1] if len(args) > 1 else kwargs["fill_value"])
    if is_number(given):
        return np.dtype(dtype).type(given)
    return given if given.type.dtype == dtype else frame.builder.call("cast", (given, dtype), Type(dtype))


_REDUCING = frozenset({np.sum, np.prod, np.max, np.min, np.any, np.all, np.amax, np.amin})  # those that are ufuncs in NumPy


def _of_a_number(call: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> tuple[tuple[Value, ...], dict[str, Value]]:
    """A number may be reduced along its axis 0 or -1, which it does not have: that is the reduction of all of it."""
    if call not in _REDUCING or not args or not isinstance(args[0], Sym) or args[0].type.rank:
        return args, kwargs
    if len(args) > 1 and static_of(args[1]) in (0, -1):
        args = (args[0], None, *args[2:])
    return args, {k: v for k, v in kwargs.items() if k != "axis" or static_of(v) not in (0, -1)}


def emit(frame: Frame, call: Callable[..., Any], args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """`operation` behind the canonical form of its options."""
    return CANONICAL[0](frame, call, args, kwargs)


CANONICAL: list[Callable[..., Value]] = []


def static_options(frame: Frame, name: str, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Any:
    """Options given by keyword that are known (axis, keepdims) become constants of the statement."""
    return args, {k: static_of(v) for k, v in kwargs.items()}


def _say(value: Value) -> str:
    if isinstance(value, Sym):
        return str(value.type)
    if isinstance(value, (tuple, list)):
        return f"({', '.join(_say(v) for v in value)})"
    return repr(value) if value is None or is_number(value) or isinstance(value, (str, slice)) else a_kind(value)


def result_type(frame: Frame, call: Callable[..., Any], args: tuple[Value, ...], kwargs: dict[str, Value]) -> Any:
    """The type of `call(*args, **kwargs)`; a tuple of types for several results."""
    special = shapes.SHAPES.get(call)
    if special is not None:
        found = special(frame, *args, **kwargs)
        if found is not None:
            return found
    if is_elementwise(call) and not kwargs and all(isinstance(a, Sym) or is_number(a) for a in args):
        return _elementwise_type(call, args)
    rule = lookup(call)

    def known(value: Value, _: str = "") -> Any:
        value = static_of(value)
        return value.type if isinstance(value, Sym) else value

    args, kwargs = map_leaves(known, tuple(args)), map_leaves(known, dict(kwargs))
    return by_example(call, args, kwargs, frame.builder.fresh_dim, values_decide=rule is not None and rule.fresh_shape)


def is_elementwise(call: Any) -> bool:
    """Whether each element of the result depends on the same element of each argument."""
    if isinstance(call, np.ufunc):
        return call.signature is None
    rule = lookup(call)
    return call in _ELEMENTWISE or getattr(math, getattr(call, "__name__", ""), None) is call or (rule is not None and rule.kind == "partials")


def truth(frame: Frame, value: Value, node: Any = None) -> Value:
    """The truth value of a condition: static where it can be told, else a bool scalar."""
    static = static_of(value)
    if not isinstance(static, Sym):
        if is_static(static):
            return called(bool, static)
        if isinstance(static, Growing):
            return truth(frame, binary(frame, gast.Gt, static.count, 0))
        if isinstance(static, Record):
            return _truth_of_instance(frame, static, node)
        return True if isinstance(static, Method) else len(static) > 0
    if value.type.array and value.type.rank:
        return truth(frame, _only_item(frame, value, node), node)
    if value.type.dtype == "bool":
        return value
    return frame.builder.call("bool", (value,), Type("bool", weak=True))


def _only_item(frame: Frame, array: Sym, node: Any) -> Value:
    """The item of an array whose truth value is asked for, which NumPy has for one item alone."""
    from stgrad.frontend.axisless import must_be_one
    from stgrad.frontend.indexing import load

    why = "the truth value of an array is ambiguous"
    if not all(map(frame.builder.extents.may_be_one, array.type.dims)):
        place = frame.loc(node) if node is not None else frame.builder.loc
        raise errors.TypeInferenceError(why, place, hint="use np.any(...) or np.all(...)") from ValueError(why)
    must_be_one(frame, array, why)
    return load(frame, array, (0,) * array.type.rank, node)


def flag(frame: Frame, value: Value) -> Value:
    """A truth value as Python's own True or False, which NumPy's are not: `any(...)`, `not x`, `bool(x)`."""
    if not isinstance(value, Sym) or value.type.weak:
        return bool(value) if isinstance(value, np.bool_) else value
    own = frame.builder.variable("_t", Type("bool", weak=True))
    frame.builder.copy_to(own, value)
    return own


def _truth_of_instance(frame: Frame, record: Record, node: Any) -> Value:
    """What its class says: `__bool__`, else whether `__len__` is not 0."""
    for name in ("__bool__", "__len__"):
        method = look("raw", record.cls, name)
        if method is not ABSENT:
            return truth(frame, frame.call(method, (record,), {}), node)
    return True


def cast_scalar(frame: Frame, value: Value, dtype: str) -> Value:
    """`float(x)`, `int(x)`, `bool(x)`, `complex(x)` of a scalar or a 0-d array."""
    if dtype == "int" and isinstance(known := static_of(value), int):  # a name that stands for a constant here
        value = known
    if not isinstance(value, Sym):
        known_text(frame, value)
        return called({"float": float, "int": int, "bool": bool, "complex": complex}[dtype], static_of(value))
    if value.type.rank:
        message = f"`{dtype}()` of an array with axes"
        many = not all(map(frame.builder.extents.may_be_one, value.type.dims))
        refused = errors.TypeInferenceError(message, frame.builder.loc, hint="index one element first")
        raise refused from (TypeError("only 0-dimensional arrays can be converted to Python scalars") if many else None)
    result = Type({"float": "float64", "int": "int64", "bool": "bool", "complex": "complex128"}[dtype], weak=True)
    if dtype == "int" and value.type.dtype == "int64":
        result = replace(result, value=value.type.value)
    return frame.builder.call(dtype, (value,), result)


def extent(frame: Frame, array: Sym, axis: int, *, bound: bool = False) -> Value:
    """`array.shape[axis]`: static where the extent is a constant. As a `bound` of a loop it may be below 0."""
    dim = array.type.dims[axis]
    if dim.constant is not None:
        return dim.constant
    if not bound and not assured(frame, dim):
        frame.builder.clipped.add(dim)
    return frame.builder.call("shape", (array, axis), Type("int64", weak=True, value=dim))


def shape_of(frame: Frame, value: Value) -> tuple[Value, ...]:
    """`np.shape(value)`."""
    if isinstance(value, Sym):
        return tuple(extent(frame, value, axis) for axis in range(value.type.rank))
    if is_number(value):
        return ()
    if isinstance(value, Growing):
        from stgrad.frontend import growing

        return shape_of(frame, growing.as_array(frame, value))
    if isinstance(value, (tuple, list)):
        return (len(value), *shape_of(frame, value[0])) if len(value) else (0,)
    return tuple(np.shape(value))


def unbroadcast(builder: Builder, g: Sym, t: Type) -> Sym:
    """Sum a cotangent over the axes along which an operand of type t was stretched."""
    if not g.type.array:
        return g
    if not t.rank:
        return builder.call("np.sum", (g,), Type(g.type.dtype)) if g.type.rank else g
    extra = g.type.rank - t.rank
    if extra > 0:
        axes: Any = tuple(range(extra)) if extra > 1 else 0
        g = builder.call("np.sum", (g,), Type(g.type.dtype, g.type.dims[extra:], array=True), {"axis": axes})
    stretched = tuple(i for i, (d, e) in enumerate(zip(t.dims, g.type.dims, strict=True)) if d.constant == 1 and e.constant != 1)
    if stretched:
        axes = stretched if len(stretched) > 1 else stretched[0]
        g = builder.call("np.sum", (g,), Type(g.type.dtype, t.dims, array=True), {"axis": axes, "keepdims": True})
    return g


def constant(value: Any) -> Const:
    return Const(value)


__all__ = ["binary", "cast_scalar", "extent", "is_elementwise", "operand_of", "operation", "result_type", "shape_of", "truth", "unary"]
