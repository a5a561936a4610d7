"""Families of networks compared with each other and with the ceilings."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gcnlimit import scope
from gcnlimit._runtime.progress import progress_bar
from gcnlimit._validation import check_types, flag, whole
from gcnlimit._values import Array, Numbers, shown
from gcnlimit.choose.best_filter import LARGEST, MAX_ORDER, FilterCeiling, best_filter, is_infinite
from gcnlimit.choose.filter_sums import best_filter_sum
from gcnlimit.choose.free_numbers import Bounds
from gcnlimit.choose.tune import tune
from gcnlimit.csbm import CSBM, SIGNALS
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Diffusion, Filter, PageRank, Residual
from gcnlimit.network import GCN
from gcnlimit.normalization import Regularized, as_normalization
from gcnlimit.parameters import with_coordinates
from gcnlimit.results.performance import Prediction, Status, scalar_or_array
from gcnlimit.results.pictures import draw_methods
from gcnlimit.results.result import Coordinates, Result
from gcnlimit.theory.bayes import bayes_optimal
from gcnlimit.theory.decision import best_log_error, from_margins, mean_performance
from gcnlimit.theory.limits import pca_margin
from gcnlimit.theory.linear import best_linear
from gcnlimit.theory.points import Points, check_range, in_range
from gcnlimit.theory.propensity_spectrum import spectrum
from gcnlimit.training import GradientFlow

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DEEPEST = 16  # layers: the strength of each is searched, and the time grows with their square
_ANYWHERE = (-math.inf, math.inf)


@dataclass(frozen=True)
class Entry:
    """One line of a comparison: a method, what was chosen, and its accuracy, on unequal classes at the best threshold.

    The chosen regularization is in the units of the filter, of largest magnitude 1 on the spectrum for polynomials and for any
    one filter. `gcn` is the network, None for what is not one. The status is ``REFUSED`` where the data are out of range; the
    network is then that of the other points, along one axis.
    """

    method: str
    parameters: dict[str, float | Array]
    test_accuracy: float | Array
    log_test_error: float | Array
    gcn: GCN | None = None
    status: Status | npt.NDArray[np.int_] = Status.EXPLICIT

    @property
    def chosen(self) -> list[str]:
        """Chosen parameters in words, for each point of the data."""
        points = np.size(self.test_accuracy)
        chosen: list[list[str]] = [[] for _ in range(points)]
        for name, values in self.parameters.items():
            for words, row in zip(chosen, np.reshape(values, (points, -1)), strict=True):
                text = ", ".join(f"{number:.4g}" for number in row)
                words.append(f"{name} = {text if row.size == 1 else f'[{text}]'}")
        return ["; ".join(words) for words in chosen]


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Methods side by side on the same data, the Bayes-optimal ceiling last.

    >>> import gcnlimit as gl
    >>> comparison = gl.compare(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), depth=1, reg=math.inf)
    >>> comparison["diffusion"].chosen, comparison.best.method
    (['t = 1.488; reg = inf'], 'best polynomial, order 12')
    """

    entries: tuple[Entry, ...]

    def _points(self) -> Coordinates:
        methods = np.reshape(self.methods, (-1, *(1 for _ in self.gap.shape[1:])))
        return Coordinates({"method": methods} | dict(self.coordinates.parameters))

    def _shown(self) -> dict[str, Any]:
        return {
            "test_accuracy": self.test_accuracy,
            "log_test_error": np.stack([entry.log_test_error for entry in self.entries]),
            "gap": self.gap,
            "chosen": np.reshape([entry.chosen for entry in self.entries], self.gap.shape),
        }

    def plot(self, name: str | None = None, *, axes: Axes | None = None) -> Axes:
        """Draw the accuracy of each method for a single point, or its gap to the ceiling where one parameter varies."""
        return draw_methods(*self._located(), name, axes)

    def __getitem__(self, method: str) -> Entry:
        """Entry of that name."""
        named = dict(zip(self.methods, self.entries, strict=True))
        if method not in named:
            every = "; ".join(named)
            raise ParameterError(f"method = {shown(method)} is unknown; choose among {every}")
        return named[method]

    @property
    def best(self) -> Entry:
        """The network with the lowest test error; over several points, with the lowest mean logarithm of the error."""
        networks = (entry for entry in self.entries if entry.gcn is not None)
        return min(networks, key=lambda entry: float(np.nanmean(entry.log_test_error)))

    @property
    def methods(self) -> list[str]:
        """Names of the methods."""
        return [entry.method for entry in self.entries]

    @property
    def test_accuracy(self) -> Array:
        """Test accuracies, methods along the first axis."""
        return np.stack([entry.test_accuracy for entry in self.entries])

    @property
    def gap(self) -> Array:
        """Bayes-optimal accuracy minus that of each method."""
        return np.asarray(self.test_accuracy[-1] - self.test_accuracy)

    def __repr__(self) -> str:
        """Table, for data of a single point; else one line."""
        if self.gap.ndim > 1:
            return f"Comparison of {'; '.join(self.methods)} on data of shape {self.gap.shape[1:]}"
        lines = [f"{'method':<34}{'accuracy':>10}{'gap':>10}  chosen"]
        for entry, gap in zip(self.entries, self.gap, strict=True):
            numbers = f"{entry.test_accuracy:>10.5f}{gap:>10.5f}"
            lines.append(f"{entry.method:<34}{numbers}  {entry.chosen[0]}".rstrip())
        return "\n".join(lines)


