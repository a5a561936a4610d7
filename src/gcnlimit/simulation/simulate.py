"""Measure a network on many sampled graphs."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._runtime.memory import available, require
from gcnlimit._runtime.processes import run
from gcnlimit._runtime.progress import progress_bar
from gcnlimit._runtime.threads import cores
from gcnlimit._validation import broadcast, check_types, flag, whole
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM, SIGNALS, common_classes, feature_signal
from gcnlimit.errors import ConvergenceError, ParameterError
from gcnlimit.network import GCN, check_problem
from gcnlimit.parameters import labelled
from gcnlimit.results.performance import Measurement, Performance, Status, scalar_or_array
from gcnlimit.simulation.backend import Device, backend_of
from gcnlimit.simulation.data.instance import Instance
from gcnlimit.simulation.data.sample import Seed, draw, seed_sequence
from gcnlimit.simulation.data.size import Size, training_bytes
from gcnlimit.simulation.measure import FIELDS, evaluate_rows, measured
from gcnlimit.simulation.train.train import holds_rows, read_outputs, train

_TRAINING = [FIELDS.index(name) for name in ("train_accuracy", "train_loss")]
SMALL = 40_000  # nodes of all trials together below which they stay in this process
SHARING = 4  # processes that share a GPU, at most
MANY = 12_000_000  # nodes of all trials together from which it pays to start them: each takes seconds to import PyTorch


def simulate(  # noqa: PLR0917
    data: CSBM,
    gcn: GCN,
    nodes: int = 10_000,
    degree: float | None = 30.0,
    trials: int = 10,
    seed: Seed = 0,
    *,
    to: CSBM | None = None,
    workers: int | None = None,
    streamed: bool | None = None,
    dtype: npt.DTypeLike | None = None,
    device: Device = "cpu",
    progress: bool | None = None,
    throw: bool = True,
) -> Measurement:
    r"""Performance of a network on sampled graphs, mean and standard error over `trials` of them.

    Interrupted from the keyboard, the answer is that of the trials done so far. Under a law of degrees `accuracy_by_degree`
    gives the accuracy on leaves and hubs.

    Parameters
    ----------
    data, gcn
        Data and network; array parameters broadcast. All networks are measured on the same graphs of a data point.
    nodes, degree, streamed, dtype, device
        As for `sample`; the training is on the same device.
    trials
        Number of graphs for each data point.
    seed
        An integer or a ``numpy.random.SeedSequence``; the same seed gives the same numbers for any number of workers.
    to
        Another graph to test on, as in `transfer`: of the same features and degree, its number of nodes in proportion to alpha.
    workers
        Number of processes; 1 stays in this one. By default as many as processors and memory allow, or 1 if the work is small.
    progress
        Whether to draw a progress bar on standard error (with rich); by default only if it is a terminal.
    throw
        Whether to raise an error if a point has no answer; otherwise the point has NaN, and `status` says why.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.5, mu=3.0, rho=0.1)
    >>> gcn = gl.GCN(gl.Diffusion(t=1.287), symmetrize=True)
    >>> s = gl.simulate(data, gcn, nodes=1000, degree=30, trials=4, seed=0, workers=1)
    >>> bool(abs(s.test_accuracy - gl.predict(data, gcn).test_accuracy) < 0.03)
    True
    >>> there = gl.simulate(data, gcn, nodes=1000, trials=4, to=data, workers=1)
    >>> bool(abs(there.test_accuracy - gl.transfer(data, gcn, data).test_accuracy) < 0.03)
    True
    """
    check_problem("simulate", data, gcn)
    size = Size.of("simulate", data, nodes, degree, streamed, dtype, device)
    if (
        to is not None
    ):  # whose labels are not used; its features and classes must be those of the training
        check_types("simulate", data=(data, CSBM), to=(to, CSBM))
        feature_signal(data, to)
        to = replace(to.replaced(rho=0.0), classes=common_classes(data.classes, to.classes))
    trials = whole("trials", trials, low=1, high=10**6)
    if flag("throw", throw):
        size.check_signals(data)
    few = data.degrees and size.degree and gcn.normalization.leaves(data.degrees, size.degree)
    if few:
        warnings.warn(few, stacklevel=2)
    workers = workers if workers is None else whole("workers", workers, low=1, high=10**6)
    progress = progress if progress is None else flag("progress", progress)
    shape = broadcast(data=data.shape, network=gcn.shape, to=() if to is None else to.shape)
    root = seed_sequence(seed)
    groups = _groups(data, gcn, to, shape, size)
    for group in groups if throw else ():
        group.there.check_signals(group.to or group.data)
    points = math.prod(broadcast(data=data.shape, network=gcn.shape))
    labels = float(np.max(data.rho)) * size.nodes
    needed = size.bytes() + training_bytes(
        size, labels, points, holds_rows(gcn, data.classes, size.streamed)
    )
    workers = _workers(
        workers, needed + (to is not None) * max(group.there.bytes() for group in groups), size
    )
    tasks = [
        _Trial(group, size, child, throw)
        for group, seeds in zip(groups, root.spawn(len(groups)), strict=True)
        for child in seeds.spawn(trials)
    ]
    if workers is None and size.device != "cpu":
        workers = in_flight(size, math.prod(gcn.shape), len(tasks))
    tiles = math.ceil(size.features / backend_of(size.device).tile)
    blocks = (
        tiles * len(tasks) if np.isinf(gcn.reg).all() else None
    )  # else they are drawn more than once
    results = _run(tasks, workers, blocks, progress)
    return labelled(
        _assemble(groups, results, trials, shape, to or data, nodes=size.nodes), data, gcn, to
    )


def _run(
    tasks: list[_Trial], workers: int | None, blocks: int | None, progress: bool | None
) -> list[Array | None]:
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

    group: _Group
    size: Size
    seed: np.random.SeedSequence
    throw: bool

    def __call__(self) -> Array:
        """Performance, one row for each field measured, and status; NaN where a network has no answer, unless that is raised."""
        data, gcn, to, there, _ = self.group
        try:
            self.size.check_signals(data)
            there.check_signals(to or data)
            here = draw(data, self.size, self.seed)
            other = (
                None
                if to is None
                else draw(to, there, self.seed.spawn(1)[0], here.latents.centroid)
            )
        except ParameterError as error:
            if self.throw:
                raise
            return self._without_answer(error, math.prod(gcn.shape))
        try:
            return self._measure(here, other, gcn)
        except (ParameterError, ConvergenceError):
            if self.throw:
                raise
            return self._each(here, other)

    def _measure(self, here: Instance, there: Instance | None, gcn: GCN) -> Array:
        trained = train(here.observation, gcn if there is None else gcn.replaced(test_filter=None))
        rows = evaluate_rows(here, gcn, trained.outputs, trained.bias)
        if there is not None:
            outputs = read_outputs(there.observation, gcn, trained.weights, self.size.nodes)
            at_training = rows[_TRAINING]
            rows = evaluate_rows(
                there, gcn, outputs, trained.bias, here.observation.train_class_index
            )
            rows[_TRAINING] = at_training
        return np.array([*rows, np.full(gcn.shape, float(Status.CONVERGED))])

    def _each(self, here: Instance, there: Instance | None) -> Array:
        """Performance of each network by itself, where one of them has no answer."""
        gcn = self.group.gcn
        networks = [_network(gcn, gcn.shape, slice(k, k + 1)) for k in range(math.prod(gcn.shape))]
        rows = np.repeat(self._without_answer(ParameterError(""), 1), len(networks), axis=1)
        for k, network in enumerate(networks):
            one = slice(k, k + 1)
            try:
                rows[:, one] = self._measure(here, there, network)
            except (ParameterError, ConvergenceError) as error:
                rows[:, one] = self._without_answer(error, 1)
        return rows

    def _without_answer(self, error: Exception, points: int) -> Array:
        """Rows of networks that failed, with the reason as their status."""
        law = (self.group.to or self.group.data).degrees
        count = len(FIELDS) + (0 if law is None else 2 * law.theta.size)
        reason = Status.NOT_CONVERGED if isinstance(error, ConvergenceError) else Status.REFUSED
        return np.concatenate(
            [np.full((count, points), np.nan), np.full((1, points), float(reason))]
        )


def _network(gcn: GCN, shape: tuple[int, ...], where: Any) -> GCN:
    """The networks at some places of the flattened points."""
    read = None if gcn.test_filter is None else gcn.test_filter.ravel(shape)[where]
    reg = np.broadcast_to(gcn.reg, shape).ravel()[where]
    return gcn.replaced(filter=gcn.filter.ravel(shape)[where], reg=reg, test_filter=read)


def _workers(workers: int | None, needed: float, size: Size) -> int | None:
    """Number of processes whose trials fit into memory together; None if there may be one for each core."""
    require(
        f"one trial of {size.nodes} nodes with {size.features:.4g} features each",
        needed,
        size.remedy(),
    )
    if workers is not None:
        return workers
    together = int(available() // needed)
    return together if together < cores() else None


def in_flight(size: Size, points: int, trials: int) -> int:
    """Number of processes that share a GPU: its memory holds a trial of each, and the trials pay for their start."""
    if trials * size.nodes < MANY:
        return 1
    together = backend_of(size.device).free() // size.device_bytes(points)
    return int(min(max(together, 1), cores(), SHARING))


class _Group(NamedTuple):
    """A point of the data, its networks, another graph to test on and the size there, and places in the flattened answer."""

    data: CSBM
    gcn: GCN
    to: CSBM | None
    there: Size
    where: npt.NDArray[np.intp]


def _groups(
    data: CSBM, gcn: GCN, to: CSBM | None, shape: tuple[int, ...], size: Size
) -> list[_Group]:
    """Distinct data points; the other graph has as many features, and so a number of nodes in proportion to alpha."""
    models = [data] if to is None else [data, to]
    columns = [
        np.broadcast_to(getattr(model, name), shape).ravel() for model in models for name in SIGNALS
    ]
    points, which = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    groups = []
    for k, point in enumerate(points):
        where = np.flatnonzero(which.reshape(-1) == k)
        parts = [
            dict(zip(SIGNALS, part, strict=True))
            for part in point.reshape(len(models), -1).tolist()
        ]
        here = replace(data, **parts[0])
        there = size
        other = None
        if to is not None:
            other = replace(to, **parts[1])
            nodes = math.floor(size.nodes * float(other.alpha) / float(here.alpha) + 0.5)
            there = replace(
                size,
                nodes=whole("number of nodes of the graph to test on", nodes, low=2, high=10**12),
            )
        groups.append(_Group(here, _network(gcn, shape, where), other, there, where))
    return groups


def _assemble(
    groups: list[_Group],
    results: list[Array | None],
    trials: int,
    shape: tuple[int, ...],
    tested: CSBM,
    *,
    nodes: int,
) -> Measurement:
    """Means and standard errors over the trials that were done."""
    size = math.prod(shape)
    least = trials
    rows = max((len(r) for r in results if r is not None), default=1) - 1
    mean, error = np.empty((rows, size)), np.empty((rows, size))
    status = np.empty(size, np.int64)
    for k, group in enumerate(groups):
        where = group.where
        done = [r for r in results[k * trials : (k + 1) * trials] if r is not None]
        if not done:
            raise KeyboardInterrupt
        values = np.stack(done)[:, :-1]
        status[where] = np.max(np.stack(done)[:, -1], axis=0)
        least = min(least, len(done))
        mean[:, where] = values.mean(axis=0)
        error[:, where] = _standard_error(values)
    error[:, status > Status.CONVERGED] = np.nan
    log_error, its_error = _log_error(mean[0], error[0], 0.5 / (nodes * least))

    def named(rows: Array, log_row: Array) -> dict[str, Any]:
        performance = measured(tested, rows.reshape(-1, *shape))
        return vars(performance) | {"log_test_error": scalar_or_array(log_row.reshape(shape))}

    return Measurement(
        **named(mean, log_error),
        standard_error=Performance(**named(error, its_error)),
        trials=least,
        status=status.reshape(shape) if shape else Status(int(status[0])),
    )


def _standard_error(values: Array) -> Array:
    """Standard errors of the means of rows over the trials; of a cell of propensities that of a ratio, then its nodes."""
    mean = values.mean(axis=0)
    own = values[:, : len(FIELDS)]
    right, nodes = np.split(values[:, len(FIELDS) :], 2, axis=1)
    mean_right, mean_nodes = np.split(mean[len(FIELDS) :], 2)
    with np.errstate(invalid="ignore"):
        beyond = right - nodes * (mean_right / mean_nodes)
    scatter = np.concatenate([own, beyond], axis=1)
    error = np.full(scatter.shape[1:], np.inf) if len(values) < 2 else scatter.std(axis=0, ddof=1)
    return np.concatenate([error / math.sqrt(len(values)), mean_nodes])


def _log_error(accuracy: Array, error: Array, floor: float) -> tuple[Array, Array]:
    r"""Logarithm of the error rate :math:`1 - p` and its standard error :math:`\sigma/(1-p)`; of at least `floor`."""
    wrong = 1.0 - accuracy
    seen = np.maximum(wrong, floor)
    return np.log(seen), np.where(wrong < floor, 1.0, error / seen)
