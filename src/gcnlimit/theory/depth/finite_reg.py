r"""Order functions of the continuous network at finite regularization.

On a symmetric graph the states :math:`h(x) = e^{txa} z` and the signals :math:`q(x) = e^{t(1-x)a} f` are functions of the
operator, and everything is an average over its spectrum. On a directed graph the network is discretized by collocation in
place of Euler's layers: states at :math:`n` Gauss-Legendre depths,

.. math:: h(x_i) = h(0) + t \sum_j \Big( \int_0^{x_i} \ell_j(x)\, dx \Big)\, a\, h(x_j),

with :math:`\ell_j` Lagrange's polynomials, approach the continuous network faster than any power of :math:`1/n`. They obey the
equations of a chain whose matrix :math:`D^{-1}` is that of the integrals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from gcnlimit._values import Array
from gcnlimit.errors import ConvergenceError
from gcnlimit.filters import Chain
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.results.order_parameters import OrderFunctions
from gcnlimit.results.performance import Status
from gcnlimit.theory.depth.overlaps import DirectedDepth, check_converged
from gcnlimit.theory.depth.resolvents import kappa
from gcnlimit.theory.finite_reg.class_losses import node_loss
from gcnlimit.theory.finite_reg.directed import DirectedEquations, Medium, relative_stiffness
from gcnlimit.theory.finite_reg.directed_solution import directed_layers
from gcnlimit.theory.finite_reg.equations import GraphSide, Pulls, pulls_of
from gcnlimit.theory.finite_reg.solution import Solution, follow
from gcnlimit.theory.finite_reg.symmetric import Passage, spectral_functions
from gcnlimit.theory.points import Points
from gcnlimit.theory.solve import solve

Kernel = Callable[[Array], Array]


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
        return np.concatenate([np.zeros((self.ends.size, 1)), np.multiply.outer(self.ends, self.x)], axis=1)

    @cached_property
    def sampling(self) -> Array:
        """Matrices from a source to its weighted samples on [0, x], interpolated between the nodes."""
        n = self.x.size
        matrices = np.zeros((n + 1, n + 1, n + 1))
        matrices[:, 0, 0] = 1.0
        matrices[:, 1:, 1:] = self.interpolation(self.where[:, 1:]) * np.multiply.outer(self.ends, self.w)[:, :, None]
        return matrices

    def convolution(self, kernel: Kernel) -> Array:
        """Matrix of the convolution with a kernel, from a source to the values at the nodes and at the end."""
        return np.asarray(np.einsum("il,ila->ia", kernel(self.ends[:, None] - self.where), self.sampling))

    def interpolation(self, x: Array) -> Array:
        """Matrix from values at the nodes to values at other depths."""
        n = self.x.size
        basis, there = (np.polynomial.legendre.legvander(2.0 * depths - 1.0, n - 1) for depths in (self.x, x))
        return np.asarray(there @ np.linalg.inv(basis))


_TOLERANCE = 1e-11
_STEADY = 1e-10  # relative change when the nodes are doubled at which an average over the spectrum is accepted
_FINEST = 1 << 16


def symmetric_functions(points: Points, times: Array, x: Array) -> OrderFunctions:
    """Order functions on a symmetric graph at depths `x`."""
    found = solve(points, tol=_TOLERANCE, max_iterations=5000)
    check_converged(found.status == Status.CONVERGED)
    nodes = 2 * int(np.max(points.filter.quadrature_nodes())) + 32
    functions = _on_spectrum(found, times, x, nodes)
    while nodes < _FINEST:
        nodes *= 2
        before, functions = functions, _on_spectrum(found, times, x, nodes)
        if _close(functions, before):
            return functions
    raise ConvergenceError("the averages over the spectrum did not settle; take a larger reg")


def _on_spectrum(found: Solution, times: Array, x: Array, nodes: int) -> OrderFunctions:
    points = found.points
    measure = SpikedSemicircle.of(points.signal, nodes)
    t, ahead = times[:, None, None], x - x[:, None]
    divisor = points.divisor()[:, None, None]
    passage = Passage(
        x=x,
        P=np.exp(t * x[:, None] * measure.x[:, None]),
        after=t * np.exp(t * (1.0 - x[:, None]) * measure.x[:, None]) / divisor,
        gain=np.exp(t * measure.x[:, None]) / divisor,
        response=np.where(ahead > 0.0, t * kappa(ahead, t=t, symmetric=True), 0.0),
        signal=points.signal,
    )
    pulls = pulls_of(node_loss(points), points.rho, GraphSide(found.output, found.weights))
    return spectral_functions(passage, measure, pulls, found.weights, points.mu)


def _close(new: OrderFunctions, old: OrderFunctions) -> bool:
    return all(
        np.max(np.abs(a - b)) <= _STEADY * np.max(np.abs(a))
        for a, b in zip(new.as_dict().values(), old.as_dict().values(), strict=True)
    )


def directed_functions(points: Points, times: Array, x: Array) -> OrderFunctions:
    """Order functions on a directed graph at depths `x`."""
    grid = GaussGrid.of(int(np.ceil(12 + np.max(np.abs(times) * points.radius))))
    equations = _Collocation.on(points, times, grid)
    found = follow(equations, tol=_TOLERANCE, max_iterations=5000)
    check_converged(found.converged)
    f = directed_layers(equations, found.state)
    t = times[:, None, None]
    smooth = f.V_qh - t * equations.back[:, :-1, 1:].mT  # less a step, which no polynomial follows
    read, back = grid.interpolation(x), grid.interpolation(x) / grid.w  # conjugates are densities
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


@dataclass(frozen=True)
class _Collocation(DirectedEquations):
    """Equations of the collocated network."""

    @classmethod
    def on(cls, points: Points, times: Array, grid: GaussGrid) -> Self:
        """Network of the points on a grid."""
        end, size = np.ones(1), (points.size, grid.x.size + 1)
        depths = [DirectedDepth(float(t), float(signal)) for t, signal in zip(times, points.signal, strict=True)]
        bulk, labels = np.array([(d.Phi(end, end)[0, 0], d.E(end, end)[0, 0]) for d in depths]).T
        gain, readout = points.units(np.sqrt(bulk)), np.zeros(size)
        readout[:, -1] = 1.0 / np.sqrt(bulk)
        b = np.repeat(times[:, None], grid.x.size, axis=1)
        return cls(
            **cls.shared(points, gain, labels / bulk),
            signal=points.signal,
            chain=Chain(b, np.zeros_like(b), readout),
            layers=np.ones(size),
            back=np.broadcast_to(grid.convolution(np.ones_like), (*size, size[1])),
        )

    def rest(self, pulls: Pulls) -> Array:
        """Initial layers, those of the limit reg → ∞: their equations are linear, and converge in a few sweeps."""
        s = relative_stiffness(pulls)
        medium = Medium(*(np.zeros((len(s), self.chain.depth, self.chain.depth)) for _ in range(4)))
        for _ in range(4 * self.chain.depth):
            medium = self.sweep(medium, s)[2]
        return medium.pack(self.far)
