"""The front door of the theory: exact performance of a network on data."""

from __future__ import annotations

import numpy as np

from gcnlimit._validation import Array, broadcast
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.network import GCN
from gcnlimit.results import Prediction, Status, from_margins, scalar_or_array, zero_error
from gcnlimit.theory.large_reg import directed_averages, margins, symmetric_averages
from gcnlimit.theory.points import Points

__all__ = ["predict"]

_CHUNK = 1 << 16  # numbers held by one temporary array: what a cache holds


def predict(data: CSBM, gcn: GCN) -> Prediction:
    r"""Exact performance of a trained network in the large-size limit.

    At infinite regularization the formulas are explicit (theory page, §4); the losses are then all :math:`\ell(0)`,
    since the outputs vanish, but their signs do not.

    Parameters
    ----------
    data, gcn
        Data and network; array parameters broadcast together, and each field of the answer has their common shape.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    >>> p = gl.predict(data, gl.GCN(gl.Diffusion(t=1.488), symmetrize=True))
    >>> round(p.test_accuracy, 5)
    0.88095
    >>> gl.predict(data, gl.GCN(gl.Residual.constant([0.0, 1.0, 2.0], depth=2))).test_accuracy.round(5)
    array([0.65397, 0.76775, 0.76521])
    """
    if not isinstance(data, CSBM) or not isinstance(gcn, GCN):
        raise ParameterError(
            f"predict needs a CSBM and a GCN, got {type(data).__name__} and {type(gcn).__name__}; write predict(data, gcn)"
        )
    shape = broadcast(data=data.shape, network=gcn.shape)
    points = Points.of(data, gcn)
    if not np.all(np.isinf(points.reg)):
        raise ParameterError("reg must be math.inf: finite regularization is not available yet")
    test, train = (m.reshape(shape) for m in _margins(points))
    loss = np.full(shape, float(gcn.loss.value(0.0)))
    explicit = np.full(shape, Status.EXPLICIT)
    return Prediction(
        **from_margins(test, train, loss, loss.copy()),
        standard_error=zero_error(shape),
        order_parameters={"test_margin": scalar_or_array(test), "train_margin": scalar_or_array(train)},
        status=scalar_or_array(explicit) if shape else Status.EXPLICIT,
        residual=scalar_or_array(np.zeros(shape)),
        iterations=scalar_or_array(np.zeros(shape, int)),
    )


def _margins(points: Points) -> tuple[Array, Array]:
    """Margins of test and train nodes at infinite regularization, chunk by chunk."""
    test, train = np.empty(points.size), np.empty(points.size)
    cost = points.filter.nodes() if points.symmetric else points.filter.layers(accuracy=1e-18, radius=points.radius)
    for where, chunk in points.chunks(cost, _CHUNK):
        if points.symmetric:
            averages = symmetric_averages(chunk.filter, chunk.signal, chunk.mu, int(cost[where[0]]))
        else:
            averages = directed_averages(chunk.filter, chunk.signal, chunk.mu)
        test[where], train[where] = margins(averages, chunk.alpha, chunk.mu, chunk.rho)
    return test, train
