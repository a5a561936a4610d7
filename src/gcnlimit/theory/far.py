r"""The order parameters of a chain at large regularization, explicit: where the search for finite ones starts.

As :math:`r \to \infty` the layers and their conjugates are

.. math::
    h_k = \tfrac1r P_k(a)\, z, \qquad q_k = f_0 R_k(a)^T R y, \qquad
    z = \tfrac{\mu s}{\alpha} y + \tfrac{f_0}{\alpha} g(a)^T R y + \sigma_w \zeta,

with :math:`P_k` the product of the layers up to :math:`k`, :math:`R_k` what the output does after layer :math:`k` and
:math:`f_0 = -\ell'(0)` (theory page, §4). Their overlaps are averages of products of these polynomials.
"""

from __future__ import annotations

import numpy as np

from gcnlimit._validation import Array
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.theory.chain import ChainProblem, State
from gcnlimit.theory.loss_averages import eta

__all__ = ["far_state"]


def far_state(problem: ChainProblem, reg: Array) -> State:
    """Leading order of the state at a large regularization `reg`."""
    tiny = np.full_like(reg, 1e-9)
    pull, _, stiffness = eta(problem.loss, np.zeros_like(reg), tiny**2, tiny)
    return (_symmetric if problem.symmetric else _directed)(problem, reg, pull, stiffness)


def _symmetric(problem: ChainProblem, reg: Array, pull: Array, stiffness: Array) -> State:
    """Averages over the spectrum, by quadrature."""
    b, c, g = problem.chain
    K = problem.depth
    measure = SpikedSemicircle.of(problem.signal, 4 * K + 2)
    layer = b[:, :, None] * measure.x[:, None] + c[:, :, None]
    P, R = _polynomials(layer, g)
    filter = R[:, 0]
    after = b[:, :, None] * R[:, 1:]
    V_qh = b[:, :, None] * _between(layer, measure.tau)

    def tau(x: Array, y: Array) -> Array:
        return np.asarray((x * measure.tau) @ y.transpose(0, 2, 1))

    def e(x: Array, y: Array) -> Array:
        return np.asarray((x * measure.e[:, None]) @ y.transpose(0, 2, 1))

    gain = filter[:, None]
    one = np.ones_like(gain)
    e_g, e_g2, tau_g2 = e(one, gain)[:, 0, 0], e(gain, gain)[:, 0, 0], tau(gain, gain)[:, 0, 0]
    rho, mu, alpha = problem.rho, problem.mu, problem.alpha
    s = rho * pull * e_g
    noise = (_mixed(e_g2, tau_g2, rho, pull) + mu * s**2) / alpha
    a, f, n = (x[:, None, None] for x in (mu * s / alpha, rho * pull / alpha, noise))
    r, rho_, pull_, alpha_ = (x[:, None, None] for x in (reg, rho, pull, alpha))
    with_g = gain * P
    Q = a**2 * e(P, P) + 2.0 * a * f * e(P, with_g) + n * tau(P, P)
    Q = Q + _mixed(e(with_g, with_g), tau(with_g, with_g), rho_, pull_) / alpha_**2
    Q_qh = a * rho_ * pull_ * e(after, P) + _mixed(e(after, with_g), tau(after, with_g), rho_, pull_) / alpha_
    m = f * e(P, gain) + a * e(P, one)
    return State(
        m_w=np.sqrt(mu) * s / (alpha * reg),
        Q_w=noise / reg**2,
        V_w=1.0 / (alpha * reg),
        m=m[:, :, 0] / reg[:, None],
        m_hat=(problem.signal * rho * pull)[:, None] * e(after, one)[:, :, 0],
        V=tau(P, P) / (alpha_ * r),
        V_hat=(rho * stiffness)[:, None, None] * tau(after, after),
        V_qh=V_qh,
        Q=Q / r**2,
        Q_hat=_mixed(e(after, after), tau(after, after), rho_, pull_),
        Q_qh=Q_qh / r,
    )


def _mixed(along: Array, across: Array, rho: Array, pull: Array) -> Array:
    r"""Overlap of two images of :math:`f_0 R y`: :math:`f_0^2 [\rho^2 e + \rho(1-\rho) \tau]`."""
    return np.asarray(pull**2 * (rho**2 * along + rho * (1.0 - rho) * across))


def _polynomials(layer: Array, g: Array) -> tuple[Array, Array]:
    """Values on the nodes of P_k (k < K) and of R_k (all k)."""
    points, K, nodes = layer.shape
    P, R = np.ones((points, K, nodes)), np.empty((points, K + 1, nodes))
    R[:, K] = g[:, K, None]
    for k in range(K, 0, -1):
        R[:, k - 1] = g[:, k - 1, None] + layer[:, k - 1] * R[:, k]
    for k in range(1, K):
        P[:, k] = layer[:, k - 1] * P[:, k - 1]
    return P, R


