"""Programs whose derivatives are no plain gradients, after ADBench and GradBench, with those derivatives written by hand under Numba.

A hand that is tracked (a Jacobian), k-means (gradient and diagonal of the Hessian), descents over functions that take gradients inside, a determinant by
minors. `python -m benchmarks.modes` measures them.
"""

from __future__ import annotations

import math

import numpy as np

import stgrad
from benchmarks.hand import by_hand, strict

FINGERS, BONES = 5, 22  # a root and a wrist, and four bones a finger


def hand_data(rng, vertices):
    """26 angles and shifts, and the model: base poses, parents, weights of the bones on each vertex, vertices and what was seen of them."""
    base = np.tile(np.eye(4), (BONES, 1, 1))
    base[:, :3, 3] = rng.normal(size=(BONES, 3)) / 2.0
    parents = np.array([-1, 0] + [1 if bone == 0 else 1 + 4 * finger + bone for finger in range(FINGERS) for bone in range(4)])
    weights = rng.random((BONES, vertices))
    points = np.hstack((rng.normal(size=(vertices, 3)), np.ones((vertices, 1))))
    return rng.normal(size=26) / 3.0, base, parents, weights / weights.sum(axis=0), points, rng.normal(size=(vertices, 3))


def rotation_about(v):
    angle = math.sqrt(v[0] ** 2 + v[1] ** 2 + v[2] ** 2)
    x, y, z = v / angle
    s, c = math.sin(angle), math.cos(angle)
    d = 1.0 - c
    return np.array([
        [x * x * d + c, x * y * d - z * s, x * z * d + y * s],
        [x * y * d + z * s, y * y * d + c, y * z * d - x * s],
        [x * z * d - y * s, y * z * d + x * s, z * z * d + c],
    ])  # fmt: skip


def euler(a, b, c):
    ca, sa, cb, sb, cc, sc = math.cos(a), math.sin(a), math.cos(b), math.sin(b), math.cos(c), math.sin(c)
    x = np.array([[1.0, 0.0, 0.0], [0.0, ca, -sa], [0.0, sa, ca]])
    y = np.array([[cb, 0.0, sb], [0.0, 1.0, 0.0], [-sb, 0.0, cb]])
    z = np.array([[cc, -sc, 0.0], [sc, cc, 0.0], [0.0, 0.0, 1.0]])
    return z @ y @ x


def angles_of(theta):
    """Euler angles of each bone: a finger bends in three joints, and turns sideways in the first of them."""
    angles = np.zeros((BONES, 3))
    at = 6
    for finger in range(FINGERS):
        for joint in range(3):
            bone = 2 + 4 * finger + joint
            angles[bone, 0] = theta[at]
            at += 1
            if joint == 0:
                angles[bone, 1] = theta[at]
                at += 1
    return angles


def hand_residuals(theta, base, parents, weights, points, seen):
    """What the posed vertices are off by."""
    angles = angles_of(theta)
    poses = np.zeros((BONES, 4, 4))
    for b in range(BONES):
        local = np.eye(4)
        local[:3, :3] = euler(angles[b, 0], angles[b, 1], angles[b, 2])
        relative = base[b] @ local
        poses[b] = relative if parents[b] < 0 else poses[parents[b]] @ relative
    posed = np.zeros((points.shape[0], 3))
    for b in range(BONES):
        posed += (points @ poses[b].T)[:, :3] * weights[b][:, None]
    return posed @ rotation_about(theta[:3]).T + theta[3:6] - seen


@strict
def bend(a, b, out, out_a, out_b):
    """Rotations by two Euler angles (the third is zero), and their derivatives."""
    ca, sa, cb, sb = math.cos(a), math.sin(a), math.cos(b), math.sin(b)
    out[:] = np.array([[cb, sb * sa, sb * ca], [0.0, ca, -sa], [-sb, cb * sa, cb * ca]])
    out_a[:] = np.array([[0.0, sb * ca, -sb * sa], [0.0, -sa, -ca], [0.0, cb * ca, -cb * sa]])
    out_b[:] = np.array([[-sb, cb * sa, cb * ca], [0.0, 0.0, 0.0], [-cb, -sb * sa, -sb * ca]])


