"""The points of a calculation: data and network along one axis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import as_real, broadcast
from gcnlimit._values import Array
from gcnlimit.classes import Classes
from gcnlimit.csbm import CSBM, SpikedOperator
from gcnlimit.degrees import DegreeLaw
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Filter, PageRank
from gcnlimit.losses import Loss
from gcnlimit.losses.base import ClassLoss
from gcnlimit.network import GCN
from gcnlimit.normalization import Normalization, as_normalization
from gcnlimit.penalties import Penalty
from gcnlimit.scope import Route, route_of, structure_of
from gcnlimit.spectrum import Spectrum
from gcnlimit.theory.propensity_spectrum import radius
from gcnlimit.training import Training

_CHUNK = 1 << 16  # numbers held by one temporary array: what a cache holds
_LONGEST = 64  # layers of a series: the equations of a longer one take minutes

LARGEST = 1e50
"""Of a parameter or its inverse: products of several must be floating-point numbers."""

Rows = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]


class Points(NamedTuple):
    """Parameters of each point, arrays of one axis, and the law of the operator that the network applies there."""

    alpha: Array
    mu: Array
    rho: Array
    reg: Array
    operator: SpikedOperator
    filter: Filter
    loss: Loss
    normalize: bool
    penalty: Penalty
    classes: Classes = Classes(2)
    features: Spectrum = Spectrum.white()
    degrees: DegreeLaw | None = None
    noise: float = 0.0
    normalization: Normalization = as_normalization("symmetric")
    test_filter: Filter | None = None
    joining: bool = False
    """Through which filter test nodes are read, if another; whether they join the graph after the training."""
    training: Training | None = None

    @classmethod
    def of(cls, data: CSBM, gcn: GCN) -> Self:
        """Lay out every combination that broadcasting data and network gives; each must be usable."""
        check_range(data)
        return cls.unchecked(data, gcn).checked()

    @classmethod
    def unchecked(cls, data: CSBM, gcn: GCN) -> Self:
        """Lay out every combination, whether the data are in range and the filter is defined there or not."""
        shape = broadcast(data=data.shape, network=gcn.shape)
        signal, symmetric = data.operator(gcn.symmetrize)
        columns = (data.alpha, data.mu, data.rho, gcn.reg, signal)
        alpha, mu, rho, reg, signal = (np.full(shape, column).ravel() for column in columns)
        operator = SpikedOperator(signal, symmetric)
        network = (gcn.filter.ravel(shape), gcn.loss, gcn.normalize, gcn.penalty)
        read = None if gcn.test_filter is None else gcn.test_filter.ravel(shape)
        normalization = gcn.normalization.ravel(shape)
        training = None if gcn.training is None else gcn.training.ravel(shape)
        laws = (data.classes, data.features, data.degrees, data.noise)
        numbers = (alpha, mu, rho, reg, operator)
        return cls(*numbers, *network, *laws, normalization, read, training=training)

    def checked(self) -> Self:
        """Same points, or a `ParameterError` where the filter is not defined on the spectrum of the operator."""
        for filter in self.filters:
            filter.check_radius(self.radius)
            self.cost(filter)  # refuses one that is too steep, or has no chain
        if (long := self.too_long()).any():
            name, value = self.filter.parameter, self.filter.values[long][0]
            layers = self.filter.layers(radius=self.radius)[long][0]
            raise ParameterError(
                f"{name} = {value:g} is a series of {layers} layers; at finite reg the equations "
                f"of more than {self.longest()} take minutes; take a smaller |{name}|, "
                "symmetrize=True with normalization='symmetric', or reg=math.inf"
            )
        return self

    def too_long(self) -> Mask:
        """Which of the points have a series whose equations would take minutes."""
        finite = np.isfinite(self.reg)
        short = self.filter.deep or type(self.filter) is PageRank or not finite.any()
        if short or self.route() not in (Route.CHAIN, Route.LAYERS):
            return np.zeros(self.size, bool)
        return np.asarray(finite & (self.filter.layers(radius=self.radius) > self.longest()))

    def longest(self) -> int:
        """Layers of the longest series that is solved: the time grows with their sixth power, and with the propensities."""
        if self.degrees is None or np.isinf(self.reg).all():
            return _LONGEST
        return min(_LONGEST, int(72.0 * self.degrees.theta.size ** (-1 / 6)))

    def usable(self) -> Mask:
        """Which of the points are in range and have a filter that is defined there."""
        usable = in_range(self.alpha, self.signal, self.mu, self.rho)
        usable &= np.all([filter.defined(self.radius) for filter in self.filters], axis=0)
        rows = np.flatnonzero(usable)
        usable[rows] = ~self.take(rows).too_long()
        rows = np.flatnonzero(usable)
        if not self.take(rows)._passes():  # a filter of a user, too steep at some of its values
            usable[rows] = [self.take(rows[k : k + 1])._passes() for k in range(rows.size)]
        return usable

    def _passes(self) -> bool:
        try:
            self.checked()
        except ParameterError:
            return False
        return True

    def cost(self, filter: Filter) -> npt.NDArray[np.int64]:
        """Numbers that describe a filter at each point: nodes on the spectrum, or layers."""
        if self.symmetric:
            return filter.quadrature_nodes()
        return filter.layers(accuracy=1e-18, radius=self.radius)

    def units(self, gain: Array) -> Array:
        """Gain of the filter that the weights see: 1 if it is divided out."""
        return np.ones_like(gain) if self.normalize else gain

    def divisor(self) -> Array:
        """Number by which the filter of each point is divided: its gain if it is normalized, else 1."""
        if not self.normalize:
            return np.ones(self.size)
        return np.asarray(np.exp(self.filter.log_gain(self.symmetric)))

    @property
    def filters(self) -> tuple[Filter, ...]:
        """Filter of the training, and that of the test if it is another."""
        return (self.filter,) if self.test_filter is None else (self.filter, self.test_filter)

    @property
    def class_loss(self) -> ClassLoss:
        """The loss on these classes."""
        return self.loss.on(self.classes)

    @property
    def signal(self) -> Array:
        r"""Signal :math:`\lambda_e` of the operator."""
        return self.operator.signal

    @property
    def symmetric(self) -> bool:
        """Whether the operator is symmetric."""
        return self.operator.symmetric

    @property
    def radius(self) -> Array:
        """Spectral radius of the operator, spike included; that of degrees that are alike for the symmetric normalization."""
        if self.degrees is None or self.normalization.plain:
            return self.operator.radius
        return radius(self.normalization, self.degrees, *self.operator)

    @property
    def size(self) -> int:
        """Number of points."""
        return int(self.alpha.size)

    def route(self) -> Route:
        """Equations of the points at finite regularization."""
        return route_of({"reg": "finite"} | structure_of(self, self.degrees, self.symmetric))

    def take(self, index: npt.NDArray[Any]) -> Self:
        """Points at that index."""
        names = ("alpha", "mu", "rho", "reg", "filter", "normalization")
        columns = {name: getattr(self, name)[index] for name in names}
        operator = SpikedOperator(self.signal[index], self.symmetric)
        read = None if self.test_filter is None else self.test_filter[index]
        training = None if self.training is None else self.training[index]
        return self._replace(**columns, operator=operator, test_filter=read, training=training)

    def chunks(self, cost: npt.NDArray[Any], budget: int = _CHUNK) -> Iterator[tuple[Rows, Self]]:
        """Points of similar cost together, within a factor of two and at most `budget` units at once; and where they stand."""
        if 2 * cost.min() >= cost.max() and self.size * cost.max() <= budget:
            yield np.arange(self.size), self
            return
        # the most expensive first: all points of a chunk take as much memory as its first
        order = np.argsort(cost, kind="stable")[::-1]
        while order.size:
            first = max(1, int(cost[order[0]]))
            alike = int(np.count_nonzero(cost[order] >= 0.5 * first))
            rows = max(1, min(int(budget // first), alike))
            yield order[:rows], self.take(order[:rows])
            order = order[rows:]


def check_range(data: CSBM, largest: float = LARGEST) -> None:
    """Refuse data on which no network can be trained, or whose parameters, or their inverses, exceed `largest`."""
    if np.any(np.asarray(data.rho) == 0.0):
        raise ParameterError(
            "rho = 0 is not allowed here: a network needs labelled nodes to train on; take rho > 0"
        )
    check_size(data, largest)
    as_real("rho", data.rho, low=1.0 / largest)


def check_size(data: CSBM, largest: float = LARGEST) -> None:
    """Refuse signals or an aspect ratio that exceed `largest`, or its inverse."""
    for name, low in {"alpha": 1.0 / largest, "lam": -largest, "mu": 0.0}.items():
        as_real(name, getattr(data, name), low=low, high=largest)


def in_range(alpha: Array, lam: Array, mu: Array, rho: Array, largest: float = LARGEST) -> Mask:
    """Where `check_range` would pass."""
    small = (np.abs(lam) <= largest) & (mu <= largest) & (alpha <= largest)
    return np.asarray(small & (alpha >= 1.0 / largest) & (rho >= 1.0 / largest))
