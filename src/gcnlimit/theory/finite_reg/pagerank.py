r"""Finite regularization of PageRank on a directed graph: averages in closed form (Eqs. 3.29 and 3.30).

With :math:`B = 1 - \theta a` the filter is :math:`g = B^{-1}`, so that :math:`\mathcal W = (s + B^TB)^{-1}` and
:math:`\mathcal U = \mathcal W B^T`: one layer and its resolvent, in place of the many layers of the geometric series.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.filters import Chain, PageRank
from gcnlimit.theory.finite_reg.equations import Equations, Pulls, Transforms
from gcnlimit.theory.finite_reg.solution import FollowedSolution
from gcnlimit.theory.points import Points

_NEWTON = 60  # steps at most; they fall monotonically to the root
_COST = 64  # numbers that the search keeps for a point


def pagerank_transforms(theta: Array, signal: Array, s: Array) -> Transforms:
    r"""Averages of :math:`\mathcal U` and :math:`\mathcal W` at :math:`s` (Eq. 3.30), every sum of positive terms.

    The resolvent of the noise gives :math:`\tau(\mathcal W)`, the Sherman-Morrison formula for the spike :math:`e(\mathcal W)` and
    :math:`e(\mathcal U)`; the second moments are derivatives of these in :math:`s`.

    >>> graph = pagerank_transforms(np.array([0.6]), np.array([0.5]), np.array([0.0]))
    >>> (graph.W * (1 - 0.6**2)).round(12), (graph.U * (1 - 0.3)).round(12)
    (array([1.]), array([1.]))
    """
    y = _root(theta**2, s)  # x - 1
    x, k = 1.0 + y, (1.0 - theta * signal) ** 2
    bulk, labels, more = 1.0 + s * x**2, k + s * x**2, s * x**2 * y
    slope = bulk + 2.0 * more
    return Transforms(
        W=x / bulk,
        UU=x * (1.0 + s * x**3 + s * x**2 * more) / (slope * bulk**2),
        WW_bulk=x**2 * y * (1.0 + x + more) / (slope * bulk**2),
        stretch=bulk / (1.0 + s * x * y),
        U=(1.0 - theta * signal) / labels,
        excess=x * theta * signal * (2.0 - theta * signal) / (labels * bulk),
        UU_across=y * (k * (1.0 + more) + s**2 * x**5) / (slope * labels**2),
        UW_across=(1.0 - theta * signal) * x * y * (1.0 - s * x**2) / (slope * labels**2),
        WW_across=x**2 * y * (1.0 + k * x + more) / (slope * labels**2),
    )


def _root(square: Array, s: Array) -> Array:
    r"""Solve :math:`y\,[1 + s (1+y)^2] = \theta^2 (1 + y)` by Newton's method, from above, where the function is convex."""
    y = square / (1.0 + s - square)
    for _ in range(_NEWTON):
        x = 1.0 + y
        lower = y - (y * (1.0 + s * x**2) - square * x) / (1.0 + s * x * (x + 2.0 * y) - square)
        if np.all(np.abs(lower - y) <= 1e-15 * y):
            break
        y = lower
    return y


@dataclass(frozen=True)
class PageRankEquations(Equations):
    r"""The equations for a batch of points; `theta` and `signal` give the averages, for a filter divided by its gain."""

    theta: Array
    signal: Array

    _POINTWISE: ClassVar[tuple[str, ...]] = (*Equations._POINTWISE, "theta", "signal")

    @classmethod
    def of(cls, points: Points) -> Self:
        """Prepare the equations of the points."""
        theta = points.filter.values
        gain = points.units(1.0 / np.sqrt(1.0 - theta**2))
        spike = 1.0 / (1.0 - theta * points.signal) ** 2
        return cls(**cls.shared(points, gain, spike), theta=theta, signal=points.signal)

    def respond(self, pulls: Pulls, rest: Array) -> tuple[Transforms, Array]:
        """Averages of the filter of gain 1; the graph has no unknowns of its own."""
        unit = 1.0 - self.theta**2
        graph, root = pagerank_transforms(self.theta, self.signal, pulls.product * unit), np.sqrt(unit)
        return graph._replace(
            W=unit * graph.W,
            UU=unit * graph.UU,
            WW_bulk=unit**2 * graph.WW_bulk,
            U=root * graph.U,
            excess=unit * graph.excess,
            UU_across=unit * graph.UU_across,
            UW_across=unit * root * graph.UW_across,
            WW_across=unit**2 * graph.WW_across,
        ), rest


@dataclass(frozen=True, eq=False)
class PageRankSolution(FollowedSolution):
    """Solution for PageRank on a directed graph."""

    equations: PageRankEquations

    @staticmethod
    def applies(points: Points, chain: Chain | None) -> bool:
        """Whether the points are PageRank on a directed graph, and no chain takes its place."""
        return chain is None and not points.symmetric and type(points.filter) is PageRank

    @staticmethod
    def cost(points: Points) -> npt.NDArray[np.int64]:
        """Numbers that the search keeps at a time, for each point."""
        return np.full(points.size, _COST)

    @staticmethod
    def prepare(points: Points, chain: Chain | None) -> PageRankEquations:
        """Equations of the points."""
        return PageRankEquations.of(points)
