"""The free parameters of a network for which its test accuracy is the highest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._runtime.progress import progress_bar
from gcnlimit._validation import flag, whole
from gcnlimit._values import Array, Numbers
from gcnlimit.choose.search import (
    Bounds,
    Method,
    NetworkSearch,
    check_names,
    start_points,
    with_parameters,
)
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Filter, Residual
from gcnlimit.network import GCN, check_problem
from gcnlimit.numerics import maximize
from gcnlimit.numerics.climb import Index, Objective
from gcnlimit.numerics.linear import batches
from gcnlimit.numerics.maximize import Maxima
from gcnlimit.parameters import each_layer, with_coordinates
from gcnlimit.results.performance import Outcome, Prediction, Status, scalar_or_array
from gcnlimit.results.result import Coordinates, Result, status_names
from gcnlimit.theory.points import Points
from gcnlimit.theory.predict import predict
from gcnlimit.theory.transfer import best_test_filter

_DEPTHS = 100  # that are searched one after the other
_APART = 0.1  # distance of the starts: else all would lie on the plateau of large regularization
_NEAR = 0.05  # distance of a wall that is worth trying where evaluations are expensive
_FLAT = 1e-12  # range of explicit margins below which no choice is better than another


class TuneStatus(Outcome):
    """Where an optimum lies."""

    INTERIOR = 0, "the optimum lies inside the bounds"
    LOWER_BOUND = 1, "the optimum is at a lower bound; a wider interval may hold a better network"
    UPPER_BOUND = 2, "the optimum is at an upper bound; a wider interval may hold a better network"
    INFINITE = 3, "accuracy rises to a limit of the family (infinity, reg = 0, pole of PageRank)"
    FLAT = 4, "the accuracy does not depend on the parameters; an end of the interval is reported"
    NOT_CONVERGED = 5, "the search did not settle; start from another network or narrow the bounds"
    REFUSED = 6, "no network within the bounds can be computed at this point; narrow the bounds"


@dataclass(frozen=True, repr=False)
class Tuned(Result):
    """The best network of a family, for each point of the data; performance and parameters are NaN where it was refused.

    Parameters
    ----------
    gcn, prediction
        The network, and its exact performance.
    parameters
        Best value of each free parameter, by name.
    curvature
        Second derivative of the margin in each free parameter, in ``log reg`` for the regularization: how sharp the choice is.
        A change by ``d`` costs about ``-curvature * d**2 / 2``.
    status
        Where the optimum lies, see `TuneStatus`; of several free parameters, the most noteworthy.
    """

    gcn: GCN
    prediction: Prediction
    parameters: dict[str, Numbers]
    curvature: dict[str, Numbers]
    status: TuneStatus | npt.NDArray[np.int64]

    def _points(self) -> Coordinates:
        return self.prediction._points().without(self.by_layer(self.parameters))

    def by_layer(self, numbers: Mapping[str, Numbers]) -> dict[str, Any]:
        """Numbers of the free parameters, such as `parameters`, with a name for each layer where the layers differ."""
        named: dict[str, Any] = {}
        for name, values in numbers.items():
            filter = self.gcn.read_filter if name.startswith("test_") else self.gcn.filter
            if np.ndim(values) > np.ndim(self.prediction.test_accuracy):
                named |= each_layer(name, values, first=int(filter.shared))
            else:
                named[name] = values
        return named

    def _shown(self) -> dict[str, Any]:
        status = {"status": status_names(TuneStatus, self.status)}
        return self.by_layer(self.parameters) | self.prediction.as_dict() | status


def tune(
    data: CSBM,
    gcn: GCN,
    free: Mapping[str, Bounds | Literal["best"]],
    *,
    throw: bool = True,
    progress: bool | None = None,
) -> Tuned:
    r"""Choose the free parameters of a network so that its test accuracy is the highest.

    What is maximized is the margin :math:`\bar\omega/\sigma` of a test node, which keeps its digits where the accuracy rounds to
    1, and in which the accuracy increases for any number of equal classes (Eq. 8.3), and `best_accuracy` for unequal ones. One
    free number is searched globally: a scan of the whole interval, then a refinement of each of its maxima. Several are climbed
    from many starts; with ``reg`` free up to infinity, also from the filters that are best there, at every regularization.

    Parameters
    ----------
    data, gcn
        The data, whose array parameters broadcast, and the family: filter, depth, loss, symmetrization. Its values of the free
        parameters are one of the starts.
    free
        Interval ``(low, high)``, bounds may be infinite, of each free parameter: that of the filter (``t``, ``theta``, ``c``,
        ``coefficients``, or your own), of a `test_filter` (``test_t``, ...), and ``reg``, for which ``(0, math.inf)`` means any
        regularization, infinity included. One interval for ``c`` is a strength shared by all layers; a list frees each layer.
        ``theta`` is kept in its convergent interval. ``"test_filter": "best"`` reads the test nodes through the best of all
        filters, given that of the training (Eq. 10.14; symmetric operators at infinite `reg`).
    throw
        Whether to raise `ParameterError` if at some point no network within the bounds can be computed; else that point has NaN.
    progress
        Whether to draw a progress bar on standard error (with rich), batch by batch; by default only if it is a terminal.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    >>> best = gl.tune(data, gl.GCN(gl.Diffusion(t=1), symmetrize=True), free={"t": (0, 10)})
    >>> round(best.gcn.filter.t, 3), round(best.prediction.test_accuracy, 5), best.status.name
    (1.488, 0.88095, 'INTERIOR')
    >>> few = gl.CSBM(alpha=1, lam=1.0, mu=2.0, rho=0.1)
    >>> two = gl.tune(few, gl.GCN(gl.PageRank(0)), {"theta": (-1, 1), "test_filter": "best"})
    >>> round(two.prediction.test_accuracy, 4)  # with one filter, 0.9219
    0.9421
    """
    check_problem("tune", data, gcn)
    check_names(data, gcn, free)
    throw = flag("throw", throw)
    others = {name: bounds for name, bounds in free.items() if name != "depth"}
    networks = [gcn] if "depth" not in free else _of_each_depth(gcn, free)
    with np.errstate(all="ignore"):  # networks out of range have the worst margin
        optima = [_optimum(data, network, others, throw, progress) for network in networks]
    best = optima[0] if "depth" not in free else _best_depth(optima)
    network = best.network(gcn)
    if "test_filter" in free:
        network = network.replaced(test_filter=best_test_filter(data, network))
    prediction = predict(data, network, throw=False, progress=False)
    refused = np.asarray(prediction.status) == Status.REFUSED
    refused |= np.isnan(best.margin).reshape(best.shape)
    if throw and np.any(refused):
        Points.of(data, network)  # raises the error that says why
    status = np.where(refused, TuneStatus.REFUSED, best.status.reshape(best.shape))
    return Tuned(
        gcn=network,
        prediction=with_coordinates(_without(prediction, refused), data, network),
        parameters=_shaped(best.parameters, refused),
        curvature=_shaped(best.curvature, refused),
        status=status if best.shape else TuneStatus(int(status)),
    )


class _Optimum(NamedTuple):
    """The best networks of a family, problems along one axis; the margin is NaN where a problem was refused."""

    points: Points
    shape: tuple[int, ...]
    parameters: dict[str, Array]
    curvature: dict[str, Array]
    margin: Array
    status: npt.NDArray[np.int64]

    def network(self, gcn: GCN) -> GCN:
        """The network of the best values, its parameters in the shape of the problems."""
        train, *test = (_reshaped(filter, self.shape) for filter in self.points.filters)
        return gcn.replaced(
            filter=train,
            reg=self.points.reg.reshape(self.shape),
            test_filter=test[0] if test else None,
            normalization=self.points.normalization.reshape(self.shape),
        )


def _reshaped(filter: Filter, shape: tuple[int, ...]) -> Filter:
    values = filter.values.reshape(shape + filter.values.shape[1:])
    uneven = np.isnan(values).any()  # networks of different depths
    return filter._with(values) if uneven else filter.replaced(values)


def _optimum(
    data: CSBM, gcn: GCN, free: Mapping[str, Any], throw: bool, progress: bool | None
) -> _Optimum:
    """The best networks of one depth."""
    points, shape = start_points(data, gcn, free)
    search = NetworkSearch.of(points, free, throw)
    best = _maximize(search, progress)
    every = np.arange(search.size)
    values = search.values(best.u, every)
    curvature = np.zeros_like(values)
    for rows in batches(search.size, search.method.together) if search.numbers else ():
        curvature[rows] = _curvature(search, values[rows], rows)
    return _Optimum(
        search.trial(values, every),
        shape,
        search.by_name(values),
        search.by_name(curvature),
        np.where(search.refused, np.nan, best.value),
        _status(search, best),
    )


def _of_each_depth(gcn: GCN, free: Mapping[str, Any]) -> list[GCN]:
    """Networks of the depths to choose from, all layers alike."""
    bounds = free["depth"]
    try:
        low, high = (whole("depth", bound, low=1) for bound in bounds)
    except (TypeError, ValueError):
        raise ParameterError(
            f"free['depth'] = {bounds!r} is not a pair of whole numbers from 1, such as (1, 8)"
        ) from None
    asked = f"free['depth'] = ({low}, {high})"
    if not 0 <= high - low < _DEPTHS:
        raise ParameterError(f"{asked} must hold 1 to {_DEPTHS} depths, each searched by itself")
    strengths = gcn.filter.values
    name = gcn.filter.parameter
    several = name in free and np.ndim(free[name]) > 1
    if several or (name not in free and np.any(strengths != strengths[..., :1])):
        raise ParameterError(
            f"{asked} needs layers that are alike; give {name} one value, or one interval"
        )
    first = strengths[..., 0] if strengths.shape[-1] else np.ones(gcn.filter.shape)
    depths = range(low, high + 1)
    return [gcn.replaced(filter=Residual.constant(first, depth)) for depth in depths]


def _best_depth(optima: Sequence[_Optimum]) -> _Optimum:
    """The best depth of each problem, of several that are as good the lowest; its second difference as curvature."""
    margin = np.stack([optimum.margin for optimum in optima])
    tie = _FLAT * (1.0 + np.abs(margin))
    choice = np.argmax(margin + tie >= np.max(margin, axis=0), axis=0)
    problems = np.arange(choice.size)

    def chosen(columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        return np.asarray(np.stack(columns)[choice, problems])

    named = {name: chosen([o.parameters[name] for o in optima]) for name in optima[0].parameters}
    curvature = {name: chosen([o.curvature[name] for o in optima]) for name in named}
    depths = [optimum.points.filter.values.shape[-1] for optimum in optima]
    bend = np.diff(margin, 2, axis=0, prepend=np.nan, append=np.nan)[choice, problems]
    ends = np.where(choice == 0, TuneStatus.LOWER_BOUND, TuneStatus.INTERIOR)
    ends = np.where(choice == len(optima) - 1, TuneStatus.UPPER_BOUND, ends)
    strength = chosen([optimum.points.filter.values[:, 0] for optimum in optima])
    depth = np.array(depths)[choice]
    points = optima[0].points
    tuned = {name: values for name, values in named.items() if name != points.filter.parameter}
    points = with_parameters(points, tuned)._replace(filter=Residual.constant(strength, depth))
    return optima[0]._replace(
        points=points,
        parameters=named | {"depth": depth},
        curvature=curvature | {"depth": np.nan_to_num(bend)},
        margin=chosen([optimum.margin for optimum in optima]),
        status=np.maximum(chosen([optimum.status for optimum in optima]), ends),
    )


def _maximize(search: NetworkSearch, progress: bool | None = False) -> Maxima:
    """Best points of all problems that are not refused, a block of them at a time."""
    rows = np.flatnonzero(~search.refused)
    n = search.size
    best = Maxima(np.zeros((n, len(search.numbers))), np.zeros(n), np.ones(n), np.ones(n, bool))
    if not search.numbers:  # nothing to search beside the depth or the best filter at test
        best.value[rows] = search.margins(best.u[rows], rows)
        return best
    blocks = list(batches(rows.size, search.method.together))
    # Even one problem can take a minute where equations are solved: show the time.
    total = None if search.method.solved and len(blocks) == 1 else len(blocks)
    with progress_bar("batches", total, progress, unit="batches") as bar:
        for block in blocks:
            parts = zip(best, _maximize_block(search, rows[block]), strict=True)
            for column, part in parts:
                column[rows[block]] = part
            bar.advance(1)
    return best


def _maximize_block(search: NetworkSearch, block: Index) -> Maxima:
    def objective(u: Array, which: Index) -> Array:
        rows = block[which]
        return search.margins(search.values(u.reshape(rows.size, -1), rows), rows)

    accuracy = search.method.accuracy
    count = len(search.numbers)
    if count == 1:
        return maximize.maximize_interval(objective, block.size, accuracy=accuracy)
    candidates = _candidates(search, block)
    if search.reg_place < 0 or not np.isinf(search.numbers[search.reg_place].asked[1]):
        return maximize.maximize_box(objective, candidates, keep=4 * count, accuracy=accuracy)
    # The filters that are best at infinite regularization, at every regularization.
    at_infinity = _at_infinity(search, block)
    rays = np.repeat(at_infinity.u[:, None], 33, axis=1)
    rays[:, :, search.reg_place] = np.linspace(0.0, 1.0, 33)
    if search.method is Method.LAYERS:
        return _along_rays(objective, rays[:, ::2], at_infinity, accuracy)
    candidates = np.concatenate([rays, candidates], axis=1)
    best = maximize.maximize_box(
        objective, candidates, keep=4 * count, apart=_APART, accuracy=accuracy
    )
    return maximize.better(best, at_infinity, accuracy=accuracy)


def _along_rays(objective: Objective, rays: Array, at_infinity: Maxima, accuracy: float) -> Maxima:
    """Maxima where evaluations are expensive: climbs from the best of the rays, where it exceeds infinite regularization."""
    problems, count, d = rays.shape
    every = np.repeat(np.arange(problems), count)
    values = objective(rays.reshape(-1, d), every).reshape(problems, count)
    best = at_infinity._replace(range=np.maximum(at_infinity.range, np.ptp(values, axis=1)))
    rows = np.flatnonzero(np.max(values, axis=1) > at_infinity.value)
    if not rows.size:
        return best

    def of_rows(u: Array, which: Index) -> Array:
        return objective(u, rows[which])

    first = rays[rows, np.argmax(values[rows], axis=1)][:, None]
    seen = best.range[rows]
    climbed = maximize.maximize_from(of_rows, first, seen, walls=_NEAR, accuracy=accuracy)
    infinite: Any = (column[rows] for column in best)
    higher = maximize.better(climbed, Maxima(*infinite), accuracy=accuracy)
    for column, value in zip(best, higher, strict=True):
        column[rows] = value
    return best


def _candidates(search: NetworkSearch, block: Index) -> Array:
    """Starts of the climbs: the network as given, evenly spread points, and the diagonal, where all layers are equal."""
    d = len(search.numbers)
    diagonal = np.repeat(np.linspace(0.02, 0.98, 17)[:, None], d, axis=1)
    common = np.concatenate([maximize.spread(16 * d * d, d), diagonal])
    common = np.broadcast_to(common, (block.size, *common.shape))
    return np.concatenate([search.start(block)[:, None], common], axis=1)


def _at_infinity(search: NetworkSearch, block: Index) -> Maxima:
    """Optima at infinite regularization, as points of the cube with one more coordinate."""
    face = search.at_infinite_reg(block)
    best = _maximize(face)
    values = face.values(best.u, np.arange(face.size))
    others = [number for number in search.numbers if number.name != "reg"]
    u = np.stack([number.place(values[:, k], block) for k, number in enumerate(others)], axis=1)
    return best._replace(u=np.insert(u, search.reg_place, 1.0, axis=1))


def _without(prediction: Prediction, refused: npt.NDArray[np.bool_]) -> Prediction:
    """Return the prediction with NaN where a point was refused."""
    if not np.any(refused):
        return prediction
    numbers = prediction.as_dict().items()
    blank = {name: scalar_or_array(np.where(refused, np.nan, value)) for name, value in numbers}
    status = np.where(refused, Status.REFUSED, prediction.status)
    return replace(prediction, **blank, status=status if status.ndim else Status(int(status)))


def _curvature(search: NetworkSearch, values: Array, rows: Index) -> Array:
    """Second derivatives of the margin, by differences inside the bounds, all in one call; 0 at infinity."""
    count = len(search.numbers)
    trials = np.tile(values, (count, 3, 1, 1))
    step = np.ones_like(values)
    finite = np.zeros(values.shape, bool)
    for k, number in enumerate(search.numbers):
        log = number.name == "reg"
        ends: Any = (1e-300, 1e300) if number.any_reg else (number.low[rows], number.high[rows])
        low, high, at = (np.log(p) if log else p for p in (*ends, values[:, k]))
        size = np.where(np.isinf(at), 0.0, np.abs(at))
        h = np.minimum(1e-3 * (1.0 + size), (high - low) / 4.0)
        centre = np.clip(at, low + h, np.maximum(high - h, low + h))
        moved = centre + np.outer((-1.0, 0.0, 1.0), h)
        trials[k, :, :, k] = np.exp(moved) if log else moved
        finite[:, k] = np.isfinite(at) & (high > low)
        step[:, k] = np.where(finite[:, k], h, 1.0)
    margins = search.margins(trials.reshape(-1, count), np.tile(rows, 3 * count))
    below, middle, above = margins.reshape(count, 3, -1).swapaxes(0, 1)
    return np.where(finite, (below - 2.0 * middle + above).T / step**2, 0.0)


def _status(search: NetworkSearch, best: Maxima) -> npt.NDArray[np.int64]:
    """Where each optimum lies: the most noteworthy of its coordinates."""
    status = np.full(search.size, TuneStatus.INTERIOR)
    for k, number in enumerate(search.numbers):
        asked = number.asked
        lower = np.where(number.low == asked[0], TuneStatus.LOWER_BOUND, TuneStatus.INFINITE)
        upper = np.where(number.high == asked[1], TuneStatus.UPPER_BOUND, TuneStatus.INFINITE)
        for end, where in ((0.0, lower), (1.0, upper)):
            status = np.where(best.u[:, k] == end, np.maximum(status, where), status)
    flat = max(_FLAT, 10.0 * search.method.accuracy)
    status = np.where(best.range <= flat, TuneStatus.FLAT, status)
    settled = best.converged & (best.value > -100.0)
    return np.where(settled | search.refused, status, TuneStatus.NOT_CONVERGED)


def _shaped(parameters: Mapping[str, Array], refused: npt.NDArray[np.bool_]) -> dict[str, Any]:
    """Numbers of each parameter in the shape of the problems, NaN where one was refused."""
    shaped = {}
    for name, values in parameters.items():
        whole_shape = refused.shape + values.shape[1:]
        hidden = refused.reshape(refused.shape + (1,) * (values.ndim - 1))
        numbers = values.reshape(whole_shape)
        shown = np.where(hidden, np.nan, numbers) if np.any(refused) else numbers
        shaped[name] = scalar_or_array(shown)
    return shaped
