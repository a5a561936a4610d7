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

__all__ = ["ChainProblem", "Moments", "State", "Transfer"]


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

    def scale(self) -> State:
        r"""Size of each entry, whatever the scale of the layers: :math:`\sqrt{V_{ii} V_{jj}}` for :math:`V_{ij}`, and so on.

        :math:`\hat V` counts where it adds to :math:`V^{-1}`.
        """
        V, Q, Q_hat = (np.sqrt(np.abs(np.einsum("bii->bi", x))) for x in (self.V, self.Q, self.Q_hat))
        V_hat = np.maximum(np.sqrt(np.abs(np.einsum("bii->bi", self.V_hat))), 1.0 / V)
        m_w, Q_w, V_w = np.sqrt(np.abs(self.Q_w)), np.abs(self.Q_w), np.abs(self.V_w)
        mixed = (
            _outer(V, V),
            _outer(V_hat, V_hat),
            _outer(1.0 / V, V),
            _outer(Q, Q),
            _outer(Q_hat, Q_hat),
            _outer(Q_hat, Q),
        )
        return State(m_w, Q_w, V_w, Q, Q_hat, *mixed)

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


class Transfer(NamedTuple):
    r"""Linear response of a test node.

    With :math:`S = D^{-1} G_0 D^{-T}`, :math:`J = (I + S G_h)^{-1}` and :math:`C = JS`: `T` maps the fields :math:`(B_h; B)` to
    :math:`(q; h)`; `hard` is :math:`D^{-T} G_h J D^{-1}`; :math:`u = (D^{-T} J^T g;\; C g)` is how a pull on the output moves
    :math:`(q; h)`, and :math:`v = g \cdot C g` how it moves the output.
    """

    T: Array
    C: Array
    hard: Array
    u: Array
    v: Array


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
        alpha, signal, mu, rho, reg = (p[rows] for p in (self.alpha, self.signal, self.mu, self.rho, self.reg))
        chain = Chain(*(p[rows] for p in self.chain))
        return type(self)(alpha, signal, mu, rho, reg, chain, self.loss, self.symmetric)

    def moments(self, state: State) -> Moments:
        r"""Return the output's law and the next state: one application of the self-consistent equations.

        A test node has :math:`(q; h) = T (B_h; B)`, linear in the fields; the loss moves a train node from there by :math:`f u`.
        """
        through = self.transfer(state)
        source, noise = self.fields(state)
        output = np.concatenate([np.zeros_like(self.chain.g), self.chain.g], axis=1)
        mean = _apply(through.T, source)
        covariance = through.T @ noise @ _t(through.T)
        with_output = _apply(covariance, output)
        omega, variance = _dot(output, mean), _dot(output, with_output)

        pull, square, stiffness = (x[:, None] for x in self._eta(omega, variance, through.v))
        rho, u = self.rho[:, None], through.u
        first = mean + rho * pull * u
        moved = (
            mean * pull - with_output * stiffness + 0.5 * square * u
        )  # E[(q; h) f], by Stein, and half of the f^2 term
        shift = _outer(rho * moved, u)
        second = covariance + _outer(mean, mean) + shift + _t(shift)
        return Moments(omega, variance, through.v, *self._next(through, rho * stiffness, first, second))

    def transfer(self, state: State) -> Transfer:
        """Response of the chain and its conjugates to their fields, without the loss."""
        b, c, g = self.chain
        K = self.depth
        identity = np.eye(K + 1)
        D = np.broadcast_to(identity, (len(g), K + 1, K + 1)).copy()
        D[:, 1:, :-1] -= c[:, :, None] * np.eye(K)
        if self.symmetric:
            D[:, 1:, :-1] -= b[:, :, None] * _t(state.V_qh)
        G_0, G_h = np.zeros_like(D), np.zeros_like(D)
        G_0[:, 0, 0], G_0[:, 1:, 1:] = state.V_w, _outer(b, b) * state.V
        G_h[:, :-1, :-1] = state.V_hat

        back = np.asarray(np.linalg.inv(D), np.float64)
        S = back @ G_0 @ _t(back)
        J = np.asarray(np.linalg.inv(identity + S @ G_h), np.float64)
        C = J @ S
        E = identity - G_h @ C
        L = J @ back
        gamma, p = _apply(C, g), _apply(_t(J), g)
        T = np.empty((len(g), 2 * K + 2, 2 * K + 2))
        T[:, : K + 1, : K + 1], T[:, : K + 1, K + 1 :] = _t(back) @ E, -_t(back) @ (G_h @ L)
        T[:, K + 1 :, : K + 1], T[:, K + 1 :, K + 1 :] = C, L
        u = np.concatenate([_apply(_t(back), p), gamma], axis=1)
        return Transfer(T, C, _t(back) @ (G_h @ L), u, _dot(g, gamma))

    def fields(self, state: State) -> tuple[Array, Array]:
        """Mean and covariance of the fields :math:`(B_h; B)`."""
        b, K = self.chain.b, self.depth
        source = np.zeros((len(b), 2 * K + 2))
        source[:, :K] = state.m_hat
        source[:, K + 1] = np.sqrt(self.mu) * state.m_w
        source[:, K + 2 :] = self.signal[:, None] * b * state.m
        noise = np.zeros((len(b), 2 * K + 2, 2 * K + 2))
        noise[:, :K, :K] = state.Q_hat
        noise[:, K + 1, K + 1] = state.Q_w
        noise[:, K + 2 :, K + 2 :] = _outer(b, b) * state.Q
        if self.symmetric:
            cross = state.Q_qh * b[:, None, :]
            noise[:, :K, K + 2 :] = cross
            noise[:, K + 2 :, :K] = _t(cross)
        return source, noise

    def _eta(self, omega: Array, variance: Array, v: Array) -> tuple[Array, ...]:
        """Averages of the loss; NaN where the state is not one of a network (the search then steps back)."""
        allowed = np.isfinite(omega) & np.isfinite(variance) & (variance >= 0.0) & np.isfinite(v) & (v > 0.0)
        safe = (np.where(allowed, x, 1.0) for x in (omega, np.maximum(variance, 1e-300), v))
        return tuple(np.where(allowed, x, np.nan) for x in eta(self.loss, *safe))

    def _next(
        self, through: Transfer, stiffness: Array, first: Array, second: Array
    ) -> tuple[State, tuple[Array, Array, Array]]:
        """Order parameters from the moments of :math:`(q; h)` and their response, averaged over train and test nodes."""
        b, K = self.chain.b, self.depth
        q, h = first[:, : K + 1], first[:, K + 1 :]
        v_q, v_h = through.u[:, : K + 1], through.u[:, K + 1 :]
        heavy = stiffness[:, :, None]
        hard = through.hard + heavy * _outer(v_q, v_q)
        response = through.T[:, : K + 1, : K + 1] - heavy * _outer(v_q, v_h)
        m_hat_w, Q_hat_w, V_hat_w = np.sqrt(self.mu) * q[:, 0], second[:, 0, 0], hard[:, 0, 0]
        inertia = self.alpha * (self.reg + V_hat_w)
        state = State(
            m_w=m_hat_w / inertia,
            Q_w=self.alpha * (Q_hat_w + m_hat_w**2) / inertia**2,
            V_w=1.0 / inertia,
            m=h[:, :-1],
            m_hat=self.signal[:, None] * b * q[:, 1:],
            V=(through.C - heavy * _outer(v_h, v_h))[:, :-1, :-1],
            V_hat=_outer(b, b) * hard[:, 1:, 1:],
            V_qh=b[:, :, None] * response[:, 1:, :-1],
            Q=second[:, K + 1 : -1, K + 1 : -1],
            Q_hat=_outer(b, b) * second[:, 1 : K + 1, 1 : K + 1],
            Q_qh=b[:, :, None] * second[:, 1 : K + 1, K + 1 : -1],
        )
        return state, (m_hat_w, Q_hat_w, V_hat_w)


def _t(matrix: Array) -> Array:
    return matrix.transpose(0, 2, 1)


def _apply(matrix: Array, vector: Array) -> Array:
    return np.asarray((matrix @ vector[:, :, None])[:, :, 0])


def _outer(a: Array, b: Array) -> Array:
    return np.asarray(a[:, :, None] * b[:, None, :])


def _dot(a: Array, b: Array) -> Array:
    return np.asarray(np.einsum("bi,bi->b", a, b))
