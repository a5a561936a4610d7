r"""The best linear networks at infinite regularization: with another filter at test, labels as an input, weights for each filter.

A linear network is a sum of *pieces*. A feature piece :math:`\phi'(a) X w`, with weights trained through :math:`\phi`, and a label
piece :math:`\psi(a) R y` carry the labels by :math:`D = \phi'\phi` or :math:`\psi`, and the features by
:math:`E = \mu\,e(\phi)\,\phi'` or 0. With factors :math:`p_j` of the pieces the margin of a test node is that of Eq. 10.18,

.. math::
    m &= \frac{p \cdot b}{\sqrt{p^T V p}}, \qquad b_j = e(D_j) - \tau(D_j) + e(E_j), \\
    V_{jk} &= \mathrm{Cov}_e[D_j + E_j, D_k + E_k] + \tfrac{1-\rho}\rho\,\mathrm{Cov}_\tau[D_j, D_k]
    + \alpha\,\tau(\phi'_j\phi'_k)\,[e(\phi_j\phi_k) + \tfrac{1-\rho}\rho\tau(\phi_j\phi_k) + \mu\,e(\phi_j)e(\phi_k)] .

Among all pieces the best are one feature piece and one label piece, and all three filters are PageRank (Eq. 10.19).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from gcnlimit._validation import check_types
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.filters import PageRank
from gcnlimit.network import GCN
from gcnlimit.numerics.climb import maximize_box, spread
from gcnlimit.numerics.panels import edge_panels, halved, panel_measure
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.theory.decision import from_margins
from gcnlimit.theory.points import Points
from gcnlimit.theory.transfer import best_margin

__all__ = ["LinearCeilings", "Pieces", "labels_and_two_filters", "linear_ceilings", "one_filter_and_labels", "two_filters"]

_STARTS = np.linspace(0.05, 0.95, 7)  # of two filters: PageRanks at training, over the strength of the pole
_SWEEPS = 400  # of the two filters in turn
_TRIED = 300  # filters tried before one with labels is climbed to
_DECADES, _TURN = 4.0, 0.499 * np.pi  # reach of the numbers of such a filter
_SURE = 1e12  # odds of a label that count as certainty


class LinearCeilings(NamedTuple):
    """Accuracies of the best linear networks at infinite regularization that have more than one filter.

    `two_filters`: one at training, another at test. `labels`: one filter, and labels as an input through a filter of their own.
    `all`: any number of filters at training and at test, and labels: no linear network is better (Eq. 10.19).
    """

    two_filters: Array
    labels: Array
    all: Array


def linear_ceilings(data: CSBM) -> LinearCeilings:
    """Return the accuracies of the best linear networks on the symmetrized graph, at infinite regularization.

    >>> import gcnlimit as gl
    >>> [round(a, 4) for a in linear_ceilings(gl.CSBM(alpha=1, lam=1.0, mu=2.0, rho=0.1))]  # one filter has 0.9233
    [0.9424, 0.9424, 0.9427]
    """
    check_types("linear_ceilings", data=(data, CSBM))
    data.require_plain("linear_ceilings")
    points = Points.of(data, GCN(PageRank(0.1)))
    found = (two_filters(points), one_filter_and_labels(points), labels_and_two_filters(points).margin)
    nothing = np.zeros(data.shape)
    return LinearCeilings(
        *(
            from_margins(data.classes, m.reshape(data.shape), nothing, nothing, nothing)["test_accuracy"]
            for m in found
        )
    )


@dataclass(frozen=True)
class Pieces:
    """Pieces of linear networks on one measure: `D` and `E` at its nodes and the `noise` of the features (Eq. 10.18).

    Axes: points, pieces, nodes; points, pieces, pieces.
    """

    measure: SpikedSemicircle
    D: Array
    E: Array
    noise: Array

    @classmethod
    def of(
        cls, measure: SpikedSemicircle, points: Points, train: Array, read: Array | None = None, labels: Array | None = None
    ) -> Pieces:
        """Feature pieces of these filters at training and at test (the same by default), then label pieces."""
        read, e, tau = train if read is None else read, measure.e[:, None], measure.tau
        labels = train[:, :0] if labels is None else labels
        hidden, mu = ((1.0 - points.rho) / points.rho)[:, None, None], points.mu[:, None, None]
        drive = np.sum(e * train, axis=2)
        weights = (train * e) @ train.mT + hidden * ((train * tau) @ train.mT) + mu * drive[:, :, None] * drive[:, None]
        count = train.shape[1] + labels.shape[1]
        noise = np.zeros((points.size, count, count))
        inner = slice(train.shape[1])
        noise[:, inner, inner] = points.alpha[:, None, None] * ((read * tau) @ read.mT) * weights
        D = np.concatenate([train * read, labels], axis=1)
        return cls(measure, D, np.concatenate([mu * drive[:, :, None] * read, 0.0 * labels], axis=1), noise)

    def quotient(self, rho: Array) -> tuple[Array, Array]:
        """Mean and covariance of the pieces, :math:`b` and :math:`V`."""
        e, tau = self.measure.e[:, None], self.measure.tau
        mean = np.sum(self.measure.excess[:, None] * self.D + e * self.E, axis=2)
        f, D = self.D + self.E, self.D
        f = f - np.sum(e * f, axis=2)[:, :, None]
        D = D - (D @ tau)[:, :, None]
        hidden = ((1.0 - rho) / rho)[:, None, None]
        return mean, (f * e) @ f.mT + hidden * ((D * tau) @ D.mT) + self.noise

    def margin(self, factors: Array, rho: Array) -> Array:
        """Margin at given factors of the pieces."""
        b, V = self.quotient(rho)
        return np.asarray(np.vecdot(factors, b) / np.sqrt(np.einsum("bi,bij,bj->b", factors, V, factors)))

    def best(self, rho: Array) -> tuple[Array, Array]:
        """Best factors that are not negative, as squares of the scales of trained filters are, and their margin.

        >>> import gcnlimit as gl
        >>> points = Points.of(gl.CSBM(alpha=1, lam=0.6, mu=4.0, rho=0.02), gl.GCN(gl.PageRank(0.1)))
        >>> measure = SpikedSemicircle.of(points.signal, 60)
        >>> hops = measure.x[:, None] ** np.arange(4.0)[:, None]  # SIGN: weights of its own for each hop
        >>> from scipy.special import ndtr
        >>> ndtr(Pieces.of(measure, points, hops).best(points.rho)[1]).round(3)
        array([0.746])
        """
        b, V = self.quotient(rho)
        root = np.linalg.cholesky(V).mT
        factors = np.stack([nnls(R, np.linalg.solve(R.T, mean))[0] for R, mean in zip(root, b, strict=True)])
        return factors, self.margin(factors, rho)


class LabelledNetwork(NamedTuple):
    r"""The best linear network, :math:`h = g'(a)\,[t\,Xw + (1 - t\,g(a))\,Ry]` with :math:`w = X^T g(a) R y/M` (Eq. 10.19).

    `train` is :math:`g`, `test` is :math:`g'`, `features` the number :math:`t`. Taking :math:`g(a)Ry` away removes from the inputs
    what they owe to the very labels that the weights were trained on.
    """

    margin: Array
    train: PageRank
    test: PageRank
    features: Array


def labels_and_two_filters(points: Points) -> LabelledNetwork:
    r"""Return the best of all linear networks, with labels as an input, on a symmetric operator (Eq. 10.19).

    With :math:`\ell = \rho/(1-\rho)`, the best margin of Eq. 10.7 at inputs of squared margin :math:`\ell` gives :math:`q` and
    :math:`c` (Eqs. 10.9 and 10.5). At inputs of :math:`c^2 + \ell` it gives

    .. math:: k = c^2 + \ell + \lambda_e^2 \frac k{1+k}, \qquad m^2 = c^2 + \lambda_e^2 \frac k{1+k}, \qquad
              \theta' = \frac{\lambda_e}{1 + \lambda_e^2 + c^2 + \ell} .

    >>> import gcnlimit as gl
    >>> points = Points.of(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), gl.GCN(gl.PageRank(0.1)))
    >>> best = labels_and_two_filters(points)
    >>> measure = SpikedSemicircle.of(points.signal, 400)
    >>> g, read = (f(measure.x[0])[:, None] for f in (best.train, best.test))
    >>> pieces = Pieces.of(measure, points, g, read, np.concatenate([read, read * g], axis=1))
    >>> t = best.features
    >>> bool(np.allclose(pieces.margin(np.stack([t, 1.0 + 0.0 * t, -t], axis=1), points.rho), best.margin, rtol=1e-12))
    True
    """
    signal, mu, odds = points.signal, points.mu, np.minimum(points.rho / (1.0 - points.rho), _SURE)
    labelled = np.square(best_margin(np.sqrt(odds), signal))
    q = labelled / (1.0 + labelled)
    c2 = mu / points.alpha * mu * q / (1.0 + mu * q)
    k = np.square(best_margin(np.sqrt(c2 + odds), signal))
    theta, read = (signal / (1.0 + signal**2 + known) for known in (odds, c2 + odds))
    p = 2.0 * theta / (1.0 + np.sqrt(1.0 - 4.0 * theta**2))
    e = (1.0 + p**2) / (1.0 - signal * p)
    features = mu / points.alpha * q / ((1.0 + mu * q) * e * odds)
    return LabelledNetwork(np.sqrt(c2 + signal**2 * k / (1.0 + k)), PageRank(theta), PageRank(read), features)


def two_filters(points: Points) -> Array:
    """Return the best margin with one filter at training and another at test, on a symmetric operator.

    The margin of Eq. 10.11 is a Rayleigh quotient in each filter, given the other: they are improved in turn.
    """
    measure = _measure(points)
    problem = _Bilinear(measure, *(part[:, None] for part in (points.alpha, points.mu, points.rho)))
    best = np.full(points.size, -np.inf)
    for start in _STARTS:
        g = 1.0 / (1.0 - start * np.sign(points.signal)[:, None] * measure.x / points.radius[:, None])
        margin = np.zeros(points.size)
        for _ in range(_SWEEPS):
            read, _ = problem.best_read(g)
            before, (g, margin) = margin, problem.best_train(read)
            if np.all(margin <= before * (1.0 + 1e-13)):
                break
        best = np.maximum(best, margin)
    return best


def one_filter_and_labels(points: Points) -> Array:
    r"""Return the best margin with one filter, and labels as an input through a filter of their own.

    Given the filter, the best label filter is the solution of a linear system. The best filter is a fraction
    :math:`(1 + rw)/(1 + [p + x(1 + \epsilon^2)]\,w + p\,x\,w^2)` with :math:`w = 1 + \lambda_e^2 - \lambda_e x` and
    :math:`x = \frac{1-\rho}\rho`, whose three numbers are searched.
    """
    measure = _measure(points)
    problem = _Labelled(measure, *(part[:, None] for part in (points.alpha, points.mu, points.rho)))
    signal = points.signal[:, None]
    w = np.maximum(1.0 + signal**2 - signal * measure.x, 0.0)
    hidden = (1.0 - points.rho) / points.rho

    def margin(u: Array, which: Array) -> Array:
        p, kick = (10.0 ** (_DECADES * (2.0 * u[:, k] - 1.0))[:, None] for k in (0, 1))
        r, x = np.tan(_TURN * (2.0 * u[:, 2] - 1.0))[:, None], hidden[which][:, None]
        at = w[which]
        g = (1.0 + r * at) / (1.0 + (p + x * (1.0 + kick)) * at + p * x * at**2)
        return problem.take(which).margin(g)

    candidates = np.broadcast_to(spread(_TRIED, 3), (points.size, _TRIED, 3))
    return maximize_box(margin, candidates).value


def _measure(points: Points) -> SpikedSemicircle:
    return panel_measure(points.signal, halved(edge_panels(points.signal)))


def _quotient(d: Array, L: Array, S: Array, b: Array) -> Array:
    r"""Solution of :math:`(\mathrm{diag}\,d + L^T S L)\,g = b`, one row for each point; 0 where `d` is.

    `L` has the axes points, rank, nodes.
    """
    inverse = np.where(d > 0.0, 1.0 / np.where(d > 0.0, d, 1.0), 0.0)
    G = (L * inverse[:, None]) @ L.mT
    y = np.linalg.solve(np.eye(L.shape[1]) + G @ S, L @ (inverse * b)[:, :, None])
    return np.asarray(inverse * (b - (L.mT @ (S @ y))[:, :, 0]))


class _Bilinear(NamedTuple):
    """Mean and variance of Eq. 10.11 as quadratic forms in either filter; parameters as columns."""

    measure: SpikedSemicircle
    alpha: Array
    mu: Array
    rho: Array

    def best_read(self, g: Array) -> tuple[Array, Array]:
        """Best filter at test, given that of the training, and its margin (Eq. 10.14)."""
        e, tau, hidden = self.measure.e, self.measure.tau, (1.0 - self.rho) / self.rho
        e_g = _sum(e, g)
        k = g + self.mu * e_g
        noise = self.alpha * (_sum(e, g**2) + hidden * _sum(tau, g**2) + self.mu * e_g**2)
        S = np.zeros((len(g), 2, 2))
        S[:, 0, 0], S[:, 1, 1] = -1.0, -hidden[:, 0]
        b = e * self.mu * e_g + self.measure.excess * g
        read = _quotient(e * k**2 + tau * (hidden * g**2 + noise), np.stack([e * k, tau * g], axis=1), S, b)
        return read / _size(read), np.sqrt(np.vecdot(b, read))

    def best_train(self, read: Array) -> tuple[Array, Array]:
        """Best filter at training, given that of the test, and its margin."""
        e, tau, mu, hidden = self.measure.e, self.measure.tau, self.mu, (1.0 - self.rho) / self.rho
        noise, e_h, e_h2 = self.alpha * _sum(tau, read**2), _sum(e, read), _sum(e, read**2)
        S = np.zeros((len(read), 4, 4))
        S[:, 0, 0] = (mu**2 * (e_h2 - e_h**2) + noise * mu)[:, 0]
        S[:, 0, 1] = S[:, 1, 0] = mu[:, 0]
        S[:, 0, 2] = S[:, 2, 0] = -(mu * e_h)[:, 0]
        S[:, 2, 2], S[:, 3, 3] = -1.0, -hidden[:, 0]
        L = np.stack(np.broadcast_arrays(e, e * read**2, e * read, tau * read), axis=1)
        b = e * mu * e_h + self.measure.excess * read
        g = _quotient((e + hidden * tau) * (read**2 + noise), L, S, b)
        return g / _size(g), np.sqrt(np.vecdot(b, g))


class _Labelled(NamedTuple):
    """Margin with a filter and the best label filter for it; parameters as columns."""

    measure: SpikedSemicircle
    alpha: Array
    mu: Array
    rho: Array

    def take(self, rows: Array) -> _Labelled:
        m = self.measure
        measure = SpikedSemicircle(x=m.x[rows], tau=m.tau, e=m.e[rows], excess=m.excess[rows])
        return _Labelled(measure, self.alpha[rows], self.mu[rows], self.rho[rows])

    def margin(self, g: Array) -> Array:
        """Margin, by elimination of the label filter, whose constant part is set to have no effect."""
        e, tau, excess = self.measure.e, self.measure.tau, self.measure.excess
        hidden = (1.0 - self.rho) / self.rho
        g = g / _size(g)
        e_g = _sum(e, g)
        along = self.mu * e_g * g
        across = e * (along - _sum(e, along))
        noise = self.alpha * _sum(tau, g**2)
        noise *= _sum(e, g**2) + hidden * _sum(tau, g**2) + self.mu * e_g**2
        S = np.zeros((len(g), 2, 2))
        S[:, 0, 0], S[:, 1, 1] = -1.0, 1.0 - hidden[:, 0]
        L = np.stack(np.broadcast_arrays(e, tau + 0.0 * e), axis=1)
        d = e + hidden * tau
        alone, reply = (_quotient(d, L, S, side) for side in (excess, across))
        mean = self.mu * e_g**2 - _sum(across, alone)
        variance = _sum(across, along) + noise - _sum(across, reply)
        return np.sqrt(_sum(excess, alone) + mean**2 / variance)[:, 0]


def _sum(weights: Array, values: Array) -> Array:
    return np.asarray(np.sum(weights * values, axis=1, keepdims=True))


def _size(values: Array) -> Array:
    return np.asarray(np.max(np.abs(values), axis=1, keepdims=True))
