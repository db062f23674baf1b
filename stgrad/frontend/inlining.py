"""Functions that have source are read in place of their calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from contextvars import ContextVar
from typing import Any

from stgrad import errors
from stgrad import source as sources
from stgrad.frontend.bindings import told
from stgrad.frontend.flags import begin
from stgrad.frontend.formulas import with_formulas
from stgrad.frontend.frame import MAX_DEPTH, Frame
from stgrad.frontend.outlining import noted, outlined
from stgrad.frontend.units import call_unit, is_unit, same_structure
from stgrad.frontend.values import Closure, Value
from stgrad.lookups import Lookup, look, ours, read
from stgrad.rules.core import NotCovered
from stgrad.syntax import desugar

_DESUGARED: dict[Any, Any] = {}
COPIES = 40  # of a function within itself, behind which it is rather a function beside the program
IN_PLACE: ContextVar[frozenset[int]] = ContextVar("in_place", default=frozenset())  # trees of functions that can be no functions beside it
_OPEN: ContextVar[tuple[Any, ...]] = ContextVar("open_trees", default=())  # the functions that are being read in place, in their order, and their arguments
MAKE_GENERATOR: list[Callable[..., Value]] = []  # `stgrad.frontend.generators.made`, which is built on this module


def desugared(source: sources.Source) -> Any:
    """The core-language tree of a source, kept."""
    tree = with_formulas(source)
    key = id(source.tree), tree is source.tree
    if key not in _DESUGARED:
        _DESUGARED[key] = (source.tree, desugar(tree, source.loc))
    return _DESUGARED[key][1]


def inline_function(frame: Frame, function: Any, args: tuple[Value, ...], kwargs: dict[str, Value], *, unroll: bool | None = None) -> Value:
    """Read a Python function in place of its call. What one of ours cannot do is said of the call: it is the line that users know."""
    here = frame.builder.loc
    try:
        return _function(frame, function, args, kwargs, frame.unroll if unroll is None else unroll)
    except errors.StgradError as problem:
        file = function.__code__.co_filename
        if here is not None and problem.loc is not None and ours(function) and problem.loc.file == file:
            problem.loc = here
        elif here is not None and here.file != file and not ours(function):
            public = [part for part in function.__module__.split(".") if not part.startswith("_")]
            problem.within = (".".join([*public, function.__qualname__]), here)
        raise


def _function(frame: Frame, function: Any, args: tuple[Value, ...], kwargs: dict[str, Value], unroll: bool) -> Value:
    source = sources.load(function)
    tree = desugared(source)
    for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        frame.captured.protect(f"a default of {function.__name__}", default)
    defaults, kw_defaults = _held(frame, function, "__defaults__") or (), _held(frame, function, "__kwdefaults__") or {}
    kws = tuple(kw_defaults.get(a.id) for a in tree.args.kwonlyargs)
    return _inline(frame, tree, source, None, (defaults, kws, set(kw_defaults)), args, kwargs, unroll)


def _held(frame: Frame, function: Any, name: str) -> Any:
    """The defaults of a function, with parameters of the program for the arrays among them."""
    held = (read if ours(function) else look)("attribute", function, name)
    return frame.stand_in(Lookup("attribute", function, name, held), "default")


def inline_rule(frame: Frame, rule: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """Read a rule or a composite: loops over known ranges are unrolled, its globals are not guarded. What it cannot do is said of the call."""
    here = frame.builder.loc
    try:
        return _function(frame, rule, args, kwargs, unroll=True)
    except NotCovered as problem:
        raise errors.UnsupportedSyntaxError(str(problem), here, hint=problem.hint) from None
    except errors.StgradError as problem:
        if problem.loc is not None and problem.loc.file == rule.__code__.co_filename and here is not None:
            problem.loc = here
            problem.reason, problem.hint = problem.reason or f"`{rule.__name__}` is written with other operations, one of which asks for it", ""
        raise


def inline_closure(frame: Frame, function: Closure, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    owner = function.frame
    given = {a.id for a, d in zip(function.tree.args.kwonlyargs, function.tree.args.kw_defaults, strict=True) if d is not None}
    defaults = (function.defaults, function.kw_defaults, given)
    return _inline(frame, function.tree, owner.source, owner, defaults, args, kwargs, owner.unroll)


def _inline(frame: Frame, tree: Any, source: Any, parent: Frame | None, defaults: Any, args: Any, kwargs: Any, unroll: bool) -> Value:
    if frame.depth >= MAX_DEPTH:
        raise too_deep(frame, tree)
    bound = Frame(frame.builder, source)
    bind_arguments(bound, tree, defaults, args, kwargs)
    given = bound.env
    if hasattr(tree, "generator"):
        return MAKE_GENERATOR[0](frame, tree, source, parent, given, unroll)
    if is_unit(tree):
        return call_unit(frame, tree, source, parent, given)
    if not unroll and not ours(source.function):
        _count(frame, tree, given)
    own = parent is None and not unroll and not ours(source.function)
    if own and (found := outlined(frame, tree, source, given)):
        return found[0]
    counts, later, lasting = told(tree)
    own_values = {name: frame.keep(value) if name in lasting else value for name, value in given.items()}  # the caller may bind its names anew
    inner = Frame(frame.builder, source, own_values, parent, counts, frame.depth + 1, unroll, None, frame.captured, {}, later)
    begin(inner, tree)
    token = _OPEN.set((*_OPEN.get(), (tree, given)))
    try:
        with inner.active(), noted(frame, tree, given) if own else nullcontext():
            inner.execute(tree.body)
    except RecursionError:
        raise too_deep(frame, tree) from None
    finally:
        _OPEN.reset(token)
    return inner.result


def _count(frame: Frame, tree: Any, given: Mapping[str, Value]) -> None:
    """Count the copies of a function within itself: one that calls itself twice, seven levels deep, has 255.

    What goes down a structure, whose parts have other structures, ends with it, and stays in place.
    """
    around = [arguments for t, arguments in _OPEN.get() if t is tree]
    copies = frame.builder.copies[id(tree)] = frame.builder.copies.get(id(tree), 0) + bool(around)
    if copies > COPIES and id(tree) not in IN_PLACE.get() and any(same_structure(arguments, given) for arguments in around):
        raise too_deep(frame, tree)


def too_deep(frame: Frame, tree: Any) -> errors.NeedStaticError:
    """The refusal of the function that calls itself: what it calls at the depth where reading stops, itself once only, is not to blame."""
    trees = [t for t, _ in _OPEN.get()]
    around = [id(t) for t in trees]
    tree = next((t for t in (tree, *reversed(trees)) if around.count(id(t)) > 1), tree)
    return errors.RecursionDepthError(  # with the integers among the arguments compiled in, it may end
        f"`{tree.name}` calls itself too deeply",
        frame.builder.loc,
        reason="recursion is followed at compile time, and this one does not end there",
        hint="write the recursion as a loop",
        tree=tree,
    )


def bind_arguments(frame: Frame, tree: Any, defaults: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> None:
    """Bind the parameters of a function as Python does."""
    positional_defaults, kw_defaults, with_default = defaults
    spec, env, rest = tree.args, frame.env, dict(kwargs)
    names = [a.id for a in (*spec.posonlyargs, *spec.args)]
    for name, value in zip(names, args, strict=False):
        if name in rest:
            _bad_call(frame, tree, f"got multiple values for `{name}`")
        env[name] = value
    if len(args) > len(names):
        if spec.vararg is None:
            _bad_call(frame, tree, f"takes {len(names)} arguments, but {len(args)} were given")
        env[spec.vararg.id] = tuple(args[len(names) :])
    elif spec.vararg is not None:
        env[spec.vararg.id] = ()
    first_default = len(names) - len(positional_defaults)
    for i, name in enumerate(names[len(args) :], start=len(args)):
        if name in rest:
            env[name] = rest.pop(name)
        elif i >= first_default:
            env[name] = positional_defaults[i - first_default]
        else:
            _bad_call(frame, tree, f"misses the argument `{name}`")
    for arg, default in zip(spec.kwonlyargs, kw_defaults, strict=True):
        if arg.id not in rest and arg.id not in with_default:
            _bad_call(frame, tree, f"misses the keyword argument `{arg.id}`")
        env[arg.id] = rest.pop(arg.id, default)
    if spec.kwarg is not None:
        env[spec.kwarg.id] = {name: frame.keep(value) for name, value in rest.items()}
    elif rest:
        _bad_call(frame, tree, f"got an unexpected keyword argument `{next(iter(rest))}`")


def _bad_call(frame: Frame, tree: Any, problem: str) -> None:
    raise errors.TypeInferenceError(f"`{tree.name}` {problem}", frame.builder.loc) from TypeError(f"{tree.name}() {problem}")
