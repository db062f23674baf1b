"""Calls: operations with rules are emitted, everything that has source is inlined."""

from __future__ import annotations

import collections
import functools
import inspect
import itertools
import types
from typing import Any

import gast
import numpy as np

from stgrad import errors
from stgrad.frontend import (
    agreement,
    boxes,
    builtins,
    draws,
    formulas,
    generic,
    growing,
    indexing,
    library,
    numba_calls,
    objects,
    operations,
    protocols,
    solvers,
    sparse_objects,
    ufuncs,
)
from stgrad.frontend.arguments import (
    OPTIONS,
    array_inside,
    as_arrays,
    as_floats,
    as_named,
    canonical,
    counts_positions,
    named_arrays,
    positions_counted,
)
from stgrad.frontend.arrays import call_method
from stgrad.frontend.choices import holds_choices, passed
from stgrad.frontend.comprehensions import unseen
from stgrad.frontend.constant_calls import computed, has_arrays, with_arrays
from stgrad.frontend.control import raise_where
from stgrad.frontend.cursors import apart
from stgrad.frontend.elementwise_calls import over_elements, python_function_of
from stgrad.frontend.foreign_calls import call_registered
from stgrad.frontend.frame import CALL, Frame, evaluates
from stgrad.frontend.generators import collected
from stgrad.frontend.identities import as_another
from stgrad.frontend.inlining import inline_closure, inline_function, inline_rule
from stgrad.frontend.iteration import Chain, count_items, iterated, known_items, once, rows, takes
from stgrad.frontend.lazy import ASKING, CONSUMING, STEPWISE, argument
from stgrad.frontend.library import LIBRARY
from stgrad.frontend.operations import operation
from stgrad.frontend.optionals import numbers_in, unwrapped
from stgrad.frontend.source_calls import DATES, call_source
from stgrad.frontend.standard import computes, only_says, say, shows_progress
from stgrad.frontend.text import UNKNOWN, RunTimeText, has_unknown, known_texts
from stgrad.frontend.unzipped import unzipped
from stgrad.frontend.values import (
    Chosen,
    Closure,
    Generator,
    Growing,
    Method,
    Optional,
    Record,
    Sym,
    Value,
    Waiting,
    a_kind,
    is_number,
    is_static,
    static_of,
)
from stgrad.ir.ops import operation as operation_of
from stgrad.lookups import called, look, root_of
from stgrad.registered import registration_of
from stgrad.rules import lookup
from stgrad.rules.core import STATIC, op_name


@evaluates(gast.Call)
def call_expression(frame: Frame, node: Any) -> Value:
    function = frame.evaluate(node.func)
    if only_says(function):
        return say(frame, node)
    args: list[Value] = []
    for arg in node.args:
        if isinstance(arg, gast.Starred):
            items = growing.rows_of(frame, collected(frame, frame.evaluate(arg.value), arg))
            if function is zip and len(node.args) == 1 and (columns := unzipped(frame, items)) is not None:
                return columns
            args.extend(_starred(frame, arg, items, function, len(node.args) - 1))
        else:
            args.append(argument(frame, arg, function, sum(isinstance(a, gast.GeneratorExp) for a in node.args) - 1))
    kwargs: dict[str, Value] = {}
    for keyword in node.keywords:
        _add_keywords(frame, kwargs, keyword, function)
    try:
        return call(frame, function, tuple(args), kwargs)
    except errors.StgradError as error:
        raise error.at(frame.loc(node)) from error.__cause__
    except (TypeError, AttributeError, AssertionError) as problem:
        raise _not_taken(function, problem, frame.loc(node)) from problem


def _not_taken(function: Value, problem: Exception, place: Any) -> errors.StgradError:
    """What is said of arguments that Python does not take either, or that what reads the call did not expect."""
    name, said = getattr(function, "__name__", "this function"), str(problem)
    inside = isinstance(problem, (AttributeError, AssertionError)) or "(operand=" in said or "positional argument" in said
    reason = None if inside else said
    return errors.TypeInferenceError(f"`{name}` with these arguments is not supported", place, reason=reason, hint="write what it does, with other operations")


