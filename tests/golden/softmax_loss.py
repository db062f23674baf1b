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
    max_scores = -np.inf
    sum_exp_scores_2 = 0.0
    # grad of line 80: scores = scores - np.max(scores)
    ret = 0.0
    for i in range(n):
        max_scores = runtime.vmax(max_scores, scores[i])
    scores_2 = runtime.empty(n)
    exp_scores_2 = runtime.empty(n)
    for i in range(n):
        t = scores[i] - max_scores
        t2 = runtime.exp(t)
        sum_exp_scores_2 = runtime.radd(sum_exp_scores_2, t2)
        scores_2[i] = t
        exp_scores_2[i] = t2
    # grad of line 81: return np.log(np.sum(np.exp(scores))) - scores[label]
    t3 = 1.0 / sum_exp_scores_2
    scores_2_bar = runtime.empty(n)
    for i in range(n):
        scores_2_bar[i] = 0.0 + t3 * exp_scores_2[i]
    total = 0.0
    t4 = np.log(sum_exp_scores_2) - scores_2[label]
    scores_2_bar[label] -= 1.0
    hit = runtime.empty(n, np.bool_)
    # grad of line 80: scores = scores - np.max(scores)
    for i in range(n):
        ret = runtime.radd(ret, -scores_2_bar[i])
        t5 = scores[i] == max_scores
        total = runtime.radd(total, np.float64(t5))
        hit[i] = t5
    count = np.maximum(total, 1.0)
    t6 = np.float64(ret) / count
    for i in range(n):
        scores_2_bar[i] += t6 if hit[i] else 0.0
    return t4, scores_2_bar
