r"""Weights trained on one graph, used on an independent one.

The weights enter through one number, the margin :math:`c` of the features alone (Eq. 10.1). Read through a filter :math:`g'` on a
graph of signal :math:`\lambda'`, the margin is that of Eq. 10.3.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from gcnlimit import scope
from gcnlimit._validation import LOOSEST, as_real, broadcast, check_types, tolerance
from gcnlimit._values import Array, shown
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Filter, PageRank
from gcnlimit.network import GCN
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.parameters import with_coordinates
from gcnlimit.results.order_parameters import OrderParameters, Output
from gcnlimit.results.performance import Prediction, Status, scalar_or_array
from gcnlimit.theory.calibration import calibration_at
from gcnlimit.theory.decision import as_prediction, from_margins
from gcnlimit.theory.finite_reg import class_losses
from gcnlimit.theory.large_reg import mean
from gcnlimit.theory.margins import Effort
from gcnlimit.theory.points import Points
from gcnlimit.theory.predict import predict, predict_points
from gcnlimit.theory.readout import best_readout
from gcnlimit.theory.uncertainty import carries_errors
from gcnlimit.two_graphs import check_pair, feature_signal

_LARGEST = 1e50  # of a signal, whose square must be a number
_BELOW_POLE = 1.0 - 1e-9  # of a PageRank, over the strength at which its series diverges


@carries_errors
def transfer(
    data: CSBM, gcn: GCN, to: CSBM | Literal["joining"], *, tol: float = 1e-10
) -> Prediction:
    r"""Exact performance of a trained network on an independent graph, or on nodes that join its own (Eqs. 10.1 to 10.13).

    The class means of the features are the same on both graphs. Nodes are classified through `gcn.test_filter`, by default
    `gcn.filter`. `test_accuracy` and what follows from it are for all nodes of the new graph, `train_accuracy` and `train_loss`
    for the training; `test_loss` is NaN if the graphs have different fractions of the classes. The order parameters have the
    margin of the features alone, `feature_margin` :math:`c`, and `effective_labels` :math:`q` (Eqs. 10.1 and 10.5). The `rho` of
    the new graph has no effect; it has its own `mu` and `alpha`, both twice as large if it has the same features on twice as
    many nodes. ``"joining"`` is for a few nodes that join the training graph after the training; `tol` as in `predict`.

    >>> import gcnlimit as gl
    >>> data, gcn = gl.CSBM(alpha=4, lam=1.2, mu=2.0, rho=0.1, directed=False), gl.GCN(gl.Diffusion(t=1.0))
    >>> gl.transfer(data, gcn, data.replaced(lam=[1.2, -1.2])).test_accuracy.round(3)
    array([0.788, 0.545])
    >>> other = data.replaced(lam=-1.2)
    >>> best = gcn.replaced(test_filter=gl.theory.best_test_filter(data, gcn, other))
    >>> round(gl.transfer(data, best, other).test_accuracy, 3)  # the weights are good
    0.821
    >>> [round(p.test_accuracy, 3) for p in (gl.predict(data, gcn), gl.transfer(data, gcn, "joining"))]
    [0.821, 0.819]
    """
    check_types("transfer", data=(data, CSBM), gcn=(gcn, GCN))
    tol = tolerance("tol", tol, high=LOOSEST)
    if isinstance(to, str):
        return _joining(data, gcn, to, tol)
    check_types("transfer", to=(to, CSBM))
    scope.check("transfer", data, gcn)
    scope.check("transfer", to)
    check_pair(data, to)
    return _elsewhere(data, gcn, to, tol)


def _joining(data: CSBM, gcn: GCN, to: str, tol: float) -> Prediction:
    """Performance on nodes that join the training graph (Eq. 10.13)."""
    if to != "joining":
        raise ParameterError(f"to = {shown(to)} is not a graph; give a CSBM, or 'joining'")
    scope.check("transfer to joining nodes", data, gcn)
    points = Points.of(data, gcn.replaced(test_filter=gcn.read_filter))._replace(joining=True)
    shape = broadcast(data=data.shape, network=gcn.shape)
    return with_coordinates(predict_points(points, shape, Effort(tol)), data, gcn)


def _elsewhere(data: CSBM, gcn: GCN, to: CSBM, tol: float) -> Prediction:
    """Performance on an independent graph, for given models."""
    reader = gcn.replaced(filter=gcn.read_filter, test_filter=None, reg=1.0, training=None)
    there = Points.unchecked(to, reader).checked()
    outside = broadcast(to=to.shape, test_filter=gcn.read_filter.shape)
    shape = broadcast(data=data.shape, network=gcn.shape, there=outside)
    means = feature_signal(data, to)
    home = Trained.of(data, gcn, tol)
    graph = GraphAverages(*(column.reshape(outside) for column in graph_averages(there)))
    c = np.broadcast_to(np.sqrt(means) * home.slope, shape)
    margin = c * graph.e / np.sqrt(c**2 * graph.spread + graph.tau2)  # Eq. 10.3
    loss, deviation, bias = _read(home, graph, there, c)

    def spread(values: Any) -> Any:
        return scalar_or_array(np.full(shape, values))

    if data.classes != to.classes:  # the bias is that of other classes
        loss = np.full(shape, np.nan)
    decided = from_margins(to.classes, (margin, margin), (loss, loss), bias)
    outputs = tuple(np.full(shape, x).ravel() for x in (margin, deviation, bias))
    sure, trained = partial(calibration_at, to.classes, None, outputs, shape), home.prediction
    accuracy, train_loss = map(spread, (trained.train_accuracy, trained.train_loss))
    performance = replace(decided, train_accuracy=accuracy, train_loss=train_loss)
    order_parameters = OrderParameters(
        test_margin=spread(margin),
        train_margin=spread(trained.order_parameters.train_margin),
        weights=trained.order_parameters.weights,
        feature_margin=spread(c),
        effective_labels=spread(home.labels),
    )
    # a filter may be out of range there although it was trained at home
    status = np.where(np.isnan(margin), int(Status.OUT_OF_RANGE), trained.status)
    ended = (np.full(shape, number) for number in (trained.residual, trained.iterations))
    answer = as_prediction(replace(performance, calibrated=sure), order_parameters, status, *ended)
    return with_coordinates(answer, data, gcn, to)


def best_test_filter(data: CSBM, gcn: GCN, to: CSBM | None = None) -> Filter:
    r"""Return the filter with which trained weights classify the nodes of a graph best.

    On an independent graph `to` it is PageRank (Eq. 10.6), with :math:`\theta' = \lambda'/(1 + \lambda'^2 + c^2)` on a symmetric
    operator and :math:`\lambda'/(1 + m'^2)` on a directed one, :math:`m'` the margin of `best_margin`. On the test nodes of the
    training graph (Eq. 10.14) it is known for symmetric operators at infinite regularization.

    >>> import gcnlimit as gl
    >>> data, gcn = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), gl.GCN(gl.PageRank(0.3))
    >>> best = gcn.replaced(test_filter=best_test_filter(data, gcn, data))
    >>> answer = transfer(data, best, data).order_parameters
    >>> bool(abs(answer.test_margin - best_margin(answer.feature_margin, 2**0.5)) < 1e-12)
    True
    """
    check_types("best_test_filter", data=(data, CSBM), gcn=(gcn, GCN), to=(to, (CSBM, type(None))))
    if to is None:
        scope.check("best_test_filter", data, gcn)
        best, _ = best_readout(Points.of(data, gcn.replaced(test_filter=None)))
        return best.replaced(best.values.reshape(broadcast(data=data.shape, network=gcn.shape)))
    scope.check("best_test_filter on another graph", data, gcn)
    scope.check("best_test_filter on another graph", to)
    check_pair(data, to)
    square = feature_signal(data, to) * Trained.of(data, gcn).slope ** 2
    return _pagerank(to, gcn.symmetrize, square)


def best_training_filter(data: CSBM, *, symmetrize: bool = True) -> PageRank:
    r"""Return the filter that aligns the weights best with the class means, at infinite regularization: PageRank (Eq. 10.8).

    It is `best_test_filter` with :math:`\rho/(1-\rho)` in place of :math:`c^2`. The weights are then aligned as well as by a
    fraction :math:`q = k/(1+k)` of labels without a graph, with :math:`k` the square of `best_margin` there (Eq. 10.9).

    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    >>> gcn = gl.GCN(best_training_filter(data))
    >>> round(transfer(data, gcn, data).order_parameters.effective_labels, 3)
    0.546
    """
    check_types("best_training_filter", data=(data, CSBM))
    scope.check("best_training_filter", data)
    with np.errstate(divide="ignore"):
        return _pagerank(data, symmetrize, np.asarray(data.rho) / (1.0 - np.asarray(data.rho)))


def best_margin(c: Any, signal: Any) -> Any:
    r"""Return the margin of the best filter on a graph of that signal, for inputs of margin `c` (Eq. 10.7).

    It solves :math:`m^2 = c^2 + \lambda^2 \frac{m^2}{1 + m^2}` and has the sign of `c`.

    >>> m = best_margin(0.5, 1.2)
    >>> bool(abs(m**2 - 0.5**2 - 1.2**2 * m**2 / (1 + m**2)) < 1e-14)
    True
    """
    c = np.asarray(c, float)
    b = np.square(signal) + c**2 - 1.0
    root = np.hypot(b, 2.0 * c)
    # of the two forms of the root of a quadratic equation, the one in which nothing cancels
    with np.errstate(divide="ignore", invalid="ignore"):
        m2 = np.where(b >= 0.0, 0.5 * (b + root), 2.0 * c**2 / (root - b))
    return scalar_or_array(np.sign(c) * np.sqrt(m2))


class GraphAverages(NamedTuple):
    r"""Averages :math:`e(g)`, :math:`\mathrm{Var}_e[g]` and :math:`\tau(g^2)` of a filter (Eq. 10.2), up to its scale."""

    e: Array
    spread: Array
    tau2: Array


def graph_averages(points: Points) -> GraphAverages:
    """Return the averages of the filter of each point on its own graph."""
    cost = points.cost(points.filter)
    columns = np.empty((3, points.size))
    with np.errstate(all="ignore"):  # out-of-range points are reported as such
        for where, chunk in points.chunks(cost):
            columns[:, where] = _averages(chunk, int(cost[where[0]]))
    return GraphAverages(*columns)


def _averages(points: Points, nodes: int) -> tuple[Array, Array, Array]:
    if points.symmetric:
        measure = SpikedSemicircle.of(points.signal, nodes)
        g = points.filter.normalized(measure.x)[0]
        e = mean(measure.e, g)
        return e, mean(measure.e, (g - e[:, None]) ** 2), g**2 @ measure.tau
    closed = points.filter.directed_averages(points.signal, points.mu)
    if closed is not None:
        return closed.e_g, closed.e_g2 - closed.e_g**2, closed.tau_g2
    g, G = points.filter.directed_chain(points.signal).taylor(points.signal)
    return G[0], np.sum(G[1:] ** 2, axis=0), np.sum(g**2, axis=0)


class Trained(NamedTuple):
    r"""A network at home: prediction, `slope` :math:`m_w/\sqrt{Q_w}`, `labels` :math:`q`, and bias over :math:`\sqrt{Q_w}`."""

    prediction: Prediction
    slope: Array
    labels: Array
    bias: Array

    @classmethod
    def of(cls, data: CSBM, gcn: GCN, tol: float = 1e-10) -> Trained:
        """Train each network on its data."""
        gcn = gcn.replaced(test_filter=None)
        prediction = predict(data, gcn, tol=tol)
        points = Points.unchecked(data, gcn)
        slope, labels = np.empty(points.size), np.empty(points.size)
        bias = np.full(points.size, class_losses.limiting_offset(points.classes))
        infinite = np.isinf(points.reg)
        if np.any(infinite):
            slope[infinite], labels[infinite] = _explicit(points.take(infinite))
        weights, output = prediction.order_parameters.weights, prediction.order_parameters.output
        if weights is not None and output is not None:
            rows = np.flatnonzero(~infinite)
            m, Q, *law = (np.ravel(x)[rows] for x in (weights.m, weights.Q, *output))
            finite = points.take(rows)
            slope[rows] = m / np.sqrt(Q)
            _, s2, g1 = points.features.moments
            aligned = finite.alpha * slope[rows] ** 2
            with np.errstate(divide="ignore", invalid="ignore"):
                labels[rows] = aligned * s2 / (finite.mu * (1.0 - g1 * aligned))  # from Eq. 10.5
            loss = class_losses.node_loss(finite)
            offset = class_losses.offset(points.class_loss, loss, Output(*law))
            bias[rows] = offset * np.sqrt(law[1] / Q)
        shape = broadcast(data=data.shape, network=gcn.shape)
        return cls(prediction, slope.reshape(shape), labels.reshape(shape), bias.reshape(shape))


def _explicit(points: Points) -> tuple[Array, Array]:
    """Slope and effective labels at infinite regularization (Eq. 10.5)."""
    e, spread, tau2 = graph_averages(points)
    q = e**2 / (spread + e**2 + (1.0 - points.rho) / points.rho * tau2)
    _, s2, g1 = points.features.moments
    aligned = points.mu * q / (s2 + g1 * points.mu * q)
    return np.asarray(np.sign(e) * np.sqrt(aligned / points.alpha)), q


@np.errstate(all="ignore")  # points at infinite regularization are left out
def _read(home: Trained, graph: GraphAverages, there: Points, c: Array) -> tuple[Array, ...]:
    """Loss, deviation of the output, and trained bias over it, on the new graph."""
    loss, deviation = np.full(c.shape, there.class_loss.at_rest), np.zeros(c.shape)
    bias = np.array(np.broadcast_to(home.bias, c.shape))
    weights = home.prediction.order_parameters.weights
    if weights is None:
        return loss, deviation, bias
    # at infinite regularization they vanish
    finite = np.broadcast_to(np.greater(weights.Q, 0.0), c.shape)
    gain = np.exp(there.filter.log_gain(there.symmetric)) / there.divisor()
    unit = np.sqrt(weights.Q) * (gain.reshape(graph.tau2.shape) / np.sqrt(graph.tau2))
    deviation = unit * np.sqrt(c**2 * graph.spread + graph.tau2)
    bias[finite] = (home.bias * np.sqrt(weights.Q) / deviation)[finite]
    output = np.broadcast_to(unit * c * graph.e, c.shape)[finite]
    trained = class_losses.node_loss(there)
    loss[finite] = class_losses.loss_elsewhere(trained, output, deviation[finite], bias[finite])
    return loss, deviation, bias


def _pagerank(data: CSBM, symmetrize: bool, square: Array) -> PageRank:
    """Best filter on a graph for inputs of that squared margin (Eq. 10.6), kept below the pole of its series."""
    as_real("lam", data.lam, low=-_LARGEST, high=_LARGEST)
    operator = data.operator(symmetrize)
    signal = operator.signal
    across = np.square(best_margin(np.sqrt(square), signal))
    if operator.symmetric:
        across = signal**2 + square
    theta = signal / (1.0 + across)
    # rounding may put the best strength onto the pole, which it only approaches
    largest = _BELOW_POLE / operator.radius
    return PageRank(scalar_or_array(np.clip(theta, -largest, largest)))
