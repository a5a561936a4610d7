"""Train a network on an instance, and measure it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._labels import labelled
from gcnlimit._memory import require
from gcnlimit._progress import counting_blocks, progress_bar
from gcnlimit._validation import check_types, tolerance
from gcnlimit._values import Array, Brief, Numbers
from gcnlimit.errors import ConvergenceError, ParameterError
from gcnlimit.filters import Filter
from gcnlimit.losses import Loss, Softmax
from gcnlimit.network import GCN
from gcnlimit.penalties import L2
from gcnlimit.performance import FullPerformance, scalar_or_array
from gcnlimit.simulation.backend import Device, backend_of
from gcnlimit.simulation.bias import best_bias, is_pinned
from gcnlimit.simulation.bounds import check_radius, check_reg, check_rounding, check_size
from gcnlimit.simulation.codes import Classes, indices_of, one_hot_basis
from gcnlimit.simulation.instance import Instance
from gcnlimit.simulation.measure import evaluate
from gcnlimit.simulation.minimise import Minimum, Training, square_targets
from gcnlimit.simulation.observation import Observation, streamed
from gcnlimit.simulation.operator import Operator
from gcnlimit.simulation.penalized import penalized
from gcnlimit.simulation.products import Products, train_by_products
from gcnlimit.simulation.rows import training_rows
from gcnlimit.simulation.size import Size, training_bytes
from gcnlimit.simulation.smooth import Slopes, at_best_bias, cross_entropy, of_margins
from gcnlimit.simulation.solvers import TOLERANCE, TrainingRows

__all__ = ["Fit", "Trained", "fit", "train", "trains_by_products"]

_PENALIZED = 1e-5  # residual of a training with a penalty that is accepted
ROWS_AT_ONCE = 1 << 26  # numbers: the training rows of several filters held together


@dataclass(frozen=True, eq=False)
class Fit(Brief):
    r"""A trained network; each field has the shape of the network's parameters, then its own.

    With :math:`C \ge 3` classes weights, outputs and bias have a last axis more, of length :math:`C - 1`, along the codes of the
    classes (Eq. 8.1); the score of class :math:`k` is :math:`h \cdot y_k` if the classes are equal.

    Parameters
    ----------
    weights
        :math:`w`, of length :math:`M`; at infinite regularization :math:`\lim r w`, up to the factor :math:`-\ell'(0)`.
    outputs
        :math:`h = g(a) X w/\sqrt N`, of length :math:`N`, on the same scale.
    bias
        What is added to the outputs: 0 for equal classes. At infinite regularization the outputs vanish beside it, and it is
        infinite for two unequal classes.
    performance
        Accuracies and losses on the labelled and on the other nodes, as far as their labels are known: NaN on the others if
        none is. Equal scores of several classes count as a coin.
    gap
        Duality gap over the objective that the training reached; 0 where the weights solve a linear system.
    """

    weights: npt.NDArray[Any]
    outputs: npt.NDArray[Any]
    bias: Numbers
    performance: FullPerformance
    gap: Numbers


class Trained(NamedTuple):
    r"""Networks trained at each of some points: weights, points x :math:`M` x :math:`(C - 1)`, outputs, bias and duality gap."""

    weights: npt.NDArray[Any]
    outputs: npt.NDArray[Any]
    bias: Array
    gap: Array


def fit(instance: Instance, gcn: GCN, *, tol: float = TOLERANCE, device: Device | None = None) -> Fit:
    r"""Train a network on an instance: minimise :math:`\sum_{i \in R} \ell(y_i h_i) + \frac r2 |w|^2`.

    With more than two classes the weights are a matrix and the loss is the cross-entropy, or the square loss with the codes of
    the classes as targets (one-hot targets give the same decision); unequal classes have a bias that is not regularized.

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
        trained = train(instance.observation, gcn, tol, device)
    performance = labelled(evaluate(instance, gcn, trained.outputs, trained.bias), instance.data, gcn)

    def shaped(values: npt.NDArray[Any]) -> Any:
        alone = values.ndim > 1 and values.shape[-1] == 1
        own = values.shape[1 : -1 if alone else None]
        return scalar_or_array(values.reshape((*gcn.shape, *own)))

    weights, outputs, bias, gap = (shaped(values) for values in trained)
    return Fit(weights, outputs, bias, performance, gap)


