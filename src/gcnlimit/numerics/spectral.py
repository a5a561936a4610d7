r"""Quadrature on the semicircle and on the spectral measure of a spiked matrix.

Let :math:`\mathrm{sc}` be the semicircle law on :math:`[-2, 2]` and :math:`\nu` the spectral measure of the vector
:math:`y/\sqrt N` in :math:`\frac{\lambda_e}N yy^T + \xi` (Eq. 4.4):

.. math::
    d\nu = \frac{\mathrm{sc}(x)\,dx}{1 + \lambda_e^2 - \lambda_e x}
           + (1 - \lambda_e^{-2})\,\delta(x - \lambda_e - \lambda_e^{-1})\,dx \quad (\text{the atom if } |\lambda_e| > 1).

Averages over them are written :math:`\tau(f)` and :math:`e(f)`. For functions that are not smooth, the interval
:math:`0 < t < \pi` of :math:`x = \pm 2\cos t` is cut into panels with a Gauss-Legendre rule in each: at every node the ratio of
the two densities is exact, so that the values of a function there may be chosen freely.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array


@dataclass(frozen=True, eq=False)
class SpikedSemicircle:
    r"""Nodes and weights for :math:`\tau`, :math:`e` and :math:`e - \tau`; exact for polynomials of degree below `n`.

    The nodes :math:`x_j = 2\cos\frac{j\pi}{n+1}` and weights :math:`w_j` for :math:`\tau` are those of Gauss and Chebyshev
    (Eq. 6.1). For :math:`|\lambda_e| \le 1` (Eq. 6.2)

    .. math:: e(f) \approx \sum_j w_j \frac{1 - (-1)^j \lambda_e^{n+1}}{1 + \lambda_e^2 - \lambda_e x_j} f(x_j),

    with weights that are never negative and stay accurate through :math:`|\lambda_e| = 1`; beyond,
    :math:`e_{\lambda_e}(f) = (1 - \lambda_e^{-2}) f(\lambda_e + 1/\lambda_e) + \lambda_e^{-2} e_{1/\lambda_e}(f)` (Eq. 6.3).
    The last column of `x`, `e` and `excess` belongs to the atom (of mass 0 if there is none).

    >>> m = SpikedSemicircle.of(np.array([0.5, 1.0, 3.0]), n=8)
    >>> np.allclose(np.sum(m.e * m.x, axis=1), [0.5, 1.0, 3.0])  # the mean is the signal, on both sides of the transition
    True
    """

    x: Array
    tau: Array
    e: Array
    excess: Array

    def take(self, rows: npt.NDArray[Any]) -> SpikedSemicircle:
        """Measures of some of the signals."""
        return replace(self, x=self.x[rows], e=self.e[rows], excess=self.excess[rows])

    @classmethod
    def of(cls, signal: Array, n: int) -> SpikedSemicircle:
        """Return the measure of each signal, a one-dimensional array, on `n` nodes."""
        x, w, sign, left, right = gauss_chebyshev(n)
        outside = np.abs(signal) > 1.0
        # the bulk of a strong signal is that of its inverse, with less weight
        inner = np.where(outside, 1.0 / np.where(signal == 0, 1.0, signal), signal)[:, None]
        ripple = sign * inner ** (n + 1)
        # 2 - |x| without rounding, which becomes 1 + l^2 - l x in place
        gap = np.where(inner < 0, left, right)
        gap *= np.abs(inner)
        gap += (1.0 - np.abs(inner)) ** 2
        density = np.divide(w, gap, out=gap)

        nodes = np.empty((signal.size, n + 1), order="F")
        e, excess = (np.empty((signal.size, n + 1)) for _ in range(2))
        nodes[:, :n] = x
        np.multiply(density, 1.0 + ripple, out=e[:, :n])  # Eq. 6.2
        away = inner - x
        away *= inner
        np.multiply(density, ripple - away, out=excess[:, :n])  # e - tau without subtracting them

        far = np.flatnonzero(outside)
        if far.size:  # beyond the transition (Eq. 6.3)
            beyond = inner[far]
            e[far, :n] *= beyond**2
            excess[far, :n] = density[far] * (beyond**2 * ripple[far] - (1.0 - beyond * x))
        nodes[:, n] = np.where(outside, signal + inner[:, 0], 0.0)
        e[:, n] = excess[:, n] = np.where(outside, 1.0 - inner[:, 0] ** 2, 0.0)
        return cls(nodes, np.append(w, 0.0), e, excess)


@lru_cache(maxsize=8)
def gauss_chebyshev(n: int) -> tuple[Array, ...]:
    """Nodes and weights for the semicircle (Eq. 6.1), sign of the ripple, and distance of a node from -2 and from 2."""
    j = np.arange(1, n + 1)
    theta = j * (np.pi / (n + 1))
    weight = 2.0 / (n + 1) * np.sin(theta) ** 2
    sign = np.where(j % 2, 1.0, -1.0)
    distance = 4.0 * np.cos(theta / 2) ** 2, 4.0 * np.sin(theta / 2) ** 2
    return 2.0 * np.cos(theta), weight, sign, *distance


ORDER = 12  # nodes of a panel
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(ORDER)
_TO_LEGENDRE = np.linalg.inv(np.polynomial.legendre.legvander(_NODES, ORDER - 1))
_CLOSEST = 1e-12  # distance of a signal from 1 that is resolved


def edge_panels(signal: Array) -> Array:
    """Ends of panels that resolve the density of these signals: halved towards the edge on the side of the spike."""
    size = np.abs(signal)
    distance = float(np.min(np.abs(np.log(np.maximum(size, 1e-3))), initial=1.0))
    # near the edge the density varies on the scale of the distance from the transition
    levels = int(np.ceil(np.log2(np.pi / max(distance, _CLOSEST))))
    near = np.pi * 0.5 ** np.arange(max(levels, 2), 1, -1.0)
    return np.concatenate([[0.0], near, np.pi * np.array([0.5, 0.75, 1.0])])


def halved(ends: Array, which: npt.NDArray[np.bool_] | None = None) -> Array:
    """Cut each panel in two, or those marked."""
    middle = 0.5 * (ends[1:] + ends[:-1])
    return np.sort(np.concatenate([ends, middle if which is None else middle[which]]))


def panel_angles(ends: Array) -> Array:
    """Nodes of all panels, increasing."""
    half = 0.5 * np.diff(ends)[:, None]
    middle = 0.5 * (ends[1:] + ends[:-1])[:, None]
    return np.asarray((middle + half * _NODES).ravel())


def panel_measure(signal: Array, ends: Array) -> SpikedSemicircle:
    """Nodes and weights of the measures of each signal; the angle is counted from the edge on the side of the spike."""
    t = panel_angles(ends)
    tau = 2.0 / np.pi * np.sin(t) ** 2 * (0.5 * np.diff(ends)[:, None] * _WEIGHTS).ravel()
    sign = np.where(signal < 0.0, -1.0, 1.0)[:, None]
    size = np.abs(signal)[:, None]
    outside = size > 1.0
    inner = np.where(outside, 1.0 / np.where(size > 0.0, size, 1.0), size)
    distance = (1.0 - inner) ** 2 + 4.0 * inner * np.sin(0.5 * t) ** 2  # 1 + l^2 - l x
    ratio = np.where(outside, inner**2, 1.0) / distance
    x = 2.0 * np.cos(t)
    rise = np.where(outside, inner * x - 1.0, inner * (x - inner)) / distance
    mass = np.where(outside, 1.0 - inner**2, 0.0)
    atom = sign * np.where(outside, size + inner, 0.0)
    nodes = np.concatenate([sign * x, atom], axis=1)
    e = np.concatenate([ratio * tau, mass], axis=1)
    excess = np.concatenate([rise * tau, mass], axis=1)
    return SpikedSemicircle(nodes, np.append(tau, 0.0), e, excess)


def interpolate(ends: Array, values: Array, t: Array) -> Array:
    """Values at other angles of functions known at the nodes of all panels, one per row."""
    # each panel by its own polynomial: across its ends a filter may have a kink
    coefficients = values.reshape(len(values), -1, ORDER) @ _TO_LEGENDRE.T
    panel = np.maximum(np.searchsorted(ends, t) - 1, 0)
    place = (2.0 * t - ends[panel] - ends[panel + 1]) / (ends[panel + 1] - ends[panel])
    basis = np.polynomial.legendre.legvander(place, ORDER - 1)
    return np.asarray(np.einsum("btk,tk->bt", coefficients[:, panel], basis))


def panel_tails(values: Array) -> Array:
    """How far the values at the nodes of each panel are from a polynomial of lower order: the last two coefficients."""
    coefficients = values.reshape(-1, ORDER) @ _TO_LEGENDRE.T
    return np.asarray(np.max(np.abs(coefficients[:, -2:]), axis=1))
