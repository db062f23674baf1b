"""One evaluation over all shards: place what is not placed, broadcast, evaluate blocks, reduce; ask again for what is lost.

Whatever happens between, the result is that of the same programs on the same shards, reduced by the same tree: it is right, or an error says which
shards are missing. Nothing waits for ever: what makes no progress for `timeout` seconds is given up with an error.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from stgrad.distributed.engines import Engine, Lost, Tell
from stgrad.distributed.kernels import Kernel
from stgrad.distributed.reductions import REDUCTIONS, Need, Span, Tree
from stgrad.distributed.shards import Shards, Stream, blocks, token
from stgrad.distributed.worker import Block, Job, combine, evaluate
from stgrad.errors import ShardError
from stgrad.values import leaves

LOG = logging.getLogger("stgrad.distributed")
LARGE = 1 << 20  # bytes of a result from which on results are added where they are made


@dataclass
class Setting:
    """How evaluations run.

    `blocks` are wanted for each worker; `timeout` is how many seconds may pass without progress; `retries` how often what is lost is asked for again.
    """

    engine: Engine
    reduction: str = "sum"
    blocks: int = 2
    timeout: float = 3600.0
    retries: int = 5
    progress: bool = False


@dataclass
class _Placed:
    token: Any
    sources: Any  # keeps alive what the token names by identity
    held: Any


@dataclass
class Evaluator:
    """Evaluates a kernel, again and again; keeps the programs that were made, and what is placed."""

    kernel: Kernel
    setting: Setting
    examples: dict[Any, tuple[Any, ...]] = field(default_factory=dict)
    _placed: dict[int, _Placed] = field(default_factory=dict)
    _table: dict[str, Any] = field(default_factory=dict)
    _sizes: dict[int, int] = field(default_factory=dict)
    _sent: tuple[frozenset[str], Any] | None = None

    def __call__(self, values: Sequence[Any], sources: Sequence[Shards | list[Any] | Stream]) -> Any:
        """The reduced state.

        Raises ShardError where there are none, or what is lost stays lost.
        """
        streams = any(isinstance(s, Stream) for s in sources)
        size, count = (1, 0) if streams else self._size(max(map(len, sources)))  # type: ignore[arg-type]
        keep = not streams and all(s.keep for s in sources if isinstance(s, Shards))
        run = _Run(self, values, keep)
        cut = blocks(self.kernel.names, sources, size)
        with _bar(self.setting.progress, count) as tell:
            state, number = run.over(cut, tell, window=self.setting.engine.workers * 2 if streams or not keep else 0)
        return REDUCTIONS[self.setting.reduction].finish(state, number)

    def _size(self, count: int) -> tuple[int, int]:
        """Shards of a block, a power of two, so that there are about `blocks` for each worker; and how many blocks."""
        if count not in self._sizes:  # the engine is asked once: what is placed stays as it was cut
            wanted, size = self.setting.engine.workers * self.setting.blocks, 1
            while size * wanted < count:
                size *= 2
            self._sizes[count] = size
        return self._sizes[count], -(-count // self._sizes[count])

    # ------------------------------------------------------------- what is sent

    def job(self, values: Sequence[Any]) -> tuple[Job, Any]:
        """This evaluation's calls, and the programs that they call, which are sent again where there are new ones."""
        job = self.kernel.job(values, self.examples, self.setting.reduction, self._table)
        known = frozenset(self._table)
        if self._sent is None or self._sent[0] != known or self.setting.engine.lost(self._sent[1]):
            self._sent = known, self.setting.engine.share(dict(self._table))
        return job, self._sent[1]

    def learn(self, need: Need, known: frozenset[Any]) -> None:
        """Take up kinds of shards that had no program.

        Raises ShardError where one had: the shard is of another kind on its worker than here.
        """
        if need.examples.keys() <= known:
            raise ShardError(
                f"shards of {self.kernel.title} are of another kind on their worker than here",
                reason="they hold objects that are told apart by their identity alone, as functions and classes are",
                hint="pass such an argument to all shards at once, and arrays, numbers and strings in shards",
            )
        self.examples.update(need.examples)

    def forget_lost(self) -> None:
        """Send the programs again, and the blocks that are gone."""
        self._sent = None
        self._placed = {first: placed for first, placed in self._placed.items() if not self.setting.engine.lost(placed.held)}

    def held(self, block: Block, keep: bool) -> Any:
        """What stands for a block in the functions that take it."""
        engine = self.setting.engine
        if not keep or not (engine.copies or block.waits):
            return block
        at = self._placed.get(block.first)
        now = [token(row) for row in block.rows]
        if at is None or at.token != now or engine.lost(at.held):
            if at is not None:
                engine.drop(at.held)
            at = self._placed[block.first] = _Placed(now, block.rows if block.waits else None, engine.place(block))
        return at.held


@dataclass(frozen=True)
class _Batch:
    """Blocks that are being evaluated, and the kinds of shards that had programs when they were sent."""

    blocks: list[Block]
    refs: list[Any]
    known: frozenset[Any]


