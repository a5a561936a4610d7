r"""Finite regularization: from data and network to the solution of the self-consistent equations.

The one place that chooses between the kinds of graphs and filters. Filters are brought to gain 1, and the solution is followed
down from a large regularization, where it is explicit.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.errors import ConvergenceError
from gcnlimit.filters import Chain, PageRank
from gcnlimit.results.performance import Status
from gcnlimit.theory.degrees.solve import LayerSolution
from gcnlimit.theory.finite_reg.directed_solution import DirectedSolution
from gcnlimit.theory.finite_reg.pagerank import PageRankSolution
from gcnlimit.theory.finite_reg.propensities import PropensitySolution
from gcnlimit.theory.finite_reg.solution import FAR, Solution
from gcnlimit.theory.finite_reg.symmetric import SymmetricSolution
from gcnlimit.theory.points import Points

_STRONG = 2e4  # reg, over that where the loss is negligible, at which pinned outputs are solved for

Kind = type[SymmetricSolution] | type[DirectedSolution] | type[PageRankSolution]


def kind(points: Points, chain: Chain | None = None) -> Kind:
    """How points whose degrees are alike are solved: the one choice between symmetric and directed graphs."""
    if points.symmetric:
        return SymmetricSolution
    if chain is None and type(points.filter) is PageRank:
        return PageRankSolution
    return DirectedSolution


def kind_by_degree(points: Points) -> type[PropensitySolution | LayerSolution]:
    """How points under a law of degrees are solved."""
    return PropensitySolution if points.normalization.plain and points.symmetric else LayerSolution


def solve(
    points: Points, chain: Chain | None = None, *, tol: float, max_iterations: int
) -> Solution:
    """Solve the equations of each point; a `chain` takes the place of its filter."""
    with np.errstate(all="ignore"):  # out-of-range points are reported as not converged
        near = points
        # pinned outputs fall as 1/reg: solve before rounding beside the bias hides them
        if points.class_loss.is_pinned:
            strongest = asymptote(points, chain)[1] * (_STRONG / FAR)
            near = points._replace(reg=np.minimum(points.reg, strongest))
        found = kind(points, chain).solve(near, chain, tol=tol, max_iterations=max_iterations)
    if np.all(near.reg == points.reg):
        return found
    factor = near.reg / points.reg
    output = found.output.without_powers(factor)
    return replace(found, output=output, weights=found.weights.without_powers(factor))


def asymptote(points: Points, chain: Chain | None = None) -> tuple[Solution, Array]:
    """Return the explicit solution at a large regularization, and that regularization."""
    return kind(points, chain).asymptote(points, chain)


def checked(status: npt.NDArray[np.int64]) -> None:
    """Raise `ConvergenceError` if the equations of some points have no solution."""
    failed = int(np.count_nonzero(status != Status.CONVERGED))
    if failed:
        raise ConvergenceError(
            f"the equations have no solution at {failed} of {len(status)} points; "
            "take a larger reg or fewer layers"
        )
