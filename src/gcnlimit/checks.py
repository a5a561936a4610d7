"""Checks of a filter or a loss of your own: each step finds one kind of mistake and names it in one sentence."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from gcnlimit._values import Array, Mask
from gcnlimit.filters import Filter, as_filter
from gcnlimit.losses import Loss, as_loss
from gcnlimit.losses.custom import first, jump, problems, raise_found
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.results.order_parameters import Output
from gcnlimit.theory.finite_reg.averages import eta, expected_losses
from gcnlimit.theory.large_reg import coefficient_averages

_X = np.linspace(-1.97, 1.99, 41)
# no round numbers, where kinks are likely
_OMEGA = np.linspace(-7.9, 8.1, 97)[:, None] + 1e-3 * np.sqrt(2)
_V = np.array([0.013, 0.31, 1.0, 4.7, 29.0])


def check_filter(filter: Any) -> None:
    """Check a filter: raise `ParameterError` with one sentence on the first mistake found, else return None.

    Whatever `GCN` takes as a filter can be checked. Its function must be finite on the spectrum, and the same for a parameter
    alone and in an array; the chain of layers, the series and the averages on directed graphs must compute that function.

    >>> import gcnlimit as gl
    >>> gl.check_filter(gl.Diffusion(t=1.0))
    >>> class Wrong(gl.Diffusion):
    ...     def chain(self, **how):
    ...         return gl.Diffusion(1.01 * self.values).chain(**how)
    >>> gl.check_filter(Wrong(t=1.0))
    Traceback (most recent call last):
        ...
    gcnlimit.errors.ParameterError: filter = Wrong(t=1.0): chain computes 7.46257 at x = 1.99, where normalized gives 7.31553
    """
    checked = as_filter(filter)
    checks = [_check_normalized, _check_many, _check_nodes]
    if checked.has_chain:
        checks += [_check_chain, _check_series, _check_directed]
    _raise_first("filter", checked, checks)


def _raise_first(name: str, checked: Any, checks: Iterable[Callable[[Any], Iterator[str]]]) -> None:
    """Raise `ParameterError` with the first problem that a check finds."""
    raise_found(name, checked, lambda: first(told for check in checks for told in check(checked)))


def _first(where: Mask, *arrays: Array) -> list[float]:
    """Entries of the arrays, which broadcast, at the first true place."""
    return [float(np.broadcast_to(array, where.shape)[where][0]) for array in arrays]


def _check_normalized(filter: Filter) -> Iterator[str]:
    g, size = filter.normalized(_X)
    shapes = (*filter.shape, _X.size), filter.shape
    if (np.shape(g), np.shape(size)) != shapes:
        yield f"normalized gives shapes {np.shape(g)}, {np.shape(size)} instead of {shapes}"
    if not np.isfinite(g).all() or not np.allclose(np.max(np.abs(g), axis=-1), 1.0, rtol=1e-9):
        yield "normalized must give finite values whose largest magnitude is 1; to_unit makes them"
    values = g * np.exp(size)[..., None]
    alone = filter(_X)
    wrong = ~(np.abs(values - alone) <= 1e-9 * np.max(np.abs(values)))
    if wrong.any():
        x, value, true = _first(wrong, _X, values, alone)
        yield f"normalized gives {value:g} at x = {x:g}, alone {true:g}; its second value is wrong"


def _check_many(filter: Filter) -> Iterator[str]:
    single = filter.ravel(filter.shape)[:1]
    try:
        g = single.ravel((3,)).normalized(_X)[0]
        same = np.shape(g) == (3, _X.size) and np.allclose(g, single.normalized(_X)[0], rtol=1e-12)
    except (ValueError, TypeError, IndexError):
        same = False
    if not same:
        yield "normalized fails for many parameters; add an axis, as in self.values[..., None] * x"


def _check_nodes(filter: Filter) -> Iterator[str]:
    nodes = int(np.max(filter.quadrature_nodes()))
    means = []
    for count in (nodes, 3 * nodes + 50):
        measure = SpikedSemicircle.of(np.array([0.0]), count)
        g, size = filter.normalized(measure.x[0])
        means.append(np.log(g**4 @ measure.tau) + 4.0 * size)
    if np.max(np.abs(means[1] - means[0])) > 1e-9:
        yield f"quadrature_nodes gives {nodes}, too few to average g^4 over the semicircle"


def _check_chain(filter: Filter) -> Iterator[str]:
    chain = filter.chain(accuracy=1e-10, radius=2.0)
    b, c, g = chain.b.shape, chain.c.shape, chain.g.shape
    if b != c or g != (*b[:-1], chain.depth + 1):
        yield f"chain has b, c, g of shapes {b}, {c}, {g}; b and c are one shorter than g"
    computed, values = np.broadcast_arrays(chain(_X), filter(_X))
    distance = np.abs(computed - values)
    if not np.all(distance <= 1e-8 * np.max(np.abs(values))):
        x, made, wanted = _first(distance == np.max(distance), _X, computed, values)
        yield f"chain computes {made:g} at x = {x:g}, where normalized gives {wanted:g}"
    layers = np.max(filter.layers(accuracy=1e-10, radius=2.0))
    if layers != chain.depth:
        yield f"layers gives at most {layers} where chain has {chain.depth}"


def _check_series(filter: Filter) -> Iterator[str]:
    flat = filter.ravel(filter.shape)[:1]
    rng = np.random.default_rng(0)
    operator, block = rng.normal(size=(12, 12)), rng.normal(size=(12, 2))
    operator *= 0.9 / np.linalg.norm(operator, 2)
    expected = flat.chain(accuracy=1e-12, radius=2.0).apply(operator, block)
    for shape, wanted in (((1, 1, 1), expected[None]), ((1,), expected[:, :1])):
        acted = flat.series(operator, block[:, : wanted.shape[-1]], 1e-12, shape)
        error = 1e-9 * np.max(np.abs(wanted))
        if acted.shape != wanted.shape or not np.allclose(acted, wanted, rtol=0, atol=error):
            yield f"series with weights of shape {shape} does not act on a matrix as the chain does"


def _check_directed(filter: Filter) -> Iterator[str]:
    flat = filter.ravel(filter.shape)[:1]
    signal, mu = np.array([0.8]), np.array([1.3])
    by_sums = coefficient_averages(*flat.directed_chain(signal).taylor(signal), signal, mu)
    usual = coefficient_averages(*flat.chain(accuracy=1e-18, radius=1.0).taylor(signal), signal, mu)
    closed = flat.directed_averages(signal, mu) or by_sums
    for name, averages in (("directed_chain", by_sums), ("directed_averages", closed)):
        # the scale of the filter is free: each average is compared in units of tau(g^2)
        for field, power in zip(averages._fields, (1, 1, 1, 0.5, 2, 2), strict=True):
            mine = np.asarray(getattr(averages, field)) / averages.tau_g2**power
            wanted = np.asarray(getattr(usual, field)) / usual.tau_g2**power
            if not np.allclose(mine, wanted, rtol=1e-8, atol=1e-12):
                yield f"{name} gives {field} = {mine[0]:g}, the chain {wanted[0]:g} (over tau_g2)"


def check_loss(loss: Any) -> None:
    r"""Check a loss: raise `ParameterError` with one sentence on the first mistake found, else return None.

    Whatever `GCN` takes as a loss can be checked. Its value must be a convex function of arrays that decreases at 0; the
    proximal operator must minimize :math:`\ell(x) + (x-\omega)^2/2v` and have the derivative that is given, and a kink must be
    declared; the pull and averages given in closed form must be those of the proximal operator.

    >>> import gcnlimit as gl
    >>> gl.check_loss("hinge")
    >>> class Wrong(gl.Loss):
    ...     def value(self, z):
    ...         return 0.5 * (1.0 - z) ** 2
    ...
    ...     def prox_derivative(self, omega, v):
    ...         return 1.0 / (2.0 + v) + 0.0 * omega
    >>> gl.check_loss(Wrong())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    gcnlimit.errors.ParameterError: loss = ...: prox_derivative is 0.496771 ... where prox changes by 0.987167 ...
    """
    checked = loss if isinstance(loss, Loss) else as_loss(loss)
    usual = partial(problems, omega=_OMEGA, v=_V, tolerance=1e-5)
    _raise_first("loss", checked, [usual, _check_prox_kinks, _check_pull, _check_averages])


def _check_prox_kinks(loss: Loss) -> Iterator[str]:
    if type(loss).prox is Loss.prox and type(loss).breakpoints is Loss.breakpoints:
        return
    kinks = loss.breakpoints(_V)
    kinks = np.zeros((0, _V.size)) if kinks is None else np.asarray(kinks)
    if kinks.shape[1:] != _V.shape:
        yield f"breakpoints gives {kinks.shape} for v of {_V.shape}; stack the kinks along axis 0"
    for v, declared in zip(_V, kinks.T, strict=True):
        for omega in jump(partial(loss.prox_derivative, v=v), declared, 7):
            yield f"prox has a kink at omega = {omega:.6g} for v = {v:g} that breakpoints omits"


def _check_pull(loss: Loss) -> Iterator[str]:
    v = _V[1:]
    pull, slope = loss.pull(_OMEGA, v)
    by_prox = (loss.prox(_OMEGA, v) - _OMEGA) / v
    by_derivative = (1.0 - loss.prox_derivative(_OMEGA, v)) / v
    pairs = {"pull": (pull, by_prox), "second value of pull": (slope, by_derivative)}
    for name, (stated, wanted) in pairs.items():
        wrong = ~(np.abs(stated - wanted) <= 1e-7 * (1.0 + np.abs(wanted)))
        if wrong.any():
            omega, at, f, usual = _first(wrong, _OMEGA, v, stated, wanted)
            yield f"the {name} is {f:g} at omega = {omega:.6g}, v = {at:g}; prox gives {usual:g}"


def _check_averages(loss: Loss) -> Iterator[str]:
    output = Output(np.array([0.3, 1.7]), np.array([0.8, 2.0]), np.array([0.7, 3.0]))
    plain = copy.copy(loss)  # without the averages that it gives in closed form
    for name in ("gaussian_pull", "gaussian_losses"):
        object.__setattr__(plain, name, lambda *output: None)
    for name, average in (("gaussian_pull", eta), ("gaussian_losses", expected_losses)):
        mine, numerical = (np.stack(average(each, output)) for each in (loss, plain))
        if not np.allclose(mine, numerical, rtol=1e-7):
            yield f"{name} gives {mine[:, 0]} where quadrature gives {numerical[:, 0]}"
