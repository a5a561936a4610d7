"""A solution of the self-consistent equations, whatever the kind of graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.filters import Chain
from gcnlimit.numerics.fixed_point import FixedPoint, explicit
from gcnlimit.results.order_parameters import OrderFunctions, Output, Weights
from gcnlimit.results.performance import Status
from gcnlimit.theory.finite_reg.continuation import follow
from gcnlimit.theory.finite_reg.equations import Equations
from gcnlimit.theory.finite_reg.scaling import ScaledChain
from gcnlimit.theory.points import Points

FAR = 1e15
"""Regularization, over that beyond which the loss is negligible, which is numerically infinite."""

ACCURACY = 1e-12
"""Of the chain that stands for a filter."""

_LONGEST = 200  # layers of the longest series whose order functions are given


@dataclass(frozen=True, eq=False)
class Solution(ABC):
    """Output and weights of a batch of points at the solution, and how the search for it ended."""

    points: Points
    state: Array
    output: Output
    weights: Weights
    residual: Array
    iterations: npt.NDArray[np.int64]
    status: npt.NDArray[np.int64]

    @staticmethod
    @abstractmethod
    def cost(points: Points) -> npt.NDArray[np.int64]:
        """Numbers that the search keeps at a time, for each point."""

    @classmethod
    @abstractmethod
    def solve(cls, points: Points, chain: Chain | None, *, tol: float, max_iterations: int) -> Self:
        """Solve the equations of each point; a `chain` takes the place of its filter."""

    @classmethod
    @abstractmethod
    def asymptote(cls, points: Points, chain: Chain | None) -> tuple[Self, Array]:
        """Return the explicit solution at a large regularization, and that regularization."""

    @abstractmethod
    def chain_layers(self) -> OrderFunctions:
        """Order functions at the layers of the chain that stands for the filter."""

    def layers(self) -> OrderFunctions | None:
        """Order functions at the layers of a network; None if the filter has none, or too long a series."""
        filter = self.points.filter
        long = not filter.deep and (not filter.has_chain or np.max(filter.layers(radius=self.points.radius)) > _LONGEST)
        return None if long else self.chain_layers()


@dataclass(frozen=True, eq=False)
class FollowedSolution(Solution):
    """Solution of equations that all points share, followed down from a large regularization."""

    equations: Equations

    @staticmethod
    @abstractmethod
    def prepare(points: Points, chain: Chain | None) -> Equations:
        """Equations of the points; a `chain` takes the place of their filter."""

    @classmethod
    def solve(cls, points: Points, chain: Chain | None, *, tol: float, max_iterations: int) -> Self:
        """Solve the equations of each point."""
        equations = cls.prepare(points, chain)
        return cls._at(points, equations, follow(equations, tol=tol, max_iterations=max_iterations))

    @classmethod
    def asymptote(cls, points: Points, chain: Chain | None) -> tuple[Self, Array]:
        """Return the explicit solution at a large regularization, and that regularization."""
        equations = cls.prepare(points, chain)
        reg = FAR * equations.far
        far = equations.at(reg)
        return cls._at(points, far, explicit(far.start())), reg * far.gain**2

    @classmethod
    def _at(cls, points: Points, equations: Equations, found: FixedPoint) -> Self:
        side, _ = equations.evaluate(found.state)
        weights = side.weights.in_units(equations.gain)
        state, residual, iterations, _ = found
        return cls(points, state, side.output, weights, residual, iterations, status_of(found), equations)


def status_of(found: FixedPoint) -> npt.NDArray[np.int64]:
    """How the search for each point ended; without a residual it never began."""
    failed = np.where(np.isfinite(found.residual), Status.NOT_CONVERGED, Status.OUT_OF_RANGE)
    return np.where(found.converged, Status.CONVERGED, failed)


def scaled_chain(points: Points, chain: Chain | None) -> ScaledChain:
    """Chain of the filter, or another in its place, brought to gain 1."""
    if chain is None:
        filter = points.filter
        chain = (
            filter.chain(accuracy=ACCURACY, radius=points.radius)
            if points.symmetric
            else filter.directed_chain(points.signal, accuracy=ACCURACY)
        )
    scaled = ScaledChain.of(chain, points.signal, points.symmetric)
    return scaled._replace(gain=points.units(scaled.gain))
