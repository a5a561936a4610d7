"""Measure a network on many sampled graphs."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._processes import run
from gcnlimit._progress import progress_bar
from gcnlimit._validation import broadcast, flag, whole
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.network import GCN
from gcnlimit.parameters import SIGNALS
from gcnlimit.performance import Measurement, Performance, scalar_or_array
from gcnlimit.simulation.sample import Seed, sample, seed_sequence
from gcnlimit.simulation.train import fit

__all__ = ["simulate"]

FIELDS = [f.name for f in fields(Performance)]


def simulate(  # noqa: PLR0917
    data: CSBM,
    gcn: GCN,
    nodes: int = 10_000,
    degree: float | None = 30.0,
    trials: int = 10,
    seed: Seed = 0,
    *,
    workers: int | None = None,
    streamed: bool = False,
    dtype: npt.DTypeLike = np.float64,
    progress: bool | None = None,
) -> Measurement:
    r"""Performance of a network on sampled graphs, mean and standard error over `trials` of them.

    Parameters
    ----------
    data, gcn
        Data and network; array parameters broadcast together, and each field of the answer has their common shape. All
        parameters of the network are measured on the same graphs; each data point has graphs of its own.
    nodes, degree, streamed, dtype
        As for `sample`.
    trials
        Number of graphs for each data point.
    seed
        An integer or a ``numpy.random.SeedSequence``; the same seed gives the same numbers, whatever the number of workers.
    workers
        Number of processes, each of one thread; 1 stays in this process. By default as many as there are processors, or 1
        if the work is small. Interrupted from the keyboard, the answer is that of the trials done so far.
    progress
        Whether to draw a progress bar on standard error (with rich); by default only if it is a terminal.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.5, mu=3.0, rho=0.1)
    >>> gcn = gl.GCN(gl.Diffusion(t=1.287), symmetrize=True)
    >>> s = gl.simulate(data, gcn, nodes=1000, degree=30, trials=4, seed=0, workers=1)
    >>> bool(abs(s.test_accuracy - gl.predict(data, gcn).test_accuracy) < 0.03)
    True
    """
    if not isinstance(data, CSBM) or not isinstance(gcn, GCN):
        raise ParameterError(
            f"simulate needs a CSBM and a GCN, got {type(data).__name__} and {type(gcn).__name__}; "
            "write simulate(data, gcn, ...)"
        )
    nodes, trials = whole("nodes", nodes, low=2), whole("trials", trials, low=1)
    shape = broadcast(data=data.shape, network=gcn.shape)
    groups = _groups(data, gcn, shape)
    root = seed_sequence(seed)
    tasks = [
        _Trial(point, network, nodes, degree, child, streamed, np.dtype(dtype).name)
        for (point, network, _), group in zip(groups, root.spawn(len(groups)), strict=True)
        for child in group.spawn(trials)
    ]
    workers = workers if workers is None else whole("workers", workers, low=1)
    progress = progress if progress is None else flag("progress", progress)
    with progress_bar("trials", len(tasks), progress, unit="trials") as bar:
        results = run(tasks, workers, small=nodes * len(tasks) < 40_000, done=bar.advance)
    return _assemble([where for _, _, where in groups], results, trials, shape, nodes)


@dataclass(frozen=True)
class _Trial:
    """One graph, to be drawn and trained on, perhaps in another process."""

    data: CSBM
    gcn: GCN
    nodes: int
    degree: float | None
    seed: np.random.SeedSequence
    streamed: bool
    dtype: str

    def __call__(self) -> Array:
        """Performance, one row for each field but the last, which is that of the mean."""
        instance = sample(
            self.data, self.nodes, self.degree, self.seed, streamed=self.streamed, dtype=np.dtype(self.dtype)
        )
        performance = fit(instance, self.gcn).performance
        return np.array([getattr(performance, name) for name in FIELDS[:4]])


def _groups(data: CSBM, gcn: GCN, shape: tuple[int, ...]) -> list[tuple[CSBM, GCN, npt.NDArray[np.intp]]]:
    """Distinct data points, the networks to be measured there, and where they stand in the flattened answer."""
    columns = np.stack([np.broadcast_to(getattr(data, name), shape).ravel() for name in SIGNALS], axis=1)
    points, which = np.unique(columns, axis=0, return_inverse=True)
    filters, reg = gcn.filter.ravel(shape), np.broadcast_to(gcn.reg, shape).ravel()
    groups = []
    for k, point in enumerate(points):
        where = np.flatnonzero(which.reshape(-1) == k)
        network = GCN(filters[where], gcn.loss, reg[where], gcn.symmetrize)
        groups.append((replace(data, **dict(zip(SIGNALS, point.tolist(), strict=True))), network, where))
    return groups


def _assemble(
    places: list[npt.NDArray[np.intp]], results: list[Array | None], trials: int, shape: tuple[int, ...], nodes: int
) -> Measurement:
    size = math.prod(shape)
    mean, error, least = np.empty((5, size)), np.empty((5, size)), trials
    for k, where in enumerate(places):
        done = [r for r in results[k * trials : (k + 1) * trials] if r is not None]
        if not done:
            raise KeyboardInterrupt
        values = np.stack(done)
        least = min(least, len(done))
        mean[:4, where] = values.mean(axis=0)
        error[:4, where] = values.std(axis=0, ddof=1) / math.sqrt(len(done)) if len(done) > 1 else np.inf
    mean[4], error[4] = _log_error(mean[0], error[0], 0.5 / (nodes * least))

    def named(rows: Array) -> dict[str, Any]:
        return {name: scalar_or_array(row.reshape(shape)) for name, row in zip(FIELDS, rows, strict=True)}

    return Measurement(**named(mean), standard_error=Performance(**named(error)), trials=least)


def _log_error(accuracy: Array, error: Array, floor: float) -> tuple[Array, Array]:
    r"""Logarithm of the error rate :math:`1 - p` and its standard error :math:`\sigma/(1-p)`; of at least `floor`."""
    wrong = 1.0 - accuracy
    seen = np.maximum(wrong, floor)
    return np.log(seen), np.where(wrong < floor, 1.0, error / seen)
