r"""Finite regularization on a directed graph: averages of a chain of layers (Eqs. 3.22 to 3.27).

There :math:`g(a)` and :math:`g(a)^T` do not commute, and traces of :math:`(1 + s\,gg^T)^{-1}` are not integrals over a
spectrum. The layers :math:`h_k = (b_k a + c_k) h_{k-1}` and their conjugates :math:`q_k` give them: the response :math:`V` of
the layers to forces and :math:`\hat V` of the conjugates to displacements solve a matrix equation that depends on :math:`s` only.
Units are those in which :math:`V_w = 1` and the stiffness is :math:`s`. No matrix that may be singular is inverted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from gcnlimit._values import Array
from gcnlimit.filters import Chain
from gcnlimit.numerics import linear
from gcnlimit.theory.finite_reg.equations import NUMBERS, Equations, Pulls, Transforms
from gcnlimit.theory.finite_reg.solution import ScaledChain
from gcnlimit.theory.points import Points


def initial_layers(chain: Chain) -> tuple[Array, Array, Array]:
    r"""Return :math:`V`, :math:`\hat V/s` and :math:`-\partial V/\partial s` for :math:`V_w = 1` and :math:`s \to 0` (Eq. 3.25).

    They are :math:`\tau(P_k P_l^T)`, :math:`b_k b_l \tau(R_k^T R_l)` and :math:`\tau(P_k g^T g P_l^T)`: overlaps of the Taylor
    coefficients of :math:`P_k`, the layers up to :math:`k`, and :math:`R_k`, the map from layer :math:`k` to the output.
    """
    K = chain.depth
    P, R = chain.coefficients()
    P = P[:, :K]
    after = chain.b[:, :, None] * R[:, 1:]
    H = linear.hankel(R[:, 0])
    gram = H @ H.mT  # of g(a) and the powers of a^T that it does not cancel
    for k in range(1, K + 1):
        gram[:, k, 1:] += gram[:, k - 1, :-1]
    return P @ P.mT, after @ after.mT, P @ gram @ P.mT


_SWEEPS = 5  # through the layers, at most, in one application of the equations
_FOLLOWED = 1.0  # change of the logarithms of the layers below which a search is left to follow
_LEAST = 1e-30  # smallest product of stiffness and V_w, which keeps its logarithm finite


class Response(NamedTuple):
    r"""Linear response of a node to its fields, :math:`q = L^T B_h - M B` and :math:`h = C B_h + L B` (Eqs. 3.2 and 3.3).

    With :math:`S = D^{-1} G_0 D^{-T}` and :math:`J = (I + S G_h)^{-1}`: :math:`C = JS`, :math:`L = J D^{-1}`,
    :math:`M = D^{-T} G_h L`. A pull on the output moves :math:`q` by `pull_q` :math:`= L^T g`, :math:`h` by `pull_h`
    :math:`= C g` and the output itself by :math:`v = g \cdot C g` (Eq. 3.5).
    """

    C: Array
    L: Array
    M: Array
    pull_q: Array
    pull_h: Array
    v: Array

    def stiffened(self, stiffness: Array) -> Self:
        r"""Response if the output is pulled back, :math:`f = -\kappa h`: of rank one more (Sherman-Morrison)."""
        stretch = 1.0 + stiffness * self.v
        # every matrix loses, or gains, the same part of rank one along the pulls
        heavy = (stiffness / stretch)[:, None]
        pull_q, pull_h = self.pull_q, self.pull_h
        return type(self)(
            C=self.C - outer(heavy * pull_h, pull_h),
            L=self.L - outer(heavy * pull_h, pull_q),
            M=self.M + outer(heavy * pull_q, pull_q),
            pull_q=pull_q / stretch[:, None],
            pull_h=pull_h / stretch[:, None],
            v=self.v / stretch,
        )

    def take(self, rows: Any) -> Self:
        """Response at some of the points."""
        return type(self)(*(part[rows] for part in self))

    def pass_on(self, Q: Array, Q_hat: Array) -> tuple[Array, Array]:
        """Overlaps of the layers and of their conjugates in fields of these covariances (Eqs. 3.23 and 3.28)."""
        C, L, M = self[:3]
        return C @ Q_hat @ C + L @ Q @ L.mT, L.mT @ Q_hat @ L + M @ Q @ M

    @property
    def inner(self) -> Self:
        """Part of the response that layers and conjugates have in common, :math:`h_0 ... h_{K-1}` and :math:`q_1 ... q_K`."""
        C, L, M, pull_q, pull_h, v = self
        matrices = C[:, :-1, :-1], L[:, :-1, 1:], M[:, 1:, 1:]
        return type(self)(*matrices, pull_q[:, 1:], pull_h[:, :-1], v)


def backwards(chain: Chain) -> Array:
    """Return the inverse of :math:`D`, the identity minus the residual strengths below its diagonal (Eq. 3.1, directed)."""
    K = chain.depth
    back = np.broadcast_to(np.eye(K + 1), (len(chain.g), K + 1, K + 1)).copy()
    for k in range(K):
        back[:, k + 1] += chain.c[:, k, None] * back[:, k]
    return back


def response(chain: Chain, back: Array, V_w: Array | float, V: Array, V_hat: Array) -> Response:
    """Response of a chain and its conjugates to their fields, without the loss (Eqs. 3.1 and 3.2)."""
    G_0 = np.zeros_like(back)
    G_h = np.zeros_like(back)
    G_0[:, 0, 0] = V_w
    G_0[:, 1:, 1:] = outer(chain.b, chain.b) * V
    G_h[:, :-1, :-1] = V_hat
    C, L, M = linear_response(back, G_0, G_h)
    pull_h = _apply(C, chain.g)
    return Response(C, L, M, _apply(L.mT, chain.g), pull_h, np.vecdot(chain.g, pull_h))


def linear_response(back: Array, G_0: Array, G_h: Array) -> tuple[Array, Array, Array]:
    """Matrices :math:`C, L, M` of `Response`, along the last two axes."""
    S = back @ G_0 @ back.mT
    identity = np.eye(back.shape[-1])
    # the layers answer forces by S, and the conjugates push back by G_h: a geometric series
    J = linear.solve_each(identity + S @ G_h, identity)
    L = J @ back
    return J @ S, L, back.mT @ (G_h @ L)


class Medium(NamedTuple):
    r"""Responses of the layers at a stiffness :math:`s`, and their derivatives (Eqs. 3.22 and 3.23).

    `X` :math:`= -\partial V/\partial s` and `Y` :math:`= \partial\hat V/\partial s`; all are positive.
    """

    V: Array
    V_hat: Array
    X: Array
    Y: Array

    def pack(self, peak: Array) -> Array:
        r"""One row per point; :math:`\hat V` is multiplied by the `peak` of the squared gain."""
        parts = np.stack(self._replace(V_hat=self.V_hat * peak[:, None, None]), axis=1)
        return linear.pack_positive(parts).reshape(len(parts), -1)

    @classmethod
    def unpack(cls, rows: Array, depth: int, peak: Array) -> Self:
        """Inverse of `pack`."""
        parts = linear.unpack_positive(rows.reshape(len(rows), 4, -1), depth)
        V, V_hat, X, Y = parts.swapaxes(0, 1)
        return cls(V, V_hat / peak[:, None, None], X, Y)


@dataclass(frozen=True, eq=False)
class DirectedEquations(Equations):
    """The equations for a batch of points, each with a chain of the same depth; `layers` are the gains divided out of it."""

    signal: Array
    chain: Chain
    layers: Array
    back: Array

    @classmethod
    def of(cls, points: Points, scaled: ScaledChain) -> Self:
        """Prepare the equations of the points for the chains of their filters."""
        return cls(
            **cls.common(points, scaled.gain, scaled.spike),
            signal=points.signal,
            chain=scaled.chain,
            layers=scaled.layers,
            back=backwards(scaled.chain),
        )

    def effort(self, level: int) -> dict[str, Any]:
        depth = self.chain.depth
        return {"max_iterations": (level + 1) * (100 + 5 * depth), "memory": int(memory(depth))}

    def settled(self, rows: Array) -> Array:
        """States whose layers have followed the pulls: as many sweeps as layers, where one application makes fewer."""
        pulls, rest = self.pulls(rows), rows[:, NUMBERS:]
        for _ in range(self.chain.depth // _SWEEPS):
            before, rest = rest, self.respond(pulls, rest)[1]
            if np.max(np.abs(rest - before) / self.scale(rows)[:, NUMBERS:]) < _FOLLOWED:
                break
        return np.concatenate([rows[:, :NUMBERS], rest], axis=1)

    @staticmethod
    def relative_stiffness(pulls: Pulls) -> Array:
        """Return the stiffness in units of :math:`1/V_w`, floored so that its logarithm stays finite."""
        return np.maximum(pulls.product, _LEAST)

    def rest(self, pulls: Pulls) -> Array:
        """Initial layers, those of the limit reg → ∞ (Eq. 3.25)."""
        V, V_hat, X = initial_layers(self.chain)
        s = self.relative_stiffness(pulls)
        return Medium(V, s[:, None, None] * V_hat, X, V_hat).pack(self.far)

    def scale(self, rows: Array) -> Array:
        r"""Size of the entries of a state; conjugates are weighted by their share of :math:`V^{-1}`."""
        K = self.chain.depth
        V, V_hat = rows[:, NUMBERS:].reshape(len(rows), 4, -1).swapaxes(0, 1)[:2]
        effect = linear.log_diagonal(np.minimum(V[:, :K] + V_hat[:, :K], 0.0), K)
        # a conjugate that hardly stiffens the layers may be imprecise
        conjugate = np.exp(-np.maximum(effect, -60.0))
        ones = np.ones_like(V)
        size = super().scale(rows)
        size[:, NUMBERS:] = np.concatenate([ones, conjugate, ones, conjugate], axis=1)
        return size

    def medium(self, rows: Array) -> Medium:
        """Layers of packed states."""
        return Medium.unpack(rows[:, NUMBERS:], self.chain.depth, self.far)

    def respond(self, pulls: Pulls, rest: Array) -> tuple[Transforms, Array]:
        """Sweep a few times through the layers, and average."""
        s = self.relative_stiffness(pulls)
        medium = Medium.unpack(rest, self.chain.depth, self.far)
        # information moves one layer a sweep
        for _ in range(min(_SWEEPS, 2 + self.chain.depth // 2)):
            free, stiff, medium = self.sweep(medium, s)
        return self.transforms(free, stiff, medium, s), medium.pack(self.far)

    def sweep(self, medium: Medium, s: Array) -> tuple[Response, Response, Medium]:
        """One application of Eqs. 3.22 and 3.23: the responses without and with the stiffness, and the next layers."""
        free = response(self.chain, self.back, 1.0, medium.V, medium.V_hat)
        stiff = free.stiffened(s)
        inner = stiff.inner
        bb = outer(self.chain.b, self.chain.b)
        # sums of positive terms, in which no digits cancel
        X, Y = inner.pass_on(bb * medium.X, medium.Y)
        X += outer(inner.pull_h, inner.pull_h)
        Y += outer(inner.pull_q, inner.pull_q)
        return free, stiff, Medium(inner.C, bb * inner.M, X, bb * Y)

    def transforms(self, free: Response, stiff: Response, medium: Medium, s: Array) -> Transforms:
        """Averages of the graph (Eqs. 3.24 and 3.27)."""
        q, h = self.means(stiff)
        X = outer(self.chain.b, self.chain.b) * medium.X
        Y = medium.Y
        _, _, _, pull_q, pull_h, _ = stiff.inner
        strength = (self.signal[:, None] * self.chain.b)[:, :, None]
        along = np.einsum("bk,bki->bi", pull_h, strength * q)
        along += np.einsum("bk,bki->bi", pull_q, strength * h)
        across = q.mT @ X @ q + h.mT @ Y @ h
        WW_bulk = np.sum(pull_h * _apply(Y, pull_h), axis=1)
        WW_bulk += np.sum(pull_q * _apply(X, pull_q), axis=1)
        stretch = 1.0 + s * free.v
        return Transforms(
            W=stiff.v,
            UU=stiff.v / stretch - s * WW_bulk,
            WW_bulk=WW_bulk,
            stretch=stretch,
            U=stiff.pull_q[:, 0] + along[:, 0],
            excess=along[:, 1],
            UU_across=across[:, 0, 0],
            UW_across=across[:, 0, 1],
            WW_across=across[:, 1, 1],
        )

    def means(self, stiff: Response) -> tuple[Array, Array]:
        r"""Means along the labels of :math:`q_1 \dots q_K` and :math:`h_0 \dots h_{K-1}`, in two columns (Eq. 3.26).

        They are the responses to :math:`y` put in as the first layer's field, and to :math:`y` put in as :math:`\beta`. The
        fields that the means exert, :math:`\lambda b_k` times themselves, are linear in them. Each is divided by the standard
        deviation of the noise of its own layer, so that small ones keep their digits.
        """
        C, L, M, pull_q, pull_h, _ = stiff.inner
        K = self.chain.depth
        b = self.chain.b
        # rows: q, then h; columns: the fields exerted by the means of q, then of h
        on_q = np.concatenate([L.mT, -M], axis=2)
        answer = np.concatenate([on_q, np.concatenate([C, L], axis=2)], axis=1)
        source = np.empty((len(b), 2 * K, 2), M.dtype)
        source[:, :K, 0], source[:, K:, 0] = -stiff.M[:, 1:, 0], stiff.L[:, :-1, 0]
        source[:, :K, 1], source[:, K:, 1] = pull_q, pull_h
        # q and h may differ by many orders of magnitude: their noise is the unit
        size = np.concatenate([_deviation(M), _deviation(C)], axis=1)[:, :, None]
        fields = self.signal[:, None, None] * np.concatenate([b, b], axis=1)[:, None] * size.mT
        matrix = np.eye(2 * K) - answer / size * fields
        mean = size * linear.solve_each(matrix, source / size)
        return mean[:, :K], mean[:, K:]


def memory(depth: Any) -> Any:
    """Number of past steps that the search combines."""
    return np.minimum(depth + 4, 8)


def outer(a: Array, b: Array) -> Array:
    """Products of the entries of two vectors along the last axis."""
    return np.asarray(a[..., :, None] * b[..., None, :])


def _deviation(matrix: Array) -> Array:
    """Square roots of the diagonals; 1 where they vanish."""
    diagonal = np.einsum("bii->bi", matrix)
    return np.sqrt(np.where(diagonal == 0.0, 1.0, diagonal))


def _apply(matrix: Array, vector: Array) -> Array:
    return np.asarray((matrix @ vector[:, :, None])[:, :, 0])
