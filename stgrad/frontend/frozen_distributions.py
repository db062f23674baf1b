# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""Distributions of `scipy.stats` with parameters of the running program: `norm(loc, scale).logpdf(x)` is `norm.logpdf(x, loc, scale)`."""

from __future__ import annotations

from scipy.stats._distn_infrastructure import rv_frozen

from stgrad.frontend.library import refuse


class Frozen:
    """A distribution and the arguments that each of its methods gets behind its own."""

    stands_for: type = rv_frozen

    def __init__(self, dist, args, kwds):
        self.dist, self.args, self.kwds = dist, args, kwds

    def pdf(self, x):
        return self.dist.pdf(x, *self.args, **self.kwds)

    def logpdf(self, x):
        return self.dist.logpdf(x, *self.args, **self.kwds)

    def pmf(self, k):
        return self.dist.pmf(k, *self.args, **self.kwds)

    def logpmf(self, k):
        return self.dist.logpmf(k, *self.args, **self.kwds)

    def cdf(self, x):
        return self.dist.cdf(x, *self.args, **self.kwds)

    def logcdf(self, x):
        return self.dist.logcdf(x, *self.args, **self.kwds)

    def sf(self, x):
        return self.dist.sf(x, *self.args, **self.kwds)

    def logsf(self, x):
        return self.dist.logsf(x, *self.args, **self.kwds)

    def ppf(self, q):
        return self.dist.ppf(q, *self.args, **self.kwds)

    def isf(self, q):
        return self.dist.isf(q, *self.args, **self.kwds)

    def mean(self):
        return self.dist.mean(*self.args, **self.kwds)

    def var(self):
        return self.dist.var(*self.args, **self.kwds)

    def std(self):
        return self.dist.std(*self.args, **self.kwds)

    def median(self):
        return self.dist.ppf(0.5, *self.args, **self.kwds)

    def entropy(self):
        return self.dist.entropy(*self.args, **self.kwds)

    def interval(self, confidence=None):
        refuse(confidence is None, "`interval` takes a confidence", "write interval(0.95)")
        tail = 0.5 * (1.0 - confidence)
        return self.ppf(tail), self.ppf(1.0 - tail)

    def rvs(self, size=None, random_state=None):
        refuse(True, "draws from a distribution with parameters of the program are not supported", "draw numbers of its standard form outside, and scale them")


def freeze(self, *args, **kwds):
    return Frozen(self, args, kwds)
