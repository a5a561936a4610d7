r"""The equations of the layers at infinite regularization: a unit pull on all labelled nodes, and no response :math:`\hat V`.

The order parameters then follow one by one, in units of :math:`1/r`. With :math:`U = lr\,\mathbf D^{-1} b`, what a node sends on
of what it receives, each is linear in itself, like :math:`V = \mathbb E[U V U^T] + \dots`, with sources that were computed
before. Along a chain of :math:`k` layers means are at rest after :math:`k` sweeps, and second moments follow layer by layer;
a layer that feeds itself is one division.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gcnlimit._values import Array
from gcnlimit.theory.degrees.layers import LayerEquations, LayerState
from gcnlimit.theory.finite_reg.directed import outer
from gcnlimit.theory.finite_reg.equations import WeightGain
from gcnlimit.theory.propensity_spectrum import resolvent


def far_layers(equations: LayerEquations) -> LayerState:
    """Order parameters at infinite regularization: coefficients of the leading powers of its inverse, for a unit pull."""
    wiring = equations.wiring
    b, g, send, receive = wiring.b, wiring.g, wiring.send, wiring.receive
    average = equations.average
    root = np.sqrt(equations.law.theta)
    V_qh = _returning(equations)
    # from the fields of a node to its layers, and to their conjugates
    back = equations.back(V_qh)
    forth = back.mT
    # what a node sends on of what it receives: one more edge of a path
    U = equations.phi * back[..., send, receive] * b[:, None, None, :]

    def along_spike(U: Array, source: Array) -> Array:
        """Mean over all paths that follow the labels: each edge is one factor of the spike."""
        spike = equations.signal[:, None, None] * average(equations.law.theta, U)
        return _settled(lambda x: np.asarray(np.vecdot(spike, x[:, None])), source)

    def between(first: Array, last: Array, source: Array) -> Array:
        """Second moment over all paths of two layers that go through the same noisy edges."""
        n = source.shape[1]
        if n == 1:
            return _settled(lambda x: average(1.0, first @ x[:, None] @ last), source)
        x = source.copy()
        # a path comes from layers that are done: those below, or above if it goes backwards
        for k in range(n) if first is U else reversed(range(n)):
            x[:, k] += average(1.0, (first[..., k, None, :] @ x[:, None] @ last)[..., 0, :])
        return x

    # Response of the layers to forces, averaged and on one node. It comes first, since at infinite
    # regularization the weights respond like 1/reg whatever the layers do.
    gain = WeightGain.of(equations.features, equations.alpha, np.ones(len(b)), np.zeros(len(b)))
    start = back[..., send, 0]  # the features enter layer 0
    source = gain.response[:, None, None] * average(equations.right**2, outer(start, start))
    V = between(U, U.mT, source)
    S = back @ equations.forces(V, gain.response) @ forth

    # Conjugates: a node is pulled by its label, if it has one, and by the fields F, whose second
    # moment is FF. Labels are drawn with probability rho: the variance of that draw is added.
    rho = equations.rho[:, None]
    pulled = (forth @ g[:, None, :, None])[..., receive, 0]
    m_hat = along_spike(U.mT, rho * (b * average(root * equations.left, pulled)))
    F = equations.conjugate_source(m_hat) + (rho * g)[:, None]
    FF = outer(F, F) + ((rho * (1.0 - rho))[..., None] * outer(g, g))[:, None]
    received = (forth @ FF @ back)[..., receive, receive]
    Q_hat = between(U.mT, U, wiring.bb * average(equations.left**2, received))
    FF[..., send, send] += (equations.right**2)[..., None, None] * Q_hat[:, None]

    # Weights: the pulls that reach layer 0 through the features.
    m_hat_w = np.sqrt(equations.mu) * average(1.0, (forth @ F[..., None])[..., 0, 0])
    Q_hat_w = average(1.0, (forth @ FF @ back)[..., 0, 0])
    m_w = gain.labels * m_hat_w
    Q_w = gain.noise * Q_hat_w + gain.signal * m_hat_w**2

    # Layers: of mean m along the spike, in fields of mean B; FB and BB are second moments.
    moved = (S @ F[..., None])[..., send, 0] + (np.sqrt(equations.mu) * m_w)[:, None, None] * start
    m = along_spike(U, average(root * equations.right, moved))
    B = equations.layer_source(m, m_w)
    FB = outer(F, B)
    BB = outer(B, B)
    Q_qh = np.zeros_like(V)
    if equations.symmetric:
        # an edge that carries a layer forth carries a pull back: the two are correlated
        sent = (forth @ (FF @ S + FB @ forth))[..., receive, send]
        Q_qh = between(U.mT, U.mT, b[:, :, None] * average(equations.left * equations.right, sent))
    FB[..., send, receive] += equations.phi * (Q_qh * b[:, None, :])[:, None]
    BB[..., 0, 0] += Q_w[:, None]
    # second moment of S F + D^-1 B, the answer of a node to both kinds of fields
    half = S @ FB @ forth
    second = S @ FF @ S + half + half.mT + back @ BB @ forth
    Q = between(U, U.mT, average(equations.right**2, second[..., send, send]))
    return LayerState(
        m=m,
        m_hat=m_hat,
        Q=Q,
        Q_hat=Q_hat,
        Q_qh=Q_qh,
        V=V,
        V_hat=np.zeros_like(V),
        V_qh=V_qh,
        m_w=m_w,
        Q_w=Q_w,
        V_w=gain.response,
    )


def _returning(equations: LayerEquations) -> Array:
    """Response along the edge that a signal came by; it acts on symmetric operators only."""
    b, send, receive = equations.wiring.b, equations.wiring.send, equations.wiring.receive
    phi = equations.left * equations.right
    V_qh = np.zeros((*b.shape, b.shape[1]))
    if not equations.symmetric:
        return V_qh
    if send == receive:
        # one layer that feeds itself: the resolvent of the operator beyond its spectrum
        with np.errstate(divide="ignore"):
            response = resolvent(phi, equations.law.weight, 1.0 / b[:, 0])
        return np.where(b[:, 0] == 0.0, 0.0, response)[:, None, None]
    # a path that returns to layer k crosses k layers at most: the recursion ends
    # what rounding adds to the other entries, which are 0, would grow along it
    layer = np.arange(equations.shape[2])
    crossed = layer[receive] > layer[send][:, None]
    for _ in range(b.shape[1]):
        returning = equations.average(phi, equations.back(V_qh).mT[..., receive, send])
        before, V_qh = V_qh, crossed * b[:, :, None] * returning
        if np.array_equal(before, V_qh):
            break
    return V_qh


def _settled(apply: Callable[[Array], Array], source: Array) -> Array:
    """Solve `x = source + apply(x)` for a linear map, nilpotent unless it is of one number."""
    if source.shape[1] == 1:
        return np.asarray(source / (1.0 - apply(np.ones_like(source))))
    x = source
    for _ in range(source.shape[1]):
        x = source + apply(x)
    return x
