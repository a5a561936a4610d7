r"""Spectrum of the normalized operator: its edge, the outlier that the labels make, and what its eigenvector knows (Eq. 11.12).

In :math:`u = z/M` all is explicit: :math:`M^2 = \mathbb E[\phi/(u - \phi)]` and :math:`z = uM`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gcnlimit._values import Array
from gcnlimit.degrees import DegreeLaw
from gcnlimit.normalization import Normalization
from gcnlimit.numerics.roots import bracketed_roots

_STEP = 1e-30  # along the imaginary axis


class OperatorSpectrum(NamedTuple):
    """Spectrum of a symmetric operator at each signal.

    `edge` of the noise; `outlier`, NaN if the labels make none; `critical` signal above which they do, at the same
    normalization; `margin` :math:`x` of the leading eigenvector, 0 if there is no outlier.
    """

    edge: Array
    outlier: Array
    critical: Array
    margin: Array


def spectrum(normalization: Normalization, law: DegreeLaw, signal: Array) -> OperatorSpectrum:
    r"""Spectrum of a symmetric operator under a law of degrees, at each signal :math:`\lambda_e`.

    >>> from gcnlimit.degrees import Gamma
    >>> from gcnlimit.normalization import as_normalization
    >>> found = spectrum(as_normalization("symmetric"), Gamma(0.5), np.array([0.9, 1.5]))
    >>> found.edge.round(9), found.outlier.round(9)  # 2 and lam + 1/lam, whatever the law
    (array([2., 2.]), array([      nan, 2.16666667]))
    """
    normalization.check(law)
    left, right = normalization.factors(law.theta, signal)
    # propensities of weight 0 must not bound the spectrum
    some = law.weight > 0.0
    phi = (left * right)[:, some]
    theta = law.theta[some]
    weight = law.weight[some]
    strength = np.abs(signal)
    edge = _edge(phi, weight)
    M = np.sqrt(_over(phi, weight, edge))
    # an outlier leaves the bulk at its edge, where the spike first outweighs the noise
    critical = M / _over(phi, theta * weight, edge)
    # below it the eigenvalue stays inside the noise
    there = strength > critical

    def excess(u: Array) -> Array:
        return strength * _over(phi, theta * weight, u) - np.sqrt(_over(phi, weight, u))

    out = _root(excess, edge)
    N = np.sqrt(_over(phi, weight, out))
    gain = np.maximum(N**2 - _over(phi, weight, out, 2), 0.0) / _over(phi, theta * weight, out, 2)
    outlier = np.where(there, np.copysign(out * N, signal), np.nan)
    return OperatorSpectrum(edge * M, outlier, critical, np.where(there, np.sqrt(gain), 0.0))


def resolvent(phi: Array, weight: Array, z: Array) -> Array:
    r"""Average :math:`M = \mathbb E[\phi m]` at `z` beyond the edge of the spectrum, one row of :math:`\phi` for each."""
    phi = phi[:, weight > 0.0]
    weight = weight[weight > 0.0]
    u = _root(lambda u: np.abs(z) - u * np.sqrt(_over(phi, weight, u)), _edge(phi, weight))
    return np.asarray(np.copysign(np.sqrt(_over(phi, weight, u)), z))


def _over(phi: Array, weight: Array, u: Array, power: int = 1) -> Array:
    r"""Average of :math:`[\phi/(u - \phi)]^p`."""
    return np.asarray((phi / (u[:, None] - phi)) ** power @ weight)


def _edge(phi: Array, weight: Array) -> Array:
    r"""Place of the edge in :math:`u`."""
    return _root(lambda u: _over(phi, weight, u, 2) - _over(phi, weight, u), np.max(phi, axis=1))


def radius(normalization: Normalization, law: DegreeLaw, signal: Array, symmetric: bool) -> Array:
    """Spectral radius of the operator at each signal, spike included."""
    if symmetric:
        ends = spectrum(normalization, law, signal)
        return np.fmax(ends.edge, np.abs(ends.outlier))
    normalization.check(law)
    left, right = normalization.factors(law.theta, signal)
    phi = left * right
    spike = np.abs(signal) * (phi @ (law.theta * law.weight))
    return np.maximum(np.sqrt(phi**2 @ law.weight), spike)


def _root(function: Callable[[Array], Array], low: Array) -> Array:
    """Root above `low` of an analytic function, positive there and negative far away; `low` if it has none."""

    def descending(x: Array) -> tuple[Array, Array]:
        # the part along an imaginary step is the derivative, without rounding
        f = function(low * (1.0 + np.exp(x + 1j * _STEP)))
        return -f.real, -f.imag / _STEP

    # in the logarithm of the distance, since the function diverges at `low`
    farthest = np.full_like(low, np.log(1e15))
    x = bracketed_roots(descending, np.zeros_like(low), -farthest, farthest)
    return np.asarray(low * (1.0 + np.exp(x)))
