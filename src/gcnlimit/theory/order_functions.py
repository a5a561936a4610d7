"""The labelled answer of a calculation along the depth."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from gcnlimit._validation import Array

if TYPE_CHECKING:
    import xarray

__all__ = ["OrderFunctions"]


@dataclass(frozen=True, eq=False)
class OrderFunctions:
    r"""Order functions of a network along its depth.

    Each array has the axes of the parameters, then one axis over the depths `x` for each of its arguments. With
    :math:`h(x)` the states on the way from the features to the output and :math:`q(x)` the signal that comes back from
    the loss,

    .. math::
        m(x) &= \tfrac1N\, y \cdot h(x), & Q_h(x,z) &= \tfrac1N\, h(x) \cdot h(z), &
        V_h(x,z) &= \tfrac\beta N \langle h(x) \cdot h(z) \rangle, \\
        \hat m(x) &= \tfrac{\lambda^e t}N\, y \cdot q(x), & \hat Q_h(x,z) &= \tfrac{t^2}N\, q(x) \cdot q(z), &
        \hat V_h(x,z) &= \tfrac{t^2}N\, \mathrm{tr}\, \partial q(x)\, \partial q(z)^T, \\
        && Q_{qh}(x,z) &= \tfrac tN\, q(x) \cdot h(z), &
        V_{qh}(x,z) &= \tfrac tN\, \mathrm{tr}\, \partial h(z)/\partial \eta(x),

    :math:`V_h` the correlation of thermal fluctuations, :math:`V_{qh}` the response to a field :math:`\eta`, which is 0
    unless :math:`z > x`, and :math:`\hat V_h` the correlation of the responses. :math:`Q_{qh}` and :math:`V_{qh}` act back
    on the network only if the graph is symmetric. Layers of a discrete network count :math:`t = 1`.

    At infinite regularization everything is the coefficient of the leading power of :math:`r`: :math:`m, m_w, V_h, V_w,
    Q_{qh}` are to be divided by :math:`r`, and :math:`Q_h, Q_w` by :math:`r^2`.

    Parameters
    ----------
    x
        Depths in [0, 1]; layer :math:`k` of :math:`K` stands at :math:`k/K`.
    m_w, Q_w, V_w, m_hat_w, Q_hat_w, V_hat_w
        The same for the weights, without depth.
    """

    x: Array
    m: Array
    Q_h: Array
    V_h: Array
    Q_qh: Array
    V_qh: Array
    m_hat: Array
    Q_hat_h: Array
    V_hat_h: Array
    m_w: Array
    Q_w: Array
    V_w: Array
    m_hat_w: Array
    Q_hat_w: Array
    V_hat_w: Array

    def __getitem__(self, name: str) -> Array:
        """Order function of that name."""
        return np.asarray(getattr(self, name))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the parameters."""
        return np.shape(self.m)[:-1]

    def to_xarray(self) -> xarray.Dataset:
        """Return the functions as a dataset with dimensions `x` and `z` after those of the parameters, `point_0` and so on."""
        import xarray

        points = tuple(f"point_{i}" for i in range(len(self.shape)))
        variables: dict[str, Any] = {}
        for field in fields(self)[1:]:
            values = self[field.name]
            variables[field.name] = ((*points, *("x", "z")[: values.ndim - len(points)]), values)
        return xarray.Dataset(variables, {"x": self.x, "z": self.x})
