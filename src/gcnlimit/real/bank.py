"""The bank: the ridge regressions that `GraphClassifier` averages, each on one view of the nodes or several."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import cholesky, solve_triangular

from gcnlimit._values import Array
from gcnlimit.given.inputs import dense, squared
from gcnlimit.given.labels import Labels
from gcnlimit.real.leave_one_out import Ridge, targets
from gcnlimit.real.views import Views

Nodes = npt.NDArray[np.int64]
STRENGTHS = (-0.95, -0.6, -0.3, 0.5, 0.8, 0.9, 0.95)
LANDMARKS = 1000
UNITS, DRAWS = 100, 3  # random units of a member for few features, and number of such members
REG = np.array([0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0])
BLOCK = 4096  # nodes whose outputs are computed at once
PER_CLASS = 20  # labelled nodes for each class from which labels are an input
PER_COLUMN = 20  # labelled nodes for each feature from which features are few


class Member(NamedTuple):
    """One regression of the bank: `columns(nodes)` are the columns that it is on, for some nodes.

    `graph` says whether it uses the graph, `local` whether it knows the nodes of the fit by name, so that it has no
    answer on another graph; `strength` is that of a PageRank filter.
    """

    name: str
    columns: Callable[[Nodes], Array]
    graph: bool = True
    local: bool = False
    strength: float | None = None


def members(views: Views, labels: Labels) -> Iterator[Member]:
    """The bank of a fit, or what of it applies to another graph, whose views know those of the fit."""
    few = PER_COLUMN * views.X.shape[1] <= labels.labelled.size
    for member in _few(views, labels) if few else _many(views, labels):
        if views.fit is None or not member.local:
            yield member


def _few(views: Views, labels: Labels) -> Iterator[Member]:
    """Ridge on features, on hops, on labels around the node, and on random units of them."""
    X = views.base
    yield Member("features", lambda nodes: np.hstack([X[nodes], np.maximum(X[nodes], 0.0)]), graph=False)
    if views.graph is None:
        return
    hops, near = views.hops(), views.hops(2)
    yield Member("hops", hops.__getitem__)
    rng = np.random.default_rng(0)
    yield Member("random units", np.hstack([hops, *_averaged(views, _units(near, UNITS, rng))]).__getitem__)
    if views.fit is not None or not _many_labels(labels):
        return
    seen = views.labels(labels)
    yield Member("hops, labels", np.hstack([hops, seen]).__getitem__, local=True)
    both = np.hstack([near, seen])
    for k in range(DRAWS):
        units = [*_averaged(views, _units(near, UNITS, rng)), _units(both, 3 * UNITS, rng)]
        yield Member(f"random units, labels {k + 1}", np.hstack([hops, seen, *units]).__getitem__, local=True)


def _units(columns: Array, count: int, rng: np.random.Generator) -> Array:
    """Random rectified units."""
    weights = rng.standard_normal((columns.shape[1], count)) / np.sqrt(columns.shape[1])
    return np.maximum(columns @ weights + rng.standard_normal(count), 0.0)


def _averaged(views: Views, units: Array) -> list[Array]:
    """Units, and their averages one and two steps away; units of labels would return the node's own label."""
    near = [walk @ units for walk in views.walks]
    return [units, *near, *(walk @ one for walk, one in zip(views.walks, near, strict=True))]


def _many(views: Views, labels: Labels) -> Iterator[Member]:
    """Ridge on the features, on PageRank of several strengths, on kernels of the neighbourhood, on labels around."""
    F = views.features
    yield Member("features", F.__getitem__, graph=False)
    if views.graph is None:
        yield kernel("features, kernel", [gaussian(F, views.fit.features if views.fit else F)], labels, graph=False)
        return
    filtered = views.pagerank(STRENGTHS)
    for s, P in zip(STRENGTHS, filtered, strict=True):
        yield Member(f"PageRank {s:g}", P.__getitem__, strength=s)
    if views.fit is not None:
        return
    rows, P = views.rows(), filtered[STRENGTHS.index(0.9)]
    yield kernel("PageRank 0.9, rows", [linear(view, view) for view in (P, *rows)], labels)
    around = (F, *views.steps(), *rows, views.degree_profile())
    yield kernel("neighbourhood kernel", [gaussian(view, view) for view in around], labels)
    if _many_labels(labels):
        yield Member("labels", views.labels(labels).__getitem__, local=True)


def _many_labels(labels: Labels) -> bool:
    return bool(labels.codes.size >= PER_CLASS * labels.classes.size)


Kernel = Callable[[Nodes, Nodes], Array]


def linear(view: Any, marked: Any) -> Kernel:
    """Scalar products of rows with those of landmarks, which may be nodes of another graph."""
    return lambda nodes, marks: dense(view[nodes] @ marked[marks].T)


def gaussian(view: Any, marked: Any) -> Kernel:
    r"""Kernel :math:`\exp(-|x - y|^2)`, for rows of unit mean square."""
    product = linear(view, marked)
    here, there = (np.asarray(squared(rows).sum(axis=1)).ravel() for rows in (view, marked))
    return lambda nodes, marks: np.exp(2.0 * product(nodes, marks) - here[nodes][:, None] - there[marks])


def kernel(name: str, kernels: list[Kernel], labels: Labels, *, graph: bool = True) -> Member:
    """Member on a mean of kernels, through at most `LANDMARKS` labelled nodes (Nyström): exact up to there."""
    marks = labels.labelled
    if marks.size > LANDMARKS:
        marks = np.sort(np.random.default_rng(0).choice(marks, LANDMARKS, replace=False))

    def mean(nodes: Nodes) -> Array:
        return sum((K(nodes, marks) for K in kernels[1:]), kernels[0](nodes, marks)) / len(kernels)

    K = mean(marks)
    root = cholesky(K + 1e-8 * np.trace(K) / len(K) * np.eye(len(K)), lower=True)
    return Member(name, lambda nodes: solve_triangular(root, mean(nodes).T, lower=True).T, graph, local=graph)


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
        Z, Y = member.columns(labels.labelled), targets(labels.codes, labels.classes.size)
        ridge, share = Ridge(Z, weights), weights / weights.sum()
        W = np.concatenate([Z.T @ ridge.dual(Y, reg) for reg in REG], axis=1)
        intercept = np.tile(share @ Y, len(REG)) - (share @ Z) @ W
        outputs = applied(member, W, intercept, nodes)
        left_out = ridge.left_out(Y, REG)
        kept = W if not member.local else W[:0]
        return cls(member.name, member.graph, member.local, member.strength, left_out, outputs, kept, intercept)


def applied(member: Member, weights: Array, intercept: Array, nodes: int) -> Array:
    """Outputs of a member on all nodes (regularizations by nodes by columns), in single precision."""
    found = np.empty((nodes, intercept.size), np.float32)
    for first in range(0, nodes, BLOCK):
        some = np.arange(first, min(first + BLOCK, nodes))
        found[some] = member.columns(some) @ weights + intercept
    return np.moveaxis(found.reshape(nodes, len(REG), -1), 0, 1)
