"""The functions of scipy.special for compiled code: SciPy's own C functions, called by their address.

Generated text calls `scipy.special.psi`, in plain Python and under Numba, which this module teaches to compile it: as a call of a symbol that is
known to the linker of each process that imports the module, so that native code can be kept on disk. Those of SciPy's functions that are no C functions
of numbers (`zeta`, `polygamma`) are written here.

>>> import numba
>>> from stgrad.runtime import special
>>> import scipy.special
>>> "psi" in special.ARITY, "logsumexp" in special.ARITY
(True, False)
>>> bool(numba.njit(lambda x: scipy.special.psi(x))(1.0) == scipy.special.psi(1.0))
True
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import llvmlite.binding
import numpy as np
import scipy.special
import scipy.special.cython_special as exported
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload, register_jitable

from stgrad.runtime.capsules import entry

_FORM = re.compile(r"double \((double(?:, double)*), int __pyx_skip_dispatch\)$")
_PREFIX = re.compile(r"__pyx_fuse_\d+(?:_\d+)*")
_SHORT = frozenset([types.float32, types.boolean, types.int8, types.int16, types.uint8, types.uint16])  # what ufuncs compute in single precision
_ZETA = (
    12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1.8924375803183791606e9, 7.47242496e10, -2.950130727918164224e12, 1.1646782814350067249e14,
    -4.5979787224074726105e15, 1.8152105401943546773e17, -7.1661652561756670113e18,
)  # fmt: skip


def _exports() -> Iterator[tuple[str, int, int]]:
    """Name, number of arguments and address of each C function that takes doubles, gives one, and is a ufunc of scipy.special."""
    for key, capsule in exported.__pyx_capi__.items():
        (form, address), name = entry(capsule), _PREFIX.sub("", key)
        match = _FORM.match(form)
        if match and isinstance(getattr(scipy.special, name, None), np.ufunc):
            yield name, match[1].count("double"), address


ARITY = {name: count for name, count, _ in _exports()}
ARITY |= {"zeta": 2, "polygamma": 2}


def _called(name: str) -> Callable[..., Any]:
    """What compiles a call of a C function: its arguments go as doubles, the result has the dtype that the ufunc gives."""

    @intrinsic
    def emitted(typingctx: Any, args: Any) -> Any:
        if not all(isinstance(kind, (types.Float, types.Integer, types.Boolean)) for kind in args):
            return None
        single = all(kind in _SHORT for kind in args)

        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            given = [context.cast(builder, builder.extract_value(values[0], i), kind, types.float64) for i, kind in enumerate(args)]
            form = ir.FunctionType(ir.DoubleType(), [ir.DoubleType()] * len(given) + [ir.IntType(32)])
            function = cgutils.get_or_insert_function(builder.module, form, f"stgrad_special_{name}")
            result = builder.call(function, [*given, ir.IntType(32)(0)])
            return builder.fptrunc(result, ir.FloatType()) if single else result

        return (types.float32 if single else types.float64)(args), codegen

    forms: dict[int, Callable[..., Any]] = {
        1: lambda a: lambda a: emitted((a,)),
        2: lambda a, b: lambda a, b: emitted((a, b)),
        3: lambda a, b, c: lambda a, b, c: emitted((a, b, c)),
        4: lambda a, b, c, d: lambda a, b, c, d: emitted((a, b, c, d)),
    }
    return forms[ARITY[name]]


@register_jitable
def _zeta(x: float, q: float) -> Any:
    """Hurwitz's zeta function by Euler and Maclaurin's formula (DLMF 25.11.5), with the bounds of Cephes' `zeta`."""
    if x == 1.0:
        return math.inf
    if x < 1.0 or x != x or q != q:
        return math.nan
    if q <= 0.0 and q == math.floor(q):
        return math.inf
    if q <= 0.0 and x != math.floor(x):
        return math.nan
    if q > 1e8:
        return (1.0 / (x - 1.0) + 1.0 / (2.0 * q)) * q ** (1.0 - x)
    total, at, term = q**-x, q, 0.0
    for _ in range(9 + int(max(0.0, 9.0 - q))):
        at += 1.0
        term = at**-x
        total += term
        if abs(term) < 1.1102230246251565e-16 * abs(total):
            return total
    total += term * at / (x - 1.0) - 0.5 * term
    rising, k = 1.0, 0.0
    for bernoulli in _ZETA:
        rising *= x + k
        term /= at
        part = rising * term / bernoulli
        total += part
        if abs(part) < 1.1102230246251565e-16 * abs(total):
            return total
        rising *= x + k + 1.0
        term /= at
        k += 2.0
    return total


def _zeta_call(x: Any, q: Any) -> Any:
    return lambda x, q: _zeta(float(x), float(q))


def _polygamma_call(n: Any, x: Any) -> Any:
    """psi for n = 0, else (-1)**(n + 1) n! zeta(n + 1, x) (DLMF 5.15.2)."""
    psi = scipy.special.psi

    def call(n: Any, x: Any) -> Any:
        if n == 0:
            return psi(float(x))
        return (-1.0 if n % 2 == 0 else 1.0) * math.gamma(n + 1.0) * _zeta(n + 1.0, float(x))

    return call


for _name, _, _address in _exports():
    llvmlite.binding.add_symbol(f"stgrad_special_{_name}", _address)
    overload(getattr(scipy.special, _name), strict=False)(_called(_name))
overload(scipy.special.zeta, strict=False)(_zeta_call)
overload(scipy.special.polygamma, strict=False)(_polygamma_call)
