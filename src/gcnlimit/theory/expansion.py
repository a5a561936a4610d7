r"""Orders in 1/reg around infinite regularization: the self-consistent equations, solved as power series.

*The graph*, in powers of :math:`s = \kappa V_w`: on a symmetric graph its averages are sums of moments of the filter over the
spectrum; on a directed one the matrix equation of the chain (theory page, §3) is solved order by order: each is a linear equation
with the same nilpotent matrix.

*The loss*, for small outputs, from its Taylor series at 0. The pull on a labelled node is :math:`f = \varphi(\omega + v f)` with
:math:`\varphi = -\ell'`. By Lagrange's inversion

.. math::
    f = \sum_b \frac{v^b}{(b+1)!}\, \partial_\omega^b\, \varphi(\omega)^{b+1}, \qquad
    f^2 = \sum_b \frac{2 v^b}{(b+2)\, b!}\, \partial_\omega^b\, \varphi(\omega)^{b+2} .
"""

from __future__ import annotations

import math

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial

from gcnlimit._validation import broadcast, whole
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.losses import Loss
from gcnlimit.losses.base import Form
from gcnlimit.network import GCN, check_problem
from gcnlimit.numerics.series import Series, cauchy
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.theory.finite_reg.averages import slope_at_zero
from gcnlimit.theory.finite_reg.directed import backwards, outer
from gcnlimit.theory.finite_reg.equations import (
    Number,
    Transforms,
    WeightGain,
    answer_of,
    output_of,
    weights_of,
)
from gcnlimit.theory.finite_reg.solution import ScaledChain
from gcnlimit.theory.points import Points

_HIGHEST = 8
_NODES = 24
_NOISE = 1e-14  # Chebyshev coefficients below it, relative to the curvature or the slope, are rounding
_REACHES = (0.8, 0.4, 0.2, 0.1)  # of the interval on which a loss is sampled; kinks may be near


