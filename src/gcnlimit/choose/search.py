"""The free parameters of a network as points of the unit cube, and the margin there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, ndtri_exp

from gcnlimit._validation import broadcast
from gcnlimit._values import Array, brief
from gcnlimit.csbm import CSBM, SIGNALS
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Filter, PageRank, Polynomial, SearchScale
from gcnlimit.losses.base import Form
from gcnlimit.network import GCN
from gcnlimit.penalties import L2
from gcnlimit.results.performance import Prediction, Status
from gcnlimit.theory.finite_reg.square import square_margins
from gcnlimit.theory.points import Points
from gcnlimit.theory.predict import predict
from gcnlimit.theory.propensity_spectrum import radius

Bounds = tuple[float, float] | Sequence[tuple[float, float]]
"""Interval of a parameter, or one interval for each layer."""

_LONGEST = 64  # layers of a chain: on directed graphs the equations of a longer one take minutes
_WORST = -1e3  # margin given to a point without an answer: worse than any other


_REG = SearchScale(to=np.log, back=np.exp, largest=1e6)
_ANY_REG = (1e-2, 1e6)  # regularizations searched if any is allowed, over the filter's gain
_ANY_CLOSED = (1e-7, 1e7)  # the same where the margin is closed, at any of them


@dataclass(frozen=True)
class Axis:
    r"""One free number: its interval for each problem and the scale on which it is searched.

    `unit` multiplies the parameter before the scale is applied: the spectral radius, or 1 (see `SearchScale.per_radius`).
    `layer` is the number of the layer, or -1 if the number is shared by all layers.
    """

    name: str
    scale: SearchScale
    layer: int
    low: Array
    high: Array
    unit: Array
    asked: tuple[float, float]

    def value(self, u: Array, which: npt.NDArray[np.intp]) -> Array:
        """Parameter at `u` in [0, 1]; an infinite regularization is reached at ``u = 1``."""
        to, unit = self.scale.to, self.unit[which]
        low, high = to(self.low[which] * unit), to(self.high[which] * unit)
        value = self.scale.back(low + u * (high - low)) / unit
        value = np.clip(value, self.low[which], self.high[which])
        return np.where(u == 1.0, self.top[which], value)

    def place(self, value: npt.ArrayLike, which: npt.NDArray[np.intp]) -> Array:
        """Coordinate in [0, 1] of a parameter, the inverse of `value`."""
        to, low, high, unit = self.scale.to, self.low[which], self.high[which], self.unit[which]
        here = to(np.clip(value, low, high) * unit)
        width = to(high * unit) - to(low * unit)
        return np.asarray((here - to(low * unit)) / np.where(width > 0, width, 1.0))

    @property
    def ends(self) -> tuple[Array, Array]:
        """Smallest and largest value of the parameter; unbounded for a regularization in units of the gain."""
        anything = self.name == "reg" and self.asked[0] == 0.0
        return (np.full_like(self.low, 1e-300), np.full_like(self.high, 1e300)) if anything else (self.low, self.high)

    @property
    def top(self) -> Array:
        """Value at the upper end: infinity itself for a regularization without bound."""
        return np.full_like(self.high, math.inf) if self.name == "reg" and math.isinf(self.asked[1]) else self.high


class Search:
    """The problems of a call to `tune`: data and network broadcast together, and the free numbers of each.

    `own_bias` says that two unequal classes are decided with the bias of the trained network, `throw` that a problem which has no
    allowed values raises an error; else it is marked in `refused`.
    """

    def __init__(
        self, data: CSBM, gcn: GCN, free: Mapping[str, Bounds], *, own_bias: bool = True, throw: bool = True
    ) -> None:
        _check_names(gcn.filter, free)
        self.gcn, self.free, self.throw = gcn, free, throw
        self.own_bias = own_bias and data.classes.skewed
        self.shape = broadcast(
            data=data.shape,
            filter=() if gcn.filter.parameter in free else gcn.filter.shape,
            reg=() if "reg" in free else np.shape(gcn.reg),
        )
        self.size = math.prod(self.shape)
        self.refused = np.zeros(self.size, bool)
        self.model = data
        self.data = {n: np.broadcast_to(getattr(data, n), self.shape).ravel() for n in SIGNALS}
        gcn.require_gain(data)
        operator, law, plain = data.operator(gcn.symmetrize), data.degrees, gcn.normalization.plain
        self.radius, self._symmetric = np.broadcast_to(operator.radius, self.shape).ravel(), operator.symmetric
        if not (alike := law is None or plain):
            signal = np.broadcast_to(operator.signal, self.shape).ravel()
            self.radius = radius(gcn.normalization, law, signal, operator.symmetric)
        self.explicit = "reg" not in free and bool(np.all(np.isinf(gcn.reg)))  # no equations to solve, no noise
        short = operator.symmetric or self.explicit or (isinstance(gcn.filter, PageRank) and law is None)
        self.layered = not (short and alike)  # slow to solve
        self._gained = alike  # the gain of a filter is known
        ridge = gcn.loss.form is Form.CODES and isinstance(gcn.penalty, L2) and data.features.is_white and law is None
        self.has_closed_form = ridge and operator.symmetric and not self.own_bias  # one equation for one number
        self.axes = [axis for name, bounds in free.items() for axis in self._axes(name, bounds)]
        self.any_reg = self.reg_axis >= 0 and self.axes[self.reg_axis].asked[0] == 0.0
        self.uses_closed_form = self.has_closed_form and not self.explicit
        for axis in (axis for axis in self.axes if axis.name != "reg"):
            axis.low[self.refused] = axis.high[self.refused] = 0.0  # a filter that can be computed, to be hidden

    def _axes(self, name: str, bounds: Bounds) -> list[Axis]:
        """One axis, or one for each layer."""
        if not (isinstance(bounds, Sequence) and all(isinstance(pair, Sequence) for pair in bounds)):
            pair = _interval(name, bounds)
            layers = [-1] if name == "reg" or self.gcn.filter.shared else range(self._layers)
            return [self._axis(name, layer, pair) for layer in layers]
        if not self.gcn.filter.deep or name == "reg" or len(bounds) != self._layers:
            raise ParameterError(
                f"free[{name!r}] = {bounds!r} is not a pair (low, high), nor one pair for each layer of the network"
            )
        return [self._axis(name, layer, _interval(name, pair)) for layer, pair in enumerate(bounds)]

    def _longest(self, asked: tuple[float, float], limit: Array) -> Array:
        """Largest magnitude, below `limit`, of a continuous filter whose series can be solved on a directed graph."""
        name, replaced = self.gcn.filter.parameter, self.gcn.filter.replaced
        tried = np.linspace(0.0, 1.0, 501)[:, None] * limit
        allowed = np.max(np.where(replaced(tried).layers(radius=self.radius) <= _LONGEST, tried, 0.0), axis=0)
        far = max((abs(bound) for bound in asked if math.isfinite(bound)), default=0.0)
        layers = replaced(far).layers(radius=self.radius)
        self.refused |= layers > _LONGEST
        if self.throw and np.any(layers > _LONGEST):
            raise ParameterError(
                f"free[{name!r}] = {asked} reaches series of {np.max(layers)} layers, too long for a directed graph "
                f"at finite regularization; keep |{name}| below {np.min(allowed):.3g}, symmetrize, or tune at reg = inf"
            )
        return np.asarray(np.maximum(allowed, far))

    @property
    def _layers(self) -> int:
        return int(self.gcn.filter.values.shape[-1])

    def _axis(self, name: str, layer: int, asked: tuple[float, float]) -> Axis:
        if name == "reg" and asked[0] == 0.0:
            low, high = (np.full(self.size, bound) for bound in (_ANY_CLOSED if self.has_closed_form else _ANY_REG))
            return Axis(name, _REG, layer, low, high, np.ones(self.size), asked)
        scale = _REG if name == "reg" else self.gcn.filter.scale
        unit = self.radius if scale.per_radius else np.ones(self.size)
        limit = scale.largest / unit
        low, high = (np.full(self.size, bound) for bound in asked)
        if scale.strict:
            low, high = np.maximum(low, -limit), np.minimum(high, limit)
            self.refused |= low > high
            if self.throw and np.any(low > high):
                raise ParameterError(
                    f"free[{name!r}] = {asked} lies outside the convergent interval |{name}| < {np.min(limit):.6g} of the data"
                )
        else:
            far = np.maximum(limit, 10.0 * max((abs(bound) for bound in asked if math.isfinite(bound)), default=0.0))
            if self.layered and not self.gcn.filter.deep and name != "reg":
                far = self._longest(asked, far)
            low, high = np.maximum(low, -far), np.minimum(high, far)
        return Axis(name, scale, layer, low, high, unit, asked)

    @property
    def reg_axis(self) -> int:
        """Number of the axis of the regularization, -1 if it is not free."""
        return next((k for k, axis in enumerate(self.axes) if axis.name == "reg"), -1)

    def at_infinite_reg(self, which: npt.NDArray[np.intp]) -> Search | None:
        """Return the same problems at infinite regularization, if it is free up to there and not alone.

        With its own bias a network on two unequal classes is no better there than the larger class.
        """
        alone = self.reg_axis < 0 or len(self.axes) == 1
        if alone or not math.isinf(self.axes[self.reg_axis].asked[1]) or self.own_bias:
            return None
        others = {name: bounds for name, bounds in self.free.items() if name != "reg"}
        return Search(self._data(which), self.gcn.replaced(reg=math.inf), others)

    def values(self, u: Array, which: npt.NDArray[np.intp]) -> Array:
        """Free numbers at points of the unit cube, one row per point."""
        values = np.stack([axis.value(u[:, k], which) for k, axis in enumerate(self.axes)], axis=1)
        if self.any_reg and not self.gcn.normalize and self._gained:
            values[:, self.reg_axis] *= self._gain(values, which)
        return values

    def place(self, axis: Axis, which: npt.NDArray[np.intp]) -> Array:
        """Coordinate in [0, 1] of the given network on an axis (of the first, if there are several)."""
        if axis.name != "reg":
            given = float(np.ravel(self.gcn.filter.values)[max(axis.layer, 0)])
        else:
            given = 1.0 if self.any_reg else float(np.ravel(self.gcn.reg)[0])
        return axis.place(given, which)

    def _gain(self, values: Array, which: npt.NDArray[np.intp]) -> Array:
        """Mean square gain of the filters, in whose units the regularization is searched."""
        gain = self.network(values, which).filter.log_gain(self._symmetric)
        return np.exp(np.clip(2.0 * gain, -600.0, 600.0))

    def parameters(self, values: Array) -> dict[str, Array]:
        """Free parameters by name; the last axis of a parameter given for each layer runs over the layers."""
        named: dict[str, Any] = {}
        for k, axis in enumerate(self.axes):
            if axis.layer < 0:
                named[axis.name] = values[:, k]
            else:
                named.setdefault(axis.name, []).append(values[:, k])
        return {name: np.stack(v, axis=-1) if isinstance(v, list) else v for name, v in named.items()}

    def network(self, values: Array, which: npt.NDArray[np.intp]) -> GCN:
        """Networks with these values of the free numbers."""
        free = self.parameters(values)
        filter = self.gcn.filter
        if filter.parameter in free:
            parameter = free[filter.parameter]
            if filter.deep and parameter.ndim == 1:
                parameter = np.repeat(parameter[:, None], self._layers, axis=1)
            if isinstance(filter, Polynomial):
                parameter[~np.any(parameter, axis=-1), 0] = 1e-9  # only the direction matters, and 0 has none
            filter = filter.replaced(parameter)
        else:
            filter = filter.ravel(self.shape)[which]
        reg = free["reg"] if "reg" in free else np.broadcast_to(self.gcn.reg, self.shape).ravel()[which]
        return self.gcn.replaced(filter=filter, reg=reg)

    def margin(self, values: Array, which: npt.NDArray[np.intp]) -> Array:
        """Margins of these networks on the data of their problems."""
        data, network = self._data(which), self.network(values, which)
        if not self.uses_closed_form:
            found = margin(predict(data, network, throw=False, progress=False), own_bias=self.own_bias)
            # with its own bias a network at infinite regularization decides for the larger class everywhere
            constant = self.own_bias and self.reg_axis >= 0
            return np.where(np.isinf(network.reg), ndtri(self.model.fractions.max()), found) if constant else found
        points = Points.unchecked(data, network)
        found, usable = np.full(points.size, np.nan), points.usable()
        with np.errstate(all="ignore"):  # out of range where a filter or a regularization is extreme
            found[usable] = square_margins(points.take(np.flatnonzero(usable)))
        return np.where(np.isnan(found), _WORST, found)

    def _data(self, which: npt.NDArray[np.intp]) -> CSBM:
        return self.model.replaced(**{name: column[which] for name, column in self.data.items()})

    def objective(self, u: Array, which: npt.NDArray[np.intp]) -> Array:
        """Margin at points of the unit cube (or interval)."""
        return self.margin(self.values(u.reshape(which.size, len(self.axes)), which), which)


def margin(prediction: Prediction, own_bias: npt.ArrayLike = False) -> Array:
    r"""Return the margin :math:`\bar\omega/\sigma`, very low where there is no answer.

    Where `own_bias`, it is :math:`\Phi^{-1}(\text{test accuracy})`, which for two equal classes is the same.

    >>> import gcnlimit as gl
    >>> p = gl.predict(gl.CSBM(alpha=4, lam=1, mu=2, rho=0.1), gl.GCN(gl.Diffusion(t=0.5)))
    >>> bool(abs(margin(p) - margin(p, own_bias=True)) < 1e-14)
    True
    """
    found = np.asarray(prediction.order_parameters.test_margin)
    if np.any(own_bias):
        found = np.where(own_bias, -ndtri_exp(np.asarray(prediction.log_test_error)), found)
    failed = (np.asarray(prediction.status) == Status.NOT_CONVERGED) | np.isnan(found)
    return np.where(failed, _WORST, found)


def _check_names(filter: Filter, free: Mapping[str, Bounds]) -> None:
    if not isinstance(free, Mapping) or not free:
        raise ParameterError(f"free = {brief(free)} names nothing to tune; write for example free={{'t': (0, 10)}}")
    for name in free:
        if name not in ("reg", filter.parameter):
            raise ParameterError(
                f"free contains {name!r}, which is unknown here: the filter is {type(filter).__name__}, "
                f"whose parameter is {filter.parameter!r}; choose among {filter.parameter}, reg"
            )
    if filter.deep and filter.parameter in free and filter.values.shape[-1] == 0:
        raise ParameterError("the network has no layers, so that nothing can be tuned; give it at least one")


def _interval(name: str, bounds: Any) -> tuple[float, float]:
    """Check one pair of bounds."""
    try:
        low, high = (float(bound) for bound in bounds)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"free[{name!r}] = {bounds!r} is not a pair (low, high)") from None
    if math.isnan(low) or math.isnan(high):
        raise ParameterError(f"free[{name!r}] = ({low:g}, {high:g}) contains NaN; both bounds must be numbers")
    if not low <= high:
        raise ParameterError(f"free[{name!r}] = ({low:g}, {high:g}) is empty; the lower bound must come first")
    if name == "reg" and not (low > 0 or (low == 0 and math.isinf(high))):
        raise ParameterError(
            f"free['reg'] = ({low:g}, {high:g}) starts at {low:g}; its lower bound must be > 0, for example 1e-2, "
            f"or write (0, math.inf) for any regularization"
        )
    if low == high and math.isinf(low):
        raise ParameterError(f"free[{name!r}] = ({low:g}, {high:g}) contains no finite value")
    return low, high
