r"""Standard deviation of an accuracy over graphs of :math:`N` nodes, and of the difference of two accuracies on the same graphs.

Given its overlaps an output is a uniform direction, so that beyond a corrected binomial term only the margin of the graph at hand
fluctuates: Eq. 10.22 on the training graph, for networks at infinite regularization on a symmetric operator, and Eq. 10.21 on a
new graph. At finite regularization, and on a directed training graph, there is a measured rule only.
"""

from __future__ import annotations

import math
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from gcnlimit import scope
from gcnlimit._runtime.progress import progress_bar
from gcnlimit._validation import check_types, whole
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.errors import GCNLimitError, ParameterError
from gcnlimit.filters import Filter
from gcnlimit.network import GCN, check_problem
from gcnlimit.numerics.linear import hankel
from gcnlimit.results.text import rounded
from gcnlimit.theory.fluctuations import Profile, filter_series, profile, sampled_margins
from gcnlimit.theory.points import Points, check_range
from gcnlimit.theory.predict import predict
from gcnlimit.theory.transfer import transfer

_LARGEST = 1e6  # of a parameter or its inverse: powers of it are summed


@rounded
class Scatter(NamedTuple):
    """Scatter of an accuracy over graphs.

    `accuracy`: its mean; `deviation`: its standard deviation; `binomial`: that of as many independent nodes; `training`: the part
    of the deviation on a new graph that is due to the training; `exact`: whether a formula gives it, or a measured rule.
    """

    accuracy: float
    deviation: float
    binomial: float
    training: float
    exact: bool


@rounded
class PairedScatter(NamedTuple):
    """Scatter of the difference of two accuracies on the same graphs: its mean and its standard deviation."""

    difference: float
    deviation: float

    def graphs(self, sigmas: float = 2.0) -> float:
        """Return the number of graphs after which the mean difference is `sigmas` of its standard errors."""
        if self.difference == 0.0:
            return math.inf
        return float(max(1, math.ceil((sigmas * self.deviation / self.difference) ** 2)))


@progress_bar("scattering")
def scatter(data: CSBM, gcn: GCN, nodes: int, *, to: CSBM | None = None) -> Scatter:
    r"""Standard deviation of the accuracy of a network over graphs of a given size (Eqs. 10.21 and 10.22).

    It is for the training graph, or a new graph `to` with :math:`N' = N\alpha'/\alpha` nodes and the same features; each pair is
    trained again. The formulas hold at infinite regularization; elsewhere `exact` is False and the answer is a rule: at finite
    regularization the ratio to the binomial deviation is taken to be that at infinity (measured 0 to 8 % more), on a directed
    training graph that of the symmetric operator whose filter has the same coefficients (measured 4 to 9 % less).

    They are of leading order in :math:`1/N`: at :math:`\lambda_e = 2`, near the pole of a PageRank, accuracies on 600 new nodes
    scatter up to 7 % more and on 1800 nodes 2 % more; elsewhere less.

    >>> import gcnlimit as gl
    >>> s = scatter(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), gl.GCN(gl.PageRank(0.411)), nodes=2000)
    >>> round(s.accuracy, 3), round(s.deviation, 4), round(s.binomial, 4)
    (0.886, 0.0104, 0.0075)
    """
    _check("scatter" if to is None else "scatter on another graph", data, gcn)
    nodes = whole("nodes", nodes, low=2)
    exact = bool(np.isinf(gcn.reg))
    if to is None:
        accuracy = float(predict(data, gcn).test_accuracy)
        count = (1.0 - float(data.rho)) * nodes
        (F,), covariance = _training_graph(data, gcn.symmetrize, [gcn.filter])
        scattered, training = covariance[0, 0] * (1.0 - data.rho), 0.0
        exact = exact and data.operator(gcn.symmetrize).symmetric
    else:
        check_types("scatter", to=(to, CSBM))
        scope.check("scatter on another graph", to)
        if to.shape or data.mu * to.mu == 0.0:
            told = "scatter on a new graph needs one point, and features that carry"
            raise ParameterError(f"{told} a signal on both graphs, got mu = {data.mu} and {to.mu}")
        accuracy = float(transfer(data, gcn, to).test_accuracy)
        count = nodes * float(to.alpha) / float(data.alpha)
        F, scattered, training = _new_graph(data, gcn.replaced(reg=math.inf), to)
    binomial = math.sqrt(accuracy * (1.0 - accuracy) / count)
    at_limit = math.sqrt(F * (1.0 - F) / count)
    ratio = 1.0 if exact or at_limit == 0.0 else binomial / at_limit
    deviation = ratio * math.sqrt(scattered / count + training / nodes)
    return Scatter(accuracy, deviation, binomial, ratio * math.sqrt(training / nodes), exact)


