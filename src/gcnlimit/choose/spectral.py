r"""The margin over all functions on the spectrum of a symmetric graph, climbed by Newton's method.

For the square loss a filter :math:`g` at strength :math:`s` enters through :math:`U = g/(1 + s g^2)` and
:math:`W = g^2/(1 + s g^2)` alone (`gcnlimit.theory.finite_reg.square`). The scale of the filter can stand for :math:`s`: two
values suffice, 1 for any finite regularization and 0 for the infinite one, where the scale drops out. The margin is a function
of eight numbers that are *linear* in functions of :math:`U` and :math:`W`,

.. math:: \tau(W),\; \tau(W^2),\; \tau(U^2),\; e(W) - \tau(W),\; e(W^2),\; e(U^2),\; e(U),\; e(UW) ,

so that its Hessian is diagonal plus a matrix of rank eight. At strength 1 a value is an angle, :math:`g = \tan\varphi`,
:math:`U = \frac12 \sin 2\varphi`, :math:`W = \sin^2\varphi`, and an infinite value is a point like any other; at strength 0,
:math:`U = \varphi` and :math:`W = \varphi^2`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array, Mask
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.results.order_parameters import Record
from gcnlimit.spectrum import Spectrum
from gcnlimit.theory.finite_reg import square
from gcnlimit.theory.finite_reg.equations import Transforms
from gcnlimit.theory.points import Points

NUMBERS = 8
_TINY = 1e-100  # imaginary step of exact derivatives
_STEP = 1e-5  # relative step of differences of derivatives
_STEPS = 60  # of Newton's method
_SWEEPS = 12  # of exchanges between climbs
_TRIED = np.linspace(-1.0, 1.0, 49)[1:]  # angles to move a node to, in units of the largest
_SETTLED = 1e-14  # expected gain of a step below which the climb ends
_LONGEST = 0.5  # largest change of an angle in one step
_MIN_GAIN = 1e-9  # gain of an exchange, over the share of a node, that counts as rounding
_FLOOR = 1e-9  # least curvature of a node, relative to the largest


class Best(NamedTuple):
    """Best filters, a row for each point: margin, its last change, regularization, values or coefficients, success."""

    margin: Array
    error: Array
    reg: Array
    g: Array
    settled: Mask

    def or_higher(self, other: Self, by: float | Array) -> Best:
        """Rows of the other where its margin is higher by more than rounding."""
        higher = other.margin > self.margin + by
        columns = zip(other, self, strict=True)
        return Best(*(np.where(higher, a.T, b.T).T for a, b in columns))


@dataclass(frozen=True, eq=False)
class SpectralMargin(Record):
    """The margin of a batch of points, a row of values at the nodes for each; at strength 1 if `finite`, else 0."""

    measure: SpikedSemicircle
    finite: bool
    alpha: Array
    mu: Array
    rho: Array
    features: Spectrum = square.WHITE

    shared: ClassVar[frozenset[str]] = frozenset({"finite", "features"})

    @classmethod
    def of(cls, points: Points, measure: SpikedSemicircle, finite: bool) -> Self:
        """Margin at the points, whose spectra are measured."""
        return cls(measure, finite, points.alpha, points.mu, points.rho, points.features)

    def functions(self, angle: Array) -> tuple[Array, Array]:
        """U and W of the angles."""
        if self.finite:
            return 0.5 * np.sin(2.0 * angle), np.sin(angle) ** 2
        return angle, angle**2

    def at(self, angle: Array) -> Array:
        """Margins of the angles."""
        return self.value(*self.functions(angle))

    def value(self, U: Array, W: Array) -> Array:
        """Margins; minus infinity where the regularization would not be positive."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            graph = square.spectral_transforms(self.measure, U, W, self._s)
            margin = self._margin(graph)
        # filters of more freedom than labelled nodes would need a negative regularization
        allowed = self._s * graph.W < square.most_freedom(self.alpha, self.rho)
        return np.where(allowed & np.isfinite(margin), margin, -np.inf)

    def reg(self, W: Array) -> Array:
        """Regularization, in the units of the filter's values."""
        return square.square_reg(W @ self.measure.tau, self._s, self.alpha, self.rho, self.features)

    def numbers(self, U: Array, W: Array) -> Array:
        """The eight numbers, one row for each point."""
        pairs = zip(self.weights(), _functions(U, W), strict=True)
        return np.stack([np.vecdot(w, f) for w, f in pairs], axis=1)

    def slope(self, numbers: Array) -> Array:
        """Derivative of the margin in each of the numbers, by an imaginary step: exact to rounding."""
        steps = 1j * _TINY * np.eye(NUMBERS).reshape(-1, *(1,) * (numbers.ndim - 1), NUMBERS)
        return np.moveaxis(self._of_numbers(numbers + steps).imag / _TINY, 0, -1)

    def curvature(self, numbers: Array) -> Array:
        """Second derivatives of the margin in the numbers, symmetric matrices."""
        # Slopes are exact, so that one real difference of them costs half the digits at most.
        h = _STEP * np.maximum(np.abs(numbers), 1e-12)
        step = h * np.eye(NUMBERS)[:, None]
        change = self.slope(numbers + step) - self.slope(numbers - step)
        matrix = np.moveaxis(change / (2.0 * h.T[..., None]), 0, 1)
        return np.asarray(0.5 * (matrix + matrix.mT))

    def by_values(self, U: Array, W: Array) -> tuple[Array, Array]:
        """Derivatives of the margin in U and in W at each node."""
        slope = self.slope(self.numbers(U, W))
        zeros, ones = np.zeros_like(U), np.ones_like(U)
        by_U = (zeros, zeros, 2 * U, zeros, zeros, 2 * U, ones, W)
        by_W = (ones, 2 * W, zeros, ones, 2 * W, zeros, zeros, U)
        return self.combine(slope, by_U), self.combine(slope, by_W)

    def combine(self, slope: Array, columns: tuple[Array, ...]) -> Array:
        """Sum over the eight functions of the nodes, each with its weights and its coefficients."""
        terms = zip(slope.T, self.weights(), columns, strict=True)
        return np.asarray(sum(a[:, None] * w * f for a, w, f in terms))

    def share(self, slope: Array, angle: Array) -> Array:
        """Contribution of each node to the linearized margin."""
        return self.combine(slope, _functions(*self.functions(angle)))

    def weights(self) -> tuple[Array, ...]:
        """Weights of the nodes in each of the eight numbers."""
        tau, e, excess = self.measure.tau, self.measure.e, self.measure.excess
        return tau, tau, tau, excess, e, e, e, e

    def node_weight(self) -> Array:
        """Weight of each node in both measures; 1 for an atom without mass, which has no part in anything."""
        weight = self.measure.tau + self.measure.e
        return np.where(weight > 0.0, weight, 1.0)

    @property
    def _s(self) -> Array:
        return np.array(float(self.finite))

    def _margin(self, graph: Transforms) -> Array:
        point = (self._s, self.alpha, self.mu, self.rho)
        return square.square_margin(graph, *point, features=self.features)

    def _of_numbers(self, numbers: Array) -> npt.NDArray[np.complex128]:
        W, W2, U2, excess, eW2, eU2, eU, eUW = np.moveaxis(numbers, -1, 0)
        eW = W + excess
        across = (eU2 - eU**2, eUW - eU * eW, eW2 - eW**2)
        stretch = 1.0 / (1.0 - self._s * W)
        graph = Transforms(W, U2, W2 - W**2, stretch, eU, excess, *across)
        return np.asarray(self._margin(graph), complex)


