"""How well outputs classify the nodes of an instance."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.errors import ParameterError
from gcnlimit.network import GCN
from gcnlimit.performance import Performance, scalar_or_array
from gcnlimit.simulation.instance import Instance
from gcnlimit.simulation.observation import Mask

__all__ = ["accuracy", "evaluate", "mean_over"]


def evaluate(instance: Instance, gcn: GCN, outputs: npt.NDArray[Any]) -> Performance:
    """Performance of each row of outputs, against the latent labels where they are known.

    An output of exactly 0 decides nothing, and counts as half right. NaN stands for what no known label measures.
    """
    train_mask = instance.train_mask
    if train_mask.all():
        raise ParameterError("rho = 1 leaves no node to test on; take rho < 1")
    margins, test_mask = outputs * instance.labels, ~train_mask & ~np.isnan(instance.labels)

    def loss(mask: Mask) -> Array:
        mean = mean_over(gcn.loss.value(margins[:, mask])).reshape(gcn.shape)
        vanishing = np.isinf(gcn.reg) & mask.any()  # at infinite reg the outputs vanish
        return np.where(vanishing, gcn.loss.value(0.0), mean)

    test, seen = (accuracy(margins[:, mask]).reshape(gcn.shape) for mask in (test_mask, train_mask))
    with np.errstate(divide="ignore", over="ignore"):
        fields = (test, seen, loss(test_mask), loss(train_mask), np.log1p(-test))
    return Performance(*(scalar_or_array(field) for field in fields))


def accuracy(margins: npt.NDArray[Any]) -> Array:
    """Fraction of positive margins along the last axis, and half of those that vanish, as of a coin.

    >>> accuracy(np.array([[1.0, -2.0], [0.0, 0.0], [3.0, 0.0]]))
    array([0.5 , 0.5 , 0.75])
    """
    return mean_over(margins > 0) + 0.5 * mean_over(margins == 0)


def mean_over(values: npt.NDArray[Any]) -> Array:
    """Mean along the last axis, NaN if it is empty."""
    return np.asarray(values.mean(axis=-1) if values.shape[-1] else np.full(values.shape[:-1], np.nan))
