r"""Rules for averages over several Gaussian variables.

In up to three dimensions a product of trapezoid rules, which converge exponentially for smooth functions, cut to a ball; in more
dimensions scrambled Sobol points, made to have unit covariance, with their mirror images, several times independently:
polynomials up to degree 3 are exact.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from gcnlimit._values import Array

__all__ = ["GaussianRule", "gaussian_rules"]

_STEP = {1: 0.1, 2: 0.15, 3: 0.2}  # of the trapezoid rules, by dimension
_REACH = {1: 8.5, 2: 8.0, 3: 6.6}  # radius of the ball, which leaves out 1e-16, 1e-14 and 2e-9 of the weight
_REPLICAS, _LOG_POINTS = 4, 13  # independent sets of Sobol points, and the binary logarithm of half their size


class GaussianRule(NamedTuple):
    """Nodes, one in each row, and their weights, of sum 1."""

    nodes: Array
    weights: Array


@lru_cache(maxsize=16)
def gaussian_rules(dimensions: int) -> tuple[GaussianRule, ...]:
    """Rules for the average over independent standard normal variables: one, or several random ones that tell the error.

    >>> (rule,) = gaussian_rules(2)
    >>> bool(abs(np.cos(rule.nodes[:, 0] + rule.nodes[:, 1]) @ rule.weights - np.exp(-1.0)) < 1e-13)
    True
    >>> values = [np.cos(0.5 * np.sum(rule.nodes, axis=1)) @ rule.weights for rule in gaussian_rules(4)]
    >>> len(values), bool(np.allclose(values, np.exp(-0.5), atol=1e-3))
    (4, True)
    """
    if dimensions in _STEP:
        return (_product(dimensions, _STEP[dimensions], _REACH[dimensions]),)
    return tuple(_sobol(dimensions, seed) for seed in range(_REPLICAS))


def _product(dimensions: int, step: float, reach: float) -> GaussianRule:
    line = np.arange(-np.floor(reach / step), np.floor(reach / step) + 1.0) * step
    nodes = np.stack(np.meshgrid(*[line] * dimensions, indexing="ij"), axis=-1).reshape(-1, dimensions)
    square = np.sum(nodes**2, axis=1)
    inside = square <= reach**2
    weights = np.exp(-0.5 * square[inside])
    return GaussianRule(nodes[inside], weights / np.sum(weights))


def _sobol(dimensions: int, seed: int) -> GaussianRule:
    """Scrambled Sobol points, made to have unit covariance, and their mirror images."""
    from scipy.stats.qmc import Sobol  # slow to import, and rarely needed

    half = ndtri(Sobol(dimensions, rng=np.random.default_rng(seed)).random_base2(_LOG_POINTS))
    values, basis = np.linalg.eigh(half.T @ half / len(half))
    half = half @ (basis / np.sqrt(values)) @ basis.T
    return GaussianRule(np.concatenate([half, -half]), np.full(2 * len(half), 0.5 / len(half)))
