"""Operations that make a number of numbers, element by element in arrays: arithmetic, comparisons, functions."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from stgrad.ir.ops.core import FIRST, define

FUNCTION = 20  # a transcendental function, in additions

# --------------------------------------------------------------------------- arithmetic

_PLAIN: dict[str, Any] = {"cost": 1, "total": True, "fused": True, "unrolled": True, "vector": True}
_SUM: dict[str, Any] = {**_PLAIN, "linear": (frozenset({0, 1}),), "integers": "grows"}

define("np.add", "arithmetic", signs=(1, 1), natural="kept", symbol="+", python=operator.add, **_SUM)
define("np.subtract", "arithmetic", signs=(1, -1), symbol="-", python=operator.sub, **_SUM)
define("np.multiply", "arithmetic", linear=(*FIRST, frozenset({1})), natural="kept", symbol="*", python=operator.mul, integers="grows", **_PLAIN)
define("np.negative", "arithmetic", signs=(-1,), linear=FIRST, symbol="-", python=operator.neg, **_PLAIN)
define("np.absolute", "arithmetic", natural="always", positive="kept", own=True, call="np.abs", python=abs, **_PLAIN)
define("np.square", "arithmetic", natural="always", **_PLAIN)
define("np.maximum", "arithmetic", picks=True, **_PLAIN)
define("np.minimum", "arithmetic", natural="kept", positive="kept", picks=True, **_PLAIN)
define("np.positive", "arithmetic", signs=(1,), linear=FIRST, symbol="+", python=operator.pos, cost=1, total=True, fused=True, vector=True)
define("np.divide", "arithmetic", linear=FIRST, natural="kept", symbol="/", python=operator.truediv, cost=10, fused=True, unrolled=True, vector=True,
       poles=True)
define("np.true_divide", "arithmetic", linear=FIRST, symbol="/", python=operator.truediv, cost=10, fused=True, poles=True)
define("np.floor_divide", "arithmetic", symbol="//", python=operator.floordiv, cost=4, fused=True)
define("np.remainder", "arithmetic", symbol="%", python=operator.mod, cost=4, fused=True, tuned="runtime.wrapped")
define("np.mod", "arithmetic", symbol="%", python=operator.mod, fused=True)
define("np.power", "arithmetic", symbol="**", python=operator.pow, integers="grows", cost=FUNCTION, fused=True, unrolled=True, vector="runtime.pow",
       exponent=1, poles=True)
define("max", "arithmetic", picks=True, cost=1, total=True, python=max)
define("min", "arithmetic", natural="kept", positive="kept", picks=True, cost=1, total=True, python=min)
define("np.left_shift", "arithmetic", fused=True, own=True, symbol="<<", python=operator.lshift, integers="grows")
define("np.right_shift", "arithmetic", fused=True, own=True, symbol=">>", python=operator.rshift)
define("np.bitwise_and", "arithmetic", fused=True, symbol="&", python=operator.and_, truths="np.logical_and")
define("np.bitwise_or", "arithmetic", fused=True, symbol="|", python=operator.or_, truths="np.logical_or")
define("np.bitwise_xor", "arithmetic", fused=True, symbol="^", python=operator.xor, truths="np.logical_xor")
define("np.invert", "arithmetic", fused=True, symbol="~", python=operator.invert, truths="np.logical_not")
define("np.fmod np.copysign np.heaviside", "arithmetic", fused=True)
define("np.float_power", "arithmetic", fused=True, exponent=1, poles=True)
define("np.fmax np.fmin", "arithmetic", picks=True, fused=True)

# --------------------------------------------------------------------------- comparisons and truth

for _name, _symbol, _python, _opposite, _swapped in (
    ("np.less", "<", operator.lt, "np.greater_equal", "np.greater"),
    ("np.less_equal", "<=", operator.le, "np.greater", "np.greater_equal"),
    ("np.greater", ">", operator.gt, "np.less_equal", "np.less"),
    ("np.greater_equal", ">=", operator.ge, "np.less", "np.less_equal"),
    ("np.equal", "==", operator.eq, "np.not_equal", "np.equal"),
    ("np.not_equal", "!=", operator.ne, "np.equal", "np.not_equal"),
):
    define(_name, "comparison", cost=1, total=True, fused=True, vector=True, symbol=_symbol, python=_python, opposite=_opposite,
           swapped=_swapped)  # fmt: skip
define("np.logical_and np.logical_or np.logical_not", "logical", cost=1, total=True, fused=True)
define("np.logical_xor", "logical", total=True, fused=True)
define("not", "logical", arity=1, differentiable=False, cost=1, total=True, fused=True, vector=True, python=operator.not_)
define("np.isnan np.isinf np.isfinite np.signbit", "predicate", total=True, fused=True)
define("np.where", "choice", picks=True, cost=2, fused=True)
define("select", "choice", picks=True, cost=1, total=True)  # of loop nests: np.where on elements
define("np.nan_to_num", "rule", picks=True)
define("np.clip", "choice", picks=True, fused=True)

# --------------------------------------------------------------------------- functions

define("np.sqrt", "function", positive="kept", cost=8, fused=True, unrolled=True, vector=True, natural="always")
define("math.sqrt", "function", positive="kept", cost=8, vector=True, natural="always")
define("np.fabs", "function", cost=1, fused=True)
define("math.fabs", "function", cost=1, vector=True, natural="always")
define("np.sign", "function", cost=1, fused=True)
define("np.exp", "function", cost=FUNCTION, fused=True, unrolled=True, vector="runtime.exp", natural="always", overflows=True)
define("math.exp", "function", cost=FUNCTION, vector="runtime.exp", natural="always")
for _short in ("expm1", "log", "log1p", "sin", "cos", "tan", "tanh"):
    define(f"np.{_short}", "function", cost=FUNCTION, fused=True, unrolled=_short in ("sin", "cos", "tan", "tanh"), vector=f"runtime.{_short}",
           poles=_short in ("log", "log1p"), overflows=_short == "expm1")  # fmt: skip
    define(f"math.{_short}", "function", cost=FUNCTION, vector=f"runtime.{_short}")
define("math.erf", "function", cost=FUNCTION, vector="runtime.erf")
define("scipy.special.erf", "function", cost=FUNCTION, fused=True, real=True, vector="runtime.erf")
define("scipy.special.expit", "function", cost=FUNCTION, fused=True, real=True, vector="runtime.sigmoid")
for _short in (  # that compiled code calls by their address
    "erfc erfcx erfi erfinv erfcinv dawsn ndtr log_ndtr ndtri ndtri_exp log_expit logit log1p expm1 exp2 exp10 cbrt cosm1 xlogy xlog1py entr rel_entr "
    "kl_div huber pseudo_huber boxcox boxcox1p powm1 expi exp1 expn sindg cosdg tandg ellipk ellipe hyp1f1 hyp2f1 hyp0f1 gamma gammaln loggamma rgamma psi "
    "polygamma zeta binom poch beta betaln betainc betaincc betaincinv betainccinv gammainc gammaincc gammaincinv gammainccinv stdtr stdtrit chdtri chdtr "
    "chdtrc pdtr j0 j1 jv y0 y1 yv yn i0 i1 iv i0e i1e ive k0 k1 kv kn k0e k1e kve eval_jacobi eval_legendre eval_sh_legendre eval_gegenbauer eval_chebyt "
    "eval_chebyu eval_laguerre eval_genlaguerre voigt_profile struve modstruve ber bei ker kei berp beip kerp keip exprel wrightomega owens_t "
    "inv_boxcox inv_boxcox1p ellipkinc ellipeinc ellipkm1 hyperu wright_bessel gdtr gdtrc nbdtr nbdtrc pdtrc"
).split():
    define(f"scipy.special.{_short}", "function", cost=FUNCTION, fused=True, real=True)
define("math.pow", "function", cost=FUNCTION, vector="runtime.pow", exponent=1)
define("np.cosh", "function", cost=FUNCTION, fused=True, unrolled=True, natural="always", positive="always", overflows=True)
define("math.cosh", "function", cost=FUNCTION, natural="always", positive="always")
define("np.hypot", "function", cost=FUNCTION, fused=True, natural="always")
define("math.hypot", "function", cost=FUNCTION, natural="always")
define("np.log2 np.log10 np.reciprocal np.arcsin np.arccos np.arccosh np.arctanh np.arctan2", "function", cost=FUNCTION, fused=True, poles=True)
define("np.exp2", "function", cost=FUNCTION, fused=True, overflows=True)
define("np.cbrt np.arcsinh np.logaddexp "
       "np.logaddexp2 np.deg2rad np.rad2deg np.radians np.degrees", "function", cost=FUNCTION, fused=True)  # fmt: skip
define("np.arctan", "function", cost=FUNCTION, fused=True, unrolled=True)
define("np.sinh", "function", cost=FUNCTION, fused=True, unrolled=True, overflows=True)
define("math.asin math.acos math.atan math.atan2 math.sinh math.asinh math.acosh math.atanh math.log2 math.log10 math.gamma math.lgamma math.erfc",
       "function", cost=FUNCTION)  # fmt: skip
define("np.floor np.ceil np.trunc np.rint", "function", fused=True)

# --------------------------------------------------------------------------- numbers of other types

define("float", "cast", natural="kept", positive="kept", arity=1, cost=0, vector=True, python=float)
define("complex", "cast", python=complex)
define("cast", "cast", arity=2, cost=1, vector=True)
define("int", "cast", arity=1, differentiable=False, cost=1, python=int)
define("np.int64", "arithmetic", signs=(1,), arity=1, differentiable=False, cost=1, python=np.int64, vector=True)  # of an integer
define("bool", "cast", arity=1, differentiable=False, python=bool)
define("np.real np.imag", "part", sharing="always", fused=True, own=True)
define("np.conjugate", "part", fused=True)
define("np.angle", "rule", own=True)
define("round math.floor math.ceil math.trunc", "whole", differentiable=False)
define("math.factorial math.comb math.perm", "count", differentiable=False, integers="unbounded")

# The other way: what the C library has for each function of `stgrad.runtime`.
for _short in ("exp", "expm1", "log", "log1p", "sin", "cos", "tan", "tanh"):
    define(f"runtime.{_short}", "function", cost=FUNCTION, vector=True, precise=f"np.{_short}")
define("runtime.erf", "function", cost=FUNCTION, vector=True, precise="math.erf")
define("runtime.pow", "function", cost=FUNCTION, vector=True, precise="np.power")
define("runtime.sigmoid", "function", cost=FUNCTION, vector=True, precise="runtime.expit")
define("runtime.expit", "function", cost=FUNCTION)
define("runtime.radd", "arithmetic", signs=(1, 1), vector=True)  # an addition of floats in any order
define("runtime.vmax runtime.vmin", "arithmetic")
define("runtime.divide", "arithmetic", arity=2)  # of complex numbers
define("runtime.wrapped", "arithmetic", arity=2)  # remainders of integers
define("runtime.safe_product", "arithmetic", arity=2, total=True)  # as people read what `picked` guards
define("runtime.opaque", "identity", total=True)  # hides a number from LLVM
define("runtime.clipped", "arithmetic", arity=2, differentiable=False, natural="always", cost=3, total=True)  # the position that a bound of a slice means
define("runtime.unsigned", "cast", signs=(1,), total=True)

# How a loop nest joins a value to what it adds up, and the operation that does it.
MODES = {
    "radd": "runtime.radd", "add": "np.add", "mul": "np.multiply", "max": "runtime.vmax", "min": "runtime.vmin", "or": "np.logical_or",
    "and": "np.logical_and",
}  # fmt: skip
# One instruction of LLVM's that it vectorises, and a chain of many where it does not: what takes the place of those in a loop around others.
IN_TURN = {"runtime.vmax": "np.maximum", "runtime.vmin": "np.minimum"}
