"""The callable that `grad` and its neighbours return: compiles for the types of a call, then calls through a generated wrapper.

The compiler is imported where it is needed: a process that finds its programs on disk runs without it.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from stgrad import errors, shipping
from stgrad.calls import wrapper
from stgrad.calls.arguments import flattened, seeds
from stgrad.calls.foreign_arrays import refuse_endless, refuse_foreign
from stgrad.calls.labelled import by_position, leaves_with_labels
from stgrad.calls.listed import Ragged, has_lists, stacked
from stgrad.calls.program_cache import Ready
from stgrad.late_refusals import refusal_of
from stgrad.mode_choices import listened
from stgrad.prepared import Program, hidden_of
from stgrad.programs import Programs
from stgrad.request import Around, Derivative, Options, function_name, function_name_of, innermost, public_signature
from stgrad.values import Value, leaves

if TYPE_CHECKING:
    from pathlib import Path

    from stgrad.explain import Explanation
    from stgrad.memory import MemoryReport
    from stgrad.program import Compiled

BETWEEN = "\n\n"  # programs that are shown together
LAST_RESORT: list[Callable[[], Any]] = []  # gives the module that runs refused programs in plain Python; it is built on this one
OTHER_EXTENTS = (ValueError, IndexError)  # what a program raises that takes extents to be equal, where they are not


def _left(problem: Exception) -> bool:
    """Whether a program ended where it came to what is not compiled."""
    return str(problem).startswith(errors.NOT_COMPILED)


class Transformed(Programs):
    """A function made from another one: its gradient, its value and gradient, or its compiled self.

    Call it like the original. `source(*example_args)` is its program for such arguments, `lowered(*example_args)` the text that runs,
    `stages(*example_args)` every stage of the way there.
    """

    _general: Transformed | None = None  # whose programs broadcast as they run

    def __new__(cls, *args: Any, **kwargs: Any) -> Transformed:
        # A type for each object: Python looks `__call__` up in the type, and the generated wrapper is to be called directly.
        own = type(cls.__name__, (cls,), {"__module__": cls.__module__, "__doc__": cls.__doc__})
        return object.__new__(own)

    def with_seeds(self, primals: tuple[Any, ...], cotangents: Any, value: Any) -> Any:
        """The gradients of a 'vjp' derivative for given cotangents, which have the structure of the value."""
        return self.pullback(primals)(cotangents, value)

    def pullback(self, primals: tuple[Any, ...]) -> Callable[[Any, Any], Any]:
        """What gives the gradients of a 'vjp' derivative for cotangents and the value that they are of, by one program of both sweeps."""
        try:
            program, flat = self._found(primals)
        except errors.StgradError as refused:
            resort = self._last_resort(refused)
            return cast("Callable[[Any, Any], Any]", resort.pullback(self.derivative, self._bind(primals, {}), refused))
        result = program.ready.result[0]
        listed = has_lists(result)
        run = program.run

        def pulled_back(cotangents: Any, value: Any) -> Any:
            def plainly(resort: Any, refused: errors.StgradError) -> Any:
                return resort.pullback(self.derivative, self._bind(primals, {}), refused)(cotangents, value)

            try:
                given = seeds(*(stacked(result, part) for part in (cotangents, value))) if listed else seeds(cotangents, value)
            except Ragged as refused:
                return plainly(self._last_resort(refused), refused)
            try:
                return run(*flat, *given)[1]
            except OTHER_EXTENTS as problem:
                return self._broadcast(program, problem, lambda other: other.pullback(primals)(cotangents, value), plainly)

        return pulled_back

    # ------------------------------------------------------------- seeing

    @errors.presents
    def source(self, *args: Any, **kwargs: Any) -> str:
        """The program for arguments like these, at the level of arrays, as Python text to read.

        Without arguments it is that of the last call that made one, or, before any call, types are guessed from the code. `lowered` gives the text
        that runs, which is made from this one.
        """
        from stgrad.recursion import text_of
        from stgrad.stage_texts import readable_of

        return BETWEEN.join(text_of(fn, self.options) for fn in readable_of(self._program(args, kwargs, keep=True)))

    @errors.presents
    def lowered(self, *args: Any, **kwargs: Any) -> str:
        """The text that runs for arguments like these: loops over numbers, which Numba compiles. It is that for any extents (see `running`)."""
        program = self._program(args, kwargs, keep=False)
        return program.text if program.then is None else BETWEEN.join((program.text, program.then.text))

    def running(self, *args: Any) -> str:
        """The same text, of the program that a call with such arguments has run, where there was one."""
        known = self._known.get(self._key(self._bind(args, {})))
        return self.lowered(*args) if known is None else known.ready.text

    @errors.presents
    def path(self, *args: Any, **kwargs: Any) -> Path:
        """The file of that text, for debuggers and editors: with `jit=False` its lines are those that run, and breakpoints in it hold."""
        from stgrad import loader

        program = self._program(args, kwargs, keep=False)
        return loader.file_of(program.text, program.function.name, parallel=self.options.parallel, checked=self.options.outside)

    @errors.presents
    def stages(self, *args: Any, **kwargs: Any) -> dict[str, str]:
        """The text after each stage: 'desugar', 'anf', 'activity', 'reverse', 'optimised', every later pass by name, 'specialised'."""
        from stgrad.stage_texts import texts_of

        return texts_of(self.derivative, self._program(args, kwargs, keep=True).trace, self.options)

    @errors.presents
    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """A picture of this derivative for arguments like these: the user's lines beside those of its program, and what belongs together.

        Nothing is run; without arguments it is that of the last call that made a program, or types are guessed from the code.
        `.save("page.html")` writes a page that needs no network, a notebook shows it in place.
        """
        from stgrad.explain import explain

        return explain(self, self._program(args, kwargs, keep=True), self._example(args, kwargs) or {})

    def _repr_html_(self) -> str:
        """What a notebook shows: the short form of `explain`."""
        from stgrad.explain.short import short

        return short(self)

    # ------------------------------------------------------------- ahead of time

    @errors.presents
    def compile(self, *args: Any, **kwargs: Any) -> Transformed:
        """Generate and compile the program for arguments like these without running it; another process finds it on disk."""
        arguments = self._bind(args, kwargs)
        with self._lock:
            ready, nodes = self._ready(arguments, self._extents(arguments))
            self._compiled(ready, flattened(nodes, tuple(arguments.values())))
        return self

    @errors.presents
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

    def ready_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Ready, list[Any]]:
        """The program for arguments like these, for callers without a second try, and the descriptions of the arguments."""
        arguments = self._bind(args, kwargs)
        with self._lock:
            self._renew()
            ready, nodes = self._ready(arguments)
            return self._other()._ready(arguments) if ready.optimistic else (ready, nodes)

    def _compiled(self, ready: Ready, flat: list[Any]) -> None:
        from stgrad import loader

        loader.warm(self._load(ready), (*flat, *hidden_of(ready)))

    # ------------------------------------------------------------- compiled callers

    @errors.presents
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
                ready, nodes = self.ready_for(args, kwargs)
                named = dict(zip(arguments, nodes, strict=True))
                self._dispatchers[key] = adapter(ready, named, self._signature, typed=given, parallel=self.options.parallel)
                self._watch(ready.captures)
            return self._dispatchers[key]

    @property
    def _numba_type_(self) -> Any:
        """What Numba asks a value of a class that it does not know."""
        from stgrad.callable_type import TransformedType

        return TransformedType(self)

    @errors.presents
    def memory(self, *args: Any, **kwargs: Any) -> MemoryReport:
        """What is kept for the reverse sweep, for arguments like these: names, places, bytes, and what a call with them takes at most; prints as a table."""
        from stgrad.memory import memory_report

        arguments = self._example(args, kwargs)
        if arguments is None:
            with listened() as modes:
                stages = self._program(args, kwargs, keep=True).trace.stages
            return replace(memory_report(stages["optimised"], stages["specialised"]), modes=tuple(modes))
        return self._report(arguments)

    def _report(self, arguments: dict[str, Any]) -> MemoryReport:
        from stgrad.memory import memory_report

        with listened() as modes:
            compiled, nodes = self._build(arguments, keep=True)
        stages, leaves = compiled.trace.stages, _leaves(compiled, nodes, arguments)
        budget = None if self.options.memory is None else self.options.memory.bytes
        report = replace(memory_report(stages["optimised"], stages["specialised"], leaves, budget), modes=tuple(modes))
        return self._other()._report(arguments) if compiled.optimistic and report.raises else report

    def program_and_leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Compiled, list[Any], dict[str, Any]]:
        """The program for these arguments with all its stages, the numbers and arrays that it takes, and the arguments by name."""
        arguments = self._bind(args, kwargs)
        compiled, nodes = self._build(arguments, self._extents(arguments), keep=True)
        if compiled.optimistic:
            compiled, nodes = self._other()._build(arguments, self._extents(arguments), keep=True)
        return compiled, _leaves(compiled, nodes, arguments), arguments

    def _program(self, args: tuple[Any, ...], kwargs: dict[str, Any], *, keep: bool) -> Compiled:
        arguments = self._example(args, kwargs)
        if arguments is None:
            from stgrad.assumed import compile_program
            from stgrad.guess import guess_specs_of

            return compile_program(self, guess_specs_of(self.derivative, self._signature), keep=keep)
        return self._build(arguments, keep=keep)[0]

    def _example(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
        """The arguments that a program is shown for: those given, else those like the last call's; None where their types are to be guessed."""
        if not args and not kwargs and self._signature.parameters:
            return self._latest
        return self._bind(args, kwargs)

    def __repr__(self) -> str:
        if self.derivative.around is not None:
            around = self.derivative.around
            of, wrt = function_name_of(around.function), f" with respect to {', '.join(around.chosen)}" if around.wrt else ""
            return f"<stgrad {around.what} of {of}{public_signature(self)}{wrt}>"
        what = {"grad": "gradient", "value_and_grad": "value and gradient", "vjp": "pullback", "jvp": "pushforward", "primal": "compiled"}[self.derivative.mode]
        wrt = f" with respect to {', '.join(self.derivative.wrt)}" if self.derivative.wrt else ""
        return f"<stgrad {what} of {function_name(self.derivative)}{self._signature}{wrt}>"

    def __reduce__(self) -> Any:
        request = self.derivative if self.derivative.around is None else self.derivative.around
        function = innermost(request.function)
        shipping.let_find(function)
        return _restore, (type(self).__bases__[0], request, self.options, shipping.texts_of(function))

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method of a class, with the instance as first argument."""
        return self if instance is None else functools.partial(self, instance)

    def _stgrad_call_(self, frame: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        from stgrad.nested import call_inline

        if self.derivative.mode == "primal" and self.options.checked is None:
            return frame.call(self.derivative.function, args, kwargs)  # where it stands: it may see local functions of the code around it
        return call_inline(self, frame, args, kwargs)

    # ------------------------------------------------------------- compiling

    def _slow(self, *args: Any, **kwargs: Any) -> Any:
        """A call of a new signature, or after a captured value changed."""
        __tracebackhide__ = True
        try:
            return self._called(args, kwargs)
        except errors.StgradError as error:
            problem = errors.presented(error)
        except RecursionError as error:
            try:
                refuse_endless(self._signature, args, kwargs)
            except errors.StgradError as endless:
                problem = errors.presented(endless)
                problem.__context__ = None
            else:
                raise error
        raise problem

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        args, kwargs = wrapper.given(tuple(self._signature.parameters), args, kwargs)
        if self.derivative.mode in ("grad", "value_and_grad"):
            bound = self._signature.bind(*args, **kwargs)
            labelled = tuple(n for n in self.derivative.wrt if n in bound.arguments and leaves_with_labels(bound.arguments[n]))
            if labelled:
                return by_position(self, bound, labelled)
        refuse_foreign(self._signature, args, kwargs, self.derivative.wrt)
        self._renew()
        arguments = self._bind(args, kwargs)
        for leaf in leaves(list(arguments.values())):
            if hasattr(type(leaf), "__stgrad_function__"):  # a tensor of the eager API: it calls back with arrays
                return leaf.__stgrad_function__(self, args, kwargs)
        try:
            program = self._read(arguments)
        except errors.StgradError as refused:
            return self._last_resort(refused).called(self.derivative, arguments, refused)
        flat = flattened(program.nodes, tuple(arguments.values()))
        if program.lazy is not None and not self.settle(program):
            try:
                return program.run(*flat)
            except Exception:  # noqa: BLE001  (whatever plain Python raises: native code tells what a call raises)
                self.settle(program, now=True)
        if program.called and not program.wrapped and program.lazy is None:
            self._wrap(program, flat)
        program.called = True
        try:
            return program.run(*flat)
        except OTHER_EXTENTS as problem:
            return self._broadcast(program, problem, lambda other: other(*args, **kwargs), lambda resort, e: resort.called(self.derivative, arguments, e))
        except errors.NotCompiledError as problem:
            if not self.options.falls_back:
                raise
            warnings.warn(f"{problem.message}; it runs in plain Python ({problem.reason})", stacklevel=errors.users_level())
            self._interpret(program)
            return program.run(*flat)

    def _interpret(self, program: Program) -> None:
        """Let a program that Numba does not compile run as the Python text that it is."""
        with self._lock:
            program.run, program.wrapped = self._run(program.ready, program.nodes, program.hidden, jit=False), True
            self._cases.append((program.nodes, program.run))
            self._rewrap()

    def _read(self, arguments: dict[str, Any]) -> Program:
        """The program of a call; where the function fills a cache outside with constants, a run of it does so before it is read again."""
        try:
            return self._program_for(arguments)
        except errors.StgradError as refused:
            if not refused.once or not LAST_RESORT[0]().ran(self.derivative, arguments):
                raise
            self._refused.pop(self._whole_key(arguments), None)
        return self._program_for(arguments)

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
                arguments = self._bind(args, kwargs)
                plainly = lambda resort, refused: resort.called(self.derivative, arguments, refused)  # noqa: E731
                return self._broadcast(self._program_for(arguments), problem, lambda other: other(*args, **kwargs), plainly)

        return forgiving

    def _broadcast(self, program: Program, problem: Exception, call: Callable[[Transformed], Any], plainly: Callable[[Any, Any], Any]) -> Any:
        """The result of a call that raised: by the program that broadcasts as it runs, if this one takes extents to be equal."""
        refused = refusal_of(str(problem))
        at_once = isinstance(refused, errors.TypeInferenceError) or _left(problem)
        if refused is not None and (at_once or not program.ready.second_try and self.options.plain):
            return plainly(self._last_resort(refused), refused)
        if not program.ready.second_try:
            raise refused if str(problem).startswith(errors.SQUEEZED) and refused is not None else problem
        try:
            return call(self._other())
        except errors.StgradError as other:
            if str(problem).startswith((errors.SQUEEZED, errors.FEWER)):  # Python raises nothing there
                return plainly(self._last_resort(other), other)
            problem.add_note(f"Nor can stgrad broadcast here as the program runs: {other}")
            raise problem from None
        except OTHER_EXTENTS as again:
            raise again from None

    def _other(self) -> Transformed:  # whose programs broadcast as they run
        with self._lock:
            general: Transformed = self._general or type(self).__bases__[0](self.derivative, replace(self.options, broadcast=True))
            self._general = general
            return general


def _leaves(compiled: Compiled, nodes: list[Any], arguments: dict[str, Any]) -> list[Any]:
    """The numbers and arrays that a program takes."""
    scalars = [a[()] if isinstance(a, np.ndarray) and a.ndim == 0 else a for a in flattened(nodes, tuple(arguments.values()))]
    captured = {c.variable: c.value for c in compiled.reading.captures if c.variable is not None}
    return [*scalars, *captured.values()]


def _restore(cls: Callable[[Derivative, Options], Transformed], request: Derivative | Around, options: Options, texts: shipping.Texts) -> Transformed:
    shipping.take(texts)
    return cls(request.request() if isinstance(request, Around) else request, options)


_T = Transformed
errors.refuse_inside(
    _T.source, _T.lowered, _T.running, _T.path, _T.stages, _T.explain, _T.compile, _T.memory, _T.dispatcher,
    reason="it tells of a program, or compiles it, which is done before a program runs",
    hint="call it outside of the function",
)  # fmt: skip
