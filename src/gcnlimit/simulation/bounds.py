"""Filters and regularizations whose training would leave the floating-point numbers: each refused in a sentence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Filter
from gcnlimit.losses import Loss, Square
from gcnlimit.simulation.operator import Operator

__all__ = ["check_radius", "check_reg", "check_rounding", "check_size"]


def check_radius(filters: Filter, operator: Operator, signal: float) -> None:
    """Refuse a filter that is not defined on the spectrum, and say if the graph is wider than that of the model."""
    try:
        filters.check_radius(operator.radius or 0.0)
    except ParameterError as error:
        expected = max(2.0, abs(signal) + 1.0 / max(abs(signal), 1.0))
        if (operator.radius or 0.0) < 1.2 * expected:
            raise
        raise ParameterError(
            f"{error}; the model would have a radius of {expected:.3g}, and nodes of very different degrees widen it: "
            "divide the adjacency by the root of the degrees of both ends of each edge"
        ) from None


def check_size(filters: Filter, operator: Operator, dtype: Any) -> None:
    """Refuse a filter whose square is not a floating-point number: weights and outputs each contain it once."""
    size = float(np.max(_sizes(filters, operator.radius or 2.0)))
    if size > 0.48 * np.log(np.finfo(dtype).max):
        raise ParameterError(
            f"the filter reaches 1e{size / math.log(10):.0f} on the spectrum, and its square overflows {dtype}; "
            "take fewer layers or smaller parameters (many layers with c = K/t are Diffusion(t))"
        )


def check_rounding(filters: Filter, operator: Operator, signal: npt.NDArray[Any], outputs: npt.NDArray[Any]) -> None:
    r"""Refuse outputs that are lost in the rounding of the filter's series, a part of :math:`\sup |g|` on :math:`[-R, R]`.

    The spectrum may reach one end of that interval only, and the filter be huge at the other.
    """
    radius, single = operator.radius or operator.growth, outputs.dtype == np.float32
    relative = (1e-6 if single else 1e-12) if operator.symmetric else (1e-6 if single else 1e-15)
    sizes = _sizes(filters, radius)
    before, after = (np.linalg.norm(block.astype(np.float64), axis=0) for block in (signal, outputs))
    if np.any((np.log(relative * before) + sizes > np.log(1e-3 * after)) & (after > 0.0)):
        raise ParameterError(
            f"the filter reaches 1e{np.max(sizes) / math.log(10):.0f} on [-{radius:.3g}, {radius:.3g}], where the "
            f"outputs are lost in rounding errors of type {outputs.dtype}; take fewer layers or smaller parameters"
        )


def _sizes(filters: Filter, radius: float) -> Array:
    r"""Logarithm of :math:`\sup |g|` on :math:`[-R, R]`, of each filter."""
    return filters.normalized(np.linspace(-radius, radius, 65))[1]


def check_reg(size: float, loss: Loss, reg: float, dtype: np.dtype[Any]) -> None:
    r"""Refuse a finite reg at which weights :math:`\sim |Z|/r` and outputs :math:`\sim |Z|^2/r`, or their squares, underflow.

    `size` is the mean square norm of the training rows.
    """
    least = np.finfo(dtype).tiny if type(loss) is Square else max(float(np.finfo(dtype).tiny), 1e-152)
    if size and reg and min(size, math.sqrt(size)) / reg < least:
        raise ParameterError(
            f"reg = {reg:g} is too large for numbers of type {dtype}: the weights vanish; write reg=math.inf, which is its limit"
        )
