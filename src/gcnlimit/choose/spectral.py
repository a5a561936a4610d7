r"""The margin of a symmetric graph as a function of the values of its filter on the spectrum, with its derivatives.

For the square loss a filter :math:`g` at strength :math:`s` enters through :math:`U = g/(1 + s g^2)` and
:math:`W = g^2/(1 + s g^2)` alone (`gcnlimit.theory.finite_reg.square`). The scale of the filter can stand for :math:`s`,
so that two values suffice: :math:`s = 1`, any finite regularization, and :math:`s = 0`, the infinite one, where the scale
drops out. The margin is a function of eight numbers that are *linear* in functions of :math:`U` and :math:`W`,

.. math:: \tau(W),\; \tau(W^2),\; \tau(U^2),\; e(W) - \tau(W),\; e(W^2),\; e(U^2),\; e(U),\; e(UW) .

The best values of a filter on the spectrum: Newton's method on the margin of a symmetric graph.

At strength 1 a value is an angle, :math:`g = \tan\varphi`, so that :math:`U = \frac12 \sin 2\varphi` and
:math:`W = \sin^2\varphi`, and an infinite value is a point like any other; at strength 0, :math:`U = \varphi` and
:math:`W = \varphi^2`. The margin depends on the angles through eight linear numbers, so that its Hessian is diagonal plus
a matrix of rank eight: a step costs little more than the margin itself, on any number of nodes. With the derivatives
:math:`c_k` in these numbers, every angle of the bulk maximises at the optimum

.. math:: c_1 W + c_2 W^2 + c_3 U^2 + w(x)\, [ c_4 W + c_5 W^2 + c_6 U^2 + c_7 U + c_8 UW ], \qquad
          w(x) = \frac{de}{d\tau} = \frac{1}{1 + \lambda_e^2 - \lambda_e x}

(the term of :math:`e - \tau` written out): a quartic equation for :math:`g(x)` with a few scalars, the same for all :math:`x`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.spectrum import Spectrum
from gcnlimit.theory.finite_reg.equations import Transforms
from gcnlimit.theory.finite_reg.square import WHITE, most_freedom, spectral_transforms, square_margin, square_reg

NUMBERS = 8
_TINY = 1e-100  # imaginary step of exact derivatives
_STEP = 1e-5  # relative step of differences of derivatives


@dataclass(frozen=True)
class SpectralMargin:
    """The margin of a batch of points, one row of node values each; `s` is 0 or 1 for each point."""

    measure: SpikedSemicircle
    s: Array
    alpha: Array
    mu: Array
    rho: Array
    features: Spectrum = WHITE

    def take(self, rows: npt.NDArray[np.intp]) -> SpectralMargin:
        """The same for some of the points."""
        m = self.measure
        measure = SpikedSemicircle(x=m.x[rows], tau=m.tau, e=m.e[rows], excess=m.excess[rows])
        s, alpha, mu, rho = (column[rows] for column in (self.s, self.alpha, self.mu, self.rho))
        return SpectralMargin(measure, s, alpha, mu, rho, self.features)

    def value(self, U: Array, W: Array) -> Array:
        """Margins; minus infinity where the regularization would not be positive."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            graph = spectral_transforms(self.measure, U, W, self.s)
            margin = square_margin(graph, self.s, self.alpha, self.mu, self.rho, features=self.features)
        allowed = self.s * graph.W < most_freedom(self.alpha, self.rho)
        return np.where(allowed & np.isfinite(margin), margin, -np.inf)

    def reg(self, W: Array) -> Array:
        """Regularization, in the units of the filter's values."""
        return square_reg(W @ self.measure.tau, self.s, self.alpha, self.rho, self.features)

    def numbers(self, U: Array, W: Array) -> Array:
        """The eight numbers, one row for each point."""
        return np.stack([np.vecdot(w, f) for w, f in zip(self._weights(), _features(U, W), strict=True)], axis=1)

    def slope(self, numbers: Array) -> Array:
        """Derivative of the margin in each of the numbers, by an imaginary step: exact to rounding."""
        steps = 1j * _TINY * np.eye(NUMBERS)
        return np.stack([self._of_numbers(numbers + step).imag / _TINY for step in steps], axis=1)

    def curvature(self, numbers: Array) -> Array:
        """Second derivatives of the margin in the numbers, symmetric matrices."""
        columns = []
        for k in range(NUMBERS):
            h = _STEP * np.maximum(np.abs(numbers[:, k]), 1e-12)
            step = np.zeros_like(numbers)
            step[:, k] = h
            columns.append((self.slope(numbers + step) - self.slope(numbers - step)) / (2.0 * h)[:, None])
        matrix = np.stack(columns, axis=1)
        return np.asarray(0.5 * (matrix + matrix.mT))

    def by_values(self, U: Array, W: Array) -> tuple[Array, Array]:
        """Derivatives of the margin in U and in W at each node."""
        slope = self.slope(self.numbers(U, W))
        zero, one = np.zeros_like(U), np.ones_like(U)
        by_U, by_W = (zero, zero, 2 * U, zero, zero, 2 * U, one, W), (one, 2 * W, zero, one, 2 * W, zero, zero, U)
        return self.combine(slope, by_U), self.combine(slope, by_W)

    def combine(self, slope: Array, features: tuple[Array, ...]) -> Array:
        """Sum over the eight functions of the nodes, each with its weights and its row of coefficients."""
        terms = (slope[:, k, None] * w * f for k, (w, f) in enumerate(zip(self._weights(), features, strict=True)))
        return np.asarray(sum(terms))

    def share(self, slope: Array, U: Array, W: Array) -> Array:
        """What each node contributes to the linearized margin."""
        return self.combine(slope, _features(U, W))

    def rows(self, features: tuple[Array, ...]) -> Array:
        """The eight functions of the nodes with their weights: point, number, node."""
        return np.stack([w * f for w, f in zip(self._weights(), features, strict=True)], axis=1)

    def _weights(self) -> tuple[Array, ...]:
        tau, e, excess = self.measure.tau, self.measure.e, self.measure.excess
        return tau, tau, tau, excess, e, e, e, e

    def _of_numbers(self, numbers: Array) -> npt.NDArray[np.complex128]:
        W, W2, U2, excess, eW2, eU2, eU, eUW = np.moveaxis(numbers, 1, 0)
        eW = W + excess
        graph = Transforms(
            W=W,
            UU=U2,
            WW_bulk=W2 - W**2,
            stretch=1.0 / (1.0 - self.s * W),
            U=eU,
            excess=excess,
            UU_across=eU2 - eU**2,
            UW_across=eUW - eU * eW,
            WW_across=eW2 - eW**2,
        )
        return np.asarray(square_margin(graph, self.s, self.alpha, self.mu, self.rho, features=self.features), complex)


