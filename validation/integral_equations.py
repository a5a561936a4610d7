r"""The paper's integral equations for the continuous network, as a check that is independent of the closed forms.

On :math:`n` Gauss-Legendre nodes of [0, 1] a function is known by its values, and beside them by the weight of a
:math:`\delta` at the end where the loss (backward functions, read from 1 to 0) or the features (forward functions) enter:
`GaussGrid` treats both together, so that each equation below reads as in the paper. Two misprints
are corrected: the source of :math:`Q_h` is :math:`Q_w\, \delta(x,z)`, and :math:`V_w = 1/(r\alpha)`. On a directed graph
:math:`Q_{qh}` does not act on itself, and its resolvent is that of the plain derivative, 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from gcnlimit._validation import whole
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Diffusion
from gcnlimit.network import GCN, check_problem
from gcnlimit.theory.depth import resolvents
from gcnlimit.theory.depth.order_functions import order_functions

Kernel = Callable[[Array], Array]

_LEAST = 1e-100  # time whose square is a number


def integral_residuals(data: CSBM, gcn: GCN, nodes: int = 24) -> dict[str, float]:
    r"""Largest residual of each of the paper's integral equations on the closed-form order functions.

    Relative to the largest value of the function. The equations are those of the response :math:`V_{qh}`, of the
    resolvents :math:`\varphi` and :math:`\Phi`, and of the order functions expressed through these.

    Parameters
    ----------
    data, gcn
        One point: numbers, a `Diffusion` with :math:`t \ne 0`, ``reg=math.inf``, and a signal that is not 0.
    nodes
        Number of quadrature nodes; the residuals fall exponentially with it down to rounding.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    >>> residuals = integral_residuals(data, gl.GCN(gl.Diffusion(t=1.0), symmetrize=True), nodes=12)
    >>> max(residuals.values()) < 1e-8
    True
    """
    check_problem("integral_residuals", data, gcn)
    if (
        data.shape
        or gcn.shape
        or not isinstance(gcn.filter, Diffusion)
        or data.lam == 0.0
        or gcn.reg != math.inf
    ):
        raise ParameterError(
            "integral_residuals needs one point, a Diffusion, reg = inf, and lam != 0"
        )
    if abs(float(gcn.filter.t)) < _LEAST:
        raise ParameterError(
            f"t = {gcn.filter.t!r} is not allowed here; residuals relative to t^2 need |t| >= {_LEAST:g}"
        )
    return _Equations(data, gcn, GaussGrid.of(whole("nodes", nodes, low=1, high=1000))).residuals()


@dataclass(frozen=True)
class GaussGrid:
    r"""Gauss-Legendre nodes `x` and weights `w` on [0, 1].

    A forward source is the vector of its :math:`\delta(x)` and its values at the nodes; a convolution
    :math:`\int_{0^-}^x \kappa(x - x') f(x') dx'` of it is read at the nodes and at the end :math:`x = 1`.
    """

    x: Array
    w: Array

    @classmethod
    def of(cls, n: int) -> GaussGrid:
        """Grid of `n` nodes."""
        x, w = np.polynomial.legendre.leggauss(n)
        return cls((x + 1.0) / 2.0, w / 2.0)

    @cached_property
    def ends(self) -> Array:
        """Nodes, and the end."""
        return np.append(self.x, 1.0)

    @cached_property
    def where(self) -> Array:
        """Points of [0, x] at which an integral up to x is sampled: 0 for the delta, then scaled nodes."""
        return np.concatenate(
            [np.zeros((self.ends.size, 1)), np.multiply.outer(self.ends, self.x)], axis=1
        )

    @cached_property
    def sampling(self) -> Array:
        """Matrices from a source to its weighted samples on [0, x], interpolated between the nodes."""
        n = self.x.size
        matrices = np.zeros((n + 1, n + 1, n + 1))
        matrices[:, 0, 0] = 1.0
        matrices[:, 1:, 1:] = (
            self.interpolation(self.where[:, 1:]) * np.multiply.outer(self.ends, self.w)[:, :, None]
        )
        return matrices

    def convolution(self, kernel: Kernel) -> Array:
        """Matrix of the convolution with a kernel, from a source to the values at the nodes and at the end."""
        return np.asarray(
            np.einsum("il,ila->ia", kernel(self.ends[:, None] - self.where), self.sampling)
        )

    def interpolation(self, x: Array) -> Array:
        """Matrix from values at the nodes to values at other depths."""
        n = self.x.size
        basis, there = (
            np.polynomial.legendre.legvander(2.0 * depths - 1.0, n - 1) for depths in (self.x, x)
        )
        return np.asarray(there @ np.linalg.inv(basis))


class _Equations:
    """The equations at one point; sources carry their delta first, backward functions are read from 1 to 0."""

    def __init__(self, data: CSBM, gcn: GCN, grid: GaussGrid) -> None:
        signal, self.symmetric = data.operator(gcn.symmetrize)
        self.t, self.signal = float(gcn.filter.t), float(signal)  # type: ignore[attr-defined]
        self.mu, self.rho, self.grid = float(data.mu), float(data.rho), grid
        self.alpha, self.moments = float(data.alpha), data.features.moments
        self.f = order_functions(data, gcn, np.concatenate([[0.0], grid.x, [1.0]]))
        self.kappa = partial(resolvents.kappa, t=self.t, symmetric=self.symmetric)
        self.phi = partial(resolvents.phi, t=self.t, signal=self.signal, symmetric=self.symmetric)
        self.Phi = partial(resolvents.Phi, t=self.t, symmetric=self.symmetric)
        self.inverse = grid.convolution(self.kappa)  # of the effective derivative

    def residuals(self) -> dict[str, float]:
        """Largest residual of each equation."""
        f, (_, s2, g1) = self.f, self.moments
        pairs = {
            "V_qh": self._response(),
            "phi": self._phi(),
            "Phi": self._Phi(),
            "V": (f.V, f.weights.V * self.Phi(f.x[:, None], f.x)),
            "V_hat": (f.V_hat[::-1, ::-1], self.t**2 * self.rho * self.Phi(f.x[:, None], f.x)),
            "m_hat": (f.m_hat[::-1], self.rho * self.signal * self.t * self.phi(f.x)),
            "m": (f.m[1:], self._m()),
            "Q_hat": (f.Q_hat[::-1, ::-1][1:, 1:], self._Q_hat()),
            "Q_qh": (f.Q_qh[::-1][1:, 1:], self._Q_qh()),
            "Q": (f.Q[1:, 1:], self._Q_h()),
        }
        weights = {
            "V_hat_w": (f.weights.V_hat, f.V_hat[0, 0] / self.t**2),
            "m_hat_w": (f.weights.m_hat, np.sqrt(self.mu) / (self.signal * self.t) * f.m_hat[0]),
            "Q_hat_w": (f.weights.Q_hat, f.Q_hat[0, 0] / self.t**2),
            "Q_w": (f.weights.Q, (s2 * f.weights.Q_hat + g1 * f.weights.m_hat**2) / self.alpha),
        }
        return {
            name: float(np.max(np.abs(left - right)) / max(np.max(np.abs(left)), 1e-300))
            for name, (left, right) in (pairs | weights).items()
        }

    def _response(self) -> tuple[Array, Array]:
        r""":math:`V_{qh}(0, x) = t\kappa(x)`, :math:`\kappa = 1 + t^2 \int \int \kappa\kappa`, fed back by symmetry."""
        kappa = self.kappa(self.grid.x)
        feedback = (
            self.inverse[:-1] @ np.append(0.0, kappa) if self.symmetric else np.zeros_like(kappa)
        )
        plain = self.grid.convolution(np.ones_like)
        return self.f.V_qh[0, 1:], self.t * (plain @ np.append(1.0, self.t**2 * feedback))

    def _phi(self) -> tuple[Array, Array]:
        r""":math:`\varphi = D_{qh}^{-1}[\lambda^e t \varphi + \delta]`."""
        source = np.append(1.0, self.signal * self.t * self.phi(self.grid.x))
        return self.phi(self.grid.ends), self.inverse @ source

    def _Phi(self) -> tuple[Array, Array]:
        r""":math:`\Phi = D_{qh}^{-1}[t^2 \Phi + \delta] D_{qh}^{-1,T}`; if symmetric, the Bessel identity of the paper."""
        source = np.zeros((self.grid.x.size + 1,) * 2)
        source[0, 0], source[1:, 1:] = 1.0, self.t**2 * self.Phi(self.grid.x[:, None], self.grid.x)
        return self.Phi(
            self.grid.ends[:, None], self.grid.ends
        ), self.inverse @ source @ self.inverse.T

    @cached_property
    def _forward(self) -> Array:
        r""":math:`\lambda^e t m(x) + \sqrt\mu m_w \delta(x)`."""
        return np.append(np.sqrt(self.mu) * self.f.weights.m, self.signal * self.t * self.f.m[1:-1])

    def _backward(self, weight: float) -> Array:
        r""":math:`\hat m(1-x) + \text{weight}\, \delta(x)`."""
        return np.append(weight, self.f.m_hat[1:-1][::-1])

    @cached_property
    def _P2(self) -> Array:
        r""":math:`\mathcal P(\hat m^{\otimes 2})(1-x, 1-z)`."""
        train, test = self._backward(1.0), self._backward(0.0)
        return self.rho * np.outer(train, train) + (1.0 - self.rho) * np.outer(test, test)

    @cached_property
    def _carried(self) -> Array:
        r""":math:`G_0 D_{qh}^{-1,T}`: from a backward source to a forward one, with :math:`G_0 = t^2 V_h + V_w \delta`."""
        back = self.inverse[::-1]  # values at depths 0 and the nodes
        G0 = np.zeros((self.grid.x.size + 1,) * 2)
        G0[0, 0], G0[1:, 1:] = self.f.weights.V, self.t**2 * self.f.V[1:-1, 1:-1] * self.grid.w
        return np.asarray(G0 @ back)

    def _m(self) -> Array:
        r""":math:`m = (s_1+\mu)\frac{m_w}{\sqrt\mu}\varphi + \frac t{\lambda^e} \int\int \varphi V_h \hat m`."""
        f, w = self.f, self.grid.w
        inner = f.V[1:-1, 1:-1] @ (w * f.m_hat[1:-1])
        weight = f.m_hat[0] / (self.signal * self.t) / self.alpha  # m_w / sqrt(mu)
        source = np.append((self.moments[0] + self.mu) * weight, self.t / self.signal * inner)
        return np.asarray(self.grid.convolution(self.phi) @ source)

    def _Q_hat(self) -> Array:
        r""":math:`\hat Q_h(1-x,1-z) = t^2 \int\int \Phi\, \mathcal P(\hat m^{\otimes 2})`."""
        return self.t**2 * _convolution2(self.grid, self.Phi, self._P2)

    @cached_property
    def _from_loss(self) -> Array:
        r""":math:`\hat Q_h + \mathcal P(\hat m^{\otimes 2})`, read from 1 to 0."""
        total = self._P2.copy()
        total[1:, 1:] += self.f.Q_hat[1:-1, 1:-1][::-1, ::-1]
        return total

    def _Q_qh(self) -> Array:
        """The correlation of the signal from the loss with the states."""
        source = (
            np.outer(self._backward(self.rho), self._forward) + self._from_loss @ self._carried.T
        )
        kernel = (
            self.Phi
            if self.symmetric
            else lambda x, z: np.ones(np.broadcast_shapes(x.shape, z.shape))
        )
        return self.t * _convolution2(self.grid, kernel, source)

    def _Q_h(self) -> Array:
        """The correlation of the states."""
        cross = np.outer(self._backward(self.rho), self._forward)
        if self.symmetric:
            cross[1:, 1:] += self.t * self.f.Q_qh[1:-1, 1:-1][::-1]
        mixed = self._carried @ cross
        source = np.outer(self._forward, self._forward) + mixed + mixed.T
        source += self._carried @ self._from_loss @ self._carried.T
        source[0, 0] += self.f.weights.Q
        return _convolution2(self.grid, self.Phi, source)


def _convolution2(grid: GaussGrid, kernel: Callable[[Array, Array], Array], source: Array) -> Array:
    """Convolution in both arguments, read at the nodes and the ends."""
    left = (grid.ends[:, None] - grid.where)[:, None, :, None]
    right = (grid.ends[:, None] - grid.where)[None, :, None, :]
    samples = np.einsum("ila,kmb,ab->iklm", grid.sampling, grid.sampling, source, optimize=True)
    return np.asarray(np.einsum("iklm,iklm->ik", kernel(left, right), samples))