def expected_error(
    data: CSBM, gcn: GCN, nodes: int, trials: int, *, to: CSBM | None = None
) -> float:
    """Standard error of a mean accuracy over that many graphs, as `scatter` expects it; NaN where there is no theory.

    >>> import gcnlimit as gl
    >>> data, gcn = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), gl.GCN(gl.PageRank(0.411))
    >>> round(expected_error(data, gcn, nodes=2000, trials=4), 4)
    0.0052
    """
    try:
        return scatter(data, gcn, nodes, to=to).deviation / math.sqrt(trials)
    except GCNLimitError:
        return math.nan


def paired_scatter(data: CSBM, gcn: GCN, other: GCN, nodes: int) -> PairedScatter:
    """Mean and standard deviation of the difference of two accuracies on the same training graphs (Eq. 10.22).

    Both networks are at infinite regularization and apply the same symmetric operator.

    >>> import gcnlimit as gl
    >>> data, gcn = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), gl.GCN(gl.PageRank(0.411))
    >>> pair = paired_scatter(data, gcn, gl.GCN(gl.Diffusion(t=1.488)), nodes=2000)
    >>> round(pair.difference, 4), round(pair.deviation, 4), pair.graphs()
    (0.005, 0.0049, 4.0)
    """
    for network in (gcn, other):
        _check("paired_scatter", data, network)
        Points.of(data, network)  # refuses a filter that is not defined there
    nodes = whole("nodes", nodes, low=2)
    operator = data.operator(symmetrize=True)
    with np.errstate(all="ignore"):  # numbers out of range are refused below
        if _alike(*(filter_series(network.filter, operator) for network in (gcn, other))):
            return PairedScatter(0.0, 0.0)
        F, covariance = _training_graph(data, True, [gcn.filter, other.filter])
        variance = float(covariance[0, 0] + covariance[1, 1] - 2.0 * covariance[0, 1])
    if not math.isfinite(variance):
        told = "paired_scatter is out of range at these parameters"
        raise ParameterError(f"{told}; take weaker signals or filters")
    return PairedScatter(float(F[0] - F[1]), math.sqrt(max(variance, 0.0) / nodes))


def _check(function: str, data: CSBM, gcn: GCN) -> None:
    check_problem(function, data, gcn)
    scope.check(function, data, gcn)
    if data.shape or gcn.shape:
        told = f"{function} takes one point at a time"
        raise ParameterError(f"{told}; give single numbers, and call it for each point")
    check_range(data, _LARGEST)
    if data.rho == 1.0:
        raise ParameterError(f"{function} has no test nodes at rho = 1; take rho < 1")
    if not (gcn.filter.has_chain and gcn.read_filter.has_chain):
        told = f"{function} needs the coefficients of the filter"
        raise ParameterError(f"{told}; take a Polynomial, Residual, PageRank or Diffusion")


