"""The first orders in 1/reg around infinite regularization."""

from __future__ import annotations

import numpy as np

from gcnlimit._validation import broadcast
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.network import GCN
from gcnlimit.theory.finite_reg.scaling import ScaledChain
from gcnlimit.theory.points import Points
from gcnlimit.theory.predict import predict

__all__ = ["large_reg_expansion"]

_NODES = 12
_REACH = 0.05  # largest 1/reg used, in units in which the filter's gain along the labels is 1


def large_reg_expansion(data: CSBM, gcn: GCN, order: int = 2) -> Array:
    r"""Coefficients :math:`z_0, z_1, \dots` of the test margin in powers of :math:`1/r`.

    .. math:: Acc_{test} = \Phi\Big( \sum_n z_n r^{-n} \Big)

    The self-consistent equations are analytic in :math:`1/r` at 0. Their solutions on Chebyshev nodes of a small interval, and
    the explicit one at 0, determine the polynomial that interpolates them, whose coefficients converge exponentially with
    the number of nodes: every order comes from the same equations, without expanding them by hand. The `reg` of `gcn` is
    not used.

    Parameters
    ----------
    order
        Highest power of :math:`1/r`, at most 4.

    Examples
    --------
    Without a graph, ridge regression has :math:`z = z_0 (1 - \rho/2\alpha r^2 + \dots)`:

    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    >>> z = gl.theory.large_reg_expansion(data, gl.GCN(gl.Diffusion(t=0.0), symmetrize=False))
    >>> bool(abs(z[1]) < 1e-8), bool(abs(z[2] / z[0] + 0.1 / 8) < 1e-6)
    (True, True)
    """
    if isinstance(order, bool) or not isinstance(order, int) or not 0 <= order <= 4:
        raise ParameterError(f"order = {order!r} is not allowed; it must be a whole number from 0 to 4")
    network = GCN(gcn.filter, gcn.loss, np.inf, gcn.symmetrize)
    shape = broadcast(data=data.shape, network=network.shape)
    points = Points.of(data, network)
    scaled = ScaledChain.of(points.filter.chain(radius=points.radius), points.signal, points.symmetric)
    unit = (scaled.gain**2 * np.maximum(scaled.spike, 1.0)).reshape(shape)
    x = 0.5 * (1.0 - np.cos(np.arange(_NODES + 1) * np.pi / _NODES))  # Chebyshev nodes on [0, 1], 0 included
    reg = unit[..., None] / (_REACH * np.where(x > 0.0, x, 1.0))
    reg = np.where(x > 0.0, reg, np.inf)
    spread = _with_axis(data, network, reg)
    margin = predict(*spread, tol=1e-13).order_parameters.test_margin
    coefficients = np.linalg.solve(np.vander(x, increasing=True), np.asarray(margin)[..., None])[..., 0]
    return np.asarray(coefficients[..., : order + 1] * (unit[..., None] / _REACH) ** np.arange(order + 1))


def _with_axis(data: CSBM, gcn: GCN, reg: Array) -> tuple[CSBM, GCN]:
    """Data and network with one more axis at the end, over values of the regularization."""

    def longer(value: float | Array) -> float | Array:
        return value if np.ndim(value) == 0 else np.asarray(value)[..., None]

    alpha, lam, mu, rho = (longer(p) for p in (data.alpha, data.lam, data.mu, data.rho))
    values = gcn.filter.values
    if gcn.filter.shape:
        values = values[..., None, :] if gcn.filter.deep else values[..., None]
    return CSBM(alpha, lam, mu, rho, data.directed), GCN(gcn.filter.replaced(values), gcn.loss, reg, gcn.symmetrize)
