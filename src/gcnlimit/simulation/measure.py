r"""How well outputs classify the nodes of an instance.

On a node of class :math:`k` the outputs are :math:`h = c + \bar\omega\, y_k + \sigma z` in the large-size limit. The best
decision and the best balanced one follow from :math:`c`, :math:`\bar\omega` and :math:`\sigma` (Eq. 8.4), which are measured on
the same nodes: a few numbers for thousands of nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax

from gcnlimit._runtime.threads import ordered_map
from gcnlimit._validation import as_real
from gcnlimit._values import Array
from gcnlimit.classes import Classes, Indices
from gcnlimit.csbm import CSBM
from gcnlimit.degrees import DegreeLaw
from gcnlimit.errors import ParameterError
from gcnlimit.losses import Loss
from gcnlimit.losses.base import Form, resting_bias
from gcnlimit.network import GCN
from gcnlimit.numerics.gaussian import roc_area
from gcnlimit.results.calibration import ROWS, calibration_column, measured_calibration
from gcnlimit.results.performance import MEASURED, Performance, scalar_or_array
from gcnlimit.simulation.data.features import Block
from gcnlimit.simulation.data.instance import Instance
from gcnlimit.simulation.data.observation import Mask

FIELDS = tuple(field.name for field in MEASURED if field.name != "log_test_error")
AVERAGES = len(FIELDS) + ROWS
"""Number of rows that are averages over the nodes of a graph; those of the cells of propensities follow."""


def evaluate_rows(
    instance: Instance, gcn: GCN, outputs: Block, bias: Array, home: Instance | None = None
) -> Array:
    """The numbers of `FIELDS`, `calibration_column` and `by_cell`, one row each, of outputs, networks x nodes x directions.

    Ties are split evenly. NaN stands for what no known label measures. `home` is the instance of the training, if it is another.
    """
    class_index = instance.data.classes.index_of(instance.given_labels)
    masks = measurable(instance), instance.train_mask
    infinite = np.broadcast_to(np.isinf(gcn.reg), gcn.shape).ravel()
    trained = (home or instance).observation
    biased = instance.observation.biased or trained.biased
    parts = class_index, trained.train_class_index, masks, biased
    classifier = _Classifier(instance, gcn.loss, *parts)
    networks = zip(outputs, bias, infinite, strict=True)
    rows = ordered_map(lambda network: classifier.measure(*network), networks, outputs.size)
    return np.array(list(rows)).T


def measured(data: CSBM, rows: Array, trials: int = 1) -> Performance:
    """Performance from means over trials of the rows of `evaluate_rows`; from their standard errors with 0 trials."""
    averages, sure, cells = np.split(rows, [len(FIELDS), AVERAGES])
    named: dict[str, Any] = dict(zip(FIELDS, map(scalar_or_array, averages), strict=True))
    if data.classes.count > 2:
        named["roc_auc"] = None
    # standard errors may exceed 1, and cells be empty
    with np.errstate(divide="ignore", invalid="ignore"):
        named["log_test_error"] = scalar_or_array(np.log1p(-rows[0]))
        right, nodes = np.split(cells, 2)
        accuracy = np.moveaxis(right / nodes, 0, -1)
    if data.degrees is not None:
        named["by_degree"] = partial(_in_cells, _edges(data.degrees), accuracy)
    named["calibrated"] = partial(measured_calibration, sure, data.classes.count, trials)
    return Performance(**named)


def _in_cells(edges: Array, accuracy: Array, theta: npt.ArrayLike) -> Array:
    """Accuracy, cells along the last axis, in those of some propensities; `edges` are the bounds between cells."""
    return np.asarray(accuracy[..., np.searchsorted(edges, as_real("theta", theta, low=0))])


def _edges(law: DegreeLaw) -> Array:
    return np.sqrt(law.theta[1:] * law.theta[:-1])


def by_cell(instance: Instance, nodes: Mask, hits: Array) -> Array:
    """Under a law of degrees: the right ones of some nodes in each cell of propensities, drawn or measured, then all of them."""
    law = instance.data.degrees
    theta = instance.latents.theta
    if law is None:
        return np.empty(0)
    drawn = instance.observation.theta if theta is None else theta
    cells = np.searchsorted(_edges(law), np.asarray(drawn)[nodes])
    return np.concatenate([np.bincount(cells, w, minlength=law.theta.size) for w in (hits, None)])


def measurable(instance: Instance) -> Mask:
    """Nodes to measure on: not labelled, and of known label."""
    if instance.train_mask.all():
        raise ParameterError("rho = 1 leaves no node to test on; take rho < 1")
    return ~instance.train_mask & ~np.isnan(instance.labels)


@dataclass(frozen=True, eq=False)
class _Classifier:
    """What a network decides on the test and labelled nodes, two `masks`; `trained_index`: the classes it was trained on."""

    instance: Instance
    loss: Loss
    class_index: Indices
    trained_index: Indices
    masks: tuple[Mask, Mask]
    biased: bool  # with a bias, that of unequal classes

    @cached_property
    def classes(self) -> Classes:
        return self.instance.data.classes

    def measure(self, h: Block, bias: Array, limit: bool) -> list[float]:
        """Numbers of one network; `limit`: its regularization is infinite."""
        parts = [(h[mask].astype(float), self.class_index[mask]) for mask in self.masks]
        codes = self.classes.codes
        p = self.classes.fractions
        tested, class_index = parts[0]
        law = _Law.of(tested, codes[class_index])
        hits = [hits_of(self.scores(part, bias, k, limit), k) for part, k in parts]
        best = hits_of(law.scores(tested, codes, p), class_index)
        accuracy = [float(np.mean(right)) if right.size else np.nan for right in (*hits, best)]
        losses = [self.mean_loss(part + bias, k, limit) for part, k in parts]
        balanced = balanced_rate(law.scores(tested, codes, None), class_index, p.size)
        area = roc_area(tested[:, 0], class_index) if p.size == 2 else np.nan
        sure = self.calibration(tested + (0.0 if limit else bias), class_index, limit)
        cells = by_cell(self.instance, self.masks[0], hits[0])
        return [*accuracy[:2], *losses, accuracy[2], balanced, area, *sure, *cells]

    def calibration(self, h: Array, class_index: Indices, limit: bool) -> Array:
        """Numbers of `calibration_column`; not known of outputs that vanish beside a bias."""
        if limit and self.biased:
            return np.full(ROWS, np.nan)
        two = self.classes.count == 2
        logits = np.hstack([h, np.zeros_like(h)]) if two else h @ self.classes.one_hot_basis.T
        return calibration_column(logits, class_index, limit)

    def scores(self, h: Array, bias: Array, class_index: Indices, limit: bool) -> Array:
        """Score of each class, of which the network decides for the largest."""
        codes = self.classes.codes
        if not self.biased:
            return np.asarray(h @ codes.T)
        if self.classes.count == 2 and not limit:
            return np.asarray((h + bias) * [1.0, -1.0])
        if self.loss.form is Form.LOGITS and not limit:
            return np.asarray((h + bias) @ self.classes.one_hot_basis.T)
        # an infinite bias decides nothing by itself: the posterior of the outputs does, if they
        # lie along the classes; a network that has learned the other sign does not know it
        return _Law.of(h, codes[class_index]).scores(h, codes, self.classes.fractions, signed=False)

    def mean_loss(self, h: Array, class_index: Indices, limit: bool) -> float:
        """Average of the loss over outputs, bias included; at infinite regularization the outputs vanish."""
        if not class_index.size:
            return float("nan")
        if limit:
            return self._limiting_loss(class_index)
        if self.loss.form is Form.CODES:
            return float(0.5 * np.mean((self.loss.on(self.classes).targets[class_index] - h) ** 2))
        if self.classes.count == 2:
            return float(np.mean(self.loss.value(np.where(class_index == 0, 1.0, -1.0) * h[:, 0])))
        logs = log_softmax(h @ self.classes.one_hot_basis.T, axis=1)
        return -float(np.mean(logs[np.arange(class_index.size), class_index]))

    def _limiting_loss(self, class_index: Indices) -> float:
        """Loss of outputs that vanish: only a bias is left, where there is one."""
        count = self.classes.count
        if self.loss.form is Form.LOGITS and count > 2:
            seen = np.bincount(self.trained_index, minlength=count) / self.trained_index.size
            p = np.full(count, 1.0 / count) if self.classes.equal else seen
            return -float(np.mean(np.log(p[class_index])))
        if not self.biased or not self.loss.on(self.classes).solved:
            return float(self.loss.value(0.0))
        if self.loss.form is Form.CODES:
            targets = self.loss.on(self.classes).targets
            missed = targets[class_index] - targets[self.trained_index].mean(axis=0)
            return float(0.5 * np.mean(missed**2))
        first = float(np.mean(self.trained_index == 0))
        bias = float(np.copysign(np.inf, first - 0.5))
        if 0.0 < first < 1.0:
            bias = resting_bias(self.loss, first)
        return float(np.mean(self.loss.value(np.where(class_index == 0, bias, -bias))))


@dataclass(frozen=True, eq=False)
class _Law:
    r"""Centre :math:`c`, mean :math:`\bar\omega` along the codes and variance :math:`\sigma^2` of outputs."""

    centre: Array
    mean: float
    variance: float

    @classmethod
    def of(cls, h: Array, codes: Array) -> _Law:
        """Least squares of outputs on the codes of their nodes."""
        if not len(h):
            return cls(np.zeros(h.shape[1]), np.nan, np.nan)
        around = codes.mean(axis=0)
        spread = codes - around
        mean = float(np.vdot(spread, h) / max(float(np.vdot(spread, spread)), 1e-300))
        centre = h.mean(axis=0) - mean * around
        return cls(centre, mean, float(np.mean((h - centre - mean * codes) ** 2)))

    def scores(self, h: Array, codes: Array, prior: Array | None, signed: bool = True) -> Array:
        r"""Posterior scores :math:`\frac{\bar\omega}{\sigma^2} [(h - c) \cdot y_k - \frac{\bar\omega}2 |y_k|^2] + \log p_k`.

        Without a prior, all classes count alike, and :math:`\bar\omega/\sigma^2` is left out; it is positive if not `signed`.
        """
        scores = (h - self.centre) @ codes.T - 0.5 * self.mean * np.sum(codes**2, axis=1)
        if prior is None:
            return np.asarray(scores)
        # outputs without noise are sure, and the prior has no say
        with np.errstate(divide="ignore", invalid="ignore"):
            steep = np.float64(self.mean if signed else abs(self.mean)) / self.variance
        steep = np.nan_to_num(steep, posinf=1e300, neginf=-1e300)
        return np.asarray(steep * scores + np.log(prior))


def balanced_rate(scores: Array, class_index: Indices, classes: int) -> float:
    """Average over the classes of the fraction of their nodes that are right; NaN if a class has no node.

    >>> balanced_rate(np.array([[1.0, 0.0]] * 4), np.array([0, 0, 0, 1]), 2)
    0.5
    """
    size = np.bincount(class_index, minlength=classes)
    right = np.bincount(class_index, hits_of(scores, class_index), minlength=classes)
    return float(np.mean(right / size)) if np.all(size) else float("nan")


def hits_of(scores: Array, class_index: Indices) -> Array:
    """1 for a node whose class has the largest score, 0 for another; a tie is shared.

    >>> hits_of(np.array([[1.0, -1.0], [0.0, 0.0]]), np.array([0, 0]))
    array([1. , 0.5])
    """
    if scores.shape[1] == 2:  # ten times faster
        true, other = (np.where(class_index == k, *scores.T) for k in (0, 1))
        return np.asarray((true > other) + 0.5 * (true == other))
    top = scores == np.max(scores, axis=1, keepdims=True)
    true = top[np.arange(class_index.size), class_index]
    return np.asarray(true / np.maximum(top.sum(axis=1), 1))
