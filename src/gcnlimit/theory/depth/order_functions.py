"""Order functions of a network along its depth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from gcnlimit import scope
from gcnlimit._validation import as_real, broadcast, whole
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Diffusion
from gcnlimit.filters.polynomial import OfChain
from gcnlimit.network import GCN, check_problem
from gcnlimit.results.order_parameters import OrderFunctions
from gcnlimit.theory.depth import continuous
from gcnlimit.theory.points import Points
from gcnlimit.theory.solve import asymptote, checked, solve

_LARGEST_TIME = 170.0  # |t| times the spectral radius: fourth powers of the filter overflow beyond
_LARGEST_DIRECTED = 12.0  # the same of a directed graph, whose layers lose digits by cancellation


def order_functions(
    data: CSBM, gcn: GCN, depths: npt.ArrayLike | None = None, *, layers: int | None = None
) -> OrderFunctions:
    r"""Order functions of a network along its depth, in the large-size limit.

    Three descriptions, in one labelled answer:

    - ``Diffusion`` and `depths`: the continuous network at any depths in [0, 1], to about ten digits.
    - ``Diffusion`` and `layers` :math:`K`: the paper's discretization :math:`h_k = (1 + \frac tK a) h_{k-1}`, scaled as the
      continuous functions (:math:`\hat m \to K\hat m`, :math:`\hat Q_h \to K^2 \hat Q_h`, ...).
    - ``Residual`` or ``Polynomial``: the layers :math:`k = 0 \dots K-1` of the network itself.

    `reg` must be all finite or all infinite; at infinite regularization powers of it are left out, and the loss must be the
    square loss. For correlated features :math:`Q_w` and :math:`V_w` are those of :math:`Xw/\sqrt N` (Eq. 8.16).

    >>> import gcnlimit as gl
    >>> data, gcn = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), gl.GCN(gl.Diffusion(t=1.0), symmetrize=True)
    >>> f = gl.depth.order_functions(data, gcn, [0.0, 0.5, 1.0])
    >>> mean = f.m[-1] - data.rho * f.V[-1, -1]  # of the output of a test node; its variance:
    >>> variance = f.Q[-1, -1] - f.m[-1] ** 2 - data.rho * (1 - data.rho) * f.V[-1, -1] ** 2
    >>> margin = gl.predict(data, gcn).order_parameters.test_margin
    >>> f.Q.shape, bool(np.isclose(mean / np.sqrt(variance), margin))
    ((3, 3), True)
    """
    check_problem("order_functions", data, gcn)
    scope.check("order_functions", data, gcn)
    shape = broadcast(data=data.shape, network=gcn.shape)
    points = Points.of(data, gcn)
    infinite = np.isinf(points.reg)
    if infinite.any() and not infinite.all():
        told = "reg mixes finite and infinite values, whose order functions differ in scale"
        raise ParameterError(f"{told}; ask for each of them alone")
    if not isinstance(gcn.filter, Diffusion):
        name = type(gcn.filter).__name__
        if not gcn.filter.deep:
            raise ParameterError(f"{name} has no depth; take Diffusion, Residual or Polynomial")
        if depths is not None or layers is not None:
            raise ParameterError(f"{name} has its own layers; leave depths and layers out")
        return _layer_functions(points).reshape(shape)
    if (depths is None) == (layers is None):
        told = "a diffusion needs either depths (of the continuous network) or layers"
        raise ParameterError(f"{told} (of its discretization); give one of the two")
    if layers is not None:
        return _euler_functions(points, whole("layers", layers, low=1)).reshape(shape)
    assert depths is not None
    x = np.atleast_1d(as_real("depths", depths, low=0, high=1))
    if x.ndim != 1:
        raise ParameterError(f"depths must be a one-dimensional array, got shape {x.shape}")
    _check_times(points)
    if points.symmetric:
        return continuous.symmetric_functions(points, x).reshape(shape)
    return continuous.directed_functions(points, x).reshape(shape)


def _check_times(points: Points) -> None:
    """Refuse a diffusion time at which order functions lose their digits."""
    most = _LARGEST_TIME if points.symmetric else _LARGEST_DIRECTED
    reach = np.abs(points.filter.values) * points.radius
    worst = np.argmax(reach)
    if reach[worst] > most:
        told = f"t = {points.filter.values[worst]:g} is too long for order functions"
        least = f"|t| <= {most / points.radius[worst]:.3g}"
        raise ParameterError(f"{told}, which grow like exp(4 |t| radius); take {least}")


def _euler_functions(points: Points, K: int) -> OrderFunctions:
    r"""Order functions of :math:`(1 + \frac tK a)^K`, scaled as those of the continuous network."""
    b = np.repeat(points.filter.values[:, None] / K, K, axis=1)
    last = np.zeros((points.size, K + 1))
    last[:, -1] = 1.0
    layers = OfChain(np.concatenate([b, np.ones_like(b), last], axis=1))
    f = _layer_functions(points._replace(filter=layers))
    powers = {"m_hat": 1, "Q_hat": 2, "V_hat": 2, "Q_qh": 1, "V_qh": 1}
    return replace(f, **{name: K**power * getattr(f, name) for name, power in powers.items()})


def _layer_functions(points: Points) -> OrderFunctions:
    """Order functions at the layers of the filters (Eqs. 3.8 to 3.11)."""
    if np.isinf(points.reg).all():
        far, reg = asymptote(points)
        return far.chain_layers().without_powers(reg)
    solution = solve(points, tol=1e-10, max_iterations=5000)
    checked(solution.status)
    return solution.chain_layers()
