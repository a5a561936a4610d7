r"""Orders in 1/reg around infinite regularization, for the square loss.

Margin and regularization are explicit in one number :math:`s` (`gcnlimit.theory.finite_reg.square`), and analytic around 0. With
:math:`\epsilon(s) = 1/r`, the orders of the margin :math:`z` are integrals around a circle (Lagrange's inversion),

.. math:: z_n = \frac1{2\pi i n} \oint \frac{dz}{ds}\, \epsilon(s)^{-n}\, ds ,

which the trapezoidal rule gives to rounding.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from gcnlimit._validation import broadcast
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.network import GCN
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.theory.finite_reg.directed import DirectedEquations, Medium
from gcnlimit.theory.finite_reg.equations import Transforms
from gcnlimit.theory.finite_reg.solution import ScaledChain
from gcnlimit.theory.finite_reg.square import spectral_transforms, square_margin, square_reg
from gcnlimit.theory.points import Points

_ANGLES = 24  # points on the upper half of the circle; the lower one is its conjugate
_RADIUS = 0.2  # of the circle, over the distance within which the margin is analytic
_SWEEPS = 1000  # through the layers at most
_RESTING = 1e-14  # relative change in a sweep of layers that rest


def large_reg_expansion(data: CSBM, gcn: GCN, order: int = 2) -> Array:
    r"""Coefficients :math:`z_0, z_1, \dots` of the test margin in powers of :math:`1/r`, along the last axis.

    .. math:: Acc_{test} = \Phi\Big( \sum_n z_n r^{-n} \Big)

    for the square loss, two equal classes and white features. The error of :math:`z_n` is below :math:`10^{-9} |z_0| R^n`, where
    the series converges for :math:`r > R`. The `reg` of `gcn` is not used; `order` is at most 4.

    Without a graph, ridge regression has :math:`z = z_0 (1 - \rho/2\alpha r^2 + \dots)`:

    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    >>> z = large_reg_expansion(data, gl.GCN(gl.Diffusion(t=0.0), symmetrize=False))
    >>> bool(abs(z[1]) < 1e-12), round(z[2].item() / z[0].item(), 10)
    (True, -0.0125)
    """
    network = gcn.replaced(reg=np.inf)
    shape = broadcast(data=data.shape, network=network.shape)
    points = Points.of(data, network)
    with np.errstate(all="ignore"):  # gains out of range are refused below
        orders, gain = _orders(points, order)
        margin = orders * gain[:, None] ** (2 * np.arange(order + 1))
    if not np.all(np.isfinite(margin)):
        raise ParameterError(
            f"the gain {np.max(gain):.3g} of the filter is out of range for powers of 1/reg; "
            "take a weaker filter, normalize=True, or a lower order"
        )
    return np.asarray(margin.reshape(*shape, order + 1))


def _orders(points: Points, order: int) -> tuple[Array, Array]:
    """Coefficients for filters of gain 1, and the units of their regularization."""
    around = points.take(np.repeat(np.arange(points.size), _ANGLES))
    graph = (_Spectrum if points.symmetric else _Chain)(around, order)
    angle = np.pi * (np.arange(_ANGLES) + 0.5) / _ANGLES
    peak = graph.peak * (1.0 + around.mu)
    radius = _RADIUS / np.maximum(peak, np.sqrt((around.alpha + peak) / around.rho))
    s = radius * np.tile(np.exp(1j * angle), points.size)
    averages = graph.at(s)
    margin = square_margin(averages, s, around.alpha, around.mu, around.rho).reshape(-1, _ANGLES)
    reg = square_reg(averages.W, s, around.alpha, around.rho).reshape(-1, _ANGLES)
    # Fourier series of the margin around the circle, and its orders by Lagrange's inversion
    k = np.arange(_ANGLES)
    waves = np.exp(1j * np.outer(k, angle))
    fourier = (margin @ waves.conj().T).real / _ANGLES
    slope = (k * fourier) @ waves  # s dz/ds
    higher = [np.mean(slope * reg**n, axis=1).real / n for n in range(1, order + 1)]
    return np.stack([fourier[:, 0], *higher], axis=1), graph.unit[::_ANGLES]


class _Spectrum:
    """A symmetric graph: averages over its spectrum at complex s, exact up to the order."""

    def __init__(self, points: Points, order: int) -> None:
        nodes = (order + 2) * int(np.max(points.filter.quadrature_nodes())) + 16
        self.measure = SpikedSemicircle.of(points.signal, nodes)
        g, size = points.filter.normalized(self.measure.x)
        bulk = np.sqrt(g**2 @ self.measure.tau)
        self.g = g / bulk[:, None]
        self.unit = points.units(np.exp(size) * bulk)
        self.peak = np.max(self.g**2 * (self.measure.e + self.measure.tau > 0.0), axis=1)

    def at(self, s: Any) -> Transforms:
        """Averages at each point's own s."""
        U = self.g / (1.0 + s[:, None] * self.g**2)
        return spectral_transforms(self.measure, U, self.g * U, s)


class _Chain:
    """A directed graph: averages of the chain of layers at complex s, by sweeps through the layers until they rest."""

    def __init__(self, points: Points, order: int) -> None:
        chain = points.filter.chain(radius=points.radius)
        scaled = ScaledChain.of(chain, points.signal, symmetric=False)
        equations = DirectedEquations.of(points, scaled)
        self.equations = replace(equations, back=equations.back.astype(complex))
        self.unit = points.units(scaled.gain)
        # the noise xi of the operator has powers of norm |xi^i|^2 < e (i + 1)
        g, _ = points.filter.directed_chain(points.signal).taylor(points.signal)
        norm = np.sqrt(math.e * np.arange(1.0, len(g) + 1.0)) @ np.abs(g)
        self.peak = np.maximum(norm**2 / np.sum(g**2, axis=0), scaled.spike)

    def at(self, s: Any) -> Transforms:
        """Averages at each point's own s."""
        depth = self.equations.chain.depth
        size = np.linalg.norm
        medium = Medium(*np.zeros((4, s.size, depth, depth), complex))
        for _ in range(_SWEEPS):
            last = medium
            free, stiff, medium = self.equations.sweep(last, s)
            pairs = zip(medium, last, strict=True)
            if all(size(new - old) <= _RESTING * size(new) for new, old in pairs):
                break
        return self.equations.transforms(free, stiff, medium, s)
