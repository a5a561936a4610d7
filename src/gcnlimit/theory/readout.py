r"""Another filter at test than at training, on the training graph and on nodes that join it.

The network is trained through :math:`g` and read through :math:`g'`: at infinite regularization with the margins of
`gcnlimit.theory.large_reg`, at a finite one on a symmetric operator (Eq. 10.12). A node that joins the graph after the training
sees its own input through the first coefficient :math:`c_0` of :math:`g' = \sum_k c_k U_k(x/2)` and its neighbours through the
shifted filter :math:`k = \sum_{j \ge 1} c_j U_{j-1}(x/2)` (Eq. 10.13; on a directed operator Taylor coefficients take the place
of :math:`c_k`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gcnlimit._values import Array, Parameter
from gcnlimit.filters import Averages, Filter
from gcnlimit.filters.base import to_unit
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.results.order_parameters import Output, Record, Weights
from gcnlimit.theory import large_reg
from gcnlimit.theory.finite_reg.equations import Pulls
from gcnlimit.theory.finite_reg.solution import Solution
from gcnlimit.theory.finite_reg.symmetric import SymmetricEquations, SymmetricSolution
from gcnlimit.theory.large_reg import Readout, margins, mean, spectral_readout, weight_square
from gcnlimit.theory.points import Points

_BLOCK = 1 << 18  # numbers held by one temporary array


def explicit_margins(points: Points, nodes: int) -> Array:
    """Return the margins at infinite regularization of nodes read through the test filter (Eqs. 10.11 and 10.13)."""
    a, out, first = _averages(points, nodes)
    if not points.joining:
        return margins(a, points.alpha, points.mu, points.rho, points.features, readout=out)[0]
    # from the averages of the shifted filter; the same on both kinds of operators
    s1 = points.features.moments[0]
    hidden = (1.0 - points.rho) / points.rho
    along = s1 * (out.excess + out.both) + points.mu * (a.e_g * out.e)
    input_noise = points.alpha * weight_square(a, points.mu, points.rho, points.features)
    scattered = s1**2 * (out.scattered + out.both**2)
    variance = (
        input_noise * (first**2 + out.tau2) + along**2 + s1**2 * out.coherent + hidden * scattered
    )
    return np.asarray((first * points.mu * a.e_g + points.signal * along) / np.sqrt(variance))


def read_outputs(solution: Solution) -> Output:
    """Return the law of the output of nodes read through the test filter, at a solution (Eqs. 10.12 and 10.13)."""
    points = solution.points
    filter = points.test_filter
    assert isinstance(solution, SymmetricSolution)
    assert filter is not None
    nodes = np.maximum(solution.grids.nodes, 2 * filter.quadrature_nodes() + 32)
    law = np.empty((2, points.size))
    for rows, equations in replace(solution.grids, nodes=nodes).blocks(_BLOCK):
        read, size = filter[rows].normalized(equations.measure.x)
        divisor = filter[rows].log_gain(symmetric=True) if points.normalize else 0.0
        trained, weights, _ = equations.evaluate(solution.state[rows])
        scale = np.sqrt(solution.output.variance[rows] / trained.variance)
        unit = np.exp(size - divisor) / equations.gain * scale
        joining = points.signal[rows] if points.joining else None
        pulls = equations.pulls(solution.state[rows])
        centre, variance = _output(equations, pulls, weights, read, joining)
        law[:, rows] = unit * centre, unit**2 * variance
    return Output(law[0], law[1], np.zeros(points.size))


@dataclass(frozen=True, eq=False)
class BestReadout(Filter):
    r"""Best filter at test given that of the training, on a symmetric operator at infinite regularization (Eq. 10.14).

    Its parameter is the number of the point.

    >>> import gcnlimit as gl
    >>> data, gcn = gl.CSBM(alpha=1, lam=[1.0, 0.7], mu=2.0, rho=0.1), gl.GCN(gl.PageRank(0.4))
    >>> best, margin = best_readout(Points.of(data, gcn))
    >>> found = gl.predict(data, gcn.replaced(test_filter=best)).order_parameters.test_margin
    >>> bool(np.all(np.abs(found / margin - 1) < 1e-12))
    True
    """

    parameter = "point"
    point: Parameter
    pieces: _Pieces = field(repr=False)

    def normalized(self, x: Array) -> tuple[Array, Array]:
        """Values over the largest magnitude."""
        which = self.values.astype(int)
        rows = np.broadcast_to(x, np.broadcast_shapes((*which.shape, 1), np.shape(x)))
        pieces = self.pieces.take(np.broadcast_to(which, rows.shape[:-1]).ravel())
        k, g, w, below = pieces.at(rows.reshape(-1, rows.shape[-1]))
        return to_unit(((pieces.c1 * k + pieces.c2 * g * w) / below).reshape(rows.shape))


@dataclass(frozen=True, eq=False)
class _Pieces(Record):
    """What the best filter at test is made of, at each point: columns, but for the filter of the training."""

    filter: Filter
    size: Array
    signal: Array
    push: Array
    hidden: Array
    noise: Array
    c1: Any = None
    c2: Any = None

    def at(self, x: Array) -> tuple[Array, Array, Array, Array]:
        """Functions of the spectrum: k, the values of the training's filter, the distance to the outlier, and the denominator."""
        values, size = self.filter.normalized(x)
        g = values * np.exp(size[:, None] - self.size)
        w = 1.0 + self.signal**2 - self.signal * x
        k = g + self.push
        return k, g, w, k**2 + (self.hidden * g**2 + self.noise) * w


