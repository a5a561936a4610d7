r"""The self-consistent equations of a chain, written out for one point on either kind of graph, to check solutions with.

Nothing is scaled, batched or accelerated, and the averages over the loss are written out for each: the order parameters go in,
what the equations make of them comes out.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from gcnlimit import CSBM, GCN, Hinge, Logistic, Square
from gcnlimit.filters import Chain
from gcnlimit.filters.polynomial import OfChain
from gcnlimit.results.order_parameters import OrderFunctions, Weights
from gcnlimit.theory.points import Points


def square_averages(mean, deviation, v):
    """Mean, mean square and mean slope (with a minus) of the pull of the square loss, (1 - w)/(1 + v)."""
    return (1 - mean) / (1 + v), ((1 - mean) ** 2 + deviation**2) / (1 + v) ** 2, 1 / (1 + v)


def hinge_averages(mean, deviation, v):
    """The same for the hinge loss: a pull of 1 below 1 - v, (1 - w)/v from there to 1, and 0 above."""
    low, high = (1 - v - mean) / deviation, (1 - mean) / deviation
    x, w = np.polynomial.legendre.leggauss(200)
    start, end = np.clip([low, high], -11, 11)
    z, weight = start + (end - start) * (1 + x) / 2, w * (end - start) / 2
    weight, pull = weight * norm.pdf(z), (high - z) * deviation / v
    return norm.cdf(low) + weight @ pull, norm.cdf(low) + weight @ pull**2, np.sum(weight) / v


def logistic_averages(mean, deviation, v):
    """The same for the logistic loss, by the trapezoidal rule and bisection for each output."""
    z = np.linspace(-12, 12, 4001)
    omega, weight = mean + deviation * z, norm.pdf(z) * (z[1] - z[0])
    low, high = omega.copy(), omega + v
    for _ in range(64):  # to the last digit
        x = (low + high) / 2
        above = x > omega + v * expit(-x)
        low, high = np.where(above, low, x), np.where(above, x, high)
    s = expit(-x)
    return weight @ s, weight @ s**2, weight @ (s * (1 - s) / (1 + v * s * (1 - s)))


AVERAGES = {Square: square_averages, Hinge: hinge_averages, Logistic: logistic_averages}


def chain_of(data: CSBM, gcn: GCN) -> Chain:
    """Chain of layers that stands for the filter, to twelve digits."""
    signal = float(data.effective_signal(gcn.symmetrize))
    size = max(abs(signal), 1.0)
    if gcn.symmetrize or not data.directed:
        return gcn.filter.chain(accuracy=1e-12, radius=size + 1.0 / size)
    return gcn.filter.directed_chain(signal, accuracy=1e-12)


def of_layers(data: CSBM, gcn: GCN) -> Points:
    """Point of data and network, its filter that of the layers of `chain_of`, whatever has a closed form."""
    filter = OfChain(np.concatenate(chain_of(data, gcn), axis=-1)).ravel((1,))
    return Points.of(data, gcn)._replace(filter=filter)


def apply_equations(data: CSBM, gcn: GCN, p: OrderFunctions) -> OrderFunctions:
    """Apply the equations once to the order parameters of the layers and weights of one point; return the new ones."""
    symmetric = gcn.symmetrize or not data.directed
    signal = float(data.effective_signal(gcn.symmetrize))
    b, c, g = chain_of(data, gcn)
    K = len(b)
    D = np.eye(K + 1) - np.diag(c, -1)
    if symmetric:
        D[1:, :-1] -= b[:, None] * p.V_qh.T
    G_0, G_h = np.zeros((K + 1, K + 1)), np.zeros((K + 1, K + 1))
    G_0[0, 0], G_0[1:, 1:], G_h[:-1, :-1] = p.weights.V, np.outer(b, b) * p.V, p.V_hat
    back = np.linalg.inv(D)
    S = back @ G_0 @ back.T
    J = np.linalg.inv(np.eye(K + 1) + S @ G_h)
    C = J @ S
    to_h = np.hstack([C, J @ back])
    to_q = back.T @ np.hstack([np.eye(K + 1) - G_h @ C, -G_h @ J @ back])
    T = np.vstack([to_q, to_h])
    u = np.concatenate([back.T @ J.T @ g, C @ g])

    source, noise = np.zeros(2 * K + 2), np.zeros((2 * K + 2, 2 * K + 2))
    source[:K], source[K + 1], source[K + 2 :] = (
        p.m_hat,
        np.sqrt(data.mu) * p.weights.m,
        signal * b * p.m,
    )
    noise[:K, :K], noise[K + 1, K + 1], noise[K + 2 :, K + 2 :] = (
        p.Q_hat,
        p.weights.Q,
        np.outer(b, b) * p.Q,
    )
    if symmetric:
        noise[:K, K + 2 :] = p.Q_qh * b
        noise[K + 2 :, :K] = noise[:K, K + 2 :].T
    mean, cov = T @ source, T @ noise @ T.T
    read = np.concatenate([np.zeros(K + 1), g])
    v = g @ C @ g
    pull, square, stiffness = AVERAGES[type(gcn.loss)](read @ mean, np.sqrt(read @ cov @ read), v)

    rho = data.rho
    first = mean + rho * pull * u
    moved = np.outer(mean * pull - cov @ read * stiffness, u)
    second = cov + np.outer(mean, mean) + rho * (moved + moved.T + square * np.outer(u, u))
    q, h = slice(1, K + 1), slice(K + 1, 2 * K + 1)
    hard = back.T @ (G_h @ J + rho * stiffness * np.outer(J.T @ g, J.T @ g)) @ back
    soft = T[: K + 1, : K + 1] - rho * stiffness * np.outer(u[: K + 1], u[K + 1 :])
    m_hat_w, inertia = np.sqrt(data.mu) * first[0], data.alpha * (gcn.reg + hard[0, 0])
    return OrderFunctions(
        x=p.x,
        m=first[h],
        Q=second[h, h],
        V=(C - rho * stiffness * np.outer(u[K + 1 :], u[K + 1 :]))[:-1, :-1],
        m_hat=signal * b * first[q],
        Q_hat=np.outer(b, b) * second[q, q],
        V_hat=np.outer(b, b) * hard[1:, 1:],
        V_qh=b[:, None] * soft[1:, :-1],
        Q_qh=b[:, None] * second[q, h],
        weights=Weights(
            m=m_hat_w / inertia,
            Q=data.alpha * (second[0, 0] + m_hat_w**2) / inertia**2,
            V=1.0 / inertia,
            m_hat=m_hat_w,
            Q_hat=second[0, 0],
            V_hat=hard[0, 0],
        ),
    )
