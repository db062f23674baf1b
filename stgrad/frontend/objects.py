"""Instances of users' classes: made, read, changed and called while a function is read.

An instance is a `Record`: its class and the values of its attributes. Methods and operators are functions of its class and are read in
place; `__init__` runs on an empty record, that of a dataclass is what its fields say. An instance from outside stays what it is, each attribute that is
read of it is on the record of look-ups, and its methods and operators are read in place as well.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

import gast

from stgrad import errors
from stgrad.frontend import descriptors, partly
from stgrad.frontend.builtins import handles
from stgrad.frontend.frame import Frame
from stgrad.frontend.heap import LACKS, State
from stgrad.frontend.truth_values import asked
from stgrad.frontend.values import Record, Sym, Value, a_kind, is_derived, is_static
from stgrad.lookups import ABSENT, LIBRARIES, Lookup, gives, lineage, look, read, root_of

_MISSING = object()
_OPERATORS: dict[type, str] = {
    gast.Add: "add", gast.Sub: "sub", gast.Mult: "mul", gast.Div: "truediv", gast.FloorDiv: "floordiv", gast.Mod: "mod", gast.Pow: "pow",
    gast.MatMult: "matmul", gast.USub: "neg", gast.UAdd: "pos", gast.Eq: "eq", gast.NotEq: "ne", gast.Lt: "lt", gast.LtE: "le", gast.Gt: "gt", gast.GtE: "ge",
    gast.BitOr: "or", gast.BitAnd: "and", gast.BitXor: "xor", gast.LShift: "lshift", gast.RShift: "rshift", gast.Invert: "invert",
}  # fmt: skip
_REFLECTED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


@dataclasses.dataclass(frozen=True, eq=False)
class Super:
    """`super()` in a method: attributes of the classes behind one, as `record` has them: an instance, or a class in a class method."""

    after: type
    record: Value


def attribute(frame: Frame, owner: Record | Super, name: str, node: Any) -> Value:
    """`record.name`: its own attribute, else that of its class."""
    record = owner.record if isinstance(owner, Super) else owner
    cls = _class_of(record)
    if isinstance(owner, Super) and _of_a_class(owner):
        return _bound_to_class(frame, record, _behind(owner, name))
    if isinstance(owner, Record) and name in owner.fields and not descriptors.governs(look("raw", cls, name)):
        return partly.read(frame, owner, name)
    if name == "__class__":
        return cls
    if name == "__dict__":
        return frame.call(vars, (owner,), {})
    found = _behind(owner, name) if isinstance(owner, Super) else Lookup("raw", cls, name, look("raw", cls, name))
    if not partly.nothing(found.value):
        return descriptors.given(frame, record, cls, found)
    other = look("raw", cls, "__getattr__")
    if isinstance(owner, Record) and isinstance(other, types.FunctionType):
        return frame.call(other, (record, name), {})
    missing, place = getattr(cls, "stands_for", cls).__name__, frame.loc(node) if node is not None else frame.builder.loc
    if gives(getattr(cls, "stands_for", object), name) and not hasattr(cls, "instead"):  # Python's class has it, that which is read for it does not
        raise errors.UnsupportedSyntaxError(f"`{missing}.{name}` is not supported", place)
    problem = errors.UndefinedNameError(f"a `{missing}` has no attribute `{name}` here", place, hint=getattr(cls, "instead", "set it in `__init__`"))
    raise problem from AttributeError(f"'{missing}' object has no attribute '{name}'")


def _class_of(record: Value) -> type:
    """The class of an instance of the program, or of an object from outside whose method is read."""
    return record.cls if isinstance(record, Record) else look("class", record)  # type: ignore[no-any-return]


def _of_a_class(owner: Super) -> bool:
    """Whether `super()` is that of a class method: it is bound to a class, not to an instance."""
    return isinstance(owner.record, type) and owner.after in lineage(owner.record)


def _bound_to_class(frame: Frame, cls: Value, lookup: Lookup) -> Value:
    """What `super().name` gives in a class method, and in `__new__`: functions stay as they are."""
    found = lookup.value
    if isinstance(found, (classmethod, staticmethod)):
        return types.MethodType(found.__func__, cls) if isinstance(found, classmethod) else found.__func__
    return found if callable(found) or isinstance(found, property) else frame.stand_in(lookup)


def _behind(owner: Super, name: str) -> Lookup:
    """What `super().name` finds."""
    order = lineage(owner.record) if _of_a_class(owner) else lineage(_class_of(owner.record))  # type: ignore[arg-type]
    if owner.after not in order:
        raise TypeError("super(type, obj): obj must be an instance or subtype of type")
    for cls in order[order.index(owner.after) + 1 :]:
        found = read("own", cls, name) if root_of(cls) in LIBRARIES else look("own", cls, name)
        if found is not ABSENT:
            return Lookup("own", cls, name, found)
    return Lookup("own", object, name, ABSENT)


def set_field(frame: Frame, record: Record, name: str, value: Value) -> None:
    """Give an object an attribute, whatever its class does."""
    there = name in record.fields
    frame.mutate(record, through=there)
    record.fields[name] = frame.keep(value)
    partly.note_set(record, name)
    if there:
        from stgrad.frontend import growing

        growing.wrote(frame, record, name, record.fields[name])


def drop(frame: Frame, record: Value, name: str, node: Any) -> None:
    """`del record.name`."""
    if not isinstance(record, Record):
        frame.unsupported(node, f"`del` of an attribute of {a_kind(record)} is not supported", hint="set it to None")
    if descriptors.asked(frame, look("raw", record.cls, name), "__delete__", record)[1]:
        return
    own = look("raw", record.cls, "__delattr__") is object.__delattr__ or record.cls is types.SimpleNamespace
    if not own:
        frame.unsupported(node, f"`{record.cls.__name__}` deletes attributes in its own way")
    partly.read(frame, record, name)
    frame.mutate(record)
    del record.fields[name]
    record.fields.pop(LACKS + name, None)


# --------------------------------------------------------------------------- making one


def constructible(cls: Any) -> bool:
    """Whether instances of a class are made by Python code alone."""
    if not isinstance(cls, type) or issubclass(cls, BaseException) or type(cls).__call__ is not type.__call__:
        return False
    if not _made_empty(cls) or isinstance(look("raw", cls, "__getattribute__"), types.FunctionType):
        return False
    made = look("raw", cls, "__init__")
    return made is object.__init__ or cls is types.SimpleNamespace or isinstance(made, types.FunctionType)


def _made_empty(cls: type) -> bool:
    """Whether `object.__new__` makes the instances of a class, by itself or called by a `__new__` in Python."""
    if cls is types.SimpleNamespace:
        return True
    if root_of(cls) in ("numpy", "builtins", "functools", "numba") and not _of_polynomials(cls):
        return False
    makers = [look("own", c, "__new__") for c in lineage(cls)[:-1]] if _own_new(cls) is not None else [look("raw", cls, "__new__")]
    return all(m is ABSENT or m is object.__new__ or isinstance(m, staticmethod) for m in makers)


def _own_new(cls: type) -> types.FunctionType | None:
    """The `__new__` of a class that is written in Python."""
    found = look("raw", cls, "__new__")
    function = found.__func__ if isinstance(found, staticmethod) else None
    return function if isinstance(function, types.FunctionType) else None


@handles(object.__new__)
def _new(frame: Frame, cls: Value) -> Record:
    """`object.__new__(cls)`: an instance without attributes."""
    if not isinstance(cls, type) or not _made_empty(cls):
        name = getattr(cls, "__name__", "object")
        raise errors.UnknownFunctionError(f"making a `{name}` inside a differentiated function is not supported", frame.builder.loc, hint="pass the object in")
    return Record(cls, {})


def construct(frame: Frame, cls: type, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """`Cls(*args, **kwargs)`."""
    made_by = _own_new(cls)
    made = frame.call(made_by, (cls, *args), kwargs) if made_by is not None else Record(cls, {})
    if not isinstance(made, Record) or cls not in lineage(made.cls):
        return made
    return _initialised(frame, made, args, kwargs)


def _initialised(frame: Frame, record: Record, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Record:
    """What `__init__` makes of an instance."""
    cls = record.cls
    name = frame.hidden_name("self")
    frame.env[name] = record
    if cls is types.SimpleNamespace:
        record.fields.update({name: frame.keep(v) for given in (*args, kwargs) for name, v in dict(given).items()})
    elif _generated_init(cls):
        fill(frame, record, cls, args, kwargs)
    elif cls.__init__ is not object.__init__:
        frame.call(cls.__init__, (record, *args), kwargs)
    del frame.env[name]
    return record


def _generated_init(cls: type) -> bool:
    code = getattr(cls.__init__, "__code__", None)
    return dataclasses.is_dataclass(cls) and code is not None and code.co_filename == "<string>"


def with_generated_init(record: Record, function: Any) -> type | None:
    """The dataclass of which a function is the `__init__` that is made by `dataclasses`, for a call of it by `super()`."""
    if getattr(function, "__name__", "") != "__init__" or not _generated(function):
        return None
    return next((cls for cls in lineage(record.cls) if look("own", cls, "__init__") is function and _generated_init(cls)), None)


def fill(frame: Frame, record: Record, cls: type, args: tuple[Value, ...], kwargs: dict[str, Value]) -> None:
    """What the `__init__` of a dataclass does."""
    try:
        bound = inspect.signature(cls.__init__).bind(record, *args, **kwargs)
    except TypeError as problem:
        raise errors.TypeInferenceError(f"{cls.__name__}: {problem}", frame.builder.loc) from None
    given = bound.arguments
    look("raw", cls, "__dataclass_fields__")
    for f in dataclasses.fields(cls):
        if f.init and f.name in given:
            record.fields[f.name] = frame.keep(given[f.name])
        elif f.default is not dataclasses.MISSING:
            record.fields[f.name] = frame.look("attribute", f, "default")
        elif f.default_factory is not dataclasses.MISSING:
            record.fields[f.name] = frame.call(look("attribute", f, "default_factory"), (), {})
    after = look("raw", record.cls, "__post_init__")
    if after is not ABSENT and "__post_init__" in look("raw", cls, "__init__").__code__.co_names:
        passed = [f for f in cls.__dataclass_fields__.values() if f._field_type.name == "_FIELD_INITVAR"]  # type: ignore[attr-defined]
        frame.call(after, (record, *(given[f.name] if f.name in given else frame.look("attribute", f, "default") for f in passed)), {})


# --------------------------------------------------------------------------- operators and builtins


def operator(frame: Frame, kind: type, *operands: Value, declined: list[Value] | None = None) -> Value:
    """`a + b`, `-a`, `a < b` where an operand is an instance; `_MISSING` if no class has such an operator, or says NotImplemented.

    Args:
        declined: gets the operands that say so.
    """
    name = _OPERATORS.get(kind)
    if name is None:
        return _MISSING
    for owner, method, others in _asked_in_turn(name, *operands):
        function = own_method(owner, method)
        if function is not None and not (method == "__eq__" and _generated(function)):
            if owner is not operands[0]:
                _check_precedence(frame, operands[0], owner)
            found = frame.call(function, (owner, *others), {})
            if found is not NotImplemented:
                return found
            if declined is not None:
                declined.append(owner)
    return _MISSING


def _asked_in_turn(name: str, left: Value, *others: Value) -> list[tuple[Value, str, tuple[Value, ...]]]:
    """Whose methods Python asks for an operator: the right side first where its class is derived from that of the left one and means something else.

    Source: the Python language reference, "Emulating numeric types" (`__radd__`) and "Value comparisons".
    """
    attempts = [(left, f"__{name}__", others)]
    for right in others:
        reflected, compares = f"__{_REFLECTED.get(name, 'r' + name)}__", name in _REFLECTED
        first, second = (v.cls if isinstance(v, Record) else type(v) for v in (left, right))
        if first is not second or compares:
            attempts.append((right, reflected, (left,)))
        if first is not second and issubclass(second, first) and (compares or own_method(right, reflected) is not own_method(left, reflected)):
            attempts.reverse()
    return attempts


def _check_precedence(frame: Frame, array: Value, owner: Value) -> None:
    """Refuse `array * owner` where NumPy asks the class for each element, and makes an array of objects: it has not said that it goes first."""
    if not (isinstance(array, Sym) and array.type.array):
        return
    cls = owner.cls if isinstance(owner, Record) else type(owner)
    override, priority = look("raw", cls, "__array_ufunc__"), look("raw", cls, "__array_priority__")
    if override is None or override is ABSENT and isinstance(priority, (int, float)) and priority > 0:
        return
    raise errors.UnsupportedSyntaxError(
        f"an array on the left of a `{cls.__name__}`",
        frame.builder.loc,
        reason="NumPy applies the operator of its class to each element, and makes an array of objects",
        hint="write `__array_ufunc__ = None` in the class: then the whole array is handed to it",
    )


def equal_by_identity(owner: Value) -> bool:
    """Whether `==` of an instance asks whether both are one object: its class says nothing else."""
    return isinstance(owner, Record) and not hasattr(owner.cls, "stands_for") and look("raw", owner.cls, "__eq__") is object.__eq__


def compared_fields(cls: type) -> list[str] | None:
    """The fields that the `__eq__` of a dataclass compares; None where it has another one."""
    function = look("raw", cls, "__eq__")
    if not (isinstance(function, types.FunctionType) and _generated(function) and dataclasses.is_dataclass(cls)):
        return None
    return [f.name for f in dataclasses.fields(cls) if f.compare]


def derived_operator(frame: Frame, kind: type, left: Value, right: Value) -> Value:
    """`a + b`, `a < b` of a constant whose class is derived from Python's numbers; two constants need nobody's help."""
    if not (is_derived(left) or is_derived(right)) or is_static((left, right)):
        return _MISSING
    return operator(frame, kind, left, right)


def operator_from_outside(frame: Frame, kind: type, *operands: Value) -> Value:
    """An operator that the class of an instance from outside defines: its code is read, so that what it finds there is looked at again."""
    if not any(map(from_outside, operands)):
        return _MISSING
    return _read_or_run(frame, operands, lambda: operator(frame, kind, *operands), lambda: _MISSING)


def item(frame: Frame, owner: Value, index: Value, run: Callable[[], Value]) -> Value:
    """`owner[index]` of what is known; `run` computes it while the program is read."""
    if isinstance(owner, tuple) or own_method(owner, "__getitem__") is None:
        return run()
    return _read_or_run(frame, (owner, index), lambda: special(frame, owner, "__getitem__", (index,), "cannot be indexed"), run)


def _read_or_run(frame: Frame, operands: tuple[Value, ...], read: Callable[[], Value], run: Callable[[], Value]) -> Value:
    """What code of the user's gives that is read; where it cannot be, and all that it takes is known, that which is run instead."""
    if not is_static(operands):
        return read()
    state = State(frame)
    try:
        return read()
    except errors.StgradError:
        state.restore()
        return run()


