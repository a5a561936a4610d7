"""A model whose signals were estimated, with their standard errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gcnlimit._validation import real
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError

__all__ = ["EstimatedCSBM"]


@dataclass(frozen=True, eq=False, init=False)
class EstimatedCSBM(CSBM):
    r"""Contextual stochastic block model with standard errors of its two signals; predictions from it carry them on.

    Parameters
    ----------
    alpha, lam, mu, rho, directed, classes
        Those of `CSBM`, one number each.
    lam_error, mu_error
        Standard errors of :math:`\lambda` and :math:`\mu`, taken as independent; infinite if unknown.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> found = EstimatedCSBM(4, 1.0, 2.0, 0.1, lam_error=0.1, mu_error=0.3)
    >>> p = gl.predict(found, gl.GCN(gl.Diffusion(1.0)))
    >>> print(f"{p.test_accuracy:.3f} +- {p.standard_error.test_accuracy:.3f}")
    0.873 +- 0.033
    """

    lam_error: float
    mu_error: float

    def __init__(
        self,
        alpha: float,
        lam: float,
        mu: float,
        rho: float,
        directed: bool = True,
        *,
        lam_error: float,
        mu_error: float,
        classes: int | ArrayLike = 2,
    ) -> None:
        super().__init__(alpha, lam, mu, rho, directed, classes=classes)
        if self.shape:
            raise ParameterError(f"an estimate has parameters of shape {self.shape}; give single numbers")
        for name, error in (("lam_error", lam_error), ("mu_error", mu_error)):
            object.__setattr__(self, name, float(real(name, error, low=0, infinite=True)))

    def displaced(self, axes: int = 0) -> CSBM:
        r"""Models at :math:`\lambda \pm \sigma_\lambda` and :math:`\mu \pm \sigma_\mu` (at least 0), along a first axis.

        >>> EstimatedCSBM(4, 1.0, 2.0, 0.1, lam_error=0.1, mu_error=3.0).displaced().mu
        array([2., 2., 5., 0.])
        """
        shape = (4,) + (1,) * axes
        lam = self.lam + self.lam_error * np.array([1.0, -1.0, 0.0, 0.0])
        mu = np.maximum(self.mu + self.mu_error * np.array([0.0, 0.0, 1.0, -1.0]), 0.0)
        return self.replaced(lam=lam.reshape(shape), mu=mu.reshape(shape))

    def __repr__(self) -> str:
        errors = f", lam_error={self.lam_error:.3g}, mu_error={self.mu_error:.3g})"
        return "Estimated" + super().__repr__()[:-1] + errors
