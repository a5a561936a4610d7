r"""Margins under the symmetric normalization at infinite regularization (Eqs. 11.4 and 11.5).

The law of the degrees enters through one number, :math:`b = \mathbb E\sqrt\theta`; :math:`b = 1` is the homogeneous theory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from gcnlimit._values import Array
from gcnlimit.filters import Averages
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.theory.large_reg import Readout, coefficient_readout, margins, spectral_readout
from gcnlimit.theory.points import Points


def symmetric_margins(points: Points, b: float, theta: Array) -> tuple[Array, Array]:
    """Margins under the symmetric normalization."""
    (e_along, e_across), sides = (_symmetric_sides if points.symmetric else _directed_sides)(points)
    # labels are along the spike with b, and across it with the rest
    e_g = b**2 * e_along + (1.0 - b**2) * e_across
    drive = points.mu / points.features.moments[0] * e_g
    along, across = (side(drive) for side in sides)
    slope = b * (along.excess + drive * (e_along - e_across))  # of the mean in the root of theta
    averages = Averages(
        tau_g2=along.tau2,
        e_g2=along.tau2 + b**2 * along.excess,
        excess=b**2 * along.excess + slope * (np.sqrt(theta) - b)[:, None],
        e_g=e_g,
        coherent=b**2 * along.coherent + (1.0 - b**2) * across.coherent,
        scattered=along.scattered,
    )
    test, train = margins(averages, points.alpha, points.mu, points.rho, points.features)
    return test.T, train.T


# the average e(g) along the spike and across it, and the averages of the output there at a drive
_Sides = tuple[tuple[Array, Array], tuple[Callable[[Array], Readout], ...]]


def _symmetric_sides(points: Points) -> _Sides:
    """Averages over the spectrum: across the spike the measure of the labels is that of the bulk."""
    along = SpikedSemicircle.of(points.signal, int(np.max(points.filter.quadrature_nodes())))
    e = np.broadcast_to(along.tau, along.e.shape)
    across = replace(along, e=e, excess=np.zeros_like(along.excess))
    g = points.filter.normalized(along.x)[0]
    sides = tuple(partial(spectral_readout, measure, g, g) for measure in (along, across))
    return (np.vecdot(along.e, g), g @ along.tau), sides


def _directed_sides(points: Points) -> _Sides:
    """Averages from Taylor coefficients: across the spike those of a graph without signal, which are their own tails."""
    signal = points.signal
    g, G = points.filter.directed_chain(signal).taylor(signal)
    along = partial(coefficient_readout, (g, G), (g, G), signal)
    across = partial(coefficient_readout, (g, g), (g, g), np.zeros_like(signal))
    return (G[0], g[0]), (along, across)
