r"""Overlaps of the continuous network at infinite regularization, for one point.

With :math:`g_x = e^{txa}` and :math:`g = g_1`, an order function is a sum of the six overlaps

.. math::
    \varphi(x) &= y \cdot g_x y, & E(x,z) &= g_x y \cdot g_z y, & \Phi(x,z) &= \mathrm{tr}\, g_x g_z^T, \\
    E_3(x,z) &= g_x y \cdot g_z g^T y, & E_4(x,z) &= g_x g^T y \cdot g_z g^T y,
    & \Phi_4(x,z) &= \mathrm{tr}\, g_x g^T g\, g_z^T,

all divided by :math:`N`. Each class computes them for one kind of operator.

Order functions of discrete networks, layer by layer, from the equations of a chain (Eqs. 3.8 to 3.11).

At infinite regularization they are explicit, and are given without powers of :math:`r`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import hyp1f1

from gcnlimit._values import Array
from gcnlimit.errors import ConvergenceError
from gcnlimit.filters import Chain, Diffusion
from gcnlimit.numerics.linear import hankel
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.results.order_parameters import OrderFunctions
from gcnlimit.results.performance import Status
from gcnlimit.theory.depth import resolvents
from gcnlimit.theory.points import Points
from gcnlimit.theory.solve import asymptote, solve


def layer_functions(points: Points, shape: tuple[int, ...]) -> OrderFunctions:
    """Order functions at the layers of a network that is a chain by itself."""
    return _functions(points, points.filter.chain(radius=points.radius)).reshape(shape)


def euler_functions(points: Points, shape: tuple[int, ...], layers: int) -> OrderFunctions:
    r"""Order functions of :math:`(1 + \frac tK a)^K`, scaled as those of the continuous network."""
    t, K = points.filter.values, layers
    b = np.repeat(t[:, None] / K, K, axis=1)
    last = np.zeros((points.size, K + 1))
    last[:, -1] = 1.0
    f = _functions(points, Chain(b, np.ones_like(b), last)).reshape(shape)
    return replace(f, m_hat=K * f.m_hat, Q_hat=K**2 * f.Q_hat, V_hat=K**2 * f.V_hat, Q_qh=K * f.Q_qh, V_qh=K * f.V_qh)


def _functions(points: Points, chain: Chain) -> OrderFunctions:
    if np.isinf(points.reg).all():
        far, reg = asymptote(points, chain)
        return far.chain_layers().without_powers(reg)
    found = solve(points, chain, tol=1e-10, max_iterations=5000)
    check_converged(found.status == Status.CONVERGED)
    return found.chain_layers()


def check_converged(converged: npt.NDArray[np.bool_]) -> None:
    """Raise `ConvergenceError` if the equations of some points have no solution."""
    if not np.all(converged):
        raise ConvergenceError(
            f"the equations did not converge at {np.sum(~converged)} of {len(converged)} points; "
            "take a larger reg or fewer layers"
        )


_ONE = np.ones(1)


@dataclass(frozen=True)
class DepthAverages:
    """The overlaps at depths `x` and `z`, one-dimensional arrays; these two have one form for both kinds of operator."""

    t: float
    signal: float

    symmetric: ClassVar[bool]

    def phi(self, x: Array) -> Array:
        r""":math:`\varphi(x)`."""
        return resolvents.phi(x, t=self.t, signal=self.signal, symmetric=self.symmetric)

    def Phi(self, x: Array, z: Array) -> Array:
        r""":math:`\Phi(x, z)` for every pair."""
        return resolvents.Phi(x[:, None], z, t=self.t, symmetric=self.symmetric)


@dataclass(frozen=True)
class SymmetricDepth(DepthAverages):
    r"""Symmetric operator: everything commutes, and an overlap is an average of :math:`e^{t(x+z+\dots)a}`.

    :math:`E = e(g_{x+z})`, :math:`E_3 = e(g_{x+z+1})`, :math:`E_4 = e(g_{x+z+2})`, :math:`\Phi_4 = \tau(g_{x+z+2})`.
    """

    symmetric: ClassVar[bool] = True

    @cached_property
    def _measure(self) -> tuple[Array, Array]:
        """Nodes and weights of the spectral measure of the labels (Eq. 6.2)."""
        measure = SpikedSemicircle.of(np.array([self.signal]), int(Diffusion(self.t).quadrature_nodes()))
        return measure.x[0], measure.e[0]

    def _mean(self, x: Array, z: Array, more: float) -> Array:
        """:math:`e(g_{x+z+more})` for every pair of depths."""
        nodes, weights = self._measure
        left, right = (np.exp(self.t * np.multiply.outer(depth, nodes)) for depth in (x, z))
        return np.asarray((left * (weights * np.exp(self.t * more * nodes))) @ right.T)

    def E(self, x: Array, z: Array) -> Array:
        """:math:`E(x, z)` for every pair."""
        return self._mean(x, z, 0.0)

    def E3(self, x: Array, z: Array) -> Array:
        """:math:`E_3(x, z)` for every pair."""
        return self._mean(x, z, 1.0)

    def E4(self, x: Array, z: Array) -> Array:
        """:math:`E_4(x, z)` for every pair."""
        return self._mean(x, z, 2.0)

    def Phi4(self, x: Array, z: Array) -> Array:
        r""":math:`\Phi_4(x, z)` for every pair."""
        return resolvents.Phi(x[:, None] + 1.0, z + 1.0, t=self.t, symmetric=True)


@dataclass(frozen=True)
class DirectedDepth(DepthAverages):
    r"""Directed operator, which does not commute with its transpose: sums of products of Taylor coefficients.

    :math:`a^i y` and :math:`a^i (a^T)^j y` are spanned by orthonormal vectors, one for each word (product of factors) in the
    noise and its transpose (Eqs. 4.8 to 4.12). With the coefficients :math:`G^x_i = (tx)^i/i!` of :math:`g_x` and their tails
    :math:`F^x_i = \sum_k \lambda^k G^x_{i+k} = G^x_i\, {}_1F_1(1; i+1; \lambda t x)`,

    .. math::
        g_x y &\to F^x_i, \qquad & g_x g^T y &\to
        L^x_i = \sum_p F^x_{i+p} F^1_p \;\text{ and }\; N^x_{il} = \sum_p G^x_{i+p} F^1_{l+p} \;\; (l \ge 1), \\
        && g_x g^T \zeta &\to M^x_{il} = \sum_p G^x_{i+p} G^1_{l+p} .
    """

    symmetric: ClassVar[bool] = False

    @cached_property
    def _length(self) -> int:
        return 1 + int(Diffusion(self.t).layers(accuracy=1e-18, radius=2.0 * max(1.0, abs(self.signal))))

    def _powers(self, x: Array) -> Array:
        """:math:`G^x_i`, depths first."""
        ratios = self.t * x[:, None] / np.arange(1, self._length)
        return np.concatenate([np.ones((x.size, 1)), np.cumprod(ratios, axis=1)], axis=1)

    def _tails(self, x: Array) -> Array:
        """:math:`F^x_i`, depths first."""
        return np.asarray(
            self._powers(x) * hyp1f1(1.0, np.arange(1.0, self._length + 1), self.signal * self.t * x[:, None])
        )

    def _pairs(self, x: Array) -> tuple[Array, Array, Array]:
        """:math:`L^x, N^x, M^x`, the last two in one row for each depth."""
        G, F, G1, F1 = self._powers(x), self._tails(x), self._powers(_ONE)[0], self._tails(_ONE)[0]
        L = hankel(F) @ F1
        N = hankel(G) @ hankel(F1)[:, 1:]
        M = hankel(G) @ hankel(G1)
        return L, N.reshape(x.size, -1), M.reshape(x.size, -1)

    def E(self, x: Array, z: Array) -> Array:
        r""":math:`E(x, z) = F^x \cdot F^z` for every pair."""
        return np.asarray(self._tails(x) @ self._tails(z).T)

    def E3(self, x: Array, z: Array) -> Array:
        r""":math:`E_3(x, z) = F^x \cdot L^z` for every pair."""
        return np.asarray(self._tails(x) @ self._pairs(z)[0].T)

    def E4(self, x: Array, z: Array) -> Array:
        r""":math:`E_4(x, z) = L^x \cdot L^z + N^x \cdot N^z` for every pair."""
        (left, left_noise, _), (right, right_noise, _) = self._pairs(x), self._pairs(z)
        return np.asarray(left @ right.T + left_noise @ right_noise.T)

    def Phi4(self, x: Array, z: Array) -> Array:
        r""":math:`\Phi_4(x, z) = M^x \cdot M^z` for every pair."""
        return np.asarray(self._pairs(x)[2] @ self._pairs(z)[2].T)
