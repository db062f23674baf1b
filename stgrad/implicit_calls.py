"""`custom_root` and `custom_linear_solve` in programs that are read: the solver's value, and the equation as its derivative rule.

The equation is read once at the solution, as a program of its own. What it reads from around it are the inputs of the rule; its tangent program,
in them and in the solution, is what the rule is made of. So closures need no arguments, and rules are plain code that is differentiated again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from stgrad import errors
from stgrad.frontend import splice
from stgrad.frontend.builder import last_symbol
from stgrad.frontend.custom_rules import Call, Site, backward_rule, forward_rule, outputs_of
from stgrad.frontend.frame import Frame
from stgrad.frontend.values import Sym, Value, is_number, leaves, map_leaves, operand_of, type_of
from stgrad.implicit import CustomLinearSolve, CustomRoot, dense_solve, difference, flat, split
from stgrad.ir import Block, Function, Operand, Pack, Var, entries_of, read, rename, rule_binds, rule_reads
from stgrad.transforms.forward import forward
from stgrad.transforms.reverse import reverse

DEPTH = 4  # linear solves in the rules of linear solves: the order of derivative at which a solver is differentiated as code


@dataclass(frozen=True)
class Equation:
    """The left side of an equation at a value x of the program: its statements, what they read from around them, their results."""

    frame: Frame
    block: Block
    x: tuple[Sym, ...]
    around: tuple[Sym, ...]
    result: Value

    @classmethod
    def at(cls, frame: Frame, function: Value, x: Value) -> Equation:
        with frame.builder.block() as block, frame.speculate(closed=True):
            result = map_leaves(lambda v, path: _own(frame, v, path), frame.call(function, (x,), {}))
        body, types = tuple(block), frame.builder.types
        own = tuple(leaf for leaf in leaves(x) if isinstance(leaf, Sym))
        free = (read(body) | rule_reads(body)) - rule_binds(body) - {s.name for s in own}
        around = tuple(Sym(Var(n), types[n]) for n in sorted(free) if types[n].is_float)
        return cls(frame, body, own, around, result)

    def pushed(self, moving: tuple[Sym, ...], dots: tuple[Value, ...]) -> Value:
        """The tangent of the left side where these move."""
        chosen = [(m, d) for m, d in zip(moving, dots, strict=True) if isinstance(d, Sym) or is_number(d) and d]
        program = forward(self.program(), [[m.name for m, _ in chosen]], splice, values=0)
        return self.inlined(program, [d for _, d in chosen], self.result)

    def pulled(self, moving: tuple[Sym, ...], bars: Value) -> list[Value]:
        """The cotangents of these for that of the left side."""
        program = reverse(self.program(), [m.name for m in moving], splice, seeds=True)
        return list(leaves(self.inlined(program, list(leaves(bars)), list(moving))))

    def program(self) -> Function:
        """The left side as a program."""
        types = dict(self.frame.builder.types)
        params = sorted((read(self.block) | rule_reads(self.block)) - rule_binds(self.block))
        every = dict.fromkeys([*(s.name for s in self.x), *params])
        items = tuple(operand_of(v) for v in leaves(self.result))
        result: Operand = items[0] if len(items) == 1 else Pack(items)
        return Function("equation", tuple(Var(n) for n in every), self.block, result, types)

    def inlined(self, program: Function, given: list[Value], like: Value) -> Value:
        """The results of a program about the equation, written into the program that is read."""
        builder, known = self.frame.builder, {p.name for p in self.program().params}
        builder.symbols = max(builder.symbols, last_symbol(program.types.values()))
        seeds = [p.name for p in program.params if p.name not in known]
        own = rule_binds(program.body) | set(seeds)
        names = {n: builder.variable(n, replace(program.types[n], value=None)).name for n in sorted(own) if n in program.types}
        for seed, value in zip(seeds, given, strict=True):
            builder.copy_to(Sym(Var(names[seed]), builder.types[names[seed]]), value)
        for stmt in rename(program.body, names):
            builder.emit(stmt)
        results = iter(entries_of(program.result))

        def leaf(_: Value, path: str) -> Value:
            operand = next(results)
            if not isinstance(operand, Var):
                return operand.value  # type: ignore[union-attr]
            name = names.get(operand.name, operand.name)
            return Sym(Var(name), builder.types[name])

        return map_leaves(leaf, like)


def _own(frame: Frame, value: Value, path: str) -> Value:
    """A leaf of the left side, in a variable of its own."""
    t = type_of(value) if isinstance(value, Sym) or is_number(value) else None
    if t is None or not t.is_float:
        raise errors.TypeInferenceError("an equation whose left side is no float or array of floats", frame.builder.loc)
    found = frame.builder.variable(f"r{path}", replace(t, value=None))
    frame.builder.copy_to(found, value)
    return found


@dataclass(frozen=True)
class Linear:
    """A linear function in a program that is read."""

    apply: Any

    def __call__(self, v: Value) -> Value:
        raise TypeError("it is called in programs that are read")

    def _stgrad_call_(self, frame: Frame, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        return self.apply(*args)


def _solved(frame: Frame, found: Value, like: Value, has_aux: bool, owner: str) -> tuple[Value, Value]:
    """The solution in variables of its own, and the auxiliary data."""
    if has_aux and (not isinstance(found, tuple) or len(found) != 2):
        raise errors.TypeInferenceError(f"`solve` of `{owner}` with has_aux=True must return a pair", frame.builder.loc)
    x, aux = found if has_aux else (found, None)
    if any(not isinstance(leaf, Sym) or not leaf.type.is_float for leaf in leaves(x)):
        x = map_leaves(lambda v, path: _own(frame, v, path), x)
    return outputs_of(frame, x), aux


def _root(self: CustomRoot, frame: Frame, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    f, guess, solve, tangent_solve, has_aux = _bound(frame, "custom_root", ("f", "initial_guess", "solve", "tangent_solve", "has_aux"), args, kwargs)
    with frame.builder.block() as body, frame.speculate(closed=True):
        x, aux = _solved(frame, frame.call(solve, (f, guess), {}), guess, bool(has_aux), "custom_root")
        aux = map_leaves(lambda v, _: _constant(frame, v), aux)
    equation = Equation.at(frame, f, x)
    _same_structure(frame, equation.result, x, "custom_root")
    # what the solver reads besides is where it starts and how it goes on: the solution does not depend on it
    site = Site(frame, Call(self, args, x), tuple(body), (), equation.around, "custom_root")

    def push(dots: Value) -> Value:
        y = equation.pushed(equation.around, tuple(dots))
        y = map_leaves(lambda v, _: frame.call(_negative, (v,), {}), y)
        if tangent_solve is None:
            return _dense(equation, y)
        return frame.call(tangent_solve, (Linear(lambda v: equation.pushed(equation.x, tuple(leaves(v)))), y), {})

    found = forward_rule(site, push) if equation.around else _emitted(site, body, x)
    return (found, aux) if has_aux else found


def _dense(equation: Equation, y: Value) -> Value:
    """The tangent of a solution by the matrix of the equation in it, in all numbers of its structure."""
    frame, parts = equation.frame, list(leaves(y))
    if len(parts) == 1:
        found = [frame.call(dense_solve, (Linear(lambda v: next(iter(leaves(equation.pushed(equation.x, (v,)))))), parts[0]), {})]
    elif len({type_of(part).dtype for part in parts}) > 1:  # type: ignore[union-attr]
        hint = "solve for parts of one dtype, or give `tangent_solve`"
        raise errors.TypeInferenceError("an equation in numbers of different dtypes is not solved by its matrix", frame.builder.loc, hint=hint)
    else:

        def image(v: Value) -> Value:
            dots = leaves(frame.call(split, (v, parts), {}))
            return frame.call(flat, (list(leaves(equation.pushed(equation.x, tuple(dots)))),), {})

        found = list(leaves(frame.call(split, (frame.call(dense_solve, (Linear(image), frame.call(flat, (parts,), {})), {}), parts), {})))
    rest = iter(found)
    return map_leaves(lambda *_: next(rest), y)


def _linear(self: CustomLinearSolve, frame: Frame, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    names = ("matvec", "b", "solve", "transpose_solve", "symmetric", "has_aux")
    matvec, b, solve, transpose_solve, symmetric, has_aux = _bound(frame, "custom_linear_solve", names, args, kwargs)
    if symmetric:
        transpose_solve = transpose_solve or solve
    with frame.builder.block() as body, frame.speculate(closed=True):
        x, aux = _solved(frame, frame.call(solve, (matvec, b), {}), b, bool(has_aux), "custom_linear_solve")
        aux = map_leaves(lambda v, _: _constant(frame, v), aux)
    equation = Equation.at(frame, matvec, x)
    _same_structure(frame, equation.result, b, "custom_linear_solve")
    inputs = (b, *equation.around)
    site = Site(frame, Call(self, args, x), tuple(body), (), inputs, "custom_linear_solve")
    depth = sum(c.function is self for c in frame.builder.rules)

    def inner(matvec: Value, y: Value, solve: Value, back: Value) -> Value:
        """The solve of a rule: one of these itself, so that it is transposed by its own equation."""
        if depth >= DEPTH:
            found = frame.call(solve, (matvec, y), {})
            return found[0] if has_aux else found
        found = frame.call(self, (matvec, y, solve, back, symmetric, has_aux), {})
        return found[0] if has_aux else found

    def push(dots: Value) -> Value:
        y = dots[0] if not equation.around else frame.call(difference, (dots[0], equation.pushed(equation.around, tuple(dots[1:]))), {})
        return frame.call(solve, (matvec, y), {})

    def pull(bar: Value) -> Value:
        vecmat = matvec if symmetric else Linear(lambda v: _shaped(equation.pulled(equation.x, v), x))
        b_bar = inner(vecmat, bar, transpose_solve, solve)
        rest = equation.pulled(equation.around, b_bar) if equation.around else []
        return (b_bar, *[frame.call(_negative, (v,), {}) for v in rest])

    frame.builder.rules.append(site.call)
    try:
        found = backward_rule(site, pull) if transpose_solve is not None else forward_rule(site, push)
    finally:
        frame.builder.rules.pop()
    return (found, aux) if has_aux else found


def _emitted(site: Site, body: Any, x: Value) -> Value:
    """A solution that depends on nothing."""
    for stmt in body:
        site.frame.builder.emit(stmt)
    return x


def _constant(frame: Frame, value: Value) -> Value:
    return frame.builder.call("stop_gradient", (value,), value.type) if isinstance(value, Sym) and value.type.is_float else value


def _bound(frame: Frame, owner: str, names: tuple[str, ...], args: tuple[Value, ...], kwargs: dict[str, Value]) -> list[Value]:
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    if len(args) > len(names) or not given.keys() <= set(names) or not {names[0], names[1], names[2]} <= given.keys():
        raise errors.TypeInferenceError(f"`{owner}` takes {', '.join(names)}", frame.builder.loc)
    return [given.get(n) for n in names]


def _same_structure(frame: Frame, result: Value, like: Value, owner: str) -> None:
    one, other = list(leaves(result)), list(leaves(like))
    if len(one) != len(other) or any(type_of(a).rank != type_of(b).rank for a, b in zip(one, other, strict=True)):
        raise errors.ShapeError(f"the function of `{owner}` returns another structure or shape than what is solved for", frame.builder.loc)


def _shaped(flat: list[Value], like: Value) -> Value:
    rest = iter(flat)
    return map_leaves(lambda leaf, _: next(rest), like)


def _negative(v: Any) -> Any:
    return -v


CustomRoot._stgrad_call_ = _root  # type: ignore[attr-defined]
CustomLinearSolve._stgrad_call_ = _linear  # type: ignore[attr-defined]
