r"""Networks that are not trained to the end: weights, outputs and accuracies at every time of the training (Eqs. 13.1 to 13.11).

For the square loss the weights at a time are a function of one matrix, an integral of ridge regressions at complex
regularizations over a contour around its spectrum,

.. math:: w = -\oint \frac{dz}{2\pi i}\, \frac{1 - P(z)}z\, w_{r - z} ,

so that means and squares are integrals over those in `gcnlimit.theory.finite_reg.path`. One contour serves all times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from gcnlimit._values import Array
from gcnlimit.numerics.contour import Contour, drop, ellipse
from gcnlimit.numerics.linear import batches
from gcnlimit.results.order_parameters import Output, Weights
from gcnlimit.theory.finite_reg.path import GraphRidge, PageRankRidge, Path, SymmetricRidge
from gcnlimit.theory.points import Mask, Points, Rows
from gcnlimit.training import GradientDescent, Training

_COARSEST, _FINE, _FINEST = 63, 127, (1 << 13) - 1  # nodes on the spectrum: first, for ends, last
_SEARCHED = 32  # points whose spectra are searched for their ends at once
_SMALLEST, _MOST = 32, 1 << 24  # nodes of a contour; and times those on the spectrum
_EARLY, _MANY = 1.0 / 12.0, 512  # part of the times that has its own contour, above so many nodes
_DIGITS = 27.0  # minus the logarithm of the error of a contour, and of a P that is as good as 0
_GROWTH = 20.0  # logarithm of P where a ring ends
_WIDEST = 3.0  # of a ring
_CLOSED = 1e-9  # what functions that are analytic outside a contour may have inside, by rounding
_SAME, _ALIKE = 1e-12, 1e-11  # changes of variables and outputs that a finer grid may make
_CHECKED = (16, 64)  # nodes of a contour where grids are compared and roots followed
_MARGIN = 3.0  # logarithm of P at the edge of the half plane, or the disc, around a drop
_FAR = 10.0  # regularization, in half lengths of the spectrum, beyond which an ellipse keeps digits
_FARTHEST = 1e10  # ratio of the ends of a spectrum that a drop encloses
_LARGEST = 10.0  # logarithm of what weights that diverge may grow by before they lose their digits
_BLOCK, _CACHED = 1 << 18, 1 << 15  # numbers of a temporary array; of one kept in the cache


class Stopped(NamedTuple):
    """Order parameters of a training that stops, along the points, in the place of a solution; responses are not defined.

    On train nodes they are those of the output times the label as given; `push` is what that label adds to its own output.
    """

    output: Output
    train_mean: Array
    train_variance: Array
    weights: Weights
    push: Array


def trained_outputs(points: Points, training: Training) -> Stopped:
    """Law of outputs and weights at each point; `training` has its parameters along one axis. NaN where not resolved."""
    name, *others = training.names
    time, *rates = (np.asarray(getattr(training, each)) for each in (name, *others))
    # a contour serves all points where all but the time is the same
    filter = points.filter.values.reshape(points.size, -1).T
    columns = [points.alpha, points.mu, points.rho, points.reg, points.signal, *filter, *rates]
    _, first, group = np.unique(np.stack(columns), axis=1, return_index=True, return_inverse=True)
    networks = points.take(first)
    spectra = _Spectra.of(networks, training[first])
    needed = np.minimum(time, spectra.settled()[group])
    needed[np.isinf(needed)] = np.nan  # a spectrum down to 0 is never learned
    longest = np.zeros(first.size)
    np.fmax.at(longest, group, needed)
    # large momenta need as many nodes as steps: early times are on a contour of their own
    many = (spectra.momentum > 0.0) & (spectra.ellipses(longest)[1] > _MANY)
    early = many[group] & (needed < _EARLY * longest[group])
    halves, group = np.unique(2 * group + early, return_inverse=True)
    networks, spectra = networks.take(halves // 2), _Spectra(*(x[halves // 2] for x in spectra))
    longest = np.where(halves % 2, _EARLY, 1.0) * longest[halves // 2]
    steps = training.having(**{name: needed})
    answer = np.full((7, points.size), np.nan)
    for row, path, loop in _resolved(networks, spectra, longest):
        members = np.flatnonzero(group == row)
        law = spectra.unit[row], spectra.reg[row], networks.rho[row], points.noise
        # times that are equal, or as good as the last one, are computed once
        _, times, which = np.unique(needed[members], return_index=True, return_inverse=True)
        numbers = np.empty((7, times.size))
        for block in batches(times.size, max(1, _CACHED // loop.z.size)):
            numbers[:, block] = _at_times(path, loop, law, steps[members[times[block]]])
        answer[:, members] = numbers[:, which]
    answer[:, spectra.growth(np.zeros(longest.size))[group] * time > _LARGEST] = np.nan
    mean, variance, train_mean, train_variance, m_w, Q_w, push = answer
    none = np.full(points.size, np.nan)
    weights = Weights(m_w, Q_w, none, none, none, none)
    return Stopped(Output(mean, variance, none), train_mean, train_variance, weights, push)


def largest_stable_rate(points: Points) -> Array:
    r"""Step size :math:`2(1 + \beta)/\lambda` above which descents diverge, with the largest eigenvalue; infinite for flows."""
    if not isinstance(points.training, GradientDescent):
        return np.full(points.size, np.inf)
    spectra = _Spectra.of(points, points.training)
    highest = spectra.unit * (spectra.centre + spectra.half + spectra.reg)
    return np.asarray(2.0 * (1.0 + points.training.momentum) / highest)


class _Spectra(NamedTuple):
    """Intervals around the spectra, regularizations, and the training there: step size, 0 for a flow, and momentum."""

    centre: Array
    half: Array
    reg: Array
    rate: Array
    momentum: Array
    unit: Array

    @classmethod
    @np.errstate(all="ignore")  # ends that are out of range are not resolved
    def of(cls, points: Points, training: Training) -> _Spectra:
        """Look for the ends of the spectra."""
        ridges = (_ridge(points.take(rows), _FINE) for rows in batches(points.size, _SEARCHED))
        low, high, unit = np.concatenate([(*ridge.ends(), ridge.unit) for ridge in ridges], axis=1)
        high = np.maximum(high, 1.001 * low)  # an interval has some length
        reg = points.reg / unit
        rate = np.asarray(getattr(training, "rate", np.zeros(points.size))) * unit
        momentum = np.asarray(getattr(training, "momentum", np.zeros(points.size)))
        return cls(0.5 * (low + high), 0.5 * (high - low), reg, rate, momentum, unit)

    def growth(self, width: Array) -> Array:
        r"""Logarithm of the largest :math:`|P|` on ellipses of that width, in a unit of time or by a step.

        It is :math:`-\Re z`, or that of the larger root of :math:`p + \beta/p = 1 + \beta - \eta z`: on an ellipse with the foci
        :math:`\pm 2\sqrt\beta` the larger root has one size.
        """
        middle = self.centre + self.reg
        if not np.any(self.rate):
            return np.asarray(self.unit * (self.half * np.cosh(width) - middle))
        angle = np.linspace(0.0, np.pi, 9)
        z = middle[:, None] + self.half[:, None] * np.cosh(width[..., None] + 1j * angle)
        x, focus = 1.0 + self.momentum[:, None] - self.rate[:, None] * z, 2.0 * self.momentum**0.5
        axis = 0.5 * np.max(np.abs(x - focus[:, None]) + np.abs(x + focus[:, None]), axis=-1)
        return np.asarray(np.log(0.5 * (axis + np.sqrt(np.maximum(axis**2 - focus**2, 0.0)))))

    def settled(self) -> Array:
        """Time after which P is as good as 0 on the whole spectrum, or too large for digits to be left."""
        growth = self.growth(np.zeros(self.centre.size))
        return np.ceil(np.where(growth > 0.0, _LARGEST, _DIGITS) / np.abs(growth))

    def contours(self, longest: Array) -> Iterator[tuple[Callable[..., Contour], Rows, Array, int]]:
        """Contours for times up to these: a shape, the points that have it, its columns there, and the number of nodes.

        They are ellipses where P swings, or `reg` is far beyond the spectrum, and drops elsewhere.
        """
        oval = (self.momentum > 0.0) | (self.reg > _FAR * self.half)
        families = (ellipse, oval, self.ellipses(longest)), (drop, ~oval, self._drops(longest))
        for shape, shaped, (columns, nodes) in families:
            # few different numbers of nodes: many points are solved together, by fast transforms
            least = np.maximum(nodes, _SMALLEST)
            unit = np.exp2(np.ceil(np.log2(least)) - 3.0)
            counts = np.where(shaped, unit * np.ceil(least / unit), np.inf)
            for count in np.unique(counts[counts * _COARSEST <= _MOST]):
                rows = np.flatnonzero(counts == count)
                yield shape, rows, np.stack(columns)[..., None], int(count)

    def _drops(self, longest: Array) -> tuple[tuple[Array, ...], Array]:
        """Drops in a half plane, or a disc, in which P grows by a factor of e^3 at most, and that begins at -shift."""
        slowness = 1.0 / np.where(self.rate > 0.0, self.rate, self.unit)
        end = np.where(self.rate > 0.0, 2.0 * slowness, np.inf)
        high = self.centre + self.half + self.reg
        shift = np.minimum(_MARGIN * slowness / longest, high) + np.maximum(high - end, 0.0)
        bend = 1.0 / (end + 2.0 * shift)
        moved = shift + self.reg
        ends = tuple(end + moved for end in (self.centre - self.half, self.centre + self.half))
        low, high = (end / (1.0 - bend * end) for end in ends)
        nodes = 4.0 / np.pi**2 * (_DIGITS + 2.0 * _MARGIN) * np.log(4.0 * high / low)
        return (*ends, moved, bend), np.where(high < _FARTHEST * low, nodes, np.inf)

    def ellipses(self, longest: Array) -> tuple[tuple[Array, ...], Array]:
        """Ellipses in rings from the spectrum to where P is large, at widths that make the errors of the two sides alike."""
        allowed = np.maximum(self.growth(np.zeros(longest.size)) * longest, 0.0) + _GROWTH
        below, above = np.full(longest.shape, 1e-7), np.full(longest.shape, _WIDEST)
        for _ in range(10):
            middle = np.sqrt(below * above)
            inside = self.growth(middle) * longest <= allowed
            below, above = np.where(inside, middle, below), np.where(inside, above, middle)
        width = 0.5 * _DIGITS / (_DIGITS + _GROWTH) * below
        return (self.centre, self.half, width), 0.5 * _DIGITS / width


def _ridge(points: Points, nodes: int) -> GraphRidge:
    return SymmetricRidge(points, nodes) if points.symmetric else PageRankRidge(points)


def _resolved(
    points: Points, spectra: _Spectra, longest: Array
) -> Iterator[tuple[int, Path, Contour]]:
    """Number of a point, law on its contour, and the contour; points that are not resolved are left out."""
    for shape, members, columns, count in spectra.contours(longest):
        some = np.linspace(0, count - 1, int(np.clip(count // 8, *_CHECKED))).astype(int)
        rows, grid = members, _COARSEST
        while rows.size and grid <= min(_FINEST, _MOST / count):
            left = [rows[:0]]
            for block in batches(rows.size, max(1, int(_BLOCK / (count * grid)))):
                part = rows[block]
                loop = shape(*columns[:, part], count)
                ridge, zeta = _ridge(points.take(part), grid), -loop.z
                few = ridge.followed(zeta[:, some])
                good = _same(ridge, _ridge(points.take(part), 2 * grid + 1), few, zeta[:, some])
                if good.any():
                    path = ridge.path(ridge.between(few, some, zeta))
                    # analytic outside, unless a root is wrong or the contour cuts the spectrum
                    good &= loop.pierced(path.missed) <= _CLOSED
                    for k in np.flatnonzero(good):
                        parts = (type(law)(*(x[[k]] for x in law)) for law in (path, loop))
                        yield part[k], *parts
                left.append(part[~good])
            rows, grid = np.concatenate(left), 2 * grid + 1


def _same(ridge: GraphRidge, finer: GraphRidge, few: Array, zeta: Array) -> Mask:
    """Which points have the same variables and outputs on a finer grid on the spectrum of the graph."""
    finest = finer.polished(few, zeta)
    missed, fine = ridge.path(few).missed, finer.path(finest).missed
    # outputs have poles at outliers, near which their rounding errors are squares
    change = np.abs(fine - missed) / (1.0 + np.abs(missed)) ** 2
    apart = np.abs(finest - few) / np.abs(finest)
    return np.asarray(np.all((apart <= _SAME) & (change <= _ALIKE), axis=1))


def _at_times(
    path: Path, loop: Contour, law: tuple[float, float, float, float], training: Training
) -> tuple[Array, ...]:
    """Numbers of `Stopped` at some times of one contour (Eqs. 13.5, 13.10 and 13.11)."""
    unit, reg, rho, noise = law
    learned = unit * training.learned(unit * (loop.z + reg))
    mean, square = loop.crossed(-path.scale * learned, path.missed * learned)
    variance, true, missed = square - mean**2, 1.0, path.missed
    if noise:  # labels are a fraction of the true ones and, independently, noise (Eq. 13.16)
        true = 1.0 - 2.0 * noise
        missed = true**2 * missed + (1.0 - true**2)
        pure = loop.crossed(-path.scale * learned, learned)[1]
        variance = true**2 * variance + (1.0 - true**2) * pure
    trained = path.kept * missed
    once = np.concatenate([trained, path.weights, path.kept]) * loop.weight
    twice = np.concatenate([trained * loop.z, trained]) * loop.weight
    train_mean, overlap, push = np.vecdot(once[:, None].conj(), learned).real
    train_square, size = np.vecdot(twice[:, None].conj(), learned**2).real
    train_variance = np.maximum(train_square - train_mean**2, 0.0)  # there may be none
    m_w, Q_w = -true * overlap / np.sqrt(unit), rho * size / unit
    return true * mean, variance, train_mean, train_variance, m_w, Q_w, push
