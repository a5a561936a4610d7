r"""Finite regularization: four self-consistent equations that couple the loss and the graph (Eqs. 3.13 to 3.19).

Rotations that leave the labels alone do not change the law of the operator. To the operator the pulls of the loss on the output
:math:`h` therefore look linear, :math:`f = \beta - \kappa h`, with a *stiffness* :math:`\kappa` and a part :math:`\beta` that is
independent of the graph; to a node the rest of the graph is a Gaussian output :math:`\omega` and a response :math:`v` (Eq. 3.14).
What depends on the kind of graph is a few averages at one number, :math:`\kappa V_w`.

Heterogeneous degrees add two numbers (Eqs. 11.6 to 11.8): the part :math:`b = \mathbb E\sqrt\theta` of the labels along the
spike, and the *tilt* :math:`\beta_y - b\beta_s` of :math:`\beta`, along the labels and across the spike. If all degrees are
alike, they are 1 and 0.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from gcnlimit._values import Array
from gcnlimit.losses import Loss
from gcnlimit.penalties import L2, Penalty
from gcnlimit.results.order_parameters import Output, Record, Weights
from gcnlimit.spectrum import Spectrum
from gcnlimit.theory.finite_reg.averages import eta, eta_at_zero, weight_law
from gcnlimit.theory.finite_reg.class_losses import node_loss
from gcnlimit.theory.points import Points

_SOFTEST = 1e-30  # kappa V_w times the peak gain that counts as 0, where no output meets a kink
_LEAST_V_HAT = 1e-9  # V_hat_w over the regularization below which a penalty is taken there
_LAWS = 200  # updates of the law of the weights

NUMBERS = 4  # columns of a packed state that are pulls
Number = Any  # an array over the points, or one number for all


class Pulls(NamedTuple):
    r"""Unknowns of the equations, one axis over the points, for a filter of gain :math:`\tau(gg^T) = 1`.

    `V_w`: response of the weights; `stiffness`: :math:`\kappa`; `drive`, `scatter`: mean and variance of :math:`\beta`.
    """

    V_w: Array
    stiffness: Array
    drive: Array
    scatter: Array

    @property
    def product(self) -> Array:
        r"""The number :math:`\kappa V_w` on which the graph's averages depend."""
        return self.stiffness * self.V_w

    def pack(self, peak: Array) -> Array:
        r"""One row per point, of unconstrained numbers: logarithms of the positive ones.

        The stiffness is packed as :math:`\log(\kappa V_w \cdot` `peak` :math:`)`, with the peak of the squared gain.
        """
        size = self.drive**2 + self.scatter
        stiffness = np.maximum(self.product * peak, _SOFTEST)
        cosine = self.drive / np.sqrt(size)
        return np.stack([np.log(self.V_w), np.log(stiffness), cosine, np.log(size)], axis=1)

    @classmethod
    def unpack(cls, rows: Array, peak: Array) -> Self:
        """Inverse of `pack`."""
        cosine = rows[:, 2]
        V_w, stiffness, size = np.exp(rows[:, (0, 1, 3)].T)
        stiffness = np.where(stiffness > 2.0 * _SOFTEST, stiffness / (V_w * peak), 0.0)
        return cls(V_w, stiffness, cosine * np.sqrt(size), size * np.maximum(1.0 - cosine**2, 0.0))


class Transforms(NamedTuple):
    r"""Averages of a graph at :math:`s = \kappa V_w`, of :math:`U = (1 + s\,gg^T)^{-1} g` and :math:`W = U g^T` (Eq. 3.15).

    Over the bulk, :math:`\tau`: `W` and `UU` :math:`= \tau(UU^T)`, `WW_bulk` :math:`= \tau(W^2) - \tau(W)^2` and `stretch`
    :math:`= 1/(1 - s\tau(W))`. Along the labels, :math:`e`: `U`, `excess` :math:`= e(W) - \tau(W)`, and the parts of
    :math:`Uy` and :math:`Wy` across the labels, `UU_across` :math:`= e(U^TU) - e(U)^2`, `UW_across`, `WW_across`. For labels
    across the spike, over the bulk: :math:`\tau(U)`, :math:`\tau(UW)`, and the covariances `U_spread`, `UW_spread`.
    """

    W: Number
    UU: Number
    WW_bulk: Number
    stretch: Number
    U: Number
    excess: Number
    UU_across: Number
    UW_across: Number
    WW_across: Number
    U_bulk: Number = 0.0
    UW_bulk: Number = 0.0
    U_spread: Number = 0.0
    UW_spread: Number = 0.0

    def across(self, on_U: Number, on_W: Number) -> Number:
        """Square of the part across the labels of a combination of :math:`Uy` and :math:`Wy`."""
        mixed = 2.0 * on_U * on_W * self.UW_across
        return on_U**2 * self.UU_across + mixed + on_W**2 * self.WW_across


