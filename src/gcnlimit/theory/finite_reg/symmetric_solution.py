"""Solving the equations of a symmetric graph, on grids over its spectrum that are refined until they do not matter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.filters import Chain
from gcnlimit.numerics.batches import batches
from gcnlimit.numerics.fixed_point import FixedPoint, explicit
from gcnlimit.order_parameters import OrderFunctions, gathered
from gcnlimit.performance import Status
from gcnlimit.theory.finite_reg.continuation import follow, iterate
from gcnlimit.theory.finite_reg.propensities import PropensityEquations
from gcnlimit.theory.finite_reg.scaling import ScaledChain
from gcnlimit.theory.finite_reg.solution import FAR, Solution, scaled_chain, status_of
from gcnlimit.theory.finite_reg.symmetric import SymmetricEquations
from gcnlimit.theory.finite_reg.symmetric_layers import symmetric_layers
from gcnlimit.theory.points import Points

__all__ = ["SymmetricSolution"]

_FINEST = 1 << 16  # nodes on the spectrum beyond which a solution that still moves is given up
_STILL = 1e-10  # residual on a finer grid at which a solution did not move, however large the tolerance
_BLOCK = 1 << 18  # numbers held by one temporary array


@dataclass(frozen=True, eq=False)
class SymmetricSolution(Solution):
    """Solution on a symmetric graph, each point on a grid of its own."""

    grids: _Grids

    @staticmethod
    def cost(points: Points) -> npt.NDArray[np.int64]:
        """Numbers that the search keeps at a time, for each point."""
        return 16 * _Grids.of(points, None).nodes

    @classmethod
    def solve(cls, points: Points, chain: Chain | None, *, tol: float, max_iterations: int) -> Self:
        """Solve on a grid, then on grids twice as fine until a solution stays where it is."""
        grids = _Grids.of(points, chain and scaled_chain(points, chain)).even()
        found = follow(grids.equations(), tol=tol, max_iterations=max_iterations)
        status = status_of(found)
        rough = np.flatnonzero(found.converged)
        while rough.size and grids.nodes[rough[0]] < _FINEST:
            grids.nodes[rough] *= 2
            finer = iterate(grids.equations(rough), found.state[rough], tol=min(tol, _STILL), level=1)
            found.state[rough], found.residual[rough] = finer.state, finer.residual
            found.iterations[rough] += finer.iterations
            status[rough[~(finer.residual <= tol)]] = Status.NOT_CONVERGED
            rough = rough[finer.converged & (finer.iterations > 1)]
        status[rough] = Status.UNRESOLVED
        return cls._at(points, grids, found, status)

    @classmethod
    def asymptote(cls, points: Points, chain: Chain | None) -> tuple[Self, Array]:
        """Return the explicit solution at a large regularization, and that regularization."""
        scaled = scaled_chain(points, chain)
        grids = _Grids.of(points, scaled).even()
        reg = FAR * grids.equations().far
        grids = grids.at(reg)
        status = np.full(points.size, Status.CONVERGED)
        return cls._at(points, grids, explicit(grids.equations().start()), status), reg * scaled.gain**2

    @classmethod
    def _at(cls, points: Points, grids: _Grids, found: FixedPoint, status: npt.NDArray[np.int64]) -> Self:
        outputs, weights = [], []
        for rows, equations in grids.blocks(_BLOCK):
            side, _ = equations.evaluate(found.state[rows])
            outputs.append((rows, side.output))
            weights.append((rows, side.weights.in_units(equations.gain)))
        output, inner = gathered(outputs, points.size), gathered(weights, points.size)
        return cls(points, found.state, output, inner, found.residual, found.iterations, status, grids)

    def chain_layers(self) -> OrderFunctions:
        """Order functions at the layers of the chain that stands for the filter."""
        scaled = self.grids.scaled or scaled_chain(self.points, None)
        parts = []
        with np.errstate(all="ignore"):  # NaN where a point has no solution
            for rows, equations in self.grids.blocks(_BLOCK / (scaled.chain.depth + 1)):
                here = scaled.take(rows)
                found = symmetric_layers(equations, self.points.signal[rows], self.state[rows], here)
                parts.append((rows, found.in_units(here.gain, here.layers)))
        return gathered(parts, self.points.size)


@dataclass(frozen=True, eq=False)
class _Grids:
    """Number of nodes on the spectrum for each point; `scaled` takes the place of the filter, `reg` of the regularization."""

    points: Points
    nodes: npt.NDArray[np.int64]
    scaled: ScaledChain | None
    reg: Array | None = None

    @classmethod
    def of(cls, points: Points, scaled: ScaledChain | None) -> Self:
        r"""Grids to begin with: products of :math:`g` with :math:`1/(1 + \kappa V_w g^2)` need more nodes than powers."""
        nodes = 2 * (scaled.nodes if scaled else points.filter.quadrature_nodes()) + 32
        return cls(points, np.asarray(nodes, np.int64), scaled)

    def even(self) -> Self:
        """Same grids, all as fine as the finest."""
        return type(self)(self.points, np.full_like(self.nodes, np.max(self.nodes)), self.scaled)

    def at(self, reg: Array) -> Self:
        """Same grids at another regularization, in units of the filter's gain."""
        return type(self)(self.points, self.nodes, self.scaled, reg)

    def equations(self, rows: npt.NDArray[np.intp] | None = None) -> SymmetricEquations:
        """Equations of some of the points, all on the grid of the first of them."""
        rows = np.arange(self.points.size) if rows is None else rows
        scaled = self.scaled.take(rows) if self.scaled else None
        kind = SymmetricEquations if self.points.degrees is None else PropensityEquations
        found = kind.of(self.points.take(rows), int(self.nodes[rows[0]]), scaled)
        return found if self.reg is None else found.at(self.reg[rows])

    def blocks(self, budget: float) -> Iterator[tuple[npt.NDArray[np.intp], SymmetricEquations]]:
        """Points that share a grid, as many at a time as memory allows, and their equations."""
        for n in np.unique(self.nodes):
            rows = np.flatnonzero(self.nodes == n)
            together = max(1, int(budget / n))
            for part in (rows[block] for block in batches(rows.size, together)):
                yield part, self.equations(part)
