r"""Any normalization of the degrees: the equations of the layers with an average over the propensities (Eqs. 11.9 to 11.11).

A node sends its layers with the factor :math:`r` and receives with :math:`l` (`gcnlimit.normalization`), and the spike acts with
:math:`\sqrt\theta`. PageRank is one layer that feeds itself: it sends and receives the same layer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.degrees import DegreeLaw
from gcnlimit.filters import PageRank
from gcnlimit.losses import Loss
from gcnlimit.numerics.fixed_point import FixedPoint, fixed_point
from gcnlimit.results.order_parameters import Output, Record
from gcnlimit.spectrum import Spectrum
from gcnlimit.theory.finite_reg.class_losses import node_loss
from gcnlimit.theory.finite_reg.directed import linear_response, outer
from gcnlimit.theory.finite_reg.equations import WeightGain
from gcnlimit.theory.finite_reg.propensities import eta_by_degree
from gcnlimit.theory.finite_reg.solution import ScaledChain
from gcnlimit.theory.points import Points

_MEMORY = 8  # past steps that the search combines
_ACCURACY = 1e-13  # of the chain that stands for a filter


@dataclass(frozen=True, eq=False)
class Wiring(Record):
    """LayerState of a network, points along the first axis: the chain, the layers that are sent, and those that receive them."""

    b: Array
    c: Array
    g: Array
    send: slice
    receive: slice
    gain: Array

    shared: ClassVar[frozenset[str]] = frozenset({"send", "receive"})

    @classmethod
    def of(cls, points: Points) -> Self:
        """Wiring of the filter of the points: one implicit layer for PageRank, else a chain of gain about 1."""
        if type(points.filter) is PageRank:
            itself = slice(0, 1)
            ones = np.ones((points.size, 1))
            return cls(points.filter.values[:, None], ones[:, :0], ones, itself, itself, ones[:, 0])
        chain = points.filter.chain(accuracy=_ACCURACY, radius=points.radius)
        scaled = ScaledChain.of(chain, points.signal, points.symmetric)
        return cls(*scaled.chain, slice(0, chain.depth), slice(1, chain.depth + 1), scaled.gain)

    @staticmethod
    def layers(points: Points) -> npt.NDArray[np.int64]:
        """Number of layers at each point."""
        if type(points.filter) is PageRank:
            return np.ones(points.size, np.int64)
        return points.filter.layers(accuracy=_ACCURACY, radius=points.radius) + 1

    def scaled(self, size: Array) -> Self:
        """Wiring with layers that are divided by those sizes, the same network; a layer that feeds itself has none."""
        step = size[:, 1:] / size[:, :-1]
        if self.send == self.receive or not np.all(np.isfinite(step) & (step > 0.0)):
            return self
        g = self.g * size / size[:, :1]
        return replace(self, b=self.b / step, c=self.c / step, g=g)

    @property
    def bb(self) -> Array:
        """Products of the factors of two layers."""
        return outer(self.b, self.b)


@dataclass(frozen=True, eq=False)
class LayerState(Record):
    """Order parameters of the layers and of the weights, points along the first axis; see Eqs. 3.9 to 3.11."""

    m: Array
    m_hat: Array
    Q: Array
    Q_hat: Array
    Q_qh: Array
    V: Array
    V_hat: Array
    V_qh: Array
    m_w: Array
    Q_w: Array
    V_w: Array

    @staticmethod
    def sizes(k: int) -> list[int]:
        """Numbers in each of them, for `k` layers that are sent."""
        return [k] * 2 + [k * k] * 6 + [1] * 3

    def pack(self) -> Array:
        """One row for each point."""
        return np.concatenate([part.reshape(len(part), -1) for part in self], axis=1)

    @classmethod
    def unpack(cls, rows: Array, k: int) -> Self:
        """Inverse of `pack`."""
        shapes = [(k,)] * 2 + [(k, k)] * 6 + [()] * 3
        parts = zip(np.split(rows, np.cumsum(cls.sizes(k)[:-1]), axis=1), shapes, strict=True)
        return cls(*(part.reshape(len(rows), *shape) for part, shape in parts))

    def at(self, reg: Array, pull: Array) -> Self:
        """State at a large regularization and that pull, from the coefficients of the leading powers of its inverse."""
        down = {"m": 1, "Q": 2, "Q_qh": 1, "V": 1, "m_w": 1, "Q_w": 2, "V_w": 1}
        pulls = {"m": 1, "m_hat": 1, "Q": 2, "Q_hat": 2, "Q_qh": 2, "m_w": 1, "Q_w": 2}
        factors = (pull ** pulls.get(name, 0) / reg ** down.get(name, 0) for name in vars(self))
        pairs = zip(self, factors, strict=True)
        return type(self)(*((part.T * factor).T for part, factor in pairs))


class Nodes(NamedTuple):
    """Nodes of each propensity: response to fields (Eqs. 3.2 and 3.5), means and covariances of (q, h), and output."""

    C: Array
    L: Array
    M: Array
    pull: Array
    mean: Array
    cov: Array
    with_output: Array
    output: Output


@dataclass(frozen=True, eq=False)
class LayerEquations(Record):
    """The equations of the layers for a batch of points; `left` and `right` are the factors of each propensity there."""

    alpha: Array
    mu: Array
    rho: Array
    signal: Array
    reg: Array
    wiring: Wiring
    left: Array
    right: Array
    law: DegreeLaw
    symmetric: bool
    loss: Loss
    features: Spectrum

    shared: ClassVar[frozenset[str]] = frozenset({"law", "symmetric", "loss", "features"})

    @classmethod
    def of(cls, points: Points, law: DegreeLaw) -> Self:
        """Equations of the points, at a regularization that is still to be set."""
        names = ("alpha", "mu", "rho", "signal", "reg", "symmetric", "features")
        fields: dict[str, Any] = {name: getattr(points, name) for name in names}
        left, right = points.normalization.factors(law.theta, points.signal)
        if points.normalization.plain:  # nodes of all propensities respond alike
            left, right = left[:, :1], right[:, :1]
        fields["left"], fields["right"] = left, right
        return cls(**fields, wiring=Wiring.of(points), law=law, loss=node_loss(points))

    def take(self, rows: npt.NDArray[np.intp]) -> Self:
        """Equations of some of the points, in their order."""
        return self if rows.size == self.alpha.size else super().take(rows)

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of points, propensities of different response, layers and layers."""
        n = self.wiring.g.shape[1]
        return (*self.left.shape, n, n)

    @property
    def phi(self) -> Array:
        r"""Factor :math:`lr` of what a node receives and sends on, with axes for two layers."""
        return (self.left * self.right)[..., None, None]

    @property
    def _spike(self) -> Array:
        r"""Factor :math:`\lambda_e\sqrt\theta` with which the spike acts on a node."""
        return np.asarray(self.signal[:, None] * np.sqrt(self.law.theta))

    def average(self, factor: Array | float, values: Array) -> Array:
        """Average over the propensities of values times a factor of each."""
        weight = factor * self.law.weight
        if values.shape[1] == 1:
            weight = np.sum(weight, axis=-1, keepdims=True)
        weight = np.broadcast_to(weight, values.shape[:2])
        return np.asarray(np.einsum("pt,pt...->p...", weight, values))

    def back(self, V_qh: Array) -> Array:
        r"""Inverse of :math:`\mathbf D` (Eq. 3.1)."""
        wiring = self.wiring
        n = self.shape[2]
        D = np.zeros(self.shape)
        D[..., np.arange(n), np.arange(n)] = 1.0
        # a residual connection hands a layer of the node itself to its next
        D[..., np.arange(1, n), np.arange(n - 1)] = -wiring.c[:, None]
        if self.symmetric:
            # what a node sends returns along the same edge, as the memory of message passing does
            returned = wiring.b[:, :, None] * V_qh.mT
            D[..., wiring.receive, wiring.send] -= self.phi * returned[:, None]
        if np.any(np.triu(D) != np.eye(n)):
            return np.asarray(np.linalg.inv(D))
        # of triangular form row by row: elimination would lose all digits along a long chain
        inverse = np.broadcast_to(np.eye(n), D.shape).copy()
        for k in range(1, n):
            inverse[..., k, :k] -= (D[..., k, None, :k] @ inverse[..., :k, :k])[..., 0, :]
        return inverse

    def forces(self, V: Array, V_w: Array) -> Array:
        r"""Matrix :math:`\mathbf G_0` of each node (Eq. 3.1)."""
        receive = self.wiring.receive
        G = np.zeros(self.shape)
        # each neighbour yields to a force as V says, the weights, behind layer 0, as V_w
        G[..., receive, receive] = (self.left**2)[..., None, None] * (self.wiring.bb * V)[:, None]
        G[..., 0, 0] += V_w[:, None]
        return G

    def conjugate_source(self, m_hat: Array) -> Array:
        r"""Mean of the field :math:`B_h` of each node (Eq. 3.4)."""
        B_h = np.zeros((*self._spike.shape, self.shape[2]))
        B_h[..., self.wiring.send] = (self._spike * self.right)[..., None] * m_hat[:, None]
        return B_h

    def layer_source(self, m: Array, m_w: Array) -> Array:
        r"""Mean of the field :math:`B` of each node (Eq. 3.4)."""
        B = np.zeros((*self._spike.shape, self.shape[2]))
        sent = (self.wiring.b * m)[:, None]
        B[..., self.wiring.receive] = (self._spike * self.left)[..., None] * sent
        B[..., 0] += (np.sqrt(self.mu) * m_w)[:, None]
        return B

    def noise(self, state: LayerState) -> Array:
        r"""Covariance of the fields :math:`(B_h, B)` of each node (Eq. 3.4)."""
        n = self.shape[2]
        send = self.wiring.send
        receive = slice(n + self.wiring.receive.start, n + self.wiring.receive.stop)
        cov = np.zeros((*self.left.shape, 2 * n, 2 * n))
        cov[..., send, send] = (self.right**2)[..., None, None] * state.Q_hat[:, None]
        sent = (self.wiring.bb * state.Q)[:, None]
        cov[..., receive, receive] = (self.left**2)[..., None, None] * sent
        cov[..., n, n] += state.Q_w[:, None]
        if self.symmetric:
            cov[..., send, receive] = self.phi * (state.Q_qh * self.wiring.b[:, None, :])[:, None]
            cov[..., receive, send] = cov[..., send, receive].mT
        return cov

    def nodes(self, state: LayerState) -> Nodes:
        """Nodes of each propensity, points along the first axis and propensities along the second."""
        g = self.wiring.g
        send = self.wiring.send
        n = self.shape[2]
        G_h = np.zeros(self.shape)
        G_h[..., send, send] = (self.right**2)[..., None, None] * state.V_hat[:, None]
        C, L, M = linear_response(self.back(state.V_qh), self.forces(state.V, state.V_w), G_h)
        # the layers and their conjugates respond linearly to Gaussian fields
        response = np.block([[L.mT, -M], [C, L]])
        fields = self.conjugate_source(state.m_hat), self.layer_source(state.m, state.m_w)
        mean = (response @ np.concatenate(fields, axis=2)[..., None])[..., 0]
        cov = response @ self.noise(state) @ response.mT
        read = g[:, None, :, None]
        pull = np.concatenate([L.mT @ read, C @ read], axis=2)[..., 0]
        with_output = (cov[..., n:] @ read)[..., 0]
        law = (np.vecdot(values[..., n:], g[:, None]) for values in (mean, with_output, pull))
        output = Output(*np.broadcast_arrays(*law))
        return Nodes(C, L, M, pull, mean, cov, with_output, output)

    def next(self, state: LayerState) -> LayerState:
        """One application of the equations."""
        nodes = self.nodes(state)
        push, square, slope = eta_by_degree(self.loss, nodes.output)
        rho = self.rho[:, None]
        mean, pull = nodes.mean, np.broadcast_to(nodes.pull, nodes.mean.shape)
        # means of (q, h): a labelled node is pulled by its loss
        first = mean + (rho * push)[..., None] * pull
        # by Stein's lemma the pull, a function of the output, correlates with what the output does
        moved = push[..., None] * mean - slope[..., None] * nodes.with_output
        # half of the square here, since the matrix is added with its transpose
        moved = rho[..., None] * (moved + 0.5 * square[..., None] * pull)  # Eq. 3.8
        hard = (rho * slope)[..., None] * pull
        b, bb = self.wiring.b, self.wiring.bb
        average, weight = self.average, self.law.weight
        # sums of three products at once
        former = np.concatenate([mean, moved, pull], axis=1)
        latter = np.concatenate([mean, pull, moved], axis=1)

        def second(factor: Array | float, rows: slice, columns: slice) -> Array:
            """Second moments of (q, h)."""
            weighted = np.concatenate([factor * weight] * 3, axis=-1)[..., None] * former[..., rows]
            noise = average(factor, nodes.cov[..., rows, columns])
            return np.asarray(noise + weighted.mT @ latter[..., columns])

        def stiffened(factor: Array | float, rows: slice, columns: slice) -> Array:
            """Part of the responses that the loss takes away."""
            weighted = (factor * weight)[..., None] * hard[..., rows]
            return np.asarray(weighted.mT @ pull[..., columns])

        # moments list the conjugates q of all layers first, then the layers h
        n = self.shape[2]
        send, q = self.wiring.send, self.wiring.receive
        h = slice(n + send.start, n + send.stop)
        weights = slice(0, 1)
        left, right = self.left, self.right
        phi = left * right
        root = np.sqrt(self.law.theta)
        # order parameters, Eqs. 3.9 to 3.11
        m_hat_w = np.sqrt(self.mu) * average(1.0, first[..., 0])
        V_hat_w = average(1.0, nodes.M[..., 0, 0]) + stiffened(1.0, weights, weights)[:, 0, 0]
        Q_hat_w = second(1.0, weights, weights)[:, 0, 0]
        gain = WeightGain.of(self.features, self.alpha, self.reg, V_hat_w)
        V = average(right**2, nodes.C[..., send, send]) - stiffened(right**2, h, h)
        V_hat = average(left**2, nodes.M[..., q, q]) + stiffened(left**2, q, q)
        V_qh = average(phi, nodes.L.mT[..., q, send]) - stiffened(phi, q, h)
        return LayerState(
            m=average(root * right, first[..., h]),
            m_hat=b * average(root * left, first[..., q]),
            Q=second(right**2, h, h),
            Q_hat=bb * second(left**2, q, q),
            Q_qh=b[:, :, None] * second(phi, q, h),
            V=V,
            V_hat=bb * V_hat,
            V_qh=b[:, :, None] * V_qh,
            m_w=gain.labels * m_hat_w,
            Q_w=gain.noise * Q_hat_w + gain.signal * m_hat_w**2,
            V_w=gain.response,
        )

    def solve(self, start: LayerState, *, tol: float, max_iterations: int) -> FixedPoint:
        """Solve from a state, by the accelerated search; an entry counts relative to the largest of its kind."""
        k = self.wiring.b.shape[1]
        sizes = [size for size in LayerState.sizes(k) if size]
        starts = np.cumsum([0, *sizes[:-1]])

        def update(rows: Array, active: npt.NDArray[np.intp]) -> Array:
            return self.take(active).next(LayerState.unpack(rows, k)).pack()

        def scale(rows: Array) -> Array:
            return np.repeat(np.maximum.reduceat(np.abs(rows), starts, axis=1), sizes, axis=1)

        first = start.pack()
        return fixed_point(
            update, first, scale=scale, tol=tol, max_iterations=max_iterations, memory=_MEMORY
        )
