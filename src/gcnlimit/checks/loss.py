"""Check of a loss of one's own: each step finds one kind of mistake and names it in one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np

from gcnlimit._adapter import prox_problem
from gcnlimit.checks.places import first
from gcnlimit.errors import ParameterError
from gcnlimit.losses import Loss, as_loss
from gcnlimit.losses.given import Adapted
from gcnlimit.losses.values import jump, value_problem
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


def _check_prox(loss: Loss) -> str | None:
    return prox_problem(loss, _OMEGA, _V)


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
        found = jump(lambda omega, v=v: np.asarray(loss.prox_derivative(omega, v)), known, 1e-7)  # type: ignore[misc]
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


_CHECKS = (
    value_problem,
    _check_prox,
    _check_prox_derivative,
    _check_prox_kinks,
    _check_pull,
    _check_averages,
)
