"""Functions of `scipy.stats` of samples, and distributions with parameters of the program."""

import linecache

import numpy as np
import pytest
from scipy import stats

import stgrad

X = np.array([0.3, 1.2, 0.7, 2.1, 0.9, 1.7, 1.1, 0.45])
Y = np.array([0.5, 0.9, 1.3, 1.6, 0.2, 2.7, 0.8, 1.9])
EXPRESSIONS = [
    'stats.pearsonr(x,y)[0]',
    'stats.pearsonr(x,y).pvalue',
    'stats.pearsonr(x,y).statistic',
    'stats.linregress(x,y).slope',
    'stats.linregress(x,y).rvalue+stats.linregress(x,y).intercept',
    'stats.linregress(x,y).stderr',
    'stats.linregress(x,y)[3]',
    'stats.f_oneway(x,y,x*y).statistic',
    'stats.skew(x)',
    'stats.kurtosis(x)',
    'stats.kurtosis(x,fisher=False,bias=False)',
    'stats.zscore(x)[2]',
    'stats.entropy(x)',
    'stats.entropy(x,y)',
    'stats.wasserstein_distance(x,y)',
    'stats.energy_distance(x,y)',
    'stats.moment(x,3)',
    'stats.gmean(x)',
    'stats.hmean(x)',
    'stats.pmean(x,1.5)',
    'stats.sem(x)',
    'stats.iqr(x)',
    'stats.trim_mean(x,.2)',
    'stats.tmean(x,(0.2,1.5))',
    'stats.variation(x)',
    'stats.circmean(x)',
    'stats.circstd(x)',
    'stats.circvar(x)',
    'stats.rankdata(x)[0]*x[0]',
    'stats.chisquare(x,y*x.sum()/y.sum()).statistic',
    'stats.yeojohnson_llf(.5,x)',
    'stats.boxcox(x,.5)[2]',
    'stats.yeojohnson(x,.5)[2]',
    'stats.levene(x,y).statistic',
    'stats.bartlett(x,y).statistic',
    'stats.normaltest(x).statistic',
    'stats.jarque_bera(x).statistic',
    'stats.skewtest(x).statistic',
    'stats.describe(x).variance',
    'stats.bayes_mvs(x)[0].statistic',
    'stats.sigmaclip(x,2.,2.)[0].sum()',
    'stats.median_abs_deviation(x)',
    'stats.differential_entropy(x)',
    'stats.kstat(x,3)',
    'stats.kstatvar(x,2)',
    'stats.norm.fit(x)[1]',
    'stats.expon.fit(x)[1]',
    'stats.multivariate_normal.logpdf(x[:2],np.zeros(2),np.eye(2))',
    'stats.multivariate_t.logpdf(x[:2],np.zeros(2),np.eye(2),3)',
    'stats.dirichlet.logpdf(x[:3]/x[:3].sum(),y[:3])',
    'stats.wishart.logpdf(np.eye(2)+np.outer(x[:2],x[:2]),3,np.eye(2))',
    'stats.norm(x[0],y[0]).logpdf(.3)',
    'stats.norm(loc=x).logpdf(.3).sum()',
    'stats.t.ppf(.7,x[3])',
    'stats.cramervonmises(x,"norm").statistic',
    'stats.probplot(x)[1][0]',
    'stats.combine_pvalues(x/5).statistic',
    'stats.power_divergence(x,y*x.sum()/y.sum(),lambda_=.5).statistic',
    'stats.alexandergovern(x,y).statistic',
]
MATRICES = [
    "stats.skew(x.reshape(2, 4), axis=1).sum()",
    "stats.zscore(x.reshape(2, 4), axis=0)[0, 1]",
    "stats.gmean(x.reshape(2, 4), axis=None)",
    "stats.sem(x.reshape(4, 2)).sum()",
    "stats.pearsonr(x.reshape(2, 4), y.reshape(2, 4), axis=1).statistic.sum()",
    "stats.norm(loc=x).cdf(0.3).sum() + stats.gamma(x[0] + 1).sf(0.7) + stats.poisson(x[1]).logpmf(2)",
    "stats.norm(x[0], x[1]).ppf(0.3) + stats.norm(x[0], x[1]).std() + stats.norm(x[0], x[1]).interval(0.9)[0]",
]


def function_of(expression):
    source, name = f"def f(x):\n    return {expression}\n", f"<statistic {hash(expression)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    scope = {"np": np, "stats": stats, "y": Y}
    exec(compile(source, name, "exec"), scope)  # noqa: S102
    return scope["f"]


COMPILED = 5  # one program in so many


@pytest.mark.parametrize(("position", "expression"), list(enumerate(EXPRESSIONS + MATRICES)), ids=EXPRESSIONS + MATRICES)
def test_gradients(position, expression):
    function, step = function_of(expression), 1e-6 * np.eye(8)
    differences = [(function(X + h) - function(X - h)) / 2e-6 for h in step]
    value, gradient = stgrad.value_and_grad(function, jit=position % COMPILED == 3)(X.copy())
    np.testing.assert_allclose(value, function(X), rtol=1e-9)
    np.testing.assert_allclose(gradient, differences, rtol=1e-4, atol=1e-6)


def test_an_empty_sample():
    with pytest.raises(ValueError, match="a sample is empty"):
        stgrad.grad(lambda x: np.sum(stats.variation(x.reshape(2, 0), axis=1)), jit=False)(np.zeros(0))
