"""Train a network on an instance, and measure it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError

from gcnlimit._labels import labelled
from gcnlimit._memory import require
from gcnlimit._progress import counting_blocks, progress_bar
from gcnlimit._validation import check_types, tolerance
from gcnlimit._values import Array, Brief
from gcnlimit.errors import ConvergenceError, ParameterError
from gcnlimit.filters import Filter
from gcnlimit.losses import Loss
from gcnlimit.network import GCN
from gcnlimit.penalties import L2
from gcnlimit.performance import Performance, scalar_or_array
from gcnlimit.simulation.backend import Device
from gcnlimit.simulation.bounds import check_radius, check_reg, check_rounding, check_size
from gcnlimit.simulation.instance import Instance
from gcnlimit.simulation.measure import evaluate
from gcnlimit.simulation.observation import Observation, streamed
from gcnlimit.simulation.operator import Operator
from gcnlimit.simulation.penalized import penalized
from gcnlimit.simulation.products import Products, train_by_products
from gcnlimit.simulation.rows import training_rows
from gcnlimit.simulation.size import Size, training_bytes
from gcnlimit.simulation.solvers import TOLERANCE, TrainingRows

__all__ = ["Fit", "fit", "train"]

_PENALIZED = 1e-5  # residual of a training with a penalty that is accepted
ROWS_AT_ONCE = 1 << 26  # numbers: the training rows of several filters held together


@dataclass(frozen=True, eq=False)
class Fit(Brief):
    r"""A trained network; each field has the shape of the network's parameters, then its own.

    Parameters
    ----------
    weights
        :math:`w`, of length :math:`M`; at infinite regularization :math:`\lim r w`, up to the factor :math:`-\ell'(0)`.
    outputs
        :math:`h = g(a) X w/\sqrt N`, of length :math:`N`, on the same scale.
    performance
        Accuracies and losses on the labelled and on the other nodes, as far as their labels are known: NaN on the others if
        none is. An output of exactly 0 counts as half right.
    gap
        Duality gap over the objective that the training reached; 0 where the weights solve a linear system.
    """

    weights: npt.NDArray[Any]
    outputs: npt.NDArray[Any]
    performance: Performance
    gap: float | Array


def fit(instance: Instance, gcn: GCN, *, tol: float = TOLERANCE, device: Device | None = None) -> Fit:
    r"""Train a network on an instance: minimise :math:`\sum_{i \in R} \ell(y_i h_i) + \frac r2 |w|^2`.

    The parameters of the network may be arrays: on one instance, they share the propagation through the graph, and the
    regularizations of one filter share the Gram matrix, or for the square loss the Krylov space that stands for it.
    The training sees the labels of the labelled nodes only.

    Parameters
    ----------
    instance, gcn
        The instance and the network.
    tol
        How far from optimal the weights may be: for the square loss the residual of the linear system, relative to its
        right-hand side; for the logistic loss the norm of the gradient, relative to that at :math:`w = 0`; for any
        other convex loss the duality gap, relative to the objective. Infinite regularization is explicit. Streamed features in
        single precision allow :math:`2 \cdot 10^{-6}` for the first two.
    device
        Where to compute: ``"cpu"``, or ``"cuda"`` for a graphics card (PyTorch, extra ``gpu``); by default where the features
        were drawn.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), nodes=1000, degree=30, seed=0)
    >>> f = gl.fit(i, gl.GCN(gl.Residual(c=[1.0, 1.0]), loss="square", reg=[0.1, 10.0], symmetrize=True))
    >>> f.weights.shape, f.outputs.shape, f.performance.test_accuracy.shape
    ((2, 250), (2, 1000), (2,))
    >>> bool(f.performance.train_accuracy[0] > 0.99)
    True
    """
    check_types("fit", instance=(instance, Instance), gcn=(gcn, GCN))
    tol = tolerance("tol", tol)
    _check_memory(instance.observation, gcn)
    X = instance.features
    total = X.tiles if streamed(X) and np.isinf(gcn.reg).all() else None
    with progress_bar("training", total if streamed(X) else 1, unit="blocks") as bar, counting_blocks(bar.advance):
        weights, outputs, gap = train(instance.observation, gcn, tol, device)
    performance = labelled(evaluate(instance, gcn, outputs), instance.data, gcn)
    shape = gcn.shape
    return Fit(
        weights.reshape(*shape, -1), outputs.reshape(*shape, -1), performance, scalar_or_array(gap.reshape(shape))
    )


def train(
    observation: Observation, gcn: GCN, tol: float = TOLERANCE, device: Device | None = None
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Array]:
    """Weights, outputs on all nodes, and duality gap of each parameter of the network, one row each."""
    if not observation.train_mask.any():
        raise ParameterError("rho is too small: no node is labelled, and a network needs labels to train on")
    with np.errstate(all="ignore"):  # what is not finite is refused at the end
        return _train(observation, gcn, tol, observation.device(device))


def _train(
    observation: Observation, gcn: GCN, tol: float, device: Device
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Array]:
    apart = device != "cpu" or streamed(observation.features)  # the training rows are not to be stored
    by_products = apart and isinstance(gcn.penalty, L2) and (gcn.loss.training != "convex" or np.isinf(gcn.reg).all())
    operator = observation.operator(gcn.symmetrize, device if by_products else "cpu")
    filters = gcn.filter.ravel(gcn.shape)
    check_radius(filters, operator, float(observation.data.effective_signal(gcn.symmetrize)))
    check_size(filters, operator, observation.features.dtype)
    reg = np.broadcast_to(gcn.reg, gcn.shape).ravel()
    gain = np.exp(filters.log_gain(operator.symmetric)) if gcn.normalize else np.ones(reg.size)
    gcn_reg, reg = reg, reg * gain**2
    weights = np.empty((reg.size, observation.features.shape[1]), observation.features.dtype)
    gap = np.zeros(reg.size)
    explicit = np.isinf(reg)
    if by_products:
        products = Products.of(observation, operator, device)
        codes = observation.train_labels[observation.train_mask][:, None]
        trained, signal = train_by_products(products, filters, gcn.loss, reg, codes, tol)
        weights, outputs, gap = trained.weights[..., 0], trained.outputs[..., 0].T, trained.gap
        return _checked(filters, operator, signal[..., 0].T, weights, outputs, gap, gcn, gain)
    if explicit.any():
        weights[explicit] = _aligned(observation, operator, filters[explicit])
    for where, Z in _by_filter(observation, operator, filters, np.flatnonzero(~explicit)):
        rows = TrainingRows(Z)
        check_reg(rows, gcn.loss, float(np.max(reg[where])), weights.dtype)
        if isinstance(gcn.penalty, L2):
            weights[where], gap[where] = _path(rows, gcn.loss, reg[where], tol)
        else:
            for k in where:
                weights[k], gap[k] = penalized(Z / gain[k], gcn.loss, gcn.penalty, float(gcn_reg[k]), max(tol, 1e-8))
                if not gap[k] <= _PENALIZED:
                    raise ConvergenceError(
                        f"the training at reg = {gcn_reg[k]:g} stopped at a residual of {gap[k]:.1e}; raise reg"
                    )
    signal = observation.features @ np.ascontiguousarray(weights.T)
    signal /= np.sqrt(observation.nodes).astype(signal.dtype)
    outputs = filters.apply_each(operator, signal, radius=operator.radius)
    return _checked(filters, operator, signal, weights, outputs, gap, gcn, gain)


def _checked(  # noqa: PLR0917
    filters: Filter,
    operator: Operator,
    signal: npt.NDArray[Any],
    weights: npt.NDArray[Any],
    outputs: npt.NDArray[Any],
    gap: Array,
    gcn: GCN,
    gain: Array,
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Array]:
    """Weights and outputs that are numbers, in the units of a normalized filter."""
    explicit = np.isinf(np.broadcast_to(gcn.reg, gcn.shape).ravel())
    if not (np.isfinite(weights).all() and np.isfinite(outputs).all()):
        raise ParameterError(
            f"the outputs exceed the numbers of type {outputs.dtype}; scale the features to variance 1, raise reg, "
            "take smaller parameters of the filter, or float64"
        )
    check_rounding(filters, operator, signal, outputs)
    if gcn.normalize and isinstance(gcn.penalty, L2):  # trained with the filter as it is, at reg in its units
        weights *= np.where(explicit, 1.0 / gain, gain)[:, None].astype(weights.dtype)
        outputs *= np.where(explicit, gain**-2, 1.0).astype(outputs.dtype)
    return weights, np.ascontiguousarray(outputs.T), gap


def _check_memory(observation: Observation, gcn: GCN) -> None:
    X, labelled = observation.features, int(observation.train_mask.sum())
    size = Size(observation.nodes, X.shape[1], observation.degree, streamed(X), np.dtype(X.dtype.name))
    needed = training_bytes(size, labelled, math.prod(gcn.shape), bool(np.isfinite(gcn.reg).any()))
    require(
        f"training on {labelled} nodes with {X.shape[1]} features each",
        needed,
        "take fewer labelled nodes or parameters",
    )


def _aligned(observation: Observation, operator: Operator, filters: Filter) -> npt.NDArray[Any]:
    r"""Weights at infinite regularization, :math:`X^T g(a)^T R y/\sqrt N`, one row for each filter."""
    labels = observation.train_labels.astype(observation.features.dtype)
    propagated = filters.apply(operator.T, labels, radius=operator.radius)
    aligned = observation.features.T @ np.ascontiguousarray(propagated.T)
    return np.asarray(aligned.T / math.sqrt(observation.nodes))


def _by_filter(
    observation: Observation, operator: Operator, filters: Filter, points: npt.NDArray[np.intp]
) -> Iterator[tuple[npt.NDArray[np.intp], Array]]:
    """Signed training rows of each distinct filter, and the points that use it."""
    if not points.size:
        return
    values = filters.values[points].reshape(points.size, -1)
    _, first, which = np.unique(values, axis=0, return_index=True, return_inverse=True)
    which = which.reshape(-1)
    labels = observation.train_labels[observation.train_mask]
    at_once = max(1, ROWS_AT_ONCE // (labels.size * observation.features.shape[1]))
    for start in range(0, first.size, at_once):
        chunk = first[start : start + at_once]
        for k, F in enumerate(training_rows(observation, operator, filters[points[chunk]]), start=start):
            yield points[which == k], np.asarray(labels[:, None] * F, float)


def _path(rows: TrainingRows, loss: Loss, reg: Array, tol: float) -> tuple[Array, Array]:
    """Weights and gaps for each regularization; from the strongest to the weakest, each starts where the last ended."""
    if loss.training == "ridge":
        return rows.ridge(reg, tol), np.zeros(reg.size)
    weights, gap, start = np.empty((reg.size, rows.Z.shape[1])), np.empty(reg.size), None
    for k in np.argsort(-reg):
        try:
            (weights[k], gap[k]), start = rows.solve(loss, float(reg[k]), start, tol)
        except (LinAlgError, ValueError):  # what overflowed cannot be factorised
            gap[k] = np.nan
        if not gap[k] <= max(1e-6, tol):
            raise ConvergenceError(
                f"the training at reg = {reg[k]:g} stopped at a duality gap of {gap[k]:.1e} of the objective; raise reg"
            )
    return weights, gap
