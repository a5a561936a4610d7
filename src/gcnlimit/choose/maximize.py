"""The search for the best of the free numbers: a scan of one, climbs in several, from where infinite regularization is best."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gcnlimit._runtime.progress import progress_bar
from gcnlimit._values import Array
from gcnlimit.choose.search import Search
from gcnlimit.numerics.climb import maximize_box, spread
from gcnlimit.numerics.linear import batches
from gcnlimit.numerics.scan import Maxima, Objective, better, maximize_interval

_BLOCK, _FEW = 8192, 64  # problems searched together, the second where each margin takes long
_ACCURACY = 1e-11  # of margins at finite regularization, where equations are solved
_CLOSED = 1e-13  # of those for the square loss on symmetric graphs
_APART = 0.1  # distance of the starts: else all would lie on the plateau of large regularization
_NEAR = 0.05  # distance of a wall that is worth a look where each value is dear


def maximize(search: Search, progress: bool | None = False) -> Maxima:
    """Best points of all problems that are not refused, a block of them at a time."""
    nothing, rows = np.zeros(search.size), np.flatnonzero(~search.refused)
    best = Maxima(np.zeros((search.size, len(search.axes))), nothing, nothing + 1.0, np.ones(search.size, bool))
    if not search.axes:  # nothing to search beside the best filter at test
        return best
    blocks = list(batches(rows.size, _FEW if search.layered else _BLOCK))
    with progress_bar("batches", len(blocks), progress, unit="batches") as bar:
        for block in blocks:
            for column, found in zip(best, _maximize_block(search, rows[block]), strict=True):
                column[rows[block]] = found
            bar.advance(1)
    return best


def _maximize_block(search: Search, block: npt.NDArray[np.intp]) -> Maxima:
    def objective(u: Array, which: npt.NDArray[np.intp]) -> Array:
        return search.objective(u, block[which])

    accuracy = margin_accuracy(search)
    if len(search.axes) == 1:
        return maximize_interval(objective, block.size, accuracy=accuracy)
    keep, candidates = 4 * len(search.axes), _candidates(search, block)
    face = search.at_infinite_reg(block)
    if face is None:
        return maximize_box(objective, candidates, keep=keep, accuracy=accuracy)
    at_infinity = _on_face(search, face, block)
    rays = _rays(search, at_infinity.u)
    if not search.layered:
        candidates = np.concatenate([rays, candidates], axis=1)
        best = maximize_box(objective, candidates, keep=keep, apart=_APART, accuracy=accuracy)
        return better(best, at_infinity, accuracy=accuracy)
    return _along_rays(objective, rays[:, ::2], at_infinity, accuracy)


def _along_rays(objective: Objective, rays: Array, at_infinity: Maxima, accuracy: float) -> Maxima:
    """Maxima where each value is dear: climbs from the best of the rays, where it exceeds infinite regularization."""
    problems, count, d = rays.shape
    values = objective(rays.reshape(-1, d), np.repeat(np.arange(problems), count)).reshape(problems, count)
    best = at_infinity._replace(range=np.maximum(at_infinity.range, np.ptp(values, axis=1)))
    rows = np.flatnonzero(np.max(values, axis=1) > at_infinity.value)
    if rows.size:
        first = rays[rows, np.argmax(values[rows], axis=1)][:, None]
        found = maximize_box(lambda u, which: objective(u, rows[which]), first, walls=_NEAR, accuracy=accuracy)
        infinite = Maxima(best.u[rows], best.value[rows], best.range[rows], best.converged[rows])
        found = better(found, infinite, accuracy=accuracy)
        for column, value in zip(best, found, strict=True):
            column[rows] = value
    return best


def margin_accuracy(search: Search) -> float:
    """Relative accuracy of the margins: explicit, closed up to one number, or from equations."""
    return 4e-16 if search.explicit else _CLOSED if search.uses_closed_form else _ACCURACY


def _candidates(search: Search, block: npt.NDArray[np.intp]) -> Array:
    """Starts of the climbs: the network as given, evenly spread points, and the diagonal, where all layers are equal."""
    d = len(search.axes)
    common = np.concatenate([spread(16 * d * d, d), np.repeat(np.linspace(0.02, 0.98, 17)[:, None], d, axis=1)])
    given = np.stack([search.place(axis, block) for axis in search.axes], axis=1)
    return np.concatenate([given[:, None], np.broadcast_to(common, (block.size, *common.shape))], axis=1)


def _on_face(search: Search, face: Search, block: npt.NDArray[np.intp]) -> Maxima:
    """Optima at infinite regularization, as points of the cube with one more coordinate."""
    best = maximize(face)
    values = face.values(best.u, np.arange(face.size))
    others = [axis for axis in search.axes if axis.name != "reg"]
    u = np.stack([axis.place(values[:, k], block) for k, axis in enumerate(others)], axis=1)
    return best._replace(u=np.insert(u, search.reg_axis, 1.0, axis=1))


def _rays(search: Search, u: Array) -> Array:
    """The filters that are best at infinite regularization, at every regularization."""
    rays = np.repeat(u[:, None], 33, axis=1)
    rays[:, :, search.reg_axis] = np.linspace(0.0, 1.0, 33)
    return rays
