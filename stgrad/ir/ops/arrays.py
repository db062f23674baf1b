"""Operations on whole arrays: names and views of them, new ones, elements moved, added up and multiplied."""

from __future__ import annotations

import numpy as np

from stgrad.ir.ops.core import FIRST, define
from stgrad.rules.growing import with_room

# --------------------------------------------------------------------------- the same array

define("alias", "identity", arity=1, views=0, sharing="always", like=True, triangle="kept", unitary="kept",
       signs=(1,), linear=FIRST, natural="kept", positive="kept", cost=0,
       vector=True, total=True, python=lambda x: x)  # fmt: skip
define("stop_gradient", "identity", arity=1, differentiable=False, views=0, sharing="always", python=lambda x: x)
define("getitem", "element", arity=2, views=0, sharing="always", cost=1, python=lambda x, i: x[i])
define("np.transpose", "move", sharing="always", reorders=True, triangle="turned", unitary="kept")
define("np.squeeze np.expand_dims", "move", sharing="always", made="rowwise")
define("np.swapaxes np.moveaxis", "move", sharing="always", reorders=True)
define("np.broadcast_to np.lib.stride_tricks.sliding_window_view", "move", readonly="always")
define("np.diagonal", "move", readonly="always", omits=True)
define("np.diag", "move", readonly="smaller", copied=True, zeros="larger", omits=True)
define("np.reshape np.ravel", "move", made="reshaped")
define("runtime.reshape", "move", views=0, made="reshaped")
define("np.asarray np.asanyarray np.asfortranarray np.array np.astype", "copy")
define("np.ascontiguousarray", "copy", made="rows")
define("np.copy", "copy", like=True, made="follows", triangle="kept", unitary="kept")

# --------------------------------------------------------------------------- extents

define("shape", "extent", arity=2, differentiable=False, extents=(0,), cost=0, natural="always")
define("np.shape np.ndim np.size len", "extent", differentiable=False, extents=(0,))
define("check_equal", "extent", differentiable=False, extents=(0,))
define("joint", "extent", arity=2, call="runtime.joint", python=lambda a, b: b if a == 1 else a)
define("stretch", "move", arity=2, call="runtime.stretch", python=lambda x, shape: np.broadcast_to(x, shape))
define("unbroadcast", "reduction", arity=2, extents=(1,), views=0, sharing="moves", call="runtime.unbroadcast",
       python=lambda g, like: np.zeros_like(like))  # fmt: skip
define("with_room", "move", arity=3, views=0, made="rows", room=1, call="runtime.with_room", python=with_room)
define("shrink", "reduction", arity=2, extents=(1,), call="runtime.shrink", python=lambda g, like: np.zeros_like(like))

# --------------------------------------------------------------------------- new arrays

define("np.empty np.zeros", "creation", shape=0, made="rows", fill=0.0)
define("np.ones", "creation", shape=0, made="rows", fill=1.0)
define("np.full", "creation", shape=0, made="rows", filled=1)
define("np.eye np.identity", "rule", shape=0, made="rows")
define("np.arange", "rule", made="rows")
define("np.empty_like np.zeros_like", "like", extents=(0,), like=True, made="follows", fill=0.0)
define("np.ones_like", "like", extents=(0,), like=True, made="follows", fill=1.0)
define("np.full_like", "like", extents=(0,), like=True, made="follows", filled=1)
define("runtime.empty", "creation", shape=0, made="rows")
define("runtime.empty_near", "creation", shape=0)
define("runtime.new_stack", "stack")

# Calls of `stgrad.runtime` that make what they return: an array that comes back from Python never shares memory with an argument.
define("runtime.pop", "call", takes=True)
define("runtime.span runtime.unspan", "call", views=0, sharing="always", takes=True)
define("runtime.call_python runtime.call_kept runtime.kept runtime.push runtime.take_where runtime.put_where runtime.add_where", "call")
define("runtime.any_nan runtime.raise_nan runtime.unit runtime.chunks runtime.strips runtime.outside"
       " runtime.segment runtime.next_snapshot", "call")
define("runtime.budget_left runtime.budget_check runtime.budget_cut runtime.budget_rest runtime.budget_length runtime.budget_slots"
       " runtime.budget_trips runtime.budget_far runtime.open_length runtime.open_slots", "call")
define("runtime.new_snapshots", "call", shape=0)
define("runtime.random_uniform runtime.random_normal runtime.random_seed runtime.random_integer", "call", differentiable=False, draws=True)
define("runtime.numba_random_uniform runtime.numba_random_normal runtime.numba_random_seed runtime.numba_random_integer", "call",
       differentiable=False, draws=True)
define("runtime.generator_random_uniform runtime.generator_random_normal runtime.generator_random_exponential runtime.generator_random_integer"
       " runtime.generator_random_interval", "call", differentiable=False, draws=True)
define("runtime.entry_lines runtime.united_places runtime.diagonal_places runtime.paired_places runtime.last_places", "call",
       differentiable=False)  # of sparse matrices
define("runtime.in_state runtime.of_module runtime.seeded", "call", differentiable=False)  # as text writes them
define("runtime.page_in runtime.page_out runtime.room_on_disk", "call")
define("runtime.logsumexp runtime.logsumexp_columns runtime.logsumexp_rows runtime.solve runtime.inv runtime.det runtime.solve_few"
       " runtime.cholesky_few runtime.cholesky_bar_few", "call")
define("runtime.singular runtime.indefinite runtime.unbounded", "call", differentiable=False)  # whether LAPACK refuses a matrix
define("runtime.joint runtime.stretch runtime.shrink runtime.unbroadcast runtime.with_room", "call")  # as text writes them

# --------------------------------------------------------------------------- elements elsewhere

define("np.concatenate np.stack np.repeat np.tile", "move")
define("np.tril", "move", triangle="lower", zeros="always", omits=True)
define("np.triu", "move", triangle="upper", zeros="always", omits=True)
define("np.trace np.median np.quantile np.percentile", "rule", omits=True)
define("np.roll", "move", made="follows")

# --------------------------------------------------------------------------- added up and multiplied

define("np.sum", "reduction", combine="radd", joined="np.add")
define("np.prod", "reduction", combine="mul", joined="np.multiply")
define("np.max np.amax", "reduction", picks=True, combine="max")
define("np.min np.amin", "reduction", picks=True, combine="min")
define("np.nanmax np.nanmin", "reduction", picks=True)
define("np.any", "reduction", combine="or", joined="np.logical_or")
define("np.all", "reduction", combine="and", joined="np.logical_and")
define("np.mean np.var math.fsum", "reduction")
define("np.matmul", "product", made="follows", symbol="@")
define("np.dot", "product", made="follows")
define("np.outer", "rule", made="follows")
define("np.linalg.solve", "solver", tuned="runtime.solve", inverts=True)
define("np.linalg.cholesky", "rule", triangle="lower", few="runtime.cholesky_few")
define("cholesky_bar", "rule", call="runtime.cholesky_bar", few="runtime.cholesky_bar_few")
define("runtime.cholesky_bar", "call")  # as text writes it
define("np.linalg.inv", "solver", tuned="runtime.inv", inverts=True)
define("np.linalg.eigh", "rule", unitary=(1,))
define("np.linalg.det", "solver", tuned="runtime.det")
define("np.sort", "order", tuned="runtime.sort")
define("np.argsort", "order", tuned="runtime.argsort")
define("runtime.sort runtime.argsort runtime.isin runtime.convolve", "call")
define("np.convolve", "rule", tuned="runtime.convolve")
define("np.isin", "rule", tuned="runtime.isin")
define("runtime.matmul runtime.add_matmul", "product")
