r"""Averages over the posterior of a class, given Gaussian evidence whose strength is a matrix.

Evidence on a node of class :math:`k` is :math:`b = m\,y_k + m^{1/2} z` with the code :math:`y_k` of the class, a symmetric matrix
:math:`m` and :math:`z \sim \mathcal N(0, 1)` in each of :math:`C - 1` directions. With
:math:`d_{kl}^2 = (y_k - y_l)^T m\, (y_k - y_l)` and :math:`g_l = y_l \cdot m^{1/2} z` the posterior is

.. math:: P(l|b) = \frac{p_l\, e^{g_l - g_k - d_{kl}^2/2}}{S_k}, \qquad S_k = \sum_l p_l\, e^{g_l - g_k - d_{kl}^2/2} \ge p_k .
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gcnlimit._values import Array
from gcnlimit.numerics.linear import matrix_function
from gcnlimit.numerics.simplex import simplex_codes
from gcnlimit.theory.unequal.nodes import GaussianRule

__all__ = ["MatrixPosterior"]

_LOWEST = -600.0  # exponent at which a class is left out, for good: its weight in the sums is far below rounding


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
        r"""Overlap :math:`T(m) = \mathbb E\,\hat y\, y^T = \mathbb E\,\hat y\,\hat y^T` of the posterior mean with the code.

        It is the average of :math:`p_k P(l|b)` on nodes of class :math:`k`, between codes; its asymmetry, an error of the rule,
        is removed.

        >>> from gcnlimit.theory.unequal.nodes import gaussian_rules
        >>> equal = MatrixPosterior(np.full(3, 1 / 3), *gaussian_rules(2))
        >>> from gcnlimit.theory.posterior import posterior
        >>> bool(np.allclose(equal.overlap(0.5 * np.eye(2)), posterior(3).at(np.array(0.5)).overlap * np.eye(2), atol=1e-9))
        True
        """
        chances = [(self.rule.weights / np.sum(ratios, axis=1)) @ ratios for ratios in self._ratios(m)]
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
        for k, (p, ratios) in enumerate(zip(self.fractions, self._ratios(m), strict=True)):
            others = np.sum(np.delete(ratios, k, axis=1), axis=1)
            cross_entropy += float(p * (np.log1p(others / p) @ self.rule.weights))
        entropy = -float(self.fractions @ np.log(self.fractions))
        return cross_entropy - entropy + 0.5 * float(np.trace(m)), cross_entropy

    def distances(self, m: Array) -> Array:
        """Squared distances of the classes in units of the noise of the evidence."""
        gap = self.codes[:, None] - self.codes
        return np.asarray(np.einsum("kla,ab,klb->kl", gap, m, gap))

    def _ratios(self, m: Array) -> Iterator[Array]:
        r"""Terms of :math:`S_k` at the nodes, of shape (nodes, classes), for each true class in turn."""
        root = matrix_function(m, lambda values: np.sqrt(np.maximum(values, 0.0)))
        scores = self.rule.nodes @ (root @ self.codes.T)
        weight = np.exp(np.maximum(scores - np.max(scores, axis=1, keepdims=True), _LOWEST))
        prior = self.fractions * np.exp(-0.5 * self.distances(m))
        for k in range(self.fractions.size):
            yield weight * prior[k] / weight[:, k, None]
