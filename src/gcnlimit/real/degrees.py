r"""What a graph says of its degrees: their law, the signal once they are accounted for, and structure beyond both.

The expected adjacency without classes is :math:`D_iD_j/2m`, the modularity matrix its deviation. With propensities
:math:`\theta_i = D_i/d` and codes :math:`y` of the labels, an edge within the classes is counted against that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gcnlimit._values import Array
from gcnlimit.degrees import Degrees


def degree_law(adjacency: Any) -> Degrees:
    """Law of the degrees of a graph, in- and out-degree together if it is directed.

    >>> degree_law(np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]])).theta
    array([0.75, 1.5 ])
    """
    return Degrees(sum(_degrees(adjacency)))


def degree_variance(adjacency: Any) -> float:
    r"""Variance :math:`(\mathrm{var}\,D - d)/d^2` of the propensities, without the part that is chance; at least 0.

    Weights of edges count as if each were an edge of mean square weight.
    """
    degree = _degrees(adjacency)[0]
    mean, unit = float(np.mean(degree)), _square_sum(adjacency) / float(np.sum(degree))
    return max(float(np.var(degree)) - unit * mean, 0.0) / mean**2


def degree_signal(adjacency: Any, codes: Array) -> float:
    r"""Signal of a graph, its degrees accounted for, from the codes of its nodes, 0 where the label is not known (Eq. 11.17).

    With all labels and two classes it is :math:`2\sqrt d` times Newman's modularity.
    """
    out, into = _degrees(adjacency)
    total, nodes = float(np.sum(out)), len(out)
    labelled = int(np.count_nonzero(np.any(codes, axis=1)))
    own = np.sum(codes**2, axis=1)
    joined = float(np.sum(codes * (adjacency @ codes))) - float(own @ adjacency.diagonal())
    expected = (float((codes.T @ out) @ (codes.T @ into)) - float(own @ (out * into))) / total
    pairs = labelled * (labelled - 1) * codes.shape[1]
    return float(nodes / pairs * (joined - expected) / np.sqrt(total / nodes))


def noise_level(adjacency: Any) -> float:
    r"""Mean square :math:`\mathrm{tr}\,a_0^2/N` of the operator :math:`a_0 = (A - DD^T/2m)/\sqrt{D_iD_jN/2m}`, 1 in the model.

    More than 1 is structure beyond degrees and labels. Nodes without an edge are left out.
    """
    out, into = _degrees(adjacency)
    row, column = adjacency.nonzero()
    value = np.asarray(adjacency[row, column], float).ravel()
    total, pairs = float(np.sum(out)), float(np.count_nonzero(out)) * np.count_nonzero(into)
    return (total * float(np.sum(value**2 / (out[row] * into[column]))) - total) / pairs


def _degrees(adjacency: Any) -> tuple[Array, Array]:
    """Sums of the rows and of the columns."""
    return tuple(np.asarray(adjacency.sum(axis=axis), float).ravel() for axis in (1, 0))  # type: ignore[return-value]


def _square_sum(adjacency: Any) -> float:
    return float((adjacency.multiply(adjacency) if hasattr(adjacency, "multiply") else adjacency**2).sum())
