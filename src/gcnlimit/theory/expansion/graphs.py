r"""Averages of a graph in powers of :math:`s = \kappa V_w`: of :math:`U = (1 + s\,gg^T)^{-1} g` and :math:`W = U g^T`.

On a symmetric graph they are sums of moments of the filter over the spectrum; on a directed one the matrix equation of the
chain (theory page, §3) is solved order by order: each is a linear equation with the same nilpotent matrix.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gcnlimit._values import Array
from gcnlimit.numerics.series import Series, cauchy
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.theory.finite_reg.directed import backwards, outer
from gcnlimit.theory.finite_reg.solution import ScaledChain
from gcnlimit.theory.points import Points


class Averages(NamedTuple):
    r"""Series in :math:`s`, as in `gcnlimit.theory.finite_reg.equations.Transforms`."""

    W: Series
    UU: Series
    WW_bulk: Series
    U: Series
    excess: Series
    UU_across: Series
    UW_across: Series
    WW_across: Series

    def at(self, s: Series) -> Averages:
        """Insert a series for :math:`s`."""
        return Averages(*(part(s) for part in self))


def symmetric_averages(points: Points, order: int) -> tuple[Averages, Array]:
    r"""Averages over the spectrum for a filter of gain 1, and the unit of the regularization.

    :math:`U = \sum_k (-s)^k g^{2k+1}` and :math:`W = \sum_k (-s)^k g^{2k+2}`.
    """
    measure = SpikedSemicircle.of(points.signal, (order + 2) * int(np.max(points.filter.quadrature_nodes())) + 16)
    g, size = points.filter.normalized(measure.x)
    bulk = np.sqrt(g**2 @ measure.tau)
    g = g / bulk[:, None]
    k = np.arange(order + 1)[:, None, None]
    sign = (-1.0) ** k
    U, W = sign * g ** (2 * k + 1), sign * g ** (2 * k + 2)
    along_U, along_W = (np.sum(measure.e * f, axis=2) for f in (U, W))
    mean_W = W @ measure.tau
    U_across, W_across, W_bulk = U - along_U[..., None], W - along_W[..., None], W - mean_W[..., None]

    def overlap(a: Array, b: Array, weight: Array) -> Series:
        return Series(np.stack([np.sum(weight * cauchy(a, b, int(n)), axis=1) for n in range(order + 1)]))

    return Averages(
        W=Series(mean_W),
        UU=overlap(U, U, measure.tau),
        WW_bulk=overlap(W_bulk, W_bulk, measure.tau),
        U=Series(along_U),
        excess=Series(np.sum(measure.excess * W, axis=2)),
        UU_across=overlap(U_across, U_across, measure.e),
        UW_across=overlap(U_across, W_across, measure.e),
        WW_across=overlap(W_across, W_across, measure.e),
    ), points.units(np.exp(size) * bulk)


def directed_averages(points: Points, order: int) -> tuple[Averages, Array]:
    """Averages from the chain of the filter, brought to gain 1, and the unit of the regularization."""
    scaled = ScaledChain.of(points.filter.chain(radius=points.radius), points.signal, symmetric=False)
    b, _, g = scaled.chain
    C, L, M = _responses(scaled, order + 1)
    bb = outer(b, b)
    X, Y = -_slope(C[:, :, :-1, :-1]) * bb, _slope(bb * M[:, :, 1:, 1:])
    C, L, M = C[:-1], L[:-1], M[:-1]
    pull_h, pull_q = C @ g[:, :, None], L.mT @ g[:, :, None]
    strength = points.signal[:, None] * b
    q, h = _means(
        np.block([[L.mT[:, :, 1:, :-1], -M[:, :, 1:, 1:]], [C[:, :, :-1, :-1], L[:, :, :-1, 1:]]]),
        np.block([[-M[:, :, 1:, :1], pull_q[:, :, 1:]], [L[:, :, :-1, :1], pull_h[:, :, :-1]]]),
        strength,
    )
    inner_h, inner_q = Series(pull_h[:, :, :-1].mT), Series(pull_q[:, :, 1:].mT)
    along = inner_h @ Series(strength[:, :, None] * q) + inner_q @ Series(strength[:, :, None] * h)
    across = Series(q.mT) @ (X @ Series(q)) + Series(h.mT) @ (Y @ Series(h))
    W = Series((g[:, None] @ pull_h)[..., 0, 0])
    WW_bulk = _entry(inner_h @ (Y @ Series(inner_h.c.mT)) + inner_q @ (X @ Series(inner_q.c.mT)), 0, 0)
    s = Series(Series.variable(order).c[:, None])
    return Averages(
        W=W,
        UU=W * (1.0 - s * W) - s * WW_bulk,
        WW_bulk=WW_bulk,
        U=Series(pull_q[:, :, 0, 0]) + _entry(along, 0, 0),
        excess=_entry(along, 0, 1),
        UU_across=_entry(across, 0, 0),
        UW_across=_entry(across, 0, 1),
        WW_across=_entry(across, 1, 1),
    ), points.units(scaled.gain)


def _responses(scaled: ScaledChain, order: int) -> tuple[Array, Array, Array]:
    r"""Orders of :math:`C`, :math:`L` and :math:`M` of `gcnlimit.theory.finite_reg.directed.Response`, for :math:`V_w = 1`.

    The loss is a stiffness :math:`s`, :math:`G_h = \mathrm{diag}(\hat V, 0) + s\,gg^T`. At each order :math:`V` and
    :math:`\hat V` solve :math:`V = A V A^T + \dots` and :math:`\hat V = A^T \hat V A + \dots` with
    :math:`A = [D^{-1}]_{<K,>0}\, b`.
    """
    chain = scaled.chain
    back, b = backwards(chain), chain.b
    A = back[:, :-1, 1:] * b[:, None]
    S, G_h, SG_h, J, C, L, M = (np.zeros((order + 1, *back.shape)) for _ in range(7))
    S[0], J[0] = outer(back[:, :, 0], back[:, :, 0]), np.eye(back.shape[-1])
    for k in range(order + 1):
        if k == 1:
            G_h[1] = outer(chain.g, chain.g)
        rest = back.mT @ cauchy(G_h, J, k, np.matmul) @ back
        G_h[k, :, :-1, :-1] += _summed(A.mT, outer(b, b) * rest[:, 1:, 1:])
        SG_h[k] = cauchy(S, G_h, k, np.matmul)
        J[k] -= sum((SG_h[j] @ J[k - j] for j in range(1, k + 1)), np.zeros_like(back))
        V = _summed(A, cauchy(J, S, k, np.matmul)[:, :-1, :-1])
        S[k] += back[:, :, 1:] @ (outer(b, b) * V) @ back[:, :, 1:].mT
        C[k], L[k] = cauchy(J, S, k, np.matmul), J[k] @ back
        M[k] = back.mT @ cauchy(G_h, L, k, np.matmul)
    return C, L, M


def _summed(A: Array, source: Array) -> Array:
    r"""Solution of :math:`V = A V A^T + \text{source}` for a nilpotent :math:`A`, by doubling."""
    total = source
    for _ in range(int(A.shape[-1]).bit_length()):
        total, A = total + A @ total @ A.mT, A @ A
    return total


def _slope(orders: Array) -> Series:
    """Derivative, of one order less."""
    k = np.arange(1, len(orders)).reshape(-1, *(1 for _ in orders.shape[1:]))
    return Series(k * orders[1:])


def _means(answer: Array, source: Array, strength: Array) -> tuple[Array, Array]:
    r"""Orders of the means along the labels of :math:`q_{>0}` and :math:`h_{<K}`, which exert fields on each other.

    Of the two columns one answers to :math:`y` put in as the first layer's field, the other to :math:`y` put in as :math:`\beta`.
    """
    K = strength.shape[1]
    answer = answer * np.concatenate([strength, strength], axis=1)[:, None]
    mean = np.zeros_like(source)
    for k in range(len(source)):
        known = sum((answer[j] @ mean[k - j] for j in range(1, k + 1)), source[k])
        mean[k] = np.linalg.solve(np.eye(2 * K) - answer[0], known)
    return mean[:, :, :K], mean[:, :, K:]


def _entry(series: Series, row: int, column: int) -> Series:
    return Series(series.c[:, :, row, column])
