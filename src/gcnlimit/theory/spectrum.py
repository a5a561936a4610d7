r"""Finite regularization on a symmetric graph: four numbers, whatever the filter (theory page, §3).

With the weights at their best the output obeys

.. math::
    h = g(a)\, [\sqrt\mu m_w y + \sqrt{Q_w} \zeta + V_w\, g(a) f], \qquad
    f_i = -\ell'(h_i) \text{ on labelled nodes, else } 0.

Rotations that leave the labels alone do not change the law of a symmetric operator. Seen through it the pulls are therefore
linear, :math:`f = \beta - \kappa h`, with a *stiffness* :math:`\kappa` and a part :math:`\beta` that knows nothing of the graph;
seen from a node the rest of the graph is a Gaussian output :math:`\omega` and a response :math:`v`. Each side gives the other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import Array
from gcnlimit.losses import Loss
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.theory.loss_averages import Output, eta, eta_at_zero
from gcnlimit.theory.points import Points
from gcnlimit.theory.scaling import ScaledChain, in_units

__all__ = ["GraphSide", "Pulls", "SpectralProblem"]


_SOFTEST = 1e-30  # smallest effect of a stiffness that is told from none: kinks may be out of reach


class Pulls(NamedTuple):
    r"""Unknowns of the equations, one axis over the points, for a filter of gain :math:`\tau(g^2) = 1`.

    `V_w`: response of the weights; `stiffness`: :math:`\kappa`; `drive`, `scatter`: mean and variance of :math:`\beta`.
    """

    V_w: Array
    stiffness: Array
    drive: Array
    scatter: Array

    def pack(self, peak: Array) -> Array:
        r"""One row a point, of numbers that may take any value: logarithms of the positive ones.

        The stiffness is given as what it does at the `peak` of the gain, :math:`\kappa V_w \max g^2`.
        """
        size = self.drive**2 + self.scatter
        stiffness = np.maximum(self.stiffness * self.V_w * peak, _SOFTEST)
        return np.stack([np.log(self.V_w), np.log(stiffness), self.drive / np.sqrt(size), np.log(size)], axis=1)

    @classmethod
    def unpack(cls, rows: Array, peak: Array) -> Self:
        """Inverse of `pack`."""
        V_w, stiffness, cosine, size = np.exp(rows[:, 0]), np.exp(rows[:, 1]), rows[:, 2], np.exp(rows[:, 3])
        stiffness = np.where(stiffness > 2.0 * _SOFTEST, stiffness / (V_w * peak), 0.0)
        return cls(V_w, stiffness, cosine * np.sqrt(size), size * np.maximum(1.0 - cosine**2, 0.0))


class GraphSide(NamedTuple):
    r"""What the graph makes of the pulls: the law of a test node's output, and the weights with their conjugates."""

    output: Output
    m_w: Array
    Q_w: Array
    V_w: Array
    m_hat_w: Array
    Q_hat_w: Array
    V_hat_w: Array


