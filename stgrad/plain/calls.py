"""What a call means in a recorded run: `called` is the hook behind every call of the program's own text.

Python functions run with their calls through the hook in turn; NumPy and functions with a rule are recorded; other native code gets tracked values as
they are, which do not let themselves be read (see `stgrad.plain.tracked`), or, where nothing in them is differentiated, their numbers.
"""

from __future__ import annotations

import bisect
import builtins
import collections
import contextlib
import enum
import functools
import itertools
import math
import operator
import sys
import types
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from stgrad import errors, source
from stgrad.checkpoints import checkpointed
from stgrad.frontend.solvers import meaning
from stgrad.hooks import insert_grad_of
from stgrad.plain import holders, protocols, texts
from stgrad.plain.attributes import Bound, scalar
from stgrad.plain.numpy_calls import Converter, differentiated, numpy_call, ufunc_call
from stgrad.plain.operations import apply, is_active, tracked_in
from stgrad.plain.rewriting import ATTRIBUTE, CALL, EXECUTED, ITEM, MOD, rewritten
from stgrad.plain.tracked import Tracked, plain, running
from stgrad.registered import registration_of

_PASSING = frozenset({
    "builtins", "types", "itertools", "_functools", "functools", "_operator", "_heapq", "heapq", "_collections", "collections", "copy", "_bisect", "typing",
    "abc", "_abc",
})  # fmt: skip
_CALLABLE = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, functools.partial, functools._lru_cache_wrapper, Bound, type)
_CALLING = frozenset({
    map, filter, iter, sorted, min, max, collections.defaultdict, functools.cmp_to_key, functools.reduce, itertools.starmap, itertools.accumulate,
    itertools.groupby, itertools.takewhile, itertools.dropwhile, itertools.filterfalse, bisect.bisect_left, bisect.bisect_right, bisect.insort_left,
    bisect.insort_right,
})  # fmt: skip
_SELECTING = (types.MethodDescriptorType, operator.itemgetter, operator.attrgetter)
_READING = frozenset({
    math.isnan, math.isinf, math.isfinite, math.isclose, math.floor, math.ceil, math.trunc, print, isinstance, hasattr, callable, len,
})  # fmt: skip
_ARRAYS = type(np.sum)
_CONVERTER = getattr(sys.modules.get("numpy._core._multiarray_umath"), "_array_converter", object())


