"""Bundle adjustment, ADBench's formulation: squared reprojection errors of all observations, in cameras, points and weights.

A camera has 11 numbers: rotation (axis times angle), centre, focal length, image centre (2), radial distortion (2).
"""

import math

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.program import Program


def project(camera, point, out):
    a0, a1, a2 = camera[0], camera[1], camera[2]
    p0 = point[0] - camera[3]
    p1 = point[1] - camera[4]
    p2 = point[2] - camera[5]
    square = a0 * a0 + a1 * a1 + a2 * a2
    if square > 0.0:
        theta = math.sqrt(square)
        cosine = math.cos(theta)
        sine = math.sin(theta)
        w0, w1, w2 = a0 / theta, a1 / theta, a2 / theta
        dot = (w0 * p0 + w1 * p1 + w2 * p2) * (1.0 - cosine)
        q0 = p0 * cosine + (w1 * p2 - w2 * p1) * sine + w0 * dot
        q1 = p1 * cosine + (w2 * p0 - w0 * p2) * sine + w1 * dot
        q2 = p2 * cosine + (w0 * p1 - w1 * p0) * sine + w2 * dot
    else:
        q0 = p0 + a1 * p2 - a2 * p1
        q1 = p1 + a2 * p0 - a0 * p2
        q2 = p2 + a0 * p1 - a1 * p0
    u = q0 / q2
    v = q1 / q2
    r2 = u * u + v * v
    distortion = 1.0 + camera[9] * r2 + camera[10] * r2 * r2
    out[0] = u * distortion * camera[6] + camera[7]
    out[1] = v * distortion * camera[6] + camera[8]


def objective(cameras, points, weights, which_camera, which_point, seen):
    image = np.empty(2)
    total = 0.0
    for k in range(len(weights)):
        project(cameras[which_camera[k]], points[which_point[k]], image)
        e0 = weights[k] * (image[0] - seen[k, 0])
        e1 = weights[k] * (image[1] - seen[k, 1])
        miss = 1.0 - weights[k] * weights[k]
        total += 0.5 * (e0 * e0 + e1 * e1 + miss * miss)
    return total


@by_hand
def adjoint(cameras, points, weights, which_camera, which_point, seen):
    """Forward and reverse observation by observation; nothing is kept."""
    cameras_bar, points_bar, weights_bar = np.zeros(cameras.shape), np.zeros(points.shape), np.empty(len(weights))
    total = 0.0
    for k in range(len(weights)):
        ic, ip, weight = which_camera[k], which_point[k], weights[k]
        c, c_bar = cameras[ic], cameras_bar[ic]
        a0, a1, a2 = c[0], c[1], c[2]
        p0, p1, p2 = points[ip, 0] - c[3], points[ip, 1] - c[4], points[ip, 2] - c[5]
        square = a0 * a0 + a1 * a1 + a2 * a2
        theta, cosine, sine, inverse, w0, w1, w2, dot, along = 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0
        if square > 0.0:
            theta = math.sqrt(square)
            cosine, sine, inverse = math.cos(theta), math.sin(theta), 1.0 / theta
            w0, w1, w2 = a0 * inverse, a1 * inverse, a2 * inverse
            along = w0 * p0 + w1 * p1 + w2 * p2
            dot = along * (1.0 - cosine)
            x0, x1, x2 = w1 * p2 - w2 * p1, w2 * p0 - w0 * p2, w0 * p1 - w1 * p0
            q0, q1, q2 = p0 * cosine + x0 * sine + w0 * dot, p1 * cosine + x1 * sine + w1 * dot, p2 * cosine + x2 * sine + w2 * dot
        else:
            x0 = x1 = x2 = 0.0
            q0, q1, q2 = p0 + a1 * p2 - a2 * p1, p1 + a2 * p0 - a0 * p2, p2 + a0 * p1 - a1 * p0
        by = 1.0 / q2
        u, v = q0 * by, q1 * by
        r2 = u * u + v * v
        distortion = 1.0 + c[9] * r2 + c[10] * r2 * r2
        d0, d1 = u * distortion * c[6] + c[7] - seen[k, 0], v * distortion * c[6] + c[8] - seen[k, 1]
        miss = 1.0 - weight * weight
        total += 0.5 * (weight * weight * (d0 * d0 + d1 * d1) + miss * miss)
        weights_bar[k] = weight * (d0 * d0 + d1 * d1) - 2.0 * miss * weight
        g0, g1 = weight * weight * d0, weight * weight * d1
        c_bar[7] += g0
        c_bar[8] += g1
        both = g0 * u + g1 * v
        c_bar[6] += both * distortion
        distortion_bar = both * c[6]
        c_bar[9] += distortion_bar * r2
        c_bar[10] += distortion_bar * r2 * r2
        r2_bar = distortion_bar * (c[9] + 2.0 * c[10] * r2)
        u_bar, v_bar = g0 * distortion * c[6] + 2.0 * u * r2_bar, g1 * distortion * c[6] + 2.0 * v * r2_bar
        q0_bar, q1_bar = u_bar * by, v_bar * by
        q2_bar = -(u_bar * u + v_bar * v) * by
        if square > 0.0:
            cosine_bar = q0_bar * p0 + q1_bar * p1 + q2_bar * p2
            sine_bar = q0_bar * x0 + q1_bar * x1 + q2_bar * x2
            dot_bar = q0_bar * w0 + q1_bar * w1 + q2_bar * w2
            s0, s1, s2 = q0_bar * sine, q1_bar * sine, q2_bar * sine
            along_bar = dot_bar * (1.0 - cosine)
            cosine_bar -= dot_bar * along
            w0_bar = q0_bar * dot + along_bar * p0 + s2 * p1 - s1 * p2
            w1_bar = q1_bar * dot + along_bar * p1 + s0 * p2 - s2 * p0
            w2_bar = q2_bar * dot + along_bar * p2 + s1 * p0 - s0 * p1
            p0_bar = q0_bar * cosine + along_bar * w0 + s1 * w2 - s2 * w1
            p1_bar = q1_bar * cosine + along_bar * w1 + s2 * w0 - s0 * w2
            p2_bar = q2_bar * cosine + along_bar * w2 + s0 * w1 - s1 * w0
            theta_bar = sine_bar * cosine - cosine_bar * sine - (w0_bar * w0 + w1_bar * w1 + w2_bar * w2) * inverse
            c_bar[0] += w0_bar * inverse + theta_bar * w0
            c_bar[1] += w1_bar * inverse + theta_bar * w1
            c_bar[2] += w2_bar * inverse + theta_bar * w2
        else:
            p0_bar, p1_bar, p2_bar = (
                q0_bar + q1_bar * a2 - q2_bar * a1,
                q1_bar + q2_bar * a0 - q0_bar * a2,
                q2_bar + q0_bar * a1 - q1_bar * a0,
            )
            c_bar[0] += q2_bar * p1 - q1_bar * p2
            c_bar[1] += q0_bar * p2 - q2_bar * p0
            c_bar[2] += q1_bar * p0 - q0_bar * p1
        c_bar[3] -= p0_bar
        c_bar[4] -= p1_bar
        c_bar[5] -= p2_bar
        points_bar[ip, 0] += p0_bar
        points_bar[ip, 1] += p1_bar
        points_bar[ip, 2] += p2_bar
    return total, cameras_bar, points_bar, weights_bar


