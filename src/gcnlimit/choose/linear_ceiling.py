r"""The best linear networks at infinite regularization: another filter at test, labels as an input, weights for each filter.

A linear network is a sum of *pieces*. A feature piece :math:`\phi'(a) X w`, with weights trained through :math:`\phi`, and a
label piece :math:`\psi(a) R y` carry the labels by :math:`D = \phi'\phi` or :math:`\psi`, and the features by
:math:`E = \mu\,e(\phi)\,\phi'` or 0. With factors :math:`p` of the pieces the margin of a test node is (Eq. 10.18)

.. math::
    m &= \frac{p \cdot b}{\sqrt{p^T V p}}, \qquad b_j = e(D_j) - \tau(D_j) + e(E_j), \\
    V_{jk} &= \mathrm{Cov}_e[D_j + E_j, D_k + E_k] + \tfrac{1-\rho}\rho\,\mathrm{Cov}_\tau[D_j, D_k]
    + \alpha\,\tau(\phi'_j\phi'_k)\,[e(\phi_j\phi_k) + \tfrac{1-\rho}\rho\tau(\phi_j\phi_k) + \mu\,e(\phi_j)e(\phi_k)] .

Among all sums of pieces the best has one of each kind, and its three filters are PageRank (Eq. 10.19).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gcnlimit._values import Array
from gcnlimit.filters import PageRank
from gcnlimit.numerics.climb import ascend
from gcnlimit.numerics.spectral import SpikedSemicircle, edge_panels, halved, panel_measure
from gcnlimit.theory.points import Points
from gcnlimit.theory.transfer import best_margin

_POLES = np.geomspace(1e-3, 1e2, 9)  # of the fractions, in units of the distance to the outlier
_STILL = 1e-10  # gain of a margin that ends the search
_SURE = 1e12  # odds of a label that count as certainty


def beyond_one_filter(points: Points) -> tuple[Array, Array]:
    """Return the best margins of two filters, and of one filter with labels as an input through a filter of their own.

    They are searched among sums of powers and fractions: lower bounds, short by 1e-4 at most where other searches were made.
    """
    every = [Pairs.at(points, k) for k in range(points.size)]
    return np.array([*map(_two_filters, every)]), np.array([*map(_with_labels, every)])


class LinearNetwork(NamedTuple):
    r"""The best linear network, :math:`h = g'(a)\,[t\,Xw + (1 - t\,g(a))\,Ry]` with :math:`w = X^T g(a) R y/M` (Eq. 10.19).

    `train` is :math:`g`, `test` is :math:`g'`, `features` is :math:`t`. Taking :math:`g(a)Ry` away removes from the inputs what
    they owe to the very labels that the weights were trained on.
    """

    margin: Array
    train: PageRank
    test: PageRank
    features: Array


def best_linear_network(points: Points) -> LinearNetwork:
    r"""Return the best of all linear networks, with labels as an input, on a symmetric operator at infinite regularization.

    With :math:`\ell = \rho/(1-\rho)`, the best margin (Eq. 10.7) at inputs of squared margin :math:`\ell` gives :math:`q` and
    :math:`c` (Eqs. 10.9 and 10.5). At inputs of :math:`c^2 + \ell` it gives (Eq. 10.19)

    .. math:: k = c^2 + \ell + \lambda_e^2 \frac k{1+k}, \qquad m^2 = c^2 + \lambda_e^2 \frac k{1+k}, \qquad
              \theta' = \frac{\lambda_e}{1 + \lambda_e^2 + c^2 + \ell} .

    >>> import gcnlimit as gl
    >>> points = Points.of(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), gl.GCN(gl.PageRank(0.0)))
    >>> best, measure = best_linear_network(points), SpikedSemicircle.of(points.signal, 400)
    >>> g, read = (f(measure.x[0])[:, None] for f in (best.train, best.test))
    >>> b, V = pieces(measure, points, g, read, np.concatenate([read, read * g], axis=1))
    >>> p = np.array([best.features[0], 1.0, -best.features[0]])
    >>> bool(abs(p @ b[0] / np.sqrt(p @ V[0] @ p) / best.margin[0] - 1) < 1e-12)
    True
    """
    signal, mu = points.signal, points.mu
    odds = np.minimum(points.rho / np.maximum(1.0 - points.rho, 1e-300), _SURE)
    taught = np.square(best_margin(np.sqrt(odds), signal))
    q = taught / (1.0 + taught)
    c2 = mu / points.alpha * mu * q / (1.0 + mu * q)
    k = np.square(best_margin(np.sqrt(c2 + odds), signal))
    theta, read = (signal / (1.0 + signal**2 + known) for known in (odds, c2 + odds))
    p = 2.0 * theta / (1.0 + np.sqrt(1.0 - 4.0 * theta**2))
    e = (1.0 + p**2) / (1.0 - signal * p)
    features = mu / points.alpha * q / ((1.0 + mu * q) * e * odds)
    margin = np.sqrt(c2 + signal**2 * k / (1.0 + k))
    return LinearNetwork(margin, PageRank(theta), PageRank(read), features)


def pieces(
    measure: SpikedSemicircle, points: Points, train: Array, read: Array, labels: Array
) -> tuple[Array, Array]:
    """Mean `b` and covariance `V` of feature, then label pieces (Eq. 10.18); axes of filters: points, pieces, nodes."""
    e = measure.e[:, None]
    tau = measure.tau
    alpha, mu, rho = (part[:, None, None] for part in (points.alpha, points.mu, points.rho))
    hidden = (1.0 - rho) / rho
    drive = np.sum(e * train, axis=2, keepdims=True)
    D = np.concatenate([train * read, labels], axis=1)
    f = D + np.concatenate([mu * drive * read, 0.0 * labels], axis=1)
    b = np.sum(measure.excess[:, None] * D + e * (f - D), axis=2)
    f = f - np.sum(e * f, axis=2, keepdims=True)
    D = D - np.sum(tau * D, axis=2, keepdims=True)
    V = (f * e) @ f.mT + hidden * ((D * tau) @ D.mT)
    weights = (train * e) @ train.mT + hidden * ((train * tau) @ train.mT) + mu * (drive @ drive.mT)
    inner = slice(train.shape[1])
    V[:, inner, inner] += alpha * ((read * tau) @ read.mT) * weights
    return b, V


class Pairs(NamedTuple):
    """Mean and covariance at one point of the pieces of all pairs of basis functions, and of the labels through each."""

    size: int
    start: Array  # the filter that teaches the weights most, in the basis
    b: Array
    V: Array

    @classmethod
    def at(cls, points: Points, k: int) -> Pairs:
        """Pairs at one of the points, in an orthonormal basis of powers and fractions on its spectrum."""
        one = points.take(np.array([k]))
        measure = panel_measure(one.signal, halved(edge_panels(one.signal)))
        distance = 1.0 + one.signal**2 - one.signal * measure.x  # to the outlier
        poles = _POLES[:, None]
        fractions = poles / (poles + np.maximum(distance, 0.0))
        functions = np.concatenate([(0.5 * measure.x) ** np.arange(4.0)[:, None], fractions])
        root = np.sqrt(measure.tau + measure.e)
        basis = np.linalg.svd((functions * root)[None], full_matrices=False)[2]
        basis = basis / np.where(root > 0.0, root, 1.0)
        teacher = best_linear_network(one).train(measure.x[0])[0]
        start = (basis[0] * (measure.tau + measure.e)) @ teacher
        size = basis.shape[1]
        train = np.tile(basis, (1, size, 1))
        b, V = pieces(measure, one, train, np.repeat(basis, size, axis=1), basis)
        return cls(size, start, b[0], V[0])


def _two_filters(pairs: Pairs) -> float:
    """Best margin of two filters: each in turn is the best given the other, from the filter that teaches the weights most."""
    size = pairs.size
    train = pairs.start
    mean = pairs.b[: size**2].reshape(size, size)
    spread = pairs.V[: size**2, : size**2].reshape(4 * (size,))
    margin, before = 0.0, -1.0
    while margin - before > _STILL:
        train = train / np.linalg.norm(train)
        read = np.linalg.solve(np.einsum("acbd,c,d->ab", spread, train, train), mean @ train)
        read = read / np.linalg.norm(read)
        along = mean.T @ read
        train = np.linalg.solve(np.einsum("acbd,a,b->cd", spread, read, read), along)
        before = margin
        margin = float(np.sqrt(along @ train))
    return margin


def _with_labels(pairs: Pairs) -> float:
    """Best margin of one filter with labels as an input through another."""
    b, V = pairs.b, pairs.V
    features = slice(pairs.size**2)
    labels = slice(pairs.size**2, None)
    # Labels through a constant do nothing, so that the matrix has no inverse.
    reply = np.linalg.pinv(V[labels, labels], rcond=1e-13, hermitian=True)
    alone = reply @ b[labels]
    rest = V[features, labels] @ reply @ V[labels, features]
    beside = _climbed(b[features] - V[features, labels] @ alone, V[features, features] - rest)
    return float(np.hypot(np.sqrt(b[labels] @ alone), beside))


def _climbed(b: Array, V: Array) -> float:
    """Best margin of one filter, at training and at test, in the basis of the pieces; from two random starts."""
    size = int(np.sqrt(b.size))

    def pairs(g: Array) -> Array:
        return (g[:, :, None] * g[:, None]).reshape(len(g), -1)

    def value(g: Array, rows: Any) -> Array:
        p = pairs(g)
        return np.asarray(p @ b / np.sqrt(np.vecdot(p @ V, p)))

    def gradient(g: Array, rows: Any) -> Array:
        p = pairs(g)
        carried = p @ V
        variance = np.vecdot(carried, p)[:, None]
        slope = (b - (p @ b)[:, None] * carried / variance) / np.sqrt(variance)
        kernel = slope.reshape(len(g), size, size)
        return np.asarray(np.vecmat(g, kernel + kernel.mT))

    start = np.random.default_rng(0).normal(size=(2, size))
    return float(np.max(ascend(value, gradient, start, steps=400, tol=1e-9, gain=1e-12).f))
