"""Estimates of the two signals from the labelled nodes."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.given.standard import Standard

__all__ = ["Signals", "from_labels"]

Indices = npt.NDArray[np.int64]
PAIRS = 600  # nodes among which the correlations of features are measured


class Signals(NamedTuple):
    """Estimates of both signals, with standard errors."""

    lam: float
    mu: float
    lam_error: float
    mu_error: float


def from_labels(given: Standard) -> Signals:
    r"""Signals from pairs of the :math:`n` labelled nodes, whose codes :math:`y_i` have :math:`C - 1` components.

    .. math::

        \hat\lambda = N \frac{\sum_{i \ne j} (y_i \cdot y_j)\, a_{ij}}{\sum_{i \ne j} (y_i \cdot y_j)^2}, \qquad
        \hat\mu = \frac NM \frac{\sum_{i \ne j} (y_i \cdot y_j)\, X_i \cdot X_j}{\sum_{i \ne j} (y_i \cdot y_j)^2},

    with the variances :math:`2N/D` (half of it on a directed graph), :math:`D` being the denominator, and
    :math:`\kappa(2 N \alpha n^2/D + 4\alpha\mu n/D' + 2\mu^2/(M(C-1)))` with :math:`D' = n^2(C-1)`. The correlations of the
    features enter by :math:`\kappa = \mathrm{tr}\,\Sigma^2/M`, 1 if there are none. :math:`\hat\mu` is unbiased and may be
    negative.
    """
    Y, R, N = given.codes, given.labels.labelled, given.nodes
    n, axes = Y.shape
    norms = np.sum(Y**2, axis=1)
    D = float(np.sum((Y.T @ Y) ** 2) - norms @ norms)
    between = _between(given, R, Y) - float(_diagonal(given, R) @ norms)
    lam, lam_error = N * between / D, math.sqrt((1.0 if given.directed else 2.0) * N / D)
    if given.features is None:
        return Signals(lam, 0.0, lam_error, 0.0)
    M = given.width
    rows = _rows(given, R)
    mu = N / M * (float(np.sum((rows.T @ Y) ** 2)) - float(norms @ np.sum(rows**2, axis=1))) / D
    signal, alpha = max(mu, 0.0), N / M
    variance = 2.0 * N * alpha / D + (4.0 * alpha * signal / n + 2.0 * signal**2 / M) / axes
    return Signals(lam, mu, lam_error, math.sqrt(_correlation(rows) * variance))


def _between(given: Standard, R: Indices, Y: Array) -> float:
    r"""Sum :math:`\sum_{ij \in R} (y_i \cdot y_j) a_{ij}`, the diagonal included."""
    spread = np.zeros((given.nodes, Y.shape[1]))
    spread[R] = Y
    return float(np.sum(spread * (given.operator @ spread)))


def _diagonal(given: Standard, R: Indices) -> Array:
    S = given.operator
    assert S.u is not None
    assert S.v is not None
    return np.asarray((S.matrix.diagonal() - S.u * S.v)[R])


def _rows(given: Standard, R: Indices) -> Array:
    """Standardised features of the labelled nodes."""
    Z = given.features
    assert Z is not None
    part = Z.matrix[R]
    return np.asarray((part.toarray() if hasattr(part, "toarray") else part) - Z.v)


def _correlation(rows: Array) -> float:
    r"""Estimate of :math:`\mathrm{tr}\,\Sigma^2/M`, at least 1, from the scalar products of different rows."""
    some = rows[np.linspace(0, len(rows) - 1, min(PAIRS, len(rows))).astype(int)]
    gram = some @ some.T
    n, M = some.shape
    off = float(np.sum(gram**2) - np.sum(np.diag(gram) ** 2)) / (n * (n - 1))
    return float(max(off / M, 1.0))