def compare(
    data: CSBM,
    *,
    depth: int = 4,
    order: int = 12,
    symmetrize: bool = True,
    reg: float | None = None,
    progress: bool | None = None,
) -> Comparison:
    r"""Compare families of networks, at their best filter and regularization (square loss), with the ceilings.

    Early stopping is gradient flow from zero weights, without regularization, through the filter of the row above, until its
    best time (Eq. 13.1); it is left out where it has no theory. Sums of filters (Eq. 10.19) have any number of filters, and
    labels as an input that is not clamped; they are known for symmetric operators, equal classes and white features.
    All linear networks (Eq. 12.1), which use the graph in both directions, bound every row above. On a directed graph the
    polynomials and any one filter (a lower bound marked ``>=``) are at infinite regularization. Under a law of degrees all
    families use the symmetric normalization, PageRank also the others that the law allows, and no other filters are searched.
    A single point takes a few seconds; many points take less time each.

    Parameters
    ----------
    data
        The data; array parameters broadcast. Points at which no network can be trained (``rho = 0``), or with parameters
        beyond 1e9, have NaN and the status ``REFUSED``; the others are compared.
    depth, order
        Layers of the residual networks, at most 16, and order of the polynomial, at most 30.
    symmetrize, reg
        Whether the networks apply the symmetrized graph; the best regularization of each family if None, or ``math.inf``.
    progress
        Whether to show progress on standard error; by default where it takes more than two seconds.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> print(gl.compare(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), depth=2))
    method                              accuracy       gap  chosen
    residual, equal c, depth 2           0.86543   0.04729  c = 0.4522; reg = 9.163
    residual, free c, depth 2            0.86573   0.04699  c = [0.07623, 0.8195]; reg = 8.653
    diffusion                            0.88206   0.03067  t = 1.521; reg = 50.54
    PageRank                             0.88729   0.02544  theta = 0.4159; reg = 3.922
    PageRank, early stopping             0.88727   0.02545  theta = 0.4159; time = 0.3662
    best polynomial, order 12            0.88749   0.02524  reg = 0.05348
    any one filter, reg = inf            0.88609   0.02664  reg = inf
    any one filter, any reg              0.88749   0.02523  reg = 0.05346
    sums of filters, reg = inf           0.88913   0.02360  theta = 0.4546; test_theta = 0.4194; reg = inf
    PCA of the graph                     0.84134   0.07138
    all linear networks                  0.89614   0.01658
    Bayes-optimal                        0.91273   0.00000
    """
    flag("symmetrize", symmetrize)
    order = whole("order", order, low=0, high=MAX_ORDER)
    if whole("depth", depth, low=1) > _DEEPEST:
        raise ParameterError(
            f"depth = {depth} is not allowed: the strength of each layer is searched, a minute at "
            f"{_DEEPEST} layers and four times as long at twice as many; take depth <= {_DEEPEST}, "
            "or tune one strength for all layers"
        )
    check_types("compare", data=(data, CSBM))
    scope.check("compare", data)
    is_infinite(reg)
    columns = {name: np.broadcast_to(getattr(data, name), data.shape) for name in SIGNALS}
    usable = in_range(**columns, largest=LARGEST)
    taken = data
    if not usable.any():
        check_range(data, LARGEST)  # raises the error that says why
    elif not usable.all():
        # one point out of range would end the search of all
        taken = data.replaced(**{name: column[usable] for name, column in columns.items()})
    entries = []
    with progress_bar("comparing networks", None, progress):
        for entry in _networks(taken, depth, order, symmetrize, reg):
            entries.append(entry if usable.all() else _placed(entry, usable))
        linear = _of_ceiling("all linear networks", {}, best_linear(data))
        ceiling = _of_ceiling("Bayes-optimal", {}, bayes_optimal(data))
    entries += [_eigenvector(data, symmetrize), linear, ceiling]
    return with_coordinates(Comparison(tuple(entries)), data)


