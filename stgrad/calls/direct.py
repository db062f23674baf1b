"""Built-in functions around compiled programs: arguments read, the program called and its result built in native code.

A call through Numba's dispatcher makes a tuple of the arguments, looks up their types, converts each through the C API and
returns a flat tuple, which Python takes apart again. Here the types are known: a built-in function of CPython's fast calling
convention compares the classes of its arguments with those that the program was compiled for, reads the numbers where they stand, and
builds the nested result. Whatever does not match goes to a Python function with the arguments as they came.

    gradient(x, y)  ->  x and y are floats?  ->  program(x, y)  ->  (value, (x_bar, y_bar))
                        no: otherwise(x, y)

The layout of Python's and NumPy's objects that this relies on is tested once in a process (`available`).
"""

from __future__ import annotations

import ctypes
import functools
import inspect
import itertools
import sysconfig
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

from stgrad.calls.later import Later
from stgrad.calls.sentry import Table, check_address
from stgrad.calls.wrapper import ARGUMENT, Array, Items, Keys, Node, Scalar
from stgrad.values import Sym, Value

NUMBERS: dict[type, Any] = {float: numba.float64, int: numba.int64, bool: numba.boolean, complex: numba.complex128}

_WORD = ctypes.sizeof(ctypes.c_void_p)
_CLASS = object.__basicsize__ - _WORD  # where an object keeps its class
_NUMBER = float.__basicsize__ - 8  # where a float keeps its number
_ITEMS = _CLASS + 2 * _WORD  # where the items of a tuple begin, behind their number
_ARRAY = {"ndim": _CLASS + 2 * _WORD, "shape": _CLASS + 3 * _WORD, "dtype": _CLASS + 6 * _WORD, "flags": _CLASS + 7 * _WORD}
_KIND = _CLASS + 2 * _WORD  # eight bytes of a dtype that tell kind, letter, order of bytes and number
_PLAIN = 0x0001 | 0x0100 | 0x0400  # flags of an array in C order, aligned, writeable

_pointer, _word, _int = ir.IntType(8).as_pointer(), ir.IntType(8 * _WORD), ir.IntType(32)
_FAST = ir.FunctionType(_pointer, [_pointer, _pointer.as_pointer(), _word, _pointer])  # self, arguments, their number, keywords
_FAST_WITH_KEYWORDS = 0x0080 | 0x0002

_new = ctypes.pythonapi.PyCFunction_NewEx
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
_numbers = itertools.count()
_kept: list[Any] = []  # native code lives as long as the process, as Numba's does


