"""Exceptions that are certain while a program is read, as a `try` in it catches them: what Python raises, reading finds."""

import linecache

import numpy as np
import pytest

import stgrad

# fmt: off
PROGRAMS = [
'try: n=len(x)\nexcept TypeError: n=7\nreturn np.sum(x)*n',
'try: it=iter(x); n=1.\nexcept TypeError: n=7\nreturn np.sum(x)*n',
'try: m,n=x.shape\nexcept ValueError: m,n=1,x.shape[0]\nexcept AttributeError: m,n=2,5\nreturn np.sum(x)*n*m',
'try: n=x.shape[1]\nexcept (IndexError,AttributeError): n=3\nreturn np.sum(x)*n',
'try: y=float(x)\nexcept TypeError: y=np.sum(x)*2\nreturn y*2',
'try: y=x+None\nexcept TypeError: y=x*2\nreturn np.sum(y)',
'try: y=x.foo()\nexcept AttributeError: y=x*2\nreturn np.sum(y)',
'try: y=x[0]*1.0\nexcept (TypeError,IndexError): y=x*2\nreturn np.sum(y)',
'try: y=x.item()\nexcept AttributeError: y=x*2\nexcept ValueError: y=x*3\nreturn np.sum(y)',
'try: y="a"+1\nexcept TypeError: y=x*2\nreturn np.sum(y)',
'try: y=int("x")*x\nexcept ValueError: y=x*2\nreturn np.sum(y)',
'def h(a): return a\ntry: y=h(1,2)\nexcept TypeError: y=x*2\nreturn np.sum(y)',
'try: y=x.reshape(7)\nexcept ValueError: y=x*2\nexcept AttributeError: y=x*3\nreturn np.sum(y)',
'try: assert np.ndim(x)==1\nexcept AssertionError: return np.sum(x)*5\nreturn np.sum(x)',
'it=iter([1.,2.])\ntry:\n    next(it); next(it); next(it)\nexcept StopIteration: return np.sum(x)*5\nreturn np.sum(x)',
'd={"a":1.}\ntry: del d["b"]\nexcept KeyError: return np.sum(x)*5\nreturn np.sum(x)',
'l=[1,2]\ntry: l.remove(3)\nexcept ValueError: return np.sum(x)*5\nreturn np.sum(x)',
'l=[1,2]\ntry: k=l.index(3)\nexcept ValueError: return np.sum(x)*5\nreturn np.sum(x)',
'try: y=np.ones(2)+np.ones(3)\nexcept ValueError: return np.sum(x)*5\nreturn np.sum(x)',
'try: y=np.foo\nexcept AttributeError: return np.sum(x)*5\nreturn np.sum(x)',
'try: from math import foo\nexcept ImportError: return np.sum(x)*5\nreturn np.sum(x)',
'try: y=undefined_name\nexcept NameError: return np.sum(x)*5\nreturn np.sum(x)',
't=(1,2)\ntry: a,b,c=t\nexcept ValueError: return np.sum(x)*5\nreturn np.sum(x)',
't=(1,2)\ntry: t[0]=3\nexcept TypeError: return np.sum(x)*5\nreturn np.sum(x)',
'try: {}[[1]]\nexcept TypeError: return np.sum(x)*5\nreturn np.sum(x)',
'try: None.x\nexcept AttributeError: return np.sum(x)*5\nreturn np.sum(x)',
'try: 1/0\nexcept ZeroDivisionError: return np.sum(x)*5\nreturn np.sum(x)',
'import math\ntry: math.sqrt(-1)\nexcept ValueError: return np.sum(x)*5\nreturn np.sum(x)',
'try: [].pop()\nexcept IndexError: return np.sum(x)*5\nreturn np.sum(x)',
'try: max([])\nexcept ValueError: return np.sum(x)*5\nreturn np.sum(x)',
'try: np.zeros(3).reshape(2,2)\nexcept ValueError: return np.sum(x)*5\nreturn np.sum(x)',
'try: np.zeros((2,3))@np.zeros((2,3))\nexcept ValueError: return np.sum(x)*5\nreturn np.sum(x)',
'try: np.linalg.inv(np.zeros((2,2)))\nexcept np.linalg.LinAlgError: return np.sum(x)*5\nreturn np.sum(x)',
'try: np.sum(x,axis=4)\nexcept (np.exceptions.AxisError,IndexError): return np.sum(x)*5\nreturn np.sum(x)',
'try: np.ones(3)[5]\nexcept IndexError: return np.sum(x)*5\nreturn np.sum(x)',
'try: float("abc")\nexcept ValueError: return np.sum(x)*5\nreturn np.sum(x)',
'try: sorted([1,"a"])\nexcept TypeError: return np.sum(x)*5\nreturn np.sum(x)',
'try: 3 < "a"\nexcept TypeError: return np.sum(x)*5\nreturn np.sum(x)',
'try: bool(np.ones(3))\nexcept ValueError: return np.sum(x)*5\nreturn np.sum(x)',
'try:\n    if x > 0: y=1.\n    else: y=2.\nexcept ValueError: y=5.\nreturn np.sum(x)*y',
'try:\n    try: raise KeyError("a")\n    finally: x=x*2\nexcept LookupError: return np.sum(x)*5',
'try: x.T.foo\nexcept AttributeError as e: return np.sum(x)*len(e.args)\nreturn np.sum(x)',
'try: y=x.astype("nonsense")\nexcept (TypeError,AttributeError): y=x*2\nreturn np.sum(y)',
'try: y=x**0.5\nexcept TypeError: y=x*2\nelse: y=y+1\nfinally: x=x*3\nreturn np.sum(y)+np.sum(x)',
'try: isinstance(x,3)\nexcept TypeError: return np.sum(x)*5\nreturn np.sum(x)',
'try: np.linalg.cholesky(-np.eye(2))\nexcept np.linalg.LinAlgError: return np.sum(x)*5\nreturn np.sum(x)',
'try: range(3)[5]\nexcept IndexError: return np.sum(x)*5\nreturn np.sum(x)',
'try: y = x.values\nexcept AttributeError: y = x\nreturn np.sum(y*2)',
'try: y = x.to_numpy()\nexcept AttributeError: y = np.asarray(x)\nreturn np.sum(y*2)',
'try: iter(5)\nexcept TypeError: return np.sum(x)*5\nreturn np.sum(x)',
'try: import cupy as xp\nexcept ImportError: import numpy as xp\nreturn xp.sum(x*2)',
'try: len(5)\nexcept Exception as e: return np.sum(x)*5\nreturn np.sum(x)',
'try: return np.dot(x,np.ones(9)).sum()\nexcept ValueError: return np.sum(x)*5',
'try: y=x.copy()\nexcept AttributeError: y=x\ny=y*2\nreturn np.sum(y)',
'try: y=x.__len__()\nexcept AttributeError: y=9\nexcept TypeError: y=11\nreturn np.sum(x)*y',
]
# fmt: on
ARGUMENTS = [1.3, np.array([0.4, 1.2, 0.8]), np.array([[0.4, 1.2]])]


