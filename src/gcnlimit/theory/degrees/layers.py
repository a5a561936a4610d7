r"""Any normalisation of the degrees: the equations of the layers with an average over the propensities.

A node of propensity :math:`\theta` sends its layers with the factor :math:`r` and receives with :math:`l`
(`gcnlimit.normalization`), and the spike acts with :math:`\sqrt\theta`. In Eqs. 3.1 to 3.12 each node then has its own
matrices and fields,

.. math::
    \mathbf D &= I - \mathrm{subdiag}(c) - \delta\,lr\,b V_{qh}^T, \qquad
    \mathbf G_0 = \mathrm{diag}(V_w,\, l^2\, bVb), \qquad \mathbf G_h = \mathrm{diag}(r^2 \hat V, 0), \\
    B &= \big(\sqrt\mu\,m_w + \sqrt{Q_w}\,\zeta,\; l\,b\,(\lambda_e\sqrt\theta\,m + \zeta_q)\big), \qquad
    B_h = r\,(\lambda_e\sqrt\theta\,\hat m + \zeta_h),

and the order parameters are averages over :math:`\theta`: :math:`m` with :math:`\sqrt\theta\,r`, :math:`\hat m` with
:math:`\sqrt\theta\,l\,b`, :math:`Q` and :math:`V` with :math:`r^2`, their conjugates with :math:`l^2`, those between with
:math:`lr`. PageRank is one layer that feeds itself, :math:`h = z + \theta_{pr} B h`: it sends and receives the same layer.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.filters import PageRank
from gcnlimit.losses import Loss
from gcnlimit.numerics.fixed_point import FixedPoint, fixed_point
from gcnlimit.order_parameters import Output
from gcnlimit.spectrum import Spectrum
from gcnlimit.theory.degrees.spectrum import radius
from gcnlimit.theory.finite_reg.equations import weight_gain
from gcnlimit.theory.finite_reg.loss_averages import Eta, eta_at_zero
from gcnlimit.theory.finite_reg.propensities import eta_by_degree
from gcnlimit.theory.finite_reg.scaling import ScaledChain
from gcnlimit.theory.points import Points

_ROUGH = 1e-3  # residual that suffices on the way down from a large regularization
_MEMORY = 8  # past steps that the search combines
_ACCURACY = 1e-13  # of the chain that stands for a filter


class Wiring(NamedTuple):
    """Layers of a network, points along the first axis: the chain, the layers that are sent, and those that receive them."""

    b: Array
    c: Array
    g: Array
    send: slice
    receive: slice
    gain: Array

    @classmethod
    def of(cls, points: Points) -> Self:
        """Wiring of the filter of the points: one implicit layer for PageRank, else a chain of gain about 1."""
        law, ones = points.degrees, np.ones(points.size)
        assert law is not None
        reach = radius(points.normalization, law, points.signal, points.symmetric)
        points.filter.check_radius(reach)
        if type(points.filter) is PageRank:
            one = slice(0, 1)
            return cls(points.filter.values[:, None], np.empty((points.size, 0)), ones[:, None], one, one, ones)
        chain = points.filter.chain(accuracy=_ACCURACY, radius=reach)
        scaled = ScaledChain.of(chain, points.signal, points.symmetric)
        K = chain.depth
        return cls(*scaled.chain, slice(0, K), slice(1, K + 1), scaled.gain)


class Layers(NamedTuple):
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

    def pack(self) -> Array:
        """One row for each point."""
        return np.concatenate([part.reshape(len(part), -1) for part in self], axis=1)

    @classmethod
    def unpack(cls, rows: Array, k: int) -> Self:
        """Inverse of `pack`."""
        shapes, ends = [(k,)] * 2 + [(k, k)] * 6 + [()] * 3, np.cumsum([k] * 2 + [k * k] * 6 + [1] * 2)
        parts = np.split(rows, ends, axis=1)
        return cls(*(part.reshape(len(rows), *shape) for part, shape in zip(parts, shapes, strict=True)))

    def at(self, reg: Array, pull: Array) -> Self:
        """State at a large regularization, from that at an infinite one in units of its inverse."""
        powers = {"m": (1, 1), "m_hat": (0, 1), "Q": (2, 2), "Q_hat": (0, 2), "Q_qh": (1, 2), "V": (1, 0)}
        powers |= {"m_w": (1, 1), "Q_w": (2, 2), "V_w": (1, 0)}
        factors = {name: pull**up / reg**down for name, (down, up) in powers.items()}
        return self._replace(**{name: (getattr(self, name).T * factor).T for name, factor in factors.items()})


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


@dataclass(frozen=True)
class LayerEquations:
    """The equations of the layers for a batch of points."""

    alpha: Array
    mu: Array
    rho: Array
    signal: Array
    reg: Array
    wiring: Wiring
    left: Array
    right: Array
    theta: Array
    weight: Array
    symmetric: bool
    loss: Loss
    features: Spectrum

    def take(self, rows: npt.NDArray[np.intp]) -> Self:
        """Equations of some of the points."""
        if rows.size == self.alpha.size:
            return self
        b, c, g, send, receive, gain = self.wiring
        wiring = Wiring(b[rows], c[rows], g[rows], send, receive, gain[rows])
        names = {f.name for f in fields(self)} & {"alpha", "mu", "rho", "signal", "reg", "left", "right"}
        columns = {name: getattr(self, name)[rows] for name in names}
        return replace(self, wiring=wiring, **columns)

    def nodes(self, state: Layers) -> Nodes:
        """Nodes of each propensity, points along the first axis and propensities along the second."""
        b, _, g, send, receive, _ = self.wiring
        l, r, root = self.left[..., None, None], self.right[..., None, None], np.sqrt(self.theta)[:, None]
        bb, n = b[:, :, None] * b[:, None, :], g.shape[1]
        back = self.back(state.V_qh)
        G_0, G_h = np.zeros((2, *l.shape[:2], n, n))
        G_0[..., receive, receive] += l**2 * (bb * state.V)[:, None]
        G_0[..., 0, 0] += state.V_w[:, None]
        G_h[..., send, send] += r**2 * state.V_hat[:, None]
        S = back @ G_0 @ back.mT
        J = np.linalg.inv(np.eye(n) + S @ G_h)
        C, L = J @ S, J @ back
        M = back.mT @ G_h @ L
        T = np.concatenate([np.concatenate([L.mT, -M], axis=3), np.concatenate([C, L], axis=3)], axis=2)
        to_q, to_h = slice(n + receive.start, n + receive.stop), send
        source, noise = np.zeros((*l.shape[:2], 2 * n)), np.zeros((*l.shape[:2], 2 * n, 2 * n))
        strength = self.signal[:, None, None]
        source[..., to_h] += strength * root * r[..., 0] * state.m_hat[:, None]
        source[..., to_q] += strength * root * l[..., 0] * (b * state.m)[:, None]
        source[..., n] += (np.sqrt(self.mu) * state.m_w)[:, None]
        noise[..., to_h, to_h] += r**2 * state.Q_hat[:, None]
        noise[..., to_q, to_q] += l**2 * (bb * state.Q)[:, None]
        noise[..., n, n] += state.Q_w[:, None]
        if self.symmetric:
            cross = l * r * (state.Q_qh * b[:, None, :])[:, None]
            noise[..., to_h, to_q] += cross
            noise[..., to_q, to_h] += cross.mT
        mean, cov = (T @ source[..., None])[..., 0], T @ noise @ T.mT
        read = np.concatenate([np.zeros_like(g), g], axis=1)[:, None, :, None]
        pull = np.concatenate([L.mT @ read[:, :, n:], C @ read[:, :, n:]], axis=2)
        with_output = (cov @ read)[..., 0]
        means, variance, v = ((x * read[..., 0]).sum(axis=2) for x in (mean, with_output, pull[..., 0]))
        return Nodes(C, L, M, pull[..., 0], mean, cov, with_output, Output(means, variance, v))

    def back(self, V_qh: Array) -> Array:
        r"""Inverse of :math:`\mathbf D` (Eq. 3.1); the same for all nodes of a directed operator."""
        b, c, g, send, receive, _ = self.wiring
        n = g.shape[1]
        D = np.zeros((*(self.left.shape if self.symmetric else (len(b), 1)), n, n))
        D[..., np.arange(n), np.arange(n)] = 1.0
        D[..., np.arange(1, n), np.arange(n - 1)] = -c[:, None]
        if self.symmetric:
            back = (self.left * self.right)[..., None, None] * (b[:, :, None] * V_qh.mT)[:, None]
            D[..., receive, send] -= back
        return np.asarray(np.linalg.inv(D))

    def next(self, state: Layers) -> Layers:
        """One application of the equations."""
        b, _, g, send, receive, _ = self.wiring
        n = g.shape[1]
        nodes = self.nodes(state)
        push, square, slope = eta_by_degree(self.loss, nodes.output)
        rho, pull = self.rho[:, None], nodes.pull
        first = nodes.mean + (rho * push)[..., None] * pull
        moved = push[..., None] * nodes.mean - slope[..., None] * nodes.with_output + 0.5 * square[..., None] * pull
        moved = rho[..., None, None] * moved[..., :, None] * pull[..., None, :]
        second = nodes.cov + nodes.mean[..., :, None] * nodes.mean[..., None, :] + moved + moved.mT
        hard = (rho * slope)[..., None, None] * (pull[..., :, None] * pull[..., None, :])
        l, r, root = self.left, self.right, np.sqrt(self.theta)
        q, h = slice(receive.start, receive.stop), slice(n + send.start, n + send.stop)
        bb, stiff = b[:, :, None] * b[:, None, :], nodes.M + hard[..., :n, :n]
        first_q, second_q = self.average(1.0, first[..., 0]), self.average(1.0, second[..., 0, 0])
        V_hat_w = self.average(1.0, stiff[..., 0, 0])
        gain = weight_gain(self.features, self.alpha, self.reg, V_hat_w)
        m_hat_w = np.sqrt(self.mu) * first_q
        return Layers(
            m=self.average(root * r, first[..., h]),
            m_hat=b * self.average(root * l, first[..., q]),
            Q=self.average(r**2, second[..., h, h]),
            Q_hat=bb * self.average(l**2, second[..., q, q]),
            Q_qh=b[:, :, None] * self.average(l * r, second[..., q, h]),
            V=self.average(r**2, (nodes.C - hard[..., n:, n:])[..., send, send]),
            V_hat=bb * self.average(l**2, stiff[..., receive, receive]),
            V_qh=b[:, :, None] * self.average(l * r, (nodes.L.mT - hard[..., :n, n:])[..., receive, send]),
            m_w=gain.labels * m_hat_w,
            Q_w=gain.noise * second_q + gain.signal * m_hat_w**2,
            V_w=gain.response,
        )

    def average(self, factor: Array | float, values: Array) -> Array:
        """Average over the propensities of values times a factor of each."""
        weight = np.broadcast_to(factor * self.weight, values.shape[:2])
        return np.asarray(np.einsum("pt,pt...->p...", weight, values))

    def solve(self, start: Layers, *, tol: float, max_iterations: int) -> FixedPoint:
        """Solve from a state, by the accelerated search."""
        k = self.wiring.b.shape[1]

        def update(rows: Array, active: npt.NDArray[np.intp]) -> Array:
            return self.take(active).next(Layers.unpack(rows, k)).pack()

        sizes = [k] * 2 + [k * k] * 6 + [1] * 3
        starts = np.cumsum([0, *sizes[:-1]])

        def scale(rows: Array) -> Array:
            largest = np.maximum.reduceat(np.abs(rows), starts, axis=1)
            return np.repeat(largest, sizes, axis=1)

        return fixed_point(
            update, start.pack(), scale=scale, tol=tol, max_iterations=max_iterations, memory=_MEMORY
        )
