r"""Margins on a directed graph for the square loss, at given regularizations: no equations of the loss are left.

The number :math:`s = \kappa V_w` that belongs to a regularization is found by Newton's method; for PageRank the averages at
:math:`s` are closed, for other filters a step is taken every few sweeps through the layers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.choose.directed_margin import DirectedAverages
from gcnlimit.choose.directed_responses import Responses, responses
from gcnlimit.filters import PageRank
from gcnlimit.theory.finite_reg.equations import Transforms
from gcnlimit.theory.finite_reg.pagerank import pagerank_transforms
from gcnlimit.theory.finite_reg.solution import scaled_chain
from gcnlimit.theory.finite_reg.square import most_freedom, square_margin, strength
from gcnlimit.theory.points import Points

_BUDGET = 1 << 20  # numbers in the matrices of the points that are swept together
_STEEPEST = 0.99  # fall of the logarithm of tau(W) in that of s, which is below 1


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
    at, settled = _at_reg(g, points.alpha, points.rho, np.log(points.reg) - 2.0 * np.log(scaled.gain))
    return DirectedAverages.of(at, points.signal).transforms(), np.where(settled, 1.0, np.nan)


def _at_reg(g: Array, alpha: Array, rho: Array, log_reg: Array) -> tuple[Responses, npt.NDArray[np.bool_]]:
    r"""Responses at the :math:`s` of each regularization, which multiplies the squares of the filters.

    The equation :math:`\alpha r s\,(1 - p) = (\rho - p)(1 - \alpha p)` with :math:`p = s\,\tau(W)` is quadratic in :math:`s`. Its
    smaller root falls as :math:`\tau(W)` grows, which in turn falls as :math:`s` grows: the slopes of both are known.
    """
    reg = np.exp(log_reg)
    s = rho / (1.0 + alpha * reg)

    def rescale(at: Responses, rows: npt.NDArray[np.intp]) -> Array:
        a, most, p = alpha[rows], rho[rows], at.freedom
        W = p / s[rows]
        b = (1.0 + a * most) * W + a * reg[rows]
        root = 2.0 * most / (b + np.sqrt(np.maximum(b**2 - 4.0 * a * most * W * (W + reg[rows]), 0.0)))
        q = root * W
        bend = q * (1.0 / (most - q) + a / (1.0 - a * q) - 1.0 / (1.0 - q))
        slope = bend / (1.0 + bend) * np.clip(p + at.scatter / p, 0.0, _STEEPEST)  # of the two together
        ratio = (root / s[rows]) ** (1.0 / (1.0 - slope))
        s[rows] *= ratio
        return ratio

    return responses(Responses.start(g).scaled(s), rescale=rescale)
