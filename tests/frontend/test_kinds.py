"""The class of a value, however the compiler represents it: `isinstance`, `type` and `hasattr` answer as in Python."""

import collections
import collections.abc as cabc
import functools
import numbers
import types

import pytest

import stgrad
from tests.frontend.expressions import check_expression
from tests.thorough import check_gradient

EXPRESSIONS = [
    'isinstance(range(3),range)',
    'isinstance(range(n),range)',
    'isinstance(d.keys(),list)',
    'isinstance(d.keys(),cabc.KeysView)',
    'isinstance(d.keys(),cabc.Set)',
    'isinstance(d.values(),list)',
    'isinstance(d.items(),cabc.Iterable)',
    'isinstance(zip([1],[2]),zip)',
    'isinstance(zip([1],[2]),list)',
    'isinstance(enumerate([1]),enumerate)',
    'isinstance(map(abs,[1]),map)',
    'isinstance(filter(None,[1]),filter)',
    'isinstance(reversed([1]),list)',
    'isinstance((v for v in [1]),types.GeneratorType)',
    'isinstance((v for v in [1]),cabc.Iterator)',
    'isinstance(iter([1]),cabc.Iterator)',
    'isinstance(iter([1]),list)',
    'isinstance([1],cabc.Iterator)',
    'isinstance([1],cabc.Sequence)',
    'isinstance(d,cabc.Mapping)',
    'isinstance(d,dict)',
    'isinstance(od,dict)',
    'isinstance(od,collections.OrderedDict)',
    'isinstance(dd,collections.defaultdict)',
    'isinstance(dd,dict)',
    'isinstance(q,collections.deque)',
    'isinstance(q,list)',
    'isinstance(cnt,collections.Counter)',
    'isinstance(cnt,dict)',
    'isinstance(rows,list)',
    'isinstance(rows,tuple)',
    'isinstance(tuple(rows),tuple)',
    'isinstance(tuple(rows),list)',
    'type(tuple(rows)) is tuple',
    'type(rows) is list',
    'type(d) is dict',
    'type(od) is dict',
    'type(dd) is dict',
    'type(q) is list',
    'type(range(3)) is range',
    'type(d.keys()) is list',
    'type(cnt) is dict',
    'isinstance(g,types.FunctionType)',
    'callable(g)',
    'callable(x)',
    'callable(lam)',
    'isinstance(lam,cabc.Callable)',
    'isinstance(x,float)',
    'isinstance(x,(int,float))',
    'isinstance(x,numbers.Number)',
    'isinstance(x,numbers.Real)',
    'isinstance(n,numbers.Integral)',
    'isinstance(n,int)',
    'isinstance(n>1,bool)',
    'isinstance(x>1,bool)',
    'isinstance(x>1,int)',
    'isinstance({x,1.0},set)',
    'isinstance({1,2},set)',
    'isinstance(frozenset([1]),set)',
    'isinstance(f"{x}",str)',
    'isinstance("a",str)',
    'isinstance(slice(0,n),slice)',
    'isinstance(None,type(None))',
    'isinstance(o,float)',
    'isinstance(o,type(None))',
    'isinstance(o,int)',
    'o is None',
    'type(o) is float',
    'isinstance(p,int)',
    'isinstance(np.ones(3),np.ndarray)',
    'isinstance(np.ones(n),np.ndarray)',
    'isinstance(np.sum(np.ones(n)),np.floating)',
    'isinstance(np.sum(np.ones(n)),float)',
    'isinstance(np.ones(3)[0],np.float64)',
    'isinstance(np.arange(3)[0],int)',
    'isinstance(np.arange(3)[0],np.integer)',
    'isinstance(x*1j,complex)',
    'isinstance(rows,cabc.Sized)',
    'isinstance(pt,tuple)',
    'isinstance(pt,PT)',
    'isinstance(pt[0],float)',
    'isinstance(pt[1],int)',
    'isinstance(obj,Base)',
    'isinstance(obj,Derived)',
    'isinstance(obj.m,types.MethodType)',
    'callable(obj)',
    'callable(obj.m)',
    'issubclass(type(obj),Base)',
    'type(obj) is Derived',
    'type(obj).__name__=="Derived"',
    'type(x).__name__=="float"',
    'type(d).__name__=="dict"',
    'type(rows).__name__=="list"',
    'obj.__class__ is Derived',
    'obj.__class__.__name__=="Derived"',
    'isinstance(Derived,type)',
    'isinstance(np.sin,np.ufunc)',
    'hasattr(d,"keys")',
    'hasattr(x,"shape")',
    'hasattr(np.ones(n),"shape")',
    'hasattr(rows,"append")',
    'hasattr(rows,"__name__")',
    'hasattr(d,"mro")',
    'hasattr([1],"__call__")',
    'hasattr((1,),"__name__")',
    'hasattr("a","__name__")',
    'hasattr(range(3),"__name__")',
    'hasattr(g,"__call__")',
    'hasattr(tuple(rows),"append")',
    'hasattr(d.keys(),"append")',
    'hasattr(q,"appendleft")',
    'hasattr(q,"sort")',
    'hasattr([1],"appendleft")',
    'hasattr(od,"move_to_end")',
    'hasattr(d,"move_to_end")',
    'hasattr(dd,"default_factory")',
    'hasattr(d,"default_factory")',
    'hasattr(range(3),"start")',
    'hasattr((v for v in [1]),"send")',
    'hasattr(obj,"v")',
    'hasattr(obj,"w")',
    'hasattr(obj,"m")',
    'hasattr("a","upper")',
    'hasattr(g,"__name__")',
    'hasattr(x,"__len__")',
    'hasattr(rows,"__len__")',
    'hasattr(d,"__getitem__")',
    'hasattr(np.ones(n),"__len__")',
    'hasattr(obj,"__call__")',
    'hasattr(q,"maxlen")',
    'len(d.keys())==len(od)',
    'isinstance(partial,functools.partial)',
    'isinstance(np.random.default_rng(0),np.random.Generator)',
    'np.iscomplexobj(x)',
    'np.isscalar(x)',
    'np.isscalar(rows)',
    'np.isscalar(n)',
    'np.isrealobj(rows)',
    'np.ndim(rows)==1',
    'isinstance(memo,dict)',
    'isinstance(x,np.float64)',
    'isinstance(np.float64(x),np.float64)',
    'isinstance(np.float64(x),float)',
    'isinstance(int(x),int)',
    'isinstance(round(x),int)',
    'isinstance(x//1,float)',
    'isinstance(n/2,float)',
    'isinstance(n**2,int)',
    'isinstance(n**-1,float)',
    'isinstance(abs(n),int)',
    'isinstance(sum([1,2]),int)',
    'isinstance(sum([x]),float)',
    'isinstance(len(rows),int)',
    'isinstance(max(n,2),int)',
    'isinstance(divmod(n,2),tuple)',
    'isinstance([*rows],list)',
    'isinstance((*rows,),tuple)',
    'isinstance(rows[:1],list)',
    'isinstance(dict(a=x),dict)',
    'isinstance(tuple(v for v in rows),tuple)',
    'isinstance([v for v in rows],list)',
    'isinstance({k:v for k,v in d.items()},dict)',
    'isinstance(sorted(rows),list)',
    'isinstance(list(d),list)',
    'isinstance(x.__class__,type)',
]
BODY = """
def f(x, n, flag=None):
    d = {{"a": 1, "b": x}}
    od = collections.OrderedDict(a=1, b=x)
    dd = collections.defaultdict(float, a=x)
    q = collections.deque([x, 1.0])
    cnt = collections.Counter("aab")
    pt = PT(x, 1)
    obj = Derived(x)
    lam = lambda v: v * x
    partial = functools.partial(pow, 2)
    memo = dict()
    o = None if x > 1 else 2.0
    p = None if flag is None else 5
    rows = []
    for i in range(int(x * 2)):
        if i > 0:
            rows.append(x)
    def g():
        return 1
    k = ({})
    return x * k * 1.0
"""
PT = collections.namedtuple("PT", "a b")