def train(observation: Observation, gcn: GCN, tol: float = TOLERANCE, device: Device | None = None) -> Trained:
    """Weights, outputs on all nodes, bias and duality gap of each parameter of the network, one row each."""
    if not observation.train_mask.any():
        raise ParameterError("rho is too small: no node is labelled, and a network needs labels to train on")
    if observation.classes != 2:
        gcn.squared_penalty(f"training on classes = {observation.classes}")
    place = observation.device(device)
    with (
        backend_of(place).guard(observation.nodes),
        np.errstate(all="ignore"),
    ):  # what is not finite is refused at the end
        return _train(observation, gcn, tol, place)


def _train(observation: Observation, gcn: GCN, tol: float, device: Device) -> Trained:
    apart = device != "cpu" or streamed(observation.features)
    by_products = apart and trains_by_products(gcn, observation.classes)
    operator = observation.operator(gcn.symmetrize, device if by_products else "cpu")
    filters = gcn.filter.ravel(gcn.shape)
    check_radius(filters, operator, float(observation.data.effective_signal(gcn.symmetrize)))
    check_size(filters, operator, observation.features.dtype)
    reg = np.broadcast_to(gcn.reg, gcn.shape).ravel()
    gain = np.exp(filters.log_gain(operator.symmetric)) if gcn.normalize else np.ones(reg.size)
    if by_products:
        products, codes = (
            Products.of(observation, operator, device),
            _centred_codes(observation)[observation.train_mask],
        )
        check_reg(1.0, gcn.loss, float(np.max(reg * gain**2, where=np.isfinite(reg), initial=0.0)), products.dtype)
        slopes, biased = _slopes(observation, gcn.loss), not isinstance(observation.classes, int)
        (weights, outputs, gap), signal = train_by_products(
            products, filters, slopes, reg * gain**2, codes, tol, biased=biased
        )
        bias = _biases(observation, gcn.loss, reg, outputs[:, observation.train_mask])
    else:
        weights, bias, gap = _through_rows(observation, operator, gcn, gain, tol)
        outputs, signal = _outputs(observation, operator, filters, weights)
    _check_outputs(filters, operator, weights, signal, outputs)
    if gcn.normalize and isinstance(gcn.penalty, L2):  # trained with the filter as it is, at reg in its units
        weights *= np.where(np.isinf(reg), 1.0 / gain, gain)[:, None, None].astype(weights.dtype)
        outputs *= np.where(np.isinf(reg), gain**-2, 1.0)[:, None, None].astype(outputs.dtype)
    return Trained(weights, outputs, bias, gap)


def trains_by_products(gcn: GCN, classes: Classes) -> bool:
    """Whether products with the features suffice to train, where the training rows are not to be stored."""
    two = classes == 2 if isinstance(classes, int) else len(classes) == 2
    equal = isinstance(classes, int) and isinstance(gcn.loss, Softmax)
    solved = equal or gcn.loss.training == "ridge" or (gcn.loss.training == "logistic" and two)
    return isinstance(gcn.penalty, L2) and (
        solved or bool(np.isinf(gcn.reg).all() and not is_pinned(gcn.loss, classes))
    )


def _slopes(observation: Observation, loss: Loss) -> Slopes | None:
    """Smooth loss of the labelled nodes; None for the square loss."""
    if loss.training == "ridge":
        return None
    if isinstance(loss, Softmax):
        kinds = indices_of(observation.train_labels[observation.train_mask], observation.classes)
        return cross_entropy(kinds, one_hot_basis(observation.classes))
    slopes = of_margins(loss, _signs(observation))
    return slopes if isinstance(observation.classes, int) else at_best_bias(slopes, partial(best_bias, slopes))


