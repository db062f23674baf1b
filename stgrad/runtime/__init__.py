"""What generated code calls. Every name works in plain Python and in compiled code."""

from stgrad.runtime import available as available  # asks for the memory of large arrays from here on
from stgrad.runtime.broadcasting import joint, shrink, stretch, unbroadcast
from stgrad.runtime.budget import (
    budget_check,
    budget_cut,
    budget_far,
    budget_left,
    budget_length,
    budget_rest,
    budget_slots,
    budget_trips,
    open_length,
    open_slots,
)
from stgrad.runtime.call import call_python
from stgrad.runtime.convolution import convolve
from stgrad.runtime.disk import new_snapshots, page_in, page_out, room_on_disk
from stgrad.runtime.draws import (
    generator_random_exponential,
    generator_random_integer,
    generator_random_interval,
    generator_random_normal,
    generator_random_uniform,
    in_state,
    numba_random_integer,
    numba_random_normal,
    numba_random_seed,
    numba_random_uniform,
    of_module,
    random_integer,
    random_normal,
    random_seed,
    random_uniform,
    seeded,
)
from stgrad.runtime.exponentials import logsumexp, logsumexp_columns, logsumexp_rows
from stgrad.runtime.factors import cholesky_bar
from stgrad.runtime.few import cholesky_bar_few, cholesky_few, solve_few
from stgrad.runtime.growing import with_room
from stgrad.runtime.indices import clipped, outside
from stgrad.runtime.keeping import call_kept, kept
from stgrad.runtime.masks import add_where, put_where, take_where
from stgrad.runtime.memory import empty, empty_near
from stgrad.runtime.nans import any_nan, raise_nan
from stgrad.runtime.products import add_matmul, matmul
from stgrad.runtime.refusals import indefinite, singular, unbounded
from stgrad.runtime.reshaping import reshape
from stgrad.runtime.scalars import divide, expit, opaque, radd, safe_product, unsigned, vmax, vmin, wrapped
from stgrad.runtime.snapshots import next_snapshot, segment
from stgrad.runtime.solving import det, inv, solve
from stgrad.runtime.sorting import argsort, isin, sort
from stgrad.runtime.sparse_places import diagonal_places, entry_lines, last_places, paired_places, united_places
from stgrad.runtime.stack import new_stack, pop, push, span, unspan
from stgrad.runtime.threads import chunks, strips
from stgrad.runtime.units import unit
from stgrad.runtime.vecmath import cos, erf, exp, expm1, log, log1p, pow, sigmoid, sin, tan, tanh  # noqa: A004

__all__ = [
    "add_matmul",
    "add_where",
    "any_nan",
    "argsort",
    "budget_check",
    "budget_cut",
    "budget_far",
    "budget_left",
    "budget_length",
    "budget_rest",
    "budget_slots",
    "budget_trips",
    "call_kept",
    "call_python",
    "cholesky_bar",
    "cholesky_bar_few",
    "cholesky_few",
    "chunks",
    "clipped",
    "convolve",
    "cos",
    "det",
    "diagonal_places",
    "divide",
    "empty",
    "empty_near",
    "entry_lines",
    "erf",
    "exp",
    "expit",
    "expm1",
    "generator_random_exponential",
    "generator_random_integer",
    "generator_random_interval",
    "generator_random_normal",
    "generator_random_uniform",
    "in_state",
    "indefinite",
    "inv",
    "isin",
    "joint",
    "kept",
    "last_places",
    "log",
    "log1p",
    "logsumexp",
    "logsumexp_columns",
    "logsumexp_rows",
    "matmul",
    "new_stack",
    "next_snapshot",
    "numba_random_integer",
    "numba_random_normal",
    "numba_random_seed",
    "numba_random_uniform",
    "of_module",
    "opaque",
    "open_length",
    "open_slots",
    "outside",
    "paired_places",
    "pop",
    "pow",
    "push",
    "put_where",
    "radd",
    "raise_nan",
    "random_integer",
    "random_normal",
    "random_seed",
    "random_uniform",
    "reshape",
    "safe_product",
    "seeded",
    "segment",
    "shrink",
    "sigmoid",
    "sin",
    "singular",
    "solve",
    "solve_few",
    "sort",
    "span",
    "stretch",
    "strips",
    "take_where",
    "tan",
    "tanh",
    "unbounded",
    "unbroadcast",
    "unit",
    "united_places",
    "unsigned",
    "unspan",
    "vmax",
    "vmin",
    "with_room",
    "wrapped",
]
