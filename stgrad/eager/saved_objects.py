"""Objects of a saved model as JSON and arrays, and back: modules, variables, tensors, layers, functions.

`Encoder` fills a table of objects that refer to each other by number, a text of functions (see `core_language`) and a dictionary of
arrays. `Decoder` makes objects of them again. Neither runs anything but the stored functions' definitions.
"""

from __future__ import annotations

import functools
import hashlib
import linecache
import operator
import types
import uuid
import weakref
from typing import Any

import numpy as np

from stgrad.eager import convert, dtypes, keras, shapes
from stgrad.eager.core_language import SavedModelError, check, namespace, operations, path_of
from stgrad.eager.core_writer import Writer
from stgrad.eager.custom import CustomGradient, custom_gradient, forget_gradient
from stgrad.eager.function import Function
from stgrad.eager.generated import define, programs_of, texts
from stgrad.eager.keras.functional import KerasTensor
from stgrad.eager.logs import logger
from stgrad.eager.module import Module
from stgrad.eager.saved_programs import StoredProgram, described, form_of_described
from stgrad.eager.tensor import Tensor
from stgrad.eager.variable import Variable
from stgrad.errors import SourceNotFoundError

_live: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()  # custom gradients of this process that were saved without
_LAYERS = {n: getattr(keras.layers, n) for n in keras.layers.__all__ if n not in ("Lambda", "Layer")}
_LAYERS |= {"Sequential": keras.Sequential, "Model": keras.Model}
_OPERATORS = {name: getattr(operator, name) for name in ("add", "sub", "mul", "truediv", "pow", "matmul", "neg")}  # of functional models


class RestoredModule(Module):
    """A loaded module: attributes and functions, without the class they came from."""

    def __init__(self, name: str = "restored") -> None:
        super().__init__("restored")
        self.__dict__["_class"] = name

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"the loaded {self.__dict__.get('_class', 'object')!r} has no attribute {name!r}: only `tf.function`s are saved"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if "_call" not in self.__dict__:
            raise TypeError("the loaded object is not callable: its class had no `__call__` that is a `tf.function`")
        given = [convert.convert_to_tensor(a) if isinstance(a, (np.ndarray, list)) else a for a in args]
        return self.__dict__["_call"](*given, **kwargs)


