"""One draw of the contextual stochastic block model, or a graph that a user brings: what is observed, and what is hidden."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._validation import plain_array
from gcnlimit._values import Array, Brief
from gcnlimit.classes import Classes
from gcnlimit.csbm import CSBM, EstimatedCSBM
from gcnlimit.errors import ParameterError
from gcnlimit.graphs.check import as_adjacency, is_complete
from gcnlimit.graphs.dataset import Dataset, Location
from gcnlimit.graphs.operator import weight_unit
from gcnlimit.graphs.packages import to_networkx, to_pyg
from gcnlimit.graphs.standard import StandardizedGraph, from_labels
from gcnlimit.simulation.data import disk
from gcnlimit.simulation.data.observation import (
    Features,
    Graph,
    Latents,
    Mask,
    Observation,
    check_degree,
    check_features,
    check_labels,
    check_mask,
    check_model,
    revealed,
)


def observe(  # noqa: PLR0917
    adjacency: Any, features: Any, labels: Any, train_mask: Any, data: CSBM | None, degree: float | None
) -> tuple[Observation, Latents]:
    """Check the parts of an instance, and separate what is seen from what is hidden; see `Instance.of`."""
    adjacency = as_adjacency(adjacency, name="adjacency")
    nodes = adjacency.shape[0]
    if is_complete(adjacency):
        raise ParameterError(f"adjacency joins all {nodes} nodes alike; it needs a pair without an edge")
    features = check_features(features, nodes)
    train_mask = check_mask(_known(labels) if train_mask is None else train_mask, nodes)
    data = None if data is None else _check_law(check_model(data, adjacency))
    classes = Classes(2) if data is None else data.classes
    labels = check_labels(labels, train_mask, classes)
    if not train_mask.any():
        raise ParameterError(
            "train_mask is False everywhere; a network needs labels to train on: label at least one node"
        )
    own = float(adjacency.data.sum() / weight_unit(adjacency) / nodes)
    degree = own if degree is None else check_degree(degree, nodes)
    data = estimate(adjacency, features, labels, train_mask) if data is None else data
    seen = Observation(data, degree, adjacency, features, train_mask, revealed(labels, train_mask, classes))
    directions = data.fractions.size - 1
    return seen, Latents(labels, np.full((features.shape[1], directions)[: min(directions, 2)], np.nan))


def _check_law(data: CSBM) -> CSBM:
    """Refuse correlated features, whose law does not say which column of the user's features has which noise."""
    if not data.features.is_white:
        raise ParameterError(
            "data has correlated features, and which column has which noise is not known; multiply the features by the inverse "
            "root of their covariance, and leave out features"
        )
    return data


def estimate(
    adjacency: sparse.csr_array[np.float64], features: npt.NDArray[Any], labels: Array, train_mask: Mask
) -> EstimatedCSBM:
    r"""The model and its standard errors, from the labelled nodes: those of `gcnlimit.estimate`.

    :math:`\alpha` and :math:`\rho` are counted, the signals are those of :func:`gcnlimit.graphs.standard.from_labels`; a
    negative estimate of :math:`\mu` counts as 0.

    >>> import gcnlimit as gl
    >>> i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=1.0), nodes=2000, degree=30, seed=0)
    >>> found = estimate(i.adjacency, i.features, i.labels, i.train_mask)
    >>> bool(abs(found.lam - 1.0) < 2 * found.lam_error), bool(abs(found.mu - 2.0) < 2 * found.mu_error), found.alpha
    (True, True, 4.0)
    """
    known = labels[train_mask]
    if min(np.sum(known > 0), np.sum(known < 0)) < 1 or known.size < 3:
        raise ParameterError(
            f"data = None, and train_mask labels {known.size} nodes, of which {np.sum(known > 0)} are +1: too few to "
            "estimate the model; label three or more, of both classes, or pass data=CSBM(...)"
        )
    given = StandardizedGraph.of(features, np.where(train_mask, labels > 0, -1), adjacency)
    found = from_labels(given)
    return EstimatedCSBM(
        alpha=given.alpha,
        lam=found.lam,
        mu=max(found.mu, 0.0),
        rho=given.rho,
        directed=given.directed,
        lam_error=found.lam_error,
        mu_error=found.mu_error,
        counts=np.bincount(given.labels.codes),
    )


def _known(labels: Any) -> Mask:
    array = plain_array("labels", labels)
    return ~np.isnan(array) if array.dtype.kind == "f" else np.ones(array.shape, bool)


