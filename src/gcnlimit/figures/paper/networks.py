"""The networks that the figures share, and how sentences of the paper are read as numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray

from gcnlimit._values import Array
from gcnlimit.choose.tune import Tuned, tune
from gcnlimit.csbm import CSBM
from gcnlimit.figures.base import Simulation, Statement
from gcnlimit.filters import Diffusion, Filter, Residual
from gcnlimit.network import GCN


def infinity_is_nearly_best(finite: xarray.DataArray, infinite: xarray.DataArray) -> Statement:
    """No finite regularization gains much over the infinite one; both are accuracies of the best network of each."""
    gain = float((finite - infinite).max())
    return Statement("r = inf is nearly optimal", gain < 2e-3, f"largest gain of a finite r {gain:+.1e}")


def growth_with_depth(accuracy: xarray.DataArray, sentence: str, least: float = 0.0) -> Statement:
    """Accuracy grows from each depth to the next, by more than `least`."""
    step = float(accuracy.diff("K").min())
    return Statement(sentence, step > least, f"smallest step {step:+.1e}")


LONGEST = 20.0
"""Upper end of the search for the best diffusion time."""


def of_depth(depth: float, t: float | Array) -> Filter:
    r"""Continuous network of diffusion time `t`, or its discretization :math:`(x + K/t)^K` of that depth.

    >>> fine, continuous = (of_depth(K, t=1.0) for K in (100, math.inf))
    >>> bool(abs(fine(0.3) / fine(0.0) - continuous(0.3)) < 1e-3)
    True
    """
    if math.isinf(depth):
        return Diffusion(t)
    return Residual.constant(depth / np.asarray(t, float), int(depth))


def tuned_depth(data: CSBM, depth: float, symmetrize: bool) -> Tuned:
    """The best network of a depth: of positive diffusion time, for a discrete one of residual strength c = K/t."""
    network = GCN(of_depth(depth, 1.0), symmetrize=symmetrize)
    free: dict[str, Any] = {"t": (0.0, LONGEST)} if math.isinf(depth) else {"c": (0.0, math.inf)}
    return tune(data, network, free)


def strength_dots(
    simulation: Simulation, data: CSBM, loss: str, depths: Sequence[int], axes: Mapping[str, Any], *names: str
) -> xarray.Dataset:
    """Simulated values over the depth `K` and the axes, of networks with one residual strength in all layers."""
    networks = [GCN(Residual.constant(1.0, K), loss=loss, symmetrize=False) for K in depths]
    return xarray.concat([simulation.measure(data, network, axes, *names) for network in networks], "K")


def name_depth(depth: float) -> str:
    """The depth as the legends write it."""
    return r"$K=\infty$" if math.isinf(depth) else f"$K={depth:g}$"
