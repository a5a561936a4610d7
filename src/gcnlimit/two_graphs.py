"""Two graphs with the same features: that of the training, and another on which its weights are used."""

from __future__ import annotations

import numpy as np

from gcnlimit._values import Array
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError


def check_pair(data: CSBM, to: CSBM) -> None:
    """Raise `ParameterError` unless the graphs have features of one law, and the same classes; two may change their fractions."""
    if data.features != to.features:
        told = f"features = {data.features!r} at training and {to.features!r} on the new graph"
        raise ParameterError(f"{told}; give both the same")
    if data.noise != to.noise:
        told = f"noise = {data.noise:g} at training and {to.noise:g} on the new graph"
        raise ParameterError(f"{told}; give both the same")
    if data.classes != to.classes and not data.classes.count == to.classes.count == 2:
        told = f"classes = {data.classes} at training and {to.classes} on the new graph; fractions"
        raise ParameterError(f"{told} may differ only if there are two classes; give both the same")


def feature_signal(data: CSBM, to: CSBM) -> Array:
    r"""Signal :math:`\mu' = \mu'_{\text{own}}\,\alpha/\alpha'` of the features in units of the training graph."""
    return np.asarray(np.asarray(to.mu) * data.alpha / to.alpha)
