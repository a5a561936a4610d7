"""The margins of trial networks: how they are computed, how precisely, and how many at once."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np

from gcnlimit._values import Array
from gcnlimit.losses.base import Form
from gcnlimit.normalization import NUMBERS
from gcnlimit.penalties import L2
from gcnlimit.scope import Route, route_of, structure_of
from gcnlimit.theory.finite_reg.square import square_margins
from gcnlimit.theory.margins import margins_of
from gcnlimit.theory.points import Points
from gcnlimit.theory.readout import best_readout

_WORST = -1e3  # margin given to a point without an answer: worse than any other


class Method(Enum):
    """How the margins of trials are computed: a word, their relative accuracy, and problems searched together."""

    BEST_READOUT = "explicit, test nodes read through the best filter", 4e-16, 8192
    EXPLICIT = "explicit", 4e-16, 8192
    EXPLICIT_LAYERS = "explicit, layer by layer", 4e-16, 64
    CLOSED = "one equation for one number", 1e-13, 8192
    EQUATIONS = "self-consistent equations", 1e-11, 8192
    LAYERS = "self-consistent equations of all layers, which are slow to solve", 1e-11, 64
    STOPPED = "integrals over ridge regressions", 1e-11, 64

    @classmethod
    def of(cls, points: Points, free: Mapping[str, Any]) -> Method:
        """The quickest method for the points with those parameters free."""
        if "test_filter" in free:
            return cls.BEST_READOUT
        explicit = "reg" not in free and bool(np.all(np.isinf(points.reg)))
        # outputs that vanish have one loss: the square loss stands for all
        case = {"reg": "infinite" if explicit else "finite", "loss": "square"}
        case |= structure_of(points, points.degrees, points.symmetric)
        if not free.keys().isdisjoint(NUMBERS):
            case["normalization"] = "other"
        route = route_of(case)
        if route is Route.PATH:
            return cls.STOPPED
        if explicit:
            return cls.EXPLICIT_LAYERS if route is Route.FAR_LAYERS else cls.EXPLICIT
        if route in (Route.CHAIN, Route.LAYERS):
            return cls.LAYERS
        plain = points.features.is_white and points.degrees is None and not points.noise
        ridge = points.loss.form is Form.CODES and isinstance(points.penalty, L2)
        closed = ridge and plain and points.test_filter is None
        return cls.CLOSED if closed else cls.EQUATIONS

    @property
    def accuracy(self) -> float:
        """Relative accuracy of a margin."""
        return self.value[1]

    @property
    def together(self) -> int:
        """Number of problems that are searched together."""
        return self.value[2]

    @property
    def layered(self) -> bool:
        """Whether the equations are those of all layers."""
        return self in (Method.EXPLICIT_LAYERS, Method.LAYERS)

    @property
    def solved(self) -> bool:
        """Whether self-consistent equations are solved, or integrals taken, which takes long."""
        return self in (Method.EQUATIONS, Method.LAYERS, Method.STOPPED)

    def margins(self, points: Points) -> Array:
        """Margins of a test node; very low where there is no answer."""
        if self not in (Method.BEST_READOUT, Method.CLOSED):
            margin = margins_of(points)
        else:
            usable = points.usable()
            margin = np.full(points.size, np.nan)
            with np.errstate(all="ignore"):  # a filter or a regularization may be extreme
                taken = points.take(np.flatnonzero(usable))
                best = self is Method.BEST_READOUT
                margin[usable] = best_readout(taken)[1] if best else square_margins(taken)
        return np.where(np.isnan(margin), _WORST, margin)
