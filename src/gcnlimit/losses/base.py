"""What a loss is: a convex function of the margin, whose proximal operator enters the theory and the training."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from numpy.polynomial import chebyshev

from gcnlimit._validation import broadcast, reals
from gcnlimit._values import Array, Integers
from gcnlimit.classes import Classes
from gcnlimit.errors import ParameterError
from gcnlimit.numerics.gaussian import legendre_grid
from gcnlimit.numerics.roots import bracketed_roots, first_root

_LOST = 1e-12  # v over an output, below which the move by the proximal operator is rounding
_REACHES = 2.0 ** np.arange(20)  # bounds of a bias, beyond which there is none that is finite
_NEAR = 1e-5  # distance from a margin at which pulls are compared
_NARROW = 1e-8  # width of their proximal operator
_WINDOW = 0.5  # half the width of the interpolation of a loss
_NODES = np.cos(np.pi * (np.arange(13) + 0.5) / 13)
_SERIES = np.linalg.inv(chebyshev.chebvander(_NODES, 12))  # from values to coefficients
_SLOPES, _CURVATURES = chebyshev.chebder(_SERIES), chebyshev.chebder(_SERIES, 2)
_DERIVED = np.stack([_SLOPES, [*_CURVATURES, np.zeros(13)]], 1)  # to those of two derivatives
_DENSE = np.linspace(-11.0, 11.0, 512)  # margins over 5, by their inverse hyperbolic sine
_STEEP = 1e17  # slope times the least v, beyond the widest outputs
_PIECES = np.array(
    [-81920, -10240, -1280, -160, *range(-84, 85, 12), 160, 1280, 10240, 81920], float
)
_CENTRAL = chebyshev.chebval(0.0, _DERIVED)  # from values to derivatives at 0


class Form(enum.Enum):
    """What of the outputs a loss sees."""

    MARGIN = "the margin of one of two classes"
    CODES = "the distance from the code of the class, each direction by itself"
    LOGITS = "the outputs of all classes"


def both(omega: npt.ArrayLike, v: npt.ArrayLike) -> tuple[Array, Array]:
    """Arguments of a proximal operator as arrays, which broadcast."""
    point, width = reals("omega", omega), reals("v", v)
    broadcast(omega=point.shape, v=width.shape)
    return point, width


class Convex(ABC):
    """A convex function of one number and its proximal operator: a loss of the margin, or a penalty of a weight.

    Each method is by default derived from those above it; all arguments broadcast.
    """

    @abstractmethod
    def value(self, z: npt.ArrayLike) -> Array:
        """Value of the function at `z`, a margin or a weight."""

    kinks: ClassVar[tuple[float, ...]] = ()
    """Points where a derivative of the function jumps."""

    def derivatives(self, z: npt.ArrayLike) -> tuple[Array, Array]:
        r"""First two derivatives :math:`\ell'`, :math:`\ell''` at `z`, from the right at a kink."""
        z = reals("z", z)
        return _derivatives(self, z, np.searchsorted(self.kinks, z, side="right"))

    def prox(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        """Proximal operator of `v` times the function, at `omega`."""
        return _prox(self, *np.broadcast_arrays(*both(omega, v)))

    def prox_derivative(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        r"""Derivative of the proximal operator in `omega`: :math:`1/(1 + v\ell'')` there, 0 in a corner."""
        x = self.prox(omega, v)
        slope = 1.0 / (1.0 + reals("v", v) * self.derivatives(x)[1])
        return np.where(np.isin(x, self.kinks), 0.0, slope)

    def breakpoints(self, v: npt.ArrayLike) -> Array | None:
        """Points `omega` where the proximal operator is not smooth, stacked along the first axis; None if there are none."""
        if not self.kinks:
            return None
        v, z = reals("v", v), np.repeat(self.kinks, 2)  # from the left, and from the right
        slopes = self._slopes(z, (np.arange(z.size) + 1) // 2)[0]
        return np.stack([kink + v * slope for kink, slope in zip(z, slopes, strict=True)])

    @property
    def has_derivatives(self) -> bool:
        """Whether `derivatives` can be relied upon: all kinks are declared, or there are none."""
        return bool(self.kinks) or self.breakpoints(np.ones(1)) is None

    @cached_property
    def _known(self) -> tuple[Array, Integers, Array]:
        """Margins, denser around 0, each kink from both sides; the number of kinks below them; and the slopes there."""
        z = np.sort([-np.inf, *5.0 * np.sinh(_DENSE), np.inf, *self.kinks, *self.kinks])
        side = np.searchsorted(self.kinks, z, side="right")
        side[np.searchsorted(z, self.kinks)] -= 1  # the first of two, from below
        with np.errstate(all="ignore"):
            slope = self._slopes(z, side)[0]
        return z, side, np.where(np.isfinite(slope), slope, np.copysign(np.inf, z))

    def _slopes(self, z: Array, piece: Any) -> tuple[Array, Array]:
        """Derivatives at `z` on a given piece between kinks."""
        if type(self).derivatives is Convex.derivatives:
            return _derivatives(self, z, np.asarray(piece))
        end = np.array([*self.kinks, np.inf])[piece]
        return self.derivatives(np.minimum(z, np.nextafter(end, -np.inf)))


class Loss(Convex):
    r"""A convex function :math:`\ell` of the margin :math:`z = yh` that decreases at 0; all arguments broadcast.

    A new loss defines `value`, and `kinks` if a derivative of it jumps. Its proximal operator (Eq. 3.6)
    :math:`\mathrm{prox}_{v\ell}(\omega) = \arg\min_x \ell(x) + (x-\omega)^2 / 2v` is then found by Newton's method, for a loss
    that varies on a scale of 1. Closed forms are faster: `derivatives`, or `prox` and `prox_derivative` with `breakpoints`;
    `gcnlimit.check_loss` checks them. Each method is by default derived from those above it.

    >>> class Exponential(Loss):
    ...     def value(self, z):
    ...         return np.exp(-z)
    >>> x = Exponential().prox(0.5, v=2.0)
    >>> bool(abs(x - 0.5 - 2.0 * np.exp(-x)) < 1e-12)  # stationarity: x - omega + v l'(x) = 0
    True
    """

    def pull(self, omega: npt.ArrayLike, v: npt.ArrayLike) -> tuple[Array, Array]:
        r"""Pull :math:`f = (\mathrm{prox} - \omega)/v` of the loss on an output, and :math:`-f' = (1 - \mathrm{prox}')/v`.

        The first is :math:`-\ell'` at the proximal point; NaN where the division would lose it in rounding.
        """
        omega, v = both(omega, v)
        # from the slope at the proximal point no digits are lost, however small v is
        smooth = not self.kinks and type(self).derivatives is not Loss.derivatives
        if smooth or type(self).prox is Loss.prox:
            x = self.prox(omega, v)
            slope, curvature = self.derivatives(x)
            stiffness = curvature / (1.0 + v * curvature)
            if smooth:
                return -slope, stiffness
            corner = np.isin(x, self.kinks)
            return np.where(corner, (x - omega) / v, -slope), np.where(corner, 1.0 / v, stiffness)
        v = np.where(v > _LOST * np.abs(omega), v, np.nan)
        return (self.prox(omega, v) - omega) / v, (1.0 - self.prox_derivative(omega, v)) / v

    def gaussian_pull(
        self, mean: Array, variance: Array, v: Array
    ) -> tuple[Array, Array, Array] | None:
        r"""Averages of :math:`f`, :math:`f^2` and :math:`-f'` over a Gaussian output; None if they are not closed."""
        return None

    def gaussian_losses(self, mean: Array, variance: Array, v: Array) -> tuple[Array, Array] | None:
        """Averages of the loss at a Gaussian output and at its proximal point; None if they are not closed."""
        return None

    slope_at_zero: ClassVar[float | None] = None
    """Derivative of the loss at margin 0; None if it is to be found numerically."""

    smallest_response: ClassVar[float] = 1e-9
    """Response `v` that stands for 0: the smallest at which the averages of `pull` keep their digits."""

    @cached_property
    @np.errstate(all="ignore")
    def pieces(self) -> Array | None:
        """Margins between which 64 nodes resolve a loss without kinks; None unless its slope integrates to its value there."""
        x, length = legendre_grid(np.stack([_PIECES[:-1], _PIECES[1:]], axis=1))
        slope, unit = self.derivatives(x)[0], abs(float(self.derivatives(0.0)[0]))
        if self.kinks or not self.has_derivatives or not 1e-3 < unit < 1e3:
            return None
        most = np.max(np.abs(slope), axis=1) + 1e-12
        error = np.abs(np.vecdot(slope, length) - np.diff(self.value(_PIECES)))
        # a slope as steep as that of an exponential far out is never met
        good = (error <= 1e-9 * most * np.diff(_PIECES)) | ~(most < _STEEP)
        return _PIECES if good.all() else None

    def in_pieces(self, x: Array) -> tuple[Array, Array]:
        """First two derivatives of a loss that has `pieces`: its slope turns slowly in those that are long."""
        own = type(self).derivatives is Loss.derivatives
        return _derivatives(self, x, 0, np.abs(x) / 8.0 - 10.5) if own else self.derivatives(x)

    form: ClassVar[Form] = Form.MARGIN
    """What of the outputs the loss sees."""

    has_descent: ClassVar[bool] = False
    """Whether conjugate gradients train a network with this loss, by its first two derivatives."""

    def on(self, classes: Classes) -> ClassLoss:
        """Return the form that the loss takes on these classes."""
        return ClassLoss(self, classes)

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuse a class derived from a loss of the library: its proximal operator would be that of the other."""
        super().__init_subclass__(**options)
        for base in cls.__mro__[1:]:
            ours = issubclass(base, Loss) and base.__module__.startswith("gcnlimit.")
            if ours and base is not Loss:
                problem = f"{cls.__name__} derives from {base.__name__}, which is final"
                raise TypeError(f"{problem}; derive it from gcnlimit.Loss")


