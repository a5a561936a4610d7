"""Features in the unit of the network: whitened principal components."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import svds

from gcnlimit._values import Array
from gcnlimit.given.inputs import dense
from gcnlimit.real.views import Scaling

__all__ = ["Components", "most_components", "numbers_of_components"]

NUMBERS = (15, 30, 60, 120, 240)


class Components(NamedTuple):
    """Principal components of scaled features, each of unit variance, the largest first; all features if there are none.

    >>> X = np.random.default_rng(0).standard_normal((50, 4)) * [1.0, 2.0, 3.0, 4.0]
    >>> Z = Components.of(X, 2)(X)
    >>> bool(np.allclose(Z.T @ Z / 50, np.eye(2)))
    True
    """

    scaling: Scaling
    mean: Array
    directions: Array | None

    @classmethod
    def of(cls, X: Any, count: int | None) -> Components:
        """Components of these features; None takes the features as they are."""
        scaling = Scaling.of(X, None if count is None else "auto")
        scaled = dense(scaling(X))
        mean = scaled.mean(axis=0)
        if count is None:
            return cls(scaling, np.zeros_like(mean), None)
        return cls(scaling, mean, _directions(scaled - mean, count))

    def __call__(self, X: Any, count: int | None = None) -> Array:
        """The first `count` of them, or all, on these nodes."""
        scaled = dense(self.scaling(X)) - self.mean
        return scaled if self.directions is None else scaled @ self.directions[:, :count]


def most_components(X: Any) -> int:
    """Most components that may have a variance: there are no more than features, and fewer than nodes."""
    return max(min(int(X.shape[0]) - 1, int(X.shape[1])), 1)


def numbers_of_components(X: Any) -> list[int]:
    """Numbers among which the classifier chooses: the usual ones that nodes and features allow.

    >>> numbers_of_components(np.zeros((100, 50)))
    [15, 30, 50]
    """
    most = most_components(X)
    return [*(number for number in NUMBERS if number < most), *([most] if most <= NUMBERS[-1] else [])]


def _directions(centred: Array, count: int) -> Array:
    """Directions whose components have unit variance; those without variance are left out."""
    rank = min(centred.shape)
    if count < rank // 2:
        start = np.random.default_rng(0).standard_normal(rank)
        _, s, V = svds(centred, k=count, v0=start)
        order = np.argsort(-s)
        s, V = s[order], V[order]
    else:
        _, s, V = np.linalg.svd(centred, full_matrices=False)
        s, V = s[:count], V[:count]
    kept = s > 1e-6 * max(float(s[0]), 1e-300)
    return np.asarray(V[kept].T * (np.sqrt(len(centred)) / s[kept]))
