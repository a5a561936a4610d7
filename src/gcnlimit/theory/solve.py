r"""Finite regularization: from data and network to the solution of the self-consistent equations.

The one place that chooses between the kinds of graphs and filters. Filters are brought to gain 1, and the solution is followed
down from a large regularization, where it is explicit.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gcnlimit._values import Array, Integers
from gcnlimit.errors import ConvergenceError
from gcnlimit.results.performance import Status
from gcnlimit.scope import Route
from gcnlimit.theory.degrees.solve import LayerSolution
from gcnlimit.theory.finite_reg.directed_solution import DirectedSolution
from gcnlimit.theory.finite_reg.pagerank import PageRankSolution
from gcnlimit.theory.finite_reg.propensities import PropensitySolution
from gcnlimit.theory.finite_reg.solution import FAR, Solution
from gcnlimit.theory.finite_reg.symmetric import SymmetricSolution
from gcnlimit.theory.points import Points

_STRONG = 2e4  # reg, over that where the loss is negligible, at which pinned outputs are solved for

_SOLVERS: dict[Route, type[Solution]] = {
    Route.SPECTRUM: SymmetricSolution,
    Route.CHAIN: DirectedSolution,
    Route.PAGERANK: PageRankSolution,
    Route.PROPENSITIES: PropensitySolution,
    Route.LAYERS: LayerSolution,
}


def solver(points: Points) -> type[Solution]:
    """Kind of solutions of points at finite regularization."""
    return _SOLVERS[points.route()]


def solve(points: Points, *, tol: float, max_iterations: int) -> Solution:
    """Solve the equations of each point."""
    with np.errstate(all="ignore"):  # out-of-range points are reported as not converged
        if not points.class_loss.is_pinned or points.route() is Route.LAYERS:
            return solver(points).solve(points, tol=tol, max_iterations=max_iterations)
        # pinned outputs fall as 1/reg: solve before rounding beside a bias (0 of layers) hides it
        near = np.minimum(points.reg, asymptote(points)[1] * (_STRONG / FAR))
        strong = points._replace(reg=near)
        solution = solver(points).solve(strong, tol=tol, max_iterations=max_iterations)
    factor = near / points.reg
    output = solution.output.without_powers(factor)
    return replace(solution, output=output, weights=solution.weights.without_powers(factor))


def asymptote(points: Points) -> tuple[Solution, Array]:
    """Return the explicit solution at a large regularization, and that regularization."""
    return solver(points).asymptote(points)


def checked(status: Integers) -> None:
    """Raise `ConvergenceError` if the equations of some points have no solution."""
    failed = int(np.count_nonzero(status != Status.CONVERGED))
    if failed:
        raise ConvergenceError(
            f"the equations have no solution at {failed} of {len(status)} points; "
            "take a larger reg or fewer layers"
        )
