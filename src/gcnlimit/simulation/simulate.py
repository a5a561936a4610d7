"""Measure a network on many sampled graphs."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._runtime.memory import available, require
from gcnlimit._runtime.processes import run
from gcnlimit._runtime.progress import progress_bar
from gcnlimit._runtime.threads import cores
from gcnlimit._validation import broadcast, flag, whole
from gcnlimit._values import Array
from gcnlimit.classes import Classes
from gcnlimit.csbm import CSBM, SIGNALS
from gcnlimit.errors import ConvergenceError, ParameterError
from gcnlimit.network import GCN, check_problem
from gcnlimit.parameters import labelled
from gcnlimit.results.performance import Measurement, Performance, Status, scalar_or_array
from gcnlimit.simulation.backend import Device, backend_of
from gcnlimit.simulation.data.instance import Instance
from gcnlimit.simulation.data.sample import Seed, draw, seed_sequence
from gcnlimit.simulation.data.size import Size, training_bytes
from gcnlimit.simulation.measure import FIELDS, evaluate, measured
from gcnlimit.simulation.train.train import holds_rows, train

SMALL = 40_000  # nodes of all trials together below which they stay in this process
SHARING = 4  # processes that share a graphics card, at most
MANY = 12_000_000  # nodes of all trials together from which it pays to start them: each takes seconds to import PyTorch


def simulate(  # noqa: PLR0917
    data: CSBM,
    gcn: GCN,
    nodes: int = 10_000,
    degree: float | None = 30.0,
    trials: int = 10,
    seed: Seed = 0,
    *,
    workers: int | None = None,
    streamed: bool | None = None,
    dtype: npt.DTypeLike | None = None,
    device: Device = "cpu",
    progress: bool | None = None,
    throw: bool = True,
) -> Measurement:
    r"""Performance of a network on sampled graphs, mean and standard error over `trials` of them.

    Parameters
    ----------
    data, gcn
        Data and network; array parameters broadcast together, and each field of the answer has their common shape. All
        parameters of the network are measured on the same graphs; each data point has graphs of its own.
    nodes, degree, streamed, dtype, device
        As for `sample`; the training is on the same device.
    trials
        Number of graphs for each data point.
    seed
        An integer or a ``numpy.random.SeedSequence``; the same seed gives the same numbers, whatever the number of workers.
    workers
        Number of processes, each of one thread; 1 stays in this process, with all its threads. By default as many as there
        are processors and memory for (the environment variable ``GCNLIMIT_MEMORY`` bounds it, in GB), or 1 if the work is
        small. A graphics card is shared by up to 4 processes, if its memory holds a trial of each and the trials have many
        nodes in all.
        Interrupted from the keyboard, the answer is that of the trials done so far.
    progress
        Whether to draw a progress bar on standard error (with rich); by default only if it is a terminal.
    throw
        Whether to raise an error if a point has no answer: `ParameterError` if a signal has no edge probabilities, or a filter
        is not defined on the spectrum of a graph, `ConvergenceError` if a training fails. Otherwise the point has NaN, and
        `status` says so; the others are kept.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.5, mu=3.0, rho=0.1)
    >>> gcn = gl.GCN(gl.Diffusion(t=1.287), symmetrize=True)
    >>> s = gl.simulate(data, gcn, nodes=1000, degree=30, trials=4, seed=0, workers=1)
    >>> bool(abs(s.test_accuracy - gl.predict(data, gcn).test_accuracy) < 0.03)
    True
    """
    check_problem("simulate", data, gcn)
    size = Size.of("simulate", data, nodes, degree, streamed, dtype, device)
    trials = whole("trials", trials, low=1, high=10**6)
    if flag("throw", throw):
        size.check_signals(data)
    few = data.degrees and size.degree and gcn.normalization.leaves(data.degrees, size.degree)
    if few:
        warnings.warn(few, stacklevel=2)
    workers = workers if workers is None else whole("workers", workers, low=1, high=10**6)
    progress = progress if progress is None else flag("progress", progress)
    shape = broadcast(data=data.shape, network=gcn.shape)
    root = seed_sequence(seed)
    workers = _workers(workers, _bytes(data, gcn, size), size)
    groups = _groups(data, gcn, shape)
    tasks = [
        _Trial(point, network, size, child, throw)
        for (point, network, _), group in zip(groups, root.spawn(len(groups)), strict=True)
        for child in group.spawn(trials)
    ]
    if workers is None and size.device != "cpu":
        workers = in_flight(size, math.prod(gcn.shape), len(tasks))
    blocks = size.tiles * len(tasks) if np.isinf(gcn.reg).all() else None  # else they are drawn more than once
    results = _run(tasks, workers, blocks, progress)
    places = [where for _, _, where in groups]
    return labelled(_assemble(places, results, trials, shape, size.nodes, data.classes), data, gcn)


def _run(tasks: list[_Trial], workers: int | None, blocks: int | None, progress: bool | None) -> list[Array | None]:
    """Results of the trials; the bar counts them, or in this process the blocks of streamed features, None if that is unknown."""
    size = tasks[0].size
    small = size.nodes * len(tasks) < SMALL
    here = len(tasks) == 1 or workers == 1 or (workers is None and small)
    if size.streamed and here:
        with progress_bar("simulating", blocks, progress, unit="blocks"):
            return run(tasks, workers, small=small)
    with progress_bar("trials", len(tasks), progress, unit="trials") as bar:
        return run(tasks, workers, small=small, done=bar.advance)


@dataclass(frozen=True)
class _Trial:
    """One graph, to be drawn and trained on, perhaps in another process."""

    data: CSBM
    gcn: GCN
    size: Size
    seed: np.random.SeedSequence
    throw: bool = True

    def __call__(self) -> Array:
        """Performance, one row for each field measured, and status; NaN where a network has no answer, unless that is raised."""
        if self.throw:
            return self._measure(draw(self.data, self.size, self.seed), self.gcn)
        try:
            self.size.check_signals(self.data)
            instance = draw(self.data, self.size, self.seed)
        except ParameterError as error:
            return _without_answer(error, math.prod(self.gcn.shape))
        try:
            return self._measure(instance, self.gcn)
        except (ParameterError, ConvergenceError):
            return self._each(instance)

    def _measure(self, instance: Instance, gcn: GCN) -> Array:
        trained = train(instance.observation, gcn)
        performance = evaluate(instance, gcn, trained.outputs, trained.bias)
        rows = [np.full(gcn.shape, np.nan if x is None else x) for x in (getattr(performance, name) for name in FIELDS)]
        return np.array([*rows, np.full(gcn.shape, float(Status.CONVERGED))])

    def _each(self, instance: Instance) -> Array:
        """Performance of each network by itself, where one of them has no answer."""
        filters, reg = self.gcn.filter.ravel(self.gcn.shape), np.broadcast_to(self.gcn.reg, self.gcn.shape).ravel()
        operator = instance.observation.operator(self.gcn.symmetrize, normalization=self.gcn.normalization)
        radius = operator.radius or 0.0
        rows = np.repeat(_without_answer(ParameterError(""), 1), reg.size, axis=1)
        for k in np.flatnonzero(filters.defined(radius)):
            one = slice(k, k + 1)
            try:
                rows[:, one] = self._measure(instance, self.gcn.replaced(filter=filters[one], reg=reg[one]))
            except (ParameterError, ConvergenceError) as error:
                rows[:, one] = _without_answer(error, 1)
        return rows


def _without_answer(error: Exception, points: int) -> Array:
    """Rows of networks that failed, with the reason as their status."""
    reason = Status.NOT_CONVERGED if isinstance(error, ConvergenceError) else Status.REFUSED
    return np.concatenate([np.full((len(FIELDS), points), np.nan), np.full((1, points), float(reason))])


def _bytes(data: CSBM, gcn: GCN, size: Size) -> float:
    """Memory of one trial."""
    points, labelled = math.prod(broadcast(data=data.shape, network=gcn.shape)), float(np.max(data.rho)) * size.nodes
    return size.bytes() + training_bytes(size, labelled, points, holds_rows(gcn, data.classes, size.streamed))


def _workers(workers: int | None, needed: float, size: Size) -> int | None:
    """Number of processes whose trials fit into memory together; None if there may be one for each core."""
    require(f"one trial of {size.nodes} nodes with {size.features:.4g} features each", needed, size.remedy())
    if workers is not None:
        return workers
    together = int(available() // needed)
    return together if together < cores() else None


def in_flight(size: Size, points: int, trials: int) -> int:
    """Number of processes that share a graphics card: its memory holds a trial of each, and the trials pay for their start."""
    if trials * size.nodes < MANY:
        return 1
    together = backend_of(size.device).free() // size.device_bytes(points)
    return int(min(max(together, 1), cores(), SHARING))


def _groups(data: CSBM, gcn: GCN, shape: tuple[int, ...]) -> list[tuple[CSBM, GCN, npt.NDArray[np.intp]]]:
    """Distinct data points, the networks to be measured there, and where they stand in the flattened answer."""
    columns = np.stack([np.broadcast_to(getattr(data, name), shape).ravel() for name in SIGNALS], axis=1)
    points, which = np.unique(columns, axis=0, return_inverse=True)
    filters, reg = gcn.filter.ravel(shape), np.broadcast_to(gcn.reg, shape).ravel()
    groups = []
    for k, point in enumerate(points):
        where = np.flatnonzero(which.reshape(-1) == k)
        network = gcn.replaced(filter=filters[where], reg=reg[where])
        groups.append((replace(data, **dict(zip(SIGNALS, point.tolist(), strict=True))), network, where))
    return groups


def _assemble(  # noqa: PLR0917
    places: list[npt.NDArray[np.intp]],
    results: list[Array | None],
    trials: int,
    shape: tuple[int, ...],
    nodes: int,
    classes: Classes,
) -> Measurement:
    size, least = math.prod(shape), trials
    mean, error = np.empty((len(FIELDS), size)), np.empty((len(FIELDS), size))
    status = np.empty(size, np.int64)
    for k, where in enumerate(places):
        done = [r for r in results[k * trials : (k + 1) * trials] if r is not None]
        if not done:
            raise KeyboardInterrupt
        values, status[where] = np.stack(done)[:, :-1], np.max(np.stack(done)[:, -1], axis=0)
        least = min(least, len(done))
        mean[:, where] = values.mean(axis=0)
        error[:, where] = values.std(axis=0, ddof=1) / math.sqrt(len(done)) if len(done) > 1 else np.inf
    error[:, status > Status.CONVERGED] = np.nan
    log_error, its_error = _log_error(mean[0], error[0], 0.5 / (nodes * least))

    def named(rows: Array, log_row: Array) -> dict[str, Any]:
        performance = measured(classes, rows.reshape(-1, *shape))
        return vars(performance) | {"log_test_error": scalar_or_array(log_row.reshape(shape))}

    return Measurement(
        **named(mean, log_error),
        standard_error=Performance(**named(error, its_error)),
        trials=least,
        status=status.reshape(shape) if shape else Status(int(status[0])),
    )


def _log_error(accuracy: Array, error: Array, floor: float) -> tuple[Array, Array]:
    r"""Logarithm of the error rate :math:`1 - p` and its standard error :math:`\sigma/(1-p)`; of at least `floor`."""
    wrong = 1.0 - accuracy
    seen = np.maximum(wrong, floor)
    return np.log(seen), np.where(wrong < floor, 1.0, error / seen)
