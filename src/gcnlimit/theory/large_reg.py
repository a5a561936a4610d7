r"""Infinite regularization: explicit formulas for any filter.

As :math:`r \to \infty` the weights align with :math:`X^T g(a)^T R y` (Eq. 4.1), and the output on a node is Gaussian around
a multiple of its label. Its mean, its variance and the push that training gives to a labelled node are sums of positive
terms of the same form for symmetric and directed operators: Eq. 10.11 for a filter :math:`g` at training and :math:`g'` at test,
Eq. 4.7 if they are one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gcnlimit._values import Array
from gcnlimit.csbm import SpikedOperator
from gcnlimit.filters import Averages, Filter
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.spectrum import Spectrum

Series = tuple[Array, Array]  # Taylor coefficients of a filter and their tails


class Readout(NamedTuple):
    r"""Averages of the output that is read through a filter :math:`g'` after training through :math:`g`.

    `tau2` is :math:`\tau(g'^2)`, `e` is :math:`e(g')`, `both` is :math:`\tau(g'g)`, `excess` is :math:`e(g'g) - \tau(g'g)`;
    `coherent` and `scattered` are the variances due to the signal and to the choice of labelled nodes.
    """

    tau2: Array
    e: Array
    both: Array
    excess: Array
    coherent: Array
    scattered: Array


def margins(
    averages: Averages,
    alpha: Array,
    mu: Array,
    rho: Array,
    features: Spectrum,
    *,
    readout: Readout | None = None,
) -> tuple[Array, Array]:
    r"""Return the margins of a test and of a train node, mean over standard deviation (Eqs. 4.7, 8.15 and 10.11).

    Correlated features enter by three moments; the averages are then those at :math:`\mu/s_1`, `s_1` the mean variance.
    Without a `readout` the filter of the training is that of the test.
    """
    a = averages
    out = readout or Readout(a.tau_g2, a.e_g, a.tau_g2, a.excess, a.coherent, a.scattered)
    s1 = features.moments[0]
    hidden = (1.0 - rho) / rho
    centre = s1 * out.excess + mu * (a.e_g * out.e)
    variance = s1**2 * out.coherent + hidden * (s1**2 * out.scattered)  # Eq. 4.7
    deviation = np.sqrt(variance + alpha * out.tau2 * weight_square(a, mu, rho, features))
    return centre / deviation, (centre + s1 * out.both / rho) / deviation


def weight_square(a: Averages, mu: Array, rho: Array, features: Spectrum) -> Array:
    r"""Squared length :math:`s_2[e(g^2) + \frac{1-\rho}\rho\tau(g^2)] + g_1\mu\,e(g)^2` of the weights (Eqs. 4.5 and 8.15)."""
    _, s2, g1 = features.moments
    return np.asarray(s2 * (a.e_g2 + (1.0 - rho) / rho * a.tau_g2) + g1 * (mu * a.e_g**2))


def filter_averages(filter: Filter, operator: SpikedOperator, mu: Array, nodes: int) -> Averages:
    r"""Return the averages of a filter on an operator; parameters along one axis, on that many nodes if it is symmetric.

    A directed operator does not commute with its transpose: there they are sums over the Taylor coefficients :math:`g_i` of the
    filter and their tails :math:`G_i = \sum_k g_{i+k} \lambda^k` (Eqs. 4.10 to 4.13).
    """
    signal = operator.signal
    if operator.symmetric:
        measure = SpikedSemicircle.of(signal, nodes)
        return spectral_averages(measure, filter.normalized(measure.x)[0], mu)
    closed = filter.directed_averages(signal, mu)
    if closed is not None:
        return closed
    return coefficient_averages(*filter.directed_chain(signal).taylor(signal), signal, mu)


def spectral_averages(measure: SpikedSemicircle, g: Array, mu: Array) -> Averages:
    r"""Return the averages of a filter known by its values `g` at the nodes of the measure.

    `coherent` is :math:`\mathrm{Var}_e[g^2 + \mu\, e(g)\, g]` and `scattered` is :math:`\mathrm{Var}_\tau[g^2]` (Eq. 4.7).
    """
    g2 = g * g
    tau_g2 = g2 @ measure.tau
    e_g, e_g2 = mean(measure.e, g), mean(measure.e, g2)
    variances = _variances(measure, g2, g, (tau_g2, e_g2, e_g), mu * e_g)
    return Averages(tau_g2, e_g2, mean(measure.excess, g2), e_g, *variances)


def spectral_readout(measure: SpikedSemicircle, g: Array, read: Array, drive: Array) -> Readout:
    r"""Return the averages of the output through the filter of values `read`, after training through `g`.

    `drive` is :math:`\mu\, e(g)` (Eq. 10.11).
    """
    product = g * read
    both, e = product @ measure.tau, mean(measure.e, read)
    variances = _variances(measure, product, read, (both, mean(measure.e, product), e), drive)
    tau2 = (read * read) @ measure.tau
    return Readout(tau2, e, both, mean(measure.excess, product), *variances)


def mean(weight: Array, values: Array) -> Array:
    """Mean of the values in each row."""
    return np.asarray(np.einsum("bn,bn->b", weight, values))


def _variances(
    measure: SpikedSemicircle, product: Array, read: Array, means: tuple[Array, ...], drive: Array
) -> tuple[Array, Array]:
    r"""Return :math:`\mathrm{Var}_e[g'g + \mu\, e(g)\, g']` and :math:`\mathrm{Var}_\tau[g'g]` (Eq. 10.11)."""
    both, e_both, e = means
    spread = drive[:, None] * read
    spread += product
    spread -= (e_both + drive * e)[:, None]
    away = product - both[:, None]
    away *= away
    return np.einsum("bn,bn,bn->b", measure.e, spread, spread), away @ measure.tau


def coefficient_averages(g: Array, G: Array, signal: Array, mu: Array) -> Averages:
    """Return the sums of Eqs. 4.11 to 4.13 from the Taylor coefficients and their tails, powers along the first axis."""
    out = coefficient_readout((g, G), (g, G), signal, mu * G[0])
    return Averages(out.tau2, _square(G), out.excess, out.e, out.coherent, out.scattered)


def coefficient_readout(trained: Series, read: Series, signal: Array, drive: Array) -> Readout:
    r"""Return the sums of Eq. 10.11 from the Taylor coefficients and tails of two filters, powers along the first axis.

    Both have the same number of powers; `drive` is :math:`\mu\, e(g)`.
    """
    (g, G), (h, H) = trained, read
    n = g.shape[0]
    R = np.empty_like(G)
    M2 = np.zeros(g.shape[1])
    N2 = np.zeros(g.shape[1])
    # M_il and N_il (Eq. 4.12) are running sums along a diagonal l - i = lag: n steps, not n^2.
    # At lag 0, M_00 is left out: through it a node sees its own label, which is part of the mean.
    # N has no column l = 0, the coefficient of xi^i y: that enters `tail`.
    for lag in range(n):
        R[lag] = _sum(G[: n - lag], H[lag:])
        M = _running_sum(h[: n - lag] * g[lag:])
        above = _running_sum(h[: n - lag] * G[lag:])  # l = i + lag
        if lag == 0:
            M2 += _square(M[1:])
            N2 += _square(above[1:])
        else:
            upper = _square(M)
            M2 += upper + (upper if h is g else _square(_running_sum(g[: n - lag] * h[lag:])))
            below = _running_sum(G[: n - lag] * h[lag:])  # i = l + lag
            N2 += _square(above) + _square(below[1:])
    tail = drive * H[1:] + R[1:]
    # G_i H_i - g_i h_i by Eq. 4.10, symmetric in the two filters
    excess = _sum(G[1:], 2.0 * h[:-1] + signal * H[1:]) + _sum(H[1:], 2.0 * g[:-1] + signal * G[1:])
    coherent = _square(tail) + N2
    return Readout(_square(h), H[0], _sum(g, h), 0.5 * signal * excess, coherent, scattered=M2)


def _running_sum(terms: Array) -> Array:
    """Sums from each row to the end; `terms` may be overwritten."""
    if terms.shape[1] < 500:
        return np.cumsum(terms[::-1], axis=0)[::-1]
    # NumPy would go along one column after the other, two to eight times as slow
    for k in range(len(terms) - 2, -1, -1):
        terms[k] += terms[k + 1]
    return terms


def _sum(a: Array, b: Array) -> Array:
    return np.asarray(np.einsum("ib,ib->b", a, b))


def _square(a: Array) -> Array:
    return _sum(a, a)