def _signs(observation: Observation) -> Array:
    """Labels of the labelled nodes of two classes, as a column of signs."""
    return np.asarray(np.sign(observation.train_codes[observation.train_mask]))


def _biases(observation: Observation, loss: Loss, reg: Array, outputs: npt.NDArray[Any]) -> Array:
    """Free bias of each network, given its outputs on the labelled nodes; 0 for equal classes."""
    bias = np.zeros((reg.size, outputs.shape[2]))
    if isinstance(observation.classes, int):
        return bias
    bias[:] = _limiting_bias(observation)
    finite = np.flatnonzero(np.isfinite(reg))
    if loss.training == "ridge":
        kinds = indices_of(observation.train_labels[observation.train_mask], observation.classes)
        bias[finite] = square_targets(observation.classes)[kinds].mean(axis=0) - outputs[finite].mean(axis=1)
    else:
        slopes = of_margins(loss, _signs(observation))
        for k in finite:
            bias[k] = best_bias(slopes, np.asarray(outputs[k], float))
    return bias


def _through_rows(observation: Observation, operator: Operator, gcn: GCN, gain: Array, tol: float) -> Minimum:
    """Weights, bias and gap of each point, from the training rows of its filter."""
    filters, reg = gcn.filter.ravel(gcn.shape), np.broadcast_to(gcn.reg, gcn.shape).ravel()
    width, directions = observation.features.shape[1], observation.train_codes.shape[1]
    weights = np.empty((reg.size, width, directions), observation.features.dtype)
    bias, gap, infinite = np.zeros((reg.size, directions)), np.zeros(reg.size), np.isinf(reg)
    explicit = infinite & (not is_pinned(gcn.loss, observation.classes))
    if explicit.any():
        weights[explicit] = _aligned(observation, operator, filters[explicit])
    kinds = indices_of(observation.train_labels[observation.train_mask], observation.classes)
    for where, F in _by_filter(observation, operator, filters, np.flatnonzero(~explicit)):
        strong = np.where(infinite[where], _strong(F), 1.0)
        scaled = np.where(infinite[where], strong, reg[where] * gain[where] ** 2)
        check_reg(TrainingRows(F).size, gcn.loss, float(np.max(scaled)), weights.dtype)
        if isinstance(gcn.penalty, L2):
            task = Training(F, kinds, observation.classes, gcn.loss)
            weights[where], bias[where], gap[where] = task.minimise(scaled, tol)
            weights[where] *= strong[:, None, None]
        else:
            for k in where:
                signed = np.where(kinds == 0, 1.0, -1.0)[:, None] * F
                weights[k, :, 0], gap[k] = _penalized(signed / gain[k], gcn, float(reg[k]), tol)
    bias[infinite] = _limiting_bias(observation)
    return Minimum(weights, bias, gap)


def _strong(F: Array) -> float:
    """Regularization at which no pull of a size up to 1 on each training row gives outputs above a thousandth."""
    norms = np.linalg.norm(F, axis=1)
    return float(1e3 * np.max(norms) * np.sum(norms)) or 1.0


