r"""Order functions measured along the depth of a trained network on an instance, to lay beside the theory.

The states are :math:`h_x = P_x X w/\sqrt N`, with :math:`P_x` the layers up to depth :math:`x` (:math:`e^{txa}` of a continuous
network), and the signal that comes back from the loss is :math:`q_x = R_x^T f`, with :math:`R_x` the layers after it and
:math:`f_i = -y_i \ell'(y_i h_i)` on the labelled nodes. Overlaps of :math:`h, q` and the labels are read off. Responses are
those of the network trained again after a small change. With the signed training rows :math:`Z`, the curvature
:math:`D = \ell''` of the loss at the labelled nodes and :math:`A = (D^{-1} + ZZ^T/r)^{-1}`,

.. math::
    V_h(x,z) &= \tfrac1N\, \mathrm{tr}\, P_x \tfrac{X}{\sqrt N} (r + Z^T D Z)^{-1} \tfrac{X^T}{\sqrt N} P_z^T, \qquad
    \hat V_h(x,z) = \tfrac{t^2}N\, \mathrm{tr}\, R_x^T y A y R_z, \\
    V_{qh}(x,z) &= \tfrac tN\, \mathrm{tr}\, [\, P_{z \leftarrow x} - P_z \tfrac{X}{\sqrt N} \tfrac{Z^T}r A y R_x ],

:math:`t` being :math:`b_k` for the layers of a chain. The traces are estimated with random vectors. At infinite
regularization :math:`f = Ry`, :math:`A = R`, and powers of :math:`r` are dropped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from gcnlimit import scope
from gcnlimit._validation import as_real, whole
from gcnlimit._values import Array
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Chain, Diffusion
from gcnlimit.losses.base import Form
from gcnlimit.network import GCN
from gcnlimit.penalties import L2
from gcnlimit.results.order_parameters import OrderFunctions, Weights
from gcnlimit.simulation.data.instance import Instance
from gcnlimit.simulation.data.operator import Operator
from gcnlimit.simulation.data.sample import Seed, seed_sequence
from gcnlimit.simulation.train.products import training_rows
from gcnlimit.simulation.train.solvers import TrainingRows
from gcnlimit.simulation.train.train import train


def along_depth(
    operator: Operator, gcn: GCN, depths: npt.ArrayLike | None
) -> _Continuous | _Layers:
    """Return the network as it is read along its depth: at `depths` if it is continuous, else at each layer."""
    if isinstance(gcn.filter, Diffusion):
        if depths is None:
            raise ParameterError("a diffusion needs depths, numbers between 0 and 1")
        x = np.atleast_1d(as_real("depths", depths, low=0, high=1))
        if x.ndim != 1:
            raise ParameterError(f"depths must be a one-dimensional array, got shape {x.shape}")
        return _Continuous(operator, x, float(gcn.filter.t))
    name = type(gcn.filter).__name__
    if not gcn.filter.deep:
        raise ParameterError(f"{name} has no depth; take Diffusion, Residual or Polynomial")
    if depths is not None:
        raise ParameterError(f"{name} has its own layers; leave depths out")
    chain = gcn.filter.chain()
    return _Layers(operator, np.arange(chain.depth) / max(chain.depth, 1), chain)


@dataclass(frozen=True)
class _Continuous:
    """The continuous network, read at depths `x`."""

    operator: Operator
    x: Array
    t: float

    @property
    def strength(self) -> Array:
        """What multiplies the operator at each depth: the diffusion time."""
        return np.full(self.x.size, self.t)

    def _run(self, operator: Operator, times: Array, start: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.asarray(Diffusion(self.t * times).apply(operator, start, radius=operator.radius))

    def forward(self, start: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """States that begin at depth 0 with `start`."""
        return self._run(self.operator, self.x, start)

    def backward(self, end: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Signals that come back from `end` at the output: at the features, then at `x`."""
        return self._run(self.operator.T, 1.0 - np.concatenate([[0.0], self.x]), end)

    def response(self, signs: npt.NDArray[Any]) -> Array:
        """Traces of the propagation from a depth (rows) to a larger one (columns) with fixed weights; 0 elsewhere."""
        ahead = self.x[None, :] - self.x[:, None]
        steps, which = np.unique(np.maximum(ahead, 0.0), return_inverse=True)
        traces = np.einsum("np,snp->s", signs, self._run(self.operator, steps, signs))
        return np.where(ahead > 0.0, traces[which.reshape(ahead.shape)], 0.0)


