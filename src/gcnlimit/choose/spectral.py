r"""The ceiling of linear networks on a symmetric graph: the best of all functions on its spectrum, by Newton's method.

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
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.numerics.maximize import spread
from gcnlimit.numerics.spectral import (
    SpikedSemicircle,
    edge_panels,
    halved,
    interpolate,
    panel_angles,
    panel_measure,
    panel_tails,
)
from gcnlimit.spectrum import Spectrum
from gcnlimit.theory.finite_reg.equations import Transforms
from gcnlimit.theory.finite_reg.square import WHITE, most_freedom, spectral_transforms, square_margin, square_reg
from gcnlimit.theory.points import Points

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
        return np.stack([np.vecdot(w, f) for w, f in zip(self.weights(), _features(U, W), strict=True)], axis=1)

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
        by_U = (zero, zero, 2 * U, zero, zero, 2 * U, one, W)
        by_W = (one, 2 * W, zero, one, 2 * W, zero, zero, U)
        return self.combine(slope, by_U), self.combine(slope, by_W)

    def combine(self, slope: Array, features: tuple[Array, ...]) -> Array:
        """Sum over the eight functions of the nodes, each with its weights and its row of coefficients."""
        terms = (slope[:, k, None] * w * f for k, (w, f) in enumerate(zip(self.weights(), features, strict=True)))
        return np.asarray(sum(terms))

    def share(self, slope: Array, U: Array, W: Array) -> Array:
        """What each node contributes to the linearized margin."""
        return self.combine(slope, _features(U, W))

    def weights(self) -> tuple[Array, ...]:
        """Weights of the nodes in each of the eight numbers."""
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
_MIN_GAIN = 1e-9  # gain of an exchange, relative to the share of a node, that counts as rounding
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
    angle = angle.copy()
    best = margin.value(*values(angle, margin.s))
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
        settled[rows] = promise <= _SETTLED * (1.0 + np.abs(reached))
        rows = rows[~settled[rows] & (length > 0.0)]
    return Climbed(angle, best, settled)


def _exchanged(margin: SpectralMargin, angle: Array, best: Array) -> tuple[Array, npt.NDArray[np.bool_]]:
    r"""Move nodes to the angles that maximize their share of the linearized margin, the most promising first.

    A node of the bulk has little weight: where another angle has a larger share, moving there raises the margin. That leaves
    saddles, such as :math:`\varphi = 0` without features, and no optimum.
    """
    slope = margin.slope(margin.numbers(*values(angle, margin.s)))
    unit = np.where(margin.s > 0.0, 0.5 * np.pi, 1.5 * np.max(np.abs(angle), axis=1))[:, None]
    weight = margin.measure.tau + margin.measure.e
    target = angle.copy()
    share = np.full_like(angle, -np.inf)
    here = margin.share(slope, *values(angle, margin.s))
    for fraction in _TRIED:
        tried = np.broadcast_to(fraction * unit, angle.shape)
        there = margin.share(slope, *values(tried, margin.s))
        target = np.where(there > share, tried, target)
        share = np.maximum(share, there)
    gain = np.where(weight > 0.0, (share - here) / np.where(weight > 0.0, weight, 1.0), 0.0)
    scale = np.max(np.abs(here) / np.where(weight > 0.0, weight, 1.0), axis=1, keepdims=True)
    gain[gain < _MIN_GAIN * scale] = 0.0
    moved = angle.copy()
    raised = np.zeros(best.size, bool)
    for fraction in 0.5 ** np.arange(8.0):
        chosen = (gain > 0.0) & (gain >= (1.0 - fraction) * np.max(gain, axis=1, keepdims=True)) & ~raised[:, None]
        trial = np.where(chosen, target, moved)
        found = margin.value(*values(trial, margin.s)) > best + 1e-13 * (1.0 + np.abs(best))
        moved = np.where(found[:, None] & ~raised[:, None], trial, moved)
        raised |= found
    return moved, raised


def _derivatives(margin: SpectralMargin, angle: Array) -> tuple[Array, Array, Array]:
    """Gradient, diagonal part of the Hessian, and the rows of its low-rank part."""
    finite = (margin.s > 0.0)[:, None]
    U, W = values(angle, margin.s)
    U1 = np.where(finite, np.cos(2.0 * angle), 1.0)
    W1 = np.where(finite, np.sin(2.0 * angle), 2.0 * angle)
    U2, W2 = np.where(finite, -2.0 * np.sin(2.0 * angle), 0.0), np.where(finite, 2.0 * np.cos(2.0 * angle), 2.0)
    first = (W1, 2 * W * W1, 2 * U * U1, W1, 2 * W * W1, 2 * U * U1, U1, U * W1 + U1 * W)
    WW, UU = 2 * (W1**2 + W * W2), 2 * (U1**2 + U * U2)
    second = (W2, WW, UU, W2, WW, UU, U2, U2 * W + 2 * U1 * W1 + U * W2)
    slope = margin.slope(margin.numbers(U, W))
    rows = np.stack([w * f for w, f in zip(margin.weights(), first, strict=True)], axis=1)
    return margin.combine(slope, first), margin.combine(slope, second), rows


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
    reached = start.copy()
    search = np.arange(start.size)
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
    length[search] = 0.0
    reached[search] = start[search]
    return length, reached


_BLOCK = 48  # points searched together
_STARTS = 4  # number of climbs, from the best filters tried
_FIRST = 15  # steps of each climb before the best alone is continued
_SCALES = np.geomspace(1e-3, 1e1, 13)  # of the starts at finite regularization, where the scale counts
_ROUNDS = 40  # refinements of the panels in which a filter has a kink
_ROUGH = 1e-3  # truncation error of a panel times its weight, over the tolerance, above which the panel is halved
_STEEPEST = 1e4  # largest value of a filter that is reported, where it has a pole


class SpectralBest(NamedTuple):
    """Best filters, a row for each point: margin, its last change, regularization, values at `spectrum`, of magnitude 1."""

    margin: Array
    error: Array
    reg: Array
    g: Array
    settled: npt.NDArray[np.bool_]


def spectrum(points: Points) -> Array:
    """Real points of the spectrum, the spike or the edge on its side last."""
    edge = 2.0 if points.symmetric else 1.0
    bulk = np.broadcast_to(np.linspace(-edge, edge, 201), (points.size, 201))
    spike = np.where(points.signal < 0.0, -1.0, 1.0) * points.radius
    return np.concatenate([bulk, spike[:, None]], axis=1)


def spectral_ceiling(points: Points, *, infinite: bool, tol: float) -> SpectralBest:
    """Best filter of each point among all functions on the spectrum, at infinite regularization or at the best one.

    The spectrum is cut into panels, all of them again, then those in which the filter has a kink, until the margin moves by
    less than `tol`.
    """
    order = np.argsort(np.abs(np.abs(points.signal) - 1.0), kind="stable")  # similar spectra need similar panels
    blocks = np.array_split(order, max(1, -(-points.size // _BLOCK)))
    parts = [_one_block(points.take(rows), infinite, tol) for rows in blocks]
    back = np.argsort(order)
    return SpectralBest(*(np.concatenate(column)[back] for column in zip(*parts, strict=True)))


def _one_block(points: Points, infinite: bool, tol: float) -> SpectralBest:
    best = _searched(points, np.zeros(points.size), tol)
    if infinite:
        return best
    finite = _searched(points, np.ones(points.size), tol, best)
    better = finite.margin > best.margin + 1e-2 * tol
    columns = (np.where(better if a.ndim == 1 else better[:, None], a, b) for a, b in zip(finite, best, strict=True))
    return SpectralBest(*columns)


def _searched(points: Points, s: Array, tol: float, known: SpectralBest | None = None) -> SpectralBest:
    """Several climbs on the first panels, the best continued on finer ones; `known` is a start, and a margin to exceed."""
    ends = edge_panels(points.signal)
    problem = _problem(points, s, ends)
    start = _starts(problem, points.radius, None if known is None else known.g)
    where = np.repeat(np.arange(points.size), start.shape[1])
    first = climb(problem.take(where), start.reshape(where.size, -1), _FIRST)
    chosen = np.arange(points.size) * start.shape[1] + np.argmax(first.margin.reshape(points.size, -1), axis=1)
    coarse = maximize(problem, first.angle[chosen])
    finer = halved(ends)
    fine = maximize(_problem(points, s, finer), _carried(ends, coarse.angle, finer))
    best = _reported(points, s, finer, fine, np.abs(fine.margin - coarse.margin))
    hopeless = False if known is None else best.margin + 10.0 * best.error < known.margin
    for k in np.flatnonzero(~(best.error <= tol) & ~np.asarray(hopeless)):
        row = np.array([k])
        one = _cut(points.take(row), s[row], finer, Climbed(*(column[row] for column in fine)), tol)
        if np.isfinite(one.error[0]):
            for column, value in zip(best, one, strict=True):
                column[k] = value[0]
    return best._replace(settled=best.settled & (best.error <= tol))


def _cut(points: Points, s: Array, ends: Array, found: Climbed, tol: float) -> SpectralBest:
    """Halve the panels of one point in which the filter is not resolved, until the margin is steady."""
    change = np.full(1, np.nan)  # remains NaN if every panel is resolved already
    for _ in range(_ROUNDS):
        measure = panel_measure(points.signal, ends)
        weight = (measure.tau + measure.e)[0, :-1].reshape(ends.size - 1, -1).sum(axis=1)
        U, W = values(found.angle, s)
        rough = (panel_tails(U[0, :-1]) + panel_tails(W[0, :-1])) * weight > _ROUGH * tol
        if not np.any(rough):
            break
        finer = halved(ends, rough)
        next_ = maximize(_problem(points, s, finer), _carried(ends, found.angle, finer))
        change = np.abs(next_.margin - found.margin)
        found, ends = next_, finer
        if change[0] <= 0.1 * tol:
            break
    return _reported(points, s, ends, found, change)


def _problem(points: Points, s: Array, ends: Array) -> SpectralMargin:
    measure = panel_measure(points.signal, ends)
    return SpectralMargin(measure, s, points.alpha, points.mu, points.rho, points.features)


def _carried(ends: Array, angle: Array, finer: Array) -> Array:
    """Angles at the nodes of other panels; the atom is the last."""
    t, before = panel_angles(finer), panel_angles(ends)
    bulk = np.stack([np.interp(t, before, row) for row in angle[:, :-1]])
    return np.concatenate([bulk, angle[:, -1:]], axis=1)


def _starts(problem: SpectralMargin, radius: Array, known: Array | None) -> Array:
    """Angles of the best of diffusions, PageRanks and random polynomials, each at its best scale; point, start, node."""
    x = problem.measure.x / radius[:, None]
    shapes = [np.exp(t * x) for t in (-4.0, -2.0, -0.5, 0.0, 0.5, 2.0, 4.0)]
    shapes += [1.0 / (1.0 - theta * x) for theta in (-0.8, 0.8)]
    shapes += [np.polynomial.chebyshev.chebval(x, 2.0 * c - 1.0) for c in spread(6, 5)]
    if known is not None:
        grid = np.linspace(-2.0, 2.0, known.shape[1] - 1)
        rows = zip(problem.measure.x[:, :-1], known[:, :-1], strict=True)
        bulk = np.stack([np.interp(at, grid, g) for at, g in rows])
        shapes.append(np.concatenate([bulk, known[:, -1:]], axis=1))
    g = np.stack(shapes, axis=1)
    size = np.sqrt(g**2 @ problem.measure.tau)
    g /= np.where(size > 0.0, size, 1.0)[:, :, None]
    scaled = np.arctan(_SCALES[:, None] * g[:, :, None]) if np.any(problem.s) else g[:, :, None]
    points, shapes_, scales, nodes = scaled.shape
    many = problem.take(np.repeat(np.arange(points), shapes_ * scales))
    margin = many.value(*values(scaled.reshape(-1, nodes), many.s)).reshape(points, shapes_, scales)
    scale = np.argmax(margin, axis=2)
    shape = np.argsort(-np.max(margin, axis=2), axis=1, kind="stable")[:, :_STARTS]
    return np.asarray(scaled[np.arange(points)[:, None], shape, np.take_along_axis(scale, shape, axis=1)])


def _reported(points: Points, s: Array, ends: Array, found: Climbed, error: Array) -> SpectralBest:
    """Regularization and values of the filter; without an atom its value at the edge takes that place."""
    angle = found.angle
    side = np.where(points.signal < 0.0, -1.0, 1.0)
    x = side[:, None] * np.linspace(-2.0, 2.0, 201)
    t = np.arccos(np.clip(0.5 * x, -1.0, 1.0))
    bulk = np.concatenate([interpolate(ends, a[None, :-1], at) for a, at in zip(angle, t, strict=True)])
    edge = np.where(side < 0.0, bulk[:, 0], bulk[:, -1])
    atom = np.where(np.abs(points.signal) > 1.0, angle[:, -1], edge)
    angles = np.concatenate([bulk, atom[:, None]], axis=1)
    g = np.where((s > 0.0)[:, None], np.clip(np.tan(angles), -_STEEPEST, _STEEPEST), angles)
    size = g[np.arange(len(g)), np.argmax(np.abs(g), axis=1)]
    reg = _problem(points, s, ends).reg(values(angle, s)[1]) / size**2
    return SpectralBest(found.margin, error, reg, g / size[:, None], found.settled)
