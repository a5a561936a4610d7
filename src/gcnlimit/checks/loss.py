"""Check of a loss of one's own: each step finds one kind of mistake and names it in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gcnlimit._values import Array
from gcnlimit.checks.places import first
from gcnlimit.errors import ParameterError
from gcnlimit.losses import Loss, as_loss
from gcnlimit.losses.given import Adapted, concave_at
from gcnlimit.order_parameters import Output
from gcnlimit.theory.finite_reg.loss_averages import eta, expected_losses

__all__ = ["check_loss"]

_OMEGA = np.linspace(-7.9, 8.1, 97)[:, None] + 1e-3 * np.sqrt(2)  # no round numbers, where kinks are likely
_V = np.array([0.013, 0.31, 1.0, 4.7, 29.0])


def check_loss(loss: Any) -> None:
    r"""Check a loss: raise `ParameterError` with one sentence on the first mistake found, else return None.

    The value must be a convex function of arrays that decreases at 0; the proximal operator must minimise
    :math:`\ell(x) + (x-\omega)^2/2v` and have the derivative that is given, and a kink must be declared; the pull and
    averages given in closed form must be those of the proximal operator.

    Parameters
    ----------
    loss
        Whatever `GCN` takes as a loss.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> gl.check_loss("hinge")
    >>> class Wrong(gl.Square):
    ...     def prox_derivative(self, omega, v):
    ...         return 1.0 / (2.0 + v) + 0.0 * omega
    >>> gl.check_loss(Wrong())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    gcnlimit.errors.ParameterError: loss = Wrong(): prox_derivative is 0.496771 ... where prox changes by 0.987167 ...
    """
    own = as_loss(loss)
    for check in _CHECKS:
        with np.errstate(all="ignore"):
            problem = check(own)
        if problem:
            raise ParameterError(f"loss = {own!r}: {problem}")


def _check_value(loss: Loss) -> str | None:
    z = np.linspace(-6.0, 6.0, 1201)
    value = np.asarray(loss.value(z))
    if value.shape != z.shape:
        return f"value gives shape {value.shape} for margins of shape {z.shape}; compute it elementwise"
    if not np.isfinite(value).all():
        return f"value is {value[~np.isfinite(value)][0]} at z = {z[~np.isfinite(value)][0]:g}; it must be finite"
    place = concave_at(loss.value)
    if place is not None:
        return f"value is not convex near z = {place:g}"
    if not value[601] < value[599]:
        return "value does not decrease at z = 0, so that outputs are not pushed towards their labels"
    return None


def _check_value_kinks(loss: Loss) -> str | None:
    """A loss whose derivatives come from its value must declare its kinks."""
    if type(loss).prox is not Loss.prox or type(loss).derivatives is not Loss.derivatives:
        return None

    def slope(z: Array) -> Array:
        return np.asarray((loss.value(z + 1e-7) - loss.value(z - 1e-7)) / 2e-7)

    def curvature(z: Array) -> Array:
        return np.asarray((loss.value(z + 1e-4) + loss.value(z - 1e-4) - 2.0 * loss.value(z)) / 1e-8)

    for derivative, width in ((slope, 1e-5), (curvature, 1e-3)):
        found = _jump(derivative, np.asarray(loss.kinks), width)
        if found is not None:
            return f"a derivative of value jumps at z = {found:.3g}; declare it, as in kinks = ({found:.3g},)"
    return None


def _check_prox(loss: Loss) -> str | None:
    x = np.asarray(loss.prox(_OMEGA, _V))
    if x.shape != np.broadcast_shapes(_OMEGA.shape, _V.shape):
        return f"prox gives shape {x.shape} for omega of shape {_OMEGA.shape} and v of shape {_V.shape}; let them broadcast"

    def objective(x: Array) -> Array:
        return np.asarray(loss.value(x) + (x - _OMEGA) ** 2 / (2.0 * _V))

    least = objective(x)
    for move in (step * sign for step in (1e-3, 1e-2, 0.1, 1.0, 10.0) for sign in (1, -1)):
        lower = ~(objective(x + move) >= least - 1e-11 * (1.0 + np.abs(least)))
        if lower.any():
            omega, v, there = first(lower, _OMEGA, _V, x)
            lower_at = f"value(x) + (x - omega)^2/2v is lower at x = {there + move:g}"
            return f"prox is {there:g} at omega = {omega:.6g}, v = {v:g}, but {lower_at}"
    return None


def _check_prox_derivative(loss: Loss) -> str | None:
    h = 1e-5
    slope = (loss.prox(_OMEGA + h, _V) - loss.prox(_OMEGA - h, _V)) / (2.0 * h)
    given = np.broadcast_to(loss.prox_derivative(_OMEGA, _V), slope.shape)
    kinks = loss.breakpoints(_V)
    if kinks is not None and np.shape(kinks)[1:] != _V.shape:
        return (
            f"breakpoints gives shape {np.shape(kinks)} for v of shape {_V.shape}; stack the kinks along the first axis"
        )
    smooth = np.ones(slope.shape, bool) if kinks is None else np.all(np.abs(_OMEGA - kinks[:, None]) > 10.0 * h, axis=0)
    wrong = smooth & ~(np.abs(slope - given) <= 1e-5)
    if wrong.any():
        omega, v, here, there = first(wrong, _OMEGA, _V, given, slope)
        return f"prox_derivative is {here:g} at omega = {omega:.6g}, v = {v:g}, where prox changes by {there:g} per unit of omega"
    return None


def _check_prox_kinks(loss: Loss) -> str | None:
    if type(loss).prox is Loss.prox and type(loss).breakpoints is Loss.breakpoints:
        return None
    for v in _V:
        kinks = loss.breakpoints(np.array([v]))
        known = np.zeros(0) if kinks is None else np.asarray(kinks)[:, 0]
        found = _jump(lambda omega, v=v: np.asarray(loss.prox_derivative(omega, v)), known, 1e-7)  # type: ignore[misc]
        if found is not None:
            return f"prox has a kink at omega = {found:.6g} for v = {v:g} that breakpoints does not name"
    return None


def _check_pull(loss: Loss) -> str | None:
    v = _V[1:]
    pull, slope = loss.pull(_OMEGA, v)
    expected = (loss.prox(_OMEGA, v) - _OMEGA) / v, (1.0 - loss.prox_derivative(_OMEGA, v)) / v
    for name, given, wanted in zip(("pull", "second value of pull"), (pull, slope), expected, strict=True):
        wrong = ~(np.abs(given - wanted) <= 1e-7 * (1.0 + np.abs(wanted)))
        if wrong.any():
            omega, at, here, there = first(wrong, _OMEGA, v, given, wanted)
            return f"the {name} is {here:g} at omega = {omega:.6g}, v = {at:g}, where prox gives {there:g}"
    return None


def _check_averages(loss: Loss) -> str | None:
    output = Output(np.array([0.3, 1.7]), np.array([0.8, 2.0]), np.array([0.7, 3.0]))
    plain = Adapted(loss)
    for name, average in (("gaussian_pull", eta), ("gaussian_losses", expected_losses)):
        mine, numerical = (np.stack(average(one, output)) for one in (loss, plain))
        if not np.allclose(mine, numerical, rtol=1e-7):
            return f"{name} gives {mine[:, 0].tolist()} where quadrature gives {numerical[:, 0].tolist()}"
    return None


def _jump(function: Callable[[Array], Array], known: Array, width: float) -> float | None:
    """First point of [-6, 6] away from the `known` ones where the function jumps within `width`, by bisection."""

    def jumps(low: Array, high: Array) -> Array:
        ends = function(low), function(high)
        return np.asarray(np.abs(ends[1] - ends[0]) / (1.0 + np.minimum(*np.abs(ends))))

    low = np.linspace(-6.0, 6.0, 1201) + 1e-3 * np.sqrt(2)
    low = low[jumps(low, low + 0.01) > 0.02]
    step = 0.01
    while low.size and step > width:
        step *= 0.5
        low = np.where(jumps(low, low + step) >= jumps(low + step, low + 2.0 * step), low, low + step)
    low = low[np.all(np.abs(low[:, None] - known) > 4.0 * width, axis=1)]
    low = low[jumps(low, low + step) > 0.02]
    return float(low[0] + 0.5 * step) if low.size else None


_CHECKS = (
    _check_value,
    _check_value_kinks,
    _check_prox,
    _check_prox_derivative,
    _check_prox_kinks,
    _check_pull,
    _check_averages,
)
