"""How large an instance is, checked before anything is drawn, and the memory that it and its training take."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gcnlimit._runtime.memory import require
from gcnlimit._runtime.threads import threads
from gcnlimit._validation import flag, whole
from gcnlimit._values import Array, shown
from gcnlimit.classes import Classes
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.graphs.check import LARGEST
from gcnlimit.simulation.backend import Device, backend_of
from gcnlimit.simulation.data.observation import check_degree

PROPAGATED_AT_ONCE = 1 << 23  # numbers: a wide product with the features is faster
DRAWN = 130.0  # bytes for each edge while a graph is drawn
KEPT = 16.0  # bytes for each edge of a CSR matrix
DENSE = 32.0  # bytes for each entry while a Gaussian matrix is drawn


@dataclass(frozen=True)
class Size:
    """Numbers of nodes, features and directions of the codes, and mean degree, of an instance to be drawn in a precision."""

    nodes: int
    features: float
    degree: float | None
    streamed: bool
    dtype: np.dtype[Any]
    device: Device = "cpu"
    directions: int = 1

    @staticmethod
    def of(  # noqa: PLR0917
        data: CSBM, nodes: object, degree: Any, streamed: object, dtype: Any, device: Device = "cpu"
    ) -> Size:
        """Check what `sample` or `simulate` is given, at every point of the data."""
        backend_of(device)
        if dtype is None:
            dtype = np.float64 if device == "cpu" else np.float32
        nodes = whole("nodes", nodes, low=2, high=10**12)
        word = isinstance(dtype, str | type | np.dtype)
        precision: Any = next((kind for kind in LARGEST if word and kind == dtype), None)
        if precision is None:
            told = f"dtype = {shown(dtype)} is not allowed"
            raise ParameterError(f"{told}; it must be float32 or float64")
        streamed = device != "cpu" if streamed is None else flag("streamed", streamed)
        if degree is None and data.degrees is not None:
            raise ParameterError("degree = None is dense and has no degrees to vary; give a degree")
        if degree is not None:
            degree = check_degree(degree, nodes)
        width = nodes / float(np.min(data.alpha))
        return Size(nodes, width, degree, streamed, precision, device, data.classes.count - 1)

    def check_signals(self, data: CSBM) -> None:
        """Refuse signals whose graph has no probabilities, or whose numbers cannot be squared."""
        lam = float(np.max(np.abs(data.lam)))
        mu = float(np.max(data.mu))
        for name, value, entry in (("lam", lam, lam), ("mu", mu, math.sqrt(mu / self.nodes))):
            if entry > LARGEST[self.dtype] / 10.0:
                told = f"{name} = {value:g} is too large to be simulated in {self.dtype}"
                raise ParameterError(f"{told}; take a smaller one")
        if self.degree is not None:
            for lam in (float(np.min(data.lam)), float(np.max(data.lam))):
                edge_probabilities(lam, self.nodes, self.degree, data.classes)

    @property
    def edges(self) -> float:
        """Expected number of edges; of entries if the matrix is dense."""
        return self.nodes * float(self.nodes if self.degree is None else self.degree)

    def bytes(self) -> float:
        """Memory that the instance takes while it is drawn."""
        drawn, kept = (DENSE, 8.0) if self.degree is None else (DRAWN, KEPT)
        graph = max(drawn * self.edges, kept * self.edges + self._feature_bytes())
        return graph + (48.0 + 16.0 * self.directions) * self.nodes

    def _feature_bytes(self) -> float:
        held = 1.0 + self.features
        if self.streamed:  # each thread holds a tile, and one waits to be added
            tiles = (threads() + 1) * backend_of("cpu").tile
            held = min(held, tiles) if self.device == "cpu" else 0.0
        spikes = (16.0 + 16.0 * self.directions) * self.features
        return held * self.nodes * self.dtype.itemsize + spikes

    def device_bytes(self, points: int) -> float:
        """Memory of one trial on a GPU: the graph while it is sorted, a block of features, the columns of a filter."""
        block = backend_of(self.device).blocks()[0]
        columns = 2.0 * block + 20.0 * points * self.directions
        return 200.0 * self.edges + self.nodes * self.dtype.itemsize * columns

    def require(self, what: str, needed: float) -> None:
        """Refuse what needs more memory than there is, and say how to take less."""
        remedy = "take fewer nodes, or a " + ("smaller degree" if self.degree else "degree")
        if not self.streamed and self._feature_bytes() > self.bytes() / 2.0:
            remedy = "write streamed=True to store no features, or take fewer nodes or more alpha"
        size = f"{self.nodes} nodes with {self.features:.4g} features each"
        require(f"{what} of {size}", needed, remedy)


def training_bytes(size: Size, labelled: float, points: int, rows: bool) -> float:
    r"""Memory of the training at `points` parameters: operator, weights, outputs and, if they are needed, the training `rows`.

    These are held three times, in the precisions of features, solver and its rough steps, beside two Gram matrices. Each thread
    propagates a block of columns.
    """
    item = size.dtype.itemsize
    width = 1.0 + size.features
    operator = size.edges * (24.0 if size.degree is None else 64.0)
    answers = 3.0 * points * size.directions * (size.nodes + width) * item
    if not rows:
        return operator + answers
    held = labelled * width * (item + 12.0) + 16.0 * min(labelled, width) ** 2
    at_once = size.nodes * (min(labelled, width) if size.streamed else min(labelled, 400.0))
    propagated = 2.0 * item * max(at_once, min(size.nodes * labelled, PROPAGATED_AT_ONCE))
    blocks = threads() * item * size.nodes * min(labelled, 400.0)
    return operator + answers + held + propagated + blocks


def edge_probabilities(lam: float, nodes: int, degree: float, classes: Classes) -> Array:
    r"""Edge probabilities :math:`\frac dN + \frac{\lambda}{\sqrt N}\sqrt{\frac dN (1 - \frac dN)}\, y_k \cdot y_l`.

    >>> edge_probabilities(1.0, nodes=100, degree=50, classes=Classes.of(2))
    array([[0.55, 0.45],
           [0.45, 0.55]])
    """
    density = degree / nodes
    spread = math.sqrt(density * (1.0 - density) / nodes)
    overlap = np.diag(1.0 / classes.fractions) - 1.0  # of the codes: -1 between two classes
    largest = float(np.max(overlap))
    low = -min(density / largest, 1.0 - density) / spread
    high = min(density, (1.0 - density) / largest) / spread
    if not low * (1.0 + 1e-12) <= lam <= high * (1.0 + 1e-12):
        remedy = "more nodes" if degree > nodes / 2 else "a larger degree"
        raise ParameterError(
            f"lam = {lam:g} is not allowed at degree {degree:g} and {nodes} nodes, where it must "
            f"be at least {low:.6g} and at most {high:.6g} for the edge probabilities to lie in "
            f"[0, 1]; take {remedy} or a weaker signal"
        )
    return np.clip(density + lam * spread * overlap, 0.0, 1.0)
