"""The bank: the ridge regressions that `GraphClassifier` averages, each on one view of the nodes or several."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from scipy.linalg import cholesky, solve_triangular

from gcnlimit._values import Array
from gcnlimit.graphs.check import dense, squared
from gcnlimit.graphs.labels import Labels
from gcnlimit.real.leave_one_out import (
    LARGE,
    IteratedRidge,
    Ridge,
    correct,
    sharpened,
    soft_weights,
    targets,
)
from gcnlimit.real.views import Views

Nodes = npt.NDArray[np.int64]
STRENGTHS = (-0.95, -0.6, -0.3, 0.5, 0.8, 0.9, 0.95)
LANDMARKS = 1000  # of a kernel; with more labels, sums of products are iterated on all of them
UNITS = 100  # random, of a member for few features
DRAWS = 3  # such members
REG = np.array([0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0])
ITERATED = REG[2:]  # what is less takes many steps
BLOCK = 4096  # nodes whose outputs are computed at once
PER_CLASS = 20  # labelled nodes for each class from which labels are an input
PER_COLUMN = 20  # labelled nodes for each feature from which hops and random units have members
NARROW = 100  # features above which they are many: the cost grows as the cube of the columns


class Columns(Protocol):
    """Numbers of the nodes that a member learns from: a matrix whose rows are asked for, or multiplied, only."""

    @property
    def shape(self) -> tuple[int, int]:
        """Nodes by columns."""
        ...

    def __getitem__(self, nodes: Nodes, /) -> Any:
        """Rows of some nodes."""
        ...

    def __matmul__(self, W: Array, /) -> Any:
        """Product of all nodes with a matrix."""
        ...


class Beside(NamedTuple):
    """Blocks of columns side by side, which are put together for some nodes only."""

    blocks: list[Any]

    @property
    def shape(self) -> tuple[int, int]:
        """Nodes by columns."""
        return self.blocks[0].shape[0], sum(block.shape[1] for block in self.blocks)

    def __getitem__(self, nodes: Any) -> Any:
        return np.hstack([dense(block[nodes]) for block in self.blocks])

    def __matmul__(self, W: Array) -> Array:
        ends = np.cumsum([block.shape[1] for block in self.blocks])[:-1]
        parts = zip(self.blocks, np.split(W, ends), strict=True)
        return np.asarray(sum(block @ part for block, part in parts))


class Units(NamedTuple):
    """Random rectified units of columns, computed when they are asked for."""

    columns: Beside
    weights: Array
    shift: Array

    @classmethod
    def of(cls, columns: Beside, count: int, draw: int) -> Units:
        """Some units, always the same of one `draw`."""
        rng = np.random.default_rng(draw)
        dtype = columns.blocks[0].dtype
        width = columns.shape[1]
        weights = rng.standard_normal((width, count)) / np.sqrt(width)
        return cls(columns, weights.astype(dtype), rng.standard_normal(count).astype(dtype))

    @property
    def shape(self) -> tuple[int, int]:
        """Nodes by units."""
        return self.columns.shape[0], self.shift.size

    def __getitem__(self, nodes: Any) -> Any:
        blocks = Beside([block[nodes] for block in self.columns.blocks])
        return np.maximum(blocks @ self.weights + self.shift, 0.0)

    def __matmul__(self, W: Array) -> Array:
        return by_blocks(self, W)


class Averaged(NamedTuple):
    """Units averaged one and two steps away in each direction; those of labels would return the node's own label."""

    units: Units
    walks: list[Any]

    @property
    def shape(self) -> tuple[int, int]:
        """Nodes by averages."""
        nodes, count = self.units.shape
        return nodes, 2 * count * len(self.walks)

    def __getitem__(self, nodes: Any) -> Any:
        units = self.units[:]
        parts = []
        for walk in self.walks:
            first = walk[nodes]
            # two steps from few nodes are the cheaper product
            few = first.nnz**2 < walk.nnz * first.shape[0]
            parts += [first @ units, (first @ walk) @ units if few else first @ (walk @ units)]
        return np.hstack(parts)

    def __matmul__(self, W: Array) -> Array:
        # averages of outputs are fewer than averages of units
        parts = np.split(W, 2 * len(self.walks))
        pairs = zip(self.walks, parts[::2], parts[1::2], strict=True)
        return np.asarray(
            sum(walk @ (self.units @ one + walk @ (self.units @ two)) for walk, one, two in pairs)
        )


