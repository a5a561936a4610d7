"""The free entropy whose extremum the order parameters are, to check solutions with."""

from __future__ import annotations

import numpy as np

from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.losses import Loss
from gcnlimit.network import GCN
from gcnlimit.numerics.gaussian import gaussian_grid
from gcnlimit.results.order_parameters import OrderFunctions, Output
from gcnlimit.theory.finite_reg.directed import backwards, outer, response
from gcnlimit.theory.points import Points


def free_entropy(
    data: CSBM, gcn: GCN, layers: OrderFunctions, *, loss_weight: float = 1.0
) -> float:
    r"""Free entropy :math:`\phi` of the paper at zero temperature, as a function of the order parameters.

    .. math::
        \phi &= \tfrac12 (\hat V_w Q_w - V_w \hat Q_w) - \hat m_w m_w + \tfrac12 \mathrm{tr}(\hat V Q - V \hat Q) - \hat m \cdot m
                - \delta\, \mathrm{tr}\, V_{qh} Q_{qh}
                + \frac{\hat Q_w + \hat m_w^2}{2\alpha (r + \hat V_w)} + \mathbb E \max_h \psi_h, \\
        \mathbb E \max_h \psi_h &= \tfrac12 \mathbb E\, B_h^T C B_h + \mathbb E\, B_h^T L B - \tfrac12 \mathbb E\, B^T M B
                - \rho\, \mathbb E \min_x \big[ s\,\ell(x) + (x - \omega)^2/2v \big],

    for any loss, with :math:`\delta = 1` on a symmetric graph and 0 on a directed one. There :math:`V_{qh}` also enters
    :math:`D`, on which :math:`C, L, M` depend, and :math:`Q_{qh}` correlates the fields :math:`B_h` and :math:`B` (theory page,
    §3). It is stationary at the solution, where :math:`-\phi` is the minimum of the training objective over :math:`N`,
    :math:`\rho E_{train} + \frac r2 Q_w`, and :math:`-\partial\phi/\partial s = \rho E_{train}`.

    `data` and `gcn` are one point at finite regularization, `layers` the order parameters at which it is evaluated, for example
    ``predict(data, gcn).order_parameters.layers``, and `loss_weight` the factor :math:`s > 0` in front of the loss.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    >>> gcn = gl.GCN(gl.Residual([1.0]), loss="hinge", reg=0.5)
    >>> p = gl.predict(data, gcn)
    >>> energy = data.rho * p.train_loss + 0.5 * gcn.reg * p.order_parameters.weights.Q
    >>> bool(abs(free_entropy(data, gcn, p.order_parameters.layers) + energy) < 1e-9)
    True
    """
    points = Points.of(data, gcn)
    p = layers.flat(0)
    w = p.weights
    b, _, g = chain = points.filter.chain(radius=points.radius).broadcast((points.size,))
    back = backwards(chain)
    B_h, B = np.zeros_like(g), np.empty_like(g)
    N_h, N, N_across = (
        np.zeros_like(back) for _ in range(3)
    )  # covariances of the fields, and that of B_h with B
    B_h[:, :-1], N_h[:, :-1, :-1] = p.m_hat, p.Q_hat
    B[:, 0], B[:, 1:] = np.sqrt(points.mu) * w.m, points.signal[:, None] * b * p.m
    N[:, 0, 0], N[:, 1:, 1:] = w.Q, outer(b, b) * p.Q
    between = 0.5 * (_trace(p.V_hat, p.Q) - _trace(p.V, p.Q_hat)) - np.sum(p.m_hat * p.m, axis=1)
    if points.symmetric:
        back = _with_returns(back, b, p.V_qh)
        N_across[:, :-1, 1:] = p.Q_qh * b[:, None]
        between = between - _trace(p.V_qh, p.Q_qh)
    C, L, M, pull_q, pull_h, v = response(chain, back, w.V, p.V, p.V_hat)
    mean = _form(C, B_h, g) + _form(L, g, B)
    variance = (
        _form(N_h, pull_h, pull_h)
        + _form(N, pull_q, pull_q)
        + 2.0 * _form(N_across, pull_h, pull_q)
    )
    linear = 0.5 * (_trace(C, N_h) + _form(C, B_h, B_h)) - 0.5 * (_trace(M, N) + _form(M, B, B))
    linear = linear + _form(L, B_h, B) + _trace(L, N_across.mT)

    weights = 0.5 * (w.V_hat * w.Q - w.V * w.Q_hat) - w.m_hat * w.m
    weights = weights + (w.Q_hat + w.m_hat**2) / (2.0 * points.alpha * (points.reg + w.V_hat))
    loss = loss_weight * _envelope(points.loss, Output(mean, variance, loss_weight * v))
    return float((weights + between + linear - points.rho * loss)[0])


def _envelope(loss: Loss, output: Output) -> Array:
    r"""Average of Moreau's envelope, :math:`\mathbb E \min_x\, [\ell(x) + (x - \omega)^2/2v]`."""
    omega, weight = gaussian_grid(output.mean, np.sqrt(output.variance), loss.breakpoints(output.v))
    v = output.v[:, None]
    x = loss.prox(omega, v)
    return np.asarray(np.sum(weight * (loss.value(x) + (x - omega) ** 2 / (2.0 * v)), axis=1))


def _with_returns(back: Array, b: Array, V_qh: Array) -> Array:
    """Inverse of :math:`D` on a symmetric graph, where a signal returns along the edges that it came by."""
    D = np.linalg.inv(back)
    D[:, 1:, :-1] -= b[:, :, None] * V_qh.mT
    return np.asarray(np.linalg.inv(D))


def _trace(a: Array, b: Array) -> Array:
    return np.asarray(np.einsum("bij,bji->b", a, b))


def _form(matrix: Array, left: Array, right: Array) -> Array:
    return np.asarray(np.einsum("bi,bij,bj->b", left, matrix, right))
