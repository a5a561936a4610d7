r"""The order parameters of a chain on a directed graph at large regularization, where the search for finite ones starts.

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
from gcnlimit.filters import Chain
from gcnlimit.theory.loss_averages import Eta
from gcnlimit.theory.state import State

__all__ = ["far_state"]


def far_state(chain: Chain, force: Eta, *, alpha: Array, signal: Array, mu: Array, rho: Array, reg: Array) -> State:
    r"""Leading order of the state at a large regularization, where the loss exerts `force` on labelled nodes.

    Overlaps of :math:`a^i z` and of :math:`(a^T)^j R y`, by their recurrences, between Taylor coefficients.
    """
    K, points = chain.depth, len(reg)
    pull, _, stiffness = force
    P, R = _coefficients(chain)
    after = chain.b[:, :, None] * R[:, 1:]
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
    r = reg[:, None, None]
    return State(
        m_w=np.sqrt(mu) * s / (alpha * reg),
        Q_w=noise / reg**2,
        V_w=1.0 / (alpha * reg),
        m=np.einsum("bki,bi->bk", P, m) / reg[:, None],
        m_hat=signal[:, None] * np.einsum("bki,bi->bk", after, along),
        V=P @ t / (alpha[:, None, None] * r),
        V_hat=(rho * stiffness)[:, None, None] * (after @ after.transpose(0, 2, 1)),
        Q=P @ H @ t / r**2,
        Q_hat=after @ U @ after.transpose(0, 2, 1),
    )


def _coefficients(chain: Chain) -> tuple[Array, Array]:
    """Taylor coefficients of P_k (k < K) and R_k (all k)."""
    b, c, g = chain
    K = chain.depth
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
