"""What a learner sees of a graph, and what is hidden from it; the parts of an instance are checked as a user brings them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._validation import number, plain_array
from gcnlimit._values import Array, Brief, shown
from gcnlimit.classes import Classes, Indices
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.graphs.check import as_features, dense, is_symmetric
from gcnlimit.graphs.operator import weight_unit
from gcnlimit.normalization import Normalization, as_normalization
from gcnlimit.simulation.backend import Device, backend_of
from gcnlimit.simulation.data.features import Block, Features, streamed
from gcnlimit.simulation.data.operator import Operator, normalized_operator, propensities

Mask = npt.NDArray[np.bool_]
# a string: SciPy 1.15 has no such types at run time
Graph: TypeAlias = "sparse.csr_array[np.float64] | Array"


@dataclass(frozen=True, eq=False)
class Observation(Brief):
    r"""What a learner sees, and the model it was drawn from.

    Parameters
    ----------
    data
        The model.
    degree
        Mean degree :math:`d` of the graph, weights in their unit; None if the graph is the Gaussian-equivalent one.
    adjacency
        SciPy CSR matrix, :math:`A_{ij}` the weight of the edge from :math:`i` to :math:`j`; or a dense Gaussian matrix.
    features
        Matrix :math:`X` of :math:`N \times M`, an array or `StreamedFeatures`.
    train_mask
        Which nodes are labelled.
    train_labels
        Labels of these: :math:`\pm 1`, 0 on others, for two equal classes; else :math:`0 \dots C - 1`, NaN on others.
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

    @property
    def graph(self) -> Any:
        """Adjacency matrix in CSR form; a Gaussian matrix is refused."""
        if isinstance(self.adjacency, np.ndarray):
            raise ParameterError("degree = None gives a dense matrix, not a graph; give a degree")
        return self.adjacency

    @property
    def classes(self) -> Classes:
        """Number of equal classes, or their fractions."""
        return self.data.classes

    @cached_property
    def train_codes(self) -> Array:
        r"""Codes :math:`RY` of the labelled nodes, :math:`N \times (C - 1)` (Eq. 8.1); 0 on the others."""
        return self.classes.codes_of(np.where(self.train_mask, self.train_labels, np.nan))

    @cached_property
    def train_class_index(self) -> Indices:
        """Index of the class of each labelled node, in their order."""
        return self.classes.index_of(self.train_labels[self.train_mask])

    @cached_property
    def edge_counts(self) -> Any:
        """Adjacency matrix with weights in their own unit, for methods in which they count edges."""
        A = self.adjacency
        unit = 1.0 if isinstance(A, np.ndarray) else weight_unit(A)
        return A if unit == 1.0 else A / unit

    @property
    def biased(self) -> bool:
        """Whether a network has a free bias: the classes are unequal."""
        return not self.classes.equal

    @cached_property
    def theta(self) -> Array | None:
        """Measured propensities, degrees divided by their mean; None if all nodes of the model are alike."""
        return None if self.data.degrees is None else propensities(self.edge_counts)

    def operator(
        self, symmetrize: bool, device: Device = "cpu", normalization: Normalization | None = None
    ) -> Operator:
        """Operator :math:`a` that a network applies, symmetrized or not, on a device; built once.

        The normalization, symmetric by default, counts where the model has heterogeneous degrees.
        """
        both = symmetrize and self.data.directed
        normalized = normalization or as_normalization("symmetric")
        normalized = normalized if self.theta is None else normalized.single()
        key = (both, device, None if self.theta is None else normalized)
        if key in self._operators:
            return self._operators[key]
        how = both, not self.data.directed, self.features.dtype, device
        if self.theta is None:
            operator = Operator.of(self.adjacency, self.degree, *how)
        else:
            signal = float(self.data.effective_signal(both))
            graph = self.edge_counts
            operator = normalized_operator(graph, self.theta, normalized, signal, *how)
        self._operators[key] = operator
        return operator

    @cached_property
    def _operators(self) -> dict[tuple[bool, Device, Normalization | None], Operator]:
        return {}

    def device(self, wanted: Device | None) -> Device:
        """Where to compute: as `wanted`, by default where the features are drawn; streamed features allow no other device."""
        drawn = self.features.device if streamed(self.features) else None
        backend_of("cpu" if wanted is None else wanted)
        if drawn is not None and wanted is not None and wanted != drawn:
            those = f"the streamed features are those of device = {drawn!r}"
            told = f"device = {wanted!r} is not allowed: {those}, and another would draw others"
            raise ParameterError(f"{told}; sample on that device, or with streamed=False")
        return drawn or wanted or "cpu"


