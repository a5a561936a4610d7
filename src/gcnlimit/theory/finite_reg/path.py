r"""Ridge regressions at complex regularizations :math:`\zeta`, two at a time on the same data (Eqs. 13.6 to 13.11).

The output at :math:`\zeta` depends on one number :math:`s`, of which :math:`\zeta` is an explicit function, so that
:math:`\zeta` on a contour is followed in from far away by Newton's method. Outputs and weights at two regularizations are jointly
Gaussian; their covariances are those of one regularization, `square_margin`, with every square replaced by a product.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from gcnlimit._values import Array
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.theory.points import Mask, Points

_FAR, _FACTORS = 200.0, 13  # contours, each smaller by a factor, along which the root is followed
_NEWTON = 30  # steps at most on the last one
_SCAN = np.linspace(
    -14.0, 9.0, 93
)  # logarithms of distances from the spectrum at which its ends are sought


class Means(NamedTuple):
    r"""Numbers :math:`s` and averages there of :math:`U = gD`, :math:`W = g^2D`, :math:`D = 1/(1 + sg^2)`, as in `Transforms`."""

    s: Array
    W: Array
    U: Array
    excess: Array


class Pairs(NamedTuple):
    """Averages of products of U and W at two numbers s; the second runs over the numbers and then over their conjugates."""

    UU: Array
    WW_bulk: Array
    UU_across: Array
    UW_across: Array
    WW_across: Array


class Path(NamedTuple):
    r"""Law of outputs and weights at complex regularizations.

    `output`: mean output of a test node; `missed`: factor of :math:`1 - h` on a train node; `weights`: :math:`m_w`; `covariance`
    and `weight_covariance`: :math:`\sigma_{12}` and :math:`Q_{w,12}`, the second index as in `Pairs`.
    """

    output: Array
    missed: Array
    weights: Array
    covariance: Array
    weight_covariance: Array


class Ridge(ABC):
    """Ridge regressions of a filter on a graph, at each point; regularizations are divided by `unit`, the squared gain."""

    unit: Array

    def __init__(self, points: Points) -> None:
        self.alpha, self.mu, self.rho = (
            column[:, None] for column in (points.alpha, points.mu, points.rho)
        )

    @abstractmethod
    def reg(self, variable: Array) -> tuple[Array, Array]:
        r"""Regularization :math:`\zeta` and its derivative in the variable of the resolvents."""

    @abstractmethod
    def far(self, zeta: Array) -> Array:
        """Variable at a regularization far from the spectrum."""

    @abstractmethod
    def ends(self) -> tuple[Array, Array]:
        """Interval that contains all eigenvalues but 0, hardly wider than needed."""

    @abstractmethod
    def means(self, variable: Array) -> Means:
        """Averages of the resolvents."""

    @abstractmethod
    def pairs(self, variable: Array) -> Pairs:
        """Averages of products of two resolvents."""

    def output(self, variable: Array) -> Array:
        """Mean output of a test node (Eq. 13.8)."""
        s, W, U, excess = self.means(variable)
        along = U / (1.0 + self.mu * s * (W + excess))
        return np.asarray(s * (self.mu * along * U + excess) / (1.0 - s * W))

    def variable(self, zeta: Array) -> Array:
        """Follow the variable from regularizations far away to those asked for, by Newton's method."""
        centre = 0.5 * (np.max(zeta.real, axis=1) + np.min(zeta.real, axis=1))[:, None]
        root = self.far(centre + _FAR * (zeta - centre))
        for factor in np.geomspace(_FAR, 1.0, _FACTORS):
            for _ in range(2):
                root = self._closer(root, centre + factor * (zeta - centre))
        return self.polished(root, zeta)

    def polished(self, root: Array, zeta: Array) -> Array:
        """Repeat Newton's step until it is below rounding."""
        for _ in range(_NEWTON):
            new = self._closer(root, zeta)
            done = np.all(np.abs(new - root) <= 1e-14 * np.abs(new))
            root = new
            if done:
                break
        return root

    def _closer(self, root: Array, zeta: Array) -> Array:
        value, slope = self.reg(root)
        return np.asarray(root - (value - zeta) / slope)

    def _reg(self, s: Array, W: Array, ds: Array, dW: Array) -> tuple[Array, Array]:
        r"""Regularization :math:`(\rho - p)(1 - \alpha p)/(\alpha s (1 - p))`, :math:`p = s\tau(W)`, and its derivative."""
        p, dp = s * W, ds * W + s * dW
        below, slope = s * (1.0 - p), ds * (1.0 - p) - s * dp
        value = (self.rho - p) * (1.0 - self.alpha * p) / (self.alpha * below)
        falls = dp * (1.0 + self.alpha * (self.rho - 2.0 * p)) / (self.alpha * below)
        return value, -falls - value * slope / below

    def _scanned(self, variable: Array, outlier: Mask) -> Array:
        """Largest eigenvalue or more, given variables that approach the spectrum from above and where an outlier is passed."""
        value = self.reg(variable)[0]
        falling = np.diff(value, axis=1, append=-np.inf) <= 0.0
        last = np.maximum(np.argmax(falling | outlier, axis=1) - 1, 0)
        return np.asarray(-np.take_along_axis(value, last[:, None], axis=1)[:, 0])

    def path(self, variable: Array) -> Path:
        """Laws at the regularizations of these variables (Eqs. 13.8 to 13.11)."""
        s, W, U, excess = self.means(variable)
        graph = self.pairs(variable)
        p = s * W
        rest = 1.0 - p
        along = U / (1.0 + self.mu * s * (W + excess))
        pull = self.mu * along
        mean = pull * U + excess
        missed = rest - s * mean

        alpha, rho, mu = (column[:, :, None] for column in (self.alpha, self.rho, self.mu))
        unknown = (1.0 - rho) / rho
        product = _outer(s)
        stretch = 1.0 / _outer(rest)
        weights = alpha / (1.0 - alpha * product * (graph.WW_bulk + _outer(W)))
        choice = unknown * stretch * (weights * graph.UU**2 + graph.WW_bulk)
        off_labels = _across(graph, np.ones_like(s), -s * pull) + (1.0 + mu) * _outer(along)
        variance = _across(graph, pull, np.ones_like(s)) + weights * graph.UU * off_labels
        variance = (variance + choice * _outer(missed)) / (1.0 - product * choice)
        error = unknown * stretch * (_outer(missed) + product * variance)
        return Path(
            output=s * mean / rest,
            missed=1.0 - p / self.rho,
            weights=np.sqrt(self.mu) * s * along,
            covariance=product * variance * stretch,
            weight_covariance=product * weights * (off_labels + graph.UU * error),
        )


