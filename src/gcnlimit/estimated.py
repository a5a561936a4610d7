"""A model whose signals were estimated, with their standard errors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gcnlimit._validation import real
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.degrees import DegreeLaw
from gcnlimit.errors import ParameterError


@dataclass(frozen=True, eq=False, init=False)
class EstimatedCSBM(CSBM):
    r"""Contextual stochastic block model with standard errors of its two signals; predictions from it carry them on.

    Parameters
    ----------
    alpha, lam, mu, rho, directed, classes, degrees
        Those of `CSBM`, one number each.
    lam_error, mu_error
        Standard errors of :math:`\lambda` and :math:`\mu`, taken as independent; infinite if unknown.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> found = EstimatedCSBM(4, 1.0, 2.0, 0.1, lam_error=0.1, mu_error=0.3)
    >>> p = gl.predict(found, gl.GCN(gl.Diffusion(1.0)))
    >>> print(f"{p.test_accuracy:.3f} +- {p.standard_error.test_accuracy:.3f}")
    0.873 +- 0.037
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
        degrees: DegreeLaw | None = None,
    ) -> None:
        super().__init__(alpha, lam, mu, rho, directed, classes=classes, degrees=degrees)
        if self.shape:
            raise ParameterError(f"an estimate has parameters of shape {self.shape}; give single numbers")
        for name, error in (("lam_error", lam_error), ("mu_error", mu_error)):
            object.__setattr__(self, name, float(real(name, error, low=0, infinite=True)))

    def displaced(self, directions: int = 16) -> tuple[CSBM, Array]:
        r"""Models around the estimate (:math:`\mu` at least 0), and how many standard errors away they are.

        Four are one error away, as many as there are `directions` two errors, both signals moved at once; where two errors
        reach :math:`\lambda = 0`, two more have no signal in the graph.

        >>> models, distance = EstimatedCSBM(4, 1.0, 2.0, 0.1, lam_error=0.1, mu_error=3.0).displaced(directions=4)
        >>> models.mu, distance
        (array([2., 5., 2., 0., 2., 8., 2., 0.]), array([1., 1., 1., 1., 2., 2., 2., 2.]))
        """
        steps = [_circle(4, 1.0), _circle(directions, 2.0)]
        lam = float(self.lam)
        if abs(lam) < 2.0 * self.lam_error:
            none = -lam / self.lam_error
            rest = math.sqrt(4.0 - none**2)
            steps.append(np.array([[none, none], [rest, -rest]]))
        z = np.concatenate(steps, axis=1)
        mu = np.maximum(self.mu + self.mu_error * z[1], 0.0)
        return self.replaced(lam=lam + self.lam_error * z[0], mu=mu), np.linalg.norm(z, axis=0)

    def __repr__(self) -> str:
        errors = f", lam_error={self.lam_error:.3g}, mu_error={self.mu_error:.3g})"
        return "Estimated" + super().__repr__()[:-1] + errors


def _circle(points: int, radius: float) -> Array:
    angles = 2.0 * np.pi * np.arange(points) / points
    return radius * np.array([np.cos(angles), np.sin(angles)])