def _outputs(
    observation: Observation, operator: Operator, filters: Filter, weights: npt.NDArray[Any]
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    r"""Outputs :math:`g(a) X w/\sqrt N` on all nodes, points x nodes x directions, and :math:`Xw/\sqrt N`."""
    points, width, directions = weights.shape
    signal = observation.features @ np.ascontiguousarray(np.moveaxis(weights, 1, 0).reshape(width, -1))
    signal /= np.sqrt(observation.nodes).astype(signal.dtype)
    each = filters[np.repeat(np.arange(points), directions)]
    outputs = each.apply_each(operator, signal, radius=operator.radius)
    shape = (observation.nodes, points, directions)
    return np.ascontiguousarray(np.moveaxis(outputs.reshape(shape), 0, 1)), np.moveaxis(signal.reshape(shape), 0, 1)


def _check_outputs(
    filters: Filter, operator: Operator, weights: npt.NDArray[Any], signal: npt.NDArray[Any], outputs: npt.NDArray[Any]
) -> None:
    """Refuse weights and outputs that are not finite, or lost in rounding."""
    if not (np.isfinite(weights).all() and np.isfinite(outputs).all()):
        raise ParameterError(
            f"the outputs exceed the numbers of type {outputs.dtype}; scale the features to variance 1, raise reg, "
            "take smaller parameters of the filter, or float64"
        )
    points, nodes, directions = outputs.shape
    each = filters[np.repeat(np.arange(points), directions)]
    check_rounding(each, operator, *(np.moveaxis(block, 1, 0).reshape(nodes, -1) for block in (signal, outputs)))


def _penalized(Z: Array, gcn: GCN, reg: float, tol: float) -> tuple[Array, float]:
    """Weights with any penalty, and the residual of their training."""
    weights, gap = penalized(Z, gcn.loss, gcn.penalty, reg, max(tol, 1e-8))
    if not gap <= _PENALIZED:
        raise ConvergenceError(f"the training at reg = {reg:g} stopped at a residual of {gap:.1e}; raise reg")
    return weights, gap


def _check_memory(observation: Observation, gcn: GCN) -> None:
    X, labelled = observation.features, int(observation.train_mask.sum())
    dtype, directions = np.dtype(X.dtype.name), observation.data.fractions.size - 1
    size = Size(observation.nodes, X.shape[1], observation.degree, streamed(X), dtype, directions=directions)
    rows = not streamed(X) or not trains_by_products(gcn, observation.classes)
    needed = training_bytes(size, labelled, math.prod(gcn.shape), rows and bool(np.isfinite(gcn.reg).any()))
    require(
        f"training on {labelled} nodes with {X.shape[1]} features each",
        needed,
        "take fewer labelled nodes or parameters",
    )


def _centred_codes(observation: Observation) -> npt.NDArray[Any]:
    """Codes of the labelled nodes; the free bias of unequal classes takes their mean away."""
    codes, mask = observation.train_codes, observation.train_mask
    centred = codes if isinstance(observation.classes, int) else codes - mask[:, None] * codes[mask].mean(axis=0)
    return np.ascontiguousarray(centred.astype(observation.features.dtype))


def _aligned(observation: Observation, operator: Operator, filters: Filter) -> npt.NDArray[Any]:
    r"""Weights at infinite regularization, :math:`X^T g(a)^T R Y/\sqrt N`, one matrix for each filter."""
    codes = _centred_codes(observation)
    propagated = filters.apply(operator.T, codes, radius=operator.radius)
    columns = np.ascontiguousarray(np.moveaxis(propagated, 1, 0).reshape(observation.nodes, -1))
    aligned = observation.features.T @ columns / math.sqrt(observation.nodes)
    return np.moveaxis(aligned.reshape(-1, *filters.shape, codes.shape[1]), 0, 1)


def _limiting_bias(observation: Observation) -> float:
    """Bias over the outputs as reg grows: of two unequal classes it decides for the one of more labelled nodes."""
    if isinstance(observation.classes, int) or len(observation.classes) > 2:
        return 0.0
    codes = observation.train_codes[:, 0]
    excess = np.count_nonzero(codes > 0.0) - np.count_nonzero(codes < 0.0)
    return float(np.copysign(np.inf, excess)) if excess else 0.0


def _by_filter(
    observation: Observation, operator: Operator, filters: Filter, points: npt.NDArray[np.intp]
) -> Iterator[tuple[npt.NDArray[np.intp], Array]]:
    """Training rows of each distinct filter, and the points that use it."""
    if not points.size:
        return
    values = filters.values[points].reshape(points.size, -1)
    _, first, which = np.unique(values, axis=0, return_index=True, return_inverse=True)
    which = which.reshape(-1)
    at_once = max(1, ROWS_AT_ONCE // (int(observation.train_mask.sum()) * observation.features.shape[1]))
    for start in range(0, first.size, at_once):
        chunk = first[start : start + at_once]
        for k, F in enumerate(training_rows(observation, operator, filters[points[chunk]]), start=start):
            yield points[which == k], np.asarray(F, float)
