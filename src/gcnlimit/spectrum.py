"""Correlated features: the joint law of the noise of a feature and of its share of the signal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from gcnlimit._validation import broadcast, real
from gcnlimit._values import Array, Value, brief
from gcnlimit.errors import ParameterError


@dataclass(frozen=True, eq=False, init=False)
class Spectrum(Value):
    r"""Law of the features, :math:`X = \sqrt{\mu/N}\, Y u^T + W\Sigma^{1/2}`, in the eigenbasis of the noise :math:`\Sigma`.

    There feature :math:`\nu` has noise of variance :math:`\sigma_\nu^2` and centroids
    :math:`u_\nu \sim \mathcal N(0, \Gamma_\nu)`. All that matters is how often each pair :math:`(\sigma^2, \Gamma)` occurs.

    Parameters
    ----------
    variance
        Variances :math:`\sigma^2 > 0` of the noise, in the units in which :math:`\mu` is given.
    signal
        Shares :math:`\Gamma \ge 0` of the signal, of mean 1 over the features; 1 by default.
    weight
        Fractions of the features, up to a common factor; equal by default.

    Examples
    --------
    >>> half = Spectrum(variance=[0.2, 1.8])
    >>> half.average(half.variance), round(half.average(half.variance**2), 12)
    (1.0, 1.64)
    >>> Spectrum.white()
    Spectrum(variance=array([1.]), signal=array([1.]), weight=array([1.]))
    """

    variance: Array
    signal: Array
    weight: Array

    def __init__(self, variance: ArrayLike, signal: ArrayLike = 1.0, weight: ArrayLike = 1.0) -> None:
        columns = (
            np.asarray(real("variance", variance, low=0, open_low=True)),
            np.asarray(real("signal", signal, low=0)),
            np.asarray(real("weight", weight, low=0, open_low=True)),
        )
        names = ("variance", "signal", "weight")
        shape = broadcast(features=(1,), **{n: c.shape for n, c in zip(names, columns, strict=True)})
        if len(shape) > 1:
            raise ParameterError(f"variance, signal and weight have shape {shape}; each must be a sequence")
        levels = [np.array(np.broadcast_to(c, shape)) for c in columns]
        levels[2] /= np.sum(levels[2])
        mean = float(levels[1] @ levels[2])
        if abs(mean - 1.0) > 1e-8:
            raise ParameterError(f"signal has mean {mean:g} over the features; divide it by that and multiply mu by it")
        levels[1] /= mean
        for name, level in zip(names, levels, strict=True):
            level.flags.writeable = False
            object.__setattr__(self, name, level)

    @classmethod
    def white(cls) -> Self:
        """Return the law of independent features of unit variance."""
        return cls(1.0)

    @classmethod
    def of_covariance(cls, covariance: ArrayLike, centroids: ArrayLike | None = None) -> Self:
        r"""Return the law of features of that noise; `centroids`, one column each, say where the signal is.

        Parameters
        ----------
        covariance
            The matrix :math:`\Sigma`, symmetric and positive definite.
        centroids
            Directions of the signal, rows along the features: :math:`\Gamma_\nu` is the sum of the squares of their components
            on the eigenvector :math:`\nu`, over the mean; by default the signal is spread evenly.

        Examples
        --------
        >>> law = Spectrum.of_covariance([[2.0, 1.0], [1.0, 2.0]], centroids=[1.0, 1.0])
        >>> law.variance.round(12), law.signal.round(12)
        (array([1., 3.]), array([0., 2.]))
        """
        matrix = np.asarray(real("covariance", covariance))
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.allclose(matrix, matrix.T):
            raise ParameterError(f"covariance of shape {matrix.shape} must be a symmetric square matrix")
        variance, basis = np.linalg.eigh(matrix)
        if variance[0] <= 0.0:
            raise ParameterError(f"covariance has the eigenvalue {variance[0]:g}; add a multiple of the identity to it")
        if centroids is None:
            return cls(variance)
        directions = np.asarray(real("centroids", centroids))
        if directions.ndim not in (1, 2) or len(directions) != len(matrix) or not np.any(directions):
            raise ParameterError(
                f"centroids have shape {directions.shape}; give a row for each of the {len(matrix)} features, not all 0"
            )
        share = np.sum((basis.T @ directions.reshape(len(matrix), -1)) ** 2, axis=1)
        return cls(variance, share / np.mean(share))

    @classmethod
    def of_features(cls, features: ArrayLike, labels: ArrayLike) -> Self:
        r"""Return the law estimated from features, rows along the nodes, and the class of each node.

        The noise is the covariance within the classes, the signal that of their means less what noise adds to it. The
        eigenvalues of a sample covariance spread by :math:`\sqrt{M/N}`, so that many more nodes than features are needed.

        >>> rng = np.random.default_rng(0)
        >>> law = Spectrum.of_features(rng.standard_normal((4000, 2)) * [0.5, 2.0], np.arange(4000) % 3)
        >>> bool(np.allclose(law.variance, [0.25, 4.0], rtol=0.1))
        True
        """
        X = np.asarray(real("features", features))
        _, kind, size = np.unique(np.asarray(labels), return_inverse=True, return_counts=True)
        if X.ndim != 2 or len(X) != kind.size or size.size < 2 or len(X) <= X.shape[1] + size.size:
            raise ParameterError(
                f"features of shape {X.shape} and {kind.size} labels of {size.size} classes do not say a covariance; "
                "give one row for each label, at least two classes, and more rows than columns and classes"
            )
        member = np.eye(size.size)[kind]
        mean = member.T @ X / size[:, None]
        rest = X - mean[kind]
        variance, basis = np.linalg.eigh(rest.T @ rest / (len(X) - size.size))
        between = np.sqrt(size / len(X))[:, None] * (mean - X.mean(axis=0)) @ basis
        noise = variance * (size.size - 1.0) / len(X)
        share = np.maximum(np.sum(between**2, axis=0) - noise, 0.0)
        return cls(variance, share / np.mean(share) if np.any(share > 0.0) else 1.0)

    @cached_property
    def is_white(self) -> bool:
        """Whether all features are alike and of unit variance."""
        return bool(np.all(self.variance == 1.0) and np.all(self.signal == 1.0))

    @cached_property
    def moments(self) -> tuple[float, float, float]:
        r"""Moments :math:`\langle\sigma^2\rangle`, :math:`\langle\sigma^4\rangle` and :math:`\langle\Gamma\sigma^2\rangle`.

        >>> Spectrum([0.5, 1.5], signal=[2.0, 0.0]).moments
        (1.0, 1.25, 0.5)
        """
        return self.average(self.variance), self.average(self.variance**2), self.average(self.signal * self.variance)

    def average(self, values: ArrayLike) -> float:
        """Average over the features of one value for each level."""
        return float(np.asarray(values) @ self.weight)


def as_spectrum(features: Spectrum | None) -> Spectrum:
    """Return the law of the features, white ones for None."""
    if features is None:
        return Spectrum.white()
    if not isinstance(features, Spectrum):
        raise ParameterError(
            f"features = {brief(features)} are not a Spectrum; write features=Spectrum(variance, signal, weight)"
        )
    return features
