"""Families of networks compared with each other and with the ceilings."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gcnlimit import scope
from gcnlimit._runtime.progress import progress_bar
from gcnlimit._validation import check_types, flag, whole
from gcnlimit._values import Array, Integers, Mask, shown
from gcnlimit.choose.best_filter import LARGEST, MAX_ORDER, ceiling_at, is_infinite, polynomials_at
from gcnlimit.choose.filter_sums import best_filter_sum
from gcnlimit.choose.free_numbers import Bounds
from gcnlimit.choose.search import optimum
from gcnlimit.choose.tune import network_of
from gcnlimit.csbm import CSBM, SIGNALS
from gcnlimit.errors import ParameterError
from gcnlimit.estimated import EstimatedCSBM
from gcnlimit.filters import Diffusion, Filter, PageRank, Residual
from gcnlimit.network import GCN
from gcnlimit.normalization import Regularized, as_normalization
from gcnlimit.parameters import with_coordinates
from gcnlimit.results.performance import Status, scalar_or_array
from gcnlimit.results.pictures import draw_methods
from gcnlimit.results.result import Coordinates, Result
from gcnlimit.results.text import ERROR
from gcnlimit.theory.bayes import bayes_optimal
from gcnlimit.theory.decision import from_margins, mean_performance
from gcnlimit.theory.limits import pca_margin
from gcnlimit.theory.linear import best_linear
from gcnlimit.theory.margins import MARGINS_ONLY, answers_at
from gcnlimit.theory.points import Points, check_range, in_range
from gcnlimit.theory.predict import predict
from gcnlimit.theory.propensity_spectrum import spectrum
from gcnlimit.training import GradientFlow

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DEEPEST = 16  # layers: the strength of each is searched, and the time grows with their square
_RESOLVED = 0.998  # of the pole of PageRank, to which grids resolve a training that stops
_ANYWHERE = (-math.inf, math.inf)


@dataclass(frozen=True, eq=False)
class Entry:
    """One line of a comparison: a method, what was chosen, and its accuracy, on unequal classes at the best threshold.

    The chosen regularization is in the units of the filter, of largest magnitude 1 on the spectrum for polynomials and for any
    one filter. `gcn` is the network, None for what is not one. The status is ``REFUSED`` where the data are out of range; the
    network is then that of the other points, along one axis. `standard_error`, on an estimate, is that of the accuracy, or NaN.
    """

    method: str
    parameters: dict[str, float | Array]
    test_accuracy: float | Array
    log_test_error: float | Array
    gcn: GCN | None = None
    status: Status | Integers = Status.EXPLICIT
    standard_error: float | Array = 0.0

    @property
    def chosen(self) -> list[str]:
        """Chosen parameters in words, for each point of the data; where they give no answer, it is said."""
        lost = np.isnan(self.test_accuracy).ravel()
        chosen: list[list[str]] = [["no answer"] if none else [] for none in lost]
        for name, values in self.parameters.items():
            for words, row in zip(chosen, np.reshape(values, (lost.size, -1)), strict=True):
                text = ", ".join(f"{number:.4g}" for number in row)
                words.append(f"{name} = {text if row.size == 1 else f'[{text}]'}")
        return ["; ".join(words) for words in chosen]


@dataclass(frozen=True, eq=False)
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
        errors = [np.max(entry.standard_error) for entry in self.entries]
        named = {"test_accuracy" + ERROR: np.array(errors)} if any(errors) else {}
        return named | {
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
            raise ParameterError(f"{shown(method)} is unknown; choose among {'; '.join(named)}")
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
        rows = self.rows()
        wide = max(10, *(len(row[1]) for row in rows))
        lines = [f"{name:<34}{reached:>{wide}}{gap:>10}  {at}" for name, reached, gap, at in rows]
        return "\n".join(map(str.rstrip, lines))

    def rows(self, digits: int = 5) -> list[tuple[str, str, str, str]]:
        """Cells of the table of a single point, its head first; dashes where there is no answer."""
        digits = whole("digits", digits, 0, 17)
        rows = [("method", "accuracy", "gap", "chosen")]
        for entry, gap in zip(self.entries, self.gap, strict=True):
            both = (float(entry.test_accuracy), float(gap))
            reached, below = ("-" if math.isnan(x) else f"{x:.{digits}f}" for x in both)
            if (error := float(entry.standard_error)) != 0:
                reached += f" ± {error:.1g}" if math.isfinite(error) else " ± ?"
            rows.append((entry.method, reached, below, entry.chosen[0]))
        return rows


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

    Early stopping is gradient flow from zero weights, without regularization, through the filter of the row above (at most 0.998
    of its pole), until its best time (Eq. 13.1); it is left out where it has no theory. Sums of filters (Eq. 10.19) have any
    number of filters, and labels as an input that is not clamped; they are known for symmetric operators, equal classes and
    white features. All linear networks (Eq. 12.1), which use the graph in both directions, bound every row above. On a directed
    graph the polynomials and any one filter (a lower bound marked ``>=``) are at infinite regularization. Under a law of degrees
    all families use the symmetric normalization, PageRank also the others that the law allows, and no other filters are searched.

    Parameters
    ----------
    data
        The data; array parameters broadcast. Points at which no network can be trained (``rho = 0``), or with parameters
        beyond 1e9, have NaN and the status ``REFUSED``; the others are compared. Of an estimate, accuracies have errors.
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
        long = "searching the strength of each layer takes minutes"
        use = f"take depth <= {_DEEPEST}, or tune one strength for all layers"
        raise ParameterError(f"depth = {shown(depth)} is not allowed: {long}; {use}")
    check_types("compare", data=(data, CSBM))
    scope.check("compare", data)
    is_infinite(reg)
    alpha, lam, mu, rho = (np.broadcast_to(getattr(data, name), data.shape) for name in SIGNALS)
    usable = in_range(alpha, lam, mu, rho, LARGEST)
    if not usable.any():
        check_range(data, LARGEST)  # raises the error that says why
    gcn = GCN(PageRank(0.0), symmetrize=symmetrize)
    points = Points.unchecked(data, gcn)
    with progress_bar("comparing networks", None, progress):
        # one point out of range would end the search of all
        rows = _networks(data, points.take(np.flatnonzero(usable)), gcn, depth, order, reg)
        entries = [_entry(row, data, gcn, usable) for row in rows]
        entries.append(_entry(_eigenvector(points), data, gcn, np.ones_like(usable)))
        for method, top in (("all linear networks", best_linear), ("Bayes-optimal", bayes_optimal)):
            best = top(data)
            scores = best.test_accuracy, best.log_test_error, None, best.status
            entries.append(Entry(method, {}, *scores, best.standard_error.test_accuracy))
    return with_coordinates(Comparison(tuple(entries)), data)


class _Row(NamedTuple):
    """A method at the points that can be used: what it chose, its margins and their status, and `points` of its network.

    Under a law of degrees margins have a second axis, over the propensities.
    """

    method: str
    chosen: dict[str, Array]
    margin: Array
    status: Integers | Status = Status.EXPLICIT
    points: Points | None = None


def _networks(  # noqa: PLR0917
    data: CSBM, points: Points, gcn: GCN, depth: int, order: int, reg: float | None
) -> Iterator[_Row]:
    """Rows of the networks, one after the other."""
    any_reg: dict[str, Bounds] = {"reg": (0.0, math.inf)} if reg is None else {}
    residual = Residual.constant(1.0, depth)
    families: dict[str, tuple[Filter, Bounds]] = {
        f"residual, equal c, depth {depth}": (residual, _ANYWHERE),
        f"residual, free c, depth {depth}": (residual, [_ANYWHERE] * depth),
        "diffusion": (Diffusion(1.0), _ANYWHERE),
        "PageRank": (gcn.filter, _ANYWHERE),
    }
    for method, (filter, bounds) in families.items():
        family = points._replace(filter=filter.ravel(points.alpha.shape))
        row = _tuned(method, family, {filter.parameter: bounds} | any_reg)
        yield row
    flow = gcn.replaced(reg=0.0, training=GradientFlow(1.0))
    if reg is None and scope.sentence("tune", data, flow) is None:
        yield _early_stopping(row)
    if points.degrees is None:
        yield from _any_filters(points, order, reg)
        return
    for name in ("none", "random-walk", "regularized"):
        normalization = as_normalization(name)
        if normalization.refusal(points.degrees) is None:
            family = points._replace(normalization=normalization.ravel(points.alpha.shape))
            method = f"PageRank, {name.replace('-', ' ')}"
            yield _tuned(method, family, {"theta": _ANYWHERE, **any_reg})


def _tuned(method: str, points: Points, free: dict[str, Bounds]) -> _Row:
    """Row of a family at its best over the free numbers, or of a single network without these."""
    with np.errstate(all="ignore"):  # networks out of range have the worst margin
        best = optimum(points, free)
    answers, _ = answers_at(best.points, MARGINS_ONLY)
    chosen = best.parameters | {"reg": best.points.reg}
    # layers of a residual network can be exchanged: sorted, equal networks look equal
    ordered = {name: np.sort(v) if v.ndim > 1 else v for name, v in chosen.items()}
    return _Row(method, ordered, answers.test_margin, answers.status, best.points)


def _early_stopping(ridge: _Row) -> _Row:
    """Row of gradient flow without regularization through the PageRank of another, stopped at the best time."""
    assert ridge.points is not None
    shape = ridge.margin.shape
    most = _RESOLVED / ridge.points.radius
    filter = PageRank(np.clip(ridge.points.filter.values, -most, most))
    training = GradientFlow(np.ones(shape))
    points = ridge.points._replace(filter=filter, reg=np.zeros(shape), training=training)
    best = _tuned("PageRank, early stopping", points, {"time": (0.0, math.inf)})
    return best._replace(chosen={"theta": points.filter.values, "time": best.chosen["time"]})


def _any_filters(points: Points, order: int, reg: float | None) -> Iterator[_Row]:
    """Rows of the best polynomial, of any one filter at infinite regularization and at any, and of sums of filters."""
    best, filter = polynomials_at(points, order, reg is not None)
    polynomials = points._replace(filter=filter, reg=best.reg)
    yield _tuned(f"best polynomial, order {order}", polynomials, {})
    bound = "" if points.symmetric else " (>=)"
    ceilings = {f"any one filter, reg = inf{bound}": True}
    if reg is None and points.symmetric:
        ceilings["any one filter, any reg"] = False
    for method, infinite in ceilings.items():
        top = ceiling_at(points, infinite)
        settled = top.settled & np.isfinite(top.margin)
        status = np.where(settled, Status.CONVERGED, Status.NOT_CONVERGED)
        yield _Row(method, {"reg": top.reg}, top.margin, status)
    if points.symmetric and points.classes.equal and points.features.is_white:
        total = best_filter_sum(points)
        chosen = {"theta": total.train.values, "test_theta": total.test.values}
        chosen["reg"] = np.full(points.size, math.inf)
        yield _Row("sums of filters, reg = inf", chosen, total.margin)


def _eigenvector(points: Points) -> _Row:
    """Row of the leading eigenvector of the graph, regularized where degrees vary."""
    margin = pca_margin(points.signal)
    if (law := points.degrees) is not None:
        # a node of many edges hears its neighbours better, by the root of its propensity
        margin = spectrum(Regularized(), law, points.signal).margin[:, None] * np.sqrt(law.theta)
    return _Row("PCA of the graph", {}, margin)


def _entry(row: _Row, data: CSBM, gcn: GCN, usable: Mask) -> Entry:
    """Entry of a row in the shape of the data, NaN and a status of its own at points that cannot be used."""

    def spread(values: Any) -> Any:
        everywhere = np.full(usable.shape + np.shape(values)[1:], np.nan)
        everywhere[usable] = values
        return scalar_or_array(everywhere)

    none = np.zeros(len(row.margin))
    pairs = (row.margin, row.margin), (none, none)
    if data.degrees is None:
        reached = from_margins(data.classes, *pairs)
    else:
        reached = mean_performance(data.classes.count, *pairs, data.degrees.weight)
    accuracy = reached.test_accuracy if data.classes.equal else reached.best_accuracy
    status = np.full(usable.shape, int(Status.REFUSED))
    status[usable] = row.status
    shape = data.shape if usable.all() else none.shape
    network = None if row.points is None else network_of(gcn, row.points, shape)
    error: float | Array = 0.0
    if isinstance(data, EstimatedCSBM):
        error = math.nan  # of what is no network
        if network is not None:
            told = predict(data, network, throw=False, progress=False)
            error = told.standard_error.best_accuracy
    return Entry(
        method=row.method,
        parameters={name: spread(values) for name, values in row.chosen.items()},
        test_accuracy=spread(accuracy),
        log_test_error=spread(reached.log_test_error),
        gcn=network,
        status=Status.of(status),
        standard_error=error,
    )
