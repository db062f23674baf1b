"""Greeks of a book of call options: the book's value differentiated in every spot, volatility and maturity and in the rate."""

import math

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.program import Program


def normal_cdf(x):
    return 0.5 * (1.0 + math.erf(x / math.sqrt(2.0)))


def call_price(s, k, t, v, r):
    root = v * math.sqrt(t)
    d1 = (math.log(s / k) + (r + 0.5 * v * v) * t) / root
    return s * normal_cdf(d1) - k * math.exp(-r * t) * normal_cdf(d1 - root)


def book(spot, strike, maturity, volatility, rate):
    total = 0.0
    for i in range(len(spot)):
        total += call_price(spot[i], strike[i], maturity[i], volatility[i], rate)
    return total


@by_hand
def adjoint(spot, strike, maturity, volatility, rate):
    """The closed forms of delta, theta, vega and rho."""
    n = len(spot)
    delta, theta, vega = np.empty(n), np.empty(n), np.empty(n)
    total = rho = 0.0
    for i in range(n):
        s, k, t, v = spot[i], strike[i], maturity[i], volatility[i]
        q = math.sqrt(t)
        root = v * q
        d1 = (math.log(s / k) + (rate + 0.5 * v * v) * t) / root
        c1 = 0.5 * (1.0 + math.erf(d1 * 0.7071067811865476))
        c2 = 0.5 * (1.0 + math.erf((d1 - root) * 0.7071067811865476))
        paid = k * math.exp(-rate * t) * c2
        density = s * math.exp(-0.5 * d1 * d1) * 0.3989422804014327
        total += s * c1 - paid
        delta[i] = c1
        vega[i] = density * q
        theta[i] = 0.5 * density * v / q + rate * paid
        rho += paid * t
    return total, delta, theta, vega, rho


def ported(np, erf):
    def cdf(x):
        return 0.5 * (1.0 + erf(x / math.sqrt(2.0)))

    def run(spot, strike, maturity, volatility, rate):
        root = volatility * np.sqrt(maturity)
        d1 = (np.log(spot / strike) + (rate + 0.5 * volatility * volatility) * maturity) / root
        return np.sum(spot * cdf(d1) - strike * np.exp(-rate * maturity) * cdf(d1 - root))

    return run


def jax():
    """Option by option, as the plain function does it."""
    from jax import lax
    from jax import numpy as jnp
    from jax.scipy.special import erf

    price = ported(jnp, erf)

    def run(spot, strike, maturity, volatility, rate):
        return lax.fori_loop(0, len(spot), lambda i, total: total + price(spot[i], strike[i], maturity[i], volatility[i], rate), 0.0)

    return run


def jax_expert():
    from jax import numpy as jnp
    from jax.scipy.special import erf

    return ported(jnp, erf)


def torch():
    import torch

    return ported(torch, torch.erf)


def autograd():
    import autograd.numpy as anp
    from autograd.scipy.special import erf

    return ported(anp, erf)


def sizes(n):
    def inputs():
        rng = np.random.default_rng(0)
        return rng.uniform(80, 120, n), rng.uniform(80, 120, n), rng.uniform(0.2, 2.0, n), rng.uniform(0.1, 0.5, n), 0.03

    return inputs


PROGRAM = Program(
    name="black_scholes",
    function=book,
    wrt=(0, 2, 3, 4),
    sizes={"1e2": sizes(100), "1e4": sizes(10_000), "1e6": sizes(1_000_000)},
    by_hand=adjoint,
    jax=jax,
    jax_expert=jax_expert,
    torch=torch,
    autograd=autograd,
    upto={"jax": "1e4"},
)
