r"""Order functions of the continuous network, whose states are :math:`h(x) = g_x z` with :math:`g_x = e^{txa}`.

On a symmetric graph states and signals :math:`q(x) = g_{1-x} f` are functions of the operator, and everything is an average over
its spectrum. On a directed graph the network is discretized by collocation at Gauss-Legendre depths,
:math:`h(x_i) = h(0) + t \sum_j (\int_0^{x_i} \ell_j)\, a\, h(x_j)` with Lagrange's polynomials: it obeys the equations of a chain
whose matrix :math:`D^{-1}` is that of the integrals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import legendre

from gcnlimit._values import Array
from gcnlimit.errors import ConvergenceError
from gcnlimit.filters import Chain
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.results.order_parameters import OrderFunctions
from gcnlimit.theory.depth import resolvents
from gcnlimit.theory.finite_reg.class_losses import node_loss
from gcnlimit.theory.finite_reg.directed import DirectedEquations, Medium
from gcnlimit.theory.finite_reg.directed_solution import directed_layers
from gcnlimit.theory.finite_reg.equations import Pulls, pulls_of
from gcnlimit.theory.finite_reg.solution import FAR, Solution, follow, scaled_chain, status_of
from gcnlimit.theory.finite_reg.symmetric import Passage, spectral_functions
from gcnlimit.theory.points import Points
from gcnlimit.theory.solve import asymptote, checked, solve

_TOLERANCE = 1e-11
_STEADY = 1e-10  # relative change at which an average is accepted when the nodes are doubled
_FINEST = 1 << 16


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


@np.errstate(all="ignore")  # steps of a search that leave the range are taken back
def directed_functions(points: Points, x: Array) -> OrderFunctions:
    """Order functions on a directed graph at depths `x`; without powers of the regularization if it is infinite."""
    t = points.filter.values[:, None, None]
    reach = np.max(np.abs(points.filter.values) * points.radius)
    # functions are entire, of growth `reach`: this many depths give ten digits
    depths, weight = legendre.leggauss(int(np.ceil(12 + reach)))
    equations = _collocated(points, depths)
    infinite = bool(np.isinf(points.reg).all())
    if infinite:
        equations = equations.at(FAR * equations.far)
        state = equations.start()
    else:
        end = follow(equations, tol=_TOLERANCE, max_iterations=5000)
        checked(status_of(end))
        state = end.state
    f = directed_layers(equations, state)
    smooth = f.V_qh - t * equations.back[:, :-1, 1:].mT  # less a step, which no polynomial follows

    # functions of the depth are polynomials through the collocated values
    read = legendre.legvander(2.0 * x - 1.0, depths.size - 1) @ _to_legendre(depths)
    back = read / (0.5 * weight)  # conjugates are densities
    functions = OrderFunctions(
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
    return functions.without_powers(equations.reg * equations.gain**2) if infinite else functions


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
class _Collocated(DirectedEquations):
    """Equations of the collocated network."""

    def rest(self, pulls: Pulls) -> Array:
        """Initial layers, those of the limit reg → ∞: their equations are linear, and converge in a few sweeps."""
        s = self.relative_stiffness(pulls)
        depth = self.chain.depth
        medium = Medium(*np.zeros((4, len(s), depth, depth)))
        # information moves one layer a sweep, there and back
        for _ in range(2 * depth + 1):
            medium = self.sweep(medium, s)[2]
        return medium.pack(self.far)


def _collocated(points: Points, depths: Array) -> DirectedEquations:
    """Equations of the network of the points at these depths, in [-1, 1]."""
    size = points.size, depths.size + 1
    scaled = scaled_chain(points)
    b = np.repeat(points.filter.values[:, None], depths.size, axis=1)
    readout = np.zeros(size)
    readout[:, -1] = np.exp(-points.filter.log_gain(symmetric=False))
    return _Collocated(
        **_Collocated.common(points, scaled.gain, scaled.spike),
        signal=points.signal,
        chain=Chain(b, np.zeros_like(b), readout),
        layers=np.ones(size),
        back=np.broadcast_to(_integrals(depths), (*size, size[1])),
    )