@np.errstate(all="ignore")  # a function may overflow far from 0
def _derivatives(loss: Convex, z: Array, piece: Any, window: Any = 0.0) -> tuple[Array, Array]:
    r"""First two derivatives of a loss at `z`, which lies on the given `piece` of the line cut at the kinks.

    The function is interpolated on Chebyshev nodes of a window of width 1 around each point, on one side of a kink: if it is
    smooth on a scale of 1, the first derivative has about 13 digits, the second about 12.
    """
    edges = np.array([-np.inf, *loss.kinks, np.inf])
    width = np.minimum(_WINDOW, 0.5 * np.diff(edges))
    # a window that does not reach across a kink, where the interpolation would ring
    ends = np.stack([edges[:-1] + width, edges[1:] - width])
    shape, z, piece = z.shape, z.reshape(-1), np.broadcast_to(piece, z.shape).reshape(-1)
    centre = np.clip(z, *ends[:, piece])
    wide = np.maximum(width[piece], np.ravel(window))
    derived = np.full((2, z.size), np.nan)
    if (free := np.flatnonzero(z == centre)).size:
        values = loss.value(z[free] + np.multiply.outer(_NODES, wide[free]))
        derived[:, free] = _CENTRAL @ (values - values[6])  # beside that at z itself
    for end, half in zip(ends.ravel(), np.tile(width, 2), strict=True):  # many points in each
        if (held := np.flatnonzero((centre == end) & (z != end))).size:
            series = _DERIVED @ loss.value(end + half * _NODES)
            derived[:, held] = chebyshev.chebval((z[held] - end) / half, series)
    slope, curvature = derived.reshape(2, *shape) / np.reshape([wide, wide**2], (2, *shape))
    return slope, curvature


