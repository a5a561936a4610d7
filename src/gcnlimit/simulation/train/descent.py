r"""Training of the logistic loss without forming a Gram matrix: cheap where the regularization is not weak.

Conjugate gradients on :math:`P(w) = \sum_i \log(1 + e^{-z_i}) + \frac r2 |w|^2`, :math:`z = Zw`, with exact line searches,
which need no product. They correct the weights in single precision; the gradients that they start from, and the last one,
which decides, are in double.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from gcnlimit._values import Array

Block = npt.NDArray[Any]

STEPS = 100  # of one correction; with more, a Gram matrix is cheaper
CORRECTIONS = 8
FINEST = 2e-6  # relative change of a gradient that single precision resolves


class Descent(NamedTuple):
    r"""Weights :math:`w`, dual variables :math:`f = \sigma(-Zw)`, and the norm of the gradient of :math:`P`."""

    weights: Block
    f: Block
    slope: float

    def gap(self, reg: float) -> float:
        r"""Duality gap over the objective: at :math:`f = -\ell'(z)` the gap is :math:`|\nabla P|^2/2r`."""
        objective = -np.log1p(-self.f).sum() + 0.5 * reg * self.weights @ self.weights
        return float(0.5 * self.slope**2 / (reg * objective))


def logistic_descent(Z: Array, reg: float, start: Array | None = None, tol: float = 1e-10) -> Descent | None:
    r"""Descend until :math:`|\nabla P(w)| \le` `tol` :math:`|\nabla P(0)|`; None if that takes too many steps.

    Starts from the weights :math:`Z^T f_0/r` of the dual variables `start` :math:`f_0`.

    >>> Z = np.array([[1.0, 2.0, 0.5], [0.0, 1.0, -1.0]])
    >>> w, f, slope = logistic_descent(Z, 1.0)
    >>> np.allclose(w, Z.T @ expit(-Z @ w), atol=1e-9)
    True
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        single = Z.astype(np.float32)
        downhill = np.full(len(Z), 0.5, np.float32) @ single
        steepest = float(np.linalg.norm(downhill))
        if not 1e-8 < steepest < 1e12:  # whose square single precision holds
            return None
        wanted = tol * steepest
        state = np.zeros(Z.shape[1]), np.zeros(len(Z)), -downhill
        if start is not None:
            state = _state(Z, reg, start @ Z / reg)
        for _ in range(CORRECTIONS):
            w, z, gradient = state
            slope = float(np.linalg.norm(gradient))
            if not slope > wanted:
                break
            change = _correction(single, reg, z, gradient, _goal(slope, wanted))
            if change is None:
                break
            state = _state(Z, reg, w + change)
    return Descent(w, expit(-z), slope) if slope <= wanted else None


def _state(Z: Array, reg: float, w: Block) -> tuple[Block, Block, Block]:
    """The weights, their margins and the gradient, in double precision."""
    z = Z @ w
    return w, z, reg * w - expit(-z) @ Z


def _goal(slope: float, wanted: float) -> float:
    """Slope at which a correction ends: half of that wanted if single precision resolves it, or an even step on the way there."""
    corrections = max(1, math.ceil(math.log(slope / (0.5 * wanted)) / -math.log(FINEST)))
    return float(slope * (0.5 * wanted / slope) ** (1.0 / corrections))


def _correction(Z: Block, reg: float, z: Block, gradient: Block, goal: float) -> Block | None:
    r"""Change :math:`\delta` of the weights that lowers the slope to `goal`, computed like `Z`; None after too many steps.

    The gradient after it is :math:`\nabla P + r\delta - Z^T [\sigma(-z - Z\delta) - \sigma(-z)]`, of which all is small.
    """
    here = first = gradient.astype(Z.dtype)
    f = f0 = expit(-z)
    change, p = np.zeros_like(here), -here
    for _ in range(STEPS):
        Zp = (Z @ p).astype(float)
        length, f = _length(z, f, Zp, float(here @ p), reg * float(p @ p))
        change = change + Z.dtype.type(length) * p
        z = z + length * Zp
        before, here = here, first + Z.dtype.type(reg) * change - (f - f0).astype(Z.dtype) @ Z
        if not np.linalg.norm(here) > goal:
            return np.asarray(change)
        turn = here - before
        p = max(Z.dtype.type(0.0), here @ turn / (p @ turn)) * p - here
    return None


def _length(z: Block, f: Block, change: Block, slope: float, curvature: float) -> tuple[float, Block]:
    r"""Multiple :math:`s` of the step :math:`p` that minimises :math:`P(w + sp)`, by Newton's method from 0, and :math:`f(s)`.

    The derivative in :math:`s` is :math:`\nabla P \cdot p + s\, r|p|^2 + \sum_i (f_i - f_i(s)) (Zp)_i`, without a product.
    """
    length, here, derivative, squares = 0.0, f, slope, change**2
    for _ in range(4):
        length -= derivative / (curvature + (here * (1.0 - here)) @ squares)
        here = expit(-(z + length * change))
        derivative = slope + curvature * length + float((f - here) @ change)
        if abs(derivative) <= 1e-3 * abs(slope):
            break
    return length, here
