r"""The layers at infinite regularization: one average after the other, each linear in itself.

As :math:`r \to \infty` all labelled nodes are pulled alike, the response :math:`\hat V` vanishes, and the order parameters of
`gcnlimit.theory.degrees.layers` follow one by one, in units of :math:`1/r`. What layers send to layers is
:math:`U = lr\,\mathbf D^{-1} b` on each node; the returns :math:`V_{qh}` come first, then, with sources that are known by then,

.. math::
    V &= \mathbb E[U V U^T] + \dots, & \hat m &= \lambda_e \mathbb E[\theta U^T]\,\hat m + \dots, &
    \hat Q &= \mathbb E[U^T \hat Q U] + \dots, \\
    m &= \lambda_e \mathbb E[\theta U]\,m + \dots, & Q_{qh} &= \mathbb E[U^T Q_{qh} U^T] + \dots, & Q &= \mathbb E[U Q U^T] + \dots

A chain of :math:`k` layers is at rest after :math:`k` sweeps; a layer that feeds itself is one division.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gcnlimit._values import Array
from gcnlimit.theory.degrees.layers import LayerEquations, Layers
from gcnlimit.theory.degrees.spectrum import resolvent
from gcnlimit.theory.finite_reg.equations import weight_gain


def far_layers(equations: LayerEquations) -> Layers:
    """Order parameters at infinite regularization: coefficients of the leading powers of its inverse."""
    b, _, g, send, receive, _ = equations.wiring
    l, r, theta, average = equations.left, equations.right, equations.theta, equations.average
    root, rho, signal = np.sqrt(theta), equations.rho[:, None], equations.signal[:, None]
    bb, none = b[:, :, None] * b[:, None, :], np.zeros_like(equations.alpha)
    gain = weight_gain(equations.features, equations.alpha, none + 1.0, none)

    def embed(values: Array, rows: slice, columns: slice | None = None) -> Array:
        whole = np.zeros((*l.shape, *g.shape[1:] * (1 if columns is None else 2)))
        whole[(..., rows) if columns is None else (..., rows, columns)] = values
        return whole

    V_qh = _returns(equations)
    back = np.broadcast_to(equations.back(V_qh), (*l.shape, g.shape[1], g.shape[1]))
    forth = back.mT
    carry = (l * r)[..., None, None] * back[..., send, receive] * b[:, None, None, :]
    along = signal[:, :, None] * average(theta, carry)

    # responses of the layers, and the pulls of all nodes on each
    from_weights = back[..., send, 0]
    V = _settled(
        lambda x: average(1.0, carry @ x[:, None] @ carry.mT),
        gain.response[:, None, None] * average(r**2, _outer(from_weights, from_weights)),
    )
    G = embed((l**2)[..., None, None] * (bb * V)[:, None], receive, receive)
    G[..., 0, 0] += gain.response[:, None]
    S = back @ G @ forth
    pulled = (forth @ g[:, None, :, None])[..., receive, 0]
    m_hat = _settled(lambda x: np.vecdot(along.mT, x[:, None]), rho * b * average(root * l, pulled))
    F = embed((signal * root * r)[..., None] * m_hat[:, None], send) + (rho * g)[:, None]
    FF = _outer(F, F) + ((rho * (1.0 - rho))[..., None] * _outer(g, g))[:, None]
    Q_hat = _settled(
        lambda x: average(1.0, carry.mT @ x[:, None] @ carry),
        bb * average(l**2, (forth @ FF @ back)[..., receive, receive]),
    )
    FF += embed((r**2)[..., None, None] * Q_hat[:, None], send, send)

    # the weights that follow, and the layers that they make
    m_hat_w = np.sqrt(equations.mu) * average(1.0, (forth @ F[..., None])[..., 0, 0])
    Q_hat_w = average(1.0, (forth @ FF @ back)[..., 0, 0])
    m_w, Q_w = gain.labels * m_hat_w, gain.noise * Q_hat_w + gain.signal * m_hat_w**2
    start = (np.sqrt(equations.mu) * m_w)[:, None]
    moved = (S @ F[..., None])[..., send, 0] + start[..., None] * from_weights
    m = _settled(lambda x: np.vecdot(along, x[:, None]), average(root * r, moved))
    B = embed((signal * root * l)[..., None] * (b * m)[:, None], receive)
    B[..., 0] += start
    FB = _outer(F, B)
    Q_qh = np.zeros_like(V)
    if equations.symmetric:
        source = b[:, :, None] * average(l * r, (forth @ (FF @ S + FB @ forth))[..., receive, send])
        Q_qh = _settled(lambda x: average(1.0, carry.mT @ x[:, None] @ carry.mT), source)
        FB += embed((l * r)[..., None, None] * (Q_qh * b[:, None, :])[:, None], send, receive)
    half, BB = S @ FB @ forth, _outer(B, B)
    BB[..., 0, 0] += Q_w[:, None]
    second = S @ FF @ S + half + half.mT + back @ BB @ forth
    Q = _settled(
        lambda x: average(1.0, carry @ x[:, None] @ carry.mT), average(r**2, second[..., send, send])
    )
    return Layers(m, m_hat, Q, Q_hat, Q_qh, V, np.zeros_like(V), V_qh, m_w, Q_w, gain.response)


def _returns(equations: LayerEquations) -> Array:
    """Response of what is sent to what is received, along the edge that it came by; it acts on symmetric operators only."""
    b, _, _, send, receive, _ = equations.wiring
    phi, V_qh = equations.left * equations.right, np.zeros((*b.shape, b.shape[1]))
    if not equations.symmetric:
        return V_qh
    if send == receive:
        with np.errstate(divide="ignore"):
            found = resolvent(phi, equations.weight, 1.0 / b[:, 0])
        return np.where(b[:, 0] == 0.0, 0.0, found)[:, None, None]
    for _ in range(b.shape[1]):
        V_qh = b[:, :, None] * equations.average(phi, equations.back(V_qh).mT[..., receive, send])
    return V_qh


def _settled(apply: Callable[[Array], Array], source: Array) -> Array:
    """Solve `x = source + apply(x)` for a linear map, nilpotent unless it is of one number."""
    if source.shape[1] == 1:
        return source / (1.0 - apply(np.ones_like(source)))
    x = source
    for _ in range(source.shape[1]):
        x = source + apply(x)
    return x


def _outer(x: Array, y: Array) -> Array:
    return np.asarray(x[..., :, None] * y[..., None, :])