class Kernel(NamedTuple):
    """Mean of a kernel over several views, with the rows of landmarks."""

    form: Callable[[Any, Any], Array]
    views: list[Any]
    marks: list[Any]

    @property
    def shape(self) -> tuple[int, int]:
        """Nodes by landmarks."""
        return self.views[0].shape[0], self.marks[0].shape[0]

    def __getitem__(self, nodes: Any) -> Any:
        return self._mean([view[nodes] for view in self.views], self.marks)

    def __matmul__(self, W: Array) -> Array:
        return by_blocks(self, W)

    def root(self) -> Array:
        """Lower triangle :math:`L` of :math:`LL^T`, the kernel of the landmarks.

        In double precision products of any rows are positive up to a rounding far below what is added to the diagonal.
        """
        marks = [mark.astype(float) for mark in self.marks]
        K = self._mean(marks, marks)
        least = 1e-8 * np.trace(K) / len(K) or 1.0
        return np.asarray(cholesky(K + least * np.eye(len(K)), lower=True))

    def _mean(self, rows: list[Any], marks: list[Any]) -> Array:
        kernels = (self.form(here, there) for here, there in zip(rows, marks, strict=True))
        return np.asarray(sum(kernels) / len(marks))


def by_blocks(columns: Columns, W: Array) -> Array:
    """Product of all nodes with a matrix, some nodes at a time."""
    total = np.empty((columns.shape[0], W.shape[1]), W.dtype)
    for first in range(0, len(total), BLOCK):
        some = np.arange(first, min(first + BLOCK, len(total)))
        total[some] = columns[some] @ W
    return total


class Member(NamedTuple):
    """One regression of the bank."""

    name: str
    columns: Columns
    graph: bool = True  # whether it uses the graph
    local: bool = False  # whether it knows nodes by name, so that it has no answer on another graph
    strength: float | None = None  # of a PageRank filter
    iterated: bool = False  # whether it is solved by products with sparse columns


def members(views: Views, labels: Labels, wanted: Container[str] | None = None) -> Iterator[Member]:
    """The bank of a fit, or the members wanted of it; on another graph, those that do not know nodes by name."""
    width = views.X.shape[1]
    few = width <= NARROW and PER_COLUMN * width <= labels.codes.size
    bank = _few if few else _many
    return bank(views, labels, lambda *names: wanted is None or any(n in wanted for n in names))


def _few(views: Views, labels: Labels, want: Callable[..., bool]) -> Iterator[Member]:
    """Ridge on features, on hops, on labels around the node, and on random units of them."""
    if want("features"):
        yield Member("features", Beside([views.base, np.maximum(views.base, 0.0)]), graph=False)
    mixed = [f"random units, labels {k + 1}" for k in range(DRAWS)]
    if views.graph is None or not want("hops", "random units", "hops, labels", *mixed):
        return
    steps = views.hops()
    hops = [block for blocks in steps for block in blocks]
    near = [block for blocks in steps[:3] for block in blocks]

    def averaged(draw: int) -> list[Any]:
        units = Units.of(Beside(near), UNITS, draw)
        return [units, Averaged(units, views.walks)]

    yield Member("hops", Beside(hops))
    yield Member("random units", Beside([*hops, *averaged(0)]))
    enough = labels.codes.size >= PER_CLASS * labels.classes.size
    if views.elsewhere or not (enough and want("hops, labels", *mixed)):
        return
    seen = views.labels(labels)
    yield Member("hops, labels", Beside([*hops, seen]), local=True)
    for k, name in enumerate(mixed if Beside(hops).shape[1] <= LANDMARKS else mixed[:1], 1):
        both = Units.of(Beside([*near, seen]), 3 * UNITS, DRAWS + k)
        yield Member(name, Beside([*hops, seen, *averaged(k), both]), local=True)


def _many(views: Views, labels: Labels, want: Callable[..., bool]) -> Iterator[Member]:
    """Ridge on the features, on PageRank of several strengths, on kernels of the neighbourhood, on labels around."""
    F = views.features
    yield Member("features", Beside([F]), graph=False)
    if views.graph is None:
        marks = views.kept("landmarks", lambda: F[landmarks(labels)])
        yield Member("features, kernel", Kernel(gaussian, [F], [marks]), graph=False)
        return
    smoothed = "PageRank 0.9, rows"
    strengths = [s for s in STRENGTHS if want(f"PageRank {s:g}") or (s == 0.9 and want(smoothed))]
    filtered = dict(zip(strengths, views.pagerank(strengths), strict=True))
    smooth = filtered.get(0.9)
    while filtered:
        s, P = filtered.popitem()
        yield Member(f"PageRank {s:g}", Beside([P]), strength=s)
        del P  # before the next view is computed
    if views.elsewhere:
        return
    rows = views.rows()
    if want("features, rows"):
        yield products("features, rows", [F, *rows], [views.X, *rows], labels)
    if want(smoothed):
        yield products(smoothed, [smooth, *rows], [smooth, *rows], labels)
    del smooth
    if want("neighbourhood kernel"):
        around = [F, *views.steps(), *rows, views.degree_profile()]
        marked = [view[landmarks(labels)] for view in around]
        yield Member("neighbourhood kernel", Kernel(gaussian, around, marked), local=True)
        del around, marked
    enough = labels.codes.size >= PER_CLASS * labels.classes.size
    if enough and want("labels", "random units, labels"):
        seen = views.labels(labels)
        yield Member("labels", Beside([seen]), local=True)
        if labels.codes.size >= PER_COLUMN * F.shape[1]:
            near = [block for blocks in views.hops(2) for block in blocks]
            units = Units.of(Beside([*near, seen]), 3 * UNITS, 0)
            yield Member("random units, labels", Beside([*near, seen, units]), local=True)