@dataclass(frozen=True)
class _Layers:
    r"""Layers :math:`h_0 \dots h_{K-1}` of a chain, and the signals :math:`q_1 \dots q_K` that come back to the next ones."""

    operator: Operator
    x: Array
    chain: Chain

    @property
    def strength(self) -> Array:
        """Factors :math:`b_k`."""
        return self.chain.b

    def forward(self, start: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """States that begin with `start`."""
        b, c, _ = self.chain
        states = [start]
        for k in range(self.chain.depth - 1):
            states.append(b[k] * (self.operator @ states[-1]) + c[k] * states[-1])
        return np.stack(states)

    def backward(self, end: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Signals that come back from `end` at the output."""
        b, c, g = self.chain
        signals = [g[-1] * end]
        for k in range(self.chain.depth - 1, -1, -1):
            signals.append(g[k] * end + b[k] * (self.operator.T @ signals[-1]) + c[k] * signals[-1])
        return np.stack(signals[::-1])

    def response(self, signs: npt.NDArray[Any]) -> Array:
        """Traces of the layers after :math:`k` and up to :math:`l`."""
        b, c, _ = self.chain
        traces = np.zeros((self.chain.depth,) * 2)
        for k in range(1, self.chain.depth):
            state = signs
            for i in range(k, self.chain.depth):
                traces[k - 1, i] = np.vdot(signs, state)
                state = b[i] * (self.operator @ state) + c[i] * state
        return traces


def measure_order_functions(
    instance: Instance,
    gcn: GCN,
    depths: npt.ArrayLike | None = None,
    *,
    probes: int = 32,
    seed: Seed = 0,
) -> OrderFunctions:
    r"""Measure the order functions of a network that is trained on an instance.

    The counterpart of `gcnlimit.depth.order_functions`, at any regularization and for any convex loss (at ``reg=math.inf``
    for the square loss, as there).

    Parameters
    ----------
    instance, gcn
        The instance, and one network: `Diffusion`, or one that has layers (`Residual`, `Polynomial`).
    depths
        Depths in [0, 1] of the continuous network; a network with layers is read at each of them.
    probes
        Number of random vectors for each trace; the error of a trace falls as one over the root of nodes times probes.
    seed
        Of these vectors.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), nodes=1000, degree=30, seed=0)
    >>> f = measure_order_functions(i, gl.GCN(gl.Diffusion(t=1.0)), [0.0, 1.0])
    >>> round(f.V_hat[1, 1].item(), 6)  # at the end of the network, t^2 rho
    0.1
    >>> f = measure_order_functions(i, gl.GCN(gl.Residual([1.0, 0.5]), loss="logistic", reg=0.1))
    >>> f.Q.shape
    (2, 2)
    """
    if not isinstance(instance, Instance) or not isinstance(gcn, GCN) or gcn.shape:
        raise ParameterError(
            f"measure_order_functions needs an Instance and one GCN, got {type(instance).__name__} and {gcn!r}"
        )
    scope.check("order_functions", instance.data, gcn)
    if (
        not instance.data.classes.two
        or not instance.data.features.is_white
        or not isinstance(gcn.penalty, L2)
    ):
        raise ParameterError(
            "measure_order_functions needs two equal classes, white features and squared weights; "
            "leave out classes, features and penalty"
        )
    probes = whole("probes", probes, low=1, high=100_000)
    depth = along_depth(instance.observation.operator(gcn.symmetrize), gcn, depths)
    rng = np.random.default_rng(seed_sequence(seed))
    trained = (_infinite if np.isinf(gcn.reg) else _finite)(instance, gcn, rng, probes)
    signs = rng.choice([-1.0, 1.0], size=(instance.labels.size, probes))
    return _measured(instance, gcn, depth, trained, signs)


def _measured(
    instance: Instance, gcn: GCN, depth: _Continuous | _Layers, trained: _Trained, signs: Array
) -> OrderFunctions:
    """Overlaps of states and signals of a trained network, and traces of its responses by random vectors."""
    (n, probes), X, labels = signs.shape, instance.features, instance.labels
    signal = float(instance.data.effective_signal(gcn.symmetrize))

    def into(w: Array) -> Array:
        return np.asarray(X @ w.astype(X.dtype) / np.sqrt(n))

    divisor = float(np.exp(gcn.filter.log_gain(depth.operator.symmetric))) if gcn.normalize else 1.0
    w, b = trained.weights, depth.strength
    h = depth.forward(into(w))
    q_0, *q = depth.backward(trained.pulls / divisor)
    noise = depth.forward(into(trained.fluctuations))
    push_0, *push = depth.backward(trained.pushes / divisor)
    moved = _overlap(push, depth.forward(into(trained.moves)))
    bb = np.outer(b, b)
    return OrderFunctions(
        x=depth.x,
        m=h @ labels / n,
        Q=_overlap(h, h) / n,
        V=_overlap(noise, noise) / (n * probes),
        m_hat=signal * b * (np.asarray(q).reshape(b.size, n) @ labels) / n,
        Q_hat=bb * _overlap(q, q) / n,
        V_hat=bb * _overlap(push, push) / (n * probes),
        Q_qh=b[:, None] * _overlap(q, h) / n,
        V_qh=b[:, None] * (depth.response(signs) - moved) / (n * probes),
        weights=Weights(
            m=instance.latents.centroid @ w / n,
            Q=w @ w / n,
            V=np.asarray(np.vdot(trained.fluctuations, trained.fluctuations) / (n * probes)),
            m_hat=math.sqrt(float(instance.data.mu)) * (q_0 @ labels) / n,
            Q_hat=q_0 @ q_0 / n,
            V_hat=np.asarray(np.vdot(push_0, push_0) / (n * probes)),
        ),
    )


class _Trained(NamedTuple):
    r"""A trained network and random vectors for its responses, one a column.

    `pulls`: :math:`f`; `fluctuations`: of covariance :math:`(r + Z^TDZ)^{-1}`, in the space of the weights; `pushes`
    :math:`= yB\epsilon` with :math:`BB^T = A`, on the nodes; `moves` :math:`= Z^T B \epsilon/r`, in the space of the weights.
    """

    weights: Array
    pulls: Array
    fluctuations: Array
    pushes: Array
    moves: Array


def _infinite(instance: Instance, gcn: GCN, rng: np.random.Generator, probes: int) -> _Trained:
    """At infinite regularization, without powers of it."""
    if gcn.loss.form is not Form.CODES:
        raise ParameterError(
            f"at reg = inf order functions are those of the square loss, got loss = {gcn.loss!r}"
        )
    w = np.asarray(train(instance.observation, gcn).weights[0, :, 0], float)
    fluctuations = rng.choice([-1.0, 1.0], size=(w.size, probes))
    pushes = (
        rng.choice([-1.0, 1.0], size=(instance.labels.size, probes)) * instance.train_mask[:, None]
    )
    return _Trained(w, instance.observation.train_labels, fluctuations, pushes, 0.0 * fluctuations)


def _finite(instance: Instance, gcn: GCN, rng: np.random.Generator, probes: int) -> _Trained:
    r"""At finite regularization.

    With :math:`P = \mathrm{prox}'_{v\ell}` at the solution, :math:`D = (1-P)/vP`, and
    :math:`A = \sqrt{1-P}\, T^{-1} \sqrt{1-P}`, :math:`T = vP + \sqrt{1-P}\, \frac{ZZ^T}r \sqrt{1-P}`, which holds at corners
    of the loss as well. A fluctuation is one of :math:`\mathcal N(0, 1/r)`, less what the labelled nodes forbid.
    """
    observation, reg = instance.observation, float(gcn.reg)
    labelled = observation.train_labels[observation.train_mask]
    F = training_rows(observation, observation.operator(gcn.symmetrize), gcn.filter.ravel((1,)))[0]
    if gcn.normalize:
        F = F / np.exp(gcn.filter.log_gain(observation.operator(gcn.symmetrize).symmetric))
    rows = TrainingRows(labelled[:, None] * np.asarray(F, float))
    Z = rows.Z
    if gcn.loss.form is Form.CODES:
        w = rows.ridge(np.array([reg]), 1e-12)[0]
        f = 1.0 - Z @ w
    else:
        w, _, f = rows.solve(gcn.loss, reg, None, 1e-11)
    v = rows.size / reg
    P = np.clip(gcn.loss.prox_derivative(Z @ w - v * f, v), 1e-12, 1.0)
    e = np.sqrt(1.0 - P)
    T = e[:, None] * (Z @ Z.T / reg) * e
    T[np.diag_indices_from(T)] += v * P
    factor, lower = cho_factor(T, lower=True)

    def pulled(columns: Array) -> Array:
        """Product of A with what stands at the labelled nodes, over sqrt(1 - P)."""
        return np.asarray(e[:, None] * cho_solve((factor, lower), columns))

    start = rng.standard_normal((w.size, probes)) / math.sqrt(reg)
    noise = np.sqrt(v * P)[:, None] * rng.standard_normal((P.size, probes))
    fluctuations = start - Z.T @ pulled(e[:, None] * (Z @ start) + noise) / reg
    B = e[:, None] * solve_triangular(
        factor, rng.choice([-1.0, 1.0], size=(P.size, probes)), lower=True, trans="T"
    )
    return _Trained(
        weights=w,
        pulls=_on_nodes(observation.train_mask, labelled * f),
        fluctuations=fluctuations,
        pushes=_on_nodes(observation.train_mask, labelled[:, None] * B),
        moves=Z.T @ B / reg,
    )


def _on_nodes(mask: npt.NDArray[np.bool_], values: Array) -> Array:
    """Values of the labelled nodes, and 0 on the others."""
    spread = np.zeros((mask.size, *values.shape[1:]))
    spread[mask] = values
    return spread


def _overlap(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """Inner products of the states at every two depths."""
    a, b = np.asarray(a), np.asarray(b)
    return np.asarray(a.reshape(len(a), -1) @ b.reshape(len(b), -1).T, float)
