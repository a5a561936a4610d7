r"""Solving the equations of a directed graph, and the order parameters of its layers.

A node responds linearly to its fields (Eq. 3.28): their means along the labels, their covariances :math:`\hat Q` (on layers) and
:math:`Q` (on conjugates), the noise of the weights and the scatter of :math:`\beta`. The map is linear, positive and a
contraction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.filters import Chain
from gcnlimit.numerics.fixed_point import fixed_point
from gcnlimit.numerics.linear import pack_positive, solve_each, unpack_positive
from gcnlimit.results.order_parameters import OrderFunctions, Rows
from gcnlimit.theory.finite_reg.directed import DirectedEquations, memory, outer, response
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
    weights = equations.evaluate(state)[0].weights
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
    C, L, M, pull_q, pull_h, _ = stiff.inner
    node = _Node(C, L, M, outer(b, b))
    # overlaps have three sources: these means, the scatter of the pulls, and the weights
    of_h = h, pull_h, stiff.L[:, :-1, 0]
    of_q = q, pull_q, -stiff.M[:, 1:, 0]
    variances = np.ones_like(weights.Q), pulls.scatter, weights.Q

    def source(left: tuple[Array, ...], right: tuple[Array, ...]) -> Array:
        parts = zip(variances, left, right, strict=True)
        return np.asarray(sum(v[:, None, None] * outer(x, y) for v, x, y in parts))

    sources = source(of_h, of_h), node.bb * source(of_q, of_q)
    Q, Q_hat = _overlaps(node, np.stack(sources, axis=1))
    Q_qh = L.mT @ Q_hat @ C - M @ (node.bb * Q) @ L.mT + source(of_q, of_h)
    scaled = OrderFunctions(
        x=np.arange(chain.depth) / max(chain.depth, 1),
        m=h,
        Q=Q,
        V=V,
        m_hat=equations.signal[:, None] * b * q,
        Q_hat=Q_hat,
        V_hat=V_hat,
        Q_qh=b[:, :, None] * Q_qh,
        V_qh=b[:, :, None] * L.mT,
        weights=weights,
    )
    return scaled.in_units(equations.gain, equations.layers)


class _Node(NamedTuple):
    """Linear response of layers and conjugates of a node to the fields on them."""

    C: Array
    L: Array
    M: Array
    bb: Array

    def pass_on(self, overlaps: Array) -> Array:
        """Linear part of Eq. 3.28, for `Q` and `Q_hat` along the second axis."""
        Q = self.bb * overlaps[:, 0]
        Q_hat = overlaps[:, 1]
        from_fields = self.C @ Q_hat @ self.C + self.L @ Q @ self.L.mT
        conjugate = self.L.mT @ Q_hat @ self.L + self.M @ Q @ self.M
        return np.stack([from_fields, self.bb * conjugate], axis=1)


def _overlaps(node: _Node, source: Array) -> tuple[Array, Array]:
    """Solve for `Q` and `Q_hat`."""
    K = source.shape[-1]

    def pack(overlaps: Array) -> Array:
        return np.concatenate([pack_positive(overlaps[:, k]) for k in (0, 1)], axis=1)

    def unpack(rows: Array) -> Array:
        return np.stack([unpack_positive(part, K) for part in np.split(rows, 2, axis=1)], axis=1)

    def around(rows: Array, points: Rows) -> Array:
        there = _Node(*(part[points] for part in node))
        return pack(source[points] + there.pass_on(unpack(rows)))

    found = fixed_point(around, pack(source), scale=np.ones_like, tol=1e-13, max_iterations=2000)
    state = unpack(found.state)
    for k in np.flatnonzero(~(found.residual <= _GOOD)):
        there = _Node(*(part[k] for part in node))
        state[k] = _at_once(there, source[k]) if K <= _SMALL else np.nan
    return state[:, 0], state[:, 1]


def _at_once(node: _Node, source: Array) -> Array:
    """Overlaps of one point by a linear system for all of them."""
    C, L, M = node.C, node.L, node.M
    bb = node.bb.reshape(-1)
    lower = [bb[:, None] * np.kron(M, M) * bb, bb[:, None] * np.kron(L.T, L.T)]
    around = np.block([[np.kron(L, L) * bb, np.kron(C, C)], lower])
    if not np.isfinite(around).all():
        return np.full_like(source, np.nan)
    found = solve_each((np.eye(source.size) - around)[None], source.reshape(1, -1, 1))
    return found.reshape(source.shape)


@dataclass(frozen=True, eq=False)
class DirectedSolution(FollowedSolution):
    """Solution on a directed graph, of the equations of a chain of gain 1."""

    equations: DirectedEquations

    @staticmethod
    def cost(points: Points) -> npt.NDArray[np.int64]:
        """Numbers that the search keeps at a time, for each point."""
        depth = points.filter.layers(accuracy=ACCURACY, radius=points.radius)
        return np.asarray(8 * (depth * (depth + 1) // 2 + 1) * memory(depth))

    @staticmethod
    def prepare(points: Points, chain: Chain | None) -> DirectedEquations:
        """Equations of the chains of the filters, or of a `chain` that takes their place."""
        return DirectedEquations.of(points, scaled_chain(points, chain))

    def chain_layers(self) -> OrderFunctions:
        """Order functions at the layers of the chain that stands for the filter."""
        with np.errstate(all="ignore"):  # NaN where a point has no solution
            return directed_layers(self.equations, self.state)
