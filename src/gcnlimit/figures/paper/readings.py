"""How sentences of the paper that stand in several figures are read as numbers."""

from __future__ import annotations

import xarray

from gcnlimit.figures.base import Statement

__all__ = ["grows_with_depth", "infinite_is_nearly_best"]


def infinite_is_nearly_best(finite: xarray.DataArray, infinite: xarray.DataArray) -> Statement:
    """No finite regularization gains much over the infinite one; both are accuracies of the best network of each."""
    gain = float((finite - infinite).max())
    return Statement("r = inf is nearly optimal", gain < 2e-3, f"largest gain of a finite r {gain:+.1e}")


def grows_with_depth(accuracy: xarray.DataArray, sentence: str, least: float = 0.0) -> Statement:
    """Accuracy grows from each depth to the next, by more than `least`."""
    step = float(accuracy.diff("K").min())
    return Statement(sentence, step > least, f"smallest step {step:+.1e}")
