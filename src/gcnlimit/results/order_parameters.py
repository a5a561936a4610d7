"""Order parameters: the few numbers per point from which every answer of the theory follows, as records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt

from gcnlimit._runtime.extras import need
from gcnlimit._values import Array

if TYPE_CHECKING:
    import xarray

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Record:
    """Arrays that belong together, by name; the first axes of each run over the points."""

    powers: ClassVar[dict[str, int]] = {}
    """Powers of 1/reg with which fields vanish at infinite regularization."""

    shared: ClassVar[frozenset[str]] = frozenset()
    """Fields that are the same for all points."""

    def __iter__(self) -> Iterator[Any]:
        """Values in the order of the fields."""
        return iter(vars(self).values())

    def _map(self, function: Callable[[Any, int], Any]) -> Self:
        """Record with a function applied to each field and its power of 1/reg; shared fields stay as they are."""

        def mapped(name: str, value: Any) -> Any:
            if isinstance(value, Record):
                return value._map(function)
            return value if name in self.shared else function(value, self.powers.get(name, 0))

        return type(self)(*(mapped(name, value) for name, value in vars(self).items()))

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """Record of some of the points; a field that is not an array selects them by its own `take`."""

        def taken(value: Any, _: int) -> Any:
            indexed = isinstance(value, np.ndarray) or not hasattr(value, "take")
            return value[rows] if indexed else value.take(rows)

        return self._map(taken)

    def reshape(self, shape: tuple[int, ...]) -> Self:
        """Same record with the one axis over the points replaced by their shape; single numbers become floats."""

        def shaped(value: Any, _: int) -> Any:
            value = np.reshape(value, shape + np.shape(value)[1:])
            return value.item() if value.ndim == 0 else value

        return self._map(shaped)

    def flat(self, axes: int) -> Self:
        """Same record with one axis over the points in place of the first `axes`."""
        return self._map(lambda value, _: np.reshape(value, (-1, *np.shape(value)[axes:])))

    def without_powers(self, reg: Array) -> Self:
        """Coefficients of the leading powers of 1/reg, from values at a large `reg`."""
        return self._map(lambda value, power: (value.T * reg**power).T)


AnyRecord = TypeVar("AnyRecord", bound=Record)


def gathered(parts: Iterable[tuple[Rows, AnyRecord]], size: int) -> AnyRecord:
    """One record for all points, from records of some of them, at least one.

    Points without a record are at infinite regularization: 0 for what vanishes there, NaN for the rest.
    """
    parts = list(parts)
    whole = parts[0][1]._map(
        lambda value, power: np.full((size, *np.shape(value)[1:]), 0.0 if power else np.nan)
    )
    for rows, part in parts:
        _enter(whole, rows, part)
    return whole


def _enter(whole: Record, rows: Rows, part: Record) -> None:
    for name, value in vars(part).items():
        into = getattr(whole, name)
        if isinstance(value, Record):
            _enter(into, rows, value)
        elif name not in part.shared:
            into[rows] = value


@dataclass(frozen=True, eq=False)
class Output(Record):
    r"""Output :math:`yh` of a test node: `mean` and `variance` (Eq. 3.17), and response `v` to its own loss (Eq. 3.16)."""

    mean: Array
    variance: Array
    v: Array

    powers: ClassVar[dict[str, int]] = {"mean": 1, "variance": 2, "v": 1}


@dataclass(frozen=True, eq=False)
class Weights(Record):
    r"""Order parameters of the trained weights and their conjugates.

    With :math:`u` the centroid of the features and :math:`\langle\cdot\rangle` the covariance over trainings at inverse
    temperature :math:`\beta`: :math:`m_w = u \cdot w/N`, :math:`Q_w = |w|^2/N`, :math:`V_w = \beta \langle w \cdot w \rangle/N`;
    the hatted ones are conjugate to them (Eqs. 3.11 and 3.18).
    """

    m: Array
    Q: Array
    V: Array
    m_hat: Array
    Q_hat: Array
    V_hat: Array

    powers: ClassVar[dict[str, int]] = {"m": 1, "Q": 2, "V": 1}

    def in_units(self, gain: Array) -> Weights:
        """Order parameters of a network whose filter was divided by `gain`, in its own units."""
        units = (1.0 / gain, gain**-2.0, gain**-2.0, gain, gain**2, gain**2)
        return Weights(*(value * unit for value, unit in zip(self, units, strict=True)))


@dataclass(frozen=True, eq=False)
class OrderFunctions(Record):
    r"""Order functions of a network along its depth, predicted or measured on an instance.

    Each array has the axes of the parameters, then one axis over the depths `x` in [0, 1] for each of its arguments; layer
    :math:`k` of :math:`K` stands at :math:`k/K`. `m` are overlaps with the labels, `Q` correlations and `V` responses of the
    states on the way from the features to the output; hats mark the signal that comes back from the loss, `qh` both. The page
    about depth has the definitions (Eqs. 3.1, 3.9 and 3.10).

    At infinite regularization everything is the coefficient of the leading power of :math:`r`: :math:`m, m_w, V_h, V_w,
    Q_{qh}` are to be divided by :math:`r`, and :math:`Q_h, Q_w` by :math:`r^2`.

    >>> import gcnlimit as gl
    >>> data, gcn = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), gl.GCN(gl.Diffusion(t=1.0), symmetrize=True)
    >>> f = gl.depth.order_functions(data, gcn, [0.0, 0.5, 1.0])
    >>> f.V.shape, (f.V[0, 0] / f.weights.V).round(12).item()  # at depth 0 the states respond as the weights do
    ((3, 3), 1.0)
    """

    x: Array
    m: Array
    Q: Array
    V: Array
    m_hat: Array
    Q_hat: Array
    V_hat: Array
    Q_qh: Array
    V_qh: Array
    weights: Weights

    powers: ClassVar[dict[str, int]] = {"m": 1, "Q": 2, "V": 1, "Q_qh": 1}
    shared: ClassVar[frozenset[str]] = frozenset({"x"})

    def in_units(self, gain: Array, layers: Array) -> OrderFunctions:
        """Order functions of a chain whose filter was divided by `gain` and its layer `k` by ``layers[:, k]``, in its units."""
        up = layers[:, :-1] / gain[:, None]
        across = up[:, :, None] * up[:, None, :]
        ratio = up[:, None, :] / up[:, :, None]
        back = 1.0 / across
        units = (1.0, up, across, across, 1.0 / up, back, back, ratio, ratio)
        *functions, weights = self
        scaled = [value * unit for value, unit in zip(functions, units, strict=True)]
        return OrderFunctions(*scaled, *[weights.in_units(gain)])

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the parameters."""
        return np.shape(self.m)[:-1]

    def as_dict(self) -> dict[str, Array]:
        """Return the functions by name, those of the weights with ``_w`` at their end."""
        functions = vars(self) | {f"{name}_w": value for name, value in vars(self.weights).items()}
        del functions["x"], functions["weights"]
        return {name: np.asarray(value) for name, value in functions.items()}

    def to_xarray(self) -> xarray.Dataset:
        """Return the functions as a dataset with dimensions `x` and `z` after those of the parameters, `point_0` and so on."""
        need("to_xarray", "sweep", "xarray")
        import xarray

        axes = (*(f"point_{i}" for i in range(len(self.shape))), "x", "z")
        variables = {name: (axes[: values.ndim], values) for name, values in self.as_dict().items()}
        return xarray.Dataset(variables, {"x": self.x, "z": self.x})


