"""Instances: as arguments, made inside functions, changed in loops and branches; inheritance, properties, operators."""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from .registry import example, matrix, vector


@dataclass
class Params:
    w: np.ndarray
    b: float
    kind: str = "tanh"
    steps: int = 2
    extra: object = None

    def apply(self, x):
        for _ in range(self.steps):
            x = np.tanh(x * self.w + self.b) if self.kind == "tanh" else x * self.w
        return x

    @property
    def size(self):
        return np.sum(self.w * self.w)


@dataclass(frozen=True)
class Point:
    x: float
    y: float = 0.0

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)

    def __mul__(self, k):
        return Point(self.x * k, self.y * k)

    __rmul__ = __mul__

    def __neg__(self):
        return Point(-self.x, -self.y)

    def norm2(self):
        return self.x**2 + self.y**2

    @staticmethod
    def origin():
        return Point(0.0)

    @classmethod
    def diagonal(cls, t):
        return cls(t, t)


@dataclass(slots=True)
class Slotted:
    a: float
    rest: list = field(default_factory=list)


class Particle:
    """A plain class with state."""

    count = 3

    def __init__(self, position, velocity, mass=1.0):
        self.position = position
        self.velocity = velocity
        self.mass = mass
        self.path = []

    def step(self, force, dt):
        self.velocity = self.velocity + force / self.mass * dt
        self.position = self.position + self.velocity * dt
        self.path.append(self.position)
        return self

    def energy(self):
        return 0.5 * self.mass * self.velocity**2


class Charged(Particle):
    def __init__(self, position, velocity, charge):
        super().__init__(position, velocity, mass=2.0)
        self.charge = charge

    def energy(self):
        return super().energy() + self.charge * self.position**2


class Layer:
    def __init__(self, w, b):
        self.w = w
        self.b = b

    def __call__(self, x):
        return np.tanh(self.w @ x + self.b)


class Network:
    def __init__(self, layers):
        self.layers = layers

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

    def __len__(self):
        return len(self.layers)

    def __getitem__(self, i):
        return self.layers[i]


class Pair(NamedTuple):
    first: float
    second: float = 2.0

    def product(self):
        return self.first * self.second

    @property
    def total(self):
        return self.first + self.second


@example(Params(vector(3), 0.3), vector(3, 1), jit=True)
def dataclass_argument(p, x):
    return np.sum(p.apply(x)) + p.size * p.b


@example(Params(vector(3), 0.3, extra=Point(1.5, 0.5)), jit=True)
def nested_dataclass_argument(p):
    return p.extra.norm2() * np.sum(p.w)


@example({"points": [Point(1.0, 2.0), Point(0.5, -1.0)], "scale": 1.5})
def dataclasses_in_containers(d):
    total = Point.origin()
    for p in d["points"]:
        total = total + p * d["scale"]
    return (-total).norm2()


@example(Slotted(1.5, [2.0, vector(2)]))
def dataclass_with_slots(s):
    return s.a * s.rest[0] * np.sum(s.rest[1])


@example(Network([Layer(matrix(3, 2), vector(3)), Layer(matrix(1, 3), vector(1))]), vector(2), jit=True)
def model_argument(model, x):
    return np.sum(model(x)) * len(model) + model[0].b[1]


@example(SimpleNamespace(a=1.5, b=vector(2), name="n"))
def namespace_argument(s):
    return s.a * np.sum(s.b * s.b)


@example(1.5, 0.5)
def dataclass_made_inside(x, y):
    p = Point(x, y)
    q = Point.diagonal(x * y) + 2.0 * p
    return q.norm2() * replace(p, y=x).norm2() + p.x


@example(0.5, 1.2, jit=True)
def object_changes_in_a_loop(x, v):
    p = Particle(x, v)
    for _ in range(5):
        p.step(-p.position, 0.1)
    return p.energy() + p.path[-1] * sum(p.path) + Particle.count


@example(0.5, 1.2, 0.7)
def inheritance(x, v, q):
    p = Charged(x, v, charge=q)
    p.step(p.charge, 0.5).step(1.0, 0.25)
    return p.energy()