class _Method(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = [("name", ctypes.c_char_p), ("code", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


@functools.cache
def available() -> bool:
    """Whether objects of this Python and this NumPy are laid out as the native code reads them."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    array = np.zeros((3, 5))

    def word(thing: object, place: int) -> Any:
        return ctypes.c_ssize_t.from_address(id(thing) + place).value

    kinds = [_kind_of(kind) for kind in (*"?bBhHiIlLfdFD", ">f8")]
    shape, pair = word(array, _ARRAY["shape"]), (array, 1.25)
    return (
        word(array, _CLASS) == id(np.ndarray)
        and [word(pair, _ITEMS + i * _WORD) for i in (-1, 0, 1)] == [2, id(array), id(pair[1])]
        and all(ctypes.c_double.from_address(id(x) + _NUMBER).value == 1.25 for x in (1.25, np.float64(1.25), 1.25 + 0j))
        and len({*kinds}) == len(kinds)
        and all(_kind_of(np.dtype(kind, copy=True)) == _kind_of(kind) for kind in "?dlD")
        and np.float64.__basicsize__ == float.__basicsize__
        and ctypes.c_int.from_address(id(array) + _ARRAY["ndim"]).value == 2
        and [ctypes.c_ssize_t.from_address(shape + i * _WORD).value for i in range(2)] == [3, 5]
        and word(array, _ARRAY["dtype"]) == id(array.dtype)
        and ctypes.c_int.from_address(id(array) + _ARRAY["flags"]).value & _PLAIN == _PLAIN == array.flags.num & _PLAIN
    )


def _kind_of(dtype: Any) -> int:
    """What a dtype shares with those that are equal to it: one that was unpickled, or is of code from Numba's cache, is another object."""
    return ctypes.c_int64.from_address(id(np.dtype(dtype)) + _KIND).value


class _ModuleName(str):
    """The name of the module that a built-in function says it is from, which keeps alive what its native code looks at."""

    entry: Entry


@dataclass(frozen=True)
class Entry:
    """The native code of one program for arguments of certain descriptions.

    The native code reads the table that `guard` points to at each call: the table must live as long as it does, and as any function made from the entry.
    """

    name: str
    address: int
    guard: ctypes.c_void_p  # the address of a table that is checked before the arguments; none at first
    tables: deque[Table | None]  # the last ones: one that is replaced while it is checked must not go

    def guard_by(self, table: Table | None) -> None:
        """Check a table at each call from now on; where it does not hold, the arguments go to `otherwise`."""
        self.tables.append(table)
        self.guard.value = 0 if table is None else table.address

    def function(self, otherwise: Callable[..., Any]) -> Callable[..., Any]:
        """The built-in function; `otherwise` gets the arguments that do not match, keywords too."""
        method = _Method(self.name.encode(), self.address, _FAST_WITH_KEYWORDS, None)
        _kept.append(method)
        module = _ModuleName("stgrad")
        module.entry = self
        function: Callable[..., Any] = _new(ctypes.addressof(method), otherwise, module)
        return function


def entry(compiled: Any, nodes: Sequence[Node], arguments: Sequence[Any], result: Value | None, *, hand_on: bool = False) -> Entry | None:
    """Native code that calls a program; None where an argument or a leaf of the result is of a kind that it does not read.

    Args:
        compiled: the dispatcher of the program, which is compiled for the types of `arguments` if it is not yet.
        nodes: descriptions of the arguments, which may be tuples of tuples.
        arguments: examples of their leaves.
        result: a structure of tuples with `Sym` leaves that the function is to return; None for what the program itself returns.
        hand_on: whether a call that raises goes to the Python function too, instead.
    """
    flat = list(_leaves(nodes))
    if not isinstance(compiled, Dispatcher) or not available() or not all(map(_read, flat, arguments)):
        return None
    types = tuple(NUMBERS[n.type] if isinstance(n, Scalar) else numba.typeof(a) for n, a in zip(flat, arguments, strict=True))
    compiled.compile(types)
    overload = compiled.overloads[types]
    if not all(map(_built, _flat(overload.signature.return_type))):
        return None
    with global_compiler_lock:
        return _Writer(overload, tuple(nodes), hand_on).entry(compiled.py_func.__name__, result)


def positional(nodes: Sequence[Node], kinds: Sequence[inspect._ParameterKind]) -> list[Node] | None:
    """Descriptions of the arguments as a call without keywords passes them, for those of parameters; None where that has none.

    >>> both = inspect.signature(lambda *args, **kwargs: None).parameters.values()
    >>> positional([Items(tuple, (Scalar(float), Items(tuple, (Scalar(int),)))), Keys(())], [p.kind for p in both])
    [Scalar(type=<class 'float'>), Items(type=<class 'tuple'>, items=(Scalar(type=<class 'int'>),))]
    """
    found: list[Node] = []
    for node, kind in zip(nodes, kinds, strict=True):
        if kind is inspect.Parameter.VAR_POSITIONAL and isinstance(node, Items):
            found.extend(node.items)
        elif kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD):
            found.append(node)
        elif kind is not inspect.Parameter.VAR_KEYWORD or node != Keys(()):
            return None
    return found if all(map(_nested_leaves, found)) else None


def _nested_leaves(node: Node) -> bool:
    """Whether a description is of a leaf, or of plain tuples of them."""
    return all(map(_nested_leaves, node.items)) if isinstance(node, Items) and node.type is tuple else isinstance(node, (Scalar, Array))


def _leaves(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        if isinstance(node, Items):
            yield from _leaves(node.items)
        else:
            yield node


def _read(node: Node, example: Any) -> bool:
    """Whether native code can read such an argument, as the example is laid out."""
    if isinstance(node, Array):
        return node.ndim > 0 and example.flags.num & _PLAIN == _PLAIN and numba.typeof(example).layout == "C"
    return isinstance(node, Scalar) and node.type in NUMBERS


def _built(kind: Any) -> bool:
    return kind in NUMBERS.values() or isinstance(kind, numba.types.Array)


def _flat(kind: Any) -> tuple[Any, ...]:
    return tuple(kind.types) if isinstance(kind, numba.types.BaseTuple) else (kind,)


class _Writer:
    """Writes the function in LLVM's language, with Numba's own conventions for the call."""

    def __init__(self, overload: Any, nodes: tuple[Node, ...], hand_on: bool) -> None:
        self._overload, self._nodes, self._hands_on = overload, nodes, hand_on
        self._context = overload.target_context.subtarget(enable_nrt=True)
        self._module = self._context.create_module("direct")
        self._function = ir.Function(self._module, _FAST, f"stgrad_direct_{next(_numbers)}")
        self._builder = ir.IRBuilder(self._function.append_basic_block("entry"))
        self._api = self._context.get_python_api(self._builder)
        self._otherwise = self._function.append_basic_block("otherwise")
        self._guard = ctypes.c_void_p(0)
        _kept.append(self._guard)

    def entry(self, name: str, result: Value | None) -> Entry:
        _, arguments, number, keywords = self._function.args
        self._unless(number, _word(len(self._nodes)))
        self._unless(self._builder.ptrtoint(keywords, _word), _word(0))
        self._check_guard()
        places = [self._builder.load(self._builder.gep(arguments, [_word(i)])) for i in range(len(self._nodes))]
        checked = [leaf for node, place in zip(self._nodes, places, strict=True) for leaf in self._checked(node, place)]
        self._call(self._values([node for node, _ in checked], [place for _, place in checked]), result)
        self._hand_on()
        library = self._context.codegen().create_library("stgrad.calls.direct")
        library.add_ir_module(self._module)
        library.finalize()
        _kept.append((library, self._overload))
        return Entry(name, library.get_pointer_to_function(self._function.name), self._guard, deque(maxlen=4))

    # ------------------------------------------------------------- arguments

    def _unless(self, value: Any, wanted: Any) -> None:
        """Go on where the two are equal, else to `otherwise`."""
        going_on = self._builder.append_basic_block("same")
        self._builder.cbranch(self._builder.icmp_signed("==", value, wanted), going_on, self._otherwise)
        self._builder.position_at_end(going_on)

    def _check_guard(self) -> None:
        """Go on where the table holds, or where there is none."""
        table = self._builder.load(self._builder.inttoptr(_word(ctypes.addressof(self._guard)), _pointer.as_pointer()))
        checked, going_on = self._builder.append_basic_block("guarded"), self._builder.append_basic_block("valid")
        self._builder.cbranch(cgutils.is_null(self._builder, table), going_on, checked)
        self._builder.position_at_end(checked)
        check = self._builder.inttoptr(_word(check_address()), ir.FunctionType(_int, [_pointer]).as_pointer())
        self._builder.cbranch(cgutils.is_true(self._builder, self._builder.call(check, [table])), going_on, self._otherwise)
        self._builder.position_at_end(going_on)

    def _field(self, thing: Any, place: int, kind: Any) -> Any:
        """What stands so many bytes into an object."""
        return self._builder.load(self._builder.bitcast(self._builder.gep(thing, [_word(place)]), kind.as_pointer()))

    def _checked(self, node: Node, thing: Any) -> list[tuple[Node, Any]]:
        """The leaves of an argument, once they are known to be as described."""
        if not isinstance(node, Items):
            self._check(node, thing)
            return [(node, thing)]
        self._unless(self._field(thing, _CLASS, _word), _word(id(tuple)))
        self._unless(self._field(thing, _ITEMS - _WORD, _word), _word(len(node.items)))
        return [leaf for i, item in enumerate(node.items) for leaf in self._checked(item, self._field(thing, _ITEMS + i * _WORD, _pointer))]

    def _check(self, node: Node, thing: Any) -> None:
        kind = node.type if isinstance(node, Scalar) else np.ndarray
        self._unless(self._field(thing, _CLASS, _word), _word(id(kind)))
        if not isinstance(node, Array):
            return
        self._unless(self._field(self._field(thing, _ARRAY["dtype"], _pointer), _KIND, ir.IntType(64)), ir.IntType(64)(_kind_of(node.dtype)))
        self._unless(self._field(thing, _ARRAY["ndim"], _int), _int(node.ndim))
        self._unless(self._builder.and_(self._field(thing, _ARRAY["flags"], _int), _int(_PLAIN)), _int(_PLAIN))
        shape = self._field(thing, _ARRAY["shape"], _pointer)
        for axis, extent in enumerate(node.extents or ()):
            same = self._builder.icmp_signed("==", self._field(shape, axis * _WORD, _word), _word(1 if extent is None else extent))
            self._unless(same, ir.IntType(1)(extent is not None))

    def _values(self, nodes: Sequence[Node], things: Sequence[Any]) -> list[Any]:
        """Native values; integers that are too long for the program go to `otherwise`, which raises. Arrays come last: they are held."""
        values: dict[int, Any] = {}
        for i in sorted(range(len(things)), key=lambda i: isinstance(nodes[i], Array)):
            kind = self._overload.signature.args[i]
            if kind == numba.float64:
                values[i] = self._field(things[i], _NUMBER, ir.DoubleType())
            elif kind == numba.boolean:
                values[i] = self._builder.icmp_signed("==", self._builder.ptrtoint(things[i], _word), _word(id(True)))
            elif kind == numba.int64:
                values[i] = self._integer(things[i])
            elif kind == numba.complex128:
                values[i] = self._complex(things[i])
            else:
                values[i] = self._api.to_native_value(kind, things[i]).value
        return [values[i] for i in range(len(things))]

    def _integer(self, thing: Any) -> Any:
        failed = cgutils.alloca_once(self._builder, _int)
        kind = ir.FunctionType(ir.IntType(64), [_pointer, _int.as_pointer()])
        read = cgutils.get_or_insert_function(self._module, kind, "PyLong_AsLongLongAndOverflow")
        value = self._builder.call(read, [thing, failed])
        self._unless(self._builder.load(failed), _int(0))
        shifted = self._builder.add(value, ir.IntType(64)(ARGUMENT))
        self._unless(self._builder.icmp_unsigned("<=", shifted, ir.IntType(64)(2 * ARGUMENT)), ir.IntType(1)(1))
        return value

    def _complex(self, thing: Any) -> Any:
        value = self._context.make_complex(self._builder, numba.complex128)
        value.real = self._field(thing, _NUMBER, ir.DoubleType())
        value.imag = self._field(thing, _NUMBER + 8, ir.DoubleType())
        return value._getvalue()

    # ------------------------------------------------------------- call and result

    def _call(self, values: Sequence[Any], result: Value | None) -> None:
        overload, conventions, builder = self._overload, self._context.call_conv, self._builder
        returned, taken = overload.fndesc.restype, overload.fndesc.argtypes
        address = overload.library.get_pointer_to_function(overload.fndesc.llvm_func_name)
        program = builder.inttoptr(_word(address), conventions.get_function_type(returned, taken).as_pointer())
        thread = self._api.save_thread()
        status, value = conventions.call_function(builder, program, returned, taken, values)
        self._api.restore_thread(thread)
        for kind, argument in zip(taken, values, strict=True):
            self._context.nrt.decref(builder, kind, argument)
        with builder.if_then(status.is_ok, likely=True):
            flat = cgutils.unpack_tuple(builder, value) if isinstance(returned, numba.types.BaseTuple) else [value]
            items = zip(_flat(returned), flat, strict=True)
            if result is None and isinstance(returned, numba.types.BaseTuple):
                builder.ret(self._tuple([self._boxed(*item) for item in items]))
            else:
                builder.ret(self._nested(result, items))
        if self._hands_on:
            self._api.err_clear()  # what Python called from the program has raised: the other function raises it again
            builder.branch(self._otherwise)
            return
        conventions.raise_error(builder, self._api, status)
        builder.ret(self._api.get_null_object())

    def _boxed(self, kind: Any, value: Any) -> Any:
        if not isinstance(kind, numba.types.Array):
            return self._api.from_native_value(kind, value)
        held = cgutils.alloca_once_value(self._builder, value)
        signature = ir.FunctionType(_pointer, [_pointer, _pointer, _int, _int, _pointer])
        adapt = cgutils.get_or_insert_function(self._module, signature, "NRT_adapt_ndarray_to_python_acqref")
        dtype = np.dtype(kind.dtype.name)
        described = [self._object(np.ndarray), _int(kind.ndim), _int(int(kind.mutable)), self._object(dtype)]
        array = self._builder.call(adapt, [self._builder.bitcast(held, _pointer), *described])
        self._context.nrt.decref(self._builder, kind, value)
        return array

    def _object(self, thing: object) -> Any:
        _kept.append(thing)
        return self._builder.inttoptr(_word(id(thing)), _pointer)

    def _nested(self, result: Value | None, items: Iterator[tuple[Any, Any]]) -> Any:
        """The result around the values that the program returned, in order."""
        if isinstance(result, tuple):
            return self._tuple([self._nested(inner, items) for inner in result])
        if isinstance(result, Later):
            thing = self._object(result)
            self._api.incref(thing)
            return thing
        kind, value = next(items)
        if isinstance(result, Sym) and _is_numpy_float(result):
            return self._numpy_float(value)
        return self._boxed(kind, value)

    def _numpy_float(self, value: Any) -> Any:
        """A new np.float64, which is a float with another class."""
        signature = ir.FunctionType(_pointer, [_pointer, _word])
        alloc = cgutils.get_or_insert_function(self._module, signature, "PyType_GenericAlloc")
        number = self._builder.call(alloc, [self._object(np.float64), _word(0)])
        with self._builder.if_then(cgutils.is_not_null(self._builder, number), likely=True):
            place = self._builder.gep(number, [_word(_NUMBER)])
            self._builder.store(value, self._builder.bitcast(place, ir.DoubleType().as_pointer()))
        return number

    def _tuple(self, items: Sequence[Any]) -> Any:
        whole = self._api.tuple_new(len(items))
        for i, item in enumerate(items):
            self._api.tuple_setitem(whole, i, item)
        return whole

    def _hand_on(self) -> None:
        """The end of the function for arguments that do not match."""
        self._builder.position_at_end(self._otherwise)
        kind = ir.FunctionType(_pointer, [_pointer, _pointer.as_pointer(), _word, _pointer])
        call = cgutils.get_or_insert_function(self._module, kind, "PyObject_Vectorcall")
        self._builder.ret(self._builder.call(call, self._function.args))


def nests(result: Value) -> bool:
    """Whether a structure is made of plain tuples and of leaves that native code builds as they are to be."""
    if type(result) is tuple:
        return all(map(nests, result))
    return isinstance(result, Later) or isinstance(result, Sym) and (result.type.array or result.type.weak or _is_numpy_float(result))


def _is_numpy_float(leaf: Sym) -> bool:
    return not leaf.type.array and not leaf.type.weak and leaf.type.dtype == "float64"
