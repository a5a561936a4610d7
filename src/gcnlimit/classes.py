r"""Classes as labels, as indices and as codes.

A label is what a user reads: :math:`\pm 1` for two equal classes, :math:`0 \dots C - 1` otherwise, NaN where it is unknown. An
index counts the classes from 0, so that :math:`+1` is class 0, and is -1 where the label is unknown. A code is the vector
:math:`y_k` of a class (Eq. 8.1), which enters the data and the training.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array

Classes = int | tuple[float, ...]
"""A number of equal classes, or the fractions of unequal ones."""


def class_fractions(classes: Classes) -> Array:
    """Fraction of the nodes in each class."""
    return np.full(classes, 1.0 / classes) if isinstance(classes, int) else np.array(classes)


def simplex_codes(fractions: Array) -> Array:
    r"""Codes :math:`y_k` of :math:`C - 1` entries with :math:`y_k \cdot y_l = \delta_{kl}/p_k - 1` (Eq. 8.1), one in each row.

    Coordinate :math:`a` separates class :math:`a` from those after it; two equal classes are :math:`\pm 1`.

    >>> simplex_codes(np.array([0.5, 0.5]))
    array([[ 1.],
           [-1.]])
    >>> y, p = simplex_codes(np.array([0.2, 0.3, 0.5])), np.array([0.2, 0.3, 0.5])
    >>> bool(np.allclose(y @ y.T, np.diag(1 / p) - 1)), bool(np.allclose(p @ y, 0))
    (True, True)
    """
    p, later = fractions, np.cumsum(fractions[::-1])[::-1] - fractions  # fractions of the classes after each
    basis = np.zeros((p.size, p.size - 1))
    for a, (own, rest) in enumerate(zip(p[:-1], later[:-1], strict=True)):
        basis[a, a] = np.sqrt(rest / (own + rest))
        basis[a + 1 :, a] = -np.sqrt(own * p[a + 1 :] / (rest * (own + rest)))
    return np.asarray(basis / np.sqrt(p)[:, None])


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
