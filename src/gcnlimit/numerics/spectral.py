r"""Quadrature on the semicircle and on the spectral measure of a spiked matrix.

Let :math:`\mathrm{sc}` be the semicircle law on :math:`[-2, 2]` and :math:`\nu` the spectral measure of the vector
:math:`y/\sqrt N` in :math:`\frac{\lambda_e}N yy^T + \xi` (Eq. 4.4):

.. math::
    d\nu = \frac{\mathrm{sc}(x)\,dx}{1 + \lambda_e^2 - \lambda_e x}
           + (1 - \lambda_e^{-2})\,\delta(x - \lambda_e - \lambda_e^{-1})\,dx \quad (\text{the atom if } |\lambda_e| > 1).

Averages over them are written :math:`\tau(f)` and :math:`e(f)`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gcnlimit._values import Array


@dataclass(frozen=True)
class SpikedSemicircle:
    r"""Nodes and weights for :math:`\tau`, :math:`e` and :math:`e - \tau`; exact for polynomials of degree below `n`.

    The nodes :math:`x_j = 2\cos\vartheta_j`, :math:`\vartheta_j = j\pi/(n+1)`, and weights
    :math:`w_j = \frac{2}{n+1}\sin^2\vartheta_j` are those of the Gauss-Chebyshev rule for the semicircle (Eq. 6.1). For
    :math:`|\lambda_e| \le 1`, interpolating with the Chebyshev polynomials :math:`U_k`, for which
    :math:`e(U_k(x/2)) = \lambda_e^k`, and summing the geometric series gives (Eq. 6.2)

    .. math:: e(f) \approx \sum_j w_j \frac{1 - (-1)^j \lambda_e^{n+1}}{1 + \lambda_e^2 - \lambda_e x_j} f(x_j),

    weights that are never negative and stay accurate through :math:`|\lambda_e| = 1`, where the density itself is singular.
    For :math:`|\lambda_e| > 1` (Eq. 6.3),
    :math:`e_{\lambda_e}(f) = (1 - \lambda_e^{-2}) f(\lambda_e + 1/\lambda_e) + \lambda_e^{-2} e_{1/\lambda_e}(f)`.

    The last column of `x`, `e` and `excess` belongs to the atom (of mass 0 if there is none).

    Examples
    --------
    >>> m = SpikedSemicircle.of(np.array([0.5, 1.0, 3.0]), n=8)
    >>> e = lambda f: np.sum(m.e * f(m.x), axis=-1)
    >>> np.allclose(e(lambda x: x), [0.5, 1.0, 3.0])  # the mean is the signal, on both sides of the transition
    True
    >>> np.allclose(e(np.ones_like), 1.0)
    True
    """

    x: Array
    tau: Array
    e: Array
    excess: Array

    @classmethod
    def of(cls, signal: Array, n: int) -> SpikedSemicircle:
        """Return the measure of each signal, a one-dimensional array, on `n` nodes."""
        theta = np.arange(1, n + 1) * (np.pi / (n + 1))
        x = 2.0 * np.cos(theta)
        w = 2.0 / (n + 1) * np.sin(theta) ** 2  # Eq. 6.1
        sign = np.where(np.arange(1, n + 1) % 2, 1.0, -1.0)

        outside = np.abs(signal) > 1.0
        inner = np.where(outside, 1.0 / np.where(signal == 0, 1.0, signal), signal)[:, None]
        ripple = sign * inner ** (n + 1)
        edge = 4.0 * np.where(inner < 0, np.cos(theta / 2) ** 2, np.sin(theta / 2) ** 2)  # 2 - |x|, without rounding
        density = w / ((1.0 - np.abs(inner)) ** 2 + np.abs(inner) * edge)  # over 1 + l^2 - l x
        e = density * (1.0 + ripple)  # Eq. 6.2
        excess = density * (ripple - inner * (inner - x))  # e - tau without subtracting them
        scale = inner**2
        np.copyto(e, scale * e, where=outside[:, None])  # Eq. 6.3
        np.copyto(excess, density * (scale * ripple - (1.0 - inner * x)), where=outside[:, None])

        mass = np.where(outside, 1.0 - inner[:, 0] ** 2, 0.0)
        atom = np.where(outside, signal + inner[:, 0], 0.0)
        nodes = np.broadcast_to(x, e.shape)
        return cls(
            x=np.concatenate([nodes, atom[:, None]], axis=1),
            tau=np.append(w, 0.0),
            e=np.concatenate([e, mass[:, None]], axis=1),
            excess=np.concatenate([excess, mass[:, None]], axis=1),
        )