def _alike(a: Array, b: Array) -> bool:
    """Whether two series are multiples of one another, as filters of the same network are."""
    size = max(len(a), len(b))
    a, b = (np.pad(x, (size - len(x)) // 2) / np.linalg.norm(x) for x in (a, b))
    return bool(abs(a @ b) > 1.0 - 1e-14)


def _training_graph(data: CSBM, symmetrize: bool, filters: list[Filter]) -> tuple[Array, Array]:
    r"""Accuracies of networks on the training graph, and :math:`N` times their covariance (Eq. 10.22)."""
    operator = data.operator(symmetrize)
    series = [filter_series(filter, operator) for filter in filters]
    alpha, mu, rho = float(data.alpha), float(data.mu), float(data.rho)
    m, r, moves = sampled_margins(series, float(operator.signal), alpha, mu, rho)
    density = np.exp(-0.5 * m**2) / math.sqrt(2.0 * math.pi)
    pair = np.outer(density, density)
    nodes = (_both_right(m[:, None], m[None], r) - pair * r) / (1.0 - rho)
    return ndtr(m), nodes - 0.5 * np.outer(m, m) * pair * r**2 + pair * moves


def _both_right(a: Array, b: Array, r: Array) -> Array:
    r"""Return :math:`\Phi_2(a, b; r) - \Phi(a)\Phi(b)`: an integral over the correlation, as an angle."""
    node, weight = np.polynomial.legendre.leggauss(64)
    # in the angle the integrand is smooth up to a correlation of 1
    top = np.arcsin(np.clip(r, -1.0, 1.0))[..., None]
    angle = 0.5 * top * (1.0 + node)
    a, b = a[..., None], b[..., None]
    height = np.exp(-0.5 * (a**2 + b**2 - 2.0 * a * b * np.sin(angle)) / np.cos(angle) ** 2)
    return np.asarray((0.5 * top * height) @ weight / (2.0 * math.pi))


def _new_graph(data: CSBM, gcn: GCN, to: CSBM) -> tuple[float, float, float]:
    """Accuracy on a new graph, and its variance times the nodes there and, for the training, times the nodes here (10.21)."""
    answer = transfer(data, gcn, to)
    F = float(answer.test_accuracy)
    m = float(np.asarray(answer.order_parameters.test_margin))
    Q = float(np.asarray(answer.order_parameters.feature_margin)) ** -2.0
    density = math.exp(-0.5 * m**2) / math.sqrt(2.0 * math.pi)
    there = _FilteredGraph.of(to, gcn.symmetrize, gcn.read_filter)
    _, spread, tau2 = there.averages
    size = spread + Q * tau2
    # slopes of the margin in the overlap with the labels and in the square of the output
    A = (1.0 + m**2) / math.sqrt(size)
    B = -m / (2.0 * size)
    graph = there.fluctuation(1.0, math.sqrt(Q), A, B) + there.own_noise(Q, A, B)
    scattered = F * (1.0 - F) - density**2 * (1.0 + 0.5 * m**2) + density**2 * graph
    return F, scattered, (density * (m * Q * tau2 / size)) ** 2 * _weight_scatter(data, gcn)


def _weight_scatter(data: CSBM, gcn: GCN) -> float:
    r""":math:`N` times the variance of :math:`\log c` over trainings: of the overlaps, and of the features (Eq. 10.21)."""
    rho, alpha = float(data.rho), float(data.alpha)
    graph = _FilteredGraph.of(data, gcn.symmetrize, gcn.filter)
    e, spread, tau2 = graph.averages
    along = rho * e
    square = rho**2 * (spread + e**2) + rho * (1.0 - rho) * tau2
    x2 = data.mu * along**2 / square
    d = 1.0 / (1.0 + x2)
    moves = graph.fluctuation(rho, math.sqrt(rho * (1.0 - rho)), 1.0 / along, -0.5 / square)
    features = 2.0 * (1.0 - 0.5 * x2 * d) ** 2 + d**2 / x2 + 0.5 * d**2
    return float(d**2 * moves + alpha * features)


class _FilteredGraph(NamedTuple):
    """A filter on a graph that is independent of its inputs: its coefficients with their tails, and those of its square."""

    signal: float
    symmetric: bool
    plain: Profile
    square: Profile

    @classmethod
    def of(cls, data: CSBM, symmetrize: bool, filter: Filter) -> _FilteredGraph:
        operator = data.operator(symmetrize)
        signal = float(operator.signal)
        series = filter_series(filter, operator)
        square = profile(np.convolve(series, series), signal)
        return cls(signal, operator.symmetric, profile(series, signal, square.f.size), square)

    @property
    def averages(self) -> tuple[float, float, float]:
        r"""Averages :math:`e(g)`, :math:`\mathrm{Var}_e[g]` and :math:`\tau(g^2)`: the same sums on both kinds of operators."""
        f, J, _ = self.plain
        return float(J[0]), float(np.sum(J[1:] ** 2)), float(np.sum(f**2))

    def fluctuation(self, along: float, across: float, A: float, B: float) -> float:
        r""":math:`N` times the variance of :math:`A\,v\cdot h + B|h|^2`, :math:`h = g(a)z`, with `z` along and across `v`."""
        if not self.symmetric:
            gamma, _ = self._directed(along, across, A, B)
            free = np.sum(gamma**2) - np.sum(np.tril(gamma, -2) ** 2)
            return float(free + 0.5 * np.sum(np.diagonal(gamma, -2) ** 2))
        plain, both = self.plain, self.square
        moves = (
            A * along * plain.fluctuation(0, 0) + B * along**2 * both.fluctuation(0, 0),
            A * across * plain.fluctuation(0, 1)
            + 2.0 * B * along * across * both.fluctuation(0, 1),
            B * across**2 * both.fluctuation(1, 1),
        )
        return float(sum(move @ move for move in moves))

    def own_noise(self, Q: float, A: float, B: float) -> float:
        """Variance as in `fluctuation`, due to inputs whose noise is of variance Q: along the labels, and in its size."""
        if not self.symmetric:
            _, pull = self._directed(1.0, math.sqrt(Q), A, B)
            return float(Q * pull[0] ** 2 + 0.5 * Q * pull[1] ** 2)
        plain, both = self.plain, self.square
        along = Q * (A * plain.J[0] + 2.0 * B * both.J[0]) ** 2
        return float(along + 2.0 * (B * Q * both.f[0]) ** 2)

    def _directed(self, along: float, across: float, A: float, B: float) -> tuple[Array, Array]:
        """Derivatives in the noise of the operator, a matrix in block Hessenberg form, and in the inputs."""
        g = np.trim_zeros(self.plain.f, "b")
        n = g.size
        a = np.eye(2 * n + 2, k=-2)
        a[0, 0] = self.signal
        inputs = np.zeros(2 * n + 2)
        inputs[:2] = along, across
        forward = _powers(a, inputs, n)
        output = g @ forward
        backward = _powers(a.T, 2.0 * B * output + A * np.eye(2 * n + 2)[0], n)
        return backward.T @ hankel(np.append(g[1:], 0.0)) @ forward, g @ backward


def _powers(a: Array, x: Array, count: int) -> Array:
    """Rows :math:`x, ax, a^2x, \\dots`."""
    return np.array([*accumulate(range(count - 1), lambda row, _: a @ row, initial=x)])
