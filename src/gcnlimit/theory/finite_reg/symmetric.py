r"""Finite regularization on a symmetric graph: averages over its spectrum, whatever the filter (Eq. 3.20).

:math:`U = gd(a)` and :math:`W = g^2d(a)` with :math:`d = 1/(1 + \kappa V_w g^2)` are functions of the operator. So are the states
of the layers and their conjugates, applied to the labels, to :math:`\beta` and to the noise :math:`\zeta` of the features
(Eq. 3.21): overlaps and responses are averages over the spectrum, on grids that are refined until they do not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np

from gcnlimit._values import Array, Integers
from gcnlimit.filters import Filter
from gcnlimit.numerics.fixed_point import FixedPoint, explicit
from gcnlimit.numerics.linear import batches
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.results.order_parameters import OrderFunctions, Rows, Weights, gathered
from gcnlimit.results.performance import Status
from gcnlimit.theory.finite_reg.equations import Equations, Pulls, Transforms
from gcnlimit.theory.finite_reg.solution import (
    FAR,
    ScaledChain,
    Solution,
    follow,
    iterate,
    scaled_chain,
    status_of,
)
from gcnlimit.theory.finite_reg.square import spectral_transforms
from gcnlimit.theory.points import Points

_FINEST = 1 << 16  # nodes on the spectrum beyond which a solution that still moves is given up
_STILL = 1e-10  # residual on a finer grid at which a solution did not move, whatever the tolerance
_NUMBERS_AT_ONCE = 1 << 18  # held by one temporary array


@dataclass(frozen=True, eq=False)
class SymmetricEquations(Equations):
    r"""The equations for a batch of points, on the nodes of a quadrature over the spectrum.

    `g`: values of the filter at the nodes, divided by its `gain` :math:`\sqrt{\tau(g^2)}`.
    """

    g: Array
    measure: SpikedSemicircle

    @classmethod
    def of(cls, points: Points, nodes: int) -> Self:
        """Put the filter of the points on a grid."""
        measure = SpikedSemicircle.of(points.signal, nodes)
        g, size = points.filter.normalized(measure.x)
        bulk = np.sqrt(g**2 @ measure.tau)
        g = g / bulk[:, None]
        gain = points.units(np.exp(size) * bulk)
        return cls(**cls.common(points, gain, np.vecdot(measure.e, g**2)), g=g, measure=measure)

    def respond(self, pulls: Pulls, rest: Array) -> tuple[Transforms, Array]:
        """Averages over the spectrum (Eq. 3.20); the graph has no unknowns of its own."""
        s = pulls.product
        tau = self.measure.tau
        d = 1.0 / (1.0 + s[:, None] * self.g**2)
        U = self.g * d
        # W less its value for a gain of 1, so that differences of W keep their digits
        uneven = (self.g**2 - 1.0) * d / (1.0 + s[:, None])
        graph = spectral_transforms(self.measure, U, uneven, s)
        return graph._replace(W=(self.g * U) @ tau, stretch=1.0 / (d @ tau)), rest


class Passage(NamedTuple):
    r"""A network on the nodes of the spectrum, after the axis over the points and that over its depths `x`.

    `P`: from the features to a depth; `after`: from a depth to the output, times :math:`b` or :math:`t`; `gain`: the filter;
    `response`: that of states to fields at smaller depths, without the loss; `signal`: :math:`\lambda_e` of each point.
    """

    x: Array
    P: Array
    after: Array
    gain: Array
    response: Array
    signal: Array


def _layers(
    equations: SymmetricEquations, solution: Solution, rows: Rows, scaled: ScaledChain
) -> OrderFunctions:
    """Order functions at the layers of a scaled chain, at those rows of a solution."""
    state = solution.state[rows]
    b, c, _ = scaled.chain
    measure = equations.measure
    layer = b[:, :, None] * measure.x[:, None] + c[:, :, None]
    P, R = scaled.chain.partial_values(measure.x)
    passage = Passage(
        x=np.arange(b.shape[1]) / max(b.shape[1], 1),
        P=P[:, :-1],
        after=b[:, :, None] * R[:, 1:],
        gain=R[:, :1],
        response=b[:, :, None] * _between(layer, measure.tau),
        signal=solution.points.signal[rows],
    )
    _, weights, _ = equations.evaluate(state)
    functions = spectral_functions(passage, measure, equations.pulls(state), weights, equations.mu)
    return functions.in_units(scaled.gain, scaled.layers)


def spectral_functions(
    passage: Passage, measure: SpikedSemicircle, pulls: Pulls, weights: Weights, mu: Array
) -> OrderFunctions:
    """Order functions of a network between given weights and pulls, as averages over the spectrum."""
    x, P, after, gain, response, signal = passage
    V_w, kappa, drive, scatter = (p[:, None, None] for p in pulls)
    start = (np.sqrt(mu) * weights.m)[:, None, None]
    noise = weights.Q[:, None, None]
    d = 1.0 / (1.0 + kappa * V_w * gain**2)
    e = measure.e[:, None]
    tau = measure.tau

    # states and conjugates from z_0 and from beta, Eq. 3.21; labels are in both
    # d is what the pull of the loss leaves of a mode of the operator
    h_noise = P * d
    h_beta = P * (V_w * gain * d)
    q_noise = after * (-kappa * gain * d)
    q_beta = after * d
    h_labels = start * h_noise + drive * h_beta
    q_labels = start * q_noise + drive * q_beta
    h = h_labels, h_noise, h_beta
    q = q_labels, q_noise, q_beta
    # the three are uncorrelated: labels are averaged along y, the others over the bulk
    averages = e, noise * tau, scatter * tau

    def second(left: tuple[Array, ...], right: tuple[Array, ...]) -> Array:
        parts = zip(left, averages, right, strict=True)
        return np.asarray(sum((a * w) @ b.mT for a, w, b in parts))

    return OrderFunctions(
        x=x,
        m=np.sum(h_labels * e, axis=2),
        Q=second(h, h),
        V=V_w * (h_noise * tau @ P.mT),
        m_hat=signal[:, None] * np.sum(q_labels * e, axis=2),
        Q_hat=second(q, q),
        V_hat=kappa * (q_beta * tau @ after.mT),
        Q_qh=second(q, h),
        V_qh=response + V_w * (q_noise * tau @ P.mT),
        weights=weights,
    )


def _between(layer: Array, tau: Array) -> Array:
    """Average over the bulk of the product of the layers after k and up to l: rows k = 1 .. K, columns l = 0 .. K - 1."""
    points, K, nodes = layer.shape
    product = np.zeros((points, K, nodes))
    average = np.zeros((points, K, K))
    for k in range(1, K):
        # one more layer for all that begin earlier, and a new one that begins here
        product[:, : k - 1] *= layer[:, k - 1, None]
        product[:, k - 1] = 1.0
        average[:, :k, k] = product[:, :k] @ tau
    return average


@dataclass(frozen=True, eq=False)
class SymmetricSolution(Solution):
    """Solution on a symmetric graph, each point on a grid of its own."""

    grids: Grids

    kind: ClassVar[type[SymmetricEquations]] = SymmetricEquations

    @staticmethod
    def cost(points: Points) -> Integers:
        return 16 * _first_nodes(points.filter)

    @classmethod
    def solve(cls, points: Points, *, tol: float, max_iterations: int) -> Self:
        """Solve on a grid, then on grids twice as fine until a solution stays where it is."""
        grids = Grids.of(points, cls.kind)
        end = follow(grids.equations(), tol=tol, max_iterations=max_iterations)
        status = status_of(end)
        # only a solution that was found can be refined
        rough = np.flatnonzero(end.converged)
        still = min(tol, _STILL)
        while rough.size and grids.nodes[rough[0]] < _FINEST:
            grids = grids.finer(rough)
            equations, start = grids.equations(rough), end.state[rough]
            finer = iterate(equations, start, tol=still, level=0)
            hard = np.flatnonzero(~finer.converged)
            if hard.size:
                others = iterate(equations.take(hard), start[hard], tol=still, level=1)
                for whole, part in zip(finer, others, strict=True):
                    whole[hard] = part
            end.state[rough] = finer.state
            end.residual[rough] = finer.residual
            end.iterations[rough] += finer.iterations
            status[rough[~(finer.residual <= tol)]] = Status.NOT_CONVERGED
            # one step on the finer grid without a change: the grid does not matter any more
            rough = rough[finer.converged & (finer.iterations > 1)]
        status[rough] = Status.UNRESOLVED
        return cls._at(grids, end, status)

    @classmethod
    def asymptote(cls, points: Points) -> tuple[Self, Array]:
        grids = Grids.of(points, cls.kind)
        equations = grids.equations()
        reg = FAR * equations.far
        end = explicit(equations.at(reg).start())
        return cls._at(replace(grids, reg=reg), end, status_of(end)), reg * equations.gain**2

    @classmethod
    def _at(cls, grids: Grids, end: FixedPoint, status: Integers) -> Self:
        state, residual, iterations, _ = end
        outputs, weights = [], []
        for rows, equations in grids.blocks(_NUMBERS_AT_ONCE):
            output, trained, _ = equations.evaluate(state[rows])
            outputs.append((rows, output))
            weights.append((rows, trained.in_units(equations.gain)))
        law = gathered(outputs, len(state)), gathered(weights, len(state))
        return cls(grids.points, state, *law, residual, iterations, status, grids)

    def chain_layers(self) -> OrderFunctions:
        scaled = scaled_chain(self.points)
        blocks = self.grids.blocks(_NUMBERS_AT_ONCE / (scaled.chain.depth + 1))
        with np.errstate(all="ignore"):  # NaN where a point has no solution
            parts = [(rows, _layers(part, self, rows, scaled.take(rows))) for rows, part in blocks]
        return gathered(parts, self.points.size)


@dataclass(frozen=True, eq=False)
class Grids:
    """Number of nodes on the spectrum for each point, and the equations there.

    `reg`, in units of the gain of the filter, takes the place of the regularization.
    """

    points: Points
    nodes: Integers
    kind: type[SymmetricEquations]
    reg: Array | None = None

    @classmethod
    def of(cls, points: Points, kind: type[SymmetricEquations]) -> Self:
        """Grids to begin with, all as fine as the finest."""
        return cls(points, np.full(points.size, np.max(_first_nodes(points.filter))), kind)

    def finer(self, rows: Rows) -> Self:
        """Grids with twice as many nodes for some of the points."""
        nodes = self.nodes.copy()
        nodes[rows] *= 2
        return replace(self, nodes=nodes)

    def equations(self, rows: Rows | None = None) -> SymmetricEquations:
        """Equations of some of the points, all on the grid of the first of them."""
        rows = np.arange(self.points.size) if rows is None else rows
        equations = self.kind.of(self.points.take(rows), int(self.nodes[rows[0]]))
        return equations if self.reg is None else equations.at(self.reg[rows])

    def blocks(self, budget: float) -> Iterator[tuple[Rows, SymmetricEquations]]:
        """Points that share a grid, as many at a time as memory allows, and their equations."""
        for n in np.unique(self.nodes):
            rows = np.flatnonzero(self.nodes == n)
            for block in batches(rows.size, max(1, int(budget / n))):
                yield rows[block], self.equations(rows[block])


def _first_nodes(filter: Filter) -> Integers:
    r"""Nodes to begin with: products of :math:`g` with :math:`1/(1 + \kappa V_w g^2)` need more than powers."""
    return 2 * filter.quadrature_nodes() + 32
