"""Train a network on what is observed of an instance: from its training rows, or by products alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gcnlimit import scope
from gcnlimit._values import Array
from gcnlimit.classes import Classes
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Filter
from gcnlimit.losses import Loss
from gcnlimit.losses.base import Form
from gcnlimit.network import GCN
from gcnlimit.penalties import L2
from gcnlimit.simulation.backend import Device, backend_of
from gcnlimit.simulation.data.features import Block, streamed
from gcnlimit.simulation.data.observation import Observation
from gcnlimit.simulation.data.operator import Operator
from gcnlimit.simulation.train.descent import CrossEntropy
from gcnlimit.simulation.train.minimize import TrainingTask
from gcnlimit.simulation.train.penalized import penalized
from gcnlimit.simulation.train.products import Products, TrainingByProducts, rows_by_filter
from gcnlimit.simulation.train.solvers import TOLERANCE, TrainingRows
from gcnlimit.training import GradientDescent, Training


def check_reg(size: float, loss: Loss, reg: float, dtype: np.dtype[Any]) -> None:
    r"""Refuse a reg at which weights :math:`|Z|/r`, outputs :math:`|Z|^2/r` or squares underflow; `size` is :math:`|Z|^2`."""
    tiny = float(np.finfo(dtype).tiny)
    least = tiny if loss.form is Form.CODES else max(tiny, 1e-152)
    if size and reg and min(size, math.sqrt(size)) / reg < least:
        vanish = f"reg = {reg:g} is too large for numbers of type {dtype}: the weights vanish"
        raise ParameterError(f"{vanish}; write reg=math.inf, which is its limit")


class TrainedNetworks(NamedTuple):
    r"""Networks trained at each of some points: weights, points x :math:`M` x :math:`(C - 1)`, outputs, bias and duality gap."""

    weights: Block
    outputs: Block
    bias: Array
    gap: Array


def train(
    observation: Observation, gcn: GCN, tol: float = TOLERANCE, device: Device | None = None
) -> TrainedNetworks:
    """Weights, outputs on all nodes, bias and duality gap of each parameter of the network, one row each."""
    if not observation.train_mask.any():
        raise ParameterError("rho is too small: no node is labelled to train on; raise rho")
    scope.check("simulate or fit", observation.data, gcn)
    # without a node of one class, a bias towards the others lowers the loss for ever
    free = observation.biased and gcn.loss.form is not Form.CODES and np.isfinite(gcn.reg).any()
    if free and np.unique(observation.train_class_index).size < observation.classes.count:
        reason = "a class has no labelled node, and the free bias of unequal classes no minimum"
        raise ParameterError(f"{reason}; label more nodes, or take loss='square'")
    place = observation.device(device)
    # infinities are refused at the end
    with backend_of(place).guard(observation.nodes), np.errstate(all="ignore"):
        # training rows are held in the memory of the machine: neither on a device nor streamed
        apart = place != "cpu" or streamed(observation.features)
        if apart and _by_products(gcn, observation.classes):
            trained = _Networks.of(observation, gcn, gcn.filter, place).through_products(tol, place)
        else:
            trained = _Networks.of(observation, gcn, gcn.filter).through_rows(tol)
        if gcn.test_filter is None:
            return trained
        read = read_outputs(observation, gcn, trained.weights, observation.nodes)
        outputs = np.where(observation.train_mask[:, None], trained.outputs, read)
        return trained._replace(outputs=outputs)


def read_outputs(observation: Observation, gcn: GCN, weights: Block, nodes: int) -> Block:
    r"""Outputs :math:`g'(a') X' w/\sqrt N` through the test filter on any graph, of weights trained on `nodes` nodes."""
    networks = _Networks.of(observation, gcn, gcn.read_filter)
    outputs = networks.outputs(weights)
    scale = math.sqrt(observation.nodes / nodes) / networks.gain
    return np.asarray(outputs * scale[:, None, None].astype(outputs.dtype))


def holds_rows(gcn: GCN, classes: Classes, streamed: bool) -> bool:
    """Whether the training rows are held: at finite regularization, unless products with streamed features suffice."""
    return bool(np.isfinite(gcn.reg).any()) and not (streamed and _by_products(gcn, classes))


def _by_products(gcn: GCN, classes: Classes) -> bool:
    """Whether products with the features suffice to train, where the training rows are not to be stored."""
    loss = gcn.loss.on(classes)
    smooth = loss.form is Form.LOGITS or (gcn.loss.has_descent and classes.count == 2)
    explicit = bool(np.isinf(gcn.reg).all()) and not loss.is_pinned
    return isinstance(gcn.penalty, L2) and (smooth or loss.form is Form.CODES or explicit)


@dataclass(frozen=True, eq=False)
class _Networks:
    """Networks on an observation: at each point a filter with its gain, 1 unless it is normalized, and `reg`."""

    observation: Observation
    gcn: GCN
    operator: Operator
    filters: Filter
    gain: Array
    reg: Array
    training: Training | None

    @staticmethod
    def of(observation: Observation, gcn: GCN, filter: Filter, device: Device = "cpu") -> _Networks:
        """Networks with that filter, if it is defined on the spectrum of the operator."""
        operator = observation.operator(gcn.symmetrize, device, gcn.normalization)
        filters = filter.ravel(gcn.shape)
        filters.check_radius(operator.radius or 0.0)
        reg = np.broadcast_to(gcn.reg, gcn.shape).ravel()
        gain = np.exp(filters.log_gain(operator.symmetric)) if gcn.normalize else np.ones(reg.size)
        training = gcn.training
        if training is not None:
            training = training.ravel(gcn.shape).in_units(gain**-2.0)
        return _Networks(observation, gcn, operator, filters, gain, reg, training)

    def through_products(self, tol: float, device: Device) -> TrainedNetworks:
        """Networks trained by products with the features alone."""
        seen = self.observation
        loss = self.gcn.loss
        products = Products(seen, self.operator, device)
        codes = self._centred_codes()[seen.train_mask]
        reg = self.reg * self.gain**2
        largest = float(np.max(reg, where=np.isfinite(reg), initial=0.0))
        check_reg(1.0, loss, largest, products.dtype)
        entropy = CrossEntropy.of(loss, seen.train_class_index, seen.classes)
        problem = self.filters, entropy, reg, codes
        task = TrainingByProducts(products, *problem, tol, seen.biased, self.training)
        weights, outputs, signal, gap = task.train()
        self._check_outputs(weights, signal, outputs)

        bias = np.full((reg.size, codes.shape[1]), self._limiting_bias())
        for k in np.flatnonzero(np.isfinite(self.reg)) if seen.biased else ():
            h = outputs[k, seen.train_mask]
            if entropy is None:
                targets = loss.on(seen.classes).targets[seen.train_class_index]
                bias[k] = targets.mean(axis=0) - h.mean(axis=0)
            else:
                bias[k] = entropy.bias(np.asarray(h, float))
        return self._normalized(TrainedNetworks(weights, outputs, bias, gap))

    def through_rows(self, tol: float) -> TrainedNetworks:
        """Networks trained on the training rows of each filter."""
        seen = self.observation
        loss = self.gcn.loss
        penalty = self.gcn.penalty
        points = self.reg.size
        directions = seen.train_codes.shape[1]
        weights = np.empty((points, seen.features.shape[1], directions), seen.features.dtype)
        bias = np.zeros((points, directions))
        gap = np.zeros(points)
        infinite = np.isinf(self.reg)
        explicit = infinite & (not loss.on(seen.classes).is_pinned)
        # where the loss is linear in vanishing outputs, its weights are one product
        if explicit.any():
            weights[explicit] = self._aligned(self.filters[explicit])
        others = np.flatnonzero(~explicit)
        for where, F in rows_by_filter(seen, self.operator, self.filters, others):
            # infinite reg is one at which pulls up to 1 give no output above a thousandth
            norms = np.linalg.norm(F, axis=1)
            far = float(1e3 * np.max(norms) * np.sum(norms)) or 1.0
            strong = np.where(infinite[where], far, 1.0)
            reg = np.where(infinite[where], strong, self.reg[where] * self.gain[where] ** 2)
            check_reg(TrainingRows(F).size, loss, float(np.max(reg)), weights.dtype)
            task = TrainingTask(F, seen.train_class_index, seen.classes, loss)
            if isinstance(penalty, L2):
                stops = None if self.training is None else self.training[where]
                weights[where], bias[where], gap[where] = task.minimize(reg, tol, stops)
                weights[where] *= strong[:, None, None]
                continue
            for k in where:
                Z = task.signed / self.gain[k]
                reg_k, least = float(self.reg[k]), max(tol, 1e-8)
                weights[k, :, 0], gap[k] = penalized(Z, loss, penalty, reg_k, least)
        bias[infinite] = self._limiting_bias()
        return self._normalized(TrainedNetworks(weights, self.outputs(weights), bias, gap))

    def _normalized(self, trained: TrainedNetworks) -> TrainedNetworks:
        """Networks of a normalized filter, which was trained as it is, at reg in its units."""
        if not (self.gcn.normalize and isinstance(self.gcn.penalty, L2)):
            return trained
        infinite = np.isinf(self.reg)[:, None, None]
        gain = self.gain[:, None, None].astype(trained.weights.dtype)
        # at infinite reg weights are proportional to the filter, at a finite one to its inverse
        weights = trained.weights * np.where(infinite, 1.0 / gain, gain)
        outputs = trained.outputs * np.where(infinite, gain**-2, 1.0)
        return trained._replace(weights=weights, outputs=outputs)

    def outputs(self, weights: Block) -> Block:
        r"""Outputs :math:`g(a) X w/\sqrt N` on all nodes, points x nodes x directions."""
        points, width, directions = weights.shape
        columns = np.ascontiguousarray(np.moveaxis(weights, 1, 0).reshape(width, -1))
        signal = self.observation.features @ columns
        signal /= np.sqrt(len(signal)).astype(signal.dtype)
        each = self.filters[np.repeat(np.arange(points), directions)]
        outputs = each.apply_each(self.operator, signal, radius=self.operator.radius)
        shape = (-1, points, directions)
        outputs, signal = (np.moveaxis(x.reshape(shape), 0, 1) for x in (outputs, signal))
        self._check_outputs(weights, signal, outputs)
        return np.ascontiguousarray(outputs)

    def _check_outputs(self, weights: Block, signal: Block, outputs: Block) -> None:
        r"""Refuse what is not finite, and outputs that are lost in the rounding of the filter's series.

        Rounding is a part of :math:`\sup |g|` on :math:`[-R, R]`: the spectrum may reach one end of that interval only, and the
        filter be huge at the other.
        """
        dtype = outputs.dtype
        if not (np.isfinite(weights).all() and np.isfinite(outputs).all()):
            if isinstance(self.training, GradientDescent):
                told = f"the descent diverges: the outputs exceed the numbers of type {dtype}"
                raise ParameterError(f"{told}; take a smaller rate")
            raise ParameterError(
                f"the outputs exceed the numbers of type {dtype}; scale the features to variance "
                "1, raise reg, take fewer layers or smaller parameters of the filter (many layers "
                "with c = K/t are Diffusion(t)), or float64"
            )
        # the series on a symmetric operator is cut at 1e-12, that of another at rounding
        double = 1e-12 if self.operator.symmetric else 1e-15
        relative = 1e-6 if dtype == np.float32 else double
        radius = self.operator.radius or self.operator.growth
        sizes = self.filters.normalized(np.linspace(-radius, radius, 65))[1]
        before, after = (np.linalg.norm(x.astype(float), axis=1) for x in (signal, outputs))
        lost = np.log(relative * before) + sizes[:, None] > np.log(1e-3 * after)
        if np.any(lost & (after > 0.0)):
            raise ParameterError(
                f"the filter reaches 1e{np.max(sizes) / math.log(10):.0f} on [-{radius:.3g}, "
                f"{radius:.3g}], where the outputs are lost in rounding errors of type {dtype}; "
                "take fewer layers or smaller parameters"
            )

    def _centred_codes(self) -> Block:
        """Codes of the labelled nodes; the free bias of unequal classes takes their mean away."""
        codes = self.observation.train_codes
        if self.observation.biased:
            mask = self.observation.train_mask
            codes = codes - mask[:, None] * codes[mask].mean(axis=0)
        return np.ascontiguousarray(codes.astype(self.observation.features.dtype))

    def _aligned(self, filters: Filter) -> Block:
        r"""Weights at infinite regularization, :math:`X^T g(a)^T R Y/\sqrt N`, one matrix for each filter."""
        codes = self._centred_codes()
        nodes, directions = codes.shape
        propagated = filters.apply(self.operator.T, codes, radius=self.operator.radius)
        columns = np.ascontiguousarray(np.moveaxis(propagated, 1, 0).reshape(nodes, -1))
        aligned = self.observation.features.T @ columns / math.sqrt(nodes)
        return np.moveaxis(aligned.reshape(-1, *filters.shape, directions), 0, 1)

    def _limiting_bias(self) -> float:
        """Bias over the outputs as reg grows: of two unequal classes it decides for the one of more labelled nodes."""
        codes = self.observation.train_codes
        if not self.observation.biased or codes.shape[1] > 1:
            return 0.0
        excess = np.sum(np.sign(codes))
        return float(np.copysign(np.inf, excess)) if excess else 0.0
