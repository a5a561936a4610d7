"""The loss of a labelled node, as the equations of two equal classes see it, whatever the classes are."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.classes import Classes
from gcnlimit.losses import Loss
from gcnlimit.losses.base import ClassLoss, Form
from gcnlimit.numerics.roots import bracketed_roots
from gcnlimit.results.order_parameters import Output
from gcnlimit.theory.decision import two_codes
from gcnlimit.theory.finite_reg.averages import Eta, eta, expected_losses, slope_at_zero
from gcnlimit.theory.finite_reg.softmax import SoftmaxOf
from gcnlimit.theory.points import Points


def node_loss(points: Points) -> Loss:
    """Return the loss whose averages enter the equations of the points (Eqs. 3.7, 8.6 and 8.14).

    The square loss has the same for all classes; the others, on two unequal classes, come with a free bias.
    """
    loss, classes = points.loss, points.classes
    if points.noise:
        return Flipped(loss, points.noise)
    if classes.two or loss.form is Form.CODES:
        return loss
    if classes.skewed:
        return Biased(loss, classes.fractions)
    assert classes.equal  # other cases are refused by the table of what has a theory
    assert loss.form is Form.LOGITS
    return SoftmaxOf(classes.count)


def train_push(points: Points) -> float:
    r"""Return what training adds to the mean output of a labelled node, over :math:`v`: :math:`-\ell'(0)` (Eq. 3.12).

    With the square loss and targets :math:`\pm 1` on two unequal classes it is :math:`1/2\sqrt{p(1-p)}` in units of the codes.
    """
    # at vanishing outputs the softmax gives every class 1/C, whatever the weights
    if points.loss.form is Form.LOGITS and points.classes.equal:
        return float(points.classes.count**-0.5)
    push = -slope_at_zero(points.loss)
    return push / points.class_loss.unit if points.loss.form is Form.CODES else push


def offset(loss: ClassLoss, solved: Loss, output: Output) -> Array:
    r"""Bias of a network on two unequal classes over the standard deviation of its output; 0 for other classes.

    With the square loss and targets :math:`\pm 1` it is :math:`2p - 1`, in units of the codes over :math:`2\sqrt{p(1-p)}`.
    `solved` is the loss of the equations, `node_loss`.
    """
    deviation = np.sqrt(output.variance)
    if isinstance(solved, Biased):
        return np.asarray(solved.bias(*output) / deviation)
    excess = loss.classes.fractions[0] - loss.classes.fractions[1]
    return np.asarray(excess / loss.unit / deviation)


def trained_bias(loss: ClassLoss, offset: Array, output: Output | None) -> Array | None:
    """Return the bias of a network on two unequal classes of labels ±1; at reg = ∞, where `offset` is NaN, the resting one."""
    if not loss.classes.skewed:
        return None
    codes = loss.form is Form.CODES
    rest = loss.classes.fractions[0] - loss.classes.fractions[1] if codes else loss.resting_bias
    deviation = 0.0 if output is None else np.sqrt(output.variance)
    return np.where(np.isnan(offset), rest, offset * deviation * (loss.unit if codes else 1.0))


def limiting_offset(classes: Classes) -> float:
    """Return what stands for `offset` at reg = ∞: NaN, the best threshold, for unequal classes; the limit itself is infinite."""
    return 0.0 if classes.equal else np.nan


def loss_elsewhere(loss: Loss, mean: Array, deviation: Array, offset: Array) -> Array:
    """Loss of a Gaussian output that was not trained on, with a bias of `offset` deviations that was trained elsewhere."""
    tiny = np.full_like(mean, loss.smallest_response)
    if not isinstance(loss, Biased):
        return expected_losses(loss, Output(mean, deviation**2, tiny))[0]
    return loss.losses_at(mean, deviation**2, tiny, offset * deviation)[0]


@dataclass(frozen=True, eq=False)
class Flipped(Loss):
    r"""A loss on labels of which a fraction `noise` is wrong: averages over both signs of the label (Eq. 5.4).

    A node with the label :math:`sy`, :math:`s = \pm 1`, is pulled by :math:`s f(s\omega)` along its class. Test nodes are
    compared with their class.
    """

    loss: Loss
    noise: float

    @property
    def smallest_response(self) -> float:  # type: ignore[override]
        """Response that stands for 0."""
        return self.loss.smallest_response

    def value(self, z: npt.ArrayLike) -> Array:
        """Loss at margin `z`."""
        return self.loss.value(z)

    def gaussian_pull(self, mean: Array, variance: Array, v: Array) -> tuple[Array, Array, Array]:
        """Averages of the pull along the class, its square and its stiffness."""
        # a wrong label sees the output of its node with the other sign, and pulls against the class
        right, wrong = (eta(self.loss, Output(sign * mean, variance, v)) for sign in (1.0, -1.0))
        kept, noise = 1.0 - self.noise, self.noise
        return (
            kept * right.pull - noise * wrong.pull,
            kept * right.square + noise * wrong.square,
            kept * right.stiffness + noise * wrong.stiffness,
        )

    def gaussian_losses(self, mean: Array, variance: Array, v: Array) -> tuple[Array, Array]:
        """Averages of the loss at the output, labels right, and at its proximal point, labels as given."""
        test, right = expected_losses(self.loss, Output(mean, variance, v))
        _, wrong = expected_losses(self.loss, Output(-mean, variance, v))
        return test, (1.0 - self.noise) * right + self.noise * wrong


@dataclass(frozen=True, eq=False)
class Biased(Loss):
    r"""A loss on two classes of fractions :math:`p` and :math:`1 - p`, with a bias that is not regularized.

    A node of class :math:`t = \pm 1` with the code :math:`\eta_t` has the output :math:`\omega = \bar\omega\eta_t + \sigma z`
    and the pull :math:`f_t = t\,f(t(\omega + b))`, :math:`f` that of the loss; the bias :math:`b` makes the sum of the pulls
    vanish (Eq. 8.14).
    """

    loss: Loss
    fractions: Array
    # last biases, by their shape
    recent: dict[tuple[int, ...], Array] = field(default_factory=dict)

    @property
    def smallest_response(self) -> float:  # type: ignore[override]
        return self.loss.smallest_response

    def value(self, z: npt.ArrayLike) -> Array:
        return self.loss.value(z)

    def outputs(self, mean: Array, variance: Array, v: Array, bias: Array) -> tuple[Output, Output]:
        r"""Return the laws of :math:`t(\omega + b)` in the two classes."""
        upper, lower = two_codes(self.fractions)
        return Output(mean * upper + bias, variance, v), Output(-(mean * lower + bias), variance, v)

    def bias(self, mean: Array, variance: Array, v: Array) -> Array:
        """Bias at which the pulls of the two classes balance."""
        p, other = self.fractions

        def imbalance(bias: Array) -> tuple[Array, Array]:
            first, second = self._classes(mean, variance, v, bias)
            slope = p * first.stiffness + other * second.stiffness
            return other * second.pull - p * first.pull, slope

        # a search moves little from step to step: begin where the last of its steps ended
        resting = np.full_like(mean, np.log(p / other))
        last = self.recent.get(mean.shape, resting)
        start = np.where(np.isfinite(last), last, resting)
        anywhere = np.full_like(mean, np.inf)
        bias = bracketed_roots(imbalance, start, -anywhere, anywhere)
        self.recent[mean.shape] = bias
        return bias

    def gaussian_pull(self, mean: Array, variance: Array, v: Array) -> tuple[Array, Array, Array]:
        r"""Averages :math:`\mathbb E[\eta f]`, :math:`\mathbb E f^2` and :math:`-\mathbb E f'` over both classes."""
        p, other = self.fractions
        upper, lower = two_codes(self.fractions)
        # a node of the second class is pulled the other way, by minus f
        first, second = self._classes(mean, variance, v, self.bias(mean, variance, v))
        return (
            p * upper * first.pull - other * lower * second.pull,
            p * first.square + other * second.square,
            p * first.stiffness + other * second.stiffness,
        )

    def gaussian_losses(self, mean: Array, variance: Array, v: Array) -> tuple[Array, Array]:
        return self.losses_at(mean, variance, v, self.bias(mean, variance, v))

    def losses_at(self, mean: Array, variance: Array, v: Array, bias: Array) -> tuple[Array, Array]:
        """Averages over both classes of the loss at the output with that bias, and at its proximal point."""
        outputs = self.outputs(mean, variance, v, bias)
        first, second = (np.stack(expected_losses(self.loss, output)) for output in outputs)
        test, train = self.fractions[0] * first + self.fractions[1] * second
        return test, train

    def _classes(self, mean: Array, variance: Array, v: Array, bias: Array) -> tuple[Eta, Eta]:
        both = map(np.concatenate, zip(*self.outputs(mean, variance, v, bias), strict=True))
        first, second = zip(*(p.reshape(2, -1) for p in eta(self.loss, Output(*both))), strict=True)
        return Eta(*first), Eta(*second)
