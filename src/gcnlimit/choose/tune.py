"""The free parameters of a network for which its test accuracy is the highest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from gcnlimit import scope
from gcnlimit._validation import flag
from gcnlimit._values import Array, Integers, Mask, Numbers
from gcnlimit.choose.depths import best_of_depths
from gcnlimit.choose.free_numbers import Bounds, check_free, named_filters
from gcnlimit.choose.search import TuneStatus
from gcnlimit.csbm import CSBM
from gcnlimit.network import GCN, check_problem
from gcnlimit.normalization import NUMBERS
from gcnlimit.parameters import each_layer
from gcnlimit.results.performance import Prediction, Status, scalar_or_array
from gcnlimit.results.result import Coordinates, Result, status_names
from gcnlimit.theory.points import Points
from gcnlimit.theory.predict import predict
from gcnlimit.theory.readout import best_readout


@dataclass(frozen=True, eq=False, repr=False)
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
        A change by ``d`` costs about ``-curvature * d**2 / 2``. For the depth the second difference, the others tuned again;
        0 at an end of its interval; NaN beside networks that cannot be computed.
    status
        Where the optimum lies, see `TuneStatus`; of several free parameters, the most noteworthy.
    """

    gcn: GCN
    prediction: Prediction
    parameters: dict[str, Numbers]
    curvature: dict[str, Numbers]
    status: TuneStatus | Integers

    @property
    def test_accuracy(self) -> Numbers:
        """Test accuracy of the network."""
        return self.prediction.test_accuracy

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
        numbers = self.prediction.as_dict() | self.prediction._shown()  # with errors of an estimate
        return self.by_layer(self.parameters) | numbers | status


def tune(
    data: CSBM,
    gcn: GCN,
    free: Mapping[str, Bounds | Literal["best"]],
    *,
    throw: bool = True,
    progress: bool | None = None,
) -> Tuned:
    r"""Choose the free parameters of a network so that its test accuracy is the highest.

    It maximizes the margin :math:`\bar\omega/\sigma` of a test node, which keeps its digits where the accuracy rounds to 1; the
    accuracy of equal classes (Eq. 8.3), and `best_accuracy` of unequal ones, increase with it. One free number is searched
    globally: a scan of the whole interval, then a refinement of each of its maxima. Several are climbed from many starts; with
    ``reg`` free up to infinity, also from the filters that are best there, at every regularization.

    Parameters
    ----------
    data, gcn
        The data, whose array parameters broadcast, and the family: filter, depth, loss, symmetrization. Its values of the free
        parameters are one of the starts.
    free
        Interval ``(low, high)`` of each free parameter; bounds may be infinite. Free may be the parameter of the filter (``t``,
        ``theta``, ``c``, ``coefficients``, or your own), that of a `test_filter` (``test_t``, ...), and ``reg``, for which
        ``(0, math.inf)`` means any regularization, infinity included. One interval for ``c`` is a strength shared by all layers;
        a list frees each layer. ``depth`` (whole numbers) needs a residual network whose layers are alike. Where degrees vary,
        ``tau``, ``left`` and ``right`` of the `normalization` may be free; of a `training`, ``time``, or ``steps`` (whole
        numbers) and ``rate``, where ``(0, math.inf)`` means any time, training to the end included.
        ``theta`` is kept in its convergent interval. ``"test_filter": "best"`` applies the best of all filters to the test
        nodes, given the training filter (Eq. 10.14; symmetric operators at infinite `reg`).
    throw
        Whether to raise `ParameterError` if at some point no network within the bounds can be computed, and `ConvergenceError`
        if that holds at all points; else such points have NaN.
    progress
        Whether to show progress on standard error; by default where it takes more than two seconds.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    >>> best = gl.tune(data, gl.GCN(gl.Diffusion(t=1), symmetrize=True), free={"t": (0, 10)})
    >>> round(best.gcn.filter.t, 3), round(best.prediction.test_accuracy, 5), best.status.name
    (1.488, 0.88095, 'INTERIOR')
    >>> deep = gl.tune(data, gl.GCN(gl.Residual([1.0])), {"depth": (1, 8)})
    >>> deep.parameters["depth"], deep.gcn.filter.c.tolist()
    (4, [1.0, 1.0, 1.0, 1.0])
    >>> early = gl.tune(data, gl.GCN(gl.Diffusion(1.0), training=gl.GradientFlow(1.0)), {"time": (0.01, 100)})
    >>> round(early.parameters["time"], 3), round(early.prediction.test_accuracy, 5)
    (0.13, 0.87362)
    >>> few = gl.CSBM(alpha=1, lam=1.0, mu=2.0, rho=0.1)
    >>> two = gl.tune(few, gl.GCN(gl.PageRank(0)), {"theta": (-1, 1), "test_filter": "best"})
    >>> round(two.prediction.test_accuracy, 4)  # with one filter, 0.9219
    0.9421
    """
    check_problem("tune", data, gcn)
    check_free(gcn, free, NUMBERS if data.degrees is not None else ())
    start = _first_network(gcn, free)
    # a regularization that is free is finite, and perhaps infinite
    checked = start.replaced(reg=1.0) if "reg" in free else start
    scope.check("best_test_filter" if "test_filter" in free else "tune", data, checked)
    points = Points.unchecked(data, start)
    with np.errstate(all="ignore"):  # networks out of range have the worst margin
        best = best_of_depths(points, free, flag("throw", throw), progress)
        if "test_filter" in free:
            read = best_readout(best.points)[0]
            best = best._replace(points=best.points._replace(test_filter=read))
    shape = np.broadcast_shapes(data.shape, start.shape)
    network = network_of(gcn, best.points, shape)
    prediction = predict(data, network, throw=False, progress=False)
    refused = np.asarray(prediction.status) == Status.REFUSED
    # a search may refuse what a prediction at the ends of its intervals would answer
    refused |= np.isnan(best.margin).reshape(shape)
    if throw and (np.any(refused) or np.all(np.isnan(prediction.test_accuracy))):
        predict(data, network, progress=False)  # raises the error that says why
    if np.any(refused):
        numbers = {name: np.ravel(value) for name, value in prediction.as_dict().items()}
        ended = Status.of(np.where(refused, Status.REFUSED, prediction.status))
        prediction = replace(prediction, **_shaped(numbers, refused), status=ended)
    return Tuned(
        gcn=network,
        prediction=prediction,
        parameters=_shaped(best.parameters, refused),
        curvature=_shaped(best.curvature, refused),
        status=TuneStatus.of(np.where(refused, TuneStatus.REFUSED, best.status.reshape(shape))),
    )


