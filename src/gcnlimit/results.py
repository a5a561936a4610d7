"""The answers: one shape for theory, ceiling and simulation."""

from __future__ import annotations

import enum
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, ndtr

from gcnlimit._validation import Array

if TYPE_CHECKING:
    import xarray

__all__ = ["Measurement", "OrderFunctions", "Performance", "Prediction", "Status", "zero_error"]


class Status(enum.IntEnum):
    """How a computation ended; `message` is the sentence shown to the user.

    >>> Status.EXPLICIT.message
    'explicit formula, nothing to converge'
    """

    EXPLICIT = 0
    CONVERGED = 1
    NOT_CONVERGED = 2

    @property
    def message(self) -> str:
        """One sentence for the user."""
        return {
            Status.EXPLICIT: "explicit formula, nothing to converge",
            Status.CONVERGED: "the fixed point was reached to the requested tolerance",
            Status.NOT_CONVERGED: "the fixed point was not reached; allow more iterations or a larger tolerance",
        }[self]


@dataclass(frozen=True)
class Performance:
    """What is measured of a classifier; each field is a float, or an array over the parameters.

    Parameters
    ----------
    test_accuracy, train_accuracy
        Fractions of unlabelled and labelled nodes classified correctly.
    test_loss, train_loss
        Averages of the loss over these nodes.
    log_test_error
        ``log(1 - test_accuracy)``, precise where `test_accuracy` rounds to 1.
    """

    test_accuracy: Any
    train_accuracy: Any
    test_loss: Any
    train_loss: Any
    log_test_error: Any

    def as_dict(self) -> dict[str, Any]:
        """Return the five fields by name.

        >>> list(zero_error(()).as_dict())
        ['test_accuracy', 'train_accuracy', 'test_loss', 'train_loss', 'log_test_error']
        """
        return {f.name: getattr(self, f.name) for f in fields(Performance)}


def zero_error(shape: tuple[int, ...]) -> Performance:
    """Return the standard errors of a theory: none."""
    return Performance(*(scalar_or_array(np.zeros(shape)) for _ in range(5)))


@dataclass(frozen=True)
class Prediction(Performance):
    """Exact performance in the large-size limit.

    Parameters
    ----------
    standard_error
        Standard error of each field: 0 in theory.
    order_parameters
        What the performance was computed from, by name.
    status, residual, iterations
        How the computation ended at each point (see `Status`), the scaled residual of the equations, and the number of
        iterations; 0 where the formula is explicit.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> p = gl.predict(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), gl.GCN(gl.Diffusion(t=1.0)))
    >>> p.status.name, p.iterations, p.standard_error.test_accuracy
    ('EXPLICIT', 0, 0.0)
    """

    standard_error: Performance
    order_parameters: Any
    status: Any
    residual: Any
    iterations: Any


@dataclass(frozen=True)
class Measurement(Performance):
    """Performance measured on sampled graphs: means over the trials.

    `log_test_error` is the logarithm of the mean error, and its standard error follows by propagation. Where no test node
    was ever misclassified, it is an upper bound: the logarithm of half an error among all nodes seen.

    Parameters
    ----------
    standard_error
        Standard error of each field, from the scatter of the trials; infinite if there is only one.
    trials
        Number of trials that were done.
    """

    standard_error: Performance
    trials: int


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
    >>> f = gl.order_functions(data, gcn, [0.0, 0.5, 1.0])
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


def from_margins(test_margin: Array, train_margin: Array, test_loss: Array, train_loss: Array) -> dict[str, Any]:
    r"""Return the performance fields from margins in units of their standard deviation: :math:`Acc = \Phi(margin)`."""
    return {
        "test_accuracy": scalar_or_array(ndtr(test_margin)),
        "train_accuracy": scalar_or_array(ndtr(train_margin)),
        "test_loss": scalar_or_array(test_loss),
        "train_loss": scalar_or_array(train_loss),
        "log_test_error": scalar_or_array(log_ndtr(-test_margin)),
    }


def scalar_or_array(values: npt.NDArray[Any]) -> Any:
    """Return a Python number for a single point, else the array."""
    return values.item() if values.ndim == 0 else values
