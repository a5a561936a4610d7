"""Views of a node: what its features, its neighbours, its degree and the labels around it say, one row for each node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gcnlimit._values import Array, Integers
from gcnlimit.filters.action import geometric
from gcnlimit.graphs.check import dense
from gcnlimit.graphs.labels import Labels, grouped
from gcnlimit.graphs.operator import near, normalized, propagation, undirected
from gcnlimit.graphs.scaling import principal_axes, unit_rows
from gcnlimit.numerics.leave_one_out import forest
from gcnlimit.numerics.linear import by_moment, root_mean_square
from gcnlimit.numerics.ridge import LARGE

STEPS = 20  # of PageRank
HOPS = 4
GROUPS = 256  # most columns in which labels are spread
WORK = 2e7  # products in one step of spreading the labels
AT_ONCE = 64  # columns of labels that are spread together


class Views:
    r"""Views of the nodes of one graph (or none) with scaled features, each computed when it is asked for.

    If `unit`, their rows have unit norm, as suits counts; else they keep their relative norms. On another graph than that of the
    fit, `fit` are the views there, whose directions, means and norms are used.
    """

    def __init__(self, features: Any, adjacency: Any, unit: bool, fit: Views | None = None) -> None:
        self.nodes = int(features.shape[0])
        self.dtype: Any = np.float64 if self.nodes <= LARGE else np.float32
        self.unit = unit
        self.elsewhere = fit is not None
        self._kept: dict[str, Any] = {} if fit is None else fit._kept
        self.shared: dict[str, Any] = {}
        order = self.kept("order", lambda: by_moment(features))  # what is drawn depends on it
        self.X = features.astype(self.dtype, copy=False)[:, order]
        self.moment = features @ (features.T @ np.asarray(features.sum(axis=1)).ravel())
        self.graph: Any = None if adjacency is None else undirected(adjacency)
        counts = np.zeros(self.nodes) if self.graph is None else np.diff(self.graph.indptr)
        self.degrees = counts.astype(float)
        self.typical_degree = float(np.log1p(self.degrees).mean())  # in the logarithm
        self.lonely = (self.degrees == 0) & (adjacency is not None)  # without a neighbour
        # along and against the edges, on another graph if the fit had two directions
        both = self.kept("two directions", lambda: self.graph is not adjacency)
        self.arrows: list[Any] = [adjacency, adjacency.T.tocsr()] if both else [self.graph]
        self.directions: Array | None = self.kept("directions", lambda: principal_axes(self.X))

    def kept(self, name: str, compute: Callable[[], Any]) -> Any:
        """A value of the fit: computed there, looked up by its name on another graph."""
        if not self.elsewhere:
            self._kept[name] = compute()
        return self._kept[name]

    def once(self, name: str, compute: Callable[[], Any]) -> Any:
        """What several members use: computed when it is first asked for, and held until `shared` is cleared."""
        return self.shared[name] if name in self.shared else self.shared.setdefault(name, compute())

    @cached_property
    def base(self) -> Array:
        """The features, many of them reduced to their principal directions."""
        if self.directions is None:
            return np.asarray(dense(self.X), self.dtype)
        return np.asarray(self.X @ self.directions.astype(self.dtype))

    @cached_property
    def features(self) -> Array:
        """The features, reduced as `base` is, with their rows scaled."""
        return self._scaled("features", self.base)

    @cached_property
    def walks(self) -> list[Any]:
        r"""Averages over neighbours, :math:`D^{-1}A`: one, or those along and against the edges."""
        return [normalized(A, 1.0, 0.0).astype(self.dtype) for A in self.arrows]

    @cached_property
    def colours(self) -> Array:
        """Numbers that tell nodes apart by what they and those around them are, in whatever order all are listed."""
        colours = self.moment / (np.abs(self.moment).max() or 1.0) + np.log1p(self.degrees)
        for walk in 3 * self.walks if self.graph is not None else ():
            colours = np.sin(7.0 * colours + 5.0 * (walk @ colours))
        return np.asarray(np.round(colours, 9))

    def pagerank(self, strengths: Sequence[float]) -> list[Array]:
        r"""Features by :math:`\sum_k (sS)^k`, :math:`S` the centred operator over its top eigenvalue."""
        S = propagation(self.graph, "centred").unit().operator
        filtered = zip(strengths, geometric(S, self.base, strengths, STEPS), strict=True)
        return [self._scaled(f"pagerank {s}", block) for s, block in filtered]

    def leading(self, name: str, view: Array) -> Array:
        r"""A view :math:`F` times its covariance :math:`C` over all nodes, labelled or not.

        Ridge regression on :math:`FC` has weights of prior covariance :math:`C^2` on :math:`F`: large variance comes first.
        """

        def scaled() -> Array:
            C = np.atleast_2d(np.cov(view, rowvar=False, bias=True, dtype=view.dtype))
            rounding = (100.0 * np.finfo(view.dtype).eps) ** 2 * np.vdot(view, view) / self.nodes
            size = np.sqrt(np.vdot(C @ C, C)) if np.trace(C) > rounding else np.inf
            return C / size  # rows of mean square 1, or 0 where all are equal

        return np.asarray(view @ self.kept(f"covariance of {name}", scaled))

    def steps(self) -> list[Array]:
        """Features averaged one and two steps away, what returns to the node itself left out."""
        blocks = [block for walk in self.walks for block in near(walk, self.base)]
        return [self._scaled(f"steps {k}", block) for k, block in enumerate(blocks)]

    def lengths(self) -> Array:
        """How many features of a node are not 0, as words of a page are many or few: rows of unit norm do not say it."""
        count = np.asarray((self.X != 0).sum(axis=1), float).reshape(-1, 1)
        return np.asarray(self._standard("lengths", np.log1p(count)) / 2.0, self.dtype)

    def rows(self) -> list[Any]:
        """Rows of the adjacency matrix, of unit norm, in each direction."""
        return [unit_rows(A.astype(self.dtype)) for A in self.arrows]

    def rows_around(self) -> list[Array]:
        """Means of the rows of a node's neighbours, in their principal directions, of unit norm."""
        rows = [row[:, np.argsort(self.colours, kind="stable")] for row in self.rows()]
        both = zip(self.walks, rows, strict=True)
        return [unit_rows(walk @ (row @ principal_axes(row, whole=False))) for walk, row in both]

    def degree_profile(self) -> Array:
        """Logarithm of the degree, its average one and two steps away, and whether the node is isolated."""
        walk = normalized(self.graph, 1.0, 0.0)
        log = np.log1p(self.degrees)
        near = walk @ log
        profile = np.column_stack([log, near, walk @ near, self.degrees == 0])
        return np.asarray(self._standard("degrees", profile) / 2.0, self.dtype)

    def hops(self, most: int = HOPS) -> list[list[Array]]:
        """Features and the logarithm of the degree, then their averages one to `most` steps away, in each direction."""
        first = np.hstack([self.base, np.log1p(self.degrees)[:, None].astype(self.dtype)])
        blocks = [first] * len(self.walks)
        raw = [[first]]
        for _ in range(most):
            raw.append(blocks := [walk @ b for walk, b in zip(self.walks, blocks, strict=True)])
        for k, row in enumerate(raw):
            raw[k] = [self._standard(f"hops {k}, {j}", block) for j, block in enumerate(row)]
        return raw

    def labels(self, labels: Labels) -> Array:
        """Labels around a node, its own left out: spread by PageRank of strength 0.9, and averaged one and two steps away.

        PageRank spreads labelled nodes in groups of one class, and none is shown its own: one of `GROUPS` or less is a group.
        """
        count = labels.classes.size
        most = np.clip(WORK / self.graph.nnz, 4 * count, max(GROUPS, 4 * count))
        group, owner = grouped(labels, int(most))
        S = self.once("S", lambda: propagation(self.graph, "symmetric").operator.astype(self.dtype))
        spread = np.zeros((self.nodes, count), self.dtype)
        for first in range(0, owner.size, AT_ONCE):
            taken = (group >= first) & (group < first + AT_ONCE)
            place = (labels.labelled[taken], group[taken] - first)
            kinds = np.eye(count, dtype=self.dtype)[owner[first : first + AT_ONCE]]
            start = np.zeros((self.nodes, len(kinds)), self.dtype)
            start[place] = 1.0
            (reached,) = geometric(S, start, (0.9,), STEPS)
            spread += reached @ kinds
            spread[place[0], labels.index[taken]] -= reached[place]
        codes = np.zeros((self.nodes, count), self.dtype)
        codes[labels.labelled, labels.index] = 1.0
        blocks = [np.maximum(spread, 0.0), *(b for walk in self.walks for b in near(walk, codes))]
        # the others hold one label less of a node's class, which would tell it: means are over them
        counts = np.bincount(labels.index, minlength=count)[labels.index]
        for k, block in enumerate(blocks):
            hidden = np.bincount(group)[group] if k == 0 else 1
            block[labels.labelled, labels.index] *= counts / np.maximum(counts - hidden, 1)
        blocks[0] = np.asarray(unit_rows(blocks[0]))
        return self._standard("labels", np.hstack(blocks))

    def proximity(self, nodes: Integers) -> Array:
        """How near some nodes are to each by PageRank of strength 0.9, rows of unit norm."""
        start = np.zeros((self.nodes, nodes.size), self.dtype)
        start[nodes, np.arange(nodes.size)] = 1.0
        (reached,) = geometric(propagation(self.graph, "symmetric").operator, start, (0.9,), STEPS)
        return np.asarray(unit_rows(reached))

    def forest(self, labels: Labels) -> Array:
        """Probabilities of the classes by a random forest on the features; of labelled nodes, by trees grown without them."""
        rows = np.clip(dense(self.X), -1e30, 1e30)  # trees have single precision
        trees, left_out = self.kept("forest", lambda: forest(rows[labels.labelled], labels.index))
        votes = np.asarray(trees.predict_proba(rows), self.dtype)
        if not self.elsewhere:
            votes[labels.labelled] = left_out
        return votes

    def _scaled(self, name: str, view: Array) -> Array:
        """Rows of unit norm, or of the same mean square as in the fit."""
        if self.unit:
            return np.asarray(unit_rows(view))
        square = np.einsum("ij,ij->", view, view, dtype=float) / self.nodes
        size = self.kept(f"size of {name}", lambda: np.sqrt(square) or 1.0)
        return np.asarray(view / view.dtype.type(size))

    def _standard(self, name: str, view: Array) -> Array:
        """Columns of mean 0 and variance 1 in the fit, in place; what varies by rounding alone there is 0."""
        rounding = 100.0 * np.finfo(view.dtype).eps
        level = root_mean_square(view)
        view -= self.kept(f"mean of {name}", lambda: view.mean(axis=0, dtype=float))
        size = root_mean_square(view)
        flat = np.where(size > rounding * level, size, np.inf)
        view /= self.kept(f"spread of {name}", lambda: flat)
        return view