class _Run:
    """One evaluation."""

    def __init__(self, owner: Evaluator, values: Sequence[Any], keep: bool) -> None:
        self.owner, self.values, self.keep, self.engine = owner, values, keep, owner.setting.engine
        self.reduction = owner.setting.reduction
        self.combine = partial(combine, self.reduction)
        self.shared: list[Any] = []
        self._send()

    def _send(self) -> None:
        self.job, self.table = self.owner.job(self.values)
        self.shared.append(self.engine.share(self.job))

    def over(self, cut: Iterable[Block], tell: Tell, window: int) -> tuple[Any, int]:
        """The state of all blocks, and how many shards they have."""
        try:
            tree = Tree(self.combine)
            count = 0
            for batch in self._batches(cut, window):
                count += sum(len(block.rows) for block in batch.blocks)
                for state, blocks in self._settled(batch, tell):
                    tree.add(state, blocks)
            if not count:
                raise ShardError(f"`{self.owner.kernel.names[0]}` has no shards", reason="there is nothing to reduce")
            return tree.result(), count
        finally:
            for shared in self.shared:
                self.engine.drop(shared)

    def _batches(self, cut: Iterable[Block], window: int) -> Iterator[_Batch]:
        """All blocks at once, or `window` of them and the next ones behind."""
        before: _Batch | None = None
        blocks: list[Block] = []
        for block in cut:
            blocks.append(block)
            if len(blocks) == window:
                batch, blocks = self._submit(blocks), []
                if before is not None:
                    yield before
                before = batch
        if before is not None:
            yield before
        if blocks:
            yield self._submit(blocks)

    def _submit(self, blocks: list[Block], again: bool = False) -> _Batch:
        held = [self.owner.held(block, self.keep) for block in blocks]
        stay = again or self._together() or not self.keep
        refs = self.engine.submit_all(evaluate, held, self.table, self.shared[-1], None if stay else self.combine)
        return _Batch(blocks, refs, frozenset(self.owner.examples))

    def _settled(self, batch: _Batch, tell: Tell) -> list[tuple[Any, int]]:
        """The states of blocks in order, each with how many it is of; asked for again until they are there."""
        states: dict[int, tuple[Any, int]] = {}  # by the first shard
        firsts = [block.first for block in batch.blocks]
        lost = 0
        while True:
            together = self._together()
            found = self._gathered(batch, [self._summed(batch.refs)] if together else batch.refs, tell)
            answered = _by_first([Span(0, len(batch.blocks), found[0])] if together else found, batch.blocks)
            states |= answered
            missing = [block for block in batch.blocks if isinstance(answered[block.first][0], (Lost, Need))]
            if not missing:
                return [states[first] for first in firsts if states[first][1]]
            lost += self._mended(batch, missing, [states[block.first][0] for block in missing], lost)
            batch = self._submit(batch.blocks if together else missing, again=True)

    def _summed(self, refs: list[Any]) -> Any:
        """Results added where they are made, by the same tree."""
        tree = Tree(partial(self.engine.submit, combine, self.reduction))
        for ref in refs:
            tree.add(ref)
        return tree.result()

    def _together(self) -> bool:
        """Whether results stay with the workers until they are added: these are all blocks, and results are large."""
        if not self.engine.trees or not self.keep or self.reduction == "list":
            return False
        given = [v for i, v in enumerate(self.values) if i not in self.owner.kernel.shards]
        return sum(getattr(leaf, "nbytes", 8) for leaf in leaves(given)) > LARGE

    def _mended(self, batch: _Batch, missing: list[Block], states: list[Any], lost: int) -> int:
        """Make what was needed, and place again what was lost; how many retries that takes.

        Raises ShardError where that does not help.
        """
        for state in states:
            if isinstance(state, Need):
                self.owner.learn(state, batch.known)
        gone = [(block, state.reason) for block, state in zip(missing, states, strict=True) if isinstance(state, Lost)]
        for block, reason in gone:
            LOG.warning("%s of %s lost, asked for again: %s", block, self.owner.kernel.title, reason)
        if gone and lost >= self.owner.setting.retries:
            what = f"{gone[0][0]} of {self.owner.kernel.title} got lost again and again"
            raise ShardError(what, reason=gone[0][1], hint="see the logs of the workers; smaller shards need less memory")
        if gone:
            self.owner.forget_lost()
        self._send()
        return max((s.cost for s in states if isinstance(s, Lost)), default=0)

    def _gathered(self, batch: _Batch, refs: list[Any], tell: Tell) -> list[Any]:
        timeout, title = self.owner.setting.timeout, self.owner.kernel.title
        try:
            return self.engine.gather(refs, timeout, lambda _: tell(1))
        except TimeoutError:
            self.engine.cancel(batch.refs)
            raise ShardError(
                f"nothing came back for {timeout:g} s of {', '.join(map(str, batch.blocks))} of {title}",
                reason="a worker hangs, or shards take longer than `timeout`",
                hint="pass a larger `timeout`, or smaller shards",
            ) from None
        except BaseException:
            self.engine.cancel(batch.refs)
            raise


def _by_first(found: Sequence[Any], blocks: Sequence[Block]) -> dict[int, tuple[Any, int]]:
    """Results, and of how many blocks they are, by the first shard: of none behind the first of a span. What a span lacks, each of its blocks lacks."""
    states: dict[int, tuple[Any, int]] = {}
    at = 0
    for result in found:
        span = result if isinstance(result, Span) else Span(at, 1, result)
        own, at = blocks[at : at + span.count], at + span.count
        if isinstance(span.state, (Lost, Need)):
            states |= {block.first: (span.state, 1) for block in own}
        else:
            states |= {block.first: (None, 0) for block in own} | {own[0].first: (span.state, span.count)}
    return states


def _bar(wanted: bool, count: int) -> AbstractContextManager[Tell]:
    return _shown(count) if wanted else nullcontext(lambda _: None)


def _shown(count: int) -> Any:
    from stgrad.distributed.progress import bar

    return bar(count)