class WeightGain(NamedTuple):
    r"""Averages over the features, with :math:`D = r + \sigma^2\hat V_w` and divided by :math:`\alpha` (Eqs. 3.11 and 8.16).

    `labels` :math:`= \langle\Gamma/D\rangle`, `signal` :math:`= \langle\Gamma\sigma^2/D^2\rangle`, `noise`
    :math:`= \langle\sigma^4/D^2\rangle` and `response` :math:`= \langle\sigma^2/D\rangle`.
    """

    labels: Number
    signal: Number
    noise: Number
    response: Number

    @classmethod
    def of(cls, law: Spectrum, alpha: Number, reg: Array, V_hat_w: Array) -> Self:
        """Averages under the squared weights."""
        if law.is_white:
            response = 1.0 / (reg + V_hat_w)
            spread = response**2 / alpha
            response /= alpha
            return cls(response, spread, spread, response)
        stiff = 1.0 / (reg[..., None] + law.variance * V_hat_w[..., None])
        soft = law.variance * stiff
        columns = law.signal * stiff, law.signal * stiff * soft, soft**2, soft
        return cls(*(column @ law.weight / alpha for column in columns))


def pulls_of(loss: Loss, rho: Array, output: Output, V_w: Array) -> Pulls:
    r"""Pulls, given the output (Eq. 3.19): :math:`\kappa` makes the mean slope of :math:`\beta = f + \kappa h` vanish."""
    pull, square, slope = eta(loss, output)
    mean, variance, v = output
    stretch = 1.0 / (1.0 - v * rho * slope)
    stiffness = rho * slope * stretch
    scatter = stretch**2 * (rho * square - rho**2 * (pull**2 + slope**2 * variance))
    drive = stretch * rho * pull + stiffness * mean
    return Pulls(V_w, stiffness, drive, np.maximum(scatter, 0.0))  # rounding may make it negative


