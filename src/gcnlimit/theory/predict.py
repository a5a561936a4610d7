"""The front door of the theory: exact performance of a network on data."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import broadcast
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ConvergenceError, ParameterError
from gcnlimit.network import GCN
from gcnlimit.order_parameters import LAYERED, VANISHING, OrderParameters
from gcnlimit.performance import Prediction, Status, from_margins, scalar_or_array, zero_error
from gcnlimit.theory.finite_reg.loss_averages import expected_losses, slope_at_zero
from gcnlimit.theory.finite_reg.solve import cost, solve
from gcnlimit.theory.large_reg import directed_averages, margins, symmetric_averages
from gcnlimit.theory.points import Points

__all__ = ["predict"]

_CHUNK = 1 << 16  # numbers held by one temporary array: what a cache holds
_SERIES = 200  # layers of the longest series whose order parameters are given
_HISTORY = 1 << 21  # numbers held by the memory of the fixed-point search: 16 MiB


def predict(data: CSBM, gcn: GCN, *, tol: float = 1e-10, max_iterations: int = 5000, throw: bool = True) -> Prediction:
    r"""Exact performance of a trained network in the large-size limit.

    At infinite regularization the formulas are explicit (theory page, §4); the losses are then all :math:`\ell(0)`,
    since the outputs vanish, but their signs do not. At finite regularization self-consistent equations are solved
    (theory page, §3), for all points together.

    Parameters
    ----------
    data, gcn
        Data and network; array parameters broadcast together, and each field of the answer has their common shape.
    tol
        Scaled residual of the self-consistent equations at which a point has converged.
    max_iterations
        Iterations after which a point is given up.
    throw
        Whether to raise `ConvergenceError` if a point did not converge; otherwise look at `status`.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    >>> p = gl.predict(data, gl.GCN(gl.Diffusion(t=1.488), symmetrize=True))
    >>> round(p.test_accuracy, 5)
    0.88095
    >>> gl.predict(data, gl.GCN(gl.Residual.constant([0.0, 1.0, 2.0], depth=2), symmetrize=False)).test_accuracy.round(5)
    array([0.65397, 0.76775, 0.76521])
    >>> gl.predict(data, gl.GCN(gl.Diffusion(t=1.0), loss="logistic", reg=[0.1, 10.0], symmetrize=False)).test_accuracy.round(5)
    array([0.78477, 0.7969 ])
    """
    if not isinstance(data, CSBM) or not isinstance(gcn, GCN):
        raise ParameterError(
            f"predict needs a CSBM and a GCN, got {type(data).__name__} and {type(gcn).__name__}; write predict(data, gcn)"
        )
    shape = broadcast(data=data.shape, network=gcn.shape)
    points = Points.of(data, gcn)
    answer = _Answer(points.size, float(gcn.loss.value(0.0)))
    infinite = np.isinf(points.reg)
    if infinite.any():
        _explicit(points, np.flatnonzero(infinite), answer)
    if not infinite.all():
        _fixed_points(points, np.flatnonzero(~infinite), answer, tol, max_iterations)
    failed = answer.status == Status.NOT_CONVERGED
    if throw and failed.any():
        where = int(np.flatnonzero(failed)[0])
        raise ConvergenceError(
            f"{failed.sum()} of {points.size} points did not converge in {max_iterations} iterations, the first at "
            f"reg = {points.reg[where]:g} with residual {answer.residual[where]:.1e}; raise max_iterations or tol, "
            "or pass throw=False and look at the status of each point"
        )
    return answer.prediction(shape)


class _Answer:
    """Performance of each point, filled chunk by chunk."""

    def __init__(self, size: int, loss_at_zero: float) -> None:
        self.test_margin, self.train_margin = np.empty(size), np.empty(size)
        self.test_loss, self.train_loss = np.full(size, loss_at_zero), np.full(size, loss_at_zero)
        self.status = np.full(size, Status.EXPLICIT)
        self.residual, self.iterations = np.zeros(size), np.zeros(size, np.int64)
        self.details: dict[str, Array] = {}
        self.layers: list[tuple[npt.NDArray[np.intp], Callable[[], dict[str, Array]]]] = []

    def prediction(self, shape: tuple[int, ...]) -> Prediction:
        """Give everything the shape of the points."""
        later = cache(self._layers)
        layers = {name: partial(lambda which: later()[which], name) for name in LAYERED} if self.layers else {}
        order_parameters = OrderParameters(self.test_margin, self.train_margin, **self.details, **layers).reshape(shape)
        margins_and_losses = (self.test_margin, self.train_margin, self.test_loss, self.train_loss)
        return Prediction(
            **from_margins(*(x.reshape(shape) for x in margins_and_losses)),
            standard_error=zero_error(shape),
            order_parameters=order_parameters,
            status=self.status.reshape(shape) if shape else Status(int(self.status[0])),
            residual=scalar_or_array(self.residual.reshape(shape)),
            iterations=scalar_or_array(self.iterations.reshape(shape)),
        )

    def keep(self, rows: npt.NDArray[np.intp], parameters: dict[str, Array]) -> None:
        """Store order parameters of some points."""
        _enter(self.details, rows, parameters, self.status.size)

    def _layers(self) -> dict[str, Array]:
        """Work out the order parameters of the layers."""
        values: dict[str, Array] = {}
        for rows, layers in self.layers:
            _enter(values, rows, layers(), self.status.size)
        return values


def _enter(into: dict[str, Array], rows: npt.NDArray[np.intp], parameters: dict[str, Array], size: int) -> None:
    """Enter order parameters of some points; the others are at infinite regularization, where some vanish."""
    for name, value in parameters.items():
        elsewhere = 0.0 if name in VANISHING else np.nan
        into.setdefault(name, np.full((size, *value.shape[1:]), elsewhere))[rows] = value


def _explicit(points: Points, rows: npt.NDArray[np.intp], answer: _Answer) -> None:
    """Infinite regularization: explicit formulas, chunk by chunk."""
    points = points.take(rows)
    slope_at_zero(points.loss)  # refuses a loss that does not push outputs towards their labels
    cost = points.filter.nodes() if points.symmetric else points.filter.layers(accuracy=1e-18, radius=points.radius)
    for where, chunk in points.chunks(cost, _CHUNK):
        if points.symmetric:
            averages = symmetric_averages(chunk.filter, chunk.signal, chunk.mu, int(cost[where[0]]))
        else:
            averages = directed_averages(chunk.filter, chunk.signal, chunk.mu)
        found = margins(averages, chunk.alpha, chunk.mu, chunk.rho)
        answer.test_margin[rows[where]], answer.train_margin[rows[where]] = found


def _fixed_points(points: Points, rows: npt.NDArray[np.intp], answer: _Answer, tol: float, max_iterations: int) -> None:
    """Finite regularization: the self-consistent equations, as many points at once as memory allows."""
    layered = _layered(points)
    points = points.take(rows)
    slope = slope_at_zero(points.loss)
    for where, chunk in points.chunks(cost(points), _HISTORY):
        found = solve(chunk, tol=tol, max_iterations=max_iterations)
        here, (mean, variance, v) = rows[where], found.output
        deviation = np.sqrt(variance)
        answer.test_margin[here], answer.train_margin[here] = mean / deviation, (mean - v * slope) / deviation
        answer.test_loss[here], answer.train_loss[here] = expected_losses(chunk.loss, found.output)
        answer.status[here] = np.where(found.converged, Status.CONVERGED, Status.NOT_CONVERGED)
        answer.residual[here], answer.iterations[here] = found.residual, found.iterations
        answer.keep(here, found.output._asdict() | found.weights)
        if layered:
            answer.layers.append((here, found.layers))


def _layered(points: Points) -> bool:
    """Whether order parameters of the layers are given: of a discrete network, or of a continuous one's series if short."""
    if points.filter.deep:
        return True
    return points.size == 1 and int(points.filter.layers(radius=points.radius)[0]) <= _SERIES
