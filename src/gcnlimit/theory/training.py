r"""Networks that are not trained to the end: weights, outputs and accuracies at every time of the training (Eqs. 13.1 to 13.5).

For the square loss the weights at a time are a function of one matrix, an integral of ridge regressions at complex
regularizations over a contour around its spectrum,

.. math:: w = -\oint \frac{dz}{2\pi i}\, \frac{1 - P(z)}z\, w_{r - z} ,

so that means are single and variances double integrals of those in `gcnlimit.theory.finite_reg.path`. One contour serves
all times of one network on one kind of data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.numerics.contour import Contour, EllipseMap, slit_contour, slit_nodes
from gcnlimit.numerics.linear import batches
from gcnlimit.results.order_parameters import Output, Weights
from gcnlimit.theory.finite_reg.path import PageRankRidge, Path, Ridge, SymmetricRidge, quadratic
from gcnlimit.theory.points import Points
from gcnlimit.training import GradientDescent, Training

_MARGIN = 3.0  # time times how far a contour may leave the half-plane where P is bounded
_COARSEST, _FINE, _FINEST = 63, 127, (1 << 13) - 1  # nodes on the spectrum: first, for ends, last
_ROUND = 1e-8  # momentum at which the ellipse where P is bounded is as good as the disc without
_SEARCHED = 32  # points whose spectra are searched for their ends at once
_LONGEST = 2000  # nodes of a contour; more are needed around hopelessly different eigenvalues
_CLOSED = 1e-10  # error of Cauchy's formula around a whole spectrum
_SAME = 1e-12  # change of an average between two grids at which the finer one is fine enough
_LARGEST = 10.0  # logarithm of what weights that diverge may grow by before they lose their digits
_BLOCK = 1 << 21  # numbers held by one temporary array

Rows = npt.NDArray[np.intp]


class Outputs(NamedTuple):
    """Mean and variance of the output on test and on train nodes; overlap and square of the weights; all along the points."""

    mean: Array
    variance: Array
    train_mean: Array
    train_variance: Array
    m_w: Array
    Q_w: Array


class Stopped(NamedTuple):
    """Order parameters of a training that stops, in the place of a solution; responses are not defined."""

    output: Output
    weights: Weights

    @classmethod
    def of(cls, outputs: Outputs) -> Stopped:
        """Records of means, variances and weights."""
        none = np.full_like(outputs.mean, np.nan)
        weights = Weights(outputs.m_w, outputs.Q_w, none, none, none, none)
        return cls(Output(outputs.mean, outputs.variance, none), weights)

    def layers(self) -> None:
        """Return nothing: the order functions of the layers are those of networks that are trained to the end."""


def trained_outputs(points: Points, training: Training) -> Outputs:
    """Law of outputs and weights at each point; `training` has its parameters along one axis. NaN where not resolved."""
    first, group = _alike(points, training)
    longest = np.zeros(first.size)
    np.maximum.at(longest, group, np.asarray(getattr(training, training.names[0])))
    networks = points.take(first)
    loops = _Loops.of(networks, training[first], longest)
    grows = loops.growth()[group] * np.asarray(getattr(training, training.names[0]))
    members = np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1])
    answer = np.full((len(Outputs._fields), points.size), np.nan)
    for rows, path, unit, loop in _resolved(networks, loops):
        for k, row in enumerate(rows):
            laws, contour = Path(*(law[k] for law in path)), Contour(*(part[k] for part in loop))
            for block in batches(members[row].size, _BLOCK // contour.z.size):
                part = members[row][block]
                answer[:, part] = _at_times(laws, contour, unit[k], training[part])
    answer[:, grows > _LARGEST] = np.nan
    answer[3] = np.maximum(answer[3], 0.0)  # outputs on train nodes may have no variance
    return Outputs(*answer)


def largest_stable_rate(points: Points) -> Array:
    r"""Step size :math:`2(1 + \beta)/\lambda` above which descents diverge, with the largest eigenvalue; infinite for flows."""
    if not isinstance(points.training, GradientDescent):
        return np.full(points.size, np.inf)
    loops = _Loops.of(points, points.training, np.ones(points.size))
    return np.asarray(points.training.rate * loops.stable() / loops.high)


def _alike(points: Points, training: Training) -> tuple[Rows, Rows]:
    """First of all points that share a contour, and the contour of each point: all but the time is the same."""
    rates = [np.asarray(getattr(training, name)) for name in training.names[1:]]
    filter = points.filter.values.reshape(points.size, -1).T
    columns = [points.alpha, points.mu, points.rho, points.reg, points.signal, *filter, *rates]
    _, first, group = np.unique(np.stack(columns), axis=1, return_index=True, return_inverse=True)
    return first, group.ravel()


def _batches(sizes: Array, nodes: int) -> Iterator[Rows]:
    """Contours of similar length together, the longest first, on a grid of `nodes` nodes."""
    order = np.argsort(-sizes, kind="stable")
    while order.size:
        most = sizes[order[0]]
        alike = int(np.count_nonzero(sizes[order] >= 0.7 * most))
        together = max(1, min(alike, int(_BLOCK // (4.0 * most * max(most, nodes)))))
        yield order[:together]
        order = order[together:]


class _Loops(NamedTuple):
    """Ends of the spectrum, regularization, step size, momentum and longest training around which contours are drawn."""

    low: Array
    high: Array
    reg: Array
    rate: Array
    momentum: Array
    longest: Array

    @classmethod
    def of(cls, points: Points, training: Training, longest: Array) -> _Loops:
        """Look for the ends of the spectra."""
        columns = []
        for block in batches(points.size, _SEARCHED):
            ridge = _ridge(points.take(block), _FINE)
            columns.append(np.stack([*ridge.ends(), ridge.unit]))
        low, high, unit = np.concatenate(columns, axis=1)
        reg = points.reg / unit
        none = np.zeros(points.size)
        if isinstance(training, GradientDescent):
            rate = np.asarray(training.rate) * unit
            momentum = np.maximum(training.momentum, _ROUND)
            return cls(low + reg, high + reg, reg, rate, momentum, longest)
        return cls(low + reg, high + reg, reg, none, none, longest * unit)

    def take(self, rows: Rows) -> _Loops:
        return _Loops(*(column[rows] for column in self))

    def stable(self) -> Array:
        """End of the spectrum beyond which steps diverge."""
        with np.errstate(divide="ignore"):
            return np.asarray(2.0 * (1.0 + self.momentum) / self.rate)

    def growth(self) -> Array:
        r"""Logarithm of what diverging steps enlarge weights by, minus a root of :math:`p + \beta/p = 1 + \beta - x`."""
        half = 0.5 * (self.rate * self.high - 1.0 - self.momentum)
        root = half + np.sqrt(np.maximum(half**2 - self.momentum, 0.0))
        return np.asarray(np.log(np.maximum(root, 1.0)))

    def wider(self) -> _Loops:
        """Ends further apart, inside the disc where steps are stable if they were: outside of it P is huge."""
        stable = self.stable()
        high = np.where(self.high < stable, 0.5 * (self.high + stable), np.inf)
        return self._replace(low=0.5 * self.low, high=np.minimum(1.2 * self.high, high))

    def _outer(self) -> Array:
        """Larger root of the recursion on the ellipse within which P is bounded."""
        return np.asarray(np.exp(self.growth() + _MARGIN / self.longest))

    def _ellipse(self) -> tuple[EllipseMap, Array, Array]:
        """Map of that ellipse to the half-plane, and the ends of the spectrum there."""
        ellipse = EllipseMap(np.log(self._outer() / np.sqrt(self.momentum)))
        low, high = (
            ellipse((1.0 + self.momentum - self.rate * end) / (2.0 * np.sqrt(self.momentum)))
            for end in (self.low, self.high)
        )
        return ellipse, low, high

    def outside(self) -> Array:
        """Minus a real number to the left of all that a contour may reach."""
        if not np.any(self.rate):
            return self.low + _MARGIN / self.longest
        outer = self._outer()
        reach = (outer + self.momentum / outer - 1.0 - self.momentum) / self.rate
        return np.asarray(self.low + reach)

    def nodes(self) -> Array:
        """Number of nodes of each contour."""
        if np.any(self.rate):
            return slit_nodes(*self._ellipse()[1:])
        slack = _MARGIN / self.longest
        return slit_nodes(self.low + slack, self.high + slack)

    def contour(self, nodes: int) -> Contour:
        """Contours of `nodes` nodes."""
        if not np.any(self.rate):
            slack = _MARGIN / self.longest
            loop = slit_contour(self.low + slack, self.high + slack, nodes)
            return loop._replace(z=loop.z - slack[:, None])
        ellipse, low, high = self._ellipse()
        loop = slit_contour(low, high, nodes)
        angle, slope = ellipse.inverse(loop.z)
        rate, root = self.rate[:, None], np.sqrt(self.momentum)[:, None]
        z = (1.0 + root**2 - 2.0 * root * np.cos(angle)) / rate
        return Contour(z, loop.weight * slope * 2.0 * root * np.sin(angle) / rate)


def _ridge(points: Points, nodes: int) -> Ridge:
    return SymmetricRidge(points, nodes) if points.symmetric else PageRankRidge(points)


def _resolved(points: Points, loops: _Loops) -> Iterator[tuple[Rows, Path, Array, Contour]]:
    """Rows of points, laws on their contours, units, and the contours; points that are not resolved are left out.

    A point is resolved if variables and outputs stay when the grid on the spectrum is doubled, and if Cauchy's formula gives the
    output at a real regularization: a contour that cuts the spectrum does not. Else the next one is wider and on a finer grid.
    """
    rows = np.arange(points.size)
    nodes = _COARSEST
    while rows.size and nodes < _FINEST:
        sizes = loops.take(rows).nodes()
        rows, sizes = rows[sizes <= _LONGEST], sizes[sizes <= _LONGEST]
        left = [rows[:0]]
        for batch in _batches(sizes, nodes):
            part = rows[batch]
            some, around = points.take(part), loops.take(part)
            loop = around.contour(int(sizes[batch[0]]))
            outside = around.outside()
            zeta = np.column_stack([around.reg[:, None] - loop.z, around.reg + outside])
            ridge, finer = _ridge(some, nodes), _ridge(some, 2 * nodes + 1)
            variable = ridge.variable(zeta)
            finest = finer.polished(variable, zeta)
            output = ridge.output(variable)
            there = 1.0 + np.abs(output[:, -1:])
            inside = -2.0 * np.sum(
                loop.weight * output[:, :-1] / (loop.z + outside[:, None]), axis=1
            )
            closed = np.abs(inside.real - output[:, -1]) <= _CLOSED * there[:, 0]
            same = np.abs(finest - variable) <= _SAME * np.abs(finest)
            same &= np.abs(finer.output(finest) - output) <= _CLOSED * there
            good = closed & np.all(same, axis=1)
            left.append(part[~good])
            if good.any():
                path = _ridge(some.take(good), nodes).path(variable[good, :-1])
                yield part[good], path, ridge.unit[good], Contour(*(x[good] for x in loop))
        rows = np.concatenate(left)
        nodes = 2 * nodes + 1
        loops = loops.wider()


def _at_times(path: Path, loop: Contour, unit: float, training: Training) -> tuple[Array, ...]:
    """Laws at some times, all on one contour: products of one matrix with that of the weights of all times."""
    weight = -unit * training.learned(unit * loop.z) * loop.weight

    def mean(values: Array) -> Array:
        return np.asarray(2.0 * (weight @ values).real)

    return (
        mean(path.output),
        quadratic(weight, path.covariance),
        mean(1.0 - path.missed * (1.0 - path.output)),
        quadratic(weight * path.missed, path.covariance),
        mean(path.weights) / np.sqrt(unit),
        quadratic(weight, path.weight_covariance) / unit,
    )
