"""Labelled nodes: homophily, whether they follow the block model (one degree, one strength, one spread of features), groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.special import chdtrc, fdtrc

from gcnlimit._values import Array
from gcnlimit.graphs.check import dense, squared
from gcnlimit.graphs.labels import Labels
from gcnlimit.graphs.standard import PAIRS, Signals, StandardizedGraph

UNLIKELY = 1e-3  # level of each test: about one graph of the model in 500 is doubted by chance
# Ratio of mean degrees of two classes, or of their spreads, from which it matters: class sizes that
# scatter make 1.2.
UNLIKE = 1.4
SURELY, ODD = 3.5, 0.01  # standard errors, and probability, from which two neighbours are alike
FEWEST = 2.0  # edges expected between two classes below which their number says nothing
WEIGHTED = 0.05  # variance of the weights, over their squared mean, that is noise not to be ignored
SPREADS, FEW = 4.5, 10  # standard errors by which classes have other covariances, and least labels
SIDES = 0.9  # share of the edges that join two sides from which a graph is bipartite
CLOSED = 1.3  # share of joined neighbours, over that of the model, from which it matters
WALKS = 3e6  # of two steps that are followed to find it
BEYOND = 5.0  # standard errors by which labelled nodes are together more often than by chance,
ALONG, NEAREST = 0.05, 0.4  # and the correlations along edges and of nearest nodes that matter
DISTANCES = 1e7  # between nodes that are compared


def block_doubts(graph: StandardizedGraph) -> Iterator[str]:
    """Sentences on what the labelled nodes refute, the plainest first."""
    names = graph.labels.classes.tolist()
    if _bipartite(graph):
        sides = "of two kinds of nodes with edges only between the two"
        yield f"the graph is bipartite, made {sides}, and the classes do not explain it"
    A = graph.operator.matrix
    if float(np.var(A.data)) > WEIGHTED * float(np.mean(A.data)) ** 2:
        ratio = f"the largest is {A.data.max() / A.data.min():.3g} times the smallest"
        yield f"the edges have weights ({ratio}), which the model lacks; leave the weights out"
    out = np.diff(A.indptr).astype(float)
    into = np.bincount(A.indices, minlength=graph.nodes).astype(float)
    for degrees in (out, into) if graph.directed else (out,):
        seen = degrees[graph.labels.labelled]
        means = np.bincount(graph.labels.index, seen) / graph.labels.counts
        # few nodes of one degree do not show how much degrees scatter: at least as counts do
        scatter = float(np.mean(seen / (1.0 + seen) ** 2))
        logs = np.log1p(seen)
        if means.max() > UNLIKE * means.min() and _level_of_means(logs, graph, scatter) < UNLIKELY:
            most, least = int(means.argmax()), int(means.argmin())
            kind = "" if not graph.directed else "outgoing " if degrees is out else "incoming "
            first = f"nodes of class {names[most]} have {means[most]:.1f} {kind}edges on average"
            fewest = f"those of class {names[least]} have {means[least]:.1f}"
            yield f"the degree depends on the class ({first}, {fewest})"
            break
        away = np.abs(logs - logs.mean())
        spread = np.sqrt(np.bincount(graph.labels.index, away**2) / graph.labels.counts)
        unlike = graph.has_hubs and spread.max() > UNLIKE * spread.min()
        if unlike and _level_of_means(away, graph) < UNLIKELY:
            most, least = names[spread.argmax()], names[spread.argmin()]
            yield f"degrees vary more within class {most} than within {least}, which has no hubs"
            break
    yield from _unlike_nodes(graph)
    yield from _unlike_features(graph)
    edges, chance = _blocks(graph, out, into)
    fitted, level = _one_strength(graph, edges, chance)
    if level >= UNLIKELY:
        return
    apart = np.where(chance > FEWEST, np.abs(edges - fitted) / np.sqrt(fitted), 0.0)
    i, j = np.unravel_index(int(apart.argmax()), apart.shape)
    there, back = edges[i, j], edges[j, i]
    if graph.directed and abs(there - back) > 3.0 * np.sqrt(there + back):
        counted = f"{there:.0f} edges from class {names[i]} to {names[j]}, {back:.0f} back"
        yield f"classes are linked in one direction ({counted})"
    else:
        pair = f"within class {names[i]}" if i == j else f"between {names[i]} and {names[j]}"
        excess = f"{there:.0f} edges {pair}, where one lam for all predicts {fitted[i, j]:.0f}"
        yield f"pairs of classes are not linked alike ({excess})"


def triangle_doubts(graph: StandardizedGraph, signals: Signals) -> Iterator[str]:
    r"""Sentence on neighbours of a node that are joined to each other more often than in the model, as in households or a plane.

    In the model a share :math:`\langle D(D-1)\rangle^2/(N\langle D\rangle^3)\,(1 + (C-1)s^3)` of such pairs is joined, with the
    strength :math:`s = \lambda/\sqrt d` of the classes, which is taken three standard errors larger.
    """
    both = graph.both_ways()[0].astype(bool).astype(float)
    D = np.diff(both.indptr).astype(float)
    pairs = D * (D - 1.0)
    degree = graph.operator.matrix.nnz / graph.nodes
    # at strength 1 all edges are within classes
    strength = np.clip((signals.lam + 3.0 * signals.lam_error) / np.sqrt(degree), 0.0, 1.0)
    allowed = pairs.sum() ** 2 / D.sum() ** 3 * (1.0 + (graph.classes.count - 1) * strength**3)
    order = np.random.default_rng(0).permutation(graph.nodes)
    some = order[: np.searchsorted(np.cumsum((both @ D)[order]), WALKS) + 1]
    rows, count = both[some], float(pairs[some].sum())
    joined = float((rows @ both).multiply(rows).sum())
    # a triangle is counted six times, and their number scatters as that of rare events
    if joined > CLOSED * allowed * count + 5.0 * np.sqrt(6.0 * allowed * count + 36.0):
        most = f"where classes and degrees allow at most {allowed:.2g}"
        yield f"two neighbours of a node are joined with probability {joined / count:.2g}, {most}"


def _level_of_means(values: Array, graph: StandardizedGraph, least: float = 1e-12) -> float:
    """Probability of means over classes that differ as much by chance alone (analysis of variance, at `least` this)."""
    counts = graph.labels.counts
    means = np.bincount(graph.labels.index, values) / counts
    freedom = max(values.size - counts.size, 1)
    within = float(np.sum((values - means[graph.labels.index]) ** 2)) / freedom
    between = float(counts @ (means - values.mean()) ** 2) / (counts.size - 1)
    return float(fdtrc(counts.size - 1, freedom, between / max(within, least, 1e-12)))


def _neighbours(adjacency: Any, labels: Labels) -> tuple[Array, Array]:
    """Indicators of the classes of labelled nodes, and the labelled neighbours of each by their class."""
    Y = np.eye(labels.classes.size)[labels.index]
    among = adjacency[labels.labelled][:, labels.labelled].astype(bool).astype(float)
    return Y, np.asarray(among @ Y)


def _unlike_nodes(graph: StandardizedGraph) -> Iterator[str]:
    """Sentence on nodes that are linked unlike others of their class, so that two neighbours share a class more often."""
    Y, near = _neighbours(graph.both_ways()[0], graph.labels)
    count, links = near.sum(axis=1), Y.T @ near
    usual = Y @ (links / np.maximum(links.sum(axis=1, keepdims=True), 1.0))
    same, third = np.sum(usual**2, axis=1), np.sum(usual**3, axis=1)
    excess = float(np.sum((near - count[:, None] * usual) ** 2) - count @ (1.0 - same))
    pairs = count * (count - 1.0)
    error = np.sqrt(2.0 * pairs @ (same - 2.0 * third + same**2) + 4.0)
    if excess > max(SURELY * error, ODD * pairs.sum()):
        usually = float(pairs @ same) / pairs.sum()
        odds = f"{usually + excess / pairs.sum():.2f}, where its class predicts {usually:.2f}"
        told = f"two neighbours of a node share a class with probability {odds}"
        yield f"nodes of one class are not linked alike ({told})"


def _unlike_features(graph: StandardizedGraph) -> Iterator[str]:
    r"""Sentence on features whose covariance depends on the class, so that they tell more than the means of the model do.

    Squares of :math:`x_i \cdot x_j`, means of classes taken off, are then larger within classes (Li and Chen 2012).
    """
    index, n = graph.labels.index, min(graph.labels.index.size, PAIRS)
    some = np.linspace(0, index.size - 1, n).astype(int)
    Y = np.eye(graph.labels.classes.size)[index[some]]
    if graph.features is None or (counts := Y.sum(axis=0)).min() < FEW:
        return
    x = dense(graph.features.matrix[graph.labels.labelled[some]]) - graph.features.v
    x = (x - Y @ (Y.T @ x / counts[:, None])) * np.sqrt(Y @ (counts / (counts - 1.0)))[:, None]
    gram = x @ x.T  # of the same class too small by its mean, which was taken off
    gram += (Y * (np.diag(gram) @ Y / counts**2)) @ Y.T
    squares, others = gram**2, 1.0 - np.eye(n)
    mean = np.sum(squares * others, axis=1) / (n - 2.0)
    squares = others * (squares - mean[:, None] - mean + mean.sum() / (n - 1.0))
    same = others * ((Y * (n / counts)) @ Y.T - 1.0)
    error = np.sqrt(2.0 * np.sum(same**2) * np.sum(squares**2) / (n * (n - 1.0)))
    if (excess := float(np.sum(same * squares))) > SPREADS * error:
        told = f"their covariances differ by {excess / error:.1f} standard errors"
        yield f"the features vary in other ways in one class than in another ({told})"


def _blocks(graph: StandardizedGraph, out: Array, into: Array) -> tuple[Array, Array]:
    """Edges from class to class among labelled nodes, and what their degrees alone would give."""
    R = graph.labels.labelled
    Y, near = _neighbours(graph.operator.matrix, graph.labels)
    left, right = Y * out[R, None], Y * into[R, None]
    by_chance = np.outer(left.sum(axis=0), right.sum(axis=0)) - left.T @ right
    edges = Y.T @ near
    # an undirected edge was counted from both of its ends
    once = 1.0 if graph.directed else np.triu(np.ones_like(edges)) - 0.5 * np.eye(len(edges))
    return once * edges, once * by_chance / graph.operator.matrix.nnz


def _one_strength(graph: StandardizedGraph, edges: Array, chance: Array) -> tuple[Array, float]:
    r"""Edges at the best strength :math:`s` of the form :math:`1 + s\, y_k \cdot y_l`, and how unlikely the others then are."""
    products = np.diag(1.0 / graph.classes.fractions) - 1.0
    strength = np.sum(products * (edges - chance)) / max(np.sum(chance * products**2), 1e-12)
    fitted = np.maximum(chance * (1.0 + strength * products), 0.05 * chance + 1e-12)
    use = chance > FEWEST
    chi_squared = float(np.sum(((edges - fitted) ** 2 / np.maximum(fitted, 1.0))[use]))
    freedom = int(use.sum()) - 1
    return fitted, float(chdtrc(freedom, chi_squared)) if freedom > 0 else 1.0


def _bipartite(graph: StandardizedGraph) -> bool:
    """Whether edges join two sides of the graph that are not its classes."""
    both, _ = graph.both_ways()
    N = graph.nodes
    if both.nnz < 2 * N:  # about a forest, whose parts have two sides anyway
        return False
    # a part of two sides is two parts of its double cover
    cover = sparse.block_array([[None, both], [both, None]], format="csr")
    part = connected_components(cover, directed=False)[1]
    if float(np.diff(both.indptr)[part[:N] != part[N:]].sum()) < SIDES * both.nnz:
        return False
    seen = graph.labels.labelled
    side = (part[:N] < part[N:])[seen]
    pairs = np.bincount(2 * graph.labels.index + side, minlength=2 * graph.labels.counts.size)
    follow = pairs.reshape(-1, 2).max(axis=1).sum() > 0.95 * seen.size
    return not (follow and 0.05 < np.mean(side) < 0.95)


def labelled_in_groups(labels: Labels, probabilities: Array, adjacency: Any, features: Any) -> str:
    r"""What shows that groups of nodes were labelled as a whole, as households are, and what to do; ``""`` if nothing does.

    By chance a node of class :math:`k` is labelled with the probability :math:`p = n_k/N_k`, :math:`N_k` by the outputs, times
    a factor of its degree, independently of its neighbours: :math:`\sum_{ij} A_{ij}(s_i - p_i)(s_j - p_j)` of the indicators
    :math:`s` then has mean 0 and a known variance (Moran 1950). The nearest nodes in the features are counted likewise.
    """
    R = labels.labelled
    shares = probabilities.copy()
    shares[R] = np.eye(labels.classes.size)[labels.index]
    s = np.bincount(R, minlength=len(shares))
    p = shares @ (labels.counts / shares.sum(axis=0))
    linked: list[tuple[str, float, Any, Any]] = []
    if adjacency is not None:
        A = adjacency.astype(bool).astype(float)
        degrees = np.diff(A.indptr)
        part = np.searchsorted(np.unique(np.quantile(degrees, [0.2, 0.4, 0.6, 0.8])), degrees)
        p *= ((np.bincount(part, s) + 1.0) / (np.bincount(part, p) + 1.0))[part]
        linked.append(("neighbours", ALONG, slice(None), A))
    if features is not None:
        some = np.random.default_rng(0).permutation(R)[: max(int(DISTANCES / s.size), 30)][:300]
        norms = np.asarray(squared(features).sum(axis=1)).ravel()
        apart = norms - 2.0 * dense(features @ features[some].T).T
        apart[np.arange(some.size), some] = np.inf
        nearest = apart <= apart.min(axis=1, keepdims=True) + 1e-9 * norms.max()
        shared = nearest / nearest.sum(axis=1, keepdims=True)
        linked.append(("nearest nodes in the features", NEAREST, some, shared))
    x = s - (p := np.minimum(p, 1.0))
    for kind, least, rows, links in linked:
        pull = x[rows] @ links
        excess = pull @ x
        error = np.sqrt(2.0 * pull**2 @ (p * (1.0 - p)) + 2.0)  # one node may be near many
        most = np.maximum(x, 0.0)[rows] @ (links @ (1.0 - p))
        if excess > max(BEYOND * error, least * most):
            count = s[rows] @ (links @ s)
            usual = f"where labels drawn by chance make {count - excess:.0f}"
            told = f"{count:.0f} {kind} of labelled nodes have labels, {usual}"
            why = "whole groups of nodes seem to be labelled, and leave-one-out is blind to others"
            do = "hide the labels of some whole groups, fit again and count the right answers there"
            return f"{told}, so {why}; {do}"
    return ""


def homophily(adjacency: Any, labels: Labels) -> tuple[float, float]:
    r"""Fraction :math:`h` of edges between equal classes, and :math:`(h - \sum_k p_k^2)/(1 - \sum_k p_k^2)`.

    :math:`p_k` is the share of class :math:`k` among the ends of the edges. Edges between labelled nodes only.
    """
    Y, near = _neighbours(adjacency, labels)
    edges = Y.T @ near  # from class to class
    if not edges.any():
        return float("nan"), float("nan")
    edges /= edges.sum()
    same = float(np.trace(edges))
    chance = float(np.sum((0.5 * (edges.sum(axis=0) + edges.sum(axis=1))) ** 2))
    return same, (same - chance) / (1.0 - chance) if chance < 1.0 else float("nan")
