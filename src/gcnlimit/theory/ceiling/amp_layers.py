r"""Message passing with given numbers, layer by layer: its state evolution, matched to the data or not (Eq. 8.20).

A layer of the network (`gcnlimit.nn`) turns posterior means into evidence with the gain :math:`\gamma` of the graph,
:math:`\kappa` of the features and the shrinkage :math:`s`. Its memory, the mean posterior covariance of the codes times what was
sent before, makes the evidence :math:`b = B\,y_k + \Sigma^{1/2} z` with Gaussian :math:`z` at every layer:

.. math::
    B &= \Big[\gamma\lambda_s + \frac{\kappa\mu/\alpha}{1 + s q}\Big]\, O, \qquad
    \Sigma = \gamma^2 Q + \frac{\kappa^2}{\alpha}\frac{\mu\, O O^T + Q}{(1 + s q)^2}, \qquad q = \frac{\mathrm{tr}\,Q}{C-1}, \\
    O &= \rho + (1-\rho)\,\mathbb E\,\hat y\, y^T, \qquad Q = \rho + (1-\rho)\,\mathbb E\,\hat y\,\hat y^T,

from :math:`O = Q = \rho`. For equal classes all are multiples of the identity, kept as matrices of one entry. At
:math:`\gamma = \lambda_s, \kappa = s = \mu` the fixed point of two or of equal classes is Eq. 8.8. With three or more unequal
classes the network takes the mean of the covariance over the directions, and loses up to some tenths of a per cent.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_softmax

from gcnlimit import scope
from gcnlimit._runtime.memory import require
from gcnlimit._validation import check_types, number, whole
from gcnlimit._values import Array
from gcnlimit.classes import Classes
from gcnlimit.csbm import CSBM
from gcnlimit.numerics.linear import matrix_function
from gcnlimit.parameters import coordinates_of
from gcnlimit.results.order_parameters import Output
from gcnlimit.results.performance import Prediction, Status
from gcnlimit.results.result import Coordinates
from gcnlimit.theory.ceiling.posterior import STEP, gumbel_density, gumbel_tail, smeared
from gcnlimit.theory.ceiling.unequal_posterior import log_ratios, posterior_log_error, single_rule
from gcnlimit.theory.decision import ceiling_prediction, certain, from_margins
from gcnlimit.theory.points import LARGEST, check_size

_REACH = 9.0  # deviations of a Gaussian that carry all but 1e-18 of it
_RESOLVED = 8.0  # deviation of a log ratio of two classes that the coarsest rule resolves
_FINEST = {1: 10_000, 2: 8, 3: 2}  # finest rules, of about a million nodes, by dimension


def message_passing(
    data: CSBM,
    layers: int = 15,
    *,
    graph: float | None = None,
    features: float | None = None,
    shrinkage: float | None = None,
) -> Prediction:
    r"""Exact performance of each layer of the message-passing network, for any values of its parameters.

    Parameters
    ----------
    data
        The data, of white features; array parameters broadcast. Averages for five or more unequal classes, or for three with
        numbers many times those of the data, are right to about 1e-4.
    layers
        Number of layers; the answer has one more axis, of this size.
    graph, features, shrinkage
        Gain :math:`\gamma` of the graph, :math:`\kappa` of the features, and shrinkage :math:`s`; by default matched to the data,
        :math:`\lambda_s, \mu, \mu`, where the layers approach the `algorithmic` answer of `bayes_optimal`.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    >>> gl.theory.message_passing(data, layers=6).test_accuracy.round(4)
    array([0.7027, 0.8138, 0.8748, 0.8998, 0.9085, 0.9114])
    """
    check_types("message_passing", data=(data, CSBM))
    scope.check("message_passing", data)
    check_size(data)
    depth = whole("layers", layers, low=1, high=10_000)
    signal = data.operator(symmetrize=True).signal
    # the network's own numbers, by default those of the data
    asked = {"graph": graph, "features": features, "shrinkage": shrinkage}
    checked = [
        v if v is None else number(n, v, low=-LARGEST, high=LARGEST) for n, v in asked.items()
    ]
    matched = (signal, data.mu, data.mu)
    numbers = (m if v is None else v for v, m in zip(checked, matched, strict=True))
    columns = (data.alpha, signal, data.mu, data.rho, *numbers)
    points = zip(*(np.broadcast_to(p, data.shape).ravel() for p in columns), strict=True)
    flat = [layer for point in points for layer in _layers(data.classes, depth, *point)]
    return _prediction(data, flat, (*data.shape, depth))


class Layer(NamedTuple):
    r"""Matrices :math:`B, \Sigma` of the evidence and :math:`O` of the overlap after a layer, and its cross-entropy."""

    mean: Array
    covariance: Array
    overlap: Array
    loss: float


def _layers(classes: Classes, depth: int, *point: float) -> list[Layer]:
    """All layers of one point."""
    alpha, signal, mu, rho, gain, kappa, s = point
    identity = np.eye(1 if classes.equal else classes.count - 1)
    o = q = rho * identity
    layers = []
    for _ in range(depth):
        # class means have a Gaussian prior, of strength s to the layer: that shrinks their estimate
        shrunk = 1.0 + s * float(np.trace(q)) / len(q)
        mean = (gain * signal + kappa * mu / alpha / shrunk) * o
        covariance = gain**2 * q + kappa**2 / alpha * (mu * o @ o.T + q) / shrunk**2
        if classes.equal:
            averages: Any = softmax_averages(mean.item(), covariance.item(), classes.count)
        else:
            averages = unequal_averages(mean, covariance, classes)
        *matrices, loss = averages
        o, q = (rho * identity + (1.0 - rho) * part for part in matrices)
        layers.append(Layer(mean, covariance, o, loss))
    return layers


def unequal_averages(mean: Array, cov: Array, classes: Classes) -> tuple[Array, Array, float]:
    r"""Averages :math:`\mathbb E\,\hat y\,y^T` and :math:`\mathbb E\,\hat y\,\hat y^T`, and cross-entropy in nats.

    >>> evidence = 0.5 * np.eye(2)
    >>> overlap, norm, _ = unequal_averages(evidence, evidence, Classes.of([0.1, 0.3, 0.6]))
    >>> bool(np.allclose(overlap, norm, atol=1e-12))  # the posterior is right
    True
    """
    p, codes = classes.fractions, classes.codes
    gap = codes[:, None] - codes
    # the softmax turns within one unit of a difference of scores: so fine must the rule be
    deviation = np.sqrt(np.max(np.einsum("kla,ab,klb->kl", gap, cov, gap)))
    fineness = int(np.clip(np.ceil(deviation / _RESOLVED), 1, _FINEST.get(len(mean), 1)))
    rule = single_rule(len(mean), fineness)
    root = matrix_function(cov, lambda values: np.sqrt(np.maximum(values, 0.0)))
    scores = rule.nodes @ root @ codes.T
    overlap = np.zeros_like(mean)
    norm = np.zeros_like(mean)
    loss = 0.0
    for k, lead in enumerate(log_ratios(codes, cov, mean) + np.log(p)):
        logarithms = log_softmax(scores + lead, axis=1)
        estimate = np.exp(logarithms) @ codes
        overlap += p[k] * np.outer(rule.weights @ estimate, codes[k])
        norm += p[k] * (rule.weights[:, None] * estimate).T @ estimate
        loss -= float(p[k] * (rule.weights @ logarithms[:, k]))
    return overlap, norm, loss


def softmax_averages(mean: float, variance: float, classes: int) -> tuple[float, float, float]:
    r"""Averages of a softmax over equal classes, in each direction, by one-dimensional integrals.

    The scores are :math:`x_1 \sim \mathcal N(C\bar b, C\sigma^2)` of the true class and
    :math:`x_k \sim \mathcal N(0, C\sigma^2)` of the others. With
    :math:`G_j(\tau) = \mathbb E\, e^{j(x-\tau)} \exp(-e^{x-\tau})` and :math:`1/Z^j = \int s^{j-1}e^{-sZ}ds/(j-1)!`,

    .. math::
        \mathbb E\, p_1 = \int G_1^{(1)} G_0^{C-1} d\tau, \quad
        \mathbb E \sum_k p_k^2 = \int \big[ G_2^{(1)} G_0 + (C - 1)\, G_2 G_0^{(1)} \big] G_0^{C-2} d\tau, \quad
        \mathbb E\log Z = \int \big[ \exp(-e^{-\tau}) - G_0^{(1)} G_0^{C-1} \big] d\tau .
    """
    C = classes
    deviation = float(np.sqrt(C * variance))
    lead = C * mean
    low = min(0.0, lead) - _REACH * deviation - 5.0
    high = max(0.0, lead) + _REACH * deviation + 40.0
    size = 64.0 * (high - low) / STEP * max(1.0, deviation)
    require("a table of the posterior", size, "take weaker signals")
    tau = np.arange(np.ceil((high - low) / STEP) + 1.0) * STEP + low
    G0, T0 = (1.0 - smeared(gumbel_tail, x, deviation) for x in (tau, tau - lead))
    square = partial(gumbel_density, power=2)
    G2, T2 = (smeared(square, x, deviation) for x in (tau, tau - lead))
    T1 = smeared(gumbel_density, tau - lead, deviation)
    # under the integral for a power of 1/Z the scores are independent: a factor for each class
    rest = G0 ** (C - 2)
    right = STEP * float(np.sum(T1 * rest * G0))
    squares = STEP * float(np.sum((T2 * G0 + (C - 1) * G2 * T0) * rest))
    log_Z = STEP * float(np.sum(np.exp(-np.exp(-np.maximum(tau, -6.5))) - T0 * rest * G0))
    norm = max((C * squares - 1.0) / (C - 1.0), 0.0)  # rounding of a vanishing signal
    return (C * right - 1.0) / (C - 1.0), norm, log_Z - lead


def _prediction(data: CSBM, layers: list[Layer], shape: tuple[int, ...]) -> Prediction:
    """Prediction at each layer; margin and overlap are means over the directions of the codes."""
    matrices = (np.stack(column) for column in list(zip(*layers, strict=True))[:3])
    mean, variance, overlap = (np.einsum("nii->n", m).reshape(shape) / m.shape[1] for m in matrices)
    loss = np.reshape([layer.loss for layer in layers], shape)
    with np.errstate(invalid="ignore", divide="ignore"):
        margin = np.where(variance > 0.0, mean / np.sqrt(variance), 0.0)
    none = np.zeros(shape)
    performance = from_margins(data.classes, *certain(margin, loss))
    if not data.classes.equal:
        performance = replace(performance, **_decision(data.classes, layers, shape))
    answer = ceiling_prediction(
        performance,
        margin,
        none,
        none.astype(int),
        status=Status.EXPLICIT,
        output=Output(mean, variance, none),
        overlap=overlap,
    )
    return replace(answer, coordinates=layer_coordinates(data, shape[-1]))


def layer_coordinates(data: CSBM, depth: int | None, to: CSBM | None = None) -> Coordinates:
    """Coordinates of answers with a last axis over the layers, if they have one."""
    at = coordinates_of(data, None, to)
    if depth is None:
        return at
    plain = {name: value for name, value in at.parameters.items() if not isinstance(value, str)}
    numbers = {name: np.asarray(value) for name, value in plain.items()}
    axes = {name: np.expand_dims(value, -1) for name, value in numbers.items()}
    return Coordinates(axes | {"layer": np.arange(1, depth + 1)})


def _decision(classes: Classes, layers: list[Layer], shape: tuple[int, ...]) -> dict[str, Any]:
    """Accuracy of each layer's own decision on unequal classes; of three or more it is taken for the best."""
    p = classes.fractions
    rule = single_rule(max(1, classes.count - 2))

    def log_error(prior: Array) -> Array:
        errors = [posterior_log_error(x.covariance, p, prior, rule, mean=x.mean) for x in layers]
        return np.reshape(errors, shape)

    log = log_error(p)
    accuracy = {"test_accuracy": -np.expm1(log), "log_test_error": log}
    if classes.count == 2:
        return accuracy
    balanced = -np.expm1(log_error(np.full(p.size, 1.0 / p.size)))
    return accuracy | {"best_accuracy": accuracy["test_accuracy"], "balanced_accuracy": balanced}
