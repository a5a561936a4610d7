"""Another graph than that of the fit: how much stronger its filters should be, seen without a label there."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.graphs.operator import without_degrees
from gcnlimit.theory.transfer import input_overlaps

APART = 3.0  # standard errors between two graphs from which they differ
FEWEST = 30  # nodes with an edge from which a graph says something
SUREST = 30.0  # largest square of the margin that inputs are believed to have


class Smoothness(NamedTuple):
    r"""Overlaps :math:`x_1, x_2` of inputs :math:`z` with a graph (Eq. 10.10), and the number of its nodes with an edge."""

    first: float
    second: float
    nodes: int

    @classmethod
    def of(cls, graph: Any, inputs: Array, left_out: npt.NDArray[np.int64] | None = None) -> Self:
        """Overlaps on a symmetric graph, its degrees divided out and its noise of unit size; some nodes may be left out."""
        kept = np.ones(graph.shape[0], bool)
        kept[[] if left_out is None else left_out] = False
        part = graph[kept][:, kept]
        joined = np.diff(part.indptr) > 0
        if joined.sum() < FEWEST:
            return cls(0.0, 0.0, 1)
        part, z = part[joined][:, joined], inputs[kept][joined]
        S = without_degrees(part)
        noise = (float(np.sum(S.matrix.data**2)) - 1.0) / len(z)
        return cls(*input_overlaps(S / math.sqrt(max(noise, 1e-12)), z - z.mean(axis=0)), len(z))

    @property
    def strength(self) -> float:
        r"""Strength :math:`\lambda/(1 + \lambda^2 + c^2)` of the best filter (Eq. 10.6)."""
        signal = self.second / self.first
        left = max(self.second - self.first**2, self.first**2 / SUREST)
        return signal / (1.0 + signal**2 + self.first**2 / left)


def relative_strength(here: Smoothness, there: Smoothness) -> float:
    """Strength of the best filter there over that here, 1 where the overlaps do not differ measurably.

    >>> relative_strength(Smoothness(0.5, 0.6, 1000), Smoothness(-0.5, 0.6, 1000))
    -1.0
    """
    error = APART * math.sqrt(2.0 / here.nodes + 2.0 / there.nodes)
    if abs(here.first - there.first) < error or abs(here.first) < APART * math.sqrt(2.0 / here.nodes):
        return 1.0
    return there.strength / here.strength if there.first else 0.0
