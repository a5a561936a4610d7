"""The bank: the ridge regressions that `GraphClassifier` averages, each on one view of the nodes or several."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from gcnlimit._values import Array, Integers, Mask
from gcnlimit.graphs.labels import Labels
from gcnlimit.graphs.lazy import BLOCK, Averaged, Beside, Kernel, Units, gaussian, linear
from gcnlimit.graphs.scaling import NUMBERS
from gcnlimit.numerics.leave_one_out import correct, made_up, sharpened, soft_weights, targets
from gcnlimit.numerics.ridge import LARGE, Blocks, KernelRidge, Outputs, Ridge
from gcnlimit.real.views import Views

STRENGTHS = (-0.95, -0.6, -0.3, 0.5, 0.8, 0.9, 0.95)
HELD = 50_000  # nodes up to which all columns are held in memory at once
LANDMARKS = 1000  # of a kernel that is not computed between all labelled nodes
RARE = 0.5  # prior weight of a negative strength: most graphs join nodes that are alike
LEADING = 1000  # labels up to which directions of large variance come first in some members
UNITS = 100  # random, of a member for few features
DRAWS = 3  # such members
REG = np.array([0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0])
SMOOTHED = "PageRank 0.9, rows"
AROUND = "neighbourhood kernel"
PAIRS = ("PageRank 0.9, pairs of features", "PageRank 0.9, pairs of rows")
PER_CLASS = 20  # labelled nodes for each class from which labels are an input
PER_COLUMN = 20  # labelled nodes for each feature from which hops and random units have members
FOREST = 10  # labelled nodes from which trees are grown
LEAK = 0.25  # share of labels of chance that others tell beyond the largest class, at most
NARROW = 100  # features above which they are many: the cost grows as the cube of the columns


class Member(NamedTuple):
    """One regression of the bank."""

    name: str
    graph: bool = True  # whether it uses the graph
    local: bool = False  # whether it knows nodes by name, so that it has no answer on another graph
    strength: float | None = None  # of a PageRank filter
    exact: bool = False  # whether it uses all labelled nodes, and sparse columns as they are
    prior: float = 1.0  # weight of each of its regularizations before any label
    learnt: bool = False  # whether its columns are probabilities, without regularizations


TREES = Member("forest", graph=False, prior=4.0 * len(REG), learnt=True)  # most others are alike
Columns = Beside | Kernel
LEAST = {Beside: 3, Kernel: 2}  # what is less than this `REG` takes many steps with many labels
Members = Iterable[tuple[Member, Columns]]
Bank = list[tuple[Member, Any]]  # members and their columns
Mixture = dict[str, Array]  # weight of each member of the average, at each of its regularizations


def members(
    views: Views, labels: Labels, told: bool, wanted: Container[str] | None = None
) -> Members:
    """The bank of a fit, or the members wanted of it, with their columns; on another graph, those that know no node by name."""
    few = not told and _few_columns(views, labels)
    each = _few if few else partial(_many, told=told)
    bank = each(views, labels, lambda *names: wanted is None or any(n in wanted for n in names))
    return list(bank) if few or views.nodes <= HELD else bank  # or columns are made again


def _few_columns(views: Views, labels: Labels) -> bool:
    """Whether many labels for each of few columns can learn functions of them that are not linear."""
    return bool(views.X.shape[1] <= min(NARROW, labels.index.size // PER_COLUMN))


def _few(views: Views, labels: Labels, want: Callable[..., bool]) -> Members:
    """Ridge on features, on hops, on labels around the node, and on random units of them."""
    rng = np.random.default_rng(0)
    alone = [views.base, np.maximum(views.base, 0.0)]
    units = Units.of(Beside([views.base]), 3 * UNITS, rng)
    yield Member("features", graph=False), Beside(alone)
    yield Member("features, random units", graph=False), Beside([*alone, units])
    forest = views.forest(labels)
    yield TREES, Beside([forest])
    if views.graph is None or not want("hops", "random units"):
        return
    steps = views.once("hops", views.hops)
    rows = views.kept("rows", lambda: len(np.unique(views.base[labels.labelled], axis=0)))
    trees = [forest] if 2 * rows > labels.index.size else []  # of equal rows they tell the class
    hops = [*(block for blocks in steps for block in blocks), *trees]
    near = [block for blocks in steps[:3] for block in blocks]

    def averaged() -> Averaged:  # averages of labels would return a node's own
        return Averaged(Units.of(Beside(near), UNITS, rng), views.walks)

    yield Member("hops"), Beside(hops)
    yield Member("random units"), Beside([*hops, averaged()])
    if views.elsewhere or labels.index.size < PER_CLASS * labels.classes.size:
        return
    seen = views.once("labels", lambda: views.labels(labels))
    yield Member("labels", local=True), Beside([seen])
    yield Member("hops, labels", local=True), Beside([*hops, seen])
    for k in range(DRAWS if Beside(hops).shape[1] <= LANDMARKS else 1):
        blocks = [*hops, seen, averaged(), Units.of(Beside([*near, seen]), 3 * UNITS, rng)]
        yield Member(f"random units, labels {k + 1}", local=True), Beside(blocks)


def _many(views: Views, labels: Labels, want: Callable[..., bool], told: bool) -> Members:
    """Ridge on the features, on PageRank of several strengths, on kernels of the neighbourhood, on labels around."""
    F = views.features
    yield Member("features", graph=False), Beside([F])
    about = [F, views.lengths()] if views.unit else [F]
    marks = views.kept("landmarks", lambda: [view[landmarks(views, labels)] for view in about])
    yield Member("features, kernel", graph=False), Kernel(gaussian, about, marks)
    if views.X.shape[1] <= NARROW and labels.index.size >= FOREST:
        yield TREES, Beside([views.forest(labels)])
    if views.graph is None:
        return
    few = labels.index.size <= LEADING
    names = {s: (f"PageRank {s:g}", f"PageRank {s:g}, leading") for s in STRENGTHS}
    # one pass over the graph serves all strengths, also one that only another member needs
    strengths = [s for s in STRENGTHS if want(*names[s]) or (s == 0.9 and want(SMOOTHED))]
    filtered = dict(zip(strengths, views.pagerank(strengths), strict=True))
    smooth = filtered.get(0.9)
    for s in strengths:  # none is held longer than it is used
        (name, leading), view, prior = names[s], filtered.pop(s), RARE if s < 0 else 1.0
        yield Member(name, strength=s, prior=prior), Beside([view])
        if few and want(leading):
            yield Member(leading, strength=s, prior=prior), Beside([views.leading(name, view)])
    if views.elsewhere:
        return
    # rows of the adjacency say whom a node is joined to, by name: they exist on this graph alone
    rows = views.rows()
    yield Member("features, rows", local=True, exact=True), Beside([views.X, *rows])
    if want(SMOOTHED):
        yield Member(SMOOTHED, local=True, exact=True), Beside([smooth, *rows])
    del smooth
    if want(AROUND):
        around = [F, *views.steps(), *rows, views.degree_profile()]
        marked = [view[landmarks(views, labels)] for view in around]
        yield Member(AROUND, local=True), Kernel(gaussian, around, marked)
        del around, marked
    enough = labels.index.size >= PER_CLASS * labels.classes.size and not told
    if not enough and views.nodes * labels.index.size <= NUMBERS:
        close = Beside([views.proximity(labels.labelled)])
        yield Member("near labels", local=True, exact=True), close
    if enough and want("labels", "random units, labels"):
        seen = views.once("labels", lambda: views.labels(labels))
        yield Member("labels", local=True), Beside([seen])
        if labels.index.size >= PER_COLUMN * F.shape[1]:
            near = [block for blocks in views.hops(2) for block in blocks]
            units = Units.of(Beside([*near, seen]), 3 * UNITS, np.random.default_rng(0))
            yield Member("random units, labels", local=True), Beside([*near, seen, units])


def told_by_others(views: Views, labels: Labels) -> bool:
    """Whether the labels around a node tell its own, as the one that is missing: leave-one-out then finds labels of chance.

    So it is where nodes see the same labels, each all but its own: among leaves of a hub, or nearest neighbours of few features.
    """
    count = labels.index.size
    if views.graph is None or count < PER_CLASS * labels.classes.size:
        return False
    rng = np.random.default_rng(0)
    steps = views.once("hops", views.hops) if _few_columns(views, labels) else []
    most = labels.counts.max() / count
    surely = max(LEAK * (1.0 - most), 4.0 * np.sqrt(most * (1.0 - most) / count))
    for _ in range(4):  # few labels of chance may be hard to find where others would be found
        chance = Labels(labels.classes, labels.labelled, rng.permutation(labels.index))
        columns = [*(block for blocks in steps for block in blocks), views.labels(chance)]
        units = Units.of(Beside(columns), 3 * UNITS, rng)
        found = Fitted.of(Member("labels"), Beside([*columns, units]), chance, np.ones(count))
        if not 0.4 * surely < found.accuracy - most <= surely:
            break
    return bool(found.accuracy - most > surely)


def landmarks(views: Views, labels: Labels) -> Integers:
    """Nodes through which a kernel is computed (Nyström): all labelled ones up to `LANDMARKS`, where it is exact.

    Of more they are drawn among all nodes: a landmark is seen more sharply than others, so labelled ones would promise too much.
    """
    if labels.labelled.size <= LANDMARKS:
        return labels.labelled
    drawn = np.random.default_rng(0).choice(views.nodes, LANDMARKS, replace=False)
    return np.sort(np.argsort(views.colours, kind="stable")[drawn])


def on_pairs(views: Views, labels: Labels, bank: Bank, weights: Mixture) -> Members:
    """Member on pairs of columns: of PageRank and features or, where rows of the graph say the most, of these and their means."""
    share = sum(w.sum() for name, w in weights.items() if name.endswith((", rows", AROUND)))
    by_rows = bool(share > 0.5)
    for smooth, *rows in [columns.blocks for member, columns in bank if member.name == SMOOTHED]:
        each = [smooth, *rows, *views.rows_around()] if by_rows else [smooth, views.features]
        own = [view[labels.labelled] for view in each]
        yield Member(PAIRS[by_rows], local=True, exact=True), Kernel(linear, each, own, pairs=True)


class Fitted(NamedTuple):
    """A member at the regularizations that may count: leave-one-out outputs and losses, and its coefficients."""

    member: Member
    left_out: Array
    sharpness: Array
    losses: Array
    accuracy: float  # by leave-one-out, at the best regularization
    right: Mask  # whether it is, for each labelled node
    weights: Array
    intercept: Array

    @classmethod
    def of(cls, member: Member, columns: Columns, labels: Labels, weights: Array) -> Fitted:
        """Ridge regression on the labelled nodes, at each regularization that is not worse than another beyond doubt."""
        nodes = labels.labelled
        dtype: Any = np.float64 if nodes.size <= LARGE else np.float32
        Y: Any = targets(labels.index, labels.classes.size).astype(dtype)
        reg = REG[LEAST[type(columns)] :] if member.exact and nodes.size > LARGE else REG
        share = weights / weights.sum()
        root = None
        ridge: Ridge | Outputs
        if member.exact:
            beside = isinstance(columns, Beside) and [block[nodes] for block in columns.blocks]
            ridge = KernelRidge(Blocks(beside, share) if beside else columns[nodes], weights)
        else:
            Z = columns[nodes].astype(dtype, copy=False)
            _check_finite(Z)
            if isinstance(columns, Kernel):
                # columns with the products of the kernel: their ridge regression is its own
                root = columns.root()
                for first in range(0, len(Z), BLOCK):  # in double precision and in place
                    some = slice(first, first + BLOCK)
                    Z[some] = solve_triangular(root, Z[some].T.astype(float), lower=True).T
            ridge = Outputs(Z) if member.learnt else Ridge(Z, weights)
        left_out, dual = ridge.solve(Y, reg)
        full = made_up(left_out, labels.index, labels.classes.size).astype(dtype)
        # weighed without the label made up: what says nothing, wrong on every node, counts less
        sharpness, losses = sharpened(left_out.astype(dtype), labels.index, share)
        hits = correct(full, labels.index)
        best = int((hits @ share).argmax())
        kept = soft_weights(losses, share, np.ones(len(losses))) > 0.0
        W, intercept = ridge.linear(np.tile(Y, kept.sum()), np.hstack([*dual[kept]]))
        if root is not None:
            W = solve_triangular(root, W, lower=True, trans="T")
        numbers = (full[kept], sharpness[kept], losses[kept])
        _check_finite(*numbers, W)
        return cls(member, *numbers, float(share @ hits[best]), hits[best], W, intercept)

    def outputs(self, columns: Columns, use: Mask) -> Array:
        """Outputs at the regularizations to use, on all nodes of some graph (regularizations by nodes by classes)."""
        shape = (len(self.weights), len(self.sharpness), -1)
        W = self.weights.reshape(shape)[:, use]
        dtype: Any = np.float64 if columns.shape[0] <= LARGE else np.float32
        outputs = columns @ W.reshape(len(W), -1).astype(dtype)
        outputs += self.intercept.reshape(shape[1:])[use].ravel().astype(outputs.dtype)
        return np.moveaxis(outputs.reshape(len(outputs), int(use.sum()), -1), 1, 0)


def _check_finite(*parts: Array) -> None:
    if not all(np.isfinite(part).all() for part in parts):
        raise FloatingPointError("its numbers are not finite")