def _networks(
    data: CSBM, depth: int, order: int, symmetrize: bool, reg: float | None
) -> Iterator[Entry]:
    """Entries of the networks, one after the other."""
    any_reg: dict[str, Bounds] = {"reg": (0.0, math.inf)} if reg is None else {}
    residual, pagerank = Residual.constant(1.0, depth), PageRank(0.0)
    families: dict[str, tuple[Filter, Bounds]] = {
        f"residual, equal c, depth {depth}": (residual, _ANYWHERE),
        f"residual, free c, depth {depth}": (residual, [_ANYWHERE] * depth),
        "diffusion": (Diffusion(1.0), _ANYWHERE),
        "PageRank": (pagerank, _ANYWHERE),
    }
    for method, (filter, bounds) in families.items():
        gcn = GCN(filter, symmetrize=symmetrize)
        entry = _tuned(method, data, gcn, {filter.parameter: bounds} | any_reg)
        yield entry
    if reg is None and entry.gcn is not None:
        yield from _early_stopping(data, entry.gcn)
    if data.degrees is None:
        yield from _polynomials(data, order, symmetrize, reg)
        if symmetrize or not data.directed:
            yield from _sums_of_filters(data)
        return
    for name in ("none", "random-walk", "regularized"):
        if as_normalization(name).refusal(data.degrees) is None:
            gcn = GCN(pagerank, symmetrize=symmetrize, normalization=name)
            method = f"PageRank, {name.replace('-', ' ')}"
            yield _tuned(method, data, gcn, {"theta": _ANYWHERE, **any_reg})


def _early_stopping(data: CSBM, ridge: GCN) -> Iterator[Entry]:
    """Entry of gradient flow without regularization through the filter of a network, stopped at the best time."""
    flow = ridge.replaced(reg=0.0, training=GradientFlow(1.0))
    if scope.sentence("tune", data, flow) is None:
        entry = _tuned("PageRank, early stopping", data, flow, {"time": (0.0, math.inf)})
        chosen = {"theta": np.asarray(flow.filter.values), "time": entry.parameters["time"]}
        yield replace(entry, parameters=chosen)


def _eigenvector(data: CSBM, symmetrize: bool) -> Entry:
    """Entry of the leading eigenvector of the graph, regularized where degrees vary."""
    signal = np.broadcast_to(data.effective_signal(symmetrize), data.shape).ravel()
    law = data.degrees
    if law is None:
        return _of_margin("PCA of the graph", {}, np.asarray(pca_margin(signal)), data)
    # a node of many edges hears its neighbours better, by the root of its propensity
    margin = spectrum(Regularized(), law, signal).margin[:, None] * np.sqrt(law.theta)
    return _of_margin("PCA of the graph", {}, margin, data, law.weight)


