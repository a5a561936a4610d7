"""Instances on disk, in one ``.npz`` file; what is read is checked like what a user brings."""

from __future__ import annotations

import math
import os
import zipfile
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gcnlimit._validation import real, whole
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.estimated import EstimatedCSBM
from gcnlimit.simulation.features import LARGEST_KEY, StreamedFeatures
from gcnlimit.simulation.observation import Features, Graph, Latents, Observation, streamed
from gcnlimit.simulation.parts import (
    check_degree,
    check_dense,
    check_features,
    check_graph,
    check_labels,
    check_mask,
    check_model,
)

__all__ = ["load", "save", "unreadable"]

_OF_ZIP = (zipfile.BadZipFile, zlib.error)


def save(observation: Observation, latents: Latents, path: str | os.PathLike[str]) -> None:
    """Write an instance to one ``.npz`` file; streamed features are kept as their key."""
    o, data = observation, observation.data
    fields: dict[str, Any] = {
        "model": np.array([data.alpha, data.lam, data.mu, data.rho]),
        "directed": np.array(data.directed),
        "degree": np.array(np.nan if o.degree is None else o.degree),
        "train_mask": o.train_mask,
        "labels": np.nan_to_num(latents.labels).astype(np.int8),  # 0 for an unknown one
        "centroid": latents.centroid,
    }
    if isinstance(o.adjacency, np.ndarray):
        fields["adjacency"] = o.adjacency
    else:
        fields |= {"indices": o.adjacency.indices, "indptr": o.adjacency.indptr}
        if not np.all(o.adjacency.data == 1.0):
            fields["weights"] = o.adjacency.data
    if isinstance(data, EstimatedCSBM):
        fields["model_error"] = np.array([data.lam_error, data.mu_error])
    X = o.features
    fields |= {"key": np.array(X.key, np.uint64), "spike": X.spike[:, 0]} if streamed(X) else {"features": X}
    _check_path(path)
    with open(path, "wb") as file:
        np.savez(file, **fields)


def load(path: str | os.PathLike[str]) -> tuple[Observation, Latents]:
    """Read an instance that `save` wrote, each field checked as if a user had brought it."""
    stored = _read(path)
    try:
        return _assemble(stored)
    except KeyError as missing:
        raise unreadable(path, "an instance", f"the field {missing} is missing") from None
    except ParameterError as error:
        raise unreadable(path, "an instance", error) from None


def _read(path: str | os.PathLike[str]) -> dict[str, npt.NDArray[Any]]:
    """Fields of an ``.npz`` file; it may hold anything."""
    _check_path(path)
    try:
        with open(path, "rb") as opened:
            file = np.load(opened, allow_pickle=False)
            if not isinstance(file, np.lib.npyio.NpzFile):
                raise ValueError("it holds one array instead of the fields of an instance")
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, TypeError, KeyError, EOFError, MemoryError, NotImplementedError, *_OF_ZIP) as error:
        raise unreadable(path, "an instance", error) from None


def unreadable(path: str | os.PathLike[str], kind: str, reason: object) -> ParameterError:
    """Error for a file that is not what it should be; NumPy's advice to execute what it holds is not passed on."""
    unsafe = "pickle" in str(reason)
    why = "it is not an .npz file of plain arrays" if unsafe else reason
    return ParameterError(f"path = {os.fspath(path)!r} cannot be read as {kind}: {why}")


def _check_path(path: object) -> None:
    if not isinstance(path, str | os.PathLike) or "\0" in os.fspath(path):
        raise ParameterError(f"path = {path!r} is not allowed; it must name a file")


def _assemble(stored: dict[str, npt.NDArray[Any]]) -> tuple[Observation, Latents]:
    nodes = stored["train_mask"].size
    mask = check_mask(stored["train_mask"], nodes)
    labels = check_labels(_with_unknown(stored["labels"]), mask)
    adjacency, degree = _graph(stored, nodes)
    features = _features(stored, labels)
    data = check_model(_model(stored), adjacency)
    seen = Observation(data, degree, adjacency, features, mask, np.where(mask, labels, 0.0))
    return seen, Latents(labels, _centroid(stored["centroid"], features.shape[1]))


def _model(stored: dict[str, npt.NDArray[Any]]) -> CSBM:
    if stored["model"].shape != (4,):
        raise ParameterError(f"model has shape {stored['model'].shape}; it must hold alpha, lam, mu and rho")
    alpha, lam, mu, rho = stored["model"]
    directed = _single(stored, "directed")
    if "model_error" not in stored:
        return CSBM(alpha, lam, mu, rho, directed)
    if stored["model_error"].shape != (2,):
        raise ParameterError(f"model_error has shape {stored['model_error'].shape}; it must hold those of lam and mu")
    lam_error, mu_error = stored["model_error"]
    return EstimatedCSBM(alpha, lam, mu, rho, directed, lam_error=lam_error, mu_error=mu_error)


def _single(stored: dict[str, npt.NDArray[Any]], name: str) -> Any:
    """Field that is one number."""
    if stored[name].ndim:
        raise ParameterError(f"{name} has shape {stored[name].shape}; it must be a single number")
    return stored[name].item()


def _with_unknown(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Labels, with the 0 of the file for an unknown one turned into NaN."""
    return np.where(labels == 0, np.nan, labels) if labels.dtype.kind == "i" else labels


def _graph(stored: dict[str, npt.NDArray[Any]], nodes: int) -> tuple[Graph, float | None]:
    """Adjacency matrix and mean degree; the degree of a dense Gaussian matrix is NaN in the file."""
    degree = _single(stored, "degree")
    if isinstance(degree, float) and math.isnan(degree):
        return check_dense(stored["adjacency"], nodes), None
    indices, indptr = stored["indices"], stored["indptr"]
    weights = stored.get("weights", np.ones(indices.shape))
    if indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu" or weights.dtype.kind not in "iuf":
        raise ParameterError(
            f"indices, indptr and weights have dtypes {indices.dtype}, {indptr.dtype} and {weights.dtype}; they must be numbers"
        )
    try:
        csr = sparse.csr_array((weights, indices.astype(np.int64), indptr.astype(np.int64)), shape=(nodes, nodes))
    except ValueError as error:
        raise ParameterError(f"indices and indptr are no CSR matrix of {nodes} nodes: {error}") from None
    return check_graph(csr), check_degree(degree, nodes)


def _features(stored: dict[str, npt.NDArray[Any]], labels: Array) -> Features:
    """Features as an array, or as the key that regenerates them."""
    if "features" in stored:
        return check_features(stored["features"], labels.size)
    spike = check_features(np.atleast_2d(stored["spike"]), 1)
    key = whole("key", _single(stored, "key"), low=0, high=LARGEST_KEY)
    if stored["spike"].ndim != 1 or np.isnan(labels).any():
        raise ParameterError("spike must be a vector, and every label known, for the features to be regenerated")
    return StreamedFeatures(key, labels[:, None], spike.T)


def _centroid(centroid: npt.NDArray[Any], width: int) -> Array:
    """Direction of the features, or NaN for one that is unknown."""
    unknown = centroid.dtype.kind == "f" and np.isnan(centroid).all()
    if centroid.shape != (width,):
        raise ParameterError(
            f"centroid has shape {centroid.shape}; it must have one number for each of {width} features"
        )
    return np.full(width, np.nan) if unknown else np.array(real("centroid", centroid))