@np.errstate(all="ignore")
def _prox(loss: Convex, omega: Array, v: Array) -> Array:
    r"""Root :math:`x` of :math:`F(x) = x - \omega + v\ell'(x)`, by Newton's method between bounds.

    It begins between two margins of known slopes; where :math:`F` jumps through 0 at a kink, that is the answer.
    """
    z, side, known = loss._known
    first, last = np.zeros(omega.shape, np.intp), np.full(omega.shape, z.size - 1)
    for _ in range(z.size.bit_length()):
        middle = (first + last) // 2
        below = z[middle] - omega + v * known[middle] < 0.0
        first, last = np.where(below, middle, first), np.where(below, last, middle)
    piece, low, high = side[first], z[first], z[last]
    slope, curvature, seen = (np.full(omega.shape, np.nan) for _ in range(3))

    def slopes(x: Array) -> tuple[Array, Array]:
        # roots that were found stay where they are: only the others cost
        new = x != seen
        slope[new], curvature[new] = loss._slopes(x[new], piece[new])
        seen[...] = x
        # where a convex function overflows, its slope is away from 0, beyond all numbers
        beyond = ~np.isfinite(slope + curvature)
        return np.where(beyond, np.copysign(np.inf, x), slope), np.where(beyond, 0.0, curvature)

    less, more = (z[end] - omega + v * known[end] for end in (first, last))
    line = (low * more - high * less) / (more - less)
    x = np.clip(np.where(np.isfinite(line), line, omega), low, high)

    def stationarity(x: Array) -> tuple[Array, Array]:
        slope, curvature = slopes(x)
        return x - omega + v * slope, 1.0 + v * np.maximum(curvature, 0.0)

    # after a step of 1e-8 the error is its square, rounding
    x = bracketed_roots(stationarity, x, low, high, tol=1e-8)
    return np.where(low == high, low, x)  # a kink leaves no room


