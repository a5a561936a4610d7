"""Matrices of numbers of the nodes that are too large to be held: only some rows, and products, are computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import iadd
from typing import Any

import numpy as np
from scipy.linalg import cholesky

from gcnlimit._values import Array
from gcnlimit.graphs.check import dense, squared

BLOCK = 4096  # rows that are computed at once


def by_blocks(columns: Any, W: Array) -> Array:
    """Product of all nodes with a matrix, some nodes at a time."""
    total = np.empty((columns.shape[0], W.shape[1]), W.dtype)
    for first in range(0, len(total), BLOCK):
        total[first : first + BLOCK] = columns[first : first + BLOCK] @ W
    return total


@dataclass(frozen=True, eq=False)
class Beside:
    """Blocks of columns side by side, dense, sparse or of this module; they are put together for some rows only.

    >>> both = Beside([np.eye(2), np.ones((2, 1))])
    >>> both[[1]], both @ np.ones((3, 1))
    (array([[0., 1., 1.]]), array([[2.],
           [2.]]))
    """

    blocks: list[Any]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.blocks[0].shape[0], sum(block.shape[1] for block in self.blocks)

    def __getitem__(self, nodes: Any) -> Any:
        return np.hstack([dense(block[nodes]) for block in self.blocks])

    def __matmul__(self, W: Array) -> Array:
        ends = np.cumsum([block.shape[1] for block in self.blocks])[:-1]
        parts = zip(self.blocks, np.split(W, ends), strict=True)
        return np.asarray(reduce(iadd, (block @ part for block, part in parts)))


@dataclass(frozen=True, eq=False)
class Units:
    """Random rectified units of columns, computed when they are asked for."""

    columns: Beside
    weights: Array
    shift: Array

    @classmethod
    def of(cls, columns: Beside, count: int, rng: np.random.Generator) -> Units:
        """Some units, drawn at random; each sees some columns, from one to all, for what few columns tell together."""
        dtype = columns.blocks[0].dtype
        width = columns.shape[1]
        most = np.exp(rng.random(count) * np.log(width + 1)).astype(int)
        seen = rng.random((width, count)).argsort(axis=0).argsort(axis=0) < most
        weights = seen * rng.standard_normal((width, count)) / np.sqrt(most)
        return cls(columns, weights.astype(dtype), rng.standard_normal(count).astype(dtype))

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and units."""
        return self.columns.shape[0], self.shift.size

    def __getitem__(self, nodes: Any) -> Any:
        if np.size(nodes) > BLOCK:  # whose columns are not held all at once
            return np.vstack([self[nodes[k : k + BLOCK]] for k in range(0, len(nodes), BLOCK)])
        units = Beside([block[nodes] for block in self.columns.blocks]) @ self.weights
        units += self.shift
        return np.maximum(units, 0.0, out=units)

    __matmul__ = by_blocks


@dataclass(frozen=True, eq=False)
class Averaged:
    """Units, and their averages one and two steps away by each of some walks."""

    units: Units
    walks: list[Any]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        nodes, count = self.units.shape
        return nodes, (1 + 2 * len(self.walks)) * count

    def __getitem__(self, nodes: Any) -> Any:
        parts = [self.units[nodes]]
        for walk in self.walks:
            first = walk[nodes]
            # two steps from few nodes are the cheaper product
            few = first.nnz**2 < walk.nnz * first.shape[0]
            steps = [first, first @ walk if few else walk]
            reached = np.flatnonzero(np.bincount(np.hstack([step.indices for step in steps])))
            units = self.units[reached]
            near, far = (step[:, reached] @ units for step in steps)
            parts += [near, far if few else first @ far]
        return np.hstack(parts)

    def __matmul__(self, W: Array) -> Array:
        # averages of outputs are fewer than averages of units, which are computed once
        parts = np.split(W, 1 + 2 * len(self.walks))
        total, *rest = np.hsplit(self.units @ np.hstack(parts), len(parts))
        for walk, first, second in zip(self.walks, rest[::2], rest[1::2], strict=True):
            total = total + walk @ (first + walk @ second)
        return total


@dataclass(frozen=True, eq=False)
class Kernel:
    """Mean :math:`k` of a kernel over several views, with the rows of landmarks; or :math:`(1 + k)^2`, for `pairs` of columns."""

    form: Callable[[Any, Any], Array]
    views: list[Any]
    marks: list[Any]
    pairs: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and landmarks."""
        return self.views[0].shape[0], self.marks[0].shape[0]

    def __getitem__(self, nodes: Any) -> Any:
        return self._mean([view[nodes] for view in self.views], self.marks)

    __matmul__ = by_blocks

    def root(self) -> Array:
        """Lower triangle :math:`L` of :math:`LL^T`, the kernel of the landmarks.

        In double precision products of any rows are positive up to a rounding far below what is added to the diagonal.
        """
        marks = [mark.astype(float) for mark in self.marks]
        K = self._mean(marks, marks)
        least = 1e-8 * np.trace(K) / len(K) or 1.0
        return np.asarray(cholesky(K + least * np.eye(len(K)), lower=True))

    def _mean(self, rows: list[Any], marks: list[Any]) -> Array:
        kernels = (self.form(row, mark) for row, mark in zip(rows, marks, strict=True))
        mean = np.asarray(sum(kernels) / len(marks))
        return (1.0 + mean) ** 2 if self.pairs else mean


def linear(rows: Any, marks: Any) -> Array:
    """Scalar products of rows with those of landmarks."""
    return np.asarray(dense(rows @ marks.T))


def gaussian(rows: Any, marks: Any) -> Array:
    r"""Kernel :math:`\exp(-|x - y|^2)`, for rows of unit mean square."""
    sizes, mark_sizes = (np.asarray(squared(x).sum(axis=1)).ravel() for x in (rows, marks))
    kernel = linear(rows, marks)  # in place from here: it is the largest array
    kernel *= 2.0
    kernel -= sizes[:, None]
    kernel -= mark_sizes
    return np.exp(kernel, out=kernel)