@dataclass(frozen=True, eq=False)
class OrderParameters:
    r"""Order parameters of a trained network, or of the Bayes-optimal classifier; fields have the shape of the points.

    Parameters
    ----------
    test_margin, train_margin
        Argument of :math:`\Phi` in the accuracies (Eq. 3.12); of the mean accuracies where degrees are heterogeneous.
    output
        Law of the output of a test node. None if all points are at infinite regularization, where it vanishes; the limits of
        what vanishes, with its powers of ``reg``, are those of `gcnlimit.depth.order_functions`.
    weights
        Order parameters of the weights; likewise.
    overlap
        Overlap :math:`y \cdot \hat y/N` of the labels with their estimates, of the Bayes-optimal classifier.
    feature_margin, effective_labels
        Of a network used on another graph: the margin :math:`c` of the features alone, and the fraction :math:`q` of labels
        that would align the weights as well without a graph (Eqs. 10.1 and 10.5).
    bias
        Free bias of a network on two unequal classes, whose labels are :math:`\pm 1`. Of the square loss, whose `output` has
        units of the codes, it is :math:`2p - 1`; in Eq. 8.13, and in `fit`, it is divided by :math:`2\sqrt{p(1-p)}`.
    nonzero
        Fraction of the weights that are not 0, under a penalty with a corner there.

    Among points of finite regularization, those at infinite regularization have 0 for what vanishes and NaN for the rest.

    >>> import gcnlimit as gl
    >>> p = gl.predict(gl.CSBM(4, 1.0, 2.0, 0.1), gl.GCN(gl.Residual([1.0, 0.5]), reg=1.0)).order_parameters
    >>> bool(abs(p.test_margin - p.output.mean / p.output.variance**0.5) < 1e-12), p.layers.Q.shape
    (True, (2, 2))
    """

    test_margin: float | Array
    train_margin: float | Array
    output: Output | None = None
    weights: Weights | None = None
    overlap: float | Array | None = None
    feature_margin: float | Array | None = None
    effective_labels: float | Array | None = None
    bias: float | Array | None = None
    nonzero: float | Array | None = None
    sources: tuple[tuple[Rows, Any], ...] = field(default=(), repr=False)  # of `layers`

    @cached_property
    def layers(self) -> OrderFunctions | None:
        """Order functions at the layers of a discrete network, computed when first asked for; None for other filters."""
        if not self.sources:
            return None
        parts: list[tuple[Rows, OrderFunctions]]
        parts = [(rows, source.chain_layers()) for rows, source in self.sources]
        return gathered(parts, np.size(self.test_margin)).reshape(np.shape(self.test_margin))