def _features(U: Array, W: Array) -> tuple[Array, ...]:
    return W, W**2, U**2, W, W**2, U**2, U, U * W


_STEPS = 60  # of Newton's method
_SWEEPS = 12  # of exchanges between climbs
_TRIED = np.linspace(-1.0, 1.0, 49)[1:]  # angles that a node may be moved to, in units of the largest
_SETTLED = 1e-14  # expected gain of a step below which the climb ends
_LONGEST = 0.5  # largest change of an angle in one step
_NOTHING = 1e-9  # gain of an exchange, relative to the share of a node, that counts as rounding
_FLOOR = 1e-9  # least curvature of a node, relative to the largest


class Climbed(NamedTuple):
    """Angles, one row per point, their margin, and whether the climb has converged."""

    angle: Array
    margin: Array
    settled: npt.NDArray[np.bool_]


def values(angle: Array, s: Array) -> tuple[Array, Array]:
    """U and W of the angles."""
    finite = (s > 0.0)[:, None]
    U = np.where(finite, 0.5 * np.sin(2.0 * angle), angle)
    return U, np.where(finite, np.sin(angle) ** 2, angle**2)


def maximize(margin: SpectralMargin, angle: Array) -> Climbed:
    """Climb, and exchange angles of single nodes for better ones far away, until neither helps."""
    found = climb(margin, angle)
    rows = np.flatnonzero(np.isfinite(found.margin))
    for _ in range(_SWEEPS):
        moved, raised = _exchanged(margin.take(rows), found.angle[rows], found.margin[rows])
        rows, moved = rows[raised], moved[raised]
        if not rows.size:
            break
        for column, value in zip(found, climb(margin.take(rows), moved), strict=True):
            column[rows] = value
    return found


def climb(margin: SpectralMargin, angle: Array, steps: int = _STEPS) -> Climbed:
    """Climb from each row of angles by Newton's method."""
    angle, best = angle.copy(), margin.value(*values(angle, margin.s))
    settled, rows = np.zeros(best.size, bool), np.flatnonzero(np.isfinite(best))
    for _ in range(steps):
        if not rows.size:
            break
        part = margin.take(rows)
        direction, promise = _direction(part, angle[rows])
        length, reached = _line(part, angle[rows], direction, promise, best[rows])
        angle[rows] += length[:, None] * direction
        best[rows] = reached
        settled[rows] = promise <= _SETTLED * (1.0 + np.abs(reached))
        rows = rows[~settled[rows] & (length > 0.0)]
    return Climbed(angle, best, settled)


def stationarity(margin: SpectralMargin, angle: Array) -> Array:
    """Largest derivative of the margin in an angle, over the weight of its node: 0 at an optimum."""
    derivative, _, _ = _derivatives(margin, angle)
    weight = margin.measure.tau + margin.measure.e
    return np.asarray(np.max(np.abs(derivative) / np.where(weight > 0.0, weight, 1.0), axis=1))