@dataclass(frozen=True, eq=False)
class ClassLoss:
    r"""A loss on nodes of given classes: its targets, its free bias, and what it is where all output vanishes.

    Two unequal classes, of fractions :math:`p` and :math:`1 - p`, have labels :math:`\pm 1` and a bias that is not regularized.
    The square loss regresses on the codes; for two unequal classes these are the labels over :math:`2\sqrt{p(1-p)}`, and it is
    :math:`1/4p(1-p)` times the same function of the margin.
    """

    loss: Loss
    classes: Classes

    @property
    def form(self) -> Form:
        """What of the outputs the loss sees."""
        return self.loss.form

    @property
    def solved(self) -> bool:
        """Whether training with it is defined: a loss of the margin needs two classes."""
        return self.classes.count == 2 or self.form is not Form.MARGIN

    @cached_property
    def resting_bias(self) -> float:
        """Bias of two unequal classes where all other output vanishes."""
        return resting_bias(self.loss, float(self.classes.fractions[0]))

    @cached_property
    def is_pinned(self) -> bool:
        r"""Whether outputs of a class are at a corner of the loss where all but the resting bias :math:`\pm b` vanishes.

        The pulls on them then differ from node to node, however large the regularization is, and infinite regularization has
        no explicit formula. Of two equal classes the bias is 0.
        """
        two = self.form is Form.MARGIN and self.classes.count == 2
        if not two or self.loss.breakpoints(np.ones(1)) is None:
            return False
        bias = np.array([1.0, -1.0]) * (self.resting_bias if self.classes.skewed else 0.0)
        # a jump of the pull is a corner: outputs on both sides of it are pulled to it
        left, right = (self.loss.pull(bias + side, _NARROW)[0] for side in (-_NEAR, _NEAR))
        return bool(np.any(left - right > 1e-3 * np.abs(left)))

    @property
    def at_rest(self) -> float:
        r"""Loss of an output that vanishes, beside the bias of unequal classes, which stays.

        The cross-entropy is the entropy of the classes; a loss of the margin of two unequal classes is
        :math:`\min_b\, p\,\ell(b) + (1-p)\,\ell(-b)`.
        """
        p = self.classes.fractions
        if self.form is Form.LOGITS:
            return float(-p @ np.log(p))
        if not self.classes.skewed or self.form is Form.CODES:
            return float(self.loss.value(0.0))
        bias = self.resting_bias
        return float(p[0] * self.loss.value(bias) + p[1] * self.loss.value(-bias))

    @property
    def unit(self) -> float:
        r"""Standard deviation :math:`2\sqrt{p(1-p)}` of labels :math:`\pm 1` of two unequal classes; 1 for other classes."""
        return float(2.0 * np.sqrt(np.prod(self.classes.fractions))) if self.classes.skewed else 1.0

    @property
    def targets(self) -> Array:
        r"""Targets of the square loss, one row for each class: the codes, or :math:`\pm 1` over `unit` for two unequal ones."""
        return np.array([[1.0], [-1.0]]) / self.unit if self.classes.skewed else self.classes.codes


def resting_bias(loss: Loss, first: float) -> float:
    r"""Bias :math:`b` that minimizes :math:`p\,\ell(b) + (1-p)\,\ell(-b)`, with the fraction `first` :math:`p` of one class."""

    def slope(bias: float) -> float:
        exact = loss.has_derivatives
        return float(loss.derivatives(bias)[0] if exact else -loss.pull(bias, 1e-6)[0])

    def excess(bias: float) -> float:
        return first * slope(bias) - (1.0 - first) * slope(-bias)

    bias = first_root(excess, ((-reach, reach) for reach in _REACHES))
    if bias is None:
        problem = f"loss = {loss!r} has no finite bias for unequal classes"
        raise ParameterError(f"{problem}; take one that levels off")
    return bias
