r"""Finite regularization on a directed graph: the self-consistent equations of a chain of layers (theory page, §3).

The layers :math:`h_k = (b_k a + c_k) h_{k-1}` of a node and their conjugates :math:`q_k` are linear in Gaussian fields whose
covariances are the order parameters; the loss adds the pull :math:`f` of a one-dimensional proximal operator on labelled
nodes. No matrix that may be singular is inverted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import Array
from gcnlimit.filters import Chain
from gcnlimit.losses import Loss
from gcnlimit.theory.far import far_state
from gcnlimit.theory.loss_averages import Output, eta, eta_at_zero
from gcnlimit.theory.points import Points
from gcnlimit.theory.state import State, outer

__all__ = ["ChainProblem", "Fields", "Moments", "Response"]


class Response(NamedTuple):
    r"""How a test node answers: :math:`q' = L^T B_h - M B`, :math:`h' = C B_h + L B`.

    With :math:`S = D^{-1} G_0 D^{-T}` and :math:`J = (I + S G_h)^{-1}`: :math:`C = JS`, :math:`L = J D^{-1}`,
    :math:`M = D^{-T} G_h L`. A pull on the output moves :math:`q` by `pull_q` :math:`= L^T g`, :math:`h` by `pull_h`
    :math:`= C g` and the output itself by :math:`v = g \cdot C g`.
    """

    C: Array
    L: Array
    M: Array
    pull_q: Array
    pull_h: Array
    v: Array


class Fields(NamedTuple):
    r"""Means and covariances of the fields: `B_h` on the layers, of covariance `N_h`, and `B` on the conjugates, of `N`."""

    B_h: Array
    B: Array
    N_h: Array
    N: Array


class Moments(NamedTuple):
    r"""What one pass through the chain gives, in the frame of the fields of the state it was made from.

    `state`: the next state; `weights`: :math:`\hat m_w, \hat Q_w, \hat V_w`; `crossed` gives :math:`V_{qh}, Q_{qh}`, which have
    no effect on a directed graph.
    """

    output: Output
    state: State
    weights: tuple[Array, Array, Array]
    crossed: Callable[[], tuple[Array, Array]]


@dataclass(frozen=True)
class ChainProblem:
    """The equations for a batch of points: data, regularization, layers and loss.

    `spike` is the mean squared gain of the filter along the labels over that elsewhere.
    """

    alpha: Array
    signal: Array
    mu: Array
    rho: Array
    reg: Array
    chain: Chain
    loss: Loss
    spike: Array
    back: Array
    """The inverse of :math:`D`, the identity less the residual strengths below its diagonal."""

    @classmethod
    def of(cls, points: Points, chain: Chain, reg: Array, spike: Array) -> Self:
        """Prepare the equations of the points for a chain and a regularization of the same scale."""
        K = chain.depth
        back = np.broadcast_to(np.eye(K + 1), (len(chain.g), K + 1, K + 1)).copy()
        for k in range(K):
            back[:, k + 1] += chain.c[:, k, None] * back[:, k]
        alpha, signal, mu, rho = points[:4]
        return cls(alpha, signal, mu, rho, reg, chain, points.loss, spike, back)

    @property
    def depth(self) -> int:
        """Number of layers."""
        return self.chain.depth

    def take(self, rows: npt.NDArray[np.intp]) -> Self:
        """Problem of some of the points."""
        names = ("alpha", "signal", "mu", "rho", "reg", "spike", "back")
        parts = {name: getattr(self, name)[rows] for name in names}
        return replace(self, chain=Chain(*(p[rows] for p in self.chain)), **parts)

    def at(self, reg: Array) -> Self:
        """Return the same problem at another regularization."""
        return replace(self, reg=reg)

    @property
    def far(self) -> Array:
        """Regularization from which on the loss is no longer felt; kinks come unannounced."""
        return (10.0 if hasattr(self.loss, "breakpoints") else 1.0) * np.maximum(1.0, self.spike)

    @property
    def rough(self) -> float:
        """Residual that suffices on the way."""
        return 0.03

    def effort(self, level: int) -> dict[str, Any]:
        """Settings of the search, from quick to careful."""
        K = self.depth
        return (
            {"max_iterations": 100 + 5 * K, "memory": min(2 * K + 4, 20)},
            {"max_iterations": 200 + 10 * K, "memory": min(2 * K + 4, 64)},
            {"max_iterations": 2000, "memory": 1, "damping": 0.1, "patience": 2000},
        )[level]

    def start(self) -> Array:
        """State at large regularization."""
        force = eta_at_zero(self.loss, self.reg.shape)
        names = ("alpha", "signal", "mu", "rho", "reg")
        return far_state(self.chain, force, **{name: getattr(self, name) for name in names}).pack()

    def next(self, rows: Array) -> Array:
        """One application of the equations to packed states."""
        return self.moments(State.unpack(rows, self.depth)).state.pack()

    def scale(self, rows: Array) -> Array:
        """Size of each entry of packed states."""
        return State.unpack(rows, self.depth).scale().pack()

    def extrapolate(self, last: Array, before: Array, ratio: Array) -> Array:
        """Continue each block as a power of the regularization."""
        lengths = [length for length in State.blocks(self.depth) if length]
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(int)
        new, old = (np.maximum.reduceat(np.abs(x), starts, axis=1) for x in (last, before))
        ok = (new > 0) & (old > 0)
        growth = np.where(ok, np.where(ok, new, 1.0) / np.where(ok, old, 1.0), 1.0) ** ratio[:, None]
        return np.asarray(last * np.repeat(growth, lengths, axis=1))

    def moments(self, state: State) -> Moments:
        r"""Return the output's law and the next state: one application of the self-consistent equations.

        A test node answers linearly to its fields; the loss moves a train node from there by :math:`f` times its pulls.
        """
        C, L, M, pull_q, pull_h, v = self.response(state)
        B_h, B, N_h, N = self.fields(state)
        Lt = _t(L)
        q, h = _apply(Lt, B_h) - _apply(M, B), _apply(C, B_h) + _apply(L, B)
        through_h, through = _apply(N_h, pull_h), _apply(N, pull_q)
        output = Output(_dot(self.chain.g, h), _dot(pull_h, through_h) + _dot(pull_q, through), v)
        with_q = _apply(Lt, through_h) - _apply(M, through)  # covariances with the output
        with_h = _apply(C, through_h) + _apply(L, through)

        pull, square, stiffness = (x[:, None] for x in eta(self.loss, output))
        rho = self.rho[:, None]
        # E[q f] by Stein's lemma, and half of the f^2 term; so for h
        moved_q = rho * (q * pull - with_q * stiffness + 0.5 * square * pull_q)
        moved_h = rho * (h * pull - with_h * stiffness + 0.5 * square * pull_h)
        shift_q, shift_h = outer(moved_q, pull_q), outer(moved_h, pull_h)
        seen = N_h @ L, N @ Lt
        qq = Lt @ seen[0] + M @ N @ M + outer(q, q) + shift_q + _t(shift_q)
        hh = C @ N_h @ C + L @ seen[1] + outer(h, h) + shift_h + _t(shift_h)
        heavy = (rho * stiffness)[:, :, None]
        b, hard = self.chain.b, M + heavy * outer(pull_q, pull_q)
        mean_q, mean_h = q + rho * pull * pull_q, h + rho * pull * pull_h
        bb = outer(b, b)

        m_hat_w, Q_hat_w, V_hat_w = np.sqrt(self.mu) * mean_q[:, 0], qq[:, 0, 0], hard[:, 0, 0]
        inertia = self.alpha * (self.reg + V_hat_w)
        after = State(
            m_w=m_hat_w / inertia,
            Q_w=self.alpha * (Q_hat_w + m_hat_w**2) / inertia**2,
            V_w=1.0 / inertia,
            m=mean_h[:, :-1],
            m_hat=self.signal[:, None] * b * mean_q[:, 1:],
            V=(C - heavy * outer(pull_h, pull_h))[:, :-1, :-1],
            V_hat=bb * hard[:, 1:, 1:],
            Q=hh[:, :-1, :-1],
            Q_hat=bb * qq[:, 1:, 1:],
        )

        def crossed() -> tuple[Array, Array]:
            soft = Lt - heavy * outer(pull_q, pull_h)
            qh = _t(seen[0]) @ C - M @ seen[1] + outer(q, h) + outer(moved_q, pull_h) + outer(pull_q, moved_h)
            return b[:, :, None] * soft[:, 1:, :-1], b[:, :, None] * qh[:, 1:, :-1]

        return Moments(output, after, (m_hat_w, Q_hat_w, V_hat_w), crossed)

    def response(self, state: State) -> Response:
        """Response of the chain and its conjugates to their fields, without the loss."""
        b, back = self.chain.b, self.back
        G_0, G_h = np.zeros_like(back), np.zeros_like(back)
        G_0[:, 0, 0], G_0[:, 1:, 1:] = state.V_w, outer(b, b) * state.V
        G_h[:, :-1, :-1] = state.V_hat
        S = back @ G_0 @ _t(back)
        J = np.asarray(np.linalg.inv(np.eye(self.depth + 1) + S @ G_h), np.float64)
        C, L = J @ S, J @ back
        pull_q, pull_h = _apply(_t(L), self.chain.g), _apply(C, self.chain.g)
        return Response(C, L, _t(back) @ (G_h @ L), pull_q, pull_h, _dot(self.chain.g, pull_h))

    def fields(self, state: State) -> Fields:
        """Law of the fields."""
        b, K = self.chain.b, self.depth
        B_h, B = np.zeros((len(b), K + 1)), np.empty((len(b), K + 1))
        N_h, N = np.zeros((len(b), K + 1, K + 1)), np.zeros((len(b), K + 1, K + 1))
        B_h[:, :-1], N_h[:, :-1, :-1] = state.m_hat, state.Q_hat
        B[:, 0], B[:, 1:] = np.sqrt(self.mu) * state.m_w, self.signal[:, None] * b * state.m
        N[:, 0, 0], N[:, 1:, 1:] = state.Q_w, outer(b, b) * state.Q
        return Fields(B_h, B, N_h, N)


def _t(matrix: Array) -> Array:
    return matrix.transpose(0, 2, 1)


def _apply(matrix: Array, vector: Array) -> Array:
    return np.asarray((matrix @ vector[:, :, None])[:, :, 0])


def _dot(a: Array, b: Array) -> Array:
    return np.asarray(np.einsum("bi,bi->b", a, b))