def projection(np, stack, cross):
    def run(camera, point):
        """Cameras (..., 11) and points (..., 3)."""
        axis, p = camera[..., :3], point - camera[..., 3:6]
        theta = np.sqrt((axis * axis).sum(-1))[..., None]
        w = axis / theta
        cosine, sine = np.cos(theta), np.sin(theta)
        q = p * cosine + cross(w, p) * sine + w * ((w * p).sum(-1)[..., None] * (1.0 - cosine))
        uv = q[..., :2] / q[..., 2:]
        r2 = (uv * uv).sum(-1)[..., None]
        distortion = 1.0 + camera[..., 9:10] * r2 + camera[..., 10:11] * r2 * r2
        return uv * distortion * camera[..., 6:7] + camera[..., 7:9]

    return run


def vectorised(np, stack, cross):
    """All observations at once (rotations of zero are not looked after)."""
    project = projection(np, stack, cross)

    def run(cameras, points, weights, which_camera, which_point, seen):
        e = weights[:, None] * (project(cameras[which_camera], points[which_point]) - seen)
        return 0.5 * (e * e).sum() + 0.5 * ((1.0 - weights * weights) ** 2).sum()

    return run


def jax():
    """Observation by observation."""
    from jax import lax
    from jax import numpy as jnp

    project = projection(jnp, jnp.stack, jnp.cross)

    def run(cameras, points, weights, which_camera, which_point, seen):
        def observation(k, total):
            e = weights[k] * (project(cameras[which_camera[k]], points[which_point[k]]) - seen[k])
            return total + 0.5 * ((e * e).sum() + (1.0 - weights[k] ** 2) ** 2)

        return lax.fori_loop(0, len(weights), observation, 0.0)

    return run


def jax_expert():
    from jax import numpy as jnp

    return vectorised(jnp, jnp.stack, jnp.cross)


def torch():
    import torch

    return vectorised(torch, torch.stack, torch.linalg.cross)


def autograd():
    import autograd.numpy as anp

    return vectorised(anp, anp.stack, anp.cross)


def sizes(cameras, points, observations):
    def inputs():
        rng = np.random.default_rng(0)
        c = np.empty((cameras, 11))
        c[:, :3], c[:, 3:6] = 0.3 * rng.standard_normal((cameras, 3)), rng.standard_normal((cameras, 3)) - [0.0, 0.0, 8.0]
        c[:, 6], c[:, 7:9], c[:, 9:] = 1.5, 0.1 * rng.standard_normal((cameras, 2)), 0.02 * rng.standard_normal((cameras, 2))
        of_camera, of_point = rng.integers(0, cameras, observations), rng.integers(0, points, observations)
        return (
            c,
            rng.standard_normal((points, 3)),
            rng.uniform(0.5, 1.5, observations),
            of_camera,
            of_point,
            rng.standard_normal((observations, 2)),
        )

    return inputs


PROGRAM = Program(
    name="bundle",
    function=objective,
    wrt=(0, 1, 2),
    sizes={"100": sizes(3, 20, 100), "1e4": sizes(20, 2000, 10_000), "3e5": sizes(200, 50_000, 300_000)},
    by_hand=adjoint,
    jax=jax,
    jax_expert=jax_expert,
    torch=torch,
    autograd=autograd,
    upto={"jax": "100", "torch.compile": "100", "autograd": "1e4"},
)
