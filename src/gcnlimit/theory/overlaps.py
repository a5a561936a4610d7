r"""Fluctuations of overlaps :math:`v_i \cdot f(a)\,v_j` on a symmetric operator of :math:`N` nodes (Eq. 10.20).

Direction 0 is that of the labels, the others do not know the graph. The overlaps have means :math:`e(f)`, :math:`\tau(f)` and 0,
and independent Gaussian fluctuations of order :math:`N^{-1/2}`. With the coefficients :math:`f_k` of :math:`U_k(x/2)`, their
tails :math:`J_k = \sum_j f_{k+j}\lambda^j` and the tails :math:`K_k` of these, :math:`N` times their covariance is

.. math:: [e_{00}]: 2\sum K_k K'_k, \quad [e_{0j}]: \sum J_k J'_k, \quad [e_{jj}]: 2\sum f_k f'_k, \quad [e_{ij}]: \sum f_k f'_k,

sums over :math:`k \ge 1`. Products of functions are products of their Laurent series in :math:`\psi`, :math:`x = \psi + 1/\psi`;
a grid on the spectrum would lose the digits that the tails amplify.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gcnlimit._values import Array
from gcnlimit.filters import Filter


class Profile(NamedTuple):
    """Coefficients of a function, their tails, and the tails of these; orders along the last axis."""

    f: Array
    J: Array
    K: Array

    def fluctuation(self, i: int, j: int) -> Array:
        """Vector whose products are :math:`N` times the covariance of the overlaps of directions `i` and `j`."""
        part = (self.K if j == 0 else self.J if i == 0 else self.f)[..., 1:]
        return part * np.sqrt(2.0) if i == j else part


def laurent(filter: Filter, signal: float) -> Array:
    r"""Laurent coefficients of a filter, from :math:`\psi^{-n}` to :math:`\psi^n`, by its chain of layers.

    >>> from gcnlimit import Polynomial
    >>> laurent(Polynomial([1.0, 0.0, 2.0]), 0.5)  # 1 + 2 (psi + 1/psi)^2
    array([2., 0., 5., 0., 2.])
    """
    size = max(abs(signal), 1.0)
    b, c, g = filter.chain(accuracy=1e-16, radius=size + 1.0 / size)
    state = g[-1:].copy()
    for k in range(len(b) - 1, -1, -1):
        state = np.convolve(state, [b[k], c[k], b[k]])
        state[len(state) // 2] += g[k]
    return state


def symmetric_series(coefficients: Array) -> Array:
    r"""Laurent coefficients of :math:`\sum_k f_k U_k(x/2)`.

    >>> symmetric_series(np.array([1.0, 0.0, 2.0]))  # 2 x^2 - 1
    array([2., 0., 3., 0., 2.])
    """
    half = coefficients.copy()
    for k in range(len(half) - 3, -1, -1):
        half[k] += half[k + 2]
    return np.concatenate([half[:0:-1], half])


def profile(series: Array, signal: float, length: int | None = None) -> Profile:
    """Profile of a function given by its Laurent series, filled with zeros to a length.

    >>> from gcnlimit import PageRank
    >>> p = profile(laurent(PageRank(0.4), 0.5), 0.5)  # (1 + p^2) p^k with p/(1 + p^2) = 0.4
    >>> np.allclose(p.f[:3], 1.25 * 0.5 ** np.arange(3)), np.allclose(p.J[0], 1.25 / (1 - 0.5 * 0.5))
    (True, True)
    """
    upper = np.concatenate([series[len(series) // 2 :], np.zeros(2)])
    f = upper[:-2] - upper[2:]
    f = np.concatenate([f, np.zeros((length or f.size) - f.size)])
    J = _tails(f, signal)
    return Profile(f, J, _tails(J, signal))


def _tails(f: Array, signal: float) -> Array:
    tails = f.copy()
    for k in range(f.size - 2, -1, -1):
        tails[k] += signal * tails[k + 1]
    return tails
