r"""Infinite regularization: explicit formulas for any filter.

As :math:`r \to \infty` the weights align with :math:`X^T g(a)^T R y` (Eq. 4.1), and the output on a node is Gaussian around
a multiple of its label. Its mean, its variance and the push that training gives to a labelled node are sums of positive
terms of the same form for symmetric and directed operators (Eq. 4.7):

.. math::
    \text{mean} &= [e(g^2) - \tau(g^2)] + \mu\, e(g)^2, \qquad \text{push} = \tau(g^2)/\rho, \\
    \text{var}  &= \text{coherent} + \tfrac{1-\rho}{\rho}\,\text{scattered}
                   + \alpha\,\tau(g^2)\left[ e(g^2) + \tfrac{1-\rho}{\rho}\tau(g^2) + \mu\, e(g)^2 \right].
"""

from __future__ import annotations

import numpy as np

from gcnlimit._values import Array
from gcnlimit.filters import Averages, Filter
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.spectrum import Spectrum


def margins(
    averages: Averages, alpha: Array, mu: Array, rho: Array, features: Spectrum | None = None
) -> tuple[Array, Array]:
    r"""Return the margins of a test and of a train node, mean over standard deviation (Eqs. 4.7 and 8.15).

    Correlated features enter by three moments; the averages are then those at :math:`\mu/s_1`, `s_1` the mean variance.
    """
    a = averages
    s1, s2, g1 = (1.0, 1.0, 1.0) if features is None else features.moments
    hidden = (1.0 - rho) / rho
    mean = s1 * a.excess + mu * a.e_g**2
    weights = s2 * (a.e_g2 + hidden * a.tau_g2) + g1 * (mu * a.e_g**2)
    deviation = np.sqrt(s1**2 * a.coherent + hidden * (s1**2 * a.scattered) + alpha * a.tau_g2 * weights)  # Eq. 4.7
    return mean / deviation, (mean + s1 * a.tau_g2 / rho) / deviation


def symmetric_averages(filter: Filter, signal: Array, mu: Array, nodes: int) -> Averages:
    r"""Return the averages for a symmetric operator; `signal` and `mu` are one-dimensional, as are the filter's parameters.

    `coherent` is :math:`\mathrm{Var}_e[g^2 + \mu\, e(g)\, g]` and `scattered` is :math:`\mathrm{Var}_\tau[g^2]` (Eq. 4.7).
    """
    measure = SpikedSemicircle.of(signal, nodes)
    return spectral_averages(measure, filter.normalized(measure.x)[0], mu)


def spectral_averages(measure: SpikedSemicircle, g: Array, mu: Array) -> Averages:
    """Return the averages of a filter known by its values `g` at the nodes of the measure."""
    g2 = g * g
    tau_g2 = g2 @ measure.tau
    e_g = np.einsum("bn,bn->b", measure.e, g)
    e_g2 = np.einsum("bn,bn->b", measure.e, g2)
    drive = mu * e_g
    spread = g2 + drive[:, None] * g
    spread -= (e_g2 + drive * e_g)[:, None]
    return Averages(
        tau_g2=tau_g2,
        e_g2=e_g2,
        excess=np.einsum("bn,bn->b", measure.excess, g2),
        e_g=e_g,
        coherent=np.einsum("bn,bn,bn->b", measure.e, spread, spread),
        scattered=np.square(g2 - tau_g2[:, None]) @ measure.tau,
    )


def directed_averages(filter: Filter, signal: Array, mu: Array) -> Averages:
    r"""Return the averages for a directed operator, which does not commute with its transpose.

    With the Taylor coefficients :math:`g_i` of the filter and their tails :math:`G_i = \sum_k g_{i+k} \lambda^k`
    (Eqs. 4.10 to 4.13),

    .. math::
        \tau(g^2) = \sum_i g_i^2, \quad e(g) = G_0, \quad e(g^2) = \sum_i G_i^2, \quad
        \text{scattered} = \sum_{i,l} M_{il}^2 - M_{00}^2, \\
        \text{coherent} = \sum_{i \ge 1} \big( \mu G_0 G_i + \textstyle\sum_j G_j G_{i+j} \big)^2
                          + \sum_{i \ge 0,\, l \ge 1} N_{il}^2,

    where :math:`M_{il} = \sum_k g_{k+i} g_{k+l}` and :math:`N_{il} = \sum_k g_{k+i} G_{k+l}` are running sums along the
    diagonals.
    """
    closed = filter.directed_averages(signal, mu)
    return coefficient_averages(*filter.directed_chain(signal).taylor(signal), signal, mu) if closed is None else closed


def coefficient_averages(g: Array, G: Array, signal: Array, mu: Array) -> Averages:
    """Return the sums of Eqs. 4.11 to 4.13 from the Taylor coefficients and their tails, powers along the first axis."""
    n = g.shape[0]
    R = np.empty_like(G)
    M2 = np.zeros(g.shape[1])
    N2 = np.zeros(g.shape[1])
    # M_il and N_il (Eq. 4.12) are running sums along each diagonal l - i = lag: n operations instead of n^2
    for lag in range(n):
        R[lag] = _sum(G[: n - lag], G[lag:])
        M = _running_sum(g[: n - lag] * g[lag:])
        M2 += (2.0 if lag else 1.0) * _sum(M, M)  # M is symmetric: a diagonal off the main one counts twice
        if lag == 0:  # without M_00, through which a node sees its own label: that is part of the mean
            M2 = _sum(M[1:], M[1:])
        above = _running_sum(g[: n - lag] * G[lag:])  # l = i + lag
        below = _running_sum(G[: n - lag] * g[lag:])  # i = l + lag
        if lag == 0:  # only l >= 1: the column l = 0 is the coefficient of xi^i y, which enters `tail`
            N2 += _sum(above[1:], above[1:])
        else:
            N2 += _sum(above, above) + _sum(below[1:], below[1:])
    tau_g2, e_g2 = _sum(g, g), R[0]
    tail = mu * G[0] * G[1:] + R[1:]
    return Averages(
        tau_g2=tau_g2,
        e_g2=e_g2,
        excess=signal * _sum(G[1:], 2.0 * g[:-1] + signal * G[1:]),  # G_i^2 - g_i^2 by Eq. 4.10
        e_g=G[0],
        coherent=_sum(tail, tail) + N2,
        scattered=M2,
    )


def _running_sum(terms: Array) -> Array:
    """Sums from each row to the end."""
    return np.cumsum(terms[::-1], axis=0)[::-1]


def _sum(a: Array, b: Array) -> Array:
    return np.asarray(np.einsum("ib,ib->b", a, b))
