"""Evidence of the features: approximate message passing on a spiked matrix, for any number of classes."""

from __future__ import annotations

import math

import numpy as np

from gcnlimit._values import Array
from gcnlimit.simulation.observation import Features

__all__ = ["FeatureMessages"]


class FeatureMessages:
    r"""Approximate message passing between the centroids of the classes and the nodes.

    With :math:`\hat Y` the posterior means of the codes and :math:`\Sigma` the sum over the nodes of their covariances (Eq. 9.4)

    .. math::
        \hat U &= \Bigl(\sqrt{\tfrac\mu N} X^T \hat Y - \tfrac\mu N \hat U^{old} \Sigma\Bigr) V, \qquad
        V = (1 + A)^{-1}, \quad A = \tfrac\mu N \hat Y^T \hat Y, \\
        f_{ik} &= b_i \cdot y_k - \tfrac\mu{2N} |\hat U y_k|^2, \qquad
        b = \sqrt{\tfrac\mu N} X \hat U - \tfrac{\mu M}N \hat Y V .

    Parameters
    ----------
    features
        Matrix :math:`X`.
    mu
        Signal :math:`\mu`.
    codes
        Codes :math:`y_k`, one in each row.
    """

    def __init__(self, features: Features, mu: float, codes: Array) -> None:
        self.X, self.codes = features, codes
        self.rate = mu / features.shape[0]
        self.centroids = np.zeros((features.shape[1], codes.shape[1]))
        self.precision = np.eye(codes.shape[1])

    def field(self, marginals: Array) -> Array:
        """Renew the centroids, and return the logarithm of the evidence on each class of each node."""
        X, rate, root, dtype = self.X, self.rate, math.sqrt(self.rate), self.X.dtype
        means = marginals @ self.codes
        second = means.T @ means
        spread = (self.codes.T * np.sum(marginals, axis=0)) @ self.codes - second
        self.precision = np.eye(self.codes.shape[1]) + rate * second
        V = np.linalg.inv(self.precision)
        self.centroids = (root * (X.T @ means.astype(dtype)) - rate * self.centroids @ spread) @ V
        evidence = root * (X @ self.centroids.astype(dtype)) - rate * X.shape[1] * means @ V
        size = np.sum((self.centroids @ self.codes.T) ** 2, axis=0)
        return np.asarray(evidence @ self.codes.T - 0.5 * rate * size)

    def free_entropy(self) -> float:
        r"""Bethe term of the features, :math:`M\,\mathrm{tr}(1 - V) - \frac M2\log\det(1 + A) - \frac12|\hat U|^2` (Eq. 9.5)."""
        width = self.X.shape[1]
        resolved = np.trace(np.eye(len(self.precision)) - np.linalg.inv(self.precision))
        volume = np.linalg.slogdet(self.precision)[1]
        return float(width * resolved - 0.5 * width * volume - 0.5 * np.sum(self.centroids**2))
