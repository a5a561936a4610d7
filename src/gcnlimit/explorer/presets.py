"""Points worth a look: of the paper, of the README, where more is left to gain, and the problems of the benchmark."""

from __future__ import annotations

from typing import Any

from gcnlimit.benchmark.problems import Problem, problems
from gcnlimit.explorer.state import State


def _state(problem: Problem) -> State:
    data = problem.data
    classes = str(data.classes) if data.classes.equal else ", ".join(map(str, data.classes.fractions.tolist()))
    signals: dict[str, Any] = {name: float(getattr(data, name)) for name in ("alpha", "lam", "mu", "rho")}
    return State(**signals, classes=classes, directed=data.directed, degree=problem.degree or State.degree)


_STRONG: dict[str, Any] = {"lam": 1.5, "mu": 3.0}

PRESETS = {
    "The README's data: diffusion": State(),
    "Paper: introduction, the best networks": State(lam=1.0, mu=2.0, family="residual", depth=1, reg=10.0),
    "Paper: residual strength, square loss": State(family="residual", symmetrize=False, reg=1.0),
    "Paper: residual strength, logistic loss": State(
        **_STRONG, family="residual", loss="logistic", reg=1.0, symmetrize=False
    ),
    "Paper: training error against residual strength": State(
        family="residual", depth=1, reg=1.0, symmetrize=False, measure="train_loss"
    ),
    "Paper: depth, and oversmoothing": State(**_STRONG, family="residual", depth=12, symmetrize=False),
    "Paper: diffusion, directed graph": State(**_STRONG, reg=1.0, symmetrize=False),
    "Paper: diffusion, symmetrized graph": State(**_STRONG, reg=1.0),
    "Paper: diffusion at finite depth": State(alpha=1.0, lam=1.5, family="residual", depth=4, c=2.0, symmetrize=False),
    "Paper: best diffusion time": State(alpha=2.0, mu=1.0, rho=0.3),
    "Paper: symmetric against asymmetric": State(
        **_STRONG, family="residual", directed=False, reg=1.0, symmetrize=False
    ),
    "Paper: learning rates": State(lam=2.0, mu=1.0, family="residual", axis="lam"),
    "Paper: gap to the ceiling": State(alpha=1.0, lam=0.5, mu=1.0),
    "Heterophily": State(lam=-1.0, family="diffusion", t=-1.0),
    "Weak features: finite regularization wins": State(lam=0.75, mu=0.5, rho=0.5, reg=10.0, directed=True),
    "Five classes": State(classes="5", axis="classes"),
    "Unequal classes, 20 and 80 per cent": State(classes="0.2, 0.8"),
    "Features alone": State(lam=0.0, mu=4.0, axis="mu"),
    **{f"Benchmark: {problem.name}": _state(problem) for problem in problems()},
}
"""States by name."""
