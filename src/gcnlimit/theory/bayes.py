"""The ceiling: the best accuracy that any algorithm can reach, knowing the model, at large and at finite degree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from typing import Any, TypeVar, Unpack, overload

import numpy as np

from gcnlimit import scope
from gcnlimit._runtime.progress import progress_bar
from gcnlimit._validation import broadcast, check_types, number
from gcnlimit._values import Array, Integers
from gcnlimit.csbm import CSBM, SIGNALS
from gcnlimit.errors import ParameterError
from gcnlimit.network import GCN
from gcnlimit.parameters import coordinates_of, with_coordinates
from gcnlimit.results.order_parameters import Output
from gcnlimit.results.performance import BayesPrediction, Performance, Prediction, scalar_or_array
from gcnlimit.results.result import Coordinates
from gcnlimit.theory.calibration import evidence_calibration
from gcnlimit.theory.ceiling.finite_degree import (
    AtDegree,
    population_sizes,
    sparse_ceiling,
    sparse_elsewhere,
)
from gcnlimit.theory.ceiling.state_evolution import StateEvolution
from gcnlimit.theory.ceiling.two_graphs import spread_points, stages_of_learning
from gcnlimit.theory.ceiling.unequal import unequal_ceiling
from gcnlimit.theory.decision import (
    ceiling_prediction,
    certain,
    from_margins,
    mean_margin,
    mean_performance,
)
from gcnlimit.theory.degrees.ceiling import (
    Evolution,
    PropensityEvolution,
    evolution_of,
    fixed_points,
)
from gcnlimit.theory.transfer import Trained
from gcnlimit.theory.uncertainty import carries_errors
from gcnlimit.two_graphs import check_pair, feature_signal

T = TypeVar("T")
_QUICK = 3  # unequal classes up to which a ceiling takes a fraction of a second


@dataclass(frozen=True, eq=False, repr=False)
class BayesTransfer(BayesPrediction):
    """Bayes-optimal performance on a new graph, with both graphs available and with less information.

    In `two_stages` the new graph adds to all that the training graph says of the features, without returning to that graph; in
    `frozen` the weights stay as they were trained, and inference on the new graph is the best.
    """

    two_stages: BayesPrediction
    frozen: BayesPrediction


@overload
def bayes_optimal(data: CSBM, **sparse: Unpack[AtDegree]) -> BayesPrediction: ...
@overload
def bayes_optimal(
    data: CSBM, *, to: CSBM, gcn: GCN | None = None, **sparse: Unpack[AtDegree]
) -> BayesTransfer: ...
@progress_bar("computing the ceiling")
def bayes_optimal(
    data: CSBM,
    *,
    to: CSBM | None = None,
    gcn: GCN | None = None,
    degree: float | None = None,
    population: int = 3000,
    sweeps: int = 40,
    seed: int = 0,
) -> BayesPrediction:
    r"""Bayes-optimal performance, and that of approximate message passing where it is lower.

    The evidence :math:`m` on a test node is a root of Eq. 8.8, for two equal classes and white features that of Eq. 5.1,

    .. math::
        m = \frac{\mu^2}{\alpha} \frac{m_y}{1 + \mu m_y} + \lambda_s^2 m_y, \qquad
        m_y = \rho + (1-\rho)\, \mathbb E \tanh(m + \sqrt m\, \zeta), \qquad \zeta \sim \mathcal N(0, 1),

    with :math:`\lambda_s = \sqrt 2 \lambda` for a directed graph and :math:`\lambda` for a symmetric one. `test_loss` is the
    expected cross-entropy of the posterior, in nats. With five classes or more, or two of very unequal sizes, and few labels,
    there may be two stable roots: the better one is the answer, and `algorithmic` is what message passing reaches from the
    labels alone. Under a law of degrees there are two overlaps (Eq. 11.13), and `accuracy_by_degree` tells leaves from hubs.

    On three or more unequal classes the evidence is a matrix, a root of Eq. 8.18: to about 1e-11 for three classes, 1e-8 for
    four, and 1e-6 to 3e-5 for five to ten, with a `standard_error`. At a finite mean degree the answer is that of population
    dynamics (Eq. 9.6), whose `standard_error` is that of several populations; uncertainties of `data` do not enter it.

    Parameters
    ----------
    data
        The data; array parameters broadcast.
    to
        Another graph, with the same features, whose nodes are to be classified (Eqs. 10.15 to 10.17); `mu`, `alpha` and `rho`,
        which may be 0, are its own. The answer is a `BayesTransfer`.
    gcn
        The network whose weights `frozen` keeps; by default they are Bayes-optimal. It goes with `to`.
    degree
        Mean degree of the graph, and of the graph `to`; by default it is large, and the answer exact.
    population, sweeps, seed
        At finite degree: nodes in each of sixteen populations, how often they are redrawn (the first half to forget the
        start), and the seed. Errors fall as the inverse square root of either; slow near a transition, where `status` says so.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    >>> round(gl.bayes_optimal(data).test_accuracy, 5)
    0.91273
    >>> sparse = gl.bayes_optimal(data, degree=3, population=500, sweeps=20)
    >>> bool(abs(sparse.test_accuracy - 0.9219) < 4 * sparse.standard_error.test_accuracy)
    True
    >>> there = gl.bayes_optimal(data, to=gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.0))
    >>> round(there.test_accuracy, 4), round(there.frozen.test_accuracy, 4)
    (0.9147, 0.9081)
    """
    check_types("bayes_optimal", data=(data, CSBM))
    sizes = population_sizes(population, sweeps, seed)
    mean = None if degree is None else number("degree", degree, low=0, open_low=True)
    if to is not None:
        check_types("bayes_optimal", to=(to, CSBM), gcn=(gcn, (GCN, type(None))))
        check_pair(data, to)
        if mean is not None:
            for model in (data, to):
                scope.check("bayes_optimal on another graph of finite degree", model)
            if gcn is not None or data.shape or to.shape:
                told = "bayes_optimal with to and degree needs single parameters and no gcn"
                raise ParameterError(f"{told}; leave out degree")
            stages = sparse_elsewhere(data.model, to.model, mean, sizes)
            return transferred(BayesTransfer, stages, coordinates_of(data.model, None, to.model))
        return _elsewhere(data, to, gcn)
    if gcn is not None:
        told = "gcn is given without to: a ceiling on another graph keeps its weights"
        raise ParameterError(f"{told}; give to as well, or leave out gcn")
    if mean is not None:
        scope.check("bayes_optimal at finite degree", data)
        return at_each_point(data.model, partial(sparse_ceiling, degree=mean, sizes=sizes))
    scope.check("bayes_optimal", data)
    return _ceiling(data)


def _ceiling_at(data: CSBM) -> BayesPrediction:
    """Bayes-optimal performance at large degree."""
    if data.classes.count > 2 and not data.classes.equal:
        return at_each_point(data, unequal_ceiling)
    with np.errstate(all="ignore"):  # evidence beyond the largest number is infinite
        return _at_fixed_points(data, evolution_of(data))


def _ceiling_nearby(data: CSBM, near: CSBM) -> Performance:
    """Ceiling of a model near another, quick where that of several unequal classes takes seconds to minutes.

    Near equal classes they keep the evidence that these have, and differ in the decision alone: 65 to 100 per cent of the change
    where the two were compared. Near unequal ones averages are those of a coarse rule, the same for all models.
    """
    count = data.classes.count
    if data.classes.equal or count <= _QUICK:
        return _ceiling_at(data)
    if not near.classes.equal:
        return at_each_point(data, partial(unequal_ceiling, coarse=True))
    equal = _ceiling_at(data.having(classes=near.classes))
    margin = np.asarray(equal.order_parameters.test_margin)
    losses = np.asarray(equal.test_loss), np.asarray(equal.train_loss)
    decided = from_margins(data.classes, (margin, margin), losses)
    return replace(decided, train_accuracy=equal.train_accuracy)


_ceiling = carries_errors(_ceiling_at, nearby=_ceiling_nearby)


def _at_fixed_points(data: CSBM, evolution: Evolution) -> BayesPrediction:
    """Bayes-optimal performance at the fixed points of a state evolution, whose points are those of the data."""
    roots = fixed_points(evolution)
    ended = roots.residual, roots.iterations
    best, free_entropy = inferred(evolution, data, roots.best, *ended)
    best = algorithmic = with_coordinates(best, data)
    if np.any(roots.hard):
        algorithmic = with_coordinates(inferred(evolution, data, roots.reached, *ended)[0], data)
    return BayesPrediction(
        **vars(best),
        algorithmic=algorithmic,
        hard=scalar_or_array(roots.hard.reshape(data.shape)),
        free_entropy=scalar_or_array(free_entropy.reshape(data.shape)),
    )


def inferred(
    evolution: Evolution, data: CSBM, x: Array, residual: Array, steps: Integers
) -> tuple[Prediction, Array]:
    """Prediction at a state of the evolution, its evidence or with propensities its overlaps, and the free entropy there."""
    shape, classes = data.shape, data.classes
    state = evolution.state(x)
    evidence = x
    if isinstance(evolution, PropensityEvolution):
        evidence = evolution.at(x, evolution.law.theta)
    margin = np.sqrt(evidence).reshape(shape + evidence.shape[1:])
    margins, losses = certain(margin, state.loss.reshape(shape), data.noise)
    sure = partial(evidence_calibration, classes, data.degrees, evidence, shape)
    details: dict[str, Any] = {"calibrated": sure, "overlap": state.overlap.reshape(shape)}
    if isinstance(evolution, PropensityEvolution):
        weight = evolution.law.weight
        if data.noise:  # labels that may be wrong leave a loss that depends on the degree
            losses = losses[0], losses[1] @ weight
        performance = mean_performance(classes.count, margins, losses, weight)
        margin = mean_margin(margin, classes.count, weight)
        details["by_degree"] = partial(evolution.accuracy_by_degree, data, x)
    else:
        performance = from_margins(classes, margins, losses)
        details["output"] = Output(x, x, np.zeros_like(x)).reshape(shape)
    answer = ceiling_prediction(performance, margin, residual, steps, **details)
    return answer, state.free_entropy


def at_each_point(data: CSBM, answer: Callable[[CSBM], BayesPrediction]) -> BayesPrediction:
    """Answers at each point of the data in turn, as one record whose fields have the shape of the points."""
    columns = (np.broadcast_to(getattr(data, name), data.shape).ravel() for name in SIGNALS)
    rows = zip(*columns, strict=True)
    points = (dict(zip(SIGNALS, map(float, row), strict=True)) for row in rows)
    answers = [answer(data.having(**point)) for point in points]
    together: BayesPrediction = _stacked(answers, data.shape)
    return with_coordinates(
        replace(together, algorithmic=with_coordinates(together.algorithmic, data)), data
    )


def _stacked(answers: list[Any], shape: tuple[int, ...]) -> Any:
    """One answer whose fields have the shape of the points."""
    first = answers[0]
    if not shape or first is None:
        return first
    if is_dataclass(first) and not isinstance(first, type):
        names = [f.name for f in fields(first) if f.init]
        columns = {name: [getattr(answer, name) for answer in answers] for name in names}
        return replace(first, **{name: _stacked(column, shape) for name, column in columns.items()})
    return np.reshape(answers, shape) if isinstance(first, int | float) else first


@carries_errors
@np.errstate(all="ignore")  # evidence beyond the largest number is infinite
def _elsewhere(data: CSBM, to: CSBM, gcn: GCN | None = None) -> BayesTransfer:
    """Bayes-optimal performance on an independent graph with the features of a training graph (Eqs. 10.15 to 10.17).

    Where the state evolution has several stable fixed points, the two graphs exchange what each has found by itself.
    """
    for model in (data, to):
        scope.check("bayes_optimal on another graph", model)
    slope = None
    if gcn is not None:
        scope.check("transfer", data, gcn)
        slope = Trained.of(data, gcn).slope
    network = () if slope is None else slope.shape
    shape = broadcast(data=data.shape, to=to.shape, network=network)
    new = spread_points(to, shape)
    home, there = (StateEvolution.of(model) for model in (spread_points(data, shape), new))
    learned = None
    if slope is not None:
        learned = np.full(shape, feature_signal(data, to) * slope**2).ravel()
    stages = stages_of_learning(home, there, learned)
    answers = [_at_fixed_points(new, evolution) for evolution in stages]
    return transferred(BayesTransfer, answers, coordinates_of(data, gcn, to))


def transferred(kind: Callable[..., T], stages: Sequence[Prediction], at: Coordinates) -> T:
    """Answer on a new graph from its three stages: both graphs at once, in two steps, with frozen weights."""
    joint, two_stages, frozen = stages
    fields = vars(joint) | {"coordinates": at, "two_stages": two_stages, "frozen": frozen}
    return kind(**fields)
