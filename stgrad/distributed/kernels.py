"""What is evaluated for each shard: a `Transformed`, which of its arguments come in shards, and its programs as they travel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.calls import wrapper
from stgrad.calls.arguments import knows_extents
from stgrad.distributed.portable import Call, FromShard, Kind, Portable, kind_of, portable
from stgrad.distributed.worker import Job
from stgrad.prepared import Program
from stgrad.request import function_name
from stgrad.runtime.generators import is_address
from stgrad.transformed import Transformed
from stgrad.values import leaves, opened


@dataclass(frozen=True)
class Kernel:
    """A derivative of `function`.

    `shards` are the positions of the arguments that come in shards, `names` their names. Where `split` is a number, the target takes two tuples: of
    that many first arguments, and of the others; with `all_in_one` it takes one, as `*args`.
    """

    target: Transformed
    function: Any
    mode: str
    shards: tuple[int, ...]
    names: tuple[str, ...]
    split: int | None = None
    all_in_one: bool = False

    @property
    def title(self) -> str:
        """For messages: the sharded arguments, the function and its place."""
        code = getattr(self.function, "__code__", None)
        place = f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else ""
        return f"{', '.join(self.names)} in `{function_name(self.target.derivative) if code is None else self.function.__name__}`{place}"

    def job(self, values: Sequence[Any], examples: Mapping[Any, tuple[Any, ...]], reduction: str, table: dict[str, Portable]) -> Job:
        """The calls for arguments like `values`, whose sharded ones are replaced by each of the examples; their programs go to the table."""
        self.target._renew()
        calls: dict[Kind, Call] = {}
        for example in examples.values():
            given = list(values)
            for position, value in zip(self.shards, example, strict=True):
                given[position] = value
            kind, call = self._call(self.target, given, table)
            calls[kind] = call
        return Job(self.mode, reduction, calls, self.title)

    def _call(self, target: Transformed, values: list[Any], table: dict[str, Portable]) -> tuple[Kind, Call]:
        program = target._program_for(self._arguments(target, values), short=False)
        _refuse_draws(program.ready.text, values, self.title)
        travelling = portable(target, program)
        table[travelling.key] = travelling
        nodes = self._nodes(program)
        if any(knows_extents(nodes[position]) for position in self.shards):
            raise errors.UnsupportedCallerError(
                "how many items a shard has decides the program", reason="one program serves shards of all lengths", hint="loop over the items, or index them"
            )
        groups: list[Any] = [list(wrapper.leaves(node, value)) for node, value in zip(nodes, values, strict=True)]
        for index, position in enumerate(self.shards):
            groups[position] = FromShard(index, nodes[position])
        otherwise = None
        if program.ready.optimistic:
            try:
                otherwise = self._call(target._other(), values, table)[1]
            except errors.StgradError:  # it cannot broadcast as it runs: extents that differ are an error then
                otherwise = None
        kind = kind_of([nodes[position] for position in self.shards])
        return kind, Call(travelling.key, tuple(groups), tuple(program.hidden), otherwise)

    def _arguments(self, target: Transformed, values: list[Any]) -> dict[str, Any]:
        if self.all_in_one:
            return target._bind(tuple(values), {})
        if self.split is None:
            return dict(zip(target._signature.parameters, values, strict=True))
        return target._bind((tuple(values[: self.split]), tuple(values[self.split :])), {})

    def _nodes(self, program: Program) -> list[Any]:
        if self.all_in_one:
            return list(program.nodes[0].items)
        if self.split is None:
            return program.nodes
        return [*program.nodes[0].items, *program.nodes[1].items]


_HERE = ("runtime.random_", "runtime.numba_random_", "runtime.of_module(", "runtime.seeded(None)")  # in the text of what draws from this process


def _refuse_draws(text: str, values: Sequence[Any], title: str) -> None:
    """Refuse programs that draw from generators of this process: others have no such generator, or one in another state."""
    passed = any(isinstance(leaf, np.random.Generator) or isinstance(leaf, np.ndarray) and is_address(leaf) for v in values for leaf in leaves(opened(v)))
    if passed or any(call in text for call in _HERE):
        raise errors.UnsupportedSyntaxError(
            f"random numbers are drawn while shards are evaluated: {title}",
            reason="workers would draw from generators of their own, so that the result would depend on who evaluates what",
            hint="pass a seed with each shard, and draw from np.random.default_rng(seed)",
        )
