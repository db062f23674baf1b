"""Results that belong to the caller alone: copied where they may share memory with a parameter or with each other."""

from __future__ import annotations

from dataclasses import replace

from stgrad.analysis.alias import Classes
from stgrad.ir import Assign, Function, Operand, Pack, Stmt, Var
from stgrad.names import Names


def own_results(fn: Function, *, moved: bool = False) -> Function:
    """A program whose array results are neither its parameters nor each other; `moved`: what an operation takes over counts, too."""
    classes, names, types = Classes(fn.body, fn.types, moved=moved), Names([*fn.types, *(p.name for p in fn.params)]), dict(fn.types)
    taken = {classes.find(p.name) for p in fn.params}
    copies: list[Stmt] = []

    def own(operand: Operand) -> Operand:
        if not isinstance(operand, Var) or not fn.types[operand.name].array:
            return operand
        if classes.find(operand.name) not in taken:
            taken.add(classes.find(operand.name))
            return operand
        copy = Var(names.fresh(operand.name))
        types[copy.name] = replace(fn.types[operand.name], value=None)
        copies.append(Assign((copy,), "np.copy", (operand,)))
        return copy

    result = Pack(tuple(map(own, fn.result.items))) if isinstance(fn.result, Pack) else own(fn.result)
    return replace(fn, body=(*fn.body, *copies), result=result, types=types)
