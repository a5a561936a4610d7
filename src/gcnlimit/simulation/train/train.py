"""Train a network on what is observed of an instance: from its training rows, or by products alone."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.classes import Classes
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Filter
from gcnlimit.losses import Loss
from gcnlimit.losses.base import Form
from gcnlimit.network import GCN
from gcnlimit.penalties import L2
from gcnlimit.simulation.backend import Device, backend_of
from gcnlimit.simulation.data.observation import Observation, streamed
from gcnlimit.simulation.data.operator import Operator
from gcnlimit.simulation.train.descent import CrossEntropy
from gcnlimit.simulation.train.minimise import Minimum, Training, penalized
from gcnlimit.simulation.train.products import Products, rows_by_filter, train_by_products
from gcnlimit.simulation.train.solvers import TOLERANCE, TrainingRows


def check_reg(size: float, loss: Loss, reg: float, dtype: np.dtype[Any]) -> None:
    r"""Refuse a finite reg at which weights :math:`\sim |Z|/r` and outputs :math:`\sim |Z|^2/r`, or their squares, underflow.

    `size` is the mean square norm of the training rows.
    """
    least = (
        np.finfo(dtype).tiny
        if loss.form is Form.CODES
        else max(float(np.finfo(dtype).tiny), 1e-152)
    )
    if size and reg and min(size, math.sqrt(size)) / reg < least:
        raise ParameterError(
            f"reg = {reg:g} is too large for numbers of type {dtype}: the weights vanish; write reg=math.inf, which is its limit"
        )


class Trained(NamedTuple):
    r"""Networks trained at each of some points: weights, points x :math:`M` x :math:`(C - 1)`, outputs, bias and duality gap."""

    weights: npt.NDArray[Any]
    outputs: npt.NDArray[Any]
    bias: Array
    gap: Array


def train(
    observation: Observation, gcn: GCN, tol: float = TOLERANCE, device: Device | None = None
) -> Trained:
    """Weights, outputs on all nodes, bias and duality gap of each parameter of the network, one row each."""
    if not observation.train_mask.any():
        raise ParameterError(
            "rho is too small: no node is labelled, and a network needs labels to train on"
        )
    if not observation.classes.two:
        gcn.require_l2(f"training on classes = {observation.classes}")
    _check_classes(observation, gcn)
    gcn.require_gain(observation.data)
    place = observation.device(device)
    with (
        backend_of(place).guard(observation.nodes),
        np.errstate(all="ignore"),
    ):  # infinities are refused at the end
        trained = _train(observation, gcn, tol, place)
        if gcn.test_filter is None:
            return trained
        read = read_outputs(observation, gcn, trained.weights, observation.nodes)
        return trained._replace(
            outputs=np.where(observation.train_mask[:, None], trained.outputs, read)
        )


def _check_classes(observation: Observation, gcn: GCN) -> None:
    """Refuse a free bias that has no minimum, since a class has no labelled node."""
    free = (
        observation.biased and gcn.loss.form is not Form.CODES and bool(np.isfinite(gcn.reg).any())
    )
    if free and np.unique(observation.train_class_index).size < observation.classes.count:
        raise ParameterError(
            "a class has no labelled node, and the free bias of unequal classes has no minimum; label more nodes, or take "
            "loss='square'"
        )


def read_outputs(
    observation: Observation, gcn: GCN, weights: npt.NDArray[Any], nodes: int
) -> npt.NDArray[Any]:
    r"""Outputs :math:`g'(a') X' w/\sqrt N` through the test filter on any graph, of weights trained on `nodes` nodes."""
    operator = observation.operator(gcn.symmetrize, normalization=gcn.normalization)
    filters = gcn.read_filter.ravel(gcn.shape)
    filters.check_radius(operator.radius or 0.0)
    outputs, signal = _outputs(observation, operator, filters, weights)
    _check_outputs(filters, operator, weights, signal, outputs)
    gain = np.exp(filters.log_gain(operator.symmetric)) if gcn.normalize else np.ones(len(outputs))
    return np.asarray(
        outputs * (math.sqrt(observation.nodes / nodes) / gain)[:, None, None].astype(outputs.dtype)
    )


def _train(observation: Observation, gcn: GCN, tol: float, device: Device) -> Trained:
    apart = device != "cpu" or streamed(observation.features)
    by_products = apart and _trains_by_products(gcn, observation.classes)
    operator = observation.operator(
        gcn.symmetrize, device if by_products else "cpu", gcn.normalization
    )
    filters = gcn.filter.ravel(gcn.shape)
    filters.check_radius(operator.radius or 0.0)
    reg = np.broadcast_to(gcn.reg, gcn.shape).ravel()
    gain = np.exp(filters.log_gain(operator.symmetric)) if gcn.normalize else np.ones(reg.size)
    if by_products:
        products = Products.of(observation, operator, device)
        codes = _centred_codes(observation)[observation.train_mask]
        check_reg(
            1.0,
            gcn.loss,
            float(np.max(reg * gain**2, where=np.isfinite(reg), initial=0.0)),
            products.dtype,
        )
        entropy = CrossEntropy.of(gcn.loss, observation.train_class_index, observation.classes)
        weights, outputs, signal, gap = train_by_products(
            products, filters, entropy, reg * gain**2, codes, tol, biased=observation.biased
        )
        bias = _biases(observation, gcn.loss, entropy, reg, outputs[:, observation.train_mask])
    else:
        weights, bias, gap = _through_rows(observation, operator, gcn, gain, tol)
        outputs, signal = _outputs(observation, operator, filters, weights)
    _check_outputs(filters, operator, weights, signal, outputs)
    if gcn.normalize and isinstance(
        gcn.penalty, L2
    ):  # trained with the filter as it is, at reg in its units
        weights *= np.where(np.isinf(reg), 1.0 / gain, gain)[:, None, None].astype(weights.dtype)
        outputs *= np.where(np.isinf(reg), gain**-2, 1.0)[:, None, None].astype(outputs.dtype)
    return Trained(weights, outputs, bias, gap)


def holds_rows(gcn: GCN, classes: Classes, streamed: bool) -> bool:
    """Whether the training rows are held: at finite regularization, unless products with streamed features suffice."""
    return bool(np.isfinite(gcn.reg).any()) and not (streamed and _trains_by_products(gcn, classes))


def _trains_by_products(gcn: GCN, classes: Classes) -> bool:
    """Whether products with the features suffice to train, where the training rows are not to be stored."""
    loss = gcn.loss.on(classes)
    smooth = loss.form is Form.LOGITS or (gcn.loss.has_descent and classes.count == 2)
    explicit = bool(np.isinf(gcn.reg).all()) and not loss.is_pinned
    return isinstance(gcn.penalty, L2) and (smooth or loss.form is Form.CODES or explicit)


def _biases(
    observation: Observation,
    loss: Loss,
    entropy: CrossEntropy | None,
    reg: Array,
    outputs: npt.NDArray[Any],
) -> Array:
    """Free bias of each network, given its outputs on the labelled nodes; 0 for equal classes."""
    bias = np.full((reg.size, outputs.shape[2]), _limiting_bias(observation))
    for k in np.flatnonzero(np.isfinite(reg)) if observation.biased else ():
        if entropy is None:
            targets = loss.on(observation.classes).targets[observation.train_class_index]
            bias[k] = targets.mean(axis=0) - outputs[k].mean(axis=0)
        else:
            bias[k] = entropy.bias(np.asarray(outputs[k], float))
    return bias


def _through_rows(
    observation: Observation, operator: Operator, gcn: GCN, gain: Array, tol: float
) -> Minimum:
    """Weights, bias and gap of each point, from the training rows of its filter."""
    filters = gcn.filter.ravel(gcn.shape)
    reg = np.broadcast_to(gcn.reg, gcn.shape).ravel()
    width, directions = observation.features.shape[1], observation.train_codes.shape[1]
    weights = np.empty((reg.size, width, directions), observation.features.dtype)
    bias = np.zeros((reg.size, directions))
    gap = np.zeros(reg.size)
    infinite = np.isinf(reg)
    explicit = infinite & (not gcn.loss.on(observation.classes).is_pinned)
    if explicit.any():
        weights[explicit] = _aligned(observation, operator, filters[explicit])
    for where, F in rows_by_filter(observation, operator, filters, np.flatnonzero(~explicit)):
        strong = np.where(infinite[where], _strong(F), 1.0)
        scaled = np.where(infinite[where], strong, reg[where] * gain[where] ** 2)
        check_reg(TrainingRows(F).size, gcn.loss, float(np.max(scaled)), weights.dtype)
        task = Training(F, observation.train_class_index, observation.classes, gcn.loss)
        if isinstance(gcn.penalty, L2):
            weights[where], bias[where], gap[where] = task.minimise(scaled, tol)
            weights[where] *= strong[:, None, None]
        else:
            for k in where:
                found = penalized(
                    task.signed / gain[k], gcn.loss, gcn.penalty, float(reg[k]), max(tol, 1e-8)
                )
                weights[k, :, 0], gap[k] = found
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
    signal = observation.features @ np.ascontiguousarray(
        np.moveaxis(weights, 1, 0).reshape(width, -1)
    )
    signal /= np.sqrt(observation.nodes).astype(signal.dtype)
    each = filters[np.repeat(np.arange(points), directions)]
    outputs = each.apply_each(operator, signal, radius=operator.radius)
    shape = (observation.nodes, points, directions)
    return np.ascontiguousarray(np.moveaxis(outputs.reshape(shape), 0, 1)), np.moveaxis(
        signal.reshape(shape), 0, 1
    )


def _check_outputs(
    filters: Filter,
    operator: Operator,
    weights: npt.NDArray[Any],
    signal: npt.NDArray[Any],
    outputs: npt.NDArray[Any],
) -> None:
    r"""Refuse what is not finite, and outputs that are lost in the rounding of the filter's series.

    Rounding is a part of :math:`\sup |g|` on :math:`[-R, R]`: the spectrum may reach one end of that interval only, and the
    filter be huge at the other.
    """
    if not (np.isfinite(weights).all() and np.isfinite(outputs).all()):
        raise ParameterError(
            f"the outputs exceed the numbers of type {outputs.dtype}; scale the features to variance 1, raise reg, take fewer "
            "layers or smaller parameters of the filter (many layers with c = K/t are Diffusion(t)), or float64"
        )
    radius = operator.radius or operator.growth
    relative = 1e-6 if outputs.dtype == np.float32 else 1e-12 if operator.symmetric else 1e-15
    sizes = filters.normalized(np.linspace(-radius, radius, 65))[1]
    before, after = (
        np.linalg.norm(block.astype(np.float64), axis=1) for block in (signal, outputs)
    )
    if np.any((np.log(relative * before) + sizes[:, None] > np.log(1e-3 * after)) & (after > 0.0)):
        raise ParameterError(
            f"the filter reaches 1e{np.max(sizes) / math.log(10):.0f} on [-{radius:.3g}, {radius:.3g}], where the "
            f"outputs are lost in rounding errors of type {outputs.dtype}; take fewer layers or smaller parameters"
        )


def _centred_codes(observation: Observation) -> npt.NDArray[Any]:
    """Codes of the labelled nodes; the free bias of unequal classes takes their mean away."""
    codes = observation.train_codes
    mask = observation.train_mask
    centred = codes - mask[:, None] * codes[mask].mean(axis=0) if observation.biased else codes
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
    if not observation.biased or observation.train_codes.shape[1] > 1:
        return 0.0
    codes = observation.train_codes[:, 0]
    excess = np.count_nonzero(codes > 0.0) - np.count_nonzero(codes < 0.0)
    return float(np.copysign(np.inf, excess)) if excess else 0.0
