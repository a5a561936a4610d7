r"""Errors of the posterior decision, given Gaussian evidence whose strength is a matrix.

On a node of class :math:`l` the posterior under a prior :math:`w` prefers class :math:`k` if a standard normal variable
:math:`g_k` exceeds

.. math:: h_k = \frac{d_{kl}}2 + \frac1{d_{kl}} \log\frac{w_l}{w_k}, \qquad d_{kl}^2 = (y_k - y_l)^T m\, (y_k - y_l) .

The error is the sum over the classes :math:`k` of the probability that :math:`g_k > h_k` and that no class before it exceeds its
bound: positive terms, each an average over :math:`g_k` in its own tail and over the conditional laws of the others in turn, so
that small errors keep their digits. With :math:`m` a multiple of the identity it is Eq. 8.4.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr, logsumexp, ndtri_exp

from gcnlimit._values import Array
from gcnlimit.numerics.simplex import simplex_codes
from gcnlimit.theory.unequal.nodes import GaussianRule

__all__ = ["posterior_log_error"]


def posterior_log_error(m: Array, fractions: Array, prior: Array, rule: GaussianRule) -> float:
    """Logarithm of the error of the posterior decision under a prior, averaged over it.

    Parameters
    ----------
    m
        Evidence.
    fractions, prior
        Of the classes: the codes follow from the former, the decision from the latter.
    rule
        For Gaussian variables, in two dimensions fewer than classes at least; of further ones the first serve.

    Examples
    --------
    >>> from gcnlimit.theory.decision import best_log_error
    >>> from gcnlimit.theory.unequal.nodes import gaussian_rules
    >>> p = np.array([0.2, 0.3, 0.5])
    >>> here = posterior_log_error(4.0 * np.eye(2), p, p, *gaussian_rules(1))
    >>> bool(abs(here - best_log_error(np.array([2.0]), tuple(p))[0]) < 1e-12)
    True
    """
    if np.trace(m) <= 0.0:
        return float(np.log1p(-np.max(prior)))
    if not np.all(np.isfinite(m)):
        return -np.inf
    codes = simplex_codes(fractions)
    return float(
        np.logaddexp.reduce([np.log(w) + _class_log_error(m, codes, prior, k, rule) for k, w in enumerate(prior)])
    )


def _class_log_error(m: Array, codes: Array, prior: Array, true: int, rule: GaussianRule) -> float:
    """Logarithm of the error on the nodes of one class."""
    gap = np.delete(codes, true, axis=0) - codes[true]
    covariance = gap @ m @ gap.T
    distance = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    bound = 0.5 * distance + np.log(prior[true] / np.delete(prior, true)) / distance
    order = np.argsort(bound)
    correlation = (covariance / np.outer(distance, distance))[np.ix_(order, order)]
    bound = bound[order]
    return float(
        np.logaddexp.reduce([_first(correlation[: k + 1, : k + 1], bound[: k + 1], rule) for k in range(bound.size)])
    )


def _first(correlation: Array, bound: Array, rule: GaussianRule) -> float:
    """Logarithm of the probability that the last of several normal variables exceeds its bound and those before it do not."""
    log_tail = float(log_ndtr(-bound[-1]))
    if bound.size == 1 or log_tail == -np.inf:
        return log_tail
    factor = _factor(correlation[::-1, ::-1])
    drawn = [-ndtri_exp(log_tail + log_ndtr(rule.nodes[:, 0]))]
    log_chance = np.zeros(len(rule.nodes))
    for j in range(1, bound.size):
        shift = sum(factor[j, i] * drawn[i] for i in range(j))
        below = log_ndtr((bound[-1 - j] - shift) / factor[j, j])
        log_chance += below
        if j + 1 < bound.size:
            drawn.append(ndtri_exp(np.minimum(below + log_ndtr(rule.nodes[:, j]), -1e-300)))
    return log_tail + float(logsumexp(log_chance, b=rule.weights))


def _factor(correlation: Array) -> Array:
    """Cholesky factor; a variable that follows from those before it keeps a trace of its own."""
    factor = np.zeros_like(correlation)
    for j in range(len(correlation)):
        for i in range(j):
            factor[j, i] = (correlation[j, i] - factor[j, :i] @ factor[i, :i]) / factor[i, i]
        factor[j, j] = np.sqrt(max(correlation[j, j] - factor[j, :j] @ factor[j, :j], 1e-12))
    return factor