@strict
def turn(v, out, out_v):
    """The rotation about a vector and its derivatives: of Rodrigues' formula in sin(a)/a and (1 - cos(a))/a²."""
    a2 = v[0] ** 2 + v[1] ** 2 + v[2] ** 2
    a = math.sqrt(a2)
    s, d = math.sin(a) / a, (1.0 - math.cos(a)) / a2
    cross = np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
    square = cross @ cross
    out[:] = np.eye(3) + s * cross + d * square
    for k in range(3):
        unit = np.zeros((3, 3))
        unit[(k + 2) % 3, (k + 1) % 3], unit[(k + 1) % 3, (k + 2) % 3] = 1.0, -1.0
        s_k, d_k = (math.cos(a) - s) / a2 * v[k], (s - 2.0 * d) / a2 * v[k]
        out_v[k] = s_k * cross + s * unit + d_k * square + d * (unit @ cross + cross @ unit)


@by_hand
def hand_jacobian_by_hand(theta, base, parents, weights, points, seen):
    """A tangent of every pose for each angle; then all vertices at once, with the angles innermost."""
    local, local_a, local_b = np.eye(4), np.zeros((4, 4)), np.zeros((4, 4))
    poses, poses_dot = np.zeros((BONES, 4, 4)), np.zeros((BONES, 20, 4, 4))
    for b in range(BONES):
        joint = (b - 2) % 4
        bends = b >= 2 and joint < 3
        at = (b - 2) // 4 * 4 + (joint + 1 if joint > 0 else 0)
        bend(theta[6 + at] if bends else 0.0, theta[7 + at] if bends and joint == 0 else 0.0, local[:3, :3], local_a[:3, :3], local_b[:3, :3])
        relative = base[b] @ local
        if parents[b] < 0:
            poses[b] = relative
        else:
            above = poses[parents[b]]
            poses[b] = above @ relative
            for k in range(20):
                poses_dot[b, k] = poses_dot[parents[b], k] @ relative
            if bends:
                poses_dot[b, at] += above @ (base[b] @ local_a)
            if bends and joint == 0:
                poses_dot[b, at + 1] += above @ (base[b] @ local_b)
    rotation, rotation_v = np.empty((3, 3)), np.empty((3, 3, 3))
    turn(theta[:3], rotation, rotation_v)
    columns = np.empty((BONES, 4, 3, 20))  # of each bone and coordinate, turned
    for b in range(BONES):
        for k in range(20):
            turned = rotation @ poses_dot[b, k, :3]
            for i in range(3):
                for c in range(4):
                    columns[b, c, i, k] = turned[i, c]
    out = np.zeros((points.shape[0], 3, 26))
    for v in range(points.shape[0]):
        posed = np.zeros(3)
        for b in range(BONES):
            for c in range(4):
                weight = weights[b, v] * points[v, c]
                for i in range(3):
                    posed[i] += weight * poses[b, i, c]
                    for k in range(20):
                        out[v, i, 6 + k] += weight * columns[b, c, i, k]
        for i in range(3):
            out[v, i, 3 + i] = 1.0
            for k in range(3):
                out[v, i, k] = rotation_v[k, i, 0] * posed[0] + rotation_v[k, i, 1] * posed[1] + rotation_v[k, i, 2] * posed[2]
    return out


def cost_of_means(means, points):
    """The sum of the squared distances of points from the nearest mean."""
    total = 0.0
    for p in range(points.shape[0]):
        nearest = np.inf
        for k in range(means.shape[0]):
            distance = 0.0
            for i in range(points.shape[1]):
                distance += (points[p, i] - means[k, i]) ** 2
            nearest = min(nearest, distance)
        total += nearest
    return total


def cost_of_means_with_arrays(means, points):
    """The same, of all distances at once."""
    squares = np.sum((points[:, None, :] - means[None, :, :]) ** 2, axis=2)
    return np.sum(np.min(squares, axis=1))


