"""The ceiling: the best accuracy that any algorithm can reach, knowing the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._labels import labelled
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.order_parameters import OrderParameters, Output
from gcnlimit.performance import Prediction, Status, from_margins, scalar_or_array, zero_error

__all__ = ["bayes_optimal"]

_BLOCK = 512  # points solved together, whose quadrature fits in a cache
_CERTAIN = 1e4  # signal on a node that leaves an error of exp(-5000)


def bayes_optimal(data: CSBM) -> Prediction:
    r"""Bayes-optimal performance: the state evolution of approximate message passing.

    The posterior log-odds of a test node are :math:`2z`, :math:`z \sim \mathcal N(my, m)`, where :math:`m` is the largest
    root of Eq. 5.1,

    .. math::
        m = \frac{\mu^2}{\alpha} \frac{m_y}{1 + \mu m_y} + \lambda_s^2 m_y, \qquad
        m_y = \rho + (1-\rho)\, \mathbb E \tanh(m + \sqrt m\, \zeta), \qquad \zeta \sim \mathcal N(0, 1),

    with :math:`\lambda_s = \sqrt 2 \lambda` for a directed graph and :math:`\lambda` for a symmetric one; the accuracy is
    :math:`\Phi(\sqrt m)`. `test_loss` is the expected cross-entropy of the posterior, in nats: the best that any
    calibrated classifier can reach. On the labelled nodes nothing is left to infer.

    Parameters
    ----------
    data
        The data; array parameters broadcast.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> round(gl.bayes_optimal(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)).test_accuracy, 5)
    0.91273
    >>> gl.bayes_optimal(gl.CSBM(alpha=4, lam=0.5, mu=1.0, rho=0.0)).test_accuracy  # below the threshold: chance
    0.5
    """
    if not isinstance(data, CSBM):
        raise ParameterError(f"bayes_optimal needs a CSBM, got {type(data).__name__}")
    shape = data.shape
    signal = data.operator(symmetrize=True).signal
    alpha, signal, mu, rho = (np.broadcast_to(p, shape).ravel() for p in (data.alpha, signal, data.mu, data.rho))
    parts = [slice(start, start + _BLOCK) for start in range(0, alpha.size, _BLOCK)]
    found = [_fixed_point(alpha[part], signal[part], mu[part], rho[part]) for part in parts]
    m, overlap, cross_entropy, residual, iterations = (
        np.concatenate(column).reshape(shape) for column in zip(*found, strict=True)
    )
    ceiling = Prediction(
        **from_margins(np.sqrt(m), np.full(shape, np.inf), cross_entropy, np.zeros(shape)),
        standard_error=zero_error(shape),
        order_parameters=OrderParameters(
            test_margin=scalar_or_array(np.sqrt(m)),
            train_margin=scalar_or_array(np.full(shape, np.inf)),
            output=Output(*(scalar_or_array(x) for x in (m, m, np.zeros(shape)))),
            overlap=scalar_or_array(overlap),
        ),
        status=np.full(shape, Status.CONVERGED) if shape else Status.CONVERGED,
        residual=scalar_or_array(residual),
        iterations=scalar_or_array(iterations),
    )
    return labelled(ceiling, data)


def _fixed_point(alpha: Array, signal: Array, mu: Array, rho: Array) -> tuple[npt.NDArray[Any], ...]:
    """Signal :math:`m` on a test node, overlap :math:`m_y`, cross-entropy, residual and number of steps of each point."""
    with np.errstate(over="ignore"):
        known = signal**2 + mu / alpha * (mu / (1.0 + mu))  # m if every label were known
    certain = known > _CERTAIN
    m, overlap, residual = np.where(certain, known, 0.0), np.ones_like(alpha), np.zeros_like(alpha)
    iterations, cross_entropy = np.zeros(alpha.size, np.int64), np.zeros_like(alpha)
    rest = np.flatnonzero(~certain)
    if rest.size:
        alpha, graph, mu, rho = alpha[rest], signal[rest] ** 2, mu[rest], rho[rest]
        m[rest], residual[rest], iterations[rest] = _log_odds(alpha, graph, mu, rho)
        overlap[rest] = rho + (1.0 - rho) * (m[rest] - _deficit(m[rest])[0])
        cross_entropy[rest] = _cross_entropy(m[rest])
    return m, overlap, cross_entropy, residual, iterations


def _log_odds(alpha: Array, graph: Array, mu: Array, rho: Array) -> tuple[Array, Array, int]:
    r"""Largest root :math:`m` of the state evolution (Eq. 5.1), its residual, and the number of steps.

    Written with the deficit :math:`m - T(m)`, the residual
    :math:`m (1 - s(1-\rho)) - s \rho + s(1-\rho)(m - T) + \frac{\mu^3}{\alpha} \frac{m_y^2}{1 + \mu m_y}`, with
    :math:`s = \lambda_s^2 + \mu^2/\alpha`, keeps its digits at the transition. The state evolution is increasing and
    concave in :math:`m`: Newton's method started above every root (at :math:`m_y = 1`, the informed initialisation)
    comes down to the largest one monotonically, quadratically in general, halving the distance at the transition.
    """
    snr = graph + mu**2 / alpha
    hidden = snr * (1.0 - rho)
    saturation = mu**3 / alpha
    m = graph + mu**2 / alpha / (1.0 + mu)
    m[(rho == 0.0) & (snr <= 1.0)] = 0.0
    for iteration in range(1, 400):  # noqa: B007
        deficit, growth = _deficit(m)
        overlap = rho + (1.0 - rho) * (m - deficit)
        loss = hidden * deficit + saturation * overlap**2 / (1.0 + mu * overlap)
        residual = m * (1.0 - hidden) - snr * rho + loss
        rounding = 1e-15 * (m * np.abs(1.0 - hidden) + snr * rho + loss)
        bend = saturation * overlap * (2.0 + mu * overlap) / (1.0 + mu * overlap) ** 2
        slope = 1.0 - hidden + hidden * growth + bend * (1.0 - rho) * (1.0 - growth)
        step = residual / np.where(slope > 0.0, slope, np.inf)
        m = np.maximum(m - step, 0.0)
        if np.all(residual <= rounding):
            break
    return m, np.abs(residual) / (1.0 + m), iteration


def _deficit(m: Array) -> tuple[Array, Array]:
    r"""Deficit :math:`m - T(m)` (Eq. 6.6) and its derivative, with :math:`T(m) = \mathbb E \tanh(m + \sqrt m\, \zeta)`.

    By the symmetry of the posterior, averages become even integrals over :math:`z \sim \mathcal N(0, m)`, of positive terms:
    :math:`m - T = e^{-m/2}\, \mathbb E[\sinh z\,(z - \tanh z)]` and :math:`1 - T = e^{-m/2}\, \mathbb E\, \mathrm{sech}\, z`,
    the first precise at small, the second at large :math:`m`; likewise :math:`T' = e^{-m/2}\, \mathbb E\, \mathrm{sech}^3 z`.
    """
    z, weight = _even_grid(m)
    less_one = np.expm1(z)
    sinh = 0.5 * (less_one + less_one / (less_one + 1.0))
    sech = 1.0 / (1.0 + 0.5 * less_one**2 / (less_one + 1.0))
    sech2 = sech * sech
    bend = z - sinh * sech  # z - tanh z
    small = z < 0.1
    z2 = z[small] ** 2
    series = 17 / 315 - z2 * (62 / 2835 - z2 * (1382 / 155925 - z2 * 21844 / 6081075))
    bend[small] = z[small] * z2 * (1 / 3 - z2 * (2 / 15 - z2 * series))
    deficit = np.where(m < 1.0, _total(weight, sinh * bend), m - 1.0 + _total(weight, sech))
    growth = np.where(m < 1.0, _total(weight * sinh**2, sech * (1.0 + sech2)), 1.0 - _total(weight, sech * sech2))
    return deficit, growth


def _cross_entropy(m: Array) -> Array:
    r""":math:`\mathbb E \log(1 + e^{-2z})`, :math:`z \sim \mathcal N(m, m)`, as an even integral."""
    z, weight = _even_grid(m)
    tail = np.log1p(np.exp(-2.0 * z))
    return np.where(m > 0.0, _total(weight, np.cosh(z) * tail + z * np.exp(-z)), np.log(2.0))


def _even_grid(m: Array) -> tuple[Array, Array]:
    r"""Trapezoid rule for :math:`e^{-m/2}\, \mathbb E f(z)`, :math:`z \sim \mathcal N(0, m)`, of even functions :math:`f`.

    For functions that decay like :math:`e^{-|z|}` and are analytic for :math:`|\mathrm{Im}\, z| < \pi/2`, the step resolves
    both the function and the Gaussian to rounding.
    """
    safe = np.maximum(m, 1e-300)
    step = np.minimum(0.24, 0.45 * np.sqrt(safe))
    z = np.arange(171.0)[:, None] * step
    weight = np.exp(-0.5 * (z * z / safe + safe)) * (step / np.sqrt(2.0 * np.pi * safe))
    weight[1:] *= 2.0
    return z, weight


def _total(weight: Array, values: Array) -> Array:
    return np.asarray(np.einsum("nb,nb->b", weight, values))
