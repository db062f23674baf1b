"""Fewer names: a value that the reverse sweep restores gets its old name back where that name is free.

    x_2 = x_stack.pop()     ->     x = x_stack.pop()
    x_bar *= f(x_2)                x_bar *= f(x)

Two names can be one where neither is bound while the other is still needed. Scalars only: an array name keeps one layout.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def power(x, n):
    ...     y = x
    ...     for i in range(n):
    ...         y = y * y
    ...     return y
    >>> show_pass("tidy", stgrad.grad(power), 2.0, 3)
    y = x
    y_stack = np.empty(max(n, 0))
    for i in range(n):
        y_stack[i] = y
        y *= y
    y_bar = 1.0
    for i in range(n - 1, -1, -1):
        y_2 = y_stack[i]
        # grad of line 4: y = y * y
        y_bar *= y_2 + y_2
    return y_bar
    ->
    y = x
    y_stack = np.empty(max(n, 0))
    for i in range(n):
        y_stack[i] = y
        y *= y
    y_bar = 1.0
    for i in range(n - 1, -1, -1):
        y = y_stack[i]
        # grad of line 4: y = y * y
        y_bar *= y + y
    return y_bar
"""

from __future__ import annotations

import re

from stgrad.analysis.liveness import liveness
from stgrad.frontend.wishes import is_unnamed
from stgrad.ir import (
    Assign,
    Block,
    Custom,
    For,
    Function,
    Operand,
    Pop,
    Push,
    Stack,
    Var,
    assigns,
    map_blocks,
    map_operand,
    operand_vars,
    operands,
    rename,
    walk,
)
from stgrad.names import RESERVED, Names

_NUMBERED = re.compile(r"(.*?)_+\d+()$")
_SHOWN = re.compile(r"(.*?)_+\d+((?:_bar|_dot)?)$")  # the adjoint of what is numbered, too
_WORD = re.compile(r"[^\W\d]\w*")


def tidy(fn: Function, *, shown: bool = False) -> Function:
    """The program with numbered names merged into the names they come from.

    One that is `shown` is not compiled: arrays count there, too, and temporaries that are restored; names that stand in the user's lines stay.
    """
    if any(isinstance(s, Custom) for s in walk(fn.body)):
        return fn
    candidates, numbered = _candidates(fn, shown), _SHOWN if shown else _NUMBERED
    taken = {n for s in walk(fn.body) for n in assigns(s)} | _stacks(fn) | RESERVED
    fixed = _stacks(fn) | _counters(fn)
    clashes = interference(fn, numbered)
    merged: dict[str, str] = {}
    types = dict(fn.types)
    for name in candidates:
        match = numbered.match(name)
        base = "".join(match.groups()) if match else ""
        base = merged.get(base, base)
        if not base or name.startswith("_") and not candidates[name] and base in types:
            continue
        if base not in types:
            free = base not in taken and base.isidentifier()
            types |= {base: types[name]} if free else {}
        else:
            same = (types[base].dtype, types[base].array) == (types[name].dtype, types[name].array)
            free = same and base not in fixed and base not in clashes.get(name, set())
        if free:
            _merge(clashes, name, base)
            merged[name] = base
    return _renamed(fn.with_body(fn.body, types=types), merged)


def _candidates(fn: Function, shown: bool) -> dict[str, bool]:
    """Names that may get another one, short ones first, and whether they restore a value."""
    users = {word for s in walk(fn.body) if shown and s.loc is not None for word in _WORD.findall(s.loc.text)}
    restored = {s.target.name for s in walk(fn.body) if isinstance(s, Pop)}
    bound = {n for s in walk(fn.body) for n in assigns(s) if n in fn.types and not is_unnamed(n)}
    if not shown:
        bound = {n for n in bound if not n.startswith("_") and not fn.types[n].array}
    left = bound - _stacks(fn) - _counters(fn) - {p.name for p in fn.params} - users
    return {n: n in restored for n in sorted(left, key=_order)}


def _stacks(fn: Function) -> set[str]:
    return {s.stack for s in walk(fn.body) if isinstance(s, (Push, Pop))} | {s.name for s in walk(fn.body) if isinstance(s, Stack)}


def _counters(fn: Function) -> set[str]:
    return {s.var.name for s in walk(fn.body) if isinstance(s, For)}


def _order(name: str) -> tuple[int, str]:
    return (len(name), name)


def _merge(clashes: dict[str, set[str]], name: str, base: str) -> None:
    for other in clashes.pop(name, set()):
        clashes.setdefault(other, set()).add(base)
        clashes.setdefault(base, set()).add(other)


def _renamed(fn: Function, merged: dict[str, str]) -> Function:
    def leaf(operand: Operand) -> Operand:
        return Var(merged.get(operand.name, operand.name)) if isinstance(operand, Var) else operand

    body = _without_copies(rename(fn.body, merged))
    types = {merged.get(n, n): fn.types[merged.get(n, n)] for n in fn.types}
    return fn.with_body(body, types=types, result=map_operand(leaf, fn.result))


def stacks_named(fn: Function) -> Function:
    """The program with stacks called by what is pushed on them; it is shown, and not compiled."""
    names = Names([*fn.types.keys() - {s.name for s in walk(fn.body) if isinstance(s, Stack)}, *(n for s in walk(fn.body) for n in assigns(s))])
    named: dict[str, str] = {}
    for stmt in walk(fn.body):
        if isinstance(stmt, Push) and stmt.stack not in named:
            value = stmt.value
            named[stmt.stack] = names.fresh(f"{value.name}_stack" if isinstance(value, Var) and not is_unnamed(value.name) else stmt.stack)
    types = {named.get(n, n): t for n, t in fn.types.items()}
    return fn.with_body(rename(fn.body, named), types=types)


def _without_copies(block: Block) -> Block:
    """Statements but for `x = x`, which merging makes of copies."""
    kept = (s for s in block if not (isinstance(s, Assign) and s.op == "alias" and s.args == s.targets))
    return tuple(map_blocks(_without_copies, s) for s in kept)


def interference(fn: Function, among: re.Pattern[str] = _NUMBERED) -> dict[str, set[str]]:
    """For each name those that are needed where it is bound, and the other way round; parameters are bound at the start."""
    live = liveness(fn)
    clashes: dict[str, set[str]] = {}
    numbered = {n: "".join(m.groups()) for n in fn.types if (m := among.match(n)) and not is_unnamed(n)}
    relevant = frozenset(numbered) | frozenset(numbered.values())  # names that may be merged

    def clash(name: str, others: frozenset[str]) -> None:
        if name not in relevant:
            return
        for other in (others & relevant) - {name}:
            clashes.setdefault(name, set()).add(other)
            clashes.setdefault(other, set()).add(name)

    for param in fn.params:
        clash(param.name, live.before)
    for stmt in walk(fn.body):
        if isinstance(stmt, For):
            clash(stmt.var.name, live.after[id(stmt)] | frozenset(n for s in walk(stmt.body) for o in operands(s) for n in operand_vars(o)))
        else:
            for name in assigns(stmt):
                clash(name, live.after[id(stmt)] | frozenset(assigns(stmt)))
    return clashes
