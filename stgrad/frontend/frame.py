"""The state of one function while it is read, and the dispatch from syntax to meaning.

The reader is an abstract interpreter: it runs a desugared function on values whose types are known and whose contents are not, and
writes the program that does the work. Handlers of expressions and statements register themselves here by
node type, so that this module knows none of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

from stgrad import errors, lookups
from stgrad.frontend import passed
from stgrad.frontend.alternatives import refuse_unseen
from stgrad.frontend.builder import Builder
from stgrad.frontend.captured import Captures
from stgrad.frontend.departures import Chooses, Unreached
from stgrad.frontend.heap import MUTABLE, Attributes, Grows, Region, containers, contents, frames_of, key, put, reachable, refuse_circles
from stgrad.frontend.places import changing, note_read
from stgrad.frontend.values import (
    UNDEFINED,
    Chosen,
    Growing,
    Known,
    ListOrTuple,
    Maybe,
    Method,
    Optional,
    Record,
    Sym,
    Value,
    Waiting,
    is_plain_number,
    map_leaves,
    rebuild,
    type_of,
)
from stgrad.frontend.wishes import aim_of
from stgrad.ir import Loc, Type, Var
from stgrad.lookups import ABSENT, Lookup
from stgrad.source import Source

EXPRESSIONS: dict[type, Callable[[Frame, Any], Value]] = {}
STATEMENTS: dict[type, Callable[[Frame, Any], None]] = {}
MAX_DEPTH = 60

Holder = str | tuple[Any, str]
Evaluated = dict[int, tuple[Any, Value]]  # values of nodes by the identity of these, which are kept alive


def holder(name: Any, path: str) -> Holder:
    """What a variable stands for: a local name, or the part at a path of what it means, whatever else that part has been stored in."""
    return str(name) if path == name else (name, path)


def _ours(function: Any) -> bool:
    """Whether a function is a body of ours that is read in place of a library's."""
    return str(getattr(function, "__module__", "")).startswith(("stgrad.frontend.", "stgrad.eager."))


