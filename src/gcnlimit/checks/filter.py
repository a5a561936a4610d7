"""Check of a filter of one's own: each step finds one kind of mistake and names it in one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np

from gcnlimit._values import Array
from gcnlimit.checks.places import first
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Averages, Filter, as_filter
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.theory.large_reg import coefficient_averages

__all__ = ["check_filter"]

_X = np.linspace(-1.97, 1.99, 41)


def check_filter(filter: Any) -> None:
    """Check a filter: raise `ParameterError` with one sentence on the first mistake found, else return None.

    The function must be finite on the spectrum, and the same for each of many parameters; the chain of layers, the series and
    the averages on directed graphs, where they are given, must compute that function.

    Parameters
    ----------
    filter
        Whatever `GCN` takes as a filter.

    Examples
    --------
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
    own = as_filter(filter)
    for check in (_check_normalized, _check_many, _check_nodes, _check_chain, _check_series, _check_directed):
        with np.errstate(all="ignore"):
            problem = check(own)
        if problem:
            raise ParameterError(f"filter = {own!r}: {problem}")


def _check_normalized(filter: Filter) -> str | None:
    g, size = filter.normalized(_X)
    if np.shape(g) != (*filter.shape, _X.size) or np.shape(size) != filter.shape:
        return f"normalized gives shapes {np.shape(g)}, {np.shape(size)} instead of {(*filter.shape, _X.size)}, {filter.shape}"
    if not np.isfinite(g).all() or not np.allclose(np.max(np.abs(g), axis=-1), 1.0, rtol=1e-9):
        return "normalized must give finite values whose largest magnitude is 1; to_unit makes them"
    values, alone = g * np.exp(size)[..., None], filter(_X)
    wrong = ~(np.abs(values - alone) <= 1e-9 * np.max(np.abs(values)))
    if wrong.any():
        x, here, there = first(wrong, _X, values, alone)
        return (
            f"normalized gives {here:g} at x = {x:g} among other points and {there:g} alone; its second value is wrong"
        )
    return None


def _check_many(filter: Filter) -> str | None:
    one = filter.ravel(filter.shape)[:1]
    many = one.ravel((3,))
    try:
        g = many.normalized(_X)[0]
        same = np.shape(g) == (3, _X.size) and np.allclose(g, one.normalized(_X)[0], rtol=1e-12)
    except (ValueError, TypeError, IndexError):
        same = False
    return (
        None
        if same
        else "normalized fails for an array of parameters; give it an axis, as in self.values[..., None] * x"
    )


def _check_nodes(filter: Filter) -> str | None:
    nodes = int(np.max(filter.quadrature_nodes()))
    means = []
    for count in (nodes, 3 * nodes + 50):
        measure = SpikedSemicircle.of(np.array([0.0]), count)
        g, size = filter.normalized(measure.x[0])
        means.append(np.log(g**4 @ measure.tau) + 4.0 * size)
    if np.max(np.abs(means[1] - means[0])) > 1e-9:
        return f"quadrature_nodes gives {nodes}, too few to average g^4 over the semicircle"
    return None


def _check_chain(filter: Filter) -> str | None:
    if not filter.has_chain:
        return None
    chain = filter.chain(accuracy=1e-10, radius=2.0)
    if chain.b.shape != chain.c.shape or chain.g.shape != (*chain.b.shape[:-1], chain.depth + 1):
        return f"chain has b, c, g of shapes {chain.b.shape}, {chain.c.shape}, {chain.g.shape}; b and c are one shorter than g"
    computed, values = np.broadcast_arrays(chain(_X), filter(_X))
    wrong = ~(np.abs(computed - values) <= 1e-8 * np.max(np.abs(values)))
    if wrong.any():
        worst = np.argmax(np.abs(computed - values))
        x = np.broadcast_to(_X, values.shape).flat[worst]
        return f"chain computes {computed.flat[worst]:g} at x = {x:g}, where normalized gives {values.flat[worst]:g}"
    if np.max(filter.layers(accuracy=1e-10, radius=2.0)) != chain.depth:
        return f"layers gives at most {np.max(filter.layers(accuracy=1e-10, radius=2.0))} where chain has {chain.depth}"
    return None


def _check_series(filter: Filter) -> str | None:
    if not filter.has_chain:
        return None
    flat = filter.ravel(filter.shape)[:1]
    rng = np.random.default_rng(0)
    operator, block = rng.normal(size=(12, 12)), rng.normal(size=(12, 2))
    operator *= 0.9 / np.linalg.norm(operator, 2)
    expected = flat.chain(accuracy=1e-12, radius=2.0).apply(operator, block)
    for shape, wanted in (((1, 1, 1), expected[None]), ((1,), expected[:, :1])):
        found = flat.series(operator, block[:, : wanted.shape[-1]], 1e-12, shape)
        if found.shape != wanted.shape or not np.allclose(found, wanted, rtol=0, atol=1e-9 * np.max(np.abs(wanted))):
            return f"series with weights of shape {shape} does not act on a matrix as the chain does"
    return None


def _check_directed(filter: Filter) -> str | None:
    if not filter.has_chain:
        return None
    flat = filter.ravel(filter.shape)[:1]
    signal, mu = np.array([0.8]), np.array([1.3])
    by_sums = coefficient_averages(*flat.directed_chain(signal).taylor(signal), signal, mu)
    usual = coefficient_averages(*flat.chain(accuracy=1e-18, radius=1.0).taylor(signal), signal, mu)
    closed = flat.directed_averages(signal, mu) or by_sums
    for name, found in (("directed_chain", by_sums), ("directed_averages", closed)):
        for field, mine, wanted in zip(found._fields, _relative(found), _relative(usual), strict=True):
            if not np.allclose(mine, wanted, rtol=1e-8, atol=1e-12):
                return (
                    f"{name} gives {field} = {mine[0]:g} where the chain gives {wanted[0]:g}, both relative to tau_g2"
                )
    return None


def _relative(averages: Averages) -> list[Array]:
    """Averages without the scale of the filter, which is free."""
    powers = (1, 1, 1, 0.5, 2, 2)
    return [np.asarray(field) / averages.tau_g2**power for field, power in zip(averages, powers, strict=True)]