def best_readout(points: Points) -> tuple[BestReadout, Array]:
    """Return the best filter at test given that of the training, and its margin; points along one axis."""
    nodes = 2 * int(np.max(points.filter.quadrature_nodes())) + 64
    measure = SpikedSemicircle.of(points.signal, nodes)
    s1 = points.features.moments[0]
    g, size = points.filter.normalized(measure.x)
    averages = large_reg.spectral_averages(measure, g, points.mu / s1)
    hidden = (1.0 - points.rho) / points.rho
    noise = points.alpha * weight_square(averages, points.mu, points.rho, points.features) / s1**2
    columns = (size, points.signal, points.mu / s1 * averages.e_g, hidden, noise)
    pieces = _Pieces(points.filter, *(column[:, None] for column in columns))

    # the stationary filter is c_1 f_1 + c_2 f_2: its averages along k e and g tau fix c_1 and c_2
    k, g, w, below = pieces.at(measure.x)
    first = k / below
    second = g * w / below
    along = [mean(measure.e, k * f) for f in (first, second)]
    across = [(g * f) @ measure.tau for f in (first, second)]
    upper = [1.0 - along[0], -along[1]]
    lower = [-hidden * across[0], 1.0 - hidden * across[1]]
    matrix = np.moveaxis(np.array([upper, lower]), -1, 0)
    c1, c2 = np.moveaxis(np.linalg.solve(matrix, np.array([[1.0], [-1.0]])), 1, 0)

    drive = points.mu / s1 * mean(measure.e, g)
    out = spectral_readout(measure, g, c1 * first + c2 * second, drive)
    margin, _ = margins(averages, points.alpha, points.mu, points.rho, points.features, readout=out)
    return BestReadout(np.arange(float(points.size)), replace(pieces, c1=c1, c2=c2)), margin


def _averages(points: Points, nodes: int) -> tuple[Averages, Readout, Array]:
    """Averages of the training, those of the output through the test filter or its shift, and its first coefficient."""
    mu = points.mu / points.features.moments[0]
    filter = points.filters[-1]
    if points.symmetric:
        measure = SpikedSemicircle.of(points.signal, nodes)
        g, read = (f.normalized(measure.x)[0] for f in (points.filter, filter))
        first = read @ measure.tau
        read = shifted_filter(measure.e, points.signal, read) if points.joining else read
        averages = large_reg.spectral_averages(measure, g, mu)
        return averages, spectral_readout(measure, g, read, mu * averages.e_g), first
    signal = points.signal
    chains = (f.directed_chain(signal) for f in (points.filter, filter))
    (g, G), (h, H) = (chain.taylor(signal) for chain in chains)
    longest = max(len(g), len(h))
    g, G, h, H = (np.pad(part, ((0, longest - len(part)), (0, 0))) for part in (g, G, h, H))
    first = h[0]
    if points.joining:  # one power lower, without the first
        h, H = (np.pad(part[1:], ((0, 1), (0, 0))) for part in (h, H))
    averages = large_reg.coefficient_averages(g, G, signal, mu)
    out = large_reg.coefficient_readout((g, G), (h, H), signal, mu * averages.e_g)
    return averages, out, first


def shifted_filter(e: Array, signal: Array, values: Array) -> Array:
    r"""Values of :math:`\sum_{j \ge 1} c_j U_{j-1}(x/2)` from those of :math:`\sum_j c_j U_j(x/2)` at the nodes of a measure `e`.

    In the bulk by a sine transform; at the outlier it is :math:`g(x)/\lambda_e` less :math:`\lambda_e` times the average of
    :math:`g` over the part of the measure in the bulk.
    """
    n = e.shape[1] - 1
    angle = np.arange(1, n + 1) * (np.pi / (n + 1))
    sines = np.sin(np.outer(np.arange(1, n + 1), angle))
    coefficients = (values[:, :-1] * (2.0 / (n + 1) * np.sin(angle))) @ sines.T
    bulk = coefficients[:, 1:] @ sines[:-1] / np.sin(angle)
    outside = np.abs(signal) > 1.0
    safe = np.where(outside, signal, 1.0)
    in_bulk = mean(e[:, :-1], values[:, :-1])
    atom = np.where(outside, values[:, -1] / safe - safe * in_bulk, 0.0)
    return np.concatenate([bulk, atom[:, None]], axis=1)


def _output(
    equations: SymmetricEquations,
    pulls: Pulls,
    weights: Weights,
    read: Array,
    joining: Array | None,
) -> tuple[Array, Array]:
    """Mean and variance of the output of a test node through another filter (Eq. 10.12).

    With the signal of the graph, `joining`, of a node that joins it (Eq. 10.13).
    """
    g = equations.g
    tau, e = equations.measure.tau, equations.measure.e
    D = 1.0 / (1.0 + pulls.product[:, None] * g**2)
    if joining is None:
        b = (pulls.product * ((read * g * D) @ tau) / (D @ tau))[:, None]
        echo = read * g * D + b * (g**2 * D)
        by_input = read * D + b * (g * D)
        by_pull = pulls.V_w[:, None] * (echo - (echo @ tau)[:, None])
    else:
        by_input = shifted_filter(e, joining, read) * D
        by_pull = by_input * g * pulls.V_w[:, None]
    features = np.sqrt(equations.mu) * weights.m
    labels = features[:, None] * by_input + pulls.drive[:, None] * by_pull
    along = mean(e, labels)
    noise = weights.Q * (by_input**2 @ tau) + pulls.scatter * (by_pull**2 @ tau)
    if joining is None:
        pulled = mean(equations.measure.excess, by_pull)
        centre = features * mean(e, by_input) + pulls.drive * pulled
        return centre, mean(e, (labels - along[:, None]) ** 2) + noise
    # a node that joins sees its neighbours' states, and its own input through `first` alone
    first = read @ tau
    return first * features + joining * along, mean(e, labels**2) + noise + weights.Q * first**2