@dataclass
class Frame:
    """One activation of a function. `env` binds its local names; free names resolve in `parent`, then in `source`."""

    builder: Builder
    source: Source
    env: dict[str, Value] = field(default_factory=dict)
    parent: Frame | None = None
    counts: dict[str, int] = field(default_factory=dict)  # how often the function binds each name
    depth: int = 0
    unroll: bool = False  # loops over ranges known at compile time run at compile time (rule bodies)
    result: Value = None
    captured: Captures = field(default_factory=Captures)  # shared by all frames of one reading
    owned: dict[str, Holder] = field(default_factory=dict)  # variables that stand for one place each, and for which
    counters_read_later: set[str] = field(default_factory=set)
    record: Evaluated = field(default_factory=dict)  # what the parts of the node that is being read have given so far
    given: Evaluated = field(default_factory=dict)  # values of nodes that are not evaluated again (see `stgrad.frontend.choices`)
    flags: dict[str, str] = field(default_factory=dict)  # of local names that may be read unassigned (see `syntax.assigned`)

    # ------------------------------------------------------------- dispatch

    def evaluate(self, node: Any) -> Value:
        """The value of an expression; where it may be None, the program tests that first."""
        value = self.evaluate_raw(node)
        if isinstance(value, Chosen):
            raise Chooses(node, value)
        return UNWRAP[0](self, value) if isinstance(value, Optional) else value

    def evaluate_raw(self, node: Any) -> Value:
        """The value of an expression, which may be an `Optional` or a `Chosen`."""
        if id(node) in self.given:
            return self.given[id(node)][1]
        handler = EXPRESSIONS.get(type(node))
        if handler is None:
            self.unsupported(node, f"`{type(node).__name__}` expressions are not supported")
        value = self.perform(node, handler)
        self.record[id(node)] = node, value
        return value

    def execute(self, statements: Iterable[Any]) -> None:
        for node in statements:
            handler = STATEMENTS.get(type(node))
            if handler is None:
                self.unsupported(node, f"`{type(node).__name__}` statements are not supported")
            outer, aim = self.builder.loc, self.builder.aim
            for_caller = outer is not None and (self.unroll or _ours(self.source.function))  # a rule stands for the line that calls it
            if not for_caller:
                self.builder.loc, self.builder.aim = self.source.loc(node), aim_of(node) or aim
            marks = len(self.builder.marks)
            if not hasattr(node, "body"):
                self.builder.marks.append(self.builder.serial)
            try:
                if self.builder.chosen:
                    SPLIT[0](self, node, handler)
                else:
                    self.perform(node, handler)
            except errors.StgradError as error:
                raise error.at(self.builder.loc if for_caller or self.unroll else self.source.loc(node)) from error.__cause__
            except RecursionError:
                refuse_circles(self, reachable(self).values())
                raise
            finally:
                self.builder.loc, self.builder.aim = outer, aim
                del self.builder.marks[marks:]

    def perform(self, node: Any, handler: Callable[[Frame, Any], Any]) -> Any:
        """What the handler of a node does; once for each value, where a part of it gives one of several."""
        outer, self.record = self.record, {}
        try:
            return handler(self, node)
        except Chooses as found:
            return AGAIN[0](self, node, handler, found)
        finally:
            self.record = outer

    def loc(self, node: Any) -> Loc:
        """Where a node stands; code of ours stands for the line that calls it."""
        return self.builder.loc if self.builder.loc is not None and _ours(self.source.function) else self.source.loc(node)

    def call(self, function: Value, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        """Call a value; see `stgrad.frontend.calls`."""
        return CALL[0](self, function, args, kwargs)

    def assign(self, target: Any, value: Value) -> None:
        """Bind a target node; see `stgrad.frontend.statements`."""
        ASSIGN[0](self, target, value)

    # ------------------------------------------------------------- containers

    @contextmanager
    def speculate(self, *, closed: bool = False, conditional: bool = False) -> Iterator[Region]:
        """A part of the program that may run or not, or often; in a closed one, lists made outside must not change."""
        region = Region(reachable(self), closed, conditional)
        self.builder.regions.append(region)
        try:
            yield region
        except errors.StgradError as error:
            error.certain = False  # a `try` around the region does not know that it comes up
            raise
        finally:
            self.builder.regions.pop()

    @contextmanager
    def active(self) -> Iterator[None]:
        """While its function is being read."""
        self.builder.frames.append(self)
        try:
            yield
        finally:
            self.builder.frames.pop()

    def mutate(self, container: Value, node: Any = None, *, through: bool = False, constant: bool = False) -> None:
        """Announce a change of what a container holds.

        `through`: lists of run-time length that hold it are told behind it. `constant`: it gets what is the same in each call, where nothing was.
        """
        if isinstance(container, ListOrTuple):
            message = "a change of what is a list on one path and a tuple on another is not supported"
            raise errors.UnsupportedSyntaxError(message, self.builder.loc if node is None else self.loc(node), hint="make it one kind: list(...)")
        changing(self, container, through)
        passed.changing(self.builder, container)
        if isinstance(container, Attributes) and container.record is not None:
            message = "a change of what `vars(...)` returns is not supported"
            raise errors.UnsupportedSyntaxError(message, self.builder.loc, hint="set the attribute: setattr(...)")
        self.captured.changing(container, self.builder.loc if node is None else self.loc(node), constant=constant)
        if any(r.closed and key(container) in r.outside for r in self.builder.regions):
            raise errors.UnsupportedSyntaxError(
                "a function that has a derivative of its own changes a list, dict or object from outside of it",
                self.builder.loc if node is None else self.loc(node),
                reason="it is differentiated by itself, and what is seen of the change outside would be lost",
                hint="return what is to be kept, or work on a copy",
            )
        _, _, ambiguous = self.builder.merged.get(id(container), (None, None, False))
        if ambiguous:
            raise errors.UnsupportedSyntaxError(
                "a list, dict or object changes in a part of the program that may run or not",
                self.builder.loc if node is None else self.loc(node),
                reason="it has several names, which may then mean different things",
                hint="make a copy of it first, or fill an array made by np.zeros(...)",
            )
        refuse_unseen(self, container, node)
        for region in self.builder.regions:
            if key(container) in region.outside:
                region.changed[key(container)] = container
                region.changed_at.setdefault(key(container), len(region.block))

    def grow(self, container: list[Value], item: Value) -> None:
        """Announce a change of the length of a list: in a branch or loop of the running program, it is made a growing one there."""
        origin = self.builder.merged.get(id(container), (None, container, False))[1]
        for depth, region in enumerate(self.builder.regions):
            if id(container) in region.outside or id(origin) in region.outside:
                self.mutate(container)
                raise Grows(origin, depth, item, depth == len(self.builder.regions) - 1)
        self.mutate(container)

    def no_bare_method(self, values: Iterable[Value], place: Loc | None = None) -> None:
        """Refuse `x.sum` without its parentheses, and attributes that arrays do not have: methods that wait for their call."""
        for value in values:
            if isinstance(value, Method) and isinstance(value.owner, Sym):
                type_, known = value.owner.type, hasattr(np.ndarray, value.name)
                owner = f"an array of {type_.dtype}" if type_.array else f"a {type_}"
                problem = f"the method `{value.name}` is used as a value" if known else f"{owner} has no attribute `{value.name}`"
                raise errors.UndefinedNameError(problem, self.builder.loc or place, hint=f"call it: `.{value.name}(...)`" if known else "")

    def unsupported(self, node: Any, message: str, reason: str = "", hint: str = "") -> NoReturn:
        raise errors.UnsupportedSyntaxError(message, self.loc(node), reason=reason, hint=hint)

    # ------------------------------------------------------------- names

    @property
    def home(self) -> Frame:
        """The frame whose environment this one uses."""
        return self

    def owns(self, name: str) -> bool:
        """Whether a name may be one of this activation."""
        return True

    def detached(self) -> Frame:
        """This activation, or one like it, with an environment of its own."""
        return self

    def lookup(self, name: str, node: Any = None) -> Value:
        """The value of a name, as Python would find it: local, enclosing function, global, builtin."""
        frame: Frame | None = self
        while frame is not None:
            if frame.owns(name) and name in frame.env:
                return frame._read(name, node)
            if frame.owns(name) and frame.counts.get(name):
                self.unassigned(name, node)
            source, frame = frame.source, frame.parent
        return self._global(source, name, node)

    def _read(self, name: str, node: Any) -> Value:
        value = self.env[name]
        if isinstance(value, Maybe):
            if value.error is not None:
                raise value.error
            self.env[name] = value = value.value
        if value is UNDEFINED:
            self.unassigned(name, node)
        if isinstance(value, MUTABLE):
            note_read(self, value, name)
        return value

    def note_earlier(self, name: str) -> bool:
        """Note a read of a name that is bound in an open loop: an earlier iteration may have bound it. Whether there is such a loop."""
        owner: Frame | None = self
        while owner is not None and not (owner.owns(name) and (name in owner.env or owner.counts.get(name))):
            owner = owner.parent
        found = owner is not None and any(frame.home is owner.home and name in names for frame, names, _ in self.builder.loops)
        if found:
            self.builder.earlier.append(name)
        return found

    def unassigned(self, name: str, node: Any) -> NoReturn:
        shown = name.split("@")[0]
        found = Unreached(
            f"`{shown}` may be unassigned here",
            self.loc(node) if node is not None else None,
            reason="on some path to this line nothing has been assigned to it",
            hint=f"assign `{shown}` a first value before the branch or loop",
        )
        found.earlier = lambda: self.note_earlier(name)
        raise found.outside()

    def of_module(self, name: str, node: Any) -> Value:
        """What a name stands for outside of the function, if anything."""
        try:
            return self._global(self.source, name, node)
        except errors.UndefinedNameError:
            return UNDEFINED

    def _global(self, source: Source, name: str, node: Any) -> Value:
        if self.captured.variables and (held := self.captured.variables.get((id(source.function.__globals__), name))) is not None:
            return held["value"]
        try:
            value = source.resolve(name)
        except errors.StgradError as error:
            raise error.at(self.loc(node) if node is not None else None) from error.__cause__
        return self.stand_in(Lookup("name", source.function, name, value))

    def look(self, kind: str, owner: Any, name: Any = None) -> Value:
        """What is found outside of the program (see `stgrad.lookups`), arrays as parameters; ABSENT where there is nothing."""
        if isinstance(owner, ModuleType) and lookups.ours(self.source.function):
            return getattr(owner, name, ABSENT)  # what our own code looks for in a library
        if isinstance(owner, ModuleType) and self.captured.variables and (held := self.captured.variables.get((id(vars(owner)), name))) is not None:
            return held["value"]
        return self.stand_in(Lookup(kind, owner, name, lookups.look(kind, owner, name)))

    def stand_in(self, lookup: Lookup, wish: str = "") -> Value:
        """What stands in the program for a value that was found outside of it."""
        return lookup.value if self.unroll else self.captured.take(self.builder, lookup, wish)

    def hidden_name(self, wish: str) -> str:
        """A local name that the user's code cannot use."""
        self.builder.hidden_names += 1  # one count for all frames: some share their names with others
        return f"{wish} {self.builder.hidden_names}"

    def keep(self, value: Value) -> Value:
        """A value as what outlives its expression holds it: what a name stands for now, whatever the name is bound to later."""
        if isinstance(value, Sym) and isinstance(value.operand, Var) and any(value.name in frame.owned for frame in (self, *frames_of(self))):
            copy = self.builder.variable("_t", value.type)
            self.builder.copy_to(copy, value)
            return Known(copy.operand, copy.type, value.const) if isinstance(value, Known) else copy
        if isinstance(value, Optional):
            return Optional(self.keep(value.value), self.keep(value.none))
        if isinstance(value, Chosen):
            return Chosen(self.keep(value.index), tuple(map(self.keep, value.options)), value.error)
        if isinstance(value, slice):
            return slice(*(self.keep(part) for part in (value.start, value.stop, value.step)))
        if isinstance(value, functools.partial):
            return functools.partial(self.keep(value.func), *map(self.keep, value.args), **{k: self.keep(v) for k, v in value.keywords.items()})
        if isinstance(value, (tuple, Waiting)):
            parts = value if isinstance(value, tuple) else tuple(getattr(value, f.name) for f in fields(value))  # type: ignore[arg-type]
            kept = [self.keep(v) for v in parts]
            if all(a is b for a, b in zip(kept, parts, strict=True)):
                return value
            return rebuild(value, kept) if isinstance(value, tuple) else type(value)(*kept)
        return value

    def copied(self, value: Value) -> Value:
        """A shallow copy of a container, with items of its own."""
        if isinstance(value, Growing):
            raise AssertionError("growing lists are copied by `growing.copy`")
        new = type(value)() if isinstance(value, (list, dict, set)) else Record(value.cls, {})
        if hasattr(value, "factory"):  # of a defaultdict
            new.factory = value.factory
        put(new, {k: self.keep(v) for k, v in contents(value).items()})
        return new

    def bind(self, name: str, value: Value) -> None:
        """Bind a local name; numbers and arrays get a variable of that name in the program."""
        if isinstance(value, Sym):
            self.env[name] = self._bind_sym(name, value)
        elif is_plain_number(value) and self.counts.get(name, 0) > 1:
            target = self.own_variable(name, Sym(None, type_of(value)))  # type: ignore[arg-type]
            self.builder.copy_to(target, value)
            self.env[name] = Known(target.operand, target.type, value)
        elif isinstance(value, tuple):
            self.env[name] = map_leaves(self._own_leaf(name), value) if not any(isinstance(c, MUTABLE) for c in containers(value)) else self.keep(value)
        else:
            self.env[name] = self.keep(value)

    def _own_leaf(self, name: str) -> Callable[[Value, str], Value]:
        def own(leaf: Value, path: str) -> Value:
            if isinstance(leaf, Sym) and isinstance(leaf.operand, Var) and not leaf.operand.name.startswith("_"):
                mine = self.builder.variable(f"{name}{path}", leaf.type)
                self.builder.copy_to(mine, leaf)
                return mine
            return leaf

        return own

    def _bind_sym(self, name: str, value: Sym) -> Sym:
        target = self.own_variable(name, value)
        self.builder.copy_to(target, value)  # `simplify` names the value at once where nothing else holds it
        if isinstance(value, Known):
            return Known(target.operand, target.type, value.const)
        return target

    def fits(self, a: Type, b: Type) -> bool:
        """Whether one variable can hold both. In a `try` it matters, too, which of them are numbers of Python's, which raise where NumPy's do not."""
        return same_type(a, b) and (a.weak == b.weak or not self.builder.attempts)

    def own_variable(self, name: str, value: Sym) -> Sym:
        """The variable that a local name is written to: the one it has, where the type is the same, else a new one."""
        old = self.env.get(name)
        old = old.value if isinstance(old, Maybe) else old
        if isinstance(old, Sym) and isinstance(old.operand, Var) and self.owned.get(old.name) == name and self.fits(old.type, value.type):
            known = self.builder.types[old.name]
            if known.value != value.type.value:  # what the name stands for is not one integer any more
                self.builder.types[old.name] = replace(known, value=None)
            return Sym(old.operand, value.type)
        new = self.builder.variable(name, value.type)
        self.owned[new.name] = name
        return new


CALL: list[Callable[..., Value]] = []
UNWRAP: list[Callable[..., Value]] = []
SPLIT: list[Callable[..., Any]] = []
AGAIN: list[Callable[..., Any]] = []
ASSIGN: list[Callable[..., None]] = []


def same_type(a: Any, b: Any) -> bool:
    """Whether one variable can hold both: dtype, kind and extents agree."""
    return (a.dtype, a.array, a.dims) == (b.dtype, b.array, b.dims)


def evaluates(*kinds: type) -> Callable[[Callable[[Frame, Any], Value]], Callable[[Frame, Any], Value]]:
    """Register the meaning of an expression node."""

    def register(handler: Callable[[Frame, Any], Value]) -> Callable[[Frame, Any], Value]:
        for kind in kinds:
            EXPRESSIONS[kind] = handler
        return handler

    return register


def executes(*kinds: type) -> Callable[[Callable[[Frame, Any], None]], Callable[[Frame, Any], None]]:
    """Register the meaning of a statement node."""

    def register(handler: Callable[[Frame, Any], None]) -> Callable[[Frame, Any], None]:
        for kind in kinds:
            STATEMENTS[kind] = handler
        return handler

    return register
