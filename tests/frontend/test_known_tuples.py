"""Names of one value that the text binds twice: in tuples, lists and dicts they are compared as the numbers that they are."""

import linecache

import numpy as np
import pytest

import stgrad

EXPRESSIONS = [
    '(2,2)==(dim,dim)',
    '(2,2)!=(dim,dim)',
    '(1,3)<(dim,1)',
    '(dim,1)<(2,2)',
    '(2,2) in [(dim,dim)]',
    '(dim,dim) in [(2,2)]',
    '(dim,dim) in {(2,2):1}',
    '{(2,2):3}.get((dim,dim),5)',
    '{(dim,dim):3}.get((2,2),5)',
    '{(dim,dim):3}[2,2]',
    'len({(2,2),(dim,dim)})',
    '[(1,1),(2,2)].index((dim,dim))',
    '[(dim,1),(2,2)].count((2,1))',
    'max((dim,1),(1,5))[0]',
    'max([(dim,1),(1,5)])[0]',
    'sorted([(dim,1),(1,5)])[0][1]',
    'sorted([dim,1])[0]',
    'len(str((dim,dim)))',
    'len(f"{(dim,3)}")',
    'len("%s" % (dim,))',
    'len("{}-{}".format(dim,(dim,)))',
    '{"a":dim}=={"a":2}',
    '{"a":(dim,)}=={"a":(2,)}',
    '[dim]==[2]',
    '[[dim],1]==[[2],1]',
    '{dim}=={2}',
    '{dim,3}-{2}=={3}',
    'sum((dim,dim))',
    'sum([dim,1])',
    '(dim,)+(1,)==(2,1)',
    '(dim,)*2==(2,2)',
    '(dim,1)[0]*(dim,4)[1]',
    'np.array([dim,3]).sum()',
    'np.zeros((dim,dim)).size',
    'list(range(dim))==[0,1]',
    'tuple(range(dim))==(0,1)',
    '(dim==2)+0',
    'dim in (1,2)',
    'dim not in (1,2)',
    'dim in {2:1}',
    '{2:7}[dim]',
    '{dim:7}[2]',
    '"ab"*dim=="abab"',
    '"abc"[dim]=="c"',
    '"abc"[:dim]=="ab"',
    '[1,2,3][dim]',
    'divmod(dim,2)==(1,0)',
    'min(dim,5)==2',
    'isinstance(dim,int)+0',
    'hash(dim)==hash(2)',
    'any(d==2 for d in (dim,1))',
    'all(d==2 for d in (dim,dim))',
    '[d for d in (dim,3) if d==2]==[2]',
    '{d:1 for d in (dim,3)}=={2:1,3:1}',
    'dict(a=dim)=={"a":2}',
    'tuple(zip((dim,1),(3,4)))==((2,3),(1,4))',
    'list(enumerate([dim]))==[(0,2)]',
    'set((dim,2,3))=={2,3}',
    '(dim,dim).count(2)',
    '(dim,dim).index(2)',
    '(1,dim)[::-1]==(2,1)',
    'slice(dim)==slice(2)',
    'complex(dim)==2',
    '(dim,"a")==(2,"a")',
    '(dim,None)==(2,None)',
    '(dim,(dim,[dim]))==(2,(2,[2]))',
    'bool((dim-2,))+0',
    '(not [dim])+0',
    '(dim,x)==(2,x)',
    '(dim,x)==(3,x)',
    '(dim,x)!=(2,x+1)',
    'np.shape(np.ones((dim,3)))==(2,3)',
    'np.ones((2,3)).shape==(dim,3)',
    'np.ones((2,3)).shape[0]==dim',
    'frozenset((dim,))==frozenset((2,))',
    'itertools.product((dim,),(1,)).__next__()==(2,1)',
    'functools.reduce(lambda a,b:a*b,(dim,dim))',
    'operator.itemgetter(0)((dim,1))==2',
    'math.prod((dim,3))',
    'list(map(int,(dim,3)))==[2,3]',
    '"a" if (dim,)==(2,) else 5',
]
HEAD = """
def f(x, flag=None):
    if flag is None:
        dim = 2
    else:
        dim = 1
    k = ({})
    return x * (k if not isinstance(k, str) else 3) * 1.0
"""


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions(expression, jit):
    import functools
    import itertools
    import math
    import operator

    source, name = HEAD.format(expression), f"<known {hash(expression)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    scope = {"np": np, "functools": functools, "itertools": itertools, "math": math, "operator": operator}
    exec(compile(source, name, "exec"), scope)  # noqa: S102
    function = scope["f"]
    assert stgrad.value_and_grad(function, jit=jit)(1.5)[0] == function(1.5)


def by_a_loop(x):
    dim = 0
    while dim < 3:
        dim += 1
    return x * 2 if (dim, 1) == (3, 1) and [dim] == [3] and {"a": dim} == {"a": 3} else x


def by_a_branch(x):
    if x > 0:
        dim = 2
    else:
        dim = 3
    return x * 2 if (dim, 1) == (2, 1) and (2, 1) >= (dim, 0) else x


def matched(x, flag=None):
    if flag is None:
        dim = 2
    else:
        dim = 1
    match (dim, {"a": dim}):
        case (2, {"a": 2}):
            return x * 2
        case _:
            return x


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("x", [1.5, -1.5])
@pytest.mark.parametrize("function", [by_a_loop, by_a_branch, matched])
def test_programs(function, x, jit):
    assert stgrad.value_and_grad(function, jit=jit)(x)[0] == function(x)


def optional(x, v):
    return None if v > 7 else v


def behind_a_branch(x, v):
    n = optional(x, v)
    if x[1] == 0:
        return 0 * x[0]
    return np.arange(n).sum() * x[0]


def without_an_end(x, v):
    n = len(x[x > 0])
    return np.arange(n, stop=None, step=1).sum() * x[0] + np.arange(v, None).sum() * x[1]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("function", [behind_a_branch, without_an_end])
def test_what_may_be_nothing_as_an_argument(function, jit):
    x = np.array([0.3, 0.7, 0.9])
    assert stgrad.value_and_grad(function, jit=jit)(x, 4)[0] == pytest.approx(function(x, 4))