def _functions(U: Array, W: Array) -> tuple[Array, ...]:
    """The eight functions of U and W whose averages the margin depends on."""
    return W, W**2, U**2, W, W**2, U**2, U, U * W


class Climbed(NamedTuple):
    """Angles, one row per point, their margin, and whether the climb has converged."""

    angle: Array
    margin: Array
    settled: Mask


def maximize(margin: SpectralMargin, angle: Array) -> Climbed:
    """Climb, and exchange angles of single nodes for better ones far away, until neither helps."""
    climbed = climb(margin, angle)
    rows = np.flatnonzero(np.isfinite(climbed.margin))
    # a climb moves all angles a little; an exchange moves some far, past a saddle between them
    for _ in range(_SWEEPS):
        moved, raised = _exchanged(margin.take(rows), climbed.angle[rows], climbed.margin[rows])
        rows, moved = rows[raised], moved[raised]
        if not rows.size:
            break
        for column, value in zip(climbed, climb(margin.take(rows), moved), strict=True):
            column[rows] = value
    return climbed


def climb(margin: SpectralMargin, angle: Array, steps: int = _STEPS) -> Climbed:
    """Climb from each row of angles by Newton's method."""
    angle = angle.copy()
    best = margin.at(angle)
    settled = np.zeros(best.size, bool)
    rows = np.flatnonzero(np.isfinite(best))
    for _ in range(steps):
        if not rows.size:
            break
        part = margin.take(rows)
        direction, promise = _direction(part, angle[rows])
        length, reached = _line(part, angle[rows], direction, promise, best[rows])
        angle[rows] += length[:, None] * direction
        best[rows] = reached
        # the promise of Newton's step is what is left to gain; a step of length 0 ends as well
        settled[rows] = promise <= _SETTLED * (1.0 + np.abs(reached))
        rows = rows[~settled[rows] & (length > 0.0)]
    return Climbed(angle, best, settled)


