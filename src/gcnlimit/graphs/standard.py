"""A given graph in the units of the model, noise of unit variance in operator and features; and its two signals."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gcnlimit._validation import same_rows
from gcnlimit._values import Array
from gcnlimit.classes import Classes, simplex_codes
from gcnlimit.errors import ParameterError
from gcnlimit.graphs import check, verdict
from gcnlimit.graphs.labels import Labels, as_labels
from gcnlimit.graphs.operator import centred, weight_unit, without_degrees
from gcnlimit.graphs.rank_one import SparsePlusRankOne
from gcnlimit.graphs.scaling import limits_of, within

LEAF = 0.25  # degree of a leaf, in units of the mean degree
PAIRS = 600  # nodes among which the correlations of features are measured
LEAST = 0.25  # share of its variance that few edges leave to the signal of the graph


class StandardizedGraph(NamedTuple):
    r"""Operator :math:`a`, features :math:`X` of unit variance, and codes of the labelled nodes.

    :math:`a = (A - p)/\nu`, with :math:`\nu` such that :math:`\mathrm{tr}(a a^T)/N = 1`, as of the noise of the model (see
    `gcnlimit.graphs.operator.centring`). Columns of the features have mean 0 and variance 1; constant ones are left out.
    """

    operator: SparsePlusRankOne
    directed: bool
    features: SparsePlusRankOne | None
    labels: Labels
    codes: Array

    @classmethod
    def of(cls, X: Any, y: Any, graph: Any) -> StandardizedGraph:
        """Checked and standardized parts."""
        same_rows(X, y)
        adjacency = check.as_adjacency(graph)
        nodes = adjacency.shape[0]
        features = None if X is None else _features(check.as_features(X, nodes))
        labels = as_labels(y, nodes)
        if labels.labelled.size < 3:
            raise ParameterError(f"y labels {labels.labelled.size} nodes; at least 3 are needed")
        if check.is_complete(adjacency):
            alike = "graph joins all pairs of nodes alike and says nothing about the classes"
            raise ParameterError(f"{alike}; use GraphClassifier, or gcnlimit classify")
        directed = not check.is_symmetric(adjacency)
        codes = simplex_codes(labels.counts / labels.index.size)[labels.index]
        return cls(centred(adjacency, not directed), directed, features, labels, codes)

    @property
    def shift(self) -> float:
        r"""Mean :math:`p/\nu` that is subtracted from each entry of the scaled adjacency."""
        return float(self.operator.u)  # type: ignore[arg-type]

    @property
    def nodes(self) -> int:
        """Number of nodes :math:`N`."""
        return self.operator.shape[0]

    @property
    def width(self) -> int:
        """Number of features :math:`M` that vary."""
        return 0 if self.features is None else self.features.shape[1]

    @property
    def alpha(self) -> float:
        r"""Aspect ratio :math:`N/M`; 1 without features."""
        return self.nodes / self.width if self.width else 1.0

    @property
    def rho(self) -> float:
        """Fraction of labelled nodes."""
        return self.labels.labelled.size / self.nodes

    @property
    def classes(self) -> Classes:
        """Sizes of the classes: equal, unless the labelled nodes refute it."""
        return verdict.class_sizes(self.labels.counts)

    @property
    def degrees(self) -> Array:
        """Number of edges of each node, whatever their weights; in and out together if directed."""
        return verdict.edge_counts(self.operator.matrix, self.directed)

    @property
    def has_hubs(self) -> bool:
        """Whether degrees vary more than at random."""
        return verdict.has_hubs(self.degrees)

    def both_ways(self) -> tuple[Any, float]:
        """Adjacency matrix with both directions of an edge added, and the mean degree, in the unit of its weights."""
        A = self.operator.matrix
        both = (A + A.T).tocsr() if self.directed else A
        return both, float(both.sum()) / weight_unit(both) / np.count_nonzero(self.degrees)

    @property
    def noise_level(self) -> float:
        r"""Mean square :math:`\mathrm{tr}\,a_0^2/N` of the operator :math:`a_0 = (A - DD^T/2m)/\sqrt{D_iD_jN/2m}`.

        It is 1 if propensities :math:`\theta_i = D_i/d` and classes are all that there is: more is other structure, less is
        hubs that are joined to nearly all nodes. Nodes without an edge are left out.
        """
        both, degree = self.both_ways()
        square = float(np.sum(without_degrees(both).matrix.data ** 2)) - 1.0
        return degree * square / np.count_nonzero(self.degrees)

    def spectral(self) -> SparsePlusRankOne:
        r"""Operator whose noise fills the semicircle: :math:`(a + a^T)/\sqrt 2` of a directed graph, else :math:`a`.

        Where there are hubs, the degrees are divided out.
        """
        both, degree = self.both_ways()
        if self.has_hubs:
            least = LEAF * float(both.sum()) / self.nodes
            return without_degrees(both, least) / (1.0 / math.sqrt(degree))
        if not self.directed:
            return self.operator
        return SparsePlusRankOne(both / np.sqrt(2.0), np.sqrt(2.0) * self.shift, None, True)


def _features(X: Any) -> SparsePlusRankOne | None:
    X = within(X, limits_of(X))
    mean, spread, varies = check.column_spread(X)
    if not varies.any():
        return None
    Z = X[:, varies]
    size = spread[varies]
    scaled = Z @ sparse.diags_array(1.0 / size) if check.is_sparse(X) else Z / size
    return SparsePlusRankOne(scaled, np.ones(X.shape[0]), mean[varies] / size)


class Signals(NamedTuple):
    """Estimates of both signals, with standard errors."""

    lam: float
    mu: float
    lam_error: float
    mu_error: float


def from_labels(graph: StandardizedGraph) -> Signals:
    r"""Signals from pairs of the :math:`n` labelled nodes, whose codes :math:`y_i` have :math:`C - 1` components.

    .. math::

        \hat\lambda = \frac ND \sum_{i \ne j} (y_i \cdot y_j)\, \frac{A_{ij} - D_iD_j/2m}\nu, \qquad
        \hat\mu = \frac{N}{MD} \sum_{i \ne j} (y_i \cdot y_j)\, X_i \cdot X_j, \qquad D = \sum_{i \ne j} (y_i \cdot y_j)^2.

    Edges are counted against what the degrees :math:`D_i` alone would give: with all labels of two classes,
    :math:`\hat\lambda` is :math:`2\sqrt d` times Newman's modularity. Where there are hubs, pairs count by their
    propensities in :math:`D` (Eq. 11.17). Its variance is
    :math:`\frac{2N}D (1 + \hat\lambda\kappa T/D - \frac34\hat\lambda^2\kappa^2 D/N^2)`, half of it on a directed graph, with
    :math:`T = \sum_{i \ne j} (y_i \cdot y_j)^3`: more frequent edges fluctuate more, by :math:`\kappa = (1 - 2p)/\sqrt{Np(1-p)}`
    per signal, and the unit :math:`\nu` with them; :math:`\hat\lambda` is shrunk where it is not significant. For equal classes
    :math:`T/D = C - 2`, :math:`D/N^2 = (C - 1)\rho^2`. The variance of :math:`\hat\mu`, which is unbiased and may be negative, is
    :math:`\tau(2N\alpha/D + (4\alpha\mu/n + 2\mu^2/M)/(C-1))`, with :math:`\tau = \mathrm{tr}\,\Sigma^2/M` for the correlations
    of the features, 1 if there are none.
    """
    Y, N = graph.codes, graph.nodes
    n, axes = Y.shape
    theta = (1.0 + graph.degrees) / (1.0 + graph.degrees.mean()) if graph.has_hubs else np.ones(N)
    D, T = _pairs(graph.labels, theta)
    lam = N * _between(graph) / D
    plain = (1.0 if graph.directed else 2.0) * N / D
    sure = lam**2 / (lam**2 + plain)
    excess = sure * lam * max(weight_unit(graph.operator.matrix) - 2.0 * graph.shift, 0.0)
    lam_error = math.sqrt(plain * max(1.0 + excess * (T / D - 0.75 * excess * D / N**2), LEAST))
    if graph.features is None:
        return Signals(lam, 0.0, lam_error, 0.0)
    M = graph.width
    Z = graph.features
    rows = check.dense(Z.matrix[graph.labels.labelled]) - Z.v
    alpha, D = graph.alpha, _pairs(graph.labels, np.ones(N))[0]
    # the sum over pairs is a square, over all nodes, less what each node adds to it alone
    alone = float(np.sum(Y**2, axis=1) @ np.sum(rows**2, axis=1))
    mu = alpha * (float(np.sum((rows.T @ Y) ** 2)) - alone) / D
    signal = max(mu, 0.0)
    variance = 2.0 * N * alpha / D + (4.0 * alpha * signal / n + 2.0 * signal**2 / M) / axes
    return Signals(lam, mu, lam_error, math.sqrt(_correlation(rows) * variance))


def _pairs(labels: Labels, theta: Array) -> tuple[float, float]:
    r"""Sums of :math:`(y_i \cdot y_j)^2` and its third power over pairs of nodes, times their propensities :math:`\theta`."""
    index, counts = labels.index, labels.counts
    products = np.diag(counts.sum() / counts) - 1.0
    weights = theta[labels.labelled]
    sizes = np.bincount(index, weights)
    pairs = np.outer(sizes, sizes) - np.diag(np.bincount(index, weights**2))
    return float(np.sum(pairs * products**2)), float(np.sum(pairs * products**3))


def _between(graph: StandardizedGraph) -> float:
    r"""Sum :math:`\sum_{i \ne j} (y_i \cdot y_j) (A_{ij} - D_iD_j/2m)/\nu` over labelled nodes."""
    A = graph.operator.matrix
    Y = np.zeros((graph.nodes, graph.codes.shape[1]))
    Y[graph.labels.labelled] = graph.codes
    out, into = A.sum(axis=1), A.sum(axis=0)
    by_chance = (Y.T @ out) @ (Y.T @ into) - np.sum(Y**2, axis=1) @ (out * into)
    return float(np.sum(Y * (A @ Y)) - by_chance / A.sum())


def _correlation(rows: Array) -> float:
    r"""Estimate of :math:`\mathrm{tr}\,\Sigma^2/M`, at least 1, from the scalar products of different rows."""
    some = rows[np.linspace(0, len(rows) - 1, min(PAIRS, len(rows))).astype(int)]
    gram = some @ some.T
    n, M = some.shape
    return float(max((np.sum(gram**2) - np.sum(np.diag(gram) ** 2)) / (n * (n - 1)) / M, 1.0))
