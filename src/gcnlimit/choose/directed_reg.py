r"""Margins on a directed graph for the square loss, at given regularizations: no equations of the loss are left.

The number :math:`s = \kappa V_w` that belongs to a regularization is found together with the responses of the layers, which
are iterated at the same time; for PageRank, whose averages are closed, by Newton's method.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.choose.directed_margin import DirectedAverages
from gcnlimit.choose.directed_responses import Responses
from gcnlimit.filters import PageRank
from gcnlimit.theory.finite_reg.equations import Transforms
from gcnlimit.theory.finite_reg.pagerank import pagerank_transforms
from gcnlimit.theory.finite_reg.solution import scaled_chain
from gcnlimit.theory.finite_reg.square import most_freedom, square_margin, strength
from gcnlimit.theory.points import Points

__all__ = ["directed_margins"]

_SWEEPS = 1000  # at most
_SETTLED = 1e-13  # change in one sweep
_BUDGET = 1 << 20  # numbers in the matrices of the points that are swept together


def directed_margins(points: Points) -> Array:
    """Margins of a test node at the points of a directed graph, square loss; NaN where reg is infinite or nothing is found."""
    margin, finite = np.full(points.size, np.nan), np.flatnonzero(np.isfinite(points.reg))
    points = points.take(finite)
    if isinstance(points.filter, PageRank):
        margin[finite] = _of(points, *_pagerank(points))
        return margin
    cost = (1 + points.filter.layers(radius=points.radius)) ** 2 * np.ones(points.size, np.intp)
    for rows, part in points.chunks(cost, _BUDGET):
        margin[finite[rows]] = _of(part, *_layered(part))
    return margin


def _of(points: Points, graph: Transforms, s: Array) -> Array:
    margin = square_margin(graph, s, points.alpha, points.mu, points.rho, features=points.features)
    return np.where(s * graph.W < most_freedom(points.alpha, points.rho), margin, np.nan)


def _pagerank(points: Points) -> tuple[Transforms, Array]:
    theta, signal = points.filter.values, points.signal

    def freedom(y: Array) -> tuple[Array, Array]:
        s = np.exp(y)
        graph = pagerank_transforms(theta, signal, s)
        p = s * graph.W
        return p, p * (1.0 - p) - s**2 * graph.WW_bulk

    log_reg = np.log(points.reg) + 2.0 * np.log(points.divisor())
    s = strength(freedom, points.alpha, points.rho, log_reg)
    return pagerank_transforms(theta, signal, s), s


def _layered(points: Points) -> tuple[Transforms, Array]:
    """Averages of filters that are chains, as polynomials of gain 1, in units in which the stiffness is 1."""
    scaled = scaled_chain(points, None)
    g = scaled.chain.coefficients()[1][:, 0]
    at, settled = _swept(g, points.alpha, points.rho, np.log(points.reg) - 2.0 * np.log(scaled.gain))
    averages = DirectedAverages.swept(at, points.signal).transforms()
    return averages, np.where(settled, 1.0, np.nan)


def _swept(g: Array, alpha: Array, rho: Array, log_reg: Array) -> tuple[Responses, npt.NDArray[np.bool_]]:
    r"""Responses at the :math:`s` of each regularization, which after each sweep is that of the last :math:`\tau(W)`.

    The equation :math:`\alpha r s\,(1 - p) = (\rho - p)(1 - \alpha p)` with :math:`p = s\,\tau(W)` is quadratic in s. Its smaller
    root falls as :math:`\tau(W)` grows, which in turn falls as :math:`s` grows: the iteration is monotone.
    """
    reg, K = np.exp(log_reg), g.shape[1] - 1
    s, W = np.zeros(len(g)), np.ones(len(g))
    V, V_hat = np.broadcast_to(np.eye(K), (len(g), K, K)), np.zeros((len(g), K, K))
    for _ in range(_SWEEPS):
        b, before = (1.0 + alpha * rho) * W + alpha * reg, s
        s = 2.0 * rho / (b + np.sqrt(np.maximum(b**2 - 4.0 * alpha * rho * W * (W + reg), 0.0)))
        at = Responses.of(np.sqrt(s)[:, None] * g, V, s[:, None, None] * V_hat)
        C, _, M = at.inner
        W, M = np.vecdot(at.g, (at.C @ at.g[:, :, None])[:, :, 0]) / s, M / s[:, None, None]
        change = np.max(np.maximum(np.abs(C - V), np.abs(M - V_hat)), axis=(1, 2), initial=0.0)
        settled = np.maximum(change, np.abs(1.0 - before / s)) <= _SETTLED
        V, V_hat = C, M
        if settled.all():
            break
    return at, settled
