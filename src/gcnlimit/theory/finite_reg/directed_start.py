r"""Responses of the layers of a directed graph in the limit reg → ∞: the start of the continuation (Eq. 3.25).

With :math:`P_k` the product of the layers up to :math:`k` and :math:`R_k` the map from layer :math:`k` to the output, all are
traces of polynomials in the operator and its transpose, that is, overlaps of Taylor coefficients.
"""

from __future__ import annotations

import numpy as np

from gcnlimit._values import Array
from gcnlimit.filters import Chain
from gcnlimit.numerics.hankel import hankel

__all__ = ["unfelt"]


def unfelt(chain: Chain) -> tuple[Array, Array, Array]:
    r"""Return :math:`V`, :math:`\hat V/s` and :math:`-\partial V/\partial s` for :math:`V_w = 1` and a stiffness :math:`s \to 0`.

    They are :math:`\tau(P_k P_l^T)`, :math:`b_k b_l \tau(R_k^T R_l)` and :math:`\tau(P_k g^T g P_l^T)`.
    """
    K = chain.depth
    P, R = _coefficients(chain)
    after = chain.b[:, :, None] * R[:, 1:]
    H = hankel(R[:, 0])
    gram = H @ H.mT  # of g(a) and the powers of a^T that it does not cancel
    for k in range(1, K + 1):
        gram[:, k, 1:] += gram[:, k - 1, :-1]
    return P @ P.mT, after @ after.mT, P @ gram @ P.mT


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
