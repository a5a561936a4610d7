"""Nonsense at every entrance, and what must hold: an answer, or one sentence.

``python -m validation.fuzz_inputs --seconds 60 --seed 0`` tries, for a share of the time each,

- ``doors``: public functions and classes (`fuzz_doors`);
- ``lines``: command lines, in this process (`fuzz_lines`);
- ``files``: damaged files (`fuzz_files`);
- ``requests``: requests to the explorer (`fuzz_requests`).

A call that takes longer than ``--patience`` seconds, or than there is time, is stopped and counted as slow, which is no
finding. Each finding is printed with what shows it again; ``--only doors --number 17 --seed 0`` repeats one trial. The exit
status is 1 if there is a finding.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np

from validation.nonsense import Finding, Generator, Slow

KINDS = ("doors", "lines", "files", "requests")


def _trials(kind: str) -> tuple[Callable[[Generator, Path], str], Callable[[], None]]:
    """What tries one thing, and what is done at the end."""
    trials = import_module(f"validation.fuzz_{kind}")
    if kind == "requests":
        served = trials.Requests()
        return served, served.close
    return getattr(trials, f"try_{kind.removesuffix('s')}"), lambda: None


def _stop(*_: object) -> None:
    raise Slow


def fuzz(
    kind: str, seed: int, seconds: float, patience: float, number: int | None = None
) -> Counter[str]:
    """Try things for some seconds, print the findings, and count what was tried, found and slow."""
    counts: Counter[str] = Counter()
    attempt, close = _trials(kind)
    before = Path.cwd()
    end = time.monotonic() + seconds
    signal.signal(signal.SIGALRM, _stop)
    try:
        for k in range(10**9) if number is None else [number]:
            left = end - time.monotonic()
            if left <= 0.0:
                break
            rng = np.random.default_rng([seed, KINDS.index(kind), k])
            counts["tried"] += 1
            with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
                warnings.simplefilter("ignore")
                os.chdir(folder)
                try:
                    try:  # a clock that ran on could stop the way back to the folder before
                        signal.setitimer(signal.ITIMER_REAL, min(patience, left))
                        attempt(rng, Path(folder))
                    finally:
                        signal.setitimer(signal.ITIMER_REAL, 0.0)
                except Finding as finding:
                    counts["found"] += 1
                    print(f"{kind} {k}: {finding}", flush=True)
                except Slow:
                    counts["slow"] += 1
                finally:
                    os.chdir(before)
    finally:
        close()
    return counts


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="time in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=KINDS, help="one kind of entrance")
    parser.add_argument("--number", type=int, help="one trial of that kind again")
    parser.add_argument("--patience", type=float, default=10.0, help="seconds of one call")
    asked = parser.parse_args(arguments)
    kinds = (asked.only,) if asked.only else KINDS
    os.environ["GCNLIMIT_MEMORY"] = "1"  # what needs more is refused at once
    found = 0
    for kind in kinds:
        counts = fuzz(kind, asked.seed, asked.seconds / len(kinds), asked.patience, asked.number)
        found += counts["found"]
        print(
            f"{kind}: {counts['tried']} tried, {counts['found']} findings, {counts['slow']} slow",
            flush=True,
        )
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