def _exchanged(margin: SpectralMargin, angle: Array, best: Array) -> tuple[Array, npt.NDArray[np.bool_]]:
    r"""Move nodes to the angles that maximise their share of the linearized margin, the most promising first.

    A node of the bulk has little weight: where another angle has a larger share, moving there raises the margin. That leaves
    saddles, such as :math:`\varphi = 0` without features, and no optimum.
    """
    slope = margin.slope(margin.numbers(*values(angle, margin.s)))
    unit = np.where(margin.s > 0.0, 0.5 * np.pi, 1.5 * np.max(np.abs(angle), axis=1))[:, None]
    weight = margin.measure.tau + margin.measure.e
    share, target, here = np.full_like(angle, -np.inf), angle.copy(), margin.share(slope, *values(angle, margin.s))
    for fraction in _TRIED:
        tried = np.broadcast_to(fraction * unit, angle.shape)
        there = margin.share(slope, *values(tried, margin.s))
        target, share = np.where(there > share, tried, target), np.maximum(share, there)
    gain = np.where(weight > 0.0, (share - here) / np.where(weight > 0.0, weight, 1.0), 0.0)
    scale = np.max(np.abs(here) / np.where(weight > 0.0, weight, 1.0), axis=1, keepdims=True)
    gain[gain < _NOTHING * scale] = 0.0
    moved, raised = angle.copy(), np.zeros(best.size, bool)
    for fraction in 0.5 ** np.arange(8.0):
        chosen = (gain > 0.0) & (gain >= (1.0 - fraction) * np.max(gain, axis=1, keepdims=True)) & ~raised[:, None]
        trial = np.where(chosen, target, moved)
        found = margin.value(*values(trial, margin.s)) > best + 1e-13 * (1.0 + np.abs(best))
        moved, raised = np.where(found[:, None] & ~raised[:, None], trial, moved), raised | found
    return moved, raised


def _derivatives(margin: SpectralMargin, angle: Array) -> tuple[Array, Array, Array]:
    """Gradient, diagonal part of the Hessian, and the rows of its low-rank part."""
    finite = (margin.s > 0.0)[:, None]
    U, W = values(angle, margin.s)
    U1, W1 = np.where(finite, np.cos(2.0 * angle), 1.0), np.where(finite, np.sin(2.0 * angle), 2.0 * angle)
    U2, W2 = np.where(finite, -2.0 * np.sin(2.0 * angle), 0.0), np.where(finite, 2.0 * np.cos(2.0 * angle), 2.0)
    first = (W1, 2 * W * W1, 2 * U * U1, W1, 2 * W * W1, 2 * U * U1, U1, U * W1 + U1 * W)
    WW, UU = 2 * (W1**2 + W * W2), 2 * (U1**2 + U * U2)
    second = (W2, WW, UU, W2, WW, UU, U2, U2 * W + 2 * U1 * W1 + U * W2)
    slope = margin.slope(margin.numbers(U, W))
    return margin.combine(slope, first), margin.combine(slope, second), margin.rows(first)


def _direction(margin: SpectralMargin, angle: Array) -> tuple[Array, Array]:
    """Newton's step and its expected gain; the step of the diagonal part alone where Newton's would lower the margin."""
    gradient, diagonal, rows = _derivatives(margin, angle)
    weight = margin.measure.tau + margin.measure.e
    numbers = margin.numbers(*values(angle, margin.s))
    rest = margin.curvature(numbers)
    rest[:, 0, 0] -= np.where(margin.s > 0.0, 0.0, 1.0 / numbers[:, 0] ** 2)  # holds the scale, which drops out
    density = np.abs(diagonal) / np.where(weight > 0.0, weight, 1.0)
    floor = _FLOOR * np.max(density, axis=1, keepdims=True) * weight
    stiffness = np.maximum(np.abs(diagonal), floor)
    stiffness = np.where(stiffness > 0.0, stiffness, 1.0)
    plain = gradient / stiffness
    scaled = rows / stiffness[:, None, :]
    coupling = np.eye(NUMBERS) - rest @ (scaled @ rows.mT)  # of the numbers with one another
    coupling = np.where(np.all(np.isfinite(coupling), axis=(1, 2), keepdims=True), coupling, np.eye(NUMBERS))
    pull = np.linalg.pinv(coupling, rcond=1e-14) @ (rest @ (scaled @ gradient[:, :, None]))
    full = plain + (scaled.mT @ pull)[:, :, 0]
    gain = np.vecdot(full, gradient)
    up = np.isfinite(gain) & (gain > 0.0)
    direction = np.where(up[:, None], full, plain)
    return direction, np.asarray(np.vecdot(direction, gradient))


def _line(margin: SpectralMargin, angle: Array, direction: Array, promise: Array, start: Array) -> tuple[Array, Array]:
    """Length of a step that raises each margin enough, by halving, and the margin there; 0 if there is none."""
    reach = np.max(np.abs(direction), axis=1)
    longest = np.where(margin.s > 0.0, _LONGEST, np.max(np.abs(angle), axis=1))
    length = np.minimum(1.0, longest / np.where(reach > 0.0, reach, 1.0))
    reached, search = start.copy(), np.arange(start.size)
    noise = 4e-16 * (1.0 + np.abs(start))
    for _ in range(40):
        trial = angle[search] + length[search, None] * direction[search]
        part = margin.take(search)
        reached[search] = part.value(*values(trial, part.s))
        enough = reached[search] >= (start + 1e-4 * length * promise - noise)[search]
        search = search[~enough]
        if not search.size:
            break
        length[search] *= 0.5
    length[search], reached[search] = 0.0, start[search]
    return length, reached