def _exchanged(margin: SpectralMargin, angle: Array, best: Array) -> tuple[Array, Mask]:
    r"""Move nodes to the angles that maximize their share of the linearized margin, the most promising first.

    A node of the bulk has little weight: where another angle has a larger share, moving there raises the margin. That leaves
    saddles, such as :math:`\varphi = 0` without features, and no optimum.
    """
    slope = margin.slope(margin.numbers(*margin.functions(angle)))
    share_now = margin.share(slope, angle)
    # The best of the angles tried, for each node by itself.
    farthest = 0.5 * np.pi if margin.finite else 1.5 * np.max(np.abs(angle), axis=1)[:, None]
    target = angle
    share = np.full_like(angle, -np.inf)
    for fraction in _TRIED:
        tried = np.broadcast_to(fraction * farthest, angle.shape)
        share_there = margin.share(slope, tried)
        target = np.where(share_there > share, tried, target)
        share = np.maximum(share, share_there)
    weight = margin.node_weight()
    gain = (share - share_now) / weight
    gain[gain < _MIN_GAIN * np.max(np.abs(share_now) / weight, axis=1, keepdims=True)] = 0.0
    # Linearity fails if many nodes move: all of them first, then fewer, the most promising.
    enough = best + 1e-13 * (1.0 + np.abs(best))
    raised = np.zeros(best.size, bool)
    moved = angle
    for fraction in 0.5 ** np.arange(8.0):
        promising = gain >= (1.0 - fraction) * np.max(gain, axis=1, keepdims=True)
        trial = np.where((gain > 0.0) & promising & ~raised[:, None], target, moved)
        higher = margin.at(trial) > enough
        moved = np.where(higher[:, None], trial, moved)
        raised |= higher
    return moved, raised


def _derivatives(margin: SpectralMargin, angle: Array) -> tuple[Array, Array, Array]:
    """Gradient, diagonal part of the Hessian, and the rows of its low-rank part."""
    U, W = margin.functions(angle)
    if margin.finite:
        U1, W1 = np.cos(2.0 * angle), np.sin(2.0 * angle)
        U2, W2 = -2.0 * W1, 2.0 * U1
    else:
        U1, W1 = np.ones_like(angle), 2.0 * angle
        U2, W2 = np.zeros_like(angle), 2.0 * U1
    # first and second derivatives of the eight functions in the angle, by the chain rule
    first = (W1, 2 * W * W1, 2 * U * U1, W1, 2 * W * W1, 2 * U * U1, U1, U * W1 + U1 * W)
    WW, UU = 2 * (W1**2 + W * W2), 2 * (U1**2 + U * U2)
    second = (W2, WW, UU, W2, WW, UU, U2, U2 * W + 2 * U1 * W1 + U * W2)
    slope = margin.slope(margin.numbers(U, W))
    rows = np.stack([w * f for w, f in zip(margin.weights(), first, strict=True)], axis=1)
    return margin.combine(slope, first), margin.combine(slope, second), rows


def _direction(margin: SpectralMargin, angle: Array) -> tuple[Array, Array]:
    """Newton's step and its expected gain; the step of the diagonal part alone where Newton's would lower the margin."""
    gradient, diagonal, rows = _derivatives(margin, angle)
    numbers = margin.numbers(*margin.functions(angle))
    rest = margin.curvature(numbers)
    # The diagonal part, made negative, as at a maximum, and not too flat.
    weight = margin.node_weight()
    flattest = _FLOOR * np.max(np.abs(diagonal) / weight, axis=1, keepdims=True)
    stiffness = np.maximum(np.abs(diagonal), flattest * weight)
    stiffness = np.where(stiffness > 0.0, stiffness, 1.0)
    plain = gradient / stiffness
    # The low-rank part, by the formula of Sherman, Morrison and Woodbury.
    scaled = rows / stiffness[:, None, :]
    coupling = np.eye(NUMBERS) - rest @ (scaled @ rows.mT)
    regular = np.all(np.isfinite(coupling), axis=(1, 2), keepdims=True)
    inverse = np.linalg.pinv(np.where(regular, coupling, np.eye(NUMBERS)), rcond=1e-14)
    pull = inverse @ (rest @ (scaled @ gradient[:, :, None]))
    full = plain + (scaled.mT @ pull)[:, :, 0]
    gain = np.vecdot(full, gradient)
    up = np.isfinite(gain) & (gain > 0.0)
    direction = np.where(up[:, None], full, plain)
    return direction, np.asarray(np.vecdot(direction, gradient))


def _line(
    margin: SpectralMargin, angle: Array, direction: Array, promise: Array, start: Array
) -> tuple[Array, Array]:
    """Length of a step that raises each margin enough, by halving, and the margin there; 0 if there is none."""
    reach = np.max(np.abs(direction), axis=1)
    longest = _LONGEST if margin.finite else np.max(np.abs(angle), axis=1)
    length = np.minimum(1.0, longest / np.where(reach > 0.0, reach, 1.0))
    reached = start.copy()
    search = np.arange(start.size)
    # Close to the maximum the gain of a step is below rounding: one that loses no more passes.
    noise = 4e-16 * (1.0 + np.abs(start))
    for _ in range(40):
        trial = angle[search] + length[search, None] * direction[search]
        reached[search] = margin.take(search).at(trial)
        enough = reached[search] >= (start + 1e-4 * length * promise - noise)[search]
        search = search[~enough]
        if not search.size:
            break
        length[search] *= 0.5
    length[search] = 0.0
    reached[search] = start[search]
    return length, reached
