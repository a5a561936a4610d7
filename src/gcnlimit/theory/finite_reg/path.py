r"""Ridge regressions at complex regularizations :math:`\zeta`, two at a time on the same data (Eqs. 13.6 to 13.11).

The output at :math:`\zeta` depends on one number :math:`s`, of which :math:`\zeta` is an explicit function, so that
:math:`\zeta` on a contour is followed in from far away by Newton's method. Outputs and weights at two regularizations are jointly
Gaussian; their covariances are those of one regularization, `square_margin`, with every square replaced by a product.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gcnlimit._values import Array
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.theory.points import Mask, Points

_FAR, _FACTORS = 50.0, 7  # contours, each smaller by a factor, along which the root is followed
_NEWTON, _NEAR = 30, 1e-9  # steps at most on the last one; one after which the error is rounding
_SCAN = np.linspace(-14.0, 9.0, 47)  # logarithms of distances from the spectrum, to find its ends
_FINER = np.linspace(0.0, 1.0, 12)  # the same between the two that are nearest, and again


class Means(NamedTuple):
    r"""Numbers :math:`s` and averages there of :math:`U = gD`, :math:`W = g^2D`, :math:`D = 1/(1 + sg^2)`, as in `Transforms`."""

    s: Array
    W: Array
    U: Array
    excess: Array


class Pairs(NamedTuple):
    r"""Averages at two numbers s, the second of which runs over the numbers and then over their conjugates.

    `UU` and `WW`: :math:`\tau(U_1U_2)` and :math:`\mathrm{Cov}_\tau(W_1, W_2)`; `HH` and `FF`: covariances across the labels of
    :math:`H = U - sqW` and :math:`F/s = qU + W` with the pull :math:`q = \mu b_f`.
    """

    UU: Array
    WW: Array
    HH: Array
    FF: Array


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
        columns = (points.alpha, points.mu, points.rho)
        self.alpha, self.mu, self.rho = (column[:, None] for column in columns)

    @abstractmethod
    def reg(self, variable: Array) -> tuple[Array, Array]:
        r"""Regularization :math:`\zeta` and its derivative in the variable of the resolvents."""

    @abstractmethod
    def variable(self, zeta: Array) -> Array:
        """Variable at regularizations off the spectrum."""

    @abstractmethod
    def ends(self) -> tuple[Array, Array]:
        """Interval that contains all eigenvalues but 0, hardly wider than needed."""

    @abstractmethod
    def means(self, variable: Array) -> Means:
        """Averages of the resolvents."""

    @abstractmethod
    def pairs(self, variable: Array, pull: Array) -> Pairs:
        """Averages of products of two resolvents."""

    def output(self, variable: Array) -> Array:
        """Mean output of a test node (Eq. 13.8)."""
        s, W, U, excess = self.means(variable)
        mean = self.mu * U**2 / (1.0 + self.mu * s * (W + excess)) + excess
        return np.asarray(s * mean / (1.0 - s * W))

    def polished(self, root: Array, zeta: Array) -> Array:
        """Repeat Newton's step, whose error is squared each time, until it is near."""
        for _ in range(_NEWTON):
            before, root = root, self._closer(root, zeta)
            if np.all(np.abs(root - before) <= _NEAR * np.abs(root)):
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

    def _scanned(self, above: Callable[[Array], tuple[Array, Mask]]) -> Array:
        """Largest eigenvalue, or hardly more.

        At numbers that rise from -14 to 9, `above` gives variables that approach the spectrum from above, and whether an outlier
        has been passed. Each scan lies around the end that the one before has found.
        """
        scan = np.broadcast_to(_SCAN, (len(self.mu), _SCAN.size))
        for _ in range(3):
            variable, outlier = above(scan)
            value = self.reg(variable)[0]
            falling = np.diff(value, axis=1, append=-np.inf) <= 0.0
            last = np.maximum(np.argmax(falling | outlier, axis=1) - 1, 0)[:, None]
            ends = last + np.array([0, 2])
            start, stop = np.take_along_axis(scan, np.minimum(ends, scan.shape[1] - 1), 1).T
            scan = start[:, None] + (stop - start)[:, None] * _FINER
        return np.asarray(-np.take_along_axis(value, last, axis=1)[:, 0])

    def path(self, variable: Array) -> Path:
        """Laws at the regularizations of these variables (Eqs. 13.8 to 13.11)."""
        s, W, U, excess = self.means(variable)
        p = s * W
        rest = 1.0 - p
        along = U / (1.0 + self.mu * s * (W + excess))
        pull = self.mu * along
        mean = pull * U + excess
        missed = rest - s * mean
        graph = self.pairs(variable, pull)

        alpha, rho, mu = (column[:, :, None] for column in (self.alpha, self.rho, self.mu))
        unknown = (1.0 - rho) / rho
        product = _outer(s)
        stretch = 1.0 / _outer(rest)
        weights = alpha / (1.0 - alpha * product * (graph.WW + _outer(W)))
        choice = unknown * stretch * (weights * graph.UU**2 + graph.WW)
        off_labels = graph.HH + (1.0 + mu) * _outer(along)
        variance = graph.FF + weights * graph.UU * off_labels + choice * _outer(missed)
        variance = variance / (1.0 - product * choice)
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

    def variable(self, zeta: Array) -> Array:
        """Follow the variable from regularizations far away to those asked for, by Newton's method."""
        centre = 0.5 * (np.max(zeta.real, axis=1) + np.min(zeta.real, axis=1))[:, None]
        away = centre + _FAR * (zeta - centre)
        root = (self.alpha * away + 1.0 + self.alpha * self.rho - self.rho) / self.rho
        for factor in np.geomspace(_FAR, 1.0, _FACTORS):
            root = self._closer(root, centre + factor * (zeta - centre))
        return self.polished(root, zeta)

    def ends(self) -> tuple[Array, Array]:
        square = self.g**2
        lowest = np.min(square[:, :-1], axis=1)[:, None]
        low = self.reg(np.exp(_SCAN) - lowest)[0]
        atom = np.where(self.measure.e[:, -1] > 0.0, square[:, -1], 0.0)
        top = np.maximum(np.max(square[:, :-1], axis=1), atom)[:, None]

        def above(scan: Array) -> tuple[Array, Mask]:
            variable = -top * (1.0 + np.exp(_SCAN[0] + _SCAN[-1] - scan))
            part = variable[:, :, None] / (variable[:, :, None] + square[:, None])
            passed = self.mu * (np.vecdot(part, self.measure.e[:, None]) - 1.0) >= 1.0
            return variable, passed

        return np.maximum(-np.nanmin(low, axis=1), 0.0), self._scanned(above)

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

    def pairs(self, variable: Array, pull: Array) -> Pairs:
        tau, labels = self.measure.tau, self.measure.e
        U, W = self._on_spectrum(variable)
        on_W = (pull / variable)[:, :, None]
        H, F = U - on_W * W, pull[:, :, None] * U + W
        across = (_gram(x - _average(labels, x)[:, :, None], labels[:, None]) for x in (H, F))
        return Pairs(_gram(U, tau), _gram(W - (W @ tau)[:, :, None], tau), *across)


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

    def variable(self, zeta: Array) -> Array:
        r"""Root of the quartic :math:`(\rho x^2 - P)(x^2 - \alpha P) = \zeta\alpha P(x^2 - P)/w`, :math:`P = px^2 = x - w`.

        Of its roots it is the one for which :math:`w`, :math:`1/s` and :math:`-p` have imaginary parts of the sign of
        that of :math:`\zeta`, as the averages of resolvents do.
        """
        square, rho, alpha = self.theta**2, self.rho, self.alpha
        off_axis = zeta - 1e-9j * np.abs(zeta) * (zeta.imag == 0.0)
        P = np.stack([np.ones_like(square), square - 1.0, np.zeros_like(square)])
        x2 = np.stack([np.ones_like(square), 2.0 * square, square**2])
        left = _product(rho * x2 - P, x2 - alpha * P)
        right = _product(P, (x2 - P)[1:])
        # companion matrix of the polynomial in 1/w, which keeps its degree at theta = 0
        powers = np.moveaxis(
            left - alpha * off_axis * np.append(right, 0.0 * left[:1], axis=0), 0, -1
        )
        companion = np.zeros((*zeta.shape, 4, 4), complex)
        companion[..., 0, :] = -powers[..., 1:] / powers[..., :1]
        companion[..., [1, 2, 3], [0, 1, 2]] = 1.0
        side = np.where(zeta.imag > 0.0, 1.0, -1.0)[..., None]
        with np.errstate(divide="ignore", invalid="ignore"):
            w = 1.0 / np.linalg.eigvals(companion)
            x = 1.0 + square[..., None] * w
            angle, wider = (side * np.angle(value) for value in (w, x**2 * w / (x - w)))
        inside = np.nan_to_num(np.minimum(angle, wider - angle), nan=-np.inf)
        best = np.argmax(inside, axis=-1)[..., None]
        return self.polished(np.asarray(np.take_along_axis(w, best, axis=-1)[..., 0]), zeta)

    def ends(self) -> tuple[Array, Array]:
        start = 1.0 / (1.0 - self.theta**2)
        low = self.reg(start / (1.0 + np.exp(_SCAN)))[0]

        def above(scan: Array) -> tuple[Array, Mask]:
            variable = start * (1.0 + np.exp(scan))
            s, slope = self._s(variable)
            x, below = self._labels(variable)
            return variable, (below + self.mu * s * x <= 0.0) | (below <= 0.0) | (slope >= 0.0)

        return np.maximum(-np.min(low, axis=1), 0.0), self._scanned(above)

    def _labels(self, w: Array) -> tuple[Array, Array]:
        """Numbers x and L."""
        x = 1.0 + self.theta**2 * w
        return x, self.kappa**2 - 1.0 + x / w

    def means(self, variable: Array) -> Means:
        below = self._labels(variable)[1]
        excess = variable * (1.0 - self.kappa**2) / below
        return Means(self._s(variable)[0], variable, self.kappa / below, excess)

    def pairs(self, variable: Array, pull: Array) -> Pairs:
        w, k = variable, self.kappa[:, :, None]
        square = (self.theta**2)[:, :, None]
        x, below = self._labels(w)
        s = self._s(w)[0]
        x1, x2, w1, w2 = x[:, :, None], _both(x)[:, None], w[:, :, None], _both(w)[:, None]
        ww, xx, ll = _outer(w), _outer(x), _outer(below)
        sum_ = x1 + x2
        # divided differences of s over those of w, with the sign changed
        rate = (sum_ - 1.0) / (xx * ww) - square * sum_ / xx**2
        labels = ((k**2 - 1.0) * square + xx / ww) / (ll * rate)
        s2 = _both(s)[:, None]
        # covariances across the labels of U and U, of U and W, W and U, W and W
        UU = (x / below)[:, :, None] - s2 * labels - k**2 / ll
        common = k * square / (ll * rate)
        UW, WU = (common * (sum_ / xx - 1.0 / here) / there for here, there in ((w1, x1), (w2, x2)))
        WW = square * (k**2 - 1.0 + square + sum_ / xx) / (ll * rate)

        def covariance(on_U: Array, on_W: Array) -> Array:
            U2, W2 = _both(on_U)[:, None], _both(on_W)[:, None]
            return on_U[:, :, None] * (U2 * UU + W2 * UW) + on_W[:, :, None] * (U2 * WU + W2 * WW)

        one = np.ones_like(s)
        return Pairs(
            UU=w1 - s2 / rate,
            WW=ww * square * (square * xx + sum_) / (xx**2 * rate),
            HH=covariance(one, -s * pull),
            FF=covariance(pull, one),
        )


