r"""Order functions of discrete networks, layer by layer, from the equations of a chain (Eqs. 3.8 to 3.11).

At infinite regularization they are explicit, and are given without powers of :math:`r`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from gcnlimit.errors import ConvergenceError
from gcnlimit.filters import Chain
from gcnlimit.order_parameters import OrderFunctions
from gcnlimit.performance import Status
from gcnlimit.theory.finite_reg.solve import asymptote, solve
from gcnlimit.theory.points import Points

__all__ = ["check_converged", "euler_functions", "layer_functions"]


def layer_functions(points: Points, shape: tuple[int, ...]) -> OrderFunctions:
    """Order functions at the layers of a network that is a chain by itself."""
    return _functions(points, points.filter.chain(radius=points.radius)).reshape(shape)


def euler_functions(points: Points, shape: tuple[int, ...], layers: int) -> OrderFunctions:
    r"""Order functions of :math:`(1 + \frac tK a)^K`, scaled as those of the continuous network."""
    t, K = points.filter.values, layers
    b = np.repeat(t[:, None] / K, K, axis=1)
    last = np.zeros((points.size, K + 1))
    last[:, -1] = 1.0
    f = _functions(points, Chain(b, np.ones_like(b), last)).reshape(shape)
    return replace(f, m_hat=K * f.m_hat, Q_hat=K**2 * f.Q_hat, V_hat=K**2 * f.V_hat, Q_qh=K * f.Q_qh, V_qh=K * f.V_qh)


def _functions(points: Points, chain: Chain) -> OrderFunctions:
    if np.isinf(points.reg).all():
        far, reg = asymptote(points, chain)
        return far.chain_layers().without_powers(reg)
    found = solve(points, chain, tol=1e-10, max_iterations=5000)
    check_converged(found.status == Status.CONVERGED)
    return found.chain_layers()


def check_converged(converged: npt.NDArray[np.bool_]) -> None:
    """Raise `ConvergenceError` if the equations of some points have no solution."""
    if not np.all(converged):
        raise ConvergenceError(
            f"the equations did not converge at {np.sum(~converged)} of {len(converged)} points; "
            "take a larger reg or fewer layers"
        )