@by_hand
def means_by_hand(means, points):
    """Gradient and diagonal of the Hessian."""
    slope, curvature = np.zeros_like(means), np.zeros_like(means)
    for p in range(points.shape[0]):
        nearest, at = np.inf, 0
        for k in range(means.shape[0]):
            distance = 0.0
            for i in range(points.shape[1]):
                distance += (points[p, i] - means[k, i]) ** 2
            if distance < nearest:
                nearest, at = distance, k
        for i in range(points.shape[1]):
            slope[at, i] += 2.0 * (means[at, i] - points[p, i])
            curvature[at, i] += 2.0
    return slope, curvature


def gradient_and_diagonal(cost):
    """Of a function whose Hessian is diagonal: a product with ones is all of it."""
    gradient = stgrad.grad(cost)

    def both(means, points):
        return stgrad.jvp(lambda m: gradient(m, points), (means,), (np.ones_like(means),))

    return stgrad.jit(both)


def descent(f, x, steps):
    """Gradient descent, whose step grows after ten successes and halves where the function grew."""
    slope = stgrad.grad(f)
    y, g, eta, good = f(x), slope(x), 1e-5, 0
    for _ in range(steps):
        if math.sqrt(np.sum(g * g)) <= 1e-5:
            break
        if good == 10:
            eta, good = 2.0 * eta, 0
            continue
        moved = x - eta * g
        if math.sqrt(np.sum((moved - x) ** 2)) <= 1e-5:
            break
        y_moved = f(moved)
        if y_moved < y:
            x, y, g, good = moved, y_moved, slope(moved), good + 1
        else:
            eta, good = eta / 2.0, 0
    return x


def potential(x, w):
    """Of two charges; the second moves with w."""
    return 1.0 / math.sqrt((x[0] - 10.0) ** 2 + (x[1] - 10.0 + w) ** 2) + 1.0 / math.sqrt((x[0] - 10.0) ** 2 + x[1] ** 2)


def landing(w):
    """Where a particle that falls through a field lands, squared: a descent over this takes second derivatives of the potential."""
    x, v = np.array([0.0, 8.0]), np.array([0.75, 0.0])
    force = stgrad.grad(lambda q: potential(q, w[0]))
    for _ in range(1000):
        a = -force(x)
        moved = x + 0.1 * v
        if moved[1] <= 0.0:
            break
        x = moved
        v = v + 0.1 * a
    last = -x[1] / v[1]
    return (x[0] + last * v[0]) ** 2


def particle(w0):
    return descent(landing, np.array([w0]), 1000)[0]


def difference_of_squares(a, b):
    return a[0] ** 2 + a[1] ** 2 - (b[0] ** 2 + b[1] ** 2)


def saddle(start):
    """The least value over a point of the greatest over another one."""

    def highest(a):
        return descent(lambda b: -difference_of_squares(a, b), start, 1000)

    lowest = descent(lambda a: difference_of_squares(a, highest(a)), start, 1000)
    return np.concatenate((lowest, highest(lowest)))


def determinant(m):
    """By minors, with one call for each entry of the first row."""
    n = m.shape[0]
    if n == 1:
        return m[0, 0]
    total, sign = 0.0, 1.0
    for j in range(n):
        total += sign * m[0, j] * determinant(np.concatenate((m[1:, :j], m[1:, j + 1 :]), axis=1))
        sign = -sign
    return total


@strict
def determinant_by_hand(m, bar):
    """Value and cotangent: what a minor is worth is known before it is called."""
    n = m.shape[0]
    m_bar = np.zeros_like(m)
    if n == 1:
        m_bar[0, 0] = bar
        return m[0, 0], m_bar
    total, sign = 0.0, 1.0
    for j in range(n):
        value, minor_bar = determinant_by_hand(np.concatenate((m[1:, :j], m[1:, j + 1 :]), axis=1), sign * m[0, j] * bar)
        total += sign * m[0, j] * value
        m_bar[0, j] = sign * value * bar
        m_bar[1:, :j] += minor_bar[:, :j]
        m_bar[1:, j + 1 :] += minor_bar[:, j:]
        sign = -sign
    return total, m_bar
