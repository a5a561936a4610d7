"""One draw of the contextual stochastic block model: what is observed, and what is hidden."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import Array
from gcnlimit.csbm import CSBM
from gcnlimit.simulation.features import StreamedFeatures
from gcnlimit.simulation.operator import Operator

__all__ = ["Instance", "Latents", "Observation"]

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Observation:
    r"""What a learner sees, and the model it was drawn from.

    Parameters
    ----------
    data
        The model.
    degree
        Mean degree :math:`d` of the graph; None if the graph is the Gaussian-equivalent one.
    adjacency
        SciPy CSR matrix of zeros and ones, :math:`A_{ij} = 1` for an edge from :math:`i` to :math:`j`; or a dense
        Gaussian matrix.
    features
        Matrix :math:`X` of :math:`N \times M`, an array or `StreamedFeatures`.
    train_mask
        Which nodes are labelled.
    train_labels
        Labels :math:`\pm 1` of the labelled nodes, 0 on the others.
    """

    data: CSBM
    degree: float | None
    adjacency: Any
    features: Any
    train_mask: Mask
    train_labels: Array

    @property
    def nodes(self) -> int:
        """Number of nodes :math:`N`."""
        return int(self.train_mask.size)

    def operator(self, symmetrize: bool) -> Operator:
        """Operator :math:`a` that a network applies, symmetrized or not; built once."""
        return self._symmetrized if symmetrize and self.data.directed else self._plain

    @cached_property
    def _plain(self) -> Operator:
        return Operator.of(self.adjacency, self.degree, False, not self.data.directed, self.features.dtype)

    @cached_property
    def _symmetrized(self) -> Operator:
        return Operator.of(self.adjacency, self.degree, True, False, self.features.dtype)


@dataclass(frozen=True, eq=False)
class Latents:
    r"""What a learner must not see: the labels of all nodes, and the direction :math:`u` of the features."""

    labels: Array
    centroid: Array


@dataclass(frozen=True, eq=False)
class Instance:
    """One draw of the model, its `observation` apart from its `latents`; `sample` draws it, `of` takes your own graph.

    Parameters
    ----------
    observation
        What a learner sees: graph, features, and the labels of some nodes.
    latents
        What it must not see: all labels, and the direction of the features.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), nodes=200, degree=20, seed=0)
    >>> i.features.shape, bool((i.observation.train_labels[~i.train_mask] == 0).all())
    ((200, 50), True)
    """

    observation: Observation
    latents: Latents

    @staticmethod
    def of(
        adjacency: Any,
        features: Any,
        labels: npt.ArrayLike,
        train_mask: npt.ArrayLike,
        *,
        data: CSBM | None = None,
        degree: float | None = None,
    ) -> Instance:
        r"""Instance of your own graph.

        Parameters
        ----------
        adjacency
            SciPy sparse matrix, square, symmetric or not; edges may have weights.
        features
            Matrix of :math:`N \times M`, best with columns of mean 0 and variance 1; ``float32`` is kept.
        labels
            Label :math:`\pm 1` of every node; only those of the labelled nodes are observed, the others measure.
        train_mask
            Which nodes are labelled: booleans.
        data
            The model; by default estimated from the labelled nodes (:func:`gcnlimit.simulation.given.estimate`).
        degree
            Mean degree :math:`d` that centres the adjacency; by default the number of edges over that of nodes.

        Examples
        --------
        >>> import gcnlimit as gl
        >>> i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), nodes=1000, degree=30, seed=0)
        >>> mine = gl.Instance.of(i.adjacency, i.features, i.labels, i.train_mask)
        >>> mine.data.alpha, mine.data.rho, mine.data.directed
        (4.0, 0.1, True)
        """
        from gcnlimit.simulation.given import instance_of

        return instance_of(adjacency, features, labels, train_mask, data, degree)

    @property
    def data(self) -> CSBM:
        """The model."""
        return self.observation.data

    @property
    def adjacency(self) -> Any:
        """Adjacency matrix (SciPy CSR)."""
        return self.observation.adjacency

    @property
    def features(self) -> Any:
        """Features of the nodes."""
        return self.observation.features

    @property
    def train_mask(self) -> Mask:
        """Which nodes are labelled."""
        return self.observation.train_mask

    @property
    def labels(self) -> Array:
        r"""Labels :math:`\pm 1` of all nodes."""
        return self.latents.labels

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one ``.npz`` file."""
        from gcnlimit.simulation.exchange import save

        save(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Instance:
        """Read what `save` wrote."""
        from gcnlimit.simulation.exchange import load

        return load(path)

    def to_networkx(self) -> Any:
        """NetworkX graph with ``label`` and ``train`` on its nodes (needs networkx)."""
        from gcnlimit.simulation.exchange import to_networkx

        return to_networkx(self)

    def to_pyg(self) -> Any:
        """PyTorch Geometric ``Data`` with classes 0 and 1 (needs torch and torch_geometric)."""
        from gcnlimit.simulation.exchange import to_pyg

        return to_pyg(self)


def streamed(features: Any) -> bool:
    """Whether the features are regenerated instead of stored."""
    return isinstance(features, StreamedFeatures)


def feature_count(nodes: int, alpha: float) -> int:
    r"""Number of features :math:`M = N/\alpha`, rounded."""
    return max(1, math.floor(nodes / alpha + 0.5))