@dataclass(frozen=True, eq=False)
class Instance(Brief):
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
        train_mask: npt.ArrayLike | None = None,
        *,
        data: CSBM | None = None,
        degree: float | None = None,
    ) -> Instance:
        r"""Instance of your own graph.

        Parameters
        ----------
        adjacency
            Adjacency matrix, symmetric or not: SciPy sparse, dense or a NetworkX graph. Self-loops are dropped. Weights are
            positive, in any unit: the operator divides them by :math:`\sum A_{ij}^2 / \sum A_{ij}`, so that its noise has unit
            variance and equal weights count as 1; entries given twice add up.
        features
            Matrix of :math:`N \times M`, best with columns of mean 0 and variance 1; ``float32`` is kept. It is copied.
        labels
            Label :math:`\pm 1` of every node, or :math:`0 \dots C - 1` if `data` has other classes than two equal ones; NaN where
            it is unknown. Only those of the labelled nodes are observed; the others measure.
        train_mask
            Which nodes are labelled: booleans; by default those of known label.
        data
            The model; by default that of `estimate` from the labelled nodes, with standard errors that predictions carry on.
        degree
            Mean degree :math:`d` that centres the adjacency; by default the sum of the weights, divided as above, over the
            number of nodes.

        Examples
        --------
        >>> import gcnlimit as gl
        >>> i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), nodes=1000, degree=30, seed=0)
        >>> mine = gl.Instance.of(i.adjacency, i.features, i.labels, i.train_mask)
        >>> print(f"lam {mine.data.lam:.1f} +- {mine.data.lam_error:.1f}, mu {mine.data.mu:.1f} +- {mine.data.mu_error:.1f}")
        lam 1.5 +- 0.3, mu 1.7 +- 1.1
        >>> p = gl.predict(mine.data, gl.GCN(gl.Diffusion(1.0)))
        >>> print(f"{p.test_accuracy:.2f} +- {p.standard_error.test_accuracy:.2f}")
        0.97 +- 0.09
        """
        return Instance(*observe(adjacency, features, labels, train_mask, data, degree))

    @property
    def data(self) -> CSBM:
        """The model."""
        return self.observation.data

    @property
    def adjacency(self) -> Graph:
        """Adjacency matrix (SciPy CSR), or a dense Gaussian matrix."""
        return self.observation.adjacency

    @property
    def features(self) -> Features:
        """Features of the nodes."""
        return self.observation.features

    @property
    def train_mask(self) -> Mask:
        """Which nodes are labelled."""
        return self.observation.train_mask

    @property
    def labels(self) -> Array:
        r"""Labels of all nodes: :math:`\pm 1` for two equal classes, else :math:`0 \dots C - 1`; NaN where unknown."""
        return self.latents.labels

    def save(self, path: Location) -> None:
        """Write everything to one ``.npz`` file."""
        disk.save(self.observation, self.latents, path)

    @staticmethod
    def load(path: Location) -> Instance:
        """Read what `save` wrote; every field is checked as in `of`."""
        return Instance(*disk.load(path))

    def to_dataset(self) -> Dataset:
        """Data set, its classes 0, 1, ..., its training nodes the one split; self-loops are dropped.

        >>> import gcnlimit as gl
        >>> i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1, classes=3), nodes=200, degree=20, seed=0)
        >>> data = i.to_dataset()
        >>> data.nodes, int((data.training() >= 0).sum()), np.unique(data.y).tolist()
        (200, 20, [0, 1, 2])
        """
        return self._dataset(np.asarray(self.features))

    def to_networkx(self) -> Any:
        r"""NetworkX graph with ``label``, 0 and 1 for :math:`\pm 1`, and ``train`` on its nodes (needs networkx)."""
        return to_networkx(self._dataset(None))

    def to_pyg(self) -> Any:
        r"""PyTorch Geometric ``Data``; labels :math:`\pm 1` become classes 0 and 1 (needs torch and torch_geometric)."""
        return to_pyg(self.to_dataset())

    def _dataset(self, features: Any) -> Dataset:
        if isinstance(self.adjacency, np.ndarray):
            raise ParameterError("degree = None gives a Gaussian matrix, not a graph; sample with a degree")
        y, train = self.data.classes.index_of(self.labels), self.train_mask
        return Dataset(self.adjacency, features, y, train[None], None, (~train & (y >= 0))[None])
