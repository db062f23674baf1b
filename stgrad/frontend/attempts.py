"""`try`: what is certain is decided while the program is read, what only the running program knows is a branch to the handler.

A missing key, an import, a `raise` that is certain to run: the handler stands in place of the rest. Where an operation of the body may raise what a
handler catches, the body is read again, one statement at a time, and each statement that may fail is a branch (`stgrad.frontend.escapes`):

    try: a = b / c; d = log(a)          if c == 0.0: d = 0.0
    except ArithmeticError: d = 0.0     else: a = b / c; ...

The handler finds names as they were when the exception came up. What is not known of them then cannot be read there.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from typing import Any

import gast
import numpy as np

from stgrad import errors
from stgrad.frontend import exceptions
from stgrad.frontend.certainties import RAISED, in_a_call, left, raised_by_python
from stgrad.frontend.control import branch, growing
from stgrad.frontend.departures import Leaves
from stgrad.frontend.escapes import Escapes, exception_of, raises, refused, tested, untested
from stgrad.frontend.extents import ASSUMPTION
from stgrad.frontend.frame import Frame, executes, same_type
from stgrad.frontend.heap import State, contents, put, reachable
from stgrad.frontend.operations import binary
from stgrad.frontend.text import UNKNOWN, RunTimeText
from stgrad.frontend.values import Known, Maybe, Sym, Value, is_plain_number
from stgrad.ir import Block, Type, Var

_AT_ONCE = (gast.Assign, gast.AugAssign, gast.Expr)  # statements that bind their names once they are done
Handlers = list[tuple[Any, tuple[Any, ...]]]


@executes(gast.Try)
def try_statement(frame: Frame, node: Any) -> None:
    manager = getattr(node, "manager", None)  # the name of what was taken for `contextlib.suppress`
    if manager is not None and frame.evaluate(manager) is not contextlib.suppress:
        frame.unsupported(manager, "a context manager that is called `suppress`", reason="it is not that of contextlib", hint="give it another name")
    handlers: Handlers = [(h, _classes(frame, h)) for h in node.handlers]
    if getattr(node, "swallows", False):  # what a `finally` that jumps leaves behind is no exception
        handlers.append((gast.ExceptHandler(type=None, name=None, body=[]), (BaseException,)))
    frame.builder.tries += 1
    takes_tests = any(issubclass(ValueError, c) for _, classes in handlers for c in classes)
    ASSUMPTION.get().around += takes_tests
    try:
        _guarded(frame, node, handlers)
    except Leaves as leaves:
        if leaves.kind is not None:  # what is certain to raise is the last statement
            raised = frame.builder.out.pop()
            frame.execute(node.finalbody)
            frame.builder.out.append(raised)
        raise
    except Exception as error:
        if not isinstance(error, errors.StgradError) or raised_by_python(error) is not None:
            frame.execute(node.finalbody)
        raise
    finally:
        frame.builder.tries -= 1
        ASSUMPTION.get().around -= takes_tests
    frame.execute(node.finalbody)


def _guarded(frame: Frame, node: Any, handlers: Handlers) -> None:
    """All but the `finally`."""
    attempt = _Attempt(frame, node, handlers)
    state, start = State(frame), len(frame.builder.out)
    leaves: Leaves | None = None
    raised = None
    try:
        raised = _run(frame, node.body, tuple(c for _, classes in handlers for c in classes))
    except Leaves as found:
        leaves = found
    if attempt.is_needed(tuple(frame.builder.out[start:])):
        state.restore()
        frame.builder.attempts += 1
        try:
            attempt.statements(node.body)
        finally:
            frame.builder.attempts -= 1
    elif leaves is not None:
        raise leaves
    elif raised is None:
        frame.execute(node.orelse)
    else:
        attempt.handler(next(h for h, classes in handlers if isinstance(raised, classes)), raised)
    if node.finalbody and not getattr(node, "swallows", False):
        _no_way_out(frame, node, tuple(frame.builder.out[start:]))


def _no_way_out(frame: Frame, node: Any, block: Block) -> None:
    """What leaves a `try` by an exception runs its `finally` first, and then a handler around it would go on."""
    around = [r.catches for r in frame.builder.regions if r.catches is not None]
    if around and raises(tested(block, frame.builder, lambda kind: any(c(kind) for c in around)), frame.builder, lambda kind: any(c(kind) for c in around)):
        frame.unsupported(
            node,
            "a `finally` whose exception a `try` around it catches",
            reason="the handler would find what the `finally` has changed",
            hint="put the `except` into the inner `try`",
        )


def _classes(frame: Frame, handler: Any) -> tuple[Any, ...]:
    found = Exception if handler.type is None else frame.evaluate(handler.type)
    classes = found if isinstance(found, tuple) else (found,)
    if not all(isinstance(c, type) and issubclass(c, BaseException) for c in classes):
        frame.unsupported(handler, "`except` of what is no class of exceptions")
    return classes


def _run(frame: Frame, body: list[Any], caught: tuple[Any, ...]) -> BaseException | None:
    """Read the body; the exception that it is certain to raise, if one of `caught`."""
    try:
        frame.execute(body)
    except Leaves as leaves:
        if leaves.kind is None or not issubclass(leaves.kind, caught):
            raise
        return exception_of(frame.builder.out.pop(), frame.builder)
    except errors.Signal:  # a handler may catch BaseException
        raise
    except errors.StgradError as error:
        cause = raised_by_python(error)
        if cause is None or not isinstance(cause, caught):
            raise
        return cause
    except caught as raised:
        return raised if isinstance(raised, KeyError) or in_a_call(raised) else exceptions.described(raised)
    return None


@dataclass
class _Read:
    """A statement that was read as a part of the program that may fail."""

    block: Block
    leaves: Leaves | None
    before: dict[str, Value]
    changed: list[tuple[Value, dict[Any, Value]]]  # containers, with what they held before
    changed_at: int  # how many statements stand before the first change


@dataclass
class _Attempt:
    """The body of one `try`, read a statement at a time."""

    frame: Frame
    node: Any
    handlers: Handlers
    behind: dict[str, Value] = field(default_factory=dict)  # the names behind the statement that was read last

    # ------------------------------------------------------------------ what may fail

    def chosen(self, kind: type[BaseException]) -> int | None:
        """The number of the handler that catches a class of exceptions."""
        return next((k for k, (_, classes) in enumerate(self.handlers) if issubclass(kind, classes)), None)

    def caught(self, kind: type[BaseException]) -> bool:
        """Whether a handler catches it. One that raises another error in place of LAPACK's is left out: the test costs as much as the operation."""
        at = self.chosen(kind)
        return at is not None and not (kind is np.linalg.LinAlgError and _raises(self.handlers[at][0].body))

    def is_needed(self, block: Block) -> bool:
        """Whether an operation of the body may raise what a handler catches."""
        state = State(self.frame)
        needed = raises(tested(block, self.frame.builder, self.caught), self.frame.builder, self.caught)
        state.restore()
        found = next(untested(block, self.frame.builder, self.tells), None)
        if found is not None:
            raise refused(self.frame.loc(self.node), found)
        return needed

    def tells(self, kind: type[BaseException]) -> bool:
        """Whether a handler that goes on catches it."""
        at = self.chosen(kind)
        return at is not None and not _raises(self.handlers[at][0].body)

    # ------------------------------------------------------------------ reading

    def statements(self, body: list[Any]) -> None:
        for at, stmt in enumerate(body):
            if not self.plain(stmt):
                self.risky(stmt, body[at + 1 :])
                return
        self.frame.execute(self.node.orelse)

    def plain(self, stmt: Any) -> bool:
        """Read a statement as it stands, unless something in it may raise what is caught."""
        frame = self.frame
        state, start = State(frame), len(frame.builder.out)
        self.behind = {}
        try:
            frame.execute([stmt])
        except (Leaves, Exception):  # noqa: BLE001  (what a certain `raise` raises; it is met again)
            state.restore()
            return False
        block = tuple(frame.builder.out[start:])
        after, self.behind = State(frame), dict(frame.env)
        safe = not raises(tested(block, frame.builder, self.caught), frame.builder, self.caught)
        (after if safe else state).restore()
        return safe

    def risky(self, stmt: Any, rest: list[Any]) -> None:
        """A statement that may fail, and what follows it where it does not."""
        frame, builder = self.frame, self.frame.builder
        if not isinstance(stmt, _AT_ONCE):
            self.hold_numbers()
        read: _Read = growing(frame, lambda state: self.read(stmt))
        failed, which = (builder.variable(wish, t) for wish, t in (("failed", Type("bool", weak=True)), ("caught", Type("int64", weak=True))))
        escapes = Escapes(builder, Var(failed.name), Var(which.name), lambda kind: self.chosen(kind) if self.caught(kind) else None)
        block, _, _ = escapes.block(tested(read.block, builder, self.caught))
        self.no_change_before(read)
        after = dict(frame.env)
        if escapes.caught:
            builder.copy_to(failed, False)
            builder.copy_to(which, 0)
        builder.out.extend(block)

        def handle() -> None:
            frame.env = dict(read.before) if isinstance(stmt, _AT_ONCE) else self.met(read.before, after)
            for container, held in read.changed:
                frame.mutate(container)
                put(container, held)
            self.choose(sorted(escapes.caught), which, escapes)

        def go_on() -> None:
            if read.leaves is not None:
                raise read.leaves
            self.statements(rest)

        if escapes.caught:
            branch(frame, failed, handle, go_on, "_t")
        else:  # read again, with a list that grows, it may not fail
            go_on()

    def hold_numbers(self) -> None:
        """Known numbers that the statement changes get the variables that it changes: a handler finds in them how far a loop or branch came."""
        for name, now in self.behind.items():
            before = self.frame.env.get(name)
            if name not in self.frame.env and isinstance(now, Maybe) and now.error is None:
                now = now.value
            known = before.const if isinstance(before, Known) else before if name in self.frame.env else self.unbound(now)
            if before is not now and isinstance(now, Sym) and not now.type.array and is_plain_number(known):
                target = self.frame.own_variable(name, Sym(None, replace(now.type, value=None)))  # type: ignore[arg-type]
                self.frame.builder.copy_to(target, known)
                self.frame.env[name] = target

    @staticmethod
    def unbound(now: Value) -> Value:
        """What stands for a number that a name has no value for yet: its flag is tested where it is read."""
        return np.dtype(now.type.dtype).type(0).item() if isinstance(now, Sym) and not now.type.array else None

    def read(self, stmt: Any) -> _Read:
        frame = self.frame
        before, held = dict(frame.env), {k: contents(c) for k, c in reachable(frame).items()}
        leaves = None
        with frame.builder.block() as block, frame.speculate(conditional=True) as region:
            region.block, region.catches = block, self.caught
            try:
                frame.execute([stmt])
            except Leaves as found:
                leaves = found
            except (errors.StgradError, *RAISED) as error:
                leaves = left(frame, error)
        changed = [(c, held[k]) for k, c in region.changed.items() if k in held]
        first = min([at for k, at in region.changed_at.items() if k in held], default=len(block))
        return _Read(tuple(block), leaves, before, changed, first)

    def no_change_before(self, read: _Read) -> None:
        """What a statement changes in lists, dicts and objects, it changes behind all that may fail."""
        builder = self.frame.builder
        behind = read.block[read.changed_at :]
        if read.changed and raises(tested(behind, builder, self.caught), builder, self.caught):
            self.frame.unsupported(
                self.node,
                "a statement in a `try` changes a list, dict or object, and may fail behind that",
                reason="what a handler would find in it is not known",
                hint="compute what may fail first, in a statement of its own",
            )

    def met(self, before: dict[str, Value], after: dict[str, Value]) -> dict[str, Value]:
        """Names as a handler finds them that does not know how far a loop or branch of the body came."""
        return {name: _either(name, value, after.get(name, value), self.frame) for name, value in before.items()}

    # ------------------------------------------------------------------ handlers

    def choose(self, numbers: list[int], which: Sym, escapes: Escapes) -> None:
        """The handler of the exception that came up."""
        first, *others = numbers

        def this() -> None:
            self.handler(self.handlers[first][0], _exception(escapes.caught[first]))

        if not others:
            this()
            return
        chosen = binary(self.frame, gast.Eq, which, first)
        assert isinstance(chosen, Sym)
        branch(self.frame, chosen, this, lambda: self.choose(others, which, escapes), "_t")

    def handler(self, handler: Any, raised: Value) -> None:
        if handler.name is not None:
            self.frame.env[handler.name.id] = raised
        handling = self.frame.builder.handling
        handling.append(raised)
        self.frame.execute(handler.body)
        handling.pop()


def _exception(found: dict[tuple[str, str], Exception]) -> Value:
    """What `except ... as name` binds; where it may be one of several, it cannot be read."""
    exception = found[min(found)]
    if len(found) == 1:
        return exception
    if all(type(other) is type(exception) for other in found.values()):
        return exceptions.made(type(exception), (RunTimeText(UNKNOWN),))
    return Maybe(exception, errors.UnsupportedSyntaxError("which exception was caught is not known here", None, hint="write an `except` for each"))


def _either(name: str, before: Value, after: Value, frame: Frame) -> Value:
    """A name that a part of the program may have bound again, or not."""
    if before is after:
        return before
    one = isinstance(before, Sym) and isinstance(before.operand, Var) and isinstance(after, Sym) and before.operand == after.operand
    if one and same_type(before.type, after.type):
        return Sym(before.operand, frame.builder.types[before.name])
    problem = errors.UndefinedNameError(
        f"`{name.split('@')[0]}` is not known in this `except`", None, reason="the body of the `try` binds it", hint="give it its value before the `try`"
    )
    return Maybe(before.value if isinstance(before, Maybe) else before, problem)


def _raises(body: list[Any]) -> bool:
    return bool(body) and isinstance(body[-1], gast.Raise)


