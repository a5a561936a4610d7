"""Codes of classes: vectors of mean 0 and unit covariance, one for each class."""

from __future__ import annotations

import numpy as np

from gcnlimit._values import Array

__all__ = ["simplex_codes"]


def simplex_codes(fractions: Array) -> Array:
    r"""Codes :math:`y_k` of :math:`C - 1` entries with :math:`y_k \cdot y_l = \delta_{kl}/p_k - 1` (Eq. 8.1), one in each row.

    The columns of a Householder reflection that maps the last axis to :math:`(\sqrt{p_1}, \dots, \sqrt{p_C})` complete it to a
    basis; they are divided by :math:`\sqrt{p_k}`.

    >>> simplex_codes(np.array([0.5, 0.5])).round(12)
    array([[ 1.],
           [-1.]])
    >>> y, p = simplex_codes(np.array([0.2, 0.3, 0.5])), np.array([0.2, 0.3, 0.5])
    >>> bool(np.allclose(y @ y.T, np.diag(1 / p) - 1)), bool(np.allclose(p @ y, 0))
    (True, True)
    """
    root = np.sqrt(fractions)
    normal = root - np.eye(root.size)[-1]
    basis = 2.0 * np.outer(normal, normal[:-1]) / (normal @ normal) - np.eye(root.size)[:, :-1]
    return np.asarray(basis / root[:, None])
