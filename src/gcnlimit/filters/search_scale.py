"""The scale on which a free parameter is searched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["SearchScale"]


class SearchScale(NamedTuple):
    r"""How `tune` searches a parameter :math:`p`: in equal steps of an increasing function of it.

    Parameters
    ----------
    to, back
        The function and its inverse; by default one that is linear near 0 and logarithmic far away.
    largest
        The largest magnitude that is tried in place of infinity.
    per_radius
        Whether `to` and `largest` are meant for :math:`p` times the spectral radius of the operator.
    strict
        Whether the filter exists below `largest` only, so that wider bounds are cut there.

    Examples
    --------
    >>> SearchScale().back(SearchScale().to(3.0)).item()
    3.0
    """

    to: Callable[[Any], Any] = np.arcsinh
    back: Callable[[Any], Any] = np.sinh
    largest: float = 1e4
    per_radius: bool = False
    strict: bool = False
