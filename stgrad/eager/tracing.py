"""What TensorFlow refuses while it traces a function, checked while the function runs eagerly; and `tf.gradients` inside it."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
import weakref
from typing import Any

import numpy as np

from stgrad.eager import structures
from stgrad.eager.errors import OperatorNotAllowedInGraphError
from stgrad.eager.record import recording_active, state
from stgrad.eager.recording import Recording
from stgrad.eager.sweep import reach, sweep
from stgrad.eager.tensor import Tensor, is_tensor

_SINGLETON = (
    "tf.function only supports singleton tf.Variables created on the first call. Make sure the tf.Variable is "
    "only created once or created outside tf.function."
)


class _Everything(set[int]):
    """Ids of a recording that follows every tensor."""

    def __contains__(self, key: object) -> bool:
        return True

    def __iter__(self) -> Any:
        return iter(())


class Tracing:
    """Active while a function's body runs: `state.graph`."""

    def __init__(self, python_function: Any, autograph: bool, arguments: Any, first: bool, graph_gradients: bool) -> None:
        self.python_function = python_function
        self.autograph = autograph
        self.first = first
        self.ids = {t._id for t in structures.flatten(arguments) if isinstance(t, Tensor)}
        self.start = Tensor(np.float32(0))._id
        self.created: list[Any] = []
        self.recording: Recording | None = None
        if graph_gradients:
            self.recording = Recording(False)
            self.recording.ids = _Everything()
        self._before: tuple[Any, Any] = (None, ())

    def __enter__(self) -> Tracing:
        self._before = state.graph, state.recorders
        state.graph = self
        if self.recording is not None:
            state.recorders = (*state.recorders, self.recording)
        return self

    def __exit__(self, *exception: Any) -> None:
        state.graph, state.recorders = self._before

    # -------------------------------------------------------------- checks

    def _symbolic(self, tensor: Any) -> bool:
        return tensor._id in self.ids or tensor._id > self.start

    def check_bool(self, tensor: Any) -> None:
        """Called when a tensor is used as a Python bool."""
        if not self.autograph and self._symbolic(tensor):
            raise OperatorNotAllowedInGraphError(
                "Using a symbolic `tf.Tensor` as a Python `bool` is not allowed: AutoGraph is disabled in this function. "
                "Try decorating it directly with @tf.function."
            )
        frame: Any = sys._getframe(2)
        while frame is not None and frame.f_globals.get("__name__", "").startswith("stgrad.eager"):
            frame = frame.f_back
        code = getattr(inspect.unwrap(self.python_function), "__code__", None)
        if frame is None or frame.f_code is not code or not self._symbolic(tensor):
            return
        for line, (name, branch) in one_sided(inspect.unwrap(self.python_function)).items():
            if frame.f_lineno == line and name not in frame.f_locals:
                raise ValueError(f"'{name}' must also be initialized in the {branch} branch")

    def check_iteration(self, tensor: Any) -> None:
        """Called when a tensor is iterated."""
        if not self.autograph and self._symbolic(tensor):
            raise OperatorNotAllowedInGraphError(
                "Iterating over a symbolic `tf.Tensor` is not allowed: AutoGraph is disabled in this function. Try "
                "decorating it directly with @tf.function."
            )

    def check_new_variable(self, variable: Any) -> None:
        """Called when a variable is made."""
        if not self.first:
            raise ValueError(_SINGLETON)
        self.created.append(weakref.ref(variable))

    def check_variables(self, result: Any) -> None:
        """After a first call: a variable that nothing keeps would be made again by the next."""
        watching = {id(v) for r in state.recorders for v in getattr(r, "variables", {}).values()}
        for reference in self.created:
            variable = reference()
            returned = 2 if result is variable else sum(leaf is variable for leaf in structures.flatten(result))
            kept = 2 + (len(state.recorders) if id(variable) in watching else 0) + returned
            if variable is None or ((id(variable) in watching or returned) and sys.getrefcount(variable) <= kept):
                raise ValueError(_SINGLETON)


_one_sided: weakref.WeakKeyDictionary[Any, dict[int, tuple[str, str]]] = weakref.WeakKeyDictionary()


def one_sided(function: Any) -> dict[int, tuple[str, str]]:
    """For each line of an `if` that sets a variable in one branch only, which is read later: the variable and the other branch."""
    found = _one_sided.get(function)
    if found is None:
        found = _one_sided[function] = _find_one_sided(function)
    return found


