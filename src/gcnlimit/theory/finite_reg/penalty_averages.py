r"""The averages of the penalty over one weight in its Gaussian field (Eq. 3.31).

A weight is :math:`w^* = \arg\min_w r\gamma(w) + \frac12 \hat V_w w^2 - Bw` in a field
:math:`B = \sqrt{\hat Q_w}\,\varsigma + \hat m_w u` of variance :math:`\hat Q_w + \hat m_w^2`. By Stein's lemma, in
:math:`\varsigma` and in :math:`u`,

.. math::
    V_w = \frac1\alpha \mathbb E \frac{\partial w^*}{\partial B}, \qquad m_w = \hat m_w V_w, \qquad
    Q_w = \frac1\alpha \mathbb E (w^*)^2 .
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gcnlimit._values import Array
from gcnlimit.numerics.gaussian import gaussian_grid
from gcnlimit.penalties import Penalty

__all__ = ["WeightLaw", "weight_law"]


class WeightLaw(NamedTuple):
    r"""Law of the weights: `inertia` :math:`= 1/V_w` and `shape` :math:`= Q_w/(\alpha V_w^2 (\hat Q_w + \hat m_w^2))`.

    The shape is 1 for squared weights.
    """

    inertia: Array
    shape: Array


def weight_law(penalty: Penalty, alpha: Array, reg: Array, V_hat: Array, variance: Array) -> WeightLaw:
    """Averages over a weight in a field of given variance."""
    pull = reg + V_hat  # a field of this size moves a weight by about 1
    v = reg / V_hat
    kinks = penalty.breakpoints(v)
    deviation = np.sqrt(variance) / pull
    at, weight = gaussian_grid(np.zeros_like(pull), deviation, None if kinks is None else kinks * V_hat / pull)
    omega, v = at * (pull / V_hat)[:, None], v[:, None]
    w = penalty.prox(omega, v)
    slope = np.sum(weight * penalty.prox_derivative(omega, v), axis=1) / V_hat
    square = np.sum(weight * w**2, axis=1)
    return WeightLaw(alpha / slope, square / (slope**2 * variance))
