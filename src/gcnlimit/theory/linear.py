r"""All linear networks: the best margin of any of them (Eq. 12.1), and that of clamped label propagation (Eq. 12.7)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Unpack, overload

import numpy as np
import numpy.typing as npt

from gcnlimit import scope
from gcnlimit._runtime.progress import progress_bar
from gcnlimit._validation import as_real, broadcast, check_types, flag, number, whole
from gcnlimit._values import Array, shown
from gcnlimit.csbm import CSBM, SIGNALS
from gcnlimit.errors import ParameterError
from gcnlimit.parameters import coordinates_of
from gcnlimit.results.order_parameters import Output
from gcnlimit.results.performance import Prediction, Status
from gcnlimit.results.result import Coordinates
from gcnlimit.theory.bayes import at_each_point, inferred, transferred
from gcnlimit.theory.calibration import evidence_calibration
from gcnlimit.theory.ceiling.amp_layers import layer_coordinates
from gcnlimit.theory.ceiling.finite_degree import (
    AtDegree,
    population_sizes,
    sparse_ceiling,
    sparse_elsewhere,
)
from gcnlimit.theory.ceiling.linear_node import LinearNode
from gcnlimit.theory.ceiling.population import LinearPopulation
from gcnlimit.theory.ceiling.state_evolution import StateEvolution
from gcnlimit.theory.ceiling.two_graphs import joint_layers, spread_points, stages_of_learning
from gcnlimit.theory.decision import ceiling_prediction, certain, from_margins
from gcnlimit.theory.degrees.ceiling import Evolution, evolution_of, fixed_points
from gcnlimit.theory.uncertainty import carries_errors
from gcnlimit.two_graphs import check_pair

_STEPS = 200  # of Newton's method
_MOST_LAYERS = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class LinearTransfer(Prediction):
    """Best linear network on a new graph, with both graphs available; `two_stages` and `frozen` as in `BayesTransfer`."""

    two_stages: Prediction
    frozen: Prediction


@overload
def best_linear(
    data: CSBM, *, layers: int | None = None, symmetrize: bool = True, **sparse: Unpack[AtDegree]
) -> Prediction: ...
@overload
def best_linear(
    data: CSBM,
    *,
    to: CSBM,
    layers: int | None = None,
    symmetrize: bool = True,
    **sparse: Unpack[AtDegree],
) -> LinearTransfer: ...
@progress_bar("computing the best linear network")
def best_linear(
    data: CSBM,
    *,
    to: CSBM | None = None,
    layers: int | None = None,
    symmetrize: bool = True,
    degree: float | None = None,
    population: int = 3000,
    sweeps: int = 40,
    seed: int = 0,
) -> Prediction:
    r"""Performance of the best linear network: no network that is linear on the unlabelled nodes has a larger margin.

    That holds for any filters, depth, convex loss, penalty and regularization, and with labels as inputs. The squared margin is
    (Eq. 12.1)

    .. math:: M = \frac\mu\alpha \frac A{1 + A} + \lambda_s^2 Q, \qquad A = \mu Q, \qquad Q = \frac{\rho + M}{1 + M},

    the state evolution of `bayes_optimal` with :math:`M/(1 + M)` in place of the average of a tanh; the network that has it
    clamps the labels and passes through graph and features in turn (`linear_message_passing`). `test_loss` is the
    cross-entropy of its calibrated output, :math:`P(y|v) = 1/(1 + e^{-2(1+M)vy})` for two classes, and the mean square error
    of :math:`v` is :math:`1/(1+M)` in each direction of the codes. Classes of any number and sizes have the same :math:`M`.

    Parameters
    ----------
    data
        The data; array parameters broadcast. The network knows how likely labels are wrong, `noise` (Eq. 12.13).
    to
        Another graph with the same features, as for `bayes_optimal` (Eq. 12.12). The answer is a `LinearTransfer`.
    layers
        Number of layers: the answer has one more axis, over them (Eq. 12.2). By default the limit of many. With `to` they are
        those on both graphs at once; in two stages, and with frozen weights, those on the new graph after many on the other.
    symmetrize
        Whether the network applies a directed graph in both directions, which is best, or in one.
    degree
        Mean degree; by default it is large. The answer is that of population dynamics for the linear estimate of least square
        error (Eq. 12.10), whose `overlap` is exact on a tree; the accuracy takes its fields for Gaussian, and is up to a point
        too high at degree 4 to 10.
    population, sweeps, seed
        At finite degree, as for `bayes_optimal`.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    >>> best = gl.best_linear(data)
    >>> round(best.test_accuracy, 5), round(gl.bayes_optimal(data).test_accuracy, 5)
    (0.89614, 0.91273)
    >>> gl.best_linear(data, layers=5).test_accuracy.round(4)
    array([0.7027, 0.8121, 0.8673, 0.8872, 0.8935])
    >>> M, Q = best.order_parameters.output.mean, best.order_parameters.overlap
    >>> bool(abs(2 / 4 * 2 * Q / (1 + 2 * Q) + 2 * Q - M) < 1e-14)
    True
    """
    check_types("best_linear", data=(data, CSBM))
    flag("symmetrize", symmetrize)
    depth = None if layers is None else whole("layers", layers, low=1, high=_MOST_LAYERS)
    sizes = population_sizes(population, sweeps, seed)
    if degree is not None:
        if depth is not None or not symmetrize:
            scope.check("best_linear of layers, or in one direction, at finite degree", data)
        degree = number("degree", degree, low=0, open_low=True)
    if to is None:
        if degree is not None:
            scope.check("best_linear at finite degree", data)
            sparse = partial(sparse_ceiling, degree=degree, sizes=sizes, nodes=LinearPopulation)
            return at_each_point(data.model, sparse).algorithmic
        scope.check("best_linear", data)
        return _on_one_graph(data, symmetrize, depth)
    check_types("best_linear", to=(to, CSBM))
    for model in (data, to):
        scope.check("best_linear on another graph", model)
    check_pair(data, to)
    if degree is None:
        return _elsewhere(data, to, symmetrize, depth)
    if data.shape or to.shape:
        raise ParameterError("best_linear with to and degree takes one point; leave out degree")
    ceilings = sparse_elsewhere(data.model, to.model, degree, sizes, nodes=LinearPopulation)
    stages = [ceiling.algorithmic for ceiling in ceilings]
    return transferred(LinearTransfer, stages, coordinates_of(data, None, to))


@carries_errors
@np.errstate(all="ignore")  # evidence beyond the largest number is infinite
def _on_one_graph(data: CSBM, symmetrize: bool, depth: int | None) -> Prediction:
    """Prediction at the fixed point, or of each layer."""
    evolution = evolution_of(data, LinearNode(data.classes, data.noise), symmetrize)
    answer = _prediction(evolution, data, None if depth is None else evolution.layers(depth))
    return replace(answer, coordinates=layer_coordinates(data, depth))


def _prediction(evolution: Evolution, data: CSBM, states: Array | None) -> Prediction:
    """Prediction at the fixed point, or from the states after each layer, those of the first point first."""
    if states is None:
        fixed = fixed_points(evolution)
        return inferred(evolution, data, fixed.best, fixed.residual, fixed.iterations)[0]
    points = evolution.rho.size
    depth = len(states) // points
    every = evolution.take(np.repeat(np.arange(points), depth))
    columns = {name: np.asarray(getattr(data, name))[..., None] for name in SIGNALS}
    spread = spread_points(data.having(**columns), (*data.shape, depth))
    steps = np.tile(np.arange(1, depth + 1), points)
    answer, _ = inferred(every, spread, states, np.zeros(len(states)), steps)
    lost = np.isnan(answer.test_accuracy)
    return replace(answer, status=np.where(lost, Status.OUT_OF_RANGE, Status.EXPLICIT))


@carries_errors
@np.errstate(all="ignore")
def _elsewhere(data: CSBM, to: CSBM, symmetrize: bool, depth: int | None) -> LinearTransfer:
    """Prediction on another graph with the same features, at the fixed point or of each layer."""
    node = LinearNode(data.classes, data.noise)
    shape = broadcast(data=data.shape, to=to.shape)
    new = spread_points(to, shape)
    models = (spread_points(data, shape), new)
    home, there = (StateEvolution.of(model, node, symmetrize) for model in models)
    stages = stages_of_learning(home, there)
    states: list[Array | None] = [None, None, None]
    if depth is not None:
        states = [joint_layers(home, there, depth), *(e.layers(depth) for e in stages[1:])]
    answers = [_prediction(e, new, m) for e, m in zip(stages, states, strict=True)]
    return transferred(LinearTransfer, answers, layer_coordinates(data, depth, to))


@np.errstate(all="ignore")
def label_propagation(
    data: CSBM, graph: npt.ArrayLike, features: npt.ArrayLike = 0.0
) -> Prediction:
    r"""Performance of clamped label propagation with any strengths of graph and features (Eq. 12.7).

    Labelled nodes keep their codes, and on the others :math:`v = \theta_a a v + \theta_x \frac{XX^T}N v`. With
    :math:`\theta_a = \lambda_s/D_0`, :math:`\theta_x = \frac\mu{1+\mu}/D_0` and :math:`D_0 = 1 + \lambda_s^2 + \mu/\alpha` it is
    the best linear network; others are what wrong parameters give, and :math:`\theta_a = 1/\sqrt d` alone is the harmonic
    function.

    Parameters
    ----------
    data
        The data, with white features and no hubs; a directed graph is symmetrized. Array parameters broadcast.
    graph, features
        The numbers :math:`\theta_a` and :math:`\theta_x \ge 0`; they broadcast with the parameters of the data.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=3, lam=1.2, mu=0.8, rho=0.15, directed=False)
    >>> harmonic = gl.theory.label_propagation(data, graph=1 / 30**0.5)
    >>> D0 = 1 + 1.2**2 + 0.8 / 3
    >>> best = gl.theory.label_propagation(data, 1.2 / D0, 0.8 / 1.8 / D0)
    >>> round(harmonic.test_accuracy, 4), bool(abs(best.test_accuracy - gl.best_linear(data).test_accuracy) < 1e-12)
    (0.7135, True)
    """
    check_types("label_propagation", data=(data, CSBM))
    scope.check("label_propagation", data)
    if np.any(np.equal(data.rho, 0.0)):
        raise ParameterError("rho = 0 leaves no label to propagate; take rho > 0")
    on_graph = as_real("graph", graph)
    on_features = as_real("features", features, low=0)
    shape = broadcast(data=data.shape, graph=np.shape(on_graph), features=np.shape(on_features))
    signal = data.effective_signal(symmetrize=True)
    columns = data.alpha, signal, data.mu, data.rho, on_graph, on_features
    output, overlap, residual = _two_numbers([np.broadcast_to(x, shape).ravel() for x in columns])
    with np.errstate(all="ignore"):
        margin = (output.mean / np.sqrt(output.variance)).reshape(shape)
    if not (np.all(overlap >= 0.0) and np.isfinite(margin).all()):
        why = "make label propagation singular, or reach no node; take other numbers"
        raise ParameterError(f"graph = {shown(graph)} and features = {shown(features)} {why}")
    loss = LinearNode(data.classes).cross_entropy(np.square(margin))
    sure = partial(evidence_calibration, data.classes, None, np.square(margin).ravel(), shape)
    answer = ceiling_prediction(
        from_margins(data.classes, *certain(margin, loss)),
        margin,
        residual,
        np.zeros(residual.size, np.int64),
        output=output.reshape(shape),
        overlap=overlap.reshape(shape),
        calibrated=sure,
    )
    numbers = {"graph": on_graph, "features": on_features}
    return replace(answer, coordinates=Coordinates(dict(coordinates_of(data).parameters) | numbers))


def _two_numbers(columns: list[Array]) -> tuple[Output, Array, Array]:
    """Output of test nodes, overlap of all with the labels, NaN where the system is not positive, and residual (Eq. 12.7)."""
    alpha, signal, mu, rho, graph, features = columns
    hidden = 1.0 - rho

    def through_features(s: Array) -> Array:
        return features / (1.0 - features * hidden * s)

    # Convex and falling from s = 1 to the root, or rising before there is one.
    s = np.ones_like(rho)
    for _ in range(_STEPS):
        h = through_features(s)
        value = 1.0 / s + graph**2 * hidden * s + h / alpha - 1.0
        slope = graph**2 * hidden + hidden * h**2 / alpha - 1.0 / s**2
        ahead = s - value / slope
        if np.all((np.abs(ahead - s) <= 1e-15 * s) | ~(slope < 0.0)):
            break
        s = np.where(slope < 0.0, ahead, np.nan)
    h = through_features(s)
    pull = graph * signal + h * mu / alpha
    spread = graph**2 + h**2 / alpha
    shared = h**2 * mu / alpha
    left = 1.0 - hidden * s * pull
    overlap = rho / left
    Q = (rho + hidden * s**2 * (pull**2 + shared) * overlap**2) / (1.0 - hidden * s**2 * spread)
    positive = (left > 0.0) & (h >= 0.0) & (hidden * s**2 * spread < 1.0)
    variance = s**2 * (spread * Q + shared * overlap**2)
    output = Output(s * pull * overlap, variance, np.zeros_like(s))
    return output, np.where(positive, overlap, np.nan), np.abs(value)
