"""Evidence of the features: approximate message passing on a spiked matrix, for any number of classes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gcnlimit._values import Array
from gcnlimit.classes import code_moments
from gcnlimit.simulation.backend import Device, backend_of
from gcnlimit.simulation.data.features import StreamedFeatures, one_pass
from gcnlimit.simulation.data.observation import Observation, feature_levels


class FeatureMessages:
    r"""Approximate message passing between the centroids of the classes and the nodes.

    With :math:`\hat Y` the posterior means of the codes and :math:`\Sigma` the sum over the nodes of their covariances (Eq. 9.4)

    .. math::
        \hat U &= \Bigl(\sqrt{\tfrac\mu N} X^T \hat Y - \tfrac\mu N \hat U^{old} \Sigma\Bigr) V, \qquad
        V = (1 + A)^{-1}, \quad A = \tfrac\mu N \hat Y^T \hat Y, \\
        f_{ik} &= b_i \cdot y_k - \tfrac\mu{2N} |\hat U y_k|^2, \qquad
        b = \sqrt{\tfrac\mu N} X \hat U - \tfrac{\mu M}N \hat Y V .

    Features of noise :math:`\sigma_\nu^2` and signal :math:`\Gamma_\nu` are divided by :math:`\sigma_\nu`, and their
    centroids have the prior variance :math:`\gamma_\nu = \Gamma_\nu/\sigma_\nu^2`, the `gain`, in place of 1.

    Parameters
    ----------
    observation
        Features and model.
    codes
        Codes :math:`y_k`, one in each row.
    device
        Where to compute.
    """

    def __init__(self, observation: Observation, codes: Array, device: Device) -> None:
        self.codes, self.backend = codes, backend_of(device)
        self.rate, width = float(observation.data.mu) / observation.nodes, observation.features.shape[1]
        variance, signal = feature_levels(observation.data.features, width)
        self.deviation, self.gain = np.sqrt(variance)[:, None], (signal / variance)[:, None]
        X = observation.features
        self.X, self.dtype = X if isinstance(X, StreamedFeatures) else self.backend.place(X), X.dtype
        self.centroids = np.zeros((width, codes.shape[1]))  # over the noise of their features
        self.product = np.zeros((observation.nodes, codes.shape[1]))  # of the features with them
        self.resolved = np.zeros((width, codes.shape[1]))  # gain of each feature times the eigenvalues of A

    def field(self, marginals: Array, keep: float = 0.0) -> Array:
        """Renew the centroids, of which a fraction `keep` stays, and return logarithms of the evidence on classes of nodes."""
        rate, (means, second, squares) = self.rate, code_moments(marginals, self.codes)
        values, basis = np.linalg.eigh(squares)
        self.resolved = rate * self.gain * np.maximum(values, 0.0)
        shrink = self.gain / (1.0 + self.resolved)  # posterior variances of the centroids in that basis
        self._renew(means, rate * self.centroids @ (second - squares), shrink, basis, keep)
        reaction = rate * means @ (basis * shrink.sum(axis=0) @ basis.T)
        size = np.sum((self.centroids @ self.codes.T) ** 2, axis=0)
        return np.asarray((math.sqrt(rate) * self.product - reaction) @ self.codes.T - 0.5 * rate * size)

    def free_entropy(self) -> float:
        r"""Bethe term of the features, :math:`M\,\mathrm{tr}(1 - V) - \frac M2\log\det(1 + A) - \frac12|\hat U|^2` (Eq. 9.5)."""
        terms = self.resolved / (1.0 + self.resolved) - 0.5 * np.log1p(self.resolved)
        used = self.gain[:, 0] > 0.0
        return float(np.sum(terms) - 0.5 * np.sum(self.centroids[used] ** 2 / self.gain[used]))

    def _renew(self, means: Array, reaction: Array, shrink: Array, basis: Array, keep: float) -> None:
        """Renew the centroids, and the features times them, in one pass over the features."""
        root = math.sqrt(self.rate)
        over, back, shrunk, turn = (self._placed(v) for v in (1.0 / self.deviation, reaction, shrink, basis))

        def weigh(part: slice, weights: Any) -> Any:
            field = root * weights * over[part] - back[part]
            return (field @ turn * shrunk[part]) @ turn.T * over[part]

        weights, product = (self.backend.host(v).astype(float) for v in one_pass(self.X, self._placed(means), weigh))
        self.centroids = (1.0 - keep) * weights * self.deviation + keep * self.centroids
        self.product = (1.0 - keep) * product + keep * self.product

    def _placed(self, values: Array) -> Any:
        return self.backend.place(np.ascontiguousarray(values.astype(self.dtype)))
