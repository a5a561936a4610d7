"""Views of a node: what its features, its neighbours, its degree and the labels around it say, one row for each node."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._validation import one_of
from gcnlimit._values import Array
from gcnlimit.graphs.check import column_spread, dense, is_sparse, squared
from gcnlimit.graphs.labels import Labels
from gcnlimit.graphs.operator import normalized, propagation, undirected
from gcnlimit.real.leave_one_out import LARGE

RANK = 256  # principal directions to which many features are reduced
NUMBERS = 1.5e7  # in a view: large graphs have fewer directions
STEPS = 20  # of PageRank
HOPS = 4
GROUPS = 256  # most columns in which labels are spread
WORK = 2e7  # products in one step of spreading the labels


class Scaling(NamedTuple):
    """Rows of unit norm, columns of mean 0 and variance 1, or features as they are: `how` is "rows", "columns" or None."""

    how: str | None
    mean: Array  # of each column, 0 where it is not centred
    spread: Array  # 1 where a column is constant

    @classmethod
    def of(cls, X: Any, how: str | None) -> Scaling:
        """Scaling of these features; ``"auto"`` takes rows if most features are 0, as counts of words are, else columns.

        The columns of a sparse matrix are not centred, so that it remains sparse.
        """
        one_of("scale", how, "auto", "rows", "columns", None)
        if how == "auto":
            filled = X.count_nonzero() if is_sparse(X) else np.count_nonzero(X)
            how = "rows" if filled <= 0.5 * X.shape[0] * X.shape[1] else "columns"
        mean, spread, varies = column_spread(X)
        shift = np.zeros_like(mean) if is_sparse(X) else mean
        return cls(how, shift, np.where(varies, spread, 1.0))

    def __call__(self, X: Any) -> Any:
        """Scaled features."""
        if self.how != "columns":
            return X if self.how is None else unit_rows(X)
        if is_sparse(X):
            return (X @ sparse.diags_array(1.0 / self.spread)).tocsr()
        return (X - self.mean) / self.spread


def unit_rows(X: Any) -> Any:
    """Rows over their norms; those of norm 0 stay."""
    norms = np.sqrt(np.asarray(squared(X).sum(axis=1)).ravel())
    factor = np.asarray(1.0 / np.where(norms > 0, norms, 1.0), X.dtype)
    return (sparse.diags_array(factor) @ X).tocsr() if is_sparse(X) else X * factor[:, None]


def principal_axes(X: Any) -> Array | None:
    """Orthonormal directions, about those of the largest singular values; None if there are few columns.

    On small graphs they span all rows. Else two steps of subspace iteration start from the side of the features, so
    that the order of the nodes does not matter.
    """
    nodes, width = X.shape
    small = nodes <= 4 * RANK
    rank = nodes if small else int(np.clip(NUMBERS / nodes, 64, RANK))
    if width <= rank:
        return None
    if small:
        return np.linalg.qr(dense(X.T))[0]
    basis = np.random.default_rng(0).standard_normal((width, rank))
    for _ in range(2):
        basis = np.linalg.qr(np.asarray(X.T @ (X @ basis)))[0]
    return basis


class Views:
    r"""Views of the nodes of one graph (or none) with scaled features, each computed when it is first asked for.

    If `unit`, their rows have unit norm, as suits counts; else they keep their relative norms. `fit` holds the views of the
    graph of the fit, whose directions, means and norms are used on this one.
    """

    def __init__(self, features: Any, adjacency: Any, unit: bool, fit: Views | None = None) -> None:
        self.X = features
        self.unit = unit
        self.fit = fit
        self.nodes = int(features.shape[0])
        self.dtype = np.float64 if self.nodes <= LARGE else np.float32
        self.graph: Any = None if adjacency is None else undirected(adjacency)
        # along and against the edges, on another graph if the fit had two directions
        both = self.graph is not adjacency if fit is None else len(fit.arrows) > 1
        self.arrows: list[Any] = [adjacency, adjacency.T.tocsr()] if both else [self.graph]
        self.directions: Array | None = principal_axes(features) if fit is None else fit.directions
        self._moments: dict[str, tuple[Array, Array]] = {}

    @cached_property
    def base(self) -> Array:
        """The features, many of them reduced to their principal directions."""
        found = dense(self.X) if self.directions is None else self.X @ self.directions
        return np.asarray(found, self.dtype)

    @cached_property
    def features(self) -> Array:
        """The same with their rows scaled."""
        return self._scaled("features", self.base)

    @cached_property
    def degrees(self) -> Array:
        """Number of neighbours of each node."""
        none = np.zeros(self.nodes)
        return none if self.graph is None else np.diff(self.graph.indptr).astype(float)

    @cached_property
    def walks(self) -> list[Any]:
        r"""Averages over neighbours, :math:`D^{-1}A`: one, or those along and against the edges."""
        return [normalized(A, 1.0, 0.0).astype(self.dtype) for A in self.arrows]

    def pagerank(self, strengths: tuple[float, ...]) -> list[Array]:
        r"""Features by :math:`\sum_k (sS)^k`, :math:`S` the centred operator over its top eigenvalue."""
        S = propagation(self.graph, "centred").unit().operator
        found = zip(strengths, geometric(S, self.base, strengths), strict=True)
        return [self._scaled(f"pagerank {s}", block) for s, block in found]

    def steps(self) -> list[Array]:
        """Features averaged one and two steps away, what returns to the node itself left out."""
        blocks = [block for walk in self.walks for block in near(walk, self.base)]
        return [self._scaled(f"steps {k}", block) for k, block in enumerate(blocks)]

    def rows(self) -> list[Any]:
        """Rows of the adjacency matrix, of unit norm, in each direction."""
        return [unit_rows(A.astype(self.dtype)) for A in self.arrows]

    def degree_profile(self) -> Array:
        """Logarithm of the degree, its average one and two steps away, and whether the node is isolated."""
        walk = normalized(self.graph, 1.0, 0.0)
        log = np.log1p(self.degrees)
        near = walk @ log
        profile = np.column_stack([log, near, walk @ near, self.degrees == 0])
        return np.asarray(self._standard("degrees", profile) / 2.0, self.dtype)

    def hops(self, most: int = HOPS) -> Array:
        """Features and the logarithm of the degree, and their averages one to `most` steps away."""
        first = np.hstack([self.base, np.log1p(self.degrees)[:, None]]).astype(self.dtype)
        blocks = [first]
        for walk in self.walks:
            block = first
            for _ in range(most):
                block = walk @ block
                blocks.append(block)
        return self._standard(f"hops {most}", np.hstack(blocks))

    def labels(self, labels: Labels) -> Array:
        """Labels around a node, its own left out: spread by PageRank of strength 0.9, and averaged one and two steps away.

        PageRank spreads the labelled nodes in groups of one class, and a labelled node is not shown its own group: up to
        `GROUPS` of them it is a group by itself.
        """
        count = labels.classes.size
        most = np.clip(WORK / self.graph.nnz, 8 * count, max(GROUPS, 8 * count))
        group, owner = grouped(labels, int(most))
        start = np.zeros((self.nodes, owner.size), self.dtype)
        start[labels.labelled, group] = 1.0
        (found,) = geometric(propagation(self.graph, "symmetric").operator, start, (0.9,))
        own = np.zeros((self.nodes, count))
        own[labels.labelled, labels.index] = 1.0
        spread = found @ np.eye(count)[owner]
        spread[labels.labelled, labels.index] -= found[labels.labelled, group]
        blocks = [np.maximum(spread, 0.0)]
        for walk in self.walks:
            blocks += near(walk, own)
        # the others hold one label less of a node's own class, which alone would tell it: means are
        # over the others
        counts = np.bincount(labels.index, minlength=count)[labels.index]
        for k, block in enumerate(blocks):
            hidden = np.bincount(group)[group] if k == 0 else 1
            block[labels.labelled, labels.index] *= counts / np.maximum(counts - hidden, 1)
        blocks[0] = np.asarray(unit_rows(blocks[0]))
        return self._standard("labels", np.hstack(blocks)).astype(self.dtype)

    def _scaled(self, name: str, view: Array) -> Array:
        """Rows of unit norm, or of the same mean square as in the fit."""
        if self.unit:
            return np.asarray(unit_rows(view))
        _, size = self._moments_of(name, np.sqrt(np.sum(view**2, axis=1, keepdims=True)))
        return np.asarray(view / size.astype(view.dtype))

    def _standard(self, name: str, view: Array) -> Array:
        """Columns of mean 0 and variance 1 in the fit, in place."""
        view -= self._moments_of(name, view)[0]
        view /= self._moments_of(f"{name}, centred", view)[1]
        return view

    def _moments_of(self, name: str, view: Array) -> tuple[Array, Array]:
        """Mean and root mean square of each column in the fit; 1 for a column of zeros."""
        if self.fit is not None:
            return self.fit._moments[name]
        size = np.sqrt(np.einsum("ij,ij->j", view, view, dtype=float) / self.nodes)
        self._moments[name] = view.mean(axis=0, dtype=float), np.where(size > 1e-9, size, 1.0)
        return self._moments[name]


def grouped(labels: Labels, most: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Group of each labelled node, and class of each group: at most about `most`, of one class each."""
    if labels.index.size <= most:
        return np.arange(labels.index.size), labels.index
    parts = max(most // labels.classes.size, 2)
    place = np.random.default_rng(0).permutation(labels.index.size) % parts
    return labels.index * parts + place, np.repeat(np.arange(labels.classes.size), parts)


def near(walk: Any, block: Array) -> list[Array]:
    """Averages of a block one and two steps away, less the share of two steps that return to their start."""
    one = walk @ block
    returning = np.asarray(walk.multiply(walk.T).sum(axis=1)).ravel()
    return [one, walk @ one - returning[:, None] * block]


def geometric(S: Any, block: Array, strengths: Sequence[float]) -> list[Array]:
    r"""Sums :math:`\sum_{k \le K} s^k S^k B` for several strengths, whose products with the operator are shared."""
    S = S.astype(block.dtype)
    power = block
    totals = [block.copy() for _ in strengths]
    for k in range(1, STEPS + 1):
        power = S @ power
        for j, s in enumerate(strengths):
            totals[j] += s**k * power
    return totals