def called(f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """`f(*args, **kwargs)`."""
    special = _special(f)
    if special is not None:
        return special(*args, **kwargs)
    if isinstance(f, Bound):
        return f(*args, **kwargs)
    if f is insert_grad_of:
        raise errors.UnsupportedSyntaxError("a block of `insert_grad_of` in a function that runs in plain Python is not supported")
    if registration_of(f) is not None or hasattr(type(f), "_stgrad_call_") or type(f).__module__.startswith("stgrad.") and not isinstance(f, Converter):
        return apply(f, args, kwargs)  # a hook of ours: what it means is for the compiler to say
    if isinstance(f, functools._lru_cache_wrapper):  # what it keeps belongs to other runs
        f = f.__wrapped__
    if not isinstance(f, type) and not _is_native(f):
        unwrapped = source.unwrap(f)
        f, args, kwargs = unwrapped.function, (*unwrapped.args, *args), {**unwrapped.kwargs, **kwargs}
    if isinstance(f, types.FunctionType):
        return _python(f, args, kwargs)
    if isinstance(f, type):
        return _instance(f, args, kwargs)
    return _native(f, args, kwargs)


def _special(f: Any) -> Any:
    try:
        return _SPECIAL.get(f)
    except TypeError:
        return None


def _is_native(f: Any) -> bool:
    return isinstance(f, (np.ufunc, _ARRAYS, types.BuiltinFunctionType, types.MethodWrapperType, types.MethodDescriptorType))


# --------------------------------------------------------------------------- Python


def by_text(f: Any) -> Callable[..., Any] | None:
    """A Python function with its calls through the hook; None where it has no text."""
    f = getattr(f, "py_func", f)
    return rewritten(f, HOOKS) if isinstance(f, types.FunctionType) else None


def _python(f: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    module = f.__globals__.get("__name__", "") or ""
    if module.startswith("stgrad.plain.") or module.partition(".")[0] == "logging":  # which only says what it is given
        return f(*args, **kwargs)
    if module.startswith("stgrad.") and CALL not in f.__code__.co_freevars:
        return apply(f, args, kwargs)
    if module.partition(".")[0] in ("numpy", "scipy"):
        if module.startswith("numpy") and not tracked_in((args, kwargs)) and not any(map(_keeps_tracked, args)):
            return numpy_call(f, args, kwargs)
        if meaning(f) is not None and "." not in f.__qualname__ and not any(map(callable, (*args, *kwargs.values()))):
            return differentiated(f, args, kwargs)
        if _has_rule(f):
            own = is_active((args, kwargs)) and f not in _numpy_names()
            return differentiated(f, args, kwargs) if own else numpy_call(f, args, kwargs)
        if module.startswith("numpy") and f in _numpy_names():
            return numpy_call(f, args, kwargs)
    return (by_text(f) or f)(*args, **kwargs)


def _keeps_tracked(owner: Any) -> bool:
    """Whether an object of a class of NumPy's that is written in Python (`np.polynomial.Polynomial`) has tracked values for attributes."""
    return type(owner).__module__.startswith("numpy") and not isinstance(owner, type) and bool(tracked_in(getattr(owner, "__dict__", None)))


def _has_rule(f: Any) -> bool:
    from stgrad.rules import lookup

    return lookup(f) is not None


@functools.cache
def _numpy_names() -> frozenset[Any]:
    """The functions that NumPy calls its own."""
    modules = (np, np.linalg, np.fft, np.lib.stride_tricks)
    return frozenset({v for m in modules for v in vars(m).values() if isinstance(v, (types.FunctionType, _ARRAYS))})


def _instance(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A new object of a class; its `__init__` is part of the program."""
    if hasattr(cls, "class_type"):  # a jitclass, as the class that it was made of
        cls = cls.class_type.class_def
    if issubclass(cls, np.generic):
        return _number(cls, *args)
    if cls is np.broadcast or cls is np.ndenumerate:
        return numpy_call(cls, args, kwargs)
    if issubclass(cls, BaseException):
        return cls(*args, **kwargs)
    making = type(cls).__call__
    if isinstance(making, types.FunctionType) and not issubclass(cls, enum.Enum):  # of a metaclass
        return called(making, cls, *args, **kwargs)
    if making is type.__call__ and protocols.is_made_in_python(cls):
        return protocols.instance(cls, args, kwargs)
    if cls.__module__ in _PASSING or isinstance(cls.__init__, types.FunctionType) or issubclass(cls, tuple):
        return _handed(cls, args, kwargs)
    return _outside(cls, args, kwargs)


# --------------------------------------------------------------------------- native code


def _native(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if isinstance(f, np.vectorize):
        return _vectorized(f.pyfunc, args)
    owner = getattr(f, "__self__", None)
    if isinstance(f, types.WrapperDescriptorType) and args and args[0] is not None and type(args[0]) is not Tracked:  # `object.__setattr__(self, ...)`
        return called(f.__get__(args[0]), *args[1:], **kwargs)
    if isinstance(f, types.MethodWrapperType) and protocols.is_of_objects(f):
        return protocols.by_slot(f, args, kwargs)
    if isinstance(f, (np.ufunc, _ARRAYS)) or _module(f).startswith("numpy") and (owner is None or isinstance(owner, types.ModuleType)):
        return numpy_call(f, args, kwargs)
    if holders.is_of_objects(owner) and f.__name__ == "astype":
        return numpy_call(np.array, (owner, *args[:1]), {})
    if not tracked_in((args, kwargs)):
        if _module(f).startswith("numpy"):
            return numpy_call(f, args, kwargs)
        return _passed(f, owner, args, kwargs)
    if isinstance(owner, np.ndarray) and is_active((args, kwargs)):
        return numpy_call(getattr(np, f.__name__), (owner, *args), kwargs)
    if f in _READING:
        return f(*plain(args), **plain(kwargs))
    if isinstance(owner, np.ufunc):
        return ufunc_call(owner, f.__name__, args, kwargs)
    if isinstance(owner, dict) and args and tracked_in(args[0]) and f.__name__ in ("get", "pop", "setdefault", "__getitem__"):
        _own_key(owner, args[0])
    if _module(f) in _PASSING or isinstance(owner, (list, dict, set, tuple, str, BaseException)) or isinstance(f, _SELECTING):
        return _handed(f, args, kwargs)
    return _outside(f, args, kwargs)


def _passed(f: Any, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call without tracked values; those of Python's own functions of anything hand on what they got."""
    found = _handed(f, args, kwargs)
    own = _module(f) in _PASSING and f is not compile and owner not in (float, int) or isinstance(owner, (list, dict, set, tuple, str, bytes))
    return found if own or isinstance(f, _SELECTING) else texts.left((owner, args, list(kwargs.values())), found)


def _module(f: Any) -> str:
    owner = getattr(f, "__self__", None)
    return getattr(f, "__module__", None) or (owner.__name__ if isinstance(owner, types.ModuleType) else type(owner).__module__ if owner is not None else "")


def _handed(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of native code: functions that it calls are part of the program, those that it keeps or compares are what they are."""
    if isinstance(f, Hashable) and f in _CALLING or isinstance(getattr(f, "__self__", None), list) and f.__name__ == "sort":
        return f(*map(_ready, args), **{k: _ready(v) for k, v in kwargs.items()})
    return f(*args, **kwargs)


def _ready(value: Any) -> Any:
    return functools.partial(called, value) if isinstance(value, _CALLABLE) else value


def _outside(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Native code that knows nothing of us: by its rule, or on numbers that are not differentiated."""
    if not is_active((args, kwargs)):
        return numpy_call(f, args, kwargs)
    if hasattr(f, "signatures") and hasattr(f, "py_func") and _module(f).startswith("numba"):
        return _vectorized(f.py_func, args)
    return differentiated(f, args, kwargs)


def _vectorized(f: Any, args: tuple[Any, ...]) -> Any:
    """A function of numbers, on each element of arrays."""
    shape = np.broadcast_shapes(*(np.shape(plain(a)) for a in args))
    if not shape:
        return called(f, *args)
    wide = [numpy_call(np.broadcast_to, (a, shape), {}) if np.ndim(plain(a)) else a for a in args]
    found = [called(f, *(a[i] if np.ndim(plain(a)) else a for a in wide)) for i in np.ndindex(*shape)]
    return numpy_call(np.reshape, (numpy_call(np.array, (found,), {}), shape), {})


# --------------------------------------------------------------------------- what has its own way


def _number(cls: Any, *args: Any) -> Any:
    """`float(x)`, `np.float64(x)`."""
    texts.read(args)
    if not args or type(args[0]) is not Tracked or issubclass(cls, (int, np.integer, np.bool_)):
        return cls(*plain(args))
    if np.size(args[0].value) != 1 or np.ndim(args[0].value) and cls is not float:
        return numpy_call(np.asarray, (args[0], cls), {})
    return scalar(args[0], cls(args[0].value))


def _complex(real: Any = 0.0, imag: Any = 0.0) -> Any:
    if isinstance(texts.read(real), str):
        return complex(real)
    if not tracked_in((real, imag)):
        return complex(real, imag)
    return real + imag * 1j


def _type(*args: Any) -> Any:
    return type(*plain(args)) if len(args) == 1 else type(*args)


def _getattr(owner: Any, name: str, *default: Any) -> Any:
    if type(owner) is Tracked and not hasattr(owner.value, name):
        return getattr(owner.value, name, *default)
    return getattr(owner, name, *default)


def _hasattr(owner: Any, name: str) -> bool:
    return hasattr(plain(owner) if type(owner) is Tracked else owner, name)


def _isinstance(value: Any, classes: Any) -> bool:
    return isinstance(value.value if type(value) is Tracked else value, classes)


def _range(*args: Any) -> Any:
    return range(*plain(args))


def _tuple_getitem(owner: Any, key: Any) -> Any:
    return owner[plain(key)]


def _modulo(a: Any, b: Any) -> Any:
    if isinstance(a, (str, bytes)) and tracked_in(b):
        running().texts = True
        return a % plain(b)
    return protocols.binary("mod", a, b)


def item(owner: Any, key: Any) -> Any:
    """`owner[key]`."""
    if isinstance(owner, dict) and tracked_in(key):
        _own_key(owner, key)
    return protocols.taken(owner, key)


def attribute(owner: Any, name: str) -> Any:
    """`owner.name`; what a property does is part of the program."""
    known = _property(type(owner), name)
    if isinstance(known, property):
        return called(known.fget, owner)
    if known is None or name in vars(owner):
        return getattr(owner, name)
    found = vars(owner)[name] = called(known.func, owner)
    protocols.changed(owner, name)
    return found


def _property(cls: type, name: str) -> Any:
    """The property of a class that is written in Python, if that is what a name means."""
    found = next((c.__dict__[name] for c in cls.__mro__ if name in c.__dict__), None)
    if isinstance(found, property):
        return found if isinstance(found.fget, types.FunctionType) else None
    return found if isinstance(found, functools.cached_property) else None


def _own_key(owner: dict[Any, Any], key: Any) -> None:
    """What a number finds in a dict must have been put there by this run: what an earlier one left is of other numbers."""
    found = next((k for k in owner if hash(k) == hash(key) and k == key), key)
    own = [t for t in tracked_in(found) if t.buffer.tape is running()]
    if len(own) != len(tracked_in(key)) and key in owner:
        raise running().refuse("a number that is differentiated finds an item of a dict that was there before")


def _fsum(items: Any) -> Any:
    return sum(items, 0.0)


def _ignored(*_: Any, **__: Any) -> None:
    """Warnings and log entries are those of the plain run."""


def _checkpointed(*_: Any, **__: Any) -> None:
    raise running().refuse("a loop is checkpointed, and here every trip is recorded")


def _numba_words() -> dict[Any, Any]:
    """What Numba's own words mean in plain Python."""
    if "numba" not in sys.modules:
        return {}
    import numba
    import numba.typed

    found: dict[Any, Any] = {numba.prange: _range, numba.literal_unroll: lambda x: x, numba.pndindex: np.ndindex}
    found |= {numba.typed.List: lambda *a, **_: list(*a), numba.typed.Dict: lambda *a, **_: dict(*a)}
    found |= {numba.typed.List.empty_list: lambda *_, **__: [], numba.typed.Dict.empty: lambda *_, **__: {}}
    return found


@functools.cache
def _words() -> dict[Any, Any]:
    import warnings

    own = {
        float: functools.partial(_number, float), int: functools.partial(_number, int), complex: _complex, type: _type, getattr: _getattr,
        hasattr: _hasattr, isinstance: _isinstance, range: _range, math.fsum: _fsum, sum: protocols.summed, setattr: protocols.set_attribute,
        warnings.warn: _ignored, abs: lambda x: abs(x), bool: bool, str: str, repr: repr,
        operator.getitem: _tuple_getitem, contextlib.nullcontext: contextlib.nullcontext,
        builtins.id: builtins.id, np.nditer: _nditer, np.fromiter: _from_iterator, np.frompyfunc: _from_python,
        _CONVERTER: Converter, checkpointed: _checkpointed,
    }  # fmt: skip
    return own | _numba_words()


def _nditer(operand: Any, *args: Any, **kwargs: Any) -> Any:
    if not tracked_in((operand, args, kwargs)):
        return np.nditer(operand, *args, **kwargs)
    if args or kwargs:
        raise running().refuse("`np.nditer` with options is used")
    if type(operand) is Tracked:
        return _Items(numpy_call(np.ravel, (operand,), {"order": "K"}))
    wide = numpy_call(np.broadcast_arrays, tuple(operand), {})
    return _Items(zip(*(numpy_call(np.ravel, (w,), {}) for w in wide), strict=True))


class _Items(contextlib.AbstractContextManager[Any]):
    """What `np.nditer` gives: its items once, also as `with np.nditer(x) as items:`."""

    def __init__(self, items: Any) -> None:
        self._items = iter(items)

    def __iter__(self) -> Any:
        return self._items

    def __next__(self) -> Any:
        return next(self._items)

    def __exit__(self, *_: object) -> None:
        return None


def _from_iterator(items: Any, dtype: Any, count: int = -1, **kwargs: Any) -> Any:
    found = list(itertools.islice(items, None if count < 0 else count))
    return numpy_call(np.array, (found, dtype), {}) if tracked_in(found) else numpy_call(np.fromiter, (found, dtype, count), kwargs)


def _from_python(f: Any, nin: int, nout: int, **kwargs: Any) -> Any:
    return np.frompyfunc(functools.partial(called, f), nin, nout, **kwargs)


class _Special:
    def get(self, f: Any) -> Any:
        return _words().get(f)


_SPECIAL = _Special()
HOOKS = {CALL: called, MOD: _modulo, ITEM: item, ATTRIBUTE: attribute, EXECUTED: texts.read, **protocols.OPERATIONS}
