r"""The propagators of the continuous network: how a state, or a pair of states, travels along the depth.

With :math:`g_x = e^{txa}` the diffusion up to depth :math:`x \in [0, 1]`, they are its averages (Eqs. 4.4 and 4.11). In the
paper :math:`\varphi` and :math:`\Phi` are the resolvents of :math:`D_{qh}\varphi = \lambda^e t \varphi + \delta` and
:math:`D_{qh} \Phi D_{qh}^T = t^2 \Phi + \delta`, and :math:`\kappa` is the kernel of the inverse of :math:`D_{qh}`, the
derivative along the depth that the symmetry of the graph makes effective.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import hyp0f1

from gcnlimit._values import Array
from gcnlimit.filters import Diffusion
from gcnlimit.numerics.spectral import SpikedSemicircle


def phi(x: npt.ArrayLike, *, t: npt.ArrayLike, signal: npt.ArrayLike, symmetric: bool) -> Array:
    r"""Propagator of the labels, :math:`\varphi(x) = \frac1N y^T g_x y`; arguments broadcast.

    .. math::
        \varphi(x) = e^{\lambda^e t x} \;\text{(directed)}, \qquad
        \varphi(x) = \sum_{\nu \ge 1} \nu (\lambda^e)^{\nu-1} \frac{I_\nu(2tx)}{tx} \;\text{(symmetric)},

    the second by quadrature on the spectral measure of the labels (Eq. 6.2), without terms of alternating sign.

    >>> from scipy.special import iv
    >>> nu = np.arange(1, 40)
    >>> bool(np.isclose(phi(1.0, t=1.5, signal=2.0, symmetric=True), np.sum(nu * 2.0 ** (nu - 1) * iv(nu, 3.0) / 1.5)))
    True
    """
    time, signal = np.broadcast_arrays(np.multiply(t, x, dtype=float), np.asarray(signal, float))
    if not symmetric:
        return np.asarray(np.exp(signal * time))
    measure = SpikedSemicircle.of(signal.ravel(), int(np.max(Diffusion(time).quadrature_nodes())))
    average = np.sum(measure.e * np.exp(time.reshape(-1, 1) * measure.x), axis=1)
    return np.asarray(average.reshape(time.shape))


def Phi(x: npt.ArrayLike, z: npt.ArrayLike, *, t: npt.ArrayLike, symmetric: bool) -> Array:
    r"""Propagator of noise, :math:`\Phi(x,z) = \frac1N \mathrm{tr}\, g_x g_z^T`; arguments broadcast.

    .. math::
        \Phi(x, z) = I_0(2t\sqrt{xz}) \;\text{(directed)}, \qquad
        \Phi(x, z) = \frac{I_1(2t(x+z))}{t(x+z)} \;\text{(symmetric)}.

    The first solves the two-dimensional Klein-Gordon equation, :math:`\partial_x \partial_z \Phi = t^2 \Phi`.

    >>> float(Phi(0.0, 1.0, t=2.0, symmetric=False))  # noise that has not diffused keeps its norm
    1.0
    >>> bool(np.isclose(Phi(0.2, 0.6, t=2.0, symmetric=True), kappa(0.8, t=2.0, symmetric=True)))
    True
    """
    if symmetric:
        return kappa(np.add(x, z), t=t, symmetric=True)
    return np.asarray(hyp0f1(1.0, np.square(t) * np.multiply(x, z, dtype=float)))


def kappa(x: npt.ArrayLike, *, t: npt.ArrayLike, symmetric: bool) -> Array:
    r"""Response of a state to a push at a depth `x` before it, :math:`\kappa(x) = \frac1N \mathrm{tr}\, e^{txa}`.

    :math:`\kappa = 1` if directed, since :math:`a` has no trace, and :math:`I_1(2tx)/(tx)` if symmetric. For
    :math:`x > z` it is :math:`D_{qh}^{-1}(x, z) = \kappa(x - z)`.

    >>> kappa([0.0, 1.0], t=1.0, symmetric=True).round(4)
    array([1.    , 1.5906])
    """
    time = np.multiply(t, x, dtype=float)
    return np.asarray(hyp0f1(2.0, time**2) if symmetric else np.ones_like(time))