def _product(one: Array, other: Array) -> Array:
    """Product of two polynomials, whose coefficients run along the first axis."""
    total = np.zeros((len(one) + len(other) - 1, *one.shape[1:]))
    for k, coefficient in enumerate(one):
        total[k : k + len(other)] += coefficient * other
    return total


def _both(values: Array) -> Array:
    """Values at the numbers and at their complex conjugates, along the second axis."""
    return np.concatenate([values, values.conj()], axis=1)


def _outer(values: Array) -> Array:
    return np.asarray(values[:, :, None] * _both(values)[:, None])


def _gram(values: Array, weight: Array) -> Array:
    """Averages over the last axis of products with the values and with their conjugates, by real products."""
    n = values.shape[1]
    parts = np.concatenate([values.real, values.imag], axis=1)
    gram = (parts * weight) @ np.swapaxes(parts, 1, 2)
    rr, ri, ir, ii = gram[:, :n, :n], gram[:, :n, n:], gram[:, n:, :n], gram[:, n:, n:]
    return np.concatenate([rr - ii + 1j * (ri + ir), rr + ii + 1j * (ir - ri)], axis=2)


def _average(weight: Array, values: Array) -> Array:
    return np.asarray((values @ weight[:, :, None])[:, :, 0])


def quadratic(weight: Array, covariance: Array) -> Array:
    r"""Double integral :math:`2\,\mathrm{Re}\sum_{jk} w_j C_{jk} w_k` over both halves of a contour, for each row of weights."""
    return np.asarray(2.0 * np.sum(weight @ covariance * _both(weight), axis=1).real)
