r"""Finite regularization with heterogeneous degrees, symmetric normalisation: which averages change (Eqs. 11.6 to 11.8).

The drive is :math:`\beta_s`, and the *tilt* :math:`\beta_y - b\beta_s` lies along the labels and across the spike: it vanishes
if all degrees are alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from gcnlimit._values import Array
from gcnlimit.degrees import DegreeLaw
from gcnlimit.losses import Loss
from gcnlimit.results.order_parameters import Output, Weights
from gcnlimit.theory.finite_reg.averages import Eta, eta, eta_at_zero
from gcnlimit.theory.finite_reg.equations import NUMBERS, GraphSide, Pulls, Transforms
from gcnlimit.theory.finite_reg.solution import ScaledChain
from gcnlimit.theory.finite_reg.symmetric import Grids, SymmetricEquations, SymmetricSolution
from gcnlimit.theory.points import Points


class Across(NamedTuple):
    r"""Averages over the bulk that labels across the spike need: :math:`\tau(U)`, :math:`\tau(UW)` and covariances."""

    U: Array
    UW: Array
    U_variance: Array
    UW_covariance: Array


def eta_by_degree(loss: Loss, output: Output) -> Eta:
    """Averages of the loss for outputs with one axis over the points and one over the propensities."""
    shape = output.mean.shape
    found = eta(loss, Output(*(np.ravel(part) for part in (output.mean, output.variance, output.v))))
    return Eta(*(part.reshape(shape) for part in found))


@dataclass(frozen=True)
class PropensityEquations(SymmetricEquations):
    """The equations for a batch of points, outputs with a second axis over the propensities of the `law`."""

    law: DegreeLaw

    @classmethod
    def of(cls, points: Points, nodes: int, scaled: ScaledChain | None = None) -> Self:
        """Put the filter of the points on a grid, or a chain that takes its place."""
        assert points.degrees is not None
        return cls(**vars(SymmetricEquations.of(points, nodes, scaled)), law=points.degrees)

    def start(self) -> Array:
        """State at large regularization, where all labelled nodes have the same pull."""
        b, rho = self.law.mean_root, self.rho
        pull, _, stiffness = eta_at_zero(self.loss, self.reg.shape)
        V_w = self.features.average(self.features.variance) / (self.alpha * self.reg)
        pulls = Pulls(V_w, rho * stiffness, b * rho * pull, rho * (1.0 - b**2 * rho) * pull**2)
        return self._row(pulls, (np.sqrt(rho) * (1.0 - b**2))[:, None])

    def next(self, rows: Array) -> Array:
        """One application of the equations, NaN where a state is not that of a network."""
        return self._row(*self.tilted_pulls(self.evaluate(rows)[0]))

    def tilted_pulls(self, graph: GraphSide) -> tuple[Pulls, Array]:
        """Pulls, given the outputs, and the tilt over the size of the pulls."""
        b, root, weight = self.law.mean_root, np.sqrt(self.law.theta), self.law.weight
        mean, variance, v = graph.output.mean, graph.output.variance[:, 0], graph.output.v[:, 0]
        pull, square, slope = eta_by_degree(self.loss, graph.output)
        rho, slope = self.rho, slope @ weight
        stretch = 1.0 / (1.0 - v * rho * slope)
        stiffness = rho * slope * stretch
        beta = (stretch * rho)[:, None] * pull + stiffness[:, None] * mean
        along = (beta * root) @ weight
        own = np.maximum(rho * (square @ weight) - rho**2 * (pull**2 @ weight + slope**2 * variance), 0.0)
        scatter = stretch**2 * own + (beta - along[:, None] * root) ** 2 @ weight
        tilt = (beta @ weight - b * along) / np.sqrt(along**2 + scatter)
        return Pulls(graph.weights.V, stiffness, along, scatter), tilt[:, None]

    def evaluate(self, rows: Array) -> tuple[GraphSide, Array]:
        """Return the graph's side of packed states: outputs at each propensity."""
        pulls, rest = self.pulls(rows), rows[:, NUMBERS:]
        graph, across = self.respond(pulls, rest)[0], self._across(pulls)
        tilt = rest[:, 0] * np.sqrt(pulls.drive**2 + pulls.scatter)
        weights = self._tilted_weights(pulls, graph, across, tilt)
        return GraphSide(self._outputs(pulls, graph, across, tilt, weights), weights), rest

    def _across(self, pulls: Pulls) -> Across:
        U = self.g / (1.0 + pulls.product[:, None] * self.g**2)
        W, mean = self.g * U, U @ self.tau
        off_U, off_W = U - mean[:, None], W - (W @ self.tau)[:, None]
        return Across(mean, (U * W) @ self.tau, off_U**2 @ self.tau, (off_U * off_W) @ self.tau)

    def _outputs(self, pulls: Pulls, graph: Transforms, across: Across, tilt: Array, weights: Weights) -> Output:
        """Law of the outputs at each propensity, given the pulls and the weights."""
        b, root = self.law.mean_root, np.sqrt(self.law.theta)
        features = graph.stretch * np.sqrt(self.mu) * weights.m
        response = graph.stretch * pulls.V_w
        echo = response * pulls.drive
        level = features * across.U
        slope = b * features * (graph.U - across.U) + echo * graph.excess
        mean = level[:, None] + slope[:, None] * root
        variance = graph.across(b * features, echo) + graph.stretch**2 * weights.Q * graph.UU
        variance += response**2 * pulls.scatter * graph.WW_bulk
        variance += features * (
            (1.0 - b**2) * features * across.U_variance + 2.0 * response * tilt * across.UW_covariance
        )
        spread = np.ones_like(mean)
        return Output(mean, variance[:, None] * spread, (response * graph.W)[:, None] * spread)

    def _tilted_weights(self, pulls: Pulls, graph: Transforms, across: Across, tilt: Array) -> Weights:
        """Weights, given the pulls, solved for the part of their fields that they cause themselves."""
        b, kappa, drive = self.law.mean_root, pulls.stiffness, pulls.drive
        gain, root = self.weight_gain(kappa * graph.W), np.sqrt(self.mu)
        W_spike, W_labels = graph.W + graph.excess, graph.W + b**2 * graph.excess
        first = b * drive * graph.U + tilt * across.U
        m_w = root * first * gain.labels / (1.0 + kappa * self.mu * gain.labels * W_labels)
        back = kappa * root * m_w
        m_hat_w = root * (first - back * W_labels)
        WW = graph.WW_bulk + graph.W**2
        Q_hat_w = (drive * graph.U - back * b * W_spike) ** 2 + graph.across(drive, -back * b)
        Q_hat_w += pulls.scatter * graph.UU - 2.0 * back * tilt * across.UW + back**2 * (1.0 - b**2) * WW
        feedback = gain.noise * kappa**2 * WW
        Q_w = (gain.noise * Q_hat_w + gain.signal * m_hat_w**2) / np.where(feedback < 1.0, 1.0 - feedback, np.nan)
        return Weights(m_w, Q_w, gain.response, m_hat_w, Q_hat_w + Q_w * kappa**2 * WW, kappa * graph.W)


class PropensityGrids(Grids):
    """Grids over the spectrum, for the equations with propensities."""

    kind = PropensityEquations


class PropensitySolution(SymmetricSolution):
    """Solution on a symmetric graph with heterogeneous degrees."""

    @classmethod
    def _grids(cls, points: Points, scaled: ScaledChain | None) -> Grids:
        return PropensityGrids.of(points, scaled)

    def layers(self) -> None:
        """Return nothing: the order functions of the layers are those of degrees that are alike."""