@dataclass(frozen=True, eq=False)
class Latents(Brief):
    r"""What a learner must not see: the labels of all nodes, the directions :math:`u` of the features, and propensities.

    The directions are one vector for two classes, else :math:`C - 1` columns. NaN stands for what is not known.
    """

    labels: Array
    centroid: Array
    theta: Array | None = None


def shown_labels(labels: Array, train_mask: Mask, classes: Classes) -> Array:
    """Labels of the labelled nodes, as in `Observation`; those of the others are hidden."""
    return np.where(train_mask, labels, 0.0 if classes.two else np.nan)


def centroid_shape(features: int, classes: Classes) -> tuple[int, ...]:
    """Shape of the directions of the features: one vector for two classes, else one column for each code."""
    return (features,) if classes.count == 2 else (features, classes.count - 1)


def check_features(features: Any, nodes: int) -> Block:
    """Return the features as a new array, ``float32`` or else ``float64``, of finite numbers that can be squared."""
    if features is None:
        raise ParameterError("features = None is not allowed; give a row of features for each node")
    return dense(as_features(features, nodes, name="features", single=True)).copy()


def check_labels(labels: Any, train_mask: Mask, classes: Classes) -> Array:
    r"""Return the labels as floats, :math:`\pm 1` or :math:`0 \dots C - 1`; NaN where unknown, which no labelled node may be."""
    array = plain_array("labels", labels)
    nodes = train_mask.size
    if array.shape != (nodes,):
        raise ParameterError(f"labels have shape {array.shape}; give one for each of {nodes} nodes")
    allowed = np.array([-1, 1]) if classes.two else np.arange(classes.count)
    bad = array[~np.isin(array, allowed) & ~np.isnan(array)] if array.dtype.kind in "iuf" else array
    words = "-1 or +1" if classes.two else f"a whole number from 0 to {allowed[-1]}"
    if bad.size:
        sentence = f"labels contain {bad[0]!s}; a label must be {words}, or NaN where it is unknown"
        remedy = ": write np.select([labels == one, labels == other], [1.0, -1.0], np.nan)"
        raise ParameterError(sentence + remedy * classes.two)
    if unknown := int(np.isnan(array[train_mask]).sum()):
        sentence = f"labels are NaN on {unknown} nodes of train_mask, where each must be {words}"
        raise ParameterError(f"{sentence}: write train_mask & ~np.isnan(labels)")
    return array.astype(np.float64)


def check_mask(train_mask: Any, nodes: int) -> Mask:
    """Return the mask of the labelled nodes as a new array."""
    array = plain_array("train_mask", train_mask)
    if array.dtype != np.bool_ or array.shape != (nodes,):
        told = f"train_mask has dtype {array.dtype} and shape {array.shape}"
        needed = f"it must be {nodes} booleans, True for a labelled node"
        use = "write np.isin(np.arange(nodes), train_mask) if it lists nodes"
        raise ParameterError(f"{told}; {needed}: {use}")
    return array.copy()


def check_degree(degree: npt.ArrayLike, nodes: int) -> float:
    """Return a mean degree: positive, and below the number of nodes."""
    checked = number("degree", degree, low=1e-12)
    if checked >= nodes:
        wanted = f"it must be below the number of nodes, {nodes}"
        raise ParameterError(f"degree = {checked:g} is not allowed; {wanted}")
    return checked


def check_model(data: Any, adjacency: Graph) -> CSBM:
    """Return the model of an instance: one point, directed unless the adjacency is symmetric."""
    if not isinstance(data, CSBM) or data.shape:
        wanted = "a CSBM of single parameters, or None to estimate it"
        raise ParameterError(f"data = {shown(data)} is not allowed; it must be {wanted}")
    if not data.directed and not is_symmetric(adjacency):
        told = "data has directed=False but adjacency is not symmetric;"
        raise ParameterError(f"{told} write directed=True, or pass adjacency.maximum(adjacency.T)")
    return data
