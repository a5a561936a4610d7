"""The order parameters: what the theory knows of a trained network, labelled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from gcnlimit._values import Array

if TYPE_CHECKING:
    import xarray

__all__ = ["LAYERED", "VANISHING", "OrderFunctions", "OrderParameters", "unscaled"]

LAYERED = ("m", "Q", "V", "m_hat", "Q_hat", "V_hat", "V_qh", "Q_qh")
"""The order parameters that have axes over the layers."""

VANISHING = ("mean", "variance", "v", "m_w", "Q_w", "V_w", "m", "Q", "V", "Q_qh")
"""The order parameters that vanish at infinite regularization."""


class _WhenAsked:
    """A field that may be given as a function of no arguments, which is called when the field is first read."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return None  # the default of the field
        value = instance.__dict__[self._name]
        if callable(value):
            value = instance.__dict__[self._name] = value()
        return value

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self._name] = value


@dataclass(frozen=True)
class OrderParameters:
    r"""Order parameters of a trained network; each has the shape of the points, then its own axes (layers :math:`0 \dots K-1`).

    In the large-size limit, with :math:`u` the centroid of the features and :math:`\langle\cdot\rangle` the covariance over
    trainings at inverse temperature :math:`\beta`,

    .. math::
        m_w = u \cdot w/N, \quad Q_w = |w|^2/N, \quad V_w = \beta \langle w \cdot w \rangle/N, \\
        m_k = y \cdot h_k/N, \quad Q_{kl} = h_k \cdot h_l/N, \quad V_{kl} = \beta \langle h_k \cdot h_l \rangle/N.

    The hatted ones are conjugate to them; :math:`V_{qh}` and :math:`Q_{qh}` are the response of a layer to an earlier one and its
    correlation with the conjugate field, both without effect on a directed graph. At infinite regularization only the margins
    are given (beside finite ones, 0 for what vanishes and NaN for the rest); the layers of a continuous filter are those of
    its series, given for a single point if it is short. Layers are worked out when they are first asked for.

    Parameters
    ----------
    test_margin, train_margin
        Argument of :math:`\Phi` in the accuracies.
    mean, variance, v
        Mean and variance of the output :math:`y h` of a test node, and the response :math:`v` of an output to its own loss.
    """

    test_margin: Any
    train_margin: Any
    mean: Any = None
    variance: Any = None
    v: Any = None
    m_w: Any = None
    Q_w: Any = None
    V_w: Any = None
    m_hat_w: Any = None
    Q_hat_w: Any = None
    V_hat_w: Any = None
    m: Any = _WhenAsked()
    Q: Any = _WhenAsked()
    V: Any = _WhenAsked()
    m_hat: Any = _WhenAsked()
    Q_hat: Any = _WhenAsked()
    V_hat: Any = _WhenAsked()
    V_qh: Any = _WhenAsked()
    Q_qh: Any = _WhenAsked()

    def __getitem__(self, name: str) -> Any:
        """Order parameter of that name."""
        return getattr(self, name)

    def __getstate__(self) -> dict[str, Any]:
        """Work out what was not asked for yet: functions do not travel."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def reshape(self, shape: tuple[int, ...]) -> Self:
        """Give the first axis of each parameter the shape of the points; single numbers become floats."""

        def shaped(value: Any) -> Any:
            if callable(value):
                return lambda: shaped(value())
            if value is None:
                return None
            value = np.reshape(value, shape + np.shape(value)[1:])
            return value.item() if value.ndim == 0 else value

        return type(self)(**{name: shaped(value) for name, value in self.__dict__.items()})


def unscaled(values: Mapping[str, Array], gain: Array, layers: Array | None = None) -> dict[str, Array]:
    r"""Order parameters of a chain whose filter was divided by `gain` and its layer :math:`k` by `layers`, in their own units."""
    units = {
        "m_w": 1.0 / gain,
        "Q_w": gain**-2.0,
        "V_w": gain**-2.0,
        "m_hat_w": gain,
        "Q_hat_w": gain**2,
        "V_hat_w": gain**2,
    }
    if layers is not None:
        up = layers[:, :-1] / gain[:, None]
        across, ratio = up[:, :, None] * up[:, None, :], up[:, None, :] / up[:, :, None]
        units |= {"m": up, "Q": across, "V": across, "V_qh": ratio, "Q_qh": ratio}
        units |= {"m_hat": 1.0 / up, "Q_hat": 1.0 / across, "V_hat": 1.0 / across}
    return {name: value * units[name] for name, value in values.items()}


@dataclass(frozen=True, eq=False)
class OrderFunctions:
    r"""Order functions of a network along its depth, predicted or measured on an instance.

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
    m, Q_h, V_h, Q_qh, V_qh, m_hat, Q_hat_h, V_hat_h
        The functions above.
    m_w, Q_w, V_w, m_hat_w, Q_hat_w, V_hat_w
        The same for the weights, without depth.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> data, gcn = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), gl.GCN(gl.Diffusion(t=1.0), symmetrize=True)
    >>> f = gl.depth.order_functions(data, gcn, [0.0, 0.5, 1.0])
    >>> f["V_h"].shape, (f.V_h[0, 0] / f.V_w).round(12).item()  # at depth 0 the states respond as the weights do
    ((3, 3), 1.0)
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
