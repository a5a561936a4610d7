r"""How the weights are trained, if not to the end: gradient flow or descent from zero weights, stopped after some time.

From :math:`w(0) = 0`, on the objective :math:`\sum_{i \in R} \frac12 (1 - y_i h_i)^2 + \frac r2 |w|^2` (Eq. 1.4), whose matrix of
second derivatives is :math:`H`, the weights are :math:`w = \frac{1 - P(H)}H b` with the part :math:`P` of each
eigenvalue that is not yet learned (Eq. 13.1). The minimizer has :math:`P = 0`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy
from numpy.typing import ArrayLike

from gcnlimit._validation import Numbers, as_real
from gcnlimit._values import Array, Parameter, shown
from gcnlimit.errors import ParameterError

_MEET = 1e-7  # distance of two roots that are as good as one
_ZERO = -600.0  # logarithm of a number that is as good as 0


class Training(Numbers, ABC):
    """A way to train from zero weights; its parameters may be arrays, which broadcast."""

    tuned: ClassVar[tuple[str, ...]]
    """Names of those that `tune` chooses; the last is in the unit of time."""

    replaced = replace
    """Same training with other values of some parameters, which are checked."""

    def _mapped(self, change: Callable[[Array], Any]) -> Self:
        # single numbers too: each point of a calculation has its own
        arrays = {name: np.asarray(getattr(self, name)) for name in self.names}
        return self.having(**{name: change(array) for name, array in arrays.items()})

    def in_units(self, unit: Array) -> Self:
        """Training on an objective whose second derivatives are `unit` times as large, as seen by the first."""
        return self.having(**{self.tuned[-1]: getattr(self, self.tuned[-1]) * unit})

    @abstractmethod
    def learned(self, x: Array) -> Array:
        r"""Factor :math:`(1 - P(x))/x` in place of the :math:`1/x` of the minimizer, at real or complex eigenvalues `x`.

        Their axis comes after those of the parameters.
        """


@dataclass(frozen=True, eq=False, init=False)
class GradientFlow(Training):
    r"""Gradient flow, :math:`\dot w = -\nabla`, for a `time` :math:`t`: :math:`P(x) = e^{-tx}`.

    It is the limit of descent with small steps: :math:`t` is the number of steps times their size; infinity gives the minimizer.

    >>> GradientFlow(2.0).learned(np.array([1e-9, 1.0])).round(4)
    array([2.    , 0.8647])
    """

    names = tuned = ("time",)
    time: Parameter

    def __init__(self, time: ArrayLike) -> None:
        self.__dict__.update(time=as_real("time", time, low=0, open_low=True, infinite=True))

    def learned(self, x: Array) -> Array:
        time = np.asarray(self.time)[..., None]
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(time), 1.0 / x, -np.expm1(-time * x) / x)


@dataclass(frozen=True, eq=False, init=False)
class GradientDescent(Training):
    r"""Full-batch gradient descent with a step size and, optionally, momentum (Polyak's heavy ball).

    .. math:: w_{n+1} = w_n - \eta \nabla + \beta (w_n - w_{n-1}).

    The number of `steps` :math:`n` is that of epochs. The step size, `rate` :math:`\eta`, is on the sum of the losses of the
    labelled nodes: a learning rate `lr` on their *mean* is ``rate = lr / rho`` (see `from_epochs`). The `momentum`
    :math:`\beta` is at least 0 and below 1.

    >>> descent = GradientDescent(steps=[1, 100], rate=0.5)
    >>> descent.learned(np.array([0.2])).round(4)  # one step, and nearly the end
    array([[0.5   ],
           [4.9999]])
    """

    names = ("steps", "rate", "momentum")
    tuned = ("steps", "rate")
    steps: Parameter
    rate: Parameter
    momentum: Parameter

    def __init__(self, steps: ArrayLike, rate: ArrayLike, momentum: ArrayLike = 0.0) -> None:
        steps = as_real("steps", steps, low=1)
        if np.any(np.mod(steps, 1.0) != 0.0):
            raise ParameterError(f"steps = {steps!r} must be whole numbers; round them")
        momentum = as_real("momentum", momentum, low=0)
        if (largest := np.max(momentum)) >= 1.0:
            raise ParameterError(f"momentum = {largest:g} never comes to rest; it must be below 1")
        rate = as_real("rate", rate, low=0, open_low=True)
        self.__dict__.update(steps=steps, rate=rate, momentum=momentum)
        self.shape  # noqa: B018 - refuses shapes that do not broadcast

    @classmethod
    def from_epochs(
        cls, epochs: ArrayLike, learning_rate: ArrayLike, rho: ArrayLike, momentum: ArrayLike = 0.0
    ) -> GradientDescent:
        r"""Descent on the mean loss :math:`\frac1{|R|}\sum_{i \in R}\frac12(1 - y_ih_i)^2` of a fraction `rho` of the nodes.

        The network is :math:`h = g(a)X\theta` on features of unit variance, and :math:`\theta = w/\sqrt N`; a weight decay
        on :math:`\theta` is ``reg / rho``.
        """
        rho = as_real("rho", rho, low=0, high=1, open_low=True)
        rate = as_real("learning_rate", learning_rate, low=0, open_low=True)
        return cls(epochs, np.asarray(rate) / rho, momentum)

    def learned(self, x: Array) -> Array:
        r"""Factor from the roots :math:`p, q` of the recursion :math:`P = (1 - b)p^n + bq^n`, :math:`b = -q\frac{1 - p}{p - q}`.

        The larger root is near 1 where `x` is small: :math:`1 - p = \eta x/(1 - q)` keeps its digits.
        """
        steps, rate, momentum = (np.asarray(getattr(self, name))[..., None] for name in self.names)
        rate, momentum = (y if np.ptp(y) else y.ravel()[:1] for y in (rate, momentum))
        y, focus = np.asarray(rate * x, complex), np.sqrt(momentum)
        half = 0.5 * (1.0 + momentum - y)
        root = 0.5 * np.sqrt((1.0 - focus) ** 2 - y) * np.sqrt((1.0 + focus) ** 2 - y)
        root = np.where(np.abs(root) < _MEET, _MEET, root)
        p = half + np.where((half * root.conj()).real >= 0.0, root, -root)
        q = momentum / p
        gap = y / (1.0 - q)
        b = -q * gap / (p - q)
        with np.errstate(all="ignore"):  # a power of 0, and steps that diverge
            rise = np.fmax(steps * scipy.special.log1p(-gap), _ZERO)
            grown = scipy.special.expm1(rise)
            other = np.where(grown == -1.0, 0.0, momentum**steps / (1.0 + grown))
            factor = (b / x) * (1.0 - other) - ((1.0 - b) / x) * grown
        factor = np.broadcast_to(factor, np.broadcast_shapes((*self.shape, 1), np.shape(x)))
        return np.asarray(factor if np.iscomplexobj(x) else factor.real)


def as_training(training: object) -> Training | None:
    """Training that was asked for; None is to the end."""
    if training is None or isinstance(training, Training):
        return training
    raise ParameterError(
        f"training = {shown(training)} is not a way to train; give GradientDescent(steps, rate), "
        "GradientFlow(time), or None to train to the end"
    )


END = GradientFlow(math.inf)
"""Training to the end."""
