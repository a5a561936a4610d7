r"""Finite regularization of PageRank on a directed graph: averages in closed form (Eqs. 3.29 and 3.30).

With :math:`B = 1 - \theta a` the filter is :math:`g = B^{-1}`, so that :math:`\mathcal W = (s + B^TB)^{-1}` and
:math:`\mathcal U = \mathcal W B^T`: one layer and its resolvent, in place of the many layers of the geometric series.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from gcnlimit._values import Array, Integers
from gcnlimit.theory.finite_reg.equations import Equations, Pulls, Transforms
from gcnlimit.theory.finite_reg.solution import FollowedSolution
from gcnlimit.theory.points import Points

_COST = 64  # numbers that the search keeps for a point
_NEWTON = 60  # steps at most; near the pole the first ones only halve the distance


def pagerank_transforms(theta: Array, signal: Array, s: Array) -> Transforms:
    r"""Averages of :math:`\mathcal U` and :math:`\mathcal W` (Eq. 3.30) for the filter of gain 1, every sum of positive terms.

    The resolvent of the noise gives :math:`\tau(\mathcal W)`, the Sherman-Morrison formula for the spike
    :math:`e(\mathcal W)` and :math:`e(\mathcal U)`; the second moments are derivatives of these in :math:`s`.

    >>> graph = pagerank_transforms(np.array([0.6]), np.array([0.5]), np.array([0.0]))
    >>> graph.W.round(12), (graph.U * (1 - 0.3)).round(12)  # the gain of the filter is 1 / 0.8
    (array([1.]), array([0.8]))
    """
    # the formulas are those of the plain series, whose squared gain is 1/unit
    unit = 1.0 - theta**2
    root = np.sqrt(unit)
    s = s * unit
    y = _root(theta**2, s)  # x - 1
    x = 1.0 + y
    left = 1.0 - theta * signal
    k = left**2
    bulk = 1.0 + s * x**2
    labels = k + s * x**2
    more = s * x**2 * y
    slope = bulk + 2.0 * more
    return Transforms(
        W=unit * x / bulk,
        UU=unit * x * (1.0 + s * x**3 + s * x**2 * more) / (slope * bulk**2),
        WW_bulk=unit**2 * x**2 * y * (1.0 + x + more) / (slope * bulk**2),
        stretch=bulk / (1.0 + s * x * y),
        U=root * left / labels,
        excess=unit * x * theta * signal * (2.0 - theta * signal) / (labels * bulk),
        UU_across=unit * y * (k * (1.0 + more) + s**2 * x**5) / (slope * labels**2),
        UW_across=unit * root * left * x * y * (1.0 - s * x**2) / (slope * labels**2),
        WW_across=unit**2 * x**2 * y * (1.0 + k * x + more) / (slope * labels**2),
    )


def _root(square: Array, s: Array) -> Array:
    r"""Solve :math:`y\,[1 + s (1+y)^2] = \theta^2 (1 + y)` by Newton's method: the function is convex, no bounds are needed."""
    # without the square of x the root is above the true one; from there one step of iteration
    x = 1.0 + square / (1.0 + s - square)
    y = square * x / (1.0 + s * x**2)
    for _ in range(_NEWTON):
        x = 1.0 + y
        step = (y * (1.0 + s * x**2) - square * x) / (1.0 + s * x * (x + 2.0 * y) - square)
        y = y - step
        if np.all(np.abs(step) <= 1e-9 * y):  # which leaves the square of this
            break
    return y


@dataclass(frozen=True, eq=False)
class PageRankEquations(Equations):
    r"""The equations for a batch of points; `theta` and `signal` give the averages, for a filter divided by its gain."""

    theta: Array
    signal: Array

    @classmethod
    def of(cls, points: Points) -> Self:
        """Prepare the equations of the points."""
        theta = points.filter.values
        gain = points.units(1.0 / np.sqrt(1.0 - theta**2))
        spike = 1.0 / (1.0 - theta * points.signal) ** 2
        return cls(**cls.common(points, gain, spike), theta=theta, signal=points.signal)

    def respond(self, pulls: Pulls, rest: Array) -> tuple[Transforms, Array]:
        return pagerank_transforms(self.theta, self.signal, pulls.product), rest


@dataclass(frozen=True, eq=False)
class PageRankSolution(FollowedSolution):
    """Solution for PageRank on a directed graph."""

    equations: PageRankEquations

    @staticmethod
    def cost(points: Points) -> Integers:
        return np.full(points.size, _COST)

    @staticmethod
    def prepare(points: Points) -> PageRankEquations:
        return PageRankEquations.of(points)
