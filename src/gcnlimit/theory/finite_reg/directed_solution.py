"""Solving the equations of a directed graph: a chain of layers, followed down from a large regularization."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gcnlimit.filters import Chain
from gcnlimit.order_parameters import OrderFunctions
from gcnlimit.theory.finite_reg.directed import DirectedEquations
from gcnlimit.theory.finite_reg.directed_layers import directed_layers
from gcnlimit.theory.finite_reg.solution import ACCURACY, FollowedSolution, scaled_chain
from gcnlimit.theory.points import Points

__all__ = ["DirectedSolution"]


@dataclass(frozen=True, eq=False)
class DirectedSolution(FollowedSolution):
    """Solution on a directed graph, of the equations of a chain of gain 1."""

    equations: DirectedEquations

    @staticmethod
    def cost(points: Points) -> npt.NDArray[np.int64]:
        """Numbers that the search keeps at a time, for each point."""
        depth = points.filter.layers(accuracy=ACCURACY, radius=points.radius)
        return np.array([DirectedEquations.cost(int(k)) for k in depth])

    @staticmethod
    def prepare(points: Points, chain: Chain | None) -> DirectedEquations:
        """Equations of the chains of the filters, or of a `chain` that takes their place."""
        return DirectedEquations.of(points, scaled_chain(points, chain))

    def chain_layers(self) -> OrderFunctions:
        """Order functions at the layers of the chain that stands for the filter."""
        with np.errstate(all="ignore"):  # NaN where a point has no solution
            return directed_layers(self.equations, self.state)
