r"""Networks under a law of degrees: margins at infinite regularization, and the equations of the layers at a finite one.

At infinite regularization there are two ways. *Symmetric normalization*: the law enters through one number,
:math:`b = \mathbb E\sqrt\theta` (Eqs. 11.4 and 11.5); :math:`b = 1` is the homogeneous theory.
*Others*: the equations of the layers (`gcnlimit.theory.degrees.layers`) with a unit pull on all labelled nodes and no response
:math:`\hat V`. The order parameters then follow one by one, in units of :math:`1/r`: with :math:`U = lr\,\mathbf D^{-1} b`, what
a node sends on of what it receives, each is linear in itself, like :math:`V = \mathbb E[U V U^T] + \dots`, with sources that are
known by then. A chain of :math:`k` layers is at rest after :math:`k` sweeps; a layer that feeds itself is one division.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.degrees import DegreeLaw
from gcnlimit.filters import Averages
from gcnlimit.numerics.fixed_point import FixedPoint
from gcnlimit.numerics.linear import batches
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.results.order_parameters import Output
from gcnlimit.theory.degrees.layers import LayerEquations, Layers, Wiring
from gcnlimit.theory.finite_reg.averages import eta_at_zero
from gcnlimit.theory.finite_reg.directed import outer
from gcnlimit.theory.finite_reg.equations import weight_gain
from gcnlimit.theory.finite_reg.solution import status_of
from gcnlimit.theory.large_reg import Readout, coefficient_readout, margins, spectral_readout
from gcnlimit.theory.points import Points
from gcnlimit.theory.propensity_spectrum import resolvent

_BLOCK = 1 << 18  # numbers held by one temporary array
_ROUGH = 1e-3  # residual that suffices on the way down from a large regularization
_ON_THE_WAY = 200  # iterations there
_FAR = 3.0  # reg over the pull of the loss times the size of an output: the way down begins there


def margins_by_degree(points: Points, law: DegreeLaw) -> tuple[Array, Array]:
    """Margins of test and train nodes, points along the first axis and the propensities of the law along the second."""
    if points.normalization.plain:
        return _plain_margins(points, law.mean_root, law.theta)
    equations = LayerEquations.of(points, law)
    together = max(1, _BLOCK // math.prod(equations.shape[1:]))
    outputs = []
    for rows in batches(points.size, together):
        part = equations.take(rows)
        outputs.append(part.nodes(far_layers(part)).output)
    mean, variance, v = (np.concatenate(column) for column in zip(*outputs, strict=True))
    deviation = np.sqrt(variance)
    return mean / deviation, (mean + v) / deviation


def _plain_margins(points: Points, b: float, theta: Array) -> tuple[Array, Array]:
    """Margins under the symmetric normalization."""
    (e_along, e_across), sides = (_symmetric_sides if points.symmetric else _directed_sides)(points)
    e_g = b**2 * e_along + (1.0 - b**2) * e_across
    drive = points.mu / points.features.moments[0] * e_g
    along, across = (side(drive) for side in sides)
    slope = b * (along.excess + drive * (e_along - e_across))  # of the mean in the root of theta
    averages = Averages(
        tau_g2=along.tau2,
        e_g2=along.tau2 + b**2 * along.excess,
        excess=b**2 * along.excess + slope * (np.sqrt(theta) - b)[:, None],
        e_g=e_g,
        coherent=b**2 * along.coherent + (1.0 - b**2) * across.coherent,
        scattered=along.scattered,
    )
    test, train = margins(averages, points.alpha, points.mu, points.rho, points.features)
    return test.T, train.T


# the average e(g) along the spike and across it, and the averages of the output there at a drive
_Sides = tuple[tuple[Array, Array], tuple[Callable[[Array], Readout], ...]]


def _symmetric_sides(points: Points) -> _Sides:
    """Averages over the spectrum: across the spike the measure of the labels is that of the bulk."""
    along = SpikedSemicircle.of(points.signal, int(np.max(points.filter.quadrature_nodes())))
    e = np.broadcast_to(along.tau, along.e.shape)
    across = replace(along, e=e, excess=np.zeros_like(along.excess))
    g = points.filter.normalized(along.x)[0]
    sides = tuple(partial(spectral_readout, measure, g, g) for measure in (along, across))
    return (np.vecdot(along.e, g), g @ along.tau), sides


def _directed_sides(points: Points) -> _Sides:
    """The same from Taylor coefficients: across the spike those of a graph without signal, which are their own tails."""
    signal = points.signal
    g, G = points.filter.directed_chain(signal).taylor(signal)
    along = partial(coefficient_readout, (g, G), (g, G), signal)
    across = partial(coefficient_readout, (g, g), (g, g), np.zeros_like(signal))
    return (G[0], g[0]), (along, across)


def far_layers(equations: LayerEquations) -> Layers:
    """Order parameters at infinite regularization: coefficients of the leading powers of its inverse, for a unit pull."""
    b, _, g, send, receive, _ = equations.wiring
    average = equations.average
    root = np.sqrt(equations.law.theta)
    V_qh = _returning(equations)
    back = equations.back(V_qh)
    forth = back.mT
    U = equations.phi * back[..., send, receive] * b[:, None, None, :]

    def along_spike(U: Array, source: Array) -> Array:
        spike = equations.signal[:, None, None] * average(equations.law.theta, U)
        return _settled(lambda x: np.asarray(np.vecdot(spike, x[:, None])), source)

    def between(first: Array, last: Array, source: Array) -> Array:
        return _settled(lambda x: average(1.0, first @ x[:, None] @ last), source)

    # response of the layers to forces, averaged and on one node
    gain = weight_gain(equations.features, equations.alpha, np.ones(len(b)), np.zeros(len(b)))
    start = back[..., send, 0]
    source = gain.response[:, None, None] * average(equations.right**2, outer(start, start))
    V = between(U, U.mT, source)
    S = back @ equations.forces(V, gain.response) @ forth

    # conjugates: a node is pulled by its label and by the fields F, whose second moment is FF
    rho = equations.rho[:, None]
    pulled = (forth @ g[:, None, :, None])[..., receive, 0]
    m_hat = along_spike(U.mT, rho * (b * average(root * equations.left, pulled)))
    F = equations.conjugate_source(m_hat) + (rho * g)[:, None]
    FF = outer(F, F) + ((rho * (1.0 - rho))[..., None] * outer(g, g))[:, None]
    received = (forth @ FF @ back)[..., receive, receive]
    Q_hat = between(U.mT, U, equations.wiring.bb * average(equations.left**2, received))
    FF[..., send, send] += (equations.right**2)[..., None, None] * Q_hat[:, None]

    # weights
    m_hat_w = np.sqrt(equations.mu) * average(1.0, (forth @ F[..., None])[..., 0, 0])
    Q_hat_w = average(1.0, (forth @ FF @ back)[..., 0, 0])
    m_w = gain.labels * m_hat_w
    Q_w = gain.noise * Q_hat_w + gain.signal * m_hat_w**2

    # layers: of mean m along the spike, in fields of mean B
    moved = (S @ F[..., None])[..., send, 0] + (np.sqrt(equations.mu) * m_w)[:, None, None] * start
    m = along_spike(U, average(root * equations.right, moved))
    B = equations.layer_source(m, m_w)
    FB = outer(F, B)
    BB = outer(B, B)
    Q_qh = np.zeros_like(V)
    if equations.symmetric:
        sent = (forth @ (FF @ S + FB @ forth))[..., receive, send]
        Q_qh = between(U.mT, U.mT, b[:, :, None] * average(equations.left * equations.right, sent))
    FB[..., send, receive] += equations.phi * (Q_qh * b[:, None, :])[:, None]
    BB[..., 0, 0] += Q_w[:, None]
    half = S @ FB @ forth
    second = S @ FF @ S + half + half.mT + back @ BB @ forth
    Q = between(U, U.mT, average(equations.right**2, second[..., send, send]))
    return Layers(m, m_hat, Q, Q_hat, Q_qh, V, np.zeros_like(V), V_qh, m_w, Q_w, gain.response)


def _returning(equations: LayerEquations) -> Array:
    """Response along the edge that a signal came by; it acts on symmetric operators only."""
    b, _, _, send, receive, _ = equations.wiring
    phi = equations.left * equations.right
    V_qh = np.zeros((*b.shape, b.shape[1]))
    if not equations.symmetric:
        return V_qh
    if send == receive:
        with np.errstate(divide="ignore"):
            found = resolvent(phi, equations.law.weight, 1.0 / b[:, 0])
        return np.where(b[:, 0] == 0.0, 0.0, found)[:, None, None]
    for _ in range(b.shape[1]):
        V_qh = b[:, :, None] * equations.average(phi, equations.back(V_qh).mT[..., receive, send])
    return V_qh


def _settled(apply: Callable[[Array], Array], source: Array) -> Array:
    """Solve `x = source + apply(x)` for a linear map, nilpotent unless it is of one number."""
    if source.shape[1] == 1:
        return np.asarray(source / (1.0 - apply(np.ones_like(source))))
    x = source
    for _ in range(source.shape[1]):
        x = source + apply(x)
    return x


class LayerSolution(NamedTuple):
    """Outputs of a batch of points at each propensity, and how the search ended."""

    output: Output
    residual: Array
    iterations: npt.NDArray[np.int64]
    status: npt.NDArray[np.int64]

    @staticmethod
    def cost(points: Points) -> npt.NDArray[np.int64]:
        """Numbers that the search keeps at a time, for each point."""
        assert points.degrees is not None
        return 8 * points.degrees.theta.size * Wiring.layers(points) ** 2

    @classmethod
    def solve(cls, points: Points, chain: None = None, *, tol: float, max_iterations: int) -> Self:
        """Solve the equations of each point, by coming down from a large regularization."""
        assert points.degrees is not None
        equations = LayerEquations.of(points, points.degrees)
        weight = equations.law.weight
        start = far_layers(equations)
        output = equations.nodes(start).output
        reg = points.reg * (points.divisor() / equations.wiring.gain) ** 2
        pull, _, slope = eta_at_zero(equations.loss, reg.shape)
        size = np.sqrt((output.mean**2 + output.variance) @ weight) + output.v @ weight
        # above it outputs are small, and the loss is linear
        top = np.maximum(reg, _FAR * np.maximum(pull, slope) * size)
        equations = replace(equations, reg=reg)
        start = start.at(top, pull)
        found = _descend(equations, start, top, 10.0, tol, max_iterations // 5)
        lost = np.flatnonzero(~found.converged)
        if lost.size:
            part = equations.take(lost), start.take(lost), top[lost]
            again = _descend(*part, 2.0, tol, max_iterations)
            for whole, values in zip(found, again, strict=True):
                whole[lost] = values
        output = equations.nodes(Layers.unpack(found.state, equations.wiring.b.shape[1])).output
        return cls(output, found.residual, found.iterations, status_of(found))


def _descend(  # noqa: PLR0917
    equations: LayerEquations, start: Layers, top: Array, step: float, tol: float, most: int
) -> FixedPoint:
    """Follow the solution from the regularization `top` down to that of the equations, by factors of about `step`."""
    reg = equations.reg
    steps = max(1, int(np.ceil(np.max(np.log(top / reg)) / np.log(step))))
    iterations = np.zeros(reg.size, np.int64)
    for i in range(steps + 1):
        last = i == steps
        here = replace(equations, reg=reg * (top / reg) ** (1.0 - i / steps))
        accepted, limit = (tol, most) if last else (max(tol, _ROUGH), _ON_THE_WAY)
        found = here.solve(start, tol=accepted, max_iterations=limit)
        start = Layers.unpack(found.state, equations.wiring.b.shape[1])
        iterations = iterations + found.iterations
    return found._replace(iterations=iterations)
