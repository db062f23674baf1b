import numpy as np

from stgrad import runtime


def softmax_loss_grad(scores, label):
    """Value and gradient of softmax_loss with respect to scores."""
    n = scores.shape[0]
    if label >= scores.shape[0]:
        raise IndexError('index `label` is out of bounds for axis 0 of `scores` (line 81: return np.log(np.sum(np.exp(scores))) - scores[label])')
    if label + scores.shape[0] < 0:
        raise IndexError('index `label` is out of bounds for axis 0 of `scores` (line 81: return np.log(np.sum(np.exp(scores))) - scores[label])')
    if n <= 0:
        raise ValueError('zero-size array to reduction operation maximum which has no identity')
    t = -np.inf
    t2 = 0.0
    # grad of line 80: scores = scores - np.max(scores)
    ret = 0.0
    for i in range(n):
        t = runtime.vmax(t, scores[i])
    scores_2 = runtime.empty(n)
    t3 = runtime.empty(n)
    for i in range(n):
        t4 = scores[i] - t
        t5 = runtime.exp(t4)
        t2 = runtime.radd(t2, t5)
        scores_2[i] = t4
        t3[i] = t5
    # grad of line 81: return np.log(np.sum(np.exp(scores))) - scores[label]
    t6 = 1.0 / t2
    scores_2_bar = runtime.empty(n)
    for i in range(n):
        scores_2_bar[i] = 0.0 + t6 * t3[i]
    total = 0.0
    t7 = np.log(t2) - scores_2[label]
    scores_2_bar[label] -= 1.0
    hit = runtime.empty(n, np.bool_)
    # grad of line 80: scores = scores - np.max(scores)
    for i in range(n):
        ret = runtime.radd(ret, -scores_2_bar[i])
        t8 = scores[i] == t
        total = runtime.radd(total, np.float64(t8))
        hit[i] = t8
    count = np.maximum(total, 1.0)
    t9 = ret / count
    for i in range(n):
        scores_2_bar[i] += t9 if hit[i] else 0.0
    return t7, scores_2_bar
