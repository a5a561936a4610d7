r"""Order functions of the continuous network, whose states are :math:`h(x) = g_x z` with :math:`g_x = e^{txa}`.

On a symmetric graph states and signals :math:`q(x) = g_{1-x} f` are functions of the operator, and everything is an average over
its spectrum. On a directed graph the network is discretized by collocation at Gauss-Legendre depths,
:math:`h(x_i) = h(0) + t \sum_j (\int_0^{x_i} \ell_j)\, a\, h(x_j)` with Lagrange's polynomials: it obeys the equations of a chain
whose matrix :math:`D^{-1}` is that of the integrals. At infinite regularization it is known in closed form (Eqs. 4.1 and 4.2),

.. math::
    h(x) = \tfrac1r\, g_x \Big[ \tfrac{\mu \bar q_0}\alpha\, y + \tfrac{s_1}\alpha\, g_1^T R y + \sqrt{Q_w}\, \zeta \Big], \qquad
    q(x) = g_{1-x}^T R y,

with :math:`\bar q_0 = y \cdot q(0)/N`, :math:`s_1` the mean variance of the features and :math:`\zeta` Gaussian noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.polynomial import legendre
from scipy.special import hyp1f1

from gcnlimit._values import Array
from gcnlimit.errors import ConvergenceError
from gcnlimit.filters import Chain, Diffusion
from gcnlimit.numerics.linear import batches, hankel
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.results.order_parameters import OrderFunctions, Weights
from gcnlimit.theory.depth import resolvents
from gcnlimit.theory.finite_reg.class_losses import node_loss
from gcnlimit.theory.finite_reg.directed import DirectedEquations, Medium
from gcnlimit.theory.finite_reg.directed_solution import directed_layers
from gcnlimit.theory.finite_reg.equations import Pulls, pulls_of
from gcnlimit.theory.finite_reg.solution import Solution, follow, scaled_chain, status_of
from gcnlimit.theory.finite_reg.symmetric import Passage, spectral_functions
from gcnlimit.theory.points import Points
from gcnlimit.theory.solve import asymptote, checked, solve

_TOLERANCE = 1e-11
_STEADY = 1e-10  # relative change at which an average is accepted when the nodes are doubled
_FINEST = 1 << 16
_ONE = np.ones(1)


def symmetric_functions(points: Points, x: Array) -> OrderFunctions:
    """Order functions on a symmetric graph at depths `x`; without powers of the regularization if it is infinite."""
    infinite = bool(np.isinf(points.reg).all())
    if infinite:
        solution, reg = asymptote(points)
    else:
        solution = solve(points, tol=_TOLERANCE, max_iterations=5000)
        checked(solution.status)
    nodes = int(np.max(points.filter.quadrature_nodes())) + 32
    functions = _on_spectrum(solution, x, nodes)
    while nodes < _FINEST:
        nodes *= 2
        before = functions
        functions = _on_spectrum(solution, x, nodes)
        pairs = zip(functions.as_dict().values(), before.as_dict().values(), strict=True)
        if all(np.max(np.abs(a - b)) <= _STEADY * np.max(np.abs(a)) for a, b in pairs):
            return functions.without_powers(reg) if infinite else functions
    raise ConvergenceError("the averages over the spectrum did not settle; take a larger reg")


def _on_spectrum(solution: Solution, x: Array, nodes: int) -> OrderFunctions:
    points = solution.points
    measure = SpikedSemicircle.of(points.signal, nodes)
    t = points.filter.values[:, None, None]
    ahead = x - x[:, None]
    divisor = points.divisor()[:, None, None]
    passage = Passage(
        x=x,
        P=np.exp(t * x[:, None] * measure.x[:, None]),
        after=t * np.exp(t * (1.0 - x[:, None]) * measure.x[:, None]) / divisor,
        gain=np.exp(t * measure.x[:, None]) / divisor,
        response=np.where(ahead > 0.0, t * resolvents.kappa(ahead, t=t, symmetric=True), 0.0),
        signal=points.signal,
    )
    pulls = pulls_of(node_loss(points), points.rho, solution.output, solution.weights.V)
    return spectral_functions(passage, measure, pulls, solution.weights, points.mu)


def directed_functions(points: Points, x: Array) -> OrderFunctions:
    """Order functions on a directed graph at depths `x`, at finite regularization."""
    t = points.filter.values[:, None, None]
    reach = np.max(np.abs(points.filter.values) * points.radius)
    depths, weight = legendre.leggauss(int(np.ceil(12 + reach)))
    equations = _Collocation.on(points, depths)
    end = follow(equations, tol=_TOLERANCE, max_iterations=5000)
    checked(status_of(end))
    f = directed_layers(equations, end.state)
    smooth = f.V_qh - t * equations.back[:, :-1, 1:].mT  # less a step, which no polynomial follows

    # functions of the depth are polynomials through the collocated values
    read = legendre.legvander(2.0 * x - 1.0, depths.size - 1) @ _to_legendre(depths)
    back = read / (0.5 * weight)  # conjugates are densities
    return OrderFunctions(
        x=x,
        m=f.m @ read.T,
        Q=read @ f.Q @ read.T,
        V=read @ f.V @ read.T,
        m_hat=f.m_hat @ back.T,
        Q_hat=back @ f.Q_hat @ back.T,
        V_hat=back @ f.V_hat @ back.T,
        Q_qh=back @ f.Q_qh @ read.T,
        V_qh=back @ smooth @ read.T + np.where(x > x[:, None], t, 0.0),
        weights=f.weights,
    )


def _to_legendre(depths: Array) -> Array:
    """Matrix from values at the depths, in [-1, 1], to coefficients of Legendre's polynomials."""
    return np.asarray(np.linalg.inv(legendre.legvander(depths, depths.size - 1)))


