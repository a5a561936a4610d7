r"""Weights trained on one graph, used on an independent one.

The weights enter through one number, the margin :math:`c` of the features alone (Eq. 10.1). Read through a filter :math:`g'` on a
graph of signal :math:`\lambda'`, the margin is (Eq. 10.3)

.. math::
    m' = \frac{c\,e'(g')}{\sqrt{c^2\,\mathrm{Var}_{e'}[g'] + \tau(g'^2)}}, \qquad
    c^2 = \frac{\mu'}\alpha\,\frac{\mu q}{s_2 + g_1 \mu q}, \qquad
    q = \frac{e(g)^2}{e(g^2) + \frac{1-\rho}\rho\,\tau(g^2)},

the second and third at infinite regularization (Eq. 10.5; :math:`s_2 = g_1 = 1` for white features). On a directed operator
:math:`e = G_0`, :math:`\mathrm{Var}_e = \sum_{i \ge 1} G_i^2` and :math:`\tau = \sum_i g_i^2` of the Taylor coefficients.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gcnlimit._validation import broadcast, check_types
from gcnlimit._values import Array
from gcnlimit.classes import Classes
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Filter, PageRank
from gcnlimit.losses import Loss
from gcnlimit.network import GCN
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.parameters import labelled
from gcnlimit.results.order_parameters import OrderParameters, Output
from gcnlimit.results.performance import Prediction, Status, same_everywhere, scalar_or_array
from gcnlimit.theory.decision import from_margins
from gcnlimit.theory.finite_reg.averages import expected_losses
from gcnlimit.theory.finite_reg.class_losses import Biased, limiting_offset, node_loss, offset
from gcnlimit.theory.points import Points, with_errors
from gcnlimit.theory.predict import predict

_CHUNK = 1 << 16  # numbers held by one temporary array: what a cache holds
_BELOW_POLE = 1.0 - 1e-9  # of a PageRank, over the strength at which its series diverges


def transfer(data: CSBM, gcn: GCN, to: CSBM, *, test_filter: Filter | None = None, tol: float = 1e-10) -> Prediction:
    r"""Exact performance on an independent graph of a network trained on another (Eqs. 10.1 to 10.5).

    The class means of the features are the same on both graphs. `test_accuracy` and what follows from it are those on all nodes
    of the new graph, `train_accuracy` and `train_loss` those of the training. The order parameters have the margin of the
    features alone, `feature_margin` :math:`c`, and `effective_labels` :math:`q`: the fraction of labels with which training
    without a graph at infinite regularization would align the weights as well.

    Parameters
    ----------
    data, gcn
        Data and network of the training.
    to
        The new graph. Its `mu` and `alpha` are its own: the same features on a graph of twice as many nodes have twice both,
        since only the distance :math:`2\sqrt{\mu/\alpha}` of the class means counts. Its `rho` has no effect.
    test_filter
        Filter on the new graph; by default that of the training. `best_test_filter` has the best of all.
    tol
        As in `predict`.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> data, gcn = gl.CSBM(alpha=4, lam=1.2, mu=2.0, rho=0.1, directed=False), gl.GCN(gl.Diffusion(t=1.0))
    >>> transfer(data, gcn, data.replaced(lam=[1.2, 0.0, -1.2])).test_accuracy.round(3)
    array([0.788, 0.617, 0.545])
    >>> reversed_graph = data.replaced(lam=-1.2)
    >>> best = best_test_filter(data, gcn, reversed_graph)
    >>> round(transfer(data, gcn, reversed_graph, test_filter=best).test_accuracy, 3)  # the weights are good
    0.821
    """
    check_types("transfer", data=(data, CSBM), gcn=(gcn, GCN), to=(to, CSBM))
    for graph_model in (data, to):
        graph_model.require_alike("transfer")
    there = Points.unchecked(to, gcn.replaced(filter=test_filter or gcn.filter, reg=1.0)).checked()
    here = Trained.of(data, gcn, tol)
    outside = broadcast(to=to.shape, test_filter=(test_filter or gcn.filter).shape)
    shape = broadcast(data=data.shape, network=gcn.shape, there=outside)
    means, classes = feature_signal(data, to), common_classes(data.classes, to.classes)
    graph = graph_averages(there).reshape(outside)
    c = np.broadcast_to(np.sqrt(means) * here.slope, shape)
    margin = np.broadcast_to(graph.margin(c), shape)
    loss, bias = _read(here, graph, there, c)

    def spread(values: Any) -> Any:
        return scalar_or_array(np.array(np.broadcast_to(values, shape)))

    prediction = here.prediction
    status = np.where(np.isnan(margin), np.maximum(prediction.status, Status.OUT_OF_RANGE), prediction.status)
    loss = loss if data.classes == to.classes else np.full(shape, np.nan)  # of a bias for other classes
    train = {name: spread(getattr(prediction, name)) for name in ("train_accuracy", "train_loss")}
    answer = Prediction(
        **vars(replace(from_margins(classes, margin, margin, loss, loss, offset=bias), **train)),
        standard_error=same_everywhere(0.0, shape),
        order_parameters=OrderParameters(
            test_margin=scalar_or_array(np.array(margin)),
            train_margin=spread(prediction.order_parameters.train_margin),
            weights=prediction.order_parameters.weights,
            feature_margin=scalar_or_array(np.array(c)),
            effective_labels=spread(here.labels),
        ),
        status=status if shape else Status(int(status)),
        residual=spread(prediction.residual),
        iterations=spread(prediction.iterations),
    )
    options: dict[str, Any] = {"test_filter": test_filter, "tol": tol}
    here_error = with_errors(answer, data, lambda model: transfer(model, gcn, to, **options)).standard_error
    there_error = with_errors(answer, to, lambda model: transfer(data, gcn, model, **options)).standard_error
    errors = here_error.as_dict()
    error = replace(here_error, **{name: _hypot(x, getattr(there_error, name)) for name, x in errors.items()})
    return labelled(replace(answer, standard_error=error), to, gcn)


def best_test_filter(data: CSBM, gcn: GCN, to: CSBM, *, tol: float = 1e-10) -> PageRank:
    r"""Return the best of all filters on an independent graph, given the trained weights: PageRank (Eq. 10.6).

    Its strength is :math:`\theta' = \lambda'/(1 + \lambda'^2 + c^2)` on a symmetric operator and
    :math:`\lambda'/(1 + m'^2)` on a directed one, with the margin :math:`m'` of `best_margin`.

    >>> import gcnlimit as gl
    >>> data, gcn = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), gl.GCN(gl.PageRank(0.3))
    >>> best = best_test_filter(data, gcn, data)
    >>> answer = transfer(data, gcn, data, test_filter=best).order_parameters
    >>> bool(abs(answer.test_margin - best_margin(answer.feature_margin, 2**0.5)) < 1e-12)
    True
    """
    check_types("best_test_filter", data=(data, CSBM), gcn=(gcn, GCN), to=(to, CSBM))
    for graph_model in (data, to):
        graph_model.require_alike("best_test_filter")
    square = feature_signal(data, to) * Trained.of(data, gcn, tol).slope ** 2
    return _pagerank(to, gcn.symmetrize, square)


def best_training_filter(data: CSBM, *, symmetrize: bool = True) -> PageRank:
    r"""Return the filter that aligns the weights best with the class means, at infinite regularization: PageRank (Eq. 10.8).

    It is `best_test_filter` with :math:`\rho/(1-\rho)` in place of :math:`c^2`, and leads to :math:`q = k/(1+k)` labels, with
    :math:`k` the square of `best_margin` there (Eq. 10.9). It depends neither on the features nor on the graph of the test.

    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    >>> gcn = gl.GCN(best_training_filter(data))
    >>> round(transfer(data, gcn, data).order_parameters.effective_labels, 3)
    0.546
    """
    check_types("best_training_filter", data=(data, CSBM))
    data.require_alike("best_training_filter")
    with np.errstate(divide="ignore"):
        return _pagerank(data, symmetrize, np.asarray(data.rho) / (1.0 - np.asarray(data.rho)))


def best_margin(c: Any, signal: Any) -> Any:
    r"""Return the margin of the best filter on a graph of that signal, for inputs of margin `c` (Eq. 10.7).

    It solves :math:`m^2 = c^2 + \lambda^2 \frac{m^2}{1 + m^2}` and has the sign of `c`.

    >>> m = best_margin(0.5, 1.2)
    >>> bool(abs(m**2 - 0.5**2 - 1.2**2 * m**2 / (1 + m**2)) < 1e-14), best_margin(0.7, 0.0)
    (True, 0.7)
    """
    c = np.asarray(c, float)
    square, b = c**2, np.square(signal) + c**2 - 1.0
    root = np.hypot(b, 2.0 * c)
    with np.errstate(divide="ignore", invalid="ignore"):
        m2 = np.where(b >= 0.0, 0.5 * (b + root), 2.0 * square / (root - b))
    return scalar_or_array(np.sign(c) * np.sqrt(m2))


def label_free_signals(operator: Any, inputs: Array) -> tuple[float, float]:
    r"""Return estimates of :math:`\lambda'` and :math:`c^2` of a graph from the inputs :math:`z = X'w` alone, without labels.

    With :math:`x_1 = z \cdot a'z/|z|^2` and :math:`x_2 = |a'z|^2/|z|^2 - 1` (Eq. 10.10), :math:`\lambda' = x_2/x_1` and
    :math:`c^2 = x_1^2/(x_2 - x_1^2)`. `operator` is anything with ``@``, scaled like the library's. Where :math:`x_1` is within
    its scatter of 0 the graph says nothing, and the answer is ``(0.0, inf)``: the best filter is then none.

    >>> rng = np.random.default_rng(1)
    >>> y, noise = np.repeat([1.0, -1.0], 1000), rng.normal(size=(2000, 2000)) / 2000**0.5
    >>> lam, square = label_free_signals(-1.5 / 2000 * np.outer(y, y) + noise, 0.8 * y + rng.normal(size=2000))
    >>> bool(abs(lam + 1.5) < 0.2), bool(abs(square - 0.64) < 0.2)
    (True, True)
    """
    carried = np.asarray(operator @ inputs)
    size = float(inputs @ inputs)
    x1, x2 = float(inputs @ carried) / size, float(carried @ carried) / size - 1.0
    if x1**2 < 8.0 / inputs.size or x2 <= x1**2:
        return 0.0, np.inf
    return x2 / x1, x1**2 / (x2 - x1**2)


def _hypot(a: Any, b: Any) -> Any:
    return scalar_or_array(np.asarray(np.hypot(a, b)))


class GraphAverages(NamedTuple):
    r"""Averages :math:`e(g)`, :math:`\mathrm{Var}_e[g]` and :math:`\tau(g^2)` of a filter (Eq. 10.2), up to its scale."""

    e: Array
    spread: Array
    tau2: Array

    def reshape(self, shape: tuple[int, ...]) -> GraphAverages:
        """The same with the shape of the points."""
        return GraphAverages(*(column.reshape(shape) for column in self))

    def margin(self, c: Array) -> Array:
        """Margin of the output, for inputs of margin `c` (Eq. 10.3)."""
        return np.asarray(c * self.e / np.sqrt(c**2 * self.spread + self.tau2))

    def labels(self, rho: Array) -> Array:
        """Effective fraction of labels at infinite regularization (Eq. 10.5)."""
        return np.asarray(self.e**2 / (self.spread + self.e**2 + (1.0 - rho) / rho * self.tau2))


def graph_averages(points: Points) -> GraphAverages:
    """Return the averages of the filter of each point on its own graph."""
    symmetric, filter = points.symmetric, points.filter
    cost = filter.quadrature_nodes() if symmetric else filter.layers(accuracy=1e-18, radius=points.radius)
    columns = np.empty((3, points.size))
    with np.errstate(all="ignore"):  # out-of-range points are reported as such
        for where, chunk in points.chunks(cost, _CHUNK):
            columns[:, where] = _spectral(chunk, int(cost[where[0]])) if symmetric else _by_coefficients(chunk)
    return GraphAverages(*columns)


def _spectral(points: Points, nodes: int) -> tuple[Array, Array, Array]:
    measure = SpikedSemicircle.of(points.signal, nodes)
    g = points.filter.normalized(measure.x)[0]
    e = np.einsum("bn,bn->b", measure.e, g)
    return e, np.einsum("bn,bn->b", measure.e, (g - e[:, None]) ** 2), g**2 @ measure.tau


def _by_coefficients(points: Points) -> tuple[Array, Array, Array]:
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
    def of(cls, data: CSBM, gcn: GCN, tol: float) -> Trained:
        """Train each network on its data."""
        prediction = predict(data, gcn, tol=tol)
        points = Points.unchecked(data, gcn)
        slope, labels = np.empty(points.size), np.empty(points.size)
        bias = np.full(points.size, limiting_offset(points.classes))
        infinite = np.isinf(points.reg)
        if np.any(infinite):
            slope[infinite], labels[infinite] = _explicit(points.take(infinite))
        weights, output = prediction.order_parameters.weights, prediction.order_parameters.output
        if weights is not None and output is not None:
            rows = np.flatnonzero(~infinite)
            m, Q, *law = (np.ravel(x)[rows] for x in (weights.m, weights.Q, *output))
            found = points.take(rows)
            slope[rows], labels[rows] = m / np.sqrt(Q), _labels_of(found, m / np.sqrt(Q))
            bias[rows] = offset(points.class_loss, node_loss(found), Output(*law)) * np.sqrt(law[1] / Q)
        shape = broadcast(data=data.shape, network=gcn.shape)
        return cls(prediction, slope.reshape(shape), labels.reshape(shape), bias.reshape(shape))


def _explicit(points: Points) -> tuple[Array, Array]:
    """Slope and effective labels at infinite regularization (Eq. 10.5)."""
    if points.class_loss.is_pinned:
        raise ParameterError(
            f"loss = {points.loss!r} on unequal classes has no explicit weights at reg = inf; take a finite reg or another loss"
        )
    graph = graph_averages(points)
    q = graph.labels(points.rho)
    _, s2, g1 = points.features.moments
    aligned = points.mu * q / (s2 + g1 * points.mu * q)
    return np.asarray(np.sign(graph.e) * np.sqrt(aligned / points.alpha)), q


def _labels_of(points: Points, slope: Array) -> Array:
    """Effective labels of weights of that slope: Eq. 10.5 solved for :math:`q`."""
    _, s2, g1 = points.features.moments
    aligned = points.alpha * slope**2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(aligned * s2 / (points.mu * (1.0 - g1 * aligned)))


@np.errstate(all="ignore")  # points at infinite regularization are left out
def _read(here: Trained, graph: GraphAverages, there: Points, c: Array) -> tuple[Array, Array]:
    """Loss on the new graph, and the trained bias over the deviation of the output there."""
    loss, bias = np.full(c.shape, there.class_loss.at_rest), np.array(np.broadcast_to(here.bias, c.shape))
    weights = here.prediction.order_parameters.weights
    if weights is None:
        return loss, bias
    finite = np.broadcast_to(np.greater(weights.Q, 0.0), c.shape)  # else at infinite regularization, where they vanish
    gain = np.exp(there.filter.log_gain(there.symmetric)) / there.divisor()
    unit = np.sqrt(weights.Q) * (gain.reshape(graph.tau2.shape) / np.sqrt(graph.tau2))
    deviation = unit * np.sqrt(c**2 * graph.spread + graph.tau2)
    bias[finite] = (here.bias * np.sqrt(weights.Q) / deviation)[finite]
    mean = np.broadcast_to(unit * c * graph.e, c.shape)[finite]
    loss[finite] = _expected_loss(node_loss(there), mean, deviation[finite], bias[finite])
    return loss, bias


def _expected_loss(loss: Loss, mean: Array, deviation: Array, offset: Array) -> Array:
    """Loss of a Gaussian output, with a bias that was trained elsewhere."""
    tiny = np.full_like(mean, loss.smallest_response)
    if not isinstance(loss, Biased):
        return expected_losses(loss, Output(mean, deviation**2, tiny))[0]
    outputs = loss.outputs(mean, deviation**2, tiny, offset * deviation)
    first, second = (expected_losses(loss.loss, output)[0] for output in outputs)
    return np.asarray(loss.fractions[0] * first + loss.fractions[1] * second)


def feature_signal(data: CSBM, to: CSBM) -> Array:
    r"""Signal :math:`\mu' = \mu'_{\text{own}}\,\alpha/\alpha'` of the features in units of the training graph."""
    names = ("variance", "signal", "weight")
    if not all(np.array_equal(getattr(data.features, name), getattr(to.features, name)) for name in names):
        raise ParameterError("the features of the two graphs have different spectra; give both the same features=")
    return np.asarray(np.asarray(to.mu) * data.alpha / to.alpha)


def common_classes(data: Classes, to: Classes) -> Classes:
    """Classes of the new graph; two classes may change their fractions."""
    if data == to:
        return to
    if data.count == to.count == 2:
        return Classes((0.5, 0.5)) if to.equal else to  # decided with the bias of the training
    raise ParameterError(
        f"classes = {data} of the training and {to} of the new graph differ; only two classes may change"
    )


def _pagerank(data: CSBM, symmetrize: bool, square: Array) -> PageRank:
    """Best filter on a graph for inputs of that squared margin (Eq. 10.6), kept below the pole of its series."""
    operator = data.operator(symmetrize)
    signal = operator.signal
    across = signal**2 + square if operator.symmetric else np.square(best_margin(np.sqrt(square), signal))
    theta = signal / (1.0 + across)
    largest = _BELOW_POLE / operator.radius
    return PageRank(scalar_or_array(np.clip(theta, -largest, largest)))
