"""Simulation at the paper's size: 10 000 nodes, degree 30, alpha = 4, rho = 0.1, one thread, in seconds of processor time.

``python -m benchmarks.simulation`` prints the table. Every peer runs in the same process, right after or before ours. The
exponentials are shared among threads: they name how many, and are timed by the clock on the wall.
"""

from __future__ import annotations

import os
import resource
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
from scipy.sparse.linalg import LinearOperator, expm_multiply
from scipy.special import expit

import gcnlimit as gl
from benchmarks.measure import peak, row, timed
from gcnlimit._runtime.threads import threads
from gcnlimit.classes import Classes
from gcnlimit.losses import Logistic
from gcnlimit.simulation.data.operator import Operator
from gcnlimit.simulation.train.minimize import TrainingTask
from gcnlimit.simulation.train.products import training_rows
from gcnlimit.simulation.train.solvers import TrainingRows

DATA = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
NODES, DEGREE = 10_000, 30
DIFFUSION = gl.Diffusion(t=1.0)
REGS = (0.1, 1.0, 10.0)
REPEAT = 2


def rows() -> list[dict[str, Any]]:
    instance = gl.sample(DATA, NODES, DEGREE, seed=0)
    table = [*sampling(), steps(instance), *diffusion(instance)]
    mask = instance.train_mask
    F = training_rows(
        instance.observation, instance.observation.operator(True), DIFFUSION.ravel((1,))
    )[0]
    return [*table, ridge(F, instance.labels[mask]), *logistic(F, instance.labels[mask])]