@dataclass(frozen=True, eq=False)
class Equations(Record, ABC):
    r"""The equations for a batch of points; a kind of graph adds its averages, and the unknowns it needs for them.

    `reg` is in units of the filter's mean squared gain :math:`\tau(gg^T)`; `spike` is that along the labels, in the same units.
    """

    alpha: Array
    mu: Array
    rho: Array
    reg: Array
    loss: Loss
    penalty: Penalty
    features: Spectrum
    spike: Array
    gain: Array

    shared: ClassVar[frozenset[str]] = frozenset({"loss", "penalty", "features", "law"})

    @staticmethod
    def common(points: Points, gain: Array, spike: Array) -> dict[str, Any]:
        """Fields that do not depend on the kind of graph, for filters of that gain in the bulk and along the labels."""
        same = ("alpha", "mu", "rho", "penalty", "features")
        fields = {name: getattr(points, name) for name in same}
        reg = np.minimum(points.reg / gain / gain, 1e60)  # Eq. 6.4; squares underflow beyond
        return fields | {"loss": node_loss(points), "reg": reg, "gain": gain, "spike": spike}

    @abstractmethod
    def respond(self, pulls: Pulls, rest: Array) -> tuple[Transforms, Array]:
        """Return averages of the graph, and the next values of the unknowns that are its own."""

    def rest(self, pulls: Pulls) -> Array:
        """Initial values of the unknowns of the graph, those of the limit reg → ∞ (Eq. 3.25)."""
        return np.empty((len(pulls.V_w), 0))

    def settled(self, rows: Array) -> Array:
        """States whose unknowns of the graph have followed the pulls, where one application does not suffice."""
        return rows

    def effort(self, level: int) -> dict[str, Any]:
        """Settings of the search, from quick to careful."""
        return {"max_iterations": (60, 150, 300)[level], "memory": 5}

    def at(self, reg: Array) -> Self:
        """Return the same problem at another regularization, in its own units."""
        return replace(self, reg=reg)

    @property
    def far(self) -> Array:
        """Regularization beyond which the loss is negligible: the larger squared gain, in the bulk or along the labels."""
        return np.maximum(1.0, self.spike)

    @property
    def b(self) -> float:
        r"""Part :math:`b = \mathbb E\sqrt\theta` of the labels along the spike."""
        return 1.0

    def tilt(self, pulls: Pulls, rest: Array) -> Number:
        r"""Part :math:`\beta_y - b\beta_s` of the pulls along the labels and across the spike."""
        return 0.0

    def start(self) -> Array:
        """State at large regularization: the pull of an output 0 on each labelled node, its drive and its scatter."""
        pull, _, stiffness = eta_at_zero(self.loss, self.reg.shape)
        # outputs that a bias holds at a corner have a width of about 1/reg, never 0
        stiffness = np.minimum(stiffness, self.reg)
        V_w = self.features.average(self.features.variance) / (self.alpha * self.reg)
        drive = self.b * self.rho * pull
        # labels are drawn with probability rho, and only the part b of them lies along the spike
        scatter = self.rho * (1.0 - self.b**2 * self.rho) * pull**2
        pulls = Pulls(V_w, self.rho * stiffness, drive, scatter)
        return self._row(pulls, self.rest(pulls))

    def _row(self, pulls: Pulls, rest: Array) -> Array:
        return np.concatenate([pulls.pack(self.far), rest], axis=1)

    def pulls(self, rows: Array) -> Pulls:
        """Pulls of packed states."""
        return Pulls.unpack(rows[:, :NUMBERS], self.far)

    def scale(self, rows: Array) -> Array:
        """Size of the entries of a state: 1, since they are logarithms; a small stiffness is weighted by its effect."""
        size = np.ones_like(rows)
        size[:, 1] = np.exp(np.maximum(0.0, -rows[:, 1]))
        return size

    def next(self, rows: Array) -> Array:
        """One application of the equations, NaN where a state is not that of a network."""
        output, weights, rest = self.evaluate(rows)
        return self._row(*self.node_side(output, weights.V, rest))

    def evaluate(self, rows: Array) -> tuple[Output, Weights, Array]:
        """Law of a test node's output at packed states, weights, and the next values of the graph's own unknowns."""
        pulls = self.pulls(rows)
        graph, rest = self.respond(pulls, rows[:, NUMBERS:])
        tilt = self.tilt(pulls, rest)
        weights = self._weights(pulls, graph, tilt)
        return self._output(pulls, graph, weights, tilt), weights, rest

    def node_side(self, output: Output, V_w: Array, rest: Array) -> tuple[Pulls, Array]:
        """Pulls, given the output, and the unknowns of the graph."""
        return pulls_of(self.loss, self.rho, output, V_w), rest

    laws: ClassVar[Any] = ()
    """Shape of the means of an output: none, or that of propensities."""

    def outputs_of(self, rows: Array) -> Array:
        """Outputs that packed states cause: logarithms of V_w, v and the deviation, means over it, unknowns of the graph."""
        output, weights, rest = self.evaluate(rows)
        deviation = np.sqrt(output.variance)
        means = np.arcsinh(output.mean / deviation).reshape(len(rows), -1)
        same = (part.reshape(len(rows), -1)[:, 0] for part in (weights.V, output.v, deviation))
        return np.column_stack([*map(np.log, same), means, rest])

    def states_of(self, outputs: Array) -> Array:
        """Packed states that such outputs cause."""
        V_w, v, deviation = np.exp(outputs[:, : NUMBERS - 1].T)
        means, rest = np.split(outputs[:, NUMBERS - 1 :], [math.prod(self.laws)], axis=1)
        law = deviation[:, None] * np.sinh(means), deviation[:, None] ** 2, v[:, None]
        shape = len(outputs), *self.laws
        output = Output(*(part.reshape(shape) for part in np.broadcast_arrays(*law)))
        return self._row(*self.node_side(output, V_w, rest))

    def _weights(self, pulls: Pulls, graph: Transforms, tilt: Number) -> Weights:
        """Weights, given the pulls; unless squared weights are penalized, their law depends on their field."""
        V_hat = pulls.stiffness * graph.W
        if isinstance(self.penalty, L2):
            gain = WeightGain.of(self.features, self.alpha, self.reg, V_hat)
            return self._weights_under(gain, pulls, graph, tilt)
        # The least field that weights of its own law cause: plain turns between field and law may
        # swing for ever, and a larger solution has weights that echo in their field. From below,
        # therefore.
        none = np.zeros_like(V_hat)
        w = self._weights_under(WeightGain(none, none, none, none), pulls, graph, tilt)
        unit = self.gain**2  # of the filter, which is scaled to 1: a penalty knows the true weights
        floor = np.maximum(V_hat, _LEAST_V_HAT * self.reg) * unit
        unmoved = w.Q_hat + w.m_hat**2  # field of weights that are 0
        low, high = none, np.full_like(none, np.inf)
        before = missed = high
        field = unmoved / 16.0
        for _ in range(_LAWS):
            V, Q = weight_law(self.penalty, self.alpha, self.reg * unit, floor, field * unit)
            gain = WeightGain(V * unit, Q * unit / field, Q * unit / field, V * unit)
            w = self._weights_under(gain, pulls, graph, tilt)
            miss = w.Q_hat + w.m_hat**2 - field  # NaN where all weights are 0
            wrong = np.where(np.isnan(miss), field < unmoved, np.abs(miss) > 1e-13 * field)
            if not wrong.any():
                break
            over = miss < 0.0
            low, high = np.where(over, low, field), np.where(over, field, high)
            slope = (miss - missed) / (field - before)
            before, missed = field, miss
            # the secant of the last two if it falls, else up, or half of the way between the bounds
            guess = field + miss / np.where(slope < -0.1, -slope, 1.0)
            most = np.where(np.isinf(high), 2.0 * field, high)
            middle = np.where(np.isinf(high), most, 0.5 * (low + high))
            guess = np.where((guess >= low) & (guess <= most), guess, middle)
            field = np.where(wrong, guess, field)
        w.Q[np.abs(miss) > 1e-10 * field] = np.nan
        return w

    def _weights_under(
        self, gain: WeightGain, pulls: Pulls, graph: Transforms, tilt: Number
    ) -> Weights:
        r"""Weights of a given law, solved for the part of their fields that they cause (Eqs. 3.11, 3.18 and 11.8).

        Their conjugate is :math:`q_0 = U^T\beta - \kappa\, U^T g\, z_0`. NaN where they would echo in their fields without end.
        """
        _, kappa, drive, scatter = pulls
        b = self.b
        root = np.sqrt(self.mu)
        W_labels = graph.W + b**2 * graph.excess
        pulled = b * drive * graph.U + tilt * graph.U_bulk
        # the weights move the outputs, which lessens their pull: a fixed point, linear in m_hat
        m_hat = root * pulled / (1.0 + kappa * self.mu * gain.labels * W_labels)
        m = gain.labels * m_hat
        back = kappa * root * m

        WW = graph.WW_bulk + graph.W**2
        along = drive * graph.U - b * back * (graph.W + graph.excess)  # q_0 along the spike
        Q_hat = along**2 + graph.across(drive, -b * back) + scatter * graph.UU
        Q_hat = Q_hat + back * ((1.0 - b**2) * back * WW - 2.0 * tilt * graph.UW_bulk)
        echoed = kappa**2 * WW  # of Q in Q_hat
        Q = (gain.noise * Q_hat + gain.signal * m_hat**2) / (1.0 - gain.noise * echoed)
        w = Weights(m, Q, gain.response, m_hat, Q_hat + Q * echoed, kappa * graph.W)
        w.Q[w.Q < 0.0] = np.nan
        return w

    def _output(self, pulls: Pulls, graph: Transforms, weights: Weights, tilt: Number) -> Output:
        r"""Law of a test node's output, given pulls and weights (Eqs. 3.16, 3.17 and 11.7).

        The response is :math:`v = V_w \tau(W)` and the output :math:`\omega = U z_0 + V_w\, (W - \tau(W))\, \beta`, both divided
        by :math:`1 - s\tau(W)`.
        """
        b = self.b
        # the law is that without the pull of the node itself, which `stretch` takes out
        features = graph.stretch * np.sqrt(self.mu) * weights.m
        response = graph.stretch * pulls.V_w
        echo = response * pulls.drive
        spike = b * features * (graph.U - graph.U_bulk) + echo * graph.excess
        variance = graph.across(b * features, echo) + graph.stretch**2 * weights.Q * graph.UU
        variance = variance + response**2 * pulls.scatter * graph.WW_bulk
        uneven = (1.0 - b**2) * features * graph.U_spread + 2.0 * response * tilt * graph.UW_spread
        variance = variance + features * uneven
        return self.output_law(features * graph.U_bulk, spike, variance, response * graph.W)

    def output_law(self, rest: Number, spike: Array, variance: Array, v: Array) -> Output:
        """Law of the output, from its mean along the spike and off it."""
        return Output(rest + spike, variance, v)
