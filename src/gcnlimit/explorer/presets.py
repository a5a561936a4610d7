"""Points worth a look: of the paper, of the README, where more is left to gain, and the problems of the benchmark."""

from __future__ import annotations

from typing import Any

from gcnlimit.benchmark.problems import Problem, problems
from gcnlimit.explorer.state import State

__all__ = ["PRESETS"]


def _state(problem: Problem) -> State:
    data = problem.data
    classes = str(data.classes) if isinstance(data.classes, int) else ", ".join(map(str, data.classes))
    signals: dict[str, Any] = {name: float(getattr(data, name)) for name in ("alpha", "lam", "mu", "rho")}
    return State(**signals, classes=classes, directed=data.directed, degree=problem.degree or State.degree)


PRESETS = {
    "The README's data: diffusion": State(),
    "Paper: residual strength, two layers": State(lam=1.5, mu=3.0, family="residual", depth=2),
    "Paper: deep residual network": State(lam=1.5, mu=3.0, family="residual", depth=12, c=0.5),
    "Paper: directed graph, two layers": State(lam=1.5, mu=3.0, family="residual", depth=2, symmetrize=False),
    "Paper: logistic loss, finite regularization": State(lam=1.5, mu=3.0, family="residual", loss="logistic", reg=1.0),
    "Heterophily": State(lam=-1.0, family="diffusion", t=-1.0),
    "Weak features: finite regularization wins": State(lam=0.75, mu=0.5, rho=0.5, reg=10.0, directed=True),
    "Five classes": State(classes="5", axis="classes"),
    "Unequal classes, 20 and 80 per cent": State(classes="0.2, 0.8"),
    "Features alone": State(lam=0.0, mu=4.0, axis="mu"),
    **{f"Benchmark: {problem.name}": _state(problem) for problem in problems()},
}
"""States by name."""
