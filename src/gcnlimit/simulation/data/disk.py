"""Instances on disk, in one ``.npz`` file; what is read is checked like what a user brings."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np

from gcnlimit._validation import real, whole
from gcnlimit._values import Array
from gcnlimit.classes import Classes
from gcnlimit.csbm import CSBM, EstimatedCSBM
from gcnlimit.degrees import Degrees, Gamma, LogNormal, Pareto
from gcnlimit.errors import ParameterError
from gcnlimit.graphs import dataset
from gcnlimit.graphs.check import as_adjacency
from gcnlimit.graphs.dataset import Location, Stored, field
from gcnlimit.simulation.backend import backend_of
from gcnlimit.simulation.data import observation
from gcnlimit.simulation.data.features import LARGEST_KEY, Features, StreamedFeatures, streamed
from gcnlimit.simulation.data.observation import Latents, Observation
from gcnlimit.spectrum import Spectrum

_CLASSES = (CSBM, EstimatedCSBM, Spectrum, Gamma, LogNormal, Pareto, Degrees)
_KINDS: dict[str, Any] = {kind.__name__: kind for kind in _CLASSES}


def save(seen: Observation, latents: Latents, path: Location) -> None:
    """Write an instance to one ``.npz`` file, its model as JSON; streamed features are kept as their key."""
    X = seen.features
    fields: dict[str, Any] = dataset.graph_fields(seen.graph) | {
        "model": np.array(json.dumps(_plain(seen.data))),
        "degree": np.array(seen.degree),
        "train_mask": seen.train_mask,
        "labels": latents.labels,
        "centroid": latents.centroid,
    }
    if latents.theta is not None:
        fields["theta"] = latents.theta
    if streamed(X):
        fields |= {"key": np.array(X.key, np.uint64), "spike": X.spike}
        if X.device != "cpu":
            fields["device"] = np.array("cuda" if X.device.startswith("cuda") else X.device)
    else:
        fields["features"] = X
    dataset.write_arrays(path, fields, compress=False)


def _plain(value: Any) -> Any:
    """A model, or a part of it, as a dictionary of its kind and its fields; white features are the default."""
    if isinstance(value, Classes):
        return value.value
    if type(value).__name__ not in _KINDS:
        return value.tolist() if isinstance(value, np.ndarray) else value
    own = {part.name: getattr(value, part.name) for part in dataclasses.fields(value)}
    if isinstance(value, CSBM) and value.features.is_white:
        del own["features"]
    return {"kind": type(value).__name__} | {name: _plain(part) for name, part in own.items()}


def _built(parts: dict[str, Any]) -> Any:
    """What `_plain` took apart; a law has its numbers in their order."""
    kind = _KINDS[parts.pop("kind")]
    return kind(**parts) if issubclass(kind, CSBM) else kind(*parts.values())


def load(path: Location) -> tuple[Observation, Latents]:
    """Read an instance that `save` wrote, each field checked as if a user had brought it."""
    with dataset.reading(path, "an instance") as stored:
        return _assemble(stored)


def _assemble(stored: Stored) -> tuple[Observation, Latents]:
    nodes = stored["train_mask"].size
    mask = observation.check_mask(stored["train_mask"], nodes)
    matrix = dataset.stored_csr(stored, "weights", (nodes, nodes))
    adjacency = as_adjacency(matrix, name="adjacency", loops=True)
    degree = observation.check_degree(field(stored, "degree").item(), nodes)
    data = observation.check_model(_model(stored), adjacency)
    labels = observation.check_labels(stored["labels"], mask, data.classes)
    features = _features(stored, labels, data)
    shown = observation.shown_labels(labels, mask, data.classes)
    shape = observation.centroid_shape(features.shape[1], data.classes)
    centroid = field(stored, "centroid", *shape)
    unknown = centroid.dtype.kind == "f" and np.isnan(centroid).all()
    centroid = centroid.astype(float) if unknown else np.array(real("centroid", centroid))
    theta = None
    if "theta" in stored:
        theta = np.array(real("theta", field(stored, "theta", nodes), low=0))
    seen = Observation(data, degree, adjacency, features, mask, shown)
    return seen, Latents(labels, centroid, theta)


def _model(stored: Stored) -> Any:
    text = field(stored, "model").item()
    try:
        return json.loads(text, object_hook=_built)
    except (ArithmeticError, KeyError, TypeError, ValueError) as error:
        raise ParameterError(f"model = {text!r} is none: {error}") from None


def _features(stored: Stored, labels: Array, data: CSBM) -> Features:
    """Features as an array, or as the key that regenerates them."""
    if "features" in stored:
        return observation.check_features(stored["features"], labels.size)
    if np.isnan(labels).any():
        raise ParameterError(
            "labels are unknown in part; all are needed to regenerate the features"
        )
    spike = field(stored, "spike", None, data.classes.count - 1)
    spike = observation.check_features(spike, len(spike))
    key = whole("key", field(stored, "key").item(), low=0, high=LARGEST_KEY)
    device = field(stored, "device").item() if "device" in stored else "cpu"
    backend_of(device)
    codes = data.classes.codes_of(labels)
    return StreamedFeatures.of(key, codes, spike, data.features, device)
