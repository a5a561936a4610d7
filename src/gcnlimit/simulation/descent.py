r"""Training of the logistic loss without forming a Gram matrix: cheap where the regularization is not weak.

Newton's method on :math:`P(w) = \sum_i \log(1 + e^{-z_i}) + \frac r2 |w|^2`, :math:`z = Zw`, each step by conjugate gradients.
Steps need not be precise, so single precision computes them; the gradient that decides is in double.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from gcnlimit._validation import Array

__all__ = ["Descent", "logistic_descent"]

Block = npt.NDArray[Any]

NEWTON_STEPS, GRADIENT_STEPS = 12, 20  # beyond, a Gram matrix is cheaper


class Descent(NamedTuple):
    r"""Weights :math:`w`, dual variables :math:`f = \sigma(-Zw)`, and the norm of the gradient of :math:`P`."""

    weights: Block
    f: Block
    slope: float

    def gap(self, reg: float) -> float:
        r"""Duality gap over the objective: at :math:`f = -\ell'(z)` the gap is :math:`|\nabla P|^2/2r`."""
        objective = -np.log1p(-self.f).sum() + 0.5 * reg * self.weights @ self.weights
        return float(0.5 * self.slope**2 / (reg * objective))


def logistic_descent(Z: Array, reg: float, start: Array | None = None, tolerance: float = 1e-10) -> Descent | None:
    r"""Descend until :math:`|\nabla P(w)| \le` `tolerance` :math:`|\nabla P(0)|`; None if that takes too many steps.

    Starts from the weights :math:`Z^T f_0/r` of the dual variables `start` :math:`f_0`.

    >>> Z = np.array([[1.0, 2.0, 0.5], [0.0, 1.0, -1.0]])
    >>> w, f, slope = logistic_descent(Z, 1.0)
    >>> np.allclose(w, Z.T @ expit(-Z @ w), atol=1e-9)
    True
    """
    with np.errstate(over="ignore", invalid="ignore"):
        single = Z.astype(np.float32)
        steepest = 0.5 * float(np.linalg.norm(np.ones(len(Z), np.float32) @ single))
        if not 1e-8 < steepest < 1e12:  # whose square single precision holds
            return None
        w = np.zeros(Z.shape[1]) if start is None else start @ Z / reg
        rough = _newton(single, single, reg, w.astype(np.float32), steepest, 0.5 * max(tolerance, 1e-5))
        found = _newton(Z, single, reg, rough.weights.astype(float), steepest, tolerance)
    return found if found.slope <= tolerance * steepest else None


def _newton(Z: Block, single: Block, reg: float, w: Block, steepest: float, tolerance: float) -> Descent:  # noqa: PLR0917
    """Newton's method with the gradient of `Z` and the curvature of `single`, to a slope of `tolerance` times `steepest`."""
    z = Z @ w if w.any() else np.zeros(len(Z), Z.dtype)
    for _ in range(NEWTON_STEPS):
        f = expit(-z)
        gradient = reg * w - f @ Z
        slope = float(np.linalg.norm(gradient))
        if not slope > tolerance * steepest:
            break
        precision = max(min(0.3, slope / steepest), 1e-4, 0.3 * tolerance * steepest / slope)
        step, change = _newton_step(single, f * (1.0 - f), reg, -gradient, precision)
        length = _length(z, change, float(gradient @ step), float(reg * (step @ step)))
        w = w + length * step
        z = z + length * change if Z is single else Z @ w
    return Descent(w, f, slope)


def _newton_step(Z: Block, curvature: Block, reg: float, target: Block, precision: float) -> tuple[Block, Block]:
    r"""Solution :math:`x` of :math:`(Z^T D Z + r) x = b` to a residual of `precision` :math:`|b|`, and :math:`Zx`."""
    D, r = curvature.astype(Z.dtype), target.astype(Z.dtype)
    p, x, Zx = r, np.zeros_like(r), np.zeros(len(Z), Z.dtype)
    size = r @ r
    wanted = precision**2 * size
    for _ in range(GRADIENT_STEPS):
        Zp = Z @ p
        q = (D * Zp) @ Z + Z.dtype.type(reg) * p
        length = size / (p @ q)
        x, Zx, r = x + length * p, Zx + length * Zp, r - length * q
        before, size = size, r @ r
        if size <= wanted:
            break
        p = r + (size / before) * p
    return x, Zx


def _length(z: Block, change: Block, slope: float, curvature: float) -> float:
    r"""Fraction :math:`s` of the step :math:`x` that minimises :math:`P(w + sx)`, by Newton's method from 1.

    The derivative in :math:`s` is :math:`\nabla P \cdot x + s\, r|x|^2 + \sum_i (f_i - f_i(s)) (Zx)_i`, without a product.
    """
    length, f = 1.0, expit(-z)
    for _ in range(2):
        here = expit(-(z + length * change))
        derivative = slope + curvature * length + (f - here) @ change
        length -= derivative / (curvature + (here * (1.0 - here)) @ change**2)
    return float(length)
