"""The bank: the ridge regressions that `GraphClassifier` averages, each on one view of the nodes or several."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import cholesky, solve_triangular

from gcnlimit._values import Array
from gcnlimit.graphs.check import dense, squared
from gcnlimit.graphs.labels import Labels
from gcnlimit.real.leave_one_out import LARGE, Ridge, targets
from gcnlimit.real.views import Views

Nodes = npt.NDArray[np.int64]
STRENGTHS = (-0.95, -0.6, -0.3, 0.5, 0.8, 0.9, 0.95)
LANDMARKS = 1000
UNITS = 100  # random, of a member for few features
DRAWS = 3  # such members
REG = np.array([0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0])
BLOCK = 4096  # nodes whose outputs are computed at once
PER_CLASS = 20  # labelled nodes for each class from which labels are an input
PER_COLUMN = 20  # labelled nodes for each feature from which hops and random units have members
NARROW = 100  # features above which they are many: the cost grows as the cube of the columns


class Member(NamedTuple):
    r"""One regression of the bank, on `columns(nodes)` for some nodes; with a `root` :math:`L`, on these times :math:`L^{-T}`."""

    name: str
    columns: Callable[[Nodes], Array]
    graph: bool = True  # whether it uses the graph
    local: bool = False  # whether it knows nodes by name, so that it has no answer on another graph
    strength: float | None = None  # of a PageRank filter
    root: Array | None = None


def members(views: Views, labels: Labels) -> Iterator[Member]:
    """The bank of a fit, or what of it applies to another graph, whose views know those of the fit."""
    width = views.X.shape[1]
    few = width <= NARROW and PER_COLUMN * width <= labels.index.size
    return _few(views, labels) if few else _many(views, labels)


def _few(views: Views, labels: Labels) -> Iterator[Member]:
    """Ridge on features, on hops, on labels around the node, and on random units of them."""
    yield Member("features", _beside(views.base, np.maximum(views.base, 0.0)), graph=False)
    if views.graph is None:
        return
    hops = views.hops()
    near = views.hops(2)
    yield Member("hops", hops.__getitem__)
    rng = np.random.default_rng(0)
    yield Member("random units", _beside(hops, *_averaged(views, _units(near, UNITS, rng))))
    if views.fit is not None or labels.index.size < PER_CLASS * labels.classes.size:
        return
    seen = views.labels(labels)
    yield Member("hops, labels", _beside(hops, seen), local=True)
    both = np.hstack([near, seen])
    for k in range(DRAWS if hops.shape[1] <= LANDMARKS else 1):
        averaged = _averaged(views, _units(near, UNITS, rng))
        columns = _beside(hops, seen, *averaged, _units(both, 3 * UNITS, rng))
        yield Member(f"random units, labels {k + 1}", columns, local=True)
        del averaged, columns  # before the next are drawn


def _beside(*blocks: Array) -> Callable[[Nodes], Array]:
    """Columns of several blocks, put together for the nodes asked for only."""
    return lambda nodes: np.hstack([block[nodes] for block in blocks])


def _units(columns: Array, count: int, rng: np.random.Generator) -> Array:
    """Random rectified units."""
    weights = rng.standard_normal((columns.shape[1], count)) / np.sqrt(columns.shape[1])
    shift = rng.standard_normal(count).astype(columns.dtype)
    return np.asarray(np.maximum(columns @ weights.astype(columns.dtype) + shift, 0.0))


def _averaged(views: Views, units: Array) -> list[Array]:
    """Units, and their averages one and two steps away; units of labels would return the node's own label."""
    near = [walk @ units for walk in views.walks]
    return [units, *near, *(walk @ one for walk, one in zip(views.walks, near, strict=True))]


def _many(views: Views, labels: Labels) -> Iterator[Member]:
    """Ridge on the features, on PageRank of several strengths, on kernels of the neighbourhood, on labels around."""
    F = views.features
    yield Member("features", F.__getitem__, graph=False)
    if views.graph is None:
        marked = F if views.fit is None else views.fit.features
        alone = kernel("features, kernel", gaussian, [F], [marked], labels)
        yield alone._replace(graph=False, local=False)
        return
    filtered = views.pagerank(STRENGTHS)
    for s, P in zip(STRENGTHS, filtered, strict=True):
        yield Member(f"PageRank {s:g}", P.__getitem__, strength=s)
    if views.fit is not None:
        return
    rows = views.rows()
    smooth = [filtered[STRENGTHS.index(0.9)], *rows]
    yield kernel("PageRank 0.9, rows", linear, smooth, smooth, labels)
    around = [F, *views.steps(), *rows, views.degree_profile()]
    yield kernel("neighbourhood kernel", gaussian, around, around, labels)
    if labels.index.size >= PER_CLASS * labels.classes.size:
        seen = views.labels(labels)
        yield Member("labels", seen.__getitem__, local=True)
        if labels.index.size >= PER_COLUMN * F.shape[1]:
            near = views.hops(2)
            units = _units(np.hstack([near, seen]), 3 * UNITS, np.random.default_rng(0))
            yield Member("random units, labels", _beside(near, seen, units), local=True)


