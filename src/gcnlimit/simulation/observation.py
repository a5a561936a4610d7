"""What a learner sees of a graph, and what is hidden from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._values import Array, Brief
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.simulation.backend import Device, backend_of
from gcnlimit.simulation.features import StreamedFeatures
from gcnlimit.simulation.operator import Operator

__all__ = ["Features", "Graph", "Latents", "Mask", "Observation", "feature_count", "streamed"]

Mask = npt.NDArray[np.bool_]
Graph = sparse.csr_array[np.float64] | Array
Features = npt.NDArray[Any] | StreamedFeatures


@dataclass(frozen=True, eq=False)
class Observation(Brief):
    r"""What a learner sees, and the model it was drawn from.

    Parameters
    ----------
    data
        The model.
    degree
        Mean degree :math:`d` of the graph; None if the graph is the Gaussian-equivalent one.
    adjacency
        SciPy CSR matrix of zeros and ones, :math:`A_{ij} = 1` for an edge from :math:`i` to :math:`j`, or of weights in
        their unit (:func:`gcnlimit.simulation.parts.unit_weights`); or a dense Gaussian matrix.
    features
        Matrix :math:`X` of :math:`N \times M`, an array or `StreamedFeatures`.
    train_mask
        Which nodes are labelled.
    train_labels
        Labels :math:`\pm 1` of the labelled nodes, 0 on the others.
    """

    data: CSBM
    degree: float | None
    adjacency: Graph
    features: Features
    train_mask: Mask
    train_labels: Array

    @property
    def nodes(self) -> int:
        """Number of nodes :math:`N`."""
        return int(self.train_mask.size)

    def operator(self, symmetrize: bool, device: Device = "cpu") -> Operator:
        """Operator :math:`a` that a network applies, symmetrized or not, on a device; built once."""
        key = (symmetrize and self.data.directed, device)
        if key not in self._operators:
            with backend_of(device).guard(self.nodes):
                self._operators[key] = Operator.of(
                    self.adjacency, self.degree, key[0], not self.data.directed, self.features.dtype, device
                )
        return self._operators[key]

    @cached_property
    def _operators(self) -> dict[tuple[bool, Device], Operator]:
        return {}

    def device(self, wanted: Device | None) -> Device:
        """Where to compute: as `wanted`, by default where the features are drawn; streamed features allow no other device."""
        drawn = self.features.device if streamed(self.features) else None
        if drawn is not None and wanted is not None and wanted != drawn:
            raise ParameterError(
                f"device = {wanted!r} is not allowed: the streamed features are those of device = {drawn!r}, and another "
                "would draw others; sample on that device, or with streamed=False"
            )
        device = drawn or wanted or "cpu"
        backend_of(device)
        return device


@dataclass(frozen=True, eq=False)
class Latents(Brief):
    r"""What a learner must not see: the labels of all nodes, and the direction :math:`u` of the features.

    NaN stands for what is not known, such as the labels that the owner of a real graph has yet to find.
    """

    labels: Array
    centroid: Array


def streamed(features: Features) -> TypeGuard[StreamedFeatures]:
    """Whether the features are regenerated instead of stored."""
    return isinstance(features, StreamedFeatures)


def feature_count(nodes: int, alpha: float) -> int:
    r"""Number of features :math:`M = N/\alpha`, rounded."""
    return max(1, math.floor(nodes / alpha + 0.5))
