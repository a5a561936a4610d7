r"""Order functions of discrete networks, layer by layer, from the chain equations.

At infinite regularization they are explicit, and are given without powers of :math:`r`.
"""

from __future__ import annotations

import numpy as np

from gcnlimit._values import Array
from gcnlimit.errors import ConvergenceError
from gcnlimit.filters import Chain
from gcnlimit.order_parameters import OrderFunctions, OrderParameters
from gcnlimit.theory.finite_reg.solve import asymptote, solve
from gcnlimit.theory.points import Points

__all__ = ["euler_functions", "layer_functions"]

_WEIGHTS = ("m_w", "Q_w", "V_w", "m_hat_w", "Q_hat_w", "V_hat_w")


def layer_functions(points: Points, shape: tuple[int, ...]) -> OrderFunctions:
    """Order functions at the layers of a network that is a chain by itself."""
    return _functions(points, points.filter.chain(radius=points.radius), shape, scale=1.0)


def euler_functions(points: Points, shape: tuple[int, ...], layers: int) -> OrderFunctions:
    r"""Order functions of :math:`(1 + \frac tK a)^K`, scaled as those of the continuous network."""
    t = np.asarray(getattr(points.filter, points.filter.parameter))
    b = np.repeat(t[:, None] / layers, layers, axis=1)
    last = np.zeros((points.size, layers + 1))
    last[:, -1] = 1.0
    return _functions(points, Chain(b, np.ones_like(b), last), shape, scale=float(layers))


def _functions(points: Points, chain: Chain, shape: tuple[int, ...], scale: float) -> OrderFunctions:
    p = _order_parameters(points, chain).reshape(shape)
    return OrderFunctions(
        x=np.arange(chain.depth) / max(chain.depth, 1),
        m=p.m,
        Q_h=p.Q,
        V_h=p.V,
        Q_qh=scale * p.Q_qh,
        V_qh=scale * p.V_qh,
        m_hat=scale * p.m_hat,
        Q_hat_h=scale**2 * p.Q_hat,
        V_hat_h=scale**2 * p.V_hat,
        **{name: np.asarray(p[name]) for name in _WEIGHTS},
    )


def _order_parameters(points: Points, chain: Chain) -> OrderParameters:
    none: Array = np.zeros(points.size)
    if np.isinf(points.reg).all():
        far, reg = asymptote(points, chain)
        return OrderParameters(none, none, **_without_powers(far.layers(), reg))
    found = solve(points, chain, tol=1e-10, max_iterations=5000)
    if not found.converged.all():
        raise ConvergenceError(
            f"the chain equations did not converge at {np.sum(~found.converged)} of {points.size} points; "
            "take a larger reg or fewer layers"
        )
    return OrderParameters(none, none, **found.layers())


def _without_powers(values: dict[str, Array], reg: Array) -> dict[str, Array]:
    """Drop the powers of a large regularization."""
    power = {"m_w": 1, "Q_w": 2, "V_w": 1, "m": 1, "V": 1, "Q": 2, "Q_qh": 1}
    return {name: (value.T * reg ** power.get(name, 0)).T for name, value in values.items()}
