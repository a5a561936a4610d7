"""The single networks of the theory: filter, operator and ridge regression chosen by leave-one-out, and tuned elsewhere."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import as_real, whole
from gcnlimit._values import Array, shown
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Diffusion, Filter, PageRank
from gcnlimit.filters.action import column_blocks
from gcnlimit.graphs.check import dense, is_sparse
from gcnlimit.graphs.labels import Labels
from gcnlimit.graphs.operator import Propagation
from gcnlimit.numerics.ridge import Ridge
from gcnlimit.real.leave_one_out import correct, pair, targets

Nodes = npt.NDArray[np.int64]
FILTERS: dict[str, type[PageRank | Diffusion]] = {"pagerank": PageRank, "diffusion": Diffusion}
STRENGTHS = {"pagerank": (0.3, 0.5, 0.7, 0.8, 0.9, 0.95), "diffusion": (0.5, 1, 2, 4, 8, 12)}
STRONGEST = 0.95  # of PageRank elsewhere
NUMBERS = 5e7  # in blocks of propagated features that are held at once
SPARSE = 0.1  # share of features that are not 0 below which a sparse product is faster
ACCURACY = 1e-10  # of propagated features: a small reg magnifies errors by the filter's range


class Network(NamedTuple):
    r"""Network :math:`h = \sum_b g_b(S) X W_b + b`: one filter, or the powers up to `hops` of the operator."""

    family: str
    strength: float
    filter: Filter | None = None
    hops: int = 0

    def blocks(self, S: Any, block: Array) -> list[Array]:
        """Products :math:`g_b(S) B` with a `Propagation`."""
        if self.filter is not None:
            return [self.filter.apply(S.operator, block, radius=S.radius, accuracy=ACCURACY)]
        powers = [block]
        for _ in range(self.hops):
            powers.append(S.operator @ powers[-1])
        return powers

    def stronger(self, factor: float) -> Network:
        """The same with its strength times a factor, that of PageRank below 1."""
        if self.family not in FILTERS or math.isnan(self.strength):
            use = "use filter='pagerank' or 'diffusion'"
            raise ParameterError(f"deploy = 'tuned' sets a strength; {use}")
        strength = factor * self.strength
        if self.family == "pagerank":
            strength = float(np.clip(strength, -STRONGEST, STRONGEST))
        return self._replace(strength=strength, filter=FILTERS[self.family](strength))


NO_GRAPH = Network("no graph", 0.0)


class Choice(NamedTuple):
    """The best network, its operator and regularization, coefficients (a block for each filter), intercept, left-out outputs."""

    network: Network
    operator: Any
    reg: float
    coefficients: list[Array]
    intercept: Array
    left_out: Array

    def inputs(self, features: Any) -> Array:
        """Products of features and weights, which a single filter is there to smooth."""
        return np.asarray(features @ self.coefficients[0])

    def outputs(self, features: Any, S: Any) -> Array:
        """Outputs on the nodes of a graph, one column for each class."""
        *lower, total = [np.asarray(features @ W) for W in self.coefficients]
        if self.network.filter is not None:
            (total,) = self.network.blocks(S, total)
        for block in lower[::-1]:  # Horner's rule
            total = S.operator @ total + block
        return pair(total + self.intercept)


def networks(filter: str | Filter, strengths: npt.ArrayLike | None, hops: int) -> list[Network]:
    """Networks of a family on an operator whose top eigenvalue is 1, the one without a graph first.

    If no strengths are given, both signs are among them, and no graph; a strength 0 that is given means without a graph.
    """
    hops = whole("hops", hops, low=0)
    if isinstance(filter, Filter):
        if strengths is not None:
            raise ParameterError("strengths go with a family such as 'pagerank', not with a filter")
        if np.shape(filter(0.0)):
            use = "give one, or a family such as 'pagerank' with strengths"
            raise ParameterError(f"filter = {shown(filter)} is several filters; {use}")
        return [Network(type(filter).__name__.lower(), np.nan, filter)]
    if filter == "hops":
        return [NO_GRAPH, *(Network("hops", k, None, k) for k in range(1, hops + 1))]
    if filter not in FILTERS:
        use = "'pagerank', 'diffusion', 'hops' or a filter such as PageRank(0.5)"
        raise ParameterError(f"filter = {shown(filter)} is not a family; use {use}")
    usual = np.outer((1.0, -1.0), STRENGTHS[filter])
    given = np.ravel(usual if strengths is None else as_real("strengths", strengths)).tolist()
    if filter == "pagerank" and any(abs(s) >= 1.0 for s in given):
        raise ParameterError(f"strengths = {given} must be between -1 and 1 for PageRank")
    alone = [NO_GRAPH] if strengths is None or 0.0 in given else []
    return [*alone, *(Network(filter, s, FILTERS[filter](s)) for s in given if s != 0.0)]


def choose(
    features: Any,
    labels: Labels,
    weights: Array,
    *,
    operators: Mapping[Any, Propagation | None],
    tried: list[Network],
    reg: Any,
) -> Choice:
    """Network, operator and regularization of the largest leave-one-out accuracy less square error."""
    reg = np.ravel(as_real("reg", reg, low=0, open_low=True))
    Y = targets(labels.index, labels.classes.size)
    share = weights / weights.sum()
    best: Any = None
    for name, S in operators.items():
        # the network without a graph is the same on every operator
        offered = [one for one in tried if best is None or one is not NO_GRAPH]
        for network, rows in _rows(features, labels.labelled, S, offered):
            ridge = Ridge(rows, weights)
            for r, left_out, dual in zip(reg.tolist(), *ridge.solve(Y, reg), strict=True):
                square = np.mean((left_out - Y) ** 2, axis=1)
                score = share @ (correct(left_out, labels.index) - square)
                if best is None or score > best[0]:
                    best = score, network, name, r, ridge, dual, left_out
    _, network, name, r, ridge, dual, left_out = best
    W, intercept = ridge.linear(Y, dual)
    return Choice(network, name, r, np.split(W, network.hops + 1), intercept, left_out)


def _rows(
    features: Any, R: Nodes, S: Propagation | None, tried: list[Network]
) -> Iterator[tuple[Network, Array]]:
    r"""Each network with the rows :math:`[g_b(S) X]_R` of the labelled nodes, its filters side by side.

    Networks of one family share the products with the operator, as many of them as memory holds.
    """
    if NO_GRAPH in tried:
        yield NO_GRAPH, dense(features[R])
    family = [one for one in tried if one is not NO_GRAPH]
    hops = any(one.hops for one in family)
    at_once = len(family) if hops else max(int(NUMBERS / (R.size * features.shape[1])), 1)
    for first in range(0, len(family), at_once):
        group = family[first : first + at_once]
        blocks = _labelled_rows(features, R, S, group)
        for k, one in enumerate(group):
            yield one, np.hstack(blocks[: one.hops + 1]) if hops else blocks[k]


def _labelled_rows(features: Any, R: Nodes, S: Any, group: list[Network]) -> list[Array]:
    r"""Rows :math:`[g(S) X]_R` by each filter of a group, or by each power of the operator."""
    nodes, width = features.shape
    dual = R.size <= width
    if dual:
        # with more features than labels, as (X' g(S') E_R)': indicators of labels are propagated
        S = S._replace(operator=S.operator.T)
        thin = is_sparse(features) and features.nnz < SPARSE * nodes * width
        across = features.T.tocsr() if thin else dense(features).T
    parts = []
    for some in column_blocks(R.size if dual else width, max(int(NUMBERS / nodes / len(group)), 1)):
        block = np.zeros((nodes, R[some].size)) if dual else dense(features[:, some])
        if dual:
            block[R[some], np.arange(block.shape[1])] = 1.0
        found = _propagated(S, block, group)
        parts.append([np.asarray(across @ each).T if dual else each[R] for each in found])
    return [np.concatenate(each, axis=1 - dual) for each in zip(*parts, strict=True)]


def _propagated(S: Propagation, block: Array, group: list[Network]) -> list[Array]:
    """Products of the filters of a group with a block, or of the powers of the operator up to the highest."""
    last = group[-1]
    if last.filter is None or len(group) == 1:
        return last.blocks(S, block)
    several = FILTERS[last.family](np.array([one.strength for one in group]))
    return [*several.apply(S.operator, block, radius=S.radius, accuracy=ACCURACY)]
