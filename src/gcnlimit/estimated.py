"""A model that was estimated: its parameters with their standard errors, and the models around it.

An estimate is a `CSBM` with three more fields. Every function takes it for the data, reads its signals, and changes them by
`replaced`, which keeps the errors; a record that held a model would have to be unwrapped wherever data go in. What carries errors
on is one decorator (`gcnlimit.theory.uncertainty`), which puts `model`, without them, in its place; nothing else asks for them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gcnlimit._validation import as_real, broadcast, plain_array
from gcnlimit._values import Array, shown
from gcnlimit.classes import Classes
from gcnlimit.csbm import CSBM
from gcnlimit.degrees import DegreeLaw
from gcnlimit.errors import ParameterError
from gcnlimit.spectrum import Spectrum


@dataclass(frozen=True, eq=False, init=False)
class EstimatedCSBM(CSBM):
    r"""Contextual stochastic block model whose parameters have standard errors, which predictions include.

    Those of :math:`\lambda` and :math:`\mu` are taken as independent, and are infinite if unknown. Class fractions have an error
    from `counts`, the labelled nodes of each class; None if they are known. `model` is the model without its errors; functions
    that do not propagate errors use it.

    >>> import gcnlimit as gl
    >>> data = EstimatedCSBM(4, 1.0, 2.0, 0.1, lam_error=0.1, mu_error=0.3)
    >>> p = gl.predict(data, gl.GCN(gl.Diffusion(1.0)))
    >>> print(f"{p.test_accuracy:.3f} +- {p.standard_error.test_accuracy:.3f}")
    0.873 +- 0.037
    >>> data.model
    CSBM(alpha=4.0, lam=1.0, mu=2.0, rho=0.1, directed=True)
    """

    lam_error: float
    mu_error: float
    counts: tuple[int, ...] | None

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
        classes: Classes | int | ArrayLike = 2,
        features: Spectrum | None = None,
        degrees: DegreeLaw | None = None,
        noise: float = 0.0,
        counts: ArrayLike | None = None,
    ) -> None:
        laws: dict[str, Any] = {"classes": classes, "features": features, "degrees": degrees}
        super().__init__(alpha, lam, mu, rho, directed, **laws, noise=noise)
        if counts is not None:
            counts = tuple(np.ravel(plain_array("counts", counts)).tolist())
            if np.size(as_real("counts", counts, low=0)) != self.classes.count:
                needed = f"{self.classes.count} numbers, one for each class"
                raise ParameterError(f"counts = {shown(counts)} must be {needed}")
        given = {"lam_error": lam_error, "mu_error": mu_error}
        errors = {name: as_real(name, x, low=0, infinite=True) for name, x in given.items()}
        if shape := broadcast(signals=self.shape, **{k: np.shape(x) for k, x in errors.items()}):
            told = f"parameters have shape {shape}"
            raise ParameterError(f"{told}; give single numbers, or take those of data.model")
        self.__dict__.update(errors, counts=counts)

    @cached_property
    def model(self) -> CSBM:
        """The model without its errors."""
        return CSBM(**{f.name: getattr(self, f.name) for f in fields(CSBM)})

    def displaced(self, directions: int = 16) -> tuple[CSBM, Array]:
        r"""Models around the estimate (:math:`\mu` at least 0), and how many standard errors away they are.

        Four are one error away, as many as there are `directions` two errors, both signals moved at once; where two errors
        reach :math:`\lambda = 0`, two more have no signal in the graph.
        """
        steps = []
        for radius, count in ((1.0, 4), (2.0, directions)):
            turn = 2.0 * np.pi * np.arange(count) / count
            steps.append(radius * np.array([np.cos(turn), np.sin(turn)]))
        lam = float(self.lam)
        if abs(lam) < 2.0 * self.lam_error:
            none = -lam / self.lam_error
            rest = math.sqrt(4.0 - none**2)
            steps.append(np.array([[none, none], [rest, -rest]]))
        z = np.concatenate(steps, axis=1)
        moved = lam + self.lam_error * z[0], np.maximum(self.mu + self.mu_error * z[1], 0.0)
        return self.model.having(lam=moved[0], mu=moved[1]), np.linalg.norm(z, axis=0)

    def other_fractions(self) -> list[CSBM]:
        r"""Models of alike degrees and right labels around the class fractions of the labelled nodes.

        Means over them are those over the posterior of the fractions given the counts (Dirichlet, :math:`n_c + 1/2`) to second
        order: :math:`2(C-1)` of them are :math:`\sqrt{C-1}` standard deviations away, along the axes of the covariance.
        """
        weights = np.array(self.counts) + 0.5
        p = weights / weights.sum()
        values, axes = np.linalg.eigh((np.diag(p) - np.outer(p, p)) / (weights.sum() + 1.0))
        steps = (np.sqrt((p.size - 1) * values[1:]) * axes[:, 1:]).T
        # steps in the logarithm, so that no fraction becomes negative
        moved = p * np.exp(np.concatenate([steps, -steps]) / p)
        alike = self.model.having(degrees=None, noise=0.0)
        return [alike.having(classes=Classes.of(q / q.sum())) for q in moved]

    def __repr__(self) -> str:
        errors = f", lam_error={self.lam_error:.3g}, mu_error={self.mu_error:.3g})"
        return "Estimated" + super().__repr__()[:-1] + errors
