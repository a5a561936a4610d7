"""The ceiling at finite mean degree, with standard errors, from populations started from above and from below."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple, TypeAlias, TypedDict

import numpy as np
from numpy.random import SeedSequence

from gcnlimit._runtime.memory import require
from gcnlimit._validation import whole
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.results.order_parameters import OrderParameters
from gcnlimit.results.performance import BayesPrediction, Performance, Prediction, Status
from gcnlimit.theory.ceiling.population import Draw, Population, SparseModel
from gcnlimit.theory.points import check_size

_OVERLAP, _ENTROPY = (Draw._fields.index(name) for name in ("overlap", "free_entropy"))
_NUMBERS = 12.0  # held at once for each node and class
_EDGE = 3.0  # and for each edge, at most
_REPLICAS = 8  # independent populations for each of the two starts
_DIFFERENT = 0.01  # overlap by which two fixed points differ, or a population drifts, at least


class _Start(NamedTuple):
    """Time averages of each population, rows, over the fields of `Draw`, and the drift of their overlap."""

    means: Array
    drift: float

    @property
    def entropy(self) -> float:
        return float(self.means[:, _ENTROPY].mean())


Sizes: TypeAlias = tuple[int, int, int]
"""Nodes of a population, sweeps, and the seed."""


class AtDegree(TypedDict, total=False):
    """Parameters of a ceiling at a finite mean degree, see `bayes_optimal`."""

    degree: float | None
    population: int
    sweeps: int
    seed: int


def population_sizes(population: int, sweeps: int, seed: int) -> Sizes:
    """Checked sizes."""
    nodes = whole("population", population, low=100)
    return nodes, whole("sweeps", sweeps, low=4, high=100_000), whole("seed", seed, low=0)


def sparse_ceiling(
    data: CSBM, degree: float, sizes: Sizes, nodes: type[Population] = Population
) -> BayesPrediction:
    """Performance of Bayes-optimal or linear nodes at a finite mean degree, at one point; see `bayes_optimal`."""
    check_size(data)
    _require_memory(data, degree, sizes[0])
    return _ceiling(sizes, nodes, SparseModel.of(data, degree))


def sparse_elsewhere(
    data: CSBM, to: CSBM, degree: float, sizes: Sizes, nodes: type[Population] = Population
) -> list[BayesPrediction]:
    """Ceilings on a new graph at a finite mean degree: both graphs at hand, in two stages, with frozen weights."""
    for model in (data, to):
        _require_memory(model, degree, sizes[0])
    home, there = (SparseModel.of(model, degree) for model in (data, to))
    learned = home.features.mu * float(
        np.asarray(_ceiling(sizes, nodes, home).order_parameters.overlap)
    )
    taught = replace(there.features, means=learned)
    fixed = replace(there.features, node=taught.at(np.zeros(1)), mu=np.zeros(1))
    alone = (_ceiling(sizes, nodes, replace(there, features=e)) for e in (taught, fixed))
    return [_ceiling(sizes, nodes, there, home), *alone]


def _require_memory(data: CSBM, degree: float, population: int) -> None:
    """Refuse a population whose messages would not fit."""
    edges = degree * (2.0 if data.directed else 1.0)
    needed = 8.0 * population * (_NUMBERS * data.fractions.size + _EDGE * edges)
    what = f"a population of {population} nodes at degree {degree:g}"
    require(what, needed, "take a smaller population or leave out degree")


def _ceiling(sizes: Sizes, nodes: type[Population], *models: SparseModel) -> BayesPrediction:
    """Ceiling of one point, on the graph of the first model, with another graph of the same features at hand or not."""
    population, sweeps, seed = sizes
    streams = SeedSequence(seed).spawn(2)
    below = _run(nodes, models, population, sweeps, streams[0], informed=False)
    above = _run(nodes, models, population, sweeps, streams[1], informed=True)
    # in a hard phase the two starts stay apart, and the larger free entropy is the truth;
    # elsewhere both are samples of one state
    if _differ(below.means, above.means):
        best = max(below, above, key=lambda start: start.entropy)
        reached = below
    else:
        both = np.concatenate([below.means, above.means])
        best = reached = _Start(both, max(below.drift, above.drift))
    return BayesPrediction(
        **vars(_prediction(models[0], best, sweeps)),
        algorithmic=_prediction(models[0], reached, sweeps),
        hard=best is not reached,
        free_entropy=best.entropy,
    )


def _run(
    nodes: type[Population],
    models: tuple[SparseModel, ...],
    size: int,
    sweeps: int,
    seed: SeedSequence,
    *,
    informed: bool,
) -> _Start:
    """Several populations, each swept half of the time to forget its start and half to be measured."""
    drawn = []
    for stream in seed.spawn(_REPLICAS):
        rng = np.random.Generator(np.random.SFC64(stream))  # the fastest
        members, *others = (nodes(model, size, informed, rng) for model in models)
        seen = []
        for sweep in range(sweeps):
            for other in others:  # each learns what the other says of the class means (Eq. 10.15)
                other.learn_from(members)
                other.sweep()
                members.learn_from(other)
            if sweep < sweeps // 2:
                members.sweep()
            else:
                seen.append(members.measure())
        drawn.append(seen)
    values = np.array(drawn)  # population, sweep, field
    overlap = values[:, :, _OVERLAP]
    half = overlap.shape[1] // 2
    drift = overlap[:, half:].mean(axis=1) - overlap[:, :half].mean(axis=1)
    # populations that still move have not forgotten their start
    noise = 4.0 * float(np.std(drift, ddof=1)) / math.sqrt(drift.size)
    moved = abs(float(drift.mean()))
    return _Start(values.mean(axis=1), moved if moved > max(noise, _DIFFERENT) else 0.0)


def _differ(below: Array, above: Array) -> bool:
    """Whether the overlaps of two starts differ by more than four standard errors, and noticeably."""
    first, second = below[:, _OVERLAP], above[:, _OVERLAP]
    error = math.sqrt((np.var(first, ddof=1) + np.var(second, ddof=1)) / first.size)
    return bool(abs(second.mean() - first.mean()) > max(4.0 * error, _DIFFERENT))


def _prediction(model: SparseModel, start: _Start, sweeps: int) -> Prediction:
    """Means over the populations, with their standard errors."""
    mean = Draw(*start.means.mean(axis=0).tolist())
    error = Draw(*(np.std(start.means, axis=0, ddof=1) / math.sqrt(len(start.means))).tolist())
    wrong = 1.0 - mean.accuracy
    log = math.log(wrong) if wrong > 0.0 else -math.inf
    log_error = error.accuracy / wrong if wrong > 0.0 else 0.0

    def performance(x: Draw, train: float, log: float) -> Performance:
        area = x.roc_auc if model.fractions.size == 2 else None
        return Performance(x.accuracy, train, x.loss, 0.0, log, x.accuracy, x.balanced, area)

    return Prediction(
        **vars(performance(mean, 1.0, log)),
        standard_error=performance(error, 0.0, log_error),
        order_parameters=OrderParameters(math.nan, math.inf, overlap=mean.overlap),
        status=Status.NOT_CONVERGED if start.drift else Status.CONVERGED,
        residual=start.drift,
        iterations=sweeps,
    )
