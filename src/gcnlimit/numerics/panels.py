r"""Quadrature on the spectrum of a spiked matrix in panels, for functions that are not smooth.

With :math:`x = \pm 2\cos t` both averages of `gcnlimit.numerics.spectral` are integrals over :math:`0 < t < \pi`. The interval
is cut into panels with a Gauss-Legendre rule in each. At every node the ratio of the two densities is exact, so that the
values of a function at the nodes may be chosen freely, without regard to the values beside them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.numerics.spectral import SpikedSemicircle

ORDER = 12
"""Nodes of a panel."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(ORDER)
_TO_LEGENDRE = np.linalg.inv(np.polynomial.legendre.legvander(_NODES, ORDER - 1))
_CLOSEST = 1e-12  # distance of a signal from 1 that is resolved


def edge_panels(signal: Array) -> Array:
    """Ends of panels that resolve the density of these signals: halved towards the edge on the side of the spike."""
    size = np.abs(signal)
    distance = float(np.min(np.abs(np.log(np.maximum(size, 1e-3))), initial=1.0))
    levels = int(np.ceil(np.log2(np.pi / max(distance, _CLOSEST))))
    near = np.pi * 0.5 ** np.arange(max(levels, 2), 1, -1.0)
    return np.concatenate([[0.0], near, np.pi * np.array([0.5, 0.75, 1.0])])


def halved(ends: Array, which: npt.NDArray[np.bool_] | None = None) -> Array:
    """Cut each panel in two, or those marked.

    >>> halved(np.array([0.0, 1.0, 3.0]), np.array([False, True]))
    array([0., 1., 2., 3.])
    """
    middle = 0.5 * (ends[1:] + ends[:-1])
    return np.sort(np.concatenate([ends, middle if which is None else middle[which]]))


def panel_angles(ends: Array) -> Array:
    """Nodes of all panels, increasing."""
    half, middle = 0.5 * np.diff(ends)[:, None], 0.5 * (ends[1:] + ends[:-1])[:, None]
    return np.asarray((middle + half * _NODES).ravel())


def panel_measure(signal: Array, ends: Array) -> SpikedSemicircle:
    r"""Nodes and weights of the measures of each signal; the angle is counted from the edge on the side of the spike.

    >>> m = panel_measure(np.array([0.5, -1.0001, 3.0]), edge_panels(np.array([0.5, -1.0001, 3.0])))
    >>> np.allclose(np.sum(m.e * m.x, axis=1), [0.5, -1.0001, 3.0], atol=1e-12)  # the mean is the signal
    True
    """
    t = panel_angles(ends)
    tau = 2.0 / np.pi * np.sin(t) ** 2 * (0.5 * np.diff(ends)[:, None] * _WEIGHTS).ravel()
    sign = np.where(signal < 0.0, -1.0, 1.0)[:, None]
    size = np.abs(signal)[:, None]
    outside = size > 1.0
    inner = np.where(outside, 1.0 / np.where(size > 0.0, size, 1.0), size)
    distance = (1.0 - inner) ** 2 + 4.0 * inner * np.sin(0.5 * t) ** 2  # 1 + l^2 - l x
    ratio = np.where(outside, inner**2, 1.0) / distance
    rise = np.where(outside, 2.0 * inner * np.cos(t) - 1.0, inner * (2.0 * np.cos(t) - inner)) / distance
    mass = np.where(outside, 1.0 - inner**2, 0.0)
    atom = sign * np.where(outside, size + inner, 0.0)
    return SpikedSemicircle(
        x=np.concatenate([sign * 2.0 * np.cos(t), atom], axis=1),
        tau=np.append(tau, 0.0),
        e=np.concatenate([ratio * tau, mass], axis=1),
        excess=np.concatenate([rise * tau, mass], axis=1),
    )


def interpolate(ends: Array, values: Array, t: Array) -> Array:
    """Values at other angles of functions known at the nodes of all panels, one per row.

    >>> ends = np.array([0.0, 1.0, np.pi])
    >>> float(interpolate(ends, np.cos(panel_angles(ends))[None], np.array([2.0]))[0, 0] - np.cos(2.0)) < 1e-12
    True
    """
    coefficients = values.reshape(len(values), -1, ORDER) @ _TO_LEGENDRE.T
    panel = np.clip(np.searchsorted(ends, t) - 1, 0, ends.size - 2)
    place = (2.0 * t - ends[panel] - ends[panel + 1]) / (ends[panel + 1] - ends[panel])
    basis = np.polynomial.legendre.legvander(place, ORDER - 1)
    return np.asarray(np.einsum("btk,tk->bt", coefficients[:, panel], basis))


def panel_tails(values: Array) -> Array:
    """How far the values at the nodes of each panel are from a polynomial of lower order: the last two coefficients."""
    coefficients = values.reshape(-1, ORDER) @ _TO_LEGENDRE.T
    return np.asarray(np.max(np.abs(coefficients[:, -2:]), axis=1))
