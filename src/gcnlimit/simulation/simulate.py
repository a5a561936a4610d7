"""Measure a network on many sampled graphs."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit import scope
from gcnlimit._runtime.memory import available
from gcnlimit._runtime.processes import run
from gcnlimit._runtime.progress import progress_bar
from gcnlimit._runtime.threads import cores
from gcnlimit._validation import broadcast, check_types, flag, whole
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM, SIGNALS
from gcnlimit.errors import ConvergenceError, ParameterError
from gcnlimit.network import GCN, check_problem
from gcnlimit.parameters import with_coordinates
from gcnlimit.results.performance import Measurement, Performance, Status, scalar_or_array
from gcnlimit.simulation.backend import Device, backend_of
from gcnlimit.simulation.data.instance import Instance
from gcnlimit.simulation.data.sample import Seed, draw, seed_sequence
from gcnlimit.simulation.data.size import Size, training_bytes
from gcnlimit.simulation.measure import AVERAGES, FIELDS, evaluate_rows, measured
from gcnlimit.simulation.train.train import holds_rows, read_outputs, train
from gcnlimit.two_graphs import check_pair

Shape = tuple[int, ...]
_TRAINING = [FIELDS.index(name) for name in ("train_accuracy", "train_loss")]
SMALL = 40_000  # nodes of all trials together below which they stay in this process
SHARING = 4  # processes that share a GPU, at most
MANY = 12_000_000  # nodes of all trials from which processes pay for their import of PyTorch


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
    r"""Performance of a network on sampled graphs: mean and standard error over `trials` graphs.

    If interrupted from the keyboard, it returns the trials done so far. Under a law of degrees `accuracy_by_degree`
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
        Whether to show progress on standard error; by default where it takes more than two seconds.
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
    size = Size.of(data, nodes, degree, streamed, dtype, device)
    if to is not None:
        # its labels are not used; its features and classes must be those of the training
        check_types("simulate", data=(data, CSBM), to=(to, CSBM))
        check_pair(data, to)
        to = to.model.replaced(rho=0.0)
    data = data.model
    scope.check("simulate or fit", data, gcn)
    trials = whole("trials", trials, low=1, high=10**6)
    workers = workers if workers is None else whole("workers", workers, low=1, high=10**4)
    progress = progress if progress is None else flag("progress", progress)
    throw = flag("throw", throw)
    few = size.degree and gcn.normalization.leaves(data.degrees, size.degree)
    shape = broadcast(data=data.shape, network=gcn.shape, to=() if to is None else to.shape)
    root = seed_sequence(seed)
    groups = _groups(data, gcn, to, shape, size)
    for group in groups if throw else ():
        group.check_signals()

    points = math.prod(broadcast(data=data.shape, network=gcn.shape))
    labels = float(np.max(data.rho)) * size.nodes
    rows = holds_rows(gcn, data.classes, size.streamed)
    needed = size.bytes() + training_bytes(size, labels, points, rows)
    if to is not None:
        needed += max(group.there.bytes() for group in groups)
    size.require("one trial", needed)
    tasks = [
        _Trial(group, child, throw)
        for group, seeds in zip(groups, root.spawn(len(groups)), strict=True)
        for child in seeds.spawn(trials)
    ]
    if workers is None:
        most = 1 if len(tasks) * size.nodes < SMALL else cores()
        if size.device != "cpu":
            most = in_flight(size, math.prod(gcn.shape), len(tasks))
        workers = max(1, int(min(most, available() / needed)))

    unit, total = "trials", len(tasks)
    if size.streamed and min(workers, total) == 1:  # then the blocks of features are counted
        unit, total = "blocks", math.ceil(size.features / backend_of(size.device).tile) * total
    # at finite reg a block is drawn more than once, nobody knows how often
    countable = unit == "trials" or np.isinf(gcn.reg).all()
    with progress_bar("simulating", total if countable else None, progress, unit=unit) as bar:
        done = bar.advance if unit == "trials" else lambda count: None
        try:
            results = run(tasks, workers, done=done)
        except ParameterError as error:
            # leaves make eigenvalues of their own, on which a filter may not be defined
            raise ParameterError(f"{error}; {few}") if few else error from None
    if few:
        warnings.warn(few, stacklevel=2)
    return with_coordinates(_assemble(groups, results, shape), data, gcn, to)