def sampling() -> list[dict[str, Any]]:
    p, spread = DEGREE / NODES, np.sqrt(DEGREE) / NODES
    sizes, probabilities = [NODES // 2] * 2, [[p + spread, p - spread], [p - spread, p + spread]]
    ours, _ = timed(lambda: gl.sample(DATA, NODES, DEGREE, seed=1), repeat=2)
    memory = peak(lambda: gl.sample(DATA, NODES, DEGREE, seed=1))
    table = []
    for name, make in _graph_makers(sizes, probabilities).items():
        peer, _ = timed(make)
        table.append(
            row(
                "graph and features",
                ours,
                f"{name}, graph alone",
                peer,
                peak_mib=memory,
                note="target: 3",
            )
        )
    return table


def _graph_makers(
    sizes: list[int], probabilities: list[list[float]]
) -> dict[str, Callable[[], Any]]:
    """Block models of the libraries that are installed."""
    import networkx as nx

    makers = {
        "NetworkX": lambda: nx.stochastic_block_model(sizes, probabilities, seed=1, directed=True)
    }
    try:
        import torch
        from torch_geometric.utils import stochastic_blockmodel_graph
    except ModuleNotFoundError:
        return makers
    torch.set_num_threads(1)
    edges = torch.tensor(probabilities)
    return makers | {
        "PyTorch Geometric": lambda: stochastic_blockmodel_graph(sizes, edges, directed=True)
    }


def steps(instance: gl.Instance) -> dict[str, Any]:
    a, X = instance.observation.operator(False), instance.features
    filter = gl.Polynomial([0.0, 0.0, 0.0, 1.0])
    times = []
    for _ in range(3):  # interleaved, since the two are nearly equal
        ours, _ = timed(lambda: filter.apply(a, X))
        peer, _ = timed(lambda: a.matrix @ (a.matrix @ (a.matrix @ X)))
        times.append((ours, peer))
    ours, peer = np.min(times, axis=0)
    memory = peak(lambda: filter.apply(a, X))
    return row(
        "three centred steps on all features",
        ours,
        "bare CSR products",
        peer,
        peak_mib=memory,
        note="target: 0.91",
    )


def diffusion(instance: gl.Instance) -> list[dict[str, Any]]:
    """Ours to rounding, as the peer works, and to the default accuracy, with the errors of both, on one thread and on all.

    The peer takes a sparse matrix, so the uncentred one, whose norm is larger; or the centred one behind a product.
    """
    a = instance.observation.operator(True)
    _ = a.radius
    runs = _Exponentials(instance, a)
    table = []
    for count in sorted({1, threads()}):
        on = "one thread" if count == 1 else f"{count} threads"
        for what, accuracy in {"to rounding": 1e-15, "to 1e-12 (default)": 1e-12}.items():
            ours, ours_error = runs.ours(count, accuracy)
            for name, (peer, error) in runs.peers.items():
                note = f"relative errors {ours_error:.0e} and {error:.0e}; load {os.getloadavg()[0]:.1f}; target: 5"
                table.append(
                    row(
                        f"exp(ta) X, {what}, {on}",
                        ours,
                        f"scipy expm_multiply, {name}",
                        peer,
                        note=note,
                    )
                )
        rows_s, rows = runs.rows(count), f"exp(ta) X at the training rows, {what}, {on}"
        table.append(row(rows, rows_s, f"exp(ta) X, ours, {what}, {on}", ours, note="target: 1.8"))
        name, (peer, _) = next(iter(runs.peers.items()))
        table.append(row(rows, rows_s, f"scipy expm_multiply, {name}", peer, note="target: 9"))
    table[2]["peak_mib"] = peak(lambda: DIFFUSION.apply(a, instance.features, radius=a.radius))
    return table


class _Exponentials:
    """Times by the clock on the wall, the best of `REPEAT`, and errors."""

    def __init__(self, instance: gl.Instance, a: Operator) -> None:
        self.observation, self.X, self.a = instance.observation, instance.features, a
        peers = {"the sparse matrix": (a.matrix, 0.0), "the centred product": (_linear(a), a.u)}
        self.peers = {name: self._peer(matrix, shift) for name, (matrix, shift) in peers.items()}

    def ours(self, count: int, accuracy: float) -> tuple[float, float]:
        a, X = self.a, self.X
        seconds, result = self._on(
            count, lambda: DIFFUSION.apply(a, X, radius=a.radius, accuracy=accuracy)
        )
        return seconds, _error(result, a, a.u, X)

    def rows(self, count: int) -> float:
        filters = DIFFUSION.ravel((1,))
        return self._on(count, lambda: training_rows(self.observation, self.a, filters))[0]

    def _peer(self, matrix: Any, shift: float) -> tuple[float, float]:
        trace = DIFFUSION.t * (self.a.matrix.trace() - shift * self.a.shape[0])
        seconds, result = self._on(
            1, lambda: expm_multiply(DIFFUSION.t * matrix, self.X, traceA=trace)
        )
        return seconds, _error(result, self.a, shift, self.X)

    @staticmethod
    def _on(count: int, function: Callable[[], Any]) -> tuple[float, Any]:
        with mock.patch.dict(os.environ, {"GCNLIMIT_THREADS": str(count)}):
            return timed(function, REPEAT, time.perf_counter)


def _linear(a: Operator) -> LinearOperator:
    """The centred operator by the bare CSR product."""

    def product(block: Any) -> Any:
        return a.matrix @ block - a.u * block.sum(axis=0)

    return LinearOperator(
        a.shape, matvec=product, matmat=product, rmatvec=product, rmatmat=product, dtype=float
    )


def _error(result: Any, a: Operator, shift: float, X: Any) -> float:
    """Relative error of the first columns, against the Taylor series in extended precision."""
    matrix, term = a.matrix.astype(np.longdouble), X[:, :2].astype(np.longdouble)
    total = term
    for k in range(1, 50):
        term = (matrix @ term - np.longdouble(shift) * term.sum(axis=0)) * (
            np.longdouble(DIFFUSION.t) / k
        )
        total = total + term
    return float(np.linalg.norm(result[:, :2] - total) / np.linalg.norm(total))


def ridge(F: Any, y: Any) -> dict[str, Any]:
    from sklearn.linear_model import Ridge

    reg = np.logspace(-2, 2, 20)
    Z = y[:, None] * F
    ours, weights = timed(lambda: TrainingRows(Z).ridge(reg), repeat=3)
    peer, model = timed(
        lambda: Ridge(alpha=reg[10], solver="cholesky", fit_intercept=False).fit(F, y), repeat=3
    )
    assert np.allclose(model.coef_, weights[10], atol=1e-8)
    memory = peak(lambda: TrainingRows(Z).ridge(reg))
    return row(
        "ridge, twenty reg",
        ours,
        "scikit-learn Ridge(cholesky), one reg",
        peer,
        peak_mib=memory,
        note="target: 1",
    )


def logistic(F: Any, y: Any) -> list[dict[str, Any]]:
    """Ours asked for a hundredth of the gradient, of the same objective and in the same norm, that the peer reached."""
    Z = y[:, None] * F
    steepest = float(np.linalg.norm(0.5 * Z.sum(axis=0)))
    table = []
    for reg in REGS:
        for tol in (1e-4, 1e-10):
            peer_s, solver, theirs = _best_solver(F, y, Z, reg, tol)
            wanted = max(1e-2 * theirs / steepest, 1e-13)
            task = TrainingTask(F, (y < 0).astype(np.intp), Classes.of(2), Logistic())
            solve = partial(task.minimize, np.array([reg]), wanted)
            ours_s, (weights, *_) = timed(solve, 5)
            memory = peak(solve)
            note = (
                f"gradient {_slope(Z, reg, weights[0, :, 0]):.0e} against {theirs:.0e}; target: 1"
            )
            peer = f"scikit-learn {solver}, tol={tol:g}"
            table.append(
                row(f"logistic, reg = {reg:g}", ours_s, peer, peer_s, peak_mib=memory, note=note)
            )
    return table


def _best_solver(F: Any, y: Any, Z: Any, reg: float, tol: float) -> tuple[float, str, float]:
    """Time, name and gradient of the fastest solver of scikit-learn."""
    from sklearn.linear_model import LogisticRegression

    runs = []
    for solver in ("lbfgs", "liblinear", "newton-cg"):  # newton-cholesky takes seconds
        model = LogisticRegression(
            C=1 / reg, fit_intercept=False, solver=solver, tol=tol, max_iter=10_000
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seconds, model = timed(lambda model=model: model.fit(F, y), repeat=5)
        runs.append((seconds, solver, _slope(Z, reg, model.coef_[0])))
    return min(runs)


def _slope(Z: Any, reg: float, w: Any) -> float:
    """Norm of the gradient of the objective."""
    return float(np.linalg.norm(reg * w - Z.T @ expit(-Z @ w)))


if __name__ == "__main__":
    for r in rows():
        beside = f"{r['peer']:38s} {r['peer_s']:8.3f} s  x{r['ratio']:6.2f}"
        print(
            f"{r['what']:46s} {r['ours_s']:8.3f} s  {beside}  {r.get('peak_mib', 0.0):6.0f} MiB  {r.get('note', '')}"
        )
    print(
        f"peak of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB"
    )