def from_outside(value: Value) -> bool:
    """Whether a value is an instance of a class of the user's that the program finds outside of it; arrays of other libraries are none."""
    cls = type(value)
    return is_static(value) and not isinstance(value, (str, int, float, complex)) and _of_the_user(cls) and not hasattr(cls, "__array__")


def _of_the_user(value: Any) -> bool:
    """Whether a function or class is in no library: such a one looks at nothing that changes. NumPy's polynomials are written like the user's."""
    root = root_of(value)
    return _of_polynomials(value) or root not in LIBRARIES and root not in sys.stdlib_module_names


def _of_polynomials(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).startswith("numpy.polynomial.")


def own_method(owner: Value, name: str) -> types.FunctionType | None:
    """What the class of an instance, or of a tuple or number of a derived class, defines under this name."""
    outside = not isinstance(owner, (Record, tuple)) and from_outside(owner)
    cls = owner.cls if isinstance(owner, Record) else type(owner) if isinstance(owner, tuple) or is_derived(owner) or outside else tuple
    function = None if cls is tuple else look("raw", cls, name)
    return function if isinstance(function, types.FunctionType) and (not outside or _of_the_user(function)) else None


def check_tuple(frame: Frame, cls: type) -> None:
    """Refuse a tuple that is no sequence of its items: they are looked at here without asking its class."""
    for name in ("__getitem__", "__iter__", "__len__", "__contains__", "__bool__", "__hash__", "__getattribute__", "__getattr__"):
        if isinstance(look("raw", cls, name), types.FunctionType):
            raise errors.TypeInferenceError(
                f"a `{cls.__name__}` has a `{name}` of its own", frame.builder.loc, reason="it is a tuple, and read as one", hint="write a dataclass"
            )


