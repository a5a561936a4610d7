"""Correlated features: the joint law of the noise of a feature and of its share of the signal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from gcnlimit._validation import as_real, average, broadcast
from gcnlimit._values import Array, Value, shown
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
    """

    variance: Array
    signal: Array
    weight: Array

    def __init__(
        self, variance: ArrayLike, signal: ArrayLike = 1.0, weight: ArrayLike = 1.0
    ) -> None:
        checked = {
            "variance": as_real("variance", variance, low=0, open_low=True),
            "signal": as_real("signal", signal, low=0),
            "weight": as_real("weight", weight, low=0, open_low=True),
        }
        shapes = {name: np.shape(level) for name, level in checked.items()}
        shape = broadcast(features=(1,), **shapes)
        if len(shape) > 1:
            raise ParameterError(f"variance, signal and weight have shape {shape}; give sequences")
        levels = {name: np.array(np.broadcast_to(level, shape)) for name, level in checked.items()}
        levels["weight"] /= np.sum(levels["weight"])
        mean = float(levels["signal"] @ levels["weight"])
        if abs(mean - 1.0) > 1e-8:
            raise ParameterError(
                f"signal has mean {mean:g}, not 1; divide it by that and multiply mu by it"
            )
        levels["signal"] /= mean
        for level in levels.values():
            level.flags.writeable = False
        self.__dict__.update(levels)

    @classmethod
    @cache
    def white(cls) -> Self:
        """Return the law of independent features of unit variance."""
        return cls(1.0)

    @cached_property
    def is_white(self) -> bool:
        """Whether all features are alike and of unit variance."""
        return bool(np.all(self.variance == 1.0) and np.all(self.signal == 1.0))

    @cached_property
    def moments(self) -> tuple[float, float, float]:
        r"""Moments :math:`\langle\sigma^2\rangle`, :math:`\langle\sigma^4\rangle` and :math:`\langle\Gamma\sigma^2\rangle`."""
        v = self.variance
        return self.average(v), self.average(v**2), self.average(self.signal * v)

    def average(self, values: ArrayLike) -> float:
        """Average over the features of one value for each level."""
        return average(values, self.weight)


def as_spectrum(features: object) -> Spectrum:
    """Return the law of the features, white ones for None."""
    if features is None:
        return Spectrum.white()
    if not isinstance(features, Spectrum):
        raise ParameterError(f"features = {shown(features)} is no law; write Spectrum(variance)")
    return features
