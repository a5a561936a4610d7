r"""The classes of the nodes: how many, how large, and their labels, indices and codes.

A label is what a user reads: :math:`\pm 1` for two equal classes, :math:`0 \dots C - 1` otherwise, NaN where it is unknown. An
index counts the classes from 0, :math:`+1` being class 0 and :math:`-1` class 1, and is -1 where the label is unknown. A code
is the vector :math:`y_k` of a class (Eq. 8.1), which enters the data and the training.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import as_real, plain_array, whole
from gcnlimit._values import Array, shown
from gcnlimit.errors import ParameterError

Indices = npt.NDArray[np.int64]
_MOST = 10_000


@dataclass(frozen=True, eq=False)
class Classes:
    """A number of equal classes, or the fractions of unequal ones; equal to the number or tuple that it was made of.

    >>> three, two = Classes.of(3), Classes.of([0.2, 0.8])
    >>> three.count, three.equal, two.fractions.tolist(), two == (0.2, 0.8)
    (3, True, [0.2, 0.8], True)
    >>> Classes.of([0.5, 0.5])
    2
    """

    value: int | tuple[float, ...]

    @staticmethod
    def of(value: Any) -> Classes:
        """Return classes from their number or their fractions, checked."""
        if isinstance(value, Classes):
            return value
        if plain_array("classes", value).ndim == 0:
            return Classes(whole("classes", value, low=2, high=_MOST))
        fractions = np.asarray(as_real("classes", value, low=0, open_low=True))
        if fractions.ndim != 1 or fractions.size < 2 or abs(np.sum(fractions) - 1.0) > 1e-9:
            remedy = "give two or more fractions that sum to 1, or a number of equal classes"
            raise ParameterError(f"classes = {shown(value)} sum to {np.sum(fractions):g}; {remedy}")
        equal = np.ptp(fractions) < 1e-15
        return Classes(fractions.size if equal else tuple(fractions.tolist()))

    def __eq__(self, other: object) -> bool:
        return self.value == (other.value if isinstance(other, Classes) else other)

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return repr(self.value)

    @property
    def equal(self) -> bool:
        """Whether all have the same size."""
        return isinstance(self.value, int)

    @property
    def count(self) -> int:
        """Number :math:`C` of classes."""
        return self.value if isinstance(self.value, int) else len(self.value)

    @property
    def two(self) -> bool:
        r"""Whether there are two equal classes, whose labels are :math:`\pm 1`."""
        return self.value == 2

    @property
    def skewed(self) -> bool:
        """Whether there are two unequal classes: networks then have a free bias and a threshold to choose."""
        return self.count == 2 and not self.equal

    @cached_property
    def fractions(self) -> Array:
        """Fraction of the nodes in each class."""
        return np.full(self.count, 1.0 / self.count) if self.equal else np.array(self.value)

    @cached_property
    def codes(self) -> Array:
        """Codes of the classes, one row each (Eq. 8.1)."""
        return simplex_codes(self.fractions)

    @cached_property
    def one_hot_basis(self) -> Array:
        r"""Orthonormal basis of the outputs that sum to 0, one for each class: the logits :math:`o = Eh` of outputs :math:`h`.

        It is the one closest to :math:`\sqrt{p_k}\, y_k`, which it is for equal classes: then :math:`o_k = h \cdot y_k/\sqrt C`.
        """
        near = np.sqrt(self.fractions)[:, None] * self.codes
        left, _, right = np.linalg.svd(near - near.mean(axis=0), full_matrices=False)
        return np.asarray(left @ right)

    def index_of(self, labels: Array) -> Indices:
        """Index of the class of each label, -1 where it is unknown."""
        labelled = ~np.isnan(labels)
        index = np.where(labels > 0, 0.0, 1.0) if self.two else labels
        return np.where(labelled, np.nan_to_num(index), -1.0).astype(np.int64)

    def labels_of(self, index: Indices) -> Array:
        """Labels of known classes."""
        return np.where(index == 0, 1.0, -1.0) if self.two else index.astype(float)

    def codes_of(self, labels: Array) -> Array:
        r"""Codes of the nodes, :math:`N \times (C - 1)`; 0 where the label is unknown."""
        index = self.index_of(labels)
        return np.where(index[:, None] < 0, 0.0, self.codes[index])


def simplex_codes(fractions: Array) -> Array:
    r"""Codes :math:`y_k` of :math:`C - 1` entries with :math:`y_k \cdot y_l = \delta_{kl}/p_k - 1` (Eq. 8.1), one in each row.

    Coordinate :math:`a` separates class :math:`a` from those after it; two equal classes are :math:`\pm 1`.

    >>> y, p = simplex_codes(np.array([0.2, 0.3, 0.5])), np.array([0.2, 0.3, 0.5])
    >>> bool(np.allclose(y @ y.T, np.diag(1 / p) - 1)), bool(np.allclose(p @ y, 0))
    (True, True)
    """
    p = fractions
    later = np.cumsum(p[::-1])[::-1] - p  # fractions of the classes after each
    basis = np.zeros((p.size, p.size - 1))
    for a, (fraction, rest) in enumerate(zip(p[:-1], later[:-1], strict=True)):
        basis[a, a] = np.sqrt(rest / (fraction + rest))
        basis[a + 1 :, a] = -np.sqrt(fraction * p[a + 1 :] / (rest * (fraction + rest)))
    return np.asarray(basis / np.sqrt(p)[:, None])


def code_moments(
    marginals: Array, codes: Array, weight: Array | None = None
) -> tuple[Array, Array, Array]:
    """Posterior means of the codes, and sums over the nodes of their second moments and of the squares of the means.

    `marginals` are the probabilities of the classes, a row for each node; the difference of the sums is that of the covariances.
    With the `weight` of each node both sums are weighted.

    >>> means, second, squares = code_moments(np.array([[0.75, 0.25]]), Classes.of(2).codes)
    >>> means, second - squares
    (array([[0.5]]), array([[0.75]]))
    """
    means = marginals @ codes
    if weight is not None:
        return means, (codes.T * (weight @ marginals)) @ codes, (means.T * weight) @ means
    return means, (codes.T * np.sum(marginals, axis=0)) @ codes, means.T @ means