def _add_keywords(frame: Frame, kwargs: dict[str, Value], keyword: Any, function: Value) -> None:
    """`name=value` or `**values` of a call."""
    value = frame.evaluate_raw(keyword.value)
    if keyword.arg is not None:
        value = {keyword.arg: value}
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        hint = "write the arguments out, or pass the dict itself"
        raise errors.NeedStaticError("the names of arguments must be known at compile time", frame.loc(keyword.value), hint=hint)
    if twice := value.keys() & kwargs:
        message = f"{getattr(function, '__qualname__', 'the function')}() got multiple values for keyword argument '{min(twice)}'"
        raise errors.TypeInferenceError(message, frame.loc(keyword.value)) from TypeError(message)
    kwargs.update(value)


def _starred(frame: Frame, node: Any, items: Value, function: Value, others: int) -> list[Value]:
    """The items of `*values` in a call; of an array as many as the function takes, besides `others`."""
    if isinstance(items, Sym) and items.type.array and items.type.rank:
        wanted, count = _arity(function), frame.call(len, (items,), {})
        if wanted is not None:
            raise_where(frame, operations.binary(frame, gast.NotEq, count, wanted - others), "TypeError", f"the function takes {wanted} positional arguments")
        elif function in (max, min) and not others:
            raise_where(frame, operations.binary(frame, gast.Lt, count, 2), "TypeError", "the argument is not iterable")
            return [items]
        found = rows(frame, items, None if wanted is None else wanted - others, f"the function takes {wanted} arguments", node)
        if found is not None:
            return found
    elif not isinstance(items, Sym):
        known = known_items(frame, items, node)
        if known is not None:
            return known
    raise errors.NeedStaticError("`*` needs a tuple or list of known length", frame.loc(node))


def _arity(function: Value) -> int | None:
    """How many positional arguments a function takes, if that is one number."""
    if isinstance(function, np.ufunc):
        return function.nin
    tree = function.tree.args if isinstance(function, Closure) else None
    if tree is not None:
        return None if tree.vararg or tree.defaults else len(tree.posonlyargs) + len(tree.args)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    given = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    return len(given) if all(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty for p in given) else None


