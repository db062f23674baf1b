"""The smallest programs that look at something outside, and what changes there: a module's text, then a statement on the module `m`.

`m.f` is a function of one float. After each change its derivative is that of the function as it now is.
"""

from __future__ import annotations

# name: (text of the module, what happens then)
CHANGES: dict[str, tuple[str, str]] = {
    "a global": ("k = 2.0\ndef f(x): return k * x * x", "m.k = 3.0"),
    "a global that goes for a builtin": ("def abs(x): return 5.0 * x\ndef f(x): return abs(x) * x", "del m.abs"),
    "a shadowed builtin": ("def f(x): return abs(-x) * x", "m.abs = lambda v: 7.0 * v"),
    "a function by name": ("def act(x): return x * x\ndef f(x): return act(x)", "m.act = lambda v: v * v * v"),
    "a function of another module": (
        "import math\ndef f(x): return math.sin(x)",
        "m.math = __import__('types').SimpleNamespace(sin=math.cos)",
    ),
    "the module itself": (
        "import math\ndef f(x): return math.sin(x) * math.pi",
        "import cmath, types\nm.math = types.SimpleNamespace(sin=lambda v: v, pi=2.0)",
    ),
    "numpy for a shim": (
        "import numpy as np\ndef f(x): return np.sin(x)",
        "import types\nm.np = types.SimpleNamespace(sin=lambda v: v * v)",
    ),
    "a global's zero": ("z = 0.0\ndef f(x): return math.copysign(1.0, z) * x * x\nimport math", "m.z = -0.0"),
    "a global's nan": ("import math\nz = 1.0\ndef f(x): return x * (2.0 if math.isnan(z) else 3.0)", "m.z = math.nan"),
    "an int for a bool": ("n = 1\ndef f(x): return x * (2.0 if n is True else 3.0)", "m.n = True"),
    "a method of a module's object": (
        "class Layer:\n    def __init__(self, k): self.k = k\n    def __call__(self, x): return self.k * x\nclass Net: pass\nobj = Net()\n"
        "obj.layer = Layer(2.0)\ndef f(x): return obj.layer(x) * x",
        "m.obj.layer = m.Layer(5.0)",
    ),
    "a method": (
        "class C:\n    def act(self, x): return x * x\nobj = C()\ndef f(x): return obj.act(x)",
        "m.C.act = lambda self, v: 3.0 * v",
    ),
    "a method on the instance": (
        "class C:\n    def act(self, x): return x * x\nobj = C()\ndef f(x): return obj.act(x)",
        "m.obj.act = lambda v: 3.0 * v",
    ),
    "a method of a base": (
        "class A:\n    def act(self, x): return x * x\nclass B(A): pass\nobj = B()\ndef f(x): return obj.act(x)",
        "m.A.act = lambda self, v: 3.0 * v",
    ),
    "a method that a subclass gets": (
        "class A:\n    def act(self, x): return x * x\nclass B(A): pass\nobj = B()\ndef f(x): return obj.act(x)",
        "m.B.act = lambda self, v: 3.0 * v",
    ),
    "a class attribute": ("class C:\n    k = 2.0\nobj = C()\ndef f(x): return obj.k * x", "m.C.k = 3.0"),
    "a class attribute that an instance shadows": ("class C:\n    k = 2.0\nobj = C()\ndef f(x): return obj.k * x", "m.obj.k = 3.0"),
    "an instance attribute that goes": ("class C:\n    k = 2.0\nobj = C()\nobj.k = 5.0\ndef f(x): return obj.k * x", "del m.obj.k"),
    "the class of an object": (
        "class A:\n    def act(self, x): return x * x\nclass B:\n    def act(self, x): return 3.0 * x\nobj = A()\ndef f(x): return obj.act(x)",
        "m.obj.__class__ = m.B",
    ),
    "the class of an object, asked for": (
        "class A: pass\nclass B: pass\nobj = A()\ndef f(x): return 2.0 * x if isinstance(obj, A) else 3.0 * x",
        "m.obj.__class__ = m.B",
    ),
    "the class of an object, called": (
        "class A:\n    def __call__(self, x): return x * x\nclass B:\n    def __call__(self, x): return 3.0 * x\nobj = A()\ndef f(x): return obj(x)",
        "m.obj.__class__ = m.B",
    ),
    "a class's call": (
        "class A:\n    def __call__(self, x): return x * x\nobj = A()\ndef f(x): return obj(x)",
        "m.A.__call__ = lambda self, v: 3.0 * v",
    ),
    "an attribute that appears": ("class C: pass\nobj = C()\ndef f(x): return (obj.k if hasattr(obj, 'k') else 2.0) * x", "m.obj.k = 3.0"),
    "an attribute that goes": (
        "class C: pass\nobj = C()\nobj.k = 3.0\ndef f(x): return (obj.k if hasattr(obj, 'k') else 2.0) * x",
        "del m.obj.k",
    ),
    "an attribute for a default": ("class C: pass\nobj = C()\ndef f(x): return getattr(obj, 'k', 2.0) * x", "m.obj.k = 3.0"),
    "an attribute for a default, of the class": ("class C: pass\nobj = C()\ndef f(x): return getattr(obj, 'k', 2.0) * x", "m.C.k = 3.0"),
    "a property": (
        "class C:\n    rate = 2.0\n    @property\n    def k(self): return self.rate\nobj = C()\ndef f(x): return obj.k * x",
        "m.C.k = property(lambda self: 7.0)",
    ),
    "what a property reads": (
        "class C:\n    @property\n    def k(self): return rate\nrate = 2.0\nobj = C()\ndef f(x): return obj.k * x",
        "m.rate = 3.0",
    ),
    "slots": ("class C:\n    __slots__ = ('k',)\nobj = C()\nobj.k = 2.0\ndef f(x): return obj.k * x", "m.obj.k = 3.0"),
    "a dynamic attribute": (
        "values = {'k': 2.0}\nclass C:\n    def __getattr__(self, name): return values[name]\nobj = C()\ndef f(x): return obj.k * x",
        "m.values['k'] = 3.0",
    ),
    "a module's attributes by a function": (
        "import sys\nme = sys.modules[__name__]\nhidden = 2.0\ndef __getattr__(name): return hidden\ndef f(x): return me.k * x",
        "m.hidden = 3.0",
    ),
    "code of a helper": (
        "def act(x): return x * x\ndef f(x): return act(x)\ndef other(x): return 5.0 * x",
        "m.act.__code__ = m.other.__code__",
    ),
    "code of the function": ("def f(x): return x * x\ndef other(x): return 5.0 * x", "m.f.__code__ = m.other.__code__"),
    "defaults of a helper": ("def act(x, k=2.0): return k * x\ndef f(x): return act(x)", "m.act.__defaults__ = (3.0,)"),
    "keyword defaults of a helper": ("def act(x, *, k=2.0): return k * x\ndef f(x): return act(x)", "m.act.__kwdefaults__ = {'k': 3.0}"),
    "a keyword default in place": ("def act(x, *, k=2.0): return k * x\ndef f(x): return act(x)", "m.act.__kwdefaults__['k'] = 3.0"),
    "defaults of the function": ("def f(x, k=2.0): return k * x", "m.f.__defaults__ = (3.0,)"),
    "keyword defaults of the function": ("def f(x, *, k=2.0): return k * x", "m.f.__kwdefaults__['k'] = 3.0"),
    "an attribute of a function": ("def act(x): return act.k * x\nact.k = 2.0\ndef f(x): return act(x)", "m.act.k = 3.0"),
    "keywords of a partial": (
        "from functools import partial\ndef act(x, k): return k * x\np = partial(act, k=2.0)\ndef f(x): return p(x)",
        "m.p.keywords['k'] = 3.0",
    ),
    "keywords of the partial itself": (
        "from functools import partial\ndef act(x, k): return k * x\nf = partial(act, k=2.0)",
        "m.f.keywords['k'] = 3.0",
    ),
    "code behind a partial": (
        "from functools import partial\ndef act(k, x): return k * x\ndef other(k, x): return k * x * x\np = partial(act, 2.0)\ndef f(x): return p(x)",
        "m.act.__code__ = m.other.__code__",
    ),
    "a cell": (
        "def make():\n    k = 2.0\n    def f(x): return k * x\n    def change(v):\n        nonlocal k\n        k = v\n    return f, change\nf, change = make()",
        "m.change(3.0)",
    ),
    "a cell by its contents": (
        "def make(k):\n    def f(x): return k * x\n    return f\nf = make(2.0)",
        "m.f.__closure__[0].cell_contents = 3.0",
    ),
    "a cell of a helper": (
        "def make(k):\n    def act(x): return k * x\n    return act\nact = make(2.0)\ndef f(x): return act(x)",
        "m.act.__closure__[0].cell_contents = 3.0",
    ),
    "a decorator's function": (
        "import functools\ndef twice(fn):\n    @functools.wraps(fn)\n    def inner(x): return 2.0 * fn(x)\n    return inner\n"
        "@twice\ndef act(x): return x * x\ndef f(x): return act(x)",
        "m.act = m.twice(m.act)",
    ),
    "a decorating object": (
        "import functools\nclass Twice:\n    def __init__(self, fn):\n        self.fn, self.k = fn, 2.0\n        functools.update_wrapper(self, fn)\n"
        "    def __call__(self, x): return self.k * self.fn(x)\n@Twice\ndef act(x): return x * x\ndef f(x): return act(x)",
        "m.act.k = 3.0",
    ),
    "an item": ("cfg = {'k': 2.0}\ndef f(x): return cfg['k'] * x", "m.cfg['k'] = 3.0"),
    "an item that appears": ("cfg = {}\ndef f(x): return cfg.get('k', 2.0) * x", "m.cfg['k'] = 3.0"),
    "an item asked for": ("cfg = {'j': 1}\ndef f(x): return x * (2.0 if 'k' in cfg else 3.0)", "m.cfg['k'] = 3.0"),
    "an item's sign of zero": ("import math\ncfg = [0.0]\ndef f(x): return math.copysign(x, cfg[0])", "m.cfg[0] = -0.0"),
    "an object in a list": ("class C: k = 2.0\nobjs = [C()]\ndef f(x): return objs[0].k * x", "m.objs[0].k = 3.0"),
    "a function in a dict": ("fns = {'a': lambda v: v * v}\ndef f(x): return fns['a'](x)", "m.fns['a'] = lambda v: 5.0 * v"),
    "a list's length": ("ks = [1.0, 2.0]\ndef f(x): return sum(k * x for k in ks)", "m.ks.append(4.0)"),
    "the order of a dict": ("cfg = {'a': 1.0, 'b': 3.0}\ndef f(x): return x * list(cfg.values())[0]", "m.cfg['a'] = m.cfg.pop('a')"),
    "a set": ("names = {'a'}\ndef f(x): return x * (2.0 if 'b' in names else 3.0)", "m.names.add('b')"),
    "a class of a container": (
        "class Bag(list):\n    def total(self): return rate\nrate = 2.0\nbag = Bag([1.0])\ndef f(x): return bag.total() * x",
        "m.rate = 3.0",
    ),
    "an array of another shape": (
        "import numpy as np\nw = np.ones((2, 2))\ndef f(x): return np.sum(w * x) * w.shape[0] * w.ndim",
        "m.w.resize((4,), refcheck=False)",
    ),
    "an array that gets an axis of one": (
        "import numpy as np\nw = np.ones((2, 3))\nv = np.ones((2, 3))\ndef f(x): return np.sum(w * v) * x",
        "m.w.resize((1, 3), refcheck=False)",
    ),
    "an array of another dtype": ("import numpy as np\nw = np.array([1.0, 2.0])\ndef f(x): return np.sum(w * x)", "m.w.dtype = np.int64"),
    "an array's numbers": ("import numpy as np\nw = np.array([1.0, 2.0])\ndef f(x): return np.sum(w * x)", "m.w[0] = 5.0"),
    "an array for another": ("import numpy as np\nw = np.array([1.0, 2.0])\ndef f(x): return np.sum(w * x)", "m.w = np.ones((3, 1))"),
    "an array in a default": (
        "import numpy as np\ndef act(x, w=np.ones(2)): return np.sum(w * x)\ndef f(x): return act(x)",
        "m.act.__defaults__ = (np.full(3, 2.0),)",
    ),
    "an array in a partial": (
        "import numpy as np\nfrom functools import partial\ndef act(w, x): return np.sum(w * x)\np = partial(act, np.ones(2))\ndef f(x): return p(x)",
        "m.p.args[0][0] = 5.0",
    ),
    "an array in a partial that is replaced": (
        "import numpy as np\nfrom functools import partial\ndef act(x, w): return np.sum(w * x)\np = partial(act, w=np.ones(2))\ndef f(x): return p(x)",
        "m.p.keywords['w'] = np.full(3, 2.0)",
    ),
    "a NamedTuple's method": (
        "from typing import NamedTuple\nclass P(NamedTuple):\n    k: float\n    def act(self, x): return self.k * x\np = P(2.0)\ndef f(x): return p.act(x)",
        "m.P.act = lambda self, v: 7.0 * v",
    ),
    "a NamedTuple": (
        "from typing import NamedTuple\nclass P(NamedTuple):\n    k: float\np = P(2.0)\ndef f(x): return p.k * x",
        "m.p = m.p._replace(k=3.0)",
    ),
    "a dataclass made inside": (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    k: float = 2.0\n    def act(self, x): return self.k * x\ndef f(x): return P().act(x)",
        "m.P.act = lambda self, v: 7.0 * v",
    ),
    "what a dataclass does after": (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    k: float = 2.0\ndef f(x): return P().k * x",
        "def after(self): self.k = 9.0\nm.P.__post_init__ = after",
    ),
    "an instance made inside": (
        "class P:\n    def __init__(self, k): self.k = k\n    def __mul__(self, x): return self.k * x\ndef f(x): return P(2.0) * x",
        "m.P.__mul__ = lambda self, v: 7.0 * v",
    ),
    "an operator that appears": (
        "class P:\n    def __init__(self, k): self.k = k\n    def __add__(self, x): return self.k + 2.0 * x\ndef f(x):\n    p = P(x)\n    p += x\n    return p",
        "m.P.__iadd__ = lambda self, v: self.k * v",
    ),
    "a class attribute of an instance made inside": (
        "class P:\n    k = 2.0\n    def act(self, x): return self.k * x\ndef f(x): return P().act(x)",
        "m.P.k = 3.0",
    ),
    "what super finds": (
        "class A:\n    def act(self, x): return x * x\nclass B(A):\n    def act(self, x): return 2.0 * super().act(x)\ndef f(x): return B().act(x)",
        "m.A.act = lambda self, v: 7.0 * v",
    ),
    "the bases of a class behind super": (
        "class A:\n    def act(self, x): return x * x\nclass A2:\n    def act(self, x): return 7.0 * x\nclass B(A):\n"
        "    def act(self, x): return 2.0 * super().act(x)\ndef f(x): return B().act(x)",
        "m.B.__bases__ = (m.A2,)",
    ),
    "the bases of a base behind super": (
        "class R: pass\nclass A:\n    def act(self, x): return x * x\nclass A2:\n    def act(self, x): return 7.0 * x\nclass M(A): pass\nclass B(M):\n"
        "    def act(self, x): return 2.0 * super().act(x)\ndef f(x): return B().act(x)",
        "m.M.__bases__ = (m.A2,)",
    ),
    "a class that comes between": (
        "class A:\n    def act(self, x): return x * x\nclass N(A):\n    def act(self, x): return 3.0 * super().act(x)\nclass B(A):\n"
        "    def act(self, x): return 2.0 * super().act(x)\ndef f(x): return B().act(x)",
        "m.B.__bases__ = (m.N,)",
    ),
    "a method that appears between": (
        "class A:\n    def act(self, x): return x * x\nclass N(A): pass\nclass B(N):\n    def act(self, x): return 2.0 * super().act(x)\n"
        "def f(x): return B().act(x)",
        "m.N.act = lambda self, v: 7.0 * v",
    ),
    "the bases of a class": (
        "class A:\n    k = 2.0\nclass A2:\n    k = 3.0\nclass B(A): pass\ndef f(x): return B().k * x + B.k * x",
        "m.B.__bases__ = (m.A2,)",
    ),
    "the bases of an instance made inside": (
        "class A: pass\nclass A2: pass\nclass B(A): pass\ndef f(x): return 2.0 * x if isinstance(B(), A) else 3.0 * x",
        "m.B.__bases__ = (m.A2,)",
    ),
    "the bases of an instance outside": (
        "class A: pass\nclass A2: pass\nclass B(A): pass\nb = B()\ndef f(x): return 2.0 * x if isinstance(b, (int, A)) else 3.0 * x",
        "m.B.__bases__ = (m.A2,)",
    ),
    "the bases of a subclass": (
        "class A: pass\nclass A2: pass\nclass B(A): pass\ndef f(x): return 2.0 * x if issubclass(B, A) else 3.0 * x",
        "m.B.__bases__ = (m.A2,)",
    ),
    "the bases of an exception": (
        "class A(Exception): pass\nclass A2(Exception): pass\nclass B(A): pass\ndef f(x):\n    try:\n        raise B('no')\n    except A:\n"
        "        return 2.0 * x\n    except Exception:\n        return 3.0 * x",
        "m.B.__bases__ = (m.A2,)",
    ),
    "the bases of an exception of the program": (
        "class A(Exception): pass\nclass A2(Exception): pass\nclass B(A): pass\ndef f(x):\n    try:\n        if x > 0.5: raise B('no')\n    except A:\n"
        "        return 2.0 * x\n    except Exception:\n        return 3.0 * x\n    return x",
        "m.B.__bases__ = (m.A2,)",
    ),
    "the bases of what a pattern takes": (
        "class A: pass\nclass A2: pass\nclass B(A): pass\nb = B()\ndef f(x):\n    match b:\n        case A(): return 2.0 * x\n    return 3.0 * x",
        "m.B.__bases__ = (m.A2,)",
    ),
    "a test of a class's own": (
        "k = True\nclass Meta(type):\n    def __instancecheck__(cls, v): return k\nclass A(metaclass=Meta): pass\nclass B: pass\nb = B()\n"
        "def f(x): return (2.0 if isinstance(b, A) else 3.0) * x",
        "m.k = False",
    ),
    "a class that joins one of two others": (
        "import abc\nclass A(abc.ABC): pass\nclass B: pass\nb = B()\ndef f(x): return (2.0 if isinstance(b, (int, A)) else 3.0) * x",
        "m.A.register(m.B)",
    ),
    "a static method": (
        "class A:\n    @staticmethod\n    def act(x): return x * x\ndef f(x): return A.act(x)",
        "m.A.act = staticmethod(lambda v: 7.0 * v)",
    ),
    "a class method": (
        "class A:\n    k = 2.0\n    @classmethod\n    def act(cls, x): return cls.k * x\ndef f(x): return A.act(x)",
        "m.A.k = 3.0",
    ),
    "another class": ("class A:\n    k = 2.0\nclass B:\n    k = 3.0\nC = A\ndef f(x): return C.k * x", "m.C = m.B"),
    "an enum": (
        "import enum\nclass E(enum.Enum):\n    A = 2.0\n    B = 3.0\nmode = E.A\ndef f(x): return x * mode.value",
        "m.mode = m.E.B",
    ),
    "an enum that decides": (
        "import enum\nclass E(enum.Enum):\n    A = 1\n    B = 2\nmode = E.A\ndef f(x): return 2.0 * x if mode is E.A else x * x",
        "m.mode = m.E.B",
    ),
    "an equality of its own": (
        "class C:\n    def __init__(self, k): self.k = k\n    def __eq__(self, other): return self.k == other.k\na, b = C(1), C(1)\n"
        "def f(x): return 2.0 * x if a == b else 3.0 * x",
        "m.b.k = 2",
    ),
    "a length of its own": ("n = 2\nclass C:\n    def __len__(self): return n\nc = C()\ndef f(x): return len(c) * x", "m.n = 3"),
    "an index of its own": ("n = 2.0\nclass C:\n    def __getitem__(self, i): return n\nc = C()\ndef f(x): return c[0] * x", "m.n = 3.0"),
    "members of its own": (
        "n = (1.0, 2.0)\nclass C:\n    def __iter__(self): return iter(n)\nc = C()\ndef f(x): return sum(v * x for v in c)",
        "m.n = (1.0, 5.0)",
    ),
    "a truth of its own": (
        "n = True\nclass C:\n    def __bool__(self): return n\nc = C()\ndef f(x): return 2.0 * x if c else 3.0 * x",
        "m.n = False",
    ),
    "a number of its own": ("n = 2.0\nclass C:\n    def __float__(self): return n\nc = C()\ndef f(x): return float(c) * x", "m.n = 3.0"),
    "an njit function": (
        "import numba\n@numba.njit\ndef act(x): return x * x\ndef f(x): return act(x)",
        "m.act = m.numba.njit(lambda v: 7.0 * v)",
    ),
    "code behind njit": (
        "import numba\n@numba.njit\ndef act(x): return x * x\ndef other(x): return 7.0 * x\ndef f(x): return act(x)",
        "m.act.py_func.__code__ = m.other.__code__\nm.act = m.numba.njit(m.act.py_func)",
    ),
    "the function of another gradient": (
        "import stgrad\ndef h(x): return x * x * x\ng = stgrad.grad(h, jit=False)\ndef f(x): return g(x)",
        "m.g = stgrad.grad(lambda v: v ** 4, jit=False)",
    ),
    "a number of another gradient": (
        "import stgrad\nk = 1.0\ndef h(x): return k * x * x * x\ng = stgrad.grad(h, jit=False)\ndef f(x): return g(x)",
        "m.k = 2.0",
    ),
    "a gradient of its own": (
        "import stgrad\nk = 3.0\n@stgrad.custom_gradient\ndef act(x): return k * x, lambda g: g * k\ndef f(x): return act(x)",
        "m.k = 2.0",
    ),
    "constants of a library": (
        "import math\ndef f(x): return math.tau * x",
        "__import__('unittest.mock').mock.patch.object(math, 'tau', 2.0).start()",
    ),
    "a function of a library": (
        "import math\ndef f(x): return math.erf(x) * x",
        "__import__('unittest.mock').mock.patch.object(math, 'erf', lambda v: v).start()",
    ),
    "a view of a dict": (
        "import types\ntable = {'k': 2.0}\nview = types.MappingProxyType(table)\ndef f(x): return view['k'] * x",
        "m.table['k'] = 3.0",
    ),
    "a chain of dicts": (
        "import collections\ncm = collections.ChainMap({'k': 2.0})\ndef f(x): return cm['k'] * x",
        "m.cm.maps[0]['k'] = 3.0",
    ),
    "a dict of a class": ("import collections\nud = collections.UserDict(k=2.0)\ndef f(x): return ud['k'] * x", "m.ud['k'] = 3.0"),
    "the environment": (
        "import os\nos.environ['RATE'] = '2.0'\ndef f(x): return float(os.environ['RATE']) * x",
        "m.os.environ['RATE'] = '3.0'",
    ),
    "a getter": (
        "import operator, types\no = types.SimpleNamespace(k=2.0)\nget = operator.attrgetter('k')\ndef f(x): return get(o) * x",
        "m.o.k = 3.0",
    ),
    "a class that joins another": (
        "import abc\nclass A(abc.ABC): pass\nclass B: pass\nb = B()\ndef f(x): return (2.0 if isinstance(b, A) else 3.0) * x",
        "m.A.register(m.B)",
    ),
    "a text of its own": (
        "k = 'a'\nclass C:\n    def __repr__(self): return k\nc, table = C(), {'a': 2.0, 'b': 3.0}\ndef f(x): return table[f'{c}'] * x",
        "m.k = 'b'",
    ),
    "the name of a class": (
        "class A: pass\nclass B: pass\nobj = A()\ndef f(x): return (2.0 if type(obj).__name__ == 'A' else 3.0) * x",
        "m.obj.__class__ = m.B",
    ),
    "what is in an object's dict": ("class A: pass\no = A()\no.k = 2.0\ndef f(x): return o.__dict__['k'] * x", "m.o.k = 3.0"),
    "a reload": (
        "k = 2.0\ndef f(x): return k * x",
        "__import__('pathlib').Path(m.__file__).write_text('k = 31.0\\ndef f(x): return k * x * x\\n')\n__import__('importlib').reload(m)",
    ),
    "code by reload": (
        "def act(x): return x * x\ndef f(x): return act(x)",
        "keep = m.act\n__import__('pathlib').Path(m.__file__).write_text('def act(x): return 31.0 * x\\ndef f(x): return act(x)\\n')\n"
        "old = m.f\n__import__('importlib').reload(m)\nkeep.__code__ = m.act.__code__\nm.act, m.f = keep, old",
    ),
}

