r"""The square loss at finite regularization: everything is explicit in one number (theory page, §3).

The three averages of the loss are closed, :math:`\bar\beta = \kappa` and
:math:`\varsigma = \kappa^2 \frac{1-\rho}{\rho} [(1 - \bar\omega)^2 + \sigma^2]`, so that of the four numbers only
:math:`s = \kappa V_w` is left. With :math:`p = s\,\tau(W)`, the degrees of freedom of the training per node,

.. math:: r\,s = \frac{(\rho - p)(1 - \alpha p)}{\alpha\,(1 - p)}, \qquad 0 \le p < \min(\rho, 1/\alpha) .

Correlated features add averages at one more number, :math:`t = \hat V_w/r` with
:math:`\alpha p = \langle\sigma^2 t/(1 + \sigma^2 t)\rangle` (Eq. 8.16).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gcnlimit._values import Array
from gcnlimit.numerics.linear import batches
from gcnlimit.numerics.roots import bracketed_roots
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.spectrum import Spectrum
from gcnlimit.theory.finite_reg.equations import Transforms, WeightGain
from gcnlimit.theory.finite_reg.pagerank import pagerank_transforms
from gcnlimit.theory.points import Points

_COARSEST, _FINEST = 63, (1 << 15) - 1  # nodes on the spectrum; each grid contains the one before
_SAME = 1e-12  # change of a margin between two grids at which the finer one is fine enough
_NUMBERS_AT_ONCE = 1 << 19  # held by one temporary array
_INFINITE = 500.0  # logarithm of a regularization at which s is 0 beside any other number

WHITE = Spectrum.white()


def most_freedom(alpha: Array, rho: Array) -> Array:
    r"""Bound :math:`\min(\rho, 1/\alpha)` of the degrees of freedom per node, reached as the regularization vanishes."""
    return np.minimum(rho, 1.0 / alpha)


def feature_gain(features: Spectrum, freedom: Array) -> WeightGain:
    r"""Averages over the features at :math:`\alpha p`, the degrees of freedom per feature, for :math:`D = 1 + \sigma^2 t`.

    All but the response are divided by the power of it that makes them independent of the unit of :math:`\sigma^2`; they are 1
    if the features are white.
    """
    if features.is_white:
        return WeightGain(1.0, 1.0, 1.0, 1.0 - freedom)
    t = _ratio(features, freedom)
    labels, signal, noise, response = WeightGain.of(features, 1.0, np.ones_like(t), t)
    return WeightGain(labels / response, signal / response**2, noise / response**2, response)


def _ratio(features: Spectrum, freedom: Any) -> Any:
    r"""Solve :math:`\langle\sigma^2 t/(1 + \sigma^2 t)\rangle = y` for :math:`t`, by Newton's method between bounds.

    The logit of the left side against :math:`\log t` has a slope in (0, 1]. A last step in complex numbers gives the
    derivative of the root along an imaginary step.
    """
    y = np.clip(np.real(freedom), 1e-300, 1.0 - 1e-15)[..., None]
    logit = np.log(y) - np.log1p(-y)
    variance = features.variance
    weight = features.weight
    low = logit - np.log(features.average(variance))
    high = logit - np.log(np.min(variance))

    def excess(x: Array) -> tuple[Array, Array]:
        stiff = 1.0 / (1.0 + variance * np.exp(x))
        soft = variance * np.exp(x) * stiff
        free, held, slope = ((column @ weight)[..., None] for column in (soft, stiff, soft * stiff))
        return np.log(free) - np.log(held) - logit, slope / (free * held)

    t = np.exp(bracketed_roots(excess, low, low, high))[..., 0]
    stiff = 1.0 / (1.0 + variance * t[..., None])
    return t + (freedom - t * ((variance * stiff) @ weight)) / ((variance * stiff**2) @ weight)


def square_reg(W: Array, s: Array, alpha: Array, rho: Array, features: Spectrum = WHITE) -> Array:
    r"""Regularization at :math:`s = \kappa V_w`, given :math:`\tau(W)`; infinite at 0, NaN beyond the most freedom."""
    p = s * W
    # at s = 0 the quotient is infinite, which is right; beyond the most freedom it is refused below
    with np.errstate(divide="ignore", invalid="ignore"):
        reg = (rho - p) * feature_gain(features, alpha * p).response / (alpha * (1.0 - p)) / s
    return np.where(p < most_freedom(alpha, rho), reg, np.nan)


def square_margin(
    graph: Transforms, s: Array, alpha: Array, mu: Array, rho: Array, *, features: Spectrum = WHITE
) -> Array:
    r"""Margin of a test node for the square loss, :math:`\Phi^{-1}` of its accuracy if there are two equal classes.

    .. math::
        \frac{M}{\sqrt S}, \qquad
        S\,(1 - s^2 k) = \mathrm{Var}_e F + \omega\, \{ \mathrm{Var}_e[U - s\mu b\, W] + (1 + \mu)\, b^2 \} + k\, (1 - p - sM)^2

    for white features, with :math:`b = e(U)/(1 + \mu s\, e(W))`, :math:`F = \mu b\, U + W`, :math:`M = e(F) - \tau(W)`, and
    :math:`\omega` and :math:`k` the variances that the weights and the choice of labelled nodes add.
    """
    gain = feature_gain(features, alpha * s * graph.W)
    along = graph.U / (1.0 + mu * s * gain.labels * (graph.W + graph.excess))
    pull = mu * gain.labels * along
    mean = pull * graph.U + graph.excess

    # variances of the weights and of the choice of labelled nodes, each with its own echo
    each = alpha * gain.noise
    weights = each * graph.UU / (1.0 - each * s**2 * (graph.WW_bulk + graph.W**2))
    choice = (1.0 - rho) / rho * graph.stretch**2 * (weights * graph.UU + graph.WW_bulk)
    missed = 1.0 - s * (graph.W + mean)
    variance = graph.across(pull, np.ones_like(pull)) + choice * missed**2
    shared = 1.0 + mu * (gain.signal / gain.noise)
    off_labels = graph.across(np.ones_like(pull), -s * pull)
    variance = variance + weights * (off_labels + shared * along**2)
    return np.asarray(mean * np.sqrt((1.0 - s**2 * choice) / variance))


def spectral_transforms(measure: SpikedSemicircle, U: Array, W: Array, s: Array) -> Transforms:
    """Averages of a symmetric graph from the values of U and W at the nodes of its spectrum."""
    W_bulk = W @ measure.tau
    U_labels = np.vecdot(measure.e, U)
    W_labels = np.vecdot(measure.e, W)
    off_bulk = W - W_bulk[:, None]
    U_across = U - U_labels[:, None]
    W_across = W - W_labels[:, None]
    return Transforms(
        W=W_bulk,
        UU=U**2 @ measure.tau,
        WW_bulk=off_bulk**2 @ measure.tau,
        stretch=1.0 / (1.0 - s * W_bulk),
        U=U_labels,
        excess=np.vecdot(measure.excess, off_bulk),
        UU_across=np.vecdot(measure.e, U_across**2),
        UW_across=np.vecdot(measure.e, U_across * W_across),
        WW_across=np.vecdot(measure.e, W_across**2),
    )


def square_margins(points: Points) -> Array:
    """Margins of a test node, square loss, any regularization, on a symmetric graph or of PageRank; NaN where not resolved.

    One equation for one number is left, monotone in it. On a symmetric graph the grid on the spectrum is doubled until the
    margin stays; the averages of PageRank on a directed graph are closed.
    """
    if not points.symmetric:
        return _of_pagerank(points)
    margin = np.full(points.size, np.nan)
    s = np.full(points.size, np.nan)
    left = np.arange(points.size)
    n = _COARSEST
    while left.size and n <= _FINEST:
        before = margin[left]
        for block in batches(left.size, max(1, _NUMBERS_AT_ONCE // n)):
            rows = left[block]
            margin[rows], s[rows] = _on_grid(points.take(rows), n, s[rows])
        same = np.abs(margin[left] - before) <= _SAME * (1.0 + np.abs(margin[left]))
        left = left[~same]
        n = 2 * n + 1
    return margin


def _on_grid(points: Points, n: int, near: Array) -> tuple[Array, Array]:
    """Margins on a grid, and their number `s`, for filters of gain 1; `near` is that of a coarser grid, or NaN."""
    measure = SpikedSemicircle.of(points.signal, n)
    g, size = points.filter.normalized(measure.x)
    gain = np.sqrt(g**2 @ measure.tau)
    g = g / gain[:, None]
    square = g**2

    def freedom(y: Array) -> tuple[Array, Array]:
        q = square * np.exp(y)[:, None]
        # s g^2/(1 + s g^2), the share of each eigenvalue that is learned
        q /= 1.0 + q
        return q @ measure.tau, (q - q * q) @ measure.tau

    # in logarithms: the gain of many layers exceeds the largest number
    s = _solved(freedom, points, size + np.log(gain), near)
    d = 1.0 / (1.0 + s[:, None] * square)
    graph = spectral_transforms(measure, g * d, square * d, s)
    return square_margin(graph, s, points.alpha, points.mu, points.rho), s


def _of_pagerank(points: Points) -> Array:
    """Margins of PageRank on a directed graph."""
    theta = points.filter.values

    def freedom(y: Array) -> tuple[Array, Array]:
        s = np.exp(y)
        graph = pagerank_transforms(theta, points.signal, s)
        p = s * graph.W
        return p, p * (1.0 - p) - s**2 * graph.WW_bulk

    s = _solved(freedom, points, -0.5 * np.log1p(-(theta**2)), np.full(points.size, np.nan))
    graph = pagerank_transforms(theta, points.signal, s)
    return square_margin(graph, s, points.alpha, points.mu, points.rho)


def _solved(
    freedom: Callable[[Array], tuple[Array, Array]], points: Points, log_gain: Array, near: Array
) -> Array:
    r"""Solve :math:`\alpha r s = (\rho - p)(1 - \alpha p)/(1 - p)` for :math:`s`, which lies below :math:`\rho/(\alpha r)`.

    Newton's method for :math:`\log s`, between bounds: the left side over the right one increases. `freedom` gives :math:`p` and
    its derivative at :math:`\log s`, for filters divided by their gain; `near` is a guess of the root, or NaN.
    """
    alpha, rho = points.alpha, points.rho
    most = most_freedom(alpha, rho)
    log_reg = np.log(points.reg) - (0.0 if points.normalize else 2.0 * log_gain)
    top = np.log(rho / alpha) - np.minimum(log_reg, _INFINITE)
    guess = np.log(np.where(near > 0.0, near, np.nan))
    # near the lower of two bounds of s, that of the regularization and that of the freedom
    start: Array = top - np.logaddexp(0.0, np.log(2.0 / most) + top)

    def excess(y: Array) -> tuple[Array, Array]:
        p, slope = freedom(y)
        inside = p < most
        p = np.where(inside, p, 0.0)
        value = y - top + np.log1p(-p) - np.log1p(-p / rho) - np.log1p(-alpha * p)
        rise = 1.0 / (rho - p) + alpha / (1.0 - alpha * p) - 1.0 / (1.0 - p)
        # more freedom than there is: too far, whatever the equation says
        return np.where(inside, value, np.inf), 1.0 + slope * rise

    y = np.where(guess < top, guess, start)
    return np.exp(bracketed_roots(excess, y, np.full(alpha.size, -np.inf), top, tol=1e-10))
