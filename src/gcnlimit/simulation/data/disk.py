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
from gcnlimit.graphs.check import as_adjacency
from gcnlimit.graphs.dataset import (
    Location,
    Stored,
    field,
    graph_fields,
    reading,
    stored_csr,
    write_arrays,
)
from gcnlimit.simulation.backend import backend_of
from gcnlimit.simulation.data.features import LARGEST_KEY, StreamedFeatures
from gcnlimit.simulation.data.observation import (
    Features,
    Latents,
    Observation,
    check_degree,
    check_features,
    check_labels,
    check_mask,
    check_model,
    feature_levels,
    noise_scale,
    streamed,
)
from gcnlimit.spectrum import Spectrum

_KINDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (CSBM, EstimatedCSBM, Spectrum, Gamma, LogNormal, Pareto, Degrees)
}


def save(observation: Observation, latents: Latents, path: Location) -> None:
    """Write an instance to one ``.npz`` file, its model as JSON; streamed features are kept as their key."""
    X = observation.features
    fields: dict[str, Any] = graph_fields(observation.graph) | {
        "model": np.array(json.dumps(_plain(observation.data))),
        "degree": np.array(observation.degree),
        "train_mask": observation.train_mask,
        "labels": latents.labels,
        "centroid": latents.centroid,
    }
    if latents.theta is not None:
        fields["theta"] = latents.theta
    fields |= (
        {"key": np.array(X.key, np.uint64), "spike": X.spike} if streamed(X) else {"features": X}
    )
    if streamed(X) and X.device != "cpu":
        fields["device"] = np.array("cuda" if X.device.startswith("cuda") else X.device)
    write_arrays(path, fields, compress=False)


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
    with reading(path, "an instance") as stored:
        return _assemble(stored)


def _assemble(stored: Stored) -> tuple[Observation, Latents]:
    nodes = stored["train_mask"].size
    mask = check_mask(stored["train_mask"], nodes)
    adjacency = as_adjacency(
        stored_csr(stored, "weights", (nodes, nodes)), name="adjacency", loops=True
    )
    degree = check_degree(field(stored, "degree").item(), nodes)
    data = check_model(_model(stored), adjacency)
    labels = check_labels(stored["labels"], mask, data.classes)
    features = _features(stored, labels, data)
    seen = Observation.of(data, degree, adjacency, features, mask, labels)
    directions = data.fractions.size - 1
    centroid = field(stored, "centroid", *(features.shape[1], directions)[: min(directions, 2)])
    unknown = centroid.dtype.kind == "f" and np.isnan(centroid).all()
    centroid = centroid.astype(float) if unknown else np.array(real("centroid", centroid))
    theta = (
        np.array(real("theta", field(stored, "theta", nodes), low=0)) if "theta" in stored else None
    )
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
        return check_features(stored["features"], labels.size)
    if np.isnan(labels).any():
        raise ParameterError(
            "labels are unknown in part; every one must be known for the features to be regenerated"
        )
    spike = field(stored, "spike", None, data.fractions.size - 1)
    spike = check_features(spike, len(spike))
    key = whole("key", field(stored, "key").item(), low=0, high=LARGEST_KEY)
    variance, _ = feature_levels(data.features, len(spike))
    device = field(stored, "device").item() if "device" in stored else "cpu"
    backend_of(device)
    return StreamedFeatures(
        key, data.classes.codes_of(labels), spike, noise_scale(variance, spike.dtype), device
    )
