"""Random problems, and what must hold for each of them.

``python -m validation.fuzz --points 1000`` draws batches of data and networks at infinite and finite regularization: the
losses, filters, both kinds of graph, several classes, correlated features, penalties, laws of degrees and normalizations, other
filters at test, training that stops, wrong labels, estimates: whatever the table of what has a theory does not refuse. Of every
point with a status of success it checks that no number is NaN, that probabilities are within their bounds and not above the
Bayes-optimal accuracy, that a change of alpha by 1e-9 moves no accuracy by more than 1e-6, that random points of the batch,
computed alone, are the same, and that an estimate has the accuracy of its model with an error that is not NaN.
Exceptions and warnings are findings too. Each finding is printed with the call that shows it again. The number of points of
each kind, and how many of them were not solved, is printed at the end, and also when the time is over or the program is
interrupted: batches are tried in random order, and what has not ended by then is not counted. The exit status is 1 if there
is a finding.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import gcnlimit as gl
from gcnlimit.results import Prediction
from validation.nonsense import Slow
from validation.random_problems import Generator, Problem, draw, kinds

FIELDS = ("test_accuracy", "train_accuracy", "test_loss", "train_loss", "log_test_error")
TOGETHER = {"infinite": 500, "finite": 50}  # points of a batch
ONE_IN = 25  # points of a batch for each that is computed alone
NUDGE, JUMP, ABOVE, ALONE = 1e-9, 1e-6, 1e-8, 1e-7


def findings(problem: Problem, found: Prediction, rng: Generator) -> Iterator[tuple[str, int, str]]:
    """What is wrong: kind, number of the point, and the numbers that show it."""
    good = np.asarray(found.status) <= gl.Status.CONVERGED

    def where(kind: str, bad: Any, show: Callable[[int], str]) -> Iterator[tuple[str, int, str]]:
        yield from ((kind, int(i), show(int(i))) for i in np.flatnonzero(good & bad))

    for name in FIELDS:
        values = np.asarray(getattr(found, name))
        yield from where("nan", np.isnan(values), lambda i, name=name: name)
    for name in ("test_accuracy", "train_accuracy"):
        values = getattr(found, name)
        yield from where(
            "bounds",
            ~((values >= 0) & (values <= 1)),
            lambda i, v=values, name=name: f"{name} {v[i]!r}",
        )
    some = rng.choice(len(good), len(good) // ONE_IN, replace=False)
    excess = found.test_accuracy - _ceiling(problem, some)
    yield from where("above", excess > ABOVE, lambda i: f"above the ceiling by {excess[i]:.1e}")
    if problem.data.classes.equal:  # else a threshold of its own decides
        beyond = found.test_accuracy - gl.best_linear(problem.data).test_accuracy
        yield from where(
            "linear", beyond > ABOVE, lambda i: f"above all linear networks by {beyond[i]:.1e}"
        )
    moved = problem.nudged(NUDGE).predict()
    both = np.asarray(moved.status) <= gl.Status.CONVERGED
    for name in ("test_accuracy", "train_accuracy"):
        jump = np.abs(getattr(found, name) - getattr(moved, name))
        yield from where(
            "jump",
            both & (jump > JUMP),
            lambda i, jump=jump, name=name: f"{name} moves by {jump[i]:.1e}",
        )
    for i in some[good[some]][:1]:
        yield from _of_estimate(problem, int(i), found.test_accuracy[i])
    for i in some[good[some]]:
        alone = problem.at(i).predict()
        for name in ("test_accuracy", "train_accuracy"):
            one, among = getattr(alone, name), getattr(found, name)[i]
            if not abs(one - among) <= ALONE:
                yield "alone", int(i), f"{name} {one!r} ({alone.status.name}) and {among!r}"


def _of_estimate(problem: Problem, i: int, accuracy: float) -> Iterator[tuple[str, int, str]]:
    """What is wrong with the answer for an estimate of one point."""
    point = problem.at(i)
    fields = {
        name: getattr(point.data, name)
        for name in ("alpha", "lam", "mu", "rho", "directed", "classes", "features", "noise")
    }
    data = gl.real.EstimatedCSBM(**fields, degrees=point.data.degrees, lam_error=0.1, mu_error=0.1)
    found = gl.predict(data, point.gcn, throw=False)
    error = found.standard_error.test_accuracy
    if not (abs(found.test_accuracy - accuracy) <= ALONE and error >= 0.0):
        yield "estimate", i, f"{found.test_accuracy!r} +- {error!r} and {accuracy!r}"


def _ceiling(problem: Problem, some: Any) -> Any:
    """Bayes-optimal accuracy; of several unequal classes, where it takes a second, at one of `some` points, elsewhere 1."""
    data = problem.data
    if data.classes.equal or data.classes.skewed:
        return gl.bayes_optimal(data).test_accuracy
    ceiling = np.ones(data.shape)
    if data.classes.count == 3:
        ceiling[some[0]] = gl.bayes_optimal(problem.at(some[0]).data).test_accuracy
    return ceiling


def examine(
    task: tuple[int, int, str],
) -> tuple[Counter[str], Counter[str], Counter[str], list[str]]:
    """Findings of one batch: how many of each kind, how many points were tried and not solved, and the findings as text."""
    seed, number, regime = task
    rng = np.random.default_rng([seed, number])
    again = f"validation.fuzz.problem({seed}, {number}, {regime!r})"
    wrong: Counter[str] = Counter()
    unsolved: Counter[str] = Counter()
    lines: list[str] = []
    problem = draw(rng, regime, TOGETHER[regime])
    names = [regime, *kinds(problem)]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = problem.predict()
            left = Counter(
                gl.Status(int(s)).name for s in np.asarray(found.status) if s > gl.Status.CONVERGED
            )
            unsolved = Counter(dict.fromkeys(names, left.total())) + left
            for kind, i, what in findings(problem, found, rng):
                wrong[kind] += 1
                lines.append(f"{kind}: {what}; {again}.at({i})")
    except Exception as error:  # whatever escapes is what is looked for
        wrong["raised"] += 1
        lines.append(f"raised: {type(error).__name__}: {str(error)[:200]}; {again}")
    return Counter(dict.fromkeys(names, TOGETHER[regime])), unsolved, wrong, lines


def problem(seed: int, number: int, regime: str) -> Problem:
    """The batch of that number again."""
    return draw(np.random.default_rng([seed, number]), regime, TOGETHER[regime])


def tasks(points: int, seed: int, regimes: tuple[str, ...]) -> list[tuple[int, int, str]]:
    """Batches of at least that many points in all, shared out among the regimes, in random order."""
    each = {regime: -(-points // (len(regimes) * TOGETHER[regime])) for regime in regimes}
    every = [regime for regime in regimes for _ in range(each[regime])]
    return [
        (seed, int(number), every[number])
        for number in np.random.default_rng(seed).permutation(len(every))
    ]


class Report:
    """Counts of points tried, not solved, and findings."""

    def __init__(self) -> None:
        self.tried: Counter[str] = Counter()
        self.unsolved: Counter[str] = Counter()
        self.wrong: Counter[str] = Counter()

    def add(
        self, tried: Counter[str], unsolved: Counter[str], wrong: Counter[str], lines: list[str]
    ) -> None:
        """Count a batch and print its findings."""
        self.tried += tried
        self.unsolved += unsolved
        self.wrong += wrong
        print(*lines, sep="\n", end="\n" * bool(lines), flush=True)

    def __str__(self) -> str:
        """Totals, then a line for each kind of problem."""
        points = sum(self.tried[regime] for regime in TOGETHER)
        left = {
            status.name: self.unsolved[status.name]
            for status in gl.Status
            if self.unsolved[status.name]
        }
        lines = [f"points {points}, not solved {sum(left.values())} {left or ''}".rstrip()]
        lines += [
            f"  {kind:<22} {n:>7} points {self.unsolved[kind]:>6} not solved"
            for kind, n in sorted(self.tried.items())
        ]
        found = ", ".join(f"{kind} {n}" for kind, n in sorted(self.wrong.items()))
        return "\n".join([*lines, f"findings: {found or 'none'}"])


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--points", type=int, default=1000, help="points tried, at least")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--regime", choices=["infinite", "finite", "both"], default="both")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after that time")
    asked = parser.parse_args(arguments)
    regimes = ("infinite", "finite") if asked.regime == "both" else (asked.regime,)
    report = Report()
    with _pool(asked.workers) as pool:
        try:
            with _time_limit(asked.seconds):
                for batch in pool.imap_unordered(examine, tasks(asked.points, asked.seed, regimes)):
                    report.add(*batch)
        except Slow:
            print("the time is over")
        except KeyboardInterrupt:
            print("interrupted")
        print(report)
    return int(bool(report.wrong))


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise `Slow`, in the middle of a batch too, when the time is over."""

    def over(*_: object) -> None:
        raise Slow

    signal.signal(signal.SIGALRM, over)
    # again every second: where an exception is ignored, as in a callback of C, the first is lost
    signal.setitimer(signal.ITIMER_REAL, min(seconds, 1e8), 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def _pool(workers: int) -> Any:
    """Processes that leave an interruption to their parent, or none."""
    if workers == 1:
        return _Alone()
    return multiprocessing.get_context("spawn").Pool(
        workers, signal.signal, (signal.SIGINT, signal.SIG_IGN)
    )


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
