"""Examples to start from, in groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from gcnlimit.benchmark.problems import Problem, problems
from gcnlimit.explorer.state import State


def _of_problem(problem: Problem) -> State:
    data = problem.data
    signals: dict[str, Any] = {n: float(getattr(data, n)) for n in ("alpha", "lam", "mu", "rho")}
    classes = ", ".join(f"{value:g}" for value in np.ravel(data.classes.value))
    return State(**signals, classes=classes, directed=data.directed, degree=problem.degree)


def _residual(**values: Any) -> State:
    """Residual network of the paper's figures."""
    usual: dict[str, Any] = {"family": "residual", "reg": 1.0, "symmetrize": False}
    return State(**(usual | values))


_STRONG: dict[str, Any] = {"lam": 1.5, "mu": 3.0}

PRESETS = {
    "First steps": {
        "Diffusion on a homophilic graph": State(),
        "Heterophily": State(lam=-1.0, t=-1.0),
        "Features alone": State(lam=0.0, mu=4.0, axis="mu"),
        "Weak features: finite regularization wins": State(lam=0.75, mu=0.5, rho=0.5, reg=10.0),
        "Five classes": State(classes="5", axis="classes"),
        "Unequal classes, 20 and 80 per cent": State(classes="0.2, 0.8", reg=1.0),
    },
    "From the paper": {
        "Introduction: residual networks": _residual(reg=10.0, symmetrize=True),
        "Residual strength, square loss": _residual(),
        "Residual strength, logistic loss": _residual(**_STRONG, loss="logistic"),
        "Training loss against residual strength": _residual(depth=1, measure="train_loss"),
        "Depth and oversmoothing": _residual(**_STRONG, depth=12, reg=float("inf")),
        "Diffusion, directed graph": State(**_STRONG, reg=1.0, symmetrize=False),
        "Diffusion, symmetrized graph": State(**_STRONG, reg=1.0),
        "Diffusion at finite depth": _residual(alpha=1.0, lam=1.5, depth=4, c=2.0, reg=float("inf")),
        "Best diffusion time": State(alpha=2.0, mu=1.0, rho=0.3),
        "Symmetric against asymmetric": _residual(**_STRONG, directed=False),
        "Learning rates": State(lam=2.0, mu=1.0, family="residual"),
        "Gap to the ceiling": State(alpha=1.0, lam=0.5, mu=1.0),
    },
    "Benchmark problems": {problem.name: _of_problem(problem) for problem in problems()},
}
"""States by group and name."""
