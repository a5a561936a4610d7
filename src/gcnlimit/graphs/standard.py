"""A given graph in the units of the model: noise of unit variance in operator and features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh
from scipy.special import chdtrc

from gcnlimit._values import Array
from gcnlimit.classes import simplex_codes
from gcnlimit.errors import ParameterError
from gcnlimit.graphs.check import as_adjacency, as_features, column_spread, is_sparse, is_symmetric
from gcnlimit.graphs.labels import Labels, as_labels
from gcnlimit.graphs.operator import SparseLessRankOne


class Standard(NamedTuple):
    r"""Operator :math:`a`, features :math:`X` of unit variance, and codes of the labelled nodes.

    :math:`a = (A - p)/\nu`, with :math:`\nu` such that :math:`\mathrm{tr}(a a^T)/N = 1`, as of the noise of the model. Columns
    of the features have mean 0 and variance 1; constant ones are left out.
    """

    operator: SparseLessRankOne
    directed: bool
    features: SparseLessRankOne | None
    labels: Labels
    codes: Array

    @classmethod
    def of(cls, X: Any, y: Any, graph: Any) -> Standard:
        """Checked and standardised parts."""
        adjacency = as_adjacency(graph)
        nodes = adjacency.shape[0]
        features = None if X is None else _features(as_features(X, nodes))
        labels = as_labels(y, nodes)
        if labels.labelled.size < 3:
            raise ParameterError(f"y labels {labels.labelled.size} nodes; an estimate needs at least 3")
        directed = not is_symmetric(adjacency)
        codes = simplex_codes(np.bincount(labels.codes) / labels.codes.size)[labels.codes]
        return cls(_operator(adjacency), directed, features, labels, codes)

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
    def fractions(self) -> Array:
        """Fractions of the classes: equal, unless a chi-squared test on the labelled nodes refutes it at the level of 1 %."""
        counts = np.bincount(self.labels.codes)
        expected = counts.sum() / counts.size
        equal = chdtrc(counts.size - 1, float(np.sum((counts - expected) ** 2)) / expected) > 0.01
        return np.full(counts.size, 1.0 / counts.size) if equal else counts / counts.sum()

    def symmetrized(self) -> SparseLessRankOne:
        r"""The operator :math:`(a + a^T)/\sqrt 2` of a directed graph, :math:`a` itself if it is symmetric."""
        if not self.directed:
            return self.operator
        S = self.operator
        assert S.u is not None
        return SparseLessRankOne((S.matrix + S.matrix.T).tocsr() / np.sqrt(2.0), np.sqrt(2.0) * S.u, S.v)

    def top_eigenvalues(self, count: int) -> Array:
        """Eigenvalues of the symmetrized operator of largest magnitude, largest first."""
        S = self.symmetrized()
        if self.nodes <= max(count + 2, 20):
            values = np.linalg.eigvalsh(S @ np.eye(self.nodes))
        else:
            linear = LinearOperator(S.shape, matvec=lambda v: S @ v.ravel(), dtype=np.float64)
            start = np.random.default_rng(0).standard_normal(self.nodes)
            values = eigsh(linear, k=count, which="LM", v0=start, tol=1e-4, return_eigenvectors=False)
        return np.asarray(sorted(values, key=abs, reverse=True)[:count])


def _operator(adjacency: Any) -> SparseLessRankOne:
    nodes = adjacency.shape[0]
    p = adjacency.sum() / nodes**2
    square = adjacency.multiply(adjacency).sum() - p**2 * nodes**2
    if square <= 1e-12 * nodes**2:
        raise ParameterError("graph joins all pairs alike; it says nothing about the classes: leave it out")
    scale = np.sqrt(nodes / square)
    return SparseLessRankOne(adjacency * scale, np.full(nodes, p * scale), np.ones(nodes))


def _features(X: Any) -> SparseLessRankOne | None:
    mean, spread, varies = column_spread(X)
    if not varies.any():
        return None
    scaled = X[:, varies] @ sparse.diags_array(1.0 / spread[varies]) if is_sparse(X) else X[:, varies] / spread[varies]
    return SparseLessRankOne(scaled, np.ones(X.shape[0]), mean[varies] / spread[varies])