# The same with modules around: what `import` finds, inside of functions too. The files, then what happens.
IMPORTS: dict[str, tuple[dict[str, str], str]] = {
    "a name from a module": ({"cfg": "k = 2.0", "m": "def f(x):\n    from cfg import k\n    return k * x"}, "import cfg\ncfg.k = 3.0"),
    "a function of a module": (
        {"cfg": "def act(x): return x * x", "m": "import cfg\ndef f(x): return cfg.act(x)"},
        "import cfg\ncfg.act = lambda v: 7.0 * v",
    ),
    "a module in the function": ({"cfg": "k = 2.0", "m": "def f(x):\n    import cfg\n    return cfg.k * x"}, "import cfg\ncfg.k = 3.0"),
    "a module for another": (
        {"cfg": "k = 2.0", "m": "def f(x):\n    import cfg\n    return cfg.k * x"},
        "import sys, types\nsys.modules['cfg'] = types.SimpleNamespace(k=3.0)",
    ),
    "a module of a package": (
        {"pack/__init__": "", "pack/cfg": "k = 2.0", "m": "def f(x):\n    import pack.cfg as c\n    return c.k * x"},
        "import pack.cfg\npack.cfg.k = 3.0",
    ),
    "a relative import": (
        {
            "pack/__init__": "",
            "pack/cfg": "k = 2.0",
            "pack/deep": "def act(x):\n    from .cfg import k\n    return k * x",
            "m": "from pack.deep import act as f",
        },
        "import pack.cfg\npack.cfg.k = 3.0",
    ),
    "a module that appears": (
        {"m": "def f(x):\n    try:\n        import cfg\n        k = cfg.k\n    except ImportError:\n        k = 2.0\n    return k * x"},
        "import sys, types\nsys.modules['cfg'] = types.SimpleNamespace(k=3.0)",
    ),
    "a file that appears": (
        {"m": "def f(x):\n    try:\n        from cfg import k\n    except ImportError:\n        k = 2.0\n    return k * x"},
        "import importlib, pathlib\npathlib.Path(m.__file__).with_name('cfg.py').write_text('k = 3.0')\nimportlib.invalidate_caches()",
    ),
    "a name that a module gets": (
        {"cfg": "", "m": "def f(x):\n    try:\n        from cfg import k\n    except ImportError:\n        k = 2.0\n    return k * x"},
        "import cfg\ncfg.k = 3.0",
    ),
    "a flag": ({"cfg": "fast = True", "m": "import cfg\ndef f(x): return x * x if cfg.fast else 3.0 * x"}, "import cfg\ncfg.fast = False"),
    "a flag of a flag": (
        {"cfg": "class options:\n    fast = True", "m": "import cfg\ndef f(x): return x * x if cfg.options.fast else 3.0 * x"},
        "import cfg\ncfg.options.fast = False",
    ),
}
