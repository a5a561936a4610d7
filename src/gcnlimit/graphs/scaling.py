"""How features are scaled (rows of unit norm, as suits counts of words, or columns of unit variance), ordered and reduced."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gcnlimit._validation import one_of
from gcnlimit._values import Array, Integers, Mask
from gcnlimit.graphs.check import column_spread, counted, dense, is_sparse, squared

DENSE = 5e7  # numbers up to which a sparse matrix may become dense
RANK = 256  # principal directions to which many features are reduced
NUMBERS = 1.5e7  # in a view: large graphs have fewer directions
FAR = 1e6  # deviation from the median of a column, over the typical one, from which it is absurd,
FEW = 0.05  # in this share of the nodes at most: more of them are what the column is like
UNIT = 10.0  # entries of another unit are larger than typical ones by this,
SEEN = 0.01  # and their squares by this share of those of all others
Limits = tuple[Array, Array]  # least and largest value of each column


class Scaling(NamedTuple):
    """Rows of unit norm, columns of mean 0 and variance 1, or features as they are: `how` is "rows", "columns" or None."""

    how: str | None
    mean: Array  # of each column, 0 where it is not centred
    spread: Array  # by which it is then divided, before rows are
    limits: Limits | None = None  # of values that are not absurd

    @classmethod
    def of(cls, X: Any, how: str | None) -> Scaling:
        """Scaling of these features; ``"auto"`` takes rows if most features are 0, as counts of words are, else columns.

        Columns of another unit, as incomes beside words, would leave nothing of the others: they are brought to the size of
        these. Rows that few columns still dominate are scaled by columns. Those of a large sparse matrix are not centred, so
        that it remains sparse. Absurd values are brought near the others.
        """
        one_of("scale", how, "auto", "rows", "columns", None)
        if (limits := limits_of(X)) is not None:
            count = abs(X - within(X, limits)).astype(bool).sum()
            far = "more than a million times as far out as usual in the column"
            told = f"{counted(int(count), 'value')} of X {far}"
            warnings.warn(f"{told}; taken for twice the furthest of the others", stacklevel=5)
            X = within(X, limits)
        if how in ("rows", None):
            return cls(how, np.zeros(X.shape[1]), np.ones(X.shape[1]), limits)
        mean, spread, varies = column_spread(X)
        if how == "auto":
            filled = np.asarray((X != 0).sum(axis=0)).ravel()
            if 0 < filled.sum() <= 0.5 * X.shape[0] * X.shape[1]:
                other, size = _another_unit(X, filled)
                spreads = np.where(other & varies, spread / size, 1.0)
                rows = cls("rows", mean * other, spreads, limits)
                share = np.asarray(squared(rows(X)).sum(axis=0)).ravel()
                often = 2.0 * share[2 * filled > X.shape[0]].sum() <= share.sum()
                if often and share.sum() ** 2 > 3.0 * float(share @ share):
                    return rows  # spread over more than three columns, most of them often 0
        large = is_sparse(X) and X.shape[0] * X.shape[1] > DENSE
        return cls("columns", (not large) * mean, np.where(varies, spread, np.inf), limits)

    def __call__(self, X: Any) -> Any:
        """Scaled features."""
        X = within(X, self.limits)
        if is_sparse(X) and not (self.how == "columns" and self.mean.any()):
            means = sparse.csr_array(self.mean[None])[np.zeros(X.shape[0], int)]
            X = ((X - means) @ sparse.diags_array(1.0 / self.spread)).tocsr()
        else:
            X = (dense(X) - self.mean) / self.spread
        return unit_rows(X) if self.how == "rows" else X


def _another_unit(X: Any, filled: Integers) -> tuple[Mask, float]:
    """Which columns are of another unit than most, and the size of the others: root mean square, large ones counted more."""
    square = np.asarray(squared(X).sum(axis=0)).ravel()
    entry = square / np.maximum(filled, 1)
    other = entry > UNIT**2 * np.median(entry[filled > 0])
    other &= square > SEEN * square[~other].sum()
    other &= 5 * other.sum() <= np.count_nonzero(filled)  # else no unit is that of most
    rest = square[~other]
    return other, float(np.sqrt(rest @ rest / rest.sum() / X.shape[0]))


def limits_of(X: Any) -> Limits | None:
    """Twice the deviation of the furthest value that is not absurd, both ways from the median of a column; None if none is.

    One such value, as of a slip of the pen, would leave no variance to all others. The typical deviation is the median of those
    that are not 0, and more than rounding.
    """
    nodes, width = X.shape
    if is_sparse(X):
        sizes = np.abs(X.data[X.data != 0.0])
        apart = sizes.max(initial=0.0) > FAR * sizes.min(initial=np.inf)
        if 2 * sizes.size < nodes * width and not apart:
            return None
        X, suspects = X.tocsc(), np.arange(width)
    else:  # a sample clears most columns, the least deviation those of few values
        sample = X[:: max(1, nodes // 200)]
        middle = np.median(sample, axis=0)
        typical = np.median(np.abs(sample - middle), axis=0)
        reach = np.maximum(X.max(axis=0) - middle, middle - X.min(axis=0))
        suspects = np.flatnonzero(reach > 0.01 * FAR * typical)
        away = np.abs(X[:, suspects] - middle[suspects])
        least = away.min(axis=0, where=away > 0.0, initial=np.inf)
        suspects = suspects[reach[suspects] > FAR * least]
    limits = np.full((2, width), [[-np.inf], [np.inf]])
    for j in suspects:
        column = dense(X[:, [j]])[:, 0]
        middle = float(np.median(column))
        away = np.abs(column - middle)
        typical = float(np.median(away[away > 0.0])) if away.any() else 0.0
        absurd = away > FAR * max(typical, 1e-7 * abs(middle))
        if 0 < absurd.sum() <= max(FEW * nodes, 1):
            reach = min(2.0 * away[~absurd].max(), FAR * typical)
            limits[:, j] = middle - reach, middle + reach
    return (limits[0], limits[1]) if np.isfinite(limits).any() else None


def within(X: Any, limits: Limits | None) -> Any:
    """Features, each value at most at the limits of its column."""
    if limits is None:
        return X
    if not is_sparse(X):
        return np.clip(X, *limits)
    X = X.copy()
    X.data = np.clip(X.data, limits[0][X.indices], limits[1][X.indices])
    return X


def unit_rows(X: Any) -> Any:
    """Rows over their norms; those of norm 0 stay."""
    norms = np.sqrt(np.asarray(squared(X).sum(axis=1)).ravel())
    factor = np.asarray(1.0 / np.where(norms > 0, norms, 1.0), X.dtype)
    return (sparse.diags_array(factor) @ X).tocsr() if is_sparse(X) else X * factor[:, None]


def principal_axes(X: Any, whole: bool = True) -> Array | None:
    """Orthonormal directions, about those of the largest singular values; None if there are few columns.

    On small graphs they span all rows, if `whole`. Else two steps of subspace iteration start from the side of the features, so
    that the order of the nodes does not matter.
    """
    nodes, width = X.shape
    small = whole and nodes <= 4 * RANK
    rank = nodes if small else int(np.clip(NUMBERS / nodes, 64, RANK))
    if width <= rank:
        return None
    if small:
        return np.linalg.qr(dense(X.T))[0]
    basis = np.random.default_rng(0).standard_normal((width, rank)).astype(X.dtype)
    for _ in range(2):
        basis = np.linalg.qr(np.asarray(X.T @ (X @ basis)))[0]
    return basis
