"""Choosing a network: all points at once, against one call of SciPy's optimizers for each point (seconds of one core)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

import gcnlimit as gl
from benchmarks.measure import row, timed

FAMILY = gl.GCN(gl.Diffusion(1.0), symmetrize=True)


def rows() -> list[dict[str, Any]]:
    return [map_of_times_and_gaps(), best_polynomial()]


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

    found = optimize.minimize_scalar(negative, bounds=(0, 10), method="bounded", options={"xatol": 1e-8})
    network = gl.GCN(gl.Diffusion(found.x), symmetrize=True)
    return float(gl.bayes_optimal(data).test_accuracy - gl.predict(data, network).test_accuracy)


def best_polynomial(degree: int = 8) -> dict[str, Any]:
    data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)

    def negative(coefficients: Any) -> float:
        network = gl.GCN(gl.Polynomial(coefficients), symmetrize=True)
        return -float(gl.predict(data, network).order_parameters.test_margin)

    ours, best = timed(lambda: gl.best_filter(data, degree))
    peer, found = timed(lambda: optimize.minimize(negative, np.ones(degree + 1), method="BFGS"))
    margin = best.prediction.order_parameters.test_margin
    return row(
        f"best polynomial of degree {degree}",
        ours,
        "scipy.optimize.minimize, BFGS on the coefficients",
        peer,
        f"its margin is lower by {margin + found.fun:.0e}",
    )
