r"""Ridge regressions at complex regularizations :math:`\zeta` (Eqs. 13.6 to 13.9).

The output at :math:`\zeta` depends on one number :math:`s`, of which :math:`\zeta` is an explicit function, so that
:math:`\zeta` on a contour is followed in from far away by Newton's method.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline

from gcnlimit._values import Array
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.theory.points import Mask, Points, Rows

_WIDTHS = (4.0, 3.0, 2.2, 1.5, 1.0, 0.6, 0.3, 0.1, 0.0)  # of ellipses where a root is followed
_NEWTON, _NEAR = 30, 1e-9  # steps at most on the last one; one after which the error is rounding
_SCAN = np.linspace(-14.0, 9.0, 47)  # logarithms of distances from the spectrum, to find its ends


class Path(NamedTuple):
    r"""Law of outputs and weights at complex regularizations.

    `missed`: mean of :math:`1 - \omega` on a test node; `kept`: factor :math:`m` of the same on a train node; `scale`:
    :math:`\zeta/m`; `weights`: :math:`m_w`.
    """

    missed: Array
    kept: Array
    scale: Array
    weights: Array


class GraphRidge(ABC):
    """Ridge regressions of a filter on a graph, at each point; regularizations are divided by `unit`, the squared gain."""

    unit: Array

    def __init__(self, points: Points) -> None:
        self.alpha, self.mu, self.rho = (x[:, None] for x in (points.alpha, points.mu, points.rho))

    @abstractmethod
    def reg(self, variable: Array) -> tuple[Array, Array]:
        r"""Regularization :math:`\zeta` and its derivative in the variable of the resolvents."""

    @abstractmethod
    def start(self, zeta: Array) -> Array:
        """Variable at large regularizations, nearly."""

    @abstractmethod
    def ends(self) -> tuple[Array, Array]:
        """Interval that contains all eigenvalues but 0, hardly wider than needed."""

    @abstractmethod
    def means(self, variable: Array) -> tuple[Array, Array, Array, Array]:
        r"""Number :math:`s`, and averages there: :math:`\tau(W)`, :math:`e(U)` and :math:`e(W) - \tau(W)` (Eq. 13.6)."""

    def path(self, variable: Array) -> Path:
        """Laws at the regularizations of these variables (Eqs. 13.8 and 13.9)."""
        s, W, U, excess = self.means(variable)
        p = s * W
        along = U / (1.0 + self.mu * s * (W + excess))
        mean = s * (self.mu * along * U + excess) / (1.0 - p)
        scale = self.rho * (1.0 - self.alpha * p) / (self.alpha * s * (1.0 - p))
        return Path(1.0 - mean, 1.0 - p / self.rho, scale, np.sqrt(self.mu) * s * along)

    def followed(self, zeta: Array) -> Array:
        """Variable on contours, from far away along hyperbolas whose foci are their ends: no line meets the spectrum."""
        low, high = (end(zeta.real, axis=1, keepdims=True) for end in (np.min, np.max))
        centre, half = 0.5 * (low + high), 0.5 * (high - low)
        v = np.arccosh((zeta - centre) / half)
        ways = [centre + half * np.cosh(np.maximum(v.real, w) + 1j * v.imag) for w in _WIDTHS]
        root = self.start(ways[0])
        for nearer in ways:
            root = self.polished(root, nearer, steps=1)
        return self.polished(root, zeta)

    def between(self, few: Array, at: Rows, zeta: Array) -> Array:
        """Variable on contours from that of a few of their nodes; splines between these are near enough for Newton's method."""
        guess = CubicSpline(at, few, axis=1)(np.arange(zeta.shape[1]))
        root = self.polished(guess, zeta)
        # roots in the other half-plane than the regularization are wrong: followed from far away
        lost = ~np.all(root.imag * zeta.imag > 0.0, axis=1)
        return np.where(lost[:, None], self.followed(zeta), root) if lost.any() else root

    def polished(self, root: Array, zeta: Array, steps: int = _NEWTON) -> Array:
        """Repeat Newton's step, whose error is squared each time, until it is near."""
        for _ in range(steps):
            value, slope = self.reg(root)
            step = (value - zeta) / slope
            root = np.asarray(root - step)
            if np.all(np.abs(step) <= _NEAR * np.abs(root)):
                break
        return root

    def _reg(self, s: Array, W: Array, ds: Array, dW: Array) -> tuple[Array, Array]:
        r"""Regularization :math:`(\rho - p)(1 - \alpha p)/(\alpha s (1 - p))`, :math:`p = s\tau(W)`, and its derivative."""
        p, dp = s * W, ds * W + s * dW
        below, slope = s * (1.0 - p), ds * (1.0 - p) - s * dp
        value = (self.rho - p) * (1.0 - self.alpha * p) / (self.alpha * below)
        falls = dp * (1.0 + self.alpha * (self.rho - 2.0 * p)) / (self.alpha * below)
        return value, -falls - value * slope / below

    def _scanned(self, above: Callable[[Array], tuple[Array, Mask]]) -> Array:
        """Largest eigenvalue, or hardly more, by finer and finer scans.

        At rising numbers `above` gives variables that approach the spectrum, and whether an outlier has been passed.
        """
        scan = np.broadcast_to(_SCAN, (len(self.mu), _SCAN.size))
        for _ in range(3):
            variable, outlier = above(scan)
            value = self.reg(variable)[0].real
            # beyond the spectrum the regularization is monotone: it turns at the end
            falling = np.diff(value, axis=1, append=-np.inf) <= 0.0
            last = np.maximum(np.argmax(falling | outlier, axis=1) - 1, 0)[:, None]
            ends = last + np.array([0, 2])
            start, stop = np.take_along_axis(scan, np.minimum(ends, scan.shape[1] - 1), 1).T
            scan = np.linspace(start, stop, 12, axis=1)
        return np.asarray(-np.take_along_axis(value, last, axis=1)[:, 0])


