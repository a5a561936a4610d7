r"""Infinite regularization with the symmetric normalization: the law enters through one number (Eqs. 11.4 and 11.5).

In the terms of `gcnlimit.theory.large_reg`, with :math:`b = \mathbb E\sqrt\theta`, a node has the mean
:math:`\bar e(F) - \tau(g^2) + b\,[e(F) - \tau(F)]\,(\sqrt\theta - b)` and the coherent variance
:math:`b^2\,\mathrm{Var}_e F + (1 - b^2)\,\mathrm{Var}_\tau F`; :math:`b = 1` is the homogeneous theory.
"""

from __future__ import annotations

import numpy as np

from gcnlimit._values import Array
from gcnlimit.filters import Averages
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.theory.large_reg import coefficient_averages, margins
from gcnlimit.theory.points import Points


def margins_by_degree(points: Points, b: float, theta: Array) -> tuple[Array, Array]:
    r"""Margins of test and train nodes, points along the first axis and the propensities `theta` along the second.

    `b` is the mean root of the law of the degrees.
    """
    mu = points.mu / points.features.moments[0]
    averages, slope = (_symmetric if points.symmetric else _directed)(points, mu, b)
    excess = averages.excess + slope * (np.sqrt(theta) - b)[:, None]
    test, train = margins(averages._replace(excess=excess), points.alpha, points.mu, points.rho, points.features)
    return test.T, train.T


def _symmetric(points: Points, mu: Array, b: float) -> tuple[Averages, Array]:
    r"""Averages over the spectrum, and the slope of the mean in :math:`\sqrt\theta`."""
    measure = SpikedSemicircle.of(points.signal, int(np.max(points.filter.quadrature_nodes())))
    g = points.filter.normalized(measure.x)[0]
    g2, e, tau = g * g, measure.e, measure.tau
    e_g, tau_g2 = _mixed(np.vecdot(e, g), g @ tau, b), g2 @ tau
    F = g2 + (mu * e_g)[:, None] * g
    along, across = F - np.vecdot(e, F)[:, None], F - (F @ tau)[:, None]
    return Averages(
        tau_g2=tau_g2,
        e_g2=_mixed(np.vecdot(e, g2), tau_g2, b),
        excess=b**2 * np.vecdot(measure.excess, g2),
        e_g=e_g,
        coherent=_mixed(np.vecdot(e, along**2), across**2 @ tau, b),
        scattered=np.square(g2 - tau_g2[:, None]) @ tau,
    ), b * np.vecdot(measure.excess, F)


def _directed(points: Points, mu: Array, b: float) -> tuple[Averages, Array]:
    r"""The same from Taylor coefficients: those across the spike are those of a graph without signal."""
    signal, none = points.signal, np.zeros_like(points.signal)
    g, G = points.filter.directed_chain(signal).taylor(signal)
    along, across = coefficient_averages(g, G, signal, none), coefficient_averages(g, g, none, none)
    e_g = _mixed(along.e_g, across.e_g, b)
    drive = mu * e_g
    return along._replace(
        e_g2=_mixed(along.e_g2, along.tau_g2, b),
        excess=b**2 * along.excess,
        e_g=e_g,
        coherent=_mixed(_driven(along, G, drive), _driven(across, g, drive), b),
    ), b * (along.excess + drive * (along.e_g - across.e_g))


def _driven(averages: Averages, G: Array, drive: Array) -> Array:
    """Coherent variance with a drive, from that without one and the tails of the coefficients."""
    tail = G[1:]
    overlap = np.array([np.sum(G[: len(G) - lag] * G[lag:], axis=0) for lag in range(1, len(G))]).reshape(tail.shape)
    return np.asarray(averages.coherent + drive * np.sum(tail * (2.0 * overlap + drive * tail), axis=0))


def _mixed(along: Array, across: Array, b: float) -> Array:
    """Average over the labels of what differs along the spike and across it."""
    return np.asarray(b**2 * along + (1.0 - b**2) * across)