def _integrals(depths: Array) -> Array:
    """Matrix from a start and values at the depths to the values of the integral at the depths, of [0, 1], and at the end."""
    n = depths.size
    upper = legendre.legvander(np.append(depths, 1.0), n)
    lower = np.concatenate([-np.ones((n + 1, 1)), upper[:, : n - 1]], axis=1)
    areas = (upper[:, 1:] - lower) / (2.0 * np.arange(n) + 1.0)
    return np.concatenate([np.ones((n + 1, 1)), 0.5 * areas @ _to_legendre(depths)], axis=1)


@dataclass(frozen=True, eq=False)
class _Collocation(DirectedEquations):
    """Equations of the collocated network."""

    @classmethod
    def on(cls, points: Points, depths: Array) -> Self:
        """Network of the points at these depths, in [-1, 1]."""
        size = points.size, depths.size + 1
        scaled = scaled_chain(points)
        b = np.repeat(points.filter.values[:, None], depths.size, axis=1)
        readout = np.zeros(size)
        readout[:, -1] = np.exp(-points.filter.log_gain(symmetric=False))
        return cls(
            **cls.shared(points, scaled.gain, scaled.spike),
            signal=points.signal,
            chain=Chain(b, np.zeros_like(b), readout),
            layers=np.ones(size),
            back=np.broadcast_to(_integrals(depths), (*size, size[1])),
        )

    def rest(self, pulls: Pulls) -> Array:
        """Initial layers, those of the limit reg → ∞: their equations are linear, and converge in a few sweeps."""
        s = self.relative_stiffness(pulls)
        depth = self.chain.depth
        medium = Medium(*np.zeros((4, len(s), depth, depth)))
        for _ in range(4 * depth):
            medium = self.sweep(medium, s)[2]
        return medium.pack(self.far)


def closed_functions(points: Points, x: Array) -> OrderFunctions:
    """Order functions of each point at depths `x`; powers of the regularization are dropped."""
    parts = [_closed_form(points.take(row), x) for row in batches(points.size, 1)]
    functions = {name: np.stack([each[name] for each in parts]) for name in parts[0]}
    return OrderFunctions(x=x, weights=Weights(*functions.pop("weights").T), **functions)


