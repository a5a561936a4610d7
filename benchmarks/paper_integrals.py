"""The paper's way to the continuous network at reg = inf: nested trapezoid integrals, written from its formulas.

Slow on purpose: it is the peer that the explicit formulas are measured against. Functions carry their delta functions at 0 in a
first entry, before their values on the grid.
"""

from __future__ import annotations

import numpy as np
from scipy.special import i0, i1, iv, ndtr


def kernels(t, signal, symmetric):
    """Resolvents phi, Phi and the inverse derivative D^-1."""
    if not symmetric:
        return (
            lambda x: np.exp(signal * t * x),
            lambda x, z: i0(2 * t * np.sqrt(x * z)),
            lambda x, z: np.where(x >= z, 1.0, 0.0),
        )

    def bessel_ratio(s):
        return np.where(s > 0, i1(2 * t * s) / np.where(s > 0, t * s, 1.0), 1.0)

    order = np.arange(1, 60)[:, None]

    def phi(x):
        x = np.atleast_1d(x)
        s = np.where(x > 0, t * x, 1.0)
        return np.where(
            x > 0, np.sum(order * signal ** (order - 1) * iv(order, 2 * s) / s, axis=0), 1.0
        )

    return (
        phi,
        lambda x, z: bessel_ratio(x + z),
        lambda x, z: np.where(x >= z, bessel_ratio(np.abs(x - z)), 0.0),
    )


def convolve(Phi, source, h):
    """All values on the grid of the causal double integral of Phi(x-x', z-z') source(x', z'), four nested sums."""
    n = source.shape[0] - 1
    kernel = Phi(h * np.arange(n)[:, None], h * np.arange(n)[None])
    out = np.empty((n, n))
    for i in range(n):
        wx = _causal(i, h)
        for j in range(n):
            wz = _causal(j, h)
            block = kernel[i::-1, j::-1] * source[1 : i + 2, 1 : j + 2]
            out[i, j] = wx @ block @ wz + kernel[i, j::-1] * source[0, 1 : j + 2] @ wz
            out[i, j] += kernel[i::-1, j] * source[1 : i + 2, 0] @ wx + kernel[i, j] * source[0, 0]
    return out


def _causal(i, h):
    w = np.full(i + 1, h)
    w[0] = w[-1] = h / 2 if i else 0.0
    return w


def accuracy(data, t, symmetrize, points=101):
    """Test accuracy by the paper's formulas; `points` nodes in each integral."""
    alpha, mu, rho, signal = data.alpha, data.mu, data.rho, data.effective_signal(symmetrize)
    symmetric = symmetrize or not data.directed
    phi, Phi, inverse = kernels(t, signal, symmetric)
    x = np.linspace(0, 1, points)
    h = x[1]
    w = _causal(points - 1, h)
    V_w = 1 / alpha
    V = V_w * Phi(x[:, None], x[None])
    m_hat = rho * signal * t * phi(1 - x)
    m_hat_w = np.sqrt(mu) * rho * phi(np.ones(1))[0]
    m_w = m_hat_w / alpha
    inner = V @ (w * m_hat)
    drift = np.array(
        [phi(x[i] - x[: i + 1]) * inner[: i + 1] @ _causal(i, h) for i in range(points)]
    )
    m = (1 + mu) * m_w / np.sqrt(mu) * phi(x) + t / signal * drift

    flipped = m_hat[::-1]
    source = np.empty((points + 1, points + 1))
    source[1:, 1:], source[0, 1:], source[1:, 0], source[0, 0] = (
        np.outer(flipped, flipped),
        rho * flipped,
        rho * flipped,
        rho,
    )
    Q_hat = t**2 * convolve(Phi, source, h)[::-1, ::-1]
    Q_hat_w = Q_hat[0, 0] / t**2
    Q_w = (Q_hat_w + m_hat_w**2) / alpha

    D = inverse(x[:, None], x[None])
    half = D - 0.5 * np.diag(np.diag(D))  # the step function counts half at its edge
    G = np.empty((points + 1, points))  # G_0 D^-T: rows with the delta function first
    G[1:], G[0] = t**2 * (V * w) @ half.T, V_w * D[:, 0]
    a = np.concatenate([[np.sqrt(mu) * m_w], signal * t * m])
    push = G @ (w * m_hat) + rho * G[:, -1]
    smooth = Q_hat + np.outer(m_hat, m_hat)
    total = np.outer(a, a) + np.outer(push, a) + np.outer(a, push) + (G * w) @ smooth @ (G * w).T
    total += rho * (
        np.outer(G @ (w * m_hat), G[:, -1])
        + np.outer(G[:, -1], G @ (w * m_hat))
        + np.outer(G[:, -1], G[:, -1])
    )
    total[0, 0] += Q_w
    if symmetric:
        bracket = np.outer(np.concatenate([[rho], flipped]), a)
        rows = np.concatenate([[rho * m_hat], smooth[::-1]])
        bracket += (rows * w) @ G.T + np.outer(np.concatenate([[rho], rho * flipped]), G[:, -1])
        Q_qh = t * convolve(Phi, bracket, h)[::-1]
        cross = np.zeros_like(total)
        cross[:, 1:] = (G * w) @ (t * Q_qh)
        total += cross + cross.T
    ends = np.concatenate([[1.0], w])
    back = np.concatenate([[1.0], 1 - x])
    Q = ends @ (Phi(back[:, None], back[None]) * total) @ ends
    deviation = np.sqrt(Q - m[-1] ** 2 - rho * (1 - rho) * V[-1, -1] ** 2)
    return float(ndtr((m[-1] - rho * V[-1, -1]) / deviation))