def _placed(entry: Entry, usable: npt.NDArray[np.bool_]) -> Entry:
    """Entry at all points, NaN and a status of its own at those that cannot be used."""

    def spread(values: Any) -> Array:
        everywhere = np.full(usable.shape + np.shape(values)[1:], np.nan)
        everywhere[usable] = values
        return everywhere

    status = np.full(usable.shape, int(Status.REFUSED))
    status[usable] = entry.status
    return replace(
        entry,
        parameters={name: spread(values) for name, values in entry.parameters.items()},
        test_accuracy=spread(entry.test_accuracy),
        log_test_error=spread(entry.log_test_error),
        status=status,
    )


def _tuned(method: str, data: CSBM, gcn: GCN, free: dict[str, Bounds]) -> Entry:
    """Entry of a family at its best."""
    best = tune(data, gcn, free, progress=False)
    points = len(data.shape)
    # layers of a residual network can be exchanged: sorted, equal networks look equal
    chosen = {name: np.sort(v) if np.ndim(v) > points else v for name, v in best.parameters.items()}
    chosen.setdefault("reg", best.gcn.reg)
    return Entry(method, chosen, *scored(best.prediction, data), best.gcn, best.prediction.status)


def _of_ceiling(method: str, chosen: dict[str, Any], top: FilterCeiling | Prediction) -> Entry:
    return Entry(method, chosen, top.test_accuracy, top.log_test_error, status=top.status)


def _polynomials(data: CSBM, order: int, symmetrize: bool, reg: float | None) -> Iterator[Entry]:
    """Entries of the best polynomial and of any one filter, at infinite regularization and at any."""
    best = best_filter(data, order, symmetrize, reg=reg, progress=False)
    scores = scored(best.prediction, data)
    method = f"best polynomial, order {order}"
    yield Entry(method, {"reg": best.gcn.reg}, *scores, best.gcn, best.prediction.status)
    top = best.ceiling_at_infinite_reg
    bound = " (>=)" if top.lower_bound else ""
    yield _of_ceiling(f"any one filter, reg = inf{bound}", {"reg": top.reg}, top)
    if reg is None and not top.lower_bound:
        yield _of_ceiling("any one filter, any reg", {"reg": best.ceiling.reg}, best.ceiling)


def _sums_of_filters(data: CSBM) -> Iterator[Entry]:
    """Entry of the best sum of filters at infinite regularization, with labels as an input."""
    if data.classes.equal and data.features.is_white:
        best = best_filter_sum(Points.of(data, GCN(PageRank(0.0))))
        infinite = np.full(best.margin.size, math.inf)
        chosen = {"theta": best.train.values, "test_theta": best.test.values, "reg": infinite}
        yield _of_margin("sums of filters, reg = inf", chosen, best.margin, data)


def _of_margin(
    method: str, chosen: dict[str, Array], margin: Array, data: CSBM, weight: Array | None = None
) -> Entry:
    """Entry of what is known by its margin at each point; with the `weight` of each propensity, by one for each."""
    margin = margin.reshape(data.shape + margin.shape[1:])
    none = np.zeros(data.shape)
    if weight is None:
        reached = from_margins(data.classes, (margin, margin), (none, none))
    else:
        reached = mean_performance(data.classes.count, (margin, margin), (none, none), weight)
    shaped = {name: scalar_or_array(values.reshape(data.shape)) for name, values in chosen.items()}
    return Entry(method, shaped, reached.test_accuracy, reached.log_test_error)


def scored(prediction: Prediction, data: CSBM) -> tuple[Numbers, Numbers]:
    """Accuracy and logarithm of the error, on unequal classes at the best threshold."""
    if data.classes.equal:
        return prediction.test_accuracy, prediction.log_test_error
    margin = np.asarray(prediction.order_parameters.test_margin)
    return prediction.best_accuracy, scalar_or_array(best_log_error(margin, data.classes))