def _between(layer: Array, tau: Array) -> Array:
    """Average over the bulk of the product of the layers after k and up to l: rows k = 1 .. K, columns l = 0 .. K - 1."""
    points, K, nodes = layer.shape
    product, average = np.zeros((points, K, nodes)), np.zeros((points, K, K))
    for k in range(1, K):
        product[:, : k - 1] *= layer[:, k - 1, None]
        product[:, k - 1] = 1.0
        average[:, :k, k] = product[:, :k] @ tau
    return average


def _directed(problem: ChainProblem, reg: Array, pull: Array, stiffness: Array) -> State:
    r"""Overlaps of :math:`a^i z` and of :math:`(a^T)^j R y`, by their recurrences, between Taylor coefficients."""
    K, points = problem.depth, len(reg)
    P, R = _coefficients(problem)
    after = problem.chain.b[:, :, None] * R[:, 1:]
    rho, mu, alpha, signal = problem.rho, problem.mu, problem.alpha, problem.signal
    along = rho[:, None] * signal[:, None] ** np.arange(K + 1)
    U = np.zeros((points, K + 1, K + 1))
    U[:, 0] = rho[:, None] * along
    U[:, 0, 0] = rho
    for j in range(1, K + 1):
        U[:, j, 0] = U[:, 0, j]
        U[:, j, 1:] = along[:, j, None] * along[:, 1:] + U[:, j - 1, :-1]
    U = U * pull[:, None, None] ** 2
    along = along * pull[:, None]
    filter = R[:, 0]
    s = np.einsum("bi,bi->b", filter, along)
    noise = (np.einsum("bi,bij,bj->b", filter, U, filter) + mu * s**2) / alpha
    index = np.arange(K + 1)
    hankel = (
        np.where(index[:, None] + index <= K, filter[:, np.minimum(index[:, None] + index, K)], 0.0)
        / alpha[:, None, None]
    )
    drift = np.einsum("bkl,bl->bk", hankel, along)
    m, y = np.empty((points, K + 1)), np.empty((points, K + 1))
    H = np.empty((points, K + 1, K + 1))
    y[:, 0] = mu * s / alpha
    for k in range(K + 1):
        if k:
            y[:, k] = signal * m[:, k - 1]
        m[:, k] = y[:, k] + drift[:, k]
    H[:] = y[:, :, None] * y[:, None] + y[:, :, None] * drift[:, None] + drift[:, :, None] * y[:, None]
    H += hankel @ U @ hankel.transpose(0, 2, 1)
    H[:, 0, 0] += noise
    for k in range(1, K + 1):
        H[:, k, 1:] += H[:, k - 1, :-1]
    t = P.transpose(0, 2, 1)
    r, zero = reg[:, None, None], np.zeros((points, K, K))
    return State(
        m_w=np.sqrt(mu) * s / (alpha * reg),
        Q_w=noise / reg**2,
        V_w=1.0 / (alpha * reg),
        m=np.einsum("bki,bi->bk", P, m) / reg[:, None],
        m_hat=signal[:, None] * np.einsum("bki,bi->bk", after, along),
        V=P @ t / (alpha[:, None, None] * r),
        V_hat=(rho * stiffness)[:, None, None] * (after @ after.transpose(0, 2, 1)),
        V_qh=zero,
        Q=P @ H @ t / r**2,
        Q_hat=after @ U @ after.transpose(0, 2, 1),
        Q_qh=zero,
    )


def _coefficients(problem: ChainProblem) -> tuple[Array, Array]:
    """Taylor coefficients of P_k (k < K) and R_k (all k)."""
    b, c, g = problem.chain
    K = problem.depth
    P, R = np.zeros((len(g), K, K + 1)), np.zeros((len(g), K + 1, K + 1))
    P[:, :1, 0] = 1.0
    R[:, K, 0] = g[:, K]
    for k in range(1, K):
        P[:, k] = c[:, k - 1, None] * P[:, k - 1]
        P[:, k, 1:] += b[:, k - 1, None] * P[:, k - 1, :-1]
    for k in range(K, 0, -1):
        R[:, k - 1] = c[:, k - 1, None] * R[:, k]
        R[:, k - 1, 1:] += b[:, k - 1, None] * R[:, k, :-1]
        R[:, k - 1, 0] += g[:, k - 1]
    return P, R
