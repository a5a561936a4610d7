r"""Message passing with given numbers, layer by layer: its state evolution, matched to the data or not.

A layer of the network (`gcnlimit.nn`) turns posterior means :math:`\hat y` into evidence :math:`b` on each node,

.. math::
    u &= \frac{X^T\hat y/\sqrt N - \kappa(1 - q)\,u^{old}}{1 + s\,q}, \qquad q = \frac{|\hat y|^2}{N(C-1)}, \\
    b &= \gamma\, S\hat y - \gamma^2(1 - q)\,\hat y^{old}
         + \kappa\Big[\frac{X u}{\sqrt N} - \frac{1/\alpha}{1 + s\,q}\,\hat y\Big],
    \qquad \hat y = \text{posterior mean at evidence } b,

with the gain :math:`\gamma` of the graph, :math:`\kappa` of the features and the shrinkage :math:`s`. The terms with minus signs
are the memory, which makes :math:`b = \bar b\,y + \sigma z` with Gaussian :math:`z` at every layer, whatever the numbers are:

.. math::
    \bar b &= \gamma\lambda_s o + \frac{\kappa\mu}{\alpha}\frac{o}{1 + s q}, \qquad
    \sigma^2 = \gamma^2 q + \frac{\kappa^2}{\alpha}\frac{\mu o^2 + q}{(1 + s q)^2}, \\
    o &= \rho + (1-\rho)\frac{\mathbb E[y\cdot\hat y]}{C - 1}, \qquad q = \rho + (1-\rho)\frac{\mathbb E|\hat y|^2}{C - 1},

from :math:`o = q = \rho`. At :math:`\gamma = \lambda_s, \kappa = s = \mu` it is the matched one: :math:`o = q`,
:math:`\bar b = \sigma^2`, and its fixed point is Eq. 8.8.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gcnlimit._runtime.memory import require
from gcnlimit._validation import check_types, number, real, whole
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.results.order_parameters import Output
from gcnlimit.results.performance import Prediction, Status
from gcnlimit.results.result import Coordinates
from gcnlimit.theory.ceiling.posterior import STEP, gumbel_density, gumbel_tail, smeared
from gcnlimit.theory.decision import ceiling_prediction

_LARGEST = 1e50  # of a parameter: products of several must be floating-point numbers
_REACH = 9.0  # deviations of a Gaussian that carry all but 1e-18 of it


def message_passing(
    data: CSBM,
    layers: int = 15,
    *,
    graph: float | None = None,
    features: float | None = None,
    shrinkage: float | None = None,
) -> Prediction:
    r"""Exact performance of each layer of the message-passing network, for any values of its numbers.

    Parameters
    ----------
    data
        The data, of equal classes and white features; array parameters broadcast.
    layers
        Number of layers; the answer has one more axis, of this size.
    graph, features, shrinkage
        Gain :math:`\gamma` of the graph, :math:`\kappa` of the features, and shrinkage :math:`s`; by default matched to the data,
        :math:`\lambda_s, \mu, \mu`, where the layers approach what `bayes_optimal` says of algorithms.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    >>> gl.theory.message_passing(data, layers=6).test_accuracy.round(4)
    array([0.7027, 0.8138, 0.8748, 0.8998, 0.9085, 0.9114])
    >>> gl.theory.message_passing(data, layers=6, features=0.0).test_accuracy.round(4)  # the graph alone
    array([0.6726, 0.7612, 0.8195, 0.8517, 0.8672, 0.8742])
    """
    check_types("message_passing", data=(data, CSBM))
    data.require_alike("message_passing")
    if not data.classes.equal or not data.features.is_white:
        raise ParameterError(
            f"message_passing needs equal classes and white features, got {data!r}; bayes_optimal takes others"
        )
    for name, low in (("alpha", 1.0 / _LARGEST), ("lam", -_LARGEST), ("mu", 0.0)):
        real(name, getattr(data, name), low=low, high=_LARGEST)
    depth, shape = whole("layers", layers, low=1, high=10_000), data.shape
    signal = data.operator(symmetrize=True).signal
    columns = [np.broadcast_to(p, shape).ravel() for p in (data.alpha, signal, data.mu, data.rho)]
    given = [
        None if g is None else number(n, g, low=-_LARGEST, high=_LARGEST)
        for n, g in zip(("graph", "features", "shrinkage"), (graph, features, shrinkage), strict=True)
    ]
    found = [_layers(data.classes.count, depth, *point, *given) for point in zip(*columns, strict=True)]
    mean, variance, overlap, loss = np.reshape(np.moveaxis(np.array(found), -1, 0), (4, *shape, depth))
    return _prediction(data, mean, variance, overlap, loss)


class SoftmaxAverages(NamedTuple):
    r"""Averages over evidence :math:`b = \bar b\,y_k + \sigma z` of the posterior of equal classes at the prior weight.

    `overlap` is :math:`\mathbb E[y_k\cdot\hat y]/(C-1)`, `norm` :math:`\mathbb E|\hat y|^2/(C-1)`, and `loss` the cross-entropy
    in nats.
    """

    overlap: float
    norm: float
    loss: float


def softmax_averages(mean: float, variance: float, classes: int) -> SoftmaxAverages:
    r"""Averages of the softmax of Gaussian scores, by one-dimensional integrals.

    The scores are :math:`x_1 \sim \mathcal N(C\bar b, C\sigma^2)` of the true class and
    :math:`x_k \sim \mathcal N(0, C\sigma^2)` of the others. With
    :math:`G_j(\tau) = \mathbb E\, e^{j(x-\tau)} \exp(-e^{x-\tau})` and :math:`1/Z^j = \int s^{j-1}e^{-sZ}ds/(j-1)!`,

    .. math::
        \mathbb E\, p_1 = \int G_1^{(1)} G_0^{C-1} d\tau, \quad
        \mathbb E \sum_k p_k^2 = \int \big[ G_2^{(1)} G_0 + (C - 1)\, G_2 G_0^{(1)} \big] G_0^{C-2} d\tau, \quad
        \mathbb E\log Z = \int \big[ \exp(-e^{-\tau}) - G_0^{(1)} G_0^{C-1} \big] d\tau .

    >>> matched = softmax_averages(2.0, 2.0, classes=10)
    >>> round(matched.overlap, 8), round(matched.norm, 8)  # equal: the posterior is right
    (0.98979504, 0.98979504)
    """
    C, deviation = classes, float(np.sqrt(classes * variance))
    lead = C * mean
    low, high = min(0.0, lead) - _REACH * deviation - 5.0, max(0.0, lead) + _REACH * deviation + 40.0
    require("a table of the posterior", 64.0 * (high - low) / STEP * max(1.0, deviation), "take weaker signals")
    tau = np.arange(np.ceil((high - low) / STEP) + 1.0) * STEP + low
    G0, _, G2 = _gaussian_gumbel(tau, deviation)
    T0, T1, T2 = _gaussian_gumbel(tau - lead, deviation)
    rest = G0 ** (C - 2)
    right = STEP * float(np.sum(T1 * rest * G0))
    squares = STEP * float(np.sum((T2 * G0 + (C - 1) * G2 * T0) * rest))
    log_Z = STEP * float(np.sum(np.exp(-np.exp(-tau)) - T0 * rest * G0))
    norm = max((C * squares - 1.0) / (C - 1.0), 0.0)  # rounding of a vanishing signal
    return SoftmaxAverages((C * right - 1.0) / (C - 1.0), norm, log_Z - lead)


def _gaussian_gumbel(tau: Array, deviation: float) -> tuple[Array, Array, Array]:
    r"""Averages :math:`G_0, G_1, G_2` over :math:`x \sim \mathcal N(0, \text{deviation}^2)`."""
    return (
        1.0 - smeared(gumbel_tail, tau, deviation),
        smeared(gumbel_density, tau, deviation),
        smeared(_G2, tau, deviation),
    )


def _G2(tau: Array) -> Array:
    raised = np.exp(-np.maximum(tau, -6.5))
    return np.asarray(raised**2 * np.exp(-raised))


def _layers(  # noqa: PLR0917
    classes: int, depth: int, alpha: float, signal: float, mu: float, rho: float, *given: float | None
) -> list[tuple[float, float, float, float]]:
    """Mean and variance of the evidence, overlap and cross-entropy after each layer, of one point."""
    gain, kappa, s = (mine if own is None else own for own, mine in zip(given, (signal, mu, mu), strict=True))
    o = q = rho
    found = []
    for _ in range(depth):
        shrunk = 1.0 + s * q
        mean = gain * signal * o + kappa * mu / alpha * o / shrunk
        variance = gain**2 * q + kappa**2 / alpha * (mu * o**2 + q) / shrunk**2
        posterior = softmax_averages(mean, variance, classes)
        o, q = (rho + (1.0 - rho) * part for part in (posterior.overlap, posterior.norm))
        found.append((mean, variance, o, posterior.loss))
    return found


def _prediction(data: CSBM, mean: Array, variance: Array, overlap: Array, loss: Array) -> Prediction:
    shape = mean.shape
    with np.errstate(invalid="ignore", divide="ignore"):
        margin = np.where(variance > 0.0, mean / np.sqrt(variance), 0.0)
    output = Output(mean, variance, np.zeros(shape))
    answer = ceiling_prediction(
        data.classes, margin, loss, np.zeros(shape), np.zeros(shape, np.int64), output=output, overlap=overlap
    )
    names = ("alpha", "lam", "mu", "rho", "directed")
    parameters = {name: np.expand_dims(np.asarray(getattr(data, name)), -1) for name in names}
    coordinates = Coordinates(parameters | {"layer": np.arange(1, shape[-1] + 1)})
    return replace(answer, status=np.full(shape, Status.EXPLICIT), coordinates=coordinates)
