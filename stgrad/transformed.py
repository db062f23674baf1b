"""The callable that `grad` and its neighbours return: compiles for the types of a call, then calls through a generated wrapper.

The compiler is imported where it is needed: a process that finds its programs on disk runs without it.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from stgrad import calling, errors, lookups, program_cache, source, wrapper
from stgrad.arguments import equal, fixed_node, fixed_spec, flattened, hashable, passed, seeds
from stgrad.guards import guards
from stgrad.lookups import Lookup
from stgrad.prepared import Program, hidden_of, ready_program
from stgrad.program_cache import Ready
from stgrad.request import DEFAULT, Derivative, Options, function_name, signature_of
from stgrad.values import Value, leaves

if TYPE_CHECKING:
    from stgrad.direct import Entry
    from stgrad.memory import MemoryReport
    from stgrad.program import Compiled

LAST_RESORT: list[Callable[[], Any]] = []  # gives the module that runs refused programs in plain Python; it is built on this one
OTHER_EXTENTS = (ValueError, IndexError)  # what a program raises that takes extents to be equal, where they are not
MAX_CASES = 8  # signatures that the wrapper checks inline; beyond, the slow path looks them up


class Transformed:
    """A function made from another one: its gradient, its value and gradient, or its compiled self.

    Call it like the original. `source(*example_args)` is the text that runs for such arguments, `stages(*example_args)` every
    stage of the way there.
    """

    def __init__(self, derivative: Derivative, options: Options = DEFAULT) -> None:
        self.derivative = derivative
        self.options = options
        functools.update_wrapper(self, derivative.function, updated=())
        self.__name__ = function_name(derivative) if derivative.mode == "primal" else f"{function_name(derivative)}_grad"
        self._lock = threading.RLock()
        self._general: Transformed | None = None
        self._reset()

    def __new__(cls, *args: Any, **kwargs: Any) -> Transformed:
        # A type for each object: Python looks `__call__` up in the type, and the generated wrapper is to be called directly.
        own = type(cls.__name__, (cls,), {"__module__": cls.__module__, "__doc__": cls.__doc__})
        return object.__new__(own)

    def _reset(self) -> None:
        self._cases: list[wrapper.Case] = []
        self._known: dict[tuple[Any, ...], Program] = {}
        self._refused: dict[tuple[Any, ...], errors.StgradError] = {}  # for what plain Python is allowed
        self._dispatchers: dict[tuple[Any, ...], Any] = {}
        self._record: dict[tuple[Any, ...], Lookup] = {}
        self._signature = signature_of(self.derivative.function)
        self._values_matter = False  # whether some program was compiled for certain integers
        self._table: Any = None  # native guards of the wrapper
        self._entry: Entry | None = None  # of the last program, where native code takes the user's arguments as they come
        self._rewrap()

    def _rewrap(self) -> None:
        self._table, tests = self._guards()
        run = wrapper.make_wrapper(self.__name__, self._signature, self._cases[:MAX_CASES], self._slow, tests)
        if any(program.ready.optimistic for program in self._known.values()):
            run = self._forgiving(run)
        alone = self._entry is not None and len(self._cases) == 1 and (self._table is not None or not tests[0])
        if self._entry is not None:  # a wrapper of several cases makes the test itself
            self._entry.guard_by(self._table if alone else None)
        type(self).__call__ = self._entry.function(run) if alone else staticmethod(run)  # type: ignore

    def _guards(self) -> tuple[Any, wrapper.Guards]:
        """What tells at each call whether the programs are still valid: a native table, else expressions."""
        if not self._record or not self._cases:
            return None, ([], {})
        table = self._native_guards()
        return table, guards(self._record.values()) if table is None else (["holds0()"], {"holds0": table.holds, "at0": table})

    def _native_guards(self) -> Any:
        """The table of what is on the record; None on a Python whose objects are not laid out as tables expect."""
        from stgrad import sentry

        return sentry.Table(self._record.values()) if sentry.available() else None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Replaced, for each object, by its generated wrapper."""
        return self._slow(*args, **kwargs)

    def with_seeds(self, primals: tuple[Any, ...], cotangents: Any, value: Any) -> Any:
        """The gradients of a 'vjp' derivative for given cotangents, which have the structure of the value."""
        return self.pullback(primals)(cotangents, value)

    def pullback(self, primals: tuple[Any, ...], *, frozen: bool = False) -> Callable[[Any, Any], Any]:
        """What gives the gradients of a 'vjp' derivative for cotangents and the value that they are of.

        A frozen one is of this moment, whatever changes outside; the primals must be copies.
        """
        self._renew()
        arguments = self._bind(primals, {})
        try:
            program = self._program_for(arguments)
        except errors.StgradError as refused:
            resort = self._last_resort(refused)
            return cast("Callable[[Any, Any], Any]", resort.pullback(self.derivative, arguments, refused))
        if frozen and program.hidden and program.ready.optimistic and not self.options.broadcast:
            return self._other().pullback(primals, frozen=True)  # a second program must see what this one sees
        run = self._run(program.ready, program.nodes, [h.copy() for h in program.hidden]) if frozen and program.hidden else program.run
        flat = flattened(program.nodes, tuple(arguments.values()))

        def pulled_back(cotangents: Any, value: Any) -> Any:
            try:
                return run(*flat, *seeds(cotangents, value))[1]
            except OTHER_EXTENTS as problem:
                plainly = lambda resort, e: resort.pullback(self.derivative, arguments, e)(cotangents, value)  # noqa: E731
                return self._broadcast(program, problem, lambda other: other.pullback(primals)(cotangents, value), plainly)

        return pulled_back

    # ------------------------------------------------------------- seeing

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The program that runs for arguments like these, as Python text; without arguments, types are guessed from the code."""
        return self._program(args, kwargs, keep=False).text

    def stages(self, *args: Any, **kwargs: Any) -> dict[str, str]:
        """The text after each stage: 'desugar', 'anf', 'activity', 'reverse', 'optimised', every later pass by name, 'specialised'."""
        from stgrad.printer import to_source

        program = self._program(args, kwargs, keep=True)
        texts = {"desugar": self._desugared()}
        for name, fn in program.trace.stages.items():
            texts[name] = to_source(fn, nest=name != "anf")
        return texts

    # ------------------------------------------------------------- ahead of time

    def compile(self, *args: Any, **kwargs: Any) -> Transformed:
        """Generate and compile the program for arguments like these without running it; another process finds it on disk."""
        arguments = self._bind(args, kwargs)
        with self._lock:
            ready, nodes = self._ready(arguments)
            self._compiled(ready, flattened(nodes, tuple(arguments.values())))
        return self

    def compile_for(self, types: tuple[Any, ...]) -> Transformed:
        """The same for Numba types; arrays are in C order unless their type says otherwise."""
        from stgrad.adapter import refuse_constants
        from stgrad.callable_type import example

        arguments = self._bind(tuple(map(example, types)), {})
        with self._lock:
            ready, nodes = self._ready(arguments)
            for name, node, _ in zip(arguments, nodes, types, strict=False):
                refuse_constants(name, node)
            self._compiled(ready, flattened(nodes, tuple(arguments.values())))
        return self

    def _compiled(self, ready: Ready, flat: list[Any]) -> None:
        from stgrad import loader

        loader.warm(self._load(ready), (*flat, *hidden_of(ready)))

    # ------------------------------------------------------------- compiled callers

    def dispatcher(self, *args: Any, **kwargs: Any) -> Any:
        """The compiled program for arguments like these: a Numba dispatcher, for calls in `numba.njit` code or without the wrapper.

        Values from outside are constants of it. Raises UnsupportedCallerError where compiled code cannot pass an argument or the result.
        """
        return self.dispatcher_for(args, kwargs)

    def dispatcher_for(self, args: tuple[Any, ...], kwargs: dict[str, Any], *, typed: bool = False) -> Any:
        """As `dispatcher`; with `typed` the examples stand for their types alone."""
        from stgrad.adapter import adapter

        arguments = self._bind(args, kwargs)
        given = tuple(self._signature.bind(*args, **kwargs).arguments) if typed else ()
        key = (given, self._key(arguments))
        with self._lock:
            self._renew()
            if key not in self._dispatchers:
                ready, nodes = self._ready(arguments)
                if ready.optimistic:  # compiled callers have no second try
                    ready, nodes = self._other()._ready(arguments)
                named = dict(zip(arguments, nodes, strict=True))
                self._dispatchers[key] = adapter(ready, named, self._signature, typed=given, parallel=self.options.parallel)
                self._watch(ready.captures)
            return self._dispatchers[key]

    @property
    def _numba_type_(self) -> Any:
        """What Numba asks a value of a class that it does not know."""
        from stgrad.callable_type import TransformedType

        return TransformedType(self)

    def memory(self, *args: Any, **kwargs: Any) -> MemoryReport:
        """What is kept for the reverse sweep, for arguments like these: names, places, bytes; prints as a table."""
        from stgrad.memory import memory_report

        stages = self._program(args, kwargs, keep=True).trace.stages
        return memory_report(stages["optimised"], stages["specialised"])

    def _desugared(self) -> str:
        from stgrad.frontend.inlining import desugared
        from stgrad.transforms.desugar import to_text

        function = self.derivative.function
        while hasattr(function, "derivative"):
            function = function.derivative.function
        tree = desugared(source.load(source.unwrap(function).function))
        return to_text(tree)

    def _program(self, args: tuple[Any, ...], kwargs: dict[str, Any], *, keep: bool) -> Compiled:
        if not args and not kwargs and self._signature.parameters:
            function = self.derivative.function
            while hasattr(function, "derivative"):
                function = function.derivative.function
            from stgrad.guess import guess_specs
            from stgrad.program import compile_program

            return compile_program(self, guess_specs(function, self._signature), keep=keep)
        return self._build(self._bind(args, kwargs), keep=keep)[0]

    def __repr__(self) -> str:
        what = {"grad": "gradient", "value_and_grad": "value and gradient", "vjp": "pullback", "jvp": "pushforward", "primal": "compiled"}[self.derivative.mode]
        wrt = f" with respect to {', '.join(self.derivative.wrt)}" if self.derivative.wrt else ""
        return f"<stgrad {what} of {function_name(self.derivative)}{self._signature}{wrt}>"

    def __reduce__(self) -> Any:
        return _restore, (type(self).__bases__[0], self.derivative, self.options)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method of a class, with the instance as first argument."""
        return self if instance is None else functools.partial(self, instance)

    def _stgrad_call_(self, frame: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        from stgrad.program import call_inline

        if self.derivative.mode == "primal" and self.options.checked is None:
            return frame.call(self.derivative.function, args, kwargs)  # where it stands: it may see local functions of the code around it
        return call_inline(self, frame, args, kwargs)

    # ------------------------------------------------------------- compiling

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return dict(bound.arguments)

    def _slow(self, *args: Any, **kwargs: Any) -> Any:
        """A call of a new signature, or after a captured value changed."""
        args, kwargs = wrapper.given(tuple(self._signature.parameters), args, kwargs)
        self._renew()
        arguments = self._bind(args, kwargs)
        for leaf in leaves(list(arguments.values())):
            if hasattr(type(leaf), "__stgrad_function__"):  # a tensor of the eager API: it calls back with arrays
                return leaf.__stgrad_function__(self, args, kwargs)
        try:
            program = self._program_for(arguments)
        except errors.StgradError as refused:
            return self._last_resort(refused).called(self.derivative, arguments, refused)
        flat = flattened(program.nodes, tuple(arguments.values()))
        if program.called and not program.wrapped:
            self._wrap(program, flat)
        program.called = True
        try:
            return program.run(*flat)
        except OTHER_EXTENTS as problem:
            return self._broadcast(program, problem, lambda other: other(*args, **kwargs), lambda resort, e: resort.called(self.derivative, arguments, e))

    def _last_resort(self, refused: errors.StgradError) -> Any:
        """What runs a refused program in plain Python; else the refusal is raised."""
        if not self.options.plain:
            raise refused
        resort = LAST_RESORT[0]()
        if not resort.can_run(self.derivative, self.options, refused):
            raise refused
        return resort

    # ------------------------------------------------------------- extents that differ

    def _forgiving(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """`run`, by the other program where it finds extents to differ."""

        def forgiving(*args: Any, **kwargs: Any) -> Any:
            try:
                return run(*args, **kwargs)
            except OTHER_EXTENTS as problem:
                return self._broadcast(self._program_for(self._bind(args, kwargs)), problem, lambda other: other(*args, **kwargs))

        return forgiving

    def _broadcast(self, program: Program, problem: Exception, call: Callable[[Transformed], Any], plainly: Any = None) -> Any:
        """The result of a call that raised: by the program that broadcasts as it runs, if this one takes extents to be equal."""
        if not program.ready.optimistic:
            if plainly is not None and self.options.plain and str(problem).startswith("operands could not be broadcast together (line"):
                refused = errors.ShapeError(f"extents differ as the program runs: {problem}")  # by our test, not NumPy's
                return plainly(self._last_resort(refused), refused)
            raise problem
        try:
            return call(self._other())
        except errors.StgradError as refused:
            problem.add_note(f"Nor can stgrad broadcast here as the program runs: {refused}")
            raise problem from None
        except OTHER_EXTENTS as again:
            raise again from None

    def _other(self) -> Transformed:  # whose programs broadcast as they run
        with self._lock:
            if self._general is None:
                self._general = type(self).__bases__[0](self.derivative, replace(self.options, broadcast=True))
            return self._general

    def _program_for(self, arguments: dict[str, Any]) -> Program:
        """The compiled program for these arguments, made now or known."""
        known = self._known.get(self._key(arguments))
        if known is None:
            with self._lock:
                if self.options.plain and self._key(arguments) in self._refused:
                    raise self._refused[self._key(arguments)].with_traceback(None)
                known = self._known.get(self._key(arguments)) or self._made(arguments)
        return known

    def _made(self, arguments: dict[str, Any]) -> Program:
        try:
            ready, nodes = self._ready(arguments)
        except errors.StgradError as refused:
            if self.options.plain:
                self._refused[self._key(arguments)] = refused
            raise
        self._watch(ready.captures)
        program = Program(nodes, replace(ready, captures=()), hidden_of(ready), self._run(ready, nodes, hidden_of(ready)))
        self._known[self._key(arguments)] = program
        return program

    def _wrap(self, program: Program, flat: list[Any]) -> None:
        """Let the generated function know a program, called through native code where that can read arguments like these."""
        with self._lock:
            if not program.wrapped and program in self._known.values():
                program.run = self._native(program, flat) or program.run
                self._cases.append((program.nodes, program.run))
                program.wrapped = True
                self._rewrap()

    def _ready(self, arguments: dict[str, Any]) -> tuple[Ready, list[Any]]:
        """The program for these arguments, from disk or from the compiler."""
        nodes = [wrapper.describe(v) for v in arguments.values()]
        fixed = [fixed_node(n, v) for n, v in zip(nodes, arguments.values(), strict=True)]
        on_disk = program_cache.enabled()
        for described in (nodes, fixed) if on_disk else ():
            ready = program_cache.find(self, described, self.options.key)
            if ready is not None:
                self._values_matter = self._values_matter or described is fixed
                return ready, described
        with lookups.recorded() as record:
            program, nodes = self._build(arguments, keep=False)
        ready = ready_program(program, record)
        if on_disk:
            program_cache.keep(self, nodes, ready, self.options.key)
        return ready, nodes

    def _key(self, arguments: dict[str, Any]) -> tuple[Any, ...]:
        nodes = [wrapper.describe(v) for v in arguments.values()]
        if self._values_matter:
            nodes = [fixed_node(n, v) for n, v in zip(nodes, arguments.values(), strict=True)]
        return tuple(map(hashable, nodes))

    def _build(self, arguments: dict[str, Any], *, keep: bool) -> tuple[Compiled, list[Any]]:
        """Compile for these arguments; integers become constants where the program needs to know them."""
        from stgrad.program import compile_program, spec_of

        nodes = [wrapper.describe(v) for v in arguments.values()]
        specs = {name: spec_of(value, name) for name, value in arguments.items()}
        try:
            return compile_program(self, specs, keep=keep), nodes
        except (errors.NeedStaticError, errors.TypeInferenceError) as problem:
            fixed = {n: fixed_spec(s, arguments[n]) for n, s in specs.items()}
            if all(equal(a, b) for a, b in zip(fixed.values(), specs.values(), strict=True)):
                raise
            try:
                program = compile_program(self, fixed, keep=keep)
            except errors.StgradError:
                raise problem from None
            self._values_matter = True
            return program, [fixed_node(n, v) for n, v in zip(nodes, arguments.values(), strict=True)]

    def _run(self, ready: Ready, nodes: list[Any], hidden: list[Any]) -> calling.Run:
        """What to call with the flat arguments that `nodes` describe."""
        compiled = calling.guarded(self._load(ready), ready.params)
        boxed = [i for i, node in enumerate(passed(nodes)) if isinstance(node, wrapper.Array) and node.ndim == 0]
        return calling.Run(compiled, boxed, hidden, ready.result, self.options.jit)

    def _native(self, program: Program, flat: list[Any]) -> calling.Run | None:
        """The same through native code; None where that does not read arguments like these."""
        from stgrad import direct

        ready, given, hidden = program.ready, passed(program.nodes), program.hidden
        compiled = self._load(ready)
        if calling.guarded(compiled, ready.params) is not compiled:
            return None
        whole = direct.nests(ready.result)
        described = [*given, *map(wrapper.describe, hidden)]
        entry = direct.entry(compiled, described, [*flat, *hidden], ready.result if whole else None, hand_on=ready.optimistic)
        if entry is None:
            return None
        if whole and not hidden and given == program.nodes and self._positional:
            self._entry = entry
        otherwise = calling.Run(compiled, [], [], ready.result, True) if whole else compiled
        return calling.Run(entry.function(otherwise), [], hidden, ready.result, True, whole=whole)

    @property
    def _positional(self) -> bool:
        return all(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in self._signature.parameters.values())

    def _load(self, ready: Ready) -> Callable[..., Any]:
        from stgrad import loader

        options = self.options
        return loader.load(ready.text, ready.name, jit=options.jit, parallel=options.parallel, checked=options.outside)

    def _watch(self, captures: tuple[Lookup, ...]) -> None:
        self._record.update({lookup.key: lookup for lookup in captures})
        self._table = None

    def _renew(self) -> None:
        """Forget the programs where something that they were made from is another thing now; let the guards know of equal values."""
        if not self._record or self._table is not None and self._table.holds():
            return
        with self._lock:
            if not all(lookup.holds() for lookup in self._record.values()):
                self._reset()
                return
            if self._table is not None:
                self._record = {key: lookup.renewed() for key, lookup in self._record.items()}
                self._rewrap()
            if self._table is None:  # no wrapper needs it yet
                self._table = self._native_guards()

    def forget(self) -> None:
        """Let nothing that happens outside change the programs that are there; nothing of the outside is kept alive."""
        self._record.clear()
        self._rewrap()


def _restore(cls: type, derivative: Derivative, options: Options) -> Any:
    return cls(derivative, options)
