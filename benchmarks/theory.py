"""Theory: batches of exact predictions against the paper's own numerics and against one call for each point."""

from __future__ import annotations

from typing import Any

import numpy as np

import gcnlimit as gl
from benchmarks.measure import row, seconds
from benchmarks.paper_integrals import accuracy
from validation.paper_method import iterate

DATA = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)


def rows() -> list[dict[str, Any]]:
    return [
        *explicit(symmetrize=True),
        *explicit(symmetrize=False),
        bayes(),
        *(several(kind, reg) for kind in ("PageRank", "Residual") for reg in (np.inf, 1.0)),
        batch("square"),
        batch("logistic"),
        continuous(),
        monte_carlo(),
    ]


def explicit(symmetrize: bool, points: int = 10_000) -> list[dict[str, Any]]:
    """Diffusion at reg = inf: seconds per point."""
    data, t = _random(points), np.random.default_rng(1).uniform(0.1, 5, points)
    ours = (
        seconds(lambda: gl.predict(data, gl.GCN(gl.Diffusion(t), symmetrize=symmetrize)), 3)
        / points
    )

    def loop() -> None:
        for i in range(100):
            point = gl.CSBM(alpha=data.alpha[i], lam=data.lam[i], mu=data.mu[i], rho=data.rho[i])
            gl.predict(point, gl.GCN(gl.Diffusion(t[i]), symmetrize=symmetrize))

    paper = seconds(lambda: accuracy(DATA, 1.2, symmetrize))
    exact = gl.predict(DATA, gl.GCN(gl.Diffusion(1.2), symmetrize=symmetrize)).test_accuracy
    error = abs(accuracy(DATA, 1.2, symmetrize) - exact)
    name = (
        f"{'symmetrized' if symmetrize else 'directed'} diffusion, reg = inf, per point of {points}"
    )
    return [
        row(
            name,
            ours,
            "the paper's nested integrals, 101 nodes",
            paper,
            f"the peer is off by {error:.0e}",
        ),
        row(name, ours, "one call per point", seconds(loop) / 100),
    ]


def bayes(points: int = 10_000) -> dict[str, Any]:
    data = _random(points)
    first = seconds(lambda: gl.bayes_optimal(DATA))
    single = seconds(lambda: [gl.bayes_optimal(DATA) for _ in range(50)], 3) / 50
    return row(
        f"Bayes-optimal, per point of {points}",
        seconds(lambda: gl.bayes_optimal(data)) / points,
        "one call per point",
        single,
        f"the first call of a process takes {1e3 * first:.0f} ms: it makes the tables of two classes",
    )


def several(kind: str, reg: float, points: int = 2000) -> dict[str, Any]:
    """Five classes against two, taken in turn: only the step from margin to accuracy differs."""
    lam, symmetrize = (
        np.linspace(-2.0, 2.0, points if np.isinf(reg) else points // 20),
        bool(np.isfinite(reg)),
    )
    filter: gl.Filter = gl.PageRank(0.2) if kind == "PageRank" else gl.Residual([1.0, 1.0])
    network = gl.GCN(filter, reg=reg, symmetrize=symmetrize)
    best = {2: np.inf, 5: np.inf}
    for _ in range(50 if np.isinf(reg) else 5):
        for classes in (2, 5):
            data = gl.CSBM(alpha=4, lam=lam, mu=2.0, rho=0.1, classes=classes)
            best[classes] = min(best[classes], seconds(lambda data=data: gl.predict(data, network)))  # type: ignore[misc]
    graph = "symmetrized" if symmetrize else "directed"
    name = f"five classes, {graph} {kind}, square loss, reg = {reg:g}, per point of {lam.size}"
    return row(name, best[5] / lam.size, "two classes", best[2] / lam.size)


def batch(loss: str, points: int = 1000) -> dict[str, Any]:
    """Three layers at finite regularization."""
    rng = np.random.default_rng(2)
    network = gl.GCN(
        gl.Residual(rng.uniform(0, 2, (points, 3))),
        loss,
        10 ** rng.uniform(-1, 2, points),
        symmetrize=False,
    )
    data = _random(points)
    ours = seconds(lambda: gl.predict(data, network)) / points
    one = gl.GCN(gl.Residual([1.0, 1.0, 1.0]), loss, 1.0, symmetrize=False)
    single = seconds(lambda: [gl.predict(DATA, one) for _ in range(5)]) / 5
    return row(
        f"three layers, {loss} loss, reg 0.1 to 100, per point of {points}",
        ours,
        "one call per point",
        single,
    )


def continuous() -> dict[str, Any]:
    network = gl.GCN(gl.Diffusion(1.0), "logistic", 0.3, symmetrize=True)
    ours = seconds(lambda: gl.predict(DATA, network), 5)
    return row(
        "one continuous point, symmetrized, logistic, t = 1, reg = 0.3",
        ours,
        "none: out of reach of the paper",
        np.nan,
    )


def monte_carlo(iterations: int = 40) -> dict[str, Any]:
    """Two layers, logistic: the paper's method against a batch of the same size as the one above."""
    points = 1000
    rng = np.random.default_rng(3)
    network = gl.GCN(
        gl.Residual(rng.uniform(0, 2, (points, 2))),
        "logistic",
        10 ** rng.uniform(-1, 2, points),
        symmetrize=False,
    )
    data = _random(points)
    ours = seconds(lambda: gl.predict(data, network)) / points
    problem = {"alpha": 4.0, "lam": 1.0, "mu": 2.0, "rho": 0.1}
    exact = gl.predict(
        DATA, gl.GCN(gl.Residual([1.0, 1.0]), "logistic", 1.0, symmetrize=False), tol=1e-13
    )
    usual = gl.predict(DATA, gl.GCN(gl.Residual([1.0, 1.0]), "logistic", 1.0, symmetrize=False))
    answer: list[float] = []
    peer = seconds(
        lambda: answer.extend(iterate(problem, np.array([1.0, 1.0]), 1.0, 1_000_000, iterations))
    )
    error = max(abs(answer[0] - exact.test_accuracy), abs(answer[2] - exact.test_loss))
    own = max(
        abs(usual.test_accuracy - exact.test_accuracy),
        abs(usual.test_loss - exact.test_loss),
        1e-16,
    )
    note = f"error {error:.0e} against {own:.0e}"
    return row(
        f"two layers, logistic, per point of {points}",
        ours,
        "the paper's Monte-Carlo, 10^6 samples",
        peer,
        note,
    )


def _random(points: int) -> gl.CSBM:
    rng = np.random.default_rng(0)
    return gl.CSBM(
        alpha=rng.uniform(0.5, 5, points),
        lam=rng.uniform(0, 2, points),
        mu=rng.uniform(0, 3, points),
        rho=rng.uniform(0.05, 0.9, points),
    )
