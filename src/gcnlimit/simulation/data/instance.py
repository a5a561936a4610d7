"""One draw of the contextual stochastic block model, or a graph that a user brings: what is observed, and what is hidden."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._runtime.progress import progress_bar
from gcnlimit._validation import as_real, plain_array, whole
from gcnlimit._values import Array, Brief
from gcnlimit.classes import Classes
from gcnlimit.csbm import CSBM
from gcnlimit.degrees import Degrees, Gamma, LogNormal, Pareto
from gcnlimit.errors import ParameterError
from gcnlimit.estimated import EstimatedCSBM
from gcnlimit.graphs import dataset
from gcnlimit.graphs.check import as_adjacency, is_complete
from gcnlimit.graphs.dataset import Dataset, Location, Stored, field
from gcnlimit.graphs.operator import weight_unit
from gcnlimit.graphs.standard import StandardizedGraph, from_labels
from gcnlimit.simulation.backend import backend_of
from gcnlimit.simulation.data import observation
from gcnlimit.simulation.data.features import LARGEST_KEY, Features, StreamedFeatures, streamed
from gcnlimit.simulation.data.observation import Graph, Latents, Mask, Observation
from gcnlimit.spectrum import Spectrum

_CLASSES = (CSBM, EstimatedCSBM, Spectrum, Gamma, LogNormal, Pareto, Degrees)
_KINDS: dict[str, Any] = {kind.__name__: kind for kind in _CLASSES}


def two_class_model(adjacency: Graph, X: Features, labels: Array, mask: Mask) -> EstimatedCSBM:
    r"""Model of two equal classes with its standard errors, from the labelled nodes; a negative :math:`\mu` counts as 0.

    >>> import gcnlimit as gl
    >>> i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=1.0), nodes=2000, degree=30, seed=0)
    >>> found = two_class_model(i.adjacency, i.features, i.labels, i.train_mask)
    >>> bool(abs(found.lam - 1.0) < 2 * found.lam_error), bool(abs(found.mu - 2.0) < 2 * found.mu_error), found.alpha
    (True, True, 4.0)
    """
    labelled = labels[mask]
    if min(np.sum(labelled > 0), np.sum(labelled < 0)) < 1 or labelled.size < 3:
        few = f"train_mask labels {labelled.size} nodes, of which {np.sum(labelled > 0)} are +1"
        told = f"data = None, and {few}: too few to estimate the model"
        raise ParameterError(
            f"{told}; label three or more, of both classes, or pass data=CSBM(...)"
        )
    index = Classes(2).index_of(np.where(mask, labels, np.nan))
    graph = StandardizedGraph.of(X, index, adjacency)
    signals = from_labels(graph)
    point = graph.alpha, signals.lam, max(signals.mu, 0.0), graph.rho, graph.directed
    n = graph.labels.counts
    return EstimatedCSBM(*point, lam_error=signals.lam_error, mu_error=signals.mu_error, counts=n)


@dataclass(frozen=True, eq=False)
class Instance(Brief):
    """One draw of the model: what a learner may see, and the hidden labels kept apart from it; `of` takes your own graph.

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
            The model; by default estimated from the labelled nodes, with standard errors that predictions carry on.
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
            numbers = plain_array("labels", labels)
            train_mask = numbers == numbers  # noqa: PLR0124 (NaN differs from itself)
        mask = observation.check_mask(train_mask, nodes)
        model = None if data is None else observation.check_model(data, adjacency)
        classes = Classes(2) if model is None else model.classes
        checked = observation.check_labels(labels, mask, classes)
        if not mask.any():
            raise ParameterError("train_mask is False everywhere; label at least one node")
        if degree is None:
            degree = float(adjacency.data.sum() / weight_unit(adjacency) / nodes)
        else:
            degree = observation.check_degree(degree, nodes)
        if data is None:
            data = two_class_model(adjacency, features, checked, mask)
        if not data.features.is_white:
            reason = "data has correlated features, but which column has which noise is not known"
            raise ParameterError(f"{reason}; whiten the features, and give data without a Spectrum")
        shown = observation.shown_labels(checked, mask, classes)
        centroid = np.full(observation.centroid_shape(features.shape[1], classes), np.nan)
        seen = Observation(data, degree, adjacency, features, mask, shown)
        return Instance(seen, Latents(checked, centroid))

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

    @property
    def given_labels(self) -> Array:
        """Labels of all nodes, on labelled ones as they were given: some may be wrong."""
        if not self.data.noise:
            return self.labels
        return np.where(self.train_mask, self.observation.train_labels, self.labels)

    def save(self, path: Location) -> None:
        """Write everything to one ``.npz`` file, the model as JSON; streamed features are kept as their key."""
        X = self.features
        fields: dict[str, Any] = dataset.graph_fields(self.observation.graph) | {
            "model": np.array(json.dumps(_plain(self.data))),
            "degree": np.array(self.observation.degree),
            "train_mask": self.train_mask,
            "labels": self.labels,
            "centroid": self.latents.centroid,
        }
        if self.data.noise:
            fields["given_labels"] = self.given_labels
        if self.latents.theta is not None:
            fields["theta"] = self.latents.theta
        if streamed(X):
            device = "cuda" if X.device.startswith("cuda") else X.device
            fields |= {"key": np.array(X.key, np.uint64), "spike": X.spike}
            fields["device"] = np.array(device)
        else:
            fields["features"] = X
        dataset.write_arrays(path, fields, compress=False)

    @staticmethod
    @progress_bar("reading")
    def load(path: Location) -> Instance:
        """Read what `save` wrote; every field is checked as in `of`."""
        with dataset.reading(path, "an instance") as stored:
            dataset.check_work(stored, kept="features")
            nodes = stored["train_mask"].size
            mask = observation.check_mask(stored["train_mask"], nodes)
            matrix = dataset.stored_csr(stored, "weights", (nodes, nodes))
            adjacency = as_adjacency(matrix, name="adjacency", loops=True)
            degree = observation.check_degree(field(stored, "degree").item(), nodes)
            data = observation.check_model(_model(stored), adjacency)
            labels = observation.check_labels(stored["labels"], mask, data.classes)
            features = _features(stored, labels, data)
            shape = observation.centroid_shape(features.shape[1], data.classes)
            centroid = field(stored, "centroid", *shape)
            if not (centroid.dtype.kind == "f" and np.isnan(centroid).all()):  # else unknown
                as_real("centroid", centroid)
            theta = None
            if "theta" in stored:
                theta = np.array(as_real("theta", field(stored, "theta", nodes), low=0))
            observed = labels
            if data.noise:
                observed = observation.check_labels(stored["given_labels"], mask, data.classes)
        shown = observation.shown_labels(observed, mask, data.classes)
        seen = Observation(data, degree, adjacency, features, mask, shown)
        return Instance(seen, Latents(labels, centroid.astype(float), theta))

    def to_dataset(self) -> Dataset:
        """Data set with classes 0, 1, ... and the training nodes as its only split; self-loops are dropped.

        `gcnlimit.real` writes it to tables, to NetworkX and to PyTorch Geometric.

        >>> import gcnlimit as gl
        >>> i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1, classes=3), nodes=200, degree=20, seed=0)
        >>> data = i.to_dataset()
        >>> data.nodes, int((data.training() >= 0).sum()), np.unique(data.y).tolist()
        (200, 20, [0, 1, 2])
        """
        y = self.data.classes.index_of(self.given_labels)
        train = self.train_mask[None]
        test = ~train & (y >= 0)
        return Dataset(self.observation.graph, np.asarray(self.features), y, train, None, test)