def large_reg_expansion(data: CSBM, gcn: GCN, order: int = 2) -> Array:
    r"""Coefficients :math:`z_0, z_1, \dots` of the test margin in powers of :math:`1/r`, along the last axis.

    .. math:: Acc_{test} = \Phi\Big( \sum_n z_n r^{-n} \Big)

    for two equal classes, with :math:`\Phi_C` for more (Eq. 8.3). Nothing is fitted: the relative error of each :math:`z_n` is
    below :math:`10^{-9}`, in units in which the mean squared gain of the filter is 1 and of the largest :math:`z_n`. The loss
    must be smooth at 0, and the square loss unless there are two equal classes. The hinge loss is linear at 0, so that its
    :math:`z_n` vanish for :math:`n \ge 1`. The `reg` of `gcn` is not used. `order` is the highest power, at most 8.

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
    gcn.require_one_filter("large_reg_expansion")
    data.require_alike("large_reg_expansion")
    network = gcn.replaced(reg=np.inf)
    shape = broadcast(data=data.shape, network=network.shape)
    points = Points.of(data, network)
    if not points.classes.two and points.loss.form is not Form.CODES:
        raise ParameterError(
            f"loss = {points.loss!r} has no expansion in 1/reg for classes = {points.classes}; take loss='square'"
        )
    averages, gain = (_symmetric_averages if points.symmetric else _directed_averages)(points, order)
    mean, variance = _output(points, averages, order + 2)  # of orders 1 and 2 themselves
    with np.errstate(over="ignore", invalid="ignore"):  # an order that vanishes times a power that overflows is NaN
        series = mean.lowered() / variance.lowered().lowered().sqrt()
        margin = series.c[: order + 1].T * gain[:, None] ** (2 * np.arange(order + 1))
    if not np.all(np.isfinite(margin)):
        raise ParameterError(
            f"the gain {np.max(gain):.3g} of the filter is out of range for powers of 1/reg; take a weaker filter, "
            "normalize=True, or a lower order"
        )
    return np.asarray(margin.reshape(*shape, order + 1))


def _output(points: Points, averages: Transforms, order: int) -> tuple[Series, Series]:
    r"""Mean and variance of a test node's output as series in :math:`\epsilon = 1/r`.

    Each application of the equations makes one more order right. The first, without an output, gives the leading ones.
    """
    terms = _inverted(pull_at_zero(points.loss, order), order)
    zero = Series(np.zeros((order + 1, points.size)))
    mean, variance, v = zero, (zero + 1.0).raised(2), zero
    V_w = _weight_gain(points, zero).response
    for _ in range(order - 1):
        pulls = answer_of(_eta_series(terms, mean, variance, v), points.rho, (mean, variance, v), V_w)
        s: Number = pulls.product
        graph = Transforms(*(part(s) if isinstance(part, Series) else part for part in averages))
        weights = weights_of(pulls, graph, _weight_gain(points, pulls.stiffness * graph.W), points.mu)
        mean, variance, v = output_of(pulls, graph, weights, points.mu)
        V_w = weights.V
    return mean, variance


def _weight_gain(points: Points, V_hat: Series) -> WeightGain:
    r"""Averages over the features at :math:`D = 1/\epsilon + \sigma^2\hat V_w`."""
    law = points.features
    stiff = (1.0 / (1.0 + Series(V_hat.raised().c[..., None]) * law.variance)).raised()
    spread = stiff * stiff * law.variance
    columns = (stiff * law.signal, spread * law.signal, spread * law.variance, stiff * law.variance)
    return WeightGain(*(Series(column.c @ law.weight / points.alpha) for column in columns))


def _symmetric_averages(points: Points, order: int) -> tuple[Transforms, Array]:
    r"""Averages over the spectrum for a filter of gain 1, and the unit of the regularization.

    :math:`U = \sum_k (-s)^k g^{2k+1}` and :math:`W = \sum_k (-s)^k g^{2k+2}`.
    """
    measure = SpikedSemicircle.of(points.signal, (order + 2) * int(np.max(points.filter.quadrature_nodes())) + 16)
    g, size = points.filter.normalized(measure.x)
    bulk = np.sqrt(g**2 @ measure.tau)
    g = g / bulk[:, None]
    k = np.arange(order + 1)[:, None, None]
    sign = (-1.0) ** k
    U, W = sign * g ** (2 * k + 1), sign * g ** (2 * k + 2)
    along_U, along_W = (np.sum(measure.e * f, axis=2) for f in (U, W))
    mean_W = W @ measure.tau
    U_across, W_across, W_bulk = U - along_U[..., None], W - along_W[..., None], W - mean_W[..., None]

    def overlap(a: Array, b: Array, weight: Array) -> Series:
        return Series(np.stack([np.sum(weight * cauchy(a, b, int(n)), axis=1) for n in range(order + 1)]))

    mean = Series(mean_W)
    return Transforms(
        W=mean,
        UU=overlap(U, U, measure.tau),
        WW_bulk=overlap(W_bulk, W_bulk, measure.tau),
        stretch=_stretch(mean),
        U=Series(along_U),
        excess=Series(np.sum(measure.excess * W, axis=2)),
        UU_across=overlap(U_across, U_across, measure.e),
        UW_across=overlap(U_across, W_across, measure.e),
        WW_across=overlap(W_across, W_across, measure.e),
    ), points.units(np.exp(size) * bulk)


def _directed_averages(points: Points, order: int) -> tuple[Transforms, Array]:
    """Averages from the chain of the filter, brought to gain 1, and the unit of the regularization."""
    scaled = ScaledChain.of(points.filter.chain(radius=points.radius), points.signal, symmetric=False)
    b, _, g = scaled.chain
    C, L, M = _responses(scaled, order + 1)
    bb = outer(b, b)
    X, Y = -_slope(C[:, :, :-1, :-1]) * bb, _slope(bb * M[:, :, 1:, 1:])
    C, L, M = C[:-1], L[:-1], M[:-1]
    pull_h, pull_q = C @ g[:, :, None], L.mT @ g[:, :, None]
    strength = points.signal[:, None] * b
    q, h = _means(
        np.block([[L.mT[:, :, 1:, :-1], -M[:, :, 1:, 1:]], [C[:, :, :-1, :-1], L[:, :, :-1, 1:]]]),
        np.block([[-M[:, :, 1:, :1], pull_q[:, :, 1:]], [L[:, :, :-1, :1], pull_h[:, :, :-1]]]),
        strength,
    )
    inner_h, inner_q = Series(pull_h[:, :, :-1].mT), Series(pull_q[:, :, 1:].mT)
    along = inner_h @ Series(strength[:, :, None] * q) + inner_q @ Series(strength[:, :, None] * h)
    across = Series(q.mT) @ (X @ Series(q)) + Series(h.mT) @ (Y @ Series(h))
    W = Series((g[:, None] @ pull_h)[..., 0, 0])
    WW_bulk = _entry(inner_h @ (Y @ Series(inner_h.c.mT)) + inner_q @ (X @ Series(inner_q.c.mT)), 0, 0)
    return Transforms(
        W=W,
        UU=W * (1.0 - W.raised()) - WW_bulk.raised(),
        WW_bulk=WW_bulk,
        stretch=_stretch(W),
        U=Series(pull_q[:, :, 0, 0]) + _entry(along, 0, 0),
        excess=_entry(along, 0, 1),
        UU_across=_entry(across, 0, 0),
        UW_across=_entry(across, 0, 1),
        WW_across=_entry(across, 1, 1),
    ), points.units(scaled.gain)


def _stretch(W: Series) -> Series:
    r"""Factor :math:`1/(1 - s\tau(W))`."""
    return 1.0 / (1.0 - W.raised())


def _responses(scaled: ScaledChain, order: int) -> tuple[Array, Array, Array]:
    r"""Orders of :math:`C`, :math:`L` and :math:`M` of `gcnlimit.theory.finite_reg.directed.Response`, for :math:`V_w = 1`.

    The loss is a stiffness :math:`s`, :math:`G_h = \mathrm{diag}(\hat V, 0) + s\,gg^T`. At each order :math:`V` and
    :math:`\hat V` solve :math:`V = A V A^T + \dots` and :math:`\hat V = A^T \hat V A + \dots` with
    :math:`A = [D^{-1}]_{<K,>0}\, b`.
    """
    chain = scaled.chain
    back, b = backwards(chain), chain.b
    A = back[:, :-1, 1:] * b[:, None]
    S, G_h, SG_h, J, C, L, M = (np.zeros((order + 1, *back.shape)) for _ in range(7))
    S[0], J[0] = outer(back[:, :, 0], back[:, :, 0]), np.eye(back.shape[-1])
    for k in range(order + 1):
        if k == 1:
            G_h[1] = outer(chain.g, chain.g)
        rest = back.mT @ cauchy(G_h, J, k, np.matmul) @ back
        G_h[k, :, :-1, :-1] += _summed(A.mT, outer(b, b) * rest[:, 1:, 1:])
        SG_h[k] = cauchy(S, G_h, k, np.matmul)
        J[k] -= sum((SG_h[j] @ J[k - j] for j in range(1, k + 1)), np.zeros_like(back))
        V = _summed(A, cauchy(J, S, k, np.matmul)[:, :-1, :-1])
        S[k] += back[:, :, 1:] @ (outer(b, b) * V) @ back[:, :, 1:].mT
        C[k], L[k] = cauchy(J, S, k, np.matmul), J[k] @ back
        M[k] = back.mT @ cauchy(G_h, L, k, np.matmul)
    return C, L, M


def _summed(A: Array, source: Array) -> Array:
    r"""Solution of :math:`V = A V A^T + \text{source}` for a nilpotent :math:`A`, by doubling."""
    total = source
    for _ in range(int(A.shape[-1]).bit_length()):
        total, A = total + A @ total @ A.mT, A @ A
    return total


def _slope(orders: Array) -> Series:
    """Derivative, of one order less."""
    k = np.arange(1, len(orders)).reshape(-1, *(1 for _ in orders.shape[1:]))
    return Series(k * orders[1:])


def _means(answer: Array, source: Array, strength: Array) -> tuple[Array, Array]:
    r"""Orders of the means along the labels of :math:`q_{>0}` and :math:`h_{<K}`, which exert fields on each other.

    Of the two columns one answers to :math:`y` put in as the first layer's field, the other to :math:`y` put in as :math:`\beta`.
    """
    K = strength.shape[1]
    answer = answer * np.concatenate([strength, strength], axis=1)[:, None]
    mean = np.zeros_like(source)
    for k in range(len(source)):
        known = sum((answer[j] @ mean[k - j] for j in range(1, k + 1)), source[k])
        mean[k] = np.linalg.solve(np.eye(2 * K) - answer[0], known)
    return mean[:, :, :K], mean[:, :, K:]


def _entry(series: Series, row: int, column: int) -> Series:
    return Series(series.c[:, :, row, column])


def pull_at_zero(loss: Loss, order: int) -> Polynomial:
    r"""Taylor polynomial of :math:`\varphi = -\ell'`.

    At :math:`x = \mathrm{prox}_\ell(\omega)` the curvature is :math:`\ell''(x) = 1/\mathrm{prox}'_\ell(\omega) - 1`, which is
    interpolated between points around 0.

    >>> from gcnlimit import Logistic
    >>> pull_at_zero(Logistic(), 3).coef.round(10) * 48  # 1/2 - x/4 + x^3/48
    array([ 24., -12.,   0.,   1.])
    """
    slope = slope_at_zero(loss)
    for reach in _REACHES:
        omega = slope + reach * np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
        x = np.asarray(loss.prox(omega, 1.0))
        rise = np.asarray(loss.prox_derivative(omega, 1.0))
        if np.any(rise <= 0.0):  # a corner
            continue
        curvature = 1.0 / rise - 1.0
        fit = Chebyshev.fit(x, curvature, _NODES - 1, domain=[x.min(), x.max()])
        small = np.abs(fit.coef) < _NOISE * max(abs(slope), float(np.max(np.abs(curvature))))
        if small[-4:].all():
            kept = Chebyshev(np.where(small, 0.0, fit.coef), fit.domain).convert(kind=Polynomial)
            return Polynomial(np.pad(-kept.integ().coef, (0, order))[: order + 1] - slope * np.eye(order + 1)[0])
    raise ParameterError(f"loss = {loss!r} has no Taylor series at 0; an expansion in 1/reg needs one")


Terms = list[Array]
"""Coefficients of the powers of the output, for each power of the response."""


def _inverted(pull: Polynomial, order: int) -> tuple[Terms, Terms, Terms]:
    """Terms of the pull at the proximal point, of its square, and of minus its derivative, by Lagrange's inversion."""
    f = []
    square = []
    for b in range(order + 1):
        once, twice = (Polynomial((pull ** (b + k)).coef[: order + 1]) for k in (1, 2))
        f.append(once.deriv(b) / math.factorial(b + 1))
        square.append(twice.deriv(b) * (2.0 / ((b + 2) * math.factorial(b))))

    def kept(parts: list[Polynomial]) -> Terms:
        return [np.asarray(part.coef[: order - b + 1], float) for b, part in enumerate(parts)]

    return kept(f), kept(square), kept([-part.deriv() for part in f])


def _eta_series(terms: tuple[Terms, Terms, Terms], mean: Series, variance: Series, v: Series) -> tuple[Series, ...]:
    r"""Averages :math:`\eta_1, \eta_2, \eta_3` of a loss whose pull is a polynomial in the output."""
    moments = np.stack([moment.c for moment in _moments(mean, variance)])

    def average(parts: Terms) -> Series:
        total, power = mean * 0.0, mean * 0.0 + 1.0
        for part in parts:
            total += power * Series(np.tensordot(part, moments[: len(part)], axes=1))
            power = power * v
        return total

    return tuple(average(parts) for parts in terms)


def _moments(mean: Series, variance: Series) -> list[Series]:
    r"""Moments of a Gaussian variable, :math:`M_{k+1} = \text{mean}\, M_k + k\, \text{variance}\, M_{k-1}`."""
    moments = [mean * 0.0 + 1.0, mean]
    for k in range(1, mean.order):
        moments.append(mean * moments[k] + variance * moments[k - 1] * float(k))
    return moments