def function_of(text):
    source = "def f(x):\n" + "".join(f"    {line}\n" for line in text.split("\n"))
    name = f"<certain {hash(text)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    scope = {"np": np}
    exec(compile(source, name, "exec"), scope)  # noqa: S102
    return scope["f"]


@pytest.mark.parametrize("argument", ARGUMENTS, ids=["number", "vector", "matrix"])
@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("text", PROGRAMS, ids=range(len(PROGRAMS)))
@pytest.mark.filterwarnings("error::stgrad.errors.RunsPlainlyWarning")
def test_caught_as_in_python(text, jit, argument):
    function = function_of(text)
    try:
        expected = function(argument)
    except Exception as problem:  # noqa: BLE001
        with pytest.raises((type(problem), stgrad.errors.StgradError)):
            stgrad.grad(function, jit=jit)(argument)
        return
    value, gradient = stgrad.value_and_grad(function, jit=jit)(argument)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    step = 1e-6 * np.cos(np.arange(np.size(argument))).reshape(np.shape(argument))
    ends = [argument + sign * step if np.ndim(argument) else float(argument + sign * step) for sign in (1.0, -1.0)]
    difference = (function(ends[0]) - function(ends[1])) / 2.0
    np.testing.assert_allclose(np.sum(gradient * step), difference, rtol=1e-5, atol=1e-12)
