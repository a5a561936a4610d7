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
from gcnlimit.numerics.contour import (
    Contour,
    annulus,
    annulus_nodes,
    circle,
    slit_contour,
    slit_nodes,
)
from gcnlimit.numerics.linear import batches
from gcnlimit.results.order_parameters import Output, Weights
from gcnlimit.theory.finite_reg.path import (
    PageRankRidge,
    Path,
    Ridge,
    SymmetricRidge,
    quadratic,
)
from gcnlimit.theory.points import Points
from gcnlimit.training import GradientDescent, Training

_MARGIN = (
    3.0  # time times the distance by which a contour may leave the half-plane where P is bounded
)
_COARSEST, _FINE, _FINEST = (
    63,
    127,
    (1 << 13) - 1,
)  # nodes on the spectrum: first, for its ends, at most
_SEARCHED = 32  # points whose spectra are searched for their ends at once
_LONGEST = 1500  # nodes of a contour; more are needed around hopelessly different eigenvalues
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
            return cls(low + reg, high + reg, reg, rate, np.asarray(training.momentum), longest)
        return cls(low + reg, high + reg, reg, none, none, longest * unit)

    def take(self, rows: Rows) -> _Loops:
        return _Loops(*(column[rows] for column in self))

    def stable(self) -> Array:
        """End of the spectrum beyond which steps diverge."""
        with np.errstate(divide="ignore"):
            return np.asarray(2.0 * (1.0 + self.momentum) / self.rate)

    def growth(self) -> Array:
        """Logarithm of the factor by which a step that diverges enlarges the weights."""
        diverges = self.high > self.stable()
        return np.log(
            _larger_root(np.where(diverges, self.rate * self.high, 0.0), self.momentum, -1.0),
            out=np.zeros(diverges.shape),
            where=diverges,
        )

    def wider(self) -> _Loops:
        """Ends further apart, inside the disc where steps are stable if they were: outside of it P is huge."""
        stable = self.stable()
        high = np.where(self.high < stable, 0.5 * (self.high + stable), np.inf)
        return self._replace(low=0.5 * self.low, high=np.minimum(1.2 * self.high, high))

    @property
    def _slack(self) -> Array:
        """Distance from the spectrum at which P is still bounded."""
        return np.asarray(_MARGIN / (self.longest * np.where(self.rate > 0.0, self.rate, 1.0)))

    def _slit(self) -> tuple[Array, Array, Array]:
        """Spectrum in the right half-plane, to which the disc where P is bounded is mapped; and the inverse of its diameter."""
        slack = self._slack
        with np.errstate(divide="ignore"):
            widest = np.maximum(2.0 / self.rate, self.high) + 2.0 * slack
        low, high = self.low + slack, self.high + slack
        return low / (1.0 - low / widest), high / (1.0 - high / widest), 1.0 / widest

    def _annulus(self) -> tuple[Array, Array, Array]:
        """Shift and radius of `annulus` in the plane of the larger root of the recursion, and the radius of the outer circle."""
        least = np.sqrt(self.momentum)
        right, left = (
            np.maximum(_larger_root(self.rate * end, self.momentum, sign), least)
            for end, sign in ((self.low, 1.0), (self.high, -1.0))
        )
        outer = np.maximum(np.maximum(left, right), 1.0) * np.exp(_MARGIN / self.longest)
        return *annulus(left / outer, right / outer), outer

    def outside(self) -> Array:
        """Minus a real number to the left of all that a contour may reach."""
        outer = self._annulus()[2] if np.any(self.momentum) else np.ones(1)
        with np.errstate(invalid="ignore"):
            reach = (outer + self.momentum / outer - 1.0 - self.momentum) / self.rate
        return self.low + np.where(self.momentum > 0.0, reach, self._slack)

    def nodes(self) -> Array:
        """Number of nodes of each contour."""
        low, high, _ = self._slit()
        around = slit_nodes(low, high)
        if not np.any(self.momentum):
            return around
        return np.where(self.momentum > 0.0, annulus_nodes(self._annulus()[1]), around)

    def contour(self, nodes: int) -> Contour:
        """Contours of `nodes` nodes; the momenta of all are 0, or of none."""
        if np.all(self.momentum == 0.0):
            low, high, inverse = self._slit()
            loop = slit_contour(low, high, nodes)
            stretch = 1.0 + loop.z * inverse[:, None]
            loop = Contour(loop.z / stretch, loop.weight / stretch**2)
            return loop.shifted(-self._slack)
        shift, radius, outer = self._annulus()
        x, step = (outer[:, None] * part for part in circle(shift, radius, nodes))
        rate, momentum = self.rate[:, None], self.momentum[:, None]
        z = (1.0 + momentum - x - momentum / x) / rate
        # the upper half of x is the lower half of z
        weight = (momentum / x**2 - 1.0) / rate * step / (2j * np.pi)
        return Contour(z.conj(), weight.conj())


def _larger_root(x: Array, momentum: Array, sign: float) -> Array:
    r"""Larger root, of that sign, of :math:`p + \beta/p = 1 + \beta - x`; 0 if the roots are complex."""
    half = 0.5 * sign * (1.0 + momentum - x)
    return np.where(half > 0.0, half + np.sqrt(np.maximum(half**2 - momentum, 0.0)), 0.0)


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