def _unsaved(why: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> Any:
        raise ValueError(
            f"Found zero restored functions for caller function. It could not be written when the object was saved: {why}"
        )

    return function


# --------------------------------------------------------------------------- to JSON


class Encoder:
    """Collects what a saved model consists of. `gradients`: whether custom gradients are kept."""

    def __init__(self, gradients: bool) -> None:
        self.gradients = gradients
        self.objects: list[Any] = []
        self.arrays: dict[str, Any] = {}
        self.texts: list[str] = []
        self.generated: list[str] = []
        self._dropped = False  # whether some custom gradient is not kept
        self._numbers: dict[Any, int] = {}
        self._alive: list[Any] = []  # ids stay those of these objects

    def value(self, value: Any) -> Any:
        """A value as JSON: numbers as they are, containers with a tag, everything else by its number in the table."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return {"float": repr(value)}
        if type(value) in (list, tuple):
            return {type(value).__name__: [self.value(v) for v in value]}
        if type(value) is dict:
            if not all(type(k) is str for k in value):
                raise SavedModelError("a dict with keys that are no strings cannot be saved")
            return {"dict": {k: self.value(v) for k, v in value.items()}}
        if isinstance(value, dtypes.DType):
            return {"dtype": value.name}
        if isinstance(value, shapes.TensorShape):
            return {"shape": None if value.rank is None else list(value)}
        if isinstance(value, shapes.TensorSpec):
            return {"spec": [self.value(value.shape), value.dtype.name]}
        if getattr(value, "__name__", "") in _OPERATORS and _OPERATORS[value.__name__] is value:
            return {"operator": value.__name__}
        path = path_of(value)
        return {"operation": path} if path is not None else {"object": self.number(value)}

    def named(self, value: Any) -> str:
        return f"v{self.number(value)}"

    def number(self, value: Any) -> int:
        """The place of an object in the table; it is entered when it is new."""
        key: Any = id(value)
        if isinstance(value, types.MethodType):
            key = (id(value.__func__), id(value.__self__))
        if key not in self._numbers:
            self._alive.append(value)
            self._numbers[key] = len(self.objects)
            self.objects.append(None)
            try:
                self.objects[self._numbers[key]] = self._described(value, self._numbers[key])
            except SavedModelError:
                del self._numbers[key]
                raise
        return self._numbers[key]

    def _described(self, value: Any, number: int) -> Any:
        if isinstance(value, Variable):
            shape = self.value(value._shape)
            return {"kind": "variable", "array": self._array(value._a), "name": value.name, "trainable": value.trainable, "shape": shape}
        if isinstance(value, (Tensor, np.ndarray, np.generic)):
            return {"kind": "tensor" if isinstance(value, Tensor) else "array", "array": self._array(getattr(value, "_a", value))}
        if isinstance(value, keras.losses.Loss):
            return {"kind": "loss", "fn": self.value(value.fn), "reduction": value.reduction, "kwargs": self.value(value.kwargs), "name": value.name}
        if isinstance(value, KerasTensor):
            unknown = [i for i, n in enumerate(value.shape) if n is None]
            arguments = self.value(value.arguments)
            return {
                "kind": "symbol",
                "array": self._array(value.example._a),
                "open": unknown,
                "layer": self.value(value.layer),
                "arguments": arguments,
            }
        if isinstance(value, Function):
            raw, given = value._raw()
            options = {"autograph": value._autograph, "reduce": value._reduce}
            signature = None if value.input_signature is None else self.value(value.input_signature)
            text = self._text(raw, given(), number)
            return {"kind": "function", "python": text, "signature": signature, **options, "programs": self._programs(value, number)}
        if isinstance(value, types.MethodType):
            return {"kind": "python", "python": self._text(value.__func__, (value.__self__,), number)}
        if isinstance(value, (types.FunctionType, CustomGradient)):
            return self._python(value, number)
        if isinstance(value, Module):
            return self._module(value)
        raise SavedModelError(f"a {type(value).__name__} cannot be saved")

    def _programs(self, function: Function, number: int) -> list[Any]:
        """The generated programs of a function, as far as its language has them."""
        found = []
        if not self.gradients and self._dropped:  # a stored pullback would hold the gradients that are to be dropped
            return found
        for i, program in enumerate(programs_of(function)):
            name = f"p{number}_{i}"
            made = texts(program, name)
            if made is None:
                continue
            try:
                entry = described(program, self.value, self.number, name, made.constants, made.connected)
            except SavedModelError as error:
                logger.info("%s is saved without a generated program: %s", function, error.message)
                continue
            self.generated += [made.forward, made.adjoint]
            found.append(entry)
        return found

    def _array(self, value: Any) -> str:
        array = np.asarray(value)
        if array.dtype.kind not in "fciub":
            raise SavedModelError(f"an array of {array.dtype} cannot be saved")
        name = f"a{len(self.arrays)}"
        self.arrays[name] = array
        return name

    def _python(self, value: Any, number: int) -> Any:
        forward = getattr(value, "_custom_gradient_of", None)
        if forward is None:
            return {"kind": "python", "python": self._text(value, (), number)}
        if self.gradients:
            return {"kind": "custom_gradient", "of": self.number(forward), "kept": True}
        self._dropped = True
        token = next((t for t, f in _live.items() if f is value), uuid.uuid4().hex)
        _live[token] = value
        return {"kind": "custom_gradient", "of": self.number(forward), "kept": False, "token": token, "name": value.__name__}

    def _text(self, function: Any, given: tuple[Any, ...], number: int) -> str:
        name = f"v{number}"
        try:
            text = Writer(function, given, f"f{number}", self.named).text()
        except SourceNotFoundError as error:
            why = f"{error.message}: {error.reason}"
            raise SavedModelError(f"`{getattr(function, '__qualname__', function)}` cannot be saved: {why}", hint=error.hint) from None
        names = [f"v{i}" for i in range(len(self.objects))]
        try:
            check(text, names)
        except SavedModelError as error:
            hint = "keep to numbers, tensors, tf operations and helpers"
            raise SavedModelError(f"`{function.__qualname__}` cannot be saved: {error.message}", hint=hint) from None
        self.texts.append(f"{text}\n")
        return f"f{name[1:]}"

    def _module(self, value: Any) -> Any:
        cls = type(value)
        own = cls.__module__.startswith("stgrad.eager.")
        if own and _LAYERS.get(cls.__name__) is not cls and cls is not Module and cls is not RestoredModule:
            raise SavedModelError(f"a {cls.__name__} cannot be saved")
        entry = {"kind": "layer" if own and cls.__name__ in _LAYERS else "module", "class": cls.__name__, "attributes": {}}
        for name, attribute in vars(value).items():
            try:
                entry["attributes"][name] = self.value(attribute)
            except SavedModelError as error:
                if isinstance(attribute, (Function, Module, Variable)):
                    raise
                logger.info("the attribute %r is not saved: %s", name, error.message)
        names = {n for c in cls.__mro__ if not c.__module__.startswith("stgrad.") for n, f in vars(c).items() if isinstance(f, Function)}
        entry["functions"] = {n: self._method(getattr(cls, n).__get__(value)) for n in sorted(names)}
        if isinstance(value, keras.layers.Layer) and entry["kind"] == "module" and "__call__" not in names:
            entry["functions"]["__call__"] = self._call_of_layer(value)
        return entry

    def _method(self, function: Function) -> Any:
        """A `tf.function`; one that cannot be written is left out and says so when it is called, unless its signature promises it."""
        try:
            return self.value(function)
        except SavedModelError as error:
            if function.input_signature is not None:
                raise
            log = logger.warning if function._traces else logger.info
            log("the function %s is not saved: %s", function, error.message)
            return {"unsaved": f"{function.__name__}: {error.message}"}

    def _call_of_layer(self, layer: Any) -> Any:
        """The `call` of a layer or model of the user's, which makes the loaded object callable."""
        call = type(layer).call
        try:
            return self.value(call.__get__(layer) if isinstance(call, Function) else types.MethodType(call, layer))
        except SavedModelError as error:
            logger.info("the call of the layer %s is not saved: %s", layer.name, error.message)
            return {"unsaved": f"{layer.name}: {error.message}"}


# --------------------------------------------------------------------------- from JSON


class Decoder:
    """Makes the objects of a saved model.

    Args:
        objects: the table of `Encoder`.
        text: the functions.
        generated: the generated programs.
        arrays: name to array.
    """

    def __init__(self, objects: list[Any], text: str, generated: str, arrays: Any) -> None:
        self.objects, self.arrays = objects, arrays
        check(generated, (), generated=True)
        self._generated = define(generated, hashlib.sha256(generated.encode()).hexdigest()[:16])
        self._made: dict[int, Any] = {}
        self._with_programs: list[tuple[Function, Any]] = []
        self._space = self._define(text)

    def _define(self, text: str) -> dict[str, Any]:
        """The stored functions, defined; their text has passed `check`."""
        check(text, [f"v{i}" for i in range(len(self.objects))])
        name = f"<saved model {hashlib.sha256(text.encode()).hexdigest()[:16]}>"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        space = namespace()
        exec(compile(text, name, "exec"), space)  # noqa: S102  (definitions of functions alone, within the language)
        return space

    def all(self) -> None:
        """Make every object, so that the functions find what they name."""
        for i, entry in enumerate(self.objects):
            if entry is not None:  # what turned out not to be saveable
                self._space[f"v{i}"] = self.object(i)
        for function, programs in self._with_programs:
            for stored in programs:
                arguments = self.value(stored["arguments"])
                function._stored[form_of_described(arguments)] = functools.partial(self._program, stored, arguments)

    def _program(self, stored: Any, arguments: Any) -> StoredProgram:
        made = [self._generated.get(f"{stored['name']}{end}") for end in ("", "_grad")]
        if not all(isinstance(f, types.FunctionType) for f in made):
            raise SavedModelError(f"the generated program {stored['name']!r:.80} is missing")
        captured, constants = ([self.value({"object": n}) for n in stored[key]] for key in ("captured", "constants"))
        return StoredProgram(
            (made[0], made[1]), captured, constants, list(stored["connected"]), stored["dtypes"], self.value(stored["result"]), arguments
        )

    def value(self, stored: Any) -> Any:
        if stored is None or type(stored) in (bool, int, str):
            return stored
        match stored:
            case {"float": str(text)}:
                return float(text)
            case {"list": list(items)}:
                return [self.value(v) for v in items]
            case {"tuple": list(items)}:
                return tuple([self.value(v) for v in items])
            case {"dict": dict(items)}:
                return {k: self.value(v) for k, v in items.items()}
            case {"dtype": str(name)}:
                return dtypes.as_dtype(name)
            case {"shape": extents}:
                return shapes.TensorShape(extents)
            case {"spec": [shape, str(dtype)]}:
                return shapes.TensorSpec(self.value(shape), dtypes.as_dtype(dtype))
            case {"operation": str(path)} if path in operations():
                return operations()[path]
            case {"operator": str(name)} if name in _OPERATORS:
                return _OPERATORS[name]
            case {"unsaved": str(why)}:
                return _unsaved(why)
            case {"object": int(number)} if type(number) is int and 0 <= number < len(self.objects):
                return self.object(number)
        raise SavedModelError(f"the manifest holds {stored!r:.80}, which is no stored value")

    def object(self, number: int) -> Any:
        if number not in self._made:
            self._make(number, self.objects[number])
        return self._made[number]

    def _make(self, number: int, entry: Any) -> None:
        match entry:
            case {"kind": "variable", "array": array, "name": str(name), "trainable": bool(trainable), "shape": shape}:
                made: Any = Variable(self._array(array), trainable=trainable, name=name.split(":")[0], shape=self.value(shape))
            case {"kind": "tensor", "array": array}:
                made = convert.convert_to_tensor(self._array(array))
            case {"kind": "array", "array": array}:
                made = self._array(array)
            case {"kind": "symbol", "array": array, "open": [*unknown], "layer": layer, "arguments": arguments}:
                example = convert.convert_to_tensor(self._array(array))
                made = KerasTensor(example, self.value(layer), self.value(arguments), tuple(map(int, unknown)))
            case {"kind": "loss", "fn": fn, "reduction": str() | None as reduction, "kwargs": kwargs, "name": str(name)}:
                made = keras.losses.Loss(self.value(fn), reduction, name, **self.value(kwargs))
            case {"kind": "python", "python": name}:
                made = self._function(name)
            case {"kind": "function", "python": name, "signature": signature, "autograph": bool(autograph), "reduce": bool(reduce)}:
                made = Function(self._function(name), None if signature is None else self.value(signature), autograph, reduce)
                made._outside = True
                self._with_programs.append((made, entry.get("programs", [])))
            case {"kind": "custom_gradient", "of": int(of), "kept": bool(kept)}:
                made = self._custom(of, kept, entry)
            case {"kind": "module" | "layer", "class": str(), "attributes": dict(), "functions": dict()}:
                self._module(number, entry)
                return
            case _:
                raise SavedModelError(f"the manifest holds {entry!r:.80}, which is no stored object")
        self._made[number] = made

    def _array(self, name: Any) -> Any:
        if name not in self.arrays:
            raise SavedModelError(f"the array {name!r} is missing")
        return self.arrays[name]

    def _function(self, name: Any) -> Any:
        found = self._space.get(name) if isinstance(name, str) and name.startswith("f") else None
        if not isinstance(found, types.FunctionType):
            raise SavedModelError(f"the function {name!r} is missing")
        return found

    def _custom(self, of: int, kept: bool, entry: Any) -> Any:
        forward = self.value({"object": of})
        if kept:
            return custom_gradient(forward)
        alive = _live.get(str(entry.get("token")))
        if alive is not None:
            return alive
        logger.warning(
            "Importing a function (%s) with ops with unsaved custom gradients. Will likely fail if a gradient is requested.",
            entry.get("name"),
        )
        return forget_gradient(forward)

    def _module(self, number: int, entry: Any) -> None:
        if entry["kind"] == "layer":
            if entry["class"] not in _LAYERS:
                raise SavedModelError(f"there is no layer {entry['class']!r:.80}")
            made: Any = object.__new__(_LAYERS[entry["class"]])
        else:
            made = RestoredModule(entry["class"])
        self._made[number] = made  # first: its attributes may lead back to it
        for name, stored in entry["attributes"].items():
            if not name.isidentifier() or name.startswith("__"):
                raise SavedModelError(f"an attribute is called {name!r:.80}")
            vars(made)[name] = self.value(stored)
        for name, stored in entry["functions"].items():
            if not name.isidentifier():
                raise SavedModelError(f"a function is called {name!r:.80}")
            vars(made)["_call" if name == "__call__" else name] = self.value(stored)
