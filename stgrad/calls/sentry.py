"""Guards in native code: a table of what look-ups found, compared word by word at each call.

    [kind, a, b, c]   WORD    the word at address a is b             a cell, a field of a function, the class of an object, a list's length
                      BEHIND  so is c the word b bytes behind the address that stands at a                         an item of a list
                      ITEM    dict a has c under b; 0 for nothing    globals, builtins, attributes of modules
                      ATTR    getattr(a, b) is c; 0 for nothing
                      TYPE    class a or a base has c under b; 0 for nothing
                      METHOD  getattr(a, b) is a method of a for the function c
                      COUNT   the 32-bit number at address a is b    the rank of an array
                      EXTENT  the word b bytes behind what address a points to is 1 (c = 1) or is not (c = 0)
                      CALL    a() is True                            everything else

A table keeps alive all that it has addresses of. It may say that something changed where an equal value took the place of
another; it never says that nothing did where something did. The layout of objects that it relies on is found out once in a process.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import sysconfig
import types
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from llvmlite import ir

from stgrad.contents import is_container
from stgrad.lookups import ABSENT, Lookup, vars_of_builtins

WORD, BEHIND, ITEM, ATTR, TYPE, METHOD, COUNT, EXTENT, CALL, END = range(10)
_SIZE = ctypes.sizeof(ctypes.c_void_p)
_CLASS = object.__basicsize__ - _SIZE  # where an object keeps its class
_ARRAY = {"ndim": _CLASS + 2 * _SIZE, "shape": _CLASS + 3 * _SIZE, "dtype": _CLASS + 6 * _SIZE}
_FIELDS = ("__code__", "__defaults__", "__kwdefaults__")

# An attribute or nothing, without an exception: since Python 3.13, and before.
OPTIONAL = next((name for name in ("PyObject_GetOptionalAttr", "_PyObject_LookupAttr") if hasattr(ctypes.pythonapi, name)), None)

_byte, _word, _int, _long = ir.IntType(8), ir.IntType(8 * _SIZE), ir.IntType(32), ir.IntType(8 * ctypes.sizeof(ctypes.c_long))
_pointer = _byte.as_pointer()
Row = tuple[int, int, int, int]


class Table:
    """The guards of some look-ups."""

    def __init__(self, record: Iterable[Lookup]) -> None:
        self._kept: list[Any] = []
        rows = [row for lookup in record for row in self._rows(lookup)]
        flat = [word for row in (*rows, (END, 0, 0, 0)) for word in row]
        self._words = (ctypes.c_size_t * len(flat))(*flat)
        self.address = ctypes.addressof(self._words)
        self.holds: Callable[[], bool] = _function(self)

    def _rows(self, lookup: Lookup) -> Iterator[Row]:
        if lookup.kind == "item":  # its container tells
            return
        self._kept.append(lookup)
        rows = self._native(lookup)
        if rows is not None and is_container(lookup.value):
            held = self._held(lookup.value)
            rows = None if held is None or not lookup.holds() else [*rows, *held]
        yield from rows or [(CALL, self._address(lookup.holds), 0, 0)]

    def _address(self, thing: object) -> int:
        self._kept.append(thing)
        return id(thing)

    def _native(self, lookup: Lookup) -> list[Row] | None:
        """The rows of a look-up; None where only the look-up itself can tell."""
        owner, name, value = lookup.owner, lookup.name, lookup.value
        found = 0 if value is ABSENT else id(value)
        match lookup.kind:
            case "form":
                return self._form(owner, *value)
            case "class":
                return [(WORD, id(owner) + _CLASS, found, 0)]
            case "module":
                return [(ITEM, id(sys.modules), self._address(name), found)] if found else None
            case "name":
                return self._name(owner, name, found)
            case "attribute" if type(owner) is FunctionType and name in _FIELDS:
                return [(WORD, id(owner) + layout()[name], 0 if value is None else found, 0)]
            case "attribute" if type(owner) is ModuleType and (name in vars(owner) or not found and "__getattr__" not in vars(owner)):
                return [(ITEM, id(vars(owner)), self._address(name), found)]
            case "attribute":
                return self._attribute(owner, name, value)
            case "raw" if hasattr(ctypes.pythonapi, "_PyType_Lookup"):
                return [(TYPE, id(owner), self._address(sys.intern(name)), found)]
        return None

    def _name(self, function: FunctionType, name: str, found: int) -> list[Row] | None:
        free = function.__code__.co_freevars
        if name in free:
            return [(WORD, id((function.__closure__ or ())[free.index(name)]) + layout()["cell"], found, 0)]
        if type(function.__globals__) is not dict:
            return None
        key = self._address(sys.intern(name))
        if name in function.__globals__:
            return [(ITEM, id(function.__globals__), key, found)]
        return [(ITEM, id(function.__globals__), key, 0), (ITEM, id(self._kept_dict(vars_of_builtins(function))), key, found)]

    def _kept_dict(self, names: Any) -> Any:
        self._kept.append(names)
        return names

    def _held(self, value: Any) -> list[Row] | None:
        """The rows of what a container holds, through the containers in it; None where they cannot tell."""
        self._kept.append(value)
        if not is_container(value):
            return []
        if type(value) is dict and layout()["version"]:
            rows = [(WORD, id(value) + layout()["version"], _word_at(id(value) + layout()["version"]), 0)]
        elif type(value) is list:
            rows = [(WORD, id(value) + layout()["length"], len(value), 0)]
            rows += [(BEHIND, id(value) + layout()["items"], i * _SIZE, id(item)) for i, item in enumerate(value)]
        elif isinstance(value, tuple):
            rows = []
        else:
            return None
        inner = [self._held(item) for item in (value.values() if isinstance(value, dict) else value)]
        return None if None in inner else [*rows, *(row for rows in inner if rows for row in rows)]

    def _attribute(self, owner: Any, name: str, value: Any) -> list[Row] | None:
        """Where two look-ups in a row find the same object: what supplies it makes no new one each time."""
        if getattr(owner, name, ABSENT) is value and getattr(owner, name, ABSENT) is value and OPTIONAL is not None:
            return [(ATTR, id(owner), self._address(sys.intern(name)), 0 if value is ABSENT else id(value))]
        if type(value) is MethodType and value.__self__ is owner and getattr(owner, name, ABSENT) == value:
            return [(METHOD, id(owner), self._address(name), self._address(value.__func__))]
        return None

    def _form(self, array: np.ndarray[Any, Any], dtype: Any, *extents: int | None) -> list[Row]:
        shape = id(array) + _ARRAY["shape"]
        tests = [(EXTENT, shape, axis * _SIZE, int(n == 1)) if n in (None, 1) else (BEHIND, shape, axis * _SIZE, n) for axis, n in enumerate(extents)]
        return [(COUNT, id(array) + _ARRAY["ndim"], len(extents), 0), (WORD, id(array) + _ARRAY["dtype"], self._address(dtype), 0), *tests]


@functools.cache
def layout() -> dict[str, int]:
    """Where functions keep what can be replaced in them, and cells their contents."""

    def probe(a: int = 1, *, b: int = 2) -> None: ...

    value = object()
    found = {name: _place(probe, getattr(probe, name)) for name in _FIELDS}
    items, listed = _CLASS + 2 * _SIZE, [value, probe]
    known = _word_at(id(listed) + _CLASS + _SIZE) == 2 and _word_at(_word_at(id(listed) + items) + _SIZE) == id(probe)
    return {
        **found,
        "cell": _place(types.CellType(value), value),
        "function": _place(MethodType(probe, value), probe),
        "length": next(iter([_CLASS + _SIZE] * known)),
        "items": items,
        "version": _version(),
    }


def _version() -> int:
    """Where a dict keeps a number that every change of it changes; 0 where there is none."""
    place, seen, names = _CLASS + 2 * _SIZE, set(), {"a": 1.0}
    if dict.__basicsize__ != _CLASS + 5 * _SIZE:
        return 0
    for change in (lambda: None, lambda: names.update(a=2.0), lambda: names.update(b=3.0), lambda: names.pop("a"), lambda: names.update(a=2.0)):
        change()
        seen.add(_word_at(id(names) + place))
    return place if len(seen) == 5 else 0


def _word_at(address: int) -> int:
    return int(ctypes.c_size_t.from_address(address).value)


def _place(thing: object, part: object) -> int:
    words = (ctypes.c_size_t * (type(thing).__basicsize__ // _SIZE)).from_address(id(thing))
    return next(i * _SIZE for i, word in enumerate(words) if word == id(part))


@functools.cache
def available() -> bool:
    """Whether objects are laid out as tables expect."""
    array = np.zeros((3, 5))

    try:
        layout()
    except StopIteration:
        return False
    if sysconfig.get_config_var("Py_GIL_DISABLED") or _word_at(id(array) + _CLASS) != id(np.ndarray):
        return False
    known = _word_at(id(array) + _ARRAY["dtype"]) == id(array.dtype) and ctypes.c_int.from_address(id(array) + _ARRAY["ndim"]).value == 2
    return known and list((ctypes.c_ssize_t * 2).from_address(_word_at(id(array) + _ARRAY["shape"]))) == [3, 5]


# --------------------------------------------------------------------------- the native code


class _Method(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = [("name", ctypes.c_char_p), ("code", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


_NO_ARGUMENTS = 0x0004
_new = ctypes.pythonapi.PyCFunction_NewEx
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]


def _function(table: Table) -> Callable[[], bool]:
    """A built-in function that tells whether all of a table holds."""
    function: Callable[[], bool] = _new(ctypes.addressof(_code()[2]), table.address, None)
    return function


@functools.cache
def _code() -> tuple[int, Any, Any]:
    """The address of `check(table) -> 0 or 1`, and what keeps it and the built-in function alive."""
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.registry import cpu_target

    with global_compiler_lock:
        context = cpu_target.target_context
        module = context.create_module("sentry")
        check = _Check(module).function
        holds = _write_holds(module, check)
        library = context.codegen().create_library("stgrad.calls.sentry")
        library.add_ir_module(module)
        library.finalize()
        method = _Method(b"holds", library.get_pointer_to_function(holds.name), _NO_ARGUMENTS, None)
        return library.get_pointer_to_function(check.name), library, method


def check_address() -> int:
    """Where the native code stands that checks a table at an address."""
    return _code()[0]


def _declare(module: Any, name: str, returned: Any, *taken: Any) -> Any:
    return ir.Function(module, ir.FunctionType(returned, taken), name)


def _write_holds(module: Any, check: Any) -> Any:
    """`holds(self, _)`: self is the address of a table as a Python integer."""
    function = _declare(module, "stgrad_sentry_holds", _pointer, _pointer, _pointer)
    builder = ir.IRBuilder(function.append_basic_block())
    address = builder.call(_declare(module, "PyLong_AsVoidPtr", _pointer, _pointer), [function.args[0]])
    valid = builder.call(check, [address])
    builder.ret(builder.call(_declare(module, "PyBool_FromLong", _pointer, _long), [builder.sext(valid, _long) if _long != _int else valid]))
    return function


class _Check:
    """Writes `check`: row after row, until one does not hold."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self.function = _declare(module, "stgrad_sentry_check", _int, _pointer)
        entry, self._head, self._next, failed, done = (self.function.append_basic_block(n) for n in ("entry", "head", "next", "failed", "done"))
        self._failed = failed
        b = self._builder = ir.IRBuilder(entry)
        table = b.bitcast(self.function.args[0], _word.as_pointer())
        b.branch(self._head)
        b.position_at_end(self._head)
        self._row = b.phi(_word.as_pointer())
        self._row.add_incoming(table, entry)
        self._fields = [b.load(b.gep(self._row, [_word(i)])) for i in range(4)]
        switch = b.switch(self._fields[0], failed)
        switch.add_case(_word(END), done)
        tests = (self._write_word, self._write_behind, self._write_item, self._write_attr, self._write_type, self._write_method, self._write_count)
        for kind, write in enumerate((*tests, self._write_extent, self._write_call)):
            if kind in (ATTR, TYPE) and not self._known(kind):
                continue
            block = self.function.append_basic_block()
            switch.add_case(_word(kind), block)
            b.position_at_end(block)
            b.cbranch(write(*self._fields[1:]), self._next, failed)
        b.position_at_end(self._next)
        self._row.add_incoming(b.gep(self._row, [_word(4)]), self._next)
        b.branch(self._head)
        for block, result in ((failed, 0), (done, 1)):
            b.position_at_end(block)
            b.ret(_int(result))

    def _known(self, kind: int) -> bool:
        return OPTIONAL is not None if kind == ATTR else hasattr(ctypes.pythonapi, "_PyType_Lookup")

    def _at(self, address: Any, kind: Any = _word) -> Any:
        return self._builder.load(self._builder.inttoptr(address, kind.as_pointer()))

    def _same(self, a: Any, b: Any) -> Any:
        return self._builder.icmp_unsigned("==", a, b)

    def _python(self, name: str, *arguments: Any) -> Any:
        """A call of Python that takes objects and gives one."""
        known = self._function_named(name, _pointer, *[_pointer for _ in arguments])
        return self._builder.ptrtoint(self._builder.call(known, [self._builder.inttoptr(a, _pointer) for a in arguments]), _word)

    def _write_word(self, a: Any, b: Any, c: Any) -> Any:
        return self._same(self._at(a), b)

    def _write_behind(self, a: Any, b: Any, c: Any) -> Any:
        return self._same(self._at(self._builder.add(self._at(a), b)), c)

    def _write_item(self, a: Any, b: Any, c: Any) -> Any:
        return self._same(self._python("PyDict_GetItemWithError", a, b), c)

    def _write_attr(self, a: Any, b: Any, c: Any) -> Any:
        builder, kind = self._builder, ir.FunctionType(_int, [_pointer, _pointer, _pointer.as_pointer()])
        lookup = self._module.globals.get(OPTIONAL) or ir.Function(self._module, kind, OPTIONAL or "")
        with builder.goto_entry_block():
            place = builder.alloca(_pointer)
        failed = builder.call(lookup, [builder.inttoptr(a, _pointer), builder.inttoptr(b, _pointer), place])
        found = builder.ptrtoint(builder.load(place), _word)
        with builder.if_then(builder.icmp_unsigned("!=", found, _word(0))):
            builder.call(self._function_named("Py_DecRef", ir.VoidType(), _pointer), [builder.inttoptr(found, _pointer)])
        with builder.if_then(builder.icmp_signed("<", failed, _int(0))):
            builder.call(self._function_named("PyErr_Clear", ir.VoidType()), [])
            builder.branch(self._failed)
        return self._same(found, c)

    def _function_named(self, name: str, returned: Any, *taken: Any) -> Any:
        return self._module.globals.get(name) or _declare(self._module, name, returned, *taken)

    def _write_type(self, a: Any, b: Any, c: Any) -> Any:
        return self._same(self._python("_PyType_Lookup", a, b), c)

    def _write_method(self, a: Any, b: Any, c: Any) -> Any:
        found = self._existing(self._python("PyObject_GetAttr", a, b))
        is_method = self._same(self._at(self._builder.add(found, _word(_CLASS))), _word(id(MethodType)))
        place = self._builder.select(is_method, _word(layout()["function"]), _word(_CLASS))
        function = self._at(self._builder.add(found, place))
        self._released(found)
        return self._builder.and_(is_method, self._same(function, c))

    def _write_count(self, a: Any, b: Any, c: Any) -> Any:
        return self._same(self._builder.zext(self._at(a, _int), _word), b)

    def _write_extent(self, a: Any, b: Any, c: Any) -> Any:
        one = self._write_behind(a, b, _word(1))
        return self._same(self._builder.zext(one, _word), c)

    def _write_call(self, a: Any, b: Any, c: Any) -> Any:
        return self._same(self._released(self._python("PyObject_CallNoArgs", a)), _word(id(True)))

    def _existing(self, found: Any) -> Any:
        """An object that Python gave; where it raised, the row does not hold, and what was raised is for the slow path to raise again."""
        b, there, raised = self._builder, self.function.append_basic_block(), self.function.append_basic_block()
        b.cbranch(self._same(found, _word(0)), raised, there)
        b.position_at_end(raised)
        b.call(self._function_named("PyErr_Clear", ir.VoidType()), [])
        b.branch(self._failed)
        b.position_at_end(there)
        return found

    def _released(self, found: Any) -> Any:
        found = self._existing(found)
        self._builder.call(self._function_named("Py_DecRef", ir.VoidType(), _pointer), [self._builder.inttoptr(found, _pointer)])
        return found
