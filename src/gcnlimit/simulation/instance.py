"""One draw of the contextual stochastic block model: what is observed, and what is hidden."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from gcnlimit._values import Array, Brief
from gcnlimit.csbm import CSBM
from gcnlimit.simulation import disk, exchange
from gcnlimit.simulation.given import observe
from gcnlimit.simulation.observation import Features, Graph, Latents, Mask, Observation

__all__ = ["Instance"]


@dataclass(frozen=True, eq=False)
class Instance(Brief):
    """One draw of the model, its `observation` apart from its `latents`; `sample` draws it, `of` takes your own graph.

    Parameters
    ----------
    observation
        What a learner sees: graph, features, and the labels of some nodes.
    latents
        What it must not see: all labels, and the direction of the features.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), nodes=200, degree=20, seed=0)
    >>> i.features.shape, bool((i.observation.train_labels[~i.train_mask] == 0).all())
    ((200, 50), True)
    """

    observation: Observation
    latents: Latents

    @staticmethod
    def of(
        adjacency: Any,
        features: Any,
        labels: npt.ArrayLike,
        train_mask: npt.ArrayLike | None = None,
        *,
        data: CSBM | None = None,
        degree: float | None = None,
    ) -> Instance:
        r"""Instance of your own graph.

        Parameters
        ----------
        adjacency
            SciPy sparse matrix, square, symmetric or not. Edges may have weights of any unit and positive sum: they are divided
            by :math:`\sum A_{ij}^2 / \sum A_{ij}`, so that the noise of the operator has unit variance and equal weights count
            as 1; entries given twice add up.
        features
            Matrix of :math:`N \times M`, best with columns of mean 0 and variance 1; ``float32`` is kept. It is copied.
        labels
            Label :math:`\pm 1` of every node, or :math:`0 \dots C - 1` if `data` has other classes than two equal ones; NaN where
            it is unknown. Only those of the labelled nodes are observed; the others measure.
        train_mask
            Which nodes are labelled: booleans; by default those of known label.
        data
            The model; by default that of `estimate` from the labelled nodes, with standard errors that predictions carry on.
        degree
            Mean degree :math:`d` that centres the adjacency; by default the number of edges over that of nodes, or the sum of
            the weights, divided as above, over that of nodes.

        Examples
        --------
        >>> import gcnlimit as gl
        >>> i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), nodes=1000, degree=30, seed=0)
        >>> mine = gl.Instance.of(i.adjacency, i.features, i.labels, i.train_mask)
        >>> print(f"lam {mine.data.lam:.1f} +- {mine.data.lam_error:.1f}, mu {mine.data.mu:.1f} +- {mine.data.mu_error:.1f}")
        lam 1.5 +- 0.3, mu 1.7 +- 1.1
        >>> p = gl.predict(mine.data, gl.GCN(gl.Diffusion(1.0)))
        >>> print(f"{p.test_accuracy:.2f} +- {p.standard_error.test_accuracy:.2f}")
        0.97 +- 0.09
        """
        return Instance(*observe(adjacency, features, labels, train_mask, data, degree))

    @property
    def data(self) -> CSBM:
        """The model."""
        return self.observation.data

    @property
    def adjacency(self) -> Graph:
        """Adjacency matrix (SciPy CSR), or a dense Gaussian matrix."""
        return self.observation.adjacency

    @property
    def features(self) -> Features:
        """Features of the nodes."""
        return self.observation.features

    @property
    def train_mask(self) -> Mask:
        """Which nodes are labelled."""
        return self.observation.train_mask

    @property
    def labels(self) -> Array:
        r"""Labels of all nodes: :math:`\pm 1` for two equal classes, else :math:`0 \dots C - 1`; NaN where unknown."""
        return self.latents.labels

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one ``.npz`` file."""
        disk.save(self.observation, self.latents, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Instance:
        """Read what `save` wrote; every field is checked as in `of`."""
        return Instance(*disk.load(path))

    def to_networkx(self) -> Any:
        r"""NetworkX graph with ``label``, 1 and 0 for :math:`\pm 1`, and ``train`` on its nodes (needs networkx)."""
        return exchange.to_networkx(self.observation, self.latents)

    def to_pyg(self) -> Any:
        r"""PyTorch Geometric ``Data``; labels :math:`\pm 1` become classes 1 and 0 (needs torch and torch_geometric)."""
        return exchange.to_pyg(self.observation, self.latents)
