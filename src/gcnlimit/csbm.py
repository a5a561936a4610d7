"""The data: the contextual stochastic block model."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from gcnlimit._validation import broadcast, flag, real
from gcnlimit._values import Parameter, Value

__all__ = ["CSBM"]


@dataclass(frozen=True, eq=False, init=False)
class CSBM(Value):
    r"""Contextual stochastic block model in the large-size limit.

    :math:`N` nodes carry labels :math:`y_i = \pm 1`. The graph is, up to centring and scaling, the spiked matrix
    :math:`\frac{\lambda}{\sqrt N} y y^T + \Xi`; the features are :math:`X = \sqrt{\mu/N}\, y u^T + W` with
    :math:`M = N/\alpha` columns; the labels of a fraction :math:`\rho` of the nodes are revealed.
    Every parameter may be an array; arrays broadcast as in NumPy.

    Parameters
    ----------
    alpha
        Aspect ratio :math:`\alpha = N/M > 0`.
    lam
        Signal of the graph; negative for a heterophilic graph.
    mu
        Signal of the features, :math:`\mu \ge 0`.
    rho
        Fraction of labelled nodes, in :math:`[0, 1]`.
    directed
        Whether :math:`A_{ij}` and :math:`A_{ji}` are independent, as in the paper (the default),
        or the graph is drawn symmetric.

    Examples
    --------
    >>> data = CSBM(alpha=4, lam=[0.5, 1.0], mu=2, rho=0.1)
    >>> data.shape
    (2,)
    >>> data.snr
    array([1.5, 3. ])
    """

    alpha: Parameter
    lam: Parameter
    mu: Parameter
    rho: Parameter
    directed: bool

    def __init__(self, alpha: ArrayLike, lam: ArrayLike, mu: ArrayLike, rho: ArrayLike, directed: bool = True) -> None:
        checked = {
            "alpha": real("alpha", alpha, low=0, open_low=True),
            "lam": real("lam", lam),
            "mu": real("mu", mu, low=0),
            "rho": real("rho", rho, low=0, high=1),
            "directed": flag("directed", directed),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        _ = self.shape

    @property
    def shape(self) -> tuple[int, ...]:
        """Common shape of the parameters."""
        return broadcast(**{f.name: np.shape(getattr(self, f.name)) for f in fields(self)})

    def effective_signal(self, symmetrize: bool) -> Parameter:
        r"""Signal :math:`\lambda_e` of the operator that a network applies.

        :math:`\sqrt 2 \lambda` if a directed graph is symmetrized, else :math:`\lambda`.

        >>> CSBM(alpha=4, lam=1.0, mu=2, rho=0.1).effective_signal(symmetrize=True)
        1.4142135623730951
        """
        return np.sqrt(2.0).item() * self.lam if self.directed and symmetrize else self.lam

    @property
    def snr(self) -> Parameter:
        r"""Signal-to-noise ratio :math:`\lambda_s^2 + \mu^2/\alpha` of graph and features together.

        :math:`\lambda_s` is the signal of the symmetrized graph: :math:`\sqrt 2 \lambda` for a directed graph, since its
        two directions are independent observations, and :math:`\lambda` for a symmetric one. Without labels
        (:math:`\rho = 0`) the classes can be recovered better than by chance exactly if it exceeds 1.
        """
        graph = self.lam**2 * (2.0 if self.directed else 1.0)
        return graph + self.mu**2 / self.alpha