class SymmetricRidge(Ridge):
    r"""On a symmetric graph: averages over its spectrum, and the variable is :math:`u = 1/s`."""

    def __init__(self, points: Points, nodes: int) -> None:
        super().__init__(points)
        self.measure = SpikedSemicircle.of(points.signal, nodes)
        g, size = points.filter.normalized(self.measure.x)
        bulk = np.sqrt(g**2 @ self.measure.tau)
        self.g = g / bulk[:, None]
        self.unit = points.units(np.exp(size) * bulk) ** 2

    def reg(self, variable: Array) -> tuple[Array, Array]:
        tau = self.measure.tau[:-1]
        square = self.g[:, None, :-1] ** 2
        inverse = 1.0 / (variable[:, :, None] + square)
        first, second = inverse @ tau, (inverse * inverse) @ tau
        # tau(W) and its derivative in u; s = 1/u
        W, dW = variable * (1.0 - variable * first), 1.0 - 2.0 * variable * first
        s = 1.0 / variable
        return self._reg(s, W, -(s**2), dW + variable**2 * second)

    def far(self, zeta: Array) -> Array:
        start = self.alpha * zeta + 1.0 + self.alpha * self.rho - self.rho
        return np.asarray(start / self.rho)

    def ends(self) -> tuple[Array, Array]:
        square = self.g**2
        distance = np.exp(_SCAN)
        lowest = np.min(square[:, :-1], axis=1)[:, None]
        low = self.reg(distance - lowest)[0]
        atom = np.where(self.measure.e[:, -1] > 0.0, square[:, -1], 0.0)
        top = np.maximum(np.max(square[:, :-1], axis=1), atom)[:, None]
        above = -top * (1.0 + distance[::-1])
        part = above[:, :, None] / (above[:, :, None] + square[:, None])
        passed = self.mu * (np.vecdot(part, self.measure.e[:, None]) - 1.0) >= 1.0
        return np.maximum(-np.nanmin(low, axis=1), 0.0), self._scanned(above, passed)

    def _on_spectrum(self, variable: Array) -> tuple[Array, Array]:
        """Values of U, and of W less its value for a gain of 1, so that differences of W keep their digits."""
        g = self.g[:, None]
        s = (1.0 / variable)[:, :, None]
        D = 1.0 / (1.0 + s * g**2)
        return g * D, (g**2 - 1.0) * D / (1.0 + s)

    def means(self, variable: Array) -> Means:
        U, W = self._on_spectrum(variable)
        return Means(
            s=1.0 / variable,
            W=(self.g[:, None] * U) @ self.measure.tau,
            U=_average(self.measure.e, U),
            excess=_average(self.measure.excess, W),
        )

    def pairs(self, variable: Array) -> Pairs:
        tau, labels = self.measure.tau, self.measure.e[:, None]
        U, W = self._on_spectrum(variable)
        off_bulk = W - (W @ tau)[:, :, None]
        U_across = U - _average(self.measure.e, U)[:, :, None]
        W_across = W - _average(self.measure.e, W)[:, :, None]
        return Pairs(
            UU=_pairs(U * tau, U),
            WW_bulk=_pairs(off_bulk * tau, off_bulk),
            UU_across=_pairs(U_across * labels, U_across),
            UW_across=_pairs(U_across * labels, W_across),
            WW_across=_pairs(W_across * labels, W_across),
        )


