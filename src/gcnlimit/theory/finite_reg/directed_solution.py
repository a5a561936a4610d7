r"""Solving the equations of a directed graph, and the order parameters of its layers.

A node responds linearly to its fields (Eq. 3.28): their means along the labels, their covariances :math:`\hat Q` (on layers) and
:math:`Q` (on conjugates), the noise of the weights and the scatter of :math:`\beta`. The map is linear, positive and a
contraction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gcnlimit._values import Array, Integers
from gcnlimit.numerics.fixed_point import fixed_point
from gcnlimit.numerics.linear import pack_positive, solve_each, unpack_positive
from gcnlimit.results.order_parameters import OrderFunctions, Rows
from gcnlimit.theory.finite_reg.directed import DirectedEquations, Response, memory, outer, response
from gcnlimit.theory.finite_reg.solution import ACCURACY, FollowedSolution, scaled_chain
from gcnlimit.theory.points import Points

_GOOD = 1e-10  # residual of the overlaps that is accepted where rounding stops the search
_SMALL = 40  # layers up to which a system for all the overlaps fits in memory


def directed_layers(equations: DirectedEquations, state: Array) -> OrderFunctions:
    """Order functions at the layers of a chain at a solution; NaN where they were not found."""
    chain = equations.chain
    b = chain.b
    pulls = equations.pulls(state)
    medium = equations.medium(state)
    _, weights, _ = equations.evaluate(state)
    V_w = pulls.V_w[:, None]
    V = V_w[:, :, None] * medium.V
    V_hat = np.where(pulls.stiffness[:, None, None] > 0.0, medium.V_hat / V_w[:, :, None], 0.0)

    # means along the labels, in units of V_w = 1: the parts of weights and beta
    _, unit, _ = equations.sweep(medium, equations.relative_stiffness(pulls))
    q, h = equations.means(unit)
    from_weights = (np.sqrt(equations.mu) * weights.m)[:, None]
    from_beta = pulls.drive[:, None]
    h = from_weights * h[:, :, 0] + from_beta * V_w * h[:, :, 1]
    q = from_weights / V_w * q[:, :, 0] + from_beta * q[:, :, 1]

    stiff = response(chain, equations.back, pulls.V_w, V, V_hat).stiffened(pulls.stiffness)
    node = stiff.inner
    bb = outer(b, b)
    # overlaps have three sources: these means, the scatter of the pulls, and the weights
    of_h = h, node.pull_h, stiff.L[:, :-1, 0]
    of_q = q, node.pull_q, -stiff.M[:, 1:, 0]
    variances = np.ones_like(weights.Q), pulls.scatter, weights.Q

    def source(left: tuple[Array, ...], right: tuple[Array, ...]) -> Array:
        parts = zip(variances, left, right, strict=True)
        return np.asarray(sum(v[:, None, None] * outer(x, y) for v, x, y in parts))

    sources = source(of_h, of_h), bb * source(of_q, of_q)
    Q, Q_hat = _overlaps(node, bb, np.stack(sources, axis=1))
    LT = node.L.mT
    Q_qh = LT @ Q_hat @ node.C - node.M @ (bb * Q) @ LT + source(of_q, of_h)
    scaled = OrderFunctions(
        x=np.arange(chain.depth) / max(chain.depth, 1),
        m=h,
        Q=Q,
        V=V,
        m_hat=equations.signal[:, None] * b * q,
        Q_hat=Q_hat,
        V_hat=V_hat,
        Q_qh=b[:, :, None] * Q_qh,
        V_qh=b[:, :, None] * LT,
        weights=weights,
    )
    return scaled.in_units(equations.gain, equations.layers)


def _overlaps(node: Response, bb: Array, source: Array) -> Array:
    """Solve Eq. 3.28 for `Q` and `Q_hat`, which lie along the second axis of the sources."""
    points, _, K, _ = source.shape

    def around(rows: Array, where: Rows) -> Array:
        Q, Q_hat = unpack_positive(rows.reshape(len(rows), 2, -1), K).swapaxes(0, 1)
        layers, conjugates = node.take(where).pass_on(bb[where] * Q, Q_hat)
        passed_on = np.stack([layers, bb[where] * conjugates], axis=1)
        return pack_positive(source[where] + passed_on).reshape(len(rows), -1)

    start = pack_positive(source).reshape(points, -1)
    # packed by logarithms of their diagonals and correlations, entries count alike: the scale is 1
    overlaps = fixed_point(around, start, scale=np.ones_like, tol=1e-13, max_iterations=2000)
    state = unpack_positive(overlaps.state.reshape(points, 2, -1), K)
    for k in np.flatnonzero(~(overlaps.residual <= _GOOD)):
        state[k] = _at_once(node.take(k), bb[k], source[k]) if K <= _SMALL else np.nan
    return state.swapaxes(0, 1)


def _at_once(node: Response, bb: Array, source: Array) -> Array:
    """Overlaps of one point by a linear system for all of them."""
    C, L, M = node[:3]
    bb = bb.reshape(-1)
    # a product with matrices on both sides is one with their Kronecker product
    lower = [bb[:, None] * np.kron(M, M) * bb, bb[:, None] * np.kron(L.T, L.T)]
    around = np.block([[np.kron(L, L) * bb, np.kron(C, C)], lower])
    solution = solve_each((np.eye(source.size) - around)[None], source.reshape(1, -1, 1))
    return solution.reshape(source.shape)


@dataclass(frozen=True, eq=False)
class DirectedSolution(FollowedSolution):
    """Solution on a directed graph, of the equations of a chain of gain 1."""

    equations: DirectedEquations

    @staticmethod
    def cost(points: Points) -> Integers:
        reach = points.radius + np.abs(points.filter.center(points.signal))
        depth = points.filter.layers(accuracy=ACCURACY, radius=reach)
        return np.asarray(8 * (depth * (depth + 1) // 2 + 1) * memory(depth))

    @staticmethod
    def prepare(points: Points) -> DirectedEquations:
        return DirectedEquations.of(points, scaled_chain(points))

    def chain_layers(self) -> OrderFunctions:
        with np.errstate(all="ignore"):  # NaN where a point has no solution
            return directed_layers(self.equations, self.state)