def check_order(frame: Frame, items: Iterable[Value]) -> None:
    """Refuse to sort by an order that a class of tuples defines."""
    for item in items:
        if isinstance(item, tuple) and (own_method(item, "__lt__") or own_method(item, "__gt__")):
            raise errors.UnsupportedSyntaxError("tuples with an order of their own are not sorted here", frame.builder.loc, hint="give a key")


def in_place(frame: Frame, kind: type, owner: Value, value: Value) -> Value:
    """`owner += value` where the class of an instance defines `__iadd__`."""
    function = own_method(owner, f"__i{_OPERATORS.get(kind)}__")
    found = frame.call(function, (owner, value), {}) if function is not None else NotImplemented
    return _MISSING if found is NotImplemented else found


def _generated(function: types.FunctionType) -> bool:
    return function.__code__.co_filename == "<string>"


def special(frame: Frame, owner: Value, name: str, args: tuple[Value, ...], what: str, kwargs: dict[str, Value] | None = None) -> Value:
    """`len(record)`, `record[i]`, `record(x)`: a method of its class."""
    function = own_method(owner, name)
    if function is None:
        cls = owner.cls if isinstance(owner, Record) else type(owner)
        raise errors.TypeInferenceError(f"a `{cls.__name__}` {what}", frame.builder.loc, reason=f"its class has no `{name}`")
    return frame.call(function, (owner, *args), kwargs or {})