def landmarks(labels: Labels) -> Nodes:
    """Labelled nodes, at most `LANDMARKS` of them, through which a kernel is computed (Nyström): it is exact up to there."""
    nodes = labels.labelled
    if nodes.size <= LANDMARKS:
        return nodes
    return np.sort(np.random.default_rng(0).choice(nodes, LANDMARKS, replace=False))


def products(name: str, views: list[Any], sparse: list[Any], labels: Labels) -> Member:
    """Member on several views side by side: through their products with all labelled nodes or, for many of these, iterated."""
    if labels.labelled.size > LANDMARKS:
        return Member(name, Beside(sparse), local=True, iterated=True)
    marks = [view[labels.labelled] for view in views]
    return Member(name, Kernel(linear, views, marks), local=True)


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


class Fitted(NamedTuple):
    """A member at the regularizations that may count: leave-one-out outputs and losses, and its coefficients."""

    name: str
    graph: bool
    local: bool
    strength: float | None
    left_out: Array
    sharpness: Array
    losses: Array
    accuracy: float  # by leave-one-out, at the best regularization
    right: npt.NDArray[np.bool_]  # whether it is, for each labelled node
    weights: Array
    intercept: Array

    @classmethod
    def of(cls, member: Member, labels: Labels, weights: Array) -> Fitted:
        """Ridge regression on the labelled nodes, at each regularization of the bank.

        Those that are worse than another of the same member, beyond doubt, are left out.
        """
        nodes = labels.labelled
        dtype = np.float64 if nodes.size <= LARGE else np.float32
        Y = targets(labels.codes, labels.classes.size).astype(dtype)
        columns = member.columns
        root = columns.root() if isinstance(columns, Kernel) else None
        reg = ITERATED if member.iterated else REG
        ridge: Ridge | IteratedRidge
        if member.iterated and isinstance(columns, Beside):
            ridge = IteratedRidge([block[nodes] for block in columns.blocks], weights)
        else:
            Z = columns[nodes].astype(dtype, copy=False)
            ridge = Ridge(Z if root is None else _over(Z, root), weights)
        left_out, dual = ridge.solve(Y, reg)
        share = weights / weights.sum()
        sharpness, losses = sharpened(left_out, labels.codes, share)
        hits = correct(left_out, labels.codes)
        best = int((hits @ share).argmax())
        kept = soft_weights(losses, share, np.ones(len(reg))) > 0.0
        # the regularizations side by side, so that a product serves all of them
        W, intercept = ridge.linear(np.tile(Y, kept.sum()), np.hstack([*dual[kept]]))
        if root is not None:
            W = solve_triangular(root, W, lower=True, trans="T")
        numbers = (left_out[kept], sharpness[kept], losses[kept])
        if not all(np.isfinite(part).all() for part in (*numbers, W)):
            raise FloatingPointError("it is not finite")
        about = (member.name, member.graph, member.local, member.strength)
        return cls(*about, *numbers, float(share @ hits[best]), hits[best], W, intercept)

    def outputs(self, columns: Columns, use: npt.NDArray[np.bool_]) -> Array:
        """Outputs at the regularizations to use, on all nodes of some graph (regularizations by nodes by classes)."""
        shape = (len(self.weights), len(self.sharpness), -1)
        W = self.weights.reshape(shape)[:, use]
        dtype = np.float64 if columns.shape[0] <= LARGE else np.float32
        found = columns @ W.reshape(len(W), -1).astype(dtype)
        found += self.intercept.reshape(shape[1:])[use].ravel().astype(found.dtype)
        return np.moveaxis(found.reshape(len(found), int(use.sum()), -1), 1, 0)


def _over(Z: Array, root: Array) -> Array:
    """Rows times the inverse of the transpose of a triangle, solved in double precision and in place."""
    for first in range(0, len(Z), BLOCK):
        part = Z[first : first + BLOCK]
        part[:] = solve_triangular(root, part.T.astype(float), lower=True).T
    return Z
