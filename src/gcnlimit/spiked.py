"""The operator that a network applies to a graph: a spike in noise, symmetric or not."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gcnlimit._values import Array

__all__ = ["SpikedOperator"]


class SpikedOperator(NamedTuple):
    r"""Law of the operator :math:`a = \frac{\lambda_e}N yy^T + \xi`: its `signal` :math:`\lambda_e`, and whether it is symmetric.

    The eigenvalues of the noise :math:`\xi` fill the interval :math:`[-2, 2]` if it is symmetric and the unit disc if not
    (Eq. 1.3).

    Examples
    --------
    >>> SpikedOperator(np.array([0.5, -2.0]), symmetric=True).spike
    array([ 0. , -2.5])
    >>> SpikedOperator(np.array([0.5, -2.0]), symmetric=False).radius
    array([1., 2.])
    """

    signal: Array
    symmetric: bool

    @property
    def edge(self) -> float:
        """Radius of the bulk of the spectrum."""
        return 2.0 if self.symmetric else 1.0

    @property
    def radius(self) -> Array:
        r"""Spectral radius, spike included: :math:`|\lambda_e| + 1/|\lambda_e|` or 2, :math:`|\lambda_e|` or 1 if directed."""
        size = np.maximum(np.abs(self.signal), 1.0)
        return np.asarray(size + 1.0 / size if self.symmetric else size)

    @property
    def spike(self) -> Array:
        r"""Eigenvalue outside the bulk, :math:`\lambda_e + \lambda_e^{-1}`, or :math:`\lambda_e` if directed; 0 if none."""
        return np.where(np.abs(self.signal) > 1.0, np.sign(self.signal) * self.radius, 0.0)
