"""Features in the unit of the network: independent noise of variance 1, as they are or as whitened principal components."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import svds

from gcnlimit._validation import whole
from gcnlimit._values import Array, shown
from gcnlimit.errors import ParameterError
from gcnlimit.graphs.check import dense
from gcnlimit.graphs.scaling import Scaling

Counts = list[int | None]

NUMBERS = (15, 30, 60, 120, 240)  # of components
_BEYOND = 1.05  # of the edge of noise, whose largest value scatters by less on 200 nodes


class Inputs(NamedTuple):
    """Features scaled and centred, or their principal components, each of unit variance, the largest first.

    >>> X = np.random.default_rng(0).standard_normal((50, 4)) * [1.0, 2.0, 3.0, 4.0]
    >>> Z = Inputs.components(X, 2)(X)
    >>> bool(np.allclose(Z.T @ Z / 50, np.eye(2)))
    True
    """

    scaling: Scaling
    mean: Array
    unit: float
    directions: Array | None

    @classmethod
    def components(cls, X: Any, count: int) -> Inputs:
        """Largest principal components of scaled features."""
        scaling = Scaling.of(X, "auto")
        scaled = dense(scaling(X))
        mean = scaled.mean(axis=0)
        return cls(scaling, mean, 1.0, _directions(scaled - mean, count))

    @classmethod
    def features(cls, X: Any, *, centred: bool) -> Inputs:
        """All features, as they are, or centred and divided by one number, the root of their mean square."""
        scaling = Scaling.of(X, None)
        if not centred:
            return cls(scaling, np.zeros(X.shape[1]), 1.0, None)
        values = dense(scaling(X))
        mean = values.mean(axis=0)
        return cls(scaling, mean, float(np.sqrt(np.mean((values - mean) ** 2))) or 1.0, None)

    def __call__(self, X: Any, count: int | None = None) -> Array:
        """The first `count` of them, or all, on these nodes."""
        scaled = (dense(self.scaling(X)) - self.mean) / self.unit
        return scaled if self.directions is None else scaled @ self.directions[:, :count]


def inputs_of(X: Any, components: int | str | None, classes: int) -> tuple[Inputs, Counts]:
    """Inputs of the network, and the numbers of components to choose from, increasing; None stands for all features.

    ``"auto"`` takes all features where they are classes in white noise, as those of the model are.
    """
    nodes, width = X.shape
    most = max(min(nodes - 1, width), 1)  # that may have a variance
    counts: Counts
    if components == "auto":
        if is_white(X, classes):
            return Inputs.features(X, centred=True), [None]
        counts = [*sorted({n for n in (*NUMBERS, most) if n <= min(most, NUMBERS[-1])})]
    elif components is None:
        return Inputs.features(X, centred=False), [None]
    elif isinstance(components, str):
        use = "use 'auto', a whole number or None"
        raise ParameterError(f"components = {shown(components)} is not allowed; {use}")
    else:
        counts = [min(whole("components", components, low=1), most)]
    return Inputs.components(X, counts[-1] or 1), counts


def is_white(X: Any, classes: int) -> bool:
    r"""Whether no more principal values than classes can give, C - 1, are beyond those of independent noise.

    The largest eigenvalue of the covariance of noise of variance 1 is :math:`(1 + \sqrt{M/N})^2` (Marchenko and Pastur).

    >>> X = np.random.default_rng(0).standard_normal((400, 100))
    >>> [is_white(F, classes=2) for F in (X, X * np.linspace(0.5, 1.5, 100), X[:, :2], np.ones((400, 100)))]
    [True, False, False, False]
    """
    nodes, width = X.shape
    values = Inputs.features(X, centred=True)(X)
    if min(nodes, width) <= classes or not values.any():
        return False
    start = np.random.default_rng(0).standard_normal(min(values.shape))
    largest = svds(values, k=classes, v0=start, return_singular_vectors=False)
    return bool(min(largest) ** 2 / nodes <= _BEYOND * (1.0 + np.sqrt(width / nodes)) ** 2)


def _directions(centred: Array, count: int) -> Array:
    """Directions whose components have unit variance; those without variance are left out."""
    rank = min(centred.shape)
    if count < rank // 2 and centred.any():
        s, V = svds(centred, k=count, v0=np.random.default_rng(0).standard_normal(rank))[1:]
    else:
        s, V = np.linalg.svd(centred, full_matrices=False)[1:]
    largest = np.argsort(-s)[:count]
    kept = largest[s[largest] > 1e-6 * max(float(s.max()), 1e-300)]
    return np.asarray(V[kept].T * (np.sqrt(len(centred)) / s[kept]))
