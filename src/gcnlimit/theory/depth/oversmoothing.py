r"""Oversmoothing, how much of the signal and of the features remains as networks get deeper; and learning rates.

The output of a network at infinite regularization is :math:`h \propto g [ (\mu\, e(g) + g^T) y + \dots ]` (Eqs. 4.1 to 4.3).
A deep filter of constant residual strength keeps only the leading eigenvector :math:`v` of the graph: it does principal
component analysis (PCA), whatever the features. As the signal grows, :math:`\log(1 - Acc_{test}) \sim -\tau\lambda^2`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit import scope
from gcnlimit._validation import as_real, check_types
from gcnlimit._values import Array, brief
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Filter
from gcnlimit.network import GCN
from gcnlimit.numerics.linear import hankel
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.results.performance import Prediction, scalar_or_array
from gcnlimit.theory.bayes import bayes_optimal
from gcnlimit.theory.decision import best_log_error
from gcnlimit.theory.limits import pca_margin
from gcnlimit.theory.points import Points
from gcnlimit.theory.predict import predict

_SIGNALS = np.geomspace(50.0, 400.0, 12)


def learning_rate(data: CSBM, gcn: GCN | None = None, *, signals: npt.ArrayLike = _SIGNALS) -> Any:
    r"""Rate :math:`\tau` of :math:`\log(1 - Acc_{test}) \sim -\tau\lambda^2`, from `log_test_error` at large signals.

    It is the coefficient of :math:`\lambda^2` when :math:`-\log(1 - Acc_{test})` is expanded in
    :math:`\lambda^2, \lambda, \log\lambda, 1, \lambda^{-1}, \lambda^{-2}` over `signals`, at least six large values that replace
    the `lam` of the data; a diffusion needs :math:`t\lambda \gg 1`. Without a network it is the Bayes-optimal rate.
    Unequal classes are decided at the best threshold, or by the posterior.

    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.0, mu=1.0, rho=0.1)
    >>> networks = [gl.GCN(gl.Residual.constant(0.0, K), symmetrize=s) for s in (False, True) for K in (1, 2)]
    >>> [round(gl.depth.learning_rate(data, gcn), 4) for gcn in networks]
    [0.1667, 0.5, 0.3333, 1.0]
    >>> round(gl.depth.learning_rate(data), 4)
    1.0
    """
    check_types("learning_rate", data=(data, CSBM), gcn=(gcn, (GCN, type(None))))
    data = data.model
    scope.check("learning_rate", data, gcn)
    if gcn is not None and gcn.shape:
        told = f"learning_rate needs one network, got parameters of shape {gcn.shape}"
        raise ParameterError(f"{told}; call it for each network")
    lam = np.atleast_1d(as_real("signals", signals, low=0, open_low=True))
    if lam.ndim != 1 or np.unique(lam).size < 6:
        got = brief(signals)
        raise ParameterError(f"signals must be one row of at least six different values, got {got}")
    if gcn is not None:  # the hardest alone: if it has no solution, the others are not waited for
        predict(data.replaced(lam=float(np.max(lam))), gcn)
    alpha, mu, rho = (np.asarray(p)[..., None] for p in (data.alpha, data.mu, data.rho))
    strong = data.replaced(alpha=alpha, lam=lam, mu=mu, rho=rho)
    answer = bayes_optimal(strong) if gcn is None else predict(strong, gcn)
    log_error = np.asarray(answer.log_test_error)
    if not data.classes.equal:
        log_error = best_log_error(_margin(answer), data.classes)
    return scalar_or_array(_leading(lam, -log_error))


def _leading(lam: Array, values: Array) -> Array:
    r"""Coefficient of :math:`\lambda^2`, by least squares on values divided by it."""
    powers = [lam**power for power in (0.0, -1.0, -2.0, -3.0, -4.0)]
    basis = np.stack([*powers, np.log(lam) / lam**2], axis=1)
    size = np.max(np.abs(basis), axis=0)
    flat = (values / lam**2).reshape(-1, lam.size)
    coefficients = np.linalg.lstsq(basis / size, flat.T, rcond=None)[0]
    return np.asarray(coefficients[0].reshape(values.shape[:-1]))


@dataclass(frozen=True, eq=False)
class Oversmoothing:
    r"""Signal left in the outputs of a sequence of networks; the last axis runs over the networks.

    `test_accuracy`; `signal`: squared margin :math:`z^2` of a test node; `feature_information`: what the features add to it,
    :math:`z^2 - z^2|_{\mu=0}`; `pca_gap`: margin minus that of PCA on the graph, :math:`z - \sqrt{\lambda_e^2 - 1}`, or :math:`z`
    below the transition; `pca_distance`: squared sine of the angle between the output and the leading eigenvector of the graph, 1
    below the transition, where that is independent of the labels.
    """

    test_accuracy: Array
    signal: Array
    feature_information: Array
    pca_gap: Array
    pca_distance: Array


def oversmoothing(
    data: CSBM, filters: Sequence[Filter], *, symmetrize: bool = True
) -> Oversmoothing:
    """Follow signal, feature information and distance to PCA along a sequence of networks at infinite regularization.

    The filters are, for example, ``[Residual.constant(c, K) for K in depths]`` (constant residual strength),
    ``[Residual.constant(K / t, K) for K in depths]`` (growing with the depth) or ``[Diffusion(t) for t in times]``.

    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.5, mu=3.0, rho=0.1)
    >>> constant = gl.depth.oversmoothing(data, [gl.Residual.constant(1.0, K) for K in (1, 4, 16, 64)], symmetrize=False)
    >>> constant.pca_distance.round(3)
    array([0.503, 0.086, 0.   , 0.   ])
    >>> growing = gl.depth.oversmoothing(data, [gl.Residual.constant(float(K), K) for K in (1, 4, 16, 64)], symmetrize=False)
    >>> bool(growing.test_accuracy[-1] > constant.test_accuracy[-1])  # the network that does not oversmooth is better
    True
    """
    check_types("oversmoothing", data=(data, CSBM), filters=(filters, Sequence))
    data = data.model
    scope.check("oversmoothing", data)
    if not filters or not all(isinstance(f, Filter) and not f.shape for f in filters):
        told = "filters must be a sequence of one filter or more, each of one network"
        raise ParameterError(f"{told}; write [Residual.constant(c, K) for K in depths]")
    blind = data.replaced(mu=0.0 * np.asarray(data.mu))
    networks = [GCN(f, symmetrize=symmetrize) for f in filters]
    answers = [predict(data, gcn) for gcn in networks]
    margin = np.stack([_margin(p) for p in answers], axis=-1)
    without = np.stack([_margin(predict(blind, gcn)) for gcn in networks], axis=-1)
    distance = [_distance(Points.of(data, gcn)).reshape(data.shape) for gcn in networks]
    signal = np.broadcast_to(data.effective_signal(symmetrize), data.shape)
    return Oversmoothing(
        test_accuracy=np.stack([np.asarray(p.test_accuracy) for p in answers], axis=-1),
        signal=margin**2,
        feature_information=margin**2 - without**2,
        pca_gap=margin - pca_margin(signal)[..., None],
        pca_distance=np.stack(distance, axis=-1),
    )


def _margin(answer: Prediction) -> Array:
    return np.asarray(answer.order_parameters.test_margin)


def _distance(points: Points) -> Array:
    """Squared sine of the angle to the leading eigenvector, as a ratio of sums of positive terms."""
    bulk, atom = _symmetric_parts(points) if points.symmetric else _directed_parts(points)
    return bulk / (bulk + atom)


def _symmetric_parts(points: Points) -> tuple[Array, Array]:
    """Squared norm of the output off and along the eigenvector, which is the atom of the spectral measure (Eq. 4.4)."""
    measure = SpikedSemicircle.of(points.signal, int(np.max(points.filter.quadrature_nodes())))
    g, _ = points.filter.normalized(measure.x)
    e_g, e_g2 = (np.einsum("bn,bn->b", measure.e, f) for f in (g, g**2))
    labels = measure.e * (g**2 + (points.mu * e_g)[:, None] * g) ** 2
    noise = _noise(points, g**2 @ measure.tau, g**4 @ measure.tau, e_g2, e_g)
    return np.sum(labels[:, :-1], axis=1) + noise, labels[:, -1]


def _directed_parts(points: Points) -> tuple[Array, Array]:
    r"""Squared norm of the output off and along the right eigenvector :math:`v \propto \sum_i \lambda^{-i} \xi^i y`."""
    g, G = (p.T for p in points.filter.directed_chain(points.signal).taylor(points.signal))
    H, H_tail = hankel(g), hankel(G)
    labels = points.mu[:, None] * G[:, :1] * G + np.einsum("bip,bp->bi", H_tail, G)
    words = np.sum((H @ H_tail[:, :, 1:]) ** 2, axis=(1, 2))  # N_il with l >= 1 (Eq. 4.12)
    outside = np.abs(points.signal) > 1.0
    ratio = 1.0 / np.where(outside, points.signal, np.inf)[:, None]
    v = np.where(outside[:, None], np.sqrt(1.0 - ratio**2) * ratio ** np.arange(g.shape[1]), 0.0)
    along = np.sum(labels * v, axis=1)
    beyond = along**2 * ratio[:, 0] ** (2 * g.shape[1])  # of v past the degree of the filter
    off = np.sum((labels - along[:, None] * v) ** 2, axis=1) + beyond
    tau_g4 = np.sum((H @ H) ** 2, axis=(1, 2))
    noise = _noise(points, np.sum(g**2, axis=1), tau_g4, np.sum(G**2, axis=1), G[:, 0])
    return off + words + noise, along**2


def _noise(points: Points, tau_g2: Array, tau_g4: Array, e_g2: Array, e_g: Array) -> Array:
    """Squared norm of the noise from the choice of labelled nodes and from the features (Eqs. 4.2 and 4.3)."""
    hidden = (1.0 - points.rho) / points.rho
    return hidden * tau_g4 + points.alpha * tau_g2 * (e_g2 + hidden * tau_g2 + points.mu * e_g**2)
