"""Instances on disk, in one ``.npz`` file; what is read is checked like what a user brings."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._validation import real, whole
from gcnlimit._values import Array
from gcnlimit.classes import Classes
from gcnlimit.csbm import CSBM
from gcnlimit.degrees import DegreeLaw, Degrees, Gamma, LogNormal, Pareto
from gcnlimit.errors import ParameterError, writing
from gcnlimit.estimated import EstimatedCSBM
from gcnlimit.graphs.npz import check_path, read_arrays, unreadable
from gcnlimit.simulation.backend import backend_of
from gcnlimit.simulation.data.check import (
    check_degree,
    check_dense,
    check_features,
    check_graph,
    check_labels,
    check_mask,
    check_model,
)
from gcnlimit.simulation.data.features import LARGEST_KEY, StreamedFeatures
from gcnlimit.simulation.data.observation import (
    Features,
    Graph,
    Latents,
    Observation,
    feature_levels,
    noise_scale,
    revealed,
    streamed,
)
from gcnlimit.spectrum import Spectrum

_LAWS: dict[str, Callable[..., DegreeLaw]] = {kind.__name__: kind for kind in (Gamma, LogNormal, Pareto, Degrees)}


def save(observation: Observation, latents: Latents, path: str | os.PathLike[str]) -> None:
    """Write an instance to one ``.npz`` file; streamed features are kept as their key."""
    o, data = observation, observation.data
    fields: dict[str, Any] = {
        "model": np.array([data.alpha, data.lam, data.mu, data.rho]),
        "directed": np.array(data.directed),
        "degree": np.array(np.nan if o.degree is None else o.degree),
        "train_mask": o.train_mask,
        "labels": np.where(np.isnan(latents.labels), _unknown(data.classes), latents.labels).astype(np.int32),
        "centroid": latents.centroid,
    } | _law(data)
    if latents.theta is not None:
        fields["theta"] = latents.theta
    if isinstance(o.adjacency, np.ndarray):
        fields["adjacency"] = o.adjacency
    else:
        fields |= {"indices": o.adjacency.indices, "indptr": o.adjacency.indptr}
        if not np.all(o.adjacency.data == 1.0):
            fields["weights"] = o.adjacency.data
    if isinstance(data, EstimatedCSBM):
        fields["model_error"] = np.array([data.lam_error, data.mu_error])
    X = o.features
    fields |= {"key": np.array(X.key, np.uint64), "spike": X.spike} if streamed(X) else {"features": X}
    if streamed(X) and X.device != "cpu":
        fields["device"] = np.array("cuda" if X.device.startswith("cuda") else X.device)
    check_path(path)
    with writing(path), open(path, "wb") as file:
        np.savez(file, **fields)


def _law(data: CSBM) -> dict[str, npt.NDArray[Any]]:
    """Classes, spectrum of the features and law of the degrees, where they are not the default."""
    law = data.features
    fields: dict[str, npt.NDArray[Any]] = {}
    if data.degrees is not None:
        numbers = [getattr(data.degrees, f.name) for f in dataclasses.fields(data.degrees)]  # type: ignore[arg-type]
        fields |= {"degrees_law": np.array(type(data.degrees).__name__), "degrees": np.array(numbers)}
    if not data.classes.two:
        fields["classes"] = np.array(data.classes.value)
    if not law.is_white:
        fields["spectrum"] = np.array([law.variance, law.signal, law.weight])
    return fields


def _unknown(classes: Classes) -> int:
    """What stands for an unknown label in a file."""
    return 0 if classes.two else -1


def load(path: str | os.PathLike[str]) -> tuple[Observation, Latents]:
    """Read an instance that `save` wrote, each field checked as if a user had brought it."""
    stored = read_arrays(path, "an instance")
    try:
        return _assemble(stored)
    except KeyError as missing:
        raise unreadable(path, "an instance", f"the field {missing} is missing") from None
    except ParameterError as error:
        raise unreadable(path, "an instance", error) from None


def _assemble(stored: dict[str, npt.NDArray[Any]]) -> tuple[Observation, Latents]:
    nodes = stored["train_mask"].size
    mask = check_mask(stored["train_mask"], nodes)
    model = _model(stored)
    labels = check_labels(_with_unknown(stored["labels"], model.classes), mask, model.classes)
    adjacency, degree = _graph(stored, nodes)
    data = check_model(model, adjacency)
    features = _features(stored, labels, data)
    seen = Observation(data, degree, adjacency, features, mask, revealed(labels, mask, data.classes))
    directions = data.fractions.size - 1
    shape = (features.shape[1], directions)[: min(directions, 2)]
    theta = np.array(real("theta", stored["theta"], low=0)) if "theta" in stored else None
    return seen, Latents(labels, _centroid(stored["centroid"], shape), theta)


def _model(stored: dict[str, npt.NDArray[Any]]) -> CSBM:
    if stored["model"].shape != (4,):
        raise ParameterError(f"model has shape {stored['model'].shape}; it must hold alpha, lam, mu and rho")
    alpha, lam, mu, rho = stored["model"]
    directed, law = _single(stored, "directed"), None
    classes = stored.get("classes", np.array(2)).tolist()
    if "spectrum" in stored:
        law = Spectrum(*_spectrum(stored["spectrum"]))
    if "model_error" not in stored:
        return CSBM(alpha, lam, mu, rho, directed, classes=classes, features=law, degrees=_degrees(stored))
    if stored["model_error"].shape != (2,):
        raise ParameterError(f"model_error has shape {stored['model_error'].shape}; it must hold those of lam and mu")
    lam_error, mu_error = stored["model_error"]
    errors = {"lam_error": lam_error, "mu_error": mu_error}
    return EstimatedCSBM(alpha, lam, mu, rho, directed, classes=classes, degrees=_degrees(stored), **errors)


def _degrees(stored: dict[str, npt.NDArray[Any]]) -> DegreeLaw | None:
    """Law of the degrees, None if they are alike."""
    if "degrees_law" not in stored:
        return None
    name = str(_single(stored, "degrees_law"))
    if name not in _LAWS or not stored["degrees"].ndim:
        raise ParameterError(
            f"degrees_law = {name!r} is not known; it must be one of {', '.join(_LAWS)}, with its numbers"
        )
    return _LAWS[name](*stored["degrees"])


def _spectrum(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if rows.ndim != 2 or len(rows) != 3:
        raise ParameterError(f"spectrum has shape {rows.shape}; it must hold rows of variance, signal and weight")
    return rows


def _single(stored: dict[str, npt.NDArray[Any]], name: str) -> Any:
    """Field that is one number."""
    if stored[name].ndim:
        raise ParameterError(f"{name} has shape {stored[name].shape}; it must be a single number")
    return stored[name].item()


def _with_unknown(labels: npt.NDArray[Any], classes: Classes) -> npt.NDArray[Any]:
    """Labels, with the number of the file for an unknown one turned into NaN."""
    return np.where(labels == _unknown(classes), np.nan, labels) if labels.dtype.kind == "i" else labels


def _graph(stored: dict[str, npt.NDArray[Any]], nodes: int) -> tuple[Graph, float | None]:
    """Adjacency matrix and mean degree; the degree of a dense Gaussian matrix is NaN in the file."""
    degree = _single(stored, "degree")
    if isinstance(degree, float) and math.isnan(degree):
        if "adjacency" not in stored:
            raise ParameterError("degree = nan is not allowed; it must be the mean degree of the graph")
        return check_dense(stored["adjacency"], nodes), None
    indices, indptr = stored["indices"], stored["indptr"]
    weights = stored.get("weights", np.ones(indices.shape))
    if indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu" or weights.dtype.kind not in "iuf":
        raise ParameterError(
            f"indices, indptr and weights have dtypes {indices.dtype}, {indptr.dtype} and {weights.dtype}; they must be whole, "
            "whole and real numbers"
        )
    try:
        csr = sparse.csr_array((weights, indices.astype(np.int64), indptr.astype(np.int64)), shape=(nodes, nodes))
    except ValueError as error:
        raise ParameterError(f"indices and indptr are no CSR matrix of {nodes} nodes: {error}") from None
    return check_graph(csr), check_degree(degree, nodes)


def _features(stored: dict[str, npt.NDArray[Any]], labels: Array, data: CSBM) -> Features:
    """Features as an array, or as the key that regenerates them."""
    if "features" in stored:
        return check_features(stored["features"], labels.size)
    spike, directions = stored["spike"], data.fractions.size - 1
    if spike.ndim != 2 or spike.shape[1] != directions or np.isnan(labels).any():
        raise ParameterError(
            f"spike must be a matrix of {directions} columns, and every label known, for the features to be regenerated"
        )
    spike = check_features(spike, len(spike))
    key = whole("key", _single(stored, "key"), low=0, high=LARGEST_KEY)
    variance, _ = feature_levels(data.features, len(spike))
    device = _single(stored, "device") if "device" in stored else "cpu"
    backend_of(device)
    return StreamedFeatures(key, data.classes.codes_of(labels), spike, noise_scale(variance, spike.dtype), device)


def _centroid(centroid: npt.NDArray[Any], shape: tuple[int, ...]) -> Array:
    """Directions of the features, or NaN for those that are unknown."""
    unknown = centroid.dtype.kind == "f" and np.isnan(centroid).all()
    if centroid.shape != shape:
        raise ParameterError(
            f"centroid has shape {centroid.shape}; it must have the shape {shape}, a row for each feature"
        )
    return np.full(shape, np.nan) if unknown else np.array(real("centroid", centroid))