def call(frame: Frame, function: Value, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """The value of `function(*args, **kwargs)`."""
    if isinstance(function, Closure):
        return inline_closure(frame, function, args, kwargs)
    values, inside = (*args, *kwargs.values()), callable(function) and _of_library(function)
    open_ = any(isinstance(v, (Chosen, Optional)) or inside and holds_choices(v) for v in values)
    if open_ and function is not print and not isinstance(function, _PYTHON):
        read = lambda values: call(frame, function, values[: len(args)], dict(zip(kwargs, values[len(args) :], strict=True)))  # noqa: E731
        return passed(frame, values, read, inside)
    if isinstance(function, tuple):
        return objects.special(frame, function, "__call__", args, "cannot be called", kwargs)
    if not isinstance(function, _PYTHON) and function is not print:
        args, kwargs = _as_read(frame, function, args, kwargs)
    if isinstance(function, Method):
        return as_another(frame, function.name, (function.owner,), call_method(frame, function, args, kwargs))
    if isinstance(function, Record):
        return _call_object(frame, function, args, kwargs)
    hook = getattr(type(function), "_stgrad_call_", None)
    if hook is not None:
        return hook(function, frame, args, kwargs)
    if isinstance(function, (Sym, tuple, list, dict)) or not callable(function):
        what = str(function.type) if isinstance(function, Sym) else type(function).__name__
        error = errors.UnknownFunctionError("this value cannot be called", frame.builder.loc, reason=f"it is {a_kind(function)}")
        raise error from TypeError(f"'{what}' object is not callable")
    registration = registration_of(function)
    if registration is not None:
        return call_registered(frame, registration, args, kwargs)
    if _hashable(function) and function in builtins.SEQUENCES and args and isinstance(args[0], Growing):
        return _of_rows(frame, function, (growing.as_array(frame, args[0]), *args[1:]), kwargs)
    args, kwargs = _with_arrays_for_lists(frame, function, args, kwargs)
    if protocols.asks(function, args):
        return protocols.answer(frame, function, *args, *kwargs.values())  # type: ignore[arg-type]
    handler = builtins.HANDLERS.get(function) or builtins.on_console(function) if _hashable(function) else None
    if handler is not None:
        args, kwargs = as_named(frame, function, handler, args, kwargs) if kwargs else (args, kwargs)
        found = handler(frame, *args, **kwargs)
        iterator = function is filter or getattr(function, "__module__", "") == "itertools"
        if iterator and isinstance(found, Sym):
            return Chain((found,)) if found.type.rank == 1 else count_items(frame, found, None)
        found = once(frame, found) if iterator and isinstance(found, (list, Growing)) else found
        return as_another(frame, getattr(function, "__name__", ""), args, found)
    if shows_progress(function) and (args or "iterable" in kwargs):
        return args[0] if args else kwargs["iterable"]
    return as_another(frame, getattr(function, "__name__", ""), args, call_python(frame, function, args, kwargs))


CALL.append(call)
_PYTHON = (types.FunctionType, types.MethodType)
_CONSUMING = (list, tuple, dict, set, frozenset, collections.OrderedDict, collections.Counter, collections.deque)
CONSUMING += _CONSUMING
_ITERATING = {sum, list, tuple, set, sorted, any, all, zip, enumerate}  # they ask each argument for its items
_LAZY = {next, iter, enumerate, zip, map, filter, itertools.islice, itertools.filterfalse}  # they take items when theirs are asked for


def _as_read(frame: Frame, function: Value, args: tuple[Value, ...], kwargs: dict[str, Value]) -> tuple[tuple[Value, ...], dict[str, Value]]:
    """The arguments as what is not written in Python reads them: numbers out of their boxes, and items of those that it asks for items."""
    plain = numbers_in if _reads_numbers(function) else unwrapped
    if isinstance(function, Method) or root_of(function) == "numpy":
        args, kwargs = tuple(map(numba_calls.in_numpy, args)), {k: numba_calls.in_numpy(v) for k, v in kwargs.items()}
    args, kwargs = tuple(plain(frame, a) for a in args), {k: plain(frame, v) for k, v in kwargs.items()}
    if callable(function) and root_of(function) in ("numpy", "scipy") and not objects.constructible(function):
        args, kwargs = tuple(array_inside(frame, a) for a in args), {k: array_inside(frame, v) for k, v in kwargs.items()}
        if _hashable(function) and counts_positions(function):
            args, kwargs = positions_counted(frame, function, args, kwargs)
    if _hashable(function) and (function in _ITERATING or function in (max, min) and len(args) == 1):
        args = tuple(iterated(frame, a) for a in (apart(frame, args) if function is zip else args))
        if function not in _LAZY:  # they may ask for the items twice, which an iterator gives once
            args = tuple(_rest(frame, function, a) if takes(a) else a for a in args)
    whole = isinstance(function, (type, Record, functools.partial)) and function not in _CONSUMING
    if not (whole or _hashable(function) and (function in _LAZY or function in ASKING)):
        args = tuple(_collected(frame, function, a) if isinstance(a, (Generator, Waiting)) else a for a in args)
    return args, kwargs


def _rest(frame: Frame, function: Value, values: Value) -> list[Value]:
    """The items that an iterator has left, all of which are taken."""
    if function in (any, all):
        what = f"how many items `{function.__name__}` takes of an iterator is known to the running program alone"
        raise errors.UnsupportedSyntaxError(what, frame.builder.loc, hint="make it a list: list(...)")
    return known_items(frame, values, None) or []


def _call_object(frame: Frame, function: Record, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """The value of a call of an object that the program made."""
    if hasattr(function.cls, "_stgrad_call_"):  # its Python method does not know what it means in a program
        raise errors.UnsupportedSyntaxError(
            f"`{function.cls.__name__}` of a function that is made here is not supported",
            frame.builder.loc,
            hint="define the function and its rule outside of this one, and pass what they read as arguments",
        )
    if not kwargs:
        return objects.special(frame, function, "__call__", args, "cannot be called")
    return frame.call(look("raw", function.cls, "__call__"), (function, *args), kwargs)


def _collected(frame: Frame, function: Value, value: Value) -> Value:
    if not (_hashable(function) and function in STEPWISE):
        return collected(frame, value)
    return unseen(frame, lambda: collected(frame, value), f"`{function.__name__}`", None)


def _reads_numbers(function: Any) -> bool:
    """Whether a function takes numbers, alone or in lists that it does not keep."""
    return callable(function) and (root_of(function) in ("numpy", "math", "scipy") or function in (sum, max, min, sorted))


def _hashable(function: Any) -> bool:
    try:
        hash(function)
    except TypeError:
        return False
    return True


def call_python(frame: Frame, function: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """The value of a call of a function from outside the program."""
    if _hashable(function) and function in builtins.SEQUENCES and args and type(args[0]) in (tuple, list):
        args = (type(args[0])(growing.as_array(frame, a) if isinstance(a, Growing) else a for a in args[0]), *args[1:])
    if _hashable(function) and function in _JOINED and args and isinstance(args[0], Sym) and args[0].type.rank > 1:
        return _of_rows(frame, function, args, kwargs)
    for meaning in _MEANINGS:
        if (special := meaning(function)) is not None:
            return special(frame, *args, **kwargs)
    body = (LIBRARY.get(function) if _hashable(function) else None) or solvers.meaning(function)
    if body is not None:
        return inline_function(frame, body, args, kwargs, unroll=False)
    if isinstance(getattr(function, "__self__", None), np.ufunc):
        return ufuncs.ufunc_method(frame, function, args, kwargs)
    element = python_function_of(function)
    if element is not None:
        return over_elements(frame, element, args)
    drawn = draws.draw(frame, function, args, kwargs)
    if drawn is not NotImplemented:
        return drawn
    if lookup(function) is not None or isinstance(function, np.ufunc):
        return _by_rule(frame, function, args, kwargs)
    inside = getattr(function, "_stgrad_inside_", None)  # `stgrad.vjp(f, x)`: a transform of values of the running program
    if inside is not None and root_of(function) == "stgrad":
        return inside(frame, *args, **kwargs)
    if isinstance(getattr(function, "__self__", None), RunTimeText) and function.__name__ in ("lower", "upper", "casefold") and not args:
        return RunTimeText(function())
    if _is_text_method(function) and function.__name__ == "join" and has_unknown(args):
        return RunTimeText(UNKNOWN)
    known_texts(frame, getattr(function, "__self__", None), *(args if _is_text_method(function) else ()))
    made = isinstance(getattr(function, "__self__", None), Record)
    if not made and (_hashable(function) and function in STATIC or computes(function)) or args and _is_native_of_scipy(function) or _is_text_method(function):
        known_args, known_kwargs = static_of(tuple(args)), {k: static_of(v) for k, v in kwargs.items()}
        if is_static(known_args) and is_static(known_kwargs):
            return with_arrays(frame, computed(frame, function, known_args, known_kwargs), every=_is_native_of_scipy(function))
        if isinstance(getattr(function, "__self__", None), str):
            return RunTimeText(UNKNOWN)
    return call_source(frame, function, args, kwargs)


_MEANINGS = (numba_calls.meaning, sparse_objects.meaning, formulas.meaning, generic.meaning)


def _by_rule(frame: Frame, function: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """A call of an operation: of one with a rule, or of a universal function."""
    rule = lookup(function)
    unsafe = kwargs.get("casting") == "unsafe"
    args, kwargs, target = ufuncs.without_target(frame, function, args, ufuncs.without_settings(function, kwargs))
    args, kwargs = ufuncs.in_dtype(frame, function, as_arrays(frame, function, args), named_arrays(frame, function, kwargs))
    args = as_floats(frame, function, args)
    if target is not None:
        return ufuncs.into(frame, function, args, kwargs, target, unsafe=unsafe)
    if ufuncs.is_masked(function, kwargs):
        return ufuncs.masked(frame, function, args, kwargs)
    if rule is None or rule.composite is None:
        return _call_operation(frame, function, args, kwargs)
    agreement.check(frame, function, args, kwargs)
    found = inline_rule(frame, rule.composite, args, kwargs)
    number = isinstance(found, Sym) and not found.type.array or is_number(found)
    return boxes.made(frame, found) if number and function in boxes.MAKERS else found


def _is_native_of_scipy(function: Any) -> bool:
    """A function of SciPy's that is no Python: of known numbers it gives known ones (Bernoulli's numbers, orders and zeros of special functions)."""
    native = type(function).__name__ in ("builtin_function_or_method", "cython_function_or_method")
    return native and (getattr(function, "__module__", "") or "").startswith("scipy.")


_OF_CONSTANTS = (int, float, bytes)  # whose class methods make constants
_PLAIN = (str, bytes, int, float, complex, range, set, frozenset, types.MappingProxyType, np.dtype, *DATES)


def _is_text_method(function: Any) -> bool:
    """A method of a string or another plain value that is known, or of its class: `mode.startswith("a")`, `float.fromhex("0x1p2")`."""
    owner = getattr(function, "__self__", None)
    return isinstance(function, types.BuiltinFunctionType) and (isinstance(owner, _PLAIN) or isinstance(owner, type) and owner in _OF_CONSTANTS)


def _of_library(function: Any) -> bool:
    return isinstance(function, np.ufunc) or (getattr(function, "__module__", "") or "").split(".")[0] in ("numpy", "scipy", "math")


def _call_operation(frame: Frame, function: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    args, kwargs = canonical(frame, function, args, kwargs)
    if function in _TAKES_SHAPE:
        args = tuple(_items_of_shape(frame, a) if k == _TAKES_SHAPE[function] else a for k, a in enumerate(args))
        kwargs = {k: _items_of_shape(frame, v) if k == "shape" else v for k, v in kwargs.items()}
    known = static_of(tuple(args))
    if is_static(known) and is_static(static_of(tuple(kwargs.values()))) and not any(isinstance(a, (list, np.ndarray)) for a in known):
        result = called(function, *known, **{k: static_of(v) for k, v in kwargs.items()})
        if is_number(result) or isinstance(result, (tuple, str, bool)) and not has_arrays(result):
            return result
    for name, value in kwargs.items():
        if name in OPTIONS and not is_static(static_of(value)):
            raise errors.NeedStaticError(f"`{name}` must be known at compile time", frame.builder.loc)
    return operation(frame, function, as_arrays(frame, function, args), kwargs)


_TAKES_SHAPE: dict[Any, int] = {np.zeros: 0, np.ones: 0, np.empty: 0, np.full: 0, np.reshape: 1, np.broadcast_to: 1}  # and where


def _items_of_shape(frame: Frame, shape: Value) -> Value:
    """A shape as a tuple: an array of integers, of which the number is known, stands for its items."""
    count = shape.type.dims[0].constant if isinstance(shape, Sym) and shape.type.rank == 1 and np.dtype(shape.type.dtype).kind in "iu" else None
    return shape if count is None else tuple(indexing.load(frame, shape, k, None) for k in range(count))


operations.CANONICAL.append(_call_operation)


_JOINED = {
    np.stack: library.stacked,
    np.concatenate: library.end_to_end,
    np.vstack: library.below_each_other,
    np.hstack: library.beside_each_other,
    np.column_stack: library.as_columns,
}


def _with_arrays_for_lists(
    frame: Frame, function: Any, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> tuple[tuple[Value, ...], dict[str, Value]]:
    """The arguments of a function of NumPy's or SciPy's, with arrays for lists that grow and `x.flat`; those of other functions as they are."""
    if not any(isinstance(v, Growing) or growing.is_flat(v) for v in (*args, *kwargs.values())) or not (lookup(function) or _of_library(function)):
        return args, kwargs
    return tuple(_listed(frame, function, a) for a in args), {k: _listed(frame, function, v) for k, v in kwargs.items()}


def _listed(frame: Frame, function: Any, value: Value) -> Value:
    """What a function of NumPy's is given: of a list that grows, or of `x.flat`, an array; one of its own where the result may look at it."""
    if growing.is_flat(value):
        return growing.as_array(frame, value)
    if not isinstance(value, Growing) or function in _MAKES_ARRAYS:
        return value
    known = operation_of(op_name(function)) if lookup(function) is not None else None
    return growing.as_array(frame, value) if known is not None and known.kind != "rule" and not known.sharing else frame.call(np.array, (value,), {})


_MAKES_ARRAYS = frozenset({np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray})  # of lists themselves


def _of_rows(frame: Frame, function: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """`np.stack`, `np.concatenate`... of the rows of one array."""
    array, *options = args
    joined = _JOINED.get(function)
    if others := kwargs.keys() - ({"axis"} if function in (np.stack, np.concatenate) else set()):
        what = f"`{next(iter(sorted(others)))}` of `np.{function.__name__}` of the rows of one array is not supported"
        raise errors.UnsupportedSyntaxError(what, frame.builder.loc, hint="give it a list of arrays: list(a)")
    if joined is not None and isinstance(array, Sym) and array.type.rank > 1:
        return frame.call(joined, static_of((array, *options)), static_of(kwargs))
    if function is np.stack and isinstance(array, Sym) and array.type.rank == 1 and not options and not kwargs:  # of numbers
        return array
    raise errors.UnsupportedSyntaxError(
        f"`np.{function.__name__}` of a list that grows in a loop is not supported here", frame.builder.loc, hint="use np.array(...) of the list"
    )
