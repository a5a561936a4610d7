"""Orders in 1/reg around infinite regularization."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gcnlimit._validation import broadcast, whole
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.network import GCN, check_problem
from gcnlimit.numerics.series import Series
from gcnlimit.theory.expansion.graphs import Averages, directed_averages, symmetric_averages
from gcnlimit.theory.expansion.losses import expansion_of
from gcnlimit.theory.points import Points

_HIGHEST = 8


def large_reg_expansion(data: CSBM, gcn: GCN, order: int = 2) -> Array:
    r"""Coefficients :math:`z_0, z_1, \dots` of the test margin in powers of :math:`1/r`, along the last axis.

    .. math:: Acc_{test} = \Phi\Big( \sum_n z_n r^{-n} \Big)

    for two equal classes, with :math:`\Phi_C` for more (Eq. 8.3).
    The self-consistent equations are solved as power series in :math:`1/r`: what a coefficient depends on is known from those
    before it. Nothing is fitted: the relative error of each :math:`z_n` is below :math:`10^{-9}` (in units in which the mean
    squared gain of the filter is 1, and of the largest of the :math:`z_n`). The loss must be smooth at 0, or at the bias of two
    unequal classes. The hinge loss is linear at 0, so that its :math:`z_n` vanish for :math:`n \ge 1`: its corner shows in terms
    smaller than any power of :math:`1/r`; the bias of unequal classes sits at the corner, and there is no series. The `reg` of
    `gcn` is not used. Losses and classes are those that `predict` takes at finite regularization.

    Parameters
    ----------
    order
        Highest power of :math:`1/r`, at most 8.

    Examples
    --------
    Without a graph, ridge regression has :math:`z = z_0 (1 - \rho/2\alpha r^2 + \dots)`:

    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    >>> z = gl.theory.large_reg_expansion(data, gl.GCN(gl.Diffusion(t=0.0), symmetrize=False))
    >>> bool(abs(z[1]) < 1e-15), round(z[2].item() / z[0].item(), 12)
    (True, -0.0125)
    """
    check_problem("large_reg_expansion", data, gcn)
    order = whole("order", order, low=0, high=_HIGHEST)
    gcn.require_l2("large_reg_expansion")
    data.require_alike("large_reg_expansion")
    network = gcn.replaced(reg=np.inf)
    shape = broadcast(data=data.shape, network=network.shape)
    points = Points.of(data, network)
    averages, gain = (symmetric_averages if points.symmetric else directed_averages)(points, order)
    equations = _Equations(points, averages)
    eta = expansion_of(points, order)
    zero = Series(np.zeros((order + 1, points.size)))
    output = _Output(zero, zero + 1.0, zero, zero)
    pulls = equations.pulls(output, eta(zero, zero + 1.0, zero))  # right at order 0, which needs no output
    for _ in range(order + 2):  # each time one more order is right
        output = equations.output(pulls)
        pulls = equations.pulls(output, eta(output.mean, output.variance, output.v))
    output = equations.output(pulls)
    with np.errstate(over="ignore", invalid="ignore"):  # an order that vanishes times a power that overflows is NaN
        margin = (output.mean / output.variance.sqrt()).c.T * gain[:, None] ** (2 * np.arange(order + 1))
    if not np.all(np.isfinite(margin)):
        raise ParameterError(
            f"the gain {np.max(gain):.3g} of the filter is out of range for powers of 1/reg; take a weaker filter, "
            "normalize=True, or a lower order"
        )
    return np.asarray(margin.reshape(*shape, order + 1))


class _Pulls(NamedTuple):
    r"""The four numbers: :math:`r V_w`, stiffness, drive and scatter, as series in :math:`\epsilon = 1/r`."""

    V_w: Series
    stiffness: Series
    drive: Series
    scatter: Series


class _Output(NamedTuple):
    r"""Mean, variance and response of a test node's output over :math:`\epsilon, \epsilon^2, \epsilon`, and :math:`r V_w`."""

    mean: Series
    variance: Series
    v: Series
    V_w: Series


class _Equations(NamedTuple):
    """The equations of `gcnlimit.theory.finite_reg.equations`, multiplied by powers of the regularization."""

    points: Points
    averages: Averages

    def output(self, pulls: _Pulls) -> _Output:
        """Let the pulls act on the graph."""
        V_w, kappa, drive, scatter = pulls
        mu = self.points.mu
        root = np.sqrt(mu)
        s = (kappa * V_w).raised()
        U, W = self.averages.at(s), self.averages.W(s)
        W_labels = W + U.excess
        labels, signal, noise, answer = self._weight_gain((kappa * W).raised())
        m_w = root * drive * U.U * labels / (1.0 + mu * (kappa * W_labels * labels).raised())
        back = (root * kappa * m_w).raised()
        along = drive * U.U - back * W_labels
        feedback = (noise * kappa * kappa * (U.WW_bulk + W * W)).raised(2)
        Q_hat_w = along * along + _across(U, drive, -back) + scatter * U.UU
        Q_w = (noise * Q_hat_w + mu * signal * along * along) / (1.0 - feedback)
        stretch = 1.0 / (1.0 - s * W)
        features, echo = root * stretch * m_w, stretch * V_w * drive
        bulk = Q_w * U.UU + scatter * V_w * V_w * U.WW_bulk
        variance = _across(U, features, echo) + stretch * stretch * bulk
        return _Output(features * U.U + echo * U.excess, variance, stretch * V_w * W, answer)

    def _weight_gain(self, V_hat: Series) -> tuple[Series, Series, Series, Series]:
        r"""Averages over the features times powers of :math:`r`, as in `equations.WeightGain`, given :math:`\hat V_w/r`."""
        law, alpha = self.points.features, self.points.alpha
        stiff = 1.0 / (1.0 + Series(V_hat.c[..., None]) * law.variance)
        spread = stiff * stiff * law.variance
        columns = (stiff * law.signal, spread * law.signal, spread * law.variance, stiff * law.variance)
        labels, signal, noise, answer = (Series(column.c @ law.weight / alpha) for column in columns)
        return labels, signal, noise, answer

    def pulls(self, output: _Output, eta: tuple[Series, Series, Series]) -> _Pulls:
        """Let the nodes answer."""
        pull, square, slope = eta
        rho = self.points.rho
        stretch = 1.0 / (1.0 - rho * (output.v * slope).raised())
        stiffness = rho * slope * stretch
        scatter = rho * square - rho**2 * (pull * pull + (slope * slope * output.variance).raised(2))
        drive = rho * stretch * pull + (stiffness * output.mean).raised()
        return _Pulls(output.V_w, stiffness, drive, stretch * stretch * scatter)


def _across(graph: Averages, on_U: Series, on_W: Series) -> Series:
    """Square of the part across the labels of a combination of :math:`Uy` and :math:`Wy`."""
    return on_U * on_U * graph.UU_across + 2.0 * on_U * on_W * graph.UW_across + on_W * on_W * graph.WW_across
