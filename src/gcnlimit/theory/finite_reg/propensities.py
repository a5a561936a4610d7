"""Finite regularization with heterogeneous degrees, symmetric normalization: an output for each propensity (Eq. 11.7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from gcnlimit._values import Array
from gcnlimit.degrees import DegreeLaw
from gcnlimit.losses import Loss
from gcnlimit.results.order_parameters import Output
from gcnlimit.theory.finite_reg.averages import Eta, eta, expected_losses
from gcnlimit.theory.finite_reg.equations import Pulls, Transforms
from gcnlimit.theory.finite_reg.symmetric import SymmetricEquations, SymmetricSolution
from gcnlimit.theory.points import Points


def eta_by_degree(loss: Loss, output: Output) -> Eta:
    """Averages of the loss for outputs with one axis over the points and one over the propensities."""
    return Eta(*(part.reshape(output.mean.shape) for part in eta(loss, output.flat(2))))


def losses_by_degree(loss: Loss, output: Output, weight: Array) -> tuple[Array, Array]:
    """Test and train loss of such outputs, averaged over the propensities."""
    test, train = expected_losses(loss, output.flat(2))
    return test.reshape(output.mean.shape) @ weight, train.reshape(output.mean.shape) @ weight


@dataclass(frozen=True, eq=False)
class PropensityEquations(SymmetricEquations):
    """The equations for a batch of points, outputs with a second axis over the propensities of the `law`.

    The tilt, over the size of the pulls, is an unknown of the graph.
    """

    law: DegreeLaw

    @classmethod
    def of(cls, points: Points, nodes: int) -> Self:
        assert points.degrees is not None
        return cls(**vars(SymmetricEquations.of(points, nodes)), law=points.degrees)

    @property
    def laws(self) -> tuple[int, ...]:
        return self.law.theta.shape

    @property
    def b(self) -> float:
        return self.law.mean_root

    def rest(self, pulls: Pulls) -> Array:
        """Initial tilt, where all labelled nodes have the same pull."""
        return (np.sqrt(self.rho) * (1.0 - self.b**2))[:, None]

    def respond(self, pulls: Pulls, rest: Array) -> tuple[Transforms, Array]:
        """Averages over the spectrum, with those for labels across the spike."""
        # labels have a part across the spike, which sees the bulk alone
        U = self.g / (1.0 + pulls.product[:, None] * self.g**2)
        W = self.g * U
        tau = self.measure.tau
        mean = U @ tau
        off_U = U - mean[:, None]
        return super().respond(pulls, rest)[0]._replace(
            U_bulk=mean, UW_bulk=(U * W) @ tau, U_spread=off_U**2 @ tau, UW_spread=(off_U * W) @ tau
        ), rest

    def tilt(self, pulls: Pulls, rest: Array) -> Array:
        return np.asarray(rest[:, 0] * np.sqrt(pulls.drive**2 + pulls.scatter))

    def output_law(self, rest: Array, spike: Array, variance: Array, v: Array) -> Output:
        """Law of the output at each propensity."""
        mean = rest[:, None] + np.sqrt(self.law.theta) * spike[:, None]
        return Output(*np.broadcast_arrays(mean, variance[:, None], v[:, None]))

    def node_side(self, output: Output, V_w: Array, rest: Array) -> tuple[Pulls, Array]:
        """Pulls, given the outputs, and the tilt over their size."""
        root = np.sqrt(self.law.theta)
        weight = self.law.weight
        mean, variance, v = output.mean, output.variance[:, 0], output.v[:, 0]
        pull, square, slope = eta_by_degree(self.loss, output)
        rho = self.rho
        slope = slope @ weight
        stretch = 1.0 / (1.0 - v * rho * slope)
        stiffness = rho * slope * stretch
        # all nodes have one stiffness, that of their mean slope: what is left of each pull is beta
        beta = (stretch * rho)[:, None] * pull + stiffness[:, None] * mean

        # the spike carries the part along the roots; the rest is scatter, and tilt along the labels
        along = (beta * root) @ weight
        linear = pull**2 @ weight + slope**2 * variance
        scattered = np.maximum(rho * (square @ weight) - rho**2 * linear, 0.0)
        scatter = stretch**2 * scattered + (beta - along[:, None] * root) ** 2 @ weight
        tilt = (beta @ weight - self.b * along) / np.sqrt(along**2 + scatter)
        return Pulls(V_w, stiffness, along, scatter), tilt[:, None]


class PropensitySolution(SymmetricSolution):
    """Solution on a symmetric graph with heterogeneous degrees."""

    kind: ClassVar[type[SymmetricEquations]] = PropensityEquations
