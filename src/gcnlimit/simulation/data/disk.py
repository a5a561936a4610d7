"""Instances on disk, in one ``.npz`` file; what is read is checked like what a user brings."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from gcnlimit._validation import real, whole
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM, EstimatedCSBM
from gcnlimit.degrees import DegreeLaw, Degrees, Gamma, LogNormal, Pareto
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

_LAWS: dict[str, Callable[..., DegreeLaw]] = {kind.__name__: kind for kind in (Gamma, LogNormal, Pareto, Degrees)}


def save(observation: Observation, latents: Latents, path: Location) -> None:
    """Write an instance to one ``.npz`` file; streamed features are kept as their key."""
    o = observation
    data = o.data
    fields: dict[str, Any] = {
        "model": np.array([data.alpha, data.lam, data.mu, data.rho]),
        "directed": np.array(data.directed),
        "degree": np.array(o.degree),
        "train_mask": o.train_mask,
        "labels": latents.labels,
        "centroid": latents.centroid,
    } | _law(data)
    if latents.theta is not None:
        fields["theta"] = latents.theta
    fields |= graph_fields(o.graph)
    if isinstance(data, EstimatedCSBM):
        fields["model_error"] = np.array([data.lam_error, data.mu_error])
        fields |= {} if data.counts is None else {"model_counts": np.array(data.counts)}
    X = o.features
    fields |= {"key": np.array(X.key, np.uint64), "spike": X.spike} if streamed(X) else {"features": X}
    if streamed(X) and X.device != "cpu":
        fields["device"] = np.array("cuda" if X.device.startswith("cuda") else X.device)
    write_arrays(path, fields, compress=False)


def _law(data: CSBM) -> Stored:
    """Classes, spectrum of the features and law of the degrees, where they are not the default."""
    law = data.features
    fields: Stored = {}
    if data.degrees is not None:
        numbers = [getattr(data.degrees, f.name) for f in dataclasses.fields(data.degrees)]  # type: ignore[arg-type]
        fields |= {"degrees_law": np.array(type(data.degrees).__name__), "degrees": np.array(numbers)}
    if not data.classes.two:
        fields["classes"] = np.array(data.classes.value)
    if not law.is_white:
        fields["spectrum"] = np.array([law.variance, law.signal, law.weight])
    return fields


def load(path: Location) -> tuple[Observation, Latents]:
    """Read an instance that `save` wrote, each field checked as if a user had brought it."""
    with reading(path, "an instance") as stored:
        return _assemble(stored)


def _assemble(stored: Stored) -> tuple[Observation, Latents]:
    nodes = stored["train_mask"].size
    mask = check_mask(stored["train_mask"], nodes)
    model = _model(stored)
    labels = check_labels(stored["labels"], mask, model.classes)
    adjacency = as_adjacency(stored_csr(stored, "weights", (nodes, nodes)), name="adjacency", loops=True)
    degree = check_degree(field(stored, "degree").item(), nodes)
    data = check_model(model, adjacency)
    features = _features(stored, labels, data)
    seen = Observation.of(data, degree, adjacency, features, mask, labels)
    directions = data.fractions.size - 1
    centroid = field(stored, "centroid", *(features.shape[1], directions)[: min(directions, 2)])
    unknown = centroid.dtype.kind == "f" and np.isnan(centroid).all()
    centroid = centroid.astype(float) if unknown else np.array(real("centroid", centroid))
    theta = np.array(real("theta", field(stored, "theta", nodes), low=0)) if "theta" in stored else None
    return seen, Latents(labels, centroid, theta)


def _model(stored: Stored) -> CSBM:
    parameters = (*field(stored, "model", 4), field(stored, "directed").item())
    classes = stored.get("classes", np.array(2)).tolist()
    degrees = _degrees(stored)
    if "model_error" in stored:
        lam_error, mu_error = field(stored, "model_error", 2)
        errors = {"lam_error": lam_error, "mu_error": mu_error, "counts": stored.get("model_counts")}
        return EstimatedCSBM(*parameters, classes=classes, degrees=degrees, **errors)
    law = Spectrum(*field(stored, "spectrum", 3, None)) if "spectrum" in stored else None
    return CSBM(*parameters, classes=classes, features=law, degrees=degrees)


def _degrees(stored: Stored) -> DegreeLaw | None:
    """Law of the degrees, None if they are alike."""
    if "degrees_law" not in stored:
        return None
    name = str(field(stored, "degrees_law").item())
    if name not in _LAWS or not stored["degrees"].ndim:
        raise ParameterError(
            f"degrees_law = {name!r} is not known; it must be one of {', '.join(_LAWS)}, with its numbers"
        )
    return _LAWS[name](*stored["degrees"])


def _features(stored: Stored, labels: Array, data: CSBM) -> Features:
    """Features as an array, or as the key that regenerates them."""
    if "features" in stored:
        return check_features(stored["features"], labels.size)
    if np.isnan(labels).any():
        raise ParameterError("labels are unknown in part; every one must be known for the features to be regenerated")
    spike = field(stored, "spike", None, data.fractions.size - 1)
    spike = check_features(spike, len(spike))
    key = whole("key", field(stored, "key").item(), low=0, high=LARGEST_KEY)
    variance, _ = feature_levels(data.features, len(spike))
    device = field(stored, "device").item() if "device" in stored else "cpu"
    backend_of(device)
    return StreamedFeatures(key, data.classes.codes_of(labels), spike, noise_scale(variance, spike.dtype), device)
