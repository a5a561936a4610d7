"""Codes of classes: vectors of mean 0 and unit covariance, one for each class."""

from __future__ import annotations

import numpy as np

from gcnlimit._values import Array

__all__ = ["simplex_codes"]


def simplex_codes(fractions: Array) -> Array:
    r"""Codes :math:`y_k` of :math:`C - 1` entries with :math:`y_k \cdot y_l = \delta_{kl}/p_k - 1` (Eq. 8.1), one in each row.

    Coordinate :math:`a` separates class :math:`a` from those after it; two equal classes are :math:`\pm 1`.

    >>> simplex_codes(np.array([0.5, 0.5]))
    array([[ 1.],
           [-1.]])
    >>> y, p = simplex_codes(np.array([0.2, 0.3, 0.5])), np.array([0.2, 0.3, 0.5])
    >>> bool(np.allclose(y @ y.T, np.diag(1 / p) - 1)), bool(np.allclose(p @ y, 0))
    (True, True)
    """
    p, later = fractions, np.cumsum(fractions[::-1])[::-1] - fractions  # fractions of the classes after each
    basis = np.zeros((p.size, p.size - 1))
    for a, (own, rest) in enumerate(zip(p[:-1], later[:-1], strict=True)):
        basis[a, a] = np.sqrt(rest / (own + rest))
        basis[a + 1 :, a] = -np.sqrt(own * p[a + 1 :] / (rest * (own + rest)))
    return np.asarray(basis / np.sqrt(p)[:, None])