@dataclass(frozen=True)
class SpectralProblem:
    r"""The equations for a batch of points, on the nodes of a quadrature over the spectrum.

    `g`: values of the filter at the nodes, divided by its `gain` :math:`\sqrt{\tau(g^2)}`; `reg`: the regularization over
    the square of that; `spike`: the mean squared gain along the labels, :math:`e(g^2)/\tau(g^2)`.
    """

    alpha: Array
    mu: Array
    rho: Array
    reg: Array
    loss: Loss
    g: Array
    tau: Array
    e: Array
    excess: Array
    gain: Array
    spike: Array

    @classmethod
    def of(cls, points: Points, nodes: int, scaled: ScaledChain | None = None) -> Self:
        """Put the filter of the points on a grid, or a chain that takes its place."""
        measure = SpikedSemicircle.of(points.signal, nodes)
        if scaled:
            g, gain = scaled(measure.x), scaled.gain
        else:
            g, size = points.filter.scaled(measure.x)
            bulk = np.sqrt(g**2 @ measure.tau)
            g, gain = g / bulk[:, None], np.exp(size) * bulk
        spike = np.einsum("bn,bn->b", measure.e, g**2)
        return cls(
            points.alpha,
            points.mu,
            points.rho,
            in_units(points.reg, gain),
            points.loss,
            g,
            measure.tau,
            measure.e,
            measure.excess,
            gain,
            spike,
        )

    def take(self, rows: npt.NDArray[np.intp]) -> Self:
        """Problem of some of the points."""
        names = ("alpha", "mu", "rho", "reg", "g", "e", "excess", "gain", "spike")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    def at(self, reg: Array) -> Self:
        """Return the same problem at another regularization, in its own units."""
        return replace(self, reg=reg)

    @property
    def far(self) -> Array:
        """Regularization from which on the loss is no longer felt."""
        return np.maximum(1.0, self.spike)

    @property
    def rough(self) -> float:
        """Residual that suffices on the way: small, since outputs may be far off where the spike dominates."""
        return 1e-3

    def effort(self, level: int) -> dict[str, Any]:
        """Settings of the search, from quick to careful."""
        return (
            {"max_iterations": 60, "memory": 5},
            {"max_iterations": 150, "memory": 5},
            {"max_iterations": 2000, "memory": 1, "damping": 0.1, "patience": 2000},
        )[level]

    def start(self) -> Array:
        r"""State at large regularization: the pull of an output 0 on each labelled node, its drive and its scatter."""
        pull, _, stiffness = eta_at_zero(self.loss, self.reg.shape)
        rho, V_w = self.rho, 1.0 / (self.alpha * self.reg)
        return Pulls(V_w, rho * stiffness, rho * pull, rho * (1.0 - rho) * pull**2).pack(self.far)

    def pulls(self, rows: Array) -> Pulls:
        """Unknowns of packed states."""
        return Pulls.unpack(rows, self.far)

    def next(self, rows: Array) -> Array:
        """One application of the equations, NaN where a state is not one of a network."""
        pulls = self.pulls(rows)
        graph = self.graph_side(pulls)
        mean, variance, v = graph.output
        pull, square, slope = eta(self.loss, graph.output)
        rho = self.rho
        stretch = 1.0 / (1.0 - v * rho * slope)
        stiffness = rho * slope * stretch
        scatter = stretch**2 * np.maximum(rho * square - rho**2 * (pull**2 + slope**2 * variance), 0.0)
        return Pulls(graph.V_w, stiffness, stretch * rho * pull + stiffness * mean, scatter).pack(self.far)

    def scale(self, rows: Array) -> Array:
        """Size of the entries of a state: they are relative already, and a stiffness counts where it is felt."""
        size = np.ones_like(rows)
        size[:, 1] = np.exp(np.maximum(0.0, -rows[:, 1]))
        return size

    def extrapolate(self, last: Array, before: Array, ratio: Array) -> Array:
        """Continue the way from one solution to the next: powers of the regularization are straight lines here."""
        return np.asarray(last + np.clip(ratio[:, None] * (last - before), -3.0, 3.0))

    def graph_side(self, pulls: Pulls) -> GraphSide:
        r"""Let the pulls act on the graph.

        With :math:`d = 1/(1 + \kappa V_w g^2)`, :math:`w = g^2 d` and :math:`s = 1/\tau(d)`: the response is
        :math:`v = s V_w \tau(w)` and the output of a test node :math:`\omega = s\,gd(a) z_0 + (s V_w w(a) - v) \beta`, in which
        the second operator has trace 0.
        """
        V_w, kappa, drive, scatter = pulls
        root = np.sqrt(self.mu)
        d = 1.0 / (1.0 + _column(kappa * V_w) * self.g**2)
        gd = self.g * d
        w = self.g * gd
        tau_w, e_gd = w @ self.tau, self._e(gd)

        V_hat_w = kappa * tau_w
        inertia = self.alpha * (self.reg + V_hat_w)
        m_w = root * drive * e_gd / (inertia + kappa * self.mu * self._e(w))
        conjugate = _column(drive) * gd - _column(kappa * root * m_w) * w  # q_0, as it acts on the labels
        m_hat_w = root * self._e(conjugate)
        feedback = self.alpha * (kappa / inertia) ** 2 * (w**2 @ self.tau)  # of Q_w on itself; below 1 at a solution
        Q_hat_w = self._e(conjugate**2) + scatter * (gd**2 @ self.tau)
        Q_w = self.alpha * (Q_hat_w + m_hat_w**2) / inertia**2 / np.where(feedback < 1.0, 1.0 - feedback, np.nan)

        s = 1.0 / (d @ self.tau)
        v = s * V_w * tau_w
        features, echo = _column(s) * gd, _column(s * V_w) * w - _column(v)
        mean = root * m_w * s * e_gd + drive * s * V_w * np.einsum("bn,bn->b", self.excess, w)
        coherent = _column(root * m_w) * features + _column(drive) * echo - _column(mean)
        variance = self._e(coherent**2) + Q_w * (features**2 @ self.tau) + scatter * (echo**2 @ self.tau)
        Q_hat_w = Q_hat_w + Q_w * kappa**2 * (w**2 @ self.tau)
        return GraphSide(Output(mean, variance, v), m_w, Q_w, 1.0 / inertia, m_hat_w, Q_hat_w, V_hat_w)

    def _e(self, values: Array) -> Array:
        """Average over the spectrum as the labels see it."""
        return np.asarray(np.einsum("bn,bn->b", self.e, values))


def _column(values: Array) -> Array:
    return values[:, None]
