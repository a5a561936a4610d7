"""Evidence of the pairs of nodes without an edge: many, each weak, and so in their mean and reaction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gcnlimit._values import Array
from gcnlimit.simulation.codes import code_moments

__all__ = ["AbsentEdges"]


@dataclass(frozen=True, eq=False)
class AbsentEdges:
    r"""Mean field of the absent edges, to second order in the density of the graph.

    Each of the `observations` :math:`c` of a pair (two on a directed graph) gives :math:`\log(1 - \theta\, y_k \cdot y_l)`.
    The sum over all nodes, less the reaction of node :math:`i` on them, is (Eq. 9.3)

    .. math:: f_{ik} = -c\theta\, y_k \cdot S + c^2\theta^2\, y_k^T \Sigma\, \hat y_i
              - \tfrac12 y_k^T (c\theta^2\, T + c^2\theta^2\, \Sigma) y_k,

    with :math:`S = \sum_l \hat y_l`, the second moments :math:`T = \sum_l \langle y_l y_l^T \rangle` and the covariances
    :math:`\Sigma = T - \sum_l \hat y_l \hat y_l^T`. The reaction counts the neighbours too, to which the odds of their edges
    are relative, and it is these that prevail in its sign. All but the first term vanish as :math:`d/N`.

    Parameters
    ----------
    repulsion
        :math:`\theta`, of :class:`gcnlimit.simulation.edge_messages.Affinity`.
    observations
        :math:`c`, 2 on a directed graph, else 1.
    codes
        Codes :math:`y_k`, one in each row.
    """

    repulsion: float
    observations: float
    codes: Array

    def field(self, marginals: Array, old: Array) -> Array:
        """Logarithm of the evidence on each class of each node; `old` are the marginals one step before."""
        y, theta = self.codes, self.repulsion
        pull = self.observations * theta
        means, second, squares = code_moments(marginals, y)
        spread = second - squares
        square = np.sum((y @ (pull * theta * second + pull**2 * spread)) * y, axis=1)
        return np.asarray(-pull * (y @ np.sum(means, axis=0)) - 0.5 * square + pull**2 * (old @ y) @ spread @ y.T)

    def free_entropy(self, marginals: Array) -> float:
        """Bethe term: energy of the absent edges, less their field on the nodes."""
        pull = self.observations * self.repulsion
        means, second, squares = code_moments(marginals, self.codes)
        quadratic = pull * self.repulsion * np.sum(second**2) + pull**2 * np.sum((second - squares) ** 2)
        energy = -0.5 * pull * np.sum(np.sum(means, axis=0) ** 2) - 0.25 * quadratic
        return float(energy - np.sum(marginals * self.field(marginals, marginals)))