class PageRankRidge(Ridge):
    r"""PageRank on a directed graph: closed averages (Eq. 13.14), and the variable is :math:`w = \tau(W)`.

    With :math:`x = 1 + \theta^2w` (that of Eq. 3.30) and :math:`\kappa = 1 - \theta\lambda`,
    :math:`s = \frac1{xw} - \frac1{x^2}`, :math:`e(W) = x/L`, :math:`e(U) = \kappa/L`, :math:`L = \kappa^2 - 1 + x/w`. Pairs are
    divided differences of these in :math:`s`.
    """

    def __init__(self, points: Points) -> None:
        super().__init__(points)
        self.theta = points.filter.values[:, None]
        self.kappa = 1.0 - self.theta * points.signal[:, None]
        self.unit = points.divisor() ** -2.0

    def _s(self, w: Array) -> tuple[Array, Array]:
        """Number s and its derivative."""
        square = self.theta**2
        x = 1.0 + square * w
        s = (x - w) / (x**2 * w)
        return s, 2.0 * square / x**3 - (x + square * w) / (x * w) ** 2

    def reg(self, variable: Array) -> tuple[Array, Array]:
        s, slope = self._s(variable)
        return self._reg(s, variable, slope, np.ones_like(variable))

    def far(self, zeta: Array) -> Array:
        start = 1.0 / (1.0 - self.theta**2)
        return np.asarray(start + self.rho / (self.alpha * zeta) / self._s(start)[1])

    def ends(self) -> tuple[Array, Array]:
        start = 1.0 / (1.0 - self.theta**2)
        low = self.reg(start / (1.0 + np.exp(_SCAN)))[0]
        above = start * (1.0 + np.exp(_SCAN))
        s, slope = self._s(above)
        x, below = self._labels(above)
        passed = (below + self.mu * s * x <= 0.0) | (below <= 0.0) | (slope >= 0.0)
        return np.maximum(-np.min(low, axis=1), 0.0), self._scanned(above, passed)

    def _labels(self, w: Array) -> tuple[Array, Array]:
        """Numbers x and L."""
        x = 1.0 + self.theta**2 * w
        return x, self.kappa**2 - 1.0 + x / w

    def means(self, variable: Array) -> Means:
        below = self._labels(variable)[1]
        excess = variable * (1.0 - self.kappa**2) / below
        return Means(self._s(variable)[0], variable, self.kappa / below, excess)

    def pairs(self, variable: Array) -> Pairs:
        w, square, kappa = variable, self.theta**2, self.kappa
        x, below = self._labels(w)
        s = self._s(w)[0]
        x1, x2, w1 = x[:, :, None], _both(x)[:, None], w[:, :, None]
        ww, xx, ll = _outer(w), _outer(x), _outer(below)
        sum_, square, k = x1 + x2, square[:, :, None], kappa[:, :, None]
        # divided differences of s over those of w, with the sign changed
        rate = (sum_ - 1.0) / (xx * ww) - square * sum_ / xx**2
        labels = ((k**2 - 1.0) * square + xx / ww) / (ll * rate)
        s2 = _both(s)[:, None]
        return Pairs(
            UU=w1 - s2 / rate,
            WW_bulk=ww * square * (square * xx + sum_) / (xx**2 * rate),
            UU_across=(x / below)[:, :, None] - s2 * labels - k**2 / ll,
            UW_across=k * square * (sum_ / (x1 * x2) - 1.0 / w1) / (x1 * ll * rate),
            WW_across=square * (k**2 - 1.0 + square + sum_ / xx) / (ll * rate),
        )


def _across(graph: Pairs, on_U: Array, on_W: Array) -> Array:
    """Covariance across the labels of one combination of :math:`Uy` and :math:`Wy` at two numbers."""
    mixed = on_U[:, :, None] * _both(on_W)[:, None] * graph.UW_across
    turned = on_W[:, :, None] * _both(on_U)[:, None] * _turned(graph.UW_across)
    return _outer(on_U) * graph.UU_across + mixed + turned + _outer(on_W) * graph.WW_across


def _turned(pairs: Array) -> Array:
    """Pairs with their two members exchanged."""
    n = pairs.shape[1]
    same, mixed = pairs[:, :, :n], pairs[:, :, n:]
    return np.concatenate([np.swapaxes(same, 1, 2), np.swapaxes(mixed.conj(), 1, 2)], axis=2)


def _both(values: Array) -> Array:
    """Values at the numbers and at their complex conjugates, along the second axis."""
    return np.concatenate([values, values.conj()], axis=1)


def _outer(values: Array) -> Array:
    return np.asarray(values[:, :, None] * _both(values)[:, None])


def _pairs(weighted: Array, values: Array) -> Array:
    return np.asarray(weighted @ np.swapaxes(_both(values), 1, 2))


def _average(weight: Array, values: Array) -> Array:
    return np.asarray((values @ weight[:, :, None])[:, :, 0])


def quadratic(weight: Array, covariance: Array) -> Array:
    r"""Double integral :math:`2\,\mathrm{Re}\sum_{jk} w_j C_{jk} w_k` over both halves of a contour, for each row of weights."""
    inner = np.matmul(covariance, _both(weight)[:, :, None])[:, :, 0]
    return np.asarray(2.0 * np.sum(weight * inner, axis=1).real)
