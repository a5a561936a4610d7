r"""Finite regularization: from data and network to the solution of the self-consistent equations.

On a symmetric graph the filter enters through its values on the spectrum alone
(`gcnlimit.theory.finite_reg.symmetric`); on a directed one it is written as a chain of layers
(`gcnlimit.theory.finite_reg.directed`), but PageRank is closed there (`gcnlimit.theory.finite_reg.pagerank`). Each filter
is first brought to gain 1, the regularization is measured in units of :math:`\tau(g^2)`, and the solution is followed down
from a large regularization, where it is explicit.
"""

from __future__ import annotations

import numpy as np

from gcnlimit._values import Array
from gcnlimit.filters import Chain
from gcnlimit.theory.finite_reg.directed_solution import DirectedSolution
from gcnlimit.theory.finite_reg.pagerank import PageRankSolution
from gcnlimit.theory.finite_reg.solution import Solution
from gcnlimit.theory.finite_reg.symmetric_solution import SymmetricSolution
from gcnlimit.theory.points import Points

__all__ = ["asymptote", "kind", "solve"]


def kind(points: Points, chain: Chain | None = None) -> type[Solution]:
    """How the points are solved: the one choice between symmetric and directed graphs."""
    if PageRankSolution.applies(points, chain):
        return PageRankSolution
    return SymmetricSolution if points.symmetric else DirectedSolution


def solve(points: Points, chain: Chain | None = None, *, tol: float, max_iterations: int) -> Solution:
    """Solve the equations of each point; a `chain` takes the place of its filter."""
    with np.errstate(all="ignore"):  # out-of-range points are reported as not converged
        return kind(points, chain).solve(points, chain, tol=tol, max_iterations=max_iterations)


def asymptote(points: Points, chain: Chain | None = None) -> tuple[Solution, Array]:
    """Return the explicit solution at a large regularization, and that regularization."""
    return kind(points, chain).asymptote(points, chain)