def in_flight(size: Size, points: int, trials: int) -> int:
    """Number of processes that share a GPU: its memory holds a trial of each, and the trials pay for their start."""
    if trials * size.nodes < MANY:
        return 1
    together = backend_of(size.device).free() // size.device_bytes(points)
    return int(min(max(together, 1), cores(), SHARING))


class _Group(NamedTuple):
    """A point of the data, its networks, another graph to test on, the sizes of both, and places in the flattened answer."""

    data: CSBM
    gcn: GCN
    to: CSBM | None
    size: Size
    there: Size
    where: npt.NDArray[np.intp]

    @property
    def tested(self) -> CSBM:
        return self.to or self.data

    def check_signals(self) -> None:
        self.size.check_signals(self.data)
        self.there.check_signals(self.tested)


def _groups(data: CSBM, gcn: GCN, to: CSBM | None, shape: Shape, size: Size) -> list[_Group]:
    """Distinct data points; the other graph has as many features, and so a number of nodes in proportion to alpha."""
    models = [data] if to is None else [data, to]
    signals = [getattr(model, name) for model in models for name in SIGNALS]
    columns = [np.broadcast_to(values, shape).ravel() for values in signals]
    # networks at the same data share their graphs
    points, which = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    groups = []
    for k, point in enumerate(points.tolist()):
        where = np.flatnonzero(which.reshape(-1) == k)
        point_model = data.having(**dict(zip(SIGNALS, point, strict=False)))
        other = None
        there = size
        if to is not None:
            other = to.having(**dict(zip(SIGNALS, point[len(SIGNALS) :], strict=True)))
            nodes = math.floor(size.nodes * float(other.alpha) / float(point_model.alpha) + 0.5)
            nodes = whole("number of nodes of the graph to test on", nodes, low=2, high=10**12)
            there = replace(size, nodes=nodes)
        groups.append(_Group(point_model, _network(gcn, shape, where), other, size, there, where))
    return groups


def _network(gcn: GCN, shape: Shape, where: npt.NDArray[np.intp] | slice) -> GCN:
    """The networks at some places of the flattened points."""

    def there(part: Any) -> Any:
        return None if part is None else part.ravel(shape)[where]

    names = "filter", "test_filter", "normalization", "training"
    parts = {name: there(getattr(gcn, name)) for name in names}
    return gcn.replaced(reg=np.broadcast_to(gcn.reg, shape).ravel()[where], **parts)