def linear(rows: Any, marks: Any) -> Array:
    """Scalar products of rows with those of landmarks."""
    return np.asarray(dense(rows @ marks.T))


def gaussian(rows: Any, marks: Any) -> Array:
    r"""Kernel :math:`\exp(-|x - y|^2)`, for rows of unit mean square."""
    here, there = (np.asarray(squared(part).sum(axis=1)).ravel() for part in (rows, marks))
    found = linear(rows, marks)  # in place from here: it is the largest array
    found *= 2.0
    found -= here[:, None]
    found -= there
    return np.exp(found, out=found)


def kernel(
    name: str, form: Callable[[Any, Any], Array], views: list[Any], fit: list[Any], labels: Labels
) -> Member:
    """Member on the mean of a kernel over several views, through at most `LANDMARKS` labelled nodes (Nyström).

    It is exact up to there. `fit` holds the views of the graph of the fit, to which the landmarks belong.
    """
    nodes = labels.labelled
    if nodes.size > LANDMARKS:
        nodes = np.sort(np.random.default_rng(0).choice(nodes, LANDMARKS, replace=False))
    marks = [view[nodes] for view in fit]

    def mean(rows: list[Any]) -> Array:
        kernels = (form(here, there) for here, there in zip(rows, marks, strict=True))
        return np.asarray(sum(kernels) / len(marks))

    K = mean(marks).astype(float)
    root = cholesky(K + 1e-8 * np.trace(K) / len(K) * np.eye(len(K)), lower=True)
    return Member(name, lambda some: mean([view[some] for view in views]), local=True, root=root)


class Fitted(NamedTuple):
    """A member at every regularization: leave-one-out outputs, outputs on all nodes, and how to compute these elsewhere."""

    name: str
    graph: bool
    local: bool
    strength: float | None
    left_out: Array
    outputs: Array
    weights: Array
    intercept: Array

    @classmethod
    def of(cls, member: Member, labels: Labels, weights: Array, nodes: int) -> Fitted:
        """Ridge regression on the labelled nodes, at each regularization of the bank."""
        Z = member.columns(labels.labelled).astype(float)
        Y = targets(labels.index, labels.classes.size)
        root = member.root
        if root is not None:
            Z = solve_triangular(root, Z.T, lower=True).T
        ridge = Ridge(Z, weights)
        left_out, dual = ridge.solve(Y, REG)
        # all regularizations side by side, so that each block of nodes is one product
        W, intercept = ridge.linear(np.tile(Y, len(REG)), np.hstack([*dual]))
        known = (labels.labelled, Z @ W + intercept)
        if root is not None:
            W = solve_triangular(root, W, lower=True, trans="T")
        outputs = applied(member, W, intercept, nodes, known)
        about = (member.name, member.graph, member.local, member.strength)
        return cls(*about, left_out, outputs, W[:0] if member.local else W, intercept)

    def on(self, bank: Iterator[Member], nodes: int) -> Array:
        """Outputs on the nodes of another graph, by the next of its members; a local one has none, and no weight."""
        if self.local:
            return np.broadcast_to(0.0, (len(REG), nodes, self.left_out.shape[-1]))
        return applied(next(bank), self.weights, self.intercept, nodes)


def applied(
    member: Member, W: Array, intercept: Array, nodes: int, known: tuple[Nodes, Array] | None = None
) -> Array:
    """Outputs of a member on all nodes (regularizations by nodes by classes); of large graphs in single precision."""
    found = np.empty((nodes, intercept.size), np.float64 if nodes <= LARGE else np.float32)
    left = np.arange(nodes)
    if known is not None:
        found[known[0]] = known[1]
        left = np.delete(left, known[0])
    for first in range(0, left.size, BLOCK):
        some = left[first : first + BLOCK]
        columns = member.columns(some)
        found[some] = columns @ W.astype(columns.dtype) + intercept
    return np.moveaxis(found.reshape(nodes, len(REG), -1), 0, 1)
