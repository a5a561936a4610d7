"""Estimates of the two signals from the labelled nodes."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.graphs.check import dense
from gcnlimit.graphs.labels import Labels
from gcnlimit.graphs.standard import StandardizedGraph

Indices = npt.NDArray[np.int64]
PAIRS = 600  # nodes among which the correlations of features are measured
LEAST = 0.25  # share of its variance that few edges leave to the signal of the graph


class Signals(NamedTuple):
    """Estimates of both signals, with standard errors."""

    lam: float
    mu: float
    lam_error: float
    mu_error: float


def from_labels(given: StandardizedGraph) -> Signals:
    r"""Signals from pairs of the :math:`n` labelled nodes, whose codes :math:`y_i` have :math:`C - 1` components.

    .. math::

        \hat\lambda = \frac ND \sum_{i \ne j} (y_i \cdot y_j)\, \frac{A_{ij} - D_iD_j/2m}\nu, \qquad
        \hat\mu = \frac{N}{MD} \sum_{i \ne j} (y_i \cdot y_j)\, X_i \cdot X_j, \qquad D = \sum_{i \ne j} (y_i \cdot y_j)^2.

    Edges are counted against what the degrees :math:`D_i` alone would give: with all labels of two classes,
    :math:`\hat\lambda` is :math:`2\sqrt d` times Newman's modularity. Its variance is
    :math:`\frac{2N}D (1 + \hat\lambda\kappa T/D)`, half of it on a directed graph, with
    :math:`T = \sum_{i \ne j} (y_i \cdot y_j)^3`: where edges are more frequent they also fluctuate more, by
    :math:`\kappa = (1 - 2p)/\sqrt{Np(1-p)}` per signal, and :math:`\hat\lambda` is shrunk here where it is not significant.
    :math:`T/D` is :math:`C - 2` for equal classes. The variance of :math:`\hat\mu`, which is unbiased and may be negative, is
    :math:`\tau(2N\alpha/D + (4\alpha\mu/n + 2\mu^2/M)/(C-1))`, with :math:`\tau = \mathrm{tr}\,\Sigma^2/M` for the correlations
    of the features, 1 if there are none.
    """
    Y, R, N = given.codes, given.labels.labelled, given.nodes
    n, axes = Y.shape
    norms = np.sum(Y**2, axis=1)
    D = _pairs(given.labels)[0]
    lam = N * _between(given) / D
    plain = (1.0 if given.directed else 2.0) * N / D
    sure = lam**2 / (lam**2 + plain)
    lam_error = math.sqrt(plain * max(1.0 + sure * lam * _unevenness(given), LEAST))
    if given.features is None:
        return Signals(lam, 0.0, lam_error, 0.0)
    M = given.width
    rows = _rows(given, R)
    mu = N / M * (float(np.sum((rows.T @ Y) ** 2)) - float(norms @ np.sum(rows**2, axis=1))) / D
    signal, alpha = max(mu, 0.0), N / M
    variance = 2.0 * N * alpha / D + (4.0 * alpha * signal / n + 2.0 * signal**2 / M) / axes
    return Signals(lam, mu, lam_error, math.sqrt(_correlation(rows) * variance))


def _unevenness(given: StandardizedGraph) -> float:
    r"""Relative rise :math:`\kappa T/D` of the variance of :math:`\hat\lambda` per signal."""
    weights = given.operator.matrix.data
    kappa = float(weights @ weights / weights.sum()) - 2.0 * given.shift
    D, T = _pairs(given.labels)
    return max(kappa, 0.0) * T / D


def _pairs(labels: Labels) -> tuple[float, float]:
    r"""Sums of :math:`(y_i \cdot y_j)^2` and :math:`(y_i \cdot y_j)^3` over pairs of nodes, from the counts of the classes."""
    counts = np.bincount(labels.codes)
    products = np.diag(counts.sum() / counts) - 1.0
    pairs = np.outer(counts, counts) - np.diag(counts)
    return float(np.sum(pairs * products**2)), float(np.sum(pairs * products**3))


def _between(given: StandardizedGraph) -> float:
    r"""Sum :math:`\sum_{i \ne j} (y_i \cdot y_j) (A_{ij} - D_iD_j/2m)/\nu` over labelled nodes."""
    A, Y = given.operator.matrix, np.zeros((given.nodes, given.codes.shape[1]))
    Y[given.labels.labelled] = given.codes
    out, into = A.sum(axis=1), A.sum(axis=0)
    by_chance = (Y.T @ out) @ (Y.T @ into) - np.sum(Y**2, axis=1) @ (out * into)
    return float(np.sum(Y * (A @ Y)) - by_chance / A.sum())


def _rows(given: StandardizedGraph, R: Indices) -> Array:
    """Standardized features of the labelled nodes."""
    Z = given.features
    assert Z is not None
    return np.asarray(dense(Z.matrix[R]) - Z.v)


def _correlation(rows: Array) -> float:
    r"""Estimate of :math:`\mathrm{tr}\,\Sigma^2/M`, at least 1, from the scalar products of different rows."""
    some = rows[np.linspace(0, len(rows) - 1, min(PAIRS, len(rows))).astype(int)]
    gram = some @ some.T
    n, M = some.shape
    off = float(np.sum(gram**2) - np.sum(np.diag(gram) ** 2)) / (n * (n - 1))
    return float(max(off / M, 1.0))
