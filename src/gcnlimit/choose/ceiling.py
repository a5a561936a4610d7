"""The ceiling of linear networks on a symmetric graph: the best of all functions on its spectrum."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.choose.spectral import Climbed, SpectralMargin, climb, maximize, values
from gcnlimit.numerics.maximize import spread
from gcnlimit.numerics.spectral import edge_panels, halved, interpolate, panel_angles, panel_measure, panel_tails
from gcnlimit.theory.points import Points

_BLOCK = 48  # points searched together
_STARTS = 4  # number of climbs, from the best filters tried
_FIRST = 15  # steps of each climb before the best alone is continued
_SCALES = np.geomspace(1e-3, 1e1, 13)  # of the starts at finite regularization, where the scale counts
_ROUNDS = 40  # refinements of the panels in which a filter has a kink
_ROUGH = 1e-3  # truncation error of a panel times its weight, over the tolerance, above which the panel is halved
_STEEPEST = 1e4  # largest value of a filter that is reported, where it has a pole

Index = npt.NDArray[np.intp]


class SpectralBest(NamedTuple):
    """Best filters, one row for each point: margin, its error, regularization, values at the nodes of `spectrum`."""

    margin: Array
    error: Array
    reg: Array
    g: Array
    settled: npt.NDArray[np.bool_]


def spectrum(points: Points) -> Array:
    """Real points of the spectrum, the spike or the edge on its side last."""
    edge = 2.0 if points.symmetric else 1.0
    bulk = np.broadcast_to(np.linspace(-edge, edge, 201), (points.size, 201))
    spike = np.where(points.signal < 0.0, -1.0, 1.0) * points.radius
    return np.concatenate([bulk, spike[:, None]], axis=1)


def spectral_ceiling(points: Points, *, infinite: bool, tol: float) -> SpectralBest:
    r"""Best filter of each point among all functions on the spectrum, at infinite regularization or at the best one.

    The spectrum is cut into panels, all of them again, then those in which the filter has a kink, until the margin moves by
    less than `tol`; `error` is its last move. The largest magnitude of a filter is 1.
    """
    parts = [_one_block(points.take(rows), infinite, tol) for rows in _blocks(points)]
    order = np.argsort(np.concatenate([np.empty(0, int), *_blocks(points)]))
    return SpectralBest(*(np.concatenate(column)[order] for column in zip(*parts, strict=True)))


def _blocks(points: Points) -> Iterator[Index]:
    """Batches of points whose spectra need similar panels."""
    order = np.argsort(np.abs(np.abs(points.signal) - 1.0), kind="stable")
    yield from np.array_split(order, max(1, -(-points.size // _BLOCK)))


def _one_block(points: Points, infinite: bool, tol: float) -> SpectralBest:
    best = _search(points, np.zeros(points.size), tol)
    if infinite:
        return best
    finite = _search(points, np.ones(points.size), tol, best)
    better = finite.margin > best.margin + 1e-2 * tol
    columns = (np.where(better if a.ndim == 1 else better[:, None], a, b) for a, b in zip(finite, best, strict=True))
    return SpectralBest(*columns)


def _search(points: Points, s: Array, tol: float, known: SpectralBest | None = None) -> SpectralBest:
    """Several climbs on the first panels, the best continued on finer ones; `known` is a start, and a margin to exceed."""
    ends = edge_panels(points.signal)
    problem = _problem(points, s, ends)
    start = _starts(problem, points.radius, None if known is None else known.g)
    where = np.repeat(np.arange(points.size), start.shape[1])
    first = climb(problem.take(where), start.reshape(where.size, -1), _FIRST)
    chosen = np.arange(points.size) * start.shape[1] + np.argmax(first.margin.reshape(points.size, -1), axis=1)
    coarse, finer = maximize(problem, first.angle[chosen]), halved(ends)
    fine = maximize(_problem(points, s, finer), _carried(ends, coarse.angle, finer))
    best = _reported(points, s, finer, fine, np.abs(fine.margin - coarse.margin))
    hopeless = False if known is None else best.margin + 10.0 * best.error < known.margin
    for k in np.flatnonzero(~(best.error <= tol) & ~np.asarray(hopeless)):
        row = np.array([k])
        one = _cut(points.take(row), s[row], finer, Climbed(*(column[row] for column in fine)), tol)
        if np.isfinite(one.error[0]):
            for column, value in zip(best, one, strict=True):
                column[k] = value[0]
    return best._replace(settled=best.settled & (best.error <= tol))


def _cut(points: Points, s: Array, ends: Array, found: Climbed, tol: float) -> SpectralBest:
    """Halve the panels of one point in which the filter is not resolved, until the margin is steady."""
    change = np.full(1, np.nan)  # remains NaN if every panel is resolved already
    for _ in range(_ROUNDS):
        measure = panel_measure(points.signal, ends)
        weight = (measure.tau + measure.e)[0, :-1].reshape(ends.size - 1, -1).sum(axis=1)
        U, W = values(found.angle, s)
        rough = (panel_tails(U[0, :-1]) + panel_tails(W[0, :-1])) * weight > _ROUGH * tol
        if not np.any(rough):
            break
        finer = halved(ends, rough)
        next_ = maximize(_problem(points, s, finer), _carried(ends, found.angle, finer))
        change, found, ends = np.abs(next_.margin - found.margin), next_, finer
        if change[0] <= 0.1 * tol:
            break
    return _reported(points, s, ends, found, change)


def _problem(points: Points, s: Array, ends: Array) -> SpectralMargin:
    measure = panel_measure(points.signal, ends)
    return SpectralMargin(measure, s, points.alpha, points.mu, points.rho, points.features)


def _carried(ends: Array, angle: Array, finer: Array) -> Array:
    """Angles at the nodes of other panels; the atom is the last."""
    t, before = panel_angles(finer), panel_angles(ends)
    bulk = np.stack([np.interp(t, before, row) for row in angle[:, :-1]])
    return np.concatenate([bulk, angle[:, -1:]], axis=1)


def _starts(problem: SpectralMargin, radius: Array, known: Array | None) -> Array:
    """Angles of the best of diffusions, PageRanks and random polynomials, each at its best scale; point, start, node."""
    x = problem.measure.x / radius[:, None]
    shapes = [np.exp(t * x) for t in (-4.0, -2.0, -0.5, 0.0, 0.5, 2.0, 4.0)]
    shapes += [1.0 / (1.0 - theta * x) for theta in (-0.8, 0.8)]
    shapes += [np.polynomial.chebyshev.chebval(x, 2.0 * c - 1.0) for c in spread(6, 5)]
    if known is not None:
        grid, at = np.linspace(-2.0, 2.0, known.shape[1] - 1), problem.measure.x
        bulk = np.stack([np.interp(a, grid, g) for a, g in zip(at[:, :-1], known[:, :-1], strict=True)])
        shapes.append(np.concatenate([bulk, known[:, -1:]], axis=1))
    g = np.stack(shapes, axis=1)
    size = np.sqrt(g**2 @ problem.measure.tau)
    g /= np.where(size > 0.0, size, 1.0)[:, :, None]
    scaled = np.arctan(_SCALES[:, None] * g[:, :, None]) if np.any(problem.s) else g[:, :, None]
    points, shapes_, scales, nodes = scaled.shape
    many = problem.take(np.repeat(np.arange(points), shapes_ * scales))
    margin = many.value(*values(scaled.reshape(-1, nodes), many.s)).reshape(points, shapes_, scales)
    scale = np.argmax(margin, axis=2)
    shape = np.argsort(-np.max(margin, axis=2), axis=1, kind="stable")[:, :_STARTS]
    return np.asarray(scaled[np.arange(points)[:, None], shape, np.take_along_axis(scale, shape, axis=1)])


def _reported(points: Points, s: Array, ends: Array, found: Climbed, error: Array) -> SpectralBest:
    """Regularization and values of the filter; without an atom its value at the edge takes that place."""
    angle, finite = found.angle, s > 0.0
    side = np.where(points.signal < 0.0, -1.0, 1.0)
    x = side[:, None] * np.linspace(-2.0, 2.0, 201)
    t = np.arccos(np.clip(0.5 * x, -1.0, 1.0))
    bulk = np.concatenate([interpolate(ends, a[None, :-1], at) for a, at in zip(angle, t, strict=True)])
    edge = np.where(side < 0.0, bulk[:, 0], bulk[:, -1])
    atom = np.where(np.abs(points.signal) > 1.0, angle[:, -1], edge)
    angles = np.concatenate([bulk, atom[:, None]], axis=1)
    g = np.where(finite[:, None], np.clip(np.tan(angles), -_STEEPEST, _STEEPEST), angles)
    size = g[np.arange(len(g)), np.argmax(np.abs(g), axis=1)]
    reg = _problem(points, s, ends).reg(values(angle, s)[1]) / size**2
    return SpectralBest(found.margin, error, reg, g / size[:, None], found.settled)
