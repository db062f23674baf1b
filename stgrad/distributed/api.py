"""`value_and_grad`, `grad`, `jvp`, `hvp`, `map` and `vmap` over shards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stgrad import pushforwards, tangent_calls
from stgrad.api import Argnums, parameter_names
from stgrad.as_python import as_python
from stgrad.batches import vmap as mapped_over
from stgrad.distributed.engines import engine_of
from stgrad.distributed.evaluation import Evaluator, Setting
from stgrad.distributed.kernels import Kernel
from stgrad.distributed.reductions import REDUCTIONS
from stgrad.distributed.shards import known
from stgrad.errors import ShardError
from stgrad.request import Derivative, Options, signature_of
from stgrad.transformed import Transformed
from stgrad.values import closed, leaves, map_leaves

Names = str | int | Sequence[str | int]


class Sharded:
    """A function with the arguments of another one, some of which come in shards; made by the functions of this module.

    It is a context: `with value_and_grad(...) as f:` stops, at the end, the threads, processes or cluster that it started.
    """

    def __init__(
        self, kernel: Kernel, signature: Any, setting: Setting, finish: Callable[[Any], Any], *, directed: bool = False, cut: int | None = None
    ) -> None:
        """
        Args:
            kernel, setting: what is evaluated, and how.
            signature: of the arguments.
            finish: makes the result of the reduced state.
            directed: whether the first argument is a direction, or several.
            cut: rows of a shard, where sharded arguments come as whole arrays.
        """
        self._kernel, self._signature, self._finish, self._directed, self._cut = kernel, signature, finish, directed, cut
        self._evaluator = Evaluator(kernel, setting)
        self.engine = setting.engine

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        directions: tuple[Any, ...] = ()
        if self._directed:
            if not args:
                raise TypeError("the first argument is the direction")
            directions, args = args[0] if isinstance(args[0], tuple) else args[:1], args[1:]
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        values = list(bound.arguments.values())
        given = [self._rows(values[at]) for at in self._kernel.shards]
        sources = [known(name, value) for name, value in zip(self._kernel.names, given, strict=True)]
        return self._finish(self._evaluator([*values, *directions], sources))

    def _rows(self, value: Any) -> Any:
        step = self._cut
        return value if step is None else [value[i : i + step] for i in range(0, len(value), step)]

    def close(self) -> None:
        """Stop the threads, processes or cluster that were started for this function."""
        self.engine.close()

    def __enter__(self) -> Sharded:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<stgrad {self._kernel.mode} over shards {self._kernel.title} on {type(self.engine).__name__}, {self.engine.workers} workers>"


def value_and_grad(
    f: Callable[..., Any], argnums: Argnums = 0, shards: Names = (), *, engine: Any = None, reduce: str = "sum", progress: bool = False,
    timeout: float = 3600.0, retries: int = 5, blocks: int = 2, jit: bool = True, precise: bool = False,
) -> Sharded:  # fmt: skip
    """The value and gradient of a sum of `f` over shards of some of its arguments.

    Args:
        f: a function as for `stgrad.grad`; it is called with one shard of each argument in `shards`, and with all of the others.
        argnums: what to differentiate in, as for `grad`; not what comes in shards.
        shards: names or positions of the arguments that come in shards. They are given as lists (a value for each shard), as `Shards` (`from_function`,
            `from_zarr`, `from_parquet`, `constant`), as Dask arrays or data frames, or as functions that return an iterator, for data beyond memory.
        engine: "threads" (the default), "processes", "dask" (starts a LocalCluster) or "ray"; a Client of dask.distributed, an executor, or an engine.
        reduce: "sum", "mean" (of the shards), "prod", "max", "min" (the derivative is that of the first shard that is largest or smallest) or "logsumexp".
        progress: whether terminals see a bar.
        timeout: seconds without any result, after which an evaluation is given up with a ShardError.
        retries: how often in an evaluation what was lost with a worker is asked for again.
        blocks: how many blocks of neighbouring shards each worker gets: more of them balance better, and cost more messages.
        jit, precise: as for `grad`.

    Returns:
        A function with the arguments of f that gives `(value, gradient)`; `scipy.optimize.minimize(..., jac=True)` takes it as it is. The result is the same
        bit for bit for any number of workers of one engine, order of arrival, and lost worker.

    Raises:
        ShardError: arguments in shards of different numbers, workers that are lost again and again, or that hang.
        What f raises for a shard is raised, with a note that names the shard.

    >>> import numpy as np
    >>> def loss(w, x, y):
    ...     return np.sum((x @ w - y) ** 2)
    >>> x, y = np.arange(12.0).reshape(6, 2), np.ones(6)
    >>> with value_and_grad(loss, shards=("x", "y"), jit=False) as both:
    ...     both(np.array([1.0, -1.0]), np.array_split(x, 3), np.array_split(y, 3))
    (np.float64(24.0), array([-120., -144.]))
    """
    options, f = Options(jit=jit, precise=precise), as_python(f)
    names = _inexact(f, argnums, shards)
    target = Transformed(Derivative(f, "value_and_grad", names, isinstance(argnums, (int, str))), options)
    setting = _setting(engine, reduce, progress, timeout, retries, blocks)
    return Sharded(_kernel(f, target, "value_and_grad", shards), target._signature, setting, lambda state: (closed(state[0]), closed(state[1])))


def grad(f: Callable[..., Any], argnums: Argnums = 0, shards: Names = (), **options: Any) -> Sharded:
    """The gradient alone; arguments as for `value_and_grad`."""
    made = value_and_grad(f, argnums, shards, **options)
    made._finish = lambda state: closed(state[1])
    return made


def jvp(
    f: Callable[..., Any], argnums: Argnums = 0, shards: Names = (), *, engine: Any = None, reduce: str = "sum", progress: bool = False,
    timeout: float = 3600.0, retries: int = 5, blocks: int = 2, jit: bool = True, precise: bool = False,
) -> Sharded:  # fmt: skip
    """The value of a sum of f over shards, and its derivative in a direction.

    Returns:
        A function whose first argument is the direction: of the structure of the argument that is differentiated, a tuple of those where `argnums` is
        one; the arguments of f come behind. It gives `(value, tangent)`. f may return arrays. Other arguments as for `value_and_grad`.
    """
    f = as_python(f)
    names = _inexact(f, argnums, shards)
    target = Transformed(Derivative(pushforwards.pushforward_of(tangent_calls.Tangent(f, names, False, False)), "primal"), Options(jit=jit, precise=precise))
    return _directed(f, target, "jvp", shards, _setting(engine, reduce, progress, timeout, retries, blocks), lambda s: (closed(s[0]), closed(s[1])))


def hvp(
    f: Callable[..., Any], argnums: Argnums = 0, shards: Names = (), *, engine: Any = None, reduce: str = "sum", progress: bool = False,
    timeout: float = 3600.0, retries: int = 5, blocks: int = 2, jit: bool = True, precise: bool = False,
) -> Sharded:  # fmt: skip
    """The Hessian of a sum (or mean) of f over shards, times a vector.

    Returns:
        A function whose first argument is the vector, as for `jvp`; it gives the product, of the same structure. Other arguments as for `value_and_grad`.
    """
    if reduce not in ("sum", "mean"):
        raise ShardError(f"reduce={reduce!r}: the Hessian is no sum of those of the shards", hint='"sum" and "mean" have Hessians')
    f, single = as_python(f), isinstance(argnums, (int, str))
    names = _inexact(f, argnums, shards)
    parameters = list(signature_of(f).parameters)
    chosen = tuple(parameters.index(name) for name in names)
    target = Transformed(Derivative(pushforwards.product_of(f, names, chosen), "primal"), Options(jit=jit, precise=precise))

    def finish(state: Any) -> Any:
        found = closed(state[1])
        return found[0] if single else found

    return _directed(f, target, "hvp", shards, _setting(engine, reduce, progress, timeout, retries, blocks), finish)


def map(  # noqa: A001
    f: Callable[..., Any], shards: Names = (), *, engine: Any = None, progress: bool = False, timeout: float = 3600.0, retries: int = 5, blocks: int = 2,
    jit: bool = True, precise: bool = False,
) -> Sharded:  # fmt: skip
    """The results of f for each shard, in a list: parameter sweeps, Monte Carlo with a seed for each shard.

    Args:
        f: a function, or what `stgrad.grad` and its neighbours returned. Other arguments as for `value_and_grad`.
    """
    target = f if isinstance(f, Transformed) else Transformed(Derivative(as_python(f), "primal"), Options(jit=jit, precise=precise))
    setting = _setting(engine, "list", progress, timeout, retries, blocks)
    return Sharded(_kernel(_innermost(f), target, "map", shards), target._signature, setting, lambda state: [closed(r) for r in state[0]])


def vmap(f: Callable[..., Any], in_axes: Any = 0, *, chunk: int = 1024, **options: Any) -> Sharded:
    """`stgrad.vmap` over an ensemble that is cut into shards of `chunk` members along the first axis.

    Args:
        f: a function of one member: also a gradient.
        in_axes: 0 or None for each argument by position, or one of them for all.
        chunk: members of a shard.
        options: as for `map`.

    Returns:
        A function of the stacked arguments, which are arrays; its results are stacked along the first axis.
    """
    signature = signature_of(f)
    names = list(signature.parameters)
    axes = tuple(in_axes) if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(names)
    if any(a not in (0, None) for a in axes) or len(axes) != len(names) or 0 not in axes:
        raise ShardError(f"in_axes={in_axes!r}: shards are cut along the first axis", hint="0 or None for each argument; move other axes: np.moveaxis(x, k, 0)")
    mapped = tuple(i for i, a in enumerate(axes) if a == 0)
    kernel = Kernel(mapped_over(f, axes), _innermost(f), "map", mapped, tuple(names[i] for i in mapped), all_in_one=True)
    setting = _setting(options.pop("engine", None), "list", **({"progress": False, "timeout": 3600.0, "retries": 5, "blocks": 2} | options))
    return Sharded(kernel, signature, setting, lambda state: _stacked(state[0]), cut=chunk)


def _stacked(parts: list[Any]) -> Any:
    columns = [list(leaves(part)) for part in parts]
    whole = iter([np.concatenate(column) for column in zip(*columns, strict=True)])
    return closed(map_leaves(lambda _, __: next(whole), parts[0]))


def _setting(engine: Any, reduce: str, progress: bool, timeout: float, retries: int, blocks: int) -> Setting:
    if reduce not in REDUCTIONS:
        raise ShardError(f"reduce={reduce!r} is no reduction", hint=f"choose one of {', '.join(sorted(REDUCTIONS.keys() - {'list'}))}")
    return Setting(engine_of(engine), reduce, blocks, timeout, retries, progress)


def _positions(f: Any, shards: Names) -> tuple[int, ...]:
    """The positions of the arguments that come in shards.

    Raises ShardError where there are none.
    """
    parameters = signature_of(f).parameters
    chosen = parameter_names(f, (shards,) if isinstance(shards, (str, int)) else tuple(shards))
    if not chosen:
        raise ShardError("no argument comes in shards", hint='name some: shards=("x", "y")')
    starred = [n for n in chosen if "[" in n or parameters[n].kind in (parameters[n].VAR_POSITIONAL, parameters[n].VAR_KEYWORD)]
    if starred:
        raise ShardError(f"`{starred[0]}` cannot come in shards: it has no name of its own", hint="write the parameter out")
    return tuple(list(parameters).index(n) for n in chosen)


def _kernel(f: Any, target: Transformed, mode: str, shards: Names, split: int | None = None) -> Kernel:
    at = _positions(f, shards)
    parameters = list(signature_of(f).parameters)
    return Kernel(target, f, mode, at, tuple(parameters[i] for i in at), split)


def _directed(f: Any, target: Transformed, mode: str, shards: Names, setting: Setting, finish: Callable[[Any], Any]) -> Sharded:
    signature = signature_of(f)
    return Sharded(_kernel(f, target, mode, shards, len(signature.parameters)), signature, setting, finish, directed=True)


def _inexact(f: Any, argnums: Argnums, shards: Names) -> tuple[str, ...]:
    """The names of what is differentiated.

    Raises ShardError where that comes in shards.
    """
    names, sharded = parameter_names(f, argnums), {list(signature_of(f).parameters)[i] for i in _positions(f, shards)}
    both = [n for n in names if n in sharded]
    if both:
        raise ShardError(
            f"`{both[0]}` comes in shards, and is to be differentiated",
            reason="its derivative has a part for each shard, and is no sum",
            hint="use `distributed.map(stgrad.grad(f), shards=...)` for the parts",
        )
    return names


def _innermost(f: Any) -> Any:
    while hasattr(f, "derivative"):
        f = f.derivative.function
    return f
