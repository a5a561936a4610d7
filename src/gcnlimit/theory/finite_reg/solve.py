r"""Finite regularization: from data and network to the solution of the self-consistent equations.

On a symmetric graph the filter enters through its values on the spectrum alone
(`gcnlimit.theory.finite_reg.symmetric`); on a directed one it is written as a chain of layers
(`gcnlimit.theory.finite_reg.directed`). Either way it is first brought to gain 1, the regularization is measured in units
of :math:`\tau(g^2)`, and the solution is followed down from a large regularization, where it is explicit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.filters import Chain
from gcnlimit.numerics.fixed_point import FixedPoint
from gcnlimit.order_parameters import unscaled
from gcnlimit.theory.finite_reg.continuation import follow, iterate
from gcnlimit.theory.finite_reg.directed import ChainProblem
from gcnlimit.theory.finite_reg.directed_layers import chain_layers
from gcnlimit.theory.finite_reg.loss_averages import Output
from gcnlimit.theory.finite_reg.scaling import ScaledChain
from gcnlimit.theory.finite_reg.symmetric import SpectralProblem
from gcnlimit.theory.finite_reg.symmetric_layers import spectral_layers
from gcnlimit.theory.points import Points

__all__ = ["Solution", "asymptote", "cost", "solve"]

_ACCURACY = 1e-12  # of the chain that stands for a filter
_FINEST = 1 << 16  # nodes on the spectrum beyond which a solution that still moves is given up
_BLOCK = 1 << 18  # numbers held by one temporary array
_FAR = 1e15  # times the regularization from which on the loss is not felt: as good as infinite


@dataclass(frozen=True)
class Solution:
    """Where the equations were solved and how the search ended; `weights` and `layers` give the order parameters by name."""

    output: Output
    residual: Array
    iterations: npt.NDArray[np.int64]
    converged: npt.NDArray[np.bool_]
    weights: dict[str, Array]
    layers: Callable[[], dict[str, Array]]


def cost(points: Points) -> npt.NDArray[np.int64]:
    """Numbers that the search keeps at a time, for each point."""
    if points.symmetric:
        return 16 * _nodes(points)
    depth = points.filter.layers(accuracy=_ACCURACY, radius=points.radius)
    return np.array([ChainProblem.cost(int(k)) for k in depth])


def solve(points: Points, chain: Chain | None = None, *, tol: float, max_iterations: int) -> Solution:
    """Solve the equations of each point; a `chain` takes the place of its filter."""
    with np.errstate(all="ignore"):  # what is out of range does not converge, and is said to
        if points.symmetric:
            return _solve_symmetric(points, _scaled(points, chain) if chain else None, tol, max_iterations)
        scaled = _scaled(points, chain)
        problem = ChainProblem.of(points, scaled)
        return _directed(problem, scaled, follow(problem, tol=tol, max_iterations=max_iterations))


def asymptote(points: Points, chain: Chain | None = None) -> tuple[Solution, Array]:
    """Return the explicit solution at a large regularization, and that regularization."""
    scaled = _scaled(points, chain)
    if points.symmetric:
        nodes = np.full(points.size, np.max(_nodes(points, scaled)))
        grid = _grid(points, int(nodes[0]), scaled)
        reg = _FAR * grid.far
        found = _symmetric(points, nodes, scaled, _explicit(grid.at(reg).start()), reg)
    else:
        problem = ChainProblem.of(points, scaled)
        reg = _FAR * problem.far
        problem = problem.at(reg)
        found = _directed(problem, scaled, _explicit(problem.start()))
    return found, reg * scaled.gain**2


def _explicit(state: Array) -> FixedPoint:
    points = len(state)
    return FixedPoint(state, np.zeros(points), np.zeros(points, np.int64), np.ones(points, bool))


def _scaled(points: Points, chain: Chain | None) -> ScaledChain:
    chain = chain or points.filter.chain(accuracy=_ACCURACY, radius=points.radius)
    return ScaledChain.of(chain, points.signal, points.symmetric)


def _directed(problem: ChainProblem, scaled: ScaledChain, found: FixedPoint) -> Solution:
    side, _ = problem.evaluate(found.state)
    weights = unscaled(_of_weights(side._asdict()), scaled.gain)

    def layers() -> dict[str, Array]:
        with np.errstate(all="ignore"):
            return weights | unscaled(chain_layers(problem, found.state), scaled.gain, scaled.layers)

    return Solution(side.output, *found[1:], weights=weights, layers=layers)


def _of_weights(values: dict[str, Array]) -> dict[str, Array]:
    return {name: value for name, value in values.items() if name.endswith("_w")}


def _nodes(points: Points, scaled: ScaledChain | None = None) -> npt.NDArray[np.int64]:
    r"""Nodes on the spectrum to begin with: products of :math:`g` with :math:`1/(1 + \kappa V_w g^2)` need more than powers."""
    return np.asarray(2 * (scaled.nodes if scaled else points.filter.nodes()) + 32, np.int64)


def _solve_symmetric(points: Points, scaled: ScaledChain | None, tol: float, max_iterations: int) -> Solution:
    """Solve on a grid, then on grids twice as fine until a solution stays where it is."""
    nodes = np.full(points.size, np.max(_nodes(points, scaled)))
    found = follow(_grid(points, int(nodes[0]), scaled), tol=tol, max_iterations=max_iterations)
    rough = np.flatnonzero(found.converged)
    while rough.size and nodes[rough[0]] < _FINEST:
        nodes[rough] *= 2
        finer = iterate(_grid(points, int(nodes[rough[0]]), scaled, rough), found.state[rough], tol=tol, level=1)
        found.state[rough], found.residual[rough], found.converged[rough] = finer.state, finer.residual, finer.converged
        found.iterations[rough] += finer.iterations
        rough = rough[finer.converged & (finer.iterations > 1)]
    found.converged[rough] = False
    return _symmetric(points, nodes, scaled, found)


def _grid(
    points: Points, nodes: int, scaled: ScaledChain | None, rows: npt.NDArray[np.intp] | None = None
) -> SpectralProblem:
    """Equations of some of the points on a grid."""
    if rows is None:
        return SpectralProblem.of(points, nodes, scaled)
    return SpectralProblem.of(points.take(rows), nodes, scaled.take(rows) if scaled else None)


def _symmetric(
    points: Points,
    nodes: npt.NDArray[np.int64],
    scaled: ScaledChain | None,
    found: FixedPoint,
    reg: Array | None = None,
) -> Solution:
    """Evaluate a solution, each point on its own grid; `reg` takes the place of the regularization, in its units."""

    def on_grids(budget: float) -> Iterator[tuple[npt.NDArray[np.intp], SpectralProblem]]:
        for n in np.unique(nodes):
            rows = np.flatnonzero(nodes == n)
            together = max(1, int(budget / n))
            for part in (rows[k : k + together] for k in range(0, rows.size, together)):
                grid = _grid(points, int(n), scaled, part)
                yield part, grid if reg is None else grid.at(reg[part])

    def layers() -> dict[str, Array]:
        chain = scaled or _scaled(points, None)
        values = weights.copy()
        for part, grid in on_grids(_BLOCK / (chain.chain.depth + 1)):
            here = chain.take(part)
            with np.errstate(all="ignore"):
                found_here = spectral_layers(points.take(part), grid, found.state[part], here)
            _put(values, part, unscaled(found_here, here.gain, here.layers), points.size)
        return values

    outputs: dict[str, Array] = {}
    weights: dict[str, Array] = {}
    for part, grid in on_grids(_BLOCK):
        side, _ = grid.evaluate(found.state[part])
        _put(outputs, part, side.output._asdict(), points.size)
        _put(weights, part, unscaled(_of_weights(side._asdict()), grid.gain), points.size)
    return Solution(Output(**outputs), *found[1:], weights=weights, layers=layers)


def _put(values: dict[str, Array], rows: npt.NDArray[np.intp], parts: dict[str, Array], size: int) -> None:
    """Enter what was found for some of the points."""
    for name, part in parts.items():
        values.setdefault(name, np.empty((size, *part.shape[1:])))[rows] = part