@example(0.5, 1.2)
def object_changes_in_a_branch(x, v):
    p = Particle(x, v)
    q = p
    if x > 0.0:
        q.position = x * v
    else:
        q.velocity += x
    q.mass *= v
    return p.energy() * p.position


class Counter:
    def __init__(self):
        self.total = 0.0
        self.values = []

    def add(self, v):
        if v > 0.0:
            self.total += v * v
            self.values.append(v)


@example(vector(5))
def object_collects(x):
    c = Counter()
    for v in x:
        c.add(v)
    return c.total * sum(c.values) + len(c.values)


@example(Pair(1.5, 0.5), 0.7)
def namedtuple_with_methods(p, x):
    q = Pair(x)
    q = q._replace(second=p.total)
    return p.product() * q.total + q.product()


@example(Particle(1.0, 2.0), 0.5)
def argument_that_changes(p, dt):
    q = Particle(p.position, p.velocity, p.mass)
    q.step(p.mass, dt)
    return q.energy() * p.position


@example(1.3)
def isinstance_of_objects(x):
    p = Particle(x, x * x)
    c = Charged(x, x, x)
    s = 0.0
    for q in (p, c):
        s += q.charge if isinstance(q, Charged) else q.velocity
    return s + (p.charge if hasattr(p, "charge") else 2.0 * x) + getattr(p, "spin", x)


# --------------------------------------------------------------------------- containers of one's own


class Ring:
    """Places that go round, and a count of what is written."""

    def __init__(self, n):
        self.values = np.zeros(n)
        self.writes = 0

    def __getitem__(self, k):
        return self.values[k % len(self.values)]

    def __setitem__(self, k, value):
        self.writes += 1
        self.values[k % len(self.values)] = value

    def __delitem__(self, k):
        self.values[k] = 0.0

    def __array__(self, dtype=None, copy=None):
        return self.values


@example(vector(3), 1.3)
def items_that_classes_set(x, w):
    ring = Ring(4)
    for k in range(7):
        ring[k] = ring[k - 1] * w + x[k % len(x)]
        ring[k] += 0.1 * ring[k - 2]
    del ring[1]
    return np.sum(ring) + np.mean(np.sin(ring)) + np.dot(ring, ring) + ring.writes * w


class Rows:
    def __init__(self, matrix):
        self.matrix, self.writes = matrix, 0

    def __getitem__(self, k):
        return self.matrix[k]

    def __setitem__(self, k, value):
        self.writes += 1
        self.matrix[k] = value


@example(vector(3), 1.3)
def arrays_that_classes_set(x, w):
    """`rows[k] *= w` changes the array, and then sets it."""
    rows = Rows(np.outer(x, x))
    for k in range(len(x)):
        rows[k] *= w
        rows[k, 0] = rows[k, 0] + 1.0
        rows[k, 1:] -= x[k]
    return np.sum(rows.matrix**2) + rows.writes * w


class Branch:
    """A node that knows its parent: its children hold it, and it holds them."""

    def __init__(self, value, parent=None):
        self.value, self.parent, self.children = value, parent, []
        if parent is not None:
            parent.children.append(self)

    def to_the_root(self):
        return self.value if self.parent is None else self.value * self.parent.to_the_root()


@example(vector(4), jit=True)
def nodes_that_know_their_parents(x):
    root = Branch(x[0])
    left, right = Branch(x[1], root), Branch(x[3], root)
    leaf = Branch(x[2], left)
    s = 0.0
    for i in range(3):
        s += leaf.to_the_root() * right.to_the_root() + i * x[i]
        leaf.value = leaf.value * 0.5 + right.parent.value
    if s > 0.0:
        left.parent.value = s
    for child in root.children:
        s += child.value * child.parent.value
    return s + (2.0 * s if leaf.parent == left and left != right else 0.0)


@example(vector(3), 4, jit=True)
def partners(x, n):
    a, b = Branch(x[0]), Branch(x[1])
    a.parent, b.parent = b, a
    cell = [x[2]]
    cell.append(cell)
    while b.value < 5.0:
        a.parent.value += a.value**2 + 0.5
        for i in range(n):
            a.value = a.value * 0.9 + cell[1][0] * i
            cell[1][0] = np.sin(b.parent.value)
    return a.value * b.value * cell[0]
