"""The free parameters of a network for which its test accuracy is the highest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gcnlimit._runtime.progress import progress_bar
from gcnlimit._validation import flag
from gcnlimit._values import Array, Numbers
from gcnlimit.choose.search import Bounds, Search, search_of
from gcnlimit.csbm import CSBM
from gcnlimit.network import GCN, check_problem
from gcnlimit.numerics import maximize
from gcnlimit.numerics.climb import Index, Objective
from gcnlimit.numerics.linear import batches
from gcnlimit.numerics.maximize import Maxima
from gcnlimit.parameters import each_layer, labelled
from gcnlimit.results.performance import Outcome, Prediction, Status, scalar_or_array
from gcnlimit.results.result import Coordinates, Result, status_names
from gcnlimit.theory.points import Points
from gcnlimit.theory.predict import predict
from gcnlimit.theory.transfer import best_test_filter

_BLOCK = 8192  # problems searched together
_FEW = 64  # the same where each margin takes long
_ACCURACY = 1e-11  # of margins at finite regularization, where equations are solved
_CLOSED = 1e-13  # of those for the square loss on symmetric graphs
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
        Whether to draw a progress bar on standard error, batch by batch; by default only if it is a terminal.

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
    with np.errstate(all="ignore"):  # networks out of range have the worst margin
        search = search_of(data, gcn, free, flag("throw", throw))
        best = _maximize(search, progress)
        values = search.values(best.u, np.arange(search.size))
        curvature = np.zeros_like(values)
        for rows in batches(search.size, _BLOCK) if search.axes else ():
            curvature[rows] = _curvature(search, values[rows], rows)
    network = _shaped_network(search, values)
    if search.reads_best:
        network = network.replaced(test_filter=best_test_filter(data, network))
    prediction = predict(data, network, throw=False, progress=False)
    refused = np.asarray(prediction.status) == Status.REFUSED
    refused |= search.refused.reshape(search.shape)
    if throw and np.any(refused):
        Points.of(data, network)  # raises the error that says why
    hidden = np.where(refused.ravel()[:, None], np.nan, 1.0)
    return Tuned(
        gcn=network,
        prediction=labelled(_without(prediction, refused), data, network),
        parameters=_shaped(search, hidden * values),
        curvature=_shaped(search, hidden * curvature),
        status=_status(search, best, refused),
    )


def _maximize(search: Search, progress: bool | None = False) -> Maxima:
    """Best points of all problems that are not refused, a block of them at a time."""
    rows = np.flatnonzero(~search.refused)
    n = search.size
    best = Maxima(np.zeros((n, len(search.axes))), np.zeros(n), np.ones(n), np.ones(n, bool))
    if not search.axes:  # nothing to search beside the best filter at test
        return best
    blocks = list(batches(rows.size, _FEW if search.layered else _BLOCK))
    # Even one problem can take a minute where equations are solved: show the time.
    solved = not (search.explicit or search.closed)
    total = None if solved and len(blocks) == 1 else len(blocks)
    with progress_bar("batches", total, progress, unit="batches") as bar:
        for block in blocks:
            for column, found in zip(best, _maximize_block(search, rows[block]), strict=True):
                column[rows[block]] = found
            bar.advance(1)
    return best


def _maximize_block(search: Search, block: Index) -> Maxima:
    def objective(u: Array, which: Index) -> Array:
        rows = block[which]
        return search.margin(search.values(u.reshape(rows.size, -1), rows), rows)

    accuracy = _margin_accuracy(search)
    if len(search.axes) == 1:
        return maximize.maximize_interval(objective, block.size, accuracy=accuracy)
    keep = 4 * len(search.axes)
    candidates = _candidates(search, block)
    if search.reg_axis < 0 or not np.isinf(search.axes[search.reg_axis].asked[1]):
        return maximize.maximize_box(objective, candidates, keep=keep, accuracy=accuracy)
    # The filters that are best at infinite regularization, at every regularization.
    at_infinity = _at_infinity(search, block)
    rays = np.repeat(at_infinity.u[:, None], 33, axis=1)
    rays[:, :, search.reg_axis] = np.linspace(0.0, 1.0, 33)
    if search.layered:
        return _along_rays(objective, rays[:, ::2], at_infinity, accuracy)
    candidates = np.concatenate([rays, candidates], axis=1)
    best = maximize.maximize_box(objective, candidates, keep=keep, apart=_APART, accuracy=accuracy)
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
    found = maximize.maximize_from(of_rows, first, seen, walls=_NEAR, accuracy=accuracy)
    infinite: Any = (column[rows] for column in best)
    found = maximize.better(found, Maxima(*infinite), accuracy=accuracy)
    for column, value in zip(best, found, strict=True):
        column[rows] = value
    return best


def _margin_accuracy(search: Search) -> float:
    """Relative accuracy of the margins: explicit, closed up to one number, or from equations."""
    return 4e-16 if search.explicit else _CLOSED if search.closed else _ACCURACY


def _candidates(search: Search, block: Index) -> Array:
    """Starts of the climbs: the network as given, evenly spread points, and the diagonal, where all layers are equal."""
    d = len(search.axes)
    diagonal = np.repeat(np.linspace(0.02, 0.98, 17)[:, None], d, axis=1)
    common = np.concatenate([maximize.spread(16 * d * d, d), diagonal])
    common = np.broadcast_to(common, (block.size, *common.shape))
    given = np.stack([search.place(axis, block) for axis in search.axes], axis=1)
    return np.concatenate([given[:, None], common], axis=1)


def _at_infinity(search: Search, block: Index) -> Maxima:
    """Optima at infinite regularization, as points of the cube with one more coordinate."""
    face = search.at_infinite_reg(block)
    best = _maximize(face)
    values = face.values(best.u, np.arange(face.size))
    others = [axis for axis in search.axes if axis.name != "reg"]
    u = np.stack([axis.place(values[:, k], block) for k, axis in enumerate(others)], axis=1)
    return best._replace(u=np.insert(u, search.reg_axis, 1.0, axis=1))


def _without(prediction: Prediction, refused: npt.NDArray[np.bool_]) -> Prediction:
    """Return the prediction with NaN where a point was refused."""
    if not np.any(refused):
        return prediction
    numbers = prediction.as_dict().items()
    blank = {name: scalar_or_array(np.where(refused, np.nan, value)) for name, value in numbers}
    status = np.where(refused, Status.REFUSED, prediction.status)
    return replace(prediction, **blank, status=status if status.ndim else Status(int(status)))


def _curvature(search: Search, values: Array, rows: Index) -> Array:
    """Second derivatives of the margin, by differences inside the bounds, all in one call; 0 at infinity."""
    count = len(search.axes)
    trials = np.tile(values, (count, 3, 1, 1))
    step = np.ones_like(values)
    known = np.zeros(values.shape, bool)
    for k, axis in enumerate(search.axes):
        log = axis.name == "reg"
        ends: Any = (1e-300, 1e300) if axis.any_reg else (axis.low[rows], axis.high[rows])
        low, high, here = (np.log(p) if log else p for p in (*ends, values[:, k]))
        size = np.where(np.isinf(here), 0.0, np.abs(here))
        h = np.minimum(1e-3 * (1.0 + size), (high - low) / 4.0)
        centre = np.clip(here, low + h, np.maximum(high - h, low + h))
        moved = centre + np.outer((-1.0, 0.0, 1.0), h)
        trials[k, :, :, k] = np.exp(moved) if log else moved
        known[:, k] = np.isfinite(here) & (high > low)
        step[:, k] = np.where(known[:, k], h, 1.0)
    margins = search.margin(trials.reshape(-1, count), np.tile(rows, 3 * count))
    below, here, above = margins.reshape(count, 3, -1).swapaxes(0, 1)
    return np.where(known, (below - 2.0 * here + above).T / step**2, 0.0)


def _status(search: Search, best: Maxima, refused: npt.NDArray[np.bool_]) -> Any:
    """Where each optimum lies: the most noteworthy of its coordinates."""
    status = np.full(search.size, TuneStatus.INTERIOR)
    for k, axis in enumerate(search.axes):
        lower = np.where(axis.low == axis.asked[0], TuneStatus.LOWER_BOUND, TuneStatus.INFINITE)
        upper = np.where(axis.high == axis.asked[1], TuneStatus.UPPER_BOUND, TuneStatus.INFINITE)
        for end, where in ((0.0, lower), (1.0, upper)):
            status = np.where(best.u[:, k] == end, np.maximum(status, where), status)
    flat = max(_FLAT, 10.0 * _margin_accuracy(search))
    status = np.where(best.range <= flat, TuneStatus.FLAT, status)
    found = best.converged & (best.value > -100.0)
    status = np.where(found, status, TuneStatus.NOT_CONVERGED).reshape(search.shape)
    status = np.where(refused, TuneStatus.REFUSED, status)
    return status if search.shape else TuneStatus(int(status))


def _shaped_network(search: Search, values: Array) -> GCN:
    """The network of the best values, its parameters in the shape of the problem."""
    network = search.network(values, np.arange(search.size))
    shape = search.shape
    own = (f.replaced(f.values.reshape(shape + f.values.shape[1:])) for f in network.filters)
    train, *test = own
    reg = np.reshape(network.reg, shape)
    return network.replaced(filter=train, reg=reg, test_filter=test[0] if test else None)


def _shaped(search: Search, values: Array) -> dict[str, Any]:
    """Free numbers by name, in the shape of the problem."""
    named = search.parameters(values.reshape(*search.shape, len(search.axes)))
    return {name: scalar_or_array(numbers) for name, numbers in named.items()}
