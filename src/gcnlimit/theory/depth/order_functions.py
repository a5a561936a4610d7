r"""Order functions of a network along its depth.

At infinite regularization the continuous network is known in closed form. Its states and the signal that comes back from
the loss are (Eqs. 4.1 and 4.2)

.. math::
    h(x) = \tfrac1r\, g_x \Big[ \tfrac{\mu \bar q_0}\alpha\, y + \tfrac{s_1}\alpha\, g_1^T R y + \sqrt{Q_w}\, \zeta \Big], \qquad
    q(x) = g_{1-x}^T R y, \qquad g_x = e^{txa},

with :math:`\bar q_0 = y \cdot q(0)/N`, :math:`s_1` the mean variance of the features (1 if they are white) and :math:`\zeta`
Gaussian noise, and the order functions are their overlaps. With several classes they are those of each direction of the codes.
`finite_reg` beside it has those at finite regularization, `overlaps` those of discrete networks.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import broadcast, real, whole
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Diffusion
from gcnlimit.losses.base import Form
from gcnlimit.network import GCN, check_problem
from gcnlimit.results.order_parameters import AnyRecord, OrderFunctions, Weights
from gcnlimit.theory.depth.finite_reg import directed_functions, symmetric_functions
from gcnlimit.theory.depth.overlaps import (
    DirectedDepth,
    SymmetricDepth,
    euler_functions,
    layer_functions,
)
from gcnlimit.theory.depth.resolvents import kappa
from gcnlimit.theory.points import Points

_LARGEST = 170.0  # of |t| times the spectral radius, beyond which fourth powers of the filter overflow


def order_functions(
    data: CSBM, gcn: GCN, depths: npt.ArrayLike | None = None, *, layers: int | None = None
) -> OrderFunctions:
    r"""Order functions of a network along its depth, in the large-size limit.

    Three descriptions, in one labelled answer:

    - ``Diffusion`` and `depths`: the continuous network at any depths in [0, 1]. At ``reg=math.inf`` in closed form; at finite
      `reg` from averages over the spectrum of a symmetric graph, or from collocation at Gauss-Legendre depths on a directed
      one (`gcnlimit.theory.depth.finite_reg`), to about ten digits.
    - ``Diffusion`` and `layers` :math:`K`: the paper's discretization :math:`h_k = (1 + \frac tK a) h_{k-1}`,
      scaled as the continuous functions (:math:`\hat m \to K\hat m`, :math:`\hat Q_h \to K^2 \hat Q_h`, ...), which it
      approaches like :math:`1/K`.
    - ``Residual`` or ``Polynomial``: the layers :math:`k = 0 \dots K-1` of the network itself.

    Parameters
    ----------
    data, gcn
        Data and network; array parameters broadcast together. `reg` must be all finite or all infinite; at infinite
        regularization the loss must be the square loss (another loss multiplies the functions by powers of its slope at 0).
        Of correlated features :math:`Q_w` and :math:`V_w` are the law and the response of :math:`Xw/\sqrt N` (Eq. 8.16).
    depths
        Depths of the continuous network, a one-dimensional array.
    layers
        Number of layers of its discretization.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    >>> f = gl.depth.order_functions(data, gl.GCN(gl.Diffusion(t=1.0), symmetrize=True), [0.0, 0.5, 1.0])
    >>> f.Q.shape
    (3, 3)
    >>> mean = f.m[-1] - data.rho * f.V[-1, -1]  # of the output of a test node; its variance:
    >>> variance = f.Q[-1, -1] - f.m[-1] ** 2 - data.rho * (1 - data.rho) * f.V[-1, -1] ** 2
    >>> margin = gl.predict(data, gl.GCN(gl.Diffusion(t=1.0), symmetrize=True)).order_parameters.test_margin
    >>> bool(np.isclose(mean / np.sqrt(variance), margin))
    True
    """
    check_problem("order_functions", data, gcn)
    gcn.require_one_filter("order_functions")
    data.require_alike("order_functions")
    shape = broadcast(data=data.shape, network=gcn.shape)
    points = Points.of(data, gcn)
    infinite = _regularization(points)
    if not isinstance(gcn.filter, Diffusion):
        if not gcn.filter.deep:
            raise ParameterError(f"{type(gcn.filter).__name__} has no depth; take Diffusion, Residual or Polynomial")
        if depths is not None or layers is not None:
            raise ParameterError(f"{type(gcn.filter).__name__} has its own layers; leave depths and layers out")
        return layer_functions(points, shape)
    if (depths is None) == (layers is None):
        raise ParameterError("a diffusion needs either depths (the continuous network) or layers (its discretization)")
    if layers is not None:
        return euler_functions(points, shape, whole("layers", layers, low=1))
    x = _depths(depths)
    times = _times(points)
    if infinite:
        return _divided(_closed_forms(points, times, x), points.divisor()).reshape(shape)
    return (symmetric_functions if points.symmetric else directed_functions)(points, times, x).reshape(shape)


def _regularization(points: Points) -> bool:
    """Whether the regularization is infinite; it must be so for all points or for none."""
    infinite = np.isinf(points.reg)
    if infinite.any() and not infinite.all():
        raise ParameterError(
            "reg mixes finite and infinite values, whose order functions differ in scale; ask for each alone"
        )
    if infinite.any() and points.loss.form is not Form.CODES:
        raise ParameterError(f"at reg = inf order functions are those of the square loss, got loss = {points.loss!r}")
    return bool(infinite.any())


def _depths(depths: npt.ArrayLike | None) -> Array:
    x = np.atleast_1d(real("depths", depths if depths is not None else 0.0, low=0, high=1))
    if x.ndim != 1:
        raise ParameterError(f"depths must be a one-dimensional array, got shape {x.shape}")
    return x


def _times(points: Points) -> Array:
    """Diffusion time of each point, if order functions are floating-point numbers there."""
    times = points.filter.values
    reach = np.abs(times) * points.radius
    if np.any(reach > _LARGEST):
        raise ParameterError(
            f"t = {times[np.argmax(reach)]:g} is too long for order functions, which grow like exp(4 |t| radius); "
            f"take |t| <= {_LARGEST / points.radius[np.argmax(reach)]:.3g}"
        )
    return times


def _closed_forms(points: Points, times: Array, x: Array) -> OrderFunctions:
    """Closed form at each point."""
    kind = SymmetricDepth if points.symmetric else DirectedDepth
    found = [
        _closed_form(kind(float(t), float(signal)), x, *(float(p) for p in parameters), moments=points.features.moments)
        for t, signal, *parameters in zip(times, points.signal, points.alpha, points.mu, points.rho, strict=True)
    ]
    functions = {name: np.stack([each[name] for each, _ in found]) for name in found[0][0]}
    weights = Weights(*(np.array(column) for column in zip(*(each for _, each in found), strict=True)))
    return OrderFunctions(x=x, **functions, weights=weights)


def _divided(f: OrderFunctions, divisor: Array) -> OrderFunctions:
    """Order functions at infinite regularization of a network whose filter is divided, in its weights and in its output."""
    powers = {"m": 1, "m_hat": 1, "Q": 2, "Q_hat": 2, "V_hat": 2, "Q_qh": 2}

    def divided(record: AnyRecord) -> AnyRecord:
        parts = {name: getattr(record, name).T / divisor ** powers[name] for name in record.names() if name in powers}
        return replace(record, **{name: part.T for name, part in parts.items()})

    return replace(divided(f), weights=divided(f.weights))


def _closed_form(
    g: SymmetricDepth | DirectedDepth,
    x: Array,
    alpha: float,
    mu: float,
    rho: float,
    *,
    moments: tuple[float, float, float],
) -> tuple[dict[str, Array], Weights]:
    r"""Order functions and weights as overlaps of :math:`h(x)` and :math:`q(x)`; powers of :math:`r` are dropped.

    By Eq. 4.3 an overlap of :math:`R y` with itself is that of the labels with weight :math:`\rho^2` plus that of noise with
    weight :math:`\rho(1-\rho)`. The moments are those of the features (Eq. 8.15).
    """
    s1, s2, g1 = moments
    t, end, back = g.t, np.ones(1), 1.0 - x
    ahead = x - x[:, None]
    between = (1.0 + ahead).ravel()  # 1 - x + z

    def masked(labels: Array, noise: Array) -> Array:
        return rho**2 * labels + rho * (1.0 - rho) * noise

    s = rho * g.phi(end)[0]  # y . q_0 / N, Eq. 4.5
    Q_hat_w = masked(g.E(end, end), g.Phi(end, end))[0, 0]
    Q_w = (s2 * Q_hat_w + g1 * mu * s**2) / alpha  # Eq. 4.2
    pull = mu * s / alpha
    E3 = g.E3(x, x)
    returned = masked(g.E(between, end), g.Phi(between, end)).reshape(ahead.shape)
    functions = {
        "m": rho / alpha * (s1 * g.E(x, end)[:, 0] + mu * g.phi(x) * g.phi(end)),
        "Q": pull**2 * g.E(x, x)
        + pull * rho * s1 / alpha * (E3 + E3.T)
        + masked(g.E4(x, x), g.Phi4(x, x)) * (s1 / alpha) ** 2
        + Q_w * g.Phi(x, x),
        "V": s1 * g.Phi(x, x) / alpha,
        "Q_qh": t * (pull * rho * g.phi(between).reshape(ahead.shape) + s1 * returned / alpha),
        "V_qh": np.where(ahead > 0.0, t * kappa(ahead, t=t, symmetric=g.symmetric), 0.0),
        "m_hat": rho * g.signal * t * g.phi(back),
        "Q_hat": t**2 * masked(g.E(back, back), g.Phi(back, back)),
        "V_hat": rho * t**2 * g.Phi(back, back),
    }
    root = np.sqrt(mu)
    return functions, Weights(
        root * s / alpha, Q_w, np.asarray(s1 / alpha), root * s, Q_hat_w, rho * g.Phi(end, end)[0, 0]
    )