def _find_one_sided(function: Any) -> dict[int, tuple[str, str]]:
    try:
        lines, start = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError, TypeError):
        return {}
    found = {}
    loads = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    before = _assigned_before(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.If):
            continue
        body, other = _assigned(node.body), _assigned(node.orelse)
        end = node.end_lineno or node.lineno
        for names, branch in ((body - other, "else"), (other - body, "main")):
            for name in names - before.get(id(node), set()):
                if any(n.id == name and n.lineno > end for n in loads) and not _leaves(node.orelse if branch == "else" else node.body):
                    found[node.lineno + start - 1] = (name, branch)
    return found


def _assigned_before(tree: ast.AST) -> dict[int, set[str]]:
    """For each `if`, by id, the names that have a value on every way to it."""
    found: dict[int, set[str]] = {}

    def block(body: list[ast.stmt], known: set[str]) -> set[str]:
        known = set(known)
        for statement in body:
            found[id(statement)] = known.copy()
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                spec = statement.args
                given = {a.arg for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg) if a is not None}
                block(statement.body, known | given)
                known.add(statement.name)
            elif isinstance(statement, ast.If):
                one, other = block(statement.body, known), block(statement.orelse, known)
                known |= other if _leaves(statement.body) else one if _leaves(statement.orelse) else one & other
            elif isinstance(statement, (ast.For, ast.While)):
                inside = known | (_assigned([ast.Assign([statement.target], ast.Constant(0))]) if isinstance(statement, ast.For) else set())
                block(statement.body, inside)
                block(statement.orelse, known)
            elif isinstance(statement, ast.With):
                known |= block(statement.body, known | _assigned([ast.With(statement.items, [])]))
            elif not isinstance(statement, (ast.Try, ast.ClassDef)):
                known |= _assigned([statement])
        return known

    block(getattr(tree, "body", []), set())
    return found


_CHANGES = frozenset("append extend insert pop remove clear update setdefault add discard popitem sort reverse".split())


def changes_outside(function: Any) -> str | None:
    """The name of something from outside that the function's text changes in place: `seen.append(x)`, `cache["x"] = x`."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))
    except (OSError, SyntaxError, TypeError):
        return None
    local = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    arguments = {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    roots = [n for n in ast.walk(tree) if isinstance(n, ast.Lambda)] if getattr(function, "__name__", "") == "<lambda>" else [tree]
    for node in (n for root in roots for n in ast.walk(root)):
        changed: Any = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGES:
            changed = node.func.value
        elif isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            changed = node.value
        inside = isinstance(changed, (ast.Attribute, ast.Subscript))
        while isinstance(changed, (ast.Attribute, ast.Subscript)):
            changed = changed.value
        if isinstance(changed, ast.Name) and changed.id not in local and (inside or changed.id not in arguments):
            return changed.id
    return None


def _assigned(body: list[ast.stmt]) -> set[str]:
    return {n.id for statement in body for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _leaves(body: list[ast.stmt]) -> bool:
    """Whether a branch ends in a jump."""
    return bool(body) and isinstance(body[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))


# ------------------------------------------------------------------ tf.gradients


def wants_graph_gradients(function: Any) -> bool:
    """Whether the function's code names `gradients`, so that its operations must all be recorded."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code is not None and "gradients" in code.co_names


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = structures.UnconnectedGradients.NONE,
) -> list[Any]:
    """The gradients of the sum of ys in each of xs, inside a `tf.function`.

    Raises:
        RuntimeError: outside of one.
    """
    tracing = state.graph
    if tracing is None or tracing.recording is None:
        raise RuntimeError("tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape instead.")
    targets, sources = structures.flatten(ys), structures.flatten(xs)
    given = structures.flatten(grad_ys) if grad_ys is not None else [None] * len(targets)
    mode = structures.unconnected(unconnected_gradients)
    ids = {s._id for s in sources}
    seeds = []
    for y, g in zip(targets, given):
        seed = Tensor(np.ones(y._a.shape, y._a.dtype)[()]) if g is None else g
        seeds.append((y._id, seed if recording_active() else seed._a))
    stopped = {t._id for t in structures.flatten(stop_gradients) if is_tensor(t)} if stop_gradients is not None else set()
    path, followed = reach(tracing.recording, ids)
    grads = sweep([node for node in path if not _produces(node, stopped)], followed, seeds, ids)
    return [structures.result(grads, s, mode) for s in sources]


def _produces(node: Any, ids: set[int]) -> bool:
    outputs = node[1] if isinstance(node[1], tuple) else (node[1],)
    return any(o._id in ids for o in outputs)
