"""Choosing a network: all points at once, against one call of SciPy's optimizers for each point (seconds of one core)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

import gcnlimit as gl
from benchmarks.measure import row, timed

FAMILY = gl.GCN(gl.Diffusion(1.0), symmetrize=True)


def rows() -> list[dict[str, Any]]:
    return [
        map_of_times_and_gaps(),
        best_polynomial(any_reg=False),
        best_polynomial(any_reg=True),
        *comparisons(),
    ]


def map_of_times_and_gaps(side: int = 100, sample: int = 50) -> dict[str, Any]:
    lam, mu = np.linspace(0.02, 2.0, side), np.linspace(0.05, 5.0, side)
    data = gl.CSBM(alpha=4, lam=lam[:, None], mu=mu, rho=0.1)
    ours, result = timed(lambda: gl.gap_map(data, FAMILY, {"t": (0, 10)}))
    rng = np.random.default_rng(0)
    chosen = rng.integers(side, size=(sample, 2))
    peer, local = timed(lambda: [_one_point(lam[i], mu[j]) for i, j in chosen])
    ceiling = gl.bayes_optimal(data).test_accuracy
    worst = max(gap - result.gap[i, j] for (i, j), gap in zip(chosen, local, strict=True))
    best = min(gap - result.gap[i, j] for (i, j), gap in zip(chosen, local, strict=True))
    assert np.all(ceiling >= result.tuned.prediction.test_accuracy)
    return row(
        f"{side} x {side} map of t* and the gap",
        ours,
        "scipy.optimize.minimize_scalar, point by point",
        peer * side**2 / sample,
        f"peer timed on {sample} points and scaled; its gaps are larger by {best:.0e} to {worst:.0e}",
    )


def _one_point(lam: float, mu: float) -> float:
    """The same answer with a bounded Brent search."""
    data = gl.CSBM(alpha=4, lam=lam, mu=mu, rho=0.1)

    def negative(t: float) -> float:
        network = gl.GCN(gl.Diffusion(t), symmetrize=True)
        return -float(gl.predict(data, network).order_parameters.test_margin)

    found = optimize.minimize_scalar(
        negative, bounds=(0, 10), method="bounded", options={"xatol": 1e-8}
    )
    network = gl.GCN(gl.Diffusion(found.x), symmetrize=True)
    return float(gl.bayes_optimal(data).test_accuracy - gl.predict(data, network).test_accuracy)


def best_polynomial(degree: int = 8, *, any_reg: bool) -> dict[str, Any]:
    """The same maximum by both: over the coefficients, and over the regularization as well."""
    data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)

    def negative(free: Any) -> float:
        reg = np.exp(free[degree + 1]) if any_reg else np.inf
        network = gl.GCN(gl.Polynomial(free[: degree + 1]), reg=reg, symmetrize=True)
        return -float(gl.predict(data, network).order_parameters.test_margin)

    ours, best = timed(lambda: gl.best_filter(data, degree, reg=None if any_reg else np.inf), 3)
    start = np.append(np.ones(degree + 1), [0.0] * any_reg)
    peer, found = timed(lambda: optimize.minimize(negative, start, method="BFGS"))
    margin = best.prediction.order_parameters.test_margin
    return row(
        f"best polynomial of degree {degree}, {'best reg' if any_reg else 'reg = inf'}",
        ours,
        f"scipy.optimize.minimize, BFGS on the coefficients{' and log reg' if any_reg else ''}",
        peer,
        f"its margin is lower by {margin + found.fun:.0e}",
    )


def comparisons() -> list[dict[str, Any]]:
    """All families tuned at one point, regularization included; nothing else does it."""
    data = gl.CSBM(alpha=4, lam=0.75, mu=0.5, rho=0.5)
    return [
        row(
            f"comparison of all families, {graph} graph",
            timed(lambda symmetrize=symmetrize: gl.compare(data, symmetrize=symmetrize), 2)[0],  # type: ignore[misc]
            "none",
            np.nan,
        )
        for graph, symmetrize in (("symmetrized", True), ("directed", False))
    ]