class Base:
    def __init__(self, v):
        self.v = v


class Derived(Base):
    def m(self):
        return self.v


SCOPE = {"collections": collections, "PT": PT, "Derived": Derived, "Base": Base, "types": types, "numbers": numbers, "cabc": cabc, "functools": functools}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions(expression):
    check_expression(BODY, expression, SCOPE, [(1.5, 2), (0.7, 1), (1.5, 2, 1)])


def ordered(x):
    d = collections.OrderedDict()
    d["b"] = x
    d["a"] = 2 * x
    d.move_to_end("b")
    _, v = d.popitem(last=False)
    return v * x * (2.0 if d == collections.OrderedDict(b=x) and list(d) == ["b"] else 1.0)


def joined(x):
    if x > 1:
        d = collections.OrderedDict(a=x, b=1)
    else:
        d = collections.OrderedDict(a=2 * x, b=1)
    return d["a"] * x if d == collections.OrderedDict(b=1, a=x) else x


def queued(x):
    q = collections.deque()
    for i in range(int(4 * x)):
        q.appendleft(x * i)
        if i % 2:
            q.rotate(1)
    return q[0] * x + (10.0 if isinstance(q, collections.deque) and not isinstance(q, list) and q != list(q) else 0.0)


def list_or_tuple(x):
    shape = [x, 2.0] if x > 1 else (x, 3.0)
    return x * shape[0] * (5.0 if isinstance(shape, list) else 7.0)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("x", [1.5, 0.7])
