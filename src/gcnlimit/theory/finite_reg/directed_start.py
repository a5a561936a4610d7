r"""Responses of the layers of a directed graph in the limit reg → ∞: the start of the continuation (Eq. 3.25).

With :math:`P_k` the product of the layers up to :math:`k` and :math:`R_k` the map from layer :math:`k` to the output, all are
traces of polynomials in the operator and its transpose, that is, overlaps of Taylor coefficients.
"""

from __future__ import annotations

from gcnlimit._values import Array
from gcnlimit.filters import Chain
from gcnlimit.numerics.linear import hankel

__all__ = ["initial_layers"]


def initial_layers(chain: Chain) -> tuple[Array, Array, Array]:
    r"""Return :math:`V`, :math:`\hat V/s` and :math:`-\partial V/\partial s` for :math:`V_w = 1` and a stiffness :math:`s \to 0`.

    They are :math:`\tau(P_k P_l^T)`, :math:`b_k b_l \tau(R_k^T R_l)` and :math:`\tau(P_k g^T g P_l^T)`.
    """
    K = chain.depth
    P, R = chain.coefficients()
    P = P[:, :K]
    after = chain.b[:, :, None] * R[:, 1:]
    H = hankel(R[:, 0])
    gram = H @ H.mT  # of g(a) and the powers of a^T that it does not cancel
    for k in range(1, K + 1):
        gram[:, k, 1:] += gram[:, k - 1, :-1]
    return P @ P.mT, after @ after.mT, P @ gram @ P.mT