@dataclass(frozen=True)
class _Trial:
    """One graph, to be drawn and trained on, perhaps in another process."""

    group: _Group
    seed: np.random.SeedSequence
    throw: bool

    def __call__(self) -> Array:
        """Performance, one row for each field measured, and status; NaN where a network has no answer, unless that is raised."""
        data, gcn, to, size, there, _ = self.group
        other = None
        try:
            self.group.check_signals()
            instance = draw(data, size, self.seed)
            if to is not None:
                other = draw(to, there, self.seed.spawn(1)[0], instance.latents.centroid)
        except ParameterError as error:
            return self._without_answer(error, gcn)
        return self._answer(instance, other, gcn)

    def _answer(self, instance: Instance, there: Instance | None, gcn: GCN) -> Array:
        """Rows of the networks; of each by itself, where one of them has no answer."""
        try:
            return self._measure(instance, there, gcn)
        except (ParameterError, ConvergenceError) as error:
            points = math.prod(gcn.shape)
            if self.throw or points == 1:
                return self._without_answer(error, gcn)
        each = (_network(gcn, gcn.shape, slice(k, k + 1)) for k in range(points))
        return np.concatenate([self._answer(instance, there, network) for network in each], axis=1)

    def _measure(self, instance: Instance, there: Instance | None, gcn: GCN) -> Array:
        seen = instance.observation
        trained = train(seen, gcn if there is None else gcn.replaced(test_filter=None))
        rows = evaluate_rows(instance, gcn, trained.outputs, trained.bias)
        if there is not None:
            outputs = read_outputs(there.observation, gcn, trained.weights, seen.nodes)
            at_training = rows[_TRAINING]
            rows = evaluate_rows(there, gcn, outputs, trained.bias, instance)
            rows[_TRAINING] = at_training
        return np.array([*rows, np.full(gcn.shape, float(Status.CONVERGED))])

    def _without_answer(self, error: Exception, gcn: GCN) -> Array:
        """Rows of networks that failed, with the reason as their status, if the error is not raised."""
        if self.throw:
            raise error
        law = self.group.tested.degrees
        count = AVERAGES + (0 if law is None else 2 * law.theta.size)
        rows = np.full((count + 1, math.prod(gcn.shape)), np.nan)
        failed = isinstance(error, ConvergenceError)
        rows[-1] = float(Status.NOT_CONVERGED if failed else Status.REFUSED)
        return rows


def _assemble(groups: list[_Group], results: list[Array | None], shape: Shape) -> Measurement:
    """Means and standard errors over the trials that were done."""
    trials = len(results) // len(groups)
    least = trials
    rows = max((len(r) for r in results if r is not None), default=1) - 1
    mean, error = np.empty((2, rows, math.prod(shape)))
    status = np.empty(math.prod(shape), np.int64)
    for k, group in enumerate(groups):
        done = [r for r in results[k * trials : (k + 1) * trials] if r is not None]
        if not done:
            raise KeyboardInterrupt
        least = min(least, len(done))
        values = np.stack(done)
        # one trial without an answer leaves the point without one
        status[group.where] = np.max(values[:, -1], axis=0)
        mean[:, group.where] = values[:, :-1].mean(axis=0)
        error[:, group.where] = _standard_error(values[:, :-1])
    error[:, status > Status.CONVERGED] = np.nan
    # the logarithm of the error rate, at least of half an error in all, has the relative error
    floor = 0.5 / (groups[0].size.nodes * least)
    seen = np.maximum(1.0 - mean[0], floor)
    log_error = np.where(1.0 - mean[0] < floor, 1.0, error[0] / seen)

    def named(rows: Array, log_row: Array, trials: int) -> dict[str, Any]:
        performance = measured(groups[0].tested, rows.reshape(-1, *shape), trials)
        return vars(performance) | {"log_test_error": scalar_or_array(log_row.reshape(shape))}

    return Measurement(
        **named(mean, np.log(seen), least),
        standard_error=Performance(**named(error, log_error, 0)),
        trials=least,
        status=Status.of(status.reshape(shape)),
    )


def _standard_error(values: Array) -> Array:
    """Standard errors of the means of rows over the trials; of a cell of propensities that of a ratio, then its nodes."""
    mean = values.mean(axis=0)
    averages = values[:, :AVERAGES]
    right, nodes = np.split(values[:, AVERAGES:], 2, axis=1)
    mean_right, mean_nodes = np.split(mean[AVERAGES:], 2)
    # an accuracy in a cell is a ratio of sums: its scatter, to first order
    with np.errstate(invalid="ignore"):
        beyond = right - nodes * (mean_right / mean_nodes)
        scatter = np.concatenate([averages, beyond], axis=1)
        error = scatter.std(axis=0, ddof=min(1, len(values) - 1))
    # one trial says nothing of its error, and an infinite slope of a calibration has none
    error = np.where(np.isinf(mean[: len(error)]), 0.0, error if len(values) > 1 else np.inf)
    return np.concatenate([error / math.sqrt(len(values)), mean_nodes])