@pytest.mark.parametrize("function", [ordered, joined, queued])
def test_programs(function, x, jit):
    assert stgrad.value_and_grad(function, jit=jit)(x)[0] == function(x)


@pytest.mark.parametrize("x", [1.5, 0.7])
def test_a_list_or_a_tuple(x):
    """What it is may not be asked; its items are read."""
    with pytest.raises(stgrad.errors.StgradError, match="may be a list or tuple"):
        stgrad.grad(list_or_tuple)(x)

    def items(x):
        a, b = [x, 2.0] if x > 1 else (x, 3.0)
        c = [-x] * 2 if x > 1 else (a, b)
        return a * b + c[0] * len(c) + sum(c) + (x if isinstance(c, (list, tuple)) else 0.0)

    check_gradient(items, (x,))


def added(x):
    c = [x, 2.0] if x > 1 else (x, 3.0)
    return (c + c)[0]


def compared(x):
    c = [x, 2.0] if x > 1 else (x, 3.0)
    return x if c == (1.0, 2.0) else 2.0 * x


def asked_for(x):
    c = [x, 2.0] if x > 1 else (x, 3.0)
    return x if hasattr(c, "append") else 2.0 * x


def longer(x):
    c = [x, 2.0] if x > 1 else (x, 3.0)
    c.append(x)
    return sum(c)


def put_into(x):
    c = [x, 2.0] if x > 1 else (x, 3.0)
    try:
        c[0] = 5.0
    except TypeError:
        return x
    return sum(c) * x


def changed_under_its_other_name(x):
    rows = [x, 2.0]
    c = rows if x > 1 else (x, 3.0)
    rows[0] = 9.0 * x
    return c[0] * x


def returned(x):
    return [x, 2.0] if x > 1 else (x, 3.0)


@pytest.mark.parametrize("f", [added, compared, asked_for, longer, put_into, changed_under_its_other_name, returned], ids=lambda f: f.__name__)
def test_what_only_one_of_them_does(f):
    with pytest.raises(stgrad.errors.StgradError):
        stgrad.jit(f)(1.5)


def test_what_python_has_and_is_not_read():
    """No AttributeError: Python raises none."""

    def f(x):
        counts = collections.Counter("aab")
        try:
            n = len(list(counts.elements()))
        except AttributeError:
            n = 7
        return x * n

    def g(x):
        return x * (2.0 if hasattr(collections.Counter("aab"), "elements") else 3.0)

    with pytest.raises(stgrad.errors.UnsupportedSyntaxError, match="Counter.elements"):
        stgrad.grad(f)(1.5)
    assert stgrad.grad(g)(1.5) == 2.0
