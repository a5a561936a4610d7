"""What a filter is: its function, from which its quadrature and its action follow, and the layers that compute it."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Never, Self

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import as_real, number, reals, tolerance
from gcnlimit._values import Array, Value
from gcnlimit.errors import ParameterError
from gcnlimit.filters import action
from gcnlimit.filters.action import Block, Shape, Whole, by_columns
from gcnlimit.filters.chain import Chain
from gcnlimit.numerics.linear import norm
from gcnlimit.numerics.spectral import gauss_chebyshev


class Averages(NamedTuple):
    r"""The averages of a filter that enter the accuracy; a common scale of the filter drops out.

    `tau_g2` is :math:`\tau(g^2)`, `e_g2` is :math:`e(g^2)`, `excess` is their difference, `e_g` is :math:`e(g)`; `coherent` and
    `scattered` are the variances of the output due to the signal and to the choice of labelled nodes (Eqs. 4.7 and 4.13).
    """

    tau_g2: Array
    e_g2: Array
    excess: Array
    e_g: Array
    coherent: Array
    scattered: Array


class SearchScale(NamedTuple):
    r"""How `tune` searches a parameter :math:`p`: in equal steps of an increasing function `to` of it, whose inverse is `back`.

    By default it is linear near 0 and logarithmic far away. `largest` is the largest magnitude that is tried in place of
    infinity. With `per_radius` both are meant for :math:`p` times the spectral radius of the operator. With `strict` the filter
    exists below `largest` only, and wider bounds are cut there.
    """

    to: Callable[[Any], Any] = np.arcsinh
    back: Callable[[Any], Any] = np.sinh
    largest: float = 1e4
    per_radius: bool = False
    strict: bool = False


class Filter(Value, ABC):
    """A scalar function of the graph operator (Eq. 2.1); its one parameter may be an array.

    A new filter is a frozen dataclass with one field and one method, `normalized`: its function. That is enough on symmetric
    graphs; a second method, `chain`, gives the layers that compute it, which directed graphs need. Everything else follows
    from these two and may be overridden by what is known in closed form (`quadrature_nodes`, `layers`, `series`,
    `directed_chain`, `directed_averages`, `defined`).

    >>> import gcnlimit as gl
    >>> g = gl.Diffusion(t=[1.0, 2.0])
    >>> g.parameter, g.shape, g([0.0, 1.0]).round(4).tolist()
    ('t', (2,), [[1.0, 2.7183], [1.0, 7.3891]])
    """

    parameter: ClassVar[str]
    """Name of the parameter."""

    deep: ClassVar[bool] = False
    """Whether the last axis of the parameter runs over the layers."""

    scale: ClassVar[SearchScale] = SearchScale()
    """How `tune` searches the parameter."""

    shared: ClassVar[bool] = True
    """Whether `tune` searches one value shared by all layers, where it is given one interval."""

    def __post_init__(self) -> None:
        """Check the parameter of a filter that leaves its constructor to `dataclass`."""
        self._store(getattr(self, self.parameter))

    def _store(self, values: npt.ArrayLike, *, empty_last: bool = False) -> None:
        """Check and keep the parameter: any real numbers."""
        axes = int(self.deep)
        checked = as_real(self.parameter, values, minimum_axes=axes, empty_last=empty_last)
        object.__setattr__(self, self.parameter, checked)

    @property
    def values(self) -> Array:
        """Values of the parameter."""
        return np.asarray(getattr(self, self.parameter))

    @property
    def shape(self) -> Shape:
        """Shape of the parameter (the depth is not an axis of it)."""
        shape: Shape = self.values.shape
        return shape[:-1] if self.deep else shape

    def replaced(self, values: npt.ArrayLike) -> Self:
        """Same filter with other values of the parameter, which are checked."""
        return dataclasses.replace(self, **{self.parameter: values})  # type: ignore[type-var]

    def ravel(self, shape: Shape) -> Self:
        """Filter whose parameter is broadcast to `shape` and flattened to one axis (and the depth)."""
        values = self.values
        depth = values.shape[-1:] if self.deep else ()
        return self._with(np.broadcast_to(values, shape + depth).reshape(math.prod(shape), *depth))

    def __getitem__(self, index: Any) -> Self:
        """Filters at that index of the parameter's axes, the depth left whole."""
        return self._with(self.values[index])

    def _with(self, values: Array) -> Self:
        """Same filter with other values of the parameter, known to be valid."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        object.__setattr__(other, self.parameter, values)
        return other

    def _not_combined(self, other: object = None) -> Never:
        told = "filters are not added or multiplied; on symmetric graphs write the function instead"
        raise ParameterError(f"{told}, such as gl.GCN(lambda x: f(x) + g(x)) of filters f and g")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = _not_combined
    __truediv__ = __pow__ = __neg__ = _not_combined

    @abstractmethod
    def normalized(self, x: Array) -> tuple[Array, Array]:
        r"""Values :math:`g(x)` over the largest magnitude along the last axis of `x`, and the logarithm of that magnitude.

        `x` broadcasts against the parameters with one axis added at their end. Nothing overflows: `to_unit` makes the pair
        from values that cannot.
        """

    def chain(self, *, accuracy: float = 1e-12, radius: npt.ArrayLike = 2.0) -> Chain:
        r"""Chain that computes the filter, for operators of spectral radius `radius`.

        A series is cut where the rest is below `accuracy` relative to :math:`\sup |g|`.
        """
        alone = f"the filter, a {type(self).__name__}, is known by its values alone"
        remedy = "pass symmetrize=True to the GCN, or write a Filter with a chain"
        raise ParameterError(f"{alone}, enough on symmetric graphs only: {remedy}")

    @property
    def has_chain(self) -> bool:
        """Whether the filter is known as a chain of layers, which directed graphs need."""
        return type(self).chain is not Filter.chain

    def layers(self, *, accuracy: float = 1e-12, radius: npt.ArrayLike = 2.0) -> Whole:
        """Number of layers that `chain` needs for each parameter and `radius`; by default that of all of them together."""
        shape = np.broadcast_shapes(self.shape, np.shape(radius))
        return np.full(shape, self.chain(accuracy=accuracy, radius=radius).depth)

    def center(self, signal: Array) -> Array:
        """Point about which `directed_chain` is a series."""
        return np.zeros_like(signal)

    def log_gain(self, symmetric: bool) -> Array:
        r"""Logarithm of the root mean square gain :math:`\sqrt{\tau(gg^T)}` over the noise of an operator."""
        if not symmetric:  # the sum of the squared Taylor coefficients
            with np.errstate(over="ignore"):
                g = self.chain(accuracy=1e-15, radius=1.0).coefficients()[1][..., 0, :]
                return np.asarray(0.5 * np.log(np.sum(g**2, axis=-1)))
        # The average of the square over the semicircle.
        x, weight, *_ = gauss_chebyshev(int(np.max(self.quadrature_nodes(), initial=1)))
        g, size = self.normalized(x)
        return np.asarray(size + 0.5 * np.log(g**2 @ weight))

    def quadrature_nodes(self) -> Whole:
        r"""Number of nodes on :math:`[-2, 2]` that average :math:`g^4` to rounding: the length of its Chebyshev series."""

        def powers(x: Array) -> Array:
            g = self.ravel(self.shape).normalized(x)[0]
            return np.concatenate([g, g**4])  # a kink may vanish in the fourth power

        return np.full(self.shape, len(action.chebyshev_series(powers, 2.0, 1e-15)))

    def directed_chain(self, signal: Array, *, accuracy: float = 1e-18) -> Chain:
        r"""Chain for a directed operator of each `signal` :math:`\lambda`, whose Taylor coefficients are to be summed there."""
        return self.chain(accuracy=accuracy, radius=np.maximum(1.0, np.abs(signal)))

    def directed_averages(self, signal: Array, mu: Array) -> Averages | None:
        """Averages on a directed graph in closed form; None if only the sums over Taylor coefficients are known."""
        return None

    def apply(
        self,
        operator: Any,
        block: Block,
        *,
        radius: float | None = None,
        accuracy: float | None = None,
    ) -> Block:
        r"""Action :math:`g(a) B` on a vector or a block of columns; `operator` is anything with ``@``.

        All parameters share the products with the operator; the answer has their shape, followed by that of `block`.
        `radius` bounds the spectrum of a symmetric operator: then the filter is a Chebyshev series, else its own series.
        `accuracy` is relative to :math:`\sup |g|` in the first case and to the norm of the result in the second; by
        default what the precision of `block` allows.
        """
        block, count = action.as_block(operator, block), math.prod(self.shape)
        flat = self.ravel(self.shape)

        def act(_: slice, piece: Block) -> Block:
            return flat._sum(operator, piece, radius, accuracy, (count, 1, 1))

        total = by_columns(act, block[:, None] if block.ndim == 1 else block, (count,))
        return total.reshape(*self.shape, *block.shape)

    def apply_each(self, operator: Any, block: Block, *, radius: float | None = None) -> Block:
        """Action of each parameter on its own column of `block`; otherwise as `apply`, to the default accuracy."""
        block = action.as_block(operator, block)
        if self.shape != block.shape[1:]:
            got = f"got shape {block.shape} for {self.shape}"
            raise ParameterError(f"apply_each needs a column for each parameter, {got}")

        def act(part: slice, piece: Block) -> Block:
            return self[part]._sum(operator, piece, radius, None, piece.shape[1:])

        return by_columns(act, block, ())

    def _sum(
        self, operator: Any, block: Block, radius: float | None, accuracy: float | None, size: Shape
    ) -> Block:
        """Action on one block; `size` is the shape of the weights (see `gcnlimit.filters.action`)."""
        usual = 1e-6 if block.itemsize == 4 else 1e-12
        accuracy = usual if accuracy is None else tolerance("accuracy", accuracy)
        if radius is None:
            return self.series(operator, block, accuracy, size)
        self.check_radius(number("radius", radius, low=0, open_low=True))
        weights = action.chebyshev_series(self, radius, accuracy)
        weights = weights.reshape(-1, *size)
        return action.chebyshev_sum(weights, operator, block, radius, accuracy)

    def series(self, operator: Any, block: Block, accuracy: float, shape: Shape) -> Block:
        """Action on one block of columns by the filter's own series, for any operator; `apply` calls it.

        The parameter has one axis. If `shape` is ``(n, 1, 1)``, each of the ``n`` filters acts on the whole block and the
        answer has a leading axis; if it is ``(n,)``, each acts on its own column. By default the chain acts, layer after
        layer, and is made twice as long until the answer stays; `gcnlimit.filters.action` has other sums.
        """
        if len(shape) > 1:
            parts = action.like(block, np.zeros(shape)) * block
            for k in range(len(parts)):
                parts[k] = self[k : k + 1].series(operator, block, accuracy, (1,))
            return parts
        chain = self.chain(accuracy=accuracy, radius=1.0)
        total = chain.apply(operator, block)
        for power in (2, 4, 8, 16):
            shorter = chain
            chain = self.chain(accuracy=accuracy**power, radius=1.0)
            if chain.depth == shorter.depth:
                return total
            before = total
            total = chain.apply(operator, block)
            if norm(total - before) <= accuracy * norm(total):
                return total
        remedy = f"take smaller values of {self.parameter}"
        raise ParameterError(f"the series of {self!r} diverges on this operator; {remedy}")

    def __call__(self, x: npt.ArrayLike) -> Array:
        """Value :math:`g(x)`, of the shape of the parameters, then of `x`; infinite at a pole and beyond all numbers."""
        x = np.asarray(as_real("x", x, empty_last=True))
        each = x.reshape(-1, *(1 for _ in self.shape), 1)  # each value over its own magnitude
        with np.errstate(all="ignore"):
            sign, size = self.normalized(each)
            values = np.moveaxis(sign[..., 0] * np.exp(size), 0, -1).reshape(self.shape + x.shape)
        return np.where(np.isnan(values), np.inf, values)

    def defined(self, radius: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Where the filter is defined on a spectrum of that radius; the shape of the parameters and `radius` together."""
        return np.ones(np.broadcast_shapes(self.shape, np.shape(radius)), bool)

    def why_undefined(self, value: float, radius: float) -> str:
        """Sentence for a value of the parameter at which the filter is not defined on a spectrum of that radius."""
        return f"{self.parameter} = {value:g} is not allowed on a spectrum of radius {radius:.6g}"

    def check_radius(self, radius: npt.ArrayLike) -> None:
        """Raise `ParameterError` if the filter is not defined on a spectrum of that radius."""
        defined = self.defined(reals("radius", radius))
        if not defined.all():
            value, wide, _ = np.broadcast_arrays(self.values, radius, defined)
            first = int(np.argmin(defined))
            raise ParameterError(self.why_undefined(value.flat[first], wide.flat[first]))


def to_unit(g: Array) -> tuple[Array, Array]:
    """Values divided by the largest magnitude along the last axis, and its logarithm (0 where all vanish)."""
    largest = np.max(np.abs(g), axis=-1, keepdims=True)
    largest = np.where(largest > 0, largest, 1.0)
    return np.asarray(g / largest), np.log(largest[..., 0])
