"""A filter given as a plain function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array, Parameter, brief
from gcnlimit.errors import ParameterError
from gcnlimit.filters.base import Filter, to_unit

_MANY = 9  # points of the spectrum at which a filter may not vanish together


@dataclass(frozen=True, eq=False)
class Function(Filter):
    r"""Filter :math:`g(x) = s f(x)` from a function :math:`f` of NumPy arrays, for symmetric graphs.

    The function is to be smooth on the spectrum of the graph: the bulk :math:`[-2, 2]` and the spike beside it. ``GCN(f)`` is
    short for ``GCN(Function(f))``.

    Parameters
    ----------
    function
        The function :math:`f`.
    factor
        The factor :math:`s` in front of it. It changes what a finite regularization does, and nothing at infinity.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    >>> mine, known = (gl.predict(data, gl.GCN(g)) for g in (lambda x: 1 / (1 - 0.3 * x), gl.PageRank(0.3)))
    >>> bool(abs(mine.log_test_error / known.log_test_error - 1) < 1e-12)
    True
    """

    parameter = "factor"
    function: Callable[[Array], npt.ArrayLike]
    factor: Parameter = 1.0

    def normalized(self, x: Array) -> tuple[Array, Array]:
        return to_unit(np.asarray(self.factor)[..., None] * self._checked(x))

    def quadrature_nodes(self) -> npt.NDArray[np.int64]:
        """The same for any factor."""
        return np.full(self.shape, self._with(np.ones(()))._series_length())

    def _checked(self, x: Array) -> Array:
        try:
            with np.errstate(all="ignore"):
                g = np.asarray(self.function(np.array(x)))  # a copy, since the function may work in place
        except TypeError as error:
            raise ParameterError(f"the filter g(x) fails on an array ({error}); write it with NumPy") from None
        if g.dtype.kind not in "biuf" or g.shape not in ((), np.shape(x)):
            raise ParameterError(
                f"the filter g(x) has dtype {g.dtype} and shape {g.shape} for x of shape {np.shape(x)}; it must be a real number "
                "for each x"
            )
        g = np.broadcast_to(g.astype(float), np.shape(x))
        bad = ~np.isfinite(g)
        if bad.any():
            raise ParameterError(
                f"the filter g(x) is {g[bad][0]} at x = {x[bad][0]:g}; it must be finite on the spectrum of the graph"
            )
        if g.size >= _MANY and not g.any():
            raise ParameterError(
                "the filter g(x) is 0 on the spectrum of the graph; a filter must let something through"
            )
        return g


def as_filter(filter: Any) -> Filter:
    """Return the filter itself, or the filter of a plain function.

    >>> as_filter(np.cosh)(0.0).item()
    1.0
    """
    if isinstance(filter, Filter):
        return filter
    if callable(filter) and not isinstance(filter, type):
        return Function(filter)
    raise ParameterError(
        f"filter = {brief(filter)} is not a filter; use Residual, Diffusion, PageRank or Polynomial, or a function g(x)"
    )
