"""Derivatives over shards: a function is evaluated for each shard of some arguments, on threads, processes, Dask or Ray, and the results are reduced.

The compiled program travels as text; each worker makes it callable once. Sums follow one tree over the numbers of the shards, so that a result is the
same bit for bit, however many workers there are, in which order they finish and however often one is lost.
"""

from stgrad.distributed.api import Sharded, grad, hvp, jvp, map, value_and_grad, vmap
from stgrad.distributed.engines import Engine, engine_of
from stgrad.distributed.local import Processes, Threads
from stgrad.distributed.shards import Shards, constant, from_function, from_parquet, from_zarr

__all__ = [
    "Engine", "Processes", "Sharded", "Shards", "Threads", "constant", "engine_of", "from_function", "from_parquet", "from_zarr", "grad", "hvp", "jvp",
    "map", "value_and_grad", "vmap",
]  # fmt: skip