def _first_network(gcn: GCN, free: Mapping[str, Any]) -> GCN:
    """Network from which the search starts: of a free array the first value counts."""
    changes: dict[str, Any] = {}
    if "reg" in free:
        changes["reg"] = float(np.ravel(gcn.reg)[0])
    named = named_filters(gcn.filters).items()
    for field, (name, filter) in zip(("filter", "test_filter"), named, strict=False):
        if name in free:
            changes[field] = filter.ravel(filter.shape)[0]
    for field in ("training", "normalization"):
        part: Any = getattr(gcn, field)
        names = () if part is None else free.keys() & part.names
        if names:
            firsts = {name: np.ravel(getattr(part, name)).tolist()[0] for name in names}
            changes[field] = part.replaced(**firsts)
    return gcn.replaced(**changes)


def network_of(gcn: GCN, points: Points, shape: tuple[int, ...]) -> GCN:
    """The network of the points, its parameters in the shape of the problems."""
    filters = []
    for filter in points.filters:
        values = filter.values.reshape(shape + filter.values.shape[1:])
        uneven = np.isnan(values).any()  # networks of different depths
        filters.append(filter._with(values) if uneven else filter.replaced(values))
    train, *test = filters
    return gcn.replaced(
        filter=train,
        reg=points.reg.reshape(shape),
        test_filter=test[0] if test else None,
        normalization=points.normalization.reshape(shape),
        training=None if points.training is None else points.training.reshape(shape),
    )


def _shaped(parameters: Mapping[str, Array], refused: Mask) -> dict[str, Any]:
    """Numbers of each parameter in the shape of the problems, NaN where one was refused."""
    shaped = {}
    for name, values in parameters.items():
        numbers = values.reshape(refused.shape + values.shape[1:])
        if np.any(refused):  # else whole numbers, such as a depth, stay whole
            hidden = refused.reshape(refused.shape + (1,) * (values.ndim - 1))
            numbers = np.where(hidden, np.nan, numbers)
        shaped[name] = scalar_or_array(numbers)
    return shaped
