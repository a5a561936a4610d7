r"""The best sum of filters at infinite regularization: another filter at test, labels as an input, weights for each filter.

Such a network is a sum of *pieces*: features :math:`\phi'(a) X w`, with weights trained through :math:`\phi`, and labels
:math:`\psi(a) R y` (Eq. 10.18). Among all sums of pieces the best has one of each kind, and its three filters are PageRank
(Eq. 10.19). Labels are an input, and not clamped between the layers: `best_linear` is better.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gcnlimit._values import Array
from gcnlimit.filters import PageRank
from gcnlimit.theory.points import Points
from gcnlimit.theory.transfer import best_margin

_SURE = 1e12  # odds of a label that count as certainty


class FilterSum(NamedTuple):
    r"""The best sum of filters, :math:`h = g'(a)\,[t\,Xw + (1 - t\,g(a))\,Ry]` with :math:`w = X^T g(a) R y/M` (Eq. 10.19).

    `train` is :math:`g`, `test` is :math:`g'`, `features` is :math:`t`. Taking :math:`g(a)Ry` away removes from the inputs what
    they owe to the very labels that the weights were trained on.
    """

    margin: Array
    train: PageRank
    test: PageRank
    features: Array


def best_filter_sum(points: Points) -> FilterSum:
    r"""Return the best sum of filters, labels as an input but not clamped, on a symmetric operator at infinite regularization.

    With :math:`\ell = \rho/(1-\rho)`, the best margin (Eq. 10.7) at inputs of squared margin :math:`\ell` gives :math:`q` and
    :math:`c` (Eqs. 10.9 and 10.5). At inputs of :math:`c^2 + \ell` it gives (Eq. 10.19)

    .. math:: k = c^2 + \ell + \lambda_e^2 \frac k{1+k}, \qquad m^2 = c^2 + \lambda_e^2 \frac k{1+k}, \qquad
              \theta' = \frac{\lambda_e}{1 + \lambda_e^2 + c^2 + \ell} .

    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    >>> best = best_filter_sum(Points.of(data, gl.GCN(gl.PageRank(0.0))))
    >>> two = gl.predict(data, gl.GCN(best.train, test_filter=best.test)).order_parameters
    >>> bool(best.margin > two.test_margin)  # without the labels as an input
    True
    """
    signal, mu = points.signal, points.mu
    odds = np.minimum(points.rho / np.maximum(1.0 - points.rho, 1e-300), _SURE)
    # labels alone first: what they say of the other nodes is what the weights are trained on
    taught = np.square(best_margin(np.sqrt(odds), signal))
    q = taught / (1.0 + taught)
    c2 = mu / points.alpha * mu * q / (1.0 + mu * q)
    k = np.square(best_margin(np.sqrt(c2 + odds), signal))
    theta, read = (signal / (1.0 + signal**2 + square) for square in (odds, c2 + odds))
    # PageRank is a geometric series in U_k of ratio p, which gives its average e(g)
    p = 2.0 * theta / (1.0 + np.sqrt(1.0 - 4.0 * theta**2))
    e = (1.0 + p**2) / (1.0 - signal * p)
    features = mu / points.alpha * q / ((1.0 + mu * q) * e * odds)
    margin = np.sqrt(c2 + signal**2 * k / (1.0 + k))
    return FilterSum(margin, PageRank(theta), PageRank(read), features)
