"""Solving the equations of a directed graph: a chain of layers, followed down from a large regularization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.filters import Chain
from gcnlimit.numerics.fixed_point import FixedPoint, explicit
from gcnlimit.order_parameters import OrderFunctions
from gcnlimit.theory.finite_reg.continuation import follow
from gcnlimit.theory.finite_reg.directed import DirectedEquations
from gcnlimit.theory.finite_reg.directed_layers import directed_layers
from gcnlimit.theory.finite_reg.scaling import ScaledChain
from gcnlimit.theory.finite_reg.solution import ACCURACY, FAR, Solution, scaled_chain, status_of
from gcnlimit.theory.points import Points

__all__ = ["DirectedSolution"]


@dataclass(frozen=True, eq=False)
class DirectedSolution(Solution):
    """Solution on a directed graph, with the chain of gain 1 whose equations were solved."""

    equations: DirectedEquations
    scaled: ScaledChain

    @staticmethod
    def cost(points: Points) -> npt.NDArray[np.int64]:
        """Numbers that the search keeps at a time, for each point."""
        depth = points.filter.layers(accuracy=ACCURACY, radius=points.radius)
        return np.array([DirectedEquations.cost(int(k)) for k in depth])

    @classmethod
    def solve(cls, points: Points, chain: Chain | None, *, tol: float, max_iterations: int) -> Self:
        """Solve the equations of each point; a `chain` takes the place of its filter."""
        scaled = scaled_chain(points, chain)
        equations = DirectedEquations.of(points, scaled)
        return cls._at(points, equations, scaled, follow(equations, tol=tol, max_iterations=max_iterations))

    @classmethod
    def asymptote(cls, points: Points, chain: Chain | None) -> tuple[Self, Array]:
        """Return the explicit solution at a large regularization, and that regularization."""
        scaled = scaled_chain(points, chain)
        equations = DirectedEquations.of(points, scaled)
        reg = FAR * equations.far
        equations = equations.at(reg)
        return cls._at(points, equations, scaled, explicit(equations.start())), reg * scaled.gain**2

    @classmethod
    def _at(cls, points: Points, equations: DirectedEquations, scaled: ScaledChain, found: FixedPoint) -> Self:
        side, _ = equations.evaluate(found.state)
        return cls(
            points,
            found.state,
            side.output,
            side.weights.in_units(scaled.gain),
            found.residual,
            found.iterations,
            status_of(found),
            equations,
            scaled,
        )

    def chain_layers(self) -> OrderFunctions:
        """Order functions at the layers of the chain that stands for the filter."""
        with np.errstate(all="ignore"):  # NaN where a point has no solution
            return directed_layers(self.equations, self.state).in_units(self.scaled.gain, self.scaled.layers)
