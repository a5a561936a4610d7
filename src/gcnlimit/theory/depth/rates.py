r"""Learning rates: how fast the error vanishes as the signal of the graph grows.

:math:`\log(1 - Acc_{test}) \sim -\tau \lambda^2` as :math:`\lambda \to \infty`. The Bayes-optimal rate is 1 on a directed graph;
a network of two layers or more reaches 1/2, and 1 if it symmetrizes the graph; one layer has a smaller rate. With :math:`C`
equal classes all rates are :math:`C/2` times larger.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import real
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.network import GCN
from gcnlimit.performance import scalar_or_array
from gcnlimit.theory.bayes import bayes_optimal
from gcnlimit.theory.decision import best_log_error
from gcnlimit.theory.predict import predict

__all__ = ["learning_rate"]

_SIGNALS = np.geomspace(50.0, 400.0, 12)


def learning_rate(data: CSBM, gcn: GCN | None = None, *, signals: npt.ArrayLike = _SIGNALS) -> Any:
    r"""Rate :math:`\tau` of :math:`\log(1 - Acc_{test}) \sim -\tau\lambda^2`, from `log_test_error` at large signals.

    The coefficient of :math:`\lambda^2` when :math:`-\log(1 - Acc_{test})` is expanded in
    :math:`\lambda^2, \lambda, \log\lambda, 1, \lambda^{-1}, \lambda^{-2}` over `signals`. Unequal classes are decided at the best
    threshold, or by the posterior.

    Parameters
    ----------
    data
        Data, whose `lam` is replaced by the signals; the answer has the shape of the other parameters.
    gcn
        One network; if left out, the Bayes-optimal rate.
    signals
        At least six large values of :math:`\lambda`. A diffusion needs :math:`t\lambda \gg 1`.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.0, mu=1.0, rho=0.1)
    >>> networks = [gl.GCN(gl.Residual.constant(0.0, K), symmetrize=s) for s in (False, True) for K in (1, 2)]
    >>> [round(gl.depth.learning_rate(data, gcn), 4) for gcn in networks]
    [0.1667, 0.5, 0.3333, 1.0]
    >>> round(gl.depth.learning_rate(data), 4)
    1.0
    """
    if not isinstance(data, CSBM) or not isinstance(gcn, GCN | None):
        raise ParameterError(
            f"learning_rate needs a CSBM and a GCN or nothing, got {type(data).__name__} and {type(gcn).__name__}"
        )
    if gcn is not None and gcn.shape:
        raise ParameterError(f"learning_rate needs one network, got parameters of shape {gcn.shape}")
    lam = np.atleast_1d(real("signals", signals, low=0, open_low=True))
    if lam.ndim != 1 or np.unique(lam).size < 6:
        raise ParameterError(f"signals must be at least six different values in a row, got shape {lam.shape}")
    alpha, mu, rho = (np.asarray(p)[..., None] for p in (data.alpha, data.mu, data.rho))
    strong = data.replaced(alpha=alpha, lam=lam, mu=mu, rho=rho)
    answer = bayes_optimal(strong) if gcn is None else predict(strong, gcn)
    margin = np.asarray(answer.order_parameters.test_margin)
    log_error = answer.log_test_error if isinstance(data.classes, int) else best_log_error(margin, data.classes)
    return scalar_or_array(_leading(lam, -np.asarray(log_error)))


def _leading(lam: Array, values: Array) -> Array:
    r"""Coefficient of :math:`\lambda^2`, by least squares on values divided by it."""
    basis = np.stack([lam**power for power in (0.0, -1.0, -2.0, -3.0, -4.0)] + [np.log(lam) / lam**2], axis=1)
    size = np.max(np.abs(basis), axis=0)
    flat = (values / lam**2).reshape(-1, lam.size)
    coefficients = np.linalg.lstsq(basis / size, flat.T, rcond=None)[0]
    return np.asarray((coefficients[0] / size[0]).reshape(values.shape[:-1]))
