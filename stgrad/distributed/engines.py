"""What distributes work. An engine runs functions somewhere and gives their results; it knows nothing of programs and shards.

There are four: threads and processes of this machine (`concurrent.futures`), Dask and Ray. Each is a few calls of a scheduler that exists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Protocol

from stgrad.distributed.worker import Block
from stgrad.errors import ShardError

Combine = Callable[[Any, Any], Any]  # of the states of neighbours
Tell = Callable[[int], None]  # called with a position each time something is done


@dataclass(frozen=True)
class Lost:
    """In place of a result that went with a worker, a connection, or data that were there; it can be asked for again, at the cost of so many retries."""

    reason: str
    cost: int = 1


class Engine(Protocol):
    """Runs functions. What `place`, `share` and `submit` return can be arguments of `submit`, and means what is in it."""

    copies: bool  # whether placed data are copies, which changes of the user's arrays do not reach
    trees: bool  # whether results can stay with the workers, to be arguments of other functions there

    @property
    def workers(self) -> int:
        """How many run at the same time."""

    def place(self, block: Block) -> Any:
        """The block, loaded and kept where it can be used again."""

    def lost(self, placed: Any) -> bool:
        """Whether what was placed is gone."""

    def share(self, value: Any) -> Any:
        """A value that many functions take."""

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        """A result in the making."""

    def submit_all(self, function: Callable[..., Any], placed: Sequence[Any], table: Any, shared: Any, combine: Combine | None) -> list[Any]:
        """The results of `function(p, table, shared)` for what is placed.

        With `combine` these are all blocks, and neighbours may be added where they are; without it results can be arguments of `submit`, and may run anywhere.
        """

    def gather(self, refs: Sequence[Any], patience: float, tell: Tell) -> list[Any]:
        """The results in order, `Lost` for some, a `Span` for neighbours that were added. What a function raised is raised.

        Raises TimeoutError where nothing becomes ready for `patience` seconds.
        """

    def drop(self, shared: Any) -> None:
        """Nobody asks for what was shared or placed again."""

    def cancel(self, refs: Sequence[Any]) -> None:
        """Nobody waits for these any longer."""

    def close(self) -> None:
        """Stop what the engine started."""


def engine_of(wish: Any) -> Engine:
    """The engine for what the user passed.

    Args:
        wish: None or "threads", "processes", "dask" (a LocalCluster), "ray", a `dask.distributed` Client or cluster, an executor of
            `concurrent.futures`, or an engine.
    """
    if wish is None or wish == "threads":
        from stgrad.distributed.local import Threads

        return Threads()
    if isinstance(wish, Executor):
        from stgrad.distributed.local import on_executor

        return on_executor(wish)
    if wish == "processes":
        from stgrad.distributed.local import Processes

        return Processes()
    if wish == "ray":
        from stgrad.distributed.on_ray import Ray

        return Ray()
    if wish == "dask" or type(wish).__module__.split(".")[0] in ("distributed", "dask_jobqueue", "dask_kubernetes"):
        from stgrad.distributed.on_dask import Dask

        return Dask(None if wish == "dask" else wish)
    if hasattr(wish, "submit") and hasattr(wish, "gather") and hasattr(wish, "place"):
        found: Engine = wish
        return found
    raise ShardError(f"engine={wish!r} is no engine", hint='pass "threads", "processes", "dask", "ray", a Client of dask.distributed or an executor')
