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

from typing import NamedTuple

import numpy as np

from gcnlimit._values import Array
from gcnlimit.filters import Chain, Filter, PageRank
from gcnlimit.numerics.spectral import SpikedSemicircle

__all__ = [
    "Averages",
    "coefficient_averages",
    "directed_averages",
    "margins",
    "spectral_averages",
    "symmetric_averages",
    "taylor",
]


class Averages(NamedTuple):
    r"""The averages of a filter that enter the accuracy; a common scale of the filter drops out.

    `tau_g2` is :math:`\tau(g^2)`, `e_g2` is :math:`e(g^2)`, `excess` is their difference, `e_g` is :math:`e(g)`;
    `coherent` and `scattered` are the variances of the output due to the signal and to the choice of labelled nodes
    (Eqs. 4.7 and 4.13).
    """

    tau_g2: Array
    e_g2: Array
    excess: Array
    e_g: Array
    coherent: Array
    scattered: Array


def margins(averages: Averages, alpha: Array, mu: Array, rho: Array) -> tuple[Array, Array]:
    r"""Return the margins of a test and of a train node, mean over standard deviation (Eq. 4.7).

    The accuracy is :math:`\Phi` of the margin.
    """
    a = averages
    hidden = (1.0 - rho) / rho
    mean = a.excess + mu * a.e_g**2
    weights = a.e_g2 + hidden * a.tau_g2 + mu * a.e_g**2
    deviation = np.sqrt(a.coherent + hidden * a.scattered + alpha * a.tau_g2 * weights)  # Eq. 4.7
    return mean / deviation, (mean + a.tau_g2 / rho) / deviation


def symmetric_averages(filter: Filter, signal: Array, mu: Array, nodes: int) -> Averages:
    r"""Return the averages for a symmetric operator; `signal` and `mu` are one-dimensional, as are the filter's parameters.

    `coherent` is :math:`\mathrm{Var}_e[g^2 + \mu\, e(g)\, g]` and `scattered` is :math:`\mathrm{Var}_\tau[g^2]` (Eq. 4.7).
    """
    measure = SpikedSemicircle.of(signal, nodes)
    return spectral_averages(measure, filter.scaled(measure.x)[0], mu)


def spectral_averages(measure: SpikedSemicircle, g: Array, mu: Array) -> Averages:
    """Return the averages of a filter known by its values `g` at the nodes of the measure."""
    g2 = g * g
    tau_g2 = g2 @ measure.tau
    e_g = np.einsum("bn,bn->b", measure.e, g)
    e_g2 = np.einsum("bn,bn->b", measure.e, g2)
    pull = mu * e_g
    spread = g2 + pull[:, None] * g
    spread -= (e_g2 + pull * e_g)[:, None]
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
    if isinstance(filter, PageRank):
        return _directed_pagerank(np.asarray(filter.theta), signal, mu)
    return coefficient_averages(*taylor(filter, signal), signal, mu)


def taylor(filter: Filter, signal: Array) -> tuple[Array, Array]:
    """Return the Taylor coefficients of the filter and their tails, powers along the first axis, up to a common scale."""
    center = np.where(signal * getattr(filter, "t", 0.0) < 0.0, signal, 0.0)  # keeps every term of a series positive
    chain = filter.chain(accuracy=1e-18, radius=np.maximum(1.0, np.abs(signal)), center=center)
    return _taylor(chain, signal)


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


def _directed_pagerank(theta: Array, signal: Array, mu: Array) -> Averages:
    r"""The sums of `directed_averages` for :math:`g_i = \theta^i`, where :math:`G_i = \theta^i/(1 - \theta\lambda)`."""
    q = theta**2
    x, y = 1.0 - q, 1.0 - theta * signal
    tail = mu / y**2 + 1.0 / (x * y**2)
    return Averages(
        tau_g2=1.0 / x,
        e_g2=1.0 / (x * y**2),
        excess=theta * signal * (1.0 + y) / (x * y**2),
        e_g=1.0 / y,
        coherent=tail**2 * q / x + q / (x**4 * y**2),
        scattered=q * (2.0 - q) / x**4,
    )


def _taylor(chain: Chain, signal: Array) -> tuple[Array, Array]:
    r"""Taylor coefficients :math:`g_i` of a chain and their tails :math:`G_i`, powers first, up to a common scale.

    The layer :math:`bx + c` maps :math:`g_i \to b g_{i-1} + c g_i` and :math:`G_i \to b G_{i-1} + c G_i`, except
    :math:`G_0 \to (b\lambda + c) G_0`. Powers are counted in units of `unit` :math:`= \max(1, |\lambda|)` and each layer is
    divided by :math:`|b|` `unit` :math:`+ |c|`, so that nothing overflows.
    """
    b, c, out = (np.moveaxis(np.broadcast_to(p, (*signal.shape, p.shape[-1])), -1, 0) for p in chain)
    unit = np.maximum(1.0, np.abs(signal))
    size = np.abs(b) * unit + np.abs(c)
    size[size == 0.0] = 1.0
    with np.errstate(divide="ignore"):
        height = np.log(np.abs(out))
    height[1:] += np.cumsum(np.log(size), axis=0)
    out = np.sign(out) * np.exp(height - np.max(height, axis=0))

    layer = np.zeros((2, chain.depth + 1, *signal.shape))  # the coefficients and the tails of the layer
    layer[:, 0] = 1.0
    total = out[0] * layer
    for k in range(chain.depth):
        up, stay = b[k] * unit / size[k], c[k] / size[k]
        first = np.stack([stay, (b[k] * signal + c[k]) / size[k]]) * layer[:, 0]
        layer[:, 1 : k + 2] = up * layer[:, : k + 1] + stay * layer[:, 1 : k + 2]
        layer[:, 0] = first
        if np.any(out[k + 1]):
            total[:, : k + 2] += out[k + 1] * layer[:, : k + 2]
    total *= unit ** -np.arange(chain.depth + 1.0)[:, None]
    total /= np.max(np.abs(total), axis=(0, 1))  # its fourth power must not vanish
    return total[0], total[1]


def _running_sum(terms: Array) -> Array:
    """Sums from each row to the end."""
    return np.cumsum(terms[::-1], axis=0)[::-1]


def _sum(a: Array, b: Array) -> Array:
    return np.asarray(np.einsum("ib,ib->b", a, b))
