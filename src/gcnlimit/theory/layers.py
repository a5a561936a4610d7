r"""Order functions of discrete networks, layer by layer, from the chain equations.

At infinite regularization the chain equations are triangular; their solution is taken there without powers of :math:`r`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gcnlimit._validation import Array
from gcnlimit.errors import ConvergenceError
from gcnlimit.filters import Chain
from gcnlimit.theory.chain import State
from gcnlimit.theory.far import far_state
from gcnlimit.theory.finite_reg import Scaled, solve
from gcnlimit.theory.order_functions import OrderFunctions
from gcnlimit.theory.order_parameters import OrderParameters
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
    scaled = Scaled.of_chain(points, chain)
    if np.isinf(points.reg).all():
        far = replace(scaled.problem, reg=np.full(points.size, 1e15))
        moments = far.moments(far_state(far, far.reg))
        state = _without_powers(moments.state, far.reg * scaled.filter**2)
    else:
        found = solve(scaled, tol=1e-10, max_iterations=5000)
        if not found.converged.all():
            raise ConvergenceError(
                f"the chain equations did not converge at {np.sum(~found.converged)} of {points.size} points; "
                "take a larger reg or fewer layers"
            )
        state, moments = found.state, found.moments
    none: Array = np.zeros(points.size)
    return OrderParameters.unscaled((none, none), moments, state, scaled.layers, scaled.filter)


def _without_powers(state: State, reg: Array) -> State:
    """Drop the powers of a large regularization."""
    power = {"m_w": 1, "Q_w": 2, "V_w": 1, "m": 1, "V": 1, "Q": 2, "Q_qh": 1}
    return state._replace(**{name: (getattr(state, name).T * reg**p).T for name, p in power.items()})