@handles(super)
def _super(frame: Frame, *args: Value) -> Value:
    if args:
        return Super(*args)
    owner: Frame | None = frame
    while owner is not None and "__class__" not in owner.source.function.__code__.co_freevars:
        owner = owner.parent
    if owner is None:
        raise errors.UnsupportedSyntaxError("`super()` outside of a method", frame.builder.loc)
    named = owner.source.tree.args
    if not (first := [*named.posonlyargs, *named.args]):
        raise errors.UnsupportedSyntaxError("`super()` in a method without a named first parameter", frame.builder.loc, hint="name it `self`")
    return Super(owner.source.resolve("__class__"), frame.lookup(first[0].id))


@handles(type)
def _type(frame: Frame, value: Value, *made_of: Value, **_: Value) -> Value:
    if made_of:
        raise errors.UnsupportedSyntaxError("a class made in a function is not supported", frame.builder.loc, hint="define the class at module level")
    if isinstance(value, Sym):
        import numpy as np

        number = np.dtype(value.type.dtype).type(0)
        return np.ndarray if value.type.array else asked(frame, value, type, number.item() if value.type.weak else number)
    from stgrad.frontend.kinds import class_of

    return class_of(frame, value)


@handles(dataclasses.replace)
def _replace(frame: Frame, record: Value, **changes: Value) -> Value:
    if not isinstance(record, Record):
        raise errors.TypeInferenceError("`replace` of what is no dataclass made here", frame.builder.loc)
    init = {f.name: record.fields[f.name] for f in dataclasses.fields(record.cls) if f.init}
    return construct(frame, record.cls, (), {**init, **changes})


NO_OPERATOR = _MISSING
__all__ = [
    "NO_OPERATOR", "Super", "attribute", "check_order", "check_tuple", "construct", "constructible", "derived_operator", "fill", "from_outside", "item",
    "operator", "operator_from_outside", "own_method", "set_field", "special", "with_generated_init",
]  # fmt: skip