class SymmetricRidge(GraphRidge):
    r"""Ridge regressions on a symmetric graph: averages over its spectrum, and the variable is :math:`u = 1/s`."""

    def __init__(self, points: Points, nodes: int) -> None:
        super().__init__(points)
        self.measure = SpikedSemicircle.of(points.signal, nodes)
        g, size = points.filter.normalized(self.measure.x)
        # a filter of gain 1 on the bulk: regularizations then have the scale of the eigenvalues
        bulk = np.sqrt(g**2 @ self.measure.tau)
        self.g = g / bulk[:, None]
        self.unit = points.units(np.exp(size) * bulk) ** 2

    def reg(self, variable: Array) -> tuple[Array, Array]:
        tau = self.measure.tau[:-1]
        # averages of 1/(u + g^2) and of its square, by real numbers
        v = variable.imag
        away = variable.real[:, :, None] + self.g[:, None, :-1] ** 2
        size = 1.0 / (away * away + (v * v)[:, :, None])
        whole = size @ tau
        away *= size
        first = away @ tau - 1j * v * whole
        away *= size
        size *= size
        second = whole - 2.0 * v * (v * (size @ tau) + 1j * (away @ tau))
        # tau(W) and its derivative in u; s = 1/u
        W, dW = variable * (1.0 - variable * first), 1.0 - 2.0 * variable * first
        s = 1.0 / variable
        return self._reg(s, W, -(s**2), dW + variable**2 * second)

    def start(self, zeta: Array) -> Array:
        return np.asarray((self.alpha * zeta + 1.0 + self.alpha * self.rho - self.rho) / self.rho)

    def ends(self) -> tuple[Array, Array]:
        square = self.g**2
        # resolvents of W have their poles at -g^2: the ends are looked for beyond the outermost
        lowest = np.min(square[:, :-1], axis=1)[:, None]
        low = self.reg(np.exp(_SCAN) - lowest)[0].real
        held = self.measure.tau + self.measure.e > 0.0  # all but an atom without a mass
        top = np.max(square * held, axis=1)[:, None]

        def above(scan: Array) -> tuple[Array, Mask]:
            variable = -top * (1.0 + np.exp(_SCAN[0] + _SCAN[-1] - scan))
            part = variable[:, :, None] / (variable[:, :, None] + square[:, None])
            passed = self.mu * (np.vecdot(part, self.measure.e[:, None]) - 1.0) >= 1.0
            return variable, passed

        return np.maximum(-np.fmin.reduce(low, axis=1), 0.0), self._scanned(above)

    def means(self, variable: Array) -> tuple[Array, Array, Array, Array]:
        g, s, measure = self.g, 1.0 / variable, self.measure
        D = 1.0 / (1.0 + s[:, :, None] * g[:, None] ** 2)
        # W less its value for a gain of 1, so that the difference of its averages keeps its digits
        weights = (g**2 * measure.tau, g * measure.e, (g**2 - 1.0) * measure.excess)
        columns = np.stack(weights, axis=-1)
        W, U, less = np.moveaxis(D.real @ columns + 1j * (D.imag @ columns), -1, 0)
        return s, W, U, less / (1.0 + s)


