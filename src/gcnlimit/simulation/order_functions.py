r"""Order functions measured along the depth of the continuous network on an instance, to lay beside the theory.

The state at depth :math:`x \in [0, 1]` is :math:`h(x) = g_x X w/\sqrt N` with :math:`g_x = e^{txa}`, and the signal that
comes back from the loss is :math:`q(x) = g_{1-x}^T R y`. At infinite regularization, powers of :math:`r` dropped,

.. math::
    m(x) &= \tfrac1N y \cdot h(x), \quad Q_h(x,z) = \tfrac1N h(x) \cdot h(z), \quad
    \hat m(x) = \tfrac{\lambda_e t}N y \cdot q(x), \quad \hat Q_h(x,z) = \tfrac{t^2}N q(x) \cdot q(z), \quad
    Q_{qh}(x,z) = \tfrac tN q(x) \cdot h(z), \\
    V_h(x,z) &= \tfrac1N \mathrm{tr}\, g_x \tfrac{XX^T}N g_z^T, \quad
    V_{qh}(x,z) = \tfrac tN \mathrm{tr}\, g_{z-x}\; (z > x), \quad
    \hat V_h(x,z) = \tfrac{t^2}N \mathrm{tr}\, R g_{1-x} g_{1-z}^T .

:math:`V_h` is the correlation of thermal fluctuations, :math:`V_{qh}` the response, :math:`\hat V_h` the correlation of
the responses: the traces of dynamical mean-field theory, estimated with random signs (Hutchinson). The weights have
:math:`m_w = u \cdot w/N`, :math:`Q_w = w \cdot w/N`, :math:`V_w = M/N`, and their conjugates are those at depth 0, with
:math:`\sqrt\mu` in place of :math:`\lambda_e t` and 1 in place of :math:`t`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import real, whole
from gcnlimit._values import Array
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Diffusion
from gcnlimit.network import GCN
from gcnlimit.order_parameters import OrderFunctions, Weights
from gcnlimit.simulation.instance import Instance
from gcnlimit.simulation.operator import Operator
from gcnlimit.simulation.sample import Seed, seed_sequence
from gcnlimit.simulation.train import train

__all__ = ["measure_order_functions"]


def measure_order_functions(
    instance: Instance, gcn: GCN, x: npt.ArrayLike = (0.0, 0.25, 0.5, 0.75, 1.0), *, probes: int = 32, seed: Seed = 0
) -> OrderFunctions:
    """Measure the order functions of a continuous network at infinite regularization on an instance.

    Parameters
    ----------
    instance, gcn
        The instance, and a network with the filter `Diffusion` and ``reg=math.inf``.
    x
        Depths in [0, 1], in increasing order.
    probes
        Number of random vectors for each trace; the error of a trace falls as one over the root of nodes times probes.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), nodes=1000, degree=30, seed=0)
    >>> f = measure_order_functions(i, gl.GCN(gl.Diffusion(t=1.0), symmetrize=True), x=[0.0, 1.0])
    >>> round(f.V_hat[1, 1].item(), 6)  # at the end of the network, t^2 rho
    0.1
    """
    x = np.atleast_1d(real("x", x, low=0, high=1))
    if not isinstance(gcn.filter, Diffusion) or gcn.shape or not np.isinf(gcn.reg) or gcn.filter.t == 0.0:
        raise ParameterError("order functions are those of GCN(Diffusion(t), reg=math.inf) with one t that is not 0")
    rng = np.random.default_rng(seed_sequence(seed))
    depth = _Depth(instance.observation.operator(gcn.symmetrize), float(gcn.filter.t), x)
    t, n, probes = depth.t, instance.labels.size, whole("probes", probes, low=1)
    X, mask, labels = instance.features, instance.train_mask, instance.labels

    w = train(instance.observation, gcn)[0][0]
    h = depth.forward(X @ w / np.sqrt(n))
    q_0, *q = depth.backward(instance.observation.train_labels)
    signs = rng.choice([-1.0, 1.0], size=(n, probes)).astype(X.dtype)
    noise = depth.forward(X @ rng.choice([-1.0, 1.0], size=(X.shape[1], probes)).astype(X.dtype) / np.sqrt(n))
    response_0, *response = depth.backward(signs * mask[:, None])
    signal = float(instance.data.effective_signal(gcn.symmetrize))
    return OrderFunctions(
        x=x,
        m=h @ labels / n,
        Q=_overlap(h, h) / n,
        V=_overlap(noise, noise) / (n * probes),
        Q_qh=t / n * _overlap(q, h),
        V_qh=t / (n * probes) * depth.response(signs),
        m_hat=signal * t / n * (np.asarray(q) @ labels),
        Q_hat=t**2 / n * _overlap(q, q),
        V_hat=t**2 / (n * probes) * _overlap(response, response),
        weights=Weights(
            m=instance.latents.centroid @ w / n,
            Q=w @ w / n,
            V=np.asarray(w.size / n),
            m_hat=math.sqrt(float(instance.data.mu)) * (q_0 @ labels) / n,
            Q_hat=q_0 @ q_0 / n,
            V_hat=np.vdot(response_0, response_0) / (n * probes),
        ),
    )


@dataclass(frozen=True)
class _Depth:
    """The continuous network, read at depths `x`."""

    operator: Operator
    t: float
    x: Array

    def _run(self, operator: Operator, times: Array, start: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return Diffusion(self.t * times).apply(operator, start, radius=operator.radius)

    def forward(self, start: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """States that begin at depth 0 with `start`."""
        return self._run(self.operator, self.x, start)

    def backward(self, end: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Signals that come back from `end` at depth 1: at depth 0, then at `x`."""
        return self._run(self.operator.T, 1.0 - np.concatenate([[0.0], self.x]), end)

    def response(self, signs: npt.NDArray[Any]) -> Array:
        """Traces of the propagation from `x` (rows) to a larger depth `z` (columns); 0 elsewhere."""
        ahead = self.x[None, :] - self.x[:, None]
        steps, which = np.unique(np.maximum(ahead, 0.0), return_inverse=True)
        traces = np.einsum("np,snp->s", signs, self._run(self.operator, steps, signs))
        return np.where(ahead > 0.0, traces[which.reshape(ahead.shape)], 0.0)


def _overlap(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """Inner products of the states at every two depths."""
    a, b = np.asarray(a), np.asarray(b)
    return np.asarray(a.reshape(len(a), -1) @ b.reshape(len(b), -1).T, float)
