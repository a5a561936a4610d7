r"""Averages over the posterior of a class, given Gaussian evidence whose strength is a matrix.

Evidence on a node of class :math:`k` is :math:`b = m\,y_k + m^{1/2} z` with the code :math:`y_k` of the class, a symmetric matrix
:math:`m` and :math:`z \sim \mathcal N(0, 1)` in each of :math:`C - 1` directions. With
:math:`d_{kl}^2 = (y_k - y_l)^T m\, (y_k - y_l)` and :math:`g_l = y_l \cdot m^{1/2} z` the posterior is

.. math:: P(l|b) = \frac{p_l\, e^{g_l - g_k - d_{kl}^2/2}}{S_k}, \qquad S_k = \sum_l p_l\, e^{g_l - g_k - d_{kl}^2/2} \ge p_k .

Averages over up to three variables are products of trapezoid rules, which converge exponentially, cut to a ball; over more,
scrambled Sobol points of unit covariance with their mirror images, several times independently.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr, logsumexp, ndtri, ndtri_exp

from gcnlimit._values import Array
from gcnlimit.classes import simplex_codes
from gcnlimit.numerics.linear import matrix_function, triangular_factor

_STEP = {1: 0.1, 2: 0.15, 3: 0.2}  # of the trapezoid rules, by dimension
_REACH = {1: 8.5, 2: 8.0, 3: 6.6}  # radius of the ball, which leaves out 1e-16, 1e-14 and 2e-9
_COARSE = (0.5, 4.5)  # step and radius of a quick rule
_REPLICAS = 4  # independent sets of Sobol points
_LOG_POINTS = 13  # binary logarithm of half their size
_LOWEST = -600.0  # exponent at which a class is left out: its weight is far below rounding


class GaussianRule(NamedTuple):
    """Nodes, one in each row, and their weights, of sum 1."""

    nodes: Array
    weights: Array


@lru_cache(maxsize=16)
def gaussian_rules(dimensions: int, fineness: int = 1) -> tuple[GaussianRule, ...]:
    """Rules for the average over independent standard normal variables: one, or several random ones that tell the error.

    The steps of a product rule are divided by `fineness`.

    >>> (rule,) = gaussian_rules(2)
    >>> bool(abs(np.cos(rule.nodes[:, 0] + rule.nodes[:, 1]) @ rule.weights - np.exp(-1.0)) < 1e-13)
    True
    """
    if dimensions in _STEP:
        return (_product(dimensions, _STEP[dimensions] / fineness, _REACH[dimensions]),)
    return tuple(_sobol(dimensions, seed) for seed in range(_REPLICAS))


@lru_cache(maxsize=16)
def coarse_rule(dimensions: int) -> GaussianRule:
    """A rule of a few thousand nodes, right to about four digits."""
    if dimensions in _STEP:
        return _product(dimensions, *_COARSE)
    return _sobol(dimensions, seed=0, log_points=_LOG_POINTS - 3)


def single_rule(dimensions: int, fineness: int = 1) -> GaussianRule:
    """The rule, or the several random ones as one."""
    rules = gaussian_rules(dimensions, fineness)
    nodes = np.concatenate([rule.nodes for rule in rules])
    return GaussianRule(nodes, np.concatenate([rule.weights for rule in rules]) / len(rules))


def _product(dimensions: int, step: float, reach: float) -> GaussianRule:
    line = np.arange(-np.floor(reach / step), np.floor(reach / step) + 1.0) * step
    axes = np.meshgrid(*[line] * dimensions, indexing="ij")
    nodes = np.stack(axes, axis=-1).reshape(-1, dimensions)
    square = np.sum(nodes**2, axis=1)
    # corners of the cube are most of its nodes and none of its weight
    inside = square <= reach**2
    weights = np.exp(-0.5 * square[inside])
    return GaussianRule(nodes[inside], weights / np.sum(weights))


def _sobol(dimensions: int, seed: int, log_points: int = _LOG_POINTS) -> GaussianRule:
    """Scrambled Sobol points, made to have unit covariance, and their mirror images."""
    from scipy.stats.qmc import Sobol  # slow to import, and rarely needed

    half = ndtri(Sobol(dimensions, rng=np.random.default_rng(seed)).random_base2(log_points))
    # whitened, with mirror images: moments up to the third are exact
    values, basis = np.linalg.eigh(half.T @ half / len(half))
    half = half @ (basis / np.sqrt(values)) @ basis.T
    return GaussianRule(np.concatenate([half, -half]), np.full(2 * len(half), 0.5 / len(half)))


@dataclass(frozen=True, eq=False)
class MatrixPosterior:
    """Averages for classes of these fractions, by a rule for Gaussian variables in one dimension fewer than classes."""

    fractions: Array
    rule: GaussianRule

    @cached_property
    def codes(self) -> Array:
        """Codes of the classes (Eq. 8.1), one in each row."""
        return simplex_codes(self.fractions)

    def overlap(self, m: Array) -> Array:
        r"""Overlap :math:`T(m) = \mathbb E\,\hat y\, y^T` of the posterior mean with the code.

        It is the average of :math:`p_k P(l|b)` on nodes of class :math:`k`, between codes, made symmetric.
        """
        weights = self.rule.weights
        chances = [(weights / np.sum(ratios, axis=1)) @ ratios for ratios in self._ratios(m)]
        together = self.fractions[:, None] * np.stack(chances)
        return np.asarray(self.codes.T @ (0.5 * (together + together.T)) @ self.codes)

    def information(self, m: Array) -> tuple[float, float]:
        r"""Free entropy :math:`\psi` of the evidence, of gradient :math:`\frac12 T`, and cross-entropy of the posterior.

        The latter is :math:`\mathbb E \log(S_k/p_k)`, and the former
        :math:`\mathbb E\log\sum_l p_l\, e^{b\cdot y_l - \frac12 y_l^T m y_l} = \frac12 \mathrm{tr}\,m + \mathbb E\log S_k`.
        """
        if not np.all(np.isfinite(m)):
            return np.inf, 0.0
        cross_entropy = 0.0
        for k, ratios in enumerate(self._ratios(m)):
            p = self.fractions[k]
            others = np.sum(np.delete(ratios, k, axis=1), axis=1)
            cross_entropy += float(p * (np.log1p(others / p) @ self.rule.weights))
        entropy = -float(self.fractions @ np.log(self.fractions))
        return cross_entropy - entropy + 0.5 * float(np.trace(m)), cross_entropy

    def _ratios(self, m: Array) -> Iterator[Array]:
        r"""Terms of :math:`S_k` at the nodes, of shape (nodes, classes), for each true class in turn."""
        root = matrix_function(m, lambda values: np.sqrt(np.maximum(values, 0.0)))
        scores = self.rule.nodes @ (root @ self.codes.T)
        # ratios to the likeliest class cannot overflow, whatever the true one is
        weight = np.exp(np.maximum(scores - np.max(scores, axis=1, keepdims=True), _LOWEST))
        prior = self.fractions * np.exp(log_ratios(self.codes, m, m))
        for k in range(self.fractions.size):
            yield weight * prior[k] / weight[:, k, None]


def posterior_log_error(
    m: Array, fractions: Array, prior: Array, rule: GaussianRule, *, mean: Array | None = None
) -> float:
    r"""Logarithm of the error of the posterior decision under a prior :math:`w`, averaged over it.

    A class :math:`k` is preferred to the true one if a standard normal variable exceeds
    :math:`h_k = d_{kl}/2 + \log(w_l/w_k)/d_{kl}`. The error is the sum over :math:`k` of the probability that it does and no
    class before it does: positive terms, which keep their digits. With :math:`m` a multiple of the identity it is Eq. 8.4.

    The `rule` is for Gaussian variables in two dimensions fewer than classes at least. The matrix `mean` :math:`B` stands in
    place of :math:`m` in the mean :math:`B y_k` of evidence whose covariance :math:`m` the decision takes for its strength.
    """
    if np.trace(m) <= 0.0:
        return float(np.log1p(-np.max(prior)))
    if not np.all(np.isfinite(m)):
        return -np.inf
    codes = simplex_codes(fractions)
    lead = -log_ratios(codes, m, m if mean is None else mean) + np.log(prior[:, None] / prior)
    errors = [np.log(w) + _class_log_error(m, codes, lead[k], k, rule) for k, w in enumerate(prior)]
    return float(np.logaddexp.reduce(errors))


def log_ratios(codes: Array, m: Array, mean: Array) -> Array:
    r"""Mean of :math:`\log P(l|b)/P(k|b)` on nodes of class :math:`k`, rows, under equal priors.

    It is :math:`(y_l - y_k)\cdot B y_k - \frac12 y_l^T m\, y_l + \frac12 y_k^T m\, y_k` with `mean` :math:`B`, and
    :math:`-\frac12 d_{kl}^2` where that is :math:`m`.
    """
    toward = codes @ mean.T @ codes.T
    half = 0.5 * np.sum((codes @ m) * codes, axis=1)
    return np.asarray(toward - np.diag(toward)[:, None] - half + half[:, None])


def _class_log_error(m: Array, codes: Array, lead: Array, true: int, rule: GaussianRule) -> float:
    """Logarithm of the error on the nodes of one class, with the mean lead of its logit over each of the others."""
    gap = np.delete(codes, true, axis=0) - codes[true]
    covariance = gap @ m @ gap.T
    distance = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    bound = np.delete(lead, true) / distance
    # the likeliest error first, so that most of the probability is in few terms
    order = np.argsort(bound)
    correlation = (covariance / np.outer(distance, distance))[np.ix_(order, order)]
    bound = bound[order]
    firsts = (slice(k + 1) for k in range(bound.size))
    return float(np.logaddexp.reduce([_first(correlation[k, k], bound[k], rule) for k in firsts]))


def _first(correlation: Array, bound: Array, rule: GaussianRule) -> float:
    """Logarithm of the probability that the last of several normal variables exceeds its bound and those before it do not."""
    log_tail = float(log_ndtr(-bound[-1]))
    if bound.size == 1 or log_tail == -np.inf:
        return log_tail
    factor = triangular_factor(correlation[::-1, ::-1], least=1e-12)
    # one variable after the other, each drawn within its bound given those before it
    drawn = [-ndtri_exp(log_tail + log_ndtr(rule.nodes[:, 0]))]
    log_chance = np.zeros(len(rule.nodes))
    for j in range(1, bound.size):
        shift = sum(factor[j, i] * drawn[i] for i in range(j))
        below = log_ndtr((bound[-1 - j] - shift) / factor[j, j])
        log_chance += below
        if j + 1 < bound.size:
            drawn.append(ndtri_exp(np.minimum(below + log_ndtr(rule.nodes[:, j]), -1e-300)))
    return log_tail + float(logsumexp(log_chance, b=rule.weights))
