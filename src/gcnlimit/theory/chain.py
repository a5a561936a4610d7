r"""Finite regularization: the self-consistent equations of a chain of layers (theory page, §3).

The layers :math:`h_k = (b_k a + c_k) h_{k-1}` of a node and their conjugates :math:`q_k` are linear in Gaussian fields whose
covariances are the order parameters; the loss adds the pull :math:`f` of a one-dimensional proximal operator on labelled
nodes. No matrix that may be singular is inverted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import Array
from gcnlimit.filters import Chain
from gcnlimit.losses import Loss
from gcnlimit.theory.loss_averages import eta

__all__ = ["ChainProblem", "Moments", "State"]


class State(NamedTuple):
    r"""Unknowns of the equations, first axis over the points; matrices are :math:`K \times K`.

    Rows of `V_qh` and `Q_qh` belong to the conjugates, columns to the layers; `m_hat[i]`, `V_hat[i, j]`, `Q_hat[i, j]` are
    conjugate to layers :math:`i, j < K`.
    """

    m_w: Array
    Q_w: Array
    V_w: Array
    m: Array
    m_hat: Array
    V: Array
    V_hat: Array
    V_qh: Array
    Q: Array
    Q_hat: Array
    Q_qh: Array

    @staticmethod
    def blocks(depth: int) -> list[int]:
        """Lengths of the fields when a state is laid out in one row."""
        return [1, 1, 1, depth, depth, *[depth * depth] * 6]

    def pack(self) -> Array:
        """One row a point."""
        return np.concatenate([field.reshape(len(self.m_w), -1) for field in self], axis=1)

    @classmethod
    def unpack(cls, rows: Array, depth: int) -> Self:
        """Inverse of `pack`."""
        parts = np.split(rows, np.cumsum(cls.blocks(depth))[:-1], axis=1)
        square = (len(rows), depth, depth)
        return cls(*(p[:, 0] for p in parts[:3]), *parts[3:5], *(p.reshape(square) for p in parts[5:]))


class Moments(NamedTuple):
    r"""What one pass through the chain gives, in the frame of the fields of the state it was made from.

    `mean`, `variance`: of the output :math:`\omega` of a test node; `v`: response of the output to its loss; `state`: the next
    state; `weights`: :math:`\hat m_w, \hat Q_w, \hat V_w`.
    """

    mean: Array
    variance: Array
    v: Array
    state: State
    weights: tuple[Array, Array, Array]


@dataclass(frozen=True)
class ChainProblem:
    """The equations for a batch of points: data, regularization, layers and loss."""

    alpha: Array
    signal: Array
    mu: Array
    rho: Array
    reg: Array
    chain: Chain
    loss: Loss
    symmetric: bool

    @property
    def depth(self) -> int:
        """Number of layers."""
        return self.chain.depth

    def take(self, rows: npt.NDArray[np.intp]) -> Self:
        """Problem of some of the points."""
        columns = (p[rows] for p in (self.alpha, self.signal, self.mu, self.rho, self.reg))
        return type(self)(*columns, Chain(*(p[rows] for p in self.chain)), self.loss, self.symmetric)

    def start(self) -> State:
        r"""Return the starting point :math:`V = I/(\alpha r)`, :math:`\hat V = \rho I`, :math:`Q_w = V_w^2`, all else 0."""
        points, K = len(self.alpha), self.depth
        zero, vector, matrix = np.zeros(points), np.zeros((points, K)), np.zeros((points, K, K))
        size = 1.0 / (self.alpha * self.reg)
        identity = np.broadcast_to(np.eye(K), matrix.shape)
        V, V_hat = size[:, None, None] * identity, self.rho[:, None, None] * identity
        return State(zero, size**2, size, vector, vector, V, V_hat, matrix, matrix, matrix, matrix)

    def moments(self, state: State) -> Moments:
        """Return the output's law and the next state: one application of the self-consistent equations."""
        b, c, g = self.chain
        K, rho = self.depth, self.rho
        outer = b[:, :, None] * b[:, None, :]
        identity = np.eye(K + 1)

        D = np.broadcast_to(identity, (len(rho), K + 1, K + 1)).copy()
        D[:, 1:, :-1] -= c[:, :, None] * np.eye(K)
        if self.symmetric:
            D[:, 1:, :-1] -= b[:, :, None] * _t(state.V_qh)
        back = np.linalg.inv(D)  # D^-1
        G_0, G_h = np.zeros_like(D), np.zeros_like(D)
        G_0[:, 0, 0], G_0[:, 1:, 1:] = state.V_w, outer * state.V
        G_h[:, :-1, :-1] = state.V_hat
        S = back @ G_0 @ _t(back)
        J = np.linalg.inv(identity + S @ G_h)
        C, E = J @ S, None
        gamma = _apply(C, g)
        v = _dot(g, gamma)
        p = _apply(_t(J), g)
        E = identity - G_h @ C
        L = J @ back

        # (q; h) = T (B_h; B): mean and covariance of a test node
        T = np.concatenate(
            [
                np.concatenate([_t(back) @ E, -_t(back) @ (G_h @ L)], axis=2),
                np.concatenate([C, L], axis=2),
            ],
            axis=1,
        )
        source = np.zeros((len(rho), 2 * K + 2))
        source[:, :K] = state.m_hat
        source[:, K + 1] = np.sqrt(self.mu) * state.m_w
        source[:, K + 2 :] = self.signal[:, None] * b * state.m
        noise = np.zeros((len(rho), 2 * K + 2, 2 * K + 2))
        noise[:, :K, :K] = state.Q_hat
        noise[:, K + 1, K + 1] = state.Q_w
        noise[:, K + 2 :, K + 2 :] = outer * state.Q
        if self.symmetric:
            cross = state.Q_qh * b[:, None, :]
            noise[:, :K, K + 2 :] = cross
            noise[:, K + 2 :, :K] = _t(cross)
        mean = _apply(T, source)
        covariance = T @ noise @ _t(T)
        output = np.concatenate([np.zeros_like(g), g], axis=1)
        with_output = _apply(covariance, output)
        omega, variance = _dot(output, mean), _dot(output, with_output)

        # the loss moves a train node by f along u
        allowed = np.isfinite(omega) & np.isfinite(variance) & (variance >= 0.0) & np.isfinite(v) & (v > 0.0)
        safe = (np.where(allowed, x, 1.0) for x in (omega, np.maximum(variance, 1e-300), v))
        pull, square, stiffness = (np.where(allowed, x, np.nan)[:, None] for x in eta(self.loss, *safe))
        u = np.concatenate([_apply(_t(back), p), gamma], axis=1)
        weight = rho[:, None]
        first = mean + weight * pull * u
        moved = mean * pull - with_output * stiffness + 0.5 * square * u  # E[(q; h) f] and half of the f^2 term
        shift = weight[:, :, None] * moved[:, :, None] * u[:, None, :]
        second = covariance + mean[:, :, None] * mean[:, None, :] + shift + _t(shift)

        q, h = first[:, : K + 1], first[:, K + 1 :]
        rho_eta = (weight * stiffness)[:, :, None]
        stiff = _t(back) @ (G_h @ J + rho_eta * p[:, :, None] * p[:, None, :]) @ back
        m_hat_w, Q_hat_w, V_hat_w = np.sqrt(self.mu) * q[:, 0], second[:, 0, 0], stiff[:, 0, 0]
        response = _t(back) @ (E - rho_eta * p[:, :, None] * gamma[:, None, :])
        inertia = self.alpha * (self.reg + V_hat_w)
        state = State(
            m_w=m_hat_w / inertia,
            Q_w=self.alpha * (Q_hat_w + m_hat_w**2) / inertia**2,
            V_w=1.0 / inertia,
            m=h[:, :-1],
            m_hat=self.signal[:, None] * b * q[:, 1:],
            V=(C - rho_eta * gamma[:, :, None] * gamma[:, None, :])[:, :-1, :-1],
            V_hat=outer * stiff[:, 1:, 1:],
            V_qh=b[:, :, None] * response[:, 1:, :-1],
            Q=second[:, K + 1 : -1, K + 1 : -1],
            Q_hat=outer * second[:, 1 : K + 1, 1 : K + 1],
            Q_qh=b[:, :, None] * second[:, 1 : K + 1, K + 1 : -1],
        )
        return Moments(omega, variance, v, state, (m_hat_w, Q_hat_w, V_hat_w))


def _t(matrix: Array) -> Array:
    return matrix.transpose(0, 2, 1)


def _apply(matrix: Array, vector: Array) -> Array:
    return np.asarray((matrix @ vector[:, :, None])[:, :, 0])


def _dot(a: Array, b: Array) -> Array:
    return np.asarray(np.einsum("bi,bi->b", a, b))
