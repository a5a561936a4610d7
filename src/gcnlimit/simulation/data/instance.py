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
from gcnlimit.graphs.standard import StandardizedGraph, from_labels
from gcnlimit.simulation.data import disk, observation
from gcnlimit.simulation.data.features import Block, Features
from gcnlimit.simulation.data.observation import Graph, Latents, Mask, Observation


def estimate(
    adjacency: sparse.csr_array[np.float64], features: Block, labels: Array, train_mask: Mask
) -> EstimatedCSBM:
    r"""Model of two equal classes with its standard errors, from the labelled nodes; a negative :math:`\mu` counts as 0.

    >>> import gcnlimit as gl
    >>> i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=1.0), nodes=2000, degree=30, seed=0)
    >>> found = estimate(i.adjacency, i.features, i.labels, i.train_mask)
    >>> bool(abs(found.lam - 1.0) < 2 * found.lam_error), bool(abs(found.mu - 2.0) < 2 * found.mu_error), found.alpha
    (True, True, 4.0)
    """
    known = labels[train_mask]
    if min(np.sum(known > 0), np.sum(known < 0)) < 1 or known.size < 3:
        raise ParameterError(
            f"data = None, and train_mask labels {known.size} nodes, of which {np.sum(known > 0)} "
            "are +1: too few to estimate it; label three, of both classes, or pass data=CSBM(...)"
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


@dataclass(frozen=True, eq=False)
class Instance(Brief):
    """One draw of the model, what a learner sees apart from what it must not see; `of` takes your own graph.

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
            Adjacency matrix, symmetric or not: SciPy sparse, dense or a NetworkX graph. Self-loops are dropped, weights are kept.
        features
            Matrix of :math:`N \times M`, best with columns of mean 0 and variance 1; ``float32`` is kept. It is copied.
        labels
            Label :math:`\pm 1` of every node, or :math:`0 \dots C - 1` if `data` has other classes; NaN where it is unknown.
        train_mask
            Which nodes are labelled: booleans; by default those of known label.
        data
            The model; by default that of `estimate` from the labelled nodes, with standard errors that predictions carry on.
        degree
            Mean degree :math:`d` that centres the adjacency; by default the sum of the weights, in their unit, per node.

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
        adjacency = as_adjacency(adjacency, name="adjacency")
        nodes = adjacency.shape[0]
        if is_complete(adjacency):
            raise ParameterError(f"adjacency joins all {nodes} nodes alike; leave out some edges")
        features = observation.check_features(features, nodes)
        if train_mask is None:
            given = plain_array("labels", labels)
            train_mask = ~np.isnan(given) if given.dtype.kind == "f" else np.ones(given.shape, bool)
        mask = observation.check_mask(train_mask, nodes)
        classes = Classes(2)
        if data is not None:
            classes = observation.check_model(data, adjacency).classes
        known = observation.check_labels(labels, mask, classes)
        if not mask.any():
            raise ParameterError(
                "train_mask is False everywhere; label at least one node to train on"
            )
        if degree is None:
            degree = float(adjacency.data.sum() / weight_unit(adjacency) / nodes)
        else:
            degree = observation.check_degree(degree, nodes)
        if data is None:
            data = estimate(adjacency, features, known, mask)
        if not data.features.is_white:
            raise ParameterError(
                "data has correlated features, and which column has which noise is not known; "
                "whiten the features, and give data without features"
            )
        shown = observation.shown_labels(known, mask, classes)
        centroid = np.full(observation.centroid_shape(features.shape[1], classes), np.nan)
        seen = Observation(data, degree, adjacency, features, mask, shown)
        return Instance(seen, Latents(known, centroid))

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

        `gcnlimit.real` writes it to tables, to NetworkX and to PyTorch Geometric.

        >>> import gcnlimit as gl
        >>> i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1, classes=3), nodes=200, degree=20, seed=0)
        >>> data = i.to_dataset()
        >>> data.nodes, int((data.training() >= 0).sum()), np.unique(data.y).tolist()
        (200, 20, [0, 1, 2])
        """
        y = self.data.classes.index_of(self.labels)
        train = self.train_mask[None]
        test = ~train & (y >= 0)
        X = np.asarray(self.features)
        return Dataset(self.observation.graph, X, y, train, None, test)


Given = Instance | Observation


def observed(graph: Given) -> Observation:
    """What is observed of an instance, or an observation itself."""
    return graph.observation if isinstance(graph, Instance) else graph