Given = Instance | Observation


def observed(graph: Given) -> Observation:
    """What is observed of an instance, or an observation itself."""
    return graph.observation if isinstance(graph, Instance) else graph


def _plain(value: Any) -> Any:
    """A model, or a part of it, as a dictionary of its kind and its fields; white features are the default."""
    if isinstance(value, Classes):
        return value.value
    if type(value).__name__ not in _KINDS:
        return value.tolist() if isinstance(value, np.ndarray) else value
    fields = {part.name: getattr(value, part.name) for part in dataclasses.fields(value)}
    if isinstance(value, CSBM) and value.features.is_white:
        del fields["features"]
    return {"kind": type(value).__name__} | {name: _plain(part) for name, part in fields.items()}


def _built(parts: dict[str, Any]) -> Any:
    """Value that `_plain` took apart; the numbers of a law are in the order of its fields."""
    cls = _KINDS[parts.pop("kind")]
    return cls(**parts) if issubclass(cls, CSBM) else cls(*parts.values())


def _model(stored: Stored) -> Any:
    text = field(stored, "model").item()
    try:
        return json.loads(text, object_hook=_built)
    except (ArithmeticError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise ParameterError(f"model = {text!r} cannot be read as a model: {error}") from None


def _features(stored: Stored, labels: Array, data: CSBM) -> Features:
    """Features as an array, or as the key that regenerates them."""
    if "features" in stored:
        return observation.check_features(stored["features"], labels.size)
    if np.isnan(labels).any():
        raise ParameterError("labels are NaN in part, but all are needed to draw the features")
    spike = field(stored, "spike", None, data.classes.count - 1)
    spike = observation.check_features(spike, len(spike))
    key = whole("key", field(stored, "key").item(), low=0, high=LARGEST_KEY)
    device = field(stored, "device").item() if "device" in stored else "cpu"
    backend_of(device)
    return StreamedFeatures.of(key, data.classes.codes_of(labels), spike, data.features, device)
