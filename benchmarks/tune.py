"""Choosing a network: all points at once, against one call of SciPy's optimizers for each point (seconds of one core)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize

import gcnlimit as gl

FAMILY = gl.GCN(gl.Diffusion(1.0), symmetrize=True)


def rows() -> list[dict[str, Any]]:
    return [map_of_times_and_gaps(), best_polynomial()]


def map_of_times_and_gaps(side: int = 100, sample: int = 50) -> dict[str, Any]:
    lam, mu = np.linspace(0.02, 2.0, side), np.linspace(0.05, 5.0, side)
    data = gl.CSBM(alpha=4, lam=lam[:, None], mu=mu, rho=0.1)
    ours, result = _timed(lambda: gl.gap_map(data, FAMILY, {"t": (0, 10)}))
    rng = np.random.default_rng(0)
    chosen = rng.integers(side, size=(sample, 2))
    peer, local = _timed(lambda: [_one_point(lam[i], mu[j]) for i, j in chosen])
    ceiling = gl.bayes_optimal(data).test_accuracy
    worst = max(gap - result.gap[i, j] for (i, j), gap in zip(chosen, local, strict=True))
    best = min(gap - result.gap[i, j] for (i, j), gap in zip(chosen, local, strict=True))
    assert np.all(ceiling >= result.tuned.prediction.test_accuracy)
    return _row(
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
        return -float(gl.predict(data, network).order_parameters["test_margin"])

    found = optimize.minimize_scalar(negative, bounds=(0, 10), method="bounded", options={"xatol": 1e-8})
    network = gl.GCN(gl.Diffusion(found.x), symmetrize=True)
    return float(gl.bayes_optimal(data).test_accuracy - gl.predict(data, network).test_accuracy)


def best_polynomial(degree: int = 8) -> dict[str, Any]:
    data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)

    def negative(coefficients: Any) -> float:
        network = gl.GCN(gl.Polynomial(coefficients), symmetrize=True)
        return -float(gl.predict(data, network).order_parameters["test_margin"])

    ours, best = _timed(lambda: gl.best_filter(data, degree))
    peer, found = _timed(lambda: optimize.minimize(negative, np.ones(degree + 1), method="BFGS"))
    margin = best.prediction.order_parameters["test_margin"]
    return _row(
        f"best polynomial of degree {degree}",
        ours,
        "scipy.optimize.minimize, BFGS on the coefficients",
        peer,
        f"its margin is lower by {margin + found.fun:.0e}",
    )


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    answer = call()
    return time.process_time() - start, answer


def _row(what: str, ours: float, peer: str, peer_s: float, note: str) -> dict[str, Any]:
    return {"what": what, "ours_s": ours, "peer": peer, "peer_s": peer_s, "ratio": peer_s / ours, "note": note}
