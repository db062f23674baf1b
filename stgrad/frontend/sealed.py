"""Stores to arrays that NumPy does not let anybody write to: broadcast ones, diagonals, windows, and views of these.

Which array a name means where a store runs depends on the path to it, so the whole program is walked:

    if wide:
        y = np.broadcast_to(s, x.shape)         sealed
    y[0] = 1.0                                  sealed or not: refused

Where the array is sealed on every path, the program raises ValueError there, as NumPy does. What NumPy lets be written to, and compiled code does not
have, is refused: what `np.broadcast_arrays` has stretched, where one write changes several items, and diagonals of `np.einsum`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stgrad import errors
from stgrad.frontend.builder import SEALED, Builder, refusal_of_stores
from stgrad.ir import Assign, Block, Custom, Effect, For, If, Stmt, Store, Var, While, map_blocks
from stgrad.ir.ops import operation, viewed

FREE = "free"
State = Mapping[str, frozenset[str]] | None  # what arrays may be, by name; None where nothing arrives


def refuse_sealed(builder: Builder, params: Iterable[Var], body: Block) -> Block:
    """The program, with an exception in front of each store to a sealed array; raises AliasingError where the array is sealed on some paths alone."""
    return _Walk(builder).block(body, {p.name: frozenset({FREE}) for p in params})[0] if builder.sealing else body


class _Walk:
    def __init__(self, builder: Builder) -> None:
        self.builder = builder

    def block(self, body: Block, state: State) -> tuple[Block, State]:
        out: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, Store) and state is None:
                continue  # nothing arrives here: it would only be a write that other arrays have to see
            if isinstance(stmt, Store) and self._is_sealed(stmt, state):
                out.append(refusal_of_stores(stmt.loc, stmt.note))
                state = None
                continue
            new, state = self.statement(stmt, state)
            out.append(new)
        return (body if len(out) == len(body) and all(a is b for a, b in zip(out, body, strict=True)) else tuple(out)), state

    def statement(self, stmt: Stmt, state: State) -> tuple[Stmt, State]:
        if state is None or isinstance(stmt, Effect) and stmt.op == "raise":
            return stmt, None
        if isinstance(stmt, Assign):
            return stmt, {**state, **{t.name: self._made(stmt, t.name, state) for t in stmt.targets}}
        if isinstance(stmt, If):
            (then, a), (orelse, b) = self.block(stmt.then, state), self.block(stmt.orelse, state)
            return _with(stmt, then, orelse), _meet(a, b)
        if isinstance(stmt, (For, While)):
            return self._loop(stmt, state)
        if isinstance(stmt, Custom):
            inner, behind = self.block(stmt.body, state)
            return _with(stmt, inner), behind
        return stmt, state

    def _loop(self, stmt: For | While, state: State) -> tuple[Stmt, State]:
        while True:
            head, inside = self.block(stmt.head, state) if isinstance(stmt, While) else ((), state)
            body, end = self.block(stmt.body, inside)
            around = _meet(state, end)
            if around == state:
                return _with(stmt, head, body) if isinstance(stmt, While) else _with(stmt, body), inside
            state = around

    def _made(self, stmt: Assign, target: str, state: Mapping[str, frozenset[str]]) -> frozenset[str]:
        sealed = self.builder.sealing.get(target)
        if sealed is not None and sealed[1] == stmt.op:
            return frozenset({sealed[0]})
        source = viewed(stmt, self.builder.types) if operation(stmt.op).sharing == "always" else None
        return state.get(source, frozenset({FREE})) if source is not None else frozenset({FREE})

    def _is_sealed(self, store: Store, state: State) -> bool:
        assert state is not None
        kinds = state.get(store.target.name, frozenset({FREE}))
        if kinds in ({FREE}, {SEALED}):
            return kinds == {SEALED}
        what = next(iter(sorted(kinds - {FREE, SEALED})), f"`{store.target.name}`, which cannot be written to on some paths,")
        raise errors.AliasingError(f"{what} is written to", store.loc, reason="it looks into the memory of another array", hint="write to a copy of it")


def _with(stmt: Stmt, *blocks: Block) -> Stmt:
    """The statement with these blocks, in order."""
    left = iter(blocks)
    return map_blocks(lambda _: next(left), stmt)


def _meet(a: State, b: State) -> State:
    if a is None or b is None:
        return b if a is None else a
    return {name: a.get(name, frozenset()) | b.get(name, frozenset()) for name in {**a, **b}}
