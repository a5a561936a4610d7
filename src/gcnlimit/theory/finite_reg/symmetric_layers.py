r"""Order parameters of the layers on a symmetric graph, from the solution on its spectrum.

With :math:`P_k` the product of the layers up to :math:`k` and :math:`R_k` the map from layer :math:`k` to the output (Eq. 3.21),

.. math::
    h_k = P_k(a)\, z, \qquad q_k = R_k(a)\, f, \qquad (1 + \kappa V_w g^2)\, z = z_0 + V_w\, g \beta, \qquad
    f = \beta - \kappa\, g z.

All are functions of the operator applied to the labels, to :math:`\beta` and to the noise :math:`\zeta` of the features:
overlaps are averages over the spectrum, and so are the responses of layers to forces and of conjugates to displacements.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gcnlimit._values import Array
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.order_parameters import OrderFunctions, Weights
from gcnlimit.theory.finite_reg.equations import Pulls
from gcnlimit.theory.finite_reg.scaling import ScaledChain
from gcnlimit.theory.finite_reg.symmetric import SymmetricEquations

__all__ = ["Passage", "spectral_functions", "symmetric_layers"]


class Passage(NamedTuple):
    r"""A network on the nodes of the spectrum, after the axis over the points and that over its depths `x`.

    `P`: from the features to a depth; `after`: from a depth to the output, times :math:`b` or :math:`t`; `gain`: the filter;
    `response`: that of states to fields at smaller depths, without the loss; `signal`: :math:`\lambda_e` of each point.
    """

    x: Array
    P: Array
    after: Array
    gain: Array
    response: Array
    signal: Array


def symmetric_layers(equations: SymmetricEquations, signal: Array, state: Array, scaled: ScaledChain) -> OrderFunctions:
    """Order functions at the layers of a scaled chain at a solution, in its units."""
    b, c, _ = scaled.chain
    measure = SpikedSemicircle.of(signal, equations.tau.size - 1)
    layer = b[:, :, None] * measure.x[:, None] + c[:, :, None]
    P, R = scaled.chain.partial_values(measure.x)
    passage = Passage(
        x=np.arange(b.shape[1]) / max(b.shape[1], 1),
        P=P[:, :-1],
        after=b[:, :, None] * R[:, 1:],
        gain=R[:, :1],
        response=b[:, :, None] * _between(layer, measure.tau),
        signal=signal,
    )
    weights = equations.evaluate(state)[0].weights
    return spectral_functions(passage, measure, equations.pulls(state), weights, equations.mu)


def spectral_functions(
    passage: Passage, measure: SpikedSemicircle, pulls: Pulls, weights: Weights, mu: Array
) -> OrderFunctions:
    """Order functions of a network between given weights and pulls, as averages over the spectrum."""
    x, P, after, gain, response, signal = passage
    V_w, kappa, drive, scatter = (p[:, None, None] for p in pulls)
    start, noise = ((p[:, None, None]) for p in (np.sqrt(mu) * weights.m, weights.Q))
    d = 1.0 / (1.0 + kappa * V_w * gain**2)

    # linear responses of z and f to z_0 and to beta, Eq. 3.21
    z_from_z, z_from_beta, f_from_z, f_from_beta = d, V_w * gain * d, -kappa * gain * d, d
    h_labels, q_labels = P * (start * z_from_z + drive * z_from_beta), after * (start * f_from_z + drive * f_from_beta)
    h_noise, q_noise = P * z_from_z, after * f_from_z
    h_beta, q_beta = P * z_from_beta, after * f_from_beta
    e, tau = measure.e[:, None], measure.tau

    # labels, features' noise and the scatter of beta are uncorrelated: the first is averaged along y, the others over the bulk
    def second(i: int, j: int) -> Array:
        (a_e, a_n, a_b), (b_e, b_n, b_b) = sides[i], sides[j]
        return _overlap(a_e * e, b_e) + noise * _overlap(a_n * tau, b_n) + scatter * _overlap(a_b * tau, b_b)

    sides = ((h_labels, h_noise, h_beta), (q_labels, q_noise, q_beta))
    return OrderFunctions(
        x=x,
        m=np.sum(h_labels * e, axis=2),
        Q=second(0, 0),
        V=V_w * _overlap(P * d * tau, P),
        m_hat=signal[:, None] * np.sum(q_labels * e, axis=2),
        Q_hat=second(1, 1),
        V_hat=kappa * _overlap(after * d * tau, after),
        Q_qh=second(1, 0),
        V_qh=response - kappa * V_w * _overlap(after * gain * d * tau, P),
        weights=weights,
    )


def _overlap(x: Array, y: Array) -> Array:
    return np.asarray(x @ y.mT)


def _between(layer: Array, tau: Array) -> Array:
    """Average over the bulk of the product of the layers after k and up to l: rows k = 1 .. K, columns l = 0 .. K - 1."""
    points, K, nodes = layer.shape
    product, average = np.zeros((points, K, nodes)), np.zeros((points, K, K))
    for k in range(1, K):
        product[:, : k - 1] *= layer[:, k - 1, None]
        product[:, k - 1] = 1.0
        average[:, :k, k] = product[:, :k] @ tau
    return average
