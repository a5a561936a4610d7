r"""Another filter at test than at training, on the training graph and on nodes that join it.

The network is trained through :math:`g` and read through :math:`g'`. At infinite regularization the margins are those of
`gcnlimit.theory.large_reg`. At a finite one, on a symmetric operator, with :math:`D = 1/(1 + \kappa V_w g^2)` and
:math:`t = \tau(g'gD)`, the output of a test node is (Eq. 10.12)

.. math::
    h = F_z(a)\, z_0 + F_\beta(a)\, \beta, \qquad F_z = g'D + b\,gD, \qquad
    F_\beta = V_w [g'gD - t + b\,(g^2D - \tau(g^2D))], \qquad b = \kappa V_w t/\tau(D) .

A node that joins the graph after the training sees its own input through the first coefficient :math:`c_0` of
:math:`g' = \sum_k c_k U_k(x/2)` and its neighbours through the shifted filter :math:`k = \sum_{j \ge 1} c_j U_{j-1}(x/2)`
(Eq. 10.13; on a directed operator Taylor coefficients take the place of :math:`c_k`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gcnlimit._values import Array
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Averages, Filter
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.theory.finite_reg.solve import solve
from gcnlimit.theory.finite_reg.symmetric import SymmetricEquations, SymmetricSolution
from gcnlimit.theory.large_reg import (
    Readout,
    coefficient_averages,
    coefficient_readout,
    margins,
    paired_series,
    spectral_averages,
    spectral_readout,
    weight_square,
)
from gcnlimit.theory.points import Points

_CHUNK = 1 << 16  # numbers held by one temporary array: what a cache holds
_BLOCK = 1 << 18  # the same for a solution at finite regularization
_TOL, _ITERATIONS = 1e-10, 5000


def readout_margins(points: Points, filter: Filter) -> Array:
    """Return the margins of test nodes read through another filter, one for each point (Eqs. 10.11 and 10.12).

    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=1, lam=1.0, mu=2.0, rho=0.1)
    >>> gcn = gl.GCN(gl.PageRank([0.4, 0.3]), reg=[np.inf, 1.0])
    >>> same = readout_margins(Points.of(data, gcn), gcn.filter)
    >>> bool(np.allclose(same, gl.predict(data, gcn).order_parameters.test_margin, rtol=1e-12))
    True
    """
    return _each(points, filter, _infinite_margin, _second_output)


def joining_margins(points: Points, filter: Filter) -> Array:
    """Return the margins of nodes that join the training graph, read through a filter, one for each point (Eq. 10.13).

    >>> import gcnlimit as gl
    >>> points = Points.of(gl.CSBM(alpha=4, lam=1.2, mu=2.0, rho=0.1, directed=False), gl.GCN(gl.Diffusion(t=1.0)))
    >>> from scipy.special import ndtr
    >>> ndtr(joining_margins(points, points.filter)).round(4)
    array([0.8193])
    """
    return _each(points, filter, _infinite_joining, _joining_output)


class BestReadout(NamedTuple):
    r"""Best filter at test given that of the training, on a symmetric operator at infinite regularization (Eq. 10.14).

    With :math:`k = g + \mu e(g)`, :math:`x = \frac{1-\rho}\rho` and :math:`w = 1 + \lambda_e^2 - \lambda_e x`, which vanishes at
    the outlier, it is :math:`g' = (c_1 k + c_2 g w)/(k^2 + (x g^2 + B)\,w)`.
    """

    margin: Array
    filter: Callable[[Array], Array]


def best_readout(points: Points) -> BestReadout:
    """Return the best filter at test, and its margin, given the filter of the training; points along one axis.

    The filter takes values on the spectrum, one row for each point.

    >>> import gcnlimit as gl
    >>> points = Points.of(gl.CSBM(alpha=1, lam=1.0, mu=2.0, rho=0.1), gl.GCN(gl.PageRank(0.4)))
    >>> best = best_readout(points)
    >>> other = gl.filters.Function(lambda x: best.filter(np.atleast_2d(x)).reshape(x.shape)).ravel((1,))
    >>> bool(abs(readout_margins(points, other) / best.margin - 1) < 1e-12)
    True
    """
    if not points.symmetric or not np.all(np.isinf(points.reg)):
        raise ParameterError(
            "the best filter at test is known on a symmetric operator at reg = inf; take symmetrize=True"
        )
    nodes = 2 * int(np.max(points.filter.quadrature_nodes())) + 64
    measure = SpikedSemicircle.of(points.signal, nodes)
    s1 = points.features.moments[0]
    mu = points.mu / s1
    g, size = points.filter.normalized(measure.x)
    averages = spectral_averages(measure, g, mu)
    hidden, push = (1.0 - points.rho) / points.rho, mu * averages.e_g
    noise = points.alpha * weight_square(averages, points.mu, points.rho, points.features) / s1**2

    def scales(values: Array, x: Array) -> tuple[Array, Array, Array]:
        """Of the filter: k, the distance w to the outlier, and the denominator."""
        w = 1.0 + points.signal[:, None] ** 2 - points.signal[:, None] * x
        k = values + push[:, None]
        return k, w, k**2 + (hidden[:, None] * values**2 + noise[:, None]) * w

    # the stationary filter is c_1 f_1 + c_2 f_2; its averages along k e and g tau close a linear system of two equations
    k, w, below = scales(g, measure.x)
    first, second = k / below, g * w / below
    along = [np.einsum("bn,bn->b", measure.e, k * f) for f in (first, second)]
    across = [(g * f) @ measure.tau for f in (first, second)]
    matrix = np.array([[1.0 - along[0], -along[1]], [-hidden * across[0], 1.0 - hidden * across[1]]])
    c1, c2 = np.moveaxis(np.linalg.solve(np.moveaxis(matrix, -1, 0), np.array([[1.0], [-1.0]])), 1, 0)

    def filter(x: Array) -> Array:
        values = points.filter.normalized(x)
        own = values[0] * np.exp(values[1] - size)[:, None]
        k, w, below = scales(own, x)
        return np.asarray((c1 * k + c2 * own * w) / below)

    readout = spectral_readout(measure, g, c1 * first + c2 * second, mu)
    margin, _ = margins(averages, points.alpha, points.mu, points.rho, points.features, readout=readout)
    return BestReadout(margin, filter)


Explicit = Callable[[Points, Filter, int], Array]
Output = Callable[[SymmetricEquations, Array, SpikedSemicircle, Array, Array], tuple[Array, Array]]


def _each(points: Points, filter: Filter, explicit: Explicit, output: Output) -> Array:
    """Margins at infinite regularization, chunk by chunk, and those of the solved equations."""
    answer, infinite = np.empty(points.size), np.isinf(points.reg)
    nodes = np.ones(points.size, int)
    if points.symmetric:
        nodes = np.maximum(points.filter.quadrature_nodes(), filter.quadrature_nodes())
    rows = np.flatnonzero(infinite)
    for part, chunk in points.take(rows).chunks(nodes[rows], _CHUNK) if rows.size else ():
        where = rows[part]
        answer[where] = explicit(chunk, filter[where], int(np.max(nodes[where])))
    rows = np.flatnonzero(~infinite)
    if rows.size:
        answer[rows] = _solved(points.take(rows), filter[rows], output)
    return answer


def _infinite_margin(points: Points, filter: Filter, nodes: int) -> Array:
    averages, readout, _ = _averages(points, filter, nodes, shifted=False)
    return margins(averages, points.alpha, points.mu, points.rho, points.features, readout=readout)[0]


def _infinite_joining(points: Points, filter: Filter, nodes: int) -> Array:
    """Margin of a joining node, from the averages of the shifted filter; the same on both kinds of operators."""
    a, out, first = _averages(points, filter, nodes, shifted=True)
    s1, hidden = points.features.moments[0], (1.0 - points.rho) / points.rho
    along = s1 * (out.excess + out.both) + points.mu * (a.e_g * out.e)
    own = points.alpha * weight_square(a, points.mu, points.rho, points.features)
    scattered = s1**2 * (out.scattered + out.both**2)
    variance = own * (first**2 + out.tau2) + along**2 + s1**2 * out.coherent + hidden * scattered
    return np.asarray((first * points.mu * a.e_g + points.signal * along) / np.sqrt(variance))


def _averages(points: Points, filter: Filter, nodes: int, *, shifted: bool) -> tuple[Averages, Readout, Array]:
    """Averages of the training, those of the output through another filter or its shift, and its first coefficient."""
    mu = points.mu / points.features.moments[0]
    if points.symmetric:
        measure = SpikedSemicircle.of(points.signal, nodes)
        g, read = (f.normalized(measure.x)[0] for f in (points.filter, filter))
        first = read @ measure.tau
        read = shifted_filter(measure, points.signal, read) if shifted else read
        return spectral_averages(measure, g, mu), spectral_readout(measure, g, read, mu), first
    trained, (h, H) = paired_series(points.filter, filter, points.signal)
    pair = (_next(h), _next(H)) if shifted else (h, H)
    readout = coefficient_readout(trained, pair, points.signal, mu)
    return coefficient_averages(*trained, points.signal, mu), readout, h[0]


def _next(coefficients: Array) -> Array:
    """Coefficients one power lower, without the first."""
    return np.concatenate([coefficients[1:], np.zeros_like(coefficients[:1])])


def shifted_filter(measure: SpikedSemicircle, signal: Array, values: Array) -> Array:
    r"""Values of :math:`\sum_{j \ge 1} c_j U_{j-1}(x/2)` from those of :math:`\sum_j c_j U_j(x/2)` at the nodes of the measure.

    In the bulk by a sine transform; at the outlier it is :math:`g(x)/\lambda_e` less :math:`\lambda_e` times the average of
    :math:`g` over the part of the measure in the bulk.

    >>> one = SpikedSemicircle.of(np.array([1.5]), 12)
    >>> np.allclose(shifted_filter(one, np.array([1.5]), one.x**2), one.x)  # x^2 = U_2 + U_0
    True
    """
    n = measure.tau.size - 1
    angle = np.arange(1, n + 1) * (np.pi / (n + 1))
    sines = np.sin(np.outer(np.arange(1, n + 1), angle))
    coefficients = (values[:, :-1] * (2.0 / (n + 1) * np.sin(angle))) @ sines.T
    bulk = coefficients[:, 1:] @ sines[:-1] / np.sin(angle)
    outside = np.abs(signal) > 1.0
    safe = np.where(outside, signal, 1.0)
    in_bulk = np.einsum("bn,bn->b", measure.e[:, :-1], values[:, :-1])
    atom = np.where(outside, values[:, -1] / safe - safe * in_bulk, 0.0)
    return np.concatenate([bulk, atom[:, None]], axis=1)


def _solved(points: Points, filter: Filter, output: Output) -> Array:
    """Margins at finite regularization, on grids that resolve both filters."""
    if not points.symmetric:
        raise ParameterError(
            "another filter at test has no theory on a directed operator at finite reg; take symmetrize=True or reg=math.inf"
        )
    found = solve(points, tol=_TOL, max_iterations=_ITERATIONS)
    assert isinstance(found, SymmetricSolution)
    grids = replace(found.grids, nodes=np.maximum(found.grids.nodes, 2 * filter.quadrature_nodes() + 32))
    answer = np.empty(points.size)
    for rows, equations in grids.blocks(_BLOCK):
        measure = SpikedSemicircle.of(points.signal[rows], equations.tau.size - 1)
        read = filter[rows].normalized(measure.x)[0]
        mean, variance = output(equations, found.state[rows], measure, points.signal[rows], read)
        answer[rows] = mean / np.sqrt(variance)
    return answer


def _second_output(
    equations: SymmetricEquations, state: Array, measure: SpikedSemicircle, signal: Array, read: Array
) -> tuple[Array, Array]:
    """Mean and variance of a test node's output through another filter (Eq. 10.12)."""
    pulls, weights = equations.pulls(state), equations.evaluate(state)[0].weights
    g, tau = equations.g, measure.tau
    D = 1.0 / (1.0 + pulls.product[:, None] * g**2)
    t = (read * g * D) @ tau
    b = (pulls.product * t / (D @ tau))[:, None]
    echo = read * g * D + b * (g**2 * D)
    by_input, by_pull = read * D + b * (g * D), pulls.V_w[:, None] * (echo - (echo @ tau)[:, None])
    features = np.sqrt(equations.mu) * weights.m
    mean = features * _e(measure, by_input) + pulls.drive * np.einsum("bn,bn->b", measure.excess, by_pull)
    labels = features[:, None] * by_input + pulls.drive[:, None] * by_pull
    along = _e(measure, (labels - _e(measure, labels)[:, None]) ** 2)
    return mean, along + weights.Q * (by_input**2 @ tau) + pulls.scatter * (by_pull**2 @ tau)


def _joining_output(
    equations: SymmetricEquations, state: Array, measure: SpikedSemicircle, signal: Array, read: Array
) -> tuple[Array, Array]:
    """Mean and variance of the output of a node that joins the graph (Eq. 10.13)."""
    pulls, weights = equations.pulls(state), equations.evaluate(state)[0].weights
    first, shifted = read @ measure.tau, shifted_filter(measure, signal, read)
    D = 1.0 / (1.0 + pulls.product[:, None] * equations.g**2)
    by_input, by_pull = shifted * D, shifted * D * equations.g * pulls.V_w[:, None]
    features = np.sqrt(equations.mu) * weights.m
    labels = features[:, None] * by_input + pulls.drive[:, None] * by_pull
    noise = weights.Q * (first**2 + by_input**2 @ measure.tau) + pulls.scatter * (by_pull**2 @ measure.tau)
    return first * features + signal * _e(measure, labels), _e(measure, labels**2) + noise


def _e(measure: SpikedSemicircle, values: Array) -> Array:
    return np.asarray(np.einsum("bn,bn->b", measure.e, values))
