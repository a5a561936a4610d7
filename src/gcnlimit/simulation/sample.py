"""Draw an instance of the model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import flag, real, whole
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.simulation.features import StreamedFeatures
from gcnlimit.simulation.graph import bernoulli_graph, gaussian_graph
from gcnlimit.simulation.instance import Instance
from gcnlimit.simulation.observation import Latents, Observation, feature_count

__all__ = ["Seed", "sample", "seed_sequence"]

Seed = int | np.random.SeedSequence


def sample(
    data: CSBM,
    nodes: int = 10_000,
    degree: float | None = 30.0,
    seed: Seed = 0,
    *,
    streamed: bool = False,
    dtype: npt.DTypeLike = np.float64,
) -> Instance:
    r"""Draw labels, graph, features and the set of labelled nodes.

    The edge probability is :math:`\frac dN + \frac{\lambda}{\sqrt N}\sqrt{\frac dN (1 - \frac dN)}\, y_i y_j`, for each
    ordered pair of nodes if the graph is directed and each unordered pair if not, self-loops included. The features are
    :math:`X = \sqrt{\mu/N}\, y u^T + W`, with :math:`u` and :math:`W` standard Gaussian and :math:`M = N/\alpha`
    columns. The labels of :math:`\rho N` nodes, chosen at random, are revealed.

    Parameters
    ----------
    data
        The model; its parameters must be single numbers.
    nodes, degree
        Number of nodes :math:`N` and mean degree :math:`d`; ``degree=None`` draws the Gaussian-equivalent graph, a dense
        matrix, for small :math:`N`.
    seed
        An integer or a ``numpy.random.SeedSequence``; the same seed gives the same instance.
    streamed
        Do not store the features but regenerate them, row by row, whenever they are needed; the matrix is the same.
    dtype
        ``float64`` or ``float32``: precision of the features and of all that is computed from them.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), nodes=1000, degree=30, seed=0)
    >>> i.adjacency.shape, i.features.shape, int(i.train_mask.sum())
    ((1000, 1000), (1000, 250), 100)
    >>> bool(25 < i.adjacency.nnz / 1000 < 35)
    True
    """
    _check(data)
    nodes = whole("nodes", nodes, low=2)
    dtype = _precision(dtype)
    streams = seed_sequence(seed).spawn(4)
    rng = np.random.default_rng(streams[0])
    labels = np.where(rng.random(nodes) < 0.5, -1.0, 1.0)
    mask = np.zeros(nodes, bool)
    mask[rng.choice(nodes, size=math.floor(float(data.rho) * nodes + 0.5), replace=False)] = True

    adjacency = _graph(data, labels, degree, np.random.default_rng(streams[1]))
    centroid = np.random.default_rng(streams[2]).standard_normal(feature_count(nodes, float(data.alpha)))
    spike = (math.sqrt(float(data.mu) / nodes) * centroid).astype(dtype)
    features = StreamedFeatures(int(streams[3].generate_state(1, np.uint64)[0]), labels, spike)
    observation = Observation(
        data=data,
        degree=None if degree is None else float(degree),
        adjacency=adjacency,
        features=features if flag("streamed", streamed) else np.asarray(features),
        train_mask=mask,
        train_labels=np.where(mask, labels, 0.0),
    )
    return Instance(observation, Latents(labels, centroid))


def _graph(data: CSBM, labels: Array, degree: float | None, rng: np.random.Generator) -> object:
    lam, nodes = float(data.lam), labels.size
    if degree is None:
        return gaussian_graph(labels, lam, data.directed, rng)
    degree = float(real("degree", degree, low=0, open_low=True))
    if degree >= nodes:
        raise ParameterError(f"degree = {degree:g} is not allowed; it must be below the number of nodes, {nodes}")
    density = degree / nodes
    spread = math.sqrt(density * (1.0 - density) / nodes)
    largest = min(density, 1.0 - density) / spread
    if abs(lam) > largest * (1.0 + 1e-12):
        raise ParameterError(
            f"lam = {lam:g} is not allowed at degree {degree:g} and {nodes} nodes, where |lam| must be at most {largest:.6g} "
            f"for the edge probabilities to lie in [0, 1]; take a degree of at least {_least_degree(lam, nodes)}"
        )
    same, other = (min(max(density + sign * lam * spread, 0.0), 1.0) for sign in (1, -1))
    return bernoulli_graph(labels, same, other, data.directed, rng)


def _least_degree(lam: float, nodes: int) -> str:
    r"""Solution of :math:`\lambda^2 = d/(1 - d/N)`."""
    least = lam**2 / (1.0 + lam**2 / nodes)
    return f"{least:.4g}" if least <= nodes / 2 else f"{least:.4g} (with more nodes)"


def _check(data: CSBM) -> None:
    if not isinstance(data, CSBM):
        raise ParameterError(f"sample needs a CSBM, got {type(data).__name__}")
    if data.shape:
        raise ParameterError(
            f"an instance has single parameters, got data of shape {data.shape}; sample one after the other"
        )


def _precision(dtype: npt.DTypeLike) -> np.dtype[Any]:
    dtype = np.dtype(dtype)
    if dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ParameterError(f"dtype = {dtype} is not allowed; it must be float32 or float64")
    return dtype


def seed_sequence(seed: Seed) -> np.random.SeedSequence:
    """Return the seed as a fresh sequence, which spawns the same children whenever it is used."""
    if isinstance(seed, np.random.SeedSequence):
        return np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key)
    return np.random.SeedSequence(whole("seed", seed, low=0))
