r"""The layers at infinite regularization: one average after the other, each linear in itself.

As :math:`r \to \infty` all labelled nodes are pulled alike, the response :math:`\hat V` vanishes, and the order parameters of
`gcnlimit.theory.degrees.layers` follow one by one, in units of :math:`1/r`. What a node sends on of what it receives is
:math:`U = lr\,\mathbf D^{-1} b`. With sources that are known by then,

.. math::
    V &= \mathbb E[U V U^T] + \dots, & \hat m &= \lambda_e \mathbb E[\theta U^T]\,\hat m + \dots, &
    \hat Q &= \mathbb E[U^T \hat Q U] + \dots, \\
    m &= \lambda_e \mathbb E[\theta U]\,m + \dots, & Q_{qh} &= \mathbb E[U^T Q_{qh} U^T] + \dots, &
    Q &= \mathbb E[U Q U^T] + \dots

A chain of :math:`k` layers is at rest after :math:`k` sweeps; a layer that feeds itself is one division.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gcnlimit._values import Array
from gcnlimit.theory.degrees.layers import LayerEquations, Layers, outer
from gcnlimit.theory.finite_reg.equations import WeightGain, weight_gain
from gcnlimit.theory.propensity_spectrum import resolvent


def far_layers(equations: LayerEquations) -> Layers:
    """Order parameters at infinite regularization: coefficients of the leading powers of its inverse."""
    far = _Far(equations)
    (m_w, Q_w), V_hat = far.weights, np.zeros_like(far.V)
    return Layers(far.m, far.m_hat, far.Q, far.Q_hat, far.Q_qh, far.V, V_hat, far.V_qh, m_w, Q_w, far.gain.response)


@dataclass(frozen=True, eq=False)
class _Far:
    """Each average when it is first needed, for a unit pull on labelled nodes."""

    equations: LayerEquations

    @cached_property
    def gain(self) -> WeightGain:
        """Averages over the features of a unit regularization."""
        none = np.zeros_like(self.equations.alpha)
        return weight_gain(self.equations.features, self.equations.alpha, none + 1.0, none)

    @cached_property
    def V_qh(self) -> Array:
        """Response along the edge that a signal came by; it acts on symmetric operators only."""
        equations, (b, _, _, send, receive, _) = self.equations, self.equations.wiring
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

    @cached_property
    def back(self) -> Array:
        r"""Inverse of :math:`\mathbf D`: what a node makes of its fields."""
        return self.equations.back(self.V_qh)

    @cached_property
    def U(self) -> Array:
        """What a node sends on of what it receives."""
        b, _, _, send, receive, _ = self.equations.wiring
        return np.asarray(self.equations.phi * self.back[..., send, receive] * b[:, None, None, :])

    @cached_property
    def V(self) -> Array:
        """Response of the layers to forces."""
        start = self.back[..., self.equations.wiring.send, 0]
        source = self.equations.average(self.equations.right**2, outer(start, start))
        return self._sandwiched(self.U, self.U.mT, self.gain.response[:, None, None] * source)

    @cached_property
    def S(self) -> Array:
        """Response of the layers of one node to forces."""
        return np.asarray(self.back @ self.equations.forces(self.V, self.gain.response) @ self.back.mT)

    @cached_property
    def m_hat(self) -> Array:
        """Mean of the conjugates along the spike."""
        equations, (b, _, g, _, receive, _) = self.equations, self.equations.wiring
        pulled = (self.back.mT @ g[:, None, :, None])[..., receive, 0]
        source = b * equations.average(np.sqrt(equations.theta) * equations.left, pulled)
        return _settled(self._along(self.U.mT), equations.rho[:, None] * source)

    @cached_property
    def F(self) -> Array:
        """Mean of all that pulls on a node: the fields of its conjugates and its label."""
        equations, g = self.equations, self.equations.wiring.g
        return equations.conjugate_source(self.m_hat) + (equations.rho[:, None] * g)[:, None]

    @cached_property
    def FF_labels(self) -> Array:
        """Second moment of that, without the noise of the fields."""
        rho, g = self.equations.rho[:, None, None], self.equations.wiring.g
        return np.asarray(outer(self.F, self.F) + (rho * (1.0 - rho) * outer(g, g))[:, None])

    @cached_property
    def Q_hat(self) -> Array:
        """Overlap of the conjugates."""
        equations, receive = self.equations, self.equations.wiring.receive
        second = (self.back.mT @ self.FF_labels @ self.back)[..., receive, receive]
        return self._sandwiched(self.U.mT, self.U, equations.wiring.bb * equations.average(equations.left**2, second))

    @cached_property
    def FF(self) -> Array:
        """Second moment of all that pulls on a node."""
        equations, send, FF = self.equations, self.equations.wiring.send, self.FF_labels.copy()
        FF[..., send, send] += (equations.right**2)[..., None, None] * self.Q_hat[:, None]
        return FF

    @cached_property
    def weights(self) -> tuple[Array, Array]:
        """Mean and size of the weights."""
        average, forth = self.equations.average, self.back.mT
        m_hat_w = np.sqrt(self.equations.mu) * average(1.0, (forth @ self.F[..., None])[..., 0, 0])
        Q_hat_w = average(1.0, (forth @ self.FF @ self.back)[..., 0, 0])
        return self.gain.labels * m_hat_w, self.gain.noise * Q_hat_w + self.gain.signal * m_hat_w**2

    @cached_property
    def m(self) -> Array:
        """Mean of the layers along the spike."""
        equations, send = self.equations, self.equations.wiring.send
        start = (np.sqrt(equations.mu) * self.weights[0])[:, None, None]
        moved = (self.S @ self.F[..., None])[..., send, 0] + start * self.back[..., send, 0]
        source = equations.average(np.sqrt(equations.theta) * equations.right, moved)
        return _settled(self._along(self.U), source)

    @cached_property
    def B(self) -> Array:
        """Mean of the fields of the layers of a node."""
        return self.equations.layer_source(self.m, self.weights[0])

    @cached_property
    def Q_qh(self) -> Array:
        """Overlap of conjugates and layers; it acts on symmetric operators only."""
        equations, (b, _, _, send, receive, _) = self.equations, self.equations.wiring
        if not equations.symmetric:
            return np.zeros_like(self.V)
        forth = self.back.mT
        second = forth @ (self.FF @ self.S + outer(self.F, self.B) @ forth)
        source = equations.average(equations.left * equations.right, second[..., receive, send])
        return self._sandwiched(self.U.mT, self.U.mT, b[:, :, None] * source)

    @cached_property
    def Q(self) -> Array:
        """Overlap of the layers."""
        equations, (b, _, _, send, receive, _) = self.equations, self.equations.wiring
        FB, BB = outer(self.F, self.B), outer(self.B, self.B)
        FB[..., send, receive] += equations.phi * (self.Q_qh * b[:, None, :])[:, None]
        BB[..., 0, 0] += self.weights[1][:, None]
        half = self.S @ FB @ self.back.mT
        second = self.S @ self.FF @ self.S + half + half.mT + self.back @ BB @ self.back.mT
        return self._sandwiched(self.U, self.U.mT, equations.average(equations.right**2, second[..., send, send]))

    def _along(self, U: Array) -> Callable[[Array], Array]:
        """What returns along the spike, averaged over the nodes."""
        spike = self.equations.signal[:, None, None] * self.equations.average(self.equations.theta, U)
        return lambda x: np.asarray(np.vecdot(spike, x[:, None]))

    def _sandwiched(self, first: Array, last: Array, source: Array) -> Array:
        """Solve for a matrix that returns between two others, averaged over the nodes."""
        return _settled(lambda x: self.equations.average(1.0, first @ x[:, None] @ last), source)


def _settled(apply: Callable[[Array], Array], source: Array) -> Array:
    """Solve `x = source + apply(x)` for a linear map, nilpotent unless it is of one number."""
    if source.shape[1] == 1:
        return np.asarray(source / (1.0 - apply(np.ones_like(source))))
    x = source
    for _ in range(source.shape[1]):
        x = source + apply(x)
    return x
