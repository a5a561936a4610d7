r"""Closed limits of the accuracy at infinite regularization, in one place.

Each is independent of the general formulas and serves as their check; arguments broadcast. They return the *margin*
:math:`z`, which does not depend on the classes; the accuracy is :math:`\Phi(z)`, or :math:`\Phi_C(z)` for :math:`C` equal
classes (Eq. 8.3). Correlated features enter through the moments :math:`s_1, s_2, g_1` of Eq. 8.15, all 1 for white ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit import scope
from gcnlimit._validation import as_real, broadcast, check_types, flag, whole
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM, SpikedOperator
from gcnlimit.errors import ParameterError
from gcnlimit.numerics.roots import first_root
from gcnlimit.theory.ceiling.posterior import posterior
from gcnlimit.theory.points import check_range

__all__ = ["HardPhase", "constant_residual_limit", "hard_phase", "long_diffusion_limit"]
__all__ += ["no_residual_margin", "one_layer_rate", "pca_margin", "pca_rate"]
__all__ += ["short_diffusion_margin"]

_DEEPEST = 1000  # network of which the sums over the layers are taken
_LARGEST = 1e100  # of numbers whose squares are needed


def pca_margin(signal: npt.ArrayLike) -> Array:
    r"""Margin of principal component analysis on the graph alone, :math:`\sqrt{\lambda_e^2 - 1}` above the transition, else 0.

    The leading eigenvector has overlap :math:`q = \sqrt{1 - \lambda_e^{-2}}` with the labels (Eq. 4.14).

    >>> pca_margin([0.5, 1.0, np.sqrt(5)])
    array([0., 0., 2.])
    """
    size = np.maximum(np.abs(np.asarray(as_real("signal", signal))), 1.0)
    # a product of roots: the square of a large signal overflows, a difference of squares cancels
    return np.asarray(np.sqrt(size - 1.0) * np.sqrt(size + 1.0))


def no_residual_margin(data: CSBM, depth: int) -> Array:
    r"""Margin of a network without residual connections (:math:`c = 0`) on a directed graph, at any depth :math:`K \ge 1`.

    :math:`z = \lambda m_{K-1} / \sqrt{Q_{K-1,K-1}}` with, up to a common factor,

    .. math::
        m_k &= \mu\lambda^{K+k} + s_1 \sum_{l=0}^{k} \lambda^{K-k+2l}, \\
        Q_{kk} &= \frac{\alpha}{\rho}\Big( s_2 + \rho g_1 \mu\lambda^{2K} + \rho s_2 \sum_{l=1}^K \lambda^{2l} \Big)
                  + \sum_{j=0}^k \Big( \frac{s_1^2}\rho + s_1^2 \sum_{l=1}^{K-1-j} \lambda^{2l} + m_j^2 \Big).

    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    >>> exact = gl.predict(data, gl.GCN(gl.Residual([0.0, 0.0]), symmetrize=False)).order_parameters.test_margin
    >>> abs(no_residual_margin(data, depth=2).item() - exact) < 1e-12
    True
    """
    _check("no_residual_margin", data)
    alpha, lam, mu, rho = (np.asarray(p) for p in (data.alpha, data.lam, data.mu, data.rho))
    s1, s2, g1 = data.features.moments
    K = whole("depth", depth, low=1, high=_DEEPEST)
    size = np.max(np.abs(lam))
    if size ** (2 * K) * np.max(mu + 1.0) > _LARGEST:
        told = f"lam = {size:g} to the power of the depth {K} is out of range"
        raise ParameterError(f"{told}; take a weaker signal or fewer layers")

    def power_sum(count: int) -> Array:
        return np.asarray(np.sum([lam ** (2 * k) for k in range(1, count + 1)], axis=0))

    m = [mu * lam ** (K + k) + s1 * lam ** (K - k) * (1.0 + power_sum(k)) for k in range(K)]
    Q = alpha / rho * (s2 + rho * (g1 * mu * lam ** (2 * K) + s2 * power_sum(K)))
    for j in range(K):
        Q = Q + s1**2 * (1.0 / rho + power_sum(K - 1 - j)) + m[j] ** 2
    return np.asarray(lam * m[K - 1] / np.sqrt(Q))


def constant_residual_limit(signal: npt.ArrayLike, c: npt.ArrayLike, symmetric: bool) -> Array:
    r"""Margin as :math:`K \to \infty` at constant :math:`c`, on an operator of signal :math:`\lambda_e`: oversmoothing.

    The leading eigenvalue of :math:`a + c` dominates the output. If it is the spike, the network does principal component
    analysis; if it lies in the bulk, the signal is lost and the margin is 0.

    >>> constant_residual_limit([2.0, -2.0, -2.0], [1.0, 1.0, 0.0], symmetric=False).round(3)
    array([1.732, 0.   , 1.732])
    """
    return np.where(pca_rate(signal, c, symmetric) > 0.0, pca_margin(signal), 0.0)


def long_diffusion_limit(signal: npt.ArrayLike, t: npt.ArrayLike = 1.0) -> Array:
    r"""Margin as :math:`|t| \to \infty` with the sign of `t`: principal component analysis if :math:`\lambda_e t > 0`, else 0.

    >>> long_diffusion_limit(2.0, t=[-1.0, 1.0]).round(4)
    array([0.    , 1.7321])
    """
    signal, t = _pair(signal=signal, t=t)
    return np.where(np.sign(signal) * np.sign(t) > 0, pca_margin(signal), 0.0)


def short_diffusion_margin(data: CSBM, t: npt.ArrayLike, symmetrize: bool) -> Array:
    r"""Margin of a short diffusion, to first order in :math:`t` (Eq. 4.15).

    .. math:: z = \sqrt{\frac\rho\alpha} \left[ \frac{\mu}{\sqrt{S}}
              + \lambda_e t\, \frac{2(s_1 + \mu) S - \rho\mu(s_2 + g_1\mu)}{S^{3/2}} \right] + O(t^2), \qquad
              S = s_2 + \rho g_1\mu .

    The slope is positive for :math:`\lambda_e t > 0`: some diffusion always helps.

    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    >>> exact = gl.predict(data, gl.GCN(gl.Diffusion(0.0), symmetrize=False)).order_parameters.test_margin
    >>> abs(short_diffusion_margin(data, 0.0, symmetrize=False).item() - exact) < 1e-12
    True
    """
    _check("short_diffusion_margin", data)
    t = _moderate("t", t)
    broadcast(data=data.shape, t=t.shape)
    alpha, mu, rho = (np.asarray(p) for p in (data.alpha, data.mu, data.rho))
    s1, s2, g1 = data.features.moments
    spread = s2 + rho * g1 * mu
    rise = (2.0 * (s1 + mu) * spread - rho * mu * (s2 + g1 * mu)) / spread**1.5
    slope = data.effective_signal(flag("symmetrize", symmetrize)) * t * rise
    return np.asarray(np.sqrt(rho / alpha) * (mu / np.sqrt(spread) + slope))


def pca_rate(signal: npt.ArrayLike, c: npt.ArrayLike, symmetric: bool) -> Array:
    r"""Rate :math:`\gamma_{PCA}` at which a network of constant residual strength `c` becomes PCA with growing depth.

    .. math:: \gamma_{PCA} = 2 \log \frac{|s + c|}{b + |c|}, \qquad
              s = \lambda_e,\; b = 1 \text{ (directed)}, \qquad s = \lambda_e + \lambda_e^{-1},\; b = 2 \text{ (symmetric)},

    or 0 if the bulk leads. `pca_distance` falls like :math:`e^{-\gamma_{PCA} K}` times a power of :math:`K`.

    >>> pca_rate([0.5, 2.0], 0.0, symmetric=False).round(4)
    array([0.    , 1.3863])
    """
    signal, c = _pair(signal=signal, c=c)
    operator = SpikedOperator(signal, flag("symmetric", symmetric))
    ratio = np.abs(operator.spike + c) / (operator.edge + np.abs(c))
    return np.asarray(2.0 * np.log(np.maximum(ratio, 1.0)))


def one_layer_rate(data: CSBM, c: npt.ArrayLike = 0.0, *, symmetrize: bool = True) -> Array:
    r"""Learning rate of one layer with residual strength `c`: the limit of Eq. 4.7; the `lam` of the data does not matter.

    .. math:: \tau = \frac{\delta^2}8\, \frac{\lambda_e^2}{\lambda^2}\,
              \frac{(s_1 + \mu)^2}{(s_1 + \mu)^2 + \alpha(1 + c^2)(s_2 + g_1\mu)}, \qquad
              \delta^2 = \min_{k \ne l} \Big( \frac1{p_k} + \frac1{p_l} \Big),

    with :math:`\delta = 2` for two equal classes, the smallest distance of two codes; unequal classes are decided at the best
    threshold.

    >>> one_layer_rate(CSBM(alpha=4, lam=1.0, mu=1.0, rho=0.1), [0.0, 1.0], symmetrize=False).round(4)
    array([0.1667, 0.1   ])
    """
    _check("one_layer_rate", data)
    gain = 2.0 if data.directed and flag("symmetrize", symmetrize) else 1.0
    c = _moderate("c", c)
    broadcast(data=data.shape, c=c.shape)
    s1, s2, g1 = data.features.moments
    mu = np.asarray(data.mu)
    noise = np.asarray(data.alpha) * (1.0 + np.square(c)) * (s2 + g1 * mu)
    closest = np.sum(1.0 / np.sort(data.fractions)[-2:])
    return np.asarray(0.125 * closest * gain * (s1 + mu) ** 2 / ((s1 + mu) ** 2 + noise))


def _check(function: str, data: CSBM) -> None:
    check_types(function, data=(data, CSBM))
    scope.check(function, data)
    check_range(data)


def _pair(**values: npt.ArrayLike) -> Iterable[Array]:
    """Named parameters of moderate size that broadcast together."""
    checked = {name: _moderate(name, value) for name, value in values.items()}
    broadcast(**{name: value.shape for name, value in checked.items()})
    return checked.values()


def _moderate(name: str, value: npt.ArrayLike) -> Array:
    return np.asarray(as_real(name, value, low=-_LARGEST, high=_LARGEST))


class HardPhase(NamedTuple):
    r"""Signals :math:`\lambda_s` between which recovery from a graph alone is possible but hard, and what ends this phase.

    `lam_spinodal`: signal from which a state that recovers the classes exists, without labels; `lam_transition`: signal from
    which it is the Bayes-optimal one, hard up to 1; `rho_c`: fraction of labels from which there is one state at every signal.
    """

    lam_spinodal: float
    lam_transition: float
    rho_c: float


def hard_phase(classes: int | npt.ArrayLike) -> HardPhase:
    r"""Hard phase of a graph without features: all its fixed points are :math:`\lambda_s^2 = m/T(m)` (Eq. 8.8).

    The spinodal is the least of them, and at the transition the free entropy (Eq. 8.11) vanishes,
    :math:`\psi(m) = \frac d4 m\,T(m)`; both are 1 where the transition is continuous. The largest :math:`m\,T' - T` is
    :math:`\frac{\rho_c}{1-\rho_c}`. `classes` is the number of equal classes, or the fractions of two.

    >>> [round(x, 6) for x in hard_phase(10)]
    [0.875648, 0.884018, 0.016769]
    >>> hard_phase(4)
    HardPhase(lam_spinodal=1.0, lam_transition=1.0, rho_c=0.0)
    """
    data = CSBM(1.0, 0.0, 0.0, 0.0, classes=classes)
    tables = posterior(data.classes)
    if tables.convexity <= 0.0:
        return HardPhase(1.0, 1.0, 0.0)
    start, steepest = tables.steepness

    def advantage(m: float) -> float:
        evidence = np.array([m])
        lost = 0.25 * tables.directions * evidence * tables.at(evidence).overlap
        return float((tables.information(evidence)[0] - lost)[0])

    m = np.array([first_root(advantage, ((start, start * 1.5**k) for k in itertools.count(1)))])
    transition = float(np.sqrt(m / tables.at(m).overlap)[0])
    return HardPhase(steepest**-0.5, transition, tables.convexity / (1.0 + tables.convexity))