class PageRankRidge(GraphRidge):
    r"""PageRank on a directed graph: closed averages of :math:`w = \tau(W)` (Eq. 13.15).

    With :math:`x = 1 + \theta^2w` (that of Eq. 3.30) and :math:`\kappa = 1 - \theta\lambda`,
    :math:`s = \frac1{xw} - \frac1{x^2}`, :math:`e(W) = x/L`, :math:`e(U) = \kappa/L`, :math:`L = \kappa^2 - 1 + x/w`. The
    variable is :math:`1/(w_0 - w)` with :math:`w_0 = 1/(1 - \theta^2)`, where :math:`s = 0`: it grows as the regularization.
    """

    def __init__(self, points: Points) -> None:
        super().__init__(points)
        self.theta = points.filter.values[:, None]
        self.kappa = 1.0 - self.theta * points.signal[:, None]
        self.unit = points.divisor() ** -2.0
        self.largest = 1.0 / (1.0 - self.theta**2)

    def _at(self, w: Array) -> tuple[Array, Array, Array, Array]:
        """Number s and its derivative, x and L."""
        square = self.theta**2
        x = 1.0 + square * w
        slope = 2.0 * square / x**3 - (x + square * w) / (x * w) ** 2
        return (x - w) / (x**2 * w), slope, x, self.kappa**2 - 1.0 + x / w

    def reg(self, variable: Array) -> tuple[Array, Array]:
        w = self.largest - 1.0 / variable
        s, slope, *_ = self._at(w)
        dw = variable**-2.0
        return self._reg(s, w, slope * dw, dw)

    def start(self, zeta: Array) -> Array:
        return np.asarray(-self._at(self.largest)[1] * self.alpha * zeta / self.rho)

    def ends(self) -> tuple[Array, Array]:
        low = self.reg((1.0 + np.exp(-_SCAN)) / self.largest)[0]

        def above(scan: Array) -> tuple[Array, Mask]:
            w = self.largest * (1.0 + np.exp(scan))
            s, slope, x, below = self._at(w)
            passed = (below + self.mu * s * x <= 0.0) | (below <= 0.0) | (slope >= 0.0)
            return 1.0 / (self.largest - w), passed

        return np.maximum(-np.min(low, axis=1), 0.0), self._scanned(above)

    def means(self, variable: Array) -> tuple[Array, Array, Array, Array]:
        w = self.largest - 1.0 / variable
        s, _, _, below = self._at(w)
        return s, w, self.kappa / below, w * (1.0 - self.kappa**2) / below
