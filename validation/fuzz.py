"""Random problems, and what must hold for each of them.

``python -m validation.fuzz --points 1000`` draws batches of data and networks at infinite and finite regularization: the
losses, filters, both kinds of graph, several classes, correlated features, penalties. Of every point with a status of success
it checks that no number is NaN, that probabilities are within their bounds and not above the Bayes-optimal accuracy, that a
change of alpha by 1e-9 moves no accuracy by more than 1e-6, and that one point of the batch, computed alone, is the same.
Exceptions and warnings are findings too. Each finding is printed with the call that shows it again; the exit status is 1 if
there is one.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import gcnlimit as gl

FIELDS = ("test_accuracy", "train_accuracy", "test_loss", "train_loss", "log_test_error")
TOGETHER = {"infinite": 200, "finite": 20}  # points of a batch
NUDGE, JUMP, ABOVE, ALONE = 1e-9, 1e-6, 1e-8, 1e-7

Generator = np.random.Generator


@dataclass(frozen=True)
class Problem:
    """Data and a network, array parameters of one axis."""

    data: gl.CSBM
    gcn: gl.GCN

    def at(self, i: int) -> Problem:
        """The problem of one point."""
        one = {name: float(getattr(self.data, name)[i]) for name in ("alpha", "lam", "mu", "rho")}
        filter, reg = (
            self.gcn.filter.replaced(self.gcn.filter.values[i]),
            float(np.broadcast_to(self.gcn.reg, self.data.shape)[i]),
        )
        return Problem(self.data.replaced(**one), self.gcn.replaced(filter=filter, reg=reg))

    def nudged(self) -> Problem:
        """The same with another alpha, hardly different."""
        return Problem(self.data.replaced(alpha=self.data.alpha * (1.0 + NUDGE)), self.gcn)

    def predict(self) -> gl.Prediction:
        """Its performance, point by point."""
        return gl.predict(self.data, self.gcn, throw=False)


def draw(rng: Generator, regime: str) -> Problem:
    """Random data and a random network, over many decades."""
    n = TOGETHER[regime]
    loss, penalty = ("square", "l2") if regime == "infinite" else _training(rng)
    plain = penalty != "l2" or loss != "square"
    data = gl.CSBM(
        alpha=10.0 ** rng.uniform(-2, 2, n),
        lam=rng.uniform(-3, 3, n) if rng.random() < 0.7 else rng.choice([-1, 1], n) * 10.0 ** rng.uniform(-3, 1.3, n),
        mu=10.0 ** rng.uniform(-3, 2, n) if rng.random() < 0.9 else np.zeros(n),
        rho=10.0 ** rng.uniform(-3, 0, n) if rng.random() < 0.9 else np.ones(n),
        directed=bool(rng.integers(2)),
        classes=2 if plain else _classes(rng),
        features=None if plain else _features(rng),
    )
    symmetrize, normalize = (bool(flag) for flag in rng.integers(2, size=2))
    reg = np.inf if regime == "infinite" else 10.0 ** rng.uniform(-4, 4, n)
    filter = _filter(rng, n, data.operator(symmetrize).radius)
    return Problem(data, gl.GCN(filter, loss, reg, symmetrize, normalize, penalty=penalty))


def _training(rng: Generator) -> tuple[str, Any]:
    loss = str(rng.choice(["square", "logistic", "hinge"]))
    return loss, gl.ElasticNet(float(rng.uniform(0, 0.9))) if loss == "square" and rng.random() < 0.2 else "l2"


def _classes(rng: Generator) -> Any:
    kind = rng.choice(["two", "equal", "fractions"], p=[0.5, 0.3, 0.2])
    if kind == "fractions":
        return tuple(rng.dirichlet(np.full(rng.integers(2, 6), 5.0)))
    return 2 if kind == "two" else int(rng.integers(3, 11))


def _features(rng: Generator) -> gl.Spectrum | None:
    if rng.random() < 0.7:
        return None
    k = rng.integers(1, 6)
    variance, signal, weight = 10.0 ** rng.uniform(-1, 1, k), rng.exponential(size=k), rng.uniform(0.1, 1, k)
    return gl.Spectrum(variance, signal * np.sum(weight) / (signal @ weight), weight)


def _filter(rng: Generator, n: int, radius: Any) -> gl.filters.Filter:
    kind = rng.integers(4)
    if kind == 0:
        return gl.Residual(rng.normal(size=(n, rng.integers(0, 7))) * 10.0 ** rng.uniform(-1, 0.7))
    if kind == 1:
        return gl.Diffusion(2.0 * rng.normal(size=n) / np.maximum(1.0, 0.3 * radius))
    if kind == 2:
        return gl.PageRank(rng.uniform(-0.95, 0.95, n) / radius)
    return gl.Polynomial(rng.normal(size=(n, rng.integers(1, 7))) + 1e-3)


def _ceiling(data: gl.CSBM) -> Any:
    """Bayes-optimal accuracy; 1 for more than two unequal classes, for which it is not known."""
    if isinstance(data.classes, tuple) and len(data.classes) > 2:
        return 1.0
    return gl.bayes_optimal(data).test_accuracy


def findings(problem: Problem, rng: Generator) -> Iterator[tuple[str, int, str]]:
    """What is wrong: kind, number of the point, and the numbers that show it."""
    found, ceiling = problem.predict(), _ceiling(problem.data)
    good = np.asarray(found.status) <= gl.Status.CONVERGED

    def where(kind: str, bad: Any, show: Callable[[int], str]) -> Iterator[tuple[str, int, str]]:
        yield from ((kind, int(i), show(int(i))) for i in np.flatnonzero(good & bad))

    for name in FIELDS:
        values = np.asarray(getattr(found, name))
        yield from where("nan", np.isnan(values), lambda i, name=name: name)
    for name in ("test_accuracy", "train_accuracy"):
        values = getattr(found, name)
        yield from where("bounds", ~((values >= 0) & (values <= 1)), lambda i, v=values, name=name: f"{name} {v[i]!r}")
    excess = found.test_accuracy - ceiling
    yield from where("above", excess > ABOVE, lambda i: f"above the ceiling by {excess[i]:.1e}")
    moved = problem.nudged().predict()
    both = np.asarray(moved.status) <= gl.Status.CONVERGED
    for name in ("test_accuracy", "train_accuracy"):
        jump = np.abs(getattr(found, name) - getattr(moved, name))
        yield from where("jump", both & (jump > JUMP), lambda i, jump=jump, name=name: f"{name} moves by {jump[i]:.1e}")
    i = int(rng.integers(len(good)))
    alone = problem.at(i).predict()
    if good[i] and not abs(alone.test_accuracy - found.test_accuracy[i]) <= ALONE:
        yield "alone", i, f"{alone.test_accuracy!r} ({alone.status.name}) and {found.test_accuracy[i]!r}"


def examine(task: tuple[int, int, str]) -> tuple[Counter[str], list[str]]:
    """Findings of one batch, as text, and how many points were tried, solved and left unsolved."""
    seed, number, regime = task
    rng = np.random.default_rng([seed, number])
    again = f"validation.fuzz.problem({seed}, {number}, {regime!r})"
    counts: Counter[str] = Counter()
    lines: list[str] = []
    problem = draw(rng, regime)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for kind, i, what in findings(problem, rng):
                counts[kind] += 1
                lines.append(f"{kind}: {what}; {again}.at({i})")
            counts["unsolved"] += int(np.sum(np.asarray(problem.predict().status) > gl.Status.CONVERGED))
    except Exception as error:  # whatever escapes is what is looked for
        counts["raised"] += 1
        lines.append(f"raised: {type(error).__name__}: {str(error)[:200]}; {again}")
    counts["points"] += TOGETHER[regime]
    return counts, lines


def problem(seed: int, number: int, regime: str) -> Problem:
    """The batch of that number again."""
    return draw(np.random.default_rng([seed, number]), regime)


def tasks(points: int, seed: int, regimes: tuple[str, ...]) -> list[tuple[int, int, str]]:
    """Batches of at least that many points in all, shared out among the regimes."""
    each = {regime: -(-points // (len(regimes) * TOGETHER[regime])) for regime in regimes}
    order = [regime for regime in regimes for _ in range(each[regime])]
    return [(seed, number, regime) for number, regime in enumerate(order)]


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--points", type=int, default=1000, help="points tried, at least")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--regime", choices=["infinite", "finite", "both"], default="both")
    asked = parser.parse_args(arguments)
    regimes = ("infinite", "finite") if asked.regime == "both" else (asked.regime,)
    total: Counter[str] = Counter()
    with multiprocessing.get_context("spawn").Pool(asked.workers) if asked.workers > 1 else _Alone() as pool:
        for counts, lines in pool.imap_unordered(examine, tasks(asked.points, asked.seed, regimes)):
            total += counts
            print(*lines, sep="\n", end="\n" * bool(lines), flush=True)
    print(", ".join(f"{kind} {count}" for kind, count in sorted(total.items())))
    return int(any(kind not in ("points", "unsolved") for kind in total))


class _Alone:
    """A pool without processes."""

    def __enter__(self) -> _Alone:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def imap_unordered(self, function: Callable[[Any], Any], tasks: list[Any]) -> Iterator[Any]:
        """One after the other."""
        return map(function, tasks)


if __name__ == "__main__":
    sys.exit(main())
