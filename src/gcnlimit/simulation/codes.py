r"""Classes as labels, as indices and as codes.

A label is what a user reads: :math:`\pm 1` for two equal classes, :math:`0 \dots C - 1` otherwise, NaN where it is unknown. An
index counts the classes from 0, so that :math:`+1` is class 0, and is -1 where the label is unknown. A code is the vector
:math:`y_k` of a class (Eq. 8.1), which enters the data and the training.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.csbm import Classes, class_fractions
from gcnlimit.numerics.simplex import simplex_codes

__all__ = [
    "Indices",
    "class_codes",
    "class_numbers",
    "code_moments",
    "codes_of",
    "indices_of",
    "labels_of",
    "one_hot_basis",
]

Indices = npt.NDArray[np.int64]


def class_codes(classes: Classes) -> Array:
    """Codes of the classes, one row each (Eq. 8.1)."""
    return simplex_codes(class_fractions(classes))


def one_hot_basis(classes: Classes) -> Array:
    r"""Orthonormal basis of the outputs that sum to 0, one for each class: the logits :math:`o = Eh` of outputs :math:`h`.

    It is the one closest to :math:`\sqrt{p_k}\, y_k`, which it is for equal classes: then :math:`o_k = h \cdot y_k/\sqrt C`.

    >>> E = one_hot_basis((0.2, 0.3, 0.5))
    >>> np.allclose(E.T @ E, np.eye(2)) and np.allclose(E.sum(axis=0), 0.0)
    True
    """
    near = np.sqrt(class_fractions(classes))[:, None] * class_codes(classes)
    left, _, right = np.linalg.svd(near - near.mean(axis=0), full_matrices=False)
    return np.asarray(left @ right)


def indices_of(labels: Array, classes: Classes) -> Indices:
    """Index of the class of each label, -1 where it is unknown.

    >>> indices_of(np.array([1.0, -1.0, np.nan]), 2)
    array([ 0,  1, -1])
    """
    known = ~np.isnan(labels)
    index = np.where(labels > 0, 0.0, 1.0) if classes == 2 else labels
    return np.where(known, np.nan_to_num(index), -1.0).astype(np.int64)


def labels_of(index: Indices, classes: Classes) -> Array:
    """Labels of known classes."""
    return np.where(index == 0, 1.0, -1.0) if classes == 2 else index.astype(float)


def class_numbers(labels: Array, classes: Classes) -> Indices:
    r"""Class :math:`0 \dots C - 1` of each label as other packages count, -1 where it is unknown; :math:`+1` is class 1.

    >>> class_numbers(np.array([1.0, -1.0, np.nan]), 2)
    array([ 1,  0, -1])
    """
    return np.where(np.isnan(labels), -1, labels > 0 if classes == 2 else labels).astype(np.int64)


def code_moments(marginals: Array, codes: Array) -> tuple[Array, Array, Array]:
    """Posterior means of the codes, and sums over the nodes of their second moments and of the squares of the means.

    `marginals` are the probabilities of the classes, a row for each node; the difference of the sums is that of the covariances.

    >>> means, second, squares = code_moments(np.array([[0.75, 0.25]]), class_codes(2))
    >>> means, second - squares
    (array([[0.5]]), array([[0.75]]))
    """
    means = marginals @ codes
    return means, (codes.T * np.sum(marginals, axis=0)) @ codes, means.T @ means


def codes_of(labels: Array, classes: Classes) -> Array:
    r"""Codes of the nodes, :math:`N \times (C - 1)`; 0 where the label is unknown."""
    index = indices_of(labels, classes)
    return np.where(index[:, None] < 0, 0.0, class_codes(classes)[index])
