"""Draw an instance of the model."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from gcnlimit._runtime.memory import require
from gcnlimit._validation import check_types, whole
from gcnlimit._values import Array
from gcnlimit.classes import Indices
from gcnlimit.csbm import CSBM, common_classes, feature_signal
from gcnlimit.errors import ParameterError
from gcnlimit.simulation.backend import Device, backend_of
from gcnlimit.simulation.data.features import StreamedFeatures
from gcnlimit.simulation.data.graph import bernoulli_graph, gaussian_graph
from gcnlimit.simulation.data.instance import Instance
from gcnlimit.simulation.data.observation import (
    Graph,
    Latents,
    Observation,
    feature_count,
    feature_levels,
    noise_scale,
)
from gcnlimit.simulation.data.size import Size, edge_probabilities, labelled_count

Seed = int | np.random.SeedSequence


def sample(
    data: CSBM,
    nodes: int = 10_000,
    degree: float | None = 30.0,
    seed: Seed = 0,
    *,
    beside: Instance | None = None,
    streamed: bool | None = None,
    dtype: npt.DTypeLike | None = None,
    device: Device = "cpu",
) -> Instance:
    r"""Draw labels, graph, features and the set of labelled nodes.

    The edge probability is :math:`\frac dN + \frac{\lambda}{\sqrt N}\sqrt{\frac dN (1 - \frac dN)}\, y_i \cdot y_j`, for each
    ordered pair of nodes if the graph is directed and each unordered pair if not, self-loops included. The features are
    :math:`X = \sqrt{\mu/N}\, Y u^T + W\Sigma^{1/2}`, with :math:`u` and :math:`W` Gaussian and :math:`M = N/\alpha`
    columns (Eqs. 1.2 and 8.2). The codes :math:`y_i` are :math:`\pm 1` for two equal classes; other classes have vectors
    (Eq. 8.1), and labels :math:`0 \dots C - 1`. Each node draws its class by itself. The labels of :math:`\rho N` nodes, chosen
    at random, are revealed. Under a law of degrees the nodes draw propensities :math:`\theta_i`, of mean 1 on the graph, and the
    probability is multiplied by :math:`\theta_i\theta_j`, up to 1 (Eq. 11.1).

    Parameters
    ----------
    data
        The model; its parameters must be single numbers.
    nodes, degree
        Number of nodes :math:`N` and mean degree :math:`d`; ``degree=None`` draws the Gaussian-equivalent graph, a dense
        matrix, for small :math:`N`.
    seed
        An integer or a ``numpy.random.SeedSequence``; the same seed gives the same instance.
    beside
        An instance with the same class means, as in `transfer`, and so with as many features.
    streamed
        Draw the features again whenever they are needed, and store none; by default only on a device of PyTorch.
    dtype
        Precision of the features and of all that follows; by default ``float64``, and ``float32`` on a device of PyTorch.
    device
        ``"cpu"``, or ``"cuda"`` for a GPU (PyTorch, extra ``gpu``), which draws other numbers of the same law.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), nodes=1000, degree=30, seed=0)
    >>> i.adjacency.shape, i.features.shape, int(i.train_mask.sum())
    ((1000, 1000), (1000, 250), 100)
    """
    size = Size.of("sample", data, nodes, degree, streamed, dtype, device)
    if data.shape:
        raise ParameterError(
            f"an instance has single parameters, got data of shape {data.shape}; sample one after the other"
        )
    size.check_signals(data)
    root = seed_sequence(seed)
    centroid = None if beside is None else _class_means(beside, data, size)
    require(f"a graph of {size.nodes} nodes with {size.features:.4g} features each", size.bytes(), size.remedy())
    return draw(data, size, root, centroid)


def _class_means(beside: Instance, data: CSBM, size: Size) -> Array:
    """Directions of the features of an instance, if another of that size can have them."""
    check_types("sample", beside=(beside, Instance))
    feature_signal(beside.data, data)
    common_classes(beside.data.classes, data.classes)
    width = beside.features.shape[1]
    count = feature_count(size.nodes, float(data.alpha))
    if count != width:
        raise ParameterError(
            f"nodes = {size.nodes} with alpha = {data.alpha:g} makes {count} features, and the instance beside has {width}; "
            f"take nodes = {math.floor(width * float(data.alpha) + 0.5)}"
        )
    if not np.isfinite(beside.latents.centroid).all():
        raise ParameterError("the class means of the instance beside are not known; take one that was sampled")
    return beside.latents.centroid


def draw(data: CSBM, size: Size, seed: np.random.SeedSequence, centroid: Array | None = None) -> Instance:
    """Instance of a size that was checked; `centroid`: the directions of its features, if they are those of another."""
    nodes = size.nodes
    streams = seed.spawn(4)
    rng = np.random.default_rng(streams[0])
    kinds = _draw_classes(data.fractions, nodes, rng)
    mask = np.zeros(nodes, bool)
    mask[rng.choice(nodes, size=labelled_count(nodes, float(data.rho)), replace=False)] = True

    codes = data.classes.codes[kinds]
    lam = float(data.lam)
    backend = backend_of(size.device)
    theta = None
    if data.degrees is not None:
        theta = data.degrees.draw(np.random.default_rng(seed.spawn(1)[0]), nodes)
        theta = theta / np.mean(theta)
    if size.degree is None:
        adjacency: Graph = gaussian_graph(codes, lam, data.directed, np.random.default_rng(streams[1]))
    else:
        probabilities = edge_probabilities(lam, nodes, size.degree, data.classes)
        with backend.guard(nodes):
            edges = backend.rng(streams[1])
            adjacency = bernoulli_graph(kinds, probabilities, data.directed, edges, backend, theta=theta)
    centroid, features = _draw_features(data, size, codes, streams[2:], centroid)
    labels = data.classes.labels_of(kinds)
    held = features if size.streamed else np.asarray(features)
    observation = Observation.of(data, size.degree, adjacency, held, mask, labels)
    return Instance(observation, Latents(labels, centroid[:, 0] if centroid.shape[1] == 1 else centroid, theta))


def _draw_classes(fractions: Array, nodes: int, rng: np.random.Generator) -> Indices:
    """Index of the class of each node, independent."""
    last = fractions.size - 1
    before = np.searchsorted(np.cumsum(fractions[::-1]), rng.random(nodes), side="right")
    return np.asarray(last - np.minimum(before, last), np.int64)


def _draw_features(
    data: CSBM, size: Size, codes: Array, seeds: list[np.random.SeedSequence], centroid: Array | None
) -> tuple[Array, StreamedFeatures]:
    r"""Directions :math:`u` and features :math:`\sqrt{\mu/N}\, Yu^T + W\Sigma^{1/2}` (Eq. 8.2)."""
    count = feature_count(size.nodes, float(data.alpha)) if centroid is None else len(centroid)
    variance, signal = feature_levels(data.features, count)
    if centroid is None:
        centroid = np.random.default_rng(seeds[0]).standard_normal((count, codes.shape[1])) * np.sqrt(signal)[:, None]
    centroid = centroid.reshape(count, -1)
    spike = (math.sqrt(float(data.mu) / size.nodes) * centroid).astype(size.dtype)
    key = int(seeds[1].generate_state(1, np.uint64)[0])
    return centroid, StreamedFeatures(key, codes, spike, noise_scale(variance, size.dtype), size.device)


def seed_sequence(seed: Seed) -> np.random.SeedSequence:
    """Return the seed as a fresh sequence, which spawns the same children whenever it is used."""
    if isinstance(seed, np.random.SeedSequence):
        return np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key)
    return np.random.SeedSequence(whole("seed", seed, low=0))
