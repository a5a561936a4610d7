"""Draw an instance of the model, in time and memory proportional to the numbers of edges and features."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random import Generator, SeedSequence, default_rng
from scipy import sparse

from gcnlimit._runtime.progress import progress_bar
from gcnlimit._validation import check_types, whole
from gcnlimit._values import Array
from gcnlimit.classes import Indices
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.simulation.backend import Backend, Device, backend_of
from gcnlimit.simulation.data.features import StreamedFeatures, feature_count, feature_levels
from gcnlimit.simulation.data.instance import Instance
from gcnlimit.simulation.data.observation import Graph, Latents, Observation, shown_labels
from gcnlimit.simulation.data.size import Size, edge_probabilities
from gcnlimit.two_graphs import check_pair

Seed = int | SeedSequence
Placed = Any  # integers on the device of the backend
_LOWEST = -6.0  # octave of propensities below which all are one group: they have hardly any edge


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
    (Eq. 8.1), and labels :math:`0 \dots C - 1`. Nodes draw their classes independently. The labels of :math:`\rho N` random
    nodes are revealed, each wrong with the probability `noise`. Under a law of degrees the nodes draw propensities
    :math:`\theta_i`, of mean 1 on the graph, and the probability is multiplied by :math:`\theta_i\theta_j`, up to 1 (Eq. 11.1).

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
    check_types("sample", data=(data, CSBM))
    size = Size.of(data, nodes, degree, streamed, dtype, device)
    if data.shape:
        many = f"data has parameters of shape {data.shape}"
        raise ParameterError(f"{many}, but an instance has single ones; sample one by one")
    size.check_signals(data)
    root = seed_sequence(seed)
    centroid = None if beside is None else _class_means(beside, data, size)
    size.require("a graph", size.bytes())
    return draw(data, size, root, centroid)


def _class_means(beside: Instance, data: CSBM, size: Size) -> Array:
    """Directions of the features of an instance, if another of that size can have them."""
    check_types("sample", beside=(beside, Instance))
    check_pair(beside.data, data)
    width = beside.features.shape[1]
    count = feature_count(size.nodes, float(data.alpha))
    if count != width:
        told = f"nodes = {size.nodes} with alpha = {data.alpha:g} makes {count} features"
        nodes = math.floor(width * float(data.alpha) + 0.5)
        raise ParameterError(f"{told}, but beside has {width}; take nodes = {nodes}")
    if not np.isfinite(beside.latents.centroid).all():
        raise ParameterError("beside has unknown class means; take an instance that was sampled")
    return beside.latents.centroid


@progress_bar("sampling")
def draw(data: CSBM, size: Size, seed: SeedSequence, centroid: Array | None = None) -> Instance:
    """Instance of a size that was checked; `centroid`: the directions of its features, if they are those of another."""
    nodes = size.nodes
    # a stream for each part: what one of them draws leaves the others as they are
    first, second, *streams = seed.spawn(4)

    # independent classes, then the labelled nodes
    rng = default_rng(first)
    p = data.fractions
    before = np.searchsorted(np.cumsum(p[::-1]), rng.random(nodes), side="right")
    kinds = np.maximum(p.size - 1 - before, 0)
    codes = data.classes.codes[kinds]
    labels = data.classes.labels_of(kinds)
    mask = np.zeros(nodes, bool)
    mask[rng.choice(nodes, size=math.floor(float(data.rho) * nodes + 0.5), replace=False)] = True

    theta = None
    if data.degrees is not None:
        theta = data.degrees.draw(default_rng(seed.spawn(1)[0]), nodes)
        theta = theta / np.mean(theta)
    adjacency: Graph
    if size.degree is None:
        adjacency = gaussian_graph(codes, float(data.lam), data.directed, default_rng(second))
    else:
        between = edge_probabilities(float(data.lam), nodes, size.degree, data.classes)
        backend = backend_of(size.device)
        with backend.guard(nodes):
            rng = backend.rng(second)
            adjacency = bernoulli_graph(kinds, between, data.directed, rng, backend, theta=theta)

    centroid, features = _draw_features(data, size, codes, streams, centroid)
    held = features if size.streamed else np.asarray(features)
    revealed = labels
    if data.noise:
        wrong = default_rng(seed.spawn(1)[0]).random(nodes) < data.noise
        revealed = np.where(wrong, -labels, labels)
    shown = shown_labels(revealed, mask, data.classes)
    observation = Observation(data, size.degree, adjacency, held, mask, shown)
    directions = centroid[:, 0] if centroid.shape[1] == 1 else centroid
    return Instance(observation, Latents(labels, directions, theta))


def _draw_features(
    data: CSBM, size: Size, codes: Array, seeds: list[SeedSequence], centroid: Array | None
) -> tuple[Array, StreamedFeatures]:
    r"""Directions :math:`u` and features :math:`\sqrt{\mu/N}\, Yu^T + W\Sigma^{1/2}` (Eq. 8.2)."""
    if centroid is None:
        count = feature_count(size.nodes, float(data.alpha))
        _, signal = feature_levels(data.features, count)
        centroid = default_rng(seeds[0]).standard_normal((count, codes.shape[1]))
        centroid = centroid * np.sqrt(signal)[:, None]
    # the same class means on a graph of another size have the signal of that size
    centroid = centroid.reshape(len(centroid), -1)
    spike = (math.sqrt(float(data.mu) / size.nodes) * centroid).astype(size.dtype)
    key = int(seeds[1].generate_state(1, np.uint64)[0])
    return centroid, StreamedFeatures.of(key, codes, spike, data.features, size.device)


def seed_sequence(seed: Seed) -> SeedSequence:
    """Return the seed as a fresh sequence, which spawns the same children whenever it is used."""
    if isinstance(seed, SeedSequence):
        return SeedSequence(seed.entropy, spawn_key=seed.spawn_key)
    return SeedSequence(whole("seed", seed, low=0))


def bernoulli_graph(
    class_index: Indices,
    probabilities: Array,
    directed: bool,
    rng: Any,
    backend: Backend | None = None,
    *,
    theta: Array | None = None,
) -> sparse.csr_array[np.float64]:
    r"""Graph whose edges are independent, of probability ``probabilities[k, l]`` between classes `k` and `l`.

    `class_index` is that of the class of each node. Every ordered pair is drawn once if `directed`, every unordered pair
    otherwise, self-loops included; by the generator `rng` of a `backend`, by default NumPy's. With the propensities `theta` of
    the nodes the probability is multiplied by :math:`\theta_i\theta_j`, and at most 1.

    >>> rng = np.random.default_rng(0)
    >>> A = bernoulli_graph(np.array([0, 0, 1]), np.eye(2), directed=True, rng=rng)
    >>> A.toarray()
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """
    backend = backend or backend_of("cpu")
    classes = len(probabilities)
    largest = float(np.max(probabilities))
    placed = backend.place(class_index)
    table = backend.place(probabilities.ravel())
    weight = None if theta is None else backend.place(theta)
    rows, columns = [], []
    for (first, high), (second, other) in _pairs_of_groups(theta, len(class_index), directed):
        # propose pairs at the largest probability of the two groups, and keep the share of each
        bound = min(1.0, largest * high * other)
        if first is second and not directed:
            row, column = _unordered_pairs(len(first), bound, rng, backend)
        else:
            places = _successes(len(first) * len(second), bound, rng, backend)
            row, column = places // len(second), places % len(second)
        # all nodes, or the first ones, stand where they are
        if first is not second or first[-1] != len(first) - 1:
            row, column = backend.place(first)[row], backend.place(second)[column]
        allowed = table[placed[row] * classes + placed[column]]
        if weight is not None:
            allowed = allowed * weight[row] * weight[column]
        kept = rng.random(len(row)) * bound < allowed
        rows.append(row[kept])
        columns.append(column[kept])
    row, column = backend.join(rows), backend.join(columns)
    if not directed:
        mirrored = row != column
        row, column = backend.join([row, column[mirrored]]), backend.join([column, row[mirrored]])
    return backend.csr(row, column, len(class_index))


def gaussian_graph(codes: Array, lam: float, directed: bool, rng: Generator) -> Array:
    r"""Gaussian-equivalent graph :math:`\frac{\lambda}{\sqrt N} YY^T + \Xi` (Eqs. 1.1 and 8.2) of `codes` :math:`Y`, dense."""
    n = len(codes)
    noise = rng.standard_normal((n, n))
    if not directed:
        noise = np.tril(noise) + np.tril(noise, -1).T
    return np.asarray(lam / np.sqrt(n) * (codes @ codes.T) + noise)


def _pairs_of_groups(
    theta: Array | None, nodes: int, directed: bool
) -> Iterator[tuple[tuple[Indices, float], tuple[Indices, float]]]:
    """Pairs of groups of nodes, each with its largest propensity, within a factor of two: few proposals are then rejected."""
    if theta is None:
        every = (np.arange(nodes), 1.0)
        return iter([(every, every)])
    octave = np.maximum(np.floor(np.log2(np.where(theta > 0.0, theta, 1.0))), _LOWEST)
    members = [np.flatnonzero((octave == o) & (theta > 0.0)) for o in np.unique(octave)]
    groups = [(group, float(np.max(theta[group]))) for group in members if group.size]
    return product(groups, groups) if directed else combinations_with_replacement(groups, 2)


def _unordered_pairs(nodes: int, p: float, rng: Any, backend: Backend) -> tuple[Placed, Placed]:
    r"""Each of the unordered pairs, with probability `p`.

    The pair :math:`\{i,\, (i + d) \bmod n\}` is numbered by :math:`i` and :math:`d = 0 \dots \lfloor n/2 \rfloor`, one to one
    but for :math:`2d = n`: there :math:`i` and :math:`i + n/2` name the same pair, and only :math:`i < n/2` is kept.
    """
    half = nodes // 2
    places = _successes(nodes * (half + 1), p, rng, backend)
    row, way = places // (half + 1), places % (half + 1)
    once = (2 * way < nodes) | (row < half)
    row, way = row[once], way[once]
    return row, (row + way) % nodes


def _successes(trials: int, p: float, rng: Any, backend: Backend) -> Placed:
    """Places of the successes among independent trials, from the geometric law of the gaps between them."""
    if p <= 0.0:
        return backend.place(np.empty(0, np.int64))
    hits = []
    last = -1
    while last < trials:
        expected = (trials - last) * p
        # nearly always enough at once, since the number of successes scatters by its root
        gaps = rng.geometric(p, size=int(expected + 4.0 * np.sqrt(expected) + 16.0))
        places = last + gaps.cumsum(0)
        hits.append(places)
        last = int(places[-1])
    places = backend.join(hits)
    return places[places < trials]