def _closed_form(point: Points, x: Array) -> dict[str, Array]:
    r"""Order functions and weights of one point as overlaps of :math:`h(x)` and :math:`q(x)`.

    By Eq. 4.3 an overlap of :math:`R y` with itself is that of the labels with weight :math:`\rho^2` plus that of noise with
    weight :math:`\rho(1-\rho)`.
    """
    columns = point.alpha, point.mu, point.rho, point.divisor(), point.filter.values, point.signal
    alpha, mu, rho, divisor, t, signal = (column.item() for column in columns)
    s1, s2, g1 = point.features.moments  # Eq. 8.15
    g = _DirectedDepth(t, signal)
    back = 1.0 - x
    ahead = x - x[:, None]
    between = (1.0 + ahead).ravel()  # 1 - x + z

    def masked(labels: Array, noise: Array) -> Array:
        return (rho**2 * labels + rho * (1.0 - rho) * noise) / divisor**2

    labelled = rho / divisor
    s = labelled * g.phi(_ONE)[0]  # y . q_0 / N, Eq. 4.5
    Q_hat_w = masked(g.E(_ONE, _ONE), g.Phi(_ONE, _ONE))[0, 0]
    Q_w = (s2 * Q_hat_w + g1 * mu * s**2) / alpha  # Eq. 4.2
    V_hat_w = rho * g.Phi(_ONE, _ONE)[0, 0] / divisor**2
    root = np.sqrt(mu)
    pull = mu * s / alpha

    # Q has the labels of the features, those of R y, both together, and the noise
    F = g.tails(x)
    L, N, M = g.pairs(x)
    E3 = F @ L.T
    Q = pull**2 * (F @ F.T) + pull * labelled * s1 / alpha * (E3 + E3.T)
    Q = Q + masked(L @ L.T + N @ N.T, M @ M.T) * (s1 / alpha) ** 2 + Q_w * g.Phi(x, x)
    returned = masked(g.E(between, _ONE), g.Phi(between, _ONE)).reshape(ahead.shape)
    straight = g.phi(between).reshape(ahead.shape)
    return {
        "m": labelled / alpha * (s1 * g.E(x, _ONE)[:, 0] + mu * g.phi(x) * g.phi(_ONE)),
        "Q": Q,
        "V": s1 * g.Phi(x, x) / alpha,
        "Q_qh": t * (pull * labelled * straight + s1 * returned / alpha),
        "V_qh": np.where(ahead > 0.0, t, 0.0),
        "m_hat": labelled * signal * t * g.phi(back),
        "Q_hat": t**2 * masked(g.E(back, back), g.Phi(back, back)),
        "V_hat": rho * t**2 * g.Phi(back, back) / divisor**2,
        "weights": np.array([root * s / alpha, Q_w, s1 / alpha, root * s, Q_hat_w, V_hat_w]),
    }


@dataclass(frozen=True)
class _DirectedDepth:
    r"""Overlaps at depths `x` and `z`, one-dimensional arrays, for every pair; all are divided by :math:`N`.

    .. math::
        \varphi(x) = y \cdot g_x y, \qquad E(x,z) = g_x y \cdot g_z y, \qquad \Phi(x,z) = \mathrm{tr}\, g_x g_z^T .

    They are sums over words in the noise and its transpose (Eqs. 4.8 to 4.12). With the coefficients
    :math:`G^x_i = (tx)^i/i!` of :math:`g_x` and their tails
    :math:`F^x_i = \sum_k \lambda^k G^x_{i+k} = G^x_i\, {}_1F_1(1; i+1; \lambda t x)`,

    .. math::
        g_x y &\to F^x_i, \qquad & g_x g_1^T y &\to
        L^x_i = \sum_p F^x_{i+p} F^1_p \;\text{ and }\; N^x_{il} = \sum_p G^x_{i+p} F^1_{l+p} \;\; (l \ge 1), \\
        && g_x g_1^T \zeta &\to M^x_{il} = \sum_p G^x_{i+p} G^1_{l+p} .
    """

    t: float
    signal: float

    def phi(self, x: Array) -> Array:
        r""":math:`\varphi(x)`."""
        return resolvents.phi(x, t=self.t, signal=self.signal, symmetric=False)

    def Phi(self, x: Array, z: Array) -> Array:
        r""":math:`\Phi(x, z)`."""
        return resolvents.Phi(x[:, None], z, t=self.t, symmetric=False)

    def E(self, x: Array, z: Array) -> Array:
        r""":math:`E(x, z) = F^x \cdot F^z`."""
        return self.tails(x) @ self.tails(z).T

    @cached_property
    def _length(self) -> int:
        radius = 2.0 * max(1.0, abs(self.signal))
        return 1 + int(Diffusion(self.t).layers(accuracy=1e-18, radius=radius))

    def _powers(self, x: Array) -> Array:
        """:math:`G^x_i`, depths first."""
        ratios = self.t * x[:, None] / np.arange(1, self._length)
        return np.concatenate([np.ones((x.size, 1)), np.cumprod(ratios, axis=1)], axis=1)

    def tails(self, x: Array) -> Array:
        """:math:`F^x_i`, depths first."""
        order = np.arange(1.0, self._length + 1)
        return np.asarray(self._powers(x) * hyp1f1(1.0, order, self.signal * self.t * x[:, None]))

    def pairs(self, x: Array) -> tuple[Array, Array, Array]:
        """:math:`L^x, N^x, M^x`, the last two in one row for each depth."""
        G = hankel(self._powers(x))
        F_1 = self.tails(_ONE)[0]
        N = G @ hankel(F_1)[:, 1:]
        M = G @ hankel(self._powers(_ONE)[0])
        return hankel(self.tails(x)) @ F_1, N.reshape(x.size, -1), M.reshape(x.size, -1)
