"""The best of all functions on the spectrum of a symmetric graph, on panels that are cut until the margin is steady."""

from __future__ import annotations

import numpy as np

from gcnlimit._values import Array
from gcnlimit.choose.spectral import Best, Climbed, SpectralMargin, climb, maximize
from gcnlimit.numerics import spectral as panels
from gcnlimit.numerics.maximize import spread
from gcnlimit.theory.points import Points

_BLOCK = 48  # points searched together
_STARTS = 4  # number of climbs, from the best filters tried
_FIRST = 15  # steps of each climb before the best alone is continued
_SCALES = np.geomspace(1e-3, 1e1, 13)  # of the starts at finite regularization
_ROUNDS = 40  # refinements of the panels in which a filter has a kink
_ROUGH = 1e-3  # truncation error of a panel times its weight, over the tolerance, to halve it
_STEEPEST = 1e4  # largest value of a filter that is reported, where it has a pole
_GRID = np.linspace(-2.0, 2.0, 201)  # where filters are reported


def spectral_ceiling(points: Points, *, infinite: bool, tol: float) -> Best:
    """Best filter of each point among all functions on the spectrum, at infinite regularization or at the best one.

    The spectrum is cut into panels, all of them again, then those in which the filter has a kink, until the margin moves by
    less than `tol`. Values are those on `_GRID`, the spike or the edge on its side last, of largest magnitude 1.
    """
    # Similar spectra, which need similar panels, are searched together.
    order = np.argsort(np.abs(np.abs(points.signal) - 1.0), kind="stable")
    parts = []
    for rows in np.array_split(order, max(1, -(-points.size // _BLOCK))):
        block = points.take(rows)
        best = _searched(block, False, tol)
        if not infinite:
            best = best.or_higher(_searched(block, True, tol, best), 1e-2 * tol)
        parts.append(best)
    back = np.argsort(order)
    return Best(*(np.concatenate(column)[back] for column in zip(*parts, strict=True)))


def _searched(points: Points, finite: bool, tol: float, rival: Best | None = None) -> Best:
    """Several climbs on the first panels, the best continued on finer ones; `rival` is a start, and a margin to exceed."""
    ends = panels.edge_panels(points.signal)
    problem = _problem(points, finite, ends)
    start = _starts(problem, points.radius, None if rival is None else rival.g)
    count = start.shape[1]
    where = np.repeat(np.arange(points.size), count)
    # a few steps of all climbs, then the highest alone: a step on fine panels costs most
    first = climb(problem.take(where), start.reshape(where.size, -1), _FIRST)
    highest = np.argmax(first.margin.reshape(points.size, count), axis=1)
    coarse = maximize(problem, first.angle[np.arange(points.size) * count + highest])
    # panels half as wide tell how far the margin on the first ones is off
    finer = panels.halved(ends)
    problem = _problem(points, finite, finer)
    fine = maximize(problem, _carried(ends, coarse.angle, finer))
    best = _reported(problem, points.signal, finer, fine, np.abs(fine.margin - coarse.margin))
    rough = ~(best.error <= tol)
    if rival is not None:
        rough &= ~(best.margin + 10.0 * best.error < rival.margin)  # else hopeless
    for k in np.flatnonzero(rough):
        row = np.array([k])
        climbed = Climbed(*(column[row] for column in fine))
        refined = _cut(points.take(row), finite, finer, climbed, tol)
        if np.isfinite(refined.error[0]):
            for column, value in zip(best, refined, strict=True):
                column[k] = value[0]
    return best._replace(settled=best.settled & (best.error <= tol))


def _cut(points: Points, finite: bool, ends: Array, climbed: Climbed, tol: float) -> Best:
    """Halve the panels of one point in which the filter is not resolved, until the margin is steady."""
    change = np.full(1, np.nan)  # remains NaN if every panel is resolved already
    problem = _problem(points, finite, ends)
    for _ in range(_ROUNDS):
        weight = problem.measure.tau + problem.measure.e
        mass = weight[0, :-1].reshape(ends.size - 1, -1).sum(axis=1)
        # a kink slows the decay of the coefficients in its own panel, and is found by it
        tails = sum(panels.panel_tails(f[0, :-1]) for f in problem.functions(climbed.angle))
        rough = tails * mass > _ROUGH * tol
        if not np.any(rough):
            break
        finer = panels.halved(ends, rough)
        start = _carried(ends, climbed.angle, finer)
        before = climbed.margin
        ends, problem = finer, _problem(points, finite, finer)
        climbed = maximize(problem, start)
        change = np.abs(climbed.margin - before)
        if change[0] <= 0.1 * tol:
            break
    return _reported(problem, points.signal, ends, climbed, change)


def _problem(points: Points, finite: bool, ends: Array) -> SpectralMargin:
    return SpectralMargin.of(points, panels.panel_measure(points.signal, ends), finite)


def _carried(ends: Array, angle: Array, finer: Array) -> Array:
    """Angles at the nodes of other panels; the atom is the last."""
    t, before = panels.panel_angles(finer), panels.panel_angles(ends)
    bulk = np.stack([np.interp(t, before, row) for row in angle[:, :-1]])
    return np.concatenate([bulk, angle[:, -1:]], axis=1)


def _starts(problem: SpectralMargin, radius: Array, guess: Array | None) -> Array:
    """Angles of the best of diffusions, PageRanks and random polynomials, each at its best scale; point, start, node."""
    x = problem.measure.x / radius[:, None]
    shapes = [np.exp(t * x) for t in (-4.0, -2.0, -0.5, 0.0, 0.5, 2.0, 4.0)]
    shapes += [1.0 / (1.0 - theta * x) for theta in (-0.8, 0.8)]
    shapes += [np.polynomial.chebyshev.chebval(x, 2.0 * c - 1.0) for c in spread(6, 5)]
    if guess is not None:
        rows = zip(problem.measure.x[:, :-1], guess[:, :-1], strict=True)
        bulk = np.stack([np.interp(at, _GRID, g) for at, g in rows])
        shapes.append(np.concatenate([bulk, guess[:, -1:]], axis=1))
    g = np.stack(shapes, axis=1)
    size = np.sqrt(g**2 @ problem.measure.tau)
    g /= np.where(size > 0.0, size, 1.0)[:, :, None]
    # The scale counts at finite regularization alone: axes of points, shapes, scales, nodes.
    scaled = np.arctan(_SCALES[:, None] * g[:, :, None]) if problem.finite else g[:, :, None]
    every = np.arange(len(x))
    many = problem.take(np.repeat(every, scaled.shape[1] * scaled.shape[2]))
    margin = many.at(scaled.reshape(-1, x.shape[1])).reshape(scaled.shape[:3])
    shape = np.argsort(-np.max(margin, axis=2), axis=1, kind="stable")[:, :_STARTS]
    scale = np.take_along_axis(np.argmax(margin, axis=2), shape, axis=1)
    return np.asarray(scaled[every[:, None], shape, scale])


def _reported(
    problem: SpectralMargin, signal: Array, ends: Array, climbed: Climbed, error: Array
) -> Best:
    """Regularization and values of the filter; without an atom its value at the edge takes that place."""
    angle = climbed.angle
    side = np.where(signal < 0.0, -1.0, 1.0)
    t = np.arccos(np.clip(0.5 * (side[:, None] * _GRID), -1.0, 1.0))
    rows = zip(angle[:, None, :-1], t, strict=True)
    bulk = np.concatenate([panels.interpolate(ends, a, at) for a, at in rows])
    # an atom without mass has an arbitrary angle: the edge next to it stands in
    edge = np.where(side < 0.0, bulk[:, 0], bulk[:, -1])
    atom = np.where(np.abs(signal) > 1.0, angle[:, -1], edge)
    g = np.concatenate([bulk, atom[:, None]], axis=1)
    if problem.finite:
        g = np.clip(np.tan(g), -_STEEPEST, _STEEPEST)
    size = g[np.arange(len(g)), np.argmax(np.abs(g), axis=1)]
    reg = problem.reg(problem.functions(angle)[1]) / size**2
    return Best(climbed.margin, error, reg, g / size[:, None], climbed.settled)
